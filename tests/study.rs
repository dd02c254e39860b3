//! Studies from the command line: listed, shown, planned, run, written up again from the store;
//! and what is said of a study that is none.

mod cli_support;

use cli_support::{Bench, number};

const SMALL: &str = r#"
version = 1
title = "A ring against a socket"
question = "Which is quicker on one CPU?"
critique = ["Twelve launches are few."]
[source]
title = "None"
author = "nobody"
[variables]
cause = { mechanism = "the way" }
effect = { latency = "round trip" }
[fixed]
placement = "same-cpu"
size = "64"
launches = 12
samples = 300
[vary]
mechanism = ["shm-ring", "tcp", "unix-stream:wiring=self"]
[[hypothesis]]
statement = "The ring is quicker than TCP"
test = "faster"
left = { mechanism = "shm-ring" }
right = { mechanism = "tcp" }
claimed = "everywhere"
[[hypothesis]]
statement = "TCP is quicker than the ring"
test = "faster"
left = { mechanism = "tcp" }
right = { mechanism = "shm-ring" }
[[hypothesis]]
statement = "On two sockets it is the other way round"
test = "faster"
left = { mechanism = "tcp", placement = "cross-node" }
right = { mechanism = "shm-ring", placement = "cross-node" }
[[table]]
title = "Round trips"
rows = "mechanism"
show = ["median", "min", "mean"]
beside = "old"
[[figure]]
title = "Round trips beside an old one"
kind = "bars"
x = "mechanism"
beside = "old"
[[figure]]
title = "Launches"
kind = "boxes"
x = "mechanism"
leave-out-first = true
[[figure]]
title = "One round trip"
kind = "protocol"
[[published]]
name = "old"
machine = "an old one"
year = 1999
place = "Table 1"
unit = "us"
statistic = "mean"
figures = [{ mechanism = "tcp", value = 123.5 }]
"#;

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

#[test]
fn a_study_is_run_decided_and_written_up_again() {
    let bench = Bench::new();
    let file = small(&bench);
    let said = bench.must(&format!("-q study run {file} --seed 5 --html page.html"));
    let out = &said.out;
    assert!(out.starts_with("A ring against a socket\n"), "{out}");
    assert!(
        out.contains("Of 3 claims here: 1 supported, 1 refuted, 1 not testable here."),
        "{out}"
    );
    assert!(out.contains("Supported: The ring is quicker than TCP."), "{out}");
    assert!(out.contains("Refuted: TCP is quicker than the ring."), "{out}");
    assert!(out.contains("Claimed: everywhere."), "{out}");
    assert!(out.contains("123.5 us") && out.contains("an old one, 1999; Table 1"), "{out}");
    assert!(out.contains("Twelve launches are few."), "{out}");
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM launches WHERE round > 0"), 12 * 4);
    assert_eq!(bench.must("report last").out, *out, "written up from the store alone");
    let page = std::fs::read_to_string(bench.path("page.html")).expect("the page");
    assert!(page.contains("A ring against a socket") && page.contains("<title>"));
    for (nth, words) in ["printed: 123.5 us", "11 launches", "message, 64 B"].iter().enumerate() {
        let figure = page.split(&format!("id=\"figure-study-{}\"", nth + 1)).nth(1);
        let figure = figure.and_then(|it| it.split("</figure>").next()).expect("it is drawn");
        assert!(figure.contains(words), "{words}");
    }
    assert!(page.contains("Signs stand for what was printed: old (mean on an old one, 1999)."));
    assert!(page.contains("Launch 1 of each case is left out here, and here alone."));
    assert!(out.contains("┃ timed: one round trip"), "{out}");
}

#[test]
fn a_control_is_marked_and_never_ranked() {
    let bench = Bench::new();
    let line = "-q run unix-stream unix-stream:wiring=self pipe -w latency -s 64 -p same-cpu";
    let out = bench.must(&format!("{line} --launches 12 --samples 300")).out;
    assert!(out.contains("unix-stream:wiring=self (control)"), "{out}");
    let verdict = out.split("Results").next().unwrap_or_default();
    assert!(!verdict.contains("wiring=self"), "{verdict}");
    let document = bench.export();
    let of = |variant: &str| {
        let results = document["results"].as_array().unwrap();
        results.iter().find(|it| it["variant"] == variant).cloned().expect("a row")
    };
    assert_eq!(of("unix-stream:wiring=self")["carries"], "own");
}

#[test]
fn what_is_wrong_is_one_line_with_file_line_and_word() {
    let bench = Bench::new();
    let file = bench.path("broken.toml").display().to_string();
    let broken = [
        ("test = \"faster\"", "test = \"fastre\"", "`faster`"),
        ("mechanism = [\"shm-ring\"", "mechanism = [\"shm-rin\"", "`shm-ring`"),
        ("title = \"A ring", "titel = \"A ring", "`title`"),
        ("launches = 12", "launches = 0", "whole number"),
        ("rows = \"mechanism\"", "rows = \"mechanics\"", "`mechanism`"),
        ("beside = \"old\"", "beside = \"odl\"", "one of old"),
    ];
    for (from, to, word) in broken {
        assert!(SMALL.contains(from), "{from}");
        std::fs::write(&file, SMALL.replacen(from, to, 1)).expect("write");
        let said = bench.run(&format!("study run {file}"));
        assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{to}: {}", said.err);
        assert!(said.err.contains("broken.toml:") && said.err.contains(word), "{}", said.err);
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
