//! How a worker waits for the other side of a ring, and wakes it: a type for each way, so that
//! the timed path has no branch for it.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::futex::Flags;

use crate::{OpenError, OpenSpec};
use sys::parking::{self, Parking};
use sys::ring::Wait;
use sys::shared::Word;

/// One side's waiting place, and what it wants of a ring.
pub trait RingWait: Wait + Clone + Send + 'static {
    /// How far a producer may be ahead, in messages of a line or more; of smaller ones in lines.
    const MOST_SLOTS: usize;
    /// A waiting place that may use `word`, which is zero.
    fn new(word: Word, spec: &OpenSpec) -> Result<Self, OpenError>;
}

/// Every full ring costs a sleep: the more slots, the rarer.
const SLOTS_TO_SLEEP: usize = 256;
/// Both rings stay within the first-level cache.
const SLOTS_TO_SPIN: usize = 64;

/// `wait=spin`: busy-waits.
///
/// Every look takes the line away from the writer, who then has to fetch it back. How long that
/// takes against the pause instruction differs tenfold between processors, so the side that
/// waits learns to look [`LOOKS`] times a wait, with up to [`MOST_PAUSES`] pauses in between.
#[derive(Clone)]
pub struct Spin {
    pauses: Cell<u32>,
}

/// Looks in vain that a wait should take: fewer, and it pauses less; more, and it pauses longer. Two would do where
/// both sides pause too long, too, and each waits for the other's pauses: nothing would lead out of that.
const LOOKS: RangeInclusive<u32> = 3..=4;
/// Between two looks at most this many pauses: a message is seen at once after a long wait, too.
const MOST_PAUSES: u32 = 8;

impl RingWait for Spin {
    const MOST_SLOTS: usize = SLOTS_TO_SPIN;

    fn new(_word: Word, _spec: &OpenSpec) -> Result<Spin, OpenError> {
        Ok(Spin { pauses: Cell::new(1) })
    }
}

impl Wait for Spin {
    #[inline(always)]
    fn wait<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        let pauses = self.pauses.get();
        let mut looks = 0u32;
        let value = loop {
            if let Some(value) = ready() {
                break value;
            }
            looks = looks.saturating_add(1);
            (0..pauses).for_each(|_| std::hint::spin_loop());
        };
        if looks > *LOOKS.end() {
            self.pauses.set(MOST_PAUSES.min(pauses + 1));
        } else if looks < *LOOKS.start() {
            self.pauses.set(1.max(pauses - 1));
        }
        value
    }

    #[inline(always)]
    fn wake(&self) {}
}

/// `wait=yield`: busy-waits, but lets others run at every look (sched_yield(2)).
#[derive(Clone)]
pub struct Yield;

impl RingWait for Yield {
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

impl RingWait for Futex {
    const MOST_SLOTS: usize = SLOTS_TO_SLEEP;

    fn new(word: Word, spec: &OpenSpec) -> Result<Futex, OpenError> {
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

/// `wait=eventfd`: sleeps in a read of an eventfd, as an event loop would (eventfd(2)). The word
/// says whether somebody does, so that nobody writes in vain.
#[derive(Clone)]
pub struct Eventfd {
    word: Word,
    counter: Arc<OwnedFd>,
}

impl RingWait for Eventfd {
    const MOST_SLOTS: usize = SLOTS_TO_SLEEP;

    fn new(word: Word, _spec: &OpenSpec) -> Result<Eventfd, OpenError> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(OpenError::call("eventfd2", "raise the limit on open files (ulimit -n)"))?;
        Ok(Eventfd { word, counter: Arc::new(counter) })
    }
}

impl Wait for Eventfd {
    #[inline(always)]
    fn wait<T>(&self, ready: impl FnMut() -> Option<T>) -> T {
        // A count left over from a wake that came too late only makes it look once more.
        let sleep = || _ = rustix::io::read(&*self.counter, &mut [0; 8]);
        Parking::new(&self.word, Flags::empty()).wait_by(ready, sleep)
    }

    #[inline(always)]
    fn wake(&self) {
        let wake = || _ = rustix::io::write(&*self.counter, &1u64.to_ne_bytes());
        Parking::new(&self.word, Flags::empty()).wake_by(wake);
    }
}
