//! The table of ipcmark_plugin.h in Rust: an end is a type that sends and receives. CC0.
#![allow(dead_code, reason = "each plug-in uses a part of it")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::time::{Duration, Instant};

pub const STREAM: u32 = 0;
pub const MESSAGES: u32 = 1;
pub const SLEEPS: u32 = 0;
pub const YIELDS: u32 = 1;
pub const SPINS: u32 = 2;

/// Why an end can't be opened.
pub enum Refusal {
    Unavailable(String),
    Failed(String),
}

impl<E: std::fmt::Display> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::Failed(error.to_string())
    }
}

pub type Done = Result<(), String>;

/// An end of a connection. What it has beyond the first three depends on what its table was made of.
pub trait End: Sized {
    fn open(spec: &Spec) -> Result<Self, Refusal>;
    fn send(&mut self, message: &[u8]) -> Done;
    fn recv(&mut self, message: &mut [u8]) -> Done;
    /// Whether it was taken.
    fn try_send(&mut self, _message: &[u8]) -> Result<bool, String> {
        Err("it waits".into())
    }
    /// Whether one was there.
    fn try_recv(&mut self, _message: &mut [u8]) -> Result<bool, String> {
        Err("it waits".into())
    }
    fn loan(&mut self, _bytes: usize) -> Result<*mut u8, String> {
        Err("it lends nothing".into())
    }
    fn commit(&mut self) -> Done {
        Err("it lends nothing".into())
    }
    fn take(&mut self, _bytes: usize) -> Result<*const u8, String> {
        Err("it lends nothing".into())
    }
    fn release(&mut self) {}
}

/// `ipcmark_spec`.
#[repr(C)]
pub struct Spec {
    pub size: u32,
    role: u32,
    same_process: u32,
    connection: u32,
    connections: u32,
    reserved: u32,
    pub request_bytes: u64,
    pub answer_bytes: u64,
    pub depth: u64,
    deadline_ns: u64,
    folder: *const c_char,
    name: *const c_char,
    options: *const *const c_char,
}

fn text<'a>(from: *const c_char) -> &'a str {
    // SAFETY: by the header a text that ends with a zero byte.
    unsafe { CStr::from_ptr(from) }.to_str().unwrap_or_default()
}

/// What is chosen for the option `key`.
pub fn option<'a>(mut words: *const *const c_char, key: &str) -> &'a str {
    // SAFETY: by the header pairs of texts up to a null.
    unsafe {
        while !(*words).is_null() {
            if text(*words) == key {
                return text(*words.add(1));
            }
            words = words.add(2);
        }
    }
    ""
}

impl Spec {
    pub fn is_responder(&self) -> bool {
        self.role == 1
    }

    pub fn is_same_process(&self) -> bool {
        self.same_process == 1
    }

    pub fn folder(&self) -> &str {
        text(self.folder)
    }

    pub fn name(&self) -> &str {
        text(self.name)
    }

    pub fn option(&self, key: &str) -> &str {
        option(self.options, key)
    }

    /// Bytes of the largest message to this end, or from it.
    pub fn largest(&self) -> usize {
        self.request_bytes.max(self.answer_bytes).max(1) as usize
    }

    /// Asks every millisecond until there is something.
    ///
    /// # Errors
    /// The deadline has passed.
    pub fn until<T>(&self, mut ask: impl FnMut() -> Option<T>) -> Result<T, Refusal> {
        let (mut now, until) = (timespec { seconds: 0, nanoseconds: 0 }, self.deadline_ns);
        // SAFETY: writes what it is given; 1 is CLOCK_MONOTONIC.
        unsafe { clock_gettime(1, &mut now) };
        let left = until.saturating_sub((now.seconds * 1_000_000_000 + now.nanoseconds) as u64);
        let ends = Instant::now() + Duration::from_nanos(left);
        loop {
            if let Some(found) = ask() {
                return Ok(found);
            }
            if Instant::now() > ends {
                let partner = if self.is_responder() { "initiator" } else { "responder" };
                return Err(Refusal::Failed(format!("no {partner} before the deadline")));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns in both ends once both are here.
    ///
    /// # Errors
    /// The deadline has passed.
    pub fn meet(&self) -> Result<(), Refusal> {
        let names = ["initiator", "responder"].map(|name| format!("{}/{name}", self.folder()));
        let own = self.role as usize;
        std::fs::write(&names[own], "")?;
        self.until(|| std::fs::exists(&names[1 - own]).unwrap_or(false).then_some(()))
    }
}

#[repr(C)]
#[allow(non_camel_case_types, reason = "as C has it")]
struct timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, into: *mut timespec) -> c_int;
}

type Words = *const *const c_char;
type Send = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int;
type Receive = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int;
type Take = unsafe extern "C" fn(*mut c_void, usize) -> *const c_void;

/// `ipcmark_plugin_table`.
#[repr(C)]
pub struct Table {
    pub magic: u64,
    pub abi: u32,
    pub size: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub version: *const c_char,
    pub language: *const c_char,
    pub licence: *const c_char,
    pub options: *const c_char,
    pub carries: u32,
    pub framing: u32,
    pub broker: u32,
    pub in_place: u32,
    pub largest: Option<unsafe extern "C" fn(Words) -> u64>,
    pub waits: Option<unsafe extern "C" fn(Words) -> u32>,
    pub open: Option<unsafe extern "C" fn(*const Spec, *mut *mut c_void) -> c_int>,
    pub send: Option<Send>,
    pub recv: Option<Receive>,
    pub close: Option<unsafe extern "C" fn(*mut c_void)>,
    pub error: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    pub loan: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
    pub commit: Option<Receive>,
    pub take: Option<Take>,
    pub release: Option<unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int>,
    pub try_send: Option<Send>,
    pub try_recv: Option<Receive>,
    pub ready: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    pub finish: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

// SAFETY: it holds functions and texts that stay as they are.
unsafe impl Sync for Table {}

impl Table {
    /// That of ends of the type `E`, without its texts.
    pub const fn of<E: End>() -> Table {
        Table {
            magic: 0x314b_524d_4350_4969,
            abi: 1,
            size: size_of::<Table>() as u32,
            name: c"".as_ptr(),
            summary: c"".as_ptr(),
            version: c"".as_ptr(),
            language: c"Rust".as_ptr(),
            licence: c"MIT or Apache-2.0".as_ptr(),
            options: c"".as_ptr(),
            carries: 0,
            framing: MESSAGES,
            broker: 0,
            in_place: 0,
            largest: None,
            waits: None,
            open: Some(open::<E>),
            send: Some(send::<E>),
            recv: Some(recv::<E>),
            close: Some(close::<E>),
            error: Some(error),
            loan: None,
            commit: None,
            take: None,
            release: None,
            try_send: None,
            try_recv: None,
            ready: None,
            finish: None,
        }
    }

    /// With `loan` and its kin.
    pub const fn in_place<E: End>(mut self) -> Table {
        self.in_place = 1;
        self.loan = Some(loan::<E>);
        self.commit = Some(commit::<E>);
        self.take = Some(take::<E>);
        self.release = Some(release::<E>);
        self
    }

    /// With `try_send` and `try_recv`; no descriptor tells that something came.
    pub const fn polled<E: End>(mut self) -> Table {
        self.try_send = Some(try_send::<E>);
        self.try_recv = Some(try_recv::<E>);
        self.ready = Some(no_descriptor);
        self
    }
}

thread_local! {
    static REASON: RefCell<CString> = RefCell::default();
}

#[cold]
fn failed(why: String) -> c_int {
    REASON.set(CString::new(why.replace('\0', " ")).unwrap_or_default());
    -1
}

fn done(result: Done) -> c_int {
    result.map_or_else(failed, |()| 0)
}

fn taken(result: Result<bool, String>) -> c_int {
    result.map_or_else(failed, |taken| c_int::from(!taken))
}

unsafe extern "C" fn error(_: *mut c_void) -> *const c_char {
    // Of the last call that failed: it stays until the next one.
    REASON.with_borrow(|reason| reason.as_ptr())
}

// SAFETY, of all below: by the header an end is one that `open` gave, used by one call at a time, and a message has so many
// bytes.

unsafe fn end<'a, E>(of: *mut c_void) -> &'a mut E {
    unsafe { &mut *of.cast() }
}

unsafe extern "C" fn open<E: End>(spec: *const Spec, into: *mut *mut c_void) -> c_int {
    match E::open(unsafe { &*spec }) {
        Ok(end) => unsafe { *into = Box::into_raw(Box::new(end)).cast() },
        Err(Refusal::Failed(why)) => return failed(why),
        Err(Refusal::Unavailable(why)) => return failed(why) - 1,
    }
    0
}

unsafe extern "C" fn send<E: End>(of: *mut c_void, message: *const c_void, bytes: usize) -> c_int {
    done(unsafe { end::<E>(of).send(from_raw_parts(message.cast(), bytes)) })
}

unsafe extern "C" fn recv<E: End>(of: *mut c_void, message: *mut c_void, bytes: usize) -> c_int {
    done(unsafe { end::<E>(of).recv(from_raw_parts_mut(message.cast(), bytes)) })
}

unsafe extern "C" fn try_send<E: End>(of: *mut c_void, from: *const c_void, bytes: usize) -> c_int {
    taken(unsafe { end::<E>(of).try_send(from_raw_parts(from.cast(), bytes)) })
}

unsafe extern "C" fn try_recv<E: End>(of: *mut c_void, into: *mut c_void, bytes: usize) -> c_int {
    taken(unsafe { end::<E>(of).try_recv(from_raw_parts_mut(into.cast(), bytes)) })
}

unsafe extern "C" fn no_descriptor(_: *mut c_void) -> c_int {
    -1
}

unsafe extern "C" fn loan<E: End>(of: *mut c_void, bytes: usize) -> *mut c_void {
    match unsafe { end::<E>(of).loan(bytes) } {
        Ok(lent) => lent.cast(),
        Err(why) => (failed(why), std::ptr::null_mut()).1,
    }
}

unsafe extern "C" fn commit<E: End>(of: *mut c_void, _: *mut c_void, _: usize) -> c_int {
    done(unsafe { end::<E>(of).commit() })
}

unsafe extern "C" fn take<E: End>(of: *mut c_void, bytes: usize) -> *const c_void {
    match unsafe { end::<E>(of).take(bytes) } {
        Ok(lent) => lent.cast(),
        Err(why) => (failed(why), std::ptr::null()).1,
    }
}

unsafe extern "C" fn release<E: End>(of: *mut c_void, _: *const c_void) -> c_int {
    unsafe { end::<E>(of).release() };
    0
}

unsafe extern "C" fn close<E: End>(of: *mut c_void) {
    drop(unsafe { Box::from_raw(of.cast::<E>()) });
}

/// A message of another length: something was lost, or came twice.
pub fn wrong_length(got: usize, due: usize) -> String {
    format!("a message of {got} bytes came, and {due} were due")
}

/// Two threads of one process: the responder leaves the initiator's end under the name of the connection.
pub mod between_threads {
    use super::{Refusal, Spec};
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    /// Ends that wait for who takes them.
    pub struct Meeting<E>(Mutex<Option<HashMap<String, E>>>);

    impl<E> Meeting<E> {
        pub const fn new() -> Meeting<E> {
            Meeting(Mutex::new(None))
        }

        /// This role's end of the two that `made` gives, the responder's first.
        ///
        /// # Errors
        /// They are in two processes, or the deadline has passed.
        pub fn end(&self, spec: &Spec, made: impl FnOnce() -> (E, E)) -> Result<E, Refusal> {
            if !spec.is_same_process() {
                let why = "it is between threads of one process: --workers thread";
                return Err(Refusal::Unavailable(why.into()));
            }
            let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if spec.is_responder() {
                let (own, others) = made();
                lock().get_or_insert_default().insert(spec.name().to_string(), others);
                return Ok(own);
            }
            spec.until(|| lock().as_mut()?.remove(spec.name()))
        }
    }
}
