//! Latency: round trips, one at a time, all stamped by the initiator's clock.
//!
//! Timed: send, the partner's receive and send, receive. One stamp closes a sample and opens
//! the next, so that samples add up to the whole and each holds exactly one clock read. Where
//! a round trip is too short for the clock, a sample holds a batch of them.

use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::Now;

use super::{Buffers, Found, Payload, Side, Size, Timed, WorkloadSpec};
use mechanisms::Endpoint;
use model::workload::Workload;

pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("latency"),
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    operation: Operation::RoundTrip,
    messages: 2,
    paced: false,
    section: Cow::Borrowed("Latency"),
    title: Cow::Borrowed("Round trip"),
    plural: Cow::Borrowed("Round trips"),
    of: Cow::Borrowed(" of {}"),
    axis: Cow::Borrowed("round trip"),
    qualifier: Cow::Borrowed(""),
    definition: Cow::Borrowed(
        "A latency is a whole round trip on one clock, one message at a time.",
    ),
};

/// The initiator's side: fills `samples` with the ticks of `batch` round trips each, and gives the stamp
/// that closed the last.
#[inline(never)]
pub fn initiate<E: Endpoint, P: Payload>(
    end: &mut E,
    payload: &mut P,
    buffers: &mut Buffers,
    clock: model::clock::ClockKind,
    samples: &[AtomicU64],
    batch: u64,
) -> io::Result<u64> {
    let (out, into) = buffers.split();
    let mut opened = clock.now();
    for sample in samples {
        for _ in 0..batch {
            end.send_with(out, |message| payload.fill(message))?;
            end.recv_with(into, |message| payload.look(message))?;
        }
        let closed = clock.now();
        sample.store(closed - opened, Ordering::Relaxed);
        opened = closed;
    }
    Ok(opened)
}

/// The responder's side: answers `count` messages.
#[inline(never)]
pub fn respond<E: Endpoint, P: Payload>(
    end: &mut E,
    payload: &mut P,
    buffers: &mut Buffers,
    count: u64,
) -> io::Result<()> {
    let (out, into) = buffers.split();
    for _ in 0..count {
        end.recv_with(into, |message| payload.look(message))?;
        end.send_with(out, |message| payload.fill(message))?;
    }
    Ok(())
}

pub struct Latency;

impl Timed for Latency {
    const WORKLOAD: Workload = Workload::Latency;
    const METRIC: &'static Metric = &METRIC;

    fn new(_: WorkloadSpec) -> Latency {
        Latency
    }

    fn lead<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        let Side { end, payload, buffers, clock } = side;
        initiate(*end, payload, buffers, *clock, samples, batch).map(Some)
    }

    /// Of several initiators each is answered in turn.
    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()> {
        let answer = |side: &mut Side<'_, E, P>, count| {
            respond(side.end, &mut side.payload, &mut side.buffers, count)
        };
        match sides {
            [one] => answer(one, samples * batch),
            all => (0..samples * batch)
                .try_for_each(|_| all.iter_mut().try_for_each(|side| answer(side, 1))),
        }
    }

    fn size(found: &Found) -> Size {
        Size::resolved(found, found.unbatched)
    }
}
