//! What a server works over each request of an open loop: it spins for so long before it answers.
//!
//! Timed by its own clock, from when the request was received; the draw is inside. A server that loses its CPU
//! meanwhile works on by the clock, as one whose work takes so long in the end: what it took is kept beside.

use std::io;

use super::{Buffers, Payload};
use mechanisms::Endpoint;
use model::clock::ClockKind;
use model::launch::Worked;
use model::load::Service;
use sys::clock::Now;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The stream of the launch's seed from which service times are drawn: arrivals are of the first.
const STREAM: u64 = 1;
/// That of a server whose connections have a thread each: of the first of them; clients are drawn from the third.
const STREAM_OF_CONNECTIONS: u64 = 3;

fn stream_of(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// The work of a server over the requests of a launch.
#[derive(Debug)]
pub struct Work {
    clock: ClockKind,
    service: Service,
    ns_per_tick: f64,
    seed: u64,
    rng: ChaCha8Rng,
    requests: u64,
    asked: u64,
    took: u64,
}

impl Work {
    /// That of a server whose `clock` ticks every `ns_per_tick`; None where it has none.
    pub fn new(service: Service, clock: ClockKind, ns_per_tick: f64, seed: u64) -> Option<Work> {
        let rng = stream_of(seed, STREAM);
        let work = Work { clock, service, ns_per_tick, seed, rng, requests: 0, asked: 0, took: 0 };
        (service != Service::None).then_some(work)
    }

    /// The work of a server's thread over connection `nth`, with draws of its own.
    pub fn of_connection(&self, nth: u64) -> Work {
        let rng = stream_of(self.seed, STREAM_OF_CONNECTIONS + nth);
        Work { rng, requests: 0, asked: 0, took: 0, ..*self }
    }

    /// What it takes over the next request, in ticks.
    pub fn draw(&mut self) -> u64 {
        let ns = match self.service {
            Service::None => 0.0,
            Service::Fixed(ns) => ns as f64,
            // 1 - u is in (0, 1], whose logarithm is a number.
            Service::Exponential(mean) => -(1.0 - self.rng.random::<f64>()).ln() * mean as f64,
        };
        (ns / self.ns_per_tick).round() as u64
    }

    /// Works over the next request.
    #[inline]
    pub fn spin(&mut self) {
        let began = self.clock.now();
        let asked = self.draw();
        let took = loop {
            let took = self.clock.now().saturating_sub(began);
            if took >= asked {
                break took;
            }
            std::hint::spin_loop();
        };
        self.requests += 1;
        self.asked += asked;
        self.took += took;
    }

    /// What was asked of some and what they took, in the mean of all requests so far; None before the first.
    pub fn worked<'a>(works: impl IntoIterator<Item = &'a Work>) -> Option<Worked> {
        let (mut requests, mut asked_ns, mut took_ns) = (0, 0.0, 0.0);
        for work in works {
            requests += work.requests;
            asked_ns += work.asked as f64 * work.ns_per_tick;
            took_ns += work.took as f64 * work.ns_per_tick;
        }
        let mean = |ns: f64| ns / requests as f64;
        (requests > 0).then(|| Worked { asked_ns: mean(asked_ns), took_ns: mean(took_ns) })
    }
}

/// The responder's side, where it has work over each request: answers `count` messages.
#[inline(never)]
pub fn serve<E: Endpoint, P: Payload>(
    end: &mut E,
    payload: &mut P,
    buffers: &mut Buffers,
    work: &mut Work,
    count: u64,
) -> io::Result<()> {
    let (out, into) = buffers.split();
    for _ in 0..count {
        end.recv_with(into, |message| payload.look(message))?;
        work.spin();
        end.send_with(out, |message| payload.fill(message))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
