//! System V message queues and semaphores (sysvipc(7)), and an IPC namespace to keep them in.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

/// An object that lives until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Object {
    /// A message queue, by id.
    Queue(i32),
    /// A set of semaphores, by id.
    Semaphores(i32),
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::Queue(id) => write!(f, "message queue {id}"),
            Object::Semaphores(id) => write!(f, "semaphore set {id}"),
        }
    }
}

fn checked(code: i64) -> io::Result<usize> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code as usize) }
}

/// Makes a queue under `key`, for this user alone (msgget(2)).
pub fn make_queue(key: i32) -> io::Result<i32> {
    let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
    // SAFETY: msgget takes plain integers.
    checked(i64::from(unsafe { libc::msgget(key, flags) })).map(|id| id as i32)
}

/// Bytes that a queue holds (msgctl(2), IPC_STAT).
pub fn queue_bytes(id: i32) -> io::Result<u64> {
    // SAFETY: all-zero bytes are a valid msqid_ds, and the kernel writes at most one of them.
    unsafe {
        let mut status: libc::msqid_ds = std::mem::zeroed();
        checked(i64::from(libc::msgctl(id, libc::IPC_STAT, &mut status)))?;
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
        checked(i64::from(unsafe { libc::msgsnd(id, self.words.as_ptr().cast(), length, 0) }))
            .map(drop)
    }

    /// Takes the next message out of queue `id`; sleeps while there is none; gives its length.
    /// A message larger than the envelope stays in the queue and is an error (msgrcv(2)).
    #[inline(always)]
    pub fn recv(&mut self, id: i32) -> io::Result<usize> {
        // SAFETY: the envelope has room for the type and `room` bytes behind it.
        checked(unsafe { libc::msgrcv(id, self.words.as_mut_ptr().cast(), self.room, 0, 0) } as i64)
    }
}

/// Makes a set of `count` semaphores under `key`, all zero (semget(2); Linux makes them zero).
pub fn make_semaphores(key: i32, count: i32) -> io::Result<i32> {
    let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
    // SAFETY: semget takes plain integers.
    checked(i64::from(unsafe { libc::semget(key, count, flags) })).map(|id| id as i32)
}

/// Adds `change` to semaphore `nth` of set `id`; sleeps while that would make it negative
/// (semop(2)).
#[inline(always)]
pub fn change_semaphore(id: i32, nth: u16, change: i16) -> io::Result<()> {
    let mut operation = libc::sembuf { sem_num: nth, sem_op: change, sem_flg: 0 };
    // SAFETY: one operation, which lives until the call returns.
    checked(i64::from(unsafe { libc::semop(id, &mut operation, 1) })).map(drop)
}

/// Removes an object; whoever sleeps on it wakes with EIDRM.
pub fn remove(object: Object) -> io::Result<()> {
    // SAFETY: IPC_RMID reads nothing but the id.
    let code = unsafe {
        match object {
            Object::Queue(id) => libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()),
            Object::Semaphores(id) => libc::semctl(id, 0, libc::IPC_RMID),
        }
    };
    checked(i64::from(code)).map(drop)
}

/// Every queue and semaphore set of this IPC namespace with its key (/proc/sysvipc).
pub fn objects() -> Vec<(i32, Object)> {
    let listed = |file: &str, object: fn(i32) -> Object| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let row = |line: &str| {
            let mut words = line.split_whitespace();
            let key: i64 = words.next()?.parse().ok()?;
            Some((key as i32, object(words.next()?.parse().ok()?)))
        };
        text.lines().filter_map(row).collect::<Vec<_>>()
    };
    let mut all = listed("/proc/sysvipc/msg", Object::Queue);
    all.extend(listed("/proc/sysvipc/sem", Object::Semaphores));
    all
}

/// Gives this process, and the children it will have, an IPC namespace of its own; an
/// unprivileged user gets it inside a new user namespace (unshare(2)).
pub fn enter_private_namespace() -> io::Result<()> {
    // SAFETY: neither flag changes memory, descriptors or threads of this process.
    let unshare = |flags| checked(i64::from(unsafe { libc::unshare(flags) })).map(drop);
    unshare(libc::CLONE_NEWIPC).or_else(|_| unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWIPC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_carries_messages_and_is_listed_until_removed() {
        let key = 0x6900_0000 | (std::process::id() as i32 & 0x3F_FFFF) << 2 | 3;
        let id = make_queue(key).unwrap();
        assert!(objects().contains(&(key, Object::Queue(id))));
        let mut envelope = Envelope::new(100);
        envelope.text(3).copy_from_slice(b"abc");
        envelope.send(id, 3).unwrap();
        let mut other = Envelope::new(100);
        assert_eq!(other.recv(id).unwrap(), 3);
        assert_eq!(other.text(3), b"abc");
        assert!(queue_bytes(id).unwrap() > 0);
        remove(Object::Queue(id)).unwrap();
        assert!(!objects().contains(&(key, Object::Queue(id))));
    }
}
