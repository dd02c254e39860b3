//! Removes what dead processes of this program left, by their records.
//!
//! Dead is an owner whose lock on its record is free: the kernel releases it when its last holder is
//! gone, in whichever PID namespace that was, and no copy of the process can free it. Where the
//! owner's id can be looked at, it must agree. What the record names is removed only where all that
//! it says is what the kernel says now; anything else is left, and named. No call is made on what is
//! not ours: System V objects are looked up in /proc/sysvipc, files by descriptors that follow no link.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, open, openat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::record::{HEADER, SLOT, WireEntry, WireHeader, is_random, is_record};
use sys::identity::{self, Liveness};
use sys::system_v::{self, Object, Status};

/// What was found: a line for each thing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// What was removed.
    pub removed: Vec<String>,
    /// What was left, and why.
    pub left: Vec<String>,
}

impl Cleaned {
    /// Takes another's lines.
    pub fn extend(&mut self, other: Cleaned) {
        self.removed.extend(other.removed);
        self.left.extend(other.left);
    }
}

/// The longest record that is read: more than a million set-ups leave.
const LONGEST: u64 = 1 << 20;
/// How long what a process forked may take to die after it.
const DYING: Duration = Duration::from_secs(1);

/// Removes what dead processes of this program left.
pub fn clean() -> Cleaned {
    clean_those(|_| true, Duration::ZERO)
}

/// Removes what the launch left whose supervisor was process `pid`: it has just been seen to end, or
/// is the caller and has seen its workers end.
pub fn clean_up_after_process(pid: u32) -> Cleaned {
    let Ok(here) = identity::namespace("pid") else { return Cleaned::default() };
    let of_launch = |header: &WireHeader| header.group == pid || header.process.pid == pid;
    clean_those(|it| it.process.pid_namespace == here && of_launch(it), DYING)
}

/// The folder for temporary files, and its name.
struct RecordFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl RecordFolder {
    fn open(path: PathBuf) -> io::Result<RecordFolder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(RecordFolder { folder: open(&path, flags, Mode::empty())?, path })
    }

    fn at(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    fn shown(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

fn clean_those(whose: impl Fn(&WireHeader) -> bool, patience: Duration) -> Cleaned {
    let mut cleaned = Cleaned::default();
    let Ok(place) = RecordFolder::open(std::env::temp_dir()) else { return cleaned };
    for name in names_in(place.at()).unwrap_or_default() {
        if !is_record(&name) {
            continue;
        }
        match Found::open(&place, &name) {
            Ok(Some(found)) if whose(&found.header) => {
                cleaned.extend(found.clean(&place, patience));
            }
            Ok(_) => {}
            Err(why) => cleaned.left.push(format!("{}: {why}", place.shown(&name))),
        }
    }
    cleaned
}

/// Removes what the record at `path` of the calling process names, and the record.
pub(super) fn remove_own(path: &Path) {
    let parts = path.parent().zip(path.file_name().and_then(|name| name.to_str()));
    let Some((folder, name)) = parts else { return };
    let Ok(place) = RecordFolder::open(folder.into()) else { return };
    if let Ok(Some(found)) = Found::open(&place, name) {
        found.remove_all(&place);
    }
}

fn names_in(folder: BorrowedFd<'_>) -> io::Result<Vec<String>> {
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

fn euid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// A record that is ours by its file.
struct Found {
    name: String,
    file: File,
    header: WireHeader,
}

impl Found {
    /// The record called `name`; none if it has just vanished. Err tells why it isn't believed.
    fn open(place: &RecordFolder, name: &str) -> Result<Option<Found>, String> {
        let failed = |error: Errno| error.to_string();
        // Nothing else is opened: opening alone can do something to a device.
        match statat(place.at(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            found => believable(&found.map_err(failed)?)?,
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(place.at(), name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            file => File::from(file.map_err(failed)?),
        };
        let stat = fstat(&file).map_err(failed)?;
        if stat.st_nlink == 0 {
            return Ok(None);
        }
        believable(&stat)?;
        let text = text_of(&file)?;
        let header = text.get(..HEADER).and_then(|it| serde_json::from_slice(it).ok());
        let header: WireHeader = header.ok_or("it is no record of this version of ipcmark")?;
        if header.record != name || header.uid != euid() {
            return Err("it says that it is another record".into());
        }
        Ok(Some(Found { name: name.into(), file, header }))
    }

    /// Removes what it names if its owner is dead.
    fn clean(self, place: &RecordFolder, patience: Duration) -> Cleaned {
        match self.owner_is_dead(place, patience) {
            Ok(true) => self.remove_all(place),
            Ok(false) => Cleaned::default(),
            Err(why) => {
                let shown = place.shown(&self.name);
                Cleaned { removed: Vec::new(), left: vec![format!("what {shown} names: {why}")] }
            }
        }
    }

    /// Whether its owner is dead, and this process holds the lock now; false if the record is gone.
    fn owner_is_dead(&self, place: &RecordFolder, patience: Duration) -> Result<bool, String> {
        let pid = self.header.process.pid;
        let boot = identity::boot().map_err(|error| format!("/proc can't be read: {error}"))?;
        if self.header.process.boot != boot {
            return Err(format!("process {pid} made it under another boot, or on another machine"));
        }
        let until = Instant::now() + patience;
        loop {
            match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::AGAIN) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(Errno::AGAIN) => return Err(format!("process {pid} that made it runs")),
                Err(error) => return Err(format!("flock: {error}")),
            }
        }
        // Its owner, or another who cleans, may have removed it meanwhile.
        let named = statat(place.at(), &*self.name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let open = fstat(&self.file).map_err(|error| error.to_string())?;
        if !named.is_some_and(|named| same_file(&named, &open)) {
            return Ok(false);
        }
        match self.header.process.liveness() {
            Liveness::Alive => Err(format!("process {pid} that made it runs")),
            // The lock has decided: it knows no PID namespaces.
            Liveness::Dead | Liveness::Unknown(_) => Ok(true),
        }
    }

    /// Removes what it names, and itself if nothing stays.
    fn remove_all(&self, place: &RecordFolder) -> Cleaned {
        let mut cleaned = Cleaned::default();
        let (pid, noted) = (self.header.process.pid, place.shown(&self.name));
        let entries = match self.entries() {
            Ok(entries) => entries,
            Err(why) => {
                cleaned.left.push(format!("{noted}: {why}"));
                return cleaned;
            }
        };
        for entry in entries {
            let done = match &entry {
                WireEntry::Planned { .. } | WireEntry::Made { .. } => self.remove_object(&entry),
                WireEntry::FolderPlanned { name } => remove_folder(place, name, None),
                WireEntry::Folder { name, device, inode } => {
                    remove_folder(place, name, Some((*device, *inode)))
                }
            };
            match done {
                Ok(Some(what)) => cleaned.removed.push(format!("{what}, left by process {pid}")),
                Ok(None) => {}
                Err(why) => cleaned.left.push(format!("{why} (noted in {noted})")),
            }
        }
        if cleaned.left.is_empty() {
            let _ = unlinkat(place.at(), &*self.name, AtFlags::empty());
        }
        cleaned
    }

    fn entries(&self) -> Result<Vec<WireEntry>, String> {
        let text = text_of(&self.file)?;
        let slots = text.get(HEADER..).unwrap_or_default().chunks(SLOT);
        // One that was passed over holds zeros, one that was freed blanks.
        let is_free =
            |slot: &&[u8]| slot.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace());
        let written = slots.filter(|slot| !is_free(slot)).map(<[u8]>::trim_ascii);
        let entries: Result<Vec<WireEntry>, _> = written.map(serde_json::from_slice).collect();
        entries.map_err(|_| "an entry can't be read".into())
    }

    /// Removes the object of an entry: what was removed, None if it is gone, Err if it stays.
    fn remove_object(&self, entry: &WireEntry) -> Result<Option<String>, String> {
        let (kind, key) = match entry {
            WireEntry::Planned { kind, key } => (*kind, *key),
            WireEntry::Made { object, status } => (object.kind, status.key),
            _ => return Ok(None),
        };
        let shown = format!("{kind} of key {key:#010x}");
        let here = identity::namespace("ipc").map_err(|error| error.to_string())?;
        if here != self.header.ipc_namespace {
            return Err(format!("{shown}: it is in another IPC namespace"));
        }
        let all = system_v::objects(kind).map_err(|error| format!("/proc/sysvipc: {error}"))?;
        match entry {
            WireEntry::Made { object, status } => {
                let now = all.into_iter().find(|it| it.0 == *object);
                now.map(|(_, now)| remove_made(*object, status, &now)).transpose()
            }
            _ => match all.into_iter().find(|it| it.1.key == key) {
                None => Ok(None),
                Some((object, _)) => Err(format!(
                    "{object} of key {key:#010x}: process {} was killed before it noted whether it \
                     made it: if it did, ipcrm removes it",
                    self.header.process.pid
                )),
            },
        }
    }
}

/// Removes an object that was made as `then` says, if it is that one `now`.
fn remove_made(object: Object, then: &Status, now: &Status) -> Result<String, String> {
    if [then.creator, then.uid, now.creator, now.uid] != [euid(); 4] {
        return Err(format!("{object}: it belongs to user {}", now.uid));
    }
    // By its id only once the table has shown that it is ours; and then as late as possible.
    let last = || system_v::status(object).ok();
    let differs = difference(then, now).or_else(|| difference(then, &last()?));
    if let Some(what) = differs {
        return Err(format!("{object}: its {what} is not that of the one that was made"));
    }
    match system_v::remove(object) {
        Ok(()) => Ok(object.to_string()),
        Err(error) => Err(format!("{object}: {error}")),
    }
}

fn difference(then: &Status, now: &Status) -> Option<&'static str> {
    let same = [
        ("key", then.key == now.key),
        ("owner", then.uid == now.uid),
        ("creator", then.creator == now.creator),
        ("mode", then.mode == now.mode),
        ("time of creation", then.ctime == now.ctime),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
}

/// Removes a private folder and the FIFOs and sockets in it: what was removed, None if it is gone, Err
/// if it stays. One whose inode was not noted any more must be empty.
fn remove_folder(
    place: &RecordFolder,
    name: &str,
    identity: Option<(u64, u64)>,
) -> Result<Option<String>, String> {
    if !is_random(name) {
        return Err("a folder of a name that ipcmark gives to none".into());
    }
    let shown = place.shown(name);
    let failed = |error: Errno| format!("{shown}: {error}");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(place.at(), name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        folder => folder.map_err(failed)?,
    };
    let stat = fstat(&folder).map_err(failed)?;
    if stat.st_uid != euid() || stat.st_mode & 0o777 != 0o700 {
        return Err(format!("{shown}: it is not private to this user"));
    }
    if identity.is_some_and(|it| it != (stat.st_dev, stat.st_ino)) {
        return Err(format!("{shown}: it is not the folder that was made"));
    }
    let names = names_in(folder.as_fd()).map_err(|error| format!("{shown}: {error}"))?;
    let is_ours = |name: &String| {
        statat(&folder, &**name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
            matches!(kind_of(&stat), FileType::Fifo | FileType::Socket) && stat.st_uid == euid()
        })
    };
    if let Some(other) = names.iter().find(|name| identity.is_none() || !is_ours(name)) {
        return Err(format!("{shown}: ipcmark made no {} in it", other.escape_debug()));
    }
    for name in &names {
        unlinkat(&folder, &**name, AtFlags::empty()).map_err(failed)?;
    }
    let named = statat(place.at(), name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    if !same_file(&named, &stat) {
        return Err(format!("{shown}: it was replaced meanwhile"));
    }
    unlinkat(place.at(), name, AtFlags::REMOVEDIR).map_err(failed)?;
    Ok(Some(shown))
}

/// Whether a file may be a record of this user's: nobody else can have written it.
fn believable(stat: &Stat) -> Result<(), String> {
    if kind_of(stat) != FileType::RegularFile {
        return Err("it is no ordinary file".into());
    }
    if stat.st_uid != euid() {
        return Err(format!("it belongs to user {}", stat.st_uid));
    }
    if stat.st_mode & 0o7777 != 0o600 || stat.st_nlink > 1 {
        return Err("others could have written it, or it has another name too".into());
    }
    Ok(())
}

fn text_of(file: &File) -> Result<Vec<u8>, String> {
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
