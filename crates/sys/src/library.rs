//! Plug-ins: shared libraries with the table of include/ipcmark_plugin.h, as safe values.
//!
//! That a library keeps what the header asks of it can't be checked from here. It is code that the user asked for by
//! name, and runs with his rights in a worker of a launch: a table that lies crashes that worker, which is a row.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// `iIPCMRK1`.
const MAGIC: u64 = 0x314b_524d_4350_4969;
/// The version of the meanings of its fields.
const ABI: u32 = 1;
/// Bytes of the table up to the last field that every plug-in has.
const LEAST: usize = std::mem::offset_of!(RawTable, loan);

/// What a call gave back.
const DONE: c_int = 0;
const WOULD_BLOCK: c_int = 1;
const UNAVAILABLE: c_int = -2;

/// `ipcmark_spec`.
#[repr(C)]
struct RawSpec {
    size: u32,
    role: u32,
    same_process: u32,
    connection: u32,
    connections: u32,
    reserved: u32,
    request_bytes: u64,
    answer_bytes: u64,
    depth: u64,
    deadline_ns: u64,
    folder: *const c_char,
    name: *const c_char,
    options: *const *const c_char,
}

type SendCall = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int;
type ReceiveCall = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int;
type OnEnd = unsafe extern "C" fn(*mut c_void) -> c_int;
type Words = *const *const c_char;

/// `ipcmark_plugin_table`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawTable {
    magic: u64,
    abi: u32,
    size: u32,
    name: *const c_char,
    summary: *const c_char,
    version: *const c_char,
    language: *const c_char,
    licence: *const c_char,
    options: *const c_char,
    carries: u32,
    framing: u32,
    broker: u32,
    in_place: u32,
    largest: Option<unsafe extern "C" fn(Words) -> u64>,
    waits: Option<unsafe extern "C" fn(Words) -> u32>,
    open: Option<unsafe extern "C" fn(*const RawSpec, *mut *mut c_void) -> c_int>,
    send: Option<SendCall>,
    recv: Option<ReceiveCall>,
    close: Option<unsafe extern "C" fn(*mut c_void)>,
    error: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
    loan: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
    commit: Option<ReceiveCall>,
    take: Option<unsafe extern "C" fn(*mut c_void, usize) -> *const c_void>,
    release: Option<unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int>,
    try_send: Option<SendCall>,
    try_recv: Option<ReceiveCall>,
    ready: Option<OnEnd>,
    finish: Option<OnEnd>,
}

/// The texts and numbers of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub name: String,
    pub summary: String,
    pub version: String,
    pub language: String,
    pub licence: String,
    pub options: String,
    /// 0 bytes, 1 a wake-up.
    pub carries: u32,
    /// 0 a stream, 1 messages.
    pub framing: u32,
    pub broker: bool,
    pub in_place: bool,
    pub without_waiting: bool,
}

/// What an end is opened for; see the header.
pub struct EndSpec<'a> {
    pub is_responder: bool,
    pub same_process: bool,
    pub request_bytes: u64,
    pub answer_bytes: u64,
    pub deadline_ns: u64,
    pub folder: &'a Path,
    pub name: &'a str,
    pub options: &'a [(String, String)],
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginError {
    /// It can't be had here.
    Unavailable(String),
    Failed(String),
}

/// A library that is loaded. It stays so: its threads may outlive any handle.
#[derive(Clone, Copy)]
pub struct Plugin {
    table: RawTable,
}

/// An end that is open; or one that isn't yet, of which every call fails.
pub struct End {
    table: RawTable,
    end: *mut c_void,
    send: SendCall,
    recv: ReceiveCall,
}

// SAFETY: the header has it that calls of an end may come from another thread than the one that opened it, one at a time;
// an `End` is owned, and its calls take `&mut self`.
unsafe impl Send for End {}

unsafe extern "C" fn not_open(_: *mut c_void, _: *const c_void, _: usize) -> c_int {
    -1
}

unsafe extern "C" fn nothing_open(_: *mut c_void, _: *mut c_void, _: usize) -> c_int {
    -1
}

/// A text of a plug-in; empty where it has none.
fn text(of: *const c_char) -> String {
    if of.is_null() {
        return String::new();
    }
    // SAFETY: not null, and by the header a text that ends with a zero byte and stays as it is while the library is loaded,
    // which it is for ever.
    unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned()
}

/// Words of the options, with the list of where they are, which ends with a null.
struct OptionList {
    _words: Vec<CString>,
    places: Vec<*const c_char>,
}

impl OptionList {
    fn of(options: &[(String, String)]) -> OptionList {
        let words = options.iter().flat_map(|(key, value)| [key, value]);
        // A zero byte can't stand on a command line.
        let words: Vec<CString> =
            words.map(|word| CString::new(word.as_str()).unwrap_or_default()).collect();
        let places = words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect();
        OptionList { _words: words, places }
    }
}

/// The last error of dlopen(3), dlsym(3).
fn loader_error() -> String {
    // SAFETY: gives null or a text that stays until the next call of this thread, and is copied before.
    text(unsafe { libc::dlerror() })
}

impl Plugin {
    /// Loads the library of `path`, and asks it for its table.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(path: &Path) -> Result<Plugin, String> {
        let shown = path.display();
        let file = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| format!("{shown}: a path with a zero byte"))?;
        // SAFETY: a C string; the library's constructors are the user's own code, which he named to be run.
        let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(loader_error());
        }
        // SAFETY: a library that is loaded and stays so, and a C string.
        let symbol = unsafe { libc::dlsym(library, c"ipcmark_plugin".as_ptr()) };
        if symbol.is_null() {
            return Err(format!("{shown} has no symbol `ipcmark_plugin`: see ipcmark_plugin.h"));
        }
        // SAFETY: the symbol of that name is a function of that type by the header, which the library claims to follow
        // by having it.
        let table: unsafe extern "C" fn() -> *const RawTable =
            unsafe { std::mem::transmute::<*mut c_void, _>(symbol) };
        // SAFETY: as above; it takes nothing and starts nothing.
        let found = unsafe { table() };
        if found.is_null() {
            return Err(format!("{shown}: ipcmark_plugin() gave no table"));
        }
        // SAFETY: not null; the first three fields stand in every version of the table.
        let (magic, abi, size) = unsafe {
            (
                ptr::addr_of!((*found).magic).read_unaligned(),
                ptr::addr_of!((*found).abi).read_unaligned(),
                ptr::addr_of!((*found).size).read_unaligned() as usize,
            )
        };
        if magic != MAGIC {
            return Err(format!(
                "{shown}: its table begins with {magic:#x}, not with IPCMARK_PLUGIN_MAGIC"
            ));
        }
        if abi != ABI {
            return Err(format!(
                "{shown} is of ABI {abi}, and this program of {ABI}: compile it with this one's header"
            ));
        }
        if size < LEAST {
            return Err(format!(
                "{shown}: its table has {size} bytes, and at least {LEAST} are one: .size = \
                 sizeof(ipcmark_plugin_table)"
            ));
        }
        // SAFETY: a table of which every field may be absent.
        let mut copied: RawTable = unsafe { std::mem::zeroed() };
        let bytes = size.min(size_of::<RawTable>());
        // SAFETY: `found` has `size` bytes by its own word, `copied` as many as it has; both are tables of plain fields of
        // which every pattern that a library writes is one, and null is an absent function.
        unsafe {
            ptr::copy_nonoverlapping(
                found.cast::<u8>(),
                ptr::from_mut(&mut copied).cast::<u8>(),
                bytes,
            );
        }
        let calls = [
            ("open", copied.open.is_some()),
            ("send", copied.send.is_some()),
            ("recv", copied.recv.is_some()),
            ("close", copied.close.is_some()),
        ];
        if let Some((name, _)) = calls.iter().find(|call| !call.1) {
            return Err(format!("{shown}: its table has no {name}()"));
        }
        for (what, there) in [
            (
                "loan, commit, take and release",
                vec![
                    copied.loan.is_some(),
                    copied.commit.is_some(),
                    copied.take.is_some(),
                    copied.release.is_some(),
                ],
            ),
            (
                "try_send, try_recv and ready",
                vec![copied.try_send.is_some(), copied.try_recv.is_some(), copied.ready.is_some()],
            ),
        ] {
            if there.contains(&true) && there.contains(&false) {
                return Err(format!("{shown}: {what}: all of them or none"));
            }
        }
        match (copied.in_place, copied.loan.is_some()) {
            (0, false) | (1, true) => Ok(Plugin { table: copied }),
            (0, true) => Err(format!("{shown}: it has loan(), and in_place = 0: set it to 1")),
            _ => Err(format!("{shown}: in_place is set, and there is no loan()")),
        }
    }

    /// What it says of itself.
    pub fn facts(&self) -> Facts {
        let table = &self.table;
        Facts {
            name: text(table.name),
            summary: text(table.summary),
            version: text(table.version),
            language: text(table.language),
            licence: text(table.licence),
            options: text(table.options),
            carries: table.carries,
            framing: table.framing,
            broker: table.broker != 0,
            in_place: table.in_place != 0,
            without_waiting: table.try_send.is_some(),
        }
    }

    /// Bytes of its largest message with these options; None without a limit.
    pub fn largest(&self, options: &[(String, String)]) -> Option<u64> {
        let list = OptionList::of(options);
        // SAFETY: a list of C strings that ends with a null and lives as long as the call.
        let bytes = self.table.largest.map(|call| unsafe { call(list.places.as_ptr()) });
        bytes.filter(|bytes| *bytes > 0)
    }

    /// How it waits with these options: 0 asleep, 1 yields, 2 spins.
    pub fn waits(&self, options: &[(String, String)]) -> u32 {
        let list = OptionList::of(options);
        // SAFETY: as in `largest`.
        self.table.waits.map_or(0, |call| unsafe { call(list.places.as_ptr()) })
    }

    /// Whether messages can be written and read in place.
    pub fn lends(&self) -> bool {
        self.table.loan.is_some()
    }

    /// Opens an end.
    ///
    /// # Errors
    /// What the plug-in says.
    pub fn open(&self, spec: &EndSpec) -> Result<End, PluginError> {
        let list = OptionList::of(spec.options);
        let text_of = |bytes: &[u8]| CString::new(bytes).unwrap_or_default();
        let (folder, name) =
            (text_of(spec.folder.as_os_str().as_bytes()), text_of(spec.name.as_bytes()));
        let raw = RawSpec {
            size: size_of::<RawSpec>() as u32,
            role: spec.is_responder.into(),
            same_process: spec.same_process.into(),
            connection: 0,
            connections: 1,
            reserved: 0,
            request_bytes: spec.request_bytes,
            answer_bytes: spec.answer_bytes,
            depth: 0,
            deadline_ns: spec.deadline_ns,
            folder: folder.as_ptr(),
            name: name.as_ptr(),
            options: list.places.as_ptr(),
        };
        let (Some(open), Some(send), Some(recv)) =
            (self.table.open, self.table.send, self.table.recv)
        else {
            return Err(PluginError::Failed("its table has no open(), send() or recv()".into()));
        };
        let mut end = ptr::null_mut();
        // SAFETY: a spec whose texts live as long as the call, and room for what it gives back.
        let code = unsafe { open(&raw, &mut end) };
        match code {
            DONE => Ok(End { table: self.table, end, send, recv }),
            UNAVAILABLE => Err(PluginError::Unavailable(said(&self.table, end, code))),
            _ => Err(PluginError::Failed(format!("open: {}", said(&self.table, end, code)))),
        }
    }
}

/// What a plug-in says of a call that failed, or its code.
fn said(table: &RawTable, end: *mut c_void, code: c_int) -> String {
    // SAFETY: by the header it takes an end or null, and gives null or a text.
    let words = table.error.map(|error| text(unsafe { error(end) })).unwrap_or_default();
    if words.is_empty() { format!("returned {code}, and says no more") } else { words }
}

impl End {
    /// One that isn't open: every call of it fails.
    pub fn closed() -> End {
        // SAFETY: a table of which every field is absent.
        let table = unsafe { std::mem::zeroed() };
        End { table, end: ptr::null_mut(), send: not_open, recv: nothing_open }
    }

    #[cold]
    fn reason(&self) -> String {
        said(&self.table, self.end, -1)
    }

    #[cold]
    fn failed(&self, call: &str, code: c_int) -> PluginError {
        PluginError::Failed(format!("{call}: {}", said(&self.table, self.end, code)))
    }

    /// # Errors
    /// What the plug-in says.
    #[inline(always)]
    pub fn send(&mut self, message: &[u8]) -> Result<(), PluginError> {
        // SAFETY: an end that is open, or the stand-in that ignores it; the message lives as long as the call.
        match unsafe { (self.send)(self.end, message.as_ptr().cast(), message.len()) } {
            DONE => Ok(()),
            code => Err(self.failed("send", code)),
        }
    }

    /// # Errors
    /// What the plug-in says.
    #[inline(always)]
    pub fn recv(&mut self, message: &mut [u8]) -> Result<(), PluginError> {
        // SAFETY: as in `send`; the memory is this slice's alone.
        match unsafe { (self.recv)(self.end, message.as_mut_ptr().cast(), message.len()) } {
            DONE => Ok(()),
            code => Err(self.failed("recv", code)),
        }
    }

    /// Writes a message where the plug-in lends memory, and hands it over.
    ///
    /// # Errors
    /// What the plug-in says; it lends none.
    #[inline(always)]
    pub fn send_in_place(
        &mut self,
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), PluginError> {
        let (Some(loan), Some(commit)) = (self.table.loan, self.table.commit) else {
            return Err(self.failed("loan", -1));
        };
        // SAFETY: an end that is open: only then there is a table with these calls.
        let memory = unsafe { loan(self.end, bytes) };
        if memory.is_null() {
            return Err(PluginError::Failed(format!("loan gave no memory: {}", self.reason())));
        }
        // SAFETY: by the header `bytes` bytes that are the caller's until it commits them; they hold what they held, which is
        // bytes.
        fill(unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), bytes) });
        // SAFETY: the memory that was lent, whole.
        match unsafe { commit(self.end, memory, bytes) } {
            DONE => Ok(()),
            code => Err(self.failed("commit", code)),
        }
    }

    /// Takes a message where it lies, shows it, and gives it back.
    ///
    /// # Errors
    /// What the plug-in says; what `look` says, as `Ok(Err(…))`.
    #[inline(always)]
    pub fn recv_in_place<T>(
        &mut self,
        bytes: usize,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, PluginError> {
        let (Some(take), Some(release)) = (self.table.take, self.table.release) else {
            return Err(self.failed("take", -1));
        };
        // SAFETY: an end that is open, as in `send_in_place`.
        let memory = unsafe { take(self.end, bytes) };
        if memory.is_null() {
            return Err(PluginError::Failed(format!("take gave no message: {}", self.reason())));
        }
        // SAFETY: by the header `bytes` bytes that nobody changes until they are released.
        let found = look(unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), bytes) });
        // SAFETY: the memory that was taken.
        match unsafe { release(self.end, memory) } {
            DONE => Ok(found),
            code => Err(self.failed("release", code)),
        }
    }

    /// Whether the message was taken.
    ///
    /// # Errors
    /// What the plug-in says.
    #[inline(always)]
    pub fn try_send(&mut self, message: &[u8]) -> Result<bool, PluginError> {
        let Some(call) = self.table.try_send else { return Err(self.failed("try_send", -1)) };
        // SAFETY: as in `send`.
        match unsafe { call(self.end, message.as_ptr().cast(), message.len()) } {
            DONE => Ok(true),
            WOULD_BLOCK => Ok(false),
            code => Err(self.failed("try_send", code)),
        }
    }

    /// Whether a message was there.
    ///
    /// # Errors
    /// What the plug-in says.
    #[inline(always)]
    pub fn try_recv(&mut self, message: &mut [u8]) -> Result<bool, PluginError> {
        let Some(call) = self.table.try_recv else { return Err(self.failed("try_recv", -1)) };
        // SAFETY: as in `recv`.
        match unsafe { call(self.end, message.as_mut_ptr().cast(), message.len()) } {
            DONE => Ok(true),
            WOULD_BLOCK => Ok(false),
            code => Err(self.failed("try_recv", code)),
        }
    }

    /// The descriptor that is readable as long as something may be taken, where it has one.
    pub fn ready(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        // SAFETY: an end that is open: only then there is a table with this call.
        let fd = self.table.ready.map(|call| unsafe { call(self.end) });
        let fd = fd.filter(|fd| *fd >= 0)?;
        // SAFETY: by the header an open descriptor of this end, which lives as long as the end.
        Some(unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) })
    }

    /// # Errors
    /// What the plug-in says.
    pub fn finish(&mut self) -> Result<(), PluginError> {
        // SAFETY: an end that is open: only then there is a table with this call.
        match self.table.finish.map_or(DONE, |call| unsafe { call(self.end) }) {
            DONE => Ok(()),
            code => Err(self.failed("finish", code)),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if let Some(close) = self.table.close {
            // SAFETY: an end that was opened, and is used no more.
            unsafe { close(self.end) };
        }
    }
}
