//! The folder for temporary files, and what in it is believed to be a record of this user's.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{Dir, FileType, Mode, OFlags, Stat, open};
use rustix::io::Errno;

/// The longest record that is read: more than a million set-ups leave.
const LONGEST: u64 = 1 << 20;
/// The folder for temporary files, and its name.
pub(super) struct RecordFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl RecordFolder {
    pub fn open(path: PathBuf) -> io::Result<RecordFolder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(RecordFolder { folder: open(&path, flags, Mode::empty())?, path })
    }

    pub fn at(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    pub fn shown(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

/// What is called like a record and belongs to other users: any of them can make any number.
#[derive(Default)]
pub(super) struct Others {
    count: usize,
    first: Option<(String, u32)>,
}

impl Others {
    pub fn take(&mut self, name: String, uid: u32) {
        self.count += 1;
        self.first.get_or_insert((name, uid));
    }

    pub fn line(self, place: &RecordFolder) -> Option<String> {
        let (name, uid) = self.first?;
        let shown = place.shown(&name);
        Some(match self.count {
            1 => format!("{shown}: it belongs to user {uid}"),
            count => format!("{count} records of other users, as {shown} of user {uid}"),
        })
    }
}

/// Why a file isn't believed to be a record of this user's.
pub(super) enum Disbelief {
    /// It is another's.
    OtherUser(u32),
    /// What is wrong with it.
    Because(String),
}

impl From<Errno> for Disbelief {
    fn from(error: Errno) -> Disbelief {
        Disbelief::Because(error.to_string())
    }
}

impl From<&str> for Disbelief {
    fn from(why: &str) -> Disbelief {
        Disbelief::Because(why.into())
    }
}

pub(super) fn names_in(folder: BorrowedFd<'_>) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        // A name that isn't UTF-8 is none of ours, and shows as one that none of ours can be.
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

pub(super) fn euid() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(super) fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(super) fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Whether a file may be a record of this user's: nobody else can have written it.
pub(super) fn believable(stat: &Stat) -> Result<(), Disbelief> {
    if stat.st_uid != euid() {
        return Err(Disbelief::OtherUser(stat.st_uid));
    }
    if kind_of(stat) != FileType::RegularFile {
        return Err("it is no ordinary file".into());
    }
    if stat.st_mode & 0o7777 != 0o600 || stat.st_nlink > 1 {
        return Err("others could have written it, or it has another name too".into());
    }
    Ok(())
}

pub(super) fn text_of(file: &File) -> Result<Vec<u8>, String> {
    use std::os::unix::fs::FileExt;
    struct At<'a>(&'a File, u64);
    impl Read for At<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.read_at(room, self.1)?;
            self.1 += bytes as u64;
            Ok(bytes)
        }
    }
    let mut text = Vec::new();
    At(file, 0).take(LONGEST + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > LONGEST { Err("it is too long".into()) } else { Ok(text) }
}
