//! What a study asks of the machine, and what is wrong with one.

use super::*;
use crate::factor::chosen;

const STUDY: &str = r#"
version = 1
title = "Small"
question = "Does it hold?"
[variables]
cause = { size = "bytes of a message" }
effect = { latency = "round trip" }
[fixed]
launches = 12
warmup = "5"
[vary]
mechanism = ["pipe", "tcp:nodelay=off"]
size = "1K..4K:x2"
[[hypothesis]]
statement = "pipes are faster"
test = "faster"
left = { mechanism = "pipe" }
right = { mechanism = "tcp:nodelay=off" }
[[hypothesis]]
statement = "the peak is where the cache is"
test = "peak"
along = "size"
left = { mechanism = "pipe" }
within = ["2K", "llc/4"]
[[hypothesis]]
statement = "a pipe takes half the time"
test = "ratio"
left = { mechanism = "pipe" }
right = { mechanism = "tcp:nodelay=off" }
within = ["0.4", "0.6"]
margin = "5%"
[[published]]
name = "elsewhere"
machine = "another"
place = "Table 1"
unit = "us"
statistic = "mean"
figures = [{ mechanism = "pipe", value = 7.0, printed = "7.0" }, { value = 1200, printed = "1,200" }]
"#;

#[test]
fn a_study_becomes_a_request() {
    let declared = validate(STUDY, "s.toml", &crate::tests::catalogue()).unwrap();
    assert_eq!(declared.levels[&Factor::Size], ["1K", "2K", "4K"]);
    assert_eq!(declared.request.mechanisms, ["pipe", "tcp:nodelay=off"]);
    assert_eq!(declared.request.workloads, [(Workload::Latency, vec![1024, 2048, 4096])]);
    assert_eq!(declared.request.stopping.launches, Some(12));
    assert_eq!(declared.request.warmup.operations, 5);
    let left = chosen(&declared.study.hypothesis[0].left);
    assert_eq!(left.level(Factor::Mechanism), Some("pipe"));
    let figures = &declared.study.published[0].figures;
    assert_eq!(
        figures.iter().map(|figure| figure.as_printed()).collect::<Vec<_>>(),
        ["7.0", "1,200"]
    );
}

/// The same with transfers beside, of three totals.
fn with_transfers(own: &str) -> String {
    let more = "workload = [\"latency\", \"throughput\"]\n\
                total = [\"message\", \"1M..4M:x4\", \"long\"]\n";
    STUDY.replace("[vary]\n", &format!("[vary]\n{more}")).replace("[[published]]", own)
}

#[test]
fn transfers_have_totals_and_workloads_sizes_and_samples_of_their_own() {
    let plain =
        validate(&with_transfers("[[published]]"), "s.toml", &crate::tests::catalogue()).unwrap();
    assert_eq!(plain.levels[&Factor::Total], ["message", "1M", "4M", "long"]);
    let bytes = |number: u64| Total::Bytes(number << 20);
    assert_eq!(plain.request.totals(), [Total::Message, bytes(1), bytes(4), Total::Long]);

    let own = "[vary.latency]\nsize = \"1\"\nplacement = \"free\"\n[fixed.latency]\nsamples = 1000\n[[published]]";
    let own = validate(&with_transfers(own), "s.toml", &crate::tests::catalogue()).unwrap();
    assert_eq!(own.levels[&Factor::Size], ["1", "1K", "2K", "4K"]);
    let sizes = [(Workload::Latency, vec![1]), (Workload::Throughput, vec![1024, 2048, 4096])];
    assert_eq!(own.request.workloads, sizes);
    assert_eq!(own.levels[&Factor::Placement], ["same-cpu", "free"]);
    let free = BTreeMap::from([(Workload::Latency, vec![Placement::Free])]);
    assert_eq!(own.request.placements_by_workload, free);
    assert_eq!(own.request.samples_of(Workload::Latency), Some(1000));
    assert_eq!(own.request.samples_of(Workload::Throughput), None);

    let one = STUDY.replace("warmup = \"5\"", "warmup = \"5\"\ntotal = \"16M\"");
    let one = validate(&one, "s.toml", &crate::tests::catalogue()).unwrap().request;
    assert_eq!((one.total_bytes, one.totals.len()), (Some(16 << 20), 0));
}

#[track_caller]
fn refused(from: &str, to: &str, words: &[&str]) {
    crate::tests::refused(STUDY, (from, to), words);
}

#[test]
fn every_word_is_checked() {
    refused("\"pipe\", \"tcp", "\"pip\", \"tcp", &["s.toml:12", "`pipe`"]);
    refused("1K..4K:x2", "4K..1K", &["s.toml:13", "backwards"]);
    refused(
        "left = { mechanism = \"pipe\" }",
        "left = { mechanism = \"pippe\" }",
        &["s.toml:17", "`pipe`"],
    );
    refused(
        "left = { mechanism = \"pipe\" }",
        "left = { mechanism = \"fifo\" }",
        &["s.toml:17", "`fifo` isn't measured"],
    );
    refused("launches = 12", "launches = 0", &["s.toml:9"]);
    refused("warmup = \"5\"", "warmup = \"soon\"", &["s.toml:10", "100ms"]);
    refused("right = { mechanism = \"tcp:nodelay=off\" }", "", &["right"]);
    refused("llc/4", "llc/x", &["s.toml:24", "llc/8"]);
    refused("llc/4", "1K", &["s.toml:24", "backwards"]);
    refused("\"0.4\"", "\"half\"", &["s.toml:30", "`half`"]);
    refused("\"0.6\"", "\"0.3\"", &["s.toml:30", "backwards"]);
    refused("\"5%\"", "\"5\"", &["s.toml:31", "2%"]);
    refused("printed = \"7.0\"", "printed = \"70\"", &["elsewhere", "`70`", "value, 7"]);
    refused("launches = 12", "launches = 12\ntotal = \"mesage\"", &["s.toml:10", "message"]);
    refused("launches = 12", "launches = 12\naling = \"page\"", &["s.toml:10", "`align`"]);
    refused("launches = 12", "launches = 12\nalign = \"pages\"", &["s.toml:10", "`page`"]);
    refused(
        "launches = 12",
        "launches = 12\nobserve = \"trace\"",
        &["s.toml:10", "unknown key `observe`"],
    );
    refused("[vary]", "[vary.throughput]\nsize = \"1\"\n[vary]", &["throughput isn't"]);
    refused("margin = \"5%\"", "margin = \"5%\"\nof = \"p98\"", &["s.toml:32", "p99"]);
    refused("test = \"faster\"", "test = \"near-either\"", &["or = {"]);
    let derived = |name: &str, expression: &str| {
        format!(
            "[[derived]]\nname = \"{name}\"\nunit = \"s\"\nexpression = \"{expression}\"\n\
             [[published]]"
        )
    };
    refused("[[published]]", &derived("x", "medain / 2"), &["s.toml:35", "`median`"]);
    refused("[[published]]", &derived("mean", "1"), &["s.toml:33", "nothing else has"]);
    let floor = "[[floor]]\ntitle = \"t\"\nof = [\"getpdi\"]\n[[published]]";
    refused("[[published]]", floor, &["s.toml:34", "`getpid`"]);
    let beside = "[[floor]]\ntitle = \"t\"\nof = [\"read\"]\nbeside = \"x\"\n[[published]]";
    refused("[[published]]", beside, &["s.toml:35", "elsewhere"]);
    refused("value = 1200", "floor = \"copi\", value = 1200", &["elsewhere", "`copy`"]);
    refused("launches = 12", "launches = 12\nmechanism = \"pipe\"", &["fixed and varied"]);
}

#[test]
fn mechanisms_at_losses_and_bursts_are_bounded_before_they_are_written_down() {
    let words = |text: &dyn Fn(usize) -> String, many: usize| {
        (1..=many).map(|number| format!("\"{}\"", text(number))).collect::<Vec<_>>().join(", ")
    };
    let study = |many: usize| {
        let mechanisms = words(&|number| format!("udp:reliability=none,deadline={number}"), many);
        let losses = words(&|number| format!("{}%", number as f64 / 10.0), many);
        let bursts = words(&|number| number.to_string(), many);
        let start = STUDY.find("[[hypothesis]]").unwrap();
        let factors =
            format!("mechanism = [{mechanisms}]\nloss = [{losses}]\nburst = [{bursts}]\n");
        STUDY[..start].replace("mechanism = [\"pipe\", \"tcp:nodelay=off\"]\n", &factors)
    };
    let declared = |many| validate(&study(many), "s.toml", &crate::tests::catalogue());
    assert_eq!(declared(20).unwrap().request.mechanisms.len(), 20 * 20 * 20);
    let error = declared(900).unwrap_err();
    assert_eq!(
        error,
        "s.toml: more than 10000 mechanisms, each at every loss and burst: name fewer"
    );
}
