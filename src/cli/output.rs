//! Files that a user names: each is there whole, or as it was.
//!
//! What is to be in a regular file is first written to a file without a name in the same folder
//! (`O_TMPFILE`, open(2)), brought to the disk with fsync(2), given a random name, and renamed over
//! the one that was asked for. A process that is killed meanwhile leaves nothing behind: between the
//! name and the renaming lies no other call. Where a file system has no files without names, the
//! file has its random name, `.ipcmark.…`, from the start, and any failure removes it.
//!
//! Symbolic links are followed: their target is replaced. The new file has the mode of the earlier one,
//! and its owner and group where this process may give them away. Further names of the earlier file
//! (hard links) keep the earlier content. Whatever isn't a regular file, and whatever is named by way
//! of /proc (as /dev/stdout is), is written directly.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, XattrFlags, fchmod, fchown, fgetxattr, fsetxattr, linkat, openat,
    renameat, statfs, unlinkat,
};
use rustix::io::Errno;

use super::Failure;
use sys::process;

/// Symbolic links that are followed, as path_resolution(7) does.
const LINKS: usize = 40;
/// Type of a file system as statfs(2) tells it: PROC_SUPER_MAGIC.
const PROC: u64 = 0x9fa0;
const ACL: &CStr = c"system.posix_acl_access";
const WRITTEN: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC);
const BESIDE: &str = "make a file beside it";

/// Writes a file. `remedy` says what to do where that fails: nothing measured is lost, since it is
/// stored.
pub fn write(path: &Path, content: impl AsRef<[u8]>, remedy: &str) -> Result<(), Failure> {
    let written =
        Output::open(path).and_then(|output| match output.file().write_all(content.as_ref()) {
            Ok(()) => output.finish(),
            Err(error) => Err(output.unwritten(&error)),
        });
    written.map_err(|it| it.but(remedy))
}

/// Why a file couldn't be written, and what became of the earlier one.
pub struct Unwritten(String);

impl Unwritten {
    fn new(path: &Path, error: &io::Error, earlier: bool) -> Unwritten {
        let path = path.display();
        let kept =
            if earlier { format!("; the earlier {path} was kept as it was") } else { "".into() };
        Unwritten(format!("write {path}: {}{kept}", reason(error)))
    }

    /// The same of standard output.
    pub fn to_standard_output(error: &io::Error) -> Unwritten {
        Unwritten(format!("write to standard output: {}", reason(error)))
    }

    /// The whole line, with what the user can do.
    pub fn but(self, remedy: &str) -> Failure {
        Failure::other(format!("{}; {remedy}", self.0))
    }
}

impl From<Unwritten> for Failure {
    fn from(why: Unwritten) -> Failure {
        Failure::other(why.0)
    }
}

pub struct Output {
    path: PathBuf,
    sink: Sink,
    /// Whether a regular file was there before.
    earlier: bool,
}

enum Sink {
    /// What takes the place of a regular file at the end.
    Fresh(Fresh),
    /// Written directly: a device, a FIFO.
    Direct(File),
}

impl Output {
    /// Opens what `path` names. An earlier file is as it was until [`Output::finish`].
    pub fn open(path: &Path) -> Result<Output, Unwritten> {
        let failed = |(error, earlier): (io::Error, bool)| Unwritten::new(path, &error, earlier);
        let target = find(path).map_err(failed)?;
        let earlier = matches!(target, Target::Regular(_, Some(_)));
        let sink = match target {
            Target::Direct(file) => Sink::Direct(file),
            Target::Regular(name, before) => {
                let fresh = Fresh::beside(&name, before);
                Sink::Fresh(fresh.map_err(|error| failed((error, earlier)))?)
            }
        };
        Ok(Output { path: path.into(), sink, earlier })
    }

    pub fn file(&self) -> &File {
        match &self.sink {
            Sink::Fresh(fresh) => &fresh.file,
            Sink::Direct(file) => file,
        }
    }

    /// Puts what was written in the place of the earlier file.
    pub fn finish(mut self) -> Result<(), Unwritten> {
        match &mut self.sink {
            Sink::Direct(_) => Ok(()),
            Sink::Fresh(fresh) => fresh.finish().map_err(|error| self.unwritten(&error)),
        }
    }

    /// A write to it has failed.
    pub fn unwritten(&self, error: &io::Error) -> Unwritten {
        Unwritten::new(&self.path, error, self.earlier)
    }
}

/// Standard output, where what is written to it goes somewhere.
///
/// # Errors
/// It is closed, or open for reading alone.
pub fn standard() -> Result<io::Stdout, Unwritten> {
    if process::standard_output_is_lost() {
        let error = io::Error::other("it is closed, or not open for writing");
        return Err(Unwritten::to_standard_output(&error));
    }
    Ok(io::stdout())
}

/// An error of a write, which may be the limit that a shell has set.
pub fn reason(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::FBIG) => format!("{error}: beyond {}", process::FILE_SIZE_LIMIT),
        _ => error.to_string(),
    }
}

/// What a path stands for.
enum Target {
    /// A regular file, where its name really is; and the earlier one, if there is one.
    Regular(PathBuf, Option<File>),
    /// What is written directly.
    Direct(File),
}

/// Finds what `path` stands for; with an error, whether a regular file is there.
fn find(path: &Path) -> Result<Target, (io::Error, bool)> {
    // The kernel says first whether this may be written: its rules for links in shared folders hold
    // (fs.protected_symlinks), and a file that is read-only stays as it is.
    let flags = WRITTEN | OFlags::NOCTTY;
    let before = match openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => Some(File::from(fd)),
        Err(Errno::NOENT) => None,
        Err(error) => return Err((error.into(), path.is_file())),
    };
    let regular = match &before {
        Some(file) => file.metadata().map_err(|error| (error, false))?.is_file(),
        None => true,
    };
    let earlier = before.is_some() && regular;
    match (resolve(path).map_err(|error| (error, earlier))?, before) {
        (Some(name), before) if regular => Ok(Target::Regular(name, before)),
        (_, Some(file)) if !regular => Ok(Target::Direct(file)),
        // A file that this process, or another, has open under a number: what is there stays, as with
        // `>>`. Its name, if it has one, is nobody's business.
        _ => {
            let behind = openat(CWD, path, flags | OFlags::APPEND, Mode::empty());
            behind.map(|fd| Target::Direct(fd.into())).map_err(|error| (error.into(), false))
        }
    }
}

/// Follows the symbolic links at the end of `path`; none where one of them is the kernel's own, in
/// /proc, which leads to an open file and not to a name.
fn resolve(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        let link = match std::fs::read_link(&path) {
            Ok(link) => link,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(path)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(Some(path)),
            Err(error) => return Err(error),
        };
        if statfs(folder_of(&path))?.f_type as u64 == PROC {
            return Ok(None);
        }
        path = folder_of(&path).join(link);
    }
    Err(Errno::LOOP.into())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A new file that will take the place of another in its folder.
struct Fresh {
    file: File,
    folder: OwnedFd,
    /// Its name in the folder, while it has one that must not stay.
    name: Option<String>,
    /// What it is to be called.
    target: PathBuf,
}

impl Fresh {
    fn beside(target: &Path, before: Option<File>) -> io::Result<Fresh> {
        let no_name = || io::Error::from(Errno::ISDIR);
        let called = target.file_name().ok_or_else(no_name)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, folder_of(target), flags, Mode::empty())?;
        // Nobody but the owner reads what replaces a private file; umask(2) is for new ones.
        let mode = Mode::from(if before.is_some() { 0o600 } else { 0o666 });
        let (file, name) = match openat(&folder, c".", WRITTEN | OFlags::TMPFILE, mode) {
            Ok(fd) => (File::from(fd), None),
            // No such thing on this file system (open(2)).
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => named(&folder, mode)?,
            Err(error) => return Err(during(BESIDE, error)),
        };
        let fresh = Fresh { file, folder, name, target: called.into() };
        if let Some(before) = before {
            fresh.resemble(&before)?;
        }
        Ok(fresh)
    }

    /// Takes on the owner and the mode of the earlier file.
    fn resemble(&self, before: &File) -> io::Result<()> {
        let (was, is) = (before.metadata()?, self.file.metadata()?);
        let mut mode = was.mode() & 0o777;
        let group = Some(rustix::fs::Gid::from_raw(was.gid()));
        if (was.uid(), was.gid()) != (is.uid(), is.gid()) {
            let owner = Some(rustix::fs::Uid::from_raw(was.uid()));
            let given =
                fchown(&self.file, owner, group).or_else(|_| fchown(&self.file, None, group));
            if given.is_err() {
                // Another group may do no more than everybody.
                mode &= 0o707 | (mode & 0o7) << 3;
            }
        }
        fchmod(&self.file, Mode::from(mode))?;
        // Where there is an access control list (acl(5)), the group's bits of the mode are no rights of
        // the group.
        let mut list = [0; 4096];
        match fgetxattr(before, ACL, &mut list) {
            Ok(length) => Ok(fsetxattr(&self.file, ACL, &list[..length], XattrFlags::empty())?),
            Err(_) => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if self.name.is_none() {
            let unnamed = format!("/proc/self/fd/{}", self.file.as_fd().as_raw_fd());
            let name = random_name()?;
            linkat(CWD, unnamed, &self.folder, name.as_str(), AtFlags::SYMLINK_FOLLOW)?;
            self.name = Some(name);
        }
        let name = self.name.as_deref().unwrap_or_default();
        renameat(&self.folder, name, &self.folder, &*self.target)
            .map_err(|error| during("put the new one in its place", error))?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(&self.folder, name.as_str(), AtFlags::empty());
        }
    }
}

/// An error of something else than writing.
fn during(what: &str, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// A file with a random name, which nobody had.
fn named(folder: &OwnedFd, mode: Mode) -> io::Result<(File, Option<String>)> {
    let name = random_name()?;
    let flags = WRITTEN | OFlags::CREATE | OFlags::EXCL;
    let fd = openat(folder, name.as_str(), flags, mode).map_err(|error| during(BESIDE, error))?;
    Ok((File::from(fd), Some(name)))
}

fn random_name() -> io::Result<String> {
    let mut bytes = [0; 12];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    let drawn: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!(".ipcmark.{drawn}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_name_of_its_own_vanishes_unless_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let names = || -> Vec<_> {
            let entries = std::fs::read_dir(folder.path()).unwrap().flatten();
            entries.map(|it| it.file_name().into_string().unwrap()).collect()
        };
        std::fs::write(folder.path().join("out"), "before").unwrap();
        for finished in [false, true] {
            let within = OwnedFd::from(File::open(folder.path()).unwrap());
            let (file, name) = named(&within, Mode::from(0o644)).unwrap();
            let mut fresh = Fresh { file, folder: within, name, target: "out".into() };
            (&fresh.file).write_all(b"after").unwrap();
            assert_eq!(names().len(), 2, "{:?}", names());
            if finished {
                fresh.finish().unwrap();
            }
            drop(fresh);
            assert_eq!(names(), ["out"]);
            let expected = if finished { "after" } else { "before" };
            assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), expected);
        }
    }
}
