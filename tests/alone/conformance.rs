//! The contract of every mechanism, checked against every row of the table: in two threads,
//! directly; then in real launches of processes and of threads, at each kind of placement.
//! A new mechanism is covered by being in the table.

use std::collections::BTreeMap;
use std::sync::{RwLockReadGuard, RwLockWriteGuard, mpsc};
use std::time::Duration;
use std::{io, thread};

use crate::common::ends::{End, HANG, Pair, await_threads, both, lost, open, try_open};
use crate::common::launching::{conclude, quick, start};
use crate::common::proc::{Process, Resources, listening, lying_around};
use crate::common::rooms::{alone, beside_others};
use crate::common::{Rng, contents, largest, say, sizes, variants};
use crate::long_form::{is_long, many};
use mechanisms::{Deadline, MECHANISMS, OpenError, Variant, probe};
use model::launch::{Outcome, SampleCount, Workers};
use model::mechanism::{Carries, Framing, Waits};
use model::workload::Workload;
use run::launch::Spec;

/// Which way a message goes; its contents depend on it, so that nobody reads back his own.
const THERE: u64 = 1;
const BACK: u64 = 2;

fn carrying(carries: Carries) -> Vec<Variant> {
    variants().into_iter().filter(|variant| variant.traits().carries == carries).collect()
}

fn with_framing(framing: Framing) -> Vec<Variant> {
    let carrying = carrying(Carries::Bytes).into_iter();
    carrying.filter(|variant| variant.traits().framing == framing).collect()
}

/// A test's place among the others while it is about one variant.
enum ResolvedPlacement {
    Alone { _held: RwLockWriteGuard<'static, ()> },
    Beside { _held: RwLockReadGuard<'static, ()> },
}

/// What spins has both CPUs to itself: else every message would cost a time slice.
fn place_for(variant: &Variant) -> ResolvedPlacement {
    match variant.waits() {
        Waits::Spinning => ResolvedPlacement::Alone { _held: alone() },
        _ => ResolvedPlacement::Beside { _held: beside_others() },
    }
}

/// The sizes around every boundary in the long form; in the short one a side of each, and fewer where a
/// shown variant of the same mechanism gets them.
fn boundaries(variant: &Variant) -> Vec<usize> {
    let few: &[usize] =
        if Variant::shown().contains(variant) { &[1, 56, 64, 1_900, 4_097] } else { &[57, 4_096] };
    let largest = largest(variant);
    let chosen = |size: &usize| is_long() || *size == largest || few.contains(size);
    sizes(variant).into_iter().filter(chosen).collect()
}

fn send(end: &mut End, direction: u64, number: u64, bytes: usize) {
    end.send(contents(direction, number, bytes)).expect("send");
}

fn expect(end: &mut End, direction: u64, number: u64, bytes: usize, into: &mut [u8]) {
    end.recv(&mut into[..bytes]).expect("recv");
    let right = into[..bytes] == *contents(direction, number, bytes);
    let lost = lost(end);
    assert!(right, "message {number} of {bytes} bytes isn't what was sent; {lost} were lost");
    assert_eq!(lost, 0, "lost by message {number} of {bytes} bytes");
}

/// More messages than any buffer holds that counts messages (256 slots of a ring, 278 of a Unix
/// socket), and more bytes than a pipe does from 55 bytes on: rings wrap, and the sender blocks. With
/// `reliability=` it blocks after 64 datagrams, and an unoptimised code takes its time.
fn far_ahead(variant: &Variant, bytes: usize) -> u64 {
    let most = if variant.to_string().contains("reliability=") { 400 } else { 1_500 };
    ((4 << 20) / bytes).clamp(16, most) as u64
}

// ---- in two threads ----------------------------------------------------------------------

#[test]
#[ignore = "long form"]
fn every_message_arrives_whole_and_in_order_when_the_sender_runs_far_ahead() {
    for variant in carrying(Carries::Bytes) {
        let _place = place_for(&variant);
        for bytes in boundaries(&variant) {
            let Some(pair) = open(&variant, bytes) else { continue };
            let count = far_ahead(&variant, bytes);
            let stream = move |end: &mut End, direction: u64| {
                (0..count).for_each(|number| send(end, direction, number, bytes));
                end.recv(&mut [0]).expect("the acknowledgement");
            };
            let drain = move |end: &mut End, direction: u64| {
                let mut into = vec![0; bytes];
                thread::sleep(Duration::from_millis(5));
                (0..count).for_each(|nth| expect(end, direction, nth, bytes, &mut into));
                end.send(&[0xAC]).expect("acknowledge");
            };
            both(
                &format!("{variant}, {count} messages of {bytes} bytes each way"),
                pair,
                move |end| {
                    stream(end, THERE);
                    drain(end, BACK);
                },
                move |end| {
                    drain(end, THERE);
                    stream(end, BACK);
                },
            );
        }
    }
}

#[test]
fn round_trips_carry_each_side_its_partners_message() {
    for variant in carrying(Carries::Bytes) {
        let _place = place_for(&variant);
        for bytes in boundaries(&variant) {
            let Some(pair) = open(&variant, bytes) else { continue };
            let count = ((1 << 20) / bytes).clamp(5, 200) as u64;
            both(
                &format!("{variant}, {count} round trips of {bytes} bytes"),
                pair,
                move |end| {
                    let mut into = vec![0; bytes];
                    for number in 0..count {
                        send(end, THERE, number, bytes);
                        expect(end, BACK, number, bytes, &mut into);
                    }
                },
                move |end| {
                    let mut into = vec![0; bytes];
                    for number in 0..count {
                        expect(end, THERE, number, bytes, &mut into);
                        send(end, BACK, number, bytes);
                    }
                },
            );
        }
    }
}

/// Bursts of random length and messages of random size: what counts its slots or credits
/// must count them right at every fill level.
#[test]
#[ignore = "long form"]
fn bursts_of_mixed_sizes_arrive_whole_and_in_order() {
    const BURSTS: u64 = 16;
    for variant in carrying(Carries::Bytes) {
        let _place = place_for(&variant);
        for most in [64, 4_096, largest(&variant).min(65_536)] {
            let Some(pair) = open(&variant, most) else { continue };
            let burst = |rng: &mut Rng| {
                let most = if rng.below(4) == 0 { 300 } else { 6 };
                1 + rng.below(most)
            };
            let size = move |rng: &mut Rng| 1 + rng.below(most as u64) as usize;
            let give = move |end: &mut End, rng: &mut Rng, direction: u64| {
                for number in 0..burst(rng) {
                    send(end, direction, number, size(rng));
                }
            };
            let take = move |end: &mut End, rng: &mut Rng, direction: u64, into: &mut [u8]| {
                for number in 0..burst(rng) {
                    expect(end, direction, number, size(rng), into);
                }
            };
            // Both sides draw from the same numbers, so they agree on every length.
            let life = move |initiates: bool| {
                move |end: &mut End| {
                    let (mut rng, mut into) = (Rng(most as u64), vec![0; most]);
                    for nth in 0..2 * BURSTS {
                        if (nth % 2 == 0) == initiates {
                            give(end, &mut rng, nth)
                        } else {
                            take(end, &mut rng, nth, &mut into)
                        }
                    }
                }
            };
            let what = format!("{variant}, bursts of up to {most} bytes");
            both(&what, pair, life(true), life(false));
        }
    }
}

#[test]
fn a_message_of_another_length_is_an_error_never_a_silent_cut() {
    for variant in with_framing(Framing::Message) {
        let _place = place_for(&variant);
        for (sent, taken) in [(64, 32), (64, 63), (32, 64), (1, 64), (4_096, 1)] {
            let Some(pair) = open(&variant, 4_096) else { continue };
            let what = format!("{variant}, {sent} bytes received as {taken}");
            both(
                &what.clone(),
                pair,
                move |end| send(end, THERE, 0, sent),
                move |end| {
                    let result = end.recv(&mut vec![0; taken]);
                    assert!(result.is_err(), "{what}: {result:?}");
                    assert_ne!(result.unwrap_err().kind(), io::ErrorKind::TimedOut, "{what}");
                },
            );
        }
    }
}

#[test]
fn a_stream_has_no_boundaries() {
    for variant in with_framing(Framing::Stream) {
        let _place = place_for(&variant);
        let Some(pair) = open(&variant, 4_096) else { continue };
        let whole = contents(THERE, 0, 4_096);
        both(
            &format!("{variant}, a stream"),
            pair,
            move |end| {
                end.send(&whole[..1_000]).expect("send");
                end.send(&whole[1_000..]).expect("send");
                end.send(whole).expect("send");
            },
            move |end| {
                let mut into = vec![0; 4_096];
                end.recv(&mut into).expect("two messages as one");
                assert!(into == whole);
                end.recv(&mut into[..4_095]).expect("one message as two");
                end.recv(&mut into[4_095..]).expect("one message as two");
                assert!(into == whole);
            },
        );
    }
}

/// n wake-ups sent are n received: none merged, none lost, none invented.
#[test]
fn signals_are_counted_exactly() {
    let wake_ups = many(1_000, 5_000) as usize;
    for variant in carrying(Carries::Signal) {
        let _place = place_for(&variant);
        let Some(pair) = open(&variant, 1) else { continue };
        let what = format!("{variant}, {wake_ups} wake-ups");
        let (took, taken) = mpsc::channel();
        let Pair { mut initiator, mut responder, residue, .. } = pair;
        let receiver = thread::spawn(move || {
            responder.start(&Deadline::default()).expect("start");
            for number in 0..2 * wake_ups + 1 {
                responder.recv(&mut [0]).expect("recv");
                took.send(number).expect("counted");
            }
            responder.send(&[0]).expect("send");
        });
        initiator.start(&Deadline::default()).expect("start");
        let count = |wanted: usize| {
            (0..wanted).take_while(|_| taken.recv_timeout(Duration::from_secs(30)).is_ok()).count()
        };
        // All at once, so that they pile up; then one by one, so that each finds a sleeper.
        (0..wake_ups).for_each(|_| initiator.send(&[0]).expect("send"));
        assert_eq!(count(wake_ups), wake_ups, "{what}: some were merged or lost");
        for nth in 0..wake_ups {
            initiator.send(&[0]).expect("send");
            assert_eq!(count(1), 1, "{what}: number {nth}, sent alone, was lost");
        }
        let more = taken.recv_timeout(Duration::from_millis(100));
        assert!(more.is_err(), "{what}: more were received than sent");
        initiator.send(&[0]).expect("send");
        assert_eq!(count(1), 1, "{what}: the last was lost");
        initiator.recv(&mut [0]).expect("the other direction");
        await_threads(&what, HANG, vec![receiver]);
        drop(residue);
    }
}

#[test]
fn what_carries_nothing_is_declared_so() {
    for variant in variants() {
        let _place = place_for(&variant);
        let Some(mut pair) = open(&variant, 64) else { continue };
        if variant.traits().carries != Carries::Nothing {
            continue;
        }
        pair.start();
        let mut into = [7; 64];
        pair.initiator.send(contents(THERE, 0, 64)).expect("send");
        pair.responder.recv(&mut into).expect("recv");
        pair.responder.recv(&mut into).expect("a receive that nobody sent for");
        assert_eq!(into, [7; 64], "{variant} carried something");
    }
    let null = MECHANISMS.iter().find(|entry| entry.name == "noop");
    assert_eq!(null.map(|entry| entry.traits(&Default::default()).carries), Some(Carries::Nothing));
}

#[test]
fn a_message_too_large_is_refused_never_clamped() {
    for variant in variants() {
        let _place = place_for(&variant);
        let Some(largest) = variant.entry.largest(&variant.options) else { continue };
        let what = format!("{variant}, {largest} bytes at most");
        if let Err(error @ OpenError::NotApplicable(_)) = probe(&variant, largest) {
            panic!("{what}: refused at its own limit: {error}");
        }
        let refusal = probe(&variant, largest + 1);
        let Err(OpenError::NotApplicable(reason)) = refusal else {
            panic!("{what}: one byte more wasn't refused: {refusal:?}");
        };
        assert!(reason.contains(variant.entry.name), "{reason}");
        assert!(reason.contains(&largest.to_string()), "{reason}: doesn't name the limit");

        // An end that is handed more than that refuses it, or carries all of it.
        let Some(mut pair) = open(&variant, largest) else { continue };
        pair.start();
        if pair.initiator.send(contents(THERE, 0, largest + 1)).is_ok() {
            let mut into = vec![0; largest + 1];
            expect(&mut pair.responder, THERE, 0, largest + 1, &mut into);
        }
    }
}

/// Descriptors, mappings, names: none is left after closing; names are gone even before.
#[test]
fn nothing_stays_behind() {
    let _alone = alone();
    for variant in variants() {
        for same_process in [true, false] {
            let (before, names) = (Resources::now(), lying_around());
            let Ok(mut pair) = try_open(&variant, 4_096, same_process) else { continue };
            pair.start();
            let open = Resources::now();
            let listeners: Vec<_> = open.sockets().intersection(&listening()).cloned().collect();
            assert!(listeners.is_empty(), "{variant}: still listens while open");
            if variant.traits().carries != Carries::Nothing && !variant.entry.leaves_objects {
                assert_ne!(before, open, "{variant}: holds nothing this test can see");
            }
            // What can't be without a name while it is open is removed with the residue.
            let nameless = !variant.entry.leaves_objects;
            let again = || try_open(&variant, 4_096, same_process);
            if nameless && let Some(left) = left_in_each_of(5, again) {
                panic!("{variant}: made {left}, which outlives its process");
            }
            drop(pair);
            assert_eq!(before, Resources::now(), "{variant}: left something open or mapped");
            let left = left_in_each_of(5, || drop(try_open(&variant, 64, same_process)));
            assert_eq!(left, None, "{variant}: left a name behind; before: {names:?}");
        }
    }
}

/// A name that appears during `action`, in every one of `attempts`: strangers on the machine
/// make such objects too, but not each time.
fn left_in_each_of<T>(attempts: usize, mut action: impl FnMut() -> T) -> Option<String> {
    let mut left = None;
    for _ in 0..attempts {
        let before = lying_around();
        let kept = action();
        left = lying_around().difference(&before).next().cloned();
        drop(kept);
        left.as_ref()?;
    }
    left
}

// ---- in launches -------------------------------------------------------------------------

/// What the kernel is documented to grant. A mechanism that isn't here is held only to the
/// form of its names.
fn documented_grants(name: &str) -> &'static [&'static str] {
    match name {
        "pipe" => &["pipe_capacity_bytes"],
        "unix-stream" | "unix-seqpacket" | "tcp" => &["send_buffer_bytes", "receive_buffer_bytes"],
        "udp" => &["send_buffer_bytes", "receive_buffer_bytes", "window_datagrams"],
        "shm-ring" => &["ring_slots"],
        _ => &[],
    }
}

fn check_grants(what: &str, variant: &Variant, effective_settings: &BTreeMap<String, u64>) {
    for name in documented_grants(variant.entry.name) {
        assert!(
            effective_settings.contains_key(*name),
            "{what}: {name} is missing from {effective_settings:?}"
        );
    }
    for (name, value) in effective_settings {
        let plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(plain && name.contains('_') && *value > 0, "{what}: granted {name} = {value}");
    }
}

/// CPUs this process may use.
fn allowed_cpus() -> Vec<u32> {
    let set = rustix::thread::sched_getaffinity(None).expect("sched_getaffinity");
    (0..1024).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

/// Initiator's and responder's CPU; None is free.
fn placements() -> Vec<Option<(u32, u32)>> {
    match allowed_cpus()[..] {
        [only] => {
            say("skipped launches across two CPUs: this process may use only one");
            vec![None, Some((only, only))]
        }
        [first, second, ..] => vec![None, Some((second, second)), Some((first, second))],
        [] => unreachable!("a process runs somewhere"),
    }
}

/// What a launch can do with `variant`.
fn workloads(variant: &Variant) -> Vec<Workload> {
    match variant.traits().carries {
        Carries::Own => vec![Workload::Latency], // its set-up is the plain one's, twice
        // An open loop makes a latency's calls: tests/rate.rs. What has many connections has less to it than all of
        // them: tests/messaging.rs, tests/fan_out.rs.
        _ => {
            let all = Workload::ALL.into_iter();
            all.filter(|workload| !workload.traits().paced && !workload.traits().many_connections())
                .collect()
        }
    }
}

/// Every case of `variant` worth a launch. What isn't shown by default gets the sizes and the
/// placement where its option matters most; the rest would be more of the same. In the short form that is
/// what all get, and threads, which share what processes have, no second placement.
fn launch_specs(variant: &Variant, workers: Workers) -> Vec<Spec> {
    let largest = largest(variant);
    let (mut sizes, mut placements) = (vec![1, 64, 4_096, 65_536, largest], placements());
    let is_shown = Variant::shown().contains(variant);
    if !(is_shown && is_long()) {
        sizes = vec![64, largest.min(65_536)];
    }
    if !is_shown || !is_long() && workers == Workers::Thread {
        placements.drain(..placements.len() - 1);
    }
    if variant.traits().carries != Carries::Bytes {
        sizes = vec![1];
    }
    if variant.waits() == Waits::Spinning {
        // On one CPU every message would cost a time slice.
        placements.retain(|cpus| cpus.is_none_or(|(first, second)| first != second));
    }
    sizes.retain(|size| *size <= largest);
    sizes.dedup();
    let mut specs = Vec::new();
    for cpus in &placements {
        // A debug build checks some 50 MB a second: the largest are measured at one placement,
        // and left to the check that every launch makes before timing.
        let most = if Some(cpus) == placements.last() { largest } else { 65_536 };
        for workload in workloads(variant) {
            // A set-up sends nothing: one size stands for all.
            let sizes = if workload.has_size() { &sizes[..] } else { &sizes[..1] };
            for size in sizes.iter().filter(|size| **size <= most) {
                let samples = if *size <= 4_096 { 20 } else { 4 };
                let verify = *size <= 65_536;
                specs.push(Spec {
                    workload,
                    workers,
                    verify,
                    samples: SampleCount::Exactly(samples),
                    batch: if workload == Workload::Latency || *size > 4_096 { 1 } else { 8 },
                    initiator_cpu: cpus.map(|(first, _)| first),
                    responder_cpu: cpus.map(|(_, second)| second),
                    buffer_offset: 64,
                    ..quick(&variant.to_string(), *size)
                });
            }
        }
    }
    specs
}

fn every_variant_measures_in(workers: Workers) {
    let (mut groups, mut measured) = (Vec::new(), 0);
    for variant in variants() {
        let _place = place_for(&variant);
        for spec in launch_specs(&variant, workers) {
            let what = format!(
                "{variant}, {}, {} bytes, workers: {}, CPUs {:?} {:?}",
                spec.workload.name(),
                spec.message_bytes,
                workers.name(),
                spec.initiator_cpu,
                spec.responder_cpu
            );
            let launch = start(&spec);
            groups.push(launch.pid() as i32);
            let ending = conclude(launch);
            let record = ending.record;
            match record.outcome {
                Outcome::Ok => measured += 1,
                Outcome::Unavailable(why) => {
                    say(&format!("skipped {what}: {}", why.reason));
                    continue;
                }
                Outcome::NotApplicable { .. } if what.contains("buffer=") => continue,
                Outcome::NotApplicable { ref reason } if reason.contains(" blocks: ") => {
                    continue;
                }
                // Nothing to cut or to join in a message of one datagram.
                Outcome::NotApplicable { .. }
                    if spec.message_bytes == 64
                        && (what.contains("gso=on") || what.contains("gro=on")) =>
                {
                    continue;
                }
                outcome => panic!("{what}: {outcome:?}"),
            }
            let SampleCount::Exactly(asked) = spec.samples else { unreachable!() };
            assert_eq!(record.initiator.samples, asked, "{what}");
            assert_eq!(ending.samples.len() as u64, asked, "{what}");
            assert_eq!(record.initiator.batch, spec.batch, "{what}");
            let carries = variant.traits().carries;
            if carries != Carries::Nothing {
                assert!(!ending.samples.contains(&0), "{what}: a sample took no time");
            }
            for report in [&record.initiator, &record.responder] {
                assert_eq!((&report.error, report.lost), (&None, 0), "{what}");
            }
            for (cpu, seen) in [
                (spec.initiator_cpu, &record.initiator.cpus),
                (spec.responder_cpu, &record.responder.cpus),
            ] {
                let elsewhere = seen.iter().any(|seen| cpu.is_some_and(|cpu| cpu != *seen));
                assert!(!elsewhere, "{what}: pinned to {cpu:?}, seen on {seen:?}");
            }
            assert!(!record.initiator.cpus.is_empty(), "{what}: nobody looked where it ran");
            // The first message after the set-up is no sample, and only its initiator can time it.
            let first = record.initiator.first_ns;
            let times_it = spec.workload == Workload::Latency && carries != Carries::Own;
            assert!(!times_it || first.is_some_and(|ns| ns > 0.0), "{what}: {first:?}");
            assert_eq!(record.responder.first_ns, None, "{what}");
            check_grants(&what, &variant, &record.effective_settings);
        }
    }
    assert!(measured > 0, "nothing was measured");
    let left: Vec<_> =
        Process::all().into_iter().filter(|process| groups.contains(&process.group)).collect();
    assert!(left.is_empty(), "processes outlived their launch: {left:?}");
}

#[test]
#[ignore = "long form"]
fn every_variant_measures_between_processes() {
    every_variant_measures_in(Workers::Process);
}

#[test]
fn every_variant_measures_between_threads() {
    every_variant_measures_in(Workers::Thread);
}

#[test]
fn grants_are_those_of_the_object_that_was_opened() {
    let _place = beside_others();
    let effective_settings = |text: &str, bytes: usize| -> BTreeMap<String, u64> {
        let variant = Variant::parse(text).expect("a variant");
        open(&variant, bytes).expect("it opens").effective_settings.into_iter().collect()
    };
    assert_eq!(effective_settings("pipe:capacity=4K", 64)["pipe_capacity_bytes"], 4_096);
    assert_eq!(effective_settings("pipe:capacity=128K", 64)["pipe_capacity_bytes"], 128 << 10);
    // The kernel doubles what is asked (socket(7)).
    assert_eq!(
        effective_settings("unix-stream:buffer=message", 8_192)["send_buffer_bytes"],
        16_384
    );
    assert_eq!(effective_settings("tcp:buffer=16K", 64)["receive_buffer_bytes"], 32 << 10);
    assert!(effective_settings("shm-ring", 1 << 20)["ring_slots"] >= 2);
}

#[test]
fn a_launch_with_too_large_a_message_has_a_reason_and_no_samples() {
    for variant in Variant::shown() {
        let _place = place_for(&variant);
        let Some(largest) = variant.entry.largest(&variant.options) else { continue };
        let ending = conclude(start(&quick(&variant.to_string(), largest + 1)));
        assert!(ending.samples.is_empty(), "{variant}");
        match ending.record.outcome {
            Outcome::NotApplicable { reason } | Outcome::Failed { reason } => {
                assert!(!reason.is_empty(), "{variant}");
            }
            outcome => panic!("{variant}, {} bytes: {outcome:?}", largest + 1),
        }
    }
}
