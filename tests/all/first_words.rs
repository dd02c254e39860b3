//! What is said of a run at its beginning and its end, on the terminal and on its page: once, in words, and as it is.

use std::collections::BTreeSet;

use crate::cli_support::{Bench, flat, parse, say};

#[test]
fn variants_of_a_mechanism_say_what_differs() {
    let bench = Bench::new();
    let listed = parse(&bench.run("list --format json").out);
    let variants = listed["variants"].as_array().or(listed["mechanisms"].as_array()).unwrap();
    let summaries: Vec<&str> =
        variants.iter().map(|variant| variant["summary"].as_str().unwrap()).collect();
    let distinct: BTreeSet<&&str> = summaries.iter().collect();
    assert_eq!(distinct.len(), summaries.len(), "{summaries:?}");
    let text = flat(&bench.run("list").out);
    assert!(text.contains("the sender copies") && !text.contains("by other means"), "{text}");
}

/// Of several placements there is one warning, which counts the cases of all.
#[test]
fn launches_that_are_shorter_than_asked_are_told_once() {
    let bench = Bench::new();
    let line = "run pipe tcp -w latency -s 64,4K --samples 10000000 --launches 1 --budget 1s";
    let said = bench.must(line);
    let told = said.err.matches(" take fewer samples than were asked for").count();
    assert_eq!(told, 1, "{}", said.err);
}

#[test]
fn a_document_makes_the_folder_of_its_figures_and_no_other() {
    let bench = Bench::new();
    bench.must("run pipe tcp -w latency -s 64,4K -p same-cpu --launches 2 --samples 10");
    let said = bench.run("report --format markdown -o nosuch/page.md");
    said.is_refused(&["nosuch/page.md: No such file"]);
    assert!(!bench.path("nosuch").exists());
    bench.must("report --format markdown -o page.md");
    assert!(bench.path("page.md.figures").is_dir());
}

/// The usual places of an explanation are nothing that somebody asked for.
#[test]
fn places_that_nobody_named_are_missed_by_nobody() {
    let bench = Bench::new();
    let said = bench.run("explain pipe -s 64 --launches 1");
    if said.err.contains("explain needs a trace") {
        return say(&format!("skipped explanations: {}", said.err));
    }
    assert_eq!(said.code, Some(0), "{}", said.err);
    let all = ["smt-sibling", "cross-llc", "cross-node"];
    let absent = all.into_iter().find(|place| said.out.contains(&format!("{place}: ")));
    let Some(absent) = absent else { return say("skipped: every placement exists here") };
    let said = bench
        .run(&format!("explain pipe -s 64 --launches 1 -p {absent}"))
        .fails(5, &["nothing to take apart: "]);
    assert!(!said.err.contains("name a mechanism"), "{}", said.err);
}
