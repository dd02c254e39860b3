//! Studies from the command line: listed, shown, planned, run, written up again from the store;
//! and what is said of a study that is none.

use crate::cli_support::{
    Bench, case_of, flat, has, list, must_fit_the_schema, number, parse, results, say,
};
use study::validated::validate;

const SMALL: &str = include_str!("small_study.toml");

fn small(bench: &Bench) -> &'static str {
    bench.put("small.toml", SMALL);
    "./small.toml"
}

#[test]
fn the_five_works_are_listed_shown_and_planned() {
    let bench = Bench::new();
    let listed = bench.must("study list").out;
    for name in ["000", "001", "002", "003", "004"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{name}: {listed}");
        has(&bench.must(&format!("study show {name}")).out, &["version = 1", "[[hypothesis]]"]);
        has(&bench.must(&format!("study run {name} --dry-run")).out, &["cases", "launches"]);
    }
    assert!(!bench.store().exists(), "planning measures nothing");
}

/// What the study said of the claim that begins so. Which of two is quicker is the machine's
/// affair, and a busy one may not tell: what a verdict follows from is tested on synthetic launches
/// (crates/analysis/src/hypothesis/decide/).
fn verdict<'o>(out: &'o str, claim: &str) -> &'o str {
    let line = out.lines().find(|line| line.contains(&format!(": {claim}")));
    let line = line.unwrap_or_else(|| panic!("{claim}: {out}"));
    let word = line.split(':').next().unwrap_or_default();
    word.trim_start_matches(|word: char| !word.is_ascii_alphabetic())
}

#[test]
fn a_study_is_run_decided_and_written_up_again() {
    let bench = Bench::thorough();
    let file = small(&bench);
    let said = bench.run(&format!("-q study run {file} --seed 5 --gate"));
    let out = &said.out;
    assert!(out.starts_with("A ring against a socket\n"), "{out}");
    let (ring, tcp) = (verdict(out, "The ring is quicker"), verdict(out, "TCP is quicker"));
    let mirrored = match ring {
        "Supported" => "Refuted",
        "Refuted" => "Supported",
        neither => neither,
    };
    assert_eq!(tcp, mirrored, "what speaks for a claim speaks against its opposite: {out}");
    assert_eq!(verdict(out, "On a node that is far away it is"), "Not testable here");
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM launches WHERE round > 0"), 12 * 4);
    assert_eq!(bench.must("report last").out, *out, "written up from the store alone");
    // Other programs read the same claims.
    let document = bench.export();
    must_fit_the_schema(&document);
    let claims = list(&document["claims"]);
    let verdicts: Vec<&str> =
        claims.iter().map(|claim| claim["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, [&*ring.to_lowercase(), &*tcp.to_lowercase(), "not_testable"]);
    assert!(claims[0]["words"].is_string() && claims[0]["p_holm"].is_number(), "{claims:#?}");
    let [low, effect, high] =
        ["low", "effect", "high"].map(|text| claims[0][text].as_f64().unwrap());
    assert!(low <= effect && effect <= high && claims[0]["unit"] == "ratio", "{claims:#?}");
    assert!(claims[2]["reason"].is_string() && claims[2]["effect"].is_null(), "{claims:#?}");
    let events = bench.must("export last --format ndjson").out;
    let events = events.lines().map(parse).filter(|event| event["event"] == "claim");
    assert!(events.map(|mut event| event["claim"].take()).eq(claims.iter().cloned()));
    // One of them is not testable, so that all can't be supported.
    let gate = if verdicts.contains(&"refuted") { 3 } else { 4 };
    assert_eq!(said.code, Some(gate), "{}", said.err);
}

#[test]
fn launches_that_the_time_limit_cut_are_told_before_the_claims() {
    let bench = Bench::new();
    let line = format!("study run {} --launches 400 --budget 1s --no-wait", small(&bench));
    let said = bench.must(&line).out;
    let (told, claims) = (said.find("400 launches of each case were planned"), said.find("Claims"));
    assert!(told.is_some() && told < claims, "{said}");
}

#[test]
#[ignore = "long form"]
fn a_stored_study_that_can_not_be_read_is_one_line_and_no_missing_section() {
    let bench = Bench::new();
    let file = small(&bench);
    bench.must(&format!("-q study run {file} --seed 5"));
    bench.edit(r"UPDATE runs SET request = replace(request, 'left = {', 'lift = {')");
    for line in ["report last", "export last --format csv"] {
        bench.run(line).is_refused(&["`lift`", "the build that measured it"]);
    }
}

/// Transfers of three totals, two of which a message fits, with a derived column and bounds beside.
const TRANSFERS: &str = r#"
version = 1
title = "Two throughputs"
question = "Is one acknowledgement for each message a bandwidth?"
[variables]
cause = { total = "what one acknowledgement closes" }
effect = { throughput = "bytes over time" }
[fixed]
mechanism = "pipe"
placement = "same-cpu"
launches = 6
[fixed.latency]
samples = 50
[vary]
workload = ["latency", "throughput"]
total = ["message", "1K", "64K"]
[vary.latency]
size = "1"
[vary.throughput]
size = "4K"
[[hypothesis]]
statement = "More in a transfer carries more"
test = "faster"
left = { workload = "throughput", total = "64K" }
right = { workload = "throughput", total = "message" }
[[hypothesis]]
statement = "A kilobyte of 4 KiB messages is quick"
test = "faster"
left = { workload = "throughput", total = "1K" }
right = { workload = "throughput", total = "message" }
[[hypothesis]]
statement = "The tail is near one of two"
test = "near-either"
of = "p99.99"
left = { workload = "throughput", total = "message" }
right = { workload = "throughput", total = "message" }
or = { workload = "throughput", total = "64K" }
[[derived]]
name = "each"
unit = "parts"
expression = "total / size * 100"
[[table]]
title = "By total"
rows = "total"
show = ["median", "each"]
only = { workload = "throughput" }
beside = ["old", "older"]
[[figure]]
title = "Round trips, whatever a transfer holds"
kind = "boxes"
x = "mechanism"
only = { workload = "latency" }
[[figure]]
title = "Transfers"
kind = "boxes"
x = "mechanism"
only = { workload = "throughput" }
[[floor]]
title = "Kernel calls"
of = ["getpid-of-library", "getuid"]
beside = "old"
[[published]]
name = "old"
machine = "an old one"
place = "Table 1"
unit = "ns"
statistic = "not said"
figures = [
  { floor = "getuid", value = 59 },
  { total = "64K", show = "each", unit = "pieces", value = 77 },
]
[[published]]
name = "older"
machine = "an older one"
place = "Table 2"
unit = "MB/s"
statistic = "median"
figures = [{ total = "message", value = 31.5 }]
"#;

#[test]
#[ignore = "long form"]
fn totals_are_levels_and_derived_columns_and_floors_stand_in_tables() {
    let bench = Bench::thorough();
    bench.put("transfers.toml", TRANSFERS);
    let out = bench.must("-q study run ./transfers.toml --seed 5 --html page.html").out;
    let page = bench.read("page.html");
    for (figure, drawn) in [
        ("study-1", true),
        ("study-1-2", false),
        ("study-2-2", false), // of what no kilobyte holds: an empty plot tells nothing
        ("study-2-3", true),
    ] {
        let there = page.contains(&format!("id=\"figure-{figure}\""));
        assert_eq!(there, drawn, "{figure}: a figure for each level that makes a difference");
    }
    let row = |start: &str| {
        let found = out.lines().find(|line| line.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {out}")).to_string()
    };
    has(&row("64K"), &["1600 parts", "77 pieces"]);
    has(&row("message"), &["100.0 parts", "31.5 MB/s"]);
    has(&row("getuid, by syscall(2)"), &["59 ns"]);
    has(&row("getpid, by C library"), &["–"]);
    has(&out, &["less than one message of 4096 bytes"]);

    let sql = "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id
         WHERE round > 0 AND levels ->> 'workload' = 'throughput' AND levels ->> 'total' = 'message'
           AND batch = 1 AND NOT levels ->> 'twin'";
    assert_eq!(number(&bench.open(), sql), 6, "a message a transfer");
    let sql = "SELECT count(*) FROM cases WHERE levels ->> 'workload' = 'latency' AND levels ->> 'total' IS NULL
         AND levels ->> 'message_bytes' = 1 AND samples_per_launch = 50";
    assert!(number(&bench.open(), sql) >= 1);
    let document = bench.export();
    let results = results(&document);
    let of = |total: serde_json::Value| {
        results.iter().find(|result| result["total"] == total).cloned().expect("a row")
    };
    assert_eq!(of(65536.into())["batch"], 16);
    assert_eq!(of(65536.into())["derived"]["each"]["value"], 1600.0);
    assert_eq!(of(1024.into())["status"], "not_applicable");
    let message = of("message".into());
    assert_eq!((&message["batch"], &message["message_bytes"]), (&1.into(), &4096.into()));
    let closed = list(&document["comparisons"]);
    assert!(closed.iter().any(|value| value["total"] == "message"), "{closed:?}");
}

/// What its server costs, and what a wake-up does, stand beside the response times of a load.
#[test]
#[ignore = "long form"]
fn the_server_of_a_load_has_its_cpus_and_curves_of_times_the_bounds_of_the_machine() {
    const SERVED: &str = r#"
        version = 1
        title = "Spinning or not"
        question = "Which?"
        critique = ["Small."]
        variables = { cause = { rate = "a second" }, effect = { response = "time" } }
        fixed = { workload = "rate", placement = "same-cpu", launches = 6, samples = 40 }
        vary = { mechanism = ["shm-ring:wait=futex", "pipe"], rate = ["1k", "2k"] }
        table = [{ title = "Costs", rows = "mechanism", columns = "rate", show = ["server-cpus", "microjoules"] }]
        [[hypothesis]]
        statement = "A server uses some of one CPU"
        test = "within"
        of = "server-cpus"
        left = { mechanism = "pipe", rate = "1k" }
        within = ["0", "1.1"]
        [[figure]]
        title = "Times"
        kind = "curves"
        x = "rate"
        series = "mechanism"
        floors = ["wake-up"]
        [[figure]]
        title = "Costs"
        kind = "curves"
        x = "rate"
        series = "mechanism"
        of = "server-cpus"
    "#;
    let bench = Bench::thorough();
    bench.put("served.toml", SERVED);
    bench.must("-q study run ./served.toml --seed 5 --html page.html");
    let claim = &bench.export()["claims"][0];
    let is_void = claim["reason"].as_str().is_some_and(|why| why.contains("the sender was late"));
    if is_void {
        return say("skipped the CPUs of a server: others took the time of the sender");
    }
    let cpus = claim["effect"].as_f64().unwrap_or_else(|| panic!("{claim}"));
    assert!(cpus > 0.0 && cpus < 1.1, "{claim}");
    let page = bench.read("page.html");
    let bounded = |nth: u8| {
        let figure = page.split(&format!("id=\"figure-study-{nth}\"")).nth(1).expect("a figure");
        figure.split("</figure>").next().unwrap().contains("wake-up there and back")
    };
    assert_eq!((bounded(1), bounded(2)), (true, false));

    // A line at a time stands in no figure of counts.
    let wrong = SERVED.trim_end().to_string() + "\nfloors = [\"wake-up\"]\n";
    bench.put("served.toml", wrong);
    bench.run("study run ./served.toml --dry-run").fails(2, &["curves of times"]);
}

#[test]
#[ignore = "long form"]
fn a_control_is_marked_and_never_ranked() {
    let bench = Bench::new();
    let line = "-q run unix-stream unix-stream:wiring=self pipe -w latency -s 64 -p same-cpu";
    bench.must(&format!("{line} --launches 12 --samples 300"));
    let out = bench.must("report last -v").out;
    let listed = out.split_once("\ncontrols").expect("a heading of its own").1;
    assert!(listed.contains("unix-stream:wiring=self"), "{out}");
    let verdict = out.split("Results").next().unwrap_or_default();
    assert!(!verdict.contains("wiring=self"), "{verdict}");
    assert_eq!(case_of(&bench.export(), "unix-stream:wiring=self")["carries"], "own");
}

#[test]
fn what_is_wrong_is_one_line_with_file_line_and_word() {
    let bench = Bench::new();
    let broken = [
        ("test = \"faster\"", "test = \"fastre\"", "`faster`"),
        ("mechanism = [\"shm-ring\"", "mechanism = [\"shm-rin\"", "`shm-ring`"),
        ("title = \"A ring", "titel = \"A ring", "`title`"),
        ("launches = 12", "launches = 0", "whole number"),
        ("rows = \"mechanism\"", "rows = \"mechanics\"", "`mechanism`"),
        ("beside = \"old\"", "beside = \"odl\"", "`old`"),
    ];
    for (from, to, word) in broken {
        assert!(SMALL.contains(from), "{from}");
        let text = SMALL.replacen(from, to, 1);
        let refused = validate(&text, "broken.toml", &workload::catalogue(&[])).expect_err(to);
        has(&refused, &["broken.toml:", word]);
    }
    for (line, word) in [
        ("study run 0004", "did you mean"),
        ("study show nothing-like-it", "choose one of"),
        ("study run ./absent.toml", "absent.toml"),
    ] {
        bench.run(line).fails(2, &[word]);
    }
    assert!(!bench.store().exists(), "nothing is stored of what can't be run");
}

#[test]
fn too_few_rounds_are_reported_before_anything_is_measured() {
    let bench = Bench::new();
    let file = small(&bench);
    let dry = |more: &str| bench.must(&format!("study run {file} --dry-run {more}")).out;
    assert!(!dry("").contains("Too few rounds"), "twelve are enough");
    // Three claims together need 7: 2 / 2^7 × 3 is below 0.05.
    let few = dry("--launches 5");
    let warning =
        "5 rounds are asked for, in which none of its claims can be decided: 7 rounds are enough";
    has(&flat(&few), &[warning, "add --launches 7."]);
    let short = flat(&dry("--budget 100ms"));
    has(&short, &["a budget of 100 ms is for about 0 rounds", "add --budget 3s."]);
    assert!(!bench.store().exists(), "and nothing was measured");

    let said = bench.run(&format!("-q study run {file} --launches 5"));
    let said = said.fails(0, &["none of its claims can be decided"]);
    has(&said.out, &["2 not enough rounds, 1 not testable here"]);
    for text in [bench.page_of("last"), bench.must("report last --format markdown").out] {
        has(&text, &["not enough rounds", "not testable here"]);
    }
}

/// Another machine's run of the same study stands beside; one of another study, or none, is refused in a line.
#[test]
fn another_machines_run_stands_beside() {
    let bench = Bench::new();
    bench.put("transfers.toml", TRANSFERS);
    let there = bench.path("there.sqlite").display().to_string();
    for store in [&there, &bench.store().display().to_string()] {
        bench.run(&format!("--store {store} -q study run ./transfers.toml --launches 1 --seed 5"));
    }
    let alone = bench.run("report last -v").out;
    let both = bench.run(&format!("report last -v --beside {there}")).out;
    assert!(flat(&both).contains("nothing here is compared with it"), "{both}");
    assert!(both.contains(": not enough rounds: ") && both.len() > alone.len(), "{both}");
    let empty = bench.path("none.sqlite").display().to_string();
    bench.run(&format!("report last --beside {empty}")).fails(2, &[]);
}
