//! Transfers both ways at once: every byte arrives, nobody waits for room that the other would have to make, and
//! what blocks says so.

use crate::cli_support::{Bench, flat, list, must_fit_the_schema, results};
use serde_json::Value;

/// Messages of 512 KiB fit no pipe and no socket: if both sides sent first, both would wait for ever.
#[test]
#[ignore = "long form"]
fn every_byte_arrives_both_ways_also_where_neither_way_has_room_for_a_message() {
    let bench = Bench::new();
    bench.must_lack(
        "run pipe pipe:mode=packet unix-stream unix-seqpacket tcp udp shm-ring eventfd -w duplex -s 64,512K \
         --total 1M -p same-cpu -p free --launches 1 --verify",
    );
    let document = bench.export();
    must_fit_the_schema(&document);
    let measured: Vec<&Value> =
        results(&document).iter().filter(|result| result["status"] == "ok").collect();
    for name in ["pipe", "unix-stream", "tcp", "udp", "shm-ring"] {
        let of = measured.iter().filter(|value| value["variant"] == name);
        let sizes: Vec<u64> = of.map(|value| value["message_bytes"].as_u64().unwrap()).collect();
        assert!(sizes.contains(&(512 << 10)) && sizes.contains(&64), "{name}: {sizes:?}");
    }
    for case in measured {
        assert_eq!(case["failed_launches"], 0, "{case:#}");
        let names: Vec<&str> =
            list(&case["secondary"]).iter().map(|value| value["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["outbound", "inbound"], "{case:#}");
        // The partner's messages are all here before its own are acknowledged.
        let of = |at: usize| case["secondary"][at]["median"].as_f64().unwrap();
        assert!(of(0) > 0.0 && of(0) < case["value"]["median"].as_f64().unwrap(), "{case:#}");
        assert!(of(1) >= of(0) * 0.999_999, "{case:#}");
    }
}

#[test]
fn what_can_only_wait_says_so_before_anything_is_measured() {
    let bench = Bench::new();
    let said =
        bench.run("run posix-queue pipe -w duplex -s 64 -p same-cpu --launches 1 --total 64K");
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert!(flat(&said.out).contains("! Not measured: posix-queue: "), "{}", said.out);
    let document = bench.export();
    let queue =
        results(&document).iter().find(|result| result["variant"] == "posix-queue").unwrap();
    assert_eq!(queue["status"], "not_applicable");
    assert!(queue["reason"].as_str().unwrap().contains(" blocks: "), "{queue:#}");
}
