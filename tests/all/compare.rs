//! `ipcmark compare` on runs that nobody measured: their stores are written through
//! `store` with samples drawn from a seed, so that what was planted is known.

use std::path::Path;
use std::process::Command;

use crate::cli_support::{Bench, Schema, flat, has, list, output, parse, say, stored};
use crate::long_form::many;
use analysis::compare::{Gate, GateOn, Measured, Terms, compare};
use model::case::Case;
use model::host::Host;
use model::launch::{Outcome, Record};
use model::noise::RoundNoise;
use model::placement::ResolvedPlacement;
use model::request::{Absence, Request, Stopping};
use model::workload::{Policy, Workload};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use store::{Closed, NewCase, NewLaunch, NewRun, RunStatus, Store};

const NS_PER_TICK: f64 = 0.01;
const LAUNCHES: usize = 20;
/// Of each launch; a p99 takes 368.
const SAMPLES: usize = 600;

/// A case to write, and what its launches come to.
#[derive(Clone)]
struct Made {
    variant: &'static str,
    workload: Workload,
    bytes: Option<u64>,
    payload: Policy,
    batch: u64,
    /// Time of one operation, in ns.
    ns: f64,
    /// Spread of the launches, as a share.
    spread: f64,
    launches: usize,
    twin: bool,
    absent: bool,
}

fn latency(variant: &'static str, ns: f64) -> Made {
    Made {
        variant,
        workload: Workload::Latency,
        bytes: Some(64),
        payload: Policy::Untouched,
        batch: 1,
        ns,
        spread: 0.01,
        launches: LAUNCHES,
        twin: false,
        absent: false,
    }
}

/// Four mechanisms, a wake-up among them, a transfer, the harness, and an A/A pair.
fn usual() -> Vec<Made> {
    vec![
        latency("pipe", 4_000.0),
        latency("unix-stream", 8_000.0),
        latency("tcp", 14_000.0),
        Made { bytes: None, ..latency("eventfd", 4_400.0) },
        Made { bytes: None, batch: 40, ..latency("noop", 2.0) },
        Made { twin: true, ..latency("pipe", 4_000.0) },
        Made { workload: Workload::Throughput, batch: 500, ..latency("pipe", 900.0) },
    ]
}

/// The usual cases, the one at `nth` as many times as slow.
fn planted(nth: usize, factor: f64) -> Vec<Made> {
    let mut cases = usual();
    cases[nth].ns *= factor;
    cases
}

/// What a run is written with beside its cases.
struct Setting {
    host: Host,
    tool: &'static str,
    request: Request,
    seed: u64,
    label: Option<&'static str>,
    /// Disturbed rounds: what happened in them took ten times as long.
    disturbed: &'static [u64],
    /// Rounds of which a check couldn't be made.
    unknown: &'static [u64],
}

impl Setting {
    fn seeded(seed: u64) -> Setting {
        let request = Request {
            mechanisms: vec!["pipe".into()],
            workloads: vec![(Workload::Latency, vec![64])],
            stopping: Stopping { launches: Some(LAUNCHES as u64), ..Stopping::default() },
            seed,
            ..Request::default()
        };
        let host = machine::host::read(Path::new("/"));
        let (tool, label) = ("ipcmark 0.1.0", None);
        Setting { host, tool, request, seed, label, disturbed: &[], unknown: &[] }
    }

    fn labelled(mut self, label: &'static str) -> Setting {
        self.label = Some(label);
        self
    }
}

fn at_work() -> model::clock::Record {
    model::clock::Record { ns_per_tick: NS_PER_TICK, ..stored::clock() }
}

/// Writes a run, its last case in a group of its own if it is a transfer.
fn write(path: &Path, cases: &[Made], setting: &Setting) -> i64 {
    let mut store = Store::open(path).unwrap();
    let argv = ["ipcmark".to_string(), "run".into()];
    let variants: Vec<String> = cases.iter().map(|case| case.variant.into()).collect();
    let run = store
        .begin_run(&NewRun {
            started: "2026-01-01T00:00:00Z".into(),
            tool: setting.tool,
            argv: &argv,
            request: &setting.request,
            host: &setting.host,
            clock: &at_work(),
            peer: None,
            labs: &[],
            catalogue: &workload::catalogue(&variants),
            fleet: None,
        })
        .unwrap();
    if let Some(label) = setting.label {
        store.set_label(run, &label.parse().unwrap()).unwrap();
    }
    let mut draw = ChaCha8Rng::seed_from_u64(setting.seed);
    for (nth, made) in cases.iter().enumerate() {
        let group = usize::from(made.workload == Workload::Throughput);
        let case = case_of(made);
        let why = "taken away by the test";
        let absence = made.absent.then_some((Absence::Unavailable, why));
        let row = NewCase { group, nth, case, absence, ends: None, fixed: None };
        let id = store.add_cases(run, [row]).unwrap()[0];
        store.set_pilot(id, made.batch, 41, made.ns).unwrap();
        let launches = if made.absent { 0 } else { made.launches };
        let one = |round: u64| {
            let times = if setting.disturbed.contains(&round) { 10.0 } else { 1.0 };
            launch(id, round, &Made { ns: times * made.ns, ..made.clone() }, &mut draw)
        };
        let rows: Vec<NewLaunch> = (1..=launches as u64).map(one).collect();
        store.add_launches(&rows).unwrap();
        store.set_group(run, group, Some(Closed::Launches)).unwrap();
    }
    for group in 0..2 {
        for round in 1..=LAUNCHES as u64 {
            let forks = setting.disturbed.contains(&round);
            let unknown =
                if setting.unknown.contains(&round) { vec!["load".into()] } else { Vec::new() };
            let noise = RoundNoise { forks, unknown, ..RoundNoise::default() };
            store.add_round(run, group, round, 0, &noise).unwrap();
        }
    }
    let ended = "2026-01-01T00:01:00Z";
    store.end_run(run, RunStatus::Complete, ended, &at_work(), 1_000_000_000).unwrap();
    run
}

fn case_of(made: &Made) -> Case {
    Case {
        message_bytes: made.bytes,
        place: ResolvedPlacement { cpus: Some((0, 0)), ..ResolvedPlacement::FREE },
        payload: made.payload,
        twin: made.twin,
        ..Case::usual(made.variant.to_string(), made.workload)
    }
}

fn launch(case: i64, round: u64, made: &Made, draw: &mut ChaCha8Rng) -> NewLaunch {
    let level = made.ns * (made.spread * normal(draw)).exp();
    let mut record = Record::without_samples(Outcome::Ok);
    record.initiator.batch = made.batch;
    let sample = |draw: &mut ChaCha8Rng| {
        let one = level * made.batch as f64 * (0.05 * normal(draw)).exp();
        (one / NS_PER_TICK) as u64
    };
    let samples = (0..SAMPLES).map(|_| sample(draw)).collect();
    NewLaunch { case, round, position: 0, swapped: false, padding: 0, offset: 0, record, samples }
}

fn normal(draw: &mut ChaCha8Rng) -> f64 {
    let mut uniform = || 1.0 - draw.random::<f64>();
    (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

/// A store with these two runs, labelled `before` and `after`.
fn two(before: &[Made], after: &[Made]) -> Bench {
    with_settings(before, after, |_| {})
}

/// The same, the second run's setting changed.
fn with_settings(before: &[Made], after: &[Made], change: impl Fn(&mut Setting)) -> Bench {
    let bench = Bench::new();
    write(&bench.store(), before, &Setting::seeded(1).labelled("before"));
    let mut setting = Setting::seeded(2).labelled("after");
    change(&mut setting);
    write(&bench.store(), after, &setting);
    bench
}

fn compared(bench: &Bench, more: &str) -> Value {
    compared_as(bench, &format!("before after {more}"))
}

fn compared_as(bench: &Bench, runs: &str) -> Value {
    let found = parse(&bench.run(&format!("compare {runs} --format json")).out);
    Schema::of(include_str!("../../docs/comparison.schema.json")).must_accept(&found);
    found
}

fn verdicts(found: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_string();
    let cases = list(&found["cases"]).iter();
    let name = |case: &Value| format!("{} {}", word(&case["variant"]), word(&case["workload"]));
    cases.map(|case| (name(case), word(&case["verdict"]))).collect()
}

#[track_caller]
fn verdict_of(found: &Value, name: &str) -> String {
    let of = verdicts(found).into_iter().find(|pair| pair.0 == name);
    of.unwrap_or_else(|| panic!("no {name}: {found:#}")).1
}

fn all_are(found: &Value, verdict: &str) -> bool {
    verdicts(found).iter().all(|pair| pair.1 == verdict)
}

#[test]
fn a_planted_five_percent_is_found_and_nothing_else() {
    for (nth, name) in [(0, "pipe latency"), (3, "eventfd latency"), (6, "pipe throughput")] {
        let bench = two(&usual(), &planted(nth, 1.05));
        let found = compared(&bench, "");
        assert_eq!(verdict_of(&found, name), "slower", "{found:#}");
        let others = verdicts(&found).into_iter().filter(|verdict| verdict.0 != name);
        assert!(others.into_iter().all(|pair| pair.1 == "equivalent"), "{found:#}");
        let cases = list(&found["cases"]);
        let case = cases.iter().find(|case| case["verdict"] == "slower").unwrap();
        let field = |name: &str| case[name].as_f64().unwrap();
        assert!(field("low") <= 1.05 && 1.05 <= field("high"), "{case:#}");
        assert!(field("low") > 1.0 && field("p_holm") >= field("p"), "{case:#}");
    }
}

#[test]
fn what_became_faster_is_faster() {
    let found = compared(&two(&usual(), &planted(6, 0.9)), "");
    assert_eq!(verdict_of(&found, "pipe throughput"), "faster");
    // A rate that rises is a time that falls: the medians are rates, the ratio is of times.
    let case = &found["cases"].as_array().unwrap()[5];
    assert!(case["median_b"].as_f64() > case["median_a"].as_f64(), "{case:#}");
    assert!(case["ratio"].as_f64().unwrap() < 0.95, "{case:#}");
}

#[test]
fn nothing_planted_is_nothing_found() {
    let found = compared(&two(&usual(), &usual()), "");
    assert!(all_are(&found, "equivalent"), "{found:#}");
    // The A/A pair and the harness are reported, and are no cases of their own.
    assert_eq!(list(&found["noise"]).len(), 2);
    let names: Vec<String> = verdicts(&found).into_iter().map(|verdict| verdict.0).collect();
    let latencies = ["pipe", "unix-stream", "tcp", "eventfd", "noop"];
    let latencies = latencies.map(|variant| format!("{variant} latency"));
    assert_eq!(names, [&latencies[..], &["pipe throughput".into()]].concat());
    let control = |value: &Value| value["control"] == true && value["p_holm"].is_null();
    assert_eq!(list(&found["cases"]).iter().filter(|case| control(case)).count(), 1);
}

#[test]
fn noise_is_inconclusive_and_says_what_could_have_been_seen() {
    let noisy: Vec<Made> = usual().into_iter().map(|made| Made { spread: 0.2, ..made }).collect();
    let found = compared(&two(&noisy, &noisy), "");
    for case in list(&found["cases"]) {
        assert_eq!(case["verdict"], "inconclusive", "{case:#}");
        assert!((0.05..0.5).contains(&case["smallest_effect"].as_f64().unwrap()), "{case:#}");
    }
    // A wide margin makes the same noise equivalent.
    let found = compared(&two(&noisy, &noisy), "--margin 60%");
    assert!(all_are(&found, "equivalent"), "{found:#}");
}

#[test]
fn too_few_launches_decide_nothing() {
    let few: Vec<Made> = usual().into_iter().map(|made| Made { launches: 3, ..made }).collect();
    let bench = two(&few, &few);
    let found = compared(&bench, "--gate 5%");
    assert!(all_are(&found, "inconclusive"), "{found:#}");
    assert!(found["cases"][0]["reason"].as_str().unwrap().contains("too few launches"));
    assert_eq!(bench.run("compare before after --gate 5%").code, Some(4));
}

#[test]
fn the_gate_sets_the_exit_code() {
    let code = |bench: &Bench, gate: &str| bench.run(&format!("compare before after {gate}")).code;
    let same = two(&usual(), &usual());
    assert_eq!((code(&same, ""), code(&same, "--gate 5%")), (Some(0), Some(0)));
    // An interval of a percent or so around 0 is not separated from half a percent.
    assert_eq!(code(&same, "--gate 0.1%"), Some(4));
    let slower = two(&usual(), &planted(1, 1.2));
    assert_eq!((code(&slower, ""), code(&slower, "--gate 5%")), (Some(0), Some(3)));
    assert_eq!((code(&slower, "--gate 19.5%"), code(&slower, "--gate 40%")), (Some(4), Some(0)));
    let faster = two(&usual(), &planted(1, 0.8));
    assert_eq!(code(&faster, "--gate 5%"), Some(0));
    assert_eq!(compared(&slower, "--gate 5%")["outcome"], "beyond");
    // The harness is outside of it.
    assert_eq!(code(&two(&usual(), &planted(4, 1.5)), "--gate 5%"), Some(0));
}

/// All cases, so many times as slow.
fn all_slower(factor: f64) -> Vec<Made> {
    usual().into_iter().map(|made| Made { ns: factor * made.ns, ..made }).collect()
}

fn gated(bench: &Bench, more: &str) -> (Option<i32>, String) {
    let said = bench.run(&format!("compare before after --gate 5% {more}"));
    (said.code, flat(&said.out))
}

#[test]
#[ignore = "long form"]
fn a_machine_that_changed_is_no_regression() {
    let machine = two(&usual(), &all_slower(1.3));
    has(&flat(&machine.run("compare before after").out), &["Every case moved the same way"]);
    let (code, shown) = gated(&machine, "");
    assert_eq!(code, Some(4), "{shown}");
    assert!(shown.contains("the machine changed: together they take +3"), "{shown}");
    // The transfer is alone in its group: it can't be separated from its machine.
    assert!(shown.contains("slower, or the machine was"), "{shown}");
    let (code, shown) = gated(&machine, "--gate-on absolute");
    assert_eq!(code, Some(3), "{shown}");

    // One that moved beyond the others is a regression of its own.
    let mut one = all_slower(1.3);
    one[2].ns *= 1.2;
    let found = compared(&two(&usual(), &one), "--gate 5%");
    assert_eq!(found["outcome"], "beyond");
    let beyond = |case: &&Value| case["gate"] == "beyond";
    let slower: Vec<&Value> = list(&found["cases"]).iter().filter(beyond).collect();
    assert_eq!((slower.len(), &slower[0]["variant"]), (1, &"tcp".into()));
    let own = slower[0]["gated"]["ratio"].as_f64().unwrap();
    assert!((1.17..1.23).contains(&own), "{own}: apart from the machine");
    let common = found["gate_groups"][0]["common"]["ratio"].as_f64().unwrap();
    assert!((1.27..1.36).contains(&common), "{common}");
}

#[test]
#[ignore = "long form"]
fn the_gate_judges_rounds_that_nobody_disturbed() {
    // The same code; of the second run's rounds a third were disturbed.
    let disturbed =
        |rounds| with_settings(&usual(), &usual(), move |setting| setting.disturbed = rounds);
    let bench = disturbed(&[1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(gated(&bench, "").0, Some(0));
    let found = compared(&bench, "--gate 5%");
    assert_eq!(found["gate_groups"][0]["rounds_b"], serde_json::json!([20, 13]));
    // What the disturbed do to all launches stays in the comparison.
    assert!(found["cases"][0]["high"].as_f64() > Some(1.05), "{:#}", found["cases"][0]);

    // More than that, and too few are left.
    let (code, shown) = gated(&disturbed(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), "");
    assert_eq!(code, Some(4), "{shown}");
    has(&shown, &["11 of 20 rounds of B were left undisturbed", "--unmarked 12"]);
    let (code, _) = gated(&disturbed(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), "--gate-on absolute");
    assert_eq!(code, Some(4));
}

#[test]
#[ignore = "long form"]
fn rounds_of_which_nobody_knows_are_not_undisturbed() {
    let unknown =
        |rounds| with_settings(&usual(), &usual(), move |setting| setting.unknown = rounds);
    let bench = unknown(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let (code, shown) = gated(&bench, "");
    assert_eq!(code, Some(4), "{shown}");
    let left = "11 of 20 rounds of B were left undisturbed (of 9 it is unknown)";
    has(&shown, &[left, "can't be read there"]);
    assert!(!shown.contains("--unmarked 12"), "{shown}");
    let found = compared(&bench, "--gate 5%");
    assert_eq!(found["gate_groups"][0]["unknown"], serde_json::json!([0, 9]));
    // Of each of two groups.
    let rounds = |side: &str| [&found[side]["rounds"], &found[side]["unknown_rounds"]];
    assert_eq!(rounds("a"), [&Value::from(40), &Value::from(0)]);
    assert_eq!(rounds("b"), [&Value::from(40), &Value::from(18)]);
    // Without a gate verdicts stand, beside words that say so.
    let plain = flat(&bench.must("compare last~1 last").out);
    let words = "! Unknown whether others disturbed 18 of 40 rounds of B: ";
    has(&plain, &[words]);
    assert_eq!(gated(&unknown(&[1, 2]), "").0, Some(0));
}

#[test]
#[ignore = "long form"]
fn where_others_disturbed_every_round_of_a_run_nothing_is_concluded() {
    const ALL: &[u64] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];
    // A planted difference of 40 %, that every test finds.
    let of = |a: &'static [u64], b: &'static [u64]| {
        let bench = Bench::new();
        let setting = |seed, rounds| Setting { disturbed: rounds, ..Setting::seeded(seed) };
        write(&bench.store(), &usual(), &setting(1, a).labelled("before"));
        write(&bench.store(), &planted(1, 1.4), &setting(2, b).labelled("after"));
        bench
    };
    assert_eq!(verdict_of(&compared(&of(&[], &[]), ""), "unix-stream latency"), "slower");
    for (a, b, which) in [(ALL, ALL, "A and of B"), (&[], ALL, "B"), (ALL, &[], "A")] {
        let bench = of(a, b);
        let found = compared(&bench, "");
        for case in list(&found["cases"]) {
            assert_eq!(case["verdict"], "inconclusive", "{case:#}");
            assert_eq!(case["every_round_disturbed"], true, "{case:#}");
        }
        let said = bench.must("compare before after");
        let words = flat(&said.out);
        let first = format!("? Undecided: others disturbed every round of {which}.");
        has(&words, &[&first]);
        assert!(!said.out.contains('✗') && !said.out.contains('✓'), "{}", said.out);
        let (code, gate) = gated(&bench, "");
        assert_eq!(code, Some(4), "{gate}");
        assert!(flat(&gate).contains(&first), "{gate}");
    }
    // One round that nobody disturbed is no reason to be silent.
    let found = compared(&of(&ALL[..19], &ALL[..19]), "");
    assert_eq!(found["cases"][1]["every_round_disturbed"], false, "{found:#}");
}

#[test]
fn two_cases_can_not_be_separated_from_their_machine() {
    let pair = |factor: f64| {
        let mut cases: Vec<Made> = usual()[..2].to_vec();
        cases[1].ns *= factor;
        cases
    };
    let (code, shown) = gated(&two(&pair(1.0), &pair(1.3)), "");
    assert_eq!(code, Some(4), "{shown}");
    assert!(shown.contains("Add mechanisms"), "{shown}");
    assert_eq!(gated(&two(&pair(1.0), &pair(1.3)), "--gate-on absolute").0, Some(3));
    assert_eq!(gated(&two(&pair(1.0), &pair(1.0)), "").0, Some(0));
}

#[test]
#[ignore = "long form"]
fn a_case_that_is_gone_is_open_and_a_new_one_is_not() {
    let mut fewer = usual();
    fewer.remove(2);
    let gone = two(&usual(), &fewer);
    let found = compared(&gone, "--gate 5%");
    assert_eq!(
        (verdict_of(&found, "tcp latency").as_str(), &found["outcome"]),
        ("incomparable", &"open".into())
    );
    assert_eq!(gone.run("compare before after --gate 5%").code, Some(4));
    assert_eq!(two(&fewer, &usual()).run("compare before after --gate 5%").code, Some(0));

    let mut unavailable = usual();
    unavailable[2].absent = true;
    let found = compared(&two(&usual(), &unavailable), "");
    let case = &found["cases"].as_array().unwrap()[2];
    assert!(case["reason"].as_str().unwrap().contains("not measured in B: taken away"), "{case:#}");
    // Absent from both is nothing to tell.
    let found = compared(&two(&unavailable, &unavailable), "");
    assert!(verdicts(&found).iter().all(|verdict| verdict.0 != "tcp latency"));
}

#[test]
#[ignore = "long form"]
fn another_machine_is_incomparable_and_the_field_is_named() {
    type Change = (&'static str, fn(&mut Setting));
    let changes: [Change; 8] = [
        ("CPU", |setting| setting.host.processor.name = Some("Other 9000".into())),
        ("microcode", |setting| setting.host.processor.microcode = Some("0xffff".into())),
        ("kernel", |setting| setting.host.kernel.release = Some("1.2.3".into())),
        ("mitigations: meltdown", |setting| {
            setting
                .host
                .kernel
                .mitigations
                .insert("meltdown".into(), "Vulnerable, by the test".into());
        }),
        ("governor: other", |setting| {
            setting.host.frequency.governors.insert("other".into(), vec![0]);
        }),
        ("clock source", |setting| setting.host.clock_source.current = Some("hpet".into())),
        ("usable CPUs", |setting| setting.host.cgroup.cpus_effective = Some(vec![7])),
        ("ipcmark", |setting| setting.tool = "ipcmark 0.0.9"),
    ];
    for (nth, (field, change)) in changes.into_iter().enumerate() {
        let bench = with_settings(&usual(), &planted(0, 1.5), change);
        let found = compared(&bench, "");
        let first = &found["differences"][0];
        assert_eq!(first["field"], field, "{found:#}");
        assert_ne!(first["a"], first["b"]);
        assert!(all_are(&found, "incomparable"), "{found:#}");
        // What follows from it is the same whatever the field.
        if nth > 0 {
            continue;
        }
        let said = bench.run("compare before after");
        let value = first["b"].as_str().unwrap().split(' ').next().unwrap();
        has(&said.out, &[field, value, "Nothing can be compared"]);
        assert_eq!(bench.run("compare before after --gate 5%").code, Some(4));
        let forced = bench.run("compare before after --force --gate 5%");
        assert!(forced.out.contains("Compared by --force"), "{}", forced.out);
        assert_eq!(forced.code, Some(3), "{}", forced.out);
    }
}

#[test]
fn another_boot_or_name_of_a_machine_is_comparable() {
    let bench = with_settings(&usual(), &usual(), |setting| {
        setting.host.boot_id = Some("another".into());
        setting.host.hostname = Some("renamed".into());
    });
    has(&bench.must("compare before after --gate 5%").out, &["renamed"]);
}

#[test]
#[ignore = "long form"]
fn a_case_that_was_measured_otherwise_is_incomparable_alone() {
    let mut other = usual();
    other[0].payload = Policy::Written;
    other[1].batch = 8;
    let bench = two(&usual(), &other);
    let found = compared(&bench, "");
    assert_eq!(verdict_of(&found, "pipe latency"), "incomparable");
    assert_eq!(verdict_of(&found, "unix-stream latency"), "incomparable");
    assert_eq!(verdict_of(&found, "tcp latency"), "equivalent");
    let fields =
        list(&found["cases"]).iter().filter_map(|case| case["differences"][0]["field"].as_str());
    let fields: Vec<&str> = fields.collect();
    assert_eq!(fields, ["--payload", "round trips per sample"]);
    assert_eq!(verdict_of(&compared(&bench, "--force"), "pipe latency"), "equivalent");

    let asked = |change: fn(&mut Request)| {
        let bench = with_settings(&usual(), &usual(), |setting| change(&mut setting.request));
        let found = compared(&bench, "");
        assert_eq!(verdict_of(&found, "pipe throughput"), "incomparable");
        let case = list(&found["cases"]).last().unwrap().clone();
        case["differences"][0]["field"].as_str().unwrap().to_string()
    };
    assert_eq!(asked(|request| request.verify = true), "--verify");
    assert_eq!(asked(|request| request.samples = Some(7)), "--samples");
}

#[test]
#[ignore = "long form"]
fn runs_have_names_and_so_have_files() {
    let bench = two(&usual(), &planted(0, 1.2));
    for run in ["1", "before", "last~1"] {
        for (format, file) in [("json", format!("{run}.json")), ("csv", format!("{run}.csv"))] {
            bench.must(&format!("export {run} --format {format} -o {file}"));
        }
        assert!(bench.must(&format!("report {run}")).out.contains("Run 1"));
    }
    has(&bench.must("runs").out, &["before", "after", "label"]);
    bench.must("export after -o b.json");
    let compared = |a: &str, b: &str| {
        let said = bench.run(&format!("compare {a} {b} --format json --gate 5%"));
        assert_eq!(said.code, Some(3), "{a} {b}: {}", said.err);
        let mut found: Value = serde_json::from_str(&said.out).unwrap();
        found["a"]["given"] = Value::Null;
        found["b"]["given"] = Value::Null;
        found
    };
    let by_label = compared("before", "after");
    assert_eq!(compared("1", "2"), by_label);
    assert_eq!(compared("last~1", "last"), by_label);
    // A file says what the store does.
    assert_eq!(compared("before.json", "b.json"), by_label);
    assert_eq!(compared("./1.json", "last"), by_label);
    assert_eq!(by_label["a"]["label"], "before");
}

#[test]
#[ignore = "long form"]
fn what_cannot_be_read_ends_with_one_line_and_2() {
    let bench = two(&usual(), &usual());
    bench.must("export after -o good.json");
    let good = bench.read("good.json");
    bench.put("cut.json", &good[..good.len() / 2]);
    bench.put("empty.json", "");
    bench.put("newer.json", good.replace("\"schema_version\": 1", "\"schema_version\": 9"));
    bench.put("older.json", good.replace("launch_medians", "launch_means"));
    bench.put("other.json", "{\"name\": \"something\"}");
    for (name, word) in [
        ("cut.json", "not JSON"),
        ("empty.json", "not JSON"),
        ("newer.json", "newer ipcmark"),
        ("older.json", "export"),
        ("other.json", "not an export"),
        ("absent.json", "read absent.json"),
    ] {
        bench.run(&format!("compare before {name}")).is_refused(&[name, word]);
        bench.run(&format!("compare {name} before --gate 5%")).is_refused(&[name, word]);
    }
    bench.run("compare before nobody").is_refused(&["no run `nobody`", "ipcmark runs"]);
    bench.run("compare before last~7").is_refused(&["no run `last~7`"]);
    bench.open().pragma_update(None, "user_version", 99).unwrap();
    bench.run("compare before after").is_refused(&["newer ipcmark", "--store FILE"]);
    bench.put("damaged", "x".repeat(5000));
    bench.run("compare 1 2 --store damaged").is_refused(&["damaged", "--store FILE"]);
    bench.run("compare 1 2 --store nowhere").is_refused(&["no store"]);
}

#[test]
fn two_searches_are_compared_by_their_capacities() {
    let bench = Bench::new();
    bench.must(
        "run pipe tcp unix-stream -w capacity --bound p50:10s --rate 1k --connections 4 -s 64 -p same-cpu --samples 60 \
         --launches 2",
    );
    let write = |name: &str, ends: [(Option<u64>, Option<u64>); 3]| {
        let mut document = bench.export();
        for (value, (low, high)) in
            document["capacity"].as_array_mut().expect("all").iter_mut().zip(ends)
        {
            (value["at_least_per_sec"], value["below_per_sec"]) = (low.into(), high.into());
            value["every_round_disturbed"] = (name == "disturbed.json").into();
        }
        bench.put(name, document.to_string());
    };
    let mid = (Some(4_000), Some(16_000));
    write("a.json", [mid; 3]);
    let ends = [(Some(16_000), None), (Some(1_000), Some(3_000)), (Some(8_000), Some(64_000))];
    write("b.json", ends);
    let document = compared_as(&bench, "a.json b.json");
    assert_eq!(document["cases"], Value::Array(vec![]));
    assert_eq!(document["capacities"][0]["verdict"], "higher");
    write("disturbed.json", [(None, None); 3]);
    let said = bench.must("compare a.json disturbed.json").out;
    let words = ["? Undecided: others disturbed every round of one of the runs, or of both."];
    has(&flat(&said), &words);
    // One of them is lost by more than a fifth; none of the same is, and what is unsure is open.
    let said = bench.run("compare a.json b.json --gate capacity:20%").ends(3);
    assert!(flat(&said.out).contains("regression in tcp, 4 clients"), "{}", said.out);
    write("sure.json", [(Some(10_000), Some(10_100)); 3]);
    assert_eq!(bench.run("compare sure.json sure.json --gate capacity:20%").code, Some(0));
    assert_eq!(bench.run("compare a.json a.json --gate 20%").code, Some(4));
    let junit = bench.run("compare a.json b.json --gate 20% --format junit").out;
    assert_eq!(junit.matches("<failure").count(), 1, "{junit}");
    bench.run("compare a.json b.json --gate p99:5%").is_refused(&["--gate capacity:20%"]);
}

/// The p99 of each launch of an exported case; none of a transfer.
fn p99s(case: &mut Value) -> Vec<&mut Value> {
    let all = case.pointer_mut("/launch_percentiles/p99").and_then(Value::as_array_mut);
    all.into_iter().flatten().collect()
}

/// An export of each of two runs, in the second every launch's p99 of one case so many times as long.
fn with_tails(bench: &Bench, variant: &str, times: f64) {
    for (run, times) in [("before", 1.0), ("after", times)] {
        let mut document = bench.export_of(run);
        for case in document["results"].as_array_mut().expect("cases") {
            let is = case["variant"] == variant;
            for value in p99s(case) {
                if let Some(ns) = value.as_f64().filter(|_| is) {
                    *value = (times * ns).into();
                }
            }
        }
        bench.put(&format!("{run}.json"), document.to_string());
    }
}

#[test]
#[ignore = "long form"]
fn a_gate_may_hold_a_percentile_of_each_launch_or_one_workload() {
    let bench = two(&usual(), &usual());
    with_tails(&bench, "tcp", 1.5);
    let code = |what: &str| bench.run(&format!("compare before.json after.json {what}")).code;
    assert_eq!((code("--gate 5%"), code("--gate p99:10%")), (Some(0), Some(3)));
    assert_eq!(bench.run("compare before after --gate p99:10%").code, Some(0));
    let found = compared_as(&bench, "before.json after.json --gate p99:10%");
    assert_eq!(found["gate_percentile"], "p99");
    let slower: Vec<&Value> =
        list(&found["cases"]).iter().filter(|case| case["gate"] == "beyond").collect();
    assert_eq!((slower.len(), &slower[0]["variant"]), (1, &"tcp".into()));
    let own = slower[0]["gated"]["ratio"].as_f64().unwrap();
    assert!((1.4..1.6).contains(&own), "{own}");
    let said = flat(&bench.run("compare before.json after.json --gate p99:10%").out);
    assert!(said.contains("by the p99 of each launch: regression in"), "{said}");

    let slower = two(&usual(), &planted(1, 1.3));
    let code = |what: &str| slower.run(&format!("compare before after {what}")).code;
    assert_eq!((code("--gate latency:5%"), code("--gate throughput:5%")), (Some(3), Some(0)));
    assert_eq!(code("--gate capacity:5%"), Some(2));
}

/// A stranger makes some launches several times as long, others' tails all the more; the tails of launches scatter by a quarter.
#[test]
#[ignore = "long form"]
fn a_gate_on_a_percentile_cries_wolf_in_at_most_5_percent_and_finds_what_is_planted() {
    let bench = two(&usual(), &usual());
    let text = bench.export_of("before").to_string();
    let made = |seed: u64, times: f64| {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let mut document = parse(&text);
        let strangers: Vec<f64> = (0..LAUNCHES)
            .map(
                |_| if draw.random::<f64>() < 0.2 { 1.0 + 2.0 * draw.random::<f64>() } else { 1.0 },
            )
            .collect();
        let machine = (0.1 * normal(&mut draw)).exp();
        for case in document["results"].as_array_mut().expect("cases") {
            let times = if case["variant"] == "tcp" { times } else { 1.0 };
            for (value, stranger) in p99s(case).into_iter().zip(&strangers) {
                let tail = times * machine * stranger * (0.25 * normal(&mut draw)).exp();
                *value = (20_000.0 * tail).into();
            }
        }
        Measured::parse(&document.to_string()).expect("an export")
    };
    let terms = Terms {
        gate: Some(0.1),
        gate_on: GateOn::Relative,
        percentile: Some("p99"),
        force: true,
        ..Terms::PLAIN
    };
    let share = |draws: u64, times: f64| {
        let beyond = |nth: &u64| {
            let (a, b) = (made(2 * nth, 1.0), made(2 * nth + 1, times));
            compare(("a", &a), ("b", &b), terms).outcome == Some(Gate::Beyond)
        };
        (0..draws).filter(beyond).count() as f64 / draws as f64
    };
    let draws = many(100, 1_000);
    let (false_alarms, found) = (share(draws, 1.0), share(draws, 2.0));
    assert!(false_alarms <= 0.05, "{false_alarms}");
    assert!(found >= 0.8, "{found}");
}

/// In a repository of six commits, of which the fourth can't be judged, and from the fifth on a case is slower.
#[test]
#[ignore = "long form"]
fn git_bisect_run_finds_the_commit_and_no_failure_blames_one() {
    if Command::new("git").arg("--version").output().is_err() {
        return say("skipped git bisect: no git");
    }
    let bench = Bench::new();
    let folder = bench.path("repository");
    std::fs::create_dir(&folder).unwrap();
    write(&bench.store(), &usual(), &Setting::seeded(1).labelled("good"));
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(words);
        command.current_dir(&folder);
        command.env("IPCMARK_STORE", bench.store()).env("HOME", &folder).env("LC_ALL", "C");
        output(&mut command)
    };
    let must = |words: &[&str]| git(words).ends(0).out;
    must(&["init", "-q"]);
    for nth in 1..=6 {
        let mut cases = if nth < 5 { usual() } else { planted(1, 1.3) };
        if nth == 4 {
            cases.iter_mut().for_each(|case| case.launches = 3);
        }
        write(&bench.store(), &cases, &Setting::seeded(10 + nth));
        bench.must("export last -o repository/run.json");
        must(&["add", "run.json"]);
        must(&["commit", "-q", "-m", &format!("commit {nth}")]);
    }
    let compare = |what: &str| format!("{} compare {what}", env!("CARGO_BIN_EXE_ipcmark"));
    let bisect = |what: &str| {
        must(&["bisect", "start", "HEAD", "HEAD~5"]);
        let said = git(&["bisect", "run", "sh", "-c", &compare(what)]);
        git(&["bisect", "reset"]);
        said
    };
    let found = bisect("good run.json --gate 5% --bisect");
    let all = format!("{}{}", found.out, found.err);
    // Between the third commit, which is good, and the fifth, one can't be judged.
    assert!(all.contains("only skipped commits left") || all.contains("first bad commit"), "{all}");
    assert!(all.contains("commit 5") && !all.contains("commit 2 is"), "{all}");
    for wrong in ["nosuch run.json --gate 5%", "good run.json --gate much", "good"] {
        let failed = bisect(&format!("{wrong} --bisect"));
        let all = failed.out + &failed.err;
        assert!(!all.contains("first bad commit"), "{wrong}: {all}");
        assert_ne!(failed.code, Some(0), "{wrong}");
    }
    let code = |line: &str| bench.run(line).code;
    assert_eq!(code("compare good good --bisect"), Some(0));
    assert_eq!(code("compare good last --bisect"), Some(1));
    assert!(code("compare good nosuch --bisect") >= Some(128));
    assert!(code("compare good last --bisect --gate").is_some_and(|code| code >= 128));
}

/// A baseline in one command: read before anything is measured, and held to after.
#[test]
fn a_run_is_held_against_one_that_is_stored() {
    let bench = Bench::new();
    let line = "run pipe -w latency -s 64 -p same-cpu --launches 6 --samples 50 --seed 1";
    let said = bench.run(&format!("{line} --against before --gate 5%"));
    said.fails(2, &["--against before: ", "nothing was measured"]);
    assert!(!bench.store().exists(), "nor was a store made");
    bench.must(&format!("{line} --label before"));
    let said = bench.run(&format!("{line} --against before --gate 100%"));
    assert!([Some(0), Some(4)].contains(&said.code), "twice as slow: {}{}", said.out, said.err);
    assert!(said.out.contains("A is the baseline"), "{}", said.out);
    bench.must("export before -o before.json");
    // Without a gate a difference is no failure, and what other programs read is the run alone.
    let said = bench.must(&format!("{line} --against ./before.json --format json"));
    assert_eq!(parse(&said.out)["run"], 3);
}
