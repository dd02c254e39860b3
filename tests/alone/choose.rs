//! Choices by the program: the answer on one screen and as JSON, its exit code, where nothing is measured, and
//! workers that die. As in tests/capacity.rs no speed is asserted.

use std::time::Duration;

use crate::cli_support::searches::{
    NARROW, WIDE, alone, capacities, line_of, must_be_consistent, was_disturbed,
};
use crate::cli_support::strike::{
    Half, await_store, failed_of, kill_in_every_launch, kill_in_one_launch, must_have_left_nothing,
};
use crate::cli_support::{
    Bench, Schema, flat, has, list, must_fit_the_schema, number, output, parse, say,
};
use rustix::process::Signal;
use serde_json::Value;

/// An answer is what its published schema says.
fn must_fit_the_choice(document: &Value) {
    Schema::of(include_str!("../../docs/choice.schema.json")).must_accept(document);
}

#[test]
fn a_choice_is_told_in_one_screen_and_its_exit_code_is_that_of_its_answer() {
    let _turn = alone();
    for (bound, launches, expected, of) in [
        (WIDE, 7, "pick", "pipe tcp"),
        (NARROW, 7, "nothing", "pipe"),
        (WIDE, 2, "undecided", "pipe"),
    ] {
        let line = format!(
            "choose {of} eventfd shm-ring:wait=spin --size 64 -p same-cpu --rate 1k --bound {bound} --blocking \
             --launches {launches} --budget 60s --seed 4"
        );
        let bench = Bench::new();
        let said = bench.run(&format!("{line} --format json"));
        let document = parse(&said.out);
        must_fit_the_choice(&document);
        let answer = document["answer"].as_str().expect("an answer");
        let code = match answer {
            "pick" => 0,
            "nothing" => 1,
            _ => 4,
        };
        assert_eq!(said.code, Some(code), "{line}: {}", said.err);
        let capacity = list(&document["capacity"]);
        capacity.iter().for_each(must_be_consistent);
        let measured = capacity.iter().filter(|value| value["status"] == "ok").collect::<Vec<_>>();
        if !measured.iter().any(|value| was_disturbed(value)) {
            assert_eq!(answer, expected, "{line}: {document:#}");
        }
        let rejected = |variant: &str| {
            let all = list(&document["rejected"]);
            let found = all.iter().find(|value| value["variant"] == variant);
            found.unwrap_or_else(|| panic!("{variant}: {all:#?}"))["detail"].clone()
        };
        assert_eq!(rejected("eventfd"), "carries a wake-up alone");
        assert_eq!(rejected("shm-ring:wait=spin"), "busy-waits, and --blocking was asked");
        assert_eq!(document["pick"].is_null(), answer != "pick", "{document:#}");
        for name in ["pick", "runner_up"] {
            let it = &document[name];
            assert!(it.is_null() || it["verdict"] == "holds", "{it:#}");
        }
        must_fit_the_schema(&bench.export());
        let text = bench.must("report last").out;
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains("Not shown at this width"), "{text}");
        let words = match answer {
            "pick" => "Use ",
            "nothing" => "Nothing qualifies.",
            _ => "Undecided",
        };
        assert!(text.contains(words) && text.contains("rejected"), "{text}");
        let tried = "SELECT count(DISTINCT levels ->> 'load') FROM cases WHERE levels ->> 'variant' = 'pipe'";
        assert_eq!(number(&bench.open(), tried), 3, "the rate and its multiples, in one group");
        assert_eq!(number(&bench.open(), "SELECT count(*) FROM groups"), 1);
    }
}

#[test]
#[ignore = "long form"]
fn a_budget_that_is_too_short_is_said_after_the_first_round() {
    let _turn = alone();
    let line = "choose pipe fifo unix-stream tcp --size 64 -p same-cpu --rate 1k --bound p99:1s --budget 3s";
    let said = Bench::new().run(line);
    assert_eq!(said.code, Some(4), "a round lasts 2.8 s by its schedules: {}", said.err);
    let told = flat(&said.err);
    has(&told, &["7 that agree decide: give --budget", "time for less than 7 rounds of"]);
    assert!(flat(&said.out).contains("Only 1 round was measured"), "{}", said.out);
}

#[test]
#[ignore = "long form"]
fn a_budget_that_has_no_time_for_all_leaves_out_what_matters_least() {
    let _turn = alone();
    let bench = Bench::new();
    let line = "choose pipe fifo unix-stream tcp --size 64 -p same-cpu --rate 1k --bound p99:1s --budget 8s --format json";
    let said = bench.run(line);
    let told = flat(&said.err);
    has(&told, &["no time for 7 rounds of all mechanisms: those that were slowest"]);
    let document = parse(&said.out);
    must_fit_the_choice(&document);
    let rejected = list(&document["rejected"]);
    let out = rejected.iter().filter(|value| value["reason"] == "left_out").count();
    assert!((1..4).contains(&out), "launches of 0.4 s leave no time for four: {document:#}");
    let launches = "SELECT count(DISTINCT levels ->> 'variant') FROM launches JOIN cases ON cases.id = case_id WHERE round > 1";
    assert_eq!(number(&bench.open(), launches), 4 - out as i64);
    assert!(number(&bench.open(), "SELECT max(nth) FROM rounds") >= 5, "{told}");
    has(
        &flat(&bench.run("report last").out),
        &["not tried", "there was time for what was quicker"],
    );
}

#[test]
#[ignore = "long form"]
fn a_choice_to_another_host_is_among_what_reaches_it() {
    let _turn = alone();
    let bench = Bench::new();
    let said = bench.run(&format!(
        "choose pipe tcp udp --size 64 --rate 500 --bound {WIDE} --peer env --launches 7 --format json"
    ));
    let document = parse(&said.out);
    must_fit_the_choice(&document);
    let rejected = list(&document["rejected"]);
    let pipe =
        rejected.iter().find(|value| value["variant"] == "pipe").expect("no pipe reaches it");
    assert_eq!(pipe["reason"], "not_measured", "{pipe:#}");
    let capacity = capacities(&document);
    capacity.iter().for_each(must_be_consistent);
    assert!(capacity.iter().all(|value| value["route"] == "peer"), "{capacity:#?}");
    if !capacity.iter().filter(|value| value["status"] == "ok").any(was_disturbed) {
        assert_eq!(document["answer"], "pick", "{document:#}");
    }
}

#[test]
#[ignore = "long form"]
fn where_nothing_is_measured_the_evidence_says_so() {
    let _turn = alone();
    let need = format!("--size 64 --rate 1k --bound {WIDE} -p same-cpu");
    let (refused, crowded) = (Bench::new(), Bench::new());
    let line = format!("choose eventfd noop {need}");
    let said = [
        (&refused, refused.run(&line), 5, "Nothing could be measured."),
        (
            &crowded,
            output(
                &mut crowded
                    .after("ulimit -n 256", &format!("choose pipe --connections 3000 {need}")),
            ),
            5, // a limit is in the way of all that was asked for
            "3000 connections take 12032 descriptors, the limit on open files is 256",
        ),
    ];
    for (bench, said, code, words) in said {
        assert_eq!(said.code, Some(code), "{}", said.err);
        let text = flat(&said.out);
        has(&text, &["evidence run 1: nothing was measured", "Nothing qualifies.", words]);
        must_have_left_nothing(bench);
    }
    let bench = Bench::new();
    let mut running = bench.begin(&format!("choose pipe tcp {need}"));
    await_store(&bench, &mut running, "SELECT count(*) FROM cases");
    running.signal(Signal::INT);
    let said = running.finish(Duration::from_secs(30)).ends(130);
    must_have_left_nothing(&bench);
    if number(&bench.open(), "SELECT count(*) FROM launches WHERE round > 0") > 0 {
        return say("skipped an interrupted choice: a launch came before the signal");
    }
    let text = flat(&said.out);
    has(&text, &["evidence run 1: nothing was measured", "Undecided. The run ended before"]);
}

#[test]
#[ignore = "long form"]
fn an_interrupted_choice_keeps_all_its_finished_rounds() {
    let _turn = alone();
    let bench = Bench::new();
    // A server that works 150 µs over each can't serve 8,000 a second: that rate is ended after six rounds.
    let mut running = bench.begin(&format!(
        "choose pipe --size 64 --rate 2k --service 150us --bound {WIDE} -p same-cpu --launches 12 --seed 3"
    ));
    await_store(&bench, &mut running, "SELECT count(*) FROM rounds WHERE nth >= 8");
    running.signal(Signal::INT);
    let said = running.finish(Duration::from_secs(30));
    if said.code == Some(0) {
        return say("skipped a choice taken up again: it ended before the signal");
    }
    assert_eq!(said.code, Some(130), "{}", said.err);
    let ids = |bench: &Bench| {
        let launches = "SELECT group_concat(id) FROM (SELECT launches.id FROM launches JOIN cases ON \
                        cases.id = case_id WHERE round BETWEEN 1 AND 8 AND levels ->> '$.load.per_second' = 2000 ORDER BY round)";
        bench.open().query_row(launches, [], |row| row.get::<_, String>(0)).expect("launches")
    };
    let before = ids(&bench);
    bench.run("run --resume last");
    assert_eq!(ids(&bench), before, "launches of finished rounds were made again");
    let rounds = number(&bench.open(), "SELECT max(nth) FROM rounds");
    assert!(rounds >= 12, "{rounds}");
    must_have_left_nothing(&bench);
}

#[test]
#[ignore = "long form"]
fn a_choice_names_who_died_and_picks_nothing_that_did() {
    let _turn = alone();
    let need =
        format!("--size 64 --rate 1k --connections 4 --bound {WIDE} -p same-cpu --launches 9");
    for half in [Half::Initiator, Half::Responder] {
        let bench = Bench::new();
        let mut running =
            bench.begin(&format!("choose unix-stream pipe {need} --budget 60s --format json"));
        kill_in_one_launch(&bench, &mut running, half);
        let said = running.finish(Duration::from_secs(60));
        must_have_left_nothing(&bench);
        let document = parse(&said.out);
        must_fit_the_choice(&document);
        let text = flat(&bench.must("report last").out);
        let rejected = list(&document["rejected"]);
        for variant in ["unix-stream", "pipe"] {
            let Some(line) = line_of(&bench, variant, half) else { continue };
            assert!(text.contains(&line), "{line}: {text}");
            let (at_need, _) = failed_of(&bench, variant, "levels ->> '$.load.per_second' = 1000");
            let is_rejected = rejected
                .iter()
                .any(|value| value["variant"] == variant && value["reason"] == "failed");
            assert_eq!(is_rejected, at_need > 0, "{document:#}");
            assert!(at_need == 0 || document["pick"]["variant"] != variant, "{document:#}");
        }
    }
}

#[test]
#[ignore = "long form"]
fn a_mechanism_whose_launches_all_fail_is_rejected_with_the_reason() {
    let _turn = alone();
    let bench = Bench::new();
    let mut running = bench.begin(&format!(
        "choose unix-stream --size 64 --rate 1k --connections 4 --bound {WIDE} -p same-cpu --launches 9 --format json"
    ));
    kill_in_every_launch(&bench, &mut running, Half::Responder);
    let said = running.finish(Duration::from_secs(60)).ends(1);
    must_have_left_nothing(&bench);
    let document = parse(&said.out);
    must_fit_the_choice(&document);
    assert_eq!((&document["answer"], &document["pick"]), (&"nothing".into(), &Value::Null));
    let rejected = &document["rejected"][0];
    assert!(rejected["variant"] == "unix-stream" && rejected["reason"] == "failed", "{rejected}");
    assert!(rejected["detail"].as_str().is_some_and(|text| text.contains("killed by signal 9")));
    let report = bench.run("report last");
    assert_eq!(report.code, Some(1), "nothing was measured: {}", report.err);
    let text = flat(&report.out);
    let line = line_of(&bench, "unix-stream", Half::Responder).expect("launches failed");
    assert!(text.contains(&format!("rejected unix-stream: {line}")), "{text}");
}
