//! /proc as a witness: who lives, what this process holds, what lies around on the machine.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use super::inventory::Inventory;
use model::process_stat::{field, number};

/// A process, as /proc/PID/stat describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// One letter: `R`, `S`, `T`, `Z`, …
    pub state: char,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
}

impl Process {
    /// Process `pid`, if there is one.
    pub fn read(pid: i32) -> Option<Process> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let state = field(&text, 3)?.chars().next()?;
        Some(Process { pid, state, parent: number(&text, 4)?, group: number(&text, 5)? })
    }

    /// The same unless it is dead: a zombie may wait seconds for init to reap it.
    pub fn living(pid: i32) -> Option<Process> {
        Process::read(pid).filter(|process| !matches!(process.state, 'Z' | 'X'))
    }

    /// Every process that isn't dead.
    pub fn all() -> Vec<Process> {
        pids().filter_map(Process::living).collect()
    }

    /// The living members of process group `group`: a launch is one group.
    pub fn in_group(group: i32) -> Vec<Process> {
        Process::all().into_iter().filter(|process| process.group == group).collect()
    }
}

/// The ids of all processes.
pub fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The living children of `pid`, in the order in which they were forked.
pub fn children(pid: i32) -> Vec<i32> {
    let alive = |child: &i32| Process::living(*child).is_some();
    match fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) {
        Ok(text) => {
            text.split_whitespace().filter_map(|word| word.parse().ok()).filter(alive).collect()
        }
        Err(_) => {
            // Kernels without CONFIG_PROC_CHILDREN: by id, which is the same unless ids wrap.
            let mut children: Vec<i32> = Process::all()
                .into_iter()
                .filter(|process| process.parent == pid)
                .map(|process| process.pid)
                .collect();
            children.sort_unstable();
            children
        }
    }
}

/// Waits until `holds`, and tells whether it came true in time.
pub fn soon(within: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + within;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What this process holds that could be left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Open descriptors, as links: `socket:[123]`.
    pub descriptors: Vec<String>,
    /// Shared mappings, as lines of /proc/self/maps.
    pub mappings: Vec<String>,
}

impl Resources {
    /// What is held now.
    pub fn now() -> Resources {
        super::enter();
        let mut descriptors: Vec<String> = fs::read_dir("/proc/self/fd")
            .expect("/proc is mounted")
            .flatten()
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .map(|link| link.to_string_lossy().into_owned())
            .filter(|link| !link.ends_with("/fd")) // the folder that is being read
            .collect();
        descriptors.sort_unstable();
        let maps = fs::read_to_string("/proc/self/maps").expect("/proc is mounted");
        let shared =
            |line: &&str| line.split_whitespace().nth(1).is_some_and(|word| word.ends_with('s'));
        Resources {
            descriptors,
            mappings: maps.lines().filter(shared).map(str::to_string).collect(),
        }
    }

    /// Inodes of this process's sockets.
    pub fn sockets(&self) -> BTreeSet<String> {
        let inode = |link: &String| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.into());
        self.descriptors.iter().filter_map(inode).collect()
    }
}

/// Inodes of every TCP socket that listens in this network namespace.
pub fn listening() -> BTreeSet<String> {
    super::enter();
    const LISTEN: &str = "0A";
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| {
            let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
            rows.filter(|row| row.get(3) == Some(&LISTEN))
                .filter_map(|row| row.get(9).map(|inode| inode.to_string()))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Names of objects that outlive their process: files of POSIX shared memory and queues,
/// System V objects, folders of ours for FIFOs and sockets, and the records of both.
pub fn lying_around() -> BTreeSet<String> {
    super::enter();
    let mut found = BTreeSet::new();
    for folder in ["/dev/shm", "/dev/mqueue"] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            found.insert(entry.path().display().to_string());
        }
    }
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("ipcmark-") {
            found.insert(entry.path().display().to_string());
        }
    }
    let objects = Inventory::of(None, &[]).0.into_keys();
    found.extend(objects.map(|object| format!("System V {object}")));
    found
}
