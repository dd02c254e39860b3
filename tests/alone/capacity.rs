//! Capacities by the program: flags and their refusals, both stages in the store, what is exported and
//! shown, what an interrupted run goes on with, exit codes. Nothing here asserts a speed: where tests side by side
//! made a sender late or left a server no time, only the contract is held.

use std::time::Duration;

use crate::cli_support::searches::{
    WIDE, alone, capacities, line_of, must_be_consistent, was_disturbed,
};
use crate::cli_support::strike::{
    Half, await_store, failed_of, kill_in_one_launch, must_have_left_nothing,
};
use crate::cli_support::{Bench, flat, has, list, must_fit_the_schema, number, say};
use rustix::process::Signal;

#[test]
#[ignore = "long form"]
fn a_capacity_is_sought_in_two_stages_and_told_everywhere() {
    let _turn = alone();
    let bench = Bench::new();
    let said = bench.must(&format!(
        "run pipe tcp -w capacity --bound {WIDE} --rate 2k,1k --connections 1,4 -s 64 -p same-cpu --samples 60 \
         --launches 6 --seed 5"
    ));
    let told = said.err.contains("round 1 of 3") && said.err.contains(" at 2 rates");
    assert!(told && !said.err.contains("precise"), "{}", said.err);
    let document = bench.export();
    must_fit_the_schema(&document);
    assert_eq!(document["request"]["bound"], WIDE);
    let all = capacities(&document);
    assert_eq!(all.len(), 4, "two mechanisms at two numbers of connections: {all:#?}");
    all.iter().for_each(must_be_consistent);
    assert!(document["comparisons"].as_array().is_some_and(Vec::is_empty), "rates are no rivals");
    let db = bench.open();
    let coarse = "SELECT count(*) FROM groups JOIN rounds ON groups.run = rounds.run AND groups.nth = group_nth
         WHERE group_nth < 2";
    assert_eq!(number(&db, coarse), 2 * 3, "three rounds of the rates that were asked for");
    let finer = "SELECT count(*) FROM rounds WHERE group_nth >= 2";
    if !all.iter().any(was_disturbed) {
        assert_eq!(number(&db, finer), 2 * 6, "six rounds for each number of connections");
        for value in all {
            assert_eq!(value["at_least_per_sec"], 2_000, "{value:#}");
        }
    }
    let twins = "SELECT count(*) FROM cases WHERE levels ->> 'twin' = 1";
    assert_eq!(number(&db, twins), 0);
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
}

#[test]
#[ignore = "long form"]
fn launches_with_too_few_messages_say_how_many_they_lack() {
    let _turn = alone();
    let bench = Bench::new();
    let said = bench.must(
        "run pipe -w capacity --bound p99:10s --rate 1k -s 64 -p same-cpu --samples 40 --launches 2",
    );
    let document = bench.export();
    let rate = &capacities(&document)[0]["rates"][0];
    assert!(rate["verdict"] == "undecided" && rate["messages_lacking"] == 328, "{rate:#}");
    has(&flat(&said.out), &["lack 328 of the 368 messages that a p99 takes"]);
}

#[test]
#[ignore = "long form"]
fn launches_that_the_time_limit_cut_and_what_was_not_tried_are_told() {
    let _turn = alone();
    for line in [
        "run pipe posix-queue -w capacity --bound p50:10s -s 1M --rate 500,1k --samples 400",
        "choose pipe posix-queue --bound p50:10s --size 1M --rate 500",
    ] {
        let bench = Bench::new();
        let said = bench.run(&format!("{line} -p same-cpu --launches 60 --budget 2s"));
        let text = flat(&said.out);
        has(&text, &["60 launches of each case were planned: ", "posix-queue: carries at most"]);
    }
}

#[test]
#[ignore = "long form"]
fn an_interrupted_search_is_taken_up_again_in_either_stage() {
    let _turn = alone();
    let asked = format!(
        "run pipe -w capacity --bound {WIDE} --rate 1k,2k -s 64 -p same-cpu --samples 60 --launches 6 --seed 3"
    );
    // In the first stage, and once there is a second one.
    for (stage, until) in [
        ("first", "SELECT count(*) >= 2 FROM launches WHERE round > 0"),
        ("second", "SELECT count(*) >= 1 FROM cases WHERE group_nth = 1"),
    ] {
        let bench = Bench::new();
        let mut running = bench.begin(&asked);
        await_store(&bench, &mut running, until);
        running.signal(Signal::INT);
        let said = running.finish(Duration::from_secs(30));
        if said.code == Some(0) {
            say(&format!("skipped a resume in the {stage} stage: the run ended before the signal"));
            continue;
        }
        assert_eq!(said.code, Some(130), "{stage}: {}", said.err);
        must_fit_the_schema(&bench.export());
        bench.must("run --resume last");
        let document = bench.export();
        assert_eq!(document["status"], "complete", "{stage}");
        let it = &capacities(&document)[0];
        must_be_consistent(it);
        let rounds = "SELECT max(nth) FROM rounds WHERE group_nth = 1";
        if !was_disturbed(it) {
            assert_eq!(number(&bench.open(), rounds), 6, "{stage}");
        }
        let groups = "SELECT count(*) FROM groups";
        assert!(number(&bench.open(), groups) <= 2, "{stage}: no stage is made twice");
    }
}

#[test]
#[ignore = "long form"]
fn a_worker_that_dies_during_a_search_is_named_and_the_rest_is_reported() {
    let _turn = alone();
    for half in [Half::Initiator, Half::Responder] {
        let bench = Bench::new();
        let mut running = bench.begin(&format!(
            "run unix-stream pipe -w capacity --bound {WIDE} --connections 4 --rate 1k,2k -s 64 -p same-cpu \
             --samples 100 --launches 9"
        ));
        kill_in_one_launch(&bench, &mut running, half);
        let said = running.finish(Duration::from_secs(60));
        assert_eq!(said.code, Some(0), "{half:?}: {}", said.err);
        must_have_left_nothing(&bench);
        let document = bench.export();
        must_fit_the_schema(&document);
        let text = flat(&said.out);
        for capacity in capacities(&document) {
            must_be_consistent(capacity);
            let variant = capacity["variant"].as_str().expect("a name");
            let (failed, all) = failed_of(&bench, variant, "1");
            assert!(capacity["status"] == "ok" && capacity["launches"] == all, "{capacity:#}");
            assert_eq!(list(&capacity["failures"]).len(), usize::from(failed > 0));
            match line_of(&bench, variant, half) {
                Some(line) => {
                    let line = format!("! {variant} with 4 clients: {line}");
                    assert!(text.contains(&line), "{line}: {}", said.out);
                    assert_eq!(capacity["failures"][0]["launches"], failed, "{capacity:#}");
                }
                None => assert!(!text.contains(&format!("! {variant} with")), "{}", said.out),
            }
        }
    }
}
