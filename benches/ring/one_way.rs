//! Messages of eight bytes one way, as fast as they go: `shm-ring:wait=spin` against the queue that people would take
//! otherwise. That is the single-producer single-consumer queue of E. Rigtorp (SPSCQueue: both indices in lines of
//! their own, each side with a copy of the other's index which it reads again only when the queue looks full or
//! empty), written anew here from that description, and the crate `rtrb`, which is made in the same way.
//!
//! Two threads on two CPUs; each half has queues and threads of its own, all with room for as many messages.

use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

use mechanisms::{Endpoint, OpenSpec, Opened, Variant, Visitor, open};
use stats::compare_paired;

use crate::common::{self, in_turn, median, quick, ratio};

/// Messages of a half.
const MESSAGES: u64 = 1 << 20;
/// Halves of each queue.
const HALVES: usize = 60;
const QUICK: usize = 16;
/// The least part of its peer's messages a second that the ring may carry.
const GATE: f64 = 0.9;

/// Prints how many messages a second each queue carries; whether the gate is held.
pub fn report(cpus: (u32, u32)) -> io::Result<bool> {
    const NAMES: [&str; 3] = ["ring", "SPSCQueue", "rtrb"];
    let halves = if quick() { QUICK } else { HALVES };
    let taken = in_turn(halves, cpus, [&ring, &spsc_queue, &rtrb])?;
    println!("\n   8 B one way, millions of messages a second, and the rate of the ring over it");
    let mut met = true;
    for (at, name) in NAMES.into_iter().enumerate() {
        let rate = 1e3 / median(&taken[at]);
        // Times of the other over those of the ring are rates of the ring over those of the other.
        let found = compare_paired(&taken[at], &taken[0], 0.05);
        let holds = found.as_ref().is_some_and(|comparison| comparison.ratio.estimate >= GATE);
        let word = match name {
            "SPSCQueue" => {
                met &= holds;
                if holds { format!("ok   {GATE}") } else { format!("UNDER {GATE}") }
            }
            _ => String::new(),
        };
        let shown = if at == 0 { String::new() } else { ratio(&found) };
        println!("        {name:<10} {rate:>8.1}  {shown:<19}  {word}");
    }
    Ok(met)
}

/// Runs `write` of each message's number on one CPU and `read`, which returns it, on the other.
fn carry(
    cpus: (u32, u32),
    write: impl FnMut(u64) -> io::Result<()> + Send,
    mut read: impl FnMut() -> io::Result<u64> + Send,
) -> io::Result<f64> {
    common::carry(cpus, MESSAGES, write, |nth| {
        assert_eq!(read()?, nth, "messages come as they went");
        Ok(())
    })
}

fn spec() -> OpenSpec {
    let options = Variant::parse(super::VARIANT).expect("a variant of the table").options;
    OpenSpec { options, message_bytes: 8, same_process: true, seed: 0 }
}

/// Messages for which the ring has room, and so its peers.
struct Room;

impl Visitor for Room {
    type Output = usize;
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> usize {
        opened
            .effective_settings
            .iter()
            .find(|effective_setting| effective_setting.0 == "ring_slots")
            .expect("slots")
            .1 as usize
    }
}

fn room() -> io::Result<usize> {
    open("shm-ring", &spec(), Room).map_err(|error| io::Error::other(error.to_string()))
}

/// Through the ring.
struct Through((u32, u32));

impl Visitor for Through {
    type Output = io::Result<f64>;
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Self::Output {
        let (mut from, mut to) = (opened.initiator, opened.responder);
        let read = move || {
            let mut message = [0; 8];
            to.recv(&mut message).map(|()| u64::from_ne_bytes(message))
        };
        carry(self.0, move |nth| from.send(&nth.to_ne_bytes()), read)
    }
}

fn ring(cpus: (u32, u32)) -> io::Result<f64> {
    open("shm-ring", &spec(), Through(cpus)).map_err(|error| io::Error::other(error.to_string()))?
}

fn rtrb(cpus: (u32, u32)) -> io::Result<f64> {
    let (mut from, mut to) = rtrb::RingBuffer::new(room()?);
    let write = move |nth| {
        while from.push(nth).is_err() {
            spin_loop();
        }
        Ok(())
    };
    let read = move || {
        loop {
            if let Ok(nth) = to.pop() {
                return Ok(nth);
            }
            spin_loop();
        }
    };
    carry(cpus, write, read)
}

#[repr(align(128))]
struct Padded<T>(T);

/// What both sides of an SPSCQueue see: one slot more than there is room, which stays empty.
struct Shared {
    slots: Box<[AtomicU64]>,
    written: Padded<AtomicUsize>,
    read: Padded<AtomicUsize>,
}

impl Shared {
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }
}

fn spsc_queue(cpus: (u32, u32)) -> io::Result<f64> {
    let index = || Padded(AtomicUsize::new(0));
    let slots = (0..=room()?).map(|_| AtomicU64::new(0)).collect();
    let shared = Arc::new(Shared { slots, written: index(), read: index() });
    let there = shared.clone();
    let (mut at, mut seen) = (0, 0);
    let write = move |nth| {
        let next = there.after(at);
        while next == seen {
            seen = there.read.0.load(Acquire);
        }
        there.slots[at].store(nth, Relaxed);
        there.written.0.store(next, Release);
        at = next;
        Ok(())
    };
    let (mut at, mut seen) = (0, 0);
    let read = move || {
        while at == seen {
            seen = shared.written.0.load(Acquire);
        }
        let nth = shared.slots[at].load(Relaxed);
        at = shared.after(at);
        shared.read.0.store(at, Release);
        Ok(nth)
    };
    carry(cpus, write, read)
}
