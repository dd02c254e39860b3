//! `io-uring`: what rings add to known ways (io_uring(7)), one operation at a time, so that its
//! cost compares with the plain call's: `op=send` sends and receives on a socket pair,
//! `op=msg-ring` posts a completion into the partner's ring, `op=futex` sleeps on a futex
//! through the ring. The last two carry a wake-up, no bytes.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::fd::partner_closed;
use super::{
    Carries, Cause, Choice, Deadline, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened,
    OptionSpec, Options, Traits, Unavailable, Visitor,
};
use sys::failed::failed_in;
use sys::shared::{LINE, Mapping, Word};
use sys::uring::Ring;

pub struct IoUring;

impl Mechanism for IoUring {
    const NAME: &'static str = "io-uring";
    const SUMMARY: &'static str = "operations through an io_uring, one by one";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Stream);
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec {
        name: "op",
        summary: "send and receive on a socket pair, a message from ring to ring, or a futex",
        words: &["send", "msg-ring", "futex"],
        takes_size: false,
    }];
    const SHOWN: &'static [&'static str] = &["op=send", "op=msg-ring", "op=futex"];

    fn summary(options: &Options) -> &'static str {
        match options.get(Self::OPTIONS, "op") {
            Choice::Word("msg-ring") => "a completion posted into the partner's ring",
            Choice::Word("futex") => "sleeping and waking on a futex, through the ring",
            _ => Self::SUMMARY,
        }
    }

    fn traits(options: &Options) -> Traits {
        match options.get(Self::OPTIONS, "op") {
            Choice::Word("send") => Self::TRAITS,
            _ => Traits::host(Carries::Signal, Framing::Message),
        }
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        match spec.options.get(Self::OPTIONS, "op") {
            Choice::Word("msg-ring") => Ok(visitor.visit(messages()?)),
            Choice::Word("futex") => Ok(visitor.visit(futexes(spec.same_process)?)),
            _ => Ok(visitor.visit(sockets()?)),
        }
    }
}

fn ring() -> Result<Ring, OpenError> {
    Ring::new().map_err(refused)
}

/// Why there is no ring, and what would enable one.
pub fn refused(error: io::Error) -> OpenError {
    OpenError::call("io_uring_setup")(error)
}

/// `op=send`.
pub struct Socket {
    ring: Ring,
    socket: OwnedFd,
}

fn sockets() -> Result<Opened<Socket>, OpenError> {
    let (left, right) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(OpenError::call("socketpair AF_UNIX"))?;
    let end = |socket| Ok::<_, OpenError>(Socket { ring: ring()?, socket });
    Ok(Opened::new(end(left)?, end(right)?))
}

impl Endpoint for Socket {
    #[inline(always)]
    fn send(&mut self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            let taken = self.ring.send(self.socket.as_fd(), message);
            let taken = taken.map_err(failed_in("io_uring send"))?;
            message = &message[taken..];
        }
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < message.len() {
            let given = self.ring.recv(self.socket.as_fd(), &mut message[filled..]);
            match given.map_err(failed_in("io_uring receive"))? {
                0 => return Err(partner_closed()),
                given => filled += given,
            }
        }
        Ok(())
    }
}

/// `op=msg-ring`: the own ring, and the partner's descriptor, which must stay open.
pub struct Messages {
    ring: Ring,
    partner: OwnedFd,
}

fn messages() -> Result<Opened<Messages>, OpenError> {
    let (first, second) = (ring()?, ring()?);
    let again = |ring: &Ring| ring.try_clone_fd().map_err(OpenError::call("dup"));
    let (to_first, to_second) = (again(&first)?, again(&second)?);
    let end = |ring, partner| Messages { ring, partner };
    Ok(Opened::new(end(first, to_second), end(second, to_first)))
}

impl Messages {
    fn partner(&self) -> RawFd {
        self.partner.as_raw_fd()
    }
}

impl Endpoint for Messages {
    #[inline(always)]
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        loop {
            match self.ring.message(self.partner()) {
                // The partner's completion queue is full: it has to take some first.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::OVERFLOW) => {
                    rustix::thread::sched_yield();
                }
                result => return result.map_err(failed_in("io_uring message")),
            }
        }
    }

    #[inline(always)]
    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        self.ring.await_message()
    }
}

/// `op=futex`: a bell each way, as the mechanism `futex` has, slept on through the ring.
pub struct Futexes {
    ring: Ring,
    mapping: Arc<Mapping>,
    rings: Bell,
    hears: Bell,
    private: bool,
}

/// Signals not yet taken, and whether their receiver sleeps.
#[derive(Clone)]
struct Bell {
    tokens: Word,
    parked: Word,
}

fn futexes(private: bool) -> Result<Opened<Futexes>, OpenError> {
    let mapping = Mapping::new(4 * LINE).map_err(OpenError::call("mmap"))?;
    let mapping = Arc::new(mapping);
    let bell =
        |at| Bell { tokens: Word::new(&mapping, at), parked: Word::new(&mapping, at + LINE) };
    let (there, back) = (bell(0), bell(2 * LINE));
    let end = |rings: &Bell, hears: &Bell| {
        let ring = ring()?;
        if !ring.knows_futexes().unwrap_or(false) {
            return Err(OpenError::Unavailable(Unavailable {
                cause: Cause::AbsentFromKernel,
                reason: "io_uring knows no futexes here".into(),
                remedy: "use Linux 6.7 or newer".into(),
            }));
        }
        let (rings, hears) = (rings.clone(), hears.clone());
        Ok(Futexes { ring, mapping: mapping.clone(), rings, hears, private })
    };
    Ok(Opened::new(end(&there, &back)?, end(&back, &there)?))
}

impl Endpoint for Futexes {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        self.mapping.populate(self.mapping.bytes())
    }

    #[inline(always)]
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        self.rings.tokens.fetch_add(1, SeqCst);
        if self.rings.parked.swap(0, SeqCst) == 1 {
            self.ring
                .futex_wake(&self.rings.parked, self.private)
                .map_err(failed_in("io_uring futex"))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        while self.hears.tokens.load(SeqCst) == 0 {
            // Marked first, then looked again: the sender sees the mark, or this its token.
            self.hears.parked.store(1, SeqCst);
            if self.hears.tokens.load(SeqCst) == 0 {
                self.ring
                    .futex_wait(&self.hears.parked, 1, self.private)
                    .map_err(failed_in("io_uring futex"))?;
            }
            self.hears.parked.store(0, SeqCst);
        }
        self.hears.tokens.fetch_sub(1, SeqCst);
        Ok(())
    }
}
