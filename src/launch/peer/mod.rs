//! The other host: this program started there behind any command that gives a shell elsewhere
//! (`ssh host`, `ip netns exec b`, `docker exec -i c`), and spoken to over that command's standard
//! streams. Nothing listens for control, so there is nothing of our own to authenticate.
//!
//! ```text
//! coordinator ──hello──────────────▶ agent            (another build is refused by both)
//!             ◀─hello: host, clock, addresses──
//!             ──begin n, spec──────▶ agent ──spec──▶ supervisor n
//!             ◀─relay n: bound, port ──────────────── one port, one address, one cookie
//!             ──relay n: go, end───▶        ◀─relay n: ready, going, timed, record, done──
//!             ──over n─────────────▶ agent            (kills what is left of it)
//! ```

mod address;
mod agent;
mod apart;

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

pub use agent::serve;
pub use apart::Apart;

use super::interrupt::Interrupt;
use super::spec::BUILD;
use super::wire::{Kind, Missing, Reader, write_frame};
use crate::clock;
use crate::observe::Host;
use crate::sys::network::Address;

/// How long the other host may take to answer: a password may have to be typed.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How long a peer may take to end once its standard input is closed.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// Bytes of what it said elsewhere that are shown.
const SHOWN: usize = 200;

/// The other host, as it was asked for. Stored with the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The words of the command that gives a shell there.
    pub command: Vec<String>,
    /// Where this program lies there.
    pub program: String,
    /// Addresses to use instead of what is learned, at most one of each family.
    pub addresses: Vec<IpAddr>,
}

/// What each side says first. Its form stays as it is, so that builds can name each other.
#[derive(Serialize, Deserialize)]
struct Build {
    build: String,
}

/// The other host, as it describes itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FarHost {
    /// What it is, with what the doctor found there.
    pub host: Host,
    /// Its clock: it stamps nothing that is measured between hosts.
    pub clock: clock::Record,
    /// Its addresses, but for those of loopback.
    pub addresses: Vec<Address>,
    /// The address at which it was reached, where the command says so (`ssh` does).
    pub reached_at: Option<IpAddr>,
    /// Which network stack it has: comparable on one boot of one kernel only.
    pub network: Option<u64>,
    /// The CPUs that it may use.
    pub allowed_cpus: Vec<u32>,
}

impl FarHost {
    /// Whether it runs on the kernel of `host`: then its CPUs, clock and memory are the same.
    pub fn is_on(&self, host: &Host) -> bool {
        self.host.boot_id.is_some() && self.host.boot_id == host.boot_id
    }
}

/// The other host of a run, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerRecord {
    /// The words of the command that gives a shell there.
    pub command: Vec<String>,
    /// Where this program lies there.
    pub program: String,
    /// The address that is used over IPv4; None where none can be reached.
    pub ipv4: Option<IpAddr>,
    /// The same over IPv6.
    pub ipv6: Option<IpAddr>,
    /// Whether both hosts are one machine under one kernel, with a network stack each or the same.
    pub one_kernel: bool,
    /// Whether they share the network stack too.
    pub one_network: bool,
    /// What the other host is, with what the doctor found there.
    pub host: Host,
    /// Its clock, which stamps nothing that is measured between hosts.
    pub clock: clock::Record,
}

/// Why there is no peer: a sentence that ends with the way out.
#[derive(Debug, PartialEq, Eq)]
pub struct NoPeer(pub String);

/// An agent on the other host, and the way to it.
#[derive(Clone)]
pub struct Peer {
    link: Rc<RefCell<Link>>,
    asked: Rc<Asked>,
    far: Rc<FarHost>,
}

impl Peer {
    /// Starts the agent, and learns where it is.
    ///
    /// # Errors
    /// What the command came to instead, and the way out.
    pub fn start(asked: Asked, interrupt: &Interrupt) -> Result<Peer, NoPeer> {
        let mut link = Link::start(&asked)?;
        let far = link.greet(interrupt)?;
        Ok(Peer { link: Rc::new(RefCell::new(link)), asked: Rc::new(asked), far: Rc::new(far) })
    }

    /// The other host.
    pub fn far(&self) -> &FarHost {
        &self.far
    }

    /// As it was asked for.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// The one address there that a mechanism over IPv4 or IPv6 uses.
    ///
    /// # Errors
    /// Why there is none, and the way out.
    pub fn address(&self, ipv6: bool) -> Result<IpAddr, String> {
        let named = self.asked.addresses.iter().find(|it| it.is_ipv6() == ipv6);
        named.map_or_else(|| address::learned(&self.far, ipv6), |named| Ok(*named))
    }

    /// What is kept of it with a run of this host.
    pub fn record(&self, here: &Host) -> PeerRecord {
        let one_kernel = self.far.is_on(here);
        PeerRecord {
            command: self.asked.command.clone(),
            program: self.asked.program.clone(),
            ipv4: self.address(false).ok(),
            ipv6: self.address(true).ok(),
            one_kernel,
            one_network: one_kernel && self.far.network == network(),
            host: self.far.host.clone(),
            clock: self.far.clock.clone(),
        }
    }

    /// Why it is gone, if it is.
    pub fn lost(&self) -> Option<String> {
        self.link.borrow().lost.clone()
    }
}

/// A frame of a launch.
type Frame = (Kind, Vec<u8>);

/// The command, its streams, and what has come of each launch.
struct Link {
    child: Child,
    command: String,
    stdin: Option<ChildStdin>,
    stdout: Reader<ChildStdout>,
    stderr: File,
    heard: HashMap<u32, VecDeque<Frame>>,
    next: u32,
    lost: Option<String>,
}

impl Link {
    fn start(asked: &Asked) -> Result<Link, NoPeer> {
        let command = asked.command.join(" ");
        let failed = |what: &str, error: io::Error| {
            NoPeer(format!(
                "--peer: {what}: {error}; give a command that runs its arguments elsewhere, as in \
                 'ssh host'"
            ))
        };
        let Some((first, rest)) = asked.command.split_first() else {
            return Err(failed("no command", io::ErrorKind::InvalidInput.into()));
        };
        let name = format!("start `{first}`");
        // What it complains of is kept, not shown: of a run that works nobody wants to know.
        let stderr = memfd_create("peer", MemfdFlags::CLOEXEC)
            .map_err(|error| failed("memfd_create", error.into()))?;
        let stderr = File::from(stderr);
        let theirs = stderr.try_clone().map_err(|error| failed("dup", error))?;
        let mut child = Command::new(first)
            .args(rest)
            .args([asked.program.as_str(), "peer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(theirs)
            .spawn()
            .map_err(|error| failed(&name, error))?;
        let stdin = child.stdin.take();
        let stdout = Reader::new(child.stdout.take().expect("piped"));
        let (heard, next, lost) = (HashMap::new(), 0, None);
        Ok(Link { child, command, stdin, stdout, stderr, heard, next, lost })
    }

    /// Each side says who it is; gives who the other one is.
    fn greet(&mut self, interrupt: &Interrupt) -> Result<FarHost, NoPeer> {
        let hello = serde_json::to_vec(&Build { build: BUILD.into() }).expect("always JSON");
        self.say(Kind::Hello, &hello);
        let deadline = Some(Instant::now() + ANSWERS_WITHIN);
        let text = match self.stdout.next(deadline, Some(interrupt.fd())) {
            Ok((Kind::Hello, text)) => text,
            Ok((kind, _)) => return Err(self.no_peer(&format!("it said {kind:?} first"))),
            Err(missing) => return Err(self.no_answer(&missing)),
        };
        match serde_json::from_slice::<Build>(&text) {
            Ok(it) if it.build == BUILD => {}
            Ok(it) => {
                return Err(NoPeer(format!(
                    "--peer: `{}` has build {}, and this is build {BUILD}: install the same there, \
                     or let --deploy copy this one",
                    self.command, it.build
                )));
            }
            Err(error) => return Err(self.no_peer(&format!("its hello: {error}"))),
        }
        let far = serde_json::from_slice(&text);
        far.map_err(|error| self.no_peer(&format!("its hello: {error}")))
    }

    fn no_answer(&mut self, missing: &Missing) -> NoPeer {
        match missing {
            Missing::Interrupted => NoPeer("--peer: interrupted before it answered".into()),
            Missing::Late => {
                let text = format!("it didn't answer in {} s", ANSWERS_WITHIN.as_secs());
                self.no_peer(&text)
            }
            Missing::Closed => {
                let how = self.how_it_ended();
                self.no_peer(&how)
            }
            Missing::Broken(error) => {
                let rest = String::from_utf8_lossy(self.stdout.rest()).into_owned();
                let said = rest.lines().next().unwrap_or_default().trim();
                let said: String = said.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
                self.no_peer(&format!("it printed `{said}` where only ipcmark speaks ({error})"))
            }
        }
    }

    fn no_peer(&self, what: &str) -> NoPeer {
        NoPeer(format!(
            "--peer: `{}`: {what}{}; is ipcmark there? name it with --peer-program, or copy it with \
             --deploy",
            self.command,
            self.complaint()
        ))
    }

    /// How the command ended; it has closed its output.
    fn how_it_ended(&mut self) -> String {
        self.stdin = None;
        let until = Instant::now() + ENDS_WITHIN;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) => {
                    return match (status.code(), status.signal()) {
                        (Some(code), _) => format!("it ended with code {code}"),
                        (_, Some(signal)) => format!("it was killed by signal {signal}"),
                        _ => "it ended".into(),
                    };
                }
                Err(_) => break,
            }
        }
        "it closed its output".into()
    }

    /// The last line that it wrote to its standard error.
    fn complaint(&self) -> String {
        let mut bytes = vec![0; 4096];
        let length = self.stderr.metadata().map_or(0, |it| it.len());
        let from = length.saturating_sub(bytes.len() as u64);
        let read = self.stderr.read_at(&mut bytes, from).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!(" (`{}`)", line.chars().take(SHOWN).collect::<String>()),
            None => String::new(),
        }
    }

    fn say(&mut self, kind: Kind, payload: &[u8]) {
        // A closed pipe shows at the next read.
        if let Some(stdin) = &self.stdin {
            let _ = write_frame(stdin, kind, payload);
        }
    }

    /// Says something of one launch.
    fn relay(&mut self, number: u32, kind: Kind) {
        let mut payload = number.to_le_bytes().to_vec();
        payload.push(kind as u8);
        self.say(Kind::Relay, &payload);
    }

    /// Forgets a launch, and has the agent end what is left of it.
    fn over(&mut self, number: u32) {
        self.heard.remove(&number);
        self.say(Kind::Over, &number.to_le_bytes());
    }

    /// The next frame of a launch, if it has come.
    fn take(&mut self, number: u32) -> Option<Frame> {
        self.heard.get_mut(&number)?.pop_front()
    }

    /// Waits for a frame of a launch until `deadline`, or until one of `wanted` is readable.
    fn next(
        &mut self,
        number: u32,
        deadline: Instant,
        wanted: &[BorrowedFd<'_>],
    ) -> Result<Frame, Missing> {
        loop {
            if let Some(frame) = self.take(number) {
                return Ok(frame);
            }
            if self.lost.is_some() {
                return Err(Missing::Closed);
            }
            match self.stdout.next(Some(deadline), wanted.iter().copied()) {
                Ok(frame) => {
                    self.sort(frame);
                    self.sort_held();
                }
                Err(missing @ (Missing::Interrupted | Missing::Late)) => return Err(missing),
                Err(missing) => self.lose(&missing),
            }
        }
    }

    /// Takes in what has come, without waiting for more.
    fn take_in(&mut self) {
        let filled = self.stdout.fill();
        self.sort_held();
        if let Err(missing) = filled {
            self.lose(&missing);
        }
    }

    /// Every whole frame that has been read: no poll(2) tells of those.
    fn sort_held(&mut self) {
        loop {
            match self.stdout.held() {
                Ok(Some(frame)) => self.sort(frame),
                Ok(None) => return,
                Err(missing) => return self.lose(&missing),
            }
        }
    }

    fn sort(&mut self, (kind, payload): Frame) {
        let number = payload.first_chunk::<4>().map(|it| u32::from_le_bytes(*it));
        match (kind, number) {
            (Kind::Relay, Some(number)) if payload.len() > 4 => {
                let inner = Kind::from_byte(payload[4]);
                // Of a launch that nobody asks for any more nothing is kept.
                if let (Some(inner), Some(heard)) = (inner, self.heard.get_mut(&number)) {
                    heard.push_back((inner, payload[5..].to_vec()));
                }
            }
            (Kind::Over, Some(number)) => {
                if let Some(heard) = self.heard.get_mut(&number) {
                    heard.push_back((Kind::Over, Vec::new()));
                }
            }
            (kind, _) => {
                let error = io::Error::other(format!("{kind:?} out of turn"));
                self.lose(&Missing::Broken(error));
            }
        }
    }

    fn lose(&mut self, missing: &Missing) {
        if self.lost.is_none() {
            let how = match missing {
                Missing::Broken(error) => format!("its stream broke: {error}"),
                _ => self.how_it_ended(),
            };
            let why = format!("the peer is gone: `{}`: {how}{}", self.command, self.complaint());
            self.lost = Some(why);
        }
        self.stdin = None;
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The agent ends with its standard input, and its launches with it.
        self.stdin = None;
        let until = Instant::now() + ENDS_WITHIN;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The network stack of this process (namespaces(7)).
fn network() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/net").ok().map(|it| it.ino())
}

fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id")).ok()?;
    Some(text.trim().to_string())
}
