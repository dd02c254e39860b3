//! A worker's crowd: processes or threads of its own, which are begun once and then carry out orders, all of them
//! each order. A crowd is of processes where its worker is one (fork(2) needs a process of one thread), else of
//! threads. Members die with their worker; where all went well they are told to end, and are waited for.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{Builder, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, getppid, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, waitid,
};

use super::threads::began;
use super::{Found, Size};
use mechanisms::{OpenError, dies_with_parent_here, unavailable_in};
use model::launch::Usage;
use sys::failed::{failed, named};
use sys::process::{fork_with_first, thread_usage};

/// What a member does at an order of so many messages.
pub(super) type Task = Box<dyn FnMut(u64) -> io::Result<()> + Send>;

/// What a sample lasts at least, in ns: orders and replies of forty members are some hundred µs of it.
const SAMPLE_NS: f64 = 20e6;
/// What a launch lasts, in ns, and how many samples it has at least.
pub(super) const LASTING_NS: f64 = 60e6;
const LEAST_SAMPLES: f64 = 3.0;
/// The stack of a thread, of which it touches some pages.
const STACK: usize = 256 << 10;
/// The longest reply: an error's text, cut.
const REPLY: usize = 2048;
/// The first byte of a reply: what was used follows, why it failed, or what it can't have here, as JSON.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const UNAVAILABLE: u8 = 2;
/// What is said of a member that is gone.
const ENDED: &str = "it ended without a word";

pub(super) struct Crowd {
    members: Vec<Member>,
    /// Whether one has failed: then nobody waits for the others to end by themselves.
    failed: bool,
}

struct Member {
    link: OwnedFd,
    life: Life,
    /// What it had used by its last reply.
    used: Usage,
}

enum Life {
    Process(OwnedFd),
    Thread(Option<JoinHandle<()>>),
}

impl Crowd {
    /// A member for each of `tasks`: threads, or processes of a process that has one thread.
    ///
    /// # Errors
    /// As socketpair(2), fork(2) and pthread_create(3).
    pub fn begin(tasks: Vec<Task>, threads: bool) -> io::Result<Crowd> {
        let (mut links, mut theirs) = (Vec::new(), Vec::new());
        for task in tasks {
            let (ours, its) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                    .map_err(|error| named("socketpair AF_UNIX", error))?;
            links.push(ours);
            theirs.push((task, its));
        }
        let mut crowd = Crowd { members: Vec::new(), failed: true };
        for link in links {
            let life = if threads { thread(theirs.remove(0))? } else { process(&mut theirs)? };
            crowd.members.push(Member { link, life, used: Usage::default() });
        }
        crowd.failed = false;
        Ok(crowd)
    }

    /// Orders every member to do its task of so many `messages`, so many `times`.
    ///
    /// # Errors
    /// A member is gone.
    pub fn order(&mut self, times: u64, messages: u64) -> io::Result<()> {
        if times == 0 {
            return Ok(()); // as an order it would be the last
        }
        let text = [times.to_le_bytes(), messages.to_le_bytes()].concat();
        for nth in 0..self.members.len() {
            if let Err(error) = write(&self.members[nth].link, &text) {
                return Err(self.fail(nth, &lost(error)));
            }
        }
        Ok(())
    }

    /// Waits until every member has done its task once.
    ///
    /// # Errors
    /// What a member says went wrong, or its end.
    pub fn await_all(&mut self) -> io::Result<()> {
        let mut waiting: Vec<usize> = (0..self.members.len()).collect();
        while !waiting.is_empty() {
            let of = |nth: &usize| PollFd::new(&self.members[*nth].link, PollFlags::IN);
            let mut fds: Vec<PollFd<'_>> = waiting.iter().map(of).collect();
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(failed("poll", error)),
            }
            let spoke: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let heard = waiting.iter().zip(&spoke).filter(|pair| *pair.1).map(|pair| *pair.0);
            for nth in heard.collect::<Vec<_>>() {
                self.hear(nth)?;
            }
            let mut spoke = spoke.into_iter();
            waiting.retain(|_| !spoke.next().unwrap_or_default());
        }
        Ok(())
    }

    /// Takes in a member's reply.
    fn hear(&mut self, nth: usize) -> io::Result<()> {
        let mut reply = [0; REPLY];
        let length = match read(&self.members[nth].link, &mut reply[..]) {
            Ok(length) => length,
            Err(error) => return Err(self.fail(nth, &lost(error))),
        };
        match reply[..length].split_first() {
            Some((&DONE, rest)) => {
                self.members[nth].used = to_usage(rest);
                Ok(())
            }
            Some((&first, why)) => match serde_json::from_slice(why) {
                Ok(why) if first == UNAVAILABLE => {
                    self.failed = true;
                    Err(io::Error::other(OpenError::Unavailable(why)))
                }
                _ => Err(self.fail(nth, &String::from_utf8_lossy(why))),
            },
            None => Err(self.fail(nth, ENDED)),
        }
    }

    fn fail(&mut self, nth: usize, why: &str) -> io::Error {
        self.failed = true;
        io::Error::other(format!("member {} of {}: {why}", nth + 1, self.members.len()))
    }

    /// What all members had used by their last replies.
    pub fn used(&self) -> Usage {
        self.members.iter().fold(Usage::default(), |sum, member| sum.with(&member.used))
    }
}

/// What was `asked` of a batch, or so many messages that a sample lasts, as many for each of `parts`.
pub(super) fn batch(asked: u64, estimate_ns: f64, parts: u64) -> u64 {
    if asked == 0 { whole(SAMPLE_NS / estimate_ns, parts) } else { asked }
}

/// As many messages for each of `parts`; few samples of them.
pub(super) fn size(found: &Found, parts: u64) -> Size {
    let batch = found.batch.unwrap_or_else(|| batch(0, found.operation_ns, parts));
    let samples = LASTING_NS / (found.operation_ns * batch as f64);
    Size { batch, samples: samples.floor().max(LEAST_SAMPLES) as u64 }
}

/// So many messages or more, as many for each of `parts`.
pub(super) fn whole(messages: f64, parts: u64) -> u64 {
    (messages / parts as f64).ceil().max(1.0) as u64 * parts
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let end = [0; 16];
        for Member { link, life, .. } in &self.members {
            match life {
                Life::Process(process) if self.failed => {
                    let _ = pidfd_send_signal(process, Signal::KILL);
                }
                _ => {
                    let _ = write(link, &end);
                }
            }
        }
        for Member { life, .. } in &mut self.members {
            match life {
                Life::Process(process) => {
                    let _ = waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED);
                }
                // One may be blocked for ever: its process ends, and it with that.
                Life::Thread(_) if self.failed => {}
                Life::Thread(thread) => {
                    let _ = thread.take().map(JoinHandle::join);
                }
            }
        }
    }
}

/// Why a member can't be talked to.
#[cold]
fn lost(error: Errno) -> String {
    if matches!(error, Errno::PIPE | Errno::CONNRESET) { ENDED.into() } else { error.to_string() }
}

/// A thread that does its task as it is ordered.
fn thread((task, link): (Task, OwnedFd)) -> io::Result<Life> {
    let builder = Builder::new().name("member".into()).stack_size(STACK);
    let begun = builder.spawn(move || follow(task, &link));
    Ok(Life::Thread(Some(begun.map_err(began("pthread_create"))?)))
}

/// A process that does the first of the tasks. The kernel kills it when its parent dies.
fn process(theirs: &mut Vec<(Task, OwnedFd)>) -> io::Result<Life> {
    let owner: Pid = getpid();
    dies_with_parent_here()?;
    let pid = fork_with_first(theirs, move |(task, link)| {
        // The parent may have died before the request took effect: look again afterwards.
        if set_parent_process_death_signal(Some(Signal::KILL)).is_ok() && getppid() == Some(owner) {
            follow(task, &link);
        }
        0
    })
    .map_err(began("fork"))?;
    let process = pidfd_open(pid, PidfdFlags::empty());
    Ok(Life::Process(process.map_err(|error| named("pidfd_open", error))?))
}

/// Does `task` as it is ordered over `link`, until it is to end or has failed.
fn follow(mut task: Task, link: &OwnedFd) {
    loop {
        let mut order = [0; 16];
        let taken = read(link, &mut order[..]);
        let (times, messages) = match (taken, order.as_chunks::<8>().0) {
            (Ok(16), [times, messages]) => {
                (u64::from_le_bytes(*times), u64::from_le_bytes(*messages))
            }
            _ => return,
        };
        if times == 0 {
            return;
        }
        for _ in 0..times {
            let done = task(messages);
            let reply = match &done {
                Ok(()) => [&[DONE][..], &of_usage(&thread_usage())].concat(),
                Err(error) => refusal(error),
            };
            let told = write(link, &reply[..reply.len().min(REPLY)]);
            if done.is_err() || told.is_err() {
                return;
            }
        }
    }
}

/// The reply of a member that stops with `error`.
fn refusal(error: &io::Error) -> Vec<u8> {
    let why = unavailable_in(error).and_then(|why| serde_json::to_vec(&why).ok());
    match why.filter(|why| why.len() < REPLY) {
        Some(why) => [&[UNAVAILABLE][..], &why].concat(),
        None => [&[FAILED][..], error.to_string().as_bytes()].concat(),
    }
}

/// The numbers of a use, as bytes.
fn of_usage(used: &Usage) -> Vec<u8> {
    let Usage {
        user_ns,
        system_ns,
        voluntary_switches,
        involuntary_switches,
        minor_faults,
        major_faults,
        threads,
    } = *used;
    let numbers = [
        user_ns,
        system_ns,
        voluntary_switches,
        involuntary_switches,
        minor_faults,
        major_faults,
        threads,
    ];
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// From such bytes.
fn to_usage(bytes: &[u8]) -> Usage {
    let mut numbers = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let mut next = || numbers.next().unwrap_or_default();
    Usage {
        user_ns: next(),
        system_ns: next(),
        voluntary_switches: next(),
        involuntary_switches: next(),
        minor_faults: next(),
        major_faults: next(),
        threads: next(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn every_member_does_its_task_as_often_as_ordered_and_all_end() {
        let sum = Arc::new(AtomicU64::new(0));
        let task = |nth: u64| -> Task {
            let sum = sum.clone();
            Box::new(move |messages| {
                sum.fetch_add(nth * messages, Ordering::Relaxed);
                Ok(())
            })
        };
        let mut crowd = Crowd::begin((1..=4).map(task).collect(), true).unwrap();
        crowd.order(0, 10).unwrap();
        crowd.order(2, 10).unwrap();
        crowd.await_all().unwrap();
        crowd.await_all().unwrap();
        assert_eq!(sum.load(Ordering::Relaxed), 2 * 10 * (1 + 2 + 3 + 4));
        drop(crowd);
        assert_eq!(Arc::strong_count(&sum), 1, "a task outlived its crowd");
    }

    #[test]
    fn a_member_that_fails_or_vanishes_is_named_while_others_are_blocked() {
        let blocked = || -> Task {
            Box::new(|_| {
                std::thread::park();
                Ok(())
            })
        };
        let failing: Task = Box::new(|_| Err(io::Error::other("no more")));
        let mut crowd = Crowd::begin(vec![blocked(), failing, blocked()], true).unwrap();
        crowd.order(1, 1).unwrap();
        let error = crowd.await_all().unwrap_err().to_string();
        assert_eq!(error, "member 2 of 3: no more");
    }

    #[test]
    fn a_member_says_what_is_denied_with_its_remedy() {
        let denied: Task = Box::new(|_| Err(named("write", Errno::PERM)));
        let mut crowd = Crowd::begin(vec![denied], true).unwrap();
        crowd.order(1, 1).unwrap();
        let why = unavailable_in(&crowd.await_all().unwrap_err()).expect("an obstacle");
        assert!(why.reason.starts_with("write: Operation not permitted"), "{why:?}");
    }

    #[test]
    fn what_was_used_comes_through() {
        let used = Usage { user_ns: 1, system_ns: 2, major_faults: 6, ..Usage::default() };
        assert_eq!(to_usage(&of_usage(&used)), used);
    }
}
