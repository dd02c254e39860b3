//! The supervisor: a single-threaded process per launch that opens the mechanism, forks the
//! workers, and watches them, its owner and the deadline, all in one poll(2).
//!
//! Whatever happens to a worker becomes a record that names it. Nothing outlives this process:
//! workers ask the kernel to be killed with their parent, and are killed and reaped here.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, getppid, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, waitid,
};

use super::page::Page;
use super::spec::{BUILD, Outcome, Record, Role, SampleCount, Spec, WorkerReport, Workers};
use super::wire::{self, Kind, Reader, time_left, write_frame};
use super::worker::{Message, Worker};
use crate::mechanism::{self, Carries, Endpoint, OpenError, OpenSpec, Opened, Variant, Visitor};
use crate::observe::Counters;
use crate::sys::process::{Fork, exit_now, fork, ignore_broken_pipes};

/// How long workers may take to get ready.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// A worker's error is often the echo of its partner's death: how long to wait for that news.
const ECHO: Duration = Duration::from_millis(50);
/// Shortest sample that room is made for when a pilot's count isn't known, in ns.
const SHORTEST_NS: u64 = 15;

/// Serves one launch over standard input and output; gives the exit code.
pub fn serve() -> i32 {
    let started = Instant::now();
    let mut owner = Reader::new(io::stdin());
    let spec: Spec = match owner.next(Some(started + READY_WITHIN), None) {
        Ok((Kind::Spec, text)) => match serde_json::from_slice(&text) {
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
    ignore_broken_pipes();
    match launch(spec, &mut owner, started) {
        Ok(()) => 0,
        Err(outcome) => tell_record(&Record::without_samples(outcome)),
    }
}

fn refuse(reason: String) -> i32 {
    tell_record(&Record::without_samples(Outcome::Failed { reason }))
}

fn tell_record(record: &Record) -> i32 {
    let text = serde_json::to_vec(record).expect("a record is always JSON");
    let told = write_frame(io::stdout(), Kind::Record, &text)
        .and_then(|()| write_frame(io::stdout(), Kind::Done, &[]));
    i32::from(told.is_err())
}

fn launch(spec: Spec, owner: &mut Reader<io::Stdin>, started: Instant) -> Result<(), Outcome> {
    let failed = |reason: String| Outcome::Failed { reason };
    let variant = Variant::parse(&spec.mechanism).map_err(failed)?;
    let open = OpenSpec {
        options: variant.options.clone(),
        message_bytes: spec.message_bytes,
        same_process: spec.workers == Workers::Thread,
    };
    let carries = variant.entry.traits.carries;
    let visit = Launching { spec: Arc::new(spec), carries, owner, started };
    mechanism::open(variant.entry.name, &open, visit).map_err(|error| match error {
        OpenError::NotApplicable(reason) => Outcome::NotApplicable { reason },
        OpenError::Unavailable(why) => Outcome::Unavailable(why),
    })?
}

/// The launch, once its mechanism is open.
struct Launching<'a> {
    spec: Arc<Spec>,
    carries: Carries,
    owner: &'a mut Reader<io::Stdin>,
    started: Instant,
}

impl Visitor for Launching<'_> {
    type Output = Result<(), Outcome>;

    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Self::Output {
        let failed = |reason: String| Outcome::Failed { reason };
        let room = match self.spec.samples {
            SampleCount::Exactly(samples) => samples,
            SampleCount::Lasting(ns) => ns / SHORTEST_NS + 1,
        };
        let page = Page::new(room as usize).map_err(|error| failed(format!("mmap: {error}")))?;
        let page = Arc::new(page);
        let granted = opened.granted.into_iter().collect();
        let (spec, carries) = (&self.spec, self.carries);
        let worker = |role, end, link| Worker {
            role,
            end,
            spec: spec.clone(),
            carries,
            page: page.clone(),
            link,
        };
        let mut crew = Crew::muster(spec.workers, opened.initiator, opened.responder, worker)
            .map_err(|error| failed(format!("start the workers: {error}")))?;
        let outcome = Conversation { crew: &mut crew, owner: self.owner, spec, page: &page }
            .hold(self.started, granted);
        drop(crew);
        outcome
    }
}

/// The talk with the owner on one side and the workers on the other.
struct Conversation<'a> {
    crew: &'a mut Crew,
    owner: &'a mut Reader<io::Stdin>,
    spec: &'a Spec,
    page: &'a Page,
}

impl Conversation<'_> {
    fn hold(
        &mut self,
        started: Instant,
        granted: std::collections::BTreeMap<String, u64>,
    ) -> Result<(), Outcome> {
        self.crew.gather(self.owner, Instant::now() + READY_WITHIN)?;
        let setup_ns = started.elapsed().as_nanos() as u64;
        self.tell_owner(Kind::Ready);
        self.await_owner(Kind::Go)?;

        let cpus = self.watched_cpus();
        let before = Counters::read(Path::new("/"), &cpus);
        self.crew.say_all();
        let deadline = Instant::now() + Duration::from_millis(self.spec.deadline_ms);
        let [initiator, responder] = self.crew.gather(self.owner, deadline)?;
        let after = Counters::read(Path::new("/"), &cpus);
        self.tell_owner(Kind::Timed);
        self.await_owner(Kind::End)?;
        self.crew.say_all();

        let noise = Some(after.since(&before));
        let samples = initiator.samples as usize;
        let record =
            Record { outcome: Outcome::Ok, granted, initiator, responder, noise, setup_ns };
        let text = serde_json::to_vec(&record).expect("a record is always JSON");
        self.tell(&text, samples).map_err(|_| owner_gone())
    }

    fn watched_cpus(&self) -> Vec<u32> {
        let mut cpus: Vec<u32> =
            [self.spec.initiator_cpu, self.spec.responder_cpu].into_iter().flatten().collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    fn tell_owner(&self, kind: Kind) {
        // A closed pipe shows at the next read of the owner's stream.
        let _ = write_frame(io::stdout(), kind, &[]);
    }

    fn await_owner(&mut self, expected: Kind) -> Result<(), Outcome> {
        match self.owner.next(None, None) {
            Ok((kind, _)) if kind == expected => Ok(()),
            _ => Err(owner_gone()),
        }
    }

    fn tell(&self, record: &[u8], samples: usize) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write_frame(&mut out, Kind::Record, record)?;
        for part in self.page.samples(samples).chunks(wire::SAMPLES_PER_FRAME) {
            let ticks = part.iter().flat_map(|tick| tick.load(Ordering::Relaxed).to_le_bytes());
            write_frame(&mut out, Kind::Samples, &ticks.collect::<Vec<u8>>())?;
        }
        write_frame(&mut out, Kind::Done, &[])
    }
}

fn owner_gone() -> Outcome {
    Outcome::Failed { reason: "the coordinator is gone".into() }
}

/// A worker process, owned: killed and reaped when dropped.
struct Process {
    pid: Pid,
    pidfd: OwnedFd,
    role: Option<Role>,
}

impl Process {
    /// How it died, if it has: `killed by signal 9`.
    fn death(&self, options: WaitIdOptions) -> Option<String> {
        let wait = options | WaitIdOptions::EXITED;
        let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), wait).ok()??;
        Some(match (status.terminating_signal(), status.exit_status()) {
            (Some(signal), _) => format!("was killed by signal {signal}"),
            (None, Some(code)) => format!("exited with code {code}"),
            (None, None) => "ended".into(),
        })
    }

    fn name(&self) -> String {
        match self.role {
            Some(role) => format!("{role} (process {})", self.pid.as_raw_nonzero()),
            None => format!("worker process {}", self.pid.as_raw_nonzero()),
        }
    }
}

/// The workers of a launch, and the links to them.
struct Crew {
    processes: Vec<Process>,
    /// Initiator's, then responder's.
    links: [OwnedFd; 2],
    /// Reports and readiness as they come in.
    heard: [Option<Message>; 2],
    /// Set once the workers have been told to exit: then deaths are expected.
    dismissed: bool,
    told: u32,
}

impl Crew {
    /// Forks two workers, or one that holds both as threads. Each child keeps only its own end.
    fn muster<E: Endpoint + 'static>(
        workers: Workers,
        initiator: E,
        responder: E,
        worker: impl Fn(Role, E, OwnedFd) -> Worker<E>,
    ) -> io::Result<Crew> {
        let link =
            || socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let ((ours, theirs), (ours_too, theirs_too)) = (link()?, link()?);
        let links = [ours, ours_too];
        let crew =
            |processes| Crew { processes, links, heard: [None, None], dismissed: false, told: 0 };
        let owner = getpid();
        if workers == Workers::Thread {
            let process = spawn(owner, None, || {
                let first = worker(Role::Initiator, initiator, theirs);
                let second = worker(Role::Responder, responder, theirs_too);
                std::thread::scope(|scope| {
                    scope.spawn(|| second.live());
                    first.live();
                });
            })?;
            return Ok(crew(vec![process]));
        }
        // Both ends are held in options so that each child can drop the other's before it lives.
        let mut ends = [Some((initiator, theirs)), Some((responder, theirs_too))];
        let mut processes = Vec::new();
        for (at, role) in [Role::Initiator, Role::Responder].into_iter().enumerate() {
            let process = spawn(owner, Some(role), || {
                let (end, link) = ends[at].take().expect("each end is taken once");
                ends = [None, None];
                worker(role, end, link).live();
            })?;
            processes.push(process);
        }
        Ok(crew(processes))
    }

    /// Sends one byte to each worker: `go` the first time, `end` the second.
    fn say_all(&mut self) {
        self.told += 1;
        self.dismissed = self.told == 2;
        for link in &self.links {
            let _ = send(link, b"!", SendFlags::NOSIGNAL);
        }
    }

    /// Waits until both workers have said something; gives their reports (empty for Ready).
    fn gather(
        &mut self,
        owner: &Reader<io::Stdin>,
        deadline: Instant,
    ) -> Result<[WorkerReport; 2], Outcome> {
        self.heard = [None, None];
        let failed = |reason: String| Outcome::Failed { reason };
        while self.heard.iter().any(Option::is_none) {
            if let ControlFlow::Break(reason) = self.watch(owner, Some(deadline)) {
                return Err(failed(reason));
            }
        }
        let reports = self.heard.each_mut().map(|heard| match heard.take() {
            Some(Message::Report(report)) => report,
            _ => WorkerReport::default(),
        });
        Ok(reports)
    }

    /// One poll(2): a worker's message, a worker's death, the owner's hang-up, the deadline.
    fn watch(
        &mut self,
        owner: &Reader<io::Stdin>,
        deadline: Option<Instant>,
    ) -> ControlFlow<String> {
        let stdin = owner.as_fd();
        let mut fds = vec![PollFd::from_borrowed_fd(stdin, PollFlags::IN)];
        fds.extend(self.links.iter().map(|link| PollFd::new(link, PollFlags::IN)));
        fds.extend(self.processes.iter().map(|it| PollFd::new(&it.pidfd, PollFlags::IN)));
        match poll(&mut fds, time_left(deadline).as_ref()) {
            Ok(0) => return ControlFlow::Break(self.late()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return ControlFlow::Continue(()),
            Err(error) => return ControlFlow::Break(format!("poll: {error}")),
        }
        let seen: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if let Some(cause) = self.casualty() {
            return ControlFlow::Break(cause);
        }
        if seen[0] {
            return ControlFlow::Break("the coordinator is gone".into());
        }
        for at in 0..2 {
            if seen[1 + at] && self.heard[at].is_none() {
                self.listen(at)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn listen(&mut self, at: usize) -> ControlFlow<String> {
        let role = [Role::Initiator, Role::Responder][at];
        let mut packet = vec![0; 64 << 10];
        let length = recv(&self.links[at], &mut packet[..], RecvFlags::empty()).map(|(n, _)| n);
        let message = match length {
            Ok(length) => serde_json::from_slice(&packet[..length]).ok(),
            Err(_) => None,
        };
        match message {
            Some(Message::Report(WorkerReport { error: Some(error), .. })) => {
                ControlFlow::Break(self.casualty_soon().unwrap_or(format!("{role}: {error}")))
            }
            Some(message) => {
                self.heard[at] = Some(message);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(
                self.casualty_soon().unwrap_or(format!("{role} hung up without a word")),
            ),
        }
    }

    /// The worker that has died, and how. Its partner's complaint is only an echo.
    fn casualty(&self) -> Option<String> {
        let dead = |process: &Process| {
            let how = process.death(WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)?;
            Some(format!("{} {how}", process.name()))
        };
        self.processes.iter().find_map(dead)
    }

    fn casualty_soon(&self) -> Option<String> {
        let until = Instant::now() + ECHO;
        loop {
            let cause = self.casualty();
            if cause.is_some() || Instant::now() >= until {
                return cause;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn late(&self) -> String {
        let silent: Vec<String> = [Role::Initiator, Role::Responder]
            .into_iter()
            .zip(&self.heard)
            .filter(|(_, heard)| heard.is_none())
            .map(|(role, _)| role.to_string())
            .collect();
        format!("deadline passed: no word from the {}", silent.join(" and the "))
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for process in &self.processes {
            if !self.dismissed {
                let _ = pidfd_send_signal(&process.pidfd, Signal::KILL);
            }
        }
        for process in &self.processes {
            if self.dismissed && !exits_soon(process) {
                let _ = pidfd_send_signal(&process.pidfd, Signal::KILL);
            }
            process.death(WaitIdOptions::empty());
        }
    }
}

/// A dismissed worker has nothing left to do; one that still doesn't exit is killed.
fn exits_soon(process: &Process) -> bool {
    let within = Some(Instant::now() + Duration::from_secs(1));
    let mut fds = [PollFd::new(&process.pidfd, PollFlags::IN)];
    matches!(poll(&mut fds, time_left(within).as_ref()), Ok(1))
}

/// Forks a worker process that runs `life` and exits.
fn spawn(owner: Pid, role: Option<Role>, life: impl FnOnce()) -> io::Result<Process> {
    match fork()? {
        Fork::Parent(pid) => {
            let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
            Ok(Process { pid, pidfd, role })
        }
        Fork::Child => {
            let _guard = AbortOnUnwind;
            // The parent may have died before the request took effect: look again afterwards.
            if set_parent_process_death_signal(Some(Signal::KILL)).is_ok()
                && getppid() == Some(owner)
            {
                life();
            }
            exit_now(0);
        }
    }
}

/// A panic in a forked child must not unwind into the supervisor's code and drop what it owns.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
