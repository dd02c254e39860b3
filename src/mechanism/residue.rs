//! What outlives its users: names in the file system and System V objects.
//!
//! Names are made in a private folder and are gone before `open` returns. System V objects
//! can't be: they are made under keys that tell the process that made them, live in an IPC
//! namespace of the launch where that is allowed, and are removed when [`Residue`] is dropped.
//! [`clean`] finds what a killed owner left, by folder name and by key, and touches nothing
//! whose owner lives or isn't known.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Choice, OptionSpec, Options};
use crate::sys::system_v::{self, Object};

/// The option `namespace=private|host` of what is made in an IPC namespace.
pub const NAMESPACE: OptionSpec = OptionSpec {
    name: "namespace",
    summary: "an IPC namespace of the launch where allowed, or the machine's with its limits",
    words: &["private", "host"],
    takes_size: false,
};

/// Whether a namespace of the launch is asked for.
pub fn private(options: &Options, specs: &'static [OptionSpec]) -> bool {
    options.get(specs, "namespace") == Choice::Word("private")
}

/// Objects that only their removal ends.
#[derive(Debug, Default)]
pub struct Residue {
    objects: Vec<Object>,
    owner: u32,
}

impl Residue {
    /// Nothing to remove.
    pub fn none() -> Residue {
        Residue::default()
    }

    /// These objects, removed when dropped by the process that calls this.
    pub fn of(objects: Vec<Object>) -> Residue {
        Residue { objects, owner: std::process::id() }
    }

    /// One more.
    pub fn push(&mut self, object: Object) {
        self.objects.push(object);
    }
}

impl Drop for Residue {
    fn drop(&mut self) {
        // A forked worker holds a copy, which is none of its business.
        if self.owner == std::process::id() {
            self.objects.iter().for_each(|object| drop(system_v::remove(*object)));
        }
    }
}

/// First byte of every key and the start of every name that this program makes.
const TAG: i32 = 0x69;
const FOLDER: &str = "ipcmark.";
/// Process ids have at most 22 bits (PID_MAX_LIMIT); two more tell a process's objects apart.
const PID_BITS: u32 = 22;

/// Makes an object under a key that tells that this process made it: the first of its four
/// keys that is free.
pub fn make(object: impl Fn(i32) -> io::Result<i32>) -> io::Result<i32> {
    let made = |nth| object(key(nth));
    let taken = |made: &io::Result<i32>| {
        made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
    };
    (0..3).map(made).find(|made| !taken(made)).unwrap_or_else(|| made(3))
}

fn key(nth: i32) -> i32 {
    let pid = maker() as i32 & ((1 << PID_BITS) - 1);
    (TAG << 24) | (pid << 2) | (nth & 3)
}

/// The process that keys and names tell: the first that made one, here or before a fork. Workers
/// inherit the id of their supervisor, which outlives them and is known to the coordinator.
fn maker() -> u32 {
    static MAKER: OnceLock<u32> = OnceLock::new();
    *MAKER.get_or_init(std::process::id)
}

/// The process that made an object under `key`; None for a stranger's.
fn owner_of(key: i32) -> Option<u32> {
    (key >> 24 == TAG).then_some((key as u32 & 0x00FF_FFFF) >> 2)
}

/// A name that no other call, here or in another process, gives.
pub fn unique_name() -> String {
    static NTH: AtomicU32 = AtomicU32::new(0);
    format!("{FOLDER}{}.{}", maker(), NTH.fetch_add(1, Ordering::Relaxed))
}

/// A folder that only this user may enter, for names that must exist for a moment. `action`
/// gets its path; everything in it is gone afterwards.
pub fn private_names<T>(action: impl FnOnce(&Path) -> T) -> io::Result<T> {
    use std::os::unix::fs::DirBuilderExt;
    let folder = std::env::temp_dir().join(unique_name());
    fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let folder = Folder(folder);
    Ok(action(&folder.0))
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes what dead processes of this program left; gives a line for each thing removed.
pub fn clean() -> Vec<String> {
    clean_up_after(|owner| !lives(owner))
}

/// Removes what process `pid` left, which has just been seen to end.
pub fn clean_up_after_process(pid: u32) -> Vec<String> {
    clean_up_after(|owner| owner == pid)
}

fn clean_up_after(dead: impl Fn(u32) -> bool) -> Vec<String> {
    let mut removed = Vec::new();
    for (key, object) in system_v::objects() {
        let Some(owner) = owner_of(key) else { continue };
        if dead(owner) && system_v::remove(object).is_ok() {
            removed.push(format!("{object}, left by process {owner}"));
        }
    }
    for folder in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(FOLDER).and_then(|rest| rest.split('.').next()?.parse().ok());
        let Some(owner) = owner else { continue };
        if dead(owner) && fs::remove_dir_all(folder.path()).is_ok() {
            removed.push(format!("{}, left by process {owner}", folder.path().display()));
        }
    }
    removed
}

/// Whether a process runs. One that has ended and waits to be reaped doesn't; one that can't be
/// looked at does.
fn lives(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The state follows the name, which may hold anything (proc_pid_stat(5)).
        Ok(stat) => !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_key_tells_its_maker() {
        for nth in 0..4 {
            assert_eq!(owner_of(key(nth)), Some(std::process::id()));
        }
        assert_ne!(key(0), key(1));
        assert_eq!(owner_of(0), None);
        assert_eq!(owner_of(0x5100_0001), None);
    }

    #[test]
    fn names_are_gone_afterwards_and_were_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = private_names(|folder| {
            fs::write(folder.join("name"), b"x").unwrap();
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
            folder.to_path_buf()
        });
        assert!(!folder.unwrap().exists());
    }

    #[test]
    fn a_dead_owners_folder_goes_a_living_ones_stays() {
        let mut child = std::process::Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let dead = child.id();
        assert!(lives(dead));
        child.kill().unwrap();
        // Before it is reaped, which may be left to an init that takes its time.
        while lives(dead) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let folder = |pid: u32| std::env::temp_dir().join(format!("{FOLDER}{pid}.test"));
        let (left, ours) = (folder(dead), folder(std::process::id()));
        let stranger = std::env::temp_dir().join(format!("{FOLDER}stranger.{dead}"));
        [&left, &ours, &stranger].into_iter().for_each(|it| fs::create_dir_all(it).unwrap());
        let removed = clean();
        assert!(removed.iter().any(|line| line.contains(&left.display().to_string())));
        assert!(!left.exists() && ours.exists() && stranger.exists());
        [&ours, &stranger].into_iter().for_each(|it| fs::remove_dir(it).unwrap());
        child.wait().unwrap();
        assert!(!lives(dead));
    }
}
