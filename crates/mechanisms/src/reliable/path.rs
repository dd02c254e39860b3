//! One socket, what is lost or flipped on the way to it, and what was counted.
//!
//! Losses are injected at the receiver, after the kernel has handed a datagram over: data and
//! acknowledgements meet the next draw of the trace each, in the order in which they were sent.
//! None is injected into what only keeps buffers from overflowing or ends a wait for a lost message.

use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use sys::failed::failed;

use super::DatagramSocket;
use super::wire::{DatagramKind, HEADER, Header, widened};
use crate::socket;
use codes::{FlipTrace, LossTrace};
use model::mechanism::Stats;

/// More bytes than a datagram has.
const ROOM: usize = 65_536;
/// A datagram that is farther ahead of the others is none of the partner's: so many can't have been lost
/// meanwhile, and the trace would have to draw for each of them.
const FARTHEST: u64 = 1 << 20;

/// What was counted while losses were injected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub sent_messages: u64,
    pub payload_bytes: u64,
    pub sent_datagrams: u64,
    pub resent_datagrams: u64,
    pub wire_bytes: u64,
    pub due_messages: u64,
    pub lost_messages: u64,
    pub recovered_messages: u64,
    pub lost_datagrams: u64,
    pub duplicate_datagrams: u64,
    pub time_outs: u64,
    pub flipped_bits: u64,
    pub intact_messages: u64,
    pub corrected_messages: u64,
    pub detected_by_code: u64,
    pub detected_by_checksum: u64,
    pub silently_wrong_messages: u64,
}

impl Counts {
    /// By name; those of flipped bits where bits are flipped.
    fn counters(&self, flips: bool) -> Vec<(&'static str, u64)> {
        let mut counters = vec![
            ("sent_messages", self.sent_messages),
            ("payload_bytes", self.payload_bytes),
            ("sent_datagrams", self.sent_datagrams),
            ("resent_datagrams", self.resent_datagrams),
            ("wire_bytes", self.wire_bytes),
            ("due_messages", self.due_messages),
            ("lost_messages", self.lost_messages),
            ("recovered_messages", self.recovered_messages),
            ("lost_datagrams", self.lost_datagrams),
            ("duplicate_datagrams", self.duplicate_datagrams),
            ("time_outs", self.time_outs),
        ];
        if flips {
            counters.extend([
                ("flipped_bits", self.flipped_bits),
                ("intact_messages", self.intact_messages),
                ("corrected_messages", self.corrected_messages),
                ("detected_by_code", self.detected_by_code),
                ("detected_by_checksum", self.detected_by_checksum),
                ("silently_wrong_messages", self.silently_wrong_messages),
            ]);
        }
        counters
    }
}

/// What happens to datagrams on their way.
pub struct Mishaps {
    /// Which are lost.
    pub losses: Option<LossTrace>,
    /// Which bits flip, behind so many bytes that stay.
    pub flips: Option<(FlipTrace, usize)>,
}

/// A connected socket.
pub struct Path<S> {
    socket: S,
    mishaps: Mishaps,
    /// Whether losses and flips are injected, and counted.
    injects: bool,
    /// Datagrams sent so far that have a number.
    sent: u64,
    /// The number of the next that is expected.
    read: u64,
    /// Datagrams that came and weren't lost.
    received: u64,
    /// Bytes of the headers below.
    below: u64,
    pub counts: Counts,
    came: Box<[u8]>,
    length: usize,
    /// The message of which the last datagram was lost here, if one was.
    pub ended: Option<u32>,
}

impl<S: DatagramSocket> Path<S> {
    pub fn new(socket: S, mishaps: Mishaps) -> io::Result<Path<S>> {
        let below = socket.header_bytes()?;
        Ok(Path {
            socket,
            mishaps,
            injects: true,
            sent: 0,
            read: 0,
            received: 0,
            below,
            counts: Counts::default(),
            came: vec![0; ROOM].into(),
            length: 0,
            ended: None,
        })
    }

    pub fn stats(&self) -> Stats {
        let counts = self.counts.counters(self.mishaps.flips.is_some());
        Stats { lost: self.counts.lost_messages, datagrams: None, counts }
    }

    /// Switches the injection of losses and flips, and all counting, on or off.
    pub fn set_loss_injection(&mut self, enabled: bool) {
        self.injects = enabled;
    }

    /// Whether losses are injected, beyond those of the network itself.
    pub fn injects_losses(&self) -> bool {
        self.injects
    }

    /// How large a packet the way takes, as far as the kernel knows.
    pub fn mtu(&self) -> Option<u32> {
        self.socket.mtu()
    }

    /// Counts something, if losses are injected.
    pub fn count(&mut self, with: impl FnOnce(&mut Counts)) {
        if self.injects {
            with(&mut self.counts);
        }
    }

    /// Numbered datagrams sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// One more than the number of the last datagram that was read, lost ones included.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Datagrams so far that came and weren't lost.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Sends one datagram; data and acknowledgements get the next number. Gives it.
    pub fn send(&mut self, header: Header, parts: &[&[u8]]) -> io::Result<u64> {
        let numbered = matches!(header.kind, DatagramKind::Data | DatagramKind::Ack);
        let number = if numbered { self.sent } else { self.read };
        self.sent += u64::from(numbered);
        let header = Header { number: number as u32, ..header }.to_bytes();
        let mut slices = [IoSlice::new(&header), IoSlice::new(&[]), IoSlice::new(&[])];
        for (slice, part) in slices[1..].iter_mut().zip(parts) {
            *slice = IoSlice::new(part);
        }
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        let below = self.below;
        self.count(|counts| {
            counts.sent_datagrams += 1;
            counts.wire_bytes += bytes as u64 + below;
        });
        loop {
            let nothing = &mut SendAncillaryBuffer::default();
            match sendmsg(&self.socket, &slices, nothing, SendFlags::NOSIGNAL) {
                Ok(taken) if taken == bytes => return Ok(number),
                Ok(taken) => return Err(socket::wrong_length("sendmsg", taken, bytes)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed("sendmsg", error)),
            }
        }
    }

    /// Waits for a datagram that isn't lost; None if none came in time.
    pub fn receive(&mut self, within: Option<Duration>) -> io::Result<Option<Header>> {
        let Some(within) = within else {
            loop {
                if let Some(header) = self.take(RecvFlags::empty())? {
                    return Ok(Some(header));
                }
            }
        };
        // By poll(2), whose time is finer than that of a socket's own time-out.
        let until = Instant::now() + within;
        let mut left = within;
        loop {
            let time =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&time)) {
                Ok(0) => return Ok(None),
                Ok(_) => {
                    if let Some(header) = self.take(RecvFlags::DONTWAIT)? {
                        return Ok(Some(header));
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed("poll", error)),
            }
            left = until.saturating_duration_since(Instant::now());
        }
    }

    /// A datagram that is there and isn't lost.
    pub fn at_hand(&mut self) -> io::Result<Option<Header>> {
        self.receive(Some(Duration::ZERO))
    }

    fn take(&mut self, flags: RecvFlags) -> io::Result<Option<Header>> {
        let length = match recv(&self.socket, &mut self.came[..], flags) {
            Ok((length, _)) => length,
            // A wrong checksum is found here only; or the socket's own time is up.
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(failed("recvfrom", error)),
        };
        self.length = length;
        let Some(header) = Header::parse(&self.came[..length]) else { return Ok(None) };
        if !matches!(header.kind, DatagramKind::Data | DatagramKind::Ack) {
            self.received += 1;
            return Ok(Some(header));
        }
        let number = widened(self.read, header.number);
        if number > self.read + FARTHEST {
            return Ok(None);
        }
        if self.is_lost(number) {
            self.counts.lost_datagrams += 1;
            if header.ends {
                self.ended = Some(header.message);
            }
            return Ok(None);
        }
        if header.kind == DatagramKind::Data && self.injects {
            self.flip();
        }
        self.received += 1;
        Ok(Some(header))
    }

    /// Whether the trace loses datagram `number`. It has a draw for each, also for those that the
    /// path itself has lost; what overtook others has the next.
    fn is_lost(&mut self, number: u64) -> bool {
        let draws = (number + 1).saturating_sub(self.read).max(1);
        self.read = self.read.max(number + 1);
        match &mut self.mishaps.losses {
            Some(trace) if self.injects => trace.nth(draws as usize - 1).unwrap_or(false),
            _ => false,
        }
    }

    fn flip(&mut self) {
        if let Some((flips, behind)) = &mut self.mishaps.flips {
            let from = (HEADER + *behind).min(self.length);
            self.counts.flipped_bits += flips.flip(&mut self.came[from..self.length]);
        }
    }

    /// What came behind the header.
    pub fn body(&self) -> &[u8] {
        &self.came[HEADER..self.length]
    }
}
