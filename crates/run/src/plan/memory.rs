//! Whether there is memory for the messages of a case, asked before anything is measured: what is allocated is
//! touched, and where there is too little the kernel ends processes, of others too.

use std::fs::read_to_string;
use std::path::Path;

use rustix::process::{Resource, getrlimit};

use super::{Case, WithMechanism};
use mechanisms::{OpenError, held_by_ends};
use model::launch::Workers;
use model::mechanism::{Cause, Unavailable};
use model::size;

/// What is smaller is not asked for: it fits wherever the program itself does.
const LITTLE: u64 = 32 << 20;
const PAGE: u64 = 4096;

/// Whether what `case` takes is there.
///
/// # Errors
/// Where it isn't: which limit, and the way out.
pub(super) fn enough(case: &Case) -> Result<(), OpenError> {
    let request = case.request_bytes() as u64;
    let response = case.load.and_then(|load| load.response).unwrap_or(request);
    let connections = u64::from(case.connections());
    let buffers = |bytes: u64| bytes.saturating_add(PAGE).next_multiple_of(PAGE);
    // Both ends have a buffer to send from and one to receive into.
    let end = buffers(request).saturating_add(buffers(response)).saturating_mul(connections);
    let largest = (case.opened_for() as u64).saturating_mul(8).saturating_mul(connections);
    if end.saturating_mul(2).saturating_add(largest) < LITTLE {
        return Ok(());
    }
    let held = held_by_ends(&case.variant, case.opened_for())?.saturating_mul(connections);
    let here = if case.route.is_local() { 2 } else { 1 };
    let ends_of_one = if case.workers == Workers::Thread { here } else { 1 };
    let need = Need {
        of_all: end.saturating_mul(here).saturating_add(held),
        of_one: end.saturating_mul(ends_of_one).saturating_add(held),
    };
    match lacking(&need, &rooms(Path::new("/"))) {
        None => Ok(()),
        Some(room) => Err(OpenError::Unavailable(Unavailable {
            cause: Cause::Limit,
            reason: format!(
                "{} of {} {} {}, and {} leaves {}",
                if connections == 1 {
                    "messages".into()
                } else {
                    format!("{connections} connections")
                },
                size::spell(request.max(response)),
                if connections == 1 { "take" } else { "each take" },
                spelled(if room.is_of_one { need.of_one } else { need.of_all }),
                room.what,
                spelled(room.left),
            ),
            remedy: format!("{}, or choose a smaller size or fewer connections", room.remedy),
        })),
    }
}

/// Bytes that are needed.
struct Need {
    /// By both workers.
    of_all: u64,
    /// By the larger of them.
    of_one: u64,
}

/// What is left of a limit.
struct Room {
    left: u64,
    /// Whether each process has as much.
    is_of_one: bool,
    what: String,
    remedy: String,
}

/// The room that is too small, and the tightest of those.
fn lacking<'a>(need: &Need, rooms: &'a [Room]) -> Option<&'a Room> {
    let lacks = |room: &&Room| room.left < if room.is_of_one { need.of_one } else { need.of_all };
    rooms.iter().filter(lacks).min_by_key(|room| room.left)
}

/// Memory as the system, the control groups and the limits of a process leave it.
fn rooms(root: &Path) -> Vec<Room> {
    let mut rooms = Vec::new();
    let kib_of = |file: &str, name: &str| -> Option<u64> {
        let text = read_to_string(root.join(file)).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
    };
    if let Some(left) = kib_of("proc/meminfo", "MemAvailable") {
        let (what, remedy) = ("the memory of this machine".into(), "free memory".into());
        rooms.push(Room { left, is_of_one: false, what, remedy });
    }
    let never = read_to_string(root.join("proc/sys/vm/overcommit_memory"));
    if never.is_ok_and(|text| text.trim() == "2")
        && let Some(limit) = kib_of("proc/meminfo", "CommitLimit")
        && let Some(used) = kib_of("proc/meminfo", "Committed_AS")
    {
        let what = "vm.overcommit_memory=2".into();
        let remedy = "raise sysctl vm.overcommit_ratio".into();
        rooms.push(Room { left: limit.saturating_sub(used), is_of_one: false, what, remedy });
    }
    if let Some(group) = sys::groups::memory(root) {
        let remedy = format!("raise {}", group.file.display());
        let what = "the memory limit of the control group".into();
        rooms.push(Room { left: group.left(), is_of_one: false, what, remedy });
    }
    let limits =
        [(Resource::As, "VmSize", "address space", "-v"), (Resource::Data, "VmData", "data", "-d")];
    for (resource, used, what, flag) in limits {
        if let Some(limit) = getrlimit(resource).current {
            // A worker has all that this process has, and its own.
            let used = kib_of("proc/self/status", used).unwrap_or(0);
            let what = format!("the limit on {what} of a process (ulimit {flag})");
            let remedy = format!("raise it: ulimit {flag} unlimited");
            rooms.push(Room { left: limit.saturating_sub(used), is_of_one: true, what, remedy });
        }
    }
    rooms
}

/// Bytes as a person reads them, rounded up.
fn spelled(bytes: u64) -> String {
    match bytes {
        0..=0xFFFFF => format!("{} KiB", bytes.div_ceil(1 << 10)),
        0x100000..=0x3FFFFFFFF => format!("{} MiB", bytes.div_ceil(1 << 20)),
        _ => format!("{} GiB", bytes.div_ceil(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_that_is_too_small_is_told() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    2048 kB\n"),
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/a/memory.max", "1048576\n"),
            ("sys/fs/cgroup/a/memory.current", "524288\n"),
        ];
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let rooms = rooms(root.path());
        let need = |bytes| Need { of_all: bytes, of_one: 0 };
        assert!(lacking(&need(500_000), &rooms).is_none());
        let found = lacking(&need(600_000), &rooms).unwrap();
        assert!(found.what.contains("control group"), "{}", found.what);
        assert!(found.remedy.ends_with("sys/fs/cgroup/a/memory.max"), "{}", found.remedy);
        let found = lacking(&need(4 << 20), &rooms[..1]).unwrap();
        assert_eq!((found.left, found.what.as_str()), (2 << 20, "the memory of this machine"));
    }
}
