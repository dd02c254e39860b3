//! Single bounds, measured again whenever they are asked for: beside every round of a run.
//!
//! The second thread is there before the first question, so that asking neither forks nor ends anything: what is
//! measured across CPUs is as settled as the launches after it. Each answer is the median of a few short batches, and
//! takes about a millisecond. A cache line is another one each time: where a line is homed changes what it costs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::setting::{Setting, pin};
use super::{Order, copy, line, wake_up};
use model::alignment::Alignment;
use model::bound::Beside;
use sys::shared::{LINE, Mapping, PAGE};
use workload::Buffers;

/// Batches of which an answer is the median, and what each lasts, in ns.
const BATCHES: usize = 5;
const SPINNING_NS: f64 = 50e3;
const SLEEPING_NS: f64 = 200e3;
const COPYING_NS: f64 = 100e3;
/// Lines that take turns, each on a page of its own.
const LINES: usize = 64;
/// Of a larger message so much is copied, and the time of the rest is the same for each byte.
const MOST_COPIED: u64 = 16 << 20;

/// What is at hand to measure with.
pub struct Bench {
    setting: Setting,
    partner: Partner,
    lines: Arc<Mapping>,
    bells: Arc<Mapping>,
    line: usize,
    /// The buffers that were copied last, and where they begin.
    buffers: Option<(Alignment, Buffers)>,
}

impl Bench {
    /// # Errors
    /// What this machine doesn't give.
    pub fn new(order: Order) -> Result<Bench, String> {
        let map = |bytes| {
            let memory = Mapping::new(bytes).map_err(|error| format!("mmap: {error}"))?;
            memory.populate(bytes).map_err(|error| error.to_string())?;
            Ok::<_, String>(Arc::new(memory))
        };
        Ok(Bench {
            setting: Setting::find(order)?,
            partner: Partner::start()?,
            lines: map(LINES * PAGE)?,
            bells: map(4 * LINE)?,
            line: 0,
            buffers: None,
        })
    }

    /// Time of one operation, in ns; None where this machine can't do it.
    pub fn find(&mut self, of: Beside) -> Option<f64> {
        match of {
            Beside::CacheLine { cpus } => self.line(cpus),
            Beside::WakeUp { cpus } => self.wake_up(cpus),
            Beside::Copy { bytes, align } => self.copy(bytes, align),
        }
    }

    fn line(&mut self, cpus: [u32; 2]) -> Option<f64> {
        let at = self.line * PAGE + self.line * LINE % PAGE;
        self.line = (self.line + 1) % LINES;
        let (setting, word) = (&self.setting, self.lines.word(at));
        word.store(0, Ordering::Release);
        let memory = Arc::clone(&self.lines);
        let follow = move || _ = line::serve(memory.word(at));
        let lead = || {
            let mut number = 0;
            let found = median_of_batches(setting, SPINNING_NS, |count| {
                (0..count).for_each(|_| number = line::ask(word, number));
            });
            word.store(line::STOP, Ordering::Release);
            found
        };
        self.partner.together(cpus, follow, lead).ok()
    }

    fn wake_up(&mut self, cpus: [u32; 2]) -> Option<f64> {
        let memory = Arc::clone(&self.bells);
        let follow = move || wake_up::answer(&memory);
        let lead = || {
            let ask = |count| wake_up::ask(&self.bells, count);
            let found = median_of_batches(&self.setting, SLEEPING_NS, ask);
            wake_up::stop(&self.bells);
            found
        };
        self.partner.together(cpus, follow, lead).ok()
    }

    fn copy(&mut self, bytes: u64, align: Alignment) -> Option<f64> {
        let part = bytes.clamp(1, MOST_COPIED);
        let is_other = |(begins, buffers): &mut (Alignment, Buffers)| {
            *begins != align || buffers.split().0.len() as u64 != part
        };
        if self.buffers.as_mut().is_none_or(is_other) {
            self.buffers = Some((align, copy::buffers(part, align).ok()?));
        }
        let (_, buffers) = self.buffers.as_mut()?;
        pin(self.setting.home).ok()?;
        let ns = median_of_batches(&self.setting, COPYING_NS, |count| copy::again(buffers, count));
        Some(ns * bytes as f64 / part as f64)
    }
}

/// Nanoseconds per operation of `work`, whose argument is their number; the first batch warms up.
fn median_of_batches(setting: &Setting, lasting_ns: f64, mut work: impl FnMut(u64)) -> f64 {
    let count = setting.watch.filling(lasting_ns, &mut work);
    let mut found: Vec<f64> =
        (0..BATCHES).map(|_| setting.watch.per_operation(count, &mut work)).collect();
    found.sort_by(f64::total_cmp);
    stats::median(&found)
}

/// A second thread, asleep until it is given something to do.
struct Partner {
    jobs: Sender<Job>,
    /// Whether it could be pinned for the job.
    pinned: Receiver<Result<(), String>>,
    /// Comes once a job is done.
    done: Receiver<()>,
}

struct Job {
    cpu: u32,
    follow: Box<dyn FnOnce() + Send>,
}

impl Partner {
    fn start() -> Result<Partner, String> {
        let (jobs, given) = channel::<Job>();
        let (pinned_sender, pinned) = channel();
        let (done_sender, done) = channel();
        let work = move || {
            for job in given {
                let ready = pin(job.cpu);
                let begins = ready.is_ok();
                // The leader waits for both words, and can't be gone.
                let _ = pinned_sender.send(ready);
                if begins {
                    (job.follow)();
                }
                let _ = done_sender.send(());
            }
        };
        let started = std::thread::Builder::new().spawn(work);
        started.map_err(|error| format!("start a thread: {error}"))?;
        Ok(Partner { jobs, pinned, done })
    }

    /// Runs `follow` there on the second CPU, and `lead` here on the first; `lead` must make
    /// `follow` return.
    fn together<T>(
        &self,
        [first, second]: [u32; 2],
        follow: impl FnOnce() + Send + 'static,
        lead: impl FnOnce() -> T,
    ) -> Result<T, String> {
        const DIED: &str = "the second thread died";
        pin(first)?;
        let job = Job { cpu: second, follow: Box::new(follow) };
        self.jobs.send(job).map_err(|_| DIED)?;
        let pinned = self.pinned.recv().map_err(|_| DIED)?;
        let found = pinned.map(|()| lead());
        self.done.recv().map_err(|_| DIED)?;
        found
    }
}
