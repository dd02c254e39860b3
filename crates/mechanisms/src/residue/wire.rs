//! What a record says: whose it is, what it names, and the names that nobody can have taken.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};

use sys::identity::ProcessIdentity;
use sys::system_v::{Object, ObjectKind, Status};

/// What every name that this program makes begins with.
const PREFIX: &str = "ipcmark-";
/// What the name of a record ends with.
pub(super) const SUFFIX: &str = ".record";
/// Bytes of the part that says whose it is, and of each slot behind it.
pub(super) const HEADER: usize = 512;
pub(super) const SLOT: usize = 192;
/// How often a name or a key that is taken is drawn anew: one in 2^64, or in 2^32, is.
pub(super) const DRAWS: usize = 64;

/// Whose a record is.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireHeader {
    /// The name that the record was made under.
    pub record: String,
    pub process: ProcessIdentity,
    /// Its process group: a launch is one.
    pub group: u32,
    /// Its effective user.
    pub uid: u32,
    /// Inode of its IPC namespace.
    pub ipc_namespace: u64,
}

/// Something that is about to be made, or that was.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum WireEntry {
    /// A folder beside the record.
    FolderPlanned {
        name: String,
    },
    Folder {
        name: String,
        device: u64,
        inode: u64,
    },
    /// An object under a key that was free, or not: the kernel has not been asked yet.
    Planned {
        kind: ObjectKind,
        key: i32,
    },
    /// The same, as the kernel made it.
    Made {
        object: Object,
        status: Status,
    },
    /// A POSIX queue's name, which couldn't be taken away at once.
    Name {
        name: String,
        device: u64,
        inode: u64,
    },
}

/// 64 random bits.
pub(super) fn draw() -> io::Result<u64> {
    let mut bytes = [0; 8];
    // As few bytes come whole or not at all (getrandom(2)).
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

/// A name that nobody can have taken on purpose.
pub fn random_name() -> io::Result<String> {
    draw().map(|bits| format!("{PREFIX}{bits:016x}"))
}

/// Whether a name is one of [`random_name`].
pub(super) fn is_random(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default().as_bytes();
    digits.len() == 16 && digits.iter().all(|digit| b"0123456789abcdef".contains(digit))
}

/// Whether a file of that name may be a record.
pub(super) fn is_record(name: &str) -> bool {
    name.strip_suffix(SUFFIX).is_some_and(is_random)
}
