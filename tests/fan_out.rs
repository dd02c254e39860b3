//! One sender and eight receivers: each gets every message, whole and in order, and acknowledges it; what can't have
//! several receivers says so.

mod cli_support;
mod common;

use cli_support::{Bench, must_fit_the_schema, results};
use common::launching::{conclude, quick, start};
use model::launch::{Outcome, SampleCount, Workers};
use model::workload::Workload;
use run::launch::Spec;
use serde_json::Value;

#[test]
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
            assert!(result.samples.iter().all(|it| *it > 0), "{what}");
            let responder = result.record.responder;
            // Each receiver sleeps in its own receive now and then.
            assert!(responder.usage.voluntary_switches >= 8, "{what}: {:?}", responder.usage);
        }
    }
}

#[test]
fn the_time_until_all_have_acknowledged_is_exported_and_who_has_one_receiver_says_so() {
    let bench = Bench::new();
    bench.must(
        "run pipe eventfd posix-queue shm-ring:wait=spin -w fan-out -s 64 -p free --launches 2 --samples 30 --verify",
    );
    let document = bench.export();
    must_fit_the_schema(&document);
    let of = |variant: &str| -> &Value {
        let all = results(&document).iter();
        let mut found = all.filter(|it| it["variant"] == variant && it["twin"] == false);
        found.next().unwrap_or_else(|| panic!("no {variant}"))
    };
    for variant in ["pipe", "eventfd"] {
        let case = of(variant);
        assert_eq!((&case["status"], &case["samples"]), (&"ok".into(), &60.into()), "{case:#}");
        assert!(case["value"]["median"].as_f64().is_some_and(|ns| ns > 0.0), "{case:#}");
    }
    for (variant, words) in
        [("posix-queue", "can only wait"), ("shm-ring:wait=spin", "share a CPU")]
    {
        let case = of(variant);
        assert_eq!(case["status"], "not_applicable", "{case:#}");
        assert!(case["reason"].as_str().expect("a reason").contains(words), "{case:#}");
    }
}
