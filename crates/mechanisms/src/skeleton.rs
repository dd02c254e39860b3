//! A skeleton: a whole mechanism with every hook there is, to copy from. It is compiled and run with the
//! tests, so it can't rot, and it is in no table: nobody measures it.
//!
//! It carries messages between threads of one process by the standard library's channels. What is timed is
//! `send` and `recv`; nothing else is. Each hook says "required", or "optional" and what its default is:
//! leave out what you don't need. A mechanism without options and without a limit is as short as
//! `fifo.rs`; after writing it, add its row to the table at the end of `table.rs`.

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::Duration;

use rustix::event::PollFd;

use super::network::{self, Call, ConnectVisitor, Cookie, ListenVisitor};
use super::socket::wrong_length;
use super::{
    Carries, Choice, Connection, Deadline, Endpoint, Framing, Mechanism, Nonblocking,
    NonblockingCode, OpenError, OpenSpec, Opened, OptionSpec, Options, Phase, Received, Sent,
    Traits, Visitor, Waits,
};
use model::bend::{Bend, Length};
use model::mechanism::Stats;

/// The mechanism's row: a type without a value.
pub struct Skeleton;

/// Messages that may wait on their way, where no option says otherwise.
const DEPTH: usize = 16;

impl Mechanism for Skeleton {
    /// Required: plain lower-case words with hyphens; it stands on command lines and in stores for good.
    const NAME: &'static str = "skeleton";
    /// Required: what it is, in half a line.
    const SUMMARY: &'static str = "channels of the standard library, one each way";
    /// Required: what it carries, how far it reaches, how often a message is copied. `carries: Signal` is
    /// for wake-ups without contents, whose sizes mean nothing.
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);
    /// Optional, default: none. What is chosen is checked before `open` sees it; the first word is the
    /// default.
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec {
        name: "depth",
        summary: "messages that may wait on their way",
        words: &["16", "1"],
        takes_size: false,
    }];
    /// Optional, default: none. Other names that users know it by.
    const ALIASES: &'static [&'static str] = &["heap-queue"];
    /// Optional, default: all options at their defaults. The ways that `list` and the report show by
    /// themselves.
    const SHOWN: &'static [&'static str] = &["", "depth=1"];
    /// Optional, default: the first that is shown. Those measured where nobody names a mechanism.
    const MEASURED: &'static [&'static str] = &[""];
    /// Optional, default: none. Those measured beside these where a server waits for descriptors of several clients.
    const SERVED: &'static [&'static str] = &[];
    /// Optional, default: none. Those measured beside these where one client sends by a clock.
    const PACED: &'static [&'static str] = &[];
    /// Optional, default: none. Sizes at which its cost of a byte changes, and how you know.
    const BENDS: &'static [Bend] =
        &[Bend::new("what the allocator maps by itself", Length::Bytes(128 << 10), "mallopt(3)")];
    /// Optional, default: false. Whether it makes objects that outlive their users: then `open` returns
    /// a `Residue` that removes them (`sysv_queue.rs`).
    const LEAVES_OBJECTS: bool = false;

    /// Optional, default: no limit. A larger message is refused before `open`, never clamped.
    fn largest(_options: &Options) -> Option<usize> {
        None
    }

    /// Optional, default: `SUMMARY`. What an option that is shown by itself changes (`shm_ring.rs`).
    fn summary(_options: &Options) -> &'static str {
        Self::SUMMARY
    }

    /// Optional, default: `TRAITS`. Where an option changes them (`pipe.rs`: `mode=packet`).
    fn traits(_options: &Options) -> Traits {
        Self::TRAITS
    }

    /// Optional, default: asleep. Where a worker busy-waits (`shm_ring.rs`).
    fn waits(_options: &Options) -> Waits {
        Waits::Asleep
    }

    /// Optional, default: false. Whether its objects should end with the launch, in an IPC namespace of
    /// its own (`posix_queue.rs`).
    fn wants_namespace(_options: &Options) -> bool {
        false
    }

    /// Optional, default: none. How one side listens and the other connects (`tcp.rs`): then the workload
    /// connect sets it up in two workers.
    fn connection(_options: &Options) -> Option<Connection> {
        None
    }

    /// Required: both ends, untimed. An option that changes the timed path picks a type here, so that
    /// the path has no branch for it. What can't be had is said as data, with a remedy. Descriptors are
    /// made close-on-exec; names are gone before this returns.
    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        if !spec.same_process {
            let reason = "skeleton joins threads of one process: choose --workers thread";
            return Err(OpenError::NotApplicable(reason.into()));
        }
        let depth = match spec.options.get(Self::OPTIONS, "depth") {
            Choice::Word("1") => 1,
            _ => DEPTH,
        };
        let (there, back) = (sync_channel(depth), sync_channel(depth));
        let initiator = ChannelEnd { out: there.0, into: back.1, received: 0 };
        let responder = ChannelEnd { out: back.0, into: there.1, received: 0 };
        let effective_settings = vec![("channel_depth_messages".into(), depth as u64)];
        Ok(visitor.visit(Opened::new(initiator, responder).effective_settings(effective_settings)))
    }

    /// Optional, default: as they are. What the way to another host decides (`udp.rs`: `datagram=path`).
    fn for_path(options: &Options, _to: IpAddr) -> io::Result<Options> {
        Ok(options.clone())
    }

    /// Optional, default: whether `TRAITS` reaches over a network, and `spec` asks for two processes.
    fn over_network(spec: &OpenSpec) -> Result<(), OpenError> {
        network::check::<Self>(spec)
    }

    /// Optional, default: no network. The far side: one port for one launch (`tcp/remote.rs`).
    fn listen<V: ListenVisitor>(
        _spec: &OpenSpec,
        _address: IpAddr,
        _cookie: Cookie,
        _visitor: V,
    ) -> Result<V::Output, OpenError> {
        Err(network::no_network::<Self>())
    }

    /// Optional, default: no network. The near side.
    fn connect<V: ConnectVisitor>(
        _spec: &OpenSpec,
        _call: &Call,
        _visitor: V,
    ) -> Result<V::Output, OpenError> {
        Err(network::no_network::<Self>())
    }
}

/// One side: what `open` gives twice. It is moved into its worker, so it has to be `Send`.
pub struct ChannelEnd {
    out: SyncSender<Vec<u8>>,
    into: Receiver<Vec<u8>>,
    received: u64,
}

impl ChannelEnd {
    fn take(&mut self, came: &[u8], message: &mut [u8]) -> io::Result<()> {
        // A message of another length is an error, never a silent cut.
        if came.len() != message.len() {
            return Err(wrong_length("recv", came.len(), message.len()));
        }
        message.copy_from_slice(came);
        self.received += 1;
        Ok(())
    }
}

#[cold]
fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the partner closed its end")
}

impl Endpoint for ChannelEnd {
    /// Optional, default: nothing. In the worker, after the fork and pinning, untimed: fault pages in
    /// (`futex.rs`), learn the partner's id (`signal.rs`), keep the deadline (`udp/fragments.rs`).
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        Ok(())
    }

    /// Required, timed: returns when the mechanism has taken all of the message. It waits without a
    /// time-out: a dead partner is the supervisor's business. Mark it `inline(always)`.
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.out.send(message.to_vec()).map_err(|_| gone())
    }

    /// Required, timed: fills all of the message, or says what came instead.
    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let came = self.into.recv().map_err(|_| gone())?;
        self.take(&came, message)
    }

    /// Optional, default: fills the caller's buffer and sends it. Where the mechanism lends the memory
    /// that it hands over (`zero_copy_pipe.rs`), `fill` writes there.
    #[inline(always)]
    fn send_with(&mut self, message: &mut [u8], fill: impl FnOnce(&mut [u8])) -> io::Result<()> {
        fill(message);
        self.send(message)
    }

    /// Optional, default: receives into the caller's buffer and shows it. Where the mechanism lends the
    /// memory that a message arrived in, `look` is shown that.
    #[inline(always)]
    fn recv_with(
        &mut self,
        message: &mut [u8],
        look: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.recv(message)?;
        look(message)
    }

    /// Optional, default: none. Of a process that makes the timed loops itself (`plugin.rs`).
    fn engine(&mut self) -> Option<&mut super::engine::Engine> {
        None
    }

    /// Optional, default: none. As here, where the end is also [`Nonblocking`].
    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }

    /// Optional, default: what the hook above runs code with. An end that only stands for another one has its own.
    fn as_nonblocking(&mut self) -> Option<&mut dyn Nonblocking> {
        Some(self)
    }

    /// Optional, default: nothing. Only for what takes silence for a loss (`udp/`).
    fn bear_pauses(&mut self, _pause: Duration) -> io::Result<()> {
        Ok(())
    }

    /// Optional, default: nothing. Only for what loses messages on purpose (`reliable/`).
    fn enter(&mut self, _phase: Phase) -> io::Result<()> {
        Ok(())
    }

    /// Optional, default: nothing. What is still owed to the partner after the last message.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Optional, default: none. What was lost on the way here, and counts of its own.
    fn stats(&self) -> Option<Stats> {
        Some(Stats { counts: vec![("received_messages", self.received)], ..Stats::default() })
    }
}

/// Optional as a whole: for what can be asked without waiting. `send` and `recv` stay as they are.
impl Nonblocking for ChannelEnd {
    /// Optional, default: nothing. What messages of this size need beside what they need anyway (`udp/nonblocking.rs`).
    fn prepare(&mut self, _message_bytes: usize) -> Result<(), OpenError> {
        Ok(())
    }

    /// Optional, default: nothing. Whatever switches this end alone (`fd.rs`: O_NONBLOCK), if anything has to.
    fn set_nonblocking(&mut self, _on: bool) -> io::Result<()> {
        Ok(())
    }

    /// Required here: a stream keeps how much of the message it has taken (`fd.rs`).
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        match self.out.try_send(message.to_vec()) {
            Ok(()) => Ok(Sent::Whole),
            Err(TrySendError::Full(_)) => Ok(Sent::WouldBlock),
            Err(TrySendError::Disconnected(_)) => Err(gone()),
        }
    }

    /// Required here.
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        match self.into.try_recv() {
            Ok(came) => self.take(&came, message).map(|()| Received::Whole),
            Err(TryRecvError::Empty) => Ok(Received::WouldBlock),
            Err(TryRecvError::Disconnected) => Err(gone()),
        }
    }

    /// Required here; None where no descriptor tells.
    fn ready(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Optional, default: none. The descriptor that tells of room to send (`fd.rs`).
    fn room(&self) -> Option<PollFd<'_>> {
        None
    }

    /// Optional, default: none. Where plain descriptors are all that an end has (`fd.rs`), so that many processes may
    /// share it.
    fn shared(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        None
    }
}

struct RoundTrips(u8);

impl Visitor for RoundTrips {
    type Output = Option<Stats>;

    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Option<Stats> {
        let Opened { mut initiator, mut responder, .. } = opened;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                responder.start(&Deadline::default()).unwrap();
                for _ in 0..self.0 {
                    let mut message = [0; 64];
                    responder.recv(&mut message).unwrap();
                    responder.send(&message).unwrap();
                }
                responder.finish().unwrap();
            });
            initiator.start(&Deadline::default()).unwrap();
            for number in 0..self.0 {
                let fill = |message: &mut [u8]| message.fill(number);
                initiator.send_with(&mut [0; 64], fill).unwrap();
                let look = |message: &[u8]| {
                    assert_eq!(message, [number; 64]);
                    Ok(())
                };
                initiator.recv_with(&mut [0; 64], look).unwrap();
            }
            initiator.finish().unwrap();
        });
        initiator.stats()
    }
}

#[test]
fn the_skeleton_carries_messages() {
    for depth in ["16", "1"] {
        let options = Options::default().with("depth", depth);
        let spec = OpenSpec { options, message_bytes: 64, same_process: true, seed: 0 };
        let stats = Skeleton::open(&spec, RoundTrips(100)).unwrap().expect("it counts");
        assert_eq!((stats.lost, stats.counts), (0, vec![("received_messages", 100)]));
        let apart = OpenSpec { same_process: false, ..spec };
        let refused = Skeleton::open(&apart, RoundTrips(1)).unwrap_err();
        assert!(matches!(refused, OpenError::NotApplicable(_)));
    }
}

/// A hook that is new stands here, too.
#[test]
fn no_hook_is_missing_and_each_says_whether_it_is_required() {
    const TRAITS: [(&str, &str, &str); 3] = [
        (
            include_str!("contract.rs"),
            "pub trait Mechanism: Sized {",
            "impl Mechanism for Skeleton {",
        ),
        (
            include_str!("endpoint.rs"),
            "pub trait Endpoint: Send {",
            "impl Endpoint for ChannelEnd {",
        ),
        (
            include_str!("nonblocking.rs"),
            "pub trait Nonblocking: Endpoint {",
            "impl Nonblocking for ChannelEnd {",
        ),
    ];
    /// The lines of what begins so, up to its end.
    fn lines<'a>(source: &'a str, head: &str) -> Vec<&'a str> {
        let rest = source.lines().skip_while(|line| *line != head).skip(1);
        let lines: Vec<&str> = rest.take_while(|text| *text != "}").collect();
        assert!(!lines.is_empty(), "{head}");
        lines
    }
    /// The name of the hook that a line begins.
    fn hook(line: &str) -> Option<&str> {
        let rest = line.strip_prefix("    fn ").or_else(|| line.strip_prefix("    const "))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    }
    for (source, declared, made) in TRAITS {
        let made = lines(include_str!("skeleton.rs"), made);
        for wanted in lines(source, declared).into_iter().filter_map(hook) {
            let at = made.iter().position(|text| hook(text) == Some(wanted));
            let at = at.unwrap_or_else(|| panic!("{wanted} is missing"));
            let before = made[..at].iter().rev();
            let said: Vec<&&str> = before
                .take_while(|text| text.starts_with("    ///") || text.starts_with("    #["))
                .collect();
            let first =
                said.iter().rev().find(|text| text.starts_with("    ///")).expect("a comment");
            let known = ["Required", "Optional, default: "].map(|text| format!("    /// {text}"));
            assert!(known.iter().any(|text| first.starts_with(text)), "{wanted}: {first}");
        }
    }
}
