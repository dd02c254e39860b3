//! Rate: an open loop. Messages are due by a schedule, whatever became of those before them.
//!
//! Timed: from when a message was due to when its answer is in (response time), by the initiator's
//! clock. One connection serves the schedule, one round trip at a time, so that queueing happens at
//! the sender: one that is late keeps the time at which the message was due and sends at once. How
//! late it began is kept beside. Not timed: the wait for the next message. Never batched. The
//! responder answers as in a latency.

use clock::Now;
use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::schedule::Schedule;
use super::{Buffers, Payload};
use crate::Endpoint;

/// What it yields.
pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("response"),
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    operation: Operation::RoundTrip,
    paced: true,
    section: Cow::Borrowed("Open loop"),
    title: Cow::Borrowed("Response time"),
    plural: Cow::Borrowed("Responses"),
    of: Cow::Borrowed(" to {}"),
    axis: Cow::Borrowed("response time"),
    qualifier: Cow::Borrowed("open loop"),
    definition: Cow::Borrowed(
        "A response time is from when a message was due, by a fixed rate, to its answer.",
    ),
};

/// The initiator's side: fills `samples` with the ticks of one response each, and `lateness` with
/// those between when each message was due and when it was begun.
#[inline(never)]
pub fn initiate<E: Endpoint, P: Payload>(
    end: &mut E,
    payload: &mut P,
    buffers: &mut Buffers,
    clock: model::clock::Kind,
    schedule: &mut Schedule,
    (samples, lateness): (&[AtomicU64], &mut [u64]),
) -> io::Result<()> {
    let (out, into) = buffers.split();
    for (sample, late) in samples.iter().zip(lateness) {
        let due = schedule.next_due();
        if clock.now() < due {
            end.flush(false)?; // pending acknowledgements cost nothing while it waits
            schedule.wait_until(due);
        }
        *late = clock.now().saturating_sub(due);
        end.send_with(out, |message| payload.fill(message))?;
        end.recv_with(into, |message| payload.look(message))?;
        sample.store(clock.now().saturating_sub(due), Ordering::Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
