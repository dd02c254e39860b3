//! The agent: started on the other host by the coordinator's command, it describes that host, starts
//! a supervisor for each launch, and passes frames on. It ends when its standard input does, and
//! everything that it started ends with it.

use std::io::{self, IsTerminal};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::deploy::remove_own;
use super::{Build, FarHost};
use crate::launch::spec::{BUILD, Spec};
use crate::launch::supervised::Supervisors;
use crate::launch::wire::{FrameKind, Missing, Reader, time_left, write_frame_line};
use crate::launch::{Launcher, unstarted};
use machine::Topology;
use mechanisms::Variant;
use model::json::Json;
use model::launch::Record;
use sys::identity::namespace;
use sys::network::addresses;
use sys::process::ignore_broken_pipes;

/// How long the coordinator may take to say who it is.
const GREETED_WITHIN: Duration = Duration::from_secs(60);
/// For how long it may say nothing, beyond what its launches last: then it is taken for lost.
const SILENCE: Duration = Duration::from_secs(600);
/// How long a process that is slow to die may keep what its launch made.
const LEFT_WITHIN: Duration = Duration::from_millis(200);
/// How long the doctor looks at this host.
const EXAMINED: Duration = Duration::from_millis(100);

/// Serves a coordinator over standard input and output; gives the exit code.
pub fn serve() -> i32 {
    if io::stdin().is_terminal() {
        eprintln!("peer: speaks with a coordinator; `ipcmark run --peer 'ssh HOST'` starts it");
        return 2;
    }
    // Before anything else: whatever ends this process from here on leaves nothing behind.
    if let Some(folder) = std::env::args_os().nth(2)
        && let Err(error) = remove_own(Path::new(&folder))
    {
        eprintln!("peer: remove the copy: {error}");
    }
    ignore_broken_pipes();
    let mut owner = Reader::new(io::stdin());
    let asked = match owner.next(Some(Instant::now() + GREETED_WITHIN), None) {
        Ok((FrameKind::Hello, text)) => serde_json::from_slice::<Build>(&text).ok(),
        _ => None,
    };
    let Some(asked) = asked else {
        eprintln!("peer: the first message is no hello; `ipcmark run --peer 'ssh HOST'` starts it");
        return 2;
    };
    let own = serde_json::json!({ "build": BUILD });
    if asked.build != BUILD {
        let _ = write_frame_line(io::stdout(), FrameKind::Hello, own.to_string().as_bytes());
        eprintln!("peer: build {BUILD} can't serve build {}", asked.build);
        return 1;
    }
    let mut hello = serde_json::to_value(describe()).expect("always JSON");
    hello["build"] = BUILD.into();
    if write_frame_line(io::stdout(), FrameKind::Hello, hello.to_string().as_bytes()).is_err() {
        return 1;
    }
    let supervisors = Supervisors::new(Launcher::new("/proc/self/exe".into()), None);
    let code = Agent { owner, supervisors, last_frame: Instant::now() }.serve();
    for line in mechanisms::clean_up_after_launches(LEFT_WITHIN).left {
        eprintln!("peer: left {line} (`ipcmark clean` there tries again)");
    }
    code
}

fn describe() -> FarHost {
    let root = Path::new("/");
    let allowed_cpus = Topology::here().map_or(Vec::new(), |topology| topology.allowed());
    let (kind, why_not) = sys::clock::choose(root);
    FarHost {
        host: machine::doctor::examined(root, &allowed_cpus, EXAMINED),
        clock: sys::clock::measure(kind, why_not).1,
        addresses: addresses().unwrap_or_default(),
        reached_at: reached_at(std::env::var("SSH_CONNECTION").ok().as_deref()),
        network: namespace("net").ok(),
        allowed_cpus,
    }
}

/// The third word of `SSH_CONNECTION` is the server's address (ssh(1)).
fn reached_at(connection: Option<&str>) -> Option<IpAddr> {
    connection?.split_whitespace().nth(2)?.parse().ok()
}

/// What a frame of the coordinator asks an agent to do.
#[derive(Debug)]
pub enum Order {
    Answer,
    /// Start a supervisor.
    Begin {
        /// The launch's number.
        number: u32,
        /// Bytes added to the environment.
        padding: usize,
        spec: Box<Spec>,
    },
    /// Pass a frame without payload on to a supervisor.
    Relay {
        /// The launch's number.
        number: u32,
        /// The frame's kind; None of what is none.
        kind: Option<FrameKind>,
    },
    /// End what is left of a launch.
    Over {
        /// The launch's number.
        number: u32,
    },
}

impl Order {
    /// Reads a frame.
    ///
    /// # Errors
    /// [`Missing::Broken`] where a coordinator doesn't say such things.
    pub fn read(kind: FrameKind, payload: &[u8]) -> Result<Order, Missing> {
        let broken = |what: &str| Missing::Broken(io::Error::other(what.to_string()));
        if kind == FrameKind::Hello {
            return Ok(Order::Answer);
        }
        let (number, rest) =
            payload.split_first_chunk::<4>().ok_or_else(|| broken("no number of a launch"))?;
        let number = u32::from_le_bytes(*number);
        match kind {
            FrameKind::Begin => {
                let (padding, text) =
                    rest.split_first_chunk::<4>().ok_or_else(|| broken("no padding"))?;
                let spec =
                    serde_json::from_slice(text).map_err(|error| broken(&error.to_string()))?;
                let padding = u32::from_le_bytes(*padding).min(1 << 16) as usize;
                Ok(Order::Begin { number, padding, spec })
            }
            FrameKind::Relay => {
                let kind = rest.first().and_then(|byte| FrameKind::from_byte(*byte));
                Ok(Order::Relay { number, kind })
            }
            FrameKind::Over => Ok(Order::Over { number }),
            _ => Err(broken("a frame out of turn")),
        }
    }
}

struct Agent {
    owner: Reader<io::Stdin>,
    /// Of the launches that are served.
    supervisors: Supervisors,
    last_frame: Instant,
}

impl Agent {
    /// Until the coordinator is gone; gives the exit code.
    fn serve(mut self) -> i32 {
        loop {
            match self.pass_on() {
                Ok(()) => {}
                Err(Missing::Closed) => return 0,
                Err(_) => return 1,
            }
        }
    }

    /// Does what was said already, waits for something, and passes it on.
    fn pass_on(&mut self) -> Result<(), Missing> {
        while let Some((kind, payload)) = self.owner.buffered()? {
            self.obey(kind, &payload)?;
        }
        let deadline = self.last_frame + SILENCE + self.supervisors.longest();
        let (numbers, said): (Vec<u32>, Vec<BorrowedFd<'_>>) = self.supervisors.fds().unzip();
        let sources: Vec<BorrowedFd<'_>> =
            std::iter::once(self.owner.as_fd()).chain(said).collect();
        let mut fds: Vec<_> = sources.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut fds, time_left(Some(deadline)).as_ref()) {
            Ok(0) => return Err(Missing::Late),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(Missing::Broken(error.into())),
        }
        let readable: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        for (number, _) in numbers.iter().zip(&readable[1..]).filter(|(_, readable)| **readable) {
            self.supervisors.fill(*number);
        }
        while let Some((number, kind, payload)) = self.supervisors.next() {
            match kind {
                FrameKind::Over => say(FrameKind::Over, &number.to_le_bytes())?,
                kind => relay(number, kind, &payload)?,
            }
        }
        if readable[0] {
            self.owner.fill()?;
            self.last_frame = Instant::now();
        }
        Ok(())
    }

    /// Does what the coordinator wants.
    fn obey(&mut self, kind: FrameKind, payload: &[u8]) -> Result<(), Missing> {
        match Order::read(kind, payload)? {
            Order::Answer => return say(FrameKind::Hello, &[]),
            Order::Begin { number, padding, spec } => return self.begin(number, &spec, padding),
            Order::Relay { number, kind: Some(kind) } => {
                self.supervisors.tell(number, kind);
            }
            Order::Relay { kind: None, .. } => {}
            Order::Over { number } => self.supervisors.end(number),
        }
        Ok(())
    }

    fn begin(&mut self, number: u32, spec: &Spec, padding: usize) -> Result<(), Missing> {
        let asks_a_server =
            Variant::parse(&spec.mechanism).is_ok_and(|variant| variant.traits().foreign_server);
        let begun = if asks_a_server {
            Err(io::Error::other("connect= of another host's command line is refused"))
        } else {
            self.supervisors.begin(number, spec, padding)
        };
        let Err(error) = begun else { return Ok(()) };
        let record = Record::without_samples(unstarted(&error));
        relay(number, FrameKind::Record, record.to_json().as_bytes())?;
        relay(number, FrameKind::Done, &[])
    }
}

fn relay(number: u32, kind: FrameKind, payload: &[u8]) -> Result<(), Missing> {
    let mut whole = number.to_le_bytes().to_vec();
    whole.push(kind as u8);
    whole.extend_from_slice(payload);
    say(FrameKind::Relay, &whole)
}

fn say(kind: FrameKind, payload: &[u8]) -> Result<(), Missing> {
    write_frame_line(io::stdout(), kind, payload).map_err(|_| Missing::Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_says_where_it_reached_us() {
        let of = |text| reached_at(Some(text)).map(|address| address.to_string());
        assert_eq!(of("192.0.2.1 50000 203.0.113.7 22").as_deref(), Some("203.0.113.7"));
        assert_eq!(of("fd00::1 50000 fd00::7 22").as_deref(), Some("fd00::7"));
        assert_eq!((of("nonsense"), reached_at(None)), (None, None));
    }
}
