//! No wake-up is lost: whatever sleeps on a futex, driven through every order of "about to
//! sleep" and "about to wake" that random pauses can bring about. One lost wake-up hangs both
//! sides for ever, so a watchdog turns it into a failure: once nothing has moved for half a minute,
//! however long a busy machine takes for all of it.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::common::ends::{End, HANG, Pair, await_moving, try_open};
use crate::common::rooms::alone;
use crate::common::{Rng, contents};
use crate::long_form::many;
use mechanisms::{Deadline, Variant};
use model::mechanism::Carries;

/// Where most messages meet a partner that is awake; and in the long form.
const MESSAGES: (u64, u64) = (15_000, 150_000);
/// Where a side sleeps for nearly every message: as many sleeps as above.
const RENDEZVOUS: (u64, u64) = (3_000, 30_000);
const BYTES: usize = 8;

/// A pause of nothing at all, of some instructions, or of a turn for somebody else.
fn pause(rng: &mut Rng) {
    match rng.below(64) {
        0 => thread::yield_now(),
        1..16 => (0..rng.below(400)).for_each(|_| spin_loop()),
        _ => {}
    }
}

/// What both sides of a conversation agree on.
#[derive(Clone)]
struct Talk {
    /// Messages each way, at least.
    messages: u64,
    checked: bool,
    seed: u64,
    /// Messages that the initiator has sent or received by now.
    moved: Arc<AtomicU64>,
}

/// Bursts one way and then the other, until enough messages have gone each way. Mostly short
/// bursts, so that a side falls asleep often; some that fill a ring, so that senders sleep too.
fn converse(end: &mut End, initiates: bool, talk: &Talk) {
    let (mut agreed, mut own) = (Rng(talk.seed), Rng(talk.seed ^ u64::from(initiates) << 32));
    let (mut gone, mut into) = ([0; 2], [0; BYTES]);
    while gone.iter().any(|gone| *gone < talk.messages) {
        for direction in [0, 1] {
            let most = if agreed.below(16) == 0 { 40 } else { 8 };
            for _ in 0..=agreed.below(most) {
                pause(&mut own);
                if (direction == 0) == initiates {
                    end.send(contents(direction, gone[direction as usize], BYTES)).expect("send");
                } else {
                    end.recv(&mut into).expect("recv");
                    let right = contents(direction, gone[direction as usize], BYTES);
                    assert!(!talk.checked || into == right, "{gone:?}: not what was sent");
                }
                gone[direction as usize] += 1;
                if initiates {
                    talk.moved.store(gone.iter().sum(), Ordering::Relaxed);
                }
            }
        }
    }
}

/// `room` decides how many slots a ring has: a large one leaves two, which senders fill.
fn stress(text: &str, room: usize, same_process: bool, messages: (u64, u64)) {
    let _alone = alone();
    let variant = Variant::parse(text).expect("a variant");
    let checked = variant.traits().carries == Carries::Bytes;
    let messages = many(messages.0, messages.1);
    let talk = Talk { messages, checked, seed: room as u64, moved: Arc::default() };
    let Pair { initiator, responder, .. } =
        try_open(&variant, room, same_process).expect("shared memory is always to be had");
    let side = |mut end: End, initiates| {
        let talk = talk.clone();
        thread::spawn(move || {
            end.start(&Deadline::default()).expect("start");
            converse(&mut end, initiates, &talk);
            end
        })
    };
    let what = format!("{text}, slots for {room} bytes, private futexes: {same_process}");
    let sides = vec![side(initiator, true), side(responder, false)];
    await_moving(&what, HANG, || talk.moved.load(Ordering::Relaxed), sides);
}

#[test]
#[ignore = "long form"]
fn a_ring_of_many_slots_loses_no_wake_up() {
    stress("shm-ring:wait=futex", 64, true, MESSAGES);
}

#[test]
fn a_ring_of_two_slots_loses_no_wake_up() {
    stress("shm-ring:wait=futex", 256 << 10, false, RENDEZVOUS);
}

#[test]
fn a_ring_on_eventfds_loses_no_wake_up() {
    stress("shm-ring:wait=eventfd", 256 << 10, false, RENDEZVOUS);
}

#[test]
#[ignore = "long form"]
fn a_futex_slept_on_through_io_uring_loses_no_wake_up() {
    stress("io-uring:op=futex", 1, false, MESSAGES);
}

#[test]
fn a_window_into_another_process_loses_no_wake_up() {
    stress("process-vm", 64, true, RENDEZVOUS);
    stress("process-vm:call=writev", 64, true, RENDEZVOUS);
}

#[test]
fn a_private_futex_loses_no_wake_up() {
    stress("futex", 1, true, MESSAGES);
}

#[test]
fn a_shared_futex_loses_no_wake_up() {
    stress("futex", 1, false, MESSAGES);
}
