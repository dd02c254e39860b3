//! Throughput: a transfer of many messages one way, then one acknowledgement of one byte.
//!
//! Timed: from before the first send to the arrival of the acknowledgement, which the
//! responder sends when it has received the last byte: bytes are counted where they arrive.

use clock::Now;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Buffers, Payload};
use crate::Endpoint;

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
