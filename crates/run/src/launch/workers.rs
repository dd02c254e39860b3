//! The workers of a launch: forks them, watches them, and kills and reaps them when dropped.
//!
//! One poll(2) waits for a worker's message, a worker's death (pidfd), the owner's hang-up and the
//! deadline. A worker's error is often a consequence of its partner's death, so the wait status, where
//! there is one, takes precedence over the error.

use std::fs::read_to_string;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, getppid, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, waitid,
};

use super::context::WorkerContext;
use super::wire::{LARGEST, Reader, time_left};
use super::worker::work;
use model::json::Json;
use model::launch::{DEADLINE_PASSED, Message, Outcome, Role, WorkerReport, Workers};
use sys::failed::named;
use sys::process::fork_with_first;
use workload::loops::Ends;

/// Why a launch ended whose coordinator did, or had it end.
pub const OWNER_GONE: &str = "the coordinator is gone";
/// How long to wait, after a worker's error, for the death of its partner, which may be the cause.
const ECHO: Duration = Duration::from_millis(50);
/// How long to wait for the exit status of a worker that has hung up, on a busy machine.
const ENDING: Duration = Duration::from_secs(2);

/// How long a worker may take to end that has nothing left to do.
const DISMISSED_WITHIN: Duration = Duration::from_secs(1);
/// How long it may take to close ends of somebody else's, which may have a server to end.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);
/// How a worker ends that has done its work.
const EXITED: &str = "exited with code 0";

/// A process of a launch, killed and reaped by whoever owns it.
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) pidfd: OwnedFd,
    role: Option<Role>,
}

impl Process {
    /// How it died, if it has: `killed by signal 9`.
    pub(super) fn death(&self, options: WaitIdOptions) -> Option<String> {
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

/// What the workers of a launch reported; empty of one that isn't here or hasn't.
#[derive(Default)]
pub struct Reports {
    /// The first initiator's.
    pub initiator: WorkerReport,
    /// Those of the initiators beside it.
    pub others: Vec<WorkerReport>,
    pub responder: WorkerReport,
}

/// The workers of a launch (one or more initiators and a responder, or one of them in half of a launch), and
/// a socket to each.
pub struct WorkerGroup {
    processes: Vec<Process>,
    /// One socket per worker, the initiators' first.
    links: Vec<(Role, OwnedFd)>,
    /// The last message of each worker, in the order of the links; None until it arrives.
    messages: Vec<Option<Message>>,
    /// Set once the workers have been asked to exit: from then on deaths are expected.
    dismissed: bool,
    bytes_sent: u32,
}

impl WorkerGroup {
    /// Forks one process for each of `ends`, or one process with a thread for each. `context`
    /// gives a worker its context, from its role and its socket. A child keeps only its own endpoint.
    ///
    /// # Errors
    /// As socketpair(2), fork(2) and pidfd_open(2).
    pub fn spawn(
        workers: Workers,
        ends: Vec<(Role, Box<dyn Ends>)>,
        context: impl Fn(Role, OwnedFd) -> WorkerContext,
    ) -> io::Result<WorkerGroup> {
        let mut links = Vec::new();
        let mut theirs = Vec::new();
        for (role, ends) in ends {
            let (ours, its) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                    .map_err(|error| named("socketpair AF_UNIX", error))?;
            links.push((role, ours));
            theirs.push((ends, context(role, its)));
        }
        let messages = links.iter().map(|_| None).collect();
        let group =
            |processes| WorkerGroup { processes, links, messages, dismissed: false, bytes_sent: 0 };
        let owner = getpid();
        if workers == Workers::Thread {
            let process = fork_worker(owner, None, &mut vec![theirs], in_threads)?;
            return Ok(group(vec![process]));
        }
        let mut processes = Vec::new();
        while let Some((_, context)) = theirs.first() {
            let role = Some(context.role);
            let run = |(ends, context)| work(ends, context);
            processes.push(fork_worker(owner, role, &mut theirs, run)?);
        }
        Ok(group(processes))
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = u32> {
        self.processes.iter().map(|process| process.pid.as_raw_nonzero().get() as u32)
    }

    /// Sends one byte to each worker. The first call tells them to go, the second to exit.
    pub fn say_all(&mut self) {
        self.bytes_sent += 1;
        self.dismissed = self.bytes_sent == 2;
        for (_, link) in &self.links {
            let _ = write(link, b"!");
        }
    }

    /// Lets the first initiator have its turn.
    pub fn say_turn(&mut self) {
        if let Some((_, link)) = self.links.first() {
            let _ = write(link, b"!");
        }
    }

    /// Waits until the first initiator waits for its turn.
    ///
    /// # Errors
    /// As of [`WorkerGroup::gather`].
    pub fn await_pause(
        &mut self,
        owner: &Reader<io::Stdin>,
        deadline: Instant,
    ) -> Result<(), Outcome> {
        self.messages.fill_with(|| None);
        while self.messages[0].is_none() {
            if let ControlFlow::Break(outcome) = self.watch(owner, Some(deadline)) {
                return Err(outcome);
            }
        }
        Ok(())
    }

    /// Waits for a message of every worker, and returns their reports.
    ///
    /// # Errors
    /// The outcome of the launch, if a worker failed or died, the owner hung up or the deadline passed.
    pub fn gather(
        &mut self,
        owner: &Reader<io::Stdin>,
        deadline: Instant,
    ) -> Result<Reports, Outcome> {
        self.messages.fill_with(|| None);
        while self.messages.iter().any(Option::is_none) {
            if let ControlFlow::Break(outcome) = self.watch(owner, Some(deadline)) {
                return Err(outcome);
            }
        }
        Ok(self.reports())
    }

    fn reports(&mut self) -> Reports {
        let mut reports = Reports::default();
        for ((role, _), message) in self.links.iter().zip(&mut self.messages) {
            let report = match message.take() {
                Some(Message::Report(report)) => *report,
                _ => WorkerReport::default(),
            };
            match role {
                Role::Initiator(0) => reports.initiator = report,
                Role::Initiator(_) => reports.others.push(report),
                Role::Responder => reports.responder = report,
            }
        }
        reports
    }

    /// The reports of the workers that stopped early. Waits briefly, because the partner of a worker that
    /// stopped usually stops right after it.
    pub fn last_words(&mut self) -> Reports {
        let until = Instant::now() + ECHO;
        for at in 0..self.links.len() {
            let mut fds = [PollFd::new(&self.links[at].1, PollFlags::IN)];
            if self.messages[at].is_none()
                && matches!(poll(&mut fds, time_left(Some(until)).as_ref()), Ok(1))
            {
                let _ = self.listen(at);
            }
        }
        self.reports()
    }

    /// One poll(2): a worker's message, a worker's death, the owner's hang-up, the deadline.
    fn watch(
        &mut self,
        owner: &Reader<io::Stdin>,
        deadline: Option<Instant>,
    ) -> ControlFlow<Outcome> {
        let stdin = owner.as_fd();
        let mut fds = vec![PollFd::from_borrowed_fd(stdin, PollFlags::IN)];
        fds.extend(self.links.iter().map(|(_, link)| PollFd::new(link, PollFlags::IN)));
        fds.extend(self.processes.iter().map(|process| PollFd::new(&process.pidfd, PollFlags::IN)));
        match poll(&mut fds, time_left(deadline).as_ref()) {
            Ok(0) => return failed(self.late()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return ControlFlow::Continue(()),
            Err(error) => return failed(format!("poll: {error}")),
        }
        let seen: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if let Some(cause) = self.casualty() {
            return failed(cause);
        }
        if seen[0] {
            return failed(OWNER_GONE.into());
        }
        for at in 0..self.links.len() {
            if seen[1 + at] && self.messages[at].is_none() {
                self.listen(at)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn listen(&mut self, at: usize) -> ControlFlow<Outcome> {
        let (role, link) = &self.links[at];
        let role = *role;
        let message = packet(link).ok().and_then(|text| Message::from_json(&text).ok());
        match message {
            Some(Message::Report(report)) if report.error.is_some() => {
                self.messages[at] = Some(Message::Report(report.clone()));
                self.stopped(role, *report)
            }
            Some(message) => {
                self.messages[at] = Some(message);
                ControlFlow::Continue(())
            }
            None => {
                let cause = self.casualty_within(ENDING);
                failed(cause.unwrap_or(format!("{role} hung up without a word")))
            }
        }
    }

    /// Why a worker stopped early: what is unavailable to it, a worker's death, or its own error.
    fn stopped(&self, role: Role, report: WorkerReport) -> ControlFlow<Outcome> {
        match (report.unavailable, report.error.unwrap_or_default()) {
            (Some(why), _) => ControlFlow::Break(Outcome::Unavailable(why)),
            (None, error) => {
                failed(self.casualty_within(ECHO).unwrap_or(format!("{role}: {error}")))
            }
        }
    }

    /// The worker that has died, and how. Its partner's error is only a consequence.
    fn casualty(&self) -> Option<String> {
        let dead = |process: &Process| {
            let how = process.death(WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)?;
            Some(format!("{} {how}", process.name()))
        };
        self.processes.iter().find_map(dead)
    }

    fn casualty_within(&self, time: Duration) -> Option<String> {
        let until = Instant::now() + time;
        loop {
            let cause = self.casualty();
            if cause.is_some() || Instant::now() >= until {
                return cause;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn late(&self) -> String {
        let silent: Vec<String> = self
            .links
            .iter()
            .zip(&self.messages)
            .filter(|(_, message)| message.is_none())
            .map(|((role, _), _)| format!("{role}{}", self.doing(*role)))
            .collect();
        format!("{DEADLINE_PASSED}: no word from the {}", silent.join(" and the "))
    }

    /// What a worker of a process of its own does, as far as the kernel tells: `, which waits in pipe_read`.
    fn doing(&self, role: Role) -> String {
        let own = self.processes.iter().find(|process| process.role == Some(role));
        let told = own.and_then(|process| {
            read_to_string(format!("/proc/{}/wchan", process.pid.as_raw_nonzero())).ok()
        });
        match told.as_deref().map(str::trim) {
            None | Some("") => String::new(),
            Some("0") => ", which runs".into(),
            Some(call) => format!(", which waits in {call}"),
        }
    }
}

impl Drop for WorkerGroup {
    fn drop(&mut self) {
        for process in &self.processes {
            if !self.dismissed {
                let _ = pidfd_send_signal(&process.pidfd, Signal::KILL);
            }
        }
        for process in &self.processes {
            if self.dismissed && !exits_within(process, DISMISSED_WITHIN) {
                let _ = pidfd_send_signal(&process.pidfd, Signal::KILL);
            }
            process.death(WaitIdOptions::empty());
        }
    }
}

impl WorkerGroup {
    /// How a worker that was dismissed ended, unless it just did: its ends were closed by somebody else's code.
    pub fn ends_badly(&self) -> Option<String> {
        self.processes.iter().find_map(|process| {
            let how = match exits_within(process, CLOSED_WITHIN) {
                false => format!("didn't end within {} s", CLOSED_WITHIN.as_secs()),
                // It stays to be reaped.
                true => process.death(WaitIdOptions::NOWAIT)?,
            };
            let said = format!("{} {how} when it closed its ends", process.name());
            (how != EXITED).then_some(said)
        })
    }
}

/// One message of a worker: some hundred bytes, and some ten more for each of many clients. By read(2), as the worker
/// writes.
fn packet(link: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut packet = Vec::with_capacity(LARGEST);
    read(link, spare_capacity(&mut packet))?;
    Ok(packet)
}

fn failed(reason: String) -> ControlFlow<Outcome> {
    ControlFlow::Break(Outcome::Failed { reason })
}

/// A dismissed worker has nothing left to do; one that still doesn't exit is killed.
fn exits_within(process: &Process, time: Duration) -> bool {
    let within = Some(Instant::now() + time);
    let mut fds = [PollFd::new(&process.pidfd, PollFlags::IN)];
    matches!(poll(&mut fds, time_left(within).as_ref()), Ok(1))
}

/// Forks a process that runs `function` with the first of `theirs` and exits. The kernel kills it when its
/// parent dies.
pub(super) fn fork_worker<T: 'static>(
    owner: Pid,
    role: Option<Role>,
    theirs: &mut Vec<T>,
    function: impl FnOnce(T) + 'static,
) -> io::Result<Process> {
    mechanisms::dies_with_parent_here()?;
    let pid = fork_with_first(theirs, move |first| {
        // The parent may have died before the request took effect: look again afterwards.
        if set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && getppid() == Some(owner) {
            function(first);
        }
        0
    })
    .map_err(|error| match Errno::from_io_error(&error) {
        Some(errno) => named("fork", errno),
        None => error,
    })?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| named("pidfd_open", error))?;
    Ok(Process { pid, pidfd, role })
}

/// Lets the first work here, and each of the others in a thread of its own. One for which there is no thread says so
/// instead of its report.
fn in_threads(theirs: Vec<(Box<dyn Ends>, WorkerContext)>) {
    let mut theirs = theirs.into_iter();
    let first = theirs.next();
    let others: Vec<_> = theirs.map(|pair| Mutex::new(Some(pair))).collect();
    let take = |mutex: &Mutex<Option<_>>| mutex.lock().ok()?.take();
    std::thread::scope(|scope| {
        for other in &others {
            let run = move || {
                if let Some((ends, context)) = take(other) {
                    work(ends, context);
                }
            };
            if let Err(error) = Builder::new().spawn_scoped(scope, run)
                && let Some((_, context)) = take(other)
            {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
                context.give_up(&named("pthread_create", errno));
            }
        }
        if let Some((ends, context)) = first {
            work(ends, context);
        }
    });
}
