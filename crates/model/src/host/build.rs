//! How the program was compiled: a loop of a few instructions is another one under another compiler.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Compiler and flags of this program. `None` in what was stored before it was recorded, and
/// where cargo didn't tell.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Build {
    /// `rustc --version`.
    pub compiler: Option<String>,
    /// The target, such as `x86_64-unknown-linux-gnu`.
    pub target: Option<String>,
    /// Cargo's profile: `release` or `debug`, or what a custom one inherits from.
    pub profile: Option<String>,
    /// Optimisation level: `0` to `3`, `s`, `z`.
    pub optimisation: Option<String>,
    /// RUSTFLAGS, from the environment or cargo's configuration; `none` where there are none.
    pub flags: Option<String>,
    /// Instruction sets that the compiler may use, as cargo names them: `fxsr,sse,sse2`.
    pub target_features: Option<String>,
}
