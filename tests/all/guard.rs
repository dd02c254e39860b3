//! What stored runs look like in every format: reviewed files in tests/snapshots, so that a change of the code shows
//! what it changes for a reader. After a change that is meant: `INSTA_UPDATE=always cargo test guard::`, and read the
//! difference.

use std::collections::BTreeSet;

use crate::cli_support::stored::{Made, clock};
use crate::cli_support::{Bench, must_fit_the_schema, parse};
use crate::export_schema::assert_consistent;
use analysis::{Choice, Judged};
use model::alignment::Alignment;
use model::bound::{Beside, RoundBound};
use model::case::Case;
use model::choice::Need;
use model::company::Company;
use model::host::{Host, Processor};
use model::launch::Outcome;
use model::load::Load;
use model::peer::{FarHost, PeerRecord, PeerRequest};
use model::placement::{Placement, ResolvedPlacement};
use model::request::{Absence, Aim, Request, StudyText};
use model::route::Route;
use model::workload::Workload;
use report::Document;
use report::compose::{Detail, compose};
use serde::Serialize;
use serde_json::Value;
use store::{Concurrent, Ends, FleetRequest, RunStatus, Store};

/// A comparison of three mechanisms with claims, tables, figures and published figures.
const STUDY: &str = include_str!("small_study.toml");
/// Lists of JSON as long as there are launches, rounds or samples, of which one entry shows what they hold.
const LONG: [&str; 3] = ["launches", "rounds", "samples"];

/// A machine that nobody has.
fn host() -> Host {
    let name = Some("Example CPU".into());
    Host {
        hostname: Some("example".into()),
        cpus_online: Some(vec![0, 1]),
        processor: Processor { name, architecture: "x86_64".into(), ..Processor::default() },
        ..Host::default()
    }
}

fn case(variant: &str, workload: Workload, placement: Placement) -> Case {
    let cpus = match placement {
        Placement::SameCpu => Some((0, 0)),
        Placement::Free => None,
        _ => Some((0, 1)),
    };
    let place = ResolvedPlacement { cpus, ..ResolvedPlacement::FREE };
    Case { placement, place, ..Case::usual(variant.to_string(), workload) }
}

/// Each mechanism in such a case.
fn group(names: &[&str], workload: Workload, placement: Placement) -> Vec<Case> {
    names.iter().map(|name| case(name, workload, placement)).collect()
}

fn each(mut cases: Vec<Case>, change: impl FnMut(&mut Case)) -> Vec<Case> {
    cases.iter_mut().for_each(change);
    cases
}

/// The mechanisms of most runs.
const SOME: [&str; 3] = ["pipe", "unix-stream", "tcp"];

fn comparison() -> Made {
    let (latency, one) = (Workload::Latency, Placement::SameCpu);
    let mut twins = group(&SOME, latency, one);
    twins.push(Case { twin: true, ..twins[0].clone() });
    let across = ["pipe", "unix-stream", "shm-ring:wait=spin", "eventfd"];
    let bulk = group(&SOME, Workload::Throughput, Placement::Free);
    let groups = vec![
        twins,
        group(&across, latency, Placement::SameLlc),
        each(bulk, |case| case.message_bytes = Some(65_536)),
        group(&SOME, Workload::Connect, one),
    ];
    let align = Alignment::default();
    let bounds = [
        (Beside::WakeUp { cpus: [0, 0] }, 3_000.0),
        (Beside::WakeUp { cpus: [0, 1] }, 3_500.0),
        (Beside::CacheLine { cpus: [0, 1] }, 100.0),
        (Beside::Copy { bytes: 65_536, align }, 2_000.0),
    ];
    let bounds = bounds.map(|(of, ns)| RoundBound { of, ns }).to_vec();
    Made { groups, bounds, ..Made::on(host()) }
}

fn sweep() -> Made {
    let of = |size| {
        let cases = group(&SOME[..2], Workload::Latency, Placement::SameCpu);
        each(cases, |case| case.message_bytes = Some(size))
    };
    // A byte costs more from 4 KiB on.
    let ticks = |case: &Case, nth| {
        let bytes = case.message_bytes.unwrap_or(0);
        8_000 + 400 * nth as u64 + bytes / 8 + 4 * bytes.saturating_sub(4_096)
    };
    let groups = [64, 256, 1_024, 4_096, 16_384, 65_536].map(of).to_vec();
    Made { groups, ticks, rounds: 8, ..Made::on(host()) }
}

fn open_loops() -> Made {
    let of = |(per_second, connections)| {
        let load = Load { per_second, connections, ..Load::USUAL };
        let cases = group(&SOME[..2], Workload::Rate, Placement::Free);
        let mut cases = each(cases, |case| case.load = Some(load));
        let probe = "software".parse().expect("a probe");
        cases.push(Case { observe: Some(probe), ..cases[0].clone() });
        cases.push(Case { beside: Some(Company::Hog), ..cases[0].clone() });
        cases
    };
    let groups = [(1_000, 1), (4_000, 1), (4_000, 4)].map(of).to_vec();
    Made { groups, ..Made::on(host()) }
}

fn crowds() -> Made {
    let of = |connections| {
        let cases = group(&SOME, Workload::Messaging, Placement::Free);
        each(cases, |case| case.load = Some(Load::closed(connections)))
    };
    Made { groups: [2, 8].map(of).to_vec(), ..Made::on(host()) }
}

/// Each of three mechanisms at each rate: the first holds at all, the second up to 2,000 a second, the third at none.
fn at_rates(rates: &[u64]) -> Made {
    let loads = rates.iter().map(|rate| Load { per_second: *rate, ..Load::USUAL });
    let of = |load| {
        let cases = group(&SOME, Workload::Rate, Placement::SameCpu);
        each(cases, |case| case.load = Some(load))
    };
    let ticks = |case: &Case, _| match (&*case.variant, case.load().per_second) {
        ("pipe", _) | ("unix-stream", ..=2_000) => 8_000,
        _ => 80_000,
    };
    let made = Made::on(host());
    let bound = Some("p90:20us".parse().expect("a bound"));
    let request = Request { bound, ..made.request };
    let groups = vec![loads.flat_map(of).collect()];
    Made { groups, request, samples: 100, rounds: 7, ticks, ..made }
}

fn choice() -> Made {
    let made = at_rates(&[2_000, 4_000]);
    let need = Need { per_second: 2_000, blocking: true, bytes: None };
    let request = Request { aim: Aim::Choice(need), ..made.request };
    let why = "carries a wake-up alone";
    let eventfd =
        Case { message_bytes: None, ..case("eventfd", Workload::Rate, Placement::SameCpu) };
    Made { request, absent: vec![(eventfd, Absence::NotApplicable, why)], ..made }
}

fn study() -> Made {
    let declared = study::validated::validate(STUDY, "small.toml", &workload::catalogue(&[]));
    let text = StudyText { name: "small.toml".into(), text: STUDY.into() };
    let request = Request { study: Some(text), ..declared.expect("a study").request };
    let all = ["shm-ring", "tcp", "unix-stream:wiring=self"];
    let groups = vec![group(&all, Workload::Latency, Placement::SameCpu)];
    Made { groups, request, rounds: 8, ..Made::on(host()) }
}

fn far() -> FarHost {
    let (hostname, boot_id) = (Some("other".into()), Some("boot of the other".into()));
    FarHost {
        host: Host { hostname, boot_id, ..host() },
        clock: clock(),
        addresses: Vec::new(),
        reached_at: None,
        network: Some(1),
        allowed_cpus: vec![0, 1],
    }
}

/// Three nodes, the last of which never answered.
fn fleet() -> Made {
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<String>>();
    let asked = FleetRequest {
        nodes: words(&["a", "b", "gone"]),
        launcher: words(&["ssh", "{node}"]),
        program: "ipcmark".into(),
        local: words(&["pipe"]),
        between: words(&["tcp"]),
        workloads: vec![(Workload::Latency, vec![64])],
        placements: vec![Placement::SameCpu],
        rounds: 8,
        concurrent: vec![Concurrent::One],
        samples: None,
        settle_ns: 0,
        network: None,
        floors: false,
        simulated: false,
        seed: 0,
    };
    let pair = Case { route: Route::Peer, ..case("tcp", Workload::Latency, Placement::Free) };
    let groups = vec![group(&["pipe"; 3], Workload::Latency, Placement::SameCpu), vec![pair; 3]];
    let ends = |group, nth| {
        Some(match (group, nth) {
            (0, near) => Ends { near, far: None, concurrent: None },
            (_, nth) => {
                let (near, far) = [(0, 1), (0, 2), (1, 2)][nth];
                Ends { near, far: Some(far), concurrent: Some(Concurrent::One) }
            }
        })
    };
    let outcome = |case: &Case, nth, _| {
        let met = if case.route == Route::Peer { nth < 1 } else { nth < 2 };
        met.then_some(Outcome::Ok)
    };
    let request = asked.request();
    Made { request, groups, fleet: Some(asked), ends, outcome, rounds: 8, ..Made::on(host()) }
}

fn peer() -> Made {
    let command = vec!["ssh".to_string(), "other".into()];
    let (program, far) = ("ipcmark".to_string(), far());
    let made = Made::on(host());
    let request = Request {
        routes: vec![Route::Local, Route::Peer],
        peer: Some(PeerRequest {
            command: command.clone(),
            program: program.clone(),
            ..Default::default()
        }),
        ..made.request
    };
    let peer = PeerRecord {
        command,
        program,
        ipv4: Some([192, 0, 2, 1].into()),
        ipv6: None,
        one_kernel: false,
        one_network: false,
        host: far.host,
        clock: far.clock,
    };
    let here = group(&SOME[2..], Workload::Latency, Placement::Free);
    let there = group(&["tcp", "udp"], Workload::Latency, Placement::Free);
    let groups = vec![here, each(there, |case| case.route = Route::Peer)];
    Made { request, groups, peer: Some(peer), ..made }
}

/// A run that a signal ended, one of whose mechanisms failed in every launch, one in one of them.
fn interrupted() -> Made {
    let (latency, one) = (Workload::Latency, Placement::SameCpu);
    let outcome = |case: &Case, _, round| {
        let failed = match &*case.variant {
            "tcp" => Some("the responder was killed by signal 9 (Killed)"),
            "unix-stream" if round == 2 => Some("the initiator ended with code 1"),
            _ => None,
        };
        let reason = failed.map(|reason| Outcome::Failed { reason: reason.into() });
        Some(reason.unwrap_or(Outcome::Ok))
    };
    let absent = vec![
        (case("posix-queue", latency, one), Absence::Unavailable, "mq_open: ENOSYS; none is here"),
        (case("shm-ring:wait=spin", latency, one), Absence::NotApplicable, "spins on one CPU"),
    ];
    let groups = vec![group(&SOME, latency, one), group(&SOME[..2], Workload::Throughput, one)];
    Made { groups, absent, outcome, rounds: 3, status: RunStatus::Interrupted, ..Made::on(host()) }
}

/// Counters and a trace of the same mechanisms.
fn observed() -> Made {
    let cases = group(&SOME[..2], Workload::Latency, Placement::SameCpu);
    let by = |probe: &str| {
        let probe = Some(probe.parse().expect("a probe"));
        each(cases.clone(), |case| case.observe = probe)
    };
    let groups = vec![[cases.clone(), by("software"), by("trace")].concat()];
    Made { groups, ..Made::on(host()) }
}

/// A run of which nothing came: each launch failed.
fn nothing() -> Made {
    let outcome = |_: &Case, _, _| Some(Outcome::Failed { reason: "killed".into() });
    let groups = vec![group(&SOME[..2], Workload::Latency, Placement::SameCpu)];
    Made { groups, outcome, ..Made::on(host()) }
}

/// Every kind of run but a fleet's, whose documents are of another kind.
fn runs() -> [(&'static str, Made); 10] {
    [
        ("default", comparison()),
        ("sweep", sweep()),
        ("rate", open_loops()),
        ("crowd", crowds()),
        ("capacity", at_rates(&[500, 2_000, 8_000])),
        ("choice", choice()),
        ("study", study()),
        ("peer", peer()),
        ("interrupted", interrupted()),
        ("observed", observed()),
    ]
}

/// The documents of these runs.
pub fn documents() -> Vec<Document> {
    let document = |(_, made): (_, Made)| {
        let bench = Bench::new();
        let mut store = Store::open(&bench.store()).expect("a store");
        let run = made.write(&mut store).expect("a run");
        compose(&Judged::of(&store, run).expect("a judged run"), Detail::Full)
    };
    runs().into_iter().map(document).collect()
}

/// Numbers at six digits, long lists by their first entry.
fn brief(value: Value, under: &str) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().expect("a number");
            format!("{number:.5e}").parse::<f64>().map_or(Value::Null, Value::from)
        }
        Value::Array(all) => {
            let kept = if LONG.contains(&under) { 1 } else { all.len() };
            let more = all.len().saturating_sub(kept);
            let all = all.into_iter().take(kept).map(|entry| brief(entry, under));
            let more = (more > 0).then(|| format!("{more} more").into());
            all.chain(more).collect()
        }
        Value::Object(all) => {
            let brief = |(key, value): (String, Value)| (key.clone(), brief(value, &key));
            all.into_iter().map(brief).collect()
        }
        other => other,
    }
}

/// The words of a page, those of its wide figures too, a row of a table in a line: without its program and styles.
fn words(page: &str) -> String {
    const INLINE: [&str; 12] =
        ["a", "abbr", "b", "button", "code", "em", "i", "small", "span", "strong", "sub", "sup"];
    let mut text = String::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at].replace('\n', " "));
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = rest[..end].trim_start_matches('/');
        let name = tag.split_whitespace().next().unwrap_or_default();
        let skipped = match name {
            "script" | "style" if !rest.starts_with('/') => Some(name),
            "svg" if tag.contains("class=\"narrow\"") => Some(name),
            _ => None,
        };
        let end = skipped.map_or(end, |name| rest.find(&format!("</{name}>")).expect("it ends"));
        match name {
            "td" | "th" if rest.starts_with('/') => text.push_str(" | "),
            "td" | "th" => {}
            name if INLINE.contains(&name) => {}
            _ => text.push('\n'),
        }
        if let Some((_, label)) = tag.split_once("aria-label=\"") {
            text.push_str(label.split('"').next().unwrap_or_default());
            text.push('\n');
        }
        rest = &rest[end..];
        rest = &rest[rest.find('>').map_or(rest.len(), |at| at + 1)..];
    }
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A table whose rows begin with the factors of a case: those once, before the rows of each.
fn by_case(csv: &str) -> String {
    let header = csv.lines().next().unwrap_or_default();
    let factors = header.split(',').take_while(|name| *name != "metric").count();
    let mut kept = String::new();
    let mut last = "";
    for line in csv.lines() {
        let at = line.match_indices(',').nth(factors - 1).map_or(line.len(), |(at, _)| at + 1);
        let (case, row) = line.split_at(at);
        if case != last {
            kept += &format!("{case}\n");
            last = case;
        }
        kept += &format!("  {row}\n");
    }
    kept
}

/// The first event of each kind for each case; of results, which the JSON holds, for each workload.
fn first_events(text: &str) -> String {
    let mut seen = BTreeSet::new();
    let is_first = |line: &&str| {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let workload = &event["result"]["workload"];
        let of = if workload.is_null() { &event["case"] } else { workload };
        seen.insert([&event["event"], of].map(Value::to_string))
    };
    text.lines().filter(is_first).collect::<Vec<_>>().join("\n")
}

/// Holds a text to what was reviewed.
fn held(bench: &Bench, name: &str, text: &str) {
    let store = bench.store().display().to_string();
    let text = text.replace(&store, "STORE").replace(model::tool::name(), "ipcmark TOOL");
    let text = text.replace("ipcmark 0.1.0", "ipcmark TOOL");
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

fn pretty(value: Value) -> String {
    let mut text = Vec::new();
    let narrow = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, narrow);
    brief(value, "").serialize(&mut writer).expect("JSON");
    String::from_utf8(text).expect("UTF-8")
}

/// Writes a run, and shows it in every format.
fn shown(name: &str, made: Made) -> Bench {
    shown_after(name, made, |_, _| {})
}

/// The same, once the run was changed.
fn shown_after(name: &str, made: Made, change: impl FnOnce(&mut Store, i64)) -> Bench {
    let bench = Bench::new();
    let mut store = Store::open(&bench.store()).expect("a store");
    let run = made.write(&mut store).expect("a run");
    change(&mut store, run);
    drop(store);
    let page = bench.path("page.html");
    let brief_text = bench.run(&format!("report 1 --html {}", page.display())).out;
    let json = parse(&bench.must("export 1").out);
    must_fit_the_schema(&json);
    assert_consistent(&json);
    let page = std::fs::read_to_string(page).expect("a page");
    let csv = bench.must("export 1 --format csv").out;
    for (kind, text) in [
        ("brief", brief_text),
        ("all", bench.run("report 1 -v").out),
        ("page", words(&page)),
        ("markdown", bench.must("export 1 --format markdown").out),
        ("json", pretty(json)),
        ("ndjson", first_events(&bench.must("export 1 --format ndjson").out)),
        ("bmf", bench.run("export 1 --format bmf").out),
        ("csv", by_case(&csv)),
    ] {
        held(&bench, &format!("{name}_{kind}"), &text);
    }
    bench
}

#[test]
fn a_comparison_at_three_places_is_shown_as_reviewed() {
    let bench = shown("default", comparison());
    let spectra = bench.must("export 1 --format hgrm").out;
    held(&bench, "default_hgrm", spectra.split("\n\n#").next().unwrap_or_default());
}

#[test]
fn a_sweep_of_sizes_is_shown_as_reviewed() {
    shown("sweep", sweep());
}

#[test]
fn open_loops_observed_and_in_company_are_shown_as_reviewed() {
    shown("rate", open_loops());
}

#[test]
fn crowds_are_shown_as_reviewed() {
    shown("crowd", crowds());
}

#[test]
fn capacities_are_shown_as_reviewed() {
    shown("capacity", at_rates(&[500, 2_000, 8_000]));
}

#[test]
fn a_choice_is_shown_as_reviewed() {
    let bench = shown("choice", choice());
    let store = Store::open_existing(&bench.store()).expect("a store");
    let judged = Judged::of(&store, 1).expect("a judged run");
    let answer = serde_json::to_value(Choice::of(&judged)).expect("JSON");
    held(&bench, "choice_answer", &pretty(answer));
}

#[test]
fn a_study_with_claims_is_shown_as_reviewed() {
    let bench = shown("study", study());
    held(&bench, "study_claims", &bench.must("export 1 --format claims-csv").out);
}

#[test]
fn a_fleet_with_a_node_that_is_gone_is_shown_as_reviewed() {
    shown_after("fleet", fleet(), answer_of_nodes);
}

/// Two of its nodes answered.
fn answer_of_nodes(store: &mut Store, run: i64) {
    for nth in 0..2 {
        store.set_node(run, nth, &far()).expect("a node");
    }
    store.set_node_reason(run, 2, "no such host").expect("a reason");
}

#[test]
fn runs_of_every_kind_on_one_page_are_shown_as_reviewed() {
    let bench = Bench::new();
    let mut store = Store::open(&bench.store()).expect("a store");
    let all = runs().into_iter().chain([("nothing", nothing()), ("again", comparison())]);
    for (name, made) in all {
        let run = made.write(&mut store).expect("a run");
        store.set_label(run, &name.parse().expect("a label")).expect("a label");
    }
    let run = fleet().write(&mut store).expect("a run");
    answer_of_nodes(&mut store, run);
    drop(store);
    bench.must("runs --html pages");
    let page = |name: String| std::fs::read_to_string(bench.path(&name)).expect("a page");
    held(&bench, "index_page", &words(&page("pages/index.html".into())));
    for run in 1..=run {
        bench.run(&format!("report {run} --html {run}.html"));
        let (beside, alone) = (page(format!("pages/run-{run}.html")), page(format!("{run}.html")));
        assert!(beside == alone, "run {run} has another page than that of `report`");
    }
}

#[test]
fn a_run_between_two_hosts_is_shown_as_reviewed() {
    shown("peer", peer());
}

#[test]
fn an_interrupted_run_with_what_failed_is_shown_as_reviewed() {
    shown("interrupted", interrupted());
}

#[test]
fn a_run_that_measured_nothing_is_shown_as_reviewed() {
    shown("nothing", nothing());
}

#[test]
fn counters_and_a_trace_are_shown_as_reviewed() {
    shown("observed", observed());
}

#[test]
fn a_comparison_of_two_runs_is_shown_as_reviewed() {
    let bench = Bench::new();
    let mut store = Store::open(&bench.store()).expect("a store");
    comparison().write(&mut store).expect("a run");
    let ticks = |_: &Case, nth| 8_000 + 800 * nth as u64;
    Made { ticks, ..comparison() }.write(&mut store).expect("a run");
    drop(store);
    held(&bench, "compare_text", &bench.run("compare 1 2").out);
    let json = parse(&bench.run("compare 1 2 --format json").out);
    held(&bench, "compare_json", &pretty(json));
    let mut store = Store::open(&bench.store()).expect("a store");
    let made = || at_rates(&[500, 2_000, 8_000]);
    made().write(&mut store).expect("a run");
    let ticks = |case: &Case, _| if case.variant == "tcp" { 8_000 } else { 80_000 };
    Made { ticks, ..made() }.write(&mut store).expect("a run");
    drop(store);
    held(&bench, "compare_capacities", &bench.run("compare 3 4").out);
}
