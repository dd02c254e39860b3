//! The folder that laboratories are kept in: only its owner may write there, and nothing in it is
//! believed before that has been seen, of the folder and of each file, by descriptor.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, open, openat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::LabError;

/// Where it is: below what only root may write, and what a boot empties.
pub const FOLDER: &str = "/run/ipcmark-lab";
/// What the name of a file ends with while it is written.
const UNFINISHED: &str = ".fresh";
/// No file in it is longer.
const LONGEST: u64 = 1 << 20;

/// The folder, held open.
pub struct Folder(OwnedFd);

impl Folder {
    /// The folder, if it is there.
    ///
    /// # Errors
    /// If others may write there, or this user may not read.
    pub fn existing() -> Result<Option<Folder>, LabError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match open(FOLDER, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::ACCESS) => {
                let line = format!("{FOLDER} is for root alone: run it with sudo");
                return Err(LabError::Unavailable(line));
            }
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(refused(FOLDER, "is a link or a file, not a folder"));
            }
            folder => folder.map_err(failed("open", ""))?,
        };
        let stat = fstat(&folder).map_err(failed("look at", ""))?;
        distrust(&stat).map_or(Ok(Some(Folder(folder))), |why| Err(refused(FOLDER, &why)))
    }

    /// The folder; made if it isn't there.
    ///
    /// # Errors
    /// As [`Folder::existing`], or if it can't be made.
    pub fn made() -> Result<Folder, LabError> {
        loop {
            let made = match mkdirat(CWD, FOLDER, Mode::RWXU) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(error) => return Err(failed("make", "")(error)),
            };
            // The last laboratory's `down` may have removed it just now.
            let Some(folder) = Folder::existing()? else { continue };
            if made {
                // Whatever the umask took away.
                fchmod(&folder.0, Mode::RWXU).map_err(failed("make", ""))?;
            }
            return Ok(folder);
        }
    }

    /// Whether the name still means this folder.
    pub fn is_current(&self) -> bool {
        let (open, named) = (fstat(&self.0), statat(CWD, FOLDER, AtFlags::SYMLINK_NOFOLLOW));
        open.is_ok_and(|open| named.is_ok_and(|named| same(&open, &named)))
    }

    pub fn names(&self) -> Result<Vec<String>, LabError> {
        let entries = Dir::read_from(&self.0).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(failed("read", ""))?;
        let mut names: Vec<String> =
            entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name != "." && name != "..");
        names.sort();
        Ok(names)
    }

    /// What file `name` holds, if it is there.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, LabError> {
        match self.open(name, OFlags::RDONLY | OFlags::NONBLOCK) {
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(refused(&format!("{FOLDER}/{name}"), "is a link")),
            file => {
                let file = file.map_err(failed("open", name))?;
                believe(&file, name)?;
                let mut text = Vec::new();
                file.take(LONGEST).read_to_end(&mut text).map_err(failed("read", name))?;
                Ok(Some(text))
            }
        }
    }

    /// Writes file `name`, in one step.
    pub fn write(&self, name: &str, text: &str) -> Result<(), LabError> {
        let fresh = format!("{name}{UNFINISHED}");
        // Left by one that was killed; whatever it is, it goes.
        self.remove(&fresh)?;
        let mut file = self
            .open(&fresh, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
            .map_err(failed("make", &fresh))?;
        file.write_all(text.as_bytes()).map_err(failed("write", &fresh))?;
        renameat(&self.0, &*fresh, &self.0, name).map_err(failed("write", name))
    }

    /// Whether one that was killed had not finished writing file `name`.
    pub fn is_unfinished(&self, name: &str) -> Result<bool, LabError> {
        Ok(self.names()?.contains(&format!("{name}{UNFINISHED}")))
    }

    /// Removes what one that was killed had not finished writing, of files that end so. Nobody may be writing such a file.
    pub fn drop_unfinished(&self, endings: &[&str]) -> Result<(), LabError> {
        let of_these = |name: &String| {
            let file = name.strip_suffix(UNFINISHED);
            file.is_some_and(|file| endings.iter().any(|ending| file.ends_with(ending)))
        };
        self.names()?.iter().filter(|name| of_these(name)).try_for_each(|name| self.remove(name))
    }

    /// File `name`, to lock; made if it isn't there.
    pub fn lock_file(&self, name: &str) -> Result<File, LabError> {
        let file = self.open(name, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND);
        let file = file.map_err(failed("open", name))?;
        believe(&file, name)?;
        Ok(file)
    }

    /// Whether `name` still means `file`.
    pub fn holds(&self, name: &str, file: &File) -> bool {
        let (open, named) = (fstat(file), statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW));
        open.is_ok_and(|open| named.is_ok_and(|named| same(&open, &named)))
    }

    /// Removes file `name`, if it is there.
    pub fn remove(&self, name: &str) -> Result<(), LabError> {
        match unlinkat(&self.0, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed.map_err(failed("remove", name)),
        }
    }

    /// Removes the folder itself if it is empty.
    pub fn leave(self) {
        if self.is_current() {
            let _ = unlinkat(CWD, FOLDER, AtFlags::REMOVEDIR);
        }
    }

    fn open(&self, name: &str, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR).map(File::from)
    }
}

fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn failed<E: Into<io::Error>>(what: &str, name: &str) -> impl FnOnce(E) -> LabError {
    let what = match name {
        "" => format!("{what} {FOLDER}"),
        name => format!("{what} {FOLDER}/{name}"),
    };
    move |error| LabError::Failed(format!("{what}: {}", error.into()))
}

/// Why what is there could be another's writing.
fn distrust(stat: &Stat) -> Option<String> {
    let euid = rustix::process::geteuid().as_raw();
    if stat.st_uid != 0 && stat.st_uid != euid {
        return Some(format!("belongs to user {}", stat.st_uid));
    }
    (stat.st_mode & 0o022 != 0)
        .then(|| format!("may be written by others (mode {:o})", stat.st_mode & 0o7777))
}

fn believe(file: &File, name: &str) -> Result<(), LabError> {
    let stat = fstat(file).map_err(failed("look at", name))?;
    let path = format!("{FOLDER}/{name}");
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink != 1 {
        return Err(refused(&path, "is no ordinary file, or has another name too"));
    }
    distrust(&stat).map_or(Ok(()), |why| Err(refused(&path, &why)))
}

/// What fails one of the checks.
pub fn refused(path: &str, why: &str) -> LabError {
    LabError::Failed(format!(
        "{path} {why}, so nothing that it says is done: look at it, remove it (rm -r {FOLDER}), and \
         remove namespaces that are left with ip netns delete"
    ))
}
