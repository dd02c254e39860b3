//! System V message queues and semaphores (sysvipc(7)), and an IPC namespace to keep them in.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::checked;

/// A kind of object that lives until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    Queue,
    Semaphores,
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ObjectKind::Queue => "message queue",
            ObjectKind::Semaphores => "semaphore set",
        })
    }
}

/// An object of this IPC namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    pub kind: ObjectKind,
    /// The kernel's id of it.
    pub id: i32,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.id)
    }
}

/// What the kernel says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    pub key: i32,
    /// Its owner, whom a privileged user may change.
    pub uid: u32,
    pub creator: u32,
    pub mode: u32,
    /// When it was made or last changed by a ctl call, in seconds since 1970.
    pub ctime: i64,
}

/// Makes a queue under `key`, for this user alone (msgget(2)).
pub fn make_queue(key: i32) -> io::Result<i32> {
    let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
    // SAFETY: msgget takes plain integers.
    checked("msgget", i64::from(unsafe { libc::msgget(key, flags) })).map(|id| id as i32)
}

/// Bytes that a queue holds (msgctl(2), IPC_STAT).
pub fn queue_bytes(id: i32) -> io::Result<u64> {
    // SAFETY: all-zero bytes are a valid msqid_ds, and the kernel writes at most one of them.
    unsafe {
        let mut status: libc::msqid_ds = std::mem::zeroed();
        checked("msgctl", i64::from(libc::msgctl(id, libc::IPC_STAT, &mut status)))?;
        Ok(status.msg_qbytes)
    }
}

/// A message as the kernel wants it: a type, then the bytes. Room for messages of one size.
pub struct Envelope {
    words: Vec<u64>,
    room: usize,
}

impl Envelope {
    const TYPE: u64 = 1;

    /// An envelope for messages of at most `room` bytes.
    pub fn new(room: usize) -> Envelope {
        Envelope { words: vec![Self::TYPE; 1 + room.div_ceil(8)], room }
    }

    /// The largest message it holds, in bytes.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.room
    }

    /// The bytes behind the type.
    #[inline(always)]
    pub fn text(&mut self, length: usize) -> &mut [u8] {
        assert!(length <= self.room, "message larger than its envelope");
        let bytes = self.words[1..].as_mut_ptr().cast::<u8>();
        // SAFETY: `words` holds `room` bytes behind its first word, and `length` is at most
        // that; any bytes are valid words.
        unsafe { std::slice::from_raw_parts_mut(bytes, length) }
    }

    /// Puts the first `length` bytes into queue `id`; sleeps while it is full (msgsnd(2)).
    #[inline(always)]
    pub fn send(&self, id: i32, length: usize) -> io::Result<()> {
        assert!(length <= self.room, "message larger than its envelope");
        // SAFETY: the envelope holds a positive type and at least `length` bytes behind it.
        checked(
            "msgsnd",
            i64::from(unsafe { libc::msgsnd(id, self.words.as_ptr().cast(), length, 0) }),
        )
        .map(drop)
    }

    /// Takes the next message out of queue `id`; sleeps while there is none; gives its length.
    /// A message larger than the envelope stays in the queue and is an error (msgrcv(2)).
    #[inline(always)]
    pub fn recv(&mut self, id: i32) -> io::Result<usize> {
        // SAFETY: the envelope has room for the type and `room` bytes behind it.
        checked("msgrcv", unsafe {
            libc::msgrcv(id, self.words.as_mut_ptr().cast(), self.room, 0, 0)
        } as i64)
    }
}

/// Makes a set of `count` semaphores under `key`, all zero (semget(2); Linux makes them zero).
pub fn make_semaphores(key: i32, count: i32) -> io::Result<i32> {
    let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
    // SAFETY: semget takes plain integers.
    checked("semget", i64::from(unsafe { libc::semget(key, count, flags) })).map(|id| id as i32)
}

/// Adds `change` to semaphore `nth` of set `id`; sleeps while that would make it negative
/// (semop(2)).
#[inline(always)]
pub fn change_semaphore(id: i32, nth: u16, change: i16) -> io::Result<()> {
    let mut operation = libc::sembuf { sem_num: nth, sem_op: change, sem_flg: 0 };
    // SAFETY: one operation, which lives until the call returns.
    match unsafe { libc::semop(id, &mut operation, 1) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// What the kernel says of an object (msgctl(2) and semctl(2), IPC_STAT).
pub fn status(object: Object) -> io::Result<Status> {
    // SAFETY: all-zero bytes are valid structures of these kinds, and the kernel writes at most one
    // of the kind that belongs to the call.
    let (permissions, ctime) = unsafe {
        match object.kind {
            ObjectKind::Queue => {
                let mut status: libc::msqid_ds = std::mem::zeroed();
                checked("msgctl", i64::from(libc::msgctl(object.id, libc::IPC_STAT, &mut status)))?;
                (status.msg_perm, status.msg_ctime)
            }
            ObjectKind::Semaphores => {
                let mut status: libc::semid_ds = std::mem::zeroed();
                let place = &raw mut status;
                checked("semctl", i64::from(libc::semctl(object.id, 0, libc::IPC_STAT, place)))?;
                (status.sem_perm, status.sem_ctime)
            }
        }
    };
    Ok(Status {
        key: permissions.__key,
        uid: permissions.uid,
        creator: permissions.cuid,
        mode: u32::from(permissions.mode) & 0o777,
        ctime,
    })
}

/// Removes an object; a thread that sleeps on it wakes with EIDRM.
pub fn remove(object: Object) -> io::Result<()> {
    // SAFETY: IPC_RMID reads nothing but the id.
    let code = unsafe {
        match object.kind {
            ObjectKind::Queue => libc::msgctl(object.id, libc::IPC_RMID, std::ptr::null_mut()),
            ObjectKind::Semaphores => libc::semctl(object.id, 0, libc::IPC_RMID),
        }
    };
    checked("msgctl or semctl", i64::from(code)).map(drop)
}

/// Every object of `kind` in this IPC namespace, without a call on any of them (/proc/sysvipc).
///
/// # Errors
/// If the table can't be read.
pub fn objects(kind: ObjectKind) -> io::Result<Vec<(Object, Status)>> {
    let (file, id) = match kind {
        ObjectKind::Queue => ("/proc/sysvipc/msg", "msqid"),
        ObjectKind::Semaphores => ("/proc/sysvipc/sem", "semid"),
    };
    let text = std::fs::read_to_string(file)?;
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let heads = lines.next().unwrap_or_default();
    let row = |words: Vec<&str>| {
        let word = |head: &str| words.get(heads.iter().position(|text| *text == head)?).copied();
        let status = Status {
            key: word("key")?.parse().ok()?,
            uid: word("uid")?.parse().ok()?,
            creator: word("cuid")?.parse().ok()?,
            // Other bits of this word are the kernel's own.
            mode: u32::from_str_radix(word("perms")?, 8).ok()? & 0o777,
            ctime: word("ctime")?.parse().ok()?,
        };
        Some((Object { kind, id: word(id)?.parse().ok()? }, status))
    };
    Ok(lines.filter_map(row).collect())
}

static PRIVATE: AtomicBool = AtomicBool::new(false);

/// Whether this process, or the one that forked it, is in an IPC namespace of its own: what is made
/// there vanishes with it.
pub fn is_private() -> bool {
    PRIVATE.load(Ordering::Relaxed)
}

/// Gives this process, and the children it will have, an IPC namespace of its own; an
/// unprivileged user gets it inside a new user namespace (unshare(2)).
pub fn enter_private_namespace() -> io::Result<()> {
    // SAFETY: neither flag changes memory, descriptors or threads of this process.
    let unshare = |flags| checked("unshare", i64::from(unsafe { libc::unshare(flags) })).map(drop);
    unshare(libc::CLONE_NEWIPC)
        .or_else(|_| unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWIPC))
        .inspect(|()| PRIVATE.store(true, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn a_queue_carries_messages_and_is_listed_until_removed() {
        let key = 0x0DD0_0000 | std::process::id() as i32;
        let id = make_queue(key).unwrap();
        let object = Object { kind: ObjectKind::Queue, id };
        let listed =
            || objects(ObjectKind::Queue).unwrap().into_iter().find(|pair| pair.0 == object);
        assert_eq!(listed().unwrap().1, status(object).unwrap());
        assert_eq!((listed().unwrap().1.key, listed().unwrap().1.mode), (key, 0o600));
        let mut envelope = Envelope::new(100);
        envelope.text(3).copy_from_slice(b"abc");
        envelope.send(id, 3).unwrap();
        let mut other = Envelope::new(100);
        assert_eq!(other.recv(id).unwrap(), 3);
        assert_eq!(other.text(3), b"abc");
        assert!(queue_bytes(id).unwrap() > 0);
        remove(object).unwrap();
        assert_eq!(listed(), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn what_is_said_of_a_set_is_what_is_listed() {
        let id = make_semaphores(0x0DE0_0000 | std::process::id() as i32, 2).unwrap();
        let object = Object { kind: ObjectKind::Semaphores, id };
        let listed = objects(ObjectKind::Semaphores).unwrap();
        let status = status(object);
        remove(object).unwrap();
        assert!(listed.contains(&(object, status.unwrap())));
    }
}
