//! Capacities and choices by the program: flags and their refusals, both stages in the store, what is exported and
//! shown, what an interrupted run goes on with, exit codes. Nothing here asserts a speed: where tests side by side
//! made a sender late or left a server no time, only the contract is held.

mod cli_support;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use boon::{Compiler, Schemas};
use cli_support::{Bench, flat, must_fit_the_schema, number, parse, say, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// A bound that any launch keeps which served what was due, and one that none does.
const WIDE: &str = "p50:10s";
const NARROW: &str = "p50:1ns";

fn capacities(document: &Value) -> &Vec<Value> {
    document["capacity"].as_array().expect("capacity")
}

/// Tests of this program take turns: a sender that shares its CPU with another test's is late.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What holds of any capacity, whatever was measured.
fn must_be_consistent(it: &Value) {
    let rates = it["rates"].as_array().expect("rates");
    let number = |of: &Value| of.as_u64().unwrap_or_else(|| panic!("a number: {it:#}"));
    let each: Vec<u64> = rates.iter().map(|rate| number(&rate["per_sec"])).collect();
    assert!(each.is_sorted_by(|a, b| a < b), "{it:#}");
    for rate in rates {
        let parts = ["passed", "broke", "void"].map(|part| number(&rate[part]));
        assert!(parts.iter().sum::<u64>() <= number(&rate["launches"]), "{rate:#}");
    }
    let [low, high] = ["at_least_per_sec", "below_per_sec"].map(|end| it[end].as_u64());
    assert!(low.zip(high).is_none_or(|(low, high)| low < high), "{it:#}");
    for (end, verdict) in [(low, "holds"), (high, "fails")] {
        let Some(end) = end else { continue };
        let rate = rates.iter().find(|rate| rate["per_sec"] == end).expect("a rate that was tried");
        assert_eq!(
            (&rate["verdict"], &rate["decides"]),
            (&verdict.into(), &true.into()),
            "{rate:#}"
        );
        assert!(number(&rate["launches"]) >= 6, "{rate:#}");
    }
}

/// Whether other tests took the time of these: the sender was late, or a launch broke a bound that only what wasn't
/// served breaks. It says nothing of the program, and is said aloud.
fn was_disturbed(it: &Value) -> bool {
    let mut rates = it["rates"].as_array().expect("rates").iter();
    let late = rates.clone().any(|rate| rate["void"].as_u64() > Some(0));
    let held_up = it["bound"] == WIDE && rates.any(|rate| rate["broke"].as_u64() > Some(0));
    if late || held_up {
        say("skipped a verdict: other tests took the time of the sender or of the server");
    }
    late || held_up
}

#[test]
fn a_capacity_is_sought_in_two_stages_and_told_everywhere() {
    let _turn = alone();
    let bench = Bench::new();
    let (page, markdown) = (bench.path("page.html"), bench.path("page.md"));
    let said = bench.must(&format!(
        "run pipe tcp -w capacity --bound {WIDE} --rate 2k,1k --connections 1,4 -s 64 -p same-cpu --samples 60 \
         --launches 6 --seed 5 --html {}",
        page.display()
    ));
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
        for it in all {
            assert_eq!(it["at_least_per_sec"], 2_000, "{it:#}");
        }
        assert!(
            flat(&said.out).contains("2.00 k/s is the highest rate that was tried"),
            "{}",
            said.out
        );
    }
    let twins = "SELECT count(*) FROM cases WHERE twin = 1";
    assert_eq!(number(&db, twins), 0);
    bench.must(&format!("report last --format markdown -o {}", markdown.display()));
    let text = |path| std::fs::read_to_string(path).expect("a page");
    for text in [said.out.clone(), text(&page), text(&markdown)] {
        let text = flat(&text);
        for words in ["The largest load with p50 ≤ 10.0 s", "capacity", "knee", "clients"] {
            assert!(text.contains(words), "no `{words}` in {text}");
        }
    }
    if !all.iter().any(was_disturbed) {
        let page = text(&page);
        assert!(page.contains("Served against rate") && page.contains("P50 against rate"));
    }
    assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{}", said.out);
}

#[test]
fn a_bound_that_not_even_the_lowest_rate_keeps_is_told_in_a_row() {
    let _turn = alone();
    let bench = Bench::new();
    let said = bench.must(&format!(
        "run pipe -w capacity --bound {NARROW} --rate 1k,2k -s 64 -p same-cpu --samples 60 --launches 6"
    ));
    let document = bench.export();
    let it = &capacities(&document)[0];
    must_be_consistent(it);
    if was_disturbed(it) {
        return;
    }
    assert_eq!(
        (&it["at_least_per_sec"], &it["below_per_sec"]),
        (&Value::Null, &1_000.into()),
        "{it:#}"
    );
    let said = flat(&said.out);
    assert!(
        said.contains("not even 1.00 k/s") && said.contains("the lowest rate that was tried"),
        "{said}"
    );
    let rates = "SELECT count(*) FROM cases WHERE group_nth = 1";
    assert_eq!(number(&bench.open(), rates), 1, "the lowest is tried again, and nothing else");
}

#[test]
fn launches_with_too_few_messages_say_how_many_they_lack() {
    let _turn = alone();
    let bench = Bench::new();
    let said = bench.must(
        "run pipe -w capacity --bound p99:10s --rate 1k -s 64 -p same-cpu --samples 40 --launches 2",
    );
    let document = bench.export();
    let rate = &capacities(&document)[0]["rates"][0];
    assert_eq!(
        (&rate["verdict"], &rate["messages_lacking"]),
        (&"undecided".into(), &328.into()),
        "{rate:#}"
    );
    assert!(
        flat(&said.out).contains("lack 328 of the 368 messages that a p99 takes"),
        "{}",
        said.out
    );
}

#[test]
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
        let running = bench.begin(&asked);
        wait_for(stage, Duration::from_secs(40), || {
            let db = rusqlite::Connection::open(bench.store()).ok()?;
            let seen: i64 = db.query_row(until, [], |row| row.get(0)).ok()?;
            let ended = "SELECT count(*) FROM runs WHERE status != 'running'";
            let over: i64 = db.query_row(ended, [], |row| row.get(0)).ok()?;
            (seen > 0 || over > 0).then_some(())
        });
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
fn fails_with_one_line_on_what_contradicts_a_capacity() {
    let _turn = alone();
    let bench = Bench::new();
    for (line, words) in [
        ("run pipe -w capacity", "-w capacity: which bound? add one, as in --bound p99:200us"),
        ("run pipe -w rate --bound p99:1ms", "--bound: only -w capacity has one"),
        ("run pipe --bound p99:1ms", "--bound: only -w capacity has one"),
        ("run pipe -w capacity --bound 200us", "`200us`: write a percentile from p50 to p99.999"),
        ("run pipe -w capacity --bound p100:1ms", "write a percentile from p50 to p99.999"),
        ("run pipe -w capacity,rate --bound p99:1ms", "leave the other workloads out"),
        (
            "run pipe -w capacity --bound p99:1ms --arrivals bursts:10@10ms",
            "they have a rate of their own",
        ),
        ("run pipe -w capacity --bound p99:1ms --sessions 2", "--sessions: -w capacity has none"),
        ("run pipe -w capacitty --bound p99:1ms", "did you mean `capacity`"),
        ("choose --size 1K --rate 50k", "--bound"),
        ("choose --size 1K --rate 50k --bound 1ms", "write a percentile"),
        ("choose --size 1K --rate 1 --bound p99:1ms", "write messages a second, from 10"),
        ("choose --size 1K --rate 1k --bound p99:1ms -p free,same-cpu", "choose for one at a time"),
    ] {
        let said = bench.run(line);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{line}: {}", said.err);
        assert!(said.err.contains(words), "{line}: {}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{line}: {}", said.err);
    }
}

/// An answer is what its published schema says.
fn must_fit_the_choice(document: &Value) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let results = parse(include_str!("../docs/results.schema.json"));
    let choice = parse(include_str!("../docs/choice.schema.json"));
    compiler.add_resource("urn:ipcmark:results:2", results).expect("a resource");
    compiler.add_resource("urn:ipcmark:choice:1", choice).expect("a resource");
    let index = compiler.compile("urn:ipcmark:choice:1", &mut schemas).expect("a valid schema");
    if let Err(error) = schemas.validate(document, index) {
        panic!("{error:#}\n{document:#}");
    }
}

#[test]
fn a_choice_is_told_in_one_screen_and_its_exit_code_is_that_of_its_answer() {
    let _turn = alone();
    for (bound, launches, expected, of) in [
        (WIDE, 6, "pick", "pipe tcp"),
        (NARROW, 6, "nothing", "pipe"),
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
        let capacity = document["capacity"].as_array().expect("capacity");
        capacity.iter().for_each(must_be_consistent);
        let measured = capacity.iter().filter(|it| it["status"] == "ok").collect::<Vec<_>>();
        if !measured.iter().any(|it| was_disturbed(it)) {
            assert_eq!(answer, expected, "{line}: {document:#}");
        }
        let rejected = |variant: &str| {
            let all = document["rejected"].as_array().expect("rejected");
            let found = all.iter().find(|it| it["variant"] == variant);
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
            _ => "Undecided.",
        };
        assert!(text.contains(words) && text.contains("rejected"), "{text}");
        let tried = "SELECT count(DISTINCT load) FROM cases WHERE mechanism = 'pipe'";
        assert_eq!(number(&bench.open(), tried), 3, "the rate and its multiples, in one group");
        assert_eq!(number(&bench.open(), "SELECT count(*) FROM groups"), 1);
    }
}

#[test]
fn a_choice_to_another_host_is_among_what_reaches_it() {
    let _turn = alone();
    let bench = Bench::new();
    let said = bench.run(&format!(
        "choose pipe tcp udp --size 64 --rate 500 --bound {WIDE} --peer env --launches 6 --format json"
    ));
    let document = parse(&said.out);
    must_fit_the_choice(&document);
    let rejected = document["rejected"].as_array().expect("rejected");
    let pipe = rejected.iter().find(|it| it["variant"] == "pipe").expect("no pipe reaches it");
    assert_eq!(pipe["reason"], "not_measured", "{pipe:#}");
    let capacity = capacities(&document);
    capacity.iter().for_each(must_be_consistent);
    assert!(capacity.iter().all(|it| it["route"] == "peer"), "{capacity:#?}");
    if !capacity.iter().filter(|it| it["status"] == "ok").any(was_disturbed) {
        assert_eq!(document["answer"], "pick", "{document:#}");
    }
}
