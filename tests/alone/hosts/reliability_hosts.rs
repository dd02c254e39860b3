//! `udp:reliability=…` between two hosts: what is lost is counted or mended as on one, and on a long
//! path nothing is missed before it can be there. Over laboratories where root makes them; said aloud
//! where not. Counts; no speed.

use crate::cli_support::{Bench, can_have_labs, results, rows};
use serde_json::Value;

/// What the ends of every case counted, all of which must have ended.
fn counted(document: &Value) -> Vec<(String, &Value)> {
    let results = results(document);
    let plain = results.iter().filter(|result| result["twin"] == false);
    plain
        .map(|case| {
            let what = format!("{} {} {}", case["variant"], case["workload"], case["route"]);
            assert_eq!(case["status"], "ok", "{what}: {}", case["reason"]);
            assert_eq!(case["failed_launches"], 0, "{what}");
            (what, &case["delivery"]["counts"])
        })
        .collect()
}

#[test]
#[ignore = "long form"]
fn losses_to_another_host_are_counted_and_mended() {
    let bench = Bench::new();
    bench.must(
        "run udp:reliability=none,loss=20% udp:reliability=golay-24-12,loss=20% \
         udp:reliability=stop-and-wait,loss=20% udp:reliability=selective-repeat,loss=20%,burst=8 \
         udp:reliability=hamming-7-4+arq,loss=20%,datagram=1K udp:reliability=none,flips=1e-3 \
         -w latency,throughput -s 700 --launches 1 --samples 60 --peer env",
    );
    let run = bench.export();
    let cases = counted(&run);
    assert_eq!(cases.len(), 12);
    for (what, counts) in &cases {
        let of = |name: &str| counts[name].as_u64().expect(name);
        assert!(of("due_messages") > 0, "{what}: {counts}");
        if what.contains("flips") {
            assert!(of("flipped_bits") > 0 && of("lost_datagrams") == 0, "{what}: {counts}");
            continue;
        }
        assert!(of("lost_datagrams") > 0, "{what}: {counts}");
        let sends_again = ["stop-and-wait", "selective-repeat", "+arq"];
        if sends_again.iter().any(|text| what.contains(text)) {
            assert_eq!(of("lost_messages"), 0, "{what}: {counts}")
        } else {
            assert_eq!(of("resent_datagrams"), 0, "{what}: {counts}")
        }
        if what.contains("none") {
            assert!(of("lost_messages") > 0, "{what}: {counts}");
        }
    }
    // Both ends know what a datagram of this path takes; commands between them are no messages.
    let far = "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id WHERE
               json_extract(record, '$.far.effective_settings.datagram_bytes') IS NOT
               json_extract(record, '$.effective_settings.datagram_bytes')";
    assert_eq!(rows(&bench.open(), far), ["0"]);
    assert!(bench.processes().is_empty());
}

#[test]
#[ignore = "long form"]
fn on_a_long_path_nothing_is_missed_before_it_can_be_there() {
    let Some(()) = can_have_labs("reliability over a path of 10 ms") else { return };
    let bench = Bench::new();
    bench.must(
        "run udp:reliability=none udp:reliability=selective-repeat \
         udp:reliability=golay-24-12+arq,loss=5% -w latency -s 4000 --launches 1 --samples 40 \
         --route lab:delay=10ms",
    );
    let run = bench.export();
    for (what, counts) in counted(&run) {
        let of = |name: &str| counts[name].as_u64().expect(name);
        assert_eq!(of("lost_messages"), 0, "{what}: {counts}");
        let due = of("due_messages");
        assert!(due >= 80, "{what}: {counts}");
        // A few until it is learned, and when this machine pauses; not one for each.
        assert!(of("time_outs") < due / 3, "{what}: {counts}");
    }
    // By the path's own size, known before anything was sent: 4,000 bytes in three datagrams.
    let results = results(&run);
    let plain =
        results.iter().find(|result| result["variant"] == "udp:reliability=selective-repeat");
    let effective_settings = &plain.expect("it was measured")["effective_settings"];
    assert_eq!(effective_settings["datagrams_per_message"], 3);
    assert_eq!(effective_settings["path_mtu_bytes"], 1_500);
}

#[test]
#[ignore = "long form"]
fn a_line_that_loses_by_itself_costs_time_and_no_message() {
    let Some(()) = can_have_labs("reliability over a line that loses") else { return };
    let bench = Bench::new();
    bench.must(
        "run udp:reliability=selective-repeat udp:reliability=golay-24-12+arq -w latency,throughput \
         -s 700 --launches 1 --samples 40 --route lab:loss=5%",
    );
    let run = bench.export();
    let cases = counted(&run);
    assert_eq!(cases.len(), 4);
    for (what, counts) in &cases {
        let of = |name: &str| counts[name].as_u64().expect(name);
        assert_eq!((of("lost_messages"), of("lost_datagrams")), (0, 0), "{what}: {counts}");
        assert!(of("due_messages") > 0, "{what}: {counts}");
    }
}
