//! A window between two processes: one direction of messages that are copied once, straight
//! from one process's memory into the other's (process_vm_readv(2), process_vm_writev(2)).
//!
//! A transfer is a rendezvous: the process that is read from or written to says where its buffer lies
//! and stays in the call until the other has finished, so that no address outlives its buffer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::thread::futex;

use super::claim::Claim;
use super::failed::failed_in;
use super::parking::Parking;
use super::shared::{LINE, Mapping, Word};

/// Where a buffer lies in another process, for the kernel.
#[derive(Clone, Copy)]
struct RemoteBuffer {
    address: u64,
    length: u64,
}

impl RemoteBuffer {
    fn iovec(self) -> libc::iovec {
        libc::iovec { iov_base: self.address as *mut libc::c_void, iov_len: self.length as usize }
    }
}

const EMPTY: u32 = 0;
const POSTED: u32 = 1;
const DONE: u32 = 2;

/// One direction, as both sides of it have it.
#[derive(Clone)]
struct Window {
    mapping: Arc<Mapping>,
    /// Of the place.
    offset: usize,
    state: Word,
    sender: Word,
    receiver: Word,
    flags: futex::Flags,
}

/// The side of a window whose messages go: shows them, or fills what is offered. There is one to a window.
pub struct Sender {
    window: Window,
    claim: Claim,
    /// The id of the process that receives, once it does.
    partner: Word,
}

/// The side where they come: takes what is shown, or offers its buffer. There is one to a window.
pub struct Receiver {
    window: Window,
    claim: Claim,
    /// The id of the process that sends, once it does.
    partner: Word,
}

/// Two windows, one each way, in a mapping of their own: the addresses in it are those of buffers of the
/// processes whose ids stand beside, since nobody else can write there.
///
/// # Errors
/// What mmap(2) says.
pub fn two(flags: futex::Flags) -> io::Result<[(Sender, Receiver); 2]> {
    let bytes = Window::PLACES + 2 * LINE;
    let mapping = Arc::new(Mapping::with_wide_words(bytes, Window::PLACES)?);
    Ok([0, 1].map(|nth| Window::sides(&mapping, nth, flags)))
}

impl Window {
    /// Bytes of a window's words in a mapping: its state with the ids of its users, and a parking word for each
    /// side.
    const WORDS: usize = 3 * LINE;
    /// Where the places lie, behind the words of both windows.
    const PLACES: usize = 2 * Self::WORDS;

    /// Both sides of the first window of a mapping, or the second.
    fn sides(mapping: &Arc<Mapping>, nth: usize, flags: futex::Flags) -> (Sender, Receiver) {
        let word = |at| Word::new(mapping, nth * Self::WORDS + at);
        let (state, sender, receiver) = (word(0), word(LINE), word(2 * LINE));
        let offset = Self::PLACES + nth * LINE;
        let window = Window { mapping: mapping.clone(), offset, state, sender, receiver, flags };
        let [sends, receives] = [word(4), word(8)];
        let claim = |user: &Word| Claim::new(user.clone());
        (
            Sender { window: window.clone(), claim: claim(&sends), partner: receives.clone() },
            Receiver { window, claim: claim(&receives), partner: sends },
        )
    }

    fn words(&self) -> &[AtomicU64] {
        &self.mapping.words(self.offset)[..2]
    }

    fn post(&self, place: RemoteBuffer) {
        self.words()[0].store(place.address, Ordering::Relaxed);
        self.words()[1].store(place.length, Ordering::Relaxed);
        self.state.store(POSTED, Ordering::Release);
    }

    fn posted(&self) -> RemoteBuffer {
        let word = |at: usize| self.words()[at].load(Ordering::Relaxed);
        RemoteBuffer { address: word(0), length: word(1) }
    }

    fn await_state(&self, at: &AtomicU32, wanted: u32) {
        let ready = || (self.state.load(Ordering::Acquire) == wanted).then_some(());
        Parking::new(at, self.flags).wait_for(ready);
    }

    fn wake(&self, at: &AtomicU32) {
        Parking::new(at, self.flags).wake();
    }
}

impl Sender {
    /// Shows `message` to the partner, and stays until it has been taken.
    ///
    /// # Panics
    /// If another process has used this side.
    #[inline(always)]
    pub fn show(&mut self, message: &[u8]) {
        self.claim.assert();
        let window = &self.window;
        let (address, length) = (message.as_ptr() as u64, message.len() as u64);
        window.post(RemoteBuffer { address, length });
        window.wake(&window.receiver);
        window.await_state(&window.sender, EMPTY);
    }

    /// Fills what the partner offers with `message`, if it has just that length.
    ///
    /// # Errors
    /// As process_vm_writev(2).
    ///
    /// # Panics
    /// As [`Sender::show`].
    #[inline(always)]
    pub fn fill(&mut self, message: &[u8]) -> io::Result<()> {
        self.claim.assert();
        let window = &self.window;
        window.await_state(&window.sender, POSTED);
        let place = window.posted();
        let written = if place.length as usize == message.len() {
            write_to(self.partner.load(Ordering::Relaxed), place, message)
        } else {
            Ok(())
        };
        window.words()[1].store(message.len() as u64, Ordering::Relaxed);
        window.state.store(DONE, Ordering::Release);
        window.wake(&window.receiver);
        written
    }
}

impl Receiver {
    /// Takes what the partner shows; gives its length. `message` is filled only if it has just that
    /// length.
    ///
    /// # Errors
    /// As process_vm_readv(2).
    ///
    /// # Panics
    /// As [`Sender::show`].
    #[inline(always)]
    pub fn take(&mut self, message: &mut [u8]) -> io::Result<usize> {
        self.claim.assert();
        let window = &self.window;
        window.await_state(&window.receiver, POSTED);
        let place = window.posted();
        let taken = if place.length as usize == message.len() {
            read_from(self.partner.load(Ordering::Relaxed), place, message)
        } else {
            Ok(place.length as usize)
        };
        window.state.store(EMPTY, Ordering::Release);
        window.wake(&window.sender);
        taken
    }

    /// Offers `message` to the partner to be filled, and stays until it is; gives the length of
    /// what the partner wanted to send: filled only if that is its own.
    ///
    /// # Panics
    /// As [`Sender::show`].
    #[inline(always)]
    pub fn offer(&mut self, message: &mut [u8]) -> usize {
        self.claim.assert();
        let window = &self.window;
        let (address, length) = (message.as_mut_ptr() as u64, message.len() as u64);
        window.post(RemoteBuffer { address, length });
        window.wake(&window.sender);
        window.await_state(&window.receiver, DONE);
        window.state.store(EMPTY, Ordering::Release);
        window.posted().length as usize
    }
}

#[inline(always)]
fn read_from(partner: u32, from: RemoteBuffer, message: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < message.len() {
        let rest = &mut message[done..];
        let local = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() };
        let remote =
            RemoteBuffer { address: from.address + done as u64, length: rest.len() as u64 };
        // SAFETY: the local vector is a mutable slice. The remote one lies within what was posted, which is as long as
        // `message` (see `take`). Only `post` writes what is posted, in a mapping that this module shows to nobody, and
        // only by the side whose claim `partner` is: from a slice that it borrows in `show` until the state is EMPTY,
        // which is set after this. So nobody writes there, in another process or in this one.
        let code =
            unsafe { libc::process_vm_readv(partner as i32, &local, 1, &remote.iovec(), 1, 0) };
        done += moved("process_vm_readv", code)?;
    }
    Ok(done)
}

#[inline(always)]
fn write_to(partner: u32, to: RemoteBuffer, message: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < message.len() {
        let rest = &message[done..];
        let local = libc::iovec { iov_base: rest.as_ptr().cast_mut().cast(), iov_len: rest.len() };
        let remote = RemoteBuffer { address: to.address + done as u64, length: rest.len() as u64 };
        // SAFETY: the kernel only reads the local vector. The remote one lies within what was posted, as in `read_from`:
        // a slice that `offer` borrows mutably until the state is DONE, which is set after this, and of just this
        // length (see `fill`). So nobody else reads or writes there, in another process or in this one.
        let code =
            unsafe { libc::process_vm_writev(partner as i32, &local, 1, &remote.iovec(), 1, 0) };
        done += moved("process_vm_writev", code)?;
    }
    Ok(())
}

/// The bytes that a call moved: some, or an error.
#[inline(always)]
fn moved(call: &'static str, code: isize) -> io::Result<usize> {
    match code {
        0 => Err(io::ErrorKind::WriteZero.into()),
        code if code > 0 => Ok(code as usize),
        _ => match io::Error::last_os_error() {
            error if Errno::from_io_error(&error) == Some(Errno::INTR) => Ok(0),
            error => Err(failed_in(call)(error)),
        },
    }
}

/// Lets any process of this user reach this one's memory, where a security module would let
/// only ancestors (prctl(2), PR_SET_PTRACER; an error without Yama, which then isn't needed).
pub fn let_partners_in() {
    const NONE: libc::c_ulong = 0;
    // SAFETY: the option takes an integer, and refers to no memory. prctl(3) is variadic, and takes
    // its arguments as unsigned long, which these are.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, NONE, NONE, NONE) };
}
