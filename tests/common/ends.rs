//! Both ends of a mechanism in this process, and two threads to hold them.

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mechanisms::{
    Deadline, Endpoint, OpenError, OpenSpec, Opened, Phase, Residue, Variant, Visitor,
};
use model::mechanism::Stats;

/// How long an exchange may take before it counts as hung.
pub const HANG: Duration = Duration::from_secs(30);

/// One side, whichever mechanism it belongs to.
pub type End = Box<dyn Endpoint>;

/// Both sides of an open mechanism.
pub struct Pair {
    /// The side that starts.
    pub initiator: End,
    /// The side that answers.
    pub responder: End,
    /// What the kernel granted.
    pub effective_settings: Vec<(String, u64)>,
    /// What is removed at the end: it must outlive both sides.
    pub residue: Residue,
}

impl Pair {
    /// Starts both sides beside each other, as two workers do: one may wait for the other.
    ///
    /// # Panics
    /// If a side fails to start.
    pub fn start(&mut self) {
        self.start_until(&Deadline::default());
    }

    /// The same, for a launch that ends at `deadline`.
    ///
    /// # Panics
    /// If a side fails to start.
    pub fn start_until(&mut self, deadline: &Deadline) {
        let Pair { initiator, responder, .. } = self;
        thread::scope(|scope| {
            scope.spawn(|| responder.start(deadline).expect("start"));
            initiator.start(deadline).expect("start");
        });
    }
}

/// Messages known to be lost on the way to `end`.
pub fn lost(end: &End) -> u64 {
    end.stats().map_or(0, |stats| stats.lost)
}

struct IntoBoxes;

impl Visitor for IntoBoxes {
    type Output = Pair;
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Pair {
        Pair {
            initiator: Box::new(opened.initiator),
            responder: Box::new(opened.responder),
            effective_settings: opened.effective_settings,
            residue: opened.residue,
        }
    }
}

/// Opens `variant` for messages of at most `bytes`.
pub fn try_open(variant: &Variant, bytes: usize, same_process: bool) -> Result<Pair, OpenError> {
    super::enter();
    let spec =
        OpenSpec { options: variant.options.clone(), message_bytes: bytes, same_process, seed: 1 };
    mechanisms::open(variant.entry.name, &spec, IntoBoxes)
}

/// Opens `variant` for two threads, not yet started; None, and said aloud, where it can't be had here.
///
/// # Panics
/// If it can be had, but fails to open.
pub fn open(variant: &Variant, bytes: usize) -> Option<Pair> {
    match try_open(variant, bytes, true) {
        Ok(pair) => Some(pair),
        Err(OpenError::Unavailable(why)) => {
            super::say(&format!("skipped {variant}: {}", why.reason));
            None
        }
        // `buffer=message` may ask for more than this machine's limit: refused, not clamped.
        Err(OpenError::NotApplicable(_)) if !variant.options.chosen().is_empty() => None,
        Err(error) => panic!("{variant}: {bytes} bytes: {error}"),
    }
}

/// An end that counts what it has sent and received.
struct Counting(End, Arc<AtomicU64>);

impl Endpoint for Counting {
    fn start(&mut self, deadline: &Deadline) -> io::Result<()> {
        self.0.start(deadline)
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.1.fetch_add(1, Relaxed);
        self.0.send(message)
    }

    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.1.fetch_add(1, Relaxed);
        self.0.recv(message)
    }

    fn enter(&mut self, phase: Phase) -> io::Result<()> {
        self.0.enter(phase)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }

    fn stats(&self) -> Option<Stats> {
        self.0.stats()
    }
}

/// Starts and runs each side in a thread of its own until both are done. Both ends, and what
/// they leave, live until then. However long that takes in all, a message is never under way for [`HANG`].
///
/// # Panics
/// With a side's own panic, or when a side hangs: `what` names the case.
pub fn both(
    what: &str,
    pair: Pair,
    initiate: impl FnOnce(&mut End) + Send + 'static,
    respond: impl FnOnce(&mut End) + Send + 'static,
) {
    let moved = Arc::new(AtomicU64::new(0));
    let side = |end: End, role: Box<dyn FnOnce(&mut End) + Send>| {
        let mut end: End = Box::new(Counting(end, moved.clone()));
        thread::spawn(move || {
            end.start(&Deadline::default()).expect("start");
            role(&mut end);
            // Its partner may be gone already.
            let _ = end.finish();
            end
        })
    };
    let _residue = pair.residue;
    let first = side(pair.initiator, Box::new(initiate));
    let second = side(pair.responder, Box::new(respond));
    await_moving(what, HANG, || moved.load(Relaxed), vec![first, second]);
}

/// Waits for `threads`; the first panic among them is passed on at once, because the partner
/// of a thread that panicked may wait for ever.
pub fn await_threads<T>(what: &str, within: Duration, threads: Vec<JoinHandle<T>>) -> Vec<T> {
    await_moving(what, within, || 0, threads)
}

/// As [`await_threads`], for what may take long where the machine is busy: hung is only what
/// `moved` says the same of for all of `still`.
///
/// # Panics
/// With a thread's own panic, or when they hang.
pub fn await_moving<T>(
    what: &str,
    still: Duration,
    moved: impl Fn() -> u64,
    mut threads: Vec<JoinHandle<T>>,
) -> Vec<T> {
    let (mut last, mut since) = (moved(), Instant::now());
    let mut results = Vec::new();
    while !threads.is_empty() {
        let (done, running) = threads.into_iter().partition(JoinHandle::is_finished);
        threads = running;
        for thread in done {
            match thread.join() {
                Ok(result) => results.push(result),
                Err(panic) => {
                    super::say(&format!("{what}: failed"));
                    resume_unwind(panic);
                }
            }
        }
        let now = moved();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < still, "{what}: hung for {still:?} after {last} steps");
        thread::sleep(Duration::from_micros(200));
    }
    results
}
