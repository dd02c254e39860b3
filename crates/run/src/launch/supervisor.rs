//! The supervisor: a single-threaded process per launch that opens the mechanism, forks the
//! workers, and carries word between them and its owner.
//!
//! Whatever happens to a worker becomes a record that names it. Nothing outlives this process:
//! workers ask the kernel to be killed with their parent, and are killed and reaped with their group.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::company::Companions;
use super::context::WorkerContext;
use super::page::Page;
use super::spec::{BUILD, Half, Spec};
use super::tracing::Tracing;
use super::wire::{self, FrameKind, Reader, write_frame};
use super::workers::{OWNER_GONE, Reports, WorkerGroup};
use crate::hosted;
use crate::launch::not_started;
use machine::Ledger;
use machine::energy::PackageCounters;
use mechanisms::network::{Call, ConnectionKind, EffectiveSettings, MEETING, Wait};
use mechanisms::{OpenError, OpenSpec, Residue};
use model::json::Json;
use model::launch::{Outcome, Record, Role};
use model::mechanism::{Cause, Framing, Traits, Unavailable};
use model::memory::Memory;
use model::noise::Traffic;
use model::plugin::Plugin;
use rustix::io::Errno;
use sys::failed::errno_of;
use sys::network::{SHARED_MEMORY, own_folders};
use sys::process::ignore_broken_pipes;
use sys::system_v::enter_private_namespace;
use workload::loops::Ends;
use workload::opened::{self, Listens, Open, Pairs, set_up_only};

/// How long workers may take to get ready.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// Serves one launch over standard input and output; gives the exit code.
pub fn serve() -> i32 {
    let started = Instant::now();
    let mut owner = Reader::new(io::stdin());
    let asked = if io::stdin().is_terminal() {
        None
    } else {
        owner.next(Some(started + READY_WITHIN), None).ok()
    };
    let spec: Spec = match asked {
        Some((FrameKind::Spec, text)) => match serde_json::from_slice(&text) {
            Ok(spec) => spec,
            Err(error) => return refuse(format!("the spec is not one: {error}")),
        },
        _ => {
            eprintln!("launch: takes a spec on standard input; it is started by `ipcmark run`");
            return 2;
        }
    };
    if spec.build != BUILD {
        return refuse(format!("build {BUILD} can't serve build {}", spec.build));
    }
    if let Err(reason) = spec.check() {
        return refuse(reason);
    }
    ignore_broken_pipes();
    match launch(spec, &mut owner, started) {
        Ok(()) => 0,
        Err(record) => tell_record(&record),
    }
}

fn refuse(reason: String) -> i32 {
    tell_record(&Record::without_samples(Outcome::Failed { reason }))
}

fn tell_record(record: &Record) -> i32 {
    let written = write_frame(io::stdout(), FrameKind::Record, record.to_json().as_bytes())
        .and_then(|()| write_frame(io::stdout(), FrameKind::Done, &[]));
    i32::from(written.is_err())
}

/// `Ok` where everything is reported already; else the record of a launch that ended early.
type Finished = Result<(), Box<Record>>;

fn launch(spec: Spec, owner: &mut Reader<io::Stdin>, started: Instant) -> Finished {
    let failed = |reason: String| Outcome::Failed { reason };
    let (variant, open) = spec.to_open().map_err(failed)?;
    // Whatever is allocated for the launch from here on, by this process and by its workers.
    keep_memory(spec.memory)?;
    let traits = variant.traits();
    let mut private = Vec::new();
    if (variant.entry.wants_namespace)(&variant.options) && enter_private_namespace().is_ok() {
        private.push("private_ipc_namespaces");
    }
    private.extend(spec.plugin.as_deref().map(own_folders_of).unwrap_or_default());
    let (name, half) = (variant.entry.name, spec.half.clone());
    let sets_up = spec.workload.traits().sets_up;
    let datagrams = variant.entry.reaches_over_network() && traits.framing == Framing::Message;
    let family = datagrams.then(|| variant.is_ipv6());
    let launching = Launching { spec: Arc::new(spec), traits, owner, started, private, family };
    match half {
        None => launching.open(name, &open),
        Some(Half::Far { at, cookie }) => {
            opened::listen(name, &open, at, cookie).map(|listener| launching.listen(listener))
        }
        // It sets up what it times.
        Some(Half::Near { .. }) if sets_up => {
            mechanisms::check_over_network(name, &open).map(|()| {
                let initiator = (Role::Initiator(0), set_up_only(None));
                launching.with(vec![initiator], Vec::new(), Vec::new())
            })
        }
        Some(Half::Near { to, cookie }) => {
            let call = Call { to, cookie, kind: ConnectionKind::Persistent };
            launching.connect(name, &open, &call)
        }
    }
    .map_err(not_opened)?
}

/// The folders of which this process, and those that it will start, have empty ones now that end with them, as settings name
/// them. Not those in which the plug-in lies, or anything that the environment names.
fn own_folders_of(plugin: &Plugin) -> Vec<&'static str> {
    let is_ours = |name: &OsStr| name.as_encoded_bytes().starts_with(b"IPCMARK_");
    let named = std::env::vars_os().filter(|(name, _)| !is_ours(name));
    let named: Vec<String> = named.map(|(_, value)| value.to_string_lossy().into_owned()).collect();
    let words = || named.iter().chain([&plugin.path]).chain(&plugin.run).chain(&plugin.daemon);
    let known = [(SHARED_MEMORY, "private_shared_memory"), ("/tmp", "private_temporary_files")];
    let (folders, names): (Vec<_>, Vec<_>) = known
        .into_iter()
        .filter(|(folder, _)| !words().any(|word| names_a_file_in(folder, word)))
        .unzip();
    own_folders(&folders).map_or_else(|_| Vec::new(), |()| names)
}

/// Whether a path in `word`, as in `unix:path=/tmp/bus,guid=1` or `/usr/bin:/tmp/bin`, lies in `folder`.
fn names_a_file_in(folder: &str, word: &str) -> bool {
    let within = |before: char| before.is_ascii_alphanumeric() || "-_./".contains(before);
    word.match_indices(&format!("{folder}/")).any(|(at, _)| !word[..at].ends_with(within))
}

fn keep_memory(memory: Memory) -> Result<(), Outcome> {
    let kept = match memory {
        Memory::Free => Ok(()),
        Memory::Local => sys::numa::keep_local(),
        Memory::Node(node) => sys::numa::bind(node),
    };
    kept.map_err(|error| match errno_of(&error) {
        Some(Errno::INVAL) => Outcome::Unavailable(Unavailable {
            cause: Cause::Limit,
            reason: format!("--memory {memory}: this process can get no memory there"),
            remedy: "`numactl -H` or /sys/devices/system/node lists the nodes of this machine"
                .into(),
        }),
        _ => not_started("set_mempolicy", &error),
    })
}

fn not_opened(error: OpenError) -> Outcome {
    match error {
        OpenError::NotApplicable(reason) => Outcome::NotApplicable { reason },
        OpenError::Unavailable(why) => Outcome::Unavailable(why),
    }
}

/// The launch, once its mechanism is open.
struct Launching<'a> {
    spec: Arc<Spec>,
    traits: Traits,
    owner: &'a mut Reader<io::Stdin>,
    started: Instant,
    /// What the launch has for itself, as its settings name it: an IPC namespace, which resets kernel.msg* and kernel.sem to
    /// their defaults; shared memory.
    private: Vec<&'static str>,
    /// Of datagrams over a network: whether they are IPv6's.
    family: Option<bool>,
}

impl Launching<'_> {
    /// The near half: starts the initiator on the connected endpoint.
    fn connect(self, name: &str, open: &OpenSpec, call: &Call) -> Result<Finished, OpenError> {
        let (end, effective_settings) = opened::connect(name, open, call)?;
        Ok(self.with(vec![(Role::Initiator(0), end)], effective_settings, Vec::new()))
    }

    /// The far half: reports its port, accepts its partner, and starts the responder.
    fn listen(self, listener: Box<dyn Listens>) -> Finished {
        // A closed pipe shows at the next read of the owner's stream.
        let _ = write_frame(io::stdout(), FrameKind::Bound, &listener.port().to_le_bytes());
        if self.spec.workload.traits().sets_up {
            return self.with(
                vec![(Role::Responder, set_up_only(Some(listener)))],
                Vec::new(),
                Vec::new(),
            );
        }
        let wait = Wait { until: Instant::now() + MEETING, owner: self.owner.as_fd() };
        let (end, effective_settings) = listener.accept(&wait).map_err(not_opened)?;
        self.with(vec![(Role::Responder, end)], effective_settings, Vec::new())
    }

    /// Opens the mechanism called `name` for each connection, and launches.
    fn open(self, name: &str, open: &OpenSpec) -> Result<Finished, OpenError> {
        let nonblocking = self.spec.asks_without_waiting();
        let connections = self.spec.connections();
        let mut pairs = Pairs::of(connections);
        for _ in 0..self.spec.initiators() * connections {
            match hosted::own() {
                Some(opens) if self.spec.plugin.is_some() => opens(open, nonblocking, &mut pairs)?,
                _ => pairs.open(name, open, nonblocking)?,
            }
        }
        let Open { initiators, responder, effective_settings, residues } = pairs.opened();
        let initiators = initiators.into_iter().zip(0..);
        let mut ends: Vec<_> = initiators.map(|(ends, nth)| (Role::Initiator(nth), ends)).collect();
        ends.extend(responder.map(|ends| (Role::Responder, ends)));
        Ok(self.with(ends, effective_settings, residues))
    }

    /// Forks a worker for each of `ends` and supervises the launch until it ends.
    fn with(
        self,
        ends: Vec<(Role, Box<dyn Ends>)>,
        effective_settings: EffectiveSettings,
        residues: Vec<Residue>,
    ) -> Finished {
        let failed = |reason: String| Outcome::Failed { reason };
        let room = self.spec.most_samples();
        let pages: Result<Arc<[Page]>, _> =
            (0..self.spec.initiators()).map(|_| Page::new(room as usize)).collect();
        let pages = pages.map_err(|error| not_started("mmap", &error))?;
        let mut effective_settings: BTreeMap<String, u64> =
            effective_settings.into_iter().collect();
        effective_settings.extend(self.private.iter().map(|name| (name.to_string(), 1)));
        let (spec, traits) = (&self.spec, self.traits);
        let tracing = Tracing::of(spec).map_err(failed)?;
        let context = |role, link| WorkerContext {
            role,
            spec: spec.clone(),
            traits,
            pages: pages.clone(),
            link,
            marks: tracing.as_ref().map(|tracing| tracing.marks().clone()),
        };
        let mut workers = WorkerGroup::spawn(spec.workers, ends, context)
            .map_err(|error| not_started("start the workers", &error))?;
        let companions = Companions::of(spec, &workers)?;
        let (owner, family) = (self.owner, self.family);
        let conversation = Conversation {
            workers: &mut workers,
            companions: &companions,
            owner,
            spec,
            pages: &pages,
            tracing,
            datagrams: Datagrams::of(family),
        };
        let outcome = conversation.run(self.started, effective_settings);
        // The workers are gone before what they used is removed, and the group that they were in.
        drop(workers);
        drop(companions);
        drop(residues);
        if outcome.is_err() {
            // A worker that was killed may have been in the midst of a set-up of its own.
            mechanisms::clean_up_after_process(std::process::id());
        }
        outcome
    }
}

/// The supervisor's connections: to its owner, and to the workers.
struct Conversation<'a> {
    workers: &'a mut WorkerGroup,
    companions: &'a Companions,
    owner: &'a mut Reader<io::Stdin>,
    spec: &'a Spec,
    pages: &'a [Page],
    tracing: Option<Tracing>,
    datagrams: Datagrams,
}

/// What the kernel counts of UDP while the launch has its turns: the others of its set are not counted.
struct Datagrams {
    /// Of datagrams over a network: whether they are IPv6's.
    family: Option<bool>,
    before: Option<Traffic>,
    counted: Option<Traffic>,
}

impl Datagrams {
    fn of(family: Option<bool>) -> Datagrams {
        Datagrams { family, before: None, counted: None }
    }

    fn now(&self) -> Option<Traffic> {
        self.family.map(|ipv6| machine::udp_counters(Path::new("/"), ipv6))
    }

    fn begin(&mut self) {
        self.before = self.now();
    }

    fn end(&mut self) {
        let during = self.now().zip(self.before.take());
        if let Some(during) = during.map(|(after, before)| after.since(&before)) {
            self.counted = Some(self.counted.map_or(during, |traffic| traffic.plus(&during)));
        }
    }
}

impl Conversation<'_> {
    fn run(mut self, started: Instant, effective_settings: BTreeMap<String, u64>) -> Finished {
        self.workers.gather(self.owner, Instant::now() + READY_WITHIN)?;
        let ledger = Ledger::open(Path::new("/"));
        let packages = self.spec.energy.then(|| PackageCounters::open(Path::new("/")).ok());
        let packages = packages.flatten();
        // The workers are there already: descriptors of programs are this process's alone.
        self.tracing.as_mut().map_or(Ok(()), |tracing| tracing.load(self.spec))?;
        let setup_ns = started.elapsed().as_nanos() as u64;
        self.tell_owner(FrameKind::Ready);
        self.await_owner(FrameKind::Go)?;
        // Not before: several launches may stand ready, and one is timed.
        self.tracing.as_mut().map_or(Ok(()), Tracing::attach)?;

        self.companions.begin()?;

        self.datagrams.begin();
        let before = ledger.take();
        let used_before = packages.as_ref().and_then(PackageCounters::take);
        self.workers.say_all();
        if let Some(Half::Far { .. }) = self.spec.half {
            self.tell_owner(FrameKind::Going);
        }
        let within = Duration::from_millis(self.spec.deadline_ms);
        let gathered = match self.take_turns(within) {
            Ok(()) => self.workers.gather(self.owner, Instant::now() + within),
            Err(outcome) => Err(outcome),
        };
        let energy =
            packages.and_then(|packages| packages.between(&used_before?, &packages.take()?));
        let after = ledger.take();
        self.datagrams.end();
        let traffic = self.datagrams.counted;
        let cpus = self.watched_cpus();
        let noise = || Some(after.counters(&cpus).since(&before.counters(&cpus)));
        let Reports { initiator, others, responder } = match gathered {
            Ok(reports) => reports,
            Err(outcome) => {
                // What was seen until then tells why.
                let Reports { mut initiator, mut others, responder } = self.workers.last_words();
                initiator.samples = 0;
                others.iter_mut().for_each(|report| report.samples = 0);
                let noise = noise();
                return Err(Box::new(Record {
                    effective_settings,
                    initiator,
                    others,
                    responder,
                    noise,
                    traffic,
                    setup_ns,
                    ..Record::without_samples(outcome)
                }));
            }
        };
        let company_ns = self.companions.stop()?;
        if let Some(tracing) = &mut self.tracing {
            tracing.detach();
        }
        self.tell_owner(FrameKind::Timed);
        self.await_owner(FrameKind::End)?;
        self.workers.say_all();
        if self.spec.plugin.is_some()
            && let Some(reason) = self.workers.ends_badly()
        {
            return Err(Outcome::Failed { reason }.into());
        }

        let trace = match self.tracing.take() {
            Some(tracing) => Some(tracing.read([&initiator, &responder], &self.pages[0])?),
            None => None,
        };
        let record = Record {
            effective_settings,
            initiator,
            others,
            responder,
            noise: noise(),
            traffic,
            setup_ns,
            trace,
            company_ns,
            energy,
            ..Record::without_samples(Outcome::Ok)
        };
        self.tell(&record).map_err(|_| owner_gone().into())
    }

    /// Passes on to the initiator when its turns come, each within so much time.
    fn take_turns(&mut self, within: Duration) -> Result<(), Outcome> {
        for _ in 0..self.spec.turns() {
            self.workers.await_pause(self.owner, Instant::now() + within)?;
            self.datagrams.end();
            self.tell_owner(FrameKind::Paused);
            self.await_owner(FrameKind::Turn)?;
            self.datagrams.begin();
            self.workers.say_turn();
        }
        Ok(())
    }

    fn watched_cpus(&self) -> Vec<u32> {
        self.spec.cpus_here().into_iter().collect()
    }

    fn tell_owner(&self, kind: FrameKind) {
        // A closed pipe shows at the next read of the owner's stream.
        let _ = write_frame(io::stdout(), kind, &[]);
    }

    fn await_owner(&mut self, expected: FrameKind) -> Result<(), Outcome> {
        match self.owner.next(None, None) {
            Ok((kind, _)) if kind == expected => Ok(()),
            _ => Err(owner_gone()),
        }
    }

    /// The record, and the samples of one initiator after the other.
    fn tell(&self, record: &Record) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write_frame(&mut out, FrameKind::Record, record.to_json().as_bytes())?;
        for (page, report) in self.pages.iter().zip(record.initiators()) {
            for part in page.samples(report.samples as usize).chunks(wire::SAMPLES_PER_FRAME) {
                let ticks = part.iter().flat_map(|tick| tick.load(Ordering::Relaxed).to_le_bytes());
                write_frame(&mut out, FrameKind::Samples, &ticks.collect::<Vec<u8>>())?;
            }
        }
        write_frame(&mut out, FrameKind::Done, &[])
    }
}

fn owner_gone() -> Outcome {
    Outcome::Failed { reason: OWNER_GONE.into() }
}
