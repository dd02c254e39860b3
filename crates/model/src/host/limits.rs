//! What the kernel will grant: settings, mounts, limits of the process, where it may run, and as whom.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kernel settings by path below /proc/sys, such as `fs/pipe-max-size`. Values are the kernel's
/// text, columns parted by one space; null where the setting is not in this kernel, not in this
/// namespace, or not readable for this user.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(transparent)]
pub struct Sysctls(pub BTreeMap<String, Option<String>>);

impl Sysctls {
    /// The text of a setting; `None` where it is absent or not one of those recorded.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }

    /// A setting that is one number. Signed ones exist (`kernel/perf_event_paranoid`), and ones
    /// that only an unsigned type holds (`kernel/shmmax`).
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }
}

/// The file system that a place belongs to.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Mount {
    /// The place: `/dev/shm` (shared memory, named semaphores), `/dev/mqueue`, `/dev/hugepages`,
    /// `/tmp` (FIFOs, socket names).
    pub path: String,
    /// Where the file system is mounted: another path than `path` where nothing is mounted there.
    pub mount_point: String,
    /// Its type, such as `tmpfs`.
    pub file_system: String,
    /// Mount options and the file system's own, as in /proc/self/mountinfo.
    pub options: String,
    /// Size in bytes. `None` where the path doesn't exist; 0 for file systems without a size.
    pub size_bytes: Option<u64>,
    /// Bytes free for this user. `None` as above.
    pub free_bytes: Option<u64>,
}

/// Limits, affinity and user of this process, whatever root is described.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Resource limits by their name in getrlimit(2): NOFILE, NPROC, MEMLOCK (bytes), MSGQUEUE
    /// (bytes), SIGPENDING, RTPRIO, STACK (bytes).
    pub resources: BTreeMap<String, Limit>,
    /// The CPUs this thread may run on (sched_getaffinity(2)). `None` where neither that call nor /proc tells.
    pub affinity: Option<Vec<u32>>,
    /// Effective user id.
    pub effective_uid: u32,
}

/// One resource limit; `None` is no limit.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// What is enforced.
    pub soft: Option<u64>,
    /// How far the process may raise it.
    pub hard: Option<u64>,
}
