//! Throughput: a transfer of many messages one way, then one acknowledgement of one byte.
//!
//! Timed: from before the first send to the arrival of the acknowledgement, which the
//! responder sends when it has received the last byte: bytes are counted where they arrive.

use clock::Now;
use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Buffers, Payload};
use crate::Endpoint;

/// What it yields where bytes are carried.
pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("throughput"),
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    operation: Operation::Message,
    paced: false,
    section: Cow::Borrowed("Throughput"),
    title: Cow::Borrowed("Throughput"),
    plural: Cow::Borrowed("Transfers"),
    of: Cow::Borrowed(" of {} messages"),
    axis: Cow::Borrowed("throughput"),
    qualifier: Cow::Borrowed("throughput"),
    definition: Cow::Borrowed(
        "A throughput is the bytes counted at the receiver over the time from before the first send to the acknowledgement of the last byte.",
    ),
};

/// What it yields where only wake-ups are.
pub static OF_SIGNALS: Metric = Metric {
    name: Cow::Borrowed("wakeups"),
    unit: Unit::PerSecond,
    better: Better::Higher,
    operation: Operation::Message,
    paced: false,
    section: Cow::Borrowed("Throughput"),
    title: Cow::Borrowed("Wake-ups one way"),
    plural: Cow::Borrowed("Wake-ups one way"),
    of: Cow::Borrowed(""),
    axis: Cow::Borrowed("wake-ups"),
    qualifier: Cow::Borrowed("throughput"),
    definition: Cow::Borrowed(
        "Wake-ups are counted where they arrive, over the time to the acknowledgement of the last.",
    ),
};

/// The initiator's side: fills `samples` with the ticks of one transfer each, of `messages`.
#[inline(never)]
pub fn initiate<E: Endpoint, P: Payload>(
    end: &mut E,
    payload: &mut P,
    buffers: &mut Buffers,
    clock: model::clock::Kind,
    samples: &[AtomicU64],
    messages: u64,
) -> io::Result<()> {
    let (out, _) = buffers.split();
    for sample in samples {
        let opened = clock.now();
        for _ in 0..messages {
            end.send_with(out, |message| payload.fill(message))?;
        }
        end.recv(&mut [0])?;
        sample.store(clock.now() - opened, Ordering::Relaxed);
    }
    Ok(())
}

/// The responder's side: takes `transfers` of `messages` each, and acknowledges each.
#[inline(never)]
pub fn respond<E: Endpoint, P: Payload>(
    end: &mut E,
    payload: &mut P,
    buffers: &mut Buffers,
    transfers: u64,
    messages: u64,
) -> io::Result<()> {
    let (_, into) = buffers.split();
    for _ in 0..transfers {
        for _ in 0..messages {
            end.recv_with(into, |message| payload.look(message))?;
        }
        end.send(&[0xAC])?;
    }
    Ok(())
}
