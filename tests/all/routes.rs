//! `route` as a factor: one run measures here, to another host and over laboratories of its own, in
//! the same rounds; what can't be had says why; nothing of a laboratory is left, however a run ends.
//! What needs root says aloud that it skips without.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli_support::{
    Bench, Said, can_have_labs, can_run, has, list, must_fit_the_schema, number, output, results,
    rows, wait_for,
};
use crate::common::say;
use rustix::process::Signal;
use serde_json::Value;

/// Virtual machines pause for seconds at times.
const PATIENCE: Duration = Duration::from_secs(30);

/// What laboratories of process `pid` there are: their states and their namespaces.
fn labs_of(pid: i32) -> BTreeSet<PathBuf> {
    let of = |folder: &str, prefix: String| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter(move |entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .map(|entry| entry.path())
            .collect::<Vec<_>>()
    };
    let states = of("/run/ipcmark-lab", format!("run-{pid}-"));
    states.into_iter().chain(of("/run/netns", format!("ipcmark-run-{pid}-"))).collect()
}

/// Every result as `variant route status`, without twins.
fn statuses(document: &Value) -> Vec<String> {
    let word = |value: &Value, key: &str| value[key].as_str().expect("a word").to_string();
    let results = results(document);
    let plain = results.iter().filter(|result| result["twin"] == false);
    plain
        .map(|value| ["variant", "route", "status"].map(|key| word(value, key)).join(" "))
        .collect()
}

const WITHOUT: [&str; 2] = ["setpriv", "--bounding-set=-net_admin,-sys_admin"];

/// Runs the program without the privileges that a laboratory needs.
fn run_without(bench: &Bench, line: &str) -> Said {
    output(&mut bench.behind(&WITHOUT, line))
}

const STUDY: &str = r#"version = 1
title = "Here and there"
question = "What does a distance cost?"
[variables]
cause = { route = "where the halves are" }
effect = { latency = "round trip" }
[fixed]
size = "64"
placement = "free"
launches = 6
samples = 20
[vary]
mechanism = ["pipe", "tcp"]
route = ["local", "peer"]
[[hypothesis]]
statement = "the other host is nearer"
test = "faster"
left = { mechanism = "tcp", route = "peer" }
right = { mechanism = "tcp", route = "local" }
[[table]]
title = "Round trips"
rows = "mechanism"
columns = "route"
"#;

fn study(bench: &Bench, text: &str) -> String {
    bench.put("s.toml", text);
    "study run ./s.toml".into()
}

// ---- here and to a peer ------------------------------------------------------------------------

#[test]
#[ignore = "long form"]
fn one_round_holds_what_is_here_and_what_is_there() {
    let bench = Bench::new();
    bench.must("run pipe tcp udp -w latency -s 64 --route local,peer --peer env --launches 4");
    let run = bench.export();
    must_fit_the_schema(&run);
    let all = ["pipe local ok", "tcp local ok", "udp local ok", "tcp peer ok", "udp peer ok"];
    assert_eq!(statuses(&run), all);
    let db = bench.open();
    assert_eq!(number(&db, "SELECT count(DISTINCT group_nth) FROM cases"), 1);
    // Five and a twin in each of four rounds, in an order of its own.
    let per_round = "SELECT count(*) || ' ' || count(DISTINCT position) FROM launches
                     WHERE round > 0 GROUP BY round";
    assert_eq!(rows(&db, per_round), ["6 6"; 4]);
    let far = "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id WHERE round > 0
               AND (json_extract(record, '$.far') IS NOT NULL) != (levels ->> 'route' = 'peer')";
    assert_eq!(number(&db, far), 0, "halves there exactly where the route says so");
    let verdicts = list(&run["comparisons"]);
    let routes: Vec<_> =
        verdicts.iter().map(|verdict| verdict["route"].as_str().unwrap()).collect();
    assert_eq!(routes, ["local", "peer"], "what is best is a question for each");
}

#[test]
fn without_a_peer_a_study_says_what_to_add() {
    let bench = Bench::new();
    let run = study(&bench, STUDY);
    let said = bench.must(&run);
    let run = bench.export();
    must_fit_the_schema(&run);
    let all = ["pipe local ok", "tcp local ok", "tcp peer not_applicable"];
    assert_eq!(statuses(&run), all, "a pipe has no other host to be asked for");
    let reason = results(&run).iter().find(|result| result["route"] == "peer");
    has(reason.unwrap()["reason"].as_str().unwrap(), &["--peer 'ssh HOST'"]);
    assert!(said.out.contains("not testable here"), "{}", said.out);
}

#[test]
fn with_one_it_decides_its_claims() {
    let bench = Bench::new();
    let run = study(&bench, STUDY);
    let said = bench.must(&format!("{run} --peer env"));
    assert_eq!(statuses(&bench.export()), ["pipe local ok", "tcp local ok", "tcp peer ok"]);
    assert!(!said.out.contains("not testable here"), "{}", said.out);
}

#[test]
fn what_is_asked_wrongly_is_refused_in_a_line() {
    let bench = Bench::new();
    let claims = STUDY.find("[[hypothesis]]").unwrap();
    let local = study(&bench, &STUDY[..claims].replace("[\"local\", \"peer\"]", "\"local\""));
    for (line, words) in [
        ("run tcp --route peer", "--peer 'ssh HOST'"),
        (&format!("{local} --peer env"), "no level peer"),
    ] {
        bench.run(line).fails(2, &[words]);
    }
    assert!(!bench.store().exists(), "nothing was stored");
}

// ---- laboratories ------------------------------------------------------------------------------

#[test]
#[ignore = "long form"]
fn a_run_makes_its_laboratories_and_takes_them_down() {
    let Some(()) = can_have_labs("laboratories of a run") else { return };
    let bench = Bench::new();
    let mut running = bench.begin(
        "run tcp udp:family=6 -w latency -s 64 --launches 2 --samples 20 \
         --route local,lab,lab:routers=1,switches=1,lab:delay=2ms",
    );
    let pid = running.pid();
    wait_for("the end", PATIENCE, || running.is_over().then_some(()));
    running.finish(PATIENCE).ends(0);
    assert_eq!(labs_of(pid), BTreeSet::new());
    bench.wait_for_silence(PATIENCE);
    let run = bench.export();
    must_fit_the_schema(&run);
    let routes = ["local", "lab", "lab:routers=1,switches=1", "lab:delay=2ms"];
    let all = routes.map(|route| ["tcp", "udp:family=6"].map(|name| format!("{name} {route} ok")));
    assert_eq!(statuses(&run), all.concat());
    let labs = list(&run["labs"]);
    let chains: Vec<_> = labs.iter().map(|lab| lab["chain"].as_str().unwrap()).collect();
    assert_eq!(chains[..2], ["a ── b", "a ── s1 ── r1 ── b"]);
    assert!(labs[2]["impairments"][0].as_str().unwrap().starts_with("delay 2ms by "));
    // A round trip crosses the line twice: no clock is needed to see 4 ms.
    let late = results(&run).iter().filter(|result| result["route"] == routes[3]);
    for case in late.filter(|value| value["twin"] == false) {
        assert!(case["value"]["min"].as_f64().unwrap() >= 4e6, "{case}");
    }
    has(&bench.must("report last").out, &["1 router, 1 switch", "one machine"]);
}

#[test]
fn without_the_privilege_its_cases_say_so() {
    let tried = [&WITHOUT[..], &["true"]].concat();
    let Some(()) = can_run("a laboratory without the privilege", &tried) else { return };
    let bench = Bench::new();
    run_without(&bench, "run tcp -w latency --launches 2 --route local,lab:routers=1").ends(0);
    let run = bench.export();
    assert_eq!(statuses(&run), ["tcp local ok", "tcp lab:routers=1 not_applicable"]);
    let last = results(&run).last().unwrap();
    assert!(last["reason"].as_str().unwrap().ends_with("run it with sudo"), "{last}");
}

const LONG: &str = "run tcp -w latency -s 64 --launches 100 --route local,lab:routers=1";

#[test]
#[ignore = "long form"]
fn after_an_interrupt_nothing_is_left_and_the_run_goes_on() {
    let Some(()) = can_have_labs("laboratories of a run that is interrupted") else { return };
    let bench = Bench::new();
    let running = bench.begin(LONG);
    let pid = running.pid();
    assert!(!labs_of(pid).is_empty());
    bench.wait_until("SELECT count(*) FROM launches WHERE round > 0");
    running.signal(Signal::INT);
    running.finish(PATIENCE).ends(130);
    assert_eq!(labs_of(pid), BTreeSet::new());
    bench.wait_for_silence(PATIENCE);
    let resumed = bench.begin("run --resume --budget 1s");
    let pid = resumed.pid();
    resumed.finish(PATIENCE).ends(0);
    assert_eq!(labs_of(pid), BTreeSet::new());
    assert!(statuses(&bench.export()).iter().all(|status| status.ends_with(" ok")));
}

/// As a terminal's or timeout(1)'s may: each falls into the removal somewhere, also into the wait for the relay of the line.
#[test]
fn signals_that_go_on_leave_nothing_of_a_runs_laboratory() {
    let Some(()) = can_have_labs("a laboratory of a run that gets many signals") else { return };
    let bench = Bench::new();
    let mut running =
        bench.begin("run tcp -w latency -s 64 --launches 100 --samples 20 --route lab:delay=1ms");
    let pid = running.pid();
    bench.wait_until("SELECT count(*) FROM launches");
    // Not without a pause: a fork that a signal interrupts begins anew each time.
    while !running.is_over() {
        running.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(1));
    }
    let said = running.finish(PATIENCE).ends(130);
    assert_eq!(labs_of(pid), BTreeSet::new(), "{}", said.err);
    bench.wait_for_silence(PATIENCE);
}

#[test]
fn what_a_killed_run_left_is_found_and_removed() {
    let Some(()) = can_have_labs("laboratories of a run that is killed") else { return };
    let bench = Bench::new();
    let running = bench.begin(LONG);
    let pid = running.pid();
    let name = format!("run-{pid}-0");
    assert!(Path::new("/run/ipcmark-lab").join(format!("{name}.json")).exists());
    running.signal(Signal::KILL);
    running.finish(PATIENCE);
    bench.wait_for_silence(PATIENCE);
    // Another run that begins meanwhile removes it as well: what counts is that it is gone.
    bench.must("clean");
    assert_eq!(labs_of(pid), BTreeSet::new());
    assert_eq!(bench.run(&format!("lab status --name {name}")).code, Some(2));
}

#[test]
fn two_that_clean_at_once_both_succeed() {
    let Some(()) = can_have_labs("laboratories that two remove at once") else { return };
    let bench = Bench::new();
    let running = bench.begin(LONG);
    let pid = running.pid();
    running.signal(Signal::KILL);
    running.finish(PATIENCE);
    bench.wait_for_silence(PATIENCE);
    let Ok(lock) = File::create("/run/ipcmark-lab/lock") else {
        return say("two that clean at once: another run has just removed the laboratory");
    };
    lock.lock().expect("no other lab up or lab down");
    let mut both = [bench.start("clean"), bench.start("clean")];
    for cleaning in &mut both {
        // It has seen the laboratory by then, unless another run has removed it.
        let fds = format!("/proc/{}/fd", cleaning.pid());
        let waits = || {
            let open = std::fs::read_dir(&fds).into_iter().flatten().flatten();
            let mut open = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            open.any(|path| path.ends_with("ipcmark-lab/lock"))
        };
        wait_for("the lock is asked for", PATIENCE, || {
            (waits() || cleaning.is_over()).then_some(())
        });
    }
    drop(lock);
    for said in both.map(|running| running.finish(PATIENCE)) {
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        assert!(!said.err.contains("no laboratory"), "{}", said.err);
    }
    assert_eq!(labs_of(pid), BTreeSet::new());
}
