//! Where a name that is written to leads, found once: every step is taken from the descriptor of the folder
//! before it, and what was looked at is what is used.
//!
//! Symbolic links are followed, but for one of another user's in a folder that others may write into: whoever
//! laid it would choose what is written. That is so in the middle of a path as at its end, and whatever
//! fs.protected_symlinks says. A file of another user's in a folder such as /tmp is left, too (fs.protected_regular).

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, mkdirat, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Symbolic links that are followed, as path_resolution(7) does.
const LINKS: usize = 40;
/// Type of a file system as statfs(2) tells it: PROC_SUPER_MAGIC.
const PROC: u64 = 0x9fa0;
const ROOT: u32 = 0;
/// The user that a user namespace shows for one that it doesn't map (user_namespaces(7)).
const UNMAPPED: u32 = 65534;
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Everybody may put something there, and move nothing but their own.
const SHARED: u32 = 0o1002;
const SEEN: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A name in a folder, and what has it.
pub struct Place {
    pub folder: OwnedFd,
    pub name: OsString,
    /// None where there is nothing yet.
    pub found: Option<Found>,
}

pub struct Found {
    /// Opened to be looked at alone (O_PATH).
    file: OwnedFd,
    about: Stat,
    /// A link of the kernel's, in /proc: it leads to what a process has open, and not to a name.
    pub is_open_already: bool,
}

impl Found {
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.about.st_mode)
    }

    /// Whether this process has it open, and not to be looked at alone.
    pub fn is_open_here(&self) -> bool {
        let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        open.map(|entry| entry.path()).any(|path| {
            let it = std::fs::metadata(&path);
            it.is_ok_and(|it| (it.dev(), it.ino()) == (self.about.st_dev, self.about.st_ino))
                && !is_looked_at_alone(&path)
        })
    }
}

/// The folder's device and number, and a name in it: the same of whatever path leads there.
pub type Spot = (u64, u64, OsString);

impl Place {
    pub fn spot(&self) -> io::Result<Spot> {
        let folder = fstat(&self.folder)?;
        Ok((folder.st_dev, folder.st_ino, self.name.clone()))
    }

    /// Opens what was found here, and nothing that was put in its place since.
    pub fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        match &self.found {
            Some(found) if !found.is_open_already => {
                let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(&self.folder, &self.name, flags, Mode::empty())?;
                if is_same(&fstat(&file)?, &found.about) {
                    Ok(file)
                } else {
                    Err(Errno::STALE.into())
                }
            }
            _ => Ok(openat(&self.folder, &self.name, flags | OFlags::CLOEXEC, Mode::empty())?),
        }
    }

    pub fn into_folder(self) -> io::Result<OwnedFd> {
        let found = self.found.ok_or(Errno::NOENT)?;
        if found.is_open_already {
            return Ok(openat(&self.folder, &self.name, FOLDER, Mode::empty())?);
        }
        if found.kind() == FileType::Directory { Ok(found.file) } else { Err(Errno::NOTDIR.into()) }
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Whether a descriptor is one of O_PATH: its flags are octal in /proc/self/fdinfo (proc_pid_fdinfo(5)).
fn is_looked_at_alone(descriptor: &Path) -> bool {
    let about = Path::new("/proc/self/fdinfo").join(descriptor.file_name().unwrap_or_default());
    let about = std::fs::read_to_string(about).unwrap_or_default();
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| OFlags::from_bits_retain(flags).contains(OFlags::PATH))
}

/// Goes along `path` from `start`, or from where it begins. Folders that aren't there are made where `make` says so,
/// the last one too.
pub fn follow(start: Option<&OwnedFd>, path: &Path, make: bool) -> io::Result<Place> {
    let mut folder = match start {
        Some(start) => openat(start, c".", FOLDER, Mode::empty())?,
        None => openat(CWD, c".", FOLDER, Mode::empty())?,
    };
    let mut ahead = steps(path);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        let last = ahead.is_empty();
        let mut seen = openat(&folder, &name, SEEN, Mode::empty());
        if make && matches!(seen, Err(Errno::NOENT)) {
            match mkdirat(&folder, &name, Mode::from(0o777)) {
                Ok(()) | Err(Errno::EXIST) => seen = openat(&folder, &name, SEEN, Mode::empty()),
                Err(error) => return Err(error.into()),
            }
        }
        let file = match seen {
            Err(Errno::NOENT) if last => return Ok(Place { folder, name, found: None }),
            seen => seen?,
        };
        let about = fstat(&file)?;
        refuse_planted(&folder, &about, &name)?;
        let is_link = FileType::from_raw_mode(about.st_mode) == FileType::Symlink;
        let is_open_already = is_link && fstatfs(&file)?.f_type as u64 == PROC;
        if is_link && !is_open_already {
            links += 1;
            if links > LINKS {
                return Err(Errno::LOOP.into());
            }
            let target = readlinkat(&file, c"", Vec::new())?;
            ahead.extend(steps(Path::new(&OsString::from_vec(target.into_bytes()))));
        } else if last {
            return Ok(Place { folder, name, found: Some(Found { file, about, is_open_already }) });
        } else if is_open_already {
            folder = openat(&folder, &name, FOLDER, Mode::empty())?;
        } else if FileType::from_raw_mode(about.st_mode) == FileType::Directory {
            folder = file;
        } else {
            return Err(Errno::NOTDIR.into());
        }
    }
    Err(Errno::NOENT.into())
}

/// The names along a path, the first of them last.
fn steps(path: &Path) -> Vec<OsString> {
    let mut steps: Vec<OsString> =
        path.components().map(|step| step.as_os_str().to_owned()).collect();
    // What ends so is a folder's name.
    if path.as_os_str().as_bytes().ends_with(b"/") {
        steps.push(".".into());
    }
    steps.reverse();
    steps
}

fn refuse_planted(folder: &OwnedFd, found: &Stat, name: &OsStr) -> io::Result<()> {
    if is_ours(found) {
        return Ok(());
    }
    let around = fstat(folder)?;
    let shared = around.st_mode & SHARED == SHARED && found.st_uid != around.st_uid;
    let others_may_write = !is_ours(&around) || around.st_mode & WRITABLE_BY_OTHERS != 0;
    let what = match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink if others_may_write => "is a symbolic link",
        FileType::Directory | FileType::Symlink => return Ok(()),
        _ if shared => "is a file",
        _ => return Ok(()),
    };
    Err(io::Error::other(format!(
        "{} {what} of user {} in a folder that others may write into",
        name.display(),
        found.st_uid
    )))
}

/// Whether something is this user's or root's. In a user namespace the root outside shows as nobody.
fn is_ours(of: &Stat) -> bool {
    let outside = || {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        !map.split_whitespace().eq(["0", "0", "4294967295"])
    };
    [ROOT, geteuid().as_raw()].contains(&of.st_uid) || of.st_uid == UNMAPPED && outside()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn led_to(path: &Path) -> String {
        let place = follow(None, path, false).unwrap();
        let folder = format!("/proc/self/fd/{}", place.folder.as_raw_fd());
        let folder = std::fs::read_link(folder).unwrap();
        folder.join(&place.name).to_str().unwrap().to_string()
    }

    #[test]
    fn it_leads_where_the_kernel_would_go() {
        let within = tempfile::tempdir().unwrap();
        let at = |name: &str| within.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/b/file"), "").unwrap();
        symlink("a/b", at("short")).unwrap();
        symlink(at("short/none-yet"), at("dangling")).unwrap();
        symlink("../b/../../short/file", at("a/b/round-about")).unwrap();
        for (name, target) in [
            ("a/b/file", "a/b/file"),
            ("short/file", "a/b/file"),
            ("dangling", "a/b/none-yet"),
            ("short/round-about", "a/b/file"),
            ("a/../a//b/./new", "a/b/new"),
        ] {
            assert_eq!(led_to(&at(name)), at(target).to_str().unwrap(), "{name}");
        }
        symlink("loop", at("loop")).unwrap();
        let why = |name: &str| {
            let error = follow(None, &at(name), false).err().unwrap();
            Errno::from_io_error(&error).unwrap()
        };
        assert_eq!(why("loop"), Errno::LOOP);
        assert_eq!(why("a/b/file/more"), Errno::NOTDIR);
        assert_eq!(why("none/more"), Errno::NOENT);
        assert_eq!(why("a/b/file/"), Errno::NOTDIR);
        assert!(follow(None, Path::new(""), false).is_err());
        follow(None, &at("made/one/two"), true).unwrap().into_folder().unwrap();
        assert!(at("made/one/two").is_dir());
    }

    #[test]
    fn what_takes_the_place_of_what_was_found_is_not_opened() {
        let within = tempfile::tempdir().unwrap();
        let path = within.path().join("file");
        std::fs::write(&path, "").unwrap();
        let place = follow(None, &path, false).unwrap();
        assert!(place.open(OFlags::WRONLY).is_ok());
        std::fs::rename(&path, within.path().join("moved")).unwrap();
        std::fs::write(&path, "another").unwrap();
        assert!(place.open(OFlags::WRONLY).is_err());
        std::fs::remove_file(&path).unwrap();
        symlink("moved", &path).unwrap();
        assert!(place.open(OFlags::WRONLY).is_err());
    }

    #[test]
    fn links_of_others_are_followed_where_nobody_else_could_have_laid_them() {
        if !geteuid().is_root() {
            return eprintln!("skipped links of others: only root gives them away");
        }
        let within = tempfile::tempdir().unwrap();
        let at = |name: &str| within.path().join(name);
        for (folder, mode, owner, refused) in [
            ("own", 0o755, 0, false),
            ("sticky", 0o1777, 0, true),
            ("group's", 0o775, 0, true),
            ("theirs", 0o755, 4711, true),
        ] {
            std::fs::create_dir(at(folder)).unwrap();
            std::fs::create_dir(at(folder).join("there")).unwrap();
            std::fs::set_permissions(at(folder), PermissionsExt::from_mode(mode)).unwrap();
            symlink("there", at(folder).join("link")).unwrap();
            let path = at(folder).join("link/out");
            assert!(follow(None, &path, false).is_ok(), "{folder}: one's own");
            std::os::unix::fs::lchown(at(folder).join("link"), Some(4711), None).unwrap();
            std::os::unix::fs::chown(at(folder), Some(owner), None).unwrap();
            let found = follow(None, &path, false);
            assert_eq!(found.is_err(), refused, "{folder}");
            // In the middle of a path, or at its end.
            assert_eq!(follow(None, &at(folder).join("link"), false).is_err(), refused, "{folder}");
            // A file may be a colleague's, but not where everybody leaves theirs.
            let file = at(folder).join("file");
            std::fs::write(&file, "").unwrap();
            std::os::unix::fs::chown(&file, Some(4711), None).unwrap();
            assert_eq!(follow(None, &file, false).is_err(), folder == "sticky", "{folder}");
        }
    }
}
