//! Forward error correction: messages are sent once, with the repair data of a code, or bare (`none`). A
//! message that can't be reassembled is lost, and the next ones follow without it.
//!
//! A message counts as lost when a datagram of a later one has arrived. When nothing follows, the initiator
//! states after each deadline, fixed or learned by [`Timer`], how many messages it has sent. The responder
//! reports what it then lacks as lost, instead of answering it. A late message arrives before that
//! statement, so a slow partner does not count as a loss.

use std::io;
use std::time::{Duration, Instant};

use super::flipped::{self, TRUTH, truth};
use super::inbox::{Inbox, Put, Whole};
use super::path::Path;
use super::shape::Shape;
use super::timer::Timer;
use super::wire::{DatagramKind, Header, widened};
use super::{DatagramSocket, GIVE_UP, Patience, not_ours};
use crate::{Deadline, Endpoint, Phase, socket};
use codes::{Coder, Detected, Outcome, Recovery, Shield};
use model::mechanism::Stats;

/// After so long without any word an answer is given up: its sender may have turned to something
/// else, or the path lost all that was asked and said.
const SILENCE: Duration = Duration::from_secs(1);

/// What protects a message inside its datagram.
pub enum Guard {
    /// Only the checksum.
    Checksum,
    /// A code and the checksum.
    Shield(Box<Shield>),
}

/// Most datagrams under way: where every message must arrive, and where what is lost is counted.
#[derive(Clone, Copy)]
pub struct Windows {
    pub untimed: u64,
    pub timed: u64,
}

pub struct FecEnd<S> {
    path: Path<S>,
    shape: Shape,
    coder: Option<Coder>,
    parts: Vec<Vec<u8>>,
    guard: Option<Guard>,
    inbox: Inbox,
    /// Whether it is the responder.
    answers: bool,
    timer: Timer,
    patience: Patience,
    windows: Windows,
    /// The one that holds now.
    window: u64,
    /// Number of own datagrams that the peer has acknowledged.
    credited: u64,
    /// Number of the peer's datagrams acknowledged so far.
    acknowledged: u64,
    /// Messages sent.
    outgoing: u64,
    /// Messages that the partner says it has taken.
    taken: u64,
    /// Messages that the partner says it has sent, all of each.
    over: u64,
    /// The next message answers one that was lost: it isn't sent.
    void: bool,
    /// The last that wasn't sent.
    last_void: Option<u64>,
    /// The last that the partner didn't send.
    their_void: Option<u64>,
}

impl<S: DatagramSocket> FecEnd<S> {
    pub fn new(
        path: Path<S>,
        shape: Shape,
        coders: Option<[Coder; 2]>,
        guard: Option<Guard>,
        answers: bool,
        (timer, windows): (Timer, Windows),
    ) -> FecEnd<S> {
        let (coder, decoder) = coders.map_or((None, None), |[a, b]| (Some(a), Some(b)));
        FecEnd {
            path,
            shape,
            parts: vec![Vec::new(); shape.total()],
            coder,
            guard,
            inbox: Inbox::new(shape, decoder),
            answers,
            timer,
            patience: Patience::of::<S>(),
            windows,
            window: windows.timed,
            credited: 0,
            acknowledged: 0,
            outgoing: 0,
            taken: 0,
            over: 0,
            void: false,
            last_void: None,
            their_void: None,
        }
    }

    /// Says something that has no number of its own.
    fn say(&mut self, kind: DatagramKind) -> io::Result<()> {
        self.acknowledged = self.path.read();
        let length = self.last_void.map_or(u32::MAX, |number| number as u32);
        let message = match kind {
            DatagramKind::Credit => self.inbox.next() as u32,
            _ => self.outgoing as u32,
        };
        let header = Header { message, length, ..Header::new(kind) };
        self.path.send(header, &[]).map(drop)
    }

    fn give(&mut self, message: &[u8]) -> io::Result<()> {
        let (shape, total) = (self.shape, self.shape.total());
        shape.check(message.len())?;
        for block in 0..shape.blocks(message.len()) {
            let bytes = &message[shape.block(message.len(), block)];
            if let Some(coder) = &mut self.coder {
                coder.encode(bytes, &mut self.parts);
            }
            for nth in 0..total {
                self.await_room()?;
                if self.taken > self.outgoing {
                    return Ok(()); // the partner has all of it, and reads no more
                }
                let place = block * total + nth;
                let header = Header {
                    ends: place + 1 == shape.datagrams(message.len()),
                    place: place as u16,
                    message: self.outgoing as u32,
                    length: message.len() as u32,
                    ..Header::new(DatagramKind::Data)
                };
                let part = if self.coder.is_some() { &self.parts[nth][..] } else { bytes };
                self.path.send(header, &[part])?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn await_room(&mut self) -> io::Result<()> {
        if self.path.sent() - self.credited < self.window { Ok(()) } else { self.await_credit() }
    }

    #[cold]
    fn await_credit(&mut self) -> io::Result<()> {
        let since = Instant::now();
        while self.path.sent() - self.credited >= self.window && self.taken <= self.outgoing {
            match self.path.receive(Some(self.timer.wait()))? {
                Some(header) => {
                    self.place(header)?;
                    self.give_credit()?;
                }
                // The credit may be lost: its receiver answers this word with how far it has read.
                None => {
                    self.patience.bear(
                        since,
                        self.path.received(),
                        "no credit for what was sent",
                    )?;
                    self.say(DatagramKind::Over)?;
                }
            }
        }
        Ok(())
    }

    /// The answer hasn't come in time, after so long: it is lost if all of it went by, or if nobody
    /// says anything; else its sender is asked.
    #[cold]
    fn ask(&mut self, waited: Duration) -> io::Result<()> {
        let next = self.inbox.next();
        let went_by = self.path.ended.is_some_and(|number| widened(next, number) == next);
        let silence = if self.path.injects_losses() {
            // A long path has long silences.
            SILENCE.max(4 * self.timer.wait())
        } else {
            GIVE_UP
        };
        self.timer.back_off();
        if went_by || waited > silence {
            self.over = self.over.max(next + 1);
            return Ok(());
        }
        self.say(DatagramKind::Over)
    }

    /// Does what a datagram asks for.
    fn place(&mut self, header: Header) -> io::Result<()> {
        // Nobody has read what wasn't sent.
        let reads = |end: &mut FecEnd<S>| {
            end.credited =
                end.credited.max(widened(end.credited, header.number).min(end.path.sent()));
        };
        match header.kind {
            DatagramKind::Data => match self.inbox.put(&header, self.path.body()) {
                Put::Wrong => return Err(not_ours(&header, self.path.body().len())),
                Put::Twice => self.path.count(|counts| counts.duplicate_datagrams += 1),
                // No more of it will come.
                Put::Kept if header.ends => self.path.ended = Some(header.message),
                Put::Late | Put::Kept | Put::Whole => {}
            },
            DatagramKind::Ack => {}
            DatagramKind::Credit => {
                reads(self);
                self.taken = self.taken.max(widened(self.taken, header.message));
            }
            DatagramKind::Over => {
                reads(self);
                self.over = self.over.max(self.inbox.number(&header));
                // It learns of a loss when the message is given up here.
                if self.inbox.next() >= self.over {
                    self.say(DatagramKind::Status)?;
                }
            }
            DatagramKind::Status => {
                reads(self);
                self.over = self.over.max(self.inbox.number(&header));
                let void = widened(self.inbox.next(), header.length);
                self.their_void = (header.length != u32::MAX).then_some(void);
            }
        }
        Ok(())
    }

    /// Whether the awaited message is lost, or was never sent; then it is given up.
    fn is_over(&mut self) -> bool {
        let next = self.inbox.next();
        if !self.inbox.is_overtaken() && next >= self.over {
            return false;
        }
        // Something of it may be on its way where later ones have overtaken it: then it is late.
        self.void = self.answers && !self.inbox.is_overtaken();
        self.inbox.pass();
        if self.their_void != Some(next) {
            self.path.count(|counts| {
                counts.due_messages += 1;
                counts.lost_messages += 1;
            });
        }
        true
    }

    fn take(&mut self, message: &mut [u8]) -> Option<io::Result<()>> {
        let (guard, path) = (&self.guard, &mut self.path);
        let taken = self.inbox.take(|whole| {
            path.count(|counts| {
                counts.due_messages += 1;
                counts.recovered_messages += u64::from(whole.rebuilt);
            });
            match guard {
                None => copied(&whole, message),
                Some(guard) => {
                    examine(guard, whole.bytes, message, path);
                    Ok(())
                }
            }
        });
        if taken.is_some() {
            self.void = false;
            // The partner has read what was sent before: it speaks when it is its turn.
            self.credited = self.path.sent();
        }
        taken
    }

    /// Takes in what is at hand, and waits for nothing; whether the awaited message is whole.
    pub fn receive_at_hand(&mut self, message: &mut [u8]) -> io::Result<bool> {
        while let Some(header) = self.path.at_hand()? {
            self.place(header)?;
        }
        match self.take(message) {
            Some(taken) => taken.map(|()| true),
            None => {
                self.is_over();
                self.give_credit().map(|()| false)
            }
        }
    }

    fn give_credit(&mut self) -> io::Result<()> {
        let owed = self.path.read() - self.acknowledged;
        if owed < self.window.div_ceil(2) { Ok(()) } else { self.say(DatagramKind::Credit) }
    }
}

/// A message into which no loss was injected was lost by the path itself, and both ends must have it.
#[cold]
fn must_not_be_lost(mechanism: &str) -> io::Error {
    io::Error::other(format!(
        "{mechanism}: the path itself lost what both ends must know: choose a reliability that sends again, \
         or a path that loses less"
    ))
}

fn copied(whole: &Whole, message: &mut [u8]) -> io::Result<()> {
    if whole.bytes.len() != message.len() {
        return Err(socket::wrong_length("recv", whole.bytes.len(), message.len()));
    }
    message.copy_from_slice(whole.bytes);
    Ok(())
}

/// `message` with its checksum, and its code if it has one, behind what tells the truth about it.
fn guarded(guard: &Guard, message: &[u8]) -> Vec<u8> {
    match guard {
        Guard::Shield(shield) => [&truth(message)[..], &shield.protect(message)].concat(),
        Guard::Checksum => flipped::guarded(message),
    }
}

/// A message of so many bytes before its checksum.
fn checked(bytes: &[u8], length: usize) -> Recovery {
    match flipped::checked(bytes) {
        Some(payload) if payload.len() == length => {
            Recovery::Recovered { payload: payload.to_vec(), corrected_bits: 0 }
        }
        Some(_) => Recovery::Detected(Detected::Length),
        None => Recovery::Detected(Detected::Checksum),
    }
}

/// Takes a message out of what came, and counts what became of it. One that is known to be wrong is
/// lost.
fn examine<S: DatagramSocket>(guard: &Guard, came: &[u8], message: &mut [u8], path: &mut Path<S>) {
    let (sent, bytes) = came.split_at(TRUTH.min(came.len()));
    let recovery = match guard {
        Guard::Shield(shield) => shield.recover(bytes, message.len()),
        Guard::Checksum => checked(bytes, message.len()),
    };
    let outcome = match &recovery {
        Recovery::Recovered { payload, .. } if truth(payload) != *sent => Outcome::SilentlyWrong,
        Recovery::Recovered { corrected_bits: 0, .. } => Outcome::Intact,
        Recovery::Recovered { .. } => Outcome::Corrected,
        Recovery::Detected(_) => Outcome::Detected,
    };
    path.count(|counts| match outcome {
        Outcome::Intact => counts.intact_messages += 1,
        Outcome::Corrected => counts.corrected_messages += 1,
        Outcome::SilentlyWrong => counts.silently_wrong_messages += 1,
        Outcome::Detected => {
            counts.lost_messages += 1;
            match recovery {
                Recovery::Detected(Detected::Checksum) => counts.detected_by_checksum += 1,
                _ => counts.detected_by_code += 1,
            }
        }
    });
    if let Recovery::Recovered { payload, .. } = &recovery {
        message.copy_from_slice(payload);
    }
}

impl<S: DatagramSocket> Endpoint for FecEnd<S> {
    fn start(&mut self, deadline: &Deadline) -> io::Result<()> {
        self.patience.end_before(deadline);
        Ok(())
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        if self.void {
            self.void = false;
            self.last_void = Some(self.outgoing);
            self.outgoing += 1;
            return self.say(DatagramKind::Status);
        }
        self.acknowledged = self.path.read();
        self.path.count(|counts| {
            counts.sent_messages += 1;
            counts.payload_bytes += message.len() as u64;
        });
        match &self.guard {
            None => self.give(message)?,
            Some(guard) => {
                let guarded = guarded(guard, message);
                self.give(&guarded)?;
            }
        }
        self.outgoing += 1;
        Ok(())
    }

    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let began = (!self.answers).then(Instant::now);
        let mut since = None;
        self.timer.goes_on();
        loop {
            if let Some(taken) = self.take(message) {
                if let Some(began) = began {
                    self.timer.took(began.elapsed());
                }
                // Its sender may wait for room for repair that isn't needed any more.
                if self.shape.datagrams(message.len()) as u64 > self.window {
                    self.say(DatagramKind::Credit)?;
                }
                return taken;
            }
            if self.is_over() {
                return if self.path.injects_losses() {
                    Ok(())
                } else {
                    Err(must_not_be_lost(S::NAME))
                };
            }
            self.give_credit()?;
            match self.path.receive(began.map(|_| self.timer.wait()))? {
                Some(header) => self.place(header)?,
                None => {
                    self.path.count(|counts| counts.time_outs += 1);
                    let since: &mut Instant = since.get_or_insert_with(Instant::now);
                    self.patience.bear(*since, self.path.received(), "no answer")?;
                    self.ask(since.elapsed())?;
                }
            }
        }
    }

    fn enter(&mut self, phase: Phase) -> io::Result<()> {
        let timed = phase != Phase::Untimed;
        self.path.set_loss_injection(timed);
        self.window = if timed { self.windows.timed } else { self.windows.untimed };
        if !timed && self.windows.timed > self.windows.untimed {
            // What was dropped meanwhile is never read: nothing of it is waited for.
            self.credited = self.path.sent();
        }
        Ok(())
    }

    fn stats(&self) -> Option<Stats> {
        Some(self.path.stats())
    }
}
