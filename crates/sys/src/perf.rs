//! Counters of the kernel and the processor for the calling thread (perf_event_open(2)).
//!
//! [`Perf`] is the boundary: [`Kernel`] asks the kernel, and a fake of it stands in where a machine
//! has no counters, with the errors that a kernel gives.

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use perf_event::events::{self, CacheId, CacheOp, CacheResult};
use perf_event::{Builder, ReadFormat};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Times the thread was switched out.
    ContextSwitches,
    /// Times it moved to another CPU.
    Migrations,
    /// Page faults, minor and major.
    Faults,
    /// Time on a CPU, in ns.
    TaskClock,
    /// A tracepoint, by its id under tracefs.
    Tracepoint(u64),
    /// Passes of a tracepoint (id) that carry this number in the field `id`.
    TracepointOf(u64, i64),
    Instructions,
    /// Cycles of the core's clock.
    Cycles,
    /// Cycles of a clock that doesn't change its rate.
    ReferenceCycles,
    BusCycles,
    Branches,
    /// Of these, mispredicted.
    BranchMisses,
    /// Reads of a cache or of a translation buffer.
    Reads(Cache),
    ReadMisses(Cache),
}

/// A cache of the processor, in the kernel's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cache {
    /// First level, data.
    L1Data,
    /// First level, instructions.
    L1Instructions,
    LastLevel,
    /// Translations for data.
    DataTlb,
    /// Translations for instructions.
    InstructionTlb,
    /// Memory of this node.
    Node,
}

/// In which mode of the processor events count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// In both.
    Any,
    /// In the program itself.
    User,
    Kernel,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Events while it ran.
    pub count: u64,
    /// How long it was meant to count.
    pub enabled: Duration,
    /// How long it did: less, if it had to share the hardware.
    pub running: Duration,
}

pub trait Count {
    /// What it says now.
    ///
    /// # Errors
    /// What read(2) says; end of file of a pinned counter that found no room in the hardware.
    fn read(&mut self) -> io::Result<Reading>;
}

/// Where counters come from.
pub trait Perf {
    /// Opens a counter of the calling thread, which does not count until [`Perf::start`].
    ///
    /// # Errors
    /// What perf_event_open(2) says.
    fn open(&self, event: Event, mode: Mode) -> io::Result<Box<dyn Count>>;
    /// Lets all counters that this thread opened run, by one system call.
    fn start(&self);
    /// Stops them, by one system call: the only one that they count of ours.
    fn stop(&self);
}

pub struct Kernel;

impl Perf for Kernel {
    fn open(&self, event: Event, mode: Mode) -> io::Result<Box<dyn Count>> {
        let mut builder = builder(event);
        builder
            .observe_self()
            .any_cpu()
            .exclude_user(mode == Mode::Kernel)
            .exclude_kernel(mode == Mode::User)
            .exclude_hv(true)
            .pinned(event.is_hardware())
            .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING);
        let counter = builder.build()?;
        if let Event::TracepointOf(_, number) = event {
            set_filter(&counter, &format!("id == {number}"))?;
        }
        Ok(Box::new(counter))
    }

    fn start(&self) {
        switch_counters(libc::PR_TASK_PERF_EVENTS_ENABLE);
    }

    fn stop(&self) {
        switch_counters(libc::PR_TASK_PERF_EVENTS_DISABLE);
    }
}

/// Starts or stops the calling thread's counters (prctl(2)). Fails only where the kernel has none,
/// which [`Perf::open`] has said before.
fn switch_counters(option: libc::c_int) {
    const NONE: libc::c_ulong = 0;
    // SAFETY: both options refer to no memory: they change whether the calling thread's counters
    // count. The arguments, which they ignore, have the type as which prctl(3) takes them: it is
    // variadic, and a narrower integer would leave the rest of each undefined.
    unsafe { libc::prctl(option, NONE, NONE, NONE, NONE) };
}

impl Count for perf_event::Counter {
    fn read(&mut self) -> io::Result<Reading> {
        let data = self.read_full()?;
        Ok(Reading {
            count: data.count(),
            enabled: data.time_enabled().unwrap_or_default(),
            running: data.time_running().unwrap_or_default(),
        })
    }
}

impl Event {
    /// Whether it needs a counter of the processor.
    pub fn is_hardware(self) -> bool {
        !matches!(
            self,
            Event::ContextSwitches
                | Event::Migrations
                | Event::Faults
                | Event::TaskClock
                | Event::Tracepoint(_)
                | Event::TracepointOf(..)
        )
    }
}

fn builder<'a>(event: Event) -> Builder<'a> {
    use events::{Hardware, Software, Tracepoint};
    match event {
        Event::ContextSwitches => Builder::new(Software::CONTEXT_SWITCHES),
        Event::Migrations => Builder::new(Software::CPU_MIGRATIONS),
        Event::Faults => Builder::new(Software::PAGE_FAULTS),
        Event::TaskClock => Builder::new(Software::TASK_CLOCK),
        Event::Tracepoint(id) | Event::TracepointOf(id, _) => Builder::new(Tracepoint::with_id(id)),
        Event::Instructions => Builder::new(Hardware::INSTRUCTIONS),
        Event::Cycles => Builder::new(Hardware::CPU_CYCLES),
        Event::ReferenceCycles => Builder::new(Hardware::REF_CPU_CYCLES),
        Event::BusCycles => Builder::new(Hardware::BUS_CYCLES),
        Event::Branches => Builder::new(Hardware::BRANCH_INSTRUCTIONS),
        Event::BranchMisses => Builder::new(Hardware::BRANCH_MISSES),
        Event::Reads(cache) => Builder::new(cached(cache, CacheResult::ACCESS)),
        Event::ReadMisses(cache) => Builder::new(cached(cache, CacheResult::MISS)),
    }
}

fn cached(cache: Cache, result: CacheResult) -> events::Cache {
    let which = match cache {
        Cache::L1Data => CacheId::L1D,
        Cache::L1Instructions => CacheId::L1I,
        Cache::LastLevel => CacheId::LL,
        Cache::DataTlb => CacheId::DTLB,
        Cache::InstructionTlb => CacheId::ITLB,
        Cache::Node => CacheId::NODE,
    };
    events::Cache { which, operation: CacheOp::READ, result }
}

/// Lets a tracepoint's counter count only what passes `filter` (ioctl(2), PERF_EVENT_IOC_SET_FILTER).
fn set_filter(counter: &perf_event::Counter, filter: &str) -> io::Result<()> {
    const SET_FILTER: libc::Ioctl = 0x4008_2406u32 as libc::Ioctl;
    let filter = CString::new(filter)?;
    // SAFETY: the descriptor is open while `counter` is borrowed. The number is that of a request
    // which takes a pointer to a string, of which the kernel copies what stands before its zero
    // byte, and keeps no pointer; the string outlives the call.
    match unsafe { libc::ioctl(counter.as_raw_fd(), SET_FILTER, filter.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
