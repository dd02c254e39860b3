//! The C library the program runs with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The C library of this program.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct CLibrary {
    /// What Rust calls the target's environment: `gnu`, `musl`.
    pub name: String,
    /// Whether it is linked into the program.
    pub linked_in: bool,
    /// The file that is mapped (/proc/self/maps). `None` where it is linked in.
    pub path: Option<String>,
    /// glibc's release, such as `2.36`. `None` for others.
    pub version: Option<String>,
    /// Who built it, such as `Debian GLIBC 2.36-9+deb12u10`, as its file says. `None` where it is linked in.
    pub build: Option<String>,
}
