//! The record of what a process makes that could outlive it: a file beside what it names, in the
//! folder for temporary files, held by a lock that the kernel releases with its last holder.
//!
//! It is there before anything that it names: it appears whole and locked, under a random name
//! (open(2), O_TMPFILE), and says what is about to be made; what the kernel answers completes it.
//! Entries stand in slots of one length, so that thousands of set-ups write over a few of them.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::{fmt, io};

use rustix::fs::{AtFlags, CWD, FlockOperation, flock, linkat};
use rustix::io::Errno;
use serde::Serialize;

use super::clean;
use super::wire::{DRAWS, HEADER, SLOT, SUFFIX, WireEntry, WireHeader, random_name};
use sys::failed::named;
use sys::identity::{self, ProcessIdentity};
use sys::process;

/// The slot of the folder beside the record.
const FOLDER_SLOT: usize = 0;

/// The record of this process, removed with all that it names when it is dropped.
#[derive(Debug)]
pub struct Record {
    file: File,
    path: PathBuf,
    maker: u32,
    taken: Mutex<Vec<bool>>,
    folder: OnceLock<PathBuf>,
}

/// The record of this process while anything holds it.
struct Current {
    record: Weak<Record>,
    /// Held by [`keep_record`].
    kept: Option<Arc<Record>>,
    keepers: usize,
}

static CURRENT: Mutex<Current> =
    Mutex::new(Current { record: Weak::new(), kept: None, keepers: 0 });

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the record of this process, once one is made, until this is dropped: set-ups that follow
/// each other share it.
#[must_use]
pub struct KeptRecord(());

/// See [`KeptRecord`].
pub fn keep_record() -> KeptRecord {
    locked(&CURRENT).keepers += 1;
    KeptRecord(())
}

impl Drop for KeptRecord {
    fn drop(&mut self) {
        let mut current = locked(&CURRENT);
        current.keepers -= 1;
        let kept = if current.keepers == 0 { current.kept.take() } else { None };
        drop(current);
        drop(kept);
    }
}

impl Record {
    /// That of this process; made now if there is none. A forked worker has one of its own.
    ///
    /// # Errors
    /// If the folder for temporary files takes none.
    pub fn current() -> io::Result<Arc<Record>> {
        let mut current = locked(&CURRENT);
        let own = |record: &Arc<Record>| record.maker == std::process::id();
        if let Some(record) = current.record.upgrade().filter(own) {
            return Ok(record);
        }
        let record = Arc::new(Record::create()?);
        current.record = Arc::downgrade(&record);
        if current.keepers > 0 {
            current.kept = Some(record.clone());
        }
        Ok(record)
    }

    fn create() -> io::Result<Record> {
        let folder = super::temporary_folder();
        let own = ProcessIdentity::own()?;
        let ipc_namespace = identity::namespace("ipc")?;
        for _ in 0..DRAWS {
            let name = random_name()? + SUFFIX;
            let header = WireHeader {
                record: name.clone(),
                process: own.clone(),
                group: process::group(),
                uid: rustix::process::geteuid().as_raw(),
                ipc_namespace,
            };
            let path = folder.join(name);
            match publish(&folder, &path, &padded(&header, HEADER)?) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    // That of the folder.
                    let taken = Mutex::new(vec![true]);
                    let (maker, folder) = (own.pid, OnceLock::new());
                    return Ok(Record { file, path, maker, taken, folder });
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A folder that only this user may enter, for names that must exist for a moment.
    ///
    /// # Errors
    /// If it can't be made or noted.
    pub fn folder(&self) -> io::Result<&Path> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let _one_at_a_time = locked(&self.taken);
        if self.folder.get().is_none() {
            let _ = self.folder.set(self.make_folder()?);
        }
        self.folder.get().map(PathBuf::as_path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn make_folder(&self) -> io::Result<PathBuf> {
        for _ in 0..DRAWS {
            let name = random_name()?;
            let folder = self.path.with_file_name(&name);
            self.write(FOLDER_SLOT, &WireEntry::FolderPlanned { name: name.clone() })?;
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            self.note_folder(name, &folder).inspect_err(|_| drop(fs::remove_dir(&folder)))?;
            return Ok(folder);
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn note_folder(&self, name: String, folder: &Path) -> io::Result<()> {
        let made = fs::symlink_metadata(folder)?;
        if !made.is_dir() || made.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("somebody replaced a folder that was just made"));
        }
        if made.mode() & 0o777 != 0o700 {
            return Err(io::Error::other(OwnRights(made.mode() & 0o777)));
        }
        let (device, inode) = (made.dev(), made.ino());
        self.write(FOLDER_SLOT, &WireEntry::Folder { name, device, inode })
    }

    /// Notes something in a free slot, and gives its number.
    pub(super) fn note(&self, entry: &WireEntry) -> io::Result<usize> {
        let mut taken = locked(&self.taken);
        let slot = taken.iter().position(|taken| !taken).unwrap_or(taken.len());
        self.write(slot, entry)?;
        if slot == taken.len() {
            taken.push(true);
        } else {
            taken[slot] = true;
        }
        Ok(slot)
    }

    /// Writes over what slot `slot` says.
    pub(super) fn write(&self, slot: usize, entry: &WireEntry) -> io::Result<()> {
        self.file.write_all_at(&padded(entry, SLOT)?, place(slot))
    }

    /// Frees a slot: what it named is gone.
    pub(super) fn clear(&self, slot: usize) {
        let mut blank = [b' '; SLOT];
        blank[SLOT - 1] = b'\n';
        // A slot that can't be freed names something that is gone: the next clean-up finds that.
        if self.file.write_all_at(&blank, place(slot)).is_ok() {
            locked(&self.taken)[slot] = false;
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // A forked worker holds a copy, which is none of its business.
        if self.maker != std::process::id() {
            return;
        }
        // Most have nothing left to name. That takes no descriptor: this process may have none.
        let names_objects = locked(&self.taken).iter().skip(FOLDER_SLOT + 1).any(|taken| *taken);
        let no_folder = self.folder.get().is_none_or(|folder| fs::remove_dir(folder).is_ok());
        if names_objects || !no_folder || fs::remove_file(&self.path).is_err() {
            clean::remove_own(&self.path);
        }
    }
}

/// The umask takes rights from the owner of what is made: a folder that has just this mode.
#[derive(Debug)]
pub(super) struct OwnRights(u32);

impl fmt::Display for OwnRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the umask takes rights from the owner of what is made (a folder has {:03o})",
            self.0
        )
    }
}

impl std::error::Error for OwnRights {}

fn place(slot: usize) -> u64 {
    (HEADER + slot * SLOT) as u64
}

/// JSON in a line of `length` bytes.
fn padded(what: &impl Serialize, length: usize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(what)?;
    if line.len() >= length {
        return Err(io::Error::other("an entry outgrows its slot"));
    }
    line.resize(length - 1, b' ');
    line.push(b'\n');
    Ok(line)
}

/// Makes a locked file that holds `text` and has the name `path` in `folder`, all at once.
fn publish(folder: &Path, path: &Path, text: &[u8]) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let nameless = options.clone().custom_flags(libc::O_TMPFILE).open(folder);
    let Ok(file) = nameless else {
        // A file system without nameless files (NFS, some FUSE): it has its name a moment before its
        // lock and its contents, and without those nobody takes it for a record.
        let file = options.create_new(true).open(path)?;
        return fill(&file, text).map(|()| file).inspect_err(|_| drop(fs::remove_file(path)));
    };
    fill(&file, text)?;
    // Without privileges a descriptor gets a name only through /proc (open(2)).
    let descriptor = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    linkat(CWD, descriptor, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    Ok(file)
}

fn fill(file: &File, text: &[u8]) -> io::Result<()> {
    flock(file, FlockOperation::LockExclusive).map_err(|errno| match errno {
        // By a filter alone; a file system has other errors.
        Errno::PERM | Errno::NOSYS => named("flock", errno),
        errno => errno.into(),
    })?;
    // Whatever the umask.
    file.set_permissions(PermissionsExt::from_mode(0o600))?;
    file.write_all_at(text, 0)
}
