//! Automatic repeat request: messages are retransmitted until they are acknowledged. Stop-and-wait,
//! selective repeat, and codes whose repair doesn't always suffice (`+arq`).
//!
//! Each datagram has a number of its own, resent ones too. An acknowledgement says which datagrams came
//! and which messages are whole. It travels with data where the receiver answers, else by itself: for
//! every half window, before its sender sleeps, and at once where something is missing. A datagram counts
//! as lost when a later one was acknowledged, or when none was for as long as [`Timer`] says. Without a
//! code it is resent then; with a code only if its whole message was sent and didn't suffice.
//!
//! Where bits flip, each datagram has a checksum: one that it finds wrong is dropped, and sent again as if it had
//! been lost.
//!
//! A responder waits until its answer is acknowledged, because an endpoint that is gone resends nothing.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::ops::Range;
use std::time::Instant;

use super::flipped::{self, GUARD, TRUTH, truth};
use super::inbox::{Inbox, Put};
use super::path::Path;
use super::shape::Shape;
use super::timer::Timer;
use super::wire::{ACK, Ack, DatagramKind, Header, widened};
use super::{DatagramSocket, GIVE_UP, Patience, not_ours};
use crate::{Deadline, Endpoint, Phase, socket};
use codes::Coder;
use model::mechanism::Stats;

/// How many times the final acknowledgement is repeated: it is not acknowledged itself.
const FINAL_REPEATS: usize = 2;
/// Most datagrams in flight: what one acknowledgement covers.
pub const WINDOW: u64 = 64;

/// Bytes that each datagram of data has beside its header and its data.
pub const fn own_bytes(flips: bool) -> usize {
    if flips { ACK + GUARD } else { ACK }
}

/// A message that isn't known to be there.
struct Kept {
    number: u64,
    length: u32,
    parts: Vec<Vec<u8>>,
    /// Its datagrams that are lost, and not resent yet.
    lost: Vec<u16>,
    /// The number of the last datagram of its first round; None until that is sent.
    sent_by: Option<u64>,
    /// Whether the partner has all of it.
    whole: bool,
}

/// A datagram under way.
struct Flight {
    datagram: u64,
    message: u64,
    place: u16,
    sent: Instant,
    /// When the wait for it began: those behind one that is resent wait as long as it does.
    since: Instant,
}

/// Messages under way of which a datagram came with wrong bits.
#[derive(Default)]
struct Flipped {
    /// It was dropped.
    detected: BTreeSet<u64>,
    /// Its checksum was right all the same.
    undetected: BTreeSet<u64>,
}

pub struct ArqEnd<S> {
    path: Path<S>,
    shape: Shape,
    coder: Option<Coder>,
    inbox: Inbox,
    /// Which messages had wrong bits on their way, where bits flip.
    flipped: Option<Flipped>,
    answers: bool,
    window: u64,
    outgoing: u64,
    kept: VecDeque<Kept>,
    flights: VecDeque<Flight>,
    /// Datagrams that were resent because no acknowledgement came in time, and when they were sent: one
    /// that comes after all tells how long it takes.
    doubted: VecDeque<(u64, Instant)>,
    used: Vec<Vec<Vec<u8>>>,
    timer: Timer,
    patience: Patience,
    /// Which of the 64 datagrams before the last one came.
    before: u64,
    /// The last that came, and how many came in all.
    last: Option<u64>,
    /// Datagrams that came and aren't acknowledged.
    owed: u64,
    /// Something is missing, or came twice: the partner should know now.
    urgent: bool,
    /// Something was received since the last message was sent.
    turn: bool,
}

impl<S: DatagramSocket> ArqEnd<S> {
    pub fn new(
        path: Path<S>,
        shape: Shape,
        coders: Option<[Coder; 2]>,
        flips: bool,
        answers: bool,
        (timer, window): (Timer, u64),
    ) -> ArqEnd<S> {
        let (coder, decoder) = coders.map_or((None, None), |[a, b]| (Some(a), Some(b)));
        ArqEnd {
            path,
            shape,
            coder,
            inbox: Inbox::new(shape, decoder),
            flipped: flips.then(Flipped::default),
            answers,
            window: window.min(WINDOW),
            outgoing: 0,
            kept: VecDeque::new(),
            flights: VecDeque::new(),
            doubted: VecDeque::new(),
            used: Vec::new(),
            timer,
            patience: Patience::of::<S>(),
            before: 0,
            last: None,
            owed: 0,
            urgent: false,
            turn: false,
        }
    }

    // ---- sending ---------------------------------------------------------------------------

    /// Cuts a message, and keeps it.
    fn keep(&mut self, message: &[u8]) {
        let (shape, total) = (self.shape, self.shape.total());
        let mut parts = self.used.pop().unwrap_or_default();
        parts.resize(shape.datagrams(message.len()), Vec::new());
        for (block, parts) in parts.chunks_mut(total).enumerate() {
            let bytes = &message[shape.block(message.len(), block)];
            match &mut self.coder {
                Some(coder) => coder.encode(bytes, parts),
                None if self.flipped.is_some() => parts[0] = flipped::guarded(bytes),
                None => {
                    parts[0].clear();
                    parts[0].extend_from_slice(bytes);
                }
            }
        }
        self.kept.push_back(Kept {
            number: self.outgoing,
            length: message.len() as u32,
            parts,
            lost: Vec::new(),
            sent_by: None,
            whole: false,
        });
        self.outgoing += 1;
    }

    fn acknowledgement(&mut self) -> [u8; ACK] {
        (self.owed, self.urgent) = (0, false);
        Ack {
            next: self.inbox.next() as u32,
            // Before the first there is none: its number minus one, of which nothing is known.
            last: self.last.map_or(u32::MAX, |number| number as u32),
            before: self.before,
            whole: self.inbox.whole_after(),
        }
        .to_bytes()
    }

    fn send_ack(&mut self, kind: DatagramKind) -> io::Result<()> {
        let ack = self.acknowledgement();
        self.path.send(Header::new(kind), &[&ack]).map(drop)
    }

    /// Sends a part of a message that is kept.
    fn launch(&mut self, message: u64, place: u16, again: bool) -> io::Result<()> {
        let ack = self.acknowledgement();
        let Some(kept) = self.kept.iter_mut().find(|datagram| datagram.number == message) else {
            return Ok(());
        };
        let part = &kept.parts[usize::from(place)];
        let length = kept.length;
        let ends = usize::from(place) + 1 == kept.parts.len();
        let message_low = message as u32;
        let header = Header {
            again,
            ends,
            place,
            message: message_low,
            length,
            ..Header::new(DatagramKind::Data)
        };
        let datagram = self.path.send(header, &[&ack, part])?;
        if !again && ends {
            kept.sent_by = Some(datagram);
        }
        if again {
            self.path.count(|counts| counts.resent_datagrams += 1);
        }
        let now = Instant::now();
        self.flights.push_back(Flight { datagram, message, place, sent: now, since: now });
        Ok(())
    }

    /// Waits for one thing to happen: a datagram, or that none came in time.
    fn step(&mut self, since: Instant) -> io::Result<()> {
        let wait = self.flights.front().map(|flight| self.timer.left(flight.since));
        match self.path.receive(wait)? {
            Some(header) => self.place(header),
            None => {
                self.patience.bear(since, self.path.received(), "no acknowledgement")?;
                self.time_out()
            }
        }
    }

    /// Retransmits the oldest: its acknowledgement covers the others.
    #[cold]
    fn time_out(&mut self) -> io::Result<()> {
        let Some(oldest) = self.flights.pop_front() else { return Ok(()) };
        self.path.count(|counts| counts.time_outs += 1);
        self.timer.back_off();
        self.doubted.push_back((oldest.datagram, oldest.sent));
        self.launch(oldest.message, oldest.place, true)?;
        let now = Instant::now();
        self.flights.iter_mut().for_each(|flight| flight.since = now);
        Ok(())
    }

    /// Sends again what is known to be lost, and needed.
    fn mend(&mut self) -> io::Result<()> {
        let coded = self.coder.is_some();
        let read = self.flights.front().map_or(self.path.sent(), |flight| flight.datagram);
        let mut needed = Vec::new();
        for kept in
            self.kept.iter_mut().filter(|datagram| !datagram.whole && !datagram.lost.is_empty())
        {
            // With a code the rest may suffice: wait until its fate is known.
            if coded && kept.sent_by.is_none_or(|last| last >= read) {
                continue;
            }
            let (data, total) = (self.shape.data(), self.shape.total());
            let is_data = |place: &u16| usize::from(*place) % total < data;
            let lost = std::mem::take(&mut kept.lost);
            let any_data = lost.iter().any(is_data);
            let wanted = lost.into_iter().filter(|number| !any_data || is_data(number));
            needed.extend(wanted.map(|place| (kept.number, place)));
        }
        for (message, place) in needed {
            self.launch(message, place, true)?;
        }
        Ok(())
    }

    // ---- receiving -------------------------------------------------------------------------

    fn place(&mut self, header: Header) -> io::Result<()> {
        let Some(ack) = Ack::parse(self.path.body()) else {
            return Err(not_ours(&header, self.path.body().len()));
        };
        let is_data = header.kind == DatagramKind::Data;
        let Some(part) = (if is_data { self.checked(&header) } else { Some(0..0) }) else {
            return Ok(()); // as if it had been lost
        };
        if matches!(header.kind, DatagramKind::Data | DatagramKind::Ack) {
            self.mark(widened(self.last.unwrap_or(0), header.number));
        }
        self.learn(&ack);
        if is_data {
            let number = self.inbox.number(&header);
            let put = self.inbox.put(&header, &self.path.body()[part]);
            match put {
                Put::Wrong => return Err(not_ours(&header, self.path.body().len())),
                Put::Late if !header.again => {} // the rest of a code's datagrams
                Put::Late | Put::Twice => {
                    self.urgent = true;
                    self.path.count(|counts| counts.duplicate_datagrams += 1);
                }
                Put::Kept => {
                    self.owed += 1;
                    self.urgent |= header.again || header.ends;
                }
                // One before it isn't there yet.
                Put::Whole => {
                    self.owed += 1;
                    self.urgent |= number != self.inbox.next();
                }
            }
        }
        self.mend()?;
        if self.urgent { self.send_ack(DatagramKind::Ack) } else { Ok(()) }
    }

    /// Where the data of a datagram lie in its body; None where their checksum is wrong.
    fn checked(&mut self, header: &Header) -> Option<Range<usize>> {
        let body = self.path.body();
        let Some(flipped) = &mut self.flipped else { return Some(ACK..body.len()) };
        let message = widened(self.inbox.next(), header.message);
        let (sent, guarded) = body[ACK..].split_first_chunk::<TRUTH>()?;
        let Some(data) = flipped::checked(guarded) else {
            flipped.detected.extend((message >= self.inbox.next()).then_some(message));
            return None;
        };
        if truth(data) != *sent {
            flipped.undetected.insert(message);
        }
        let begin = ACK + TRUTH;
        Some(begin..begin + data.len())
    }

    /// Notes that a datagram came.
    fn mark(&mut self, datagram: u64) {
        match self.last {
            None => self.last = Some(datagram),
            Some(last) if datagram > last => {
                let ahead = datagram - last;
                let shifted = |map: u64, by: u64| if by < 64 { map << by } else { 0 };
                self.before = shifted(self.before, ahead) | shifted(1, ahead - 1);
                self.last = Some(datagram);
            }
            Some(last) if last - datagram <= 64 && datagram < last => {
                self.before |= 1 << (last - datagram - 1);
            }
            Some(_) => {}
        }
    }

    /// Applies an acknowledgement.
    fn learn(&mut self, ack: &Ack) {
        let first = self.kept.front().map_or(self.outgoing, |datagram| datagram.number);
        let next = widened(first, ack.next);
        let is_whole = |number: u64| {
            number < next
                || (1..=32).contains(&(number - next)) && ack.whole >> (number - next - 1) & 1 == 1
        };
        while self.kept.front().is_some_and(|datagram| datagram.number < next) {
            self.used.extend(self.kept.pop_front().map(|kept| kept.parts));
        }
        self.kept.iter_mut().for_each(|datagram| datagram.whole |= is_whole(datagram.number));
        let last = widened(self.path.sent(), ack.last);
        let nothing = ack.last == u32::MAX && self.path.sent() < u64::from(u32::MAX);
        let (timer, kept) = (&mut self.timer, &mut self.kept);
        if !nothing {
            if let Some((_, sent)) = self.doubted.iter().find(|pair| pair.0 == last) {
                timer.took(sent.elapsed());
            }
            self.doubted.retain(|pair| pair.0 > last);
        }
        self.flights.retain(|flight| {
            if !nothing && flight.datagram == last {
                timer.took(flight.sent.elapsed());
            }
            if is_whole(flight.message) {
                timer.goes_on();
                return false;
            }
            if nothing || flight.datagram > last {
                return true;
            }
            let back = last - flight.datagram;
            let came = back == 0 || back <= 64 && ack.before >> (back - 1) & 1 == 1;
            match kept.iter_mut().find(|datagram| datagram.number == flight.message) {
                Some(kept) if !came => kept.lost.push(flight.place),
                _ => timer.goes_on(),
            }
            false
        });
    }

    fn take(&mut self, message: &mut [u8]) -> Option<io::Result<()>> {
        let (path, flipped, number) = (&mut self.path, &mut self.flipped, self.inbox.next());
        self.inbox.take(|whole| {
            path.count(|counts| {
                counts.due_messages += 1;
                counts.recovered_messages += u64::from(whole.rebuilt);
                if let Some(Flipped { detected, undetected }) = flipped {
                    let outcome = match (undetected.remove(&number), detected.remove(&number)) {
                        (true, _) => &mut counts.silently_wrong_messages,
                        (false, true) => &mut counts.corrected_messages,
                        (false, false) => &mut counts.intact_messages,
                    };
                    *outcome += 1;
                }
            });
            if whole.bytes.len() != message.len() {
                return Err(socket::wrong_length("recv", whole.bytes.len(), message.len()));
            }
            message.copy_from_slice(whole.bytes);
            Ok(())
        })
    }

    /// Takes in what is at hand, and waits for nothing; whether the awaited message is whole.
    pub fn receive_at_hand(&mut self, message: &mut [u8]) -> io::Result<bool> {
        while let Some(header) = self.path.at_hand()? {
            self.place(header)?;
        }
        self.take(message).map_or(Ok(false), |taken| taken.map(|()| true))
    }
}

impl<S: DatagramSocket> Endpoint for ArqEnd<S> {
    fn start(&mut self, deadline: &Deadline) -> io::Result<()> {
        self.patience.end_before(deadline);
        Ok(())
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.shape.check(message.len())?;
        self.path.count(|counts| {
            counts.sent_messages += 1;
            counts.payload_bytes += message.len() as u64;
        });
        let number = self.outgoing;
        self.keep(message);
        for place in 0..self.shape.datagrams(message.len()) {
            let since = Instant::now();
            while self.flights.len() as u64 >= self.window {
                self.step(since)?;
            }
            self.launch(number, place as u16, false)?;
        }
        if self.answers && std::mem::take(&mut self.turn) {
            let since = Instant::now();
            while !self.flights.is_empty() {
                match self.step(since) {
                    // It has all it wanted, and is gone; or the line lost its last word.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => break,
                    Err(_) if since.elapsed() > GIVE_UP => break,
                    done => done?,
                }
            }
        }
        Ok(())
    }

    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let since = Instant::now();
        loop {
            if let Some(taken) = self.take(message) {
                self.turn = true;
                // Its sender may wait for room for repair that isn't needed any more.
                if self.shape.datagrams(message.len()) as u64 > self.window {
                    self.send_ack(DatagramKind::Ack)?;
                }
                return taken;
            }
            if self.owed >= self.window.div_ceil(2) {
                self.send_ack(DatagramKind::Ack)?;
            }
            if self.owed > 0 {
                match self.path.at_hand()? {
                    Some(header) => {
                        self.place(header)?;
                        continue;
                    }
                    None => self.send_ack(DatagramKind::Ack)?,
                }
            }
            self.step(since)?;
        }
    }

    fn enter(&mut self, phase: Phase) -> io::Result<()> {
        self.path.set_loss_injection(phase != Phase::Untimed);
        if phase == Phase::Paused && self.owed > 0 {
            self.send_ack(DatagramKind::Ack)
        } else {
            Ok(())
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        // No loss is injected into it: it is not retransmitted.
        self.send_ack(DatagramKind::Status)?;
        // The network may lose it, and the partner would then wait for it until it gives up.
        self.path.set_loss_injection(false);
        (0..FINAL_REPEATS).try_for_each(|_| self.send_ack(DatagramKind::Status))
    }

    fn stats(&self) -> Option<Stats> {
        Some(self.path.stats())
    }
}
