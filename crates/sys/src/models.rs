//! The protocols of [`crate::ring`] and [`crate::parking`], in the orders that two threads can have
//! and with every value that a load may see: their very source, compiled with loom's atomics.
//!
//! loom reports a slot whose bytes are touched by both sides without an order between them (a
//! message overwritten before it was read, or read before it was written), and a model in which
//! everybody sleeps (a wake-up that is lost). Models are small: a slot or two, a few messages, and
//! at most [`PREEMPTIONS`] forced switches; the two smallest have no such bound, one of them in the long
//! form alone (CONTRIBUTING.md). loom knows only the sequential
//! consistency of fences, and takes other `SeqCst` accesses for acquire and release: what holds here
//! holds with less than is promised. The kernel's futex is a lock and a condition variable here.

#[path = "../../../tests/long_form/mod.rs"]
mod long_form;
#[path = "parking.rs"]
#[allow(
    dead_code,
    clippy::duplicate_mod,
    clippy::let_unit_value,
    reason = "the same source, with other atomics and another futex"
)]
mod parking;
#[path = "ring/protocol.rs"]
#[allow(dead_code, clippy::duplicate_mod, reason = "the same source, with other atomics")]
mod protocol;

use std::io;

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use rustix::thread::futex::Flags;

use self::parking::Parking;
use self::protocol::{Reader, Wait, Writer, halves};
use self::sync::{AtomicU32, AtomicU64, Ordering};

/// Switches from a thread that could go on: more take minutes.
const PREEMPTIONS: usize = 3;

/// What `crate::sync` is to the program.
mod sync {
    use loom::sync::{Condvar, Mutex, atomic};

    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};

    /// A word, and who sleeps on it.
    #[derive(Default)]
    pub(super) struct AtomicU32 {
        word: atomic::AtomicU32,
        queue: Mutex<()>,
        woken: Condvar,
    }

    impl AtomicU32 {
        pub(super) fn load(&self, order: Ordering) -> u32 {
            self.word.load(order)
        }

        pub(super) fn store(&self, value: u32, order: Ordering) {
            self.word.store(value, order);
        }

        /// Of a word that is 0 or 1. Where it holds `value` already nothing is stored: loom 0.7 lets
        /// a store of another thread slip in between what a swap reads and what it stores
        /// (tokio-rs/loom, issue 254), which would then undo that store unseen.
        pub(super) fn swap(&self, value: u32, order: Ordering) -> u32 {
            match self.word.compare_exchange(1 - value, value, order, order) {
                Ok(before) | Err(before) => before,
            }
        }
    }

    /// futex(2): the word is compared under the lock that a waker takes.
    pub(super) mod futex {
        use super::{AtomicU32, Ordering};

        pub(in super::super) use rustix::thread::futex::Flags;

        pub(in super::super) fn wait(word: &AtomicU32, _: Flags, value: u32, _: Option<()>) {
            let queue = word.queue.lock().unwrap();
            if word.load(Ordering::Relaxed) == value {
                drop(word.woken.wait(queue).unwrap());
            }
        }

        pub(in super::super) fn wake(word: &AtomicU32, _: Flags, _: u32) {
            let _queue = word.queue.lock().unwrap();
            word.woken.notify_one();
        }
    }
}

type Word = Arc<AtomicU32>;

/// What `claim` is to the program: a model has one process.
struct Claim;

impl Claim {
    fn assert(&mut self) {}
}

/// What `ring::slots` is to the program: every message has one byte.
#[derive(Clone)]
struct Slots(Arc<Vec<(AtomicU64, UnsafeCell<u8>)>>);

#[allow(dead_code, reason = "the memory of a model needs no faulting in")]
impl Slots {
    fn new(count: usize) -> Slots {
        Slots(Arc::new((0..count).map(|_| (AtomicU64::new(0), UnsafeCell::new(0))).collect()))
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn populate(&self) -> io::Result<()> {
        Ok(())
    }

    fn claim_next_line(&self, _index: usize) {}

    fn slot(&self, index: usize) -> Slot<'_> {
        Slot(&self.0[index % self.count()])
    }
}

#[derive(Clone, Copy)]
struct Slot<'a>(&'a (AtomicU64, UnsafeCell<u8>));

impl<'a> Slot<'a> {
    fn prefetch(self) {}

    fn header(self) -> &'a AtomicU64 {
        &self.0.0
    }

    unsafe fn write(self, message: &[u8]) {
        // SAFETY: loom fails where another access isn't ordered with this one.
        self.0.1.with_mut(|byte| unsafe { *byte = message[0] });
    }

    unsafe fn read(self, message: &mut [u8]) {
        // SAFETY: as in `write`.
        self.0.1.with(|byte| message[0] = unsafe { *byte });
    }
}

/// Lets others run at every look.
#[derive(Clone)]
struct Polls;

impl Wait for Polls {
    fn wait<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(value) = ready() {
                return value;
            }
            thread::yield_now();
        }
    }

    fn wake(&self) {}
}

/// Sleeps on a futex.
#[derive(Clone, Default)]
struct Parks(Word);

impl Wait for Parks {
    fn wait<T>(&self, ready: impl FnMut() -> Option<T>) -> T {
        Parking::new(&self.0, Flags::empty()).wait_for(ready)
    }

    fn wake(&self) {
        Parking::new(&self.0, Flags::empty()).wake();
    }
}

/// Sleeps on a count that remembers, as that of an eventfd.
#[derive(Clone, Default)]
struct Counts(Word, Arc<(Mutex<u64>, Condvar)>);

impl Wait for Counts {
    fn wait<T>(&self, ready: impl FnMut() -> Option<T>) -> T {
        let sleep = || {
            let mut count = self.1.0.lock().unwrap();
            while *count == 0 {
                count = self.1.1.wait(count).unwrap();
            }
            *count = 0;
        };
        Parking::new(&self.0, Flags::empty()).wait_by(ready, sleep)
    }

    fn wake(&self) {
        Parking::new(&self.0, Flags::empty()).wake_by(|| {
            *self.1.0.lock().unwrap() += 1;
            self.1.1.notify_one();
        });
    }

    fn watch<T>(&self, ready: impl FnMut() -> Option<T>) -> Option<T> {
        let set = |count| *self.1.0.lock().unwrap() = count;
        Parking::new(&self.0, Flags::empty()).watch_by(ready, || set(0), || set(1))
    }
}

impl Counts {
    /// Until the count says that a look is worth it: poll(2).
    fn poll(&self) {
        let mut count = self.1.0.lock().unwrap();
        while *count == 0 {
            count = self.1.1.wait(count).unwrap();
        }
    }
}

fn ring<W: Wait + Clone>(count: usize, consumer: W, producer: W) -> (Writer<W>, Reader<W>) {
    // SAFETY: all is new, and goes nowhere else.
    unsafe { halves(Slots::new(count), Word::default(), [Claim, Claim], consumer, producer) }
}

fn every_order(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}

/// `messages` through a ring of `count` slots: all of them, in order.
fn carry<W: Wait + Clone + Send + 'static>(
    count: usize,
    messages: u8,
    preemptions: Option<usize>,
    place: fn() -> W,
) {
    every_order(preemptions, move || {
        let (mut writer, mut reader) = ring(count, place(), place());
        let producer = thread::spawn(move || (1..=messages).for_each(|byte| writer.send(&[byte])));
        for expected in 1..=messages {
            let mut message = [0];
            reader.recv(&mut message).unwrap();
            assert_eq!(message, [expected]);
        }
        producer.join().unwrap();
    });
}

#[test]
fn no_message_of_a_ring_is_lost_or_overwritten() {
    carry(1, 3, None, || Polls);
    carry(2, 4, Some(PREEMPTIONS), || Polls);
}

/// Each side asks one message at a time, and only where its descriptor says so, as a server with many clients does.
#[test]
fn who_watches_is_told_of_every_message_and_of_room() {
    for (count, messages) in [(1, 2), (2, 3)] {
        every_order(Some(PREEMPTIONS), move || {
            let [arrives, room] = [Counts::default(), Counts::default()];
            // Who begins to watch looks once in any case.
            *arrives.1.0.lock().unwrap() = 1;
            *room.1.0.lock().unwrap() = 1;
            let (mut writer, mut reader) = ring(count, arrives.clone(), room.clone());
            let producer = thread::spawn(move || {
                for message in 1..=messages {
                    while !writer.try_send(&[message]) {
                        room.poll();
                    }
                }
            });
            for expected in 1..=messages {
                let mut message = [0];
                loop {
                    arrives.poll();
                    if reader.try_recv(&mut message).unwrap() {
                        break;
                    }
                }
                assert_eq!(message, [expected]);
            }
            producer.join().unwrap();
        });
    }
}

/// Nobody waits: each side asks again.
#[test]
fn no_message_of_a_ring_that_is_only_asked_is_lost_or_overwritten() {
    for (count, messages) in [(1, 2), (2, 3)] {
        every_order(Some(PREEMPTIONS), move || {
            let (mut writer, mut reader) = ring(count, Polls, Polls);
            let producer = thread::spawn(move || {
                for message in 1..=messages {
                    while !writer.try_send(&[message]) {
                        thread::yield_now();
                    }
                }
            });
            for expected in 1..=messages {
                let mut message = [0];
                while !reader.try_recv(&mut message).unwrap() {
                    thread::yield_now();
                }
                assert_eq!(message, [expected]);
            }
            producer.join().unwrap();
        });
    }
}

#[test]
fn no_side_of_a_ring_that_sleeps_on_a_futex_sleeps_for_ever() {
    carry(1, 3, Some(PREEMPTIONS), Parks::default);
    carry(2, 4, Some(PREEMPTIONS), Parks::default);
}

#[test]
fn no_side_of_a_ring_that_sleeps_on_a_count_sleeps_for_ever() {
    carry(1, 3, Some(PREEMPTIONS), Counts::default);
}

/// What is waited for stands in another word than the mark, as everywhere in the program.
#[test]
fn no_wake_up_is_lost() {
    // Without a bound it takes three quarters of what all models take.
    let preemptions = (!long_form::is_long()).then_some(PREEMPTIONS);
    every_order(preemptions, || {
        let (word, parks) = (Word::default(), Parks::default());
        let (theirs, place) = (word.clone(), parks.clone());
        let waker = thread::spawn(move || {
            for value in 1..=2 {
                theirs.store(value, Ordering::Release);
                place.wake();
            }
        });
        for value in 1..=2 {
            parks.wait(|| (word.load(Ordering::Acquire) >= value).then_some(()));
        }
        waker.join().unwrap();
    });
}
