//! Studies from the command line: listed, shown, planned, run, written up again from the store;
//! and what is said of a study that is none.

use crate::cli_support::{Bench, flat, must_fit_the_schema, number, say};
use study::validated::validate;

const SMALL: &str = include_str!("small_study.toml");

fn small(bench: &Bench) -> String {
    let path = bench.path("small.toml");
    std::fs::write(&path, SMALL).expect("write the study");
    path.display().to_string()
}

#[test]
fn the_five_works_are_listed_shown_and_planned() {
    let bench = Bench::new();
    let listed = bench.must("study list").out;
    for name in ["000", "001", "002", "003", "004"] {
        assert!(listed.lines().any(|line| line.starts_with(name)), "{name}: {listed}");
        let text = bench.must(&format!("study show {name}")).out;
        assert!(text.contains("version = 1") && text.contains("[[hypothesis]]"), "{text}");
        let planned = bench.must(&format!("study run {name} --dry-run")).out;
        assert!(planned.contains("cases") && planned.contains("launches"), "{planned}");
    }
    assert!(!bench.store().exists(), "planning measures nothing");
}

/// What the study said of the claim that begins so. Which of two is quicker is the machine's
/// affair, and a busy one may not tell: what a verdict follows from is tested on synthetic launches
/// (src/judge/hypothesis/tests.rs).
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
    let said = bench.must(&format!("-q study run {file} --seed 5"));
    let out = &said.out;
    assert!(out.starts_with("A ring against a socket\n"), "{out}");
    let (ring, tcp) = (verdict(out, "The ring is quicker"), verdict(out, "TCP is quicker"));
    let mirrored = match ring {
        "Supported" => "Refuted",
        "Refuted" => "Supported",
        neither => neither,
    };
    assert_eq!(tcp, mirrored, "what speaks for a claim speaks against its opposite: {out}");
    assert_eq!(verdict(out, "On two sockets it is"), "Not testable here");
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM launches WHERE round > 0"), 12 * 4);
    assert_eq!(bench.must("report last").out, *out, "written up from the store alone");
    // Other programs read the same claims.
    let document = bench.export();
    must_fit_the_schema(&document);
    let claims = document["claims"].as_array().expect("the claims");
    let verdicts: Vec<&str> =
        claims.iter().map(|claim| claim["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, [&*ring.to_lowercase(), &*tcp.to_lowercase(), "not_testable"]);
    assert!(claims[0]["words"].is_string() && claims[0]["p_holm"].is_number(), "{claims:#?}");
    let [low, effect, high] =
        ["low", "effect", "high"].map(|text| claims[0][text].as_f64().unwrap());
    assert!(low <= effect && effect <= high && claims[0]["unit"] == "ratio", "{claims:#?}");
    assert!(claims[2]["reason"].is_string() && claims[2]["effect"].is_null(), "{claims:#?}");
    let events = bench.must("export last --format ndjson").out;
    let events =
        events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let of_events: Vec<serde_json::Value> = events
        .filter(|event| event["event"] == "claim")
        .map(|mut event| event["claim"].take())
        .collect();
    assert_eq!(&of_events, claims);
}

#[test]
#[ignore = "long form"]
fn the_gate_of_a_study_is_what_became_of_its_claims() {
    let bench = Bench::new();
    let file = small(&bench);
    let said = bench.run(&format!("-q study run {file} --seed 5 --gate"));
    let document = bench.export();
    let claims = document["claims"].as_array().expect("the claims");
    let refuted = claims.iter().any(|claim| claim["verdict"] == "refuted");
    // One of them is not testable, so that all can't be supported.
    assert_eq!(said.code, Some(if refuted { 3 } else { 4 }), "{}", said.err);
}

#[test]
fn launches_that_the_time_limit_cut_are_told_before_the_claims() {
    let bench = Bench::new();
    let said =
        bench.run(&format!("study run {} --launches 400 --budget 1s --no-wait", small(&bench)));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let (told, claims) =
        (said.out.find("400 launches of each case were planned"), said.out.find("Claims"));
    assert!(told.is_some() && told < claims, "{}", said.out);
}

#[test]
#[ignore = "long form"]
fn a_stored_study_that_can_not_be_read_is_one_line_and_no_missing_section() {
    let bench = Bench::new();
    let file = small(&bench);
    bench.must(&format!("-q study run {file} --seed 5"));
    bench.edit(r"UPDATE runs SET request = replace(request, 'left = {', 'lift = {')");
    for line in ["report last", "export last --format csv"] {
        let said = bench.run(line);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{line}: {}", said.err);
        assert!(said.err.contains("`lift`") && said.err.contains("the build that measured it"));
        assert_eq!(said.err.trim_end().lines().count(), 1, "{}", said.err);
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
    let file = bench.path("transfers.toml");
    std::fs::write(&file, TRANSFERS).expect("write the study");
    let run = format!("-q study run {} --seed 5 --html page.html", file.display());
    let out = bench.must(&run).out;
    let page = std::fs::read_to_string(bench.path("page.html")).expect("the page");
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
    assert!(row("64K").contains("1600 parts") && row("64K").contains("77 pieces"), "{out}");
    assert!(row("message").contains("100.0 parts"), "{out}");
    assert!(row("message").contains("31.5 MB/s"), "{out}");
    assert!(row("getuid, by syscall(2)").contains("59 ns"), "{out}");
    assert!(row("getpid, by C library").contains('–'), "{out}");
    assert!(out.contains("less than one message of 4096 bytes"), "{out}");

    let sql = "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id
         WHERE round > 0 AND levels ->> 'workload' = 'throughput' AND levels ->> 'total' = 'message'
           AND batch = 1 AND NOT levels ->> 'twin'";
    assert_eq!(number(&bench.open(), sql), 6, "a message a transfer");
    let sql = "SELECT count(*) FROM cases WHERE levels ->> 'workload' = 'latency' AND levels ->> 'total' IS NULL
         AND levels ->> 'message_bytes' = 1 AND samples_per_launch = 50";
    assert!(number(&bench.open(), sql) >= 1);
    let document = bench.export();
    let results = document["results"].as_array().unwrap();
    let of = |total: serde_json::Value| {
        results.iter().find(|result| result["total"] == total).cloned().expect("a row")
    };
    assert_eq!(of(65536.into())["batch"], 16);
    assert_eq!(of(65536.into())["derived"]["each"]["value"], 1600.0);
    assert_eq!(of(1024.into())["status"], "not_applicable");
    let message = of("message".into());
    assert_eq!((&message["batch"], &message["message_bytes"]), (&1.into(), &4096.into()));
    let closed = document["comparisons"].as_array().unwrap();
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
    let file = bench.path("served.toml");
    std::fs::write(&file, SERVED).expect("write the study");
    bench.must(&format!("-q study run {} --seed 5 --html page.html", file.display()));
    let claim = &bench.export()["claims"][0];
    let is_void = claim["reason"].as_str().is_some_and(|why| why.contains("the sender was late"));
    if is_void {
        return say("skipped the CPUs of a server: others took the time of the sender");
    }
    let cpus = claim["effect"].as_f64().unwrap_or_else(|| panic!("{claim}"));
    assert!(cpus > 0.0 && cpus < 1.1, "{claim}");
    let page = std::fs::read_to_string(bench.path("page.html")).expect("the page");
    let figure = |id: &str| {
        page.split(id).nth(1).unwrap_or_else(|| panic!("{id}")).split("</figure>").next()
    };
    let bound = "wake-up there and back";
    assert!(figure("id=\"figure-study-1\"").is_some_and(|svg| svg.contains(bound)));
    assert!(!figure("id=\"figure-study-2\"").is_some_and(|svg| svg.contains(bound)));

    // A line at a time stands in no figure of counts.
    let wrong = SERVED.trim_end().to_string() + "\nfloors = [\"wake-up\"]\n";
    std::fs::write(&file, wrong).expect("write the study");
    let said = bench.run(&format!("study run {} --dry-run", file.display()));
    assert!(said.code == Some(2) && said.err.contains("curves of times"), "{}", said.err);
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
    let document = bench.export();
    let of = |variant: &str| {
        let results = document["results"].as_array().unwrap();
        results.iter().find(|result| result["variant"] == variant).cloned().expect("a row")
    };
    assert_eq!(of("unix-stream:wiring=self")["carries"], "own");
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
        assert!(refused.contains("broken.toml:") && refused.contains(word), "{refused}");
    }
    for (line, word) in [
        ("study run 0004", "did you mean"),
        ("study show nothing-like-it", "choose one of"),
        ("study run ./absent.toml", "absent.toml"),
    ] {
        let said = bench.run(line);
        assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{line}: {}", said.err);
        assert!(said.err.contains(word), "{line}: {}", said.err);
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
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain(&few).contains(warning), "{few}");
    assert!(plain(&few).contains("add --launches 7."), "{few}");
    let short = plain(&dry("--budget 100ms"));
    assert!(short.contains("a budget of 100 ms is for about 0 rounds"), "{short}");
    assert!(short.contains("add --budget 2s."), "{short}");
    assert!(!bench.store().exists(), "and nothing was measured");

    let said = bench.must(&format!("-q study run {file} --launches 5"));
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(said.err.contains("none of its claims can be decided"), "{}", said.err);
    assert!(said.out.contains("2 not enough rounds, 1 not testable here"), "{}", said.out);
    bench.must("report last --html page.html");
    let page = std::fs::read_to_string(bench.path("page.html")).expect("the page");
    let paper = bench.must("report last --format markdown").out;
    for text in [&page, &paper] {
        assert!(text.contains("not enough rounds") && text.contains("not testable here"));
    }
}

/// Another machine's run of the same study stands beside; one of another study, or none, is refused in a line.
#[test]
fn another_machines_run_stands_beside() {
    let bench = Bench::new();
    std::fs::write(bench.path("transfers.toml"), TRANSFERS).expect("write the study");
    let there = bench.path("there.sqlite").display().to_string();
    for store in [&there, &bench.store().display().to_string()] {
        bench.run(&format!("--store {store} -q study run ./transfers.toml --launches 1 --seed 5"));
    }
    let alone = bench.run("report last -v").out;
    let both = bench.run(&format!("report last -v --beside {there}")).out;
    assert!(flat(&both).contains("nothing here is compared with it"), "{both}");
    assert!(both.contains(": not enough rounds: ") && both.len() > alone.len(), "{both}");
    let empty = bench.path("none.sqlite").display().to_string();
    let refused = bench.run(&format!("report last --beside {empty}"));
    assert_eq!((refused.code, refused.err.lines().count()), (Some(2), 1), "{}", refused.err);
}
