//! Sleeping until another worker has made something true: a futex with a "parked" mark.
//!
//! The mark lets the waker skip the system call when nobody sleeps, as glibc's semaphores do.
//! Order matters: the sleeper marks itself, *then* looks again; the waker makes the thing
//! true, *then* looks at the mark. Both sides are sequentially consistent, so at least one of
//! them sees the other, and no wake-up is lost.

use super::sync::{AtomicU32, Ordering::SeqCst, fence, futex};

/// One side's parking place. The word lives wherever both workers can see it.
#[derive(Clone, Copy)]
pub struct Parking<'a> {
    word: &'a AtomicU32,
    flags: futex::Flags,
}

const AWAKE: u32 = 0;
const PARKED: u32 = 1;

/// Futex flags for waiters that share an address space (`true`) or only a mapping.
pub fn flags(same_process: bool) -> futex::Flags {
    if same_process { futex::Flags::PRIVATE } else { futex::Flags::empty() }
}

impl<'a> Parking<'a> {
    /// A parking place over `word`, which starts as zero and is used for nothing else.
    #[inline(always)]
    pub fn new(word: &'a AtomicU32, flags: futex::Flags) -> Self {
        Parking { word, flags }
    }

    /// Sleeps until `ready` returns a value, and returns it. Only one worker may park here.
    #[inline(always)]
    pub fn wait_for<T>(&self, ready: impl FnMut() -> Option<T>) -> T {
        // Returns at once if the waker has been here already, or on a signal: looked again.
        self.wait_by(ready, || _ = futex::wait(self.word, self.flags, PARKED, None))
    }

    /// As [`Parking::wait_for`], sleeping by other means: `sleep` returns once the partner's
    /// wake was called, and may return early.
    #[inline(always)]
    pub fn wait_by<T>(&self, mut ready: impl FnMut() -> Option<T>, sleep: impl Fn()) -> T {
        loop {
            if let Some(value) = ready() {
                return value;
            }
            self.word.store(PARKED, SeqCst);
            fence(SeqCst);
            if let Some(value) = ready() {
                self.word.store(AWAKE, SeqCst);
                return value;
            }
            sleep();
        }
    }

    /// To be called after making true what the other side waits for.
    #[inline(always)]
    pub fn wake(&self) {
        self.wake_by(|| _ = futex::wake(self.word, self.flags, 1));
    }

    /// As [`Parking::wake`], for a sleeper in [`Parking::wait_by`].
    #[inline(always)]
    pub fn wake_by(&self, wake: impl Fn()) {
        fence(SeqCst);
        if self.word.load(SeqCst) == PARKED && self.word.swap(AWAKE, SeqCst) == PARKED {
            wake();
        }
    }

    /// For who doesn't sleep here: a descriptor of an event loop tells of the partner's wake, which `quiet` empties and `loud`
    /// fills. Gives what `ready` returns, or None, after which that hears of the next wake.
    #[inline(always)]
    pub fn watch_by<T>(
        &self,
        mut ready: impl FnMut() -> Option<T>,
        quiet: impl Fn(),
        loud: impl Fn(),
    ) -> Option<T> {
        if let Some(value) = ready() {
            return Some(value);
        }
        quiet();
        self.word.store(PARKED, SeqCst);
        fence(SeqCst);
        let value = ready()?;
        // It came meanwhile, perhaps with more behind it of which nobody was told.
        self.word.store(AWAKE, SeqCst);
        loud();
        Some(value)
    }
}
