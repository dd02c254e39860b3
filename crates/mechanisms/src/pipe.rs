//! `pipe`: two pipes, one each way (pipe(7)). A message is one write and one read while it
//! fits the capacity. `mode=packet` keeps message boundaries (O_DIRECT) up to one page.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::PollFd;
use rustix::io::Errno;
use rustix::pipe::{PIPE_BUF, PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};

use super::fd::{TwoFds, partner_closed, write_all};
use super::{
    Carries, Choice, Endpoint, Framing, Mechanism, Nonblocking, NonblockingCode, OpenError,
    OpenSpec, Opened, OptionSpec, Options, Received, Sent, Traits, Visitor, socket::wrong_length,
};
use model::bend::{Bend, Length};
use sys::failed::failed;

/// A page, under the name that it has in a pipe.
pub const SLOT: Bend =
    Bend::new("one pipe slot, a page", Length::Page, "pipe(7): a slot is a page");
/// Of pipes that are written to.
pub const BUF: Bend =
    Bend::new("PIPE_BUF", Length::Bytes(4096), "pipe(7): no larger write is atomic");
/// All slots of a pipe.
pub const FULL: Bend = Bend::new(
    "pipe capacity, {pages} slots",
    Length::setting("pipe_capacity_bytes"),
    "granted: F_GETPIPE_SZ",
);

pub struct Pipe;

/// The option `capacity` of every mechanism made of pipes.
pub const CAPACITY: OptionSpec = OptionSpec {
    name: "capacity",
    summary: "bytes each pipe holds (F_SETPIPE_SZ); the kernel rounds up to a power of two",
    words: &["default"],
    takes_size: true,
};

impl Mechanism for Pipe {
    const NAME: &'static str = "pipe";
    const SUMMARY: &'static str = "two anonymous pipes, one each way";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Stream);
    const BENDS: &'static [Bend] = &[SLOT, BUF, FULL];
    const OPTIONS: &'static [OptionSpec] = &[
        CAPACITY,
        OptionSpec {
            name: "mode",
            summary: "a stream of bytes, or packets of at most a page (O_DIRECT)",
            words: &["stream", "packet"],
            takes_size: false,
        },
    ];

    fn traits(options: &Options) -> Traits {
        let framing = if packets(options) { Framing::Message } else { Framing::Stream };
        Traits { framing, ..Self::TRAITS }
    }

    fn largest(options: &Options) -> Option<usize> {
        packets(options).then_some(PIPE_BUF)
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let packets = packets(&spec.options);
        let flags = if packets { PipeFlags::DIRECT } else { PipeFlags::empty() };
        let [there, back] = two_pipes(spec, Self::OPTIONS, flags)?;
        let effective_settings = vec![("pipe_capacity_bytes".into(), there.capacity)];
        let initiator = TwoFds::new(there.to, back.from);
        let responder = TwoFds::new(back.to, there.from);
        if packets {
            let opened = Opened::new(Packets(initiator), Packets(responder));
            return Ok(visitor.visit(opened.effective_settings(effective_settings)));
        }
        Ok(visitor.visit(Opened::new(initiator, responder).effective_settings(effective_settings)))
    }
}

fn packets(options: &Options) -> bool {
    options.get(Pipe::OPTIONS, "mode") == Choice::Word("packet")
}

pub struct OnePipe {
    /// Where bytes leave.
    pub to: OwnedFd,
    pub from: OwnedFd,
    /// How many it holds, as the kernel granted it.
    pub capacity: u64,
}

/// Two pipes of the capacity asked for in `specs`: there and back.
pub fn two_pipes(
    spec: &OpenSpec,
    specs: &'static [OptionSpec],
    flags: PipeFlags,
) -> Result<[OnePipe; 2], OpenError> {
    let one = || {
        let (from, to) = pipe_with(PipeFlags::CLOEXEC | flags).map_err(OpenError::call("pipe2"))?;
        if let Choice::Size(bytes) = spec.options.get(specs, "capacity") {
            fcntl_setpipe_size(&to, bytes).map_err(|error| {
                OpenError::NotApplicable(format!(
                    "F_SETPIPE_SZ {bytes}: {error}; \
                     /proc/sys/fs/pipe-max-size and pipe-user-pages-soft are the limits"
                ))
            })?;
        }
        let capacity = fcntl_getpipe_size(&to).map_err(OpenError::call("fcntl F_GETPIPE_SZ"))?;
        Ok(OnePipe { to, from, capacity: capacity as u64 })
    };
    Ok([one()?, one()?])
}

/// An end that sends and receives whole packets. A packet is read with room for a page: what
/// doesn't fit a read is thrown away by the kernel, silently.
pub struct Packets(TwoFds);

impl Endpoint for Packets {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        if message.len() > PIPE_BUF {
            return Err(wrong_length("write a packet", message.len(), PIPE_BUF));
        }
        write_all(&self.0.to, message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let mut over = [0];
        let length = loop {
            let places = &mut [io::IoSliceMut::new(message), io::IoSliceMut::new(&mut over)];
            match rustix::io::readv(&self.0.from, places) {
                Ok(0) => return Err(partner_closed()),
                Ok(length) => break length,
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed("readv", error)),
            }
        };
        if length != message.len() {
            return Err(wrong_length("read a packet", length, message.len()));
        }
        Ok(())
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }
}

impl Nonblocking for Packets {
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        self.0.set_nonblocking(on)
    }

    /// A packet is taken whole or not at all: no more than PIPE_BUF bytes (pipe(7)).
    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        match self.send(message) {
            Ok(()) => Ok(Sent::Whole),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::WouldBlock),
            Err(error) => Err(error),
        }
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        match self.recv(message) {
            Ok(()) => Ok(Received::Whole),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Received::WouldBlock),
            Err(error) => Err(error),
        }
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.0.ready()
    }

    fn room(&self) -> Option<PollFd<'_>> {
        self.0.room()
    }

    fn shared(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        self.0.shared()
    }
}
