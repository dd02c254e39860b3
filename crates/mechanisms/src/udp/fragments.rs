//! `udp` for messages larger than a datagram: each goes as fragments of one size, the last as
//! long as the rest. A fragment is a datagram of a header (the number of its message, its own
//! number, whether it is the last) and its part of the message, sent from and received into the
//! message's own memory.
//!
//! The window counts fragments. A credit, a datagram of nothing but a header's eight bytes, says
//! how many fragments the receiver has put in their places since the beginning; it returns one
//! for every half window, in the middle of a message too. What comes early is kept until its
//! turn, what comes twice is dropped, both are counted; what never comes ends the wait: soon where
//! it is known to be lost, else after a long silence.

mod early;
mod nonblocking;
mod silence;
#[cfg(test)]
mod tests;
mod wire;

use std::array;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::UdpSocket;
use std::time::Duration;

use self::early::{Early, Part};
use self::silence::SILENCE;
pub(super) use self::wire::HEADER;
use self::wire::header;
use super::{Connected, PATIENCE, path, set_failed, window};
use crate::{Deadline, Endpoint, NonblockingCode, OpenError, OpenSpec, Opened, Visitor, socket};
use model::mechanism::{Datagrams, FragmentCounts, Stats};

/// Most datagrams that the kernel cuts one send into (UDP_MAX_SEGMENTS; new kernels
/// take 128).
pub(super) const SEGMENTS: usize = 64;
/// Most bytes of one send, all headers included.
const LARGEST: usize = 65_507;
/// In a credit's place: tell how far you have read by credits from now on, not by turns.
const ASK: [u8; HEADER] = [0xFF; HEADER];
/// More bytes than one receive gives.
const SPILL: usize = 65_536;

/// One socket, and where its messages are. SEND is how many fragments one system call may send;
/// TAKE is one more than those that one may receive: the last place is for what is out of place.
pub(super) struct FragmentsEnd<const SEND: usize, const TAKE: usize> {
    socket: UdpSocket,
    /// Bytes of a message in each of its fragments but the last.
    payload: usize,
    /// Most fragments that may be under way to the partner.
    window: u64,
    /// Fragments in one send, at most SEND.
    batch: u64,
    /// How many times [`PATIENCE`] the partner may be silent while nothing is known to be lost.
    silence: u64,
    /// Fragments sent so far, and how many of them the partner is known to have read.
    sent: u64,
    credited: u64,
    /// Fragments put in their places so far, and how many of them were acknowledged.
    read: u64,
    acknowledged: u64,
    /// Numbers of the next messages out and in.
    outgoing: u64,
    incoming: u64,
    early: Early,
    /// Fragments of those messages that were sent and put in their places by calls that don't wait.
    partly: Partly,
    /// Whether a message acknowledges all that its sender received before, as in a bare end.
    takes_turns: bool,
    /// Whether the partner was asked to go by credits, too: once is enough.
    asked: bool,
    /// Where what is out of place arrives.
    spill: Box<[u8]>,
    /// Fragments known never to have come.
    missing: u64,
    /// When the launch ends.
    deadline: Deadline,
}

/// How far the messages under way are.
#[derive(Default)]
struct Partly {
    sent: u32,
    received: u32,
}

/// Opens both ends for messages that take more than one datagram of `datagram` bytes. Whether
/// fragments are sent or received together picks the type.
pub(super) fn open<V: Visitor>(
    spec: &OpenSpec,
    connected: Connected,
    datagram: usize,
    (gso, gro): (bool, bool),
    visitor: V,
) -> Result<V::Output, OpenError> {
    const TOGETHER: usize = SEGMENTS + 1;
    Ok(match (gso, gro) {
        (false, false) => visitor.visit(pair::<1, 2>(spec, connected, datagram)?),
        (false, true) => visitor.visit(pair::<1, TOGETHER>(spec, connected, datagram)?),
        (true, false) => visitor.visit(pair::<SEGMENTS, 2>(spec, connected, datagram)?),
        (true, true) => visitor.visit(pair::<SEGMENTS, TOGETHER>(spec, connected, datagram)?),
    })
}

fn pair<const SEND: usize, const TAKE: usize>(
    spec: &OpenSpec,
    (near, far, mut effective_settings): Connected,
    datagram: usize,
) -> Result<Opened<FragmentsEnd<SEND, TAKE>>, OpenError> {
    let end = |socket| FragmentsEnd::of(socket, datagram, spec.message_bytes);
    let (initiator, responder) = (end(near)?, end(far)?);
    effective_settings.extend(initiator.effective_settings(datagram, spec.message_bytes)?);
    Ok(Opened::new(initiator, responder).effective_settings(effective_settings))
}

impl<const SEND: usize, const TAKE: usize> FragmentsEnd<SEND, TAKE> {
    /// An end over a connected socket, with the way in which it cuts and joins messages.
    pub(super) fn of(
        socket: UdpSocket,
        datagram: usize,
        message_bytes: usize,
    ) -> Result<Self, OpenError> {
        if SEND > 1 {
            sys::socket::cut_when_sent(&socket, datagram as u16)
                .map_err(OpenError::call("setsockopt UDP_SEGMENT"))?;
        }
        if TAKE > 2 {
            sys::socket::join_when_received(&socket)
                .map_err(OpenError::call("setsockopt UDP_GRO"))?;
        }
        FragmentsEnd::new(socket, datagram, message_bytes).map_err(set_failed)
    }

    /// What it may have under way, and in one send; and what a message comes to.
    pub(super) fn effective_settings(
        &self,
        datagram: usize,
        message_bytes: usize,
    ) -> Result<Vec<(String, u64)>, OpenError> {
        let (window, batch) = (self.window, self.batch);
        let mut effective_settings = path::effective_settings(
            &self.socket,
            message_bytes,
            path::Laid::Cut { datagram, header: HEADER },
        );
        effective_settings.push(("window_datagrams".into(), window));
        effective_settings.push(("datagram_bytes".into(), datagram as u64));
        if SEND > 1 {
            effective_settings.push(("datagrams_per_send".into(), batch));
            if batch < 2 {
                return Err(OpenError::NotApplicable(format!(
                    "udp: gso=on changes nothing for datagrams of {datagram} bytes: one send takes \
                     {LARGEST} bytes, the window {window} datagrams: choose a smaller `datagram=` \
                     or a larger `buffer=`"
                )));
            }
        }
        Ok(effective_settings)
    }

    /// With no more under way than the partner's buffer holds.
    pub(super) fn narrowed(self, window: u32) -> Self {
        let window = self.window.min(window.into());
        FragmentsEnd { window, batch: self.batch.min(window), ..self }
    }

    fn new(socket: UdpSocket, datagram: usize, message_bytes: usize) -> io::Result<Self> {
        let window = u64::from(window(&socket, datagram)?);
        Ok(FragmentsEnd {
            socket,
            payload: datagram - HEADER,
            window,
            silence: SILENCE + (message_bytes >> 20) as u64,
            batch: window.min(SEND.min(LARGEST / datagram).max(1) as u64),
            sent: 0,
            credited: 0,
            read: 0,
            acknowledged: 0,
            outgoing: 0,
            incoming: 0,
            early: Early::default(),
            partly: Partly::default(),
            takes_turns: true,
            asked: false,
            spill: vec![0; SPILL].into(),
            missing: 0,
            deadline: Deadline::default(),
        })
    }

    /// How many fragments a message of `bytes` takes.
    #[inline(always)]
    fn fragments(&self, bytes: usize) -> u32 {
        bytes.div_ceil(self.payload) as u32
    }

    /// Sends fragments of `message` from `next` on, as many as the window and one call take;
    /// gives how many.
    #[inline(always)]
    fn give(&mut self, message: &[u8], next: u32) -> io::Result<u32> {
        while self.is_full() {
            self.await_credit()?;
        }
        self.give_now(message, next)
    }

    /// Whether as many fragments are under way as may be.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.sent - self.credited >= self.window
    }

    /// As [`FragmentsEnd::give`], where the window has room.
    #[inline(always)]
    fn give_now(&mut self, message: &[u8], next: u32) -> io::Result<u32> {
        let most = self.batch.min(self.window - (self.sent - self.credited)) as usize;
        let count = self.fragments(message.len());
        let headers: [[u8; HEADER]; SEND] =
            array::from_fn(|nth| header(self.outgoing, next + nth as u32, count));
        let rest = &message[next as usize * self.payload..];
        let mut parts = headers.iter().zip(rest.chunks(self.payload)).take(most);
        let taken = parts.len();
        let slices: [[IoSlice<'_>; 2]; SEND] = array::from_fn(|_| match parts.next() {
            Some((header, part)) => [IoSlice::new(header), IoSlice::new(part)],
            None => [IoSlice::new(&[]); 2],
        });
        wire::send(&self.socket, slices[..taken].as_flattened())?;
        self.sent += taken as u64;
        Ok(taken as u32)
    }

    /// Receives once; gives how many fragments from `next` on were put in their places in `message`;
    /// None if nothing came in time. A credit is applied, anything else kept for later.
    #[inline(always)]
    fn take(&mut self, message: &mut [u8], next: u32) -> io::Result<Option<u32>> {
        let mut headers = [[0; HEADER]; TAKE];
        let rest = &mut message[next as usize * self.payload..];
        let mut places = headers.iter_mut().zip(rest.chunks_mut(self.payload)).take(TAKE - 1);
        let mut spill = Some(&mut self.spill[..]);
        let mut slices: [[IoSliceMut<'_>; 2]; TAKE] = array::from_fn(|_| match places.next() {
            Some((header, part)) => [IoSliceMut::new(header), IoSliceMut::new(part)],
            None => {
                let spill = spill.take().unwrap_or_default();
                [IoSliceMut::new(spill), IoSliceMut::new(&mut [])]
            }
        });
        let Some((bytes, each)) = wire::receive(&self.socket, slices.as_flattened_mut())? else {
            return Ok(None);
        };
        if let Some(taken) = self.in_place(&headers, next, message.len(), bytes, each) {
            self.have_read(taken);
            self.early.passed_by(taken);
            return Ok(Some(taken));
        }
        self.sort_out(&headers, message, next, bytes, each)?;
        Ok(Some(0))
    }

    /// How many fragments came, if each is the one that belongs in its place.
    #[inline(always)]
    fn in_place(
        &self,
        headers: &[[u8; HEADER]; TAKE],
        next: u32,
        length: usize,
        bytes: usize,
        each: usize,
    ) -> Option<u32> {
        let count = self.fragments(length);
        let (mut left, mut at) = (bytes, next);
        for found in &headers[..TAKE - 1] {
            if left == 0 || at == count {
                break;
            }
            let part = self.payload.min(length - at as usize * self.payload);
            if each.min(left) != HEADER + part || *found != header(self.incoming, at, count) {
                return None;
            }
            (left, at) = (left - HEADER - part, at + 1);
        }
        (left == 0 && at > next).then_some(at - next)
    }

    /// Notes that `fragments` more are in their places. A partner that speaks when it is its turn has
    /// read what was sent before.
    #[inline(always)]
    fn have_read(&mut self, fragments: u32) {
        self.read += u64::from(fragments);
        if self.takes_turns {
            self.credited = self.sent;
        }
    }

    /// Applies a credit, keeps fragments that came before their turn, drops what came
    /// twice.
    #[cold]
    fn sort_out(
        &mut self,
        headers: &[[u8; HEADER]; TAKE],
        message: &[u8],
        next: u32,
        bytes: usize,
        each: usize,
    ) -> io::Result<()> {
        // One after the other, as they were sent.
        let mut came = Vec::with_capacity(bytes);
        let mut take = |slice: &[u8]| {
            came.extend_from_slice(&slice[..slice.len().min(bytes - came.len())]);
        };
        let parts = message[next as usize * self.payload..].chunks(self.payload);
        for (header, part) in headers[..TAKE - 1].iter().zip(parts) {
            take(header);
            take(part);
        }
        take(&self.spill);
        for datagram in came.chunks(each.max(1)) {
            let Some((header, bytes)) = datagram.split_first_chunk::<HEADER>() else {
                return Err(socket::wrong_length("recv", datagram.len(), HEADER));
            };
            if bytes.is_empty() && *header == ASK {
                // Told before the next is received.
                self.takes_turns = false;
                self.acknowledged =
                    self.acknowledged.min(self.read.saturating_sub(self.window.div_ceil(2)));
            } else if bytes.is_empty() {
                self.credited = self.credited.max(u64::from_le_bytes(*header).min(self.sent));
            } else {
                let (place, last) = wire::place(header, self.incoming);
                self.early.keep(place, Part { bytes: bytes.into(), last }, (self.incoming, next));
            }
        }
        Ok(())
    }

    /// Asks the partner to go by credits, where it may still take turns and this end doesn't: a window is full.
    #[cold]
    fn ask_for_credits(&mut self) -> io::Result<()> {
        if !self.takes_turns && !self.asked {
            socket::send_message(&self.socket, &ASK)?;
            self.asked = true;
        }
        Ok(())
    }

    /// Puts the early fragments whose turn it is into their places; gives the next that is
    /// wanted.
    #[cold]
    fn catch_up(&mut self, message: &mut [u8], mut next: u32) -> io::Result<u32> {
        let count = self.fragments(message.len());
        while next < count
            && let Some(early) = self.early.take((self.incoming, next))
        {
            let from = next as usize * self.payload;
            let end = message.len().min(from + self.payload);
            let part = &mut message[from..end];
            next += 1;
            if early.bytes.len() != part.len() || early.last != (next == count) {
                let (found, last) = (early.bytes.len(), if early.last { ", the last" } else { "" });
                let bytes = message.len();
                let text =
                    format!("recv: no message of {bytes} bytes: part {next} has {found}{last}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            part.copy_from_slice(&early.bytes);
            self.have_read(1);
        }
        self.early.forget_before((self.incoming, next));
        Ok(next)
    }

    /// Tells the partner what has been read, for every half window.
    #[inline(always)]
    fn give_credit(&mut self) -> io::Result<()> {
        if self.read - self.acknowledged < self.window.div_ceil(2) {
            return Ok(());
        }
        socket::send_message(&self.socket, &self.read.to_le_bytes())?;
        self.acknowledged = self.read;
        Ok(())
    }
}

impl<const SEND: usize, const TAKE: usize> Endpoint for FragmentsEnd<SEND, TAKE> {
    fn start(&mut self, deadline: &Deadline) -> io::Result<()> {
        self.deadline = deadline.clone();
        Ok(())
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let (count, mut next) = (self.fragments(message.len()), 0);
        if self.takes_turns {
            self.acknowledged = self.read;
        }
        while next < count {
            next += self.give(message, next)?;
        }
        self.outgoing += 1;
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let (count, mut next, mut waits) = (self.fragments(message.len()), 0, 0);
        loop {
            if !self.early.is_empty() {
                next = self.catch_up(message, next)?;
            }
            if next == count {
                break;
            }
            self.give_credit()?;
            match self.take(message, next)? {
                Some(taken) => (next, waits) = (next + taken, 0),
                None => {
                    waits += 1;
                    self.bear_silence(waits, next, count)?;
                }
            }
        }
        self.incoming += 1;
        Ok(())
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }

    fn bear_pauses(&mut self, pause: Duration) -> io::Result<()> {
        self.silence += pause.div_duration_f64(PATIENCE).ceil() as u64;
        Ok(())
    }

    fn stats(&self) -> Option<Stats> {
        let Early { reordered, duplicated, .. } = self.early;
        let (received, lost) = (self.read, self.missing);
        let queue_overflows = sys::socket::drops(&self.socket).ok();
        let fragments = Some(FragmentCounts { received, lost, reordered, duplicated });
        Some(Stats {
            lost: queue_overflows.unwrap_or(0).max(lost),
            datagrams: Some(Datagrams { queue_overflows, fragments }),
            counts: Vec::new(),
        })
    }
}
