//! The timed loops, compiled for one endpoint and payload, behind a table of calls.
//!
//! What surrounds a loop (`protocol`) is the same for all of them and compiled once. A call through
//! the table covers a whole stretch of operations; inside it nothing is looked up any more.

use std::io;
use std::sync::atomic::AtomicU64;

use mechanisms::Endpoint;
use mechanisms::workload::payload::{Touched, Untouched};
use mechanisms::workload::schedule::Schedule;
use mechanisms::workload::{Buffers, Check, Payload, latency, rate, throughput};
use model::mechanism::Datagrams;

/// Which payload goes with the messages of a stretch.
#[derive(Clone, Copy)]
pub enum With {
    /// None: the first message.
    Nothing,
    /// A pattern that is looked at: the check before timing. Holds the pattern's seed.
    Pattern(u64),
    /// What was asked for.
    Asked,
}

/// One side's loops; see [`latency`] and [`throughput`].
pub trait Loops {
    /// Fills `samples` with the ticks of `batch` round trips each, and gives the stamp that closed the
    /// last.
    fn round_trips(&mut self, with: With, samples: &[AtomicU64], batch: u64) -> io::Result<u64>;
    /// Fills `samples` with the ticks of one response each, and `lateness` with those by which each
    /// message was begun too late.
    fn responses(
        &mut self,
        schedule: &mut Schedule,
        samples: &[AtomicU64],
        lateness: &mut [u64],
    ) -> io::Result<()>;
    /// Answers `count` messages.
    fn answer(&mut self, with: With, count: u64) -> io::Result<()>;
    /// Fills `samples` with the ticks of one transfer each, of `messages`.
    fn transfers(&mut self, samples: &[AtomicU64], messages: u64) -> io::Result<()>;
    /// Takes a transfer of `messages`, and acknowledges it.
    fn take(&mut self, messages: u64) -> io::Result<()>;
    /// Sends a message that nobody times.
    fn say(&mut self, message: &[u8]) -> io::Result<()>;
    /// Receives one.
    fn hear(&mut self, message: &mut [u8]) -> io::Result<()>;
    /// Messages known to be lost on the way here.
    fn lost(&self) -> u64;
    /// What became of the datagrams on their way here; None where there are none.
    fn datagrams(&self) -> Option<Datagrams>;
    /// Sends the final acknowledgement: nothing more is sent over the mechanism.
    fn flush(&mut self) -> io::Result<()>;
    /// What the endpoint has counted, by name.
    fn tally(&self) -> Vec<(&'static str, u64)>;
}

/// The loops over endpoint `E`, with payload `P`.
pub struct Compiled<'a, E, P> {
    end: &'a mut E,
    payload: P,
    buffers: Buffers,
    clock: model::clock::Kind,
}

impl<'a, E, P> Compiled<'a, E, P> {
    /// The loops of the side that holds `end`, stamped by `clock`.
    pub fn new(
        end: &'a mut E,
        payload: P,
        buffers: Buffers,
        clock: model::clock::Kind,
    ) -> Compiled<'a, E, P> {
        Compiled { end, payload, buffers, clock }
    }
}

impl<E: Endpoint, P: Payload> Loops for Compiled<'_, E, P> {
    fn round_trips(&mut self, with: With, samples: &[AtomicU64], batch: u64) -> io::Result<u64> {
        let Compiled { end, payload, buffers, clock } = self;
        end.set_loss_injection(matches!(with, With::Asked));
        match with {
            With::Nothing => {
                latency::initiate(*end, &mut Untouched, buffers, *clock, samples, batch)
            }
            With::Pattern(seed) => {
                let check = &mut Touched::Check(Check::new(seed));
                latency::initiate(*end, check, buffers, *clock, samples, batch)
            }
            With::Asked => latency::initiate(*end, payload, buffers, *clock, samples, batch),
        }
    }

    fn answer(&mut self, with: With, count: u64) -> io::Result<()> {
        let Compiled { end, payload, buffers, .. } = self;
        end.set_loss_injection(matches!(with, With::Asked));
        match with {
            With::Nothing => latency::respond(*end, &mut Untouched, buffers, count),
            With::Pattern(seed) => {
                latency::respond(*end, &mut Touched::Check(Check::new(seed)), buffers, count)
            }
            With::Asked => latency::respond(*end, payload, buffers, count),
        }
    }

    fn responses(
        &mut self,
        schedule: &mut Schedule,
        samples: &[AtomicU64],
        lateness: &mut [u64],
    ) -> io::Result<()> {
        let Compiled { end, payload, buffers, clock } = self;
        end.set_loss_injection(true);
        rate::initiate(*end, payload, buffers, *clock, schedule, (samples, lateness))
    }

    fn transfers(&mut self, samples: &[AtomicU64], messages: u64) -> io::Result<()> {
        let Compiled { end, payload, buffers, clock } = self;
        end.set_loss_injection(true);
        throughput::initiate(*end, payload, buffers, *clock, samples, messages)
    }

    fn take(&mut self, messages: u64) -> io::Result<()> {
        self.end.set_loss_injection(true);
        throughput::respond(self.end, &mut self.payload, &mut self.buffers, 1, messages)
    }

    fn say(&mut self, message: &[u8]) -> io::Result<()> {
        self.end.set_loss_injection(false);
        self.end.send(message)
    }

    fn hear(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.end.set_loss_injection(false);
        self.end.recv(message)
    }

    fn lost(&self) -> u64 {
        self.end.lost()
    }

    fn datagrams(&self) -> Option<Datagrams> {
        self.end.datagrams()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end.flush(true)
    }

    fn tally(&self) -> Vec<(&'static str, u64)> {
        self.end.tally()
    }
}
