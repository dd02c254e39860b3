//! `--arm` and `ab`: launches under several commands in the same rounds, and nothing that those commands do or fail to do is
//! lost, left or believed.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::cli_support::{Bench, has, list, results, say, wait_for};

/// Against hangs.
const SOON: Duration = Duration::from_secs(60);
/// One case with few launches.
const ONE: &str = "pipe -w latency -s 64 -p same-cpu --samples 50";

/// Refused with exit code 2 and one line, before anything was stored.
fn assert_refused(bench: &Bench, line: &str, words: &[&str]) {
    bench.run(line).fails(2, words);
    assert!(!bench.store().exists(), "{line}");
}

/// Set-ups that leave a letter each.
fn with_log(bench: &Bench, more: &str) -> String {
    let log = bench.path("log").display().to_string();
    format!(
        "run --arm a= --arm b= --arm-setup 'a=printf a >> {log}' --arm-setup 'b=printf b >> {log}' \
         --arm-cleanup 'printf c >> {log}' {ONE} {more}"
    )
}

fn log(bench: &Bench) -> String {
    std::fs::read_to_string(bench.path("log")).unwrap_or_default()
}

#[test]
#[ignore = "long form"]
fn every_case_is_launched_under_each_arm_and_the_second_is_held_against_the_first() {
    let bench = Bench::new();
    let said = bench.must(&format!("ab '' 'env SHELL=/bin/sh' {ONE} eventfd --launches 12"));
    has(&said.out, &["B against A", "env SHELL=/bin/sh", "A → B"]);
    let document = bench.export();
    let results = results(&document);
    let of = |arm: &str| {
        let own = |case: &&Value| case["arm"] == arm && case["twin"] == false;
        let own = results.iter().filter(own);
        own.map(|case| case["launches"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((of("A"), of("B")), (vec![12, 12], vec![12, 12]), "{results:?}");
    let arms = &document["arms"].as_array().unwrap()[..];
    let [changes] = arms else { panic!("{arms:?}") };
    assert_eq!((changes["arm"].as_str(), changes["against"].as_str()), (Some("B"), Some("A")));
    let cases = list(&changes["cases"]);
    assert_eq!(cases.len(), 2);
    let is_told = |case: &Value| case["ratio"].is_f64() && case["p_holm"].is_f64();
    assert!(cases.iter().all(is_told), "{cases:?}");
    let known = &document["request"]["arms"];
    assert_eq!(known[1]["prefix"], serde_json::json!(["env", "SHELL=/bin/sh"]));
    assert_eq!(known[1]["process"]["policy"], "other");
    // Launches of both took turns in one set.
    let turns = "SELECT count(*) FROM launches WHERE round > 0";
    assert!(crate::cli_support::number(&bench.open(), turns) >= 48);
}

#[test]
fn samples_and_batch_are_alike_under_all_arms() {
    let bench = Bench::new();
    bench.must("ab '' 'nice -n 5' pipe -w latency -s 64 -p same-cpu --launches 3");
    let document = bench.export();
    let results = results(&document);
    let fixed: Vec<[&Value; 2]> =
        results.iter().map(|case| [&case["batch"], &case["samples_per_launch"]]).collect();
    assert!(fixed.windows(2).all(|pair| pair[0] == pair[1]), "{fixed:?}");
    assert_eq!(document["request"]["arms"][1]["process"]["nice"], 5);
}

#[test]
fn a_command_that_starts_no_launch_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    for (prefix, words) in [
        ("false", &["arm B: `false` ended with 1"][..]),
        ("true", &["started nothing", "chrt -f 50"]),
        ("no-such-command -x", &["no-such-command", "name a command that is here"]),
        ("sh -c \"echo hello; exec \\\"\\$@\\\"\" sh", &["prints `hello`", "standard error"]),
        ("sh -c \"echo woe >&2; exit 7\"", &["ended with 7: woe"]),
        ("sh -c \"kill -9 \\$\\$\"", &["signal: 9"]),
        // Forks away, and leaves its output open to what it started.
        ("sh -c \"sleep 30 & exit 0\"", &["started nothing"]),
    ] {
        assert_refused(&bench, &format!("ab '' '{prefix}' {ONE}"), words);
    }
    for (line, words) in [
        (format!("ab '' \"nice '\" {ONE}"), &["quote"][..]),
        (format!("run --arm a= --arm b= --against 1 {ONE}"), &["--against", "leave it out"]),
        (format!("run {ONE} --gate 5%"), &["--against", "--arm"]),
    ] {
        assert_refused(&bench, &line, words);
    }
}

#[test]
#[ignore = "long form"]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let bench = Bench::new();
    let line = format!("ab '' 'sh -c \"sleep 300; true\" sh' {ONE}");
    assert_refused(&bench, &line, &["started nothing within 10 s", "was ended"]);
    bench.wait_for_silence(SOON);
}

#[test]
fn another_build_is_the_whole_command() {
    let bench = Bench::new();
    let other = bench.path("other");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ipcmark"), &other).unwrap();
    let line = format!("ab '' '{} launch' {ONE} --launches 3", other.display());
    bench.must(&line);
    let arms = bench.export()["request"]["arms"].clone();
    assert_eq!(arms[0]["process"]["tool"], arms[1]["process"]["tool"]);
}

#[test]
fn set_ups_take_turns_by_round_and_are_undone_once() {
    let bench = Bench::new();
    bench.must(&with_log(&bench, "--launches 4"));
    let log = log(&bench);
    assert!(log.ends_with('c') && log.matches('c').count() == 1, "{log}");
    let of = |arm| log.matches(arm).count();
    // One before each arm's launches of a round, unless the last round ended with it.
    assert!((2..=5).contains(&of('a')) && (2..=5).contains(&of('b')), "{log}");
    assert!(!log.contains("aa") && !log.contains("bb"), "{log}");
}

#[test]
fn a_set_up_that_fails_is_the_reason_of_its_launches() {
    let bench = Bench::new();
    let line = "run --arm a= --arm b= --arm-setup a=true --arm-setup 'b=exit 3' --arm-cleanup true";
    // Nothing was measured under both.
    bench.run(&format!("{line} {ONE} --launches 3")).ends(4);
    let document = bench.export();
    let results = results(&document);
    let of = |arm: &str| results.iter().find(|case| case["arm"] == arm).unwrap();
    assert_eq!(of("a")["status"], "ok");
    assert!(of("b")["reason"].as_str().unwrap().contains("the set-up of arm b ended with 3"));
}

#[test]
fn what_was_set_up_is_undone_after_a_signal_and_after_a_kill() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let bench = Bench::new();
        let running = bench.begin(&with_log(&bench, "--launches 9000"));
        wait_for("a set-up", SOON, || (log(&bench).len() > 1).then_some(()));
        running.signal(signal);
        running.finish(SOON);
        wait_for("the clean-up", SOON, || log(&bench).ends_with('c').then_some(()));
        bench.wait_for_silence(SOON);
        assert_eq!(log(&bench).matches('c').count(), 1, "{signal:?}");
    }
}

#[test]
fn a_clean_up_that_fails_is_told_now_and_by_the_next_command() {
    let bench = Bench::new();
    let line = format!(
        "run --arm a= --arm b= --arm-setup a=true --arm-setup b=true --arm-cleanup 'exit 9' {ONE} --launches 2"
    );
    let said = bench.must(&line);
    let told = "--arm-cleanup ended with 9: `exit 9`";
    assert!(said.err.contains(told), "{}", said.err);
    has(&bench.must("runs").err, &["an earlier run", told]);
    assert_eq!(bench.must("runs").err, "", "it is told once");
}

#[test]
#[ignore = "long form"]
fn a_run_goes_on_under_the_same_arms_given_again_and_under_no_others() {
    let bench = Bench::new();
    let arms = "--arm a= --arm b='nice -n 3'";
    let running = bench.begin(&format!("run {arms} {ONE} --launches 400"));
    let launches = "SELECT count(*) > 4 FROM launches WHERE round > 0";
    bench.wait_until(launches);
    running.signal(Signal::INT);
    running.finish(SOON);
    for line in ["run --resume 1", "run --resume 1 --arm a= --arm b='nice -n 4'"] {
        let said = bench.run(line).ends(2);
        let again = "ipcmark run --resume 1 --arm a= --arm 'b=nice -n 3'";
        assert!(said.err.contains(again), "{line}: {}", said.err);
    }
    bench.must(&format!("run --resume 1 {arms}"));
    assert_eq!(bench.export()["status"], "complete");
}

#[test]
fn workers_that_are_pinned_beyond_the_mask_of_an_arm_are_a_row() {
    let bench = Bench::new();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let taskset = std::process::Command::new("taskset").arg("--version").output().is_ok();
    if cpus < 2 || !taskset {
        say("skipped: a CPU mask needs taskset and two CPUs");
        return;
    }
    let mine = std::fs::read_to_string("/proc/self/status").unwrap();
    let mine =
        mine.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let two: Vec<u32> = machine::parse_cpu_list(mine).unwrap().into_iter().take(2).collect();
    let line = format!(
        "ab '' 'taskset -c {}' pipe -w latency -s 64 -p {},{} --launches 2 --samples 50",
        two[0], two[0], two[1]
    );
    bench.run(&line);
    let document = bench.export();
    let results = results(&document);
    let reasons: Vec<&str> = results.iter().filter_map(|case| case["reason"].as_str()).collect();
    assert!(reasons.iter().any(|text| text.contains("-p free")), "{reasons:?}");
}

/// A study names its arms, and the command line gives each its command.
#[test]
fn arms_are_a_factor_of_a_study_and_their_commands_are_of_no_file() {
    let bench = Bench::new();
    let text = r#"version = 1
title = "Does a variable of the environment matter?"
question = "Is a round trip under `env X=1` as long?"
[variables]
cause = { arm = "the environment" }
effect = { latency = "a round trip" }
[fixed]
mechanism = "pipe"
placement = "same-cpu"
size = "64"
samples = 200
launches = 12
[vary]
arm = ["plain", "set"]
[[hypothesis]]
statement = "Set, it is as quick"
test = "equivalent"
margin = "30%"
left = { arm = "set" }
right = { arm = "plain" }
[[table]]
title = "By arm"
rows = "arm"
show = ["median"]
"#;
    bench.put("arms.toml", text);
    has(&bench.must("study run ./arms.toml --dry-run").out, &["2 cases"]);
    assert!(!bench.store().exists());
    let asks = ["compares the arms plain, set", "--arm plain='…' --arm set='…'"];
    assert_refused(&bench, "study run ./arms.toml", &asks);
    let other = "study run ./arms.toml --arm plain= --arm other=nice";
    assert_refused(&bench, other, &["--arm other: the arms of the study are plain, set"]);
    let none = "study run 003 --arm a= --arm b=nice";
    assert_refused(&bench, none, &["the study names no arms"]);

    let said = bench.must("study run ./arms.toml --arm 'set=env X=1' --arm plain=");
    has(&said.out, &["Set, it is as quick", "By arm", "plain", "set"]);
    let document = bench.export();
    let names: Vec<&Value> =
        list(&document["request"]["arms"]).iter().map(|arm| &arm["name"]).collect();
    assert_eq!(names, ["plain", "set"], "the study's order");
    let verdict = document["claims"][0]["verdict"].as_str().expect("a word");
    assert_ne!(verdict, "not_testable");
}

/// Without a terminal it fails at once; with one it is stopped, and given up.
#[test]
fn a_command_that_asks_at_a_terminal_is_refused() {
    let bench = Bench::new();
    let line = format!("ab '' \"sh -c 'read answer < /dev/tty && exec \\\"$@\\\"' sh\" {ONE}");
    assert_refused(&bench, &line, &["arm B"]);
}
