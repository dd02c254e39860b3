//! How a worker waits for the other side of shared memory, and wakes it: a type for each way, so that
//! the timed path has no branch for it.

use std::cell::Cell;
use std::cmp::Ordering;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::futex::Flags;

use crate::fd;
use crate::{Choice, OpenError, OpenSpec, OptionSpec, Options};
use sys::failed::try_futex;
use sys::parking::{self, Parking};
use sys::ring::Wait;
use sys::shared::Word;

/// How long `wait=hybrid` spins. A wake-up costs some microseconds on one CPU, and some tens across two.
pub const SPIN: OptionSpec = OptionSpec {
    name: "spin",
    summary: "how long wait=hybrid spins before it sleeps",
    words: &["20us", "Nus"],
    takes_size: false,
};

/// That, in microseconds.
fn spins_for_us(options: &Options) -> u64 {
    options.text(&[SPIN], SPIN.name).trim_end_matches("us").parse().unwrap_or(0)
}

/// Refuses `spin=` of any other way to wait.
pub fn spin_is_of_hybrid(options: &Options, wait: Choice<'_>) -> Result<(), OpenError> {
    if wait != Choice::Word("hybrid") && options.chosen().contains_key(SPIN.name) {
        let reason = "spin= is how long wait=hybrid spins: add that";
        return Err(OpenError::NotApplicable(reason.into()));
    }
    Ok(())
}

/// One side's waiting place, and what it wants of a ring.
pub trait Waiting: Wait + Clone + Send + 'static {
    /// How far a producer may be ahead, in messages of a line or more; of smaller ones in lines.
    const MOST_SLOTS: usize;
    /// A waiting place that may use `word`, which is zero.
    fn new(word: Word, spec: &OpenSpec) -> Result<Self, OpenError>;

    /// Readable as long as it is worth looking; None where nothing tells. Asked first, it looks whether anything `is_there`.
    fn watched(&self, _is_there: impl FnOnce() -> bool) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Ends the watch, or prepares one.
    ///
    /// # Errors
    /// As fcntl(2).
    fn set_nonblocking(&self, _on: bool) -> io::Result<()> {
        Ok(())
    }
}

/// Every full ring costs a sleep: the more slots, the rarer.
const SLOTS_TO_SLEEP: usize = 256;
/// Both rings stay within the first-level cache.
const SLOTS_TO_SPIN: usize = 64;

/// `wait=spin`: busy-waits.
///
/// Every look takes the line away from the writer, who then has to fetch it back. How long that
/// takes against the pause instruction differs tenfold between processors, so the side that
/// waits learns from how many pauses a wait took altogether how many to make between two looks:
/// one in [`PAUSES_TO_PAUSE`], from one to [`MOST_PAUSES`]. (From the looks alone it can't learn:
/// two sides that both pause too long wait for each other's pauses, in few looks.)
#[derive(Clone)]
pub struct Spin {
    pauses: Cell<u32>,
}

/// Pauses of a wait for each pause between two of its looks.
const PAUSES_TO_PAUSE: u32 = 8;
/// Between two looks at most this many pauses: a message is seen at once after a long wait, too.
const MOST_PAUSES: u32 = 8;

impl Waiting for Spin {
    const MOST_SLOTS: usize = SLOTS_TO_SPIN;

    fn new(_word: Word, _spec: &OpenSpec) -> Result<Spin, OpenError> {
        Ok(Spin { pauses: Cell::new(1) })
    }
}

impl Wait for Spin {
    #[inline(always)]
    fn wait<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        if let Some(value) = ready() {
            return value;
        }
        let pauses = self.pauses.get();
        let mut taken = 0u32;
        let value = loop {
            (0..pauses).for_each(|_| std::hint::spin_loop());
            taken = taken.saturating_add(pauses);
            if let Some(value) = ready() {
                break value;
            }
        };
        let wanted = (taken / PAUSES_TO_PAUSE).clamp(1, MOST_PAUSES);
        match wanted.cmp(&pauses) {
            Ordering::Less => self.pauses.set(pauses - 1),
            Ordering::Equal => {}
            Ordering::Greater => self.pauses.set(pauses + 1),
        }
        value
    }

    #[inline(always)]
    fn wake(&self) {}
}

/// `wait=yield`: busy-waits, but lets others run at every look (sched_yield(2)).
#[derive(Clone)]
pub struct Yield;

impl Waiting for Yield {
    const MOST_SLOTS: usize = SLOTS_TO_SPIN;

    fn new(_word: Word, _spec: &OpenSpec) -> Result<Yield, OpenError> {
        Ok(Yield)
    }
}

impl Wait for Yield {
    #[inline(always)]
    fn wait<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(value) = ready() {
                return value;
            }
            rustix::thread::sched_yield();
        }
    }

    #[inline(always)]
    fn wake(&self) {}
}

/// `wait=futex`: sleeps on the word.
#[derive(Clone)]
pub struct Futex {
    word: Word,
    flags: Flags,
}

impl Waiting for Futex {
    const MOST_SLOTS: usize = SLOTS_TO_SLEEP;

    fn new(word: Word, spec: &OpenSpec) -> Result<Futex, OpenError> {
        try_futex().map_err(OpenError::call("futex"))?;
        Ok(Futex { word, flags: parking::flags(spec.same_process) })
    }
}

impl Wait for Futex {
    #[inline(always)]
    fn wait<T>(&self, ready: impl FnMut() -> Option<T>) -> T {
        Parking::new(&self.word, self.flags).wait_for(ready)
    }

    #[inline(always)]
    fn wake(&self) {
        Parking::new(&self.word, self.flags).wake();
    }
}

/// `wait=hybrid`: spins for a while, then sleeps on the word: what comes soon costs no wake-up, and what comes late no more
/// than that while.
#[derive(Clone)]
pub struct Hybrid {
    futex: Futex,
    spins_for: Duration,
}

/// Looks between two of the clock, which takes longer than one.
const LOOKS: u32 = 8;

impl Waiting for Hybrid {
    const MOST_SLOTS: usize = SLOTS_TO_SLEEP;

    fn new(word: Word, spec: &OpenSpec) -> Result<Hybrid, OpenError> {
        let spins_for = Duration::from_micros(spins_for_us(&spec.options));
        Ok(Hybrid { futex: Futex::new(word, spec)?, spins_for })
    }
}

impl Wait for Hybrid {
    #[inline(always)]
    fn wait<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        if let Some(value) = ready() {
            return value;
        }
        let until = Instant::now() + self.spins_for;
        while Instant::now() < until {
            for _ in 0..LOOKS {
                std::hint::spin_loop();
                if let Some(value) = ready() {
                    return value;
                }
            }
        }
        self.futex.wait(ready)
    }

    #[inline(always)]
    fn wake(&self) {
        self.futex.wake();
    }
}

/// `wait=eventfd`: sleeps in a read of an eventfd, as an event loop would (eventfd(2)). The word
/// says whether somebody does, so that nobody writes in vain.
#[derive(Clone)]
pub struct Eventfd {
    word: Word,
    counter: Arc<OwnedFd>,
    /// Reads of it don't wait.
    is_nonblocking: Cell<bool>,
    /// Somebody waits for it by poll(2) or its kin.
    is_watched: Cell<bool>,
}

impl Waiting for Eventfd {
    const MOST_SLOTS: usize = SLOTS_TO_SLEEP;

    fn new(word: Word, _spec: &OpenSpec) -> Result<Eventfd, OpenError> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC).map_err(OpenError::call("eventfd2"))?;
        Ok(Eventfd {
            word,
            counter: Arc::new(counter),
            is_nonblocking: Cell::new(false),
            is_watched: Cell::new(false),
        })
    }

    fn watched(&self, is_there: impl FnOnce() -> bool) -> Option<BorrowedFd<'_>> {
        // What came before was told to nobody.
        if self.is_nonblocking.get() && !self.is_watched.replace(true) && is_there() {
            self.count();
        }
        Some(self.counter.as_fd())
    }

    fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        self.is_watched.set(false);
        self.is_nonblocking.set(on);
        fd::set_nonblocking(&*self.counter, on)
    }
}

impl Eventfd {
    #[inline(always)]
    fn count(&self) {
        let _ = rustix::io::write(&*self.counter, &1u64.to_ne_bytes());
    }

    /// Waits for a count where reads block.
    #[inline(always)]
    fn take(&self) {
        let _ = rustix::io::read(&*self.counter, &mut [0; 8]);
    }
}

impl Wait for Eventfd {
    #[inline(always)]
    fn wait<T>(&self, ready: impl FnMut() -> Option<T>) -> T {
        // A count left over from a wake that came too late only makes it look once more.
        Parking::new(&self.word, Flags::empty()).wait_by(ready, || self.take())
    }

    #[inline(always)]
    fn wake(&self) {
        Parking::new(&self.word, Flags::empty()).wake_by(|| self.count());
    }

    #[inline(always)]
    fn watch<T>(&self, ready: impl FnMut() -> Option<T>) -> Option<T> {
        if !self.is_watched.get() {
            return None;
        }
        let (quiet, loud) = (|| self.take(), || self.count());
        Parking::new(&self.word, Flags::empty()).watch_by(ready, quiet, loud)
    }
}
