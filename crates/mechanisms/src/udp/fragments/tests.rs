//! Fragments put onto the socket by hand, as a network might: late, twice, never, joined; and two
//! ends that talk to each other.

use std::thread;
use std::time::Instant;

use super::*;
use crate::table::Close;
use crate::udp::tests::sockets;
use crate::udp::{PATIENCE, Udp, connected};
use crate::{Mechanism, OpenError, Variant};

const DATAGRAM: usize = 1_000;
const PAYLOAD: usize = DATAGRAM - HEADER;

/// A bare socket, and an end of the type asked for.
fn by_hand<const TAKE: usize>() -> (UdpSocket, FragmentsEnd<1, TAKE>) {
    let (near, far) = sockets();
    (near, FragmentsEnd::new(far, DATAGRAM, 100_000).unwrap())
}

/// Bytes that differ between messages and from place to place.
fn contents(message: u64, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (message as usize * 31 + at * 7 + at / 251) as u8).collect()
}

/// The fragments of message number `message`.
fn cut(message: u64, bytes: usize) -> Vec<Vec<u8>> {
    let whole = contents(message, bytes);
    let count = bytes.div_ceil(PAYLOAD) as u32;
    let parts = whole.chunks(PAYLOAD).zip(0..);
    parts.map(|(part, nth)| [&header(message, nth, count)[..], part].concat()).collect()
}

fn put(socket: &UdpSocket, fragments: &[Vec<u8>], order: &[usize]) {
    for nth in order {
        socket.send(&fragments[*nth]).unwrap();
    }
}

fn expect<const SEND: usize, const TAKE: usize>(
    end: &mut FragmentsEnd<SEND, TAKE>,
    message: u64,
    bytes: usize,
) {
    let mut into = vec![0; bytes];
    end.recv(&mut into).unwrap();
    assert!(into == contents(message, bytes), "message {message} of {bytes} bytes");
}

/// A small seeded generator (splitmix64).
fn numbers_from(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((word ^ (word >> 27)) % below as u64) as usize
    }
}

fn lost(end: &impl Endpoint) -> u64 {
    end.stats().expect("it counts").lost
}

#[test]
fn a_fragment_that_never_comes_is_an_error_that_names_the_loss() {
    let (near, mut far) = by_hand::<2>();
    put(&near, &cut(0, 4 * PAYLOAD), &[0, 1, 3]);
    let error = far.recv(&mut vec![0; 4 * PAYLOAD]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    let text = error.to_string();
    assert!(text.contains("3 of 4 fragments of message 1 came"), "{text}");
    assert!(text.contains("the first missing is 3; 0 dropped"), "{text}");
    assert_eq!((lost(&far), far.early.reordered), (1, 0));
    // Fragment 4 came, and waits for its turn that never comes.
    let counts = FragmentCounts { received: 2, lost: 1, reordered: 0, duplicated: 0 };
    let counted = Datagrams { queue_overflows: Some(0), fragments: Some(counts) };
    assert_eq!(far.stats().and_then(|stats| stats.datagrams), Some(counted));
}

#[test]
fn fragments_that_no_message_has_are_not_taken_for_missing_ones() {
    let (near, mut far) = by_hand::<2>();
    let of_a_larger_one = cut(0, 6 * PAYLOAD);
    put(&near, &of_a_larger_one, &[1, 2, 3, 4, 5]);
    let error = far.recv(&mut vec![0; 2 * PAYLOAD]).unwrap_err();
    assert!(error.to_string().contains("5 of 2 fragments of message 1 came"), "{error}");
    assert_eq!(lost(&far), 0, "of this message none is known to be");
}

#[test]
fn a_partner_may_be_busy_but_not_for_ever() {
    let (near, mut far) = by_hand::<2>();
    let partner = thread::spawn(move || {
        thread::sleep(PATIENCE + PATIENCE / 5);
        put(&near, &cut(0, 3 * PAYLOAD), &[0, 1, 2]);
        near
    });
    expect(&mut far, 0, 3 * PAYLOAD);
    let near = partner.join().unwrap();
    far.silence = 2;
    let error = far.recv(&mut vec![0; 3 * PAYLOAD]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("nothing for 1000 ms, 0 of 3 fragments"), "{error}");
    assert_eq!(lost(&far), 0, "nobody knows whether it was sent");
    put(&near, &cut(1, 3 * PAYLOAD), &[0]);
    let error = far.recv(&mut vec![0; 3 * PAYLOAD]).unwrap_err();
    assert!(error.to_string().contains("nothing for 1000 ms, 1 of 3 fragments"), "{error}");
    assert_eq!(lost(&far), 2, "it began and didn't end");
}

#[test]
fn who_waits_has_its_say_before_the_launch_ends() {
    let (near, mut far) = by_hand::<2>();
    let begun = Instant::now();
    far.start(&Deadline::at(begun + 3 * PATIENCE)).unwrap();
    let error = far.recv(&mut vec![0; 3 * PAYLOAD]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(begun.elapsed() < SILENCE as u32 * PATIENCE, "long before its patience ends");
    // A credit that never comes is waited for as long.
    let message = vec![1; (far.window as usize + 1) * PAYLOAD];
    let error = far.send(&message).unwrap_err();
    assert!(error.to_string().contains("no credit for them came in 500 ms"), "{error}");
    drop(near);
}

#[test]
fn a_sender_without_credit_gives_up() {
    let (_near, mut far) = by_hand::<2>();
    far.silence = 1;
    let message = vec![1; (far.window as usize + 1) * PAYLOAD];
    let error = far.send(&message).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("no credit for them came"), "{error}");
    assert_eq!(far.sent, far.window);
}

#[test]
fn what_a_full_buffer_drops_is_counted() {
    let (near, mut far) = by_hand::<2>();
    let fragments = cut(0, 1_000 * PAYLOAD);
    put(&near, &fragments, &(0..1_000).collect::<Vec<_>>());
    let error = far.recv(&mut vec![0; 1_000 * PAYLOAD]).unwrap_err();
    assert!(!error.to_string().contains("; 0 dropped by a full buffer"), "{error}");
    assert!(lost(&far) > 0, "{error}");
}

#[test]
fn a_swapped_and_a_doubled_fragment_are_noticed_and_do_no_harm() {
    let (near, mut far) = by_hand::<2>();
    put(&near, &cut(0, 4 * PAYLOAD), &[0, 2, 1, 3]);
    expect(&mut far, 0, 4 * PAYLOAD);
    assert_eq!((far.early.reordered, far.early.duplicated, lost(&far)), (1, 0, 0));
    put(&near, &cut(1, 4 * PAYLOAD), &[0, 0, 1, 2, 3]);
    put(&near, &cut(1, 4 * PAYLOAD), &[3]);
    expect(&mut far, 1, 4 * PAYLOAD);
    put(&near, &cut(2, PAYLOAD), &[0]);
    expect(&mut far, 2, PAYLOAD);
    assert_eq!((far.early.reordered, far.early.duplicated, lost(&far)), (1, 2, 0));
    assert_eq!(far.read, 9, "only what came to its place is credited");
}

#[test]
fn what_comes_in_its_turn_goes_straight_to_its_place() {
    let (near, mut far) = by_hand::<2>();
    put(&near, &cut(0, 2 * PAYLOAD + 1), &[0, 1, 2]);
    let mut into = vec![0; 2 * PAYLOAD + 1];
    for next in 0..3 {
        assert_eq!(far.take(&mut into, next).unwrap(), Some(1));
    }
    assert!(into == contents(0, 2 * PAYLOAD + 1));
}

/// Whatever a network does to the order within a window, and however often.
fn any_order_is_put_right<const TAKE: usize>() {
    let mut below = numbers_from(TAKE as u64);
    let (near, mut far) = by_hand::<TAKE>();
    let mut doubled = 0;
    for round in 0..50 {
        let lengths: Vec<usize> = (0..3).map(|_| 1 + below(4 * PAYLOAD)).collect();
        let number = |nth: usize| (3 * round + nth) as u64;
        let mut sent: Vec<Vec<u8>> =
            (0..3).flat_map(|nth| cut(number(nth), lengths[nth])).collect();
        for _ in 0..below(3) {
            sent.push(sent[below(sent.len())].clone());
            doubled += 1;
        }
        for last in (1..sent.len()).rev() {
            sent.swap(last, below(last + 1));
        }
        put(&near, &sent, &(0..sent.len()).collect::<Vec<_>>());
        (0..3).for_each(|nth| expect(&mut far, number(nth), lengths[nth]));
    }
    // What was doubled in the last round may still wait in the socket.
    assert!(
        far.early.duplicated <= doubled && far.early.duplicated + 3 >= doubled,
        "{}",
        far.early.duplicated
    );
    assert!(far.early.reordered > 50 && lost(&far) == 0, "{}", far.early.reordered);
}

#[test]
fn any_order_is_put_right_one_by_one() {
    any_order_is_put_right::<2>();
}

#[test]
fn any_order_is_put_right_when_many_are_received_at_once() {
    any_order_is_put_right::<{ SEGMENTS + 1 }>();
}

#[test]
fn numbers_of_messages_may_wrap() {
    let (near, mut far) = by_hand::<2>();
    far.incoming = u64::from(u32::MAX);
    for number in far.incoming..far.incoming + 3 {
        put(&near, &cut(number, 2 * PAYLOAD), &[1, 0]);
        expect(&mut far, number, 2 * PAYLOAD);
    }
    assert_eq!((far.early.reordered, far.early.duplicated), (3, 0));
}

#[test]
fn a_message_of_another_length_is_an_error_also_where_fragments_end() {
    for (sent, taken) in [
        (PAYLOAD, 2 * PAYLOAD),
        (2 * PAYLOAD, PAYLOAD),
        (2 * PAYLOAD + 1, 2 * PAYLOAD),
        (PAYLOAD - 1, PAYLOAD),
        (PAYLOAD, PAYLOAD - 1),
        (1, 3 * PAYLOAD),
    ] {
        let (near, mut far) = by_hand::<2>();
        let fragments = cut(0, sent);
        put(&near, &fragments, &(0..fragments.len()).collect::<Vec<_>>());
        let error = far.recv(&mut vec![0; taken]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{sent} as {taken}: {error}");
    }
}

/// Loopback joins only what was sent at once, which is of one message; a network may join the
/// end of one and the beginning of the next.
#[test]
fn what_the_kernel_joined_is_cut_again_also_across_messages() {
    let (near, mut far) = by_hand::<{ SEGMENTS + 1 }>();
    let joined = sys::socket::cut_when_sent(&near, DATAGRAM as u16)
        .and_then(|()| sys::socket::join_when_received(&far.socket));
    if let Err(error) = joined {
        use std::io::Write;
        let _ = writeln!(io::stderr(), "skipped: no UDP_SEGMENT or UDP_GRO: {error}");
        return;
    }
    let mut both = [cut(0, 3 * PAYLOAD), cut(1, 4 * PAYLOAD + 5)].concat();
    near.send(&both.concat()).unwrap();
    expect(&mut far, 0, 3 * PAYLOAD);
    assert_eq!(far.early.of(1), 5, "the second message came with the first");
    expect(&mut far, 1, 4 * PAYLOAD + 5);
    near.send(&cut(2, 4 * PAYLOAD).concat()).unwrap();
    let mut into = vec![0; 4 * PAYLOAD];
    assert_eq!(far.take(&mut into, 0).unwrap(), Some(4), "all at once, to their places");
    assert!(into == contents(2, 4 * PAYLOAD));
    far.incoming += 1;
    assert_eq!((far.early.reordered, far.early.duplicated, lost(&far)), (0, 0, 0));

    // Swapped within what is joined, and one of them twice.
    both = cut(3, 4 * PAYLOAD);
    near.send(&[0, 2, 2, 1, 3].map(|nth| both[nth].clone()).concat()).unwrap();
    expect(&mut far, 3, 4 * PAYLOAD);
    assert_eq!((far.early.reordered, far.early.duplicated, lost(&far)), (1, 1, 0));
}

fn opened<const SEND: usize, const TAKE: usize>(
    options: &str,
) -> Result<Opened<FragmentsEnd<SEND, TAKE>>, OpenError> {
    let options = Variant::parse(options).unwrap().options;
    let spec = OpenSpec { options, message_bytes: 100_000, same_process: true, seed: 0 };
    pair(&spec, connected(&spec)?, DATAGRAM)
}

/// Each side in turn sends a burst of messages of any size.
fn bursts_arrive_whole<const SEND: usize, const TAKE: usize>() {
    let Opened { mut initiator, mut responder, .. } = opened::<SEND, TAKE>("udp").unwrap();
    let talk = |initiates: bool| {
        move |end: &mut FragmentsEnd<SEND, TAKE>| {
            // Both draw the same numbers, so they agree on every length.
            let mut below = numbers_from(7);
            for burst in 0..30 {
                for number in 0..1 + below(6) as u64 {
                    let most = [3, 2 * PAYLOAD, 70 * PAYLOAD, 100_000][below(4)];
                    let bytes = 1 + below(most);
                    if (burst % 2 == 0) == initiates {
                        end.send(&contents(number, bytes)).unwrap();
                    } else {
                        expect(end, number, bytes);
                    }
                }
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| talk(true)(&mut initiator));
        talk(false)(&mut responder);
    });
    for end in [&initiator, &responder] {
        assert_eq!((lost(end), end.early.duplicated, end.early.is_empty()), (0, 0, true));
    }
}

#[test]
fn bursts_of_mixed_sizes_arrive_whole() {
    bursts_arrive_whole::<1, 2>();
    bursts_arrive_whole::<1, { SEGMENTS + 1 }>();
    bursts_arrive_whole::<SEGMENTS, 2>();
    bursts_arrive_whole::<SEGMENTS, { SEGMENTS + 1 }>();
}

#[test]
fn the_smallest_buffers_carry_messages_of_many_datagrams() {
    let Opened { mut initiator, mut responder, .. } = opened::<1, 2>("udp:buffer=1").unwrap();
    assert_eq!(initiator.window, 1);
    let message = contents(1, 100_000);
    thread::scope(|scope| {
        scope.spawn(|| (0..20).for_each(|_| initiator.send(&message).unwrap()));
        (0..20).for_each(|_| expect(&mut responder, 1, 100_000));
    });
    assert_eq!(lost(&responder), 0);
}

#[test]
fn what_gso_and_gro_cannot_change_is_not_applicable() {
    let refused = |text: &str, message_bytes| {
        let options = Variant::parse(text).unwrap().options;
        match Udp::open(&OpenSpec { options, message_bytes, same_process: true, seed: 0 }, Close) {
            Err(OpenError::NotApplicable(reason)) => reason,
            other => panic!("{text}, {message_bytes} bytes: {other:?}"),
        }
    };
    assert!(refused("udp:gso=on", 1_000).contains("one datagram"));
    assert!(refused("udp:gro=on,datagram=1400", 1_400).contains("one datagram"));
    assert!(refused("udp:gso=on", 100_000).contains("smaller `datagram=`"));
    assert!(refused("udp:gso=on,datagram=1400,buffer=1", 100_000).contains("larger `buffer=`"));
    assert!(refused("udp:gso=on,checksum=off,datagram=1400", 100_000).contains("gso=off"));
    assert!(refused("udp:datagram=63", 1).contains("choose from 64 to 65507"));
    assert!(refused("udp:datagram=70000", 1).contains("choose from 64 to 65507"));
}
