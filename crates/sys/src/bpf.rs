//! Programs on the kernel's tracepoints (bpf(2)): maps, programs and links as owned descriptors, so
//! that nothing of them outlives the process that made them.
//!
//! [`Bpf`] is the boundary at which the kernel refuses: [`Kernel`] asks it, a fake of it gives the
//! errors of a kernel that can't, or doesn't want to.

use std::error::Error;
use std::ffi::{CStr, c_void};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// BPF_MAP_TYPE_HASH.
pub const HASH: u32 = 1;
/// BPF_MAP_TYPE_ARRAY.
pub const ARRAY: u32 = 2;

/// What a map looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// [`HASH`] or [`ARRAY`].
    pub kind: u32,
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub entries: u32,
    /// BPF_F_….
    pub flags: u32,
}

impl Shape {
    /// An array of one value: where the variables of programs live.
    pub fn variables(value_bytes: u32, flags: u32) -> Shape {
        Shape { kind: ARRAY, key_bytes: 4, value_bytes, entries: 1, flags }
    }
}

/// Only the loader writes (BPF_F_RDONLY_PROG); with [`Map::freeze`] not even it.
pub const READ_ONLY: u32 = 1 << 7;

/// Where programs go.
pub trait Bpf {
    /// Makes a map.
    ///
    /// # Errors
    /// What bpf(2) says to BPF_MAP_CREATE.
    fn create(&self, shape: Shape) -> io::Result<Map>;
    /// Has a program for raw tracepoints verified and translated.
    ///
    /// # Errors
    /// What bpf(2) says to BPF_PROG_LOAD: [`Unverified`] where the verifier says why.
    fn load(&self, instructions: &[u8]) -> io::Result<OwnedFd>;
    /// Lets a program hear a tracepoint until the link is closed.
    ///
    /// # Errors
    /// ENOENT where there is no such tracepoint; what else bpf(2) says to BPF_RAW_TRACEPOINT_OPEN.
    fn attach(&self, program: BorrowedFd<'_>, tracepoint: &CStr) -> io::Result<OwnedFd>;
}

/// A program that the verifier refused.
#[derive(Debug)]
pub struct Unverified {
    /// What bpf(2) said.
    pub errno: i32,
    /// The last line of the verifier's log.
    pub word: String,
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", io::Error::from_raw_os_error(self.errno), self.word)
    }
}

impl Error for Unverified {}

impl From<Unverified> for io::Error {
    fn from(why: Unverified) -> io::Error {
        io::Error::new(io::Error::from_raw_os_error(why.errno).kind(), why)
    }
}

impl Unverified {
    /// The one within an error, if one is.
    pub fn within(error: &io::Error) -> Option<&Unverified> {
        error.get_ref()?.downcast_ref()
    }
}

pub struct Kernel;

/// Terms of the programs: helpers that read the kernel's memory want "GPL" among them.
const TERMS: &CStr = c"Dual MIT/GPL";
/// The name by which tools show them.
const NAME: [u8; 16] = *b"ipcmark\0\0\0\0\0\0\0\0\0";
/// BPF_PROG_TYPE_RAW_TRACEPOINT.
const RAW_TRACEPOINT: u32 = 17;

// Commands of bpf(2).
const MAP_CREATE: i64 = 0;
const MAP_LOOKUP: i64 = 1;
const MAP_UPDATE: i64 = 2;
const MAP_NEXT_KEY: i64 = 4;
const PROG_LOAD: i64 = 5;
const PROG_NEXT_ID: i64 = 11;
const RAW_TRACEPOINT_OPEN: i64 = 17;
const MAP_FREEZE: i64 = 22;

// Each mirrors the beginning of that command's part of `union bpf_attr` (linux/bpf.h), without
// padding of its own; the kernel takes what is missing as zero.
#[repr(C)]
struct MapCreate {
    shape: [u32; 5],
    inner_and_node: [u32; 2],
    name: [u8; 16],
}

#[repr(C)]
struct MapElement {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: [u8; 16],
}

#[repr(C)]
struct RawTracepointOpen {
    name: u64,
    program: u32,
    padding: u32,
}

/// Asks bpf(2); `attributes` is one of the structures above.
///
/// # Safety
/// The addresses within must be valid for what `command` reads and writes.
unsafe fn ask<T>(command: i64, attributes: &mut T) -> io::Result<i32> {
    let attributes = ptr::from_mut(attributes).cast::<c_void>();
    // SAFETY: the structure is as long as is said; the rest is the caller's promise.
    match unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result as i32),
    }
}

fn owned(descriptor: i32) -> OwnedFd {
    // SAFETY: the kernel just gave this descriptor to us alone.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

fn address<T: ?Sized>(of: &T) -> u64 {
    ptr::from_ref(of).cast::<()>() as u64
}

impl Bpf for Kernel {
    fn create(&self, shape: Shape) -> io::Result<Map> {
        let Shape { kind, key_bytes, value_bytes, entries, flags } = shape;
        assert!([HASH, ARRAY].contains(&kind), "a kind that has one value for each key");
        let fields = [kind, key_bytes, value_bytes, entries, flags];
        let mut attributes = MapCreate { shape: fields, inner_and_node: [0; 2], name: NAME };
        // SAFETY: the command reads nothing beyond its attributes.
        let descriptor = unsafe { ask(MAP_CREATE, &mut attributes) }.map(owned)?;
        Ok(Map { descriptor, shape })
    }

    fn load(&self, instructions: &[u8]) -> io::Result<OwnedFd> {
        load(instructions, &mut []).or_else(|error| match error.raw_os_error() {
            // The verifier's refusals: its log says why.
            Some(libc::EACCES | libc::EINVAL) => {
                let mut log = vec![0; 1 << 20];
                load(instructions, &mut log).map_err(|error| with_last_word(error, &log))
            }
            _ => Err(error),
        })
    }

    fn attach(&self, program: BorrowedFd<'_>, tracepoint: &CStr) -> io::Result<OwnedFd> {
        let program = program.as_raw_fd() as u32;
        let name = tracepoint.as_ptr() as u64;
        let mut attributes = RawTracepointOpen { name, program, padding: 0 };
        // SAFETY: the name ends in a zero byte and outlives the call.
        unsafe { ask(RAW_TRACEPOINT_OPEN, &mut attributes) }.map(owned)
    }
}

fn load(instructions: &[u8], log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut attributes = ProgLoad {
        kind: RAW_TRACEPOINT,
        count: (instructions.len() / 8) as u32,
        instructions: address(instructions),
        license: TERMS.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_bytes: log.len() as u32,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
        version: 0,
        flags: 0,
        name: NAME,
    };
    // SAFETY: as many instructions as are said lie at their address, as much room for the log at
    // its own; both outlive the call.
    unsafe { ask(PROG_LOAD, &mut attributes) }.map(owned)
}

fn with_last_word(error: io::Error, log: &[u8]) -> io::Error {
    let log = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let log = String::from_utf8_lossy(log);
    let said = log.lines().rev().find(|line| !line.is_empty() && !line.starts_with("processed"));
    match (said, error.raw_os_error()) {
        (Some(said), Some(errno)) => Unverified { errno, word: said.to_owned() }.into(),
        _ => error,
    }
}

/// A map and its shape. Only the kernel makes them, so that the one is the other's.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    shape: Shape,
}

impl Map {
    /// Its descriptor, for instructions that speak of it.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    fn element(&self, key: &[u8], value: u64) -> MapElement {
        assert_eq!(key.len(), self.shape.key_bytes as usize, "a key of this map");
        let map = self.descriptor.as_raw_fd() as u32;
        MapElement { map, padding: 0, key: address(key), value, flags: 0 }
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// ENOENT where there is none.
    pub fn get(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.shape.value_bytes as usize];
        let mut attributes = self.element(key, value.as_mut_ptr() as u64);
        // SAFETY: key and value are as long as the map's are, which is none of those kinds that hold
        // a value for each CPU.
        unsafe { ask(MAP_LOOKUP, &mut attributes) }?;
        Ok(value)
    }

    /// Gives `key` this value.
    ///
    /// # Errors
    /// E2BIG where there is no room; EPERM once frozen.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!(value.len(), self.shape.value_bytes as usize, "a value of this map");
        let mut attributes = self.element(key, address(value));
        // SAFETY: key and value are as long as the map's are.
        unsafe { ask(MAP_UPDATE, &mut attributes) }.map(|_| ())
    }

    /// Every key and its value.
    ///
    /// # Errors
    /// What bpf(2) says.
    pub fn entries(&self) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut entries = Vec::new();
        let mut last: Option<Vec<u8>> = None;
        loop {
            let mut next = vec![0u8; self.shape.key_bytes as usize];
            let mut attributes = self.element(last.as_ref().unwrap_or(&next), 0);
            attributes.value = next.as_mut_ptr() as u64;
            if last.is_none() {
                attributes.key = 0;
            }
            // SAFETY: the key is none or as long as the map's are, and so is the room for the next.
            match unsafe { ask(MAP_NEXT_KEY, &mut attributes) } {
                Ok(_) => entries.push((next.clone(), self.get(&next)?)),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(entries),
                Err(error) => return Err(error),
            }
            last = Some(next);
        }
    }

    /// Lets nobody write it any more: what a program reads from it is known to the verifier.
    ///
    /// # Errors
    /// ENOTSUP or EPERM.
    pub fn freeze(&self) -> io::Result<()> {
        let mut attributes = self.descriptor.as_raw_fd() as u32;
        // SAFETY: the command reads a descriptor.
        unsafe { ask(MAP_FREEZE, &mut attributes) }.map(|_| ())
    }

    /// The first `bytes` of an array that may be mapped (BPF_F_MMAPABLE).
    ///
    /// # Errors
    /// What mmap(2) says.
    pub fn first_bytes(&self, bytes: usize) -> io::Result<Vec<u8>> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let most =
            self.shape.entries as usize * self.shape.value_bytes.next_multiple_of(8) as usize;
        assert!(bytes <= most, "no more than the map has");
        let (protection, flags) = (ProtFlags::READ, MapFlags::SHARED);
        // SAFETY: the kernel chooses where, so that nothing of ours is replaced.
        let at =
            unsafe { mmap(ptr::null_mut(), bytes, protection, flags, self.descriptor.as_fd(), 0)? };
        // SAFETY: a mapping begins on a page, and has as many whole words as hold `bytes`: values lie on words, and there
        // are no fewer of them, as was asserted. A program may still write, which atomics are there for: nothing but
        // these words refers to the memory.
        let words = unsafe {
            let first = at.cast::<AtomicU64>();
            std::slice::from_raw_parts(first, bytes.div_ceil(size_of::<u64>()))
        };
        let mut copy: Vec<u8> =
            words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        copy.truncate(bytes);
        // SAFETY: what was mapped just now, and `words` is used no more.
        unsafe { munmap(at, bytes)? };
        Ok(copy)
    }
}

/// The ids of all programs that are loaded on this system, of all users: for tests and tools
/// that check that nothing is left behind.
///
/// # Errors
/// EPERM without CAP_SYS_ADMIN.
pub fn program_ids() -> io::Result<Vec<u32>> {
    let (mut ids, mut attributes) = (Vec::new(), [0u32; 3]);
    loop {
        // SAFETY: the command reads and writes within its attributes: start, next, flags.
        match unsafe { ask(PROG_NEXT_ID, &mut attributes) } {
            Ok(_) => ids.push(attributes[1]),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(ids),
            Err(error) => return Err(error),
        }
        attributes = [attributes[1], 0, 0];
    }
}
