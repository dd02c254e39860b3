//! What stored runs look like in every format: reviewed files in tests/snapshots, so that a change of the code shows
//! what it changes for a reader. After a change that is meant: `INSTA_UPDATE=always cargo test guard::`, and read the
//! difference.

use crate::cli_support::{Bench, stored};
use model::case::Case;
use model::company::Company;
use model::host::{Host, Processor};
use model::load::Load;
use model::placement::{Placement, ResolvedPlacement};
use model::workload::Workload;
use serde_json::Value;
use store::Store;

/// Entries of a list of JSON, and lines of a file, that are enough to see what it holds.
const ENTRIES: usize = 3;
const LINES: usize = 60;

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

/// What is compared with each other, a group each.
fn groups(name: &str) -> Vec<Vec<Case>> {
    let some = ["pipe", "unix-stream", "tcp"];
    let group = |names: &[&str], change: &dyn Fn(&mut Case), workload, placement| -> Vec<Case> {
        let changed = |name: &&str| {
            let mut case = case(name, workload, placement);
            change(&mut case);
            case
        };
        names.iter().map(changed).collect()
    };
    let (latency, one) = (Workload::Latency, Placement::SameCpu);
    match name {
        "default" => {
            let mut twins = group(&some, &|_| {}, latency, one);
            twins.push(Case { twin: true, ..twins[0].clone() });
            let across = ["pipe", "unix-stream", "shm-ring:wait=spin", "eventfd"];
            let bulk = |case: &mut Case| case.message_bytes = Some(65_536);
            vec![
                twins,
                group(&across, &|_| {}, latency, Placement::SameLlc),
                group(&some, &bulk, Workload::Throughput, Placement::Free),
                group(&some, &|_| {}, Workload::Connect, one),
            ]
        }
        "sweep" => [64, 256, 1_024, 4_096, 16_384, 65_536]
            .map(|size| group(&some[..2], &|case| case.message_bytes = Some(size), latency, one))
            .to_vec(),
        "rate" => {
            let mut groups = Vec::new();
            for (per_second, connections) in [(1_000, 1), (4_000, 1), (4_000, 4)] {
                let load = Load { per_second, connections, ..Load::USUAL };
                let loaded = |case: &mut Case| case.load = Some(load);
                let mut cases = group(&some[..2], &loaded, Workload::Rate, Placement::Free);
                let probe = "software".parse().expect("a probe");
                cases.push(Case { observe: Some(probe), ..cases[0].clone() });
                cases.push(Case { beside: Some(Company::Hog), ..cases[0].clone() });
                groups.push(cases);
            }
            groups
        }
        "crowd" => [2, 8]
            .map(|connections| {
                let many = |case: &mut Case| case.load = Some(Load::closed(connections));
                group(&some, &many, Workload::Messaging, Placement::Free)
            })
            .to_vec(),
        other => panic!("no run is called {other}"),
    }
}

/// Numbers at six digits, lists by their first entries.
fn brief(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().expect("a number");
            format!("{number:.5e}").parse::<f64>().map_or(Value::Null, Value::from)
        }
        Value::Array(all) => {
            let more = all.len().saturating_sub(ENTRIES);
            let mut kept: Vec<Value> = all.into_iter().take(ENTRIES).map(brief).collect();
            kept.extend((more > 0).then(|| format!("{more} more").into()));
            kept.into()
        }
        Value::Object(all) => all.into_iter().map(|(key, value)| (key, brief(value))).collect(),
        other => other,
    }
}

/// The words of a page: without its program, its styles and what is drawn.
fn words(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let skipped = ["script", "style", "svg"].iter().find(|tag| rest[1..].starts_with(**tag));
        let end = match skipped {
            Some(tag) => format!("</{tag}>"),
            None => ">".into(),
        };
        let after = rest.find(&end).map_or(rest.len(), |at| at + end.len());
        text.push('\n');
        rest = &rest[after..];
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// The first lines, and how many more there are.
fn first_lines(text: &str) -> String {
    let mut kept: Vec<&str> = text.lines().take(LINES).collect();
    let more = format!("… {} more lines", text.lines().count().saturating_sub(LINES));
    if text.lines().count() > LINES {
        kept.push(&more);
    }
    kept.join("\n")
}

fn shown(name: &str) {
    let bench = Bench::new();
    let mut store = Store::open(&bench.store()).expect("a store");
    stored::run_on(&mut store, &host(), &groups(name)).expect("a run");
    drop(store);
    let page = bench.path("page.html");
    let text = bench.must(&format!("report 1 --html {}", page.display())).out;
    let json = serde_json::from_str(&bench.must("export 1").out).expect("JSON");
    let page = std::fs::read_to_string(page).expect("a page");
    let store = bench.store().display().to_string();
    for (kind, text) in [
        ("brief", text),
        ("all", bench.must("report 1 -v").out),
        ("page", words(&page)),
        ("markdown", bench.must("export 1 --format markdown").out),
        ("json", serde_json::to_string_pretty(&brief(json)).expect("JSON")),
        ("ndjson", first_lines(&bench.must("export 1 --format ndjson").out)),
        ("csv", first_lines(&bench.must("export 1 --format csv").out)),
    ] {
        let text = text.replace(&store, "STORE").replace(model::tool::name(), "ipcmark TOOL");
        let text = text.replace("ipcmark 0.1.0", "ipcmark TOOL");
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("{name}_{kind}"), text);
        });
    }
}

#[test]
fn a_comparison_at_three_places_is_shown_as_reviewed() {
    shown("default");
}

#[test]
fn a_sweep_of_sizes_is_shown_as_reviewed() {
    shown("sweep");
}

#[test]
fn open_loops_observed_and_in_company_are_shown_as_reviewed() {
    shown("rate");
}

#[test]
fn crowds_are_shown_as_reviewed() {
    shown("crowd");
}
