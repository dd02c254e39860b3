//! `udp:reliability=…` over real sockets, under losses from a seeded trace: what sends again delivers
//! every message, what doesn't delivers it or counts it lost, and block losses lie where the oracle
//! puts them. Counts and contents; no speed.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::binomial::range_99;
use crate::common::contents;
use crate::common::ends::{End, HANG, Pair, both, lost, open, try_open};
use crate::oracle::Oracle;
use codes::Scheme;
use mechanisms::{Deadline, OpenError, Variant};

fn pair(options: &str, bytes: usize) -> Pair {
    let variant = Variant::parse(&format!("udp:{options}")).expect("a variant");
    open(&variant, bytes).expect("it opens here")
}

type Tally = BTreeMap<&'static str, u64>;

fn tally(end: &End) -> Tally {
    end.stats().expect("it counts").counts.into_iter().collect()
}

/// Streams `count` messages one way, then an answer; gives what both sides counted. What arrives
/// and isn't counted lost must be what was sent.
fn streamed(options: &str, bytes: usize, count: u64) -> [Tally; 2] {
    let (tell, receiver) = mpsc::channel();
    let tell_too = tell.clone();
    both(
        options,
        pair(options, bytes),
        move |end| {
            (0..count).for_each(|nth| end.send(contents(1, nth, bytes)).expect("send"));
            end.recv(&mut [0]).expect("the answer");
            end.finish().expect("finish");
            tell.send((0, tally(end))).unwrap();
        },
        move |end| {
            let mut into = vec![0; bytes];
            for nth in 0..count {
                let before = lost(end);
                end.recv(&mut into).expect("recv");
                let right = into == *contents(1, nth, bytes);
                assert!(right || lost(end) > before, "message {nth} isn't what was sent");
            }
            end.send(&[0xAC]).expect("answer");
            tell_too.send((1, tally(end))).unwrap();
        },
    );
    tallies(receiver)
}

/// What the two sides counted.
fn tallies(receiver: mpsc::Receiver<(usize, Tally)>) -> [Tally; 2] {
    let mut tallies = [Tally::new(), Tally::new()];
    for _ in 0..2 {
        let (side, tally) = receiver.recv_timeout(HANG).expect("a tally");
        tallies[side] = tally;
    }
    tallies
}

/// The same in turns.
fn in_turns(options: &str, bytes: usize, count: u64) -> [Tally; 2] {
    let (tell, receiver) = mpsc::channel();
    let tell_too = tell.clone();
    let expect = |end: &mut End, direction, nth, into: &mut [u8]| {
        let before = lost(end);
        end.recv(into).expect("recv");
        let right = *into == *contents(direction, nth, into.len());
        // An answer to what was lost is none, and nobody's loss.
        right || lost(end) > before
    };
    both(
        options,
        pair(options, bytes),
        move |end| {
            let (mut into, mut wrong) = (vec![0; bytes], 0);
            for nth in 0..count {
                end.send(contents(1, nth, bytes)).expect("send");
                wrong += u64::from(!expect(end, 2, nth, &mut into));
            }
            end.finish().expect("finish");
            let mut counts = tally(end);
            counts.insert("answers that were none", wrong);
            tell.send((0, counts)).unwrap();
        },
        move |end| {
            let mut into = vec![0; bytes];
            for nth in 0..count {
                assert!(expect(end, 1, nth, &mut into), "message {nth} isn't what was sent");
                end.send(contents(2, nth, bytes)).expect("send");
            }
            tell_too.send((1, tally(end))).unwrap();
        },
    );
    tallies(receiver)
}

// ---- what sends again -----------------------------------------------------------------------

const AGAIN: [&str; 7] = [
    "stop-and-wait",
    "selective-repeat",
    "hamming-7-4+arq",
    "hamming-8-4+arq",
    "golay-24-12+arq",
    "reed-solomon-4-3+arq",
    "raptorq+arq",
];

#[test]
#[ignore = "long form"]
fn what_sends_again_delivers_every_message() {
    for scheme in AGAIN {
        for (loss, burst) in [("5%", 1), ("20%", 8)] {
            let options = format!("reliability={scheme},loss={loss},burst={burst}");
            let [near, far] = in_turns(&options, 700, 60);
            assert_eq!((near["due_messages"], far["due_messages"]), (60, 60), "{options}");
            assert_eq!((near["lost_messages"], far["lost_messages"]), (0, 0), "{options}");
            assert_eq!(near["answers that were none"], 0, "{options}");
            assert!(near["lost_datagrams"] + far["lost_datagrams"] > 0, "{options}");
            let [near, far] = streamed(&options, 700, 200);
            assert_eq!((far["due_messages"], far["lost_messages"]), (200, 0), "{options}");
            assert!(near["wire_bytes"] > near["payload_bytes"], "{options}");
        }
    }
}

#[test]
fn messages_of_many_datagrams_are_sent_again_in_parts() {
    for scheme in AGAIN {
        let options = format!("reliability={scheme},loss=5%,datagram=1K");
        let [near, far] = streamed(&options, 100_000, 10);
        assert_eq!((far["due_messages"], far["lost_messages"]), (10, 0), "{options}");
        let parts = near["sent_datagrams"];
        assert!(near["resent_datagrams"] < parts / 2, "{options}: {near:?}");
    }
}

#[test]
fn repair_leaves_less_to_send_again() {
    let resent = |scheme: &str| {
        let options = format!("reliability={scheme},loss=5%,datagram=512");
        let [near, far] = streamed(&options, 1_200, 400);
        assert_eq!(far["lost_messages"], 0);
        near["resent_datagrams"]
    };
    let (plain, coded) = (resent("selective-repeat"), resent("golay-24-12+arq"));
    assert!(plain > 20 && coded * 4 < plain, "{plain} against {coded}");
}

#[test]
#[ignore = "long form"]
fn who_hears_nothing_gives_up_before_the_launch_ends() {
    for scheme in ["stop-and-wait", "selective-repeat", "golay-24-12+arq"] {
        let mut pair = pair(&format!("reliability={scheme},loss=100%"), 64);
        let begun = Instant::now();
        pair.start_until(&Deadline::at(begun + Duration::from_secs(3)));
        pair.initiator.send(contents(1, 0, 64)).expect("it is kept");
        let error = pair.initiator.recv(&mut [0; 64]).expect_err("nobody has heard it");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{scheme}: {error}");
        assert!(
            begun.elapsed() < Duration::from_secs(9),
            "{scheme}: as if it had been told nothing"
        );
        assert!(tally(&pair.initiator)["resent_datagrams"] > 0, "{scheme}");
    }
}

// ---- what is sent once ----------------------------------------------------------------------

const ONCE: [&str; 6] =
    ["none", "hamming-7-4", "hamming-8-4", "golay-24-12", "reed-solomon-4-3", "raptorq"];

#[test]
fn what_is_sent_once_is_delivered_or_counted_lost() {
    for scheme in ONCE {
        for (loss, burst) in [("0%", 1), ("5%", 1), ("20%", 8), ("100%", 1)] {
            let options = format!("reliability={scheme},loss={loss},burst={burst},deadline=2000");
            let count = if loss == "100%" { 5 } else { 100 };
            let [near, far] = in_turns(&options, 700, count);
            // Of a lost request nobody awaits the answer.
            let (lost, answers) = (far["lost_messages"], near["due_messages"]);
            assert_eq!((far["due_messages"], answers), (count, count - lost), "{options}");
            assert_eq!(near["answers that were none"], lost, "{options}");
            match loss {
                "0%" => assert_eq!((lost, near["lost_messages"]), (0, 0), "{options}"),
                "100%" => assert_eq!(lost, count, "{options}"),
                _ => assert!(near["lost_datagrams"] + far["lost_datagrams"] > 0, "{options}"),
            }
            assert_eq!(near["resent_datagrams"] + far["resent_datagrams"], 0, "{options}");
            let [_, far] = streamed(&options, 700, count);
            assert_eq!(far["due_messages"], count, "{options}");
        }
    }
}

/// Without a window a message goes all at once: what the receiver's buffer has no room for is lost.
#[test]
fn a_message_larger_than_the_buffer_is_lost_without_a_window() {
    let sent_before_it_is_read = |options: &str| {
        let (tell, receiver) = mpsc::channel();
        let (is_sent, all_sent) = mpsc::channel();
        let tell_too = tell.clone();
        both(
            options,
            pair(options, MESSAGE),
            move |end| {
                end.send(contents(1, 0, MESSAGE)).expect("send");
                is_sent.send(()).unwrap();
                end.recv(&mut [0]).expect("the answer, or word that there is none");
                end.finish().expect("finish");
                tell.send((0, tally(end))).unwrap();
            },
            move |end| {
                all_sent.recv_timeout(HANG).expect("nothing waits for its reader");
                let mut into = vec![0; MESSAGE];
                end.recv(&mut into).expect("recv");
                assert!(lost(end) > 0 || into == *contents(1, 0, MESSAGE));
                end.send(&[0xAC]).expect("answer");
                tell_too.send((1, tally(end))).unwrap();
            },
        );
        tallies(receiver)
    };
    const MESSAGE: usize = 512 << 10;
    let [_, far] = sent_before_it_is_read("buffer=64K,datagram=8K,reliability=none,window=none");
    assert_eq!((far["due_messages"], far["lost_messages"]), (1, 1));
}

/// Nor does what sends again wait for the receiver: what is dropped it sends again.
#[test]
fn what_a_full_buffer_drops_is_sent_again() {
    let options = "buffer=16K,datagram=8K,reliability=selective-repeat,window=none";
    let [near, far] = streamed(options, 256 << 10, 20);
    assert_eq!((far["due_messages"], far["lost_messages"]), (20, 0), "{far:?}");
    assert!(near["resent_datagrams"] > 0, "{near:?}");
}

#[test]
fn every_scheme_meets_the_same_trace() {
    // As many datagrams each: the same ones are lost, and what a code repairs `none` loses.
    let lost = |scheme: &str, bytes| {
        let options = format!("reliability={scheme},loss=10%,burst=4,datagram=256");
        let [_, far] = streamed(&options, bytes, 240 * 7 / if scheme == "none" { 1 } else { 7 });
        (far["lost_datagrams"], far["lost_messages"])
    };
    let (none, hamming) = (lost("none", 100), lost("hamming-7-4", 400));
    assert_eq!(none.0, none.1, "a message is a datagram");
    assert_eq!(none.0, hamming.0);
    assert!(hamming.1 < none.1);
    assert_eq!(none, lost("none", 100), "and always the same");
}

#[test]
#[ignore = "long form"]
fn rates_over_sockets_lie_where_the_oracle_puts_them() {
    let cases = [
        ("none", 5, 1_000),
        ("hamming-7-4", 10, 18_000),
        ("none", 20, 400),
        ("hamming-7-4", 20, 5_000),
        ("hamming-8-4", 20, 7_000),
        ("reed-solomon-4-3", 20, 5_000),
        ("golay-24-12", 30, 6_000),
    ];
    for (name, percent, count) in cases {
        // Four datagrams of data in any case.
        let (oracle, bytes) = match name {
            "none" => (Oracle::uncoded(4), 4 * 48),
            name => (Oracle::of(Scheme::parse(name).unwrap()), 48),
        };
        let expected = oracle.block_loss(f64::from(percent) / 100.0);
        assert!(expected * count as f64 >= 100.0, "{name}: too few to judge");
        let options = format!("reliability={name},loss={percent}%,datagram=64");
        let [_, far] = streamed(&options, bytes, count);
        let (lost, range) = (far["lost_messages"], range_99(count, expected));
        assert_eq!(far["due_messages"], count);
        println!("{name} at {percent} %: {lost} of {count} lost, expected {range:?}");
        assert!(range.contains(&lost), "{name} at {percent} %: {lost} of {count}, not {range:?}");
    }
}

// ---- flipped bits ---------------------------------------------------------------------------

#[test]
fn flipped_bits_are_corrected_detected_and_counted() {
    for (scheme, flips) in [
        ("none", "1e-4"),
        ("hamming-7-4", "1e-3"),
        ("hamming-8-4", "1e-3"),
        ("golay-24-12", "1e-2"),
    ] {
        let options = format!("reliability={scheme},flips={flips}");
        let [_, far] = streamed(&options, 1_000, 600);
        let of = |name: &str| far[name];
        let detected = of("detected_by_code") + of("detected_by_checksum");
        assert_eq!(
            of("intact_messages")
                + of("corrected_messages")
                + detected
                + of("silently_wrong_messages"),
            600,
            "{options}: {far:?}"
        );
        assert_eq!(of("lost_messages"), detected, "{options}");
        assert_eq!(of("silently_wrong_messages"), 0, "{options}: CRC-32C sees all of so few");
        assert!(of("flipped_bits") > 300 && detected > 0, "{options}: {far:?}");
        match scheme {
            // 8,000 bits: 0.45 of the messages stay whole.
            "none" => assert!(of("corrected_messages") == 0 && of("detected_by_checksum") > 200),
            // Perfect: only the checksum sees what it puts wrong.
            "hamming-7-4" => assert!(of("corrected_messages") > 300 && of("detected_by_code") == 0),
            _ => assert!(of("corrected_messages") > 300 && of("detected_by_code") > 0),
        }
    }
}

/// What sends again drops a datagram whose checksum is wrong, and gets it once more.
#[test]
fn faulty_datagrams_are_sent_again() {
    for (scheme, bytes) in [("stop-and-wait", 700), ("selective-repeat", 5_000)] {
        let options = format!("reliability={scheme},flips=1e-4,datagram=1K");
        let [near, far] = streamed(&options, bytes, 100);
        assert_eq!((far["due_messages"], far["lost_messages"]), (100, 0), "{options}");
        assert_eq!(far["intact_messages"] + far["corrected_messages"], 100, "{options}: {far:?}");
        assert!(far["flipped_bits"] > 0 && far["corrected_messages"] > 10, "{options}: {far:?}");
        assert!(near["resent_datagrams"] >= far["corrected_messages"], "{options}: {near:?}");
        let [near, far] = in_turns(&options, bytes, 50);
        assert_eq!((near["lost_messages"], far["lost_messages"]), (0, 0), "{options}");
        assert_eq!(near["answers that were none"], 0, "{options}: what it takes is what was sent");
    }
}

#[test]
fn of_messages_whose_bits_flip_the_largest_is_one_datagram() {
    for scheme in ["none", "hamming-7-4", "hamming-8-4", "golay-24-12"] {
        let options = format!("reliability={scheme},flips=1e-12");
        let variant = Variant::parse(&format!("udp:{options}")).expect("a variant");
        let largest = variant.entry.largest(&variant.options).expect("a limit");
        let effective_settings = pair(&options, largest).effective_settings;
        let datagrams = effective_settings
            .iter()
            .find(|effective_setting| effective_setting.0 == "datagrams_per_message");
        assert_eq!(datagrams.map(|datagram| datagram.1), Some(1), "{options}, {largest} bytes");
        let [_, far] = streamed(&options, largest, 3);
        assert_eq!((far["due_messages"], far["lost_messages"]), (3, 0), "{options}");
    }
}

// ---- what is refused ------------------------------------------------------------------------

#[test]
fn what_does_not_go_together_is_refused_with_the_remedy() {
    let refused = |options: &str| {
        let variant = Variant::parse(&format!("udp:{options}"))?;
        match try_open(&variant, 64, true) {
            Err(OpenError::NotApplicable(reason)) => Err(reason),
            Err(error) => panic!("{options}: {error}"),
            Ok(_) => Ok(()),
        }
    };
    for (options, expected) in [
        ("loss=5%", "add reliability=none"),
        ("window=none", "add reliability=none"),
        ("reliability=stop-and-wait,window=none", "one datagram under way"),
        ("reliability=none,gso=on", "leave it out"),
        ("reliability=reed-solomon-100-29", "128"),
        ("reliability=reed-solomon-0-3", "as in reed-solomon-4-3"),
        ("reliability=golay-24-13", "did you mean `golay-24-12`?"),
        ("reliability=none,loss=101%", "from 0 to 1"),
        ("reliability=none,loss=5", "PERCENT%"),
        ("reliability=none,loss=50%,burst=0", "or 1 for these"),
        ("reliability=raptorq,flips=1e-4", "mends no bits"),
        ("reliability=golay-24-12+arq,flips=1e-4", "without +arq"),
        ("reliability=none,flips=0.7", "from 0 to 0.5"),
        ("reliability=none,deadline=0", "at least deadline=1"),
        ("reliability=none,datagram=70000", "65507"),
    ] {
        let error = refused(options).expect_err(options);
        assert!(error.contains(expected), "{options}: {error}");
    }
    assert_eq!(refused("reliability=none,loss=5%,burst=8"), Ok(()));
}
