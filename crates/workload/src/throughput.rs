//! Throughput: a transfer of many messages one way, then one acknowledgement of one byte.
//!
//! Timed: from before the first send to the arrival of the acknowledgement, which the
//! responder sends when it has received the last byte: bytes are counted where they arrive.

use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::Now;

use super::{Buffers, Found, Payload, Side, Size, Timed, WorkloadSpec};
use mechanisms::Endpoint;
use model::workload::Workload;

/// What a pilot's transfer should last, in ns.
const PILOT_TRANSFER_NS: f64 = 20e6;
/// What the transfers of a launch last, in ns; the shortest of them; and that in acknowledgements, so
/// that one stays under 0.5 % of it.
const TRANSFERS_NS: f64 = 20e6;
const TRANSFER_NS: f64 = 4e6;
const TRANSFER_ACKS: f64 = 200.0;
/// So many transfers a launch has at least, that its own variation shows, unless they would last longer
/// than that, in ns.
const LEAST_TRANSFERS: f64 = 3.0;
const LONGEST_TRANSFERS_NS: f64 = 100e6;

/// What it yields where bytes are carried.
pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("throughput"),
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    operation: Operation::Message,
    messages: 1,
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
    messages: 1,
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
    clock: model::clock::ClockKind,
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

pub struct Throughput;

impl Timed for Throughput {
    const WORKLOAD: Workload = Workload::Throughput;
    const METRIC: &'static Metric = &METRIC;
    const OF_SIGNALS: &'static Metric = &OF_SIGNALS;
    const LASTS_NS: Option<f64> = Some(TRANSFERS_NS);
    /// Every transfer ends with its acknowledgement.
    const LEAD_RUNS_ON: bool = false;
    const PILOT_SINGLES: u64 = 8;

    fn new(_: WorkloadSpec) -> Throughput {
        Throughput
    }

    fn lead<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        let Side { end, payload, buffers, clock } = side;
        initiate(*end, payload, buffers, *clock, samples, batch).map(|()| None)
    }

    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()> {
        sides.iter_mut().try_for_each(|side| {
            respond(side.end, &mut side.payload, &mut side.buffers, samples, batch)
        })
    }

    fn batch(asked: u64, estimate_ns: f64, _connections: u64) -> u64 {
        let chosen = || (PILOT_TRANSFER_NS / estimate_ns).ceil().max(1.0) as u64;
        if asked == 0 { chosen() } else { asked }
    }

    /// Some transfers of many acknowledgements each. Of short ones many: one alone would be a draw of
    /// the moment.
    fn size(found: &Found) -> Size {
        let transfer_ns = TRANSFER_NS.max(TRANSFER_ACKS * found.ack_ns);
        let chosen = (transfer_ns / found.operation_ns).ceil().max(1.0) as u64;
        let batch = found.batch.unwrap_or(chosen);
        Size { batch, samples: transfers(found.operation_ns * batch as f64) }
    }
}

/// How many transfers of so many ns a launch times.
fn transfers(transfer_ns: f64) -> u64 {
    let several = LEAST_TRANSFERS * transfer_ns <= LONGEST_TRANSFERS_NS;
    let least = if several { LEAST_TRANSFERS } else { 1.0 };
    (TRANSFERS_NS / transfer_ns).floor().max(least) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_times_some_transfers_and_few_of_long_ones() {
        assert_eq!((transfers(1e6), transfers(20e6), transfers(40e6)), (20, 3, 1));
    }
}
