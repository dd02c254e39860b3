//! The timed loops, compiled for one clock, endpoint and payload, behind a table of calls.
//!
//! What surrounds a loop (`exchange`) is the same for all of them and compiled once. A call through
//! the table covers a whole stretch of operations; inside it nothing is looked up any more.

use std::io;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;

use crate::clock::Clock;
use crate::mechanism::Endpoint;
use crate::workload::payload::Untouched;
use crate::workload::{Buffers, Check, Payload, latency, throughput};

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
    /// Fills `samples` with the ticks of `batch` round trips each.
    fn round_trips(&mut self, with: With, samples: &[AtomicU64], batch: u64) -> io::Result<()>;
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
    /// Says what is owed to the partner: nothing more is done over the mechanism.
    fn settle(&mut self) -> io::Result<()>;
    /// What the endpoint has counted, by name.
    fn tally(&self) -> Vec<(&'static str, u64)>;
}

/// The loops over endpoint `E`, stamped by clock `C`, with payload `P`.
pub struct Compiled<'a, C, E, P> {
    end: &'a mut E,
    payload: P,
    buffers: Buffers,
    clock: PhantomData<C>,
}

impl<'a, C, E, P> Compiled<'a, C, E, P> {
    /// The loops of the side that holds `end`.
    pub fn new(end: &'a mut E, payload: P, buffers: Buffers) -> Compiled<'a, C, E, P> {
        Compiled { end, payload, buffers, clock: PhantomData }
    }
}

impl<C: Clock, E: Endpoint, P: Payload> Loops for Compiled<'_, C, E, P> {
    fn round_trips(&mut self, with: With, samples: &[AtomicU64], batch: u64) -> io::Result<()> {
        let Compiled { end, payload, buffers, .. } = self;
        end.spare(!matches!(with, With::Asked));
        match with {
            With::Nothing => {
                latency::initiate::<C, E, Untouched>(end, &mut Untouched, buffers, samples, batch)
            }
            With::Pattern(seed) => {
                let check = &mut Check::new(seed);
                latency::initiate::<C, E, Check>(end, check, buffers, samples, batch)
            }
            With::Asked => latency::initiate::<C, E, P>(end, payload, buffers, samples, batch),
        }
    }

    fn answer(&mut self, with: With, count: u64) -> io::Result<()> {
        let Compiled { end, payload, buffers, .. } = self;
        end.spare(!matches!(with, With::Asked));
        match with {
            With::Nothing => latency::respond(*end, &mut Untouched, buffers, count),
            With::Pattern(seed) => latency::respond(*end, &mut Check::new(seed), buffers, count),
            With::Asked => latency::respond(*end, payload, buffers, count),
        }
    }

    fn transfers(&mut self, samples: &[AtomicU64], messages: u64) -> io::Result<()> {
        let Compiled { end, payload, buffers, .. } = self;
        end.spare(false);
        throughput::initiate::<C, E, P>(end, payload, buffers, samples, messages)
    }

    fn take(&mut self, messages: u64) -> io::Result<()> {
        self.end.spare(false);
        throughput::respond(self.end, &mut self.payload, &mut self.buffers, 1, messages)
    }

    fn say(&mut self, message: &[u8]) -> io::Result<()> {
        self.end.send(message)
    }

    fn hear(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.end.spare(true);
        self.end.recv(message)
    }

    fn lost(&self) -> u64 {
        self.end.lost()
    }

    fn settle(&mut self) -> io::Result<()> {
        self.end.settle(true)
    }

    fn tally(&self) -> Vec<(&'static str, u64)> {
        self.end.tally()
    }
}
