//! One sender and several receivers, eight where no other number is asked: each gets every message, whole and in order,
//! and acknowledges it; results say how many there were; what can't have several receivers says so.

use crate::cli_support::{Bench, has, output, results, rows};
use crate::common::launching::{conclude, quick, start};
use model::launch::{Outcome, SampleCount, Workers};
use model::load::{Load, Server};
use model::workload::Workload;
use run::launch::Spec;
use serde_json::Value;

#[test]
#[ignore = "long form"]
fn every_receiver_gets_every_message_also_where_there_is_no_room_for_one() {
    let mechanisms = [
        ("pipe", 64),
        ("pipe", 300_000),
        ("fifo", 64),
        ("unix-stream", 300_000),
        ("unix-seqpacket", 4_096),
        ("unix-dgram", 64),
        ("tcp", 64),
        ("udp", 64),
        ("shm-ring:wait=futex", 64),
        ("eventfd", 1),
    ];
    for (mechanism, message_bytes) in mechanisms {
        let samples = if message_bytes > 4_096 { 8 } else { 40 };
        for (workers, cpu) in [(Workers::Process, None), (Workers::Thread, Some(0))] {
            let what = format!("{mechanism}, {}, {message_bytes} bytes", workers.name());
            let spec = Spec {
                workload: Workload::FanOut,
                workers,
                samples: SampleCount::Exactly(samples),
                batch: 3,
                initiator_cpu: cpu,
                responder_cpu: cpu,
                ..quick(mechanism, message_bytes)
            };
            let result = conclude(start(&spec));
            assert_eq!(result.record.outcome, Outcome::Ok, "{what}");
            assert_eq!(result.samples.len() as u64, samples, "{what}");
            assert!(result.samples.iter().all(|sample| *sample > 0), "{what}");
            let responder = result.record.responder;
            // Each receiver sleeps in its own receive now and then.
            assert!(responder.usage.voluntary_switches >= 8, "{what}: {:?}", responder.usage);
        }
    }
}

/// A fan-out to so many receivers, of which every message and acknowledgement is compared.
fn to(receivers: u32) -> Spec {
    Spec {
        workload: Workload::FanOut,
        load: Some(Load::closed(receivers)),
        verify: true,
        samples: SampleCount::Exactly(40),
        batch: 3,
        ..quick("unix-stream", 64)
    }
}

#[test]
fn there_are_as_many_receivers_as_are_asked_for_and_each_gets_every_message() {
    for receivers in [1, 3, 70] {
        for mechanism in ["unix-stream", "shm-ring:wait=futex"] {
            let launch = start(&Spec { mechanism: mechanism.into(), ..to(receivers) });
            let result = conclude(launch);
            let what = format!("{mechanism}, {receivers} receivers");
            assert_eq!(result.record.outcome, Outcome::Ok, "{what}");
            assert_eq!(result.samples.len(), 40, "{what}");
            // Each receiver sleeps in its own receive now and then.
            let slept = result.record.responder.usage.voluntary_switches;
            assert!(slept >= receivers.into(), "{what}: {slept} sleeps");
        }
    }
}

/// A message of 100,000 bytes goes as fragments, which the receivers count.
#[test]
#[ignore = "long form"]
fn every_receiver_gets_as_many_messages_as_the_sender_has_sent() {
    let each = |receivers: u32| {
        let spec = Spec { mechanism: "udp".into(), message_bytes: 100_000, ..to(receivers) };
        let record = conclude(start(&spec)).record;
        assert_eq!(record.outcome, Outcome::Ok, "{receivers} receivers");
        let counted = record
            .responder
            .datagrams
            .and_then(|datagrams| datagrams.fragments)
            .expect("fragments");
        let messages = record.initiator.operations * u64::from(receivers);
        assert_eq!(counted.received % messages, 0, "{counted:?}, {messages} messages");
        counted.received / messages
    };
    let fragments = each(1);
    assert!(fragments > 1, "{fragments} fragments of a message");
    assert_eq!(each(3), fragments);
}

#[test]
fn a_load_that_no_fan_out_has_is_refused_in_words() {
    for (load, words) in [
        (Load { connections: 3, ..Load::USUAL }, "only an open loop has a rate"),
        (Load { depth: 2, ..Load::closed(3) }, "has connections, and no other option"),
        (Load { server: Some(Server::Scan), ..Load::closed(3) }, "has connections, and no other"),
    ] {
        match conclude(start(&Spec { load: Some(load), ..to(3) })).record.outcome {
            Outcome::Failed { reason } => assert!(reason.contains(words), "{load:?}: {reason}"),
            outcome => panic!("{load:?}: {outcome:?}"),
        }
    }
}

#[test]
fn a_study_takes_numbers_of_receivers_and_claims_compare_those_of_one_number() {
    let bench = Bench::new();
    let study = |workload: &str, connections: &str| {
        format!(
            "version = 1\ntitle = \"t\"\nquestion = \"q\"\n[vary]\nmechanism = [\"pipe\", \"unix-stream\"]\n\
             [fixed]\nworkload = \"{workload}\"\nsize = \"64\"\nplacement = \"same-cpu\"\n\
             connections = \"{connections}\"\nsamples = 10\nlaunches = 2\n[variables]\n\
             cause = {{ mechanism = \"m\" }}\neffect = {{ time = \"t\" }}\n\
             [[hypothesis]]\nstatement = \"s\"\ntest = \"faster\"\n\
             left = {{ mechanism = \"pipe\" }}\nright = {{ mechanism = \"unix-stream\" }}\n"
        )
    };
    bench.put("good.toml", study("fan-out", "2,4"));
    bench.put("bad.toml", study("messaging", "3,256"));
    bench.must(&format!("study run {} -q", bench.path("good.toml").display()));
    let loads = "SELECT DISTINCT levels ->> '$.load.connections' FROM cases WHERE NOT levels ->> 'twin' ORDER BY 1";
    let loads = rows(&bench.open(), loads);
    assert_eq!(loads, ["2", "4"]);
    let said = bench.run(&format!("study run {}", bench.path("bad.toml").display()));
    said.fails(2, &["messaging has at most 255 connections"]);
}

#[test]
fn more_receivers_than_descriptors_are_refused_before_anything_is_opened() {
    let bench = Bench::new();
    let line = "run pipe -w fan-out --connections 40,2 -s 64 -p free --launches 1 --samples 20";
    let said = output(&mut bench.after("ulimit -n 64", line));
    assert_eq!(said.code, Some(5), "what was named can't be had: {}", said.err);
    let document = bench.export();
    let of = |connections: u64| -> &Value {
        let mut all = results(&document).iter();
        all.find(|value| value["load"]["connections"] == connections).expect("a case")
    };
    assert_eq!((&of(40)["status"], &of(2)["status"]), (&"unavailable".into(), &"ok".into()));
    has(of(40)["reason"].as_str().expect("a reason"), &["40 connections take 192 descriptors"]);
}

#[test]
fn a_run_of_which_nothing_can_be_measured_says_why_and_ends_in_order() {
    let bench = Bench::new();
    let said = bench.must_lack("run posix-queue -w fan-out -s 64 -p free --launches 2");
    assert!(said.out.contains("blocks: it has no call"), "{}{}", said.out, said.err);
}
