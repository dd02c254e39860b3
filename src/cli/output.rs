//! Files that a user names: each is there whole, or as it was.
//!
//! What is to be in a regular file is first written to a file with a random name, `.ipcmark.…`, in the same folder,
//! brought to the disk with fsync(2), and renamed over the one that was asked for. Any failure removes it.
//!
//! Symbolic links are followed as [`lookup`] does: their target is replaced. The new file has the mode of the
//! earlier one and its access control list, and its owner and group where this process may give them away. Further
//! names of the earlier file (hard links) keep the earlier content. Whatever isn't a regular file, and whatever is
//! named by way of /proc (as /dev/stdout is), is written directly. A database is never replaced: it may be a store.

use std::ffi::{CStr, OsStr};
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    FileType, Mode, OFlags, XattrFlags, fchmod, fchown, fcntl_getfl, fcntl_setfl, fgetxattr,
    fremovexattr, fsetxattr,
};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

use super::Failure;
use super::lookup::{self, Found, Place, Spot};
use ::report::html;
use model::hint;
use sys::process;

const ACL: &CStr = c"system.posix_acl_access";
/// Begins each database of SQLite's.
const DATABASE: &[u8] = b"SQLite format 3\0";
/// The longest value of an attribute: XATTR_SIZE_MAX.
const LONGEST_ACL: usize = 64 << 10;
/// Bytes of a page by which it is known.
const PAGE_HEAD: u64 = 4 << 10;
const WRITTEN: OFlags = OFlags::WRONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// Writes a file. `remedy` says what to do where that fails: nothing measured is lost, since it is
/// stored.
pub fn write(path: &Path, content: impl AsRef<[u8]>, remedy: &str) -> Result<(), Failure> {
    fill(Output::open(path), content, remedy)
}

fn fill(
    output: Result<Output, Unwritten>,
    content: impl AsRef<[u8]>,
    remedy: &str,
) -> Result<(), Failure> {
    let written = output.and_then(|output| match output.file().write_all(content.as_ref()) {
        Ok(()) => output.finish(),
        Err(error) => Err(output.unwritten(&error)),
    });
    written.map_err(|why| why.but(remedy))
}

/// Why a file couldn't be written, and what became of the earlier one.
pub enum Unwritten {
    /// Nobody reads standard output any more, as behind `| head`.
    Closed,
    /// Anything else.
    Failed(String),
}

impl Unwritten {
    fn new(path: &Path, error: &io::Error, earlier: bool) -> Unwritten {
        let path = path.display();
        let kept =
            if earlier { format!("; the earlier {path} was kept as it was") } else { "".into() };
        Unwritten::Failed(format!("write {path}: {}{kept}", reason(error)))
    }

    /// The same of standard output.
    pub fn to_standard_output(error: &io::Error) -> Unwritten {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Unwritten::Closed,
            _ => Unwritten::Failed(format!("write to standard output: {}", reason(error))),
        }
    }

    /// The whole line, with what the user can do.
    pub fn but(self, remedy: &str) -> Failure {
        match self {
            Unwritten::Closed => Failure::closed(&format!("standard output was closed; {remedy}")),
            Unwritten::Failed(why) => Failure::other(format!("{why}; {remedy}")),
        }
    }

    /// The same before anything was done: a wrong word on the command line.
    pub fn refused(self, remedy: &str) -> Failure {
        Failure { code: 2, ..self.but(remedy) }
    }
}

impl From<Unwritten> for Failure {
    fn from(why: Unwritten) -> Failure {
        match why {
            Unwritten::Closed => Failure::closed(""),
            Unwritten::Failed(why) => Failure::other(why),
        }
    }
}

/// What is said where a file couldn't be written and nothing that was measured is lost: what writes it again.
pub fn again(words: &str) -> String {
    if hint::is_nothing_kept() {
        return "nothing is stored: measure again, with another file".into();
    }
    format!("the run is stored: `ipcmark {words}` writes it")
}

/// The same of what `report` writes with such `flags`.
pub fn report_again(run: i64, flags: &str) -> String {
    again(&format!("report {run} {flags}"))
}

/// An error of a write, which may be the limit that a shell has set.
pub fn reason(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::FBIG) => format!("{error}: beyond {}", process::FILE_SIZE_LIMIT),
        _ => error.to_string(),
    }
}

/// A folder that gets files, made if it isn't there.
pub struct Folder {
    folder: OwnedFd,
    path: PathBuf,
}

impl Folder {
    pub fn make(path: &Path) -> Result<Folder, Unwritten> {
        let folder = lookup::follow(None, path, true).and_then(Place::into_folder);
        let failed = |error| Unwritten::Failed(format!("make {}: {error}", path.display()));
        Ok(Folder { folder: folder.map_err(failed)?, path: path.into() })
    }

    /// Writes a file in it, as [`write()`] does.
    pub fn write(
        &self,
        name: &str,
        content: impl AsRef<[u8]>,
        remedy: &str,
    ) -> Result<(), Failure> {
        fill(Output::at(self.place(name), &self.path.join(name)), content, remedy)
    }

    /// Whether a name in it is free, or that of a page that this program wrote.
    ///
    /// # Errors
    /// What has the name can't be read.
    pub fn takes_page(&self, name: &str) -> Result<bool, Unwritten> {
        let head = self.place(name).and_then(|place| match place.found.as_ref().map(Found::kind) {
            None => Ok(None),
            Some(FileType::RegularFile) => {
                let mut head = Vec::new();
                File::from(place.open(OFlags::RDONLY)?).take(PAGE_HEAD).read_to_end(&mut head)?;
                Ok(Some(head))
            }
            Some(_) => Ok(Some(Vec::new())),
        });
        let head = head.map_err(|error| Unwritten::new(&self.path.join(name), &error, false))?;
        Ok(head.is_none_or(|head| String::from_utf8_lossy(&head).contains(html::MARK)))
    }

    /// Whether files can be made in it.
    pub fn try_out(&self) -> Result<(), Unwritten> {
        let tried = self.place("ipcmark").and_then(|place| Fresh::at(place, None));
        tried.map(drop).map_err(|error| Unwritten::new(&self.path, &error, false))
    }

    fn place(&self, name: &str) -> io::Result<Place> {
        lookup::follow(Some(&self.folder), Path::new(name), false)
    }
}

pub struct Output {
    path: PathBuf,
    sink: Sink,
    /// Whether a regular file was there before.
    earlier: bool,
    spot: Spot,
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
        Output::at(lookup::follow(None, path, false), path)
    }

    fn at(place: io::Result<Place>, path: &Path) -> Result<Output, Unwritten> {
        let place = place.map_err(|error| Unwritten::new(path, &error, false))?;
        let kind = place.found.as_ref().map(Found::kind);
        let earlier = kind == Some(FileType::RegularFile);
        let spot = place.spot().map_err(|error| Unwritten::new(path, &error, earlier))?;
        let sink = match kind {
            None => Fresh::at(place, None).map(Sink::Fresh),
            // A file that is read-only stays as it is.
            Some(FileType::RegularFile) => refuse_database(&place)
                .and_then(|()| place.open(WRITTEN))
                .and_then(|before| Fresh::at(place, Some(before.into())))
                .map(Sink::Fresh),
            Some(FileType::BlockDevice) => Err(io::Error::other("it is a block device")),
            Some(_) => direct(&place).map(Sink::Direct),
        };
        let sink = sink.map_err(|error| Unwritten::new(path, &error, earlier))?;
        Ok(Output { path: path.into(), sink, earlier, spot })
    }

    /// Where it is to be.
    pub fn spot(&self) -> &Spot {
        &self.spot
    }

    /// Whether what is written is there at once, and nowhere else before: in a FIFO, a device.
    pub fn is_direct(&self) -> bool {
        matches!(self.sink, Sink::Direct(_))
    }

    pub fn file(&self) -> &File {
        match &self.sink {
            Sink::Fresh(fresh) => fresh.file.as_file(),
            Sink::Direct(file) => file,
        }
    }

    /// Puts what was written in the place of the earlier file.
    pub fn finish(self) -> Result<(), Unwritten> {
        match self.sink {
            Sink::Direct(_) => Ok(()),
            Sink::Fresh(fresh) => {
                fresh.finish().map_err(|error| Unwritten::new(&self.path, &error, self.earlier))
            }
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

/// Opens what is no file, at once. What a process has open already keeps what it holds, as with `>>`; its name, if it has
/// one, is nobody's business.
fn direct(place: &Place) -> io::Result<File> {
    let file = match place.open(WRITTEN | OFlags::APPEND | OFlags::NONBLOCK) {
        Ok(file) => file,
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
            let line = "nobody reads it: start its reader first";
            return Err(io::Error::other(line));
        }
        Err(error) => return Err(error),
    };
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file.into())
}

/// A new file that will take the place of another in its folder.
struct Fresh {
    file: NamedTempFile,
    /// What it is to be called.
    target: PathBuf,
    /// The names go through its descriptor.
    _folder: OwnedFd,
}

impl Fresh {
    /// In the place of what was there before.
    fn at(place: Place, before: Option<File>) -> io::Result<Fresh> {
        let folder = PathBuf::from(format!("/proc/self/fd/{}", place.folder.as_raw_fd()));
        // Nobody but the owner reads what replaces a private file; umask(2) is for new ones.
        let mode = if before.is_some() { 0o600 } else { 0o666 };
        let file = Builder::new()
            .prefix(".ipcmark.")
            .rand_bytes(24)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(&folder)
            .map_err(|error| {
                // Behind the reason tempfile names its file, by the descriptor of the folder.
                let reason = error.to_string();
                let reason = reason.split(" at path ").next().unwrap_or_default();
                io::Error::new(error.kind(), format!("make a file beside it: {reason}"))
            })?;
        if let Some(before) = before {
            resemble(file.as_file(), &before)?;
        }
        Ok(Fresh { file, target: folder.join(place.name), _folder: place.folder })
    }

    fn finish(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        let put = self.file.persist(self.target);
        put.map(drop).map_err(|why| during("put the new one in its place", why.error))
    }
}

/// Refuses to write over a database, which may be a store, and over what lies beside one.
fn refuse_database(place: &Place) -> io::Result<()> {
    let name = place.name.as_bytes();
    let ends = [""].into_iter().chain(store::BESIDE);
    let mut whole = ends.filter_map(|end| name.strip_suffix(end.as_bytes()));
    if whole.any(|name| is_database(&place.folder, OsStr::from_bytes(name))) {
        return Err(io::Error::other("it is a database, as a store of runs is, or belongs to one"));
    }
    Ok(())
}

fn is_database(folder: &OwnedFd, name: &OsStr) -> bool {
    let Ok(place) = lookup::follow(Some(folder), Path::new(name), false) else { return false };
    let file = place.found.as_ref().filter(|found| found.kind() == FileType::RegularFile);
    let Some(file) = file else { return false };
    // Closing a second descriptor of a file would end the locks that SQLite has on it (fcntl_locking(2)).
    if file.is_open_here() {
        return true;
    }
    let mut head = Vec::new();
    let opened = place.open(OFlags::RDONLY).map(File::from);
    let read = opened.and_then(|file| file.take(16).read_to_end(&mut head));
    read.is_ok() && head == DATABASE
}

/// Gives a new file the owner, the access control list (acl(5)) and the mode of the earlier one.
fn resemble(file: &File, before: &File) -> io::Result<()> {
    let (was, is) = (before.metadata()?, file.metadata()?);
    let mut mode = was.mode() & 0o777;
    let group = Some(rustix::fs::Gid::from_raw(was.gid()));
    if (was.uid(), was.gid()) != (is.uid(), is.gid()) {
        let owner = Some(rustix::fs::Uid::from_raw(was.uid()));
        let given = fchown(file, owner, group).or_else(|_| fchown(file, None, group));
        if given.is_err() {
            // Another group may do no more than everybody.
            mode &= 0o707 | (mode & 0o7) << 3;
        }
    }
    take_on_list(file, before)?;
    // Where there is a list, the group's bits are what anybody in it may do at most.
    Ok(fchmod(file, Mode::from(mode))?)
}

/// An earlier file without a list stays without: that of the folder is for new files.
fn take_on_list(file: &File, before: &File) -> io::Result<()> {
    let failed = |error: Errno| during("keep its access control list", error.into());
    let mut list = vec![0; LONGEST_ACL];
    match fgetxattr(before, ACL, &mut list) {
        Ok(length) => fsetxattr(file, ACL, &list[..length], XattrFlags::empty()).map_err(failed),
        Err(Errno::NODATA) => match fremovexattr(file, ACL) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(failed(error)),
        },
        // This file system has none.
        Err(Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// An error of something else than writing.
fn during(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_vanishes_unless_it_is_finished() {
        let within = tempfile::tempdir().unwrap();
        let names = || std::fs::read_dir(within.path()).unwrap().count();
        let path = within.path().join("out");
        std::fs::write(&path, "before").unwrap();
        for (finished, expected) in [(false, "before"), (true, "after")] {
            let output = Output::open(&path).ok().unwrap();
            output.file().write_all(b"after").unwrap();
            assert_eq!(names(), 2);
            if finished {
                output.finish().ok().unwrap();
            } else {
                drop(output);
            }
            assert_eq!((names(), std::fs::read_to_string(&path).unwrap().as_str()), (1, expected));
        }
    }

    /// An access control list as the kernel keeps it: the owner, a user, the group, the mask, the others.
    fn list(user: u32) -> Vec<u8> {
        let entry = |tag: u16, may: u16, id: u32| {
            [&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let nobody = u32::MAX;
        let entries =
            [(1, 6, nobody), (2, 6, user), (4, 6, nobody), (16, 6, nobody), (32, 0, nobody)];
        let entries = entries.map(|(tag, may, id)| entry(tag, may, id));
        [2u32.to_le_bytes().to_vec(), entries.concat()].concat()
    }

    #[test]
    fn the_folder_opens_no_earlier_file_to_others() {
        let within = tempfile::tempdir().unwrap();
        let folder = File::open(within.path()).unwrap();
        let (default, empty) = (c"system.posix_acl_default", XattrFlags::empty());
        let paths = ["without", "with", "new"].map(|name| within.path().join(name));
        for path in &paths[..2] {
            std::fs::write(path, "before").unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(0o660)).unwrap();
        }
        if let Err(error) = fsetxattr(&folder, default, &list(4711), empty) {
            return eprintln!("skipped access control lists: {error}");
        }
        fsetxattr(File::open(&paths[1]).unwrap(), ACL, &list(4712), empty).unwrap();
        for path in &paths {
            write(path, "after", "").ok().unwrap();
        }
        let found = paths.map(|path| {
            let mut found = vec![0; LONGEST_ACL];
            let length = fgetxattr(File::open(&path).unwrap(), ACL, &mut found);
            (length.map(|length| found[..length].to_vec()), path.metadata().unwrap().mode() & 0o777)
        });
        assert_eq!(found[0], (Err(Errno::NODATA), 0o660), "none before, none after");
        assert_eq!(found[1], (Ok(list(4712)), 0o660), "its own");
        assert_eq!(found[2].0, Ok(list(4711)), "a new file has what its folder says");
    }
}
