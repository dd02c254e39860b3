//! What can be asked without waiting, checked against every variant that is shown, both ends in one thread:
//! what it says of an empty and a full mechanism, order, contents, messages that go in parts.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};

use super::*;
use crate::network::readable;
use crate::{Carries, Framing, MECHANISMS, OpenError, OpenSpec, Variant, open_nonblocking};

/// How long an event may take before it counts as one that never comes.
const HANG: Duration = Duration::from_secs(30);

fn spec(variant: &Variant, message_bytes: usize) -> OpenSpec {
    OpenSpec { options: variant.options.clone(), message_bytes, same_process: true, seed: 1 }
}

/// Every shown variant of a mechanism that can be asked without waiting, by name.
fn variants() -> Vec<Variant> {
    const NAMES: [&str; 10] = [
        "pipe",
        "fifo",
        "pty",
        "unix-stream",
        "unix-seqpacket",
        "unix-dgram",
        "tcp",
        "udp",
        "eventfd",
        "shm-ring",
    ];
    let mut variants: Vec<Variant> = Variant::shown()
        .into_iter()
        .filter(|variant| NAMES.contains(&variant.entry.name))
        .collect();
    variants.extend(
        ["pipe:mode=packet", "unix-stream:bind=path", "udp:datagram=64", "udp:buffer=16K"]
            .map(|text| Variant::parse(text).expect("a variant")),
    );
    assert!(NAMES.iter().all(|name| variants.iter().any(|variant| variant.entry.name == *name)));
    variants
}

/// A message that no other has.
fn contents(number: u64, bytes: usize) -> Vec<u8> {
    let word = |at: usize| (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (at * 7 % 57);
    (0..bytes).map(|at| word(at) as u8 ^ at as u8).collect()
}

/// Whether what is waited for is the case now.
fn is_now(awaited: PollFd<'_>) -> bool {
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [awaited], Some(&none)).expect("poll") == 1
}

/// Waits until something is there, by the descriptor where there is one.
fn await_ready(end: &dyn Nonblocking, what: &str) {
    let Some(fd) = end.ready() else { return };
    let found = readable([fd], Some(Instant::now() + HANG)).expect("poll");
    assert_eq!(found, Some(0), "{what}: sent, and its descriptor doesn't become readable");
}

/// Asks until all of it is there.
fn recv(end: &mut dyn Nonblocking, message: &mut [u8], what: &str) {
    let until = Instant::now() + HANG;
    while end.try_recv(message).expect("try_recv") == Received::WouldBlock {
        assert!(Instant::now() < until, "{what}: it never comes");
        await_ready(end, what);
    }
}

/// Sends and receives one message, in parts where it has to be.
fn pass(
    near: &mut dyn Nonblocking,
    far: &mut dyn Nonblocking,
    message: &[u8],
    into: &mut [u8],
    what: &str,
) {
    let until = Instant::now() + HANG;
    let (mut sent, mut received) = (Sent::WouldBlock, Received::WouldBlock);
    while received == Received::WouldBlock {
        if sent == Sent::WouldBlock {
            sent = near.try_send(message).unwrap();
        }
        received = far.try_recv(into).unwrap();
        assert!(Instant::now() < until, "{what}: never whole");
    }
    assert_eq!(sent, Sent::Whole, "{what}: received before all of it was sent");
}

/// One variant, at one size.
struct Case<'a> {
    what: String,
    variant: &'a Variant,
    bytes: usize,
}

/// Many messages, and so many of them that none fits any more.
fn fill(case: Case<'_>, near: &mut dyn Nonblocking, far: &mut dyn Nonblocking) {
    let Case { what, variant, bytes } = case;
    let carries = variant.traits().carries == Carries::Bytes;
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    let mut into = vec![0; bytes];
    assert_eq!(far.try_recv(&mut into).unwrap(), Received::WouldBlock, "{what}: empty");
    assert!(
        !far.ready().is_some_and(|fd| is_now(PollFd::from_borrowed_fd(fd, PollFlags::IN))),
        "{what}: readable while empty"
    );

    let most = if carries { 1 << 20 } else { 1_000 };
    let full =
        (0..most).find(|nth| near.try_send(&contents(*nth, bytes)).unwrap() == Sent::WouldBlock);
    let sent = if carries { full.expect("it takes no end of messages") } else { most };
    assert!(sent > 0, "{what}: full from the beginning");
    await_ready(far, &what);

    let check = |into: &[u8], nth: u64| {
        assert!(!carries || *into == contents(nth, bytes), "{what}: message {nth}");
    };
    for nth in 0..sent {
        recv(far, &mut into, &what);
        check(&into, nth);
    }
    let until = Instant::now() + HANG;
    while !near.room().is_none_or(is_now) {
        assert!(Instant::now() < until, "{what}: emptied, and no room");
        std::thread::yield_now();
    }
    if carries {
        // The one that didn't go, perhaps in part: it is finished, and others follow.
        for nth in sent..sent + 10 {
            pass(near, far, &contents(nth, bytes), &mut into, &what);
            check(&into, nth);
        }
    }
    assert_eq!(far.try_recv(&mut into).unwrap(), Received::WouldBlock, "{what}: emptied");
}

/// Messages until one goes in part, however much the buffers of this machine hold: it comes in parts, too.
fn pass_in_parts(case: Case<'_>, near: &mut dyn Nonblocking, far: &mut dyn Nonblocking) {
    let Case { what, bytes, .. } = case;
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    // Of several lengths: one of them doesn't end where the room does.
    let message = |nth: u64| contents(nth, bytes - (nth as usize % 7) * (bytes / 50));
    let mut under_way = VecDeque::new();
    let mut nth = 0;
    let mut into = vec![0; bytes];
    let mut recv_next = |far: &mut dyn Nonblocking, expected: Vec<u8>| {
        let into = &mut into[..expected.len()];
        recv(far, into, &what);
        assert!(*into == expected, "{what}: {} bytes aren't what was sent", into.len());
    };
    let begun = loop {
        assert!(nth < 100_000, "{what}: it takes no end of messages, and none in part");
        let next = message(nth);
        if near.try_send(&next).unwrap() == Sent::Whole {
            under_way.push_back(next);
            nth += 1;
            continue;
        }
        // A shorter message in the middle of one is no continuation.
        match near.try_send(&[0]) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => break next,
            Err(error) => panic!("{what}: {error}"),
            Ok(Sent::Whole) => under_way.push_back(vec![0]),
            Ok(Sent::WouldBlock) => {}
        }
        // Nothing of it went: another length will end elsewhere.
        recv_next(far, under_way.pop_front().expect("it takes nothing at all"));
        nth += 1;
    };
    for expected in under_way {
        recv_next(far, expected);
    }
    await_ready(far, &what);
    let mut part = vec![0; begun.len()];
    assert_eq!(far.try_recv(&mut part).unwrap(), Received::WouldBlock, "{what}: a part only");
    pass(near, far, &begun, &mut part, &what);
    assert!(part == begun, "{what}: the message in parts isn't what was sent");
    let after = contents(9, 1);
    pass(near, far, &after, &mut part[..1], &what);
    assert_eq!(part[..1], after, "{what}: behind it");
}

/// One end asks without waiting, the other waits.
fn pass_one_sided(case: Case<'_>, near: &mut dyn Nonblocking, far: &mut dyn Nonblocking) {
    let Case { what, variant, bytes } = case;
    let carries = variant.traits().carries == Carries::Bytes;
    let nonblocking = |end: &dyn Nonblocking| {
        let room = end.room();
        [end.ready(), room.as_ref().map(|room| room.as_fd())]
            .into_iter()
            .flatten()
            .any(|fd| fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK))
    };
    assert!(!nonblocking(near) && !nonblocking(far), "{what}: not as what is timed has it");
    far.set_nonblocking(true).unwrap();
    assert!(!nonblocking(near), "{what}: its partner has to wait as ever");
    let message = contents(0, bytes);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut into = vec![0; bytes];
            near.recv(&mut into).expect("it waits");
            assert!(!carries || into == contents(0, bytes), "{what}");
            near.send(&into).expect("send");
        });
        assert_eq!(far.try_send(&message).unwrap(), Sent::Whole, "{what}");
        let mut into = vec![0; bytes];
        recv(far, &mut into, &what);
        assert!(!carries || into == message, "{what}");
        waiting.join().unwrap();
    });
    far.set_nonblocking(false).unwrap();
    assert!(!nonblocking(far), "{what}: switched off again");
    near.send(&message).unwrap();
    far.recv(&mut vec![0; bytes]).unwrap();
}

/// One end asks without waiting and has some messages under way, the other waits, and answers each: for longer
/// than any window lasts.
fn pass_one_sided_for_long(case: Case<'_>, near: &mut dyn Nonblocking, far: &mut dyn Nonblocking) {
    const MESSAGES: u64 = 1_000;
    let Case { what, variant, bytes } = case;
    let carries = variant.traits().carries == Carries::Bytes;
    // As a launch does before it begins: the partner takes turns with one that does, too.
    let mut into = vec![0; bytes];
    near.send(&contents(0, bytes)).unwrap();
    far.recv(&mut into).unwrap();
    far.send(&into).unwrap();
    near.recv(&mut into).unwrap();
    near.set_nonblocking(true).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut into = vec![0; bytes];
            for _ in 0..2 * MESSAGES {
                far.recv(&mut into).expect("it waits");
                far.send(&into).expect("the answer");
            }
        });
        for under_way in [1, 30] {
            let (mut sent, mut received) = (0, 0);
            let until = Instant::now() + HANG;
            while received < MESSAGES {
                while sent < MESSAGES.min(received + under_way)
                    && near.try_send(&contents(sent, bytes)).unwrap() == Sent::Whole
                {
                    sent += 1;
                }
                if near.try_recv(&mut into).unwrap() == Received::WouldBlock {
                    assert!(Instant::now() < until, "{what}: sent {sent}, received {received}");
                    std::thread::yield_now();
                    continue;
                }
                assert!(!carries || into == contents(received, bytes), "{what}: {received}");
                received += 1;
            }
        }
    });
    // Both wait again.
    near.set_nonblocking(false).unwrap();
    near.send(&contents(7, bytes)).unwrap();
    far.recv(&mut into).unwrap();
    assert!(!carries || into == contents(7, bytes), "{what}");
    for end in [&*near, &*far] {
        assert_eq!(end.stats().map_or(0, |stats| stats.lost), 0, "{what}");
    }
}

/// Both ends send as much as goes; a while one receives some of it, a while the other: messages cross.
fn cross(case: Case<'_>, near: &mut dyn Nonblocking, far: &mut dyn Nonblocking) {
    const MESSAGES: u64 = 400;
    let Case { what, variant, bytes } = case;
    let carries = variant.traits().carries == Carries::Bytes;
    let mut ends: [&mut dyn Nonblocking; 2] = [&mut *near, &mut *far];
    for end in &mut ends {
        end.set_nonblocking(true).unwrap();
    }
    let mut into = [vec![0; bytes], vec![0; bytes]];
    let (mut sent, mut received) = ([0; 2], [0; 2]);
    let until = Instant::now() + HANG;
    for round in 0.. {
        for end in 0..2 {
            while sent[end] < MESSAGES
                && ends[end].try_send(&contents(sent[end], bytes)).unwrap() == Sent::Whole
            {
                sent[end] += 1;
            }
            let turn = (round / 5) % 2 == end as u64;
            for _ in 0..if turn { 1 + round % 7 } else { 0 } {
                if received[end] == MESSAGES
                    || ends[end].try_recv(&mut into[end]).unwrap() == Received::WouldBlock
                {
                    break;
                }
                let expected = contents(received[end], bytes);
                assert!(!carries || into[end] == expected, "{what}: {}", received[end]);
                received[end] += 1;
            }
        }
        if received == [MESSAGES; 2] {
            break;
        }
        assert!(Instant::now() < until, "{what}: sent {sent:?}, received {received:?}");
    }
    assert_eq!(sent, received, "{what}");
    for end in ends {
        assert_eq!(end.stats().map_or(0, |stats| stats.lost), 0, "{what}");
    }
}

type Tried = fn(Case<'_>, &mut dyn Nonblocking, &mut dyn Nonblocking);

/// Tries a case with both ends.
struct Try<'a>(Case<'a>, Tried);

impl Visitor for Try<'_> {
    type Output = ();

    fn visit<E: Endpoint + 'static>(self, mut opened: Opened<E>) {
        let near = opened.initiator.as_nonblocking().expect("it is open for that");
        let far = opened.responder.as_nonblocking().expect("it is open for that");
        (self.1)(self.0, near, far);
    }
}

fn each(variants: &[Variant], sizes: &[usize], tried: Tried) {
    for (variant, bytes) in
        variants.iter().flat_map(|variant| sizes.iter().map(move |bytes| (variant, *bytes)))
    {
        let what = format!("{variant}, {bytes} bytes");
        let case = Case { what: what.clone(), variant, bytes };
        match open_nonblocking(variant.entry.name, &spec(variant, bytes), Try(case, tried)) {
            Ok(()) => {}
            Err(OpenError::Unavailable(why)) => eprintln!("skipped {what}: {}", why.reason),
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

#[test]
fn an_empty_one_and_a_full_one_say_so_and_nothing_is_lost_between() {
    each(&variants(), &[8, 1_000, 4_096], fill);
}

#[test]
fn a_message_that_goes_in_parts_is_finished_by_the_next_calls() {
    let streams: Vec<Variant> = variants()
        .into_iter()
        .filter(|variant| variant.traits().framing == Framing::Stream)
        .collect();
    assert!(streams.len() >= 5);
    each(&streams, &[100_000], pass_in_parts);
    // Datagrams that are fragments of a message, cut and joined by the kernel or not.
    let fragments =
        ["udp", "udp:datagram=1472", "udp:datagram=1472,gso=on", "udp:datagram=1472,gso=on,gro=on"]
            .map(|text| Variant::parse(text).expect("a variant"));
    each(&fragments, &[1 << 20], pass_in_parts);
}

#[test]
fn what_both_ends_send_at_once_arrives_whole_and_nothing_is_lost() {
    each(&variants(), &[8, 4_096], cross);
}

#[test]
fn an_end_is_switched_alone_and_back() {
    each(&variants(), &[64], pass_one_sided);
}

/// 24 bytes are as long as what a udp end asks its partner with.
#[test]
fn an_end_is_switched_alone_for_as_long_as_it_likes() {
    each(&variants(), &[24, 1_000], pass_one_sided_for_long);
}

#[test]
fn what_can_only_wait_says_so() {
    struct Never;
    impl Visitor for Never {
        type Output = ();
        fn visit<E: Endpoint + 'static>(self, _opened: Opened<E>) {
            panic!("it only waits");
        }
    }
    let able =
        variants().iter().map(|variant| variant.entry.name).chain(["noop"]).collect::<Vec<_>>();
    for entry in MECHANISMS.iter().filter(|mechanism| !able.contains(&mechanism.name)) {
        let variant = Variant::parse(entry.name).unwrap();
        match open_nonblocking(entry.name, &spec(&variant, 8), Never) {
            Err(OpenError::NotApplicable(reason)) => {
                assert!(reason.starts_with(&format!("{} blocks: ", entry.name)), "{reason}");
            }
            other => panic!("{}: {other:?}", entry.name),
        }
    }
}
