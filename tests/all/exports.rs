//! Other programs' formats against their own definitions, against each other and against the
//! store; events while they happen; completions and manual pages.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::cli_support::{
    Bench, Said, Schema, can_run, has, list, number, output, parse, results, say, wait_for,
};
use rustix::process::Signal;
use serde_json::Value;

/// Single and batched round trips, a wake-up, an absent case, and options with a comma.
const MIXED: &str = "run pipe eventfd noop posix-queue tcp:buffer=64K,nodelay=off -w latency -s 64,100K \
     -p same-cpu --launches 7 --samples 400 --seed 7";
/// One case, quickly, and its second name.
const SHORT: &str = "run pipe -w latency -s 64 -p same-cpu --launches 6 --samples 50 --seed 1";

fn events(text: &str) -> Vec<Value> {
    text.lines().map(parse).collect()
}

fn kind(event: &Value) -> &str {
    event["event"].as_str().expect("an event")
}

fn close(a: &Value, b: &Value) -> bool {
    let ratio = a.as_f64().zip(b.as_f64()).map(|(a, b)| a / b);
    ratio.map_or(a == b, |ratio| (ratio - 1.0).abs() < 0.01)
}

/// The bench with a mixed run in its store, and what that run printed.
fn measured(line: &str) -> (Bench, Said) {
    let bench = Bench::new();
    // Of the mixed ones a queue can't carry the larger size.
    let said = if line.starts_with(MIXED) { bench.must_lack(line) } else { bench.must(line) };
    (bench, said)
}

// ---- events ----------------------------------------------------------------------------------

const EVENTS: &str = include_str!("../../docs/events.schema.json");

#[test]
fn live_events_are_described_in_order_and_repeated_by_the_export() {
    // A run without floors is warned of where it is shown, and not while it goes on.
    let bench = Bench::thorough();
    let said = bench.must_lack(&format!("{MIXED} --format ndjson"));
    let live = events(&said.out);
    let schema = Schema::of(EVENTS);
    live.iter().for_each(|event| schema.must_accept(event));

    // A warning comes when there is something to warn of; all else has its order.
    let order = ["start", "launch", "result", "end"];
    let place = |event: &Value| order.iter().position(|text| *text == kind(event));
    let places: Vec<usize> = live.iter().filter_map(place).collect();
    assert!(places.is_sorted(), "{:?}", live.iter().map(kind).collect::<Vec<_>>());
    let count = |name| live.iter().filter(|event| kind(event) == name).count();
    assert_eq!((count("start"), count("end")), (1, 1));

    // Every launch in the store was exported, and nothing else.
    let stored = number(&bench.open(), "SELECT count(*) FROM launches WHERE round > 0");
    assert_eq!(count("launch") as i64, stored);
    let json = bench.export();
    let told = live.iter().filter(|value| kind(value) == "result").map(|value| &value["result"]);
    assert!(told.eq(results(&json)));
    let end = live.last().unwrap();
    assert_eq!(end["status"], "complete");
    assert_eq!((&end["comparisons"], &end["clock"]), (&json["comparisons"], &json["clock"]));
    assert_eq!((&live[0]["host"], &live[0]["seed"]), (&json["host"], &json["seed"]));

    // The export says the same. Only the clock's scale was measured again at the end.
    let again = events(&bench.must("export last --format ndjson").out);
    assert_eq!(live.len(), again.len());
    let parted = |events: Vec<Value>| -> (Vec<Value>, Vec<Value>) {
        events.into_iter().partition(|event| kind(event) == "warning")
    };
    let ((warned, live), (warned_again, again)) = (parted(live), parted(again));
    assert_eq!(warned, warned_again);
    for (mut live, mut again) in live.into_iter().zip(again) {
        assert!(close(&live["median_ns"], &again["median_ns"]), "{live:#} {again:#}");
        if kind(&live) == "launch" {
            (live["median_ns"], again["median_ns"]) = (Value::Null, Value::Null);
        }
        assert_eq!(live, again);
    }
}

#[test]
fn the_schema_refuses_events_that_are_wrong() {
    let (bench, _) = measured(SHORT);
    let right = events(&bench.must("export --format ndjson").out);
    let schema = Schema::of(EVENTS);
    for event in right {
        schema.must_accept(&event);
        for field in event.as_object().unwrap().keys() {
            let mut wrong = event.clone();
            wrong.as_object_mut().unwrap().remove(field);
            assert!(!schema.accepts(&wrong), "no {field}: {wrong}");
        }
    }
}

/// A run that would go on for minutes.
fn long() -> String {
    SHORT.replace("--launches 6", "--launches 5000") + " --format ndjson"
}

/// Starts it; the caller reads its events, or doesn't.
fn begin(bench: &Bench, stderr: Stdio) -> Child {
    let mut command = bench.line(&long());
    command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap()
}

#[test]
fn events_come_while_the_run_goes_on() {
    let bench = Bench::new();
    let mut child = begin(&bench, Stdio::null());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || parse(&lines.next().expect("a line").unwrap());
    assert_eq!(next()["event"], "start");
    // Told means stored: another program finds it there by now.
    let launch = std::iter::repeat_with(next).find(|event| kind(event) == "launch").unwrap();
    assert_eq!(launch["round"], 1);
    assert!(number(&bench.open(), "SELECT count(*) FROM launches WHERE round = 1") > 0);
    assert!(child.try_wait().unwrap().is_none(), "the run is over already");
    crate::cli_support::send(child.id() as i32, Signal::INT);
    let rest: Vec<Value> = lines.map(|line| parse(&line.unwrap())).collect();
    assert_eq!(rest.last().unwrap()["event"], "end");
    assert_eq!(rest.last().unwrap()["status"], "interrupted");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Reads a run's events until one of `last`, then leaves, as `head` does.
fn leave_after(bench: &Bench, last: &str) -> String {
    let mut child = begin(bench, Stdio::piped());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while kind(&parse(&lines.next().expect("an event").unwrap())) != last {}
    drop(lines);
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(141), "{err}");
    err
}

#[test]
#[ignore = "long form"]
fn a_reader_that_leaves_ends_the_run_and_loses_nothing() {
    for last in ["start", "launch"] {
        let bench = Bench::new();
        let err = leave_after(&bench, last);
        let lines: Vec<&str> = err.lines().filter(|line| line.starts_with("ipcmark:")).collect();
        assert_eq!(lines.len(), 1, "{err}");
        has(lines[0], &["standard output was closed", "--resume 1"]);
        let db = bench.open();
        // What was exported is stored, to the end of its round.
        let rounds = number(&db, "SELECT count(*) FROM rounds");
        assert!(rounds > 0 || last == "start");
        let status: String = db.query_row("SELECT status FROM runs", [], |row| row.get(0)).unwrap();
        assert_eq!(status, "interrupted");
        bench.wait_for_silence(Duration::from_secs(30));
        bench.must("run --resume 1 --budget 1s -q");
        assert!(number(&db, "SELECT count(*) FROM rounds") > rounds, "it goes on");
    }
}

#[test]
#[ignore = "long form"]
fn a_reader_that_hangs_does_not_delay_a_signal() {
    let bench = Bench::new();
    let mut child = begin(&bench, Stdio::null());
    // Nobody reads: the pipe fills, and no further round begins.
    let rounds = "SELECT count(*) FROM rounds";
    bench.wait_until(rounds);
    wait_for("a full pipe", Duration::from_secs(80), || {
        let before = bench.ask(rounds);
        std::thread::sleep(Duration::from_millis(700));
        (bench.ask(rounds) == before).then_some(())
    });
    crate::cli_support::send(child.id() as i32, Signal::INT);
    wait_for("its end", Duration::from_secs(30), || child.try_wait().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    bench.wait_for_silence(Duration::from_secs(30));
}

/// A round of more launches than are set up together is stored in parts: as few descriptors as here
/// allow twelve.
#[test]
#[ignore = "long form"]
fn a_round_that_is_cut_short_tells_what_it_stored() {
    let bench = Bench::new();
    let capacities = ["4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K"];
    let pipes: Vec<String> =
        capacities.iter().map(|capacity| format!("pipe:capacity={capacity}")).collect();
    let line = format!(
        "run {} pipe eventfd unix-stream udp futex -w latency -s 64 -p same-cpu --launches 9 \
         --samples 20000 --format ndjson",
        pipes.join(" ")
    );
    let running = bench.begin_with(bench.after("ulimit -n 96", &line));
    // The first part of a round is stored, the round isn't.
    let part = "SELECT count(*) FROM launches WHERE round > (SELECT count(*) FROM rounds)";
    bench.wait_until(part);
    running.signal(Signal::INT);
    let said = running.finish(Duration::from_secs(30)).ends(130);
    assert!(number(&bench.open(), part) > 0, "the round was finished: nothing is proven");
    let live = events(&said.out);
    let launches = |events: &[Value]| events.iter().filter(|event| kind(event) == "launch").count();
    let again = events(&bench.must("export --format ndjson").out);
    assert_eq!(launches(&live), launches(&again));
}

#[test]
fn a_resumed_run_tells_its_plan_again_and_what_is_new() {
    let bench = Bench::new();
    let running = bench.begin(&long());
    bench.wait_until("SELECT count(*) > 1 FROM rounds");
    running.signal(Signal::TERM);
    let first = events(&running.finish(Duration::from_secs(30)).out);
    let rounds = |events: &[Value]| -> BTreeSet<u64> {
        let launches = events.iter().filter(|event| kind(event) == "launch");
        launches.map(|event| event["round"].as_u64().unwrap()).collect()
    };
    let second = events(&bench.must("run --resume last --budget 1s --format ndjson").out);
    assert_eq!(first[0]["cases"], second[0]["cases"]);
    assert!(rounds(&first).contains(&1) && !rounds(&second).contains(&1));
    let all = rounds(&events(&bench.must("export --format ndjson").out));
    assert_eq!(all, rounds(&first).union(&rounds(&second)).copied().collect());
}

// ---- three lines of numpy ----------------------------------------------------------------------

/// The first fenced block of `language` in docs/FORMAT.md that says `mark`.
fn block(language: &str, mark: &str) -> String {
    let text = include_str!("../../docs/FORMAT.md");
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1).map(|part| part.split("```").next().unwrap());
    let found = blocks.into_iter().find(|block| block.contains(mark));
    found.unwrap_or_else(|| panic!("no {language} block in docs/FORMAT.md says {mark}")).into()
}

#[test]
fn three_lines_of_numpy_decode_samples() {
    let numpy = ["python3", "-c", "import numpy"];
    let Some(()) = can_run("three lines of numpy", &numpy) else { return };
    let (bench, _) = measured(SHORT);
    let lines = block("python", "zlib.decompress");
    assert_eq!(lines.lines().count(), 3, "three lines are promised:\n{lines}");
    let scale = block("python", "ns_per_tick");
    let db = bench.open();
    let launch = number(&db, "SELECT max(launch) FROM samples");
    let program = format!("{lines}{scale}")
        .replace("launch = 1", &format!("launch = {launch}"))
        .replace("launches.id = 1", &format!("launches.id = {launch}"))
        + "print(len(ticks), int(ticks.min()), int(ticks.max()), float(np.median(ns)))";
    // With the PATH of this test: the interpreter that was asked.
    let mut python = Command::new("python3");
    let said = output(python.args(["-c", &program]).current_dir(bench.path(""))).ends(0);
    let found: Vec<f64> = said.out.split_whitespace().map(|word| word.parse().unwrap()).collect();

    let events = events(&bench.must("export --format ndjson").out);
    let launch = events.iter().rfind(|event| kind(event) == "launch").unwrap();
    assert_eq!(found[0], 50.0);
    assert!(found[1] <= found[2] && found[1] > 0.0);
    let median = launch["median_ns"].as_f64().unwrap();
    assert!((found[3] / median - 1.0).abs() < 0.05, "numpy {} ns, ipcmark {median} ns", found[3]);
}

// ---- completions and manual ----------------------------------------------------------------------

#[test]
fn completions_know_commands_and_words_and_hide_what_is_hidden() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.must(&format!("completions {shell}")).out;
        // What each knows: commands and flags, values of flags, then words as well.
        let words: &[&str] = match shell {
            "bash" | "zsh" => &["export", "placement", "ndjson", "eventfd"],
            "fish" => &["export", "placement", "ndjson"],
            _ => &["export", "placement"],
        };
        has(&script, words);
        // Of all shells bash alone gets no help texts, in which a launch is just a word.
        let word = if shell == "bash" { " launch " } else { "launch:" };
        for hidden in ["ipcmark,launch", "'launch'", "launch)", word] {
            assert!(!script.contains(hidden), "{shell}: {hidden}");
        }
    }
}

#[test]
fn bash_sources_its_completions_and_completes() {
    let bench = Bench::new();
    let script = bench.must("completions bash -q").out;
    bench.put("completions", script);
    let complete = |words: &str| {
        let program = format!(
            "set -eu; source ./completions; COMP_WORDS=(ipcmark {words}); \
             COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); set +eu; \
             _ipcmark ipcmark \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &program]).current_dir(bench.store().parent().unwrap());
        let said = output(&mut bash);
        assert!(said.err.is_empty(), "{}", said.err);
        said.out
    };
    let Some(()) = can_run("bash completions", &["bash", "--version"]) else { return };
    assert_eq!(complete("expo"), "export\n");
    assert_eq!(complete("export --format nd"), "ndjson\n");
    assert!(complete("run eve").contains("eventfd"));
}

#[test]
fn manual_pages_are_roff_one_per_command() {
    let bench = Bench::new();
    let main = bench.must("man").out;
    bench.must("man -o pages");
    assert_eq!(bench.read("pages/ipcmark.1"), main);
    let listed = bench.must("--help").out;
    let pages = std::fs::read_dir(bench.path("pages")).unwrap().flatten();
    let pages: BTreeSet<String> =
        pages.map(|entry| entry.file_name().into_string().unwrap()).collect();
    for command in ["run", "list", "runs", "report", "export", "completions", "man"] {
        assert!(listed.contains(&format!("  {command}")), "{listed}");
        assert!(pages.contains(&format!("ipcmark-{command}.1")), "{pages:?}");
    }
    let is_hidden = |page: &String| page.contains("launch") || page.contains("help");
    assert!(!pages.iter().any(is_hidden), "{pages:?}");
    for section in ["NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"] {
        let heading = |line: &&str| line.trim_start_matches(".SH ").trim_matches('"') == section;
        assert!(main.lines().any(|line| heading(&line)), "{section}");
    }
    for page in &pages {
        let path = bench.path(&format!("pages/{page}"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().any(|line| line.starts_with(".TH ")), "{page}");
        formats(&path);
    }
}

/// Formats a page with whatever is at hand, which must find nothing to complain of.
fn formats(page: &std::path::Path) {
    let tools: [&[&str]; 2] =
        [&["mandoc", "-Tlint", "-Wwarning"], &["groff", "-man", "-Tutf8", "-ww"]];
    for tool in tools {
        let mut command = Command::new(tool[0]);
        let Ok(said) = command.args(&tool[1..]).arg(page).output() else { continue };
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success() && stderr.is_empty(), "{tool:?} {page:?}: {stderr}");
        return;
    }
    say("skipped formatting the manual: neither mandoc nor groff is here");
}

/// The lines of Python that docs/METHOD.md gives make every interval and every ratio of a run again.
#[test]
#[ignore = "long form"]
fn the_documented_python_makes_every_interval_again() {
    let Some(()) = can_run("what Python reads", &["python3", "--version"]) else { return };
    let (bench, _) = measured(&format!("{MIXED} --quiet"));
    let said = bench.must("export last --format json");
    let file = bench.put("run.json", &said.out);
    let text = include_str!("../../docs/METHOD.md");
    let scripts: Vec<&str> =
        text.split("```python\n").skip(1).map(|part| part.split_once("```").unwrap().0).collect();
    let json = parse(&said.out);
    let values = results(&json).iter().map(|result| &result["value"]);
    let groups = list(&json["comparisons"]).iter();
    let ratios =
        groups.flat_map(|group| list(&group["standings"]).iter().chain([&group["twin_check"]]));
    let ratios: Vec<&Value> = ratios.collect();
    let in_turns = ratios.iter().filter(|ratio| ratio["verdict"].is_string());
    let in_turns = in_turns.flat_map(|turn| turn["by_round"].as_array().into_iter().flatten());
    let [values, ratios] = [values.collect(), ratios.clone()]
        .map(|cases: Vec<&Value>| cases.iter().filter(|value| value["ranks"].is_array()).count());
    let counts = [values, ratios, in_turns.filter(|turn| turn.is_number()).count()];
    assert!(counts[0] > 4 && counts[1] > 1 && counts[2] > 6, "{counts:?}: {}", said.out);
    assert_eq!(scripts.len(), counts.len());
    for (script, count) in scripts.iter().zip(counts) {
        let printed = output(Command::new("python3").args(["-c", script]).arg(&file)).ends(0).out;
        assert_eq!(printed.lines().count(), count, "{printed}");
    }
}

// ---- what other tools read -------------------------------------------------------------------

/// Reads a file as its reader does, by Python's own parsers; says so where there is no Python.
fn read_by_python(program: &str, file: &std::path::Path) {
    let Some(()) = can_run("what Python reads", &["python3", "--version"]) else { return };
    output(Command::new("python3").args(["-c", program]).arg(file)).ends(0);
}

#[test]
fn formats_of_other_tools_hold_each_case_under_its_one_name() {
    let (bench, _) = measured(SHORT);
    let name = "pipe/latency/64B/same-cpu/process";
    let google = parse(&bench.must("export last --format google-benchmark").out);
    let rows = list(&google["benchmarks"]);
    assert_eq!(rows.len(), 6, "an iteration a launch");
    assert!(google["context"]["date"].is_string() && google["context"]["num_cpus"].is_u64());
    for (nth, row) in rows.iter().enumerate() {
        assert_eq!((&row["name"], &row["run_type"]), (&name.into(), &"iteration".into()));
        assert_eq!((&row["repetition_index"], &row["time_unit"]), (&nth.into(), &"ns".into()));
        assert!(row["real_time"].as_f64().is_some_and(|ns| ns > 0.0), "{row}");
    }
    let action = parse(&bench.must("export last --format github-action-benchmark").out);
    let entry = &action.as_array().expect("entries")[0];
    assert_eq!((&entry["name"], &entry["unit"]), (&name.into(), &"ns".into()));
    let of_json = parse(&bench.must("export last").out)["results"][0]["value"]["median"].clone();
    assert!(close(&entry["value"], &of_json), "{entry} and {of_json}");
    let lkp = bench.must("export last --format lkp").out;
    let median = lkp.lines().find_map(|line| line.strip_prefix(&format!("{name}.median_ns: ")));
    assert!(close(&median.unwrap().parse::<f64>().unwrap().into(), &of_json), "{lkp}");
    let metrics = bench.must("export last --format openmetrics").out;
    let sample = format!("ipcmark_operation_time_seconds{{case=\"{name}\",stat=\"median\"}} ");
    let value = metrics.lines().find_map(|line| line.strip_prefix(&sample)).expect("a sample");
    let ns = value.parse::<f64>().expect("a number") * 1e9;
    assert!(close(&ns.into(), &of_json), "{metrics}");
    has(&metrics, &["# UNIT ipcmark_operation_time_seconds seconds\n"]);
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
}

#[test]
fn a_comparison_is_a_suite_of_tests() {
    let (bench, _) = measured(SHORT);
    let name = "pipe/latency/64B/same-cpu/process";
    // A run is equivalent to itself, or too few launches tell: it fails in no case.
    let said = bench.run("compare last last --gate 50% --format junit");
    let file = bench.put("suite.xml", &said.out);
    read_by_python(
        &format!(
            "import sys, xml.etree.ElementTree as tree\n\
             suite = tree.parse(sys.argv[1]).getroot().find('testsuite')\n\
             assert (suite.get('tests'), suite.get('failures')) == ('1', '0'), suite.attrib\n\
             assert suite.find('testcase').get('name') == '{name}'\n"
        ),
        &file,
    );
    let ktap = bench.run("compare last last --gate 50% --format ktap").out;
    let lines: Vec<&str> = ktap.lines().collect();
    assert_eq!(lines[..2], ["KTAP version 1", "1..1"]);
    assert!(lines[2].starts_with(&format!("ok 1 {name} ")), "{ktap}");
}

/// A reader of one of the formats: its name, how it is asked whether it is here, the format, how it reads a file of it.
const READERS: [(&str, [&str; 3], &str, &str); 4] = [
    (
        "junitparser",
        ["python3", "-c", "import junitparser"],
        "junit",
        "python3 -c '
import sys, junitparser
suites = list(junitparser.JUnitXml.fromfile(sys.argv[1]))
assert [(suite.tests, suite.failures) for suite in suites] == [(2, 0)], suites
assert all(case.name for suite in suites for case in suite)' ",
    ),
    ("prove", ["prove", "--version", ""], "ktap", "prove --exec cat "),
    (
        "prometheus_client",
        ["python3", "-c", "import prometheus_client"],
        "openmetrics",
        "python3 -c '
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
found = {family.name: family for family in families(open(sys.argv[1]).read())}
times = [s for s in found[\"ipcmark_operation_time_seconds\"].samples if s.labels[\"stat\"] == \"median\"]
assert len(times) == 2 and all(0 < time.value < 1 for time in times), times' ",
    ),
    (
        "Google Benchmark's compare.py",
        ["python3", "-c", "import scipy; open('/usr/share/benchmark/compare.py')"],
        "google-benchmark",
        "f() { python3 /usr/share/benchmark/compare.py --no-color benchmarks $1 $1 |
         grep -c ^pipe/latency/64B/same-cpu/process; }; f ",
    ),
];

/// Who reads the formats elsewhere reads them here.
#[test]
#[ignore = "long form"]
fn other_tools_own_readers_take_what_is_written_for_them() {
    let bench = Bench::new();
    bench.must(&SHORT.replace("pipe", "pipe unix-stream"));
    for (reader, [program, first, second], format, read) in READERS {
        let mut asked = Command::new(program);
        asked.arg(first).args(Some(second).filter(|argument| !argument.is_empty()));
        if !asked.output().is_ok_and(|output| output.status.success()) {
            say(&format!("skipped what {reader} reads: it is not here"));
            continue;
        }
        let line = match format {
            "junit" | "ktap" => "compare last last --gate 50%",
            _ => "export last",
        };
        let file = bench.put(format, bench.run(&format!("{line} --format {format}")).out);
        output(Command::new("sh").args(["-c", &format!("{read} {}", file.display())])).ends(0);
    }
}

/// What a harness is promised, it gets: the names before a run are those after it.
#[test]
#[ignore = "long form"]
fn the_names_of_cases_are_known_before_they_are_measured() {
    let bench = Bench::new();
    let line =
        "run pipe eventfd udp:buffer=64K,checksum=off -w latency,throughput -s 64 -p same-cpu";
    let named = bench.must(&format!("{line} --list-names")).out;
    assert!(!bench.store().exists(), "nothing was measured");
    bench.must(&format!("{line} --launches 6 --samples 20 --seed 1"));
    let bmf = parse(&bench.must("export last --format bmf").out);
    let mut promised: Vec<&str> = named.lines().filter(|name| !name.ends_with("/twin")).collect();
    promised.sort_unstable();
    let kept: Vec<&str> = bmf.as_object().expect("benchmarks").keys().map(String::as_str).collect();
    assert_eq!(promised, kept);
}

#[test]
fn a_step_of_github_actions_gets_a_summary() {
    let bench = Bench::new();
    let (there, missing) = (bench.path("summary.md"), bench.path("none.md"));
    bench.put("summary.md", "before\n");
    for (path, complains) in [(&there, false), (&missing, true)] {
        let said = output(bench.line(SHORT).env("GITHUB_STEP_SUMMARY", path)).ends(0);
        assert_eq!(said.err.contains("GITHUB_STEP_SUMMARY"), complains, "{}", said.err);
    }
    let summary = bench.read("summary.md");
    assert!(summary.starts_with("before\n# Run 1"), "{summary}");
    assert!(!missing.exists(), "the runner makes it, and nobody else");
}

/// The scripts of docs/HARNESS.md, as a harness starts them: short, so that any verdict will do.
#[test]
#[ignore = "long form"]
fn scripts_for_harnesses_end_as_they_say() {
    let bench = Bench::new();
    let cases = "pipe -w latency -s 64 -p same-cpu --launches 6 --samples 20";
    bench.must(&format!("run {cases} --label good"));
    let program = Path::new(env!("CARGO_BIN_EXE_ipcmark"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().expect("a folder").display());
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples");
    let run = |name: &str| {
        let mut shell = Command::new("sh");
        shell.arg(examples.join(name)).current_dir(bench.path("."));
        shell.env("PATH", &path).env("IPCMARK_STORE", bench.store());
        shell.envs([("CASES", cases), ("BUILD", "true"), ("GATE", "50%")]);
        shell.envs([("BASE", program), ("CHANGE", program), ("MEASURE", program)]);
        output(&mut shell)
    };
    let lkp = run("lkp").ends(0);
    let key = "pipe/latency/64B/same-cpu/process.median_ns: ";
    assert!(lkp.out.lines().any(|line| line.starts_with(key)), "{}", lkp.out);
    let bisected = run("bisect.sh");
    assert!([Some(0), Some(1), Some(125)].contains(&bisected.code), "{}", bisected.err);
    let gated = run("gate.sh");
    assert!([Some(0), Some(3), Some(4)].contains(&gated.code), "{}{}", gated.out, gated.err);
    assert!(bench.path("gate-2.md").exists(), "{}", gated.err);
}
