//! Removes what dead processes of this program left, by their records.
//!
//! Dead is an owner whose lock on its record is free: the kernel releases it when its last holder is
//! gone, in whichever PID namespace that was, and no copy of the process can free it. Where the
//! owner's id can be looked at, it must agree. What the record names is removed only where all that
//! it says is what the kernel says now; anything else is left, and named. No call is made on what is
//! not ours: System V objects are looked up in /proc/sysvipc, files by descriptors that follow no link.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use super::folder::{
    Disbelief, Others, RecordFolder, believable, euid, kind_of, names_in, same_file, text_of,
};
use super::wire::{HEADER, SLOT, WireEntry, WireHeader, is_random, is_record};
use sys::identity::{self, Liveness};
use sys::posix;
use sys::system_v::{self, Object, Status};

/// What was found: a line for each thing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    pub removed: Vec<String>,
    pub left: Vec<String>,
    /// Where it couldn't look, and why.
    pub unseen: Vec<String>,
}

impl Cleaned {
    /// Takes another's lines.
    pub fn extend(&mut self, other: Cleaned) {
        self.removed.extend(other.removed);
        self.left.extend(other.left);
        self.unseen.extend(other.unseen);
    }
}

/// How long what a process forked may take to die after it.
const DYING: Duration = Duration::from_secs(1);

/// Removes what dead processes of this program left.
pub fn clean() -> Cleaned {
    let mut cleaned = clean_those(|_| true, Duration::ZERO);
    // By it alone is seen which processes live.
    if let Err(error) = identity::boot() {
        cleaned.unseen.push(format!("/proc: {error}; mount it"));
    }
    cleaned
}

/// The supervisors that this process has started.
static LAUNCHED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Takes in that process `pid` supervises a launch of this process.
pub fn note_launch(pid: u32) {
    LAUNCHED.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
}

/// Removes what the launches of this process left that a process which was slow to die still held when its launch
/// ended; to be called once nothing is launched any more. One that still holds something is waited for so long.
pub fn clean_up_after_launches(patience: Duration) -> Cleaned {
    let launched = std::mem::take(&mut *LAUNCHED.lock().unwrap_or_else(PoisonError::into_inner));
    let Ok(here) = identity::namespace("pid") else { return Cleaned::default() };
    clean_those(
        |header| header.process.pid_namespace == here && launched.contains(&header.group),
        patience,
    )
}

/// Removes what the launch left whose supervisor was process `pid`: it has just been seen to end, or
/// is the caller and has seen its workers end.
pub fn clean_up_after_process(pid: u32) -> Cleaned {
    let Ok(here) = identity::namespace("pid") else { return Cleaned::default() };
    let of_launch = |header: &WireHeader| header.group == pid || header.process.pid == pid;
    clean_those(|header| header.process.pid_namespace == here && of_launch(header), DYING)
}

fn clean_those(whose: impl Fn(&WireHeader) -> bool, patience: Duration) -> Cleaned {
    let mut cleaned = Cleaned::default();
    let path = super::temporary_folder();
    let opened = RecordFolder::open(path.clone());
    let looked = opened.and_then(|place| names_in(place.at()).map(|names| (place, names)));
    let (place, names) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            let path = path.display();
            cleaned.unseen.push(format!("{path}: {error}; TMPDIR names another folder"));
            return cleaned;
        }
    };
    let mut others = Others::default();
    for name in names {
        if !is_record(&name) {
            continue;
        }
        match Found::open(&place, &name) {
            Ok(Some(found)) if whose(&found.header) => {
                cleaned.extend(found.clean(&place, patience));
            }
            Ok(_) => {}
            Err(Disbelief::OtherUser(uid)) => others.take(name, uid),
            Err(Disbelief::Because(why)) => {
                cleaned.left.push(format!("{}: {why}", place.shown(&name)));
            }
        }
    }
    cleaned.left.extend(others.line(&place));
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

/// A record that is ours by its file.
struct Found {
    name: String,
    file: File,
    header: WireHeader,
}

impl Found {
    /// The record called `name`; none if it has just vanished. Err tells why it isn't believed.
    fn open(place: &RecordFolder, name: &str) -> Result<Option<Found>, Disbelief> {
        // Nothing else is opened: opening alone can do something to a device.
        match statat(place.at(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            found => believable(&found?)?,
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(place.at(), name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            file => File::from(file?),
        };
        let stat = fstat(&file)?;
        if stat.st_nlink == 0 {
            return Ok(None);
        }
        believable(&stat)?;
        let text = text_of(&file).map_err(Disbelief::Because)?;
        let header = text.get(..HEADER).and_then(|text| serde_json::from_slice(text).ok());
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
                let left = vec![format!("what {shown} names: {why}")];
                Cleaned { left, ..Cleaned::default() }
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
                WireEntry::Name { name, device, inode } => {
                    self.remove_queue_name(name, (*device, *inode))
                }
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

    /// Takes the name of a POSIX queue away: what was removed, None if it is gone, Err if it stays.
    fn remove_queue_name(&self, name: &str, made: (u64, u64)) -> Result<Option<String>, String> {
        let shown = format!("POSIX queue /{name}");
        let failed = |error: io::Error| format!("{shown}: {error}");
        if !is_random(name) {
            return Err("a POSIX queue of a name that ipcmark gives to none".into());
        }
        if identity::namespace("ipc").map_err(failed)? != self.header.ipc_namespace {
            return Err(format!("{shown}: it is in another IPC namespace"));
        }
        let path = CString::new(format!("/{name}")).map_err(|error| failed(error.into()))?;
        let queue = match posix::named_queue(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            queue => queue.map_err(failed)?,
        };
        let stat = fstat(&queue).map_err(|error| failed(error.into()))?;
        if stat.st_uid != euid() || (stat.st_dev, stat.st_ino) != made {
            return Err(format!("{shown}: it is not the one that was made"));
        }
        posix::unlink_queue(&path).map_err(|error| format!("{shown}: mq_unlink: {error}"))?;
        Ok(Some(shown))
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
                let now = all.into_iter().find(|pair| pair.0 == *object);
                now.map(|(_, now)| remove_made(*object, status, &now)).transpose()
            }
            _ => match all.into_iter().find(|pair| pair.1.key == key) {
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
    if identity.is_some_and(|identity| identity != (stat.st_dev, stat.st_ino)) {
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
