//! What a store may be: a regular file that holds what is written to it. Anything else is refused before it is
//! opened: opening a device can do something, and a FIFO waits.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, openat};
use rustix::io::Errno;

use super::StoreError;

/// File systems, by statfs(2), whose files are not kept but made up by the kernel.
const MADE_UP: [u64; 12] = [
    libc::PROC_SUPER_MAGIC as u64,
    libc::SYSFS_MAGIC as u64,
    libc::CGROUP_SUPER_MAGIC as u64,
    libc::CGROUP2_SUPER_MAGIC as u64,
    libc::DEBUGFS_MAGIC as u64,
    libc::TRACEFS_MAGIC as u64,
    libc::SECURITYFS_MAGIC as u64,
    libc::BPF_FS_MAGIC as u64,
    libc::SELINUX_MAGIC as u64,
    // configfs, pstore, efivarfs.
    0x6265_6570,
    0x6165_676c,
    0xde5e_81e4,
];

/// What SQLite keeps beside a store, and the locks of runs.
pub const BESIDE: [&str; 4] = ["-wal", "-shm", "-journal", "-claims"];

pub(super) struct Seen {
    // Opened to be looked at alone (O_PATH): while it is, its number is no other file's.
    _file: OwnedFd,
    about: Stat,
}

pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Looks at what is at `whole`, which is called `path`, and beside it; None where there is nothing.
///
/// # Errors
/// It is no file that could hold a store.
pub(super) fn look(whole: &Path, path: &Path) -> Result<Option<Seen>, StoreError> {
    let Some((file, about)) = see(whole, true, path)? else { return Ok(None) };
    let kind = FileType::from_raw_mode(about.st_mode);
    if kind != FileType::RegularFile {
        return Err(no_file(path, named(kind)));
    }
    let of = fstatfs(&file).map_err(|error| failed(path, error))?.f_type;
    if MADE_UP.contains(&(of as u64)) {
        return Err(no_file(path, "a file of the kernel's, which keeps nothing"));
    }
    for end in BESIDE {
        let beside = self::beside(&whole.canonicalize().unwrap_or_else(|_| whole.into()), end);
        // Links are left alone by whoever opens them.
        let kind =
            see(&beside, false, &beside)?.map(|pair| FileType::from_raw_mode(pair.1.st_mode));
        if let Some(kind) =
            kind.filter(|kind| ![FileType::RegularFile, FileType::Symlink].contains(kind))
        {
            return Err(no_file(&beside, named(kind)));
        }
    }
    Ok(Some(Seen { _file: file, about }))
}

impl Seen {
    /// Whether it is still at `whole`.
    pub(super) fn is_at(&self, whole: &Path, path: &Path) -> Result<bool, StoreError> {
        let now = see(whole, true, path)?.map(|(_, about)| (about.st_dev, about.st_ino));
        Ok(now == Some((self.about.st_dev, self.about.st_ino)))
    }
}

fn see(whole: &Path, follow: bool, path: &Path) -> Result<Option<(OwnedFd, Stat)>, StoreError> {
    let end = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    let found = openat(CWD, whole, OFlags::PATH | OFlags::CLOEXEC | end, Mode::empty());
    let found = found.and_then(|file| fstat(&file).map(|about| (file, about)));
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(failed(path, error)),
    }
}

fn failed(path: &Path, error: Errno) -> StoreError {
    StoreError::unusable(format!(
        "open {}: {error}; choose another store with --store FILE",
        path.display()
    ))
}

fn no_file(path: &Path, what: &str) -> StoreError {
    StoreError::unusable(format!(
        "{} is {what}, and a store is a regular file: choose another with --store FILE",
        path.display()
    ))
}

fn named(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::BlockDevice | FileType::CharacterDevice => "a device",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use crate::Store;
    use std::path::Path;

    #[test]
    fn only_a_regular_file_is_a_store() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        let socket = folder.path().join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let links = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &links).unwrap();
        for (path, what) in [
            (folder.path(), "a folder"),
            (&fifo, "a FIFO"),
            (&socket, "a socket"),
            (&links, "a device"),
            (Path::new("/dev/null"), "a device"),
            (Path::new("/proc/self/mem"), "the kernel's"),
            (Path::new("/proc/self/environ"), "the kernel's"),
        ] {
            for opened in [Store::open(path), Store::reopen(path), Store::open_existing(path)] {
                let error = opened.err().unwrap();
                let line = error.to_string();
                assert!(error.is_unusable() && line.contains(what), "{}: {line}", path.display());
            }
            for end in super::BESIDE {
                assert!(!super::beside(path, end).exists(), "{}{end}", path.display());
            }
        }
        // A FIFO beside a store would be waited for.
        let store = folder.path().join("runs.sqlite");
        drop(Store::open(&store).unwrap());
        for end in super::BESIDE {
            let beside = super::beside(&store, end);
            let _ = std::fs::remove_file(&beside);
            std::fs::rename(&fifo, &beside).unwrap();
            for opened in [Store::open(&store), Store::open_existing(&store)] {
                assert!(opened.err().unwrap().to_string().contains("a FIFO"), "{end}");
            }
            std::fs::rename(&beside, &fifo).unwrap();
        }
    }
}
