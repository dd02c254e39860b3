//! All that is reported of datagrams: how large they are, what they become on the wire, and what is lost where a
//! network drops some. Losses are the kernel's own, by nftables in a namespace made here; without root
//! or nft these tests say aloud that they skip.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli_support::{Bench, Said, can_run, flat, has, must_fit_the_schema, output, results};
use crate::common::launching::{conclude, quick, start};
use crate::common::{netns, say};
use model::launch::{Outcome, Record, SampleCount};
use model::mechanism::Datagrams;
use model::workload::Workload;
use run::launch::Spec;

// ---- how large they are ----------------------------------------------------------------------

fn measured(mechanism: &str, bytes: usize) -> Record {
    let record = conclude(start(&quick(mechanism, bytes))).record;
    assert_eq!(record.outcome, Outcome::Ok, "{mechanism}");
    record
}

fn effective_settings(record: &Record) -> [u64; 3] {
    ["path_mtu_bytes", "datagram_bytes", "message_wire_bytes"]
        .map(|name| record.effective_settings[name])
}

#[test]
fn on_loopback_a_datagram_is_what_the_protocol_or_the_path_allows() {
    let mtu = fs::read_to_string("/sys/class/net/lo/mtu").expect("a loopback");
    if mtu.trim() != "65536" {
        return say("skipped the usual loopback: its MTU is not the usual one");
    }
    assert_eq!(effective_settings(&measured("udp", 64)), [65_535, 65_507, 64 + 28]);
    assert_eq!(
        effective_settings(&measured("udp:datagram=largest", 64)),
        [65_535, 65_507, 64 + 28]
    );
    let cut = measured("udp:datagram=1000", 2_000);
    assert_eq!(effective_settings(&cut), [65_535, 1_000, 2_000 + 3 * (8 + 28)]);
    if fs::read_to_string("/proc/net/if_inet6").is_ok_and(|text| text.contains(" lo")) {
        assert_eq!(effective_settings(&measured("udp:family=6", 64)), [65_536, 65_488, 64 + 48]);
    }
    // Buffers that hold less are no reason to refuse: datagrams are smaller.
    assert_eq!(effective_settings(&measured("udp:buffer=4K", 64))[1], 8_192);
}

#[test]
fn a_datagram_is_one_packet_of_the_path_and_the_kernel_cuts_none() {
    let Some(_) = may_unshare("packets of 1,500 bytes") else { return };
    for (mechanism, datagram, wire) in [
        ("udp:mtu=1500", 1_472, 8_000 + 6 * (8 + 28)),
        ("udp:mtu=1500,family=6", 1_452, 8_000 + 6 * (8 + 48)),
    ] {
        let record = measured(mechanism, 8_000);
        assert_eq!(effective_settings(&record), [1_500, datagram, wire], "{mechanism}");
        let kernel = record.traffic.expect("it was counted");
        assert_eq!(kernel.pieces_sent, Some(0), "{mechanism}");
        let came = fragments(record.responder.datagrams);
        assert!(came[0] >= 6 * 20 && came[1..] == [0, 0, 0], "{mechanism}: {came:?}");
    }
    // All at once is cut by the kernel, exactly as the arithmetic of the wire says.
    let record = measured("udp:mtu=1500,datagram=largest", 8_000);
    assert_eq!(effective_settings(&record), [1_500, 65_507, 8_000 + 8 + 6 * 20]);
    let kernel = record.traffic.expect("it was counted");
    assert!(kernel.sent > Some(40), "{kernel:?}");
    assert_eq!(kernel.pieces_sent, kernel.sent.map(|sent| 6 * sent));
    assert_eq!(record.responder.datagrams.expect("counts").fragments, None);
}

/// None, said aloud, where this user may not make a network.
fn may_unshare(what: &str) -> Option<()> {
    can_run(what, &["unshare", "--net", "true"])
}

/// Received, lost, reordered, duplicated.
fn fragments(of: Option<Datagrams>) -> [u64; 4] {
    let it = of.and_then(|datagrams| datagrams.fragments).expect("fragments were counted");
    [it.received, it.lost, it.reordered, it.duplicated]
}

// ---- a path that loses -----------------------------------------------------------------------

/// A network namespace whose loopback loses datagrams; gone when this is dropped.
struct Lossy {
    name: String,
}

impl Lossy {
    /// None, said aloud, where none can be made. `which` chooses datagrams, in nft's words.
    fn begin(test: &str, which: &str) -> Option<Lossy> {
        let skip = |why: &str| say(&format!("skipped {test}: {why}"));
        if !rustix::process::geteuid().is_root() {
            skip("a path that loses datagrams needs root");
            return None;
        }
        let lossy = Lossy { name: format!("ipcmark-t{}-{test}", std::process::id()) };
        let ip = |line: &str| {
            let status = Command::new("ip").args(line.split(' ')).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        let up = ip(&format!("netns add {}", lossy.name))
            && ip(&format!("-n {} link set lo up", lossy.name));
        if !up {
            skip("no network namespaces here (ip netns add)");
            return None;
        }
        if !netns::lose(&lossy.name, which) {
            skip("nft doesn't run here");
            return None;
        }
        Some(lossy)
    }

    /// What a launch in it is, and its record: in time it fails for what is lost.
    fn fails(&self, spec: &Spec) -> (String, Record) {
        let what = format!("{} {:?}", spec.mechanism, spec.workload);
        let begun = Instant::now();
        let record = netns::inside(&self.name, || conclude(start(spec)).record);
        assert!(begun.elapsed() < GENEROUS, "{what}");
        assert!(reason(&record).contains("lost"), "{what}: {}", reason(&record));
        (what, record)
    }

    /// The program's command line in it.
    fn run(&self, bench: &Bench, line: &str) -> Said {
        output(&mut bench.behind(&["ip", "netns", "exec", &self.name], line))
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// Latency and throughput, of messages in one datagram and of fragments, over so many samples.
fn specs(samples: u64) -> Vec<Spec> {
    let of = |workload, mechanism: &str| Spec {
        workload,
        samples: SampleCount::Exactly(samples),
        batch: if workload == Workload::Throughput { 20 } else { 1 },
        deadline_ms: 2_000,
        verify: false,
        ..quick(mechanism, 5_000)
    };
    let both = |mechanism| {
        [Workload::Latency, Workload::Throughput].map(|workload| of(workload, mechanism))
    };
    [both("udp"), both("udp:datagram=1000")].concat()
}

fn reason(record: &Record) -> &str {
    match &record.outcome {
        Outcome::Failed { reason } => reason,
        other => panic!("it should have failed: {other:?}"),
    }
}

/// Launches end when they are asked to; virtual machines pause for seconds at times.
const GENEROUS: Duration = Duration::from_secs(30);

#[test]
fn where_all_is_lost_a_launch_ends_and_says_so() {
    let Some(lossy) = Lossy::begin("all", "") else { return };
    for spec in specs(50) {
        let (what, record) = lossy.fails(&spec);
        let kernel = record.traffic.expect("it was counted");
        assert!(kernel.sent > Some(0) && kernel.received == Some(0), "{what}: {kernel:?}");
        let counts = [record.initiator.datagrams, record.responder.datagrams];
        assert!(counts.iter().any(Option::is_some), "{what}: nobody had its say");
        assert_eq!(record.initiator.samples, 0);
    }
}

#[test]
fn where_a_tenth_is_lost_it_is_counted_by_whoever_misses_it() {
    // Every tenth, in turn: no test depends on luck.
    let Some(lossy) = Lossy::begin("tenth", "numgen inc mod 10 == 7") else { return };
    for spec in specs(200) {
        let (what, record) = lossy.fails(&spec);
        let kernel = record.traffic.expect("it was counted");
        assert!(kernel.received > Some(0) && kernel.received < kernel.sent, "{what}: {kernel:?}");
        if spec.mechanism.contains("datagram") {
            let ends = [record.initiator.datagrams, record.responder.datagrams];
            let counted = ends.into_iter().flatten().map(|end| fragments(Some(end)));
            let lost: u64 = counted.map(|numbers| numbers[1]).sum();
            assert!(lost > 0, "{what}: {ends:?}");
        }
    }
}

#[test]
fn a_run_over_it_is_a_row_with_its_reason_and_the_counts() {
    let Some(lossy) = Lossy::begin("run", "") else { return };
    let bench = Bench::new();
    let said =
        lossy.run(&bench, "run udp -w latency,throughput -s 64 -p free --launches 1").ends(1);
    assert!(said.err.contains("nothing could be measured"), "{}", said.err);
    let text = flat(&bench.run("report last -v").out);
    has(&text, &["udp: a datagram was lost", "1 of 1 launch failed", "sent, 0 received"]);
    let run = bench.export();
    must_fit_the_schema(&run);
    for case in results(&run).iter().filter(|result| result["twin"] == false) {
        assert_eq!(case["status"], "failed");
        let seen = &case["datagrams"];
        assert!(seen["here"]["sent"].as_u64() > Some(0), "{seen:#}");
        assert_eq!(seen["here"]["received"], 0);
        assert_eq!(seen["launches"][0]["status"], "failed");
        assert_eq!(seen["launches"][0]["round"], 0);
    }
    assert_eq!(bench.run("report last --html page.html").code, Some(1), "nothing was measured");
    has(&bench.read("page.html"), &["What became of datagrams"]);
    assert!(bench.processes().is_empty());
}

// ---- factors ---------------------------------------------------------------------------------

const FACTORS: &str = r#"
version = 1
title = "Packets and buffers"
question = "What do packets and buffers do to a transfer?"
critique = ["Two launches say nothing."]
[source]
title = "None"
author = "nobody"
[variables]
cause = { mechanism = "the packet and the buffer" }
effect = { throughput = "goodput" }
[fixed]
placement = "free"
workload = "throughput"
total = "200K"
size = "20K"
launches = 2
samples = 2
[vary]
mechanism = ["udp", "udp:mtu=1500", "udp:mtu=9000", "udp:buffer=64K", "udp:mtu=1500,buffer=64K", "tcp:mtu=1500", "tcp"]
[[hypothesis]]
statement = "Large packets are quicker"
test = "faster"
left = { mechanism = "udp:mtu=9000" }
right = { mechanism = "udp:mtu=1500" }
"#;

#[test]
fn packets_and_buffers_are_factors_of_a_study_and_stay_each_in_its_case() {
    let Some(_) = may_unshare("packets as a factor") else { return };
    let bench = Bench::new();
    bench.put("factors.toml", FACTORS);
    bench.must("study run factors.toml");
    let run = bench.export();
    must_fit_the_schema(&run);
    let of = |variant: &str, name: &str| {
        let results = results(&run);
        let case = results.iter().find(|result| result["variant"] == variant).expect("a row");
        assert_eq!(case["status"], "ok", "{variant}: {}", case["reason"]);
        case["effective_settings"][name].as_u64()
    };
    for (variant, datagram) in [
        ("udp:mtu=1500", Some(1_472)),
        ("udp:mtu=9000", Some(8_972)),
        ("udp:buffer=64K,mtu=1500", Some(1_472)),
    ] {
        assert_eq!(of(variant, "datagram_bytes"), datagram, "{variant}");
    }
    for variant in ["udp:buffer=64K", "udp:buffer=64K,mtu=1500"] {
        assert_eq!(of(variant, "receive_buffer_bytes"), Some(128 << 10), "{variant}");
    }
    // Who has no packets of its own stays in the network of the run.
    let mtu = fs::read_to_string("/sys/class/net/lo/mtu").expect("a loopback");
    let mtu: u64 = mtu.trim().parse().expect("a number");
    for variant in ["udp", "udp:buffer=64K"] {
        assert_eq!(of(variant, "path_mtu_bytes"), Some(mtu.min(65_535)), "{variant}");
    }
    let results = results(&run);
    let small = results.iter().find(|result| result["variant"] == "udp:mtu=1500").expect("a row");
    let wire = small["datagrams"]["wire_bytes_per_payload_byte"].as_f64().expect("a ratio");
    // 20 KiB in 14 datagrams of at most 1,464 bytes each, and 36 of headers.
    assert!((wire - (20_480.0 + 14.0 * 36.0) / 20_480.0).abs() < 1e-9, "{wire}");
    let is_right =
        |case: &serde_json::Value| case["datagrams"].is_null() == (case["mechanism"] == "tcp");
    assert!(results.iter().all(is_right));
    assert_eq!((of("tcp:mtu=1500", "mtu_bytes"), of("tcp", "mtu_bytes")), (Some(1_500), None));
}
