//! One trace, from loading to reading back: programs are loaded while a launch is set up, attached when
//! it starts, and detached once both workers have reported, so that of several launches that
//! are ready only the one that is timed is traced.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use super::decode::{self, Summed};
use super::event::{Event, Who};
use super::mark::Marks;
use super::object::{self, Object, RelocationTarget};
use super::points::Point;
use crate::tree;
use model::probe::{Instrument, Probe, Refusal};
use model::trace::Traced;
use sys::bpf::{self, Bpf, Kernel, Map, Shape, Unverified};
use sys::calls::getppid;

/// What a trace recorded: its sums, and events in the order of their time.
pub struct Recording {
    pub traced: Traced,
    /// The first events of a latency; a worker's begin with [`super::EventKind::Begin`], and end with
    /// [`super::EventKind::End`] if all of them found room. Returned values beyond 31 bits (addresses) are
    /// cut to the largest of these.
    pub events: Vec<Event>,
}

/// Whether a launch can be traced here, for a planner; costs the verifier seven instructions. A
/// tracepoint that a trace can't do without shows only in the launch.
///
/// # Errors
/// What is in the way, and the remedy.
pub fn available() -> Result<(), Refusal> {
    available_from(&Kernel, Path::new("/"))
}

/// As [`available`], of another kernel, with another `root` of /proc and /sys.
///
/// # Errors
/// What is in the way, and the remedy.
pub fn available_from(bpf: &dyn Bpf, root: &Path) -> Result<(), Refusal> {
    if cfg!(target_endian = "big") {
        let reason = "the trace's programs are built for little-endian processors".into();
        return Err(Refusal { reason, remedy: None });
    }
    bpf.load(&probe()).map(drop).map_err(|error| refusal("load a program", &error, root))
}

/// What the cheapest system call costs this process, in ns: the quickest of some batches.
fn null_call_ns() -> f64 {
    const BATCHES: usize = 40;
    const CALLS: u32 = 32;
    let batch = |_| {
        let started = Instant::now();
        for _ in 0..CALLS {
            std::hint::black_box(getppid());
        }
        started.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..BATCHES).map(batch).fold(f64::INFINITY, f64::min)
}

/// The smallest program that does what needs a privilege: it reads the kernel's memory (nothing of
/// it). Nothing is attached to find out: attaching again soon afterwards costs the kernel some 10 ms
/// for each tracepoint.
fn probe() -> Vec<u8> {
    const INSTRUCTIONS: [[u8; 8]; 7] = [
        [0xbf, 0xa1, 0, 0, 0, 0, 0, 0],             // r1 = r10
        [0x07, 0x01, 0, 0, 0xf8, 0xff, 0xff, 0xff], // r1 += -8
        [0xb7, 0x02, 0, 0, 8, 0, 0, 0],             // r2 = 8
        [0xb7, 0x03, 0, 0, 0, 0, 0, 0],             // r3 = 0
        [0x85, 0x00, 0, 0, 113, 0, 0, 0],           // bpf_probe_read_kernel
        [0xb7, 0x00, 0, 0, 0, 0, 0, 0],             // r0 = 0
        [0x95, 0x00, 0, 0, 0, 0, 0, 0],             // exit
    ];
    INSTRUCTIONS.concat()
}

fn attaching(tracepoint: &CStr) -> String {
    format!("attach to the raw tracepoint {}", tracepoint.to_string_lossy())
}

/// The programs of a launch, loaded.
pub struct Tracer {
    object: Object,
    copies: Vec<Copy>,
    summary: Traced,
    room: u32,
}

/// Each copy has maps of its own and does all the work, so that twice as many cost twice as much;
/// the first is listened to.
struct Copy {
    programs: Vec<(&'static Point, OwnedFd)>,
    links: Vec<OwnedFd>,
    tallies: Map,
    firings: Map,
    events: Map,
    variables: Map,
}

impl Tracer {
    /// Loads what `probe` asks for, to follow the workers that go by `marks`, with room for so many
    /// events.
    ///
    /// # Errors
    /// What is in the way, and the remedy.
    ///
    /// # Panics
    /// If the probe doesn't trace.
    pub fn load(
        bpf: &dyn Bpf,
        probe: Probe,
        marks: &Marks,
        room: u32,
        root: &Path,
    ) -> Result<Tracer, Refusal> {
        let Instrument::Trace(scope) = probe.instrument else { panic!("{probe} doesn't trace") };
        let started = Instant::now();
        let object = Object::read(object::BUILT).expect("the object that was built");
        let room = if probe.empty { 0 } else { room };
        let settings = Settings { object: &object, marks, empty: probe.empty, room };
        let points: Vec<&Point> = Point::all_of(scope).collect();
        let cpus = tree::cpus(root, "sys/devices/system/cpu/possible");
        let cpus = cpus.and_then(|cpus| cpus.last().copied()).unwrap_or(MOST_CPUS - 1) + 1;
        let copy = |_| Copy::load(bpf, &settings, &points, cpus);
        let copies = (0..probe.times).map(copy).collect::<io::Result<Vec<Copy>>>();
        let copies = copies.map_err(|error| refusal("load the trace's programs", &error, root))?;
        let loading_ns = started.elapsed().as_nanos() as u64;
        Ok(Tracer { object, copies, room, summary: Traced { loading_ns, ..Traced::default() } })
    }

    /// Attaches the programs.
    ///
    /// # Errors
    /// A tracepoint that is missing and needed, or one that refuses the program.
    pub fn attach(&mut self, bpf: &dyn Bpf, root: &Path) -> Result<(), Refusal> {
        let bare_call_ns = null_call_ns();
        let started = Instant::now();
        let mut missing = BTreeSet::new();
        for copy in &mut self.copies {
            missing.extend(copy.attach(bpf, root)?);
        }
        self.summary.missing = missing.into_iter().collect();
        self.summary.attaching_ns = started.elapsed().as_nanos() as u64;
        (self.summary.bare_call_ns, self.summary.attached_call_ns) = (bare_call_ns, null_call_ns());
        Ok(())
    }

    /// Lets them hear no more.
    pub fn detach(&mut self) {
        let started = Instant::now();
        // The last first: the kernel waits for all CPUs when the first of several goes before them.
        for copy in self.copies.iter_mut().rev() {
            copy.links.clear();
        }
        self.summary.detaching_ns = started.elapsed().as_nanos() as u64;
    }

    /// What they recorded, of workers that have marked so many operations.
    ///
    /// # Errors
    /// What bpf(2) says.
    pub fn read(self, operations: [u64; 2]) -> io::Result<Recording> {
        let mut traced = self.summary;
        let mut events = Vec::new();
        for (nth, copy) in self.copies.iter().enumerate() {
            copy.count_firings(&mut traced)?;
            if nth > 0 {
                continue;
            }
            let summed = Summed {
                variables: &copy.variables.get(&[0; 4])?,
                workers: self.object.offset("workers"),
                tallies: &copy.tallies.entries()?,
            };
            traced.initiator = summed.deeds(Who::Initiator, operations[0]);
            traced.responder = summed.deeds(Who::Responder, operations[1]);
            traced.lost = summed.lost();
            let seen = summed.events_seen(self.object.offset("stream"));
            traced.events = seen.min(self.room.into());
            traced.events_lost = if self.room == 0 { 0 } else { seen - traced.events };
            let bytes = traced.events as usize * decode::EVENT_BYTES;
            events = decode::events(&copy.events.first_bytes(bytes)?);
        }
        Ok(Recording { traced, events })
    }
}

/// CPUs to count firings on where the kernel doesn't say how many are possible.
const MOST_CPUS: u32 = 512;

/// The programs' constants, which are set before they are verified.
struct Settings<'a> {
    object: &'a Object,
    marks: &'a Marks,
    empty: bool,
    room: u32,
}

impl Settings<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.object.settings.clone();
        let mut set = |name: &str, value: &[u8]| {
            let at = self.object.offset(name);
            bytes[at..at + value.len()].copy_from_slice(value);
        };
        set(
            "name_head",
            &[self.marks.head(Who::Initiator), self.marks.head(Who::Responder)].concat(),
        );
        set("name_tail", &[self.marks.tail(true), self.marks.tail(false)].concat());
        set("empty", &u32::from(self.empty).to_le_bytes());
        set("room", &self.room.to_le_bytes());
        set("third", &decode::THIRD_ARGUMENT.to_le_bytes());
        bytes
    }
}

impl Copy {
    fn load(
        bpf: &dyn Bpf,
        settings: &Settings<'_>,
        points: &[&'static Point],
        cpus: u32,
    ) -> io::Result<Copy> {
        let object = settings.object;
        let map = |name: &str, entries: Option<u32>| {
            let (_, shape) = object.maps.iter().find(|pair| pair.0 == name).expect("a map");
            bpf.create(Shape { entries: entries.unwrap_or(shape.entries), ..*shape })
        };
        let tallies = map("tallies", None)?;
        let firings = map("firings", Some(cpus))?;
        let events = map("events", Some(settings.room.max(1)))?;
        let variables = bpf.create(Shape::variables(object.variables, 0))?;
        let bytes = settings.bytes();
        let settings = bpf.create(Shape::variables(bytes.len() as u32, bpf::READ_ONLY))?;
        settings.set(&[0; 4], &bytes)?;
        settings.freeze()?;
        let descriptor = |place| match place {
            RelocationTarget::Map(0) => tallies.descriptor(),
            RelocationTarget::Map(1) => firings.descriptor(),
            RelocationTarget::Map(_) => events.descriptor(),
            RelocationTarget::Setting(_) => settings.descriptor(),
            RelocationTarget::Variable(_) => variables.descriptor(),
        };
        let mut programs = Vec::new();
        for &point in points {
            let mut known = object.programs.iter();
            let program = known.find(|program| program.name == point.program).expect("a program");
            programs.push((point, bpf.load(&program.bound(descriptor))?));
        }
        Ok(Copy { programs, links: Vec::new(), tallies, firings, events, variables })
    }

    /// Gives the optional tracepoints that are missing.
    fn attach(&mut self, bpf: &dyn Bpf, root: &Path) -> Result<Vec<String>, Refusal> {
        let mut missing = Vec::new();
        for (point, program) in &self.programs {
            let before = self.links.len();
            for tracepoint in point.tracepoints {
                match bpf.attach(program.as_fd(), tracepoint) {
                    Ok(link) => self.links.push(link),
                    Err(error) if point.optional && error.raw_os_error() == Some(libc::ENOENT) => {}
                    Err(error) => return Err(refusal(&attaching(tracepoint), &error, root)),
                }
            }
            if self.links.len() == before {
                missing.extend(point.names());
            }
        }
        Ok(missing)
    }

    fn count_firings(&self, traced: &mut Traced) -> io::Result<()> {
        let rows: Vec<Vec<u8>> =
            self.firings.entries()?.into_iter().map(|(_, value)| value).collect();
        for (point, _) in &self.programs {
            let Some(at) = point.counted else { continue };
            if point.names().all(|name| traced.missing.contains(&name)) {
                continue;
            }
            let total = traced.firings.entry(point.program.into()).or_default();
            for row in &rows {
                total.of_others += decode::u64_at(row, 16 * at);
                total.of_workers += decode::u64_at(row, 16 * at + 8);
            }
        }
        Ok(())
    }
}

const PRIVILEGE: &str = "CAP_BPF and CAP_PERFMON are needed";
const CAPABLE: &str = "run it as root, or with CAP_BPF and CAP_PERFMON";
const LOCKED: &str = "this kernel is locked down for confidentiality";
const UNLOCKED: &str = "boot with lockdown=integrity";

fn refusal(what: &str, error: &io::Error, root: &Path) -> Refusal {
    let unverified = Unverified::within(error);
    let errno = unverified.map(|why| why.errno).or_else(|| error.raw_os_error());
    let lockdown = tree::text(root, "sys/kernel/security/lockdown");
    let lockdown = lockdown.is_some_and(|lockdown| lockdown.contains("[confidentiality]"));
    let (reason, remedy) = match errno {
        // A kernel that is locked down checks the privilege first; a privileged process learns from the
        // verifier that there is no such helper (EINVAL).
        Some(libc::EPERM | libc::EACCES) if lockdown => (
            format!("may not {what}: {PRIVILEGE}, and {LOCKED}"),
            Some(format!("{UNLOCKED}, and {CAPABLE}")),
        ),
        Some(libc::EINVAL) if lockdown => {
            (format!("can't {what}: {LOCKED} ({error})"), Some(UNLOCKED.into()))
        }
        // What the verifier has a word for isn't a matter of privilege.
        Some(libc::EPERM | libc::EACCES) if unverified.is_none() => {
            (format!("may not {what}: {PRIVILEGE}"), Some(CAPABLE.into()))
        }
        Some(libc::ENOSYS) => ("this kernel has no bpf(2)".into(), None),
        Some(libc::EMFILE) => {
            (format!("can't {what}: too many open files"), Some("ulimit -n 1024".into()))
        }
        Some(libc::EINVAL) if what.ends_with("sched_switch") => {
            (format!("can't {what}: it tells too little before Linux 5.18"), None)
        }
        Some(libc::ENOENT) => (format!("can't {what}: this kernel lacks it"), None),
        _ => (format!("can't {what}: {error}"), None),
    };
    Refusal { reason, remedy }
}
