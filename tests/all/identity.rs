//! Two cases of a run never share a name: in no table, figure, verdict, row of an export, event, or benchmark. Runs
//! that differ in each factor alone and in every pair of factors are made up through the store; nothing is measured.

use std::collections::{BTreeSet, HashMap};

use crate::cli_support::{list, stored};
use analysis::Judged;
use analysis::compare::{GateOn, Measured, Terms, compare};
use model::alignment::Alignment;
use model::case::Case;
use model::company::Company;
use model::launch::Workers;
use model::load::{Load, Server, Service};
use model::memory::Memory;
use model::placement::{Placement, ResolvedPlacement};
use model::probe::Probe;
use model::route::Route;
use model::total::Total;
use model::workload::{Policy, Workload};
use report::compose::{Detail, answer, comparison, compose};
use report::export::{self, Container, Format, Rows};
use report::{Align, Block, Document, Figure, FigureKind, Table};
use serde::Deserialize;
use store::Store;

/// A factor of a case, and how its level is changed.
type Change = (&'static str, fn(&mut Case));

/// Every factor of a case that a run may vary, with another level. Of a `load` every part.
fn changes(base: &Case) -> Vec<Change> {
    // No `..`: a new factor is varied here, or it is said why it doesn't tell two results apart.
    let Case {
        variant: _,
        workload,
        message_bytes,
        total,
        load,
        placement: _,
        // Follows from the placement.
        place: _,
        workers: _,
        payload: _,
        align: _,
        memory: _,
        nice: _,
        writers: _,
        readers: _,
        twin: _,
        route: _,
        arm: _,
        // Such cases stand beside each result: see `with_observed`.
        observe: _,
        beside: _,
    } = base;
    let mut changes: Vec<Change> = vec![
        ("variant", |case| case.variant = "unix-stream".into()),
        ("placement", |case| {
            case.placement = Placement::Free;
            case.place = ResolvedPlacement::FREE;
        }),
        ("workers", |case| case.workers = Workers::Thread),
        ("payload", |case| case.payload = Policy::Written),
        ("twin", |case| case.twin = true),
        ("arm", |case| case.arm = Some("rt".into())),
        ("memory", |case| case.memory = Memory::Local),
        ("nice", |case| case.nice = 5),
        ("route", |case| case.route = Route::parse("lab:routers=1").unwrap()),
    ];
    if *workload == Workload::Shared {
        changes.push(("writers", |case| case.writers = 3));
        changes.push(("readers", |case| case.readers = 3));
    }
    if message_bytes.is_some() {
        changes.push(("message_bytes", |case| case.message_bytes = Some(4096)));
        changes.push(("align", |case| case.align = Alignment::Page));
    }
    if total.is_some() {
        changes.push(("total", |case| case.total = Some(Total::Bytes(1 << 20))));
        changes.push(("total, one message", |case| case.total = Some(Total::Message)));
    }
    match load {
        Some(load) if load.has_rate() => {
            let Load {
                per_second: _,
                depth: _,
                connections: _,
                server: _,
                response: _,
                service: _,
            } = load;
            fn of(case: &mut Case) -> &mut Load {
                case.load.as_mut().expect("a load")
            }
            let parts: [Change; 6] = [
                ("per_second", |case| of(case).per_second *= 2),
                ("depth", |case| of(case).depth = 8),
                ("connections", |case| of(case).connections = 4),
                ("server", |case| of(case).server = Some(Server::Scan)),
                ("response", |case| of(case).response = Some(4096)),
                ("service", |case| of(case).service = Service::Exponential(5_000)),
            ];
            changes.extend(parts);
        }
        _ if workload.traits().many_connections() => {
            changes.push(("connections", |case| case.load = Some(Load::closed(3))));
        }
        _ => {}
    }
    changes
}

/// A case of `workload`, with the usual level of every factor.
fn base(workload: Workload) -> Case {
    let traits = workload.traits();
    Case {
        message_bytes: traits.has_size.then_some(64),
        place: ResolvedPlacement { cpus: Some((0, 0)), ..ResolvedPlacement::FREE },
        ..Case::usual("pipe".into(), workload)
    }
}

/// The base, each change of it, and every pair of changes.
fn cases(workload: Workload) -> Vec<Case> {
    let base = base(workload);
    let changes = changes(&base);
    let mut found = vec![base.clone()];
    for (nth, (_, change)) in changes.iter().enumerate() {
        let mut one = base.clone();
        change(&mut one);
        assert_ne!(one, base, "{} changes nothing", changes[nth].0);
        found.push(one.clone());
        for (_, other) in &changes[nth + 1..] {
            let mut both = one.clone();
            other(&mut both);
            found.push(both);
        }
    }
    // All at once, and all but one.
    for but in 0..=changes.len() {
        let mut most = base.clone();
        let all = changes.iter().enumerate().filter(|(nth, _)| *nth != but);
        all.for_each(|(_, (_, change))| change(&mut most));
        found.push(most);
    }
    // One total is no other one's change.
    let mut kept: Vec<Case> = Vec::new();
    for case in found {
        if !kept.contains(&case) {
            kept.push(case);
        }
    }
    kept
}

/// Each case that is no twin once more under instrumentation, and beside a load.
fn with_observed(cases: Vec<Case>) -> Vec<Case> {
    let probe: Probe = "software".parse().unwrap();
    let beside = |case: &Case| {
        [
            Case { observe: Some(probe), ..case.clone() },
            Case { beside: Some(Company::Hog), ..case.clone() },
        ]
    };
    let others: Vec<Case> = cases.iter().filter(|case| !case.twin).flat_map(beside).collect();
    [cases, others].concat()
}

/// What a group shares: all but what is compared in it.
fn group_of(case: &Case) -> String {
    let Case { workload, message_bytes, total, load, workers, payload, align, .. } = case;
    format!("{workload:?} {message_bytes:?} {total:?} {load:?} {workers:?} {payload:?} {align}")
}

fn made(workload: Workload) -> (tempfile::TempDir, Store, Judged) {
    made_of(with_observed(cases(workload)))
}

fn made_of(cases: Vec<Case>) -> (tempfile::TempDir, Store, Judged) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.sqlite")).unwrap();
    let mut groups: Vec<(String, Vec<Case>)> = Vec::new();
    for case in cases {
        let key = group_of(&case);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some((_, cases)) => cases.push(case),
            None => groups.push((key, vec![case])),
        }
    }
    let groups: Vec<Vec<Case>> = groups.into_iter().map(|group| group.1).collect();
    let run = stored::run_of(&mut store, &groups).unwrap();
    let judged = Judged::of(&store, run).unwrap();
    (folder, store, judged)
}

/// Names that were seen, and what has more than one.
#[derive(Default)]
struct Names {
    seen: HashMap<String, usize>,
}

impl Names {
    fn take(&mut self, name: impl Into<String>) {
        *self.seen.entry(name.into()).or_default() += 1;
    }

    fn shared(&self) -> BTreeSet<&str> {
        self.seen.iter().filter(|pair| *pair.1 > 1).map(|pair| pair.0.as_str()).collect()
    }
}

/// What is shared, a line for each list of names; empty where nothing is.
#[derive(Default)]
struct Shared(Vec<String>);

impl Shared {
    fn of(&mut self, names: &Names, what: &str, workload: Workload) {
        assert!(!names.seen.is_empty(), "{what} of {workload:?} has names");
        let shared: Vec<&str> = names.shared().into_iter().take(8).collect();
        if !shared.is_empty() {
            self.0.push(format!("{what} of {workload:?}:\n  {}", shared.join("\n  ")));
        }
    }

    fn is_none(&self) {
        assert!(self.0.is_empty(), "two cases share a name\n{}", self.0.join("\n"));
    }
}

/// The rows of a table, each by its caption, the heading above it and its columns of words.
fn rows(table: &Table, names: &mut Names) {
    let words: Vec<usize> = (0..table.columns.len())
        .filter(|at| table.columns[*at].align == Align::Left && table.columns[*at].priority == 0)
        .collect();
    let (mut heading, mut above) = (String::new(), String::new());
    for row in &table.rows {
        let cell = |at: usize| row.cells.get(at).map_or(String::new(), |cell| cell.to_plain());
        if row.cells.len() == 1 && table.columns.len() > 1 {
            heading = cell(0);
            continue;
        }
        // A first cell that is empty says the same as the one above.
        let first = words.first().map_or(String::new(), |at| cell(*at));
        if !first.trim().is_empty() {
            above = first;
        }
        let own: Vec<String> = words.iter().skip(1).map(|at| cell(*at)).collect();
        names.take(format!("{} | {heading} | {above} | {}", table.caption, own.join(" | ")));
    }
}

fn figure(figure: &Figure, names: &mut Names) {
    names.take(format!("figure {}", figure.title));
    names.take(format!("id {}", figure.id));
    for series in &figure.series {
        names.take(format!("{}: curve {}", figure.title, series.name));
        if figure.kind == FigureKind::Curves {
            for point in &series.points {
                names.take(format!("{}: {} at {}", figure.title, series.name, point.x));
            }
        }
    }
    for category in &figure.x.categories {
        names.take(format!("{}: category {category}", figure.title));
    }
}

fn blocks(all: &[Block], names: &mut Names) {
    for block in all {
        match block {
            Block::Table(table) => rows(table, names),
            Block::Listing(listing) => {
                let mut table = listing.table();
                for column in &mut table.columns {
                    let tells = ["mechanism", "workload", "placement", "size"];
                    let tells = tells.contains(&column.name.as_str());
                    (column.align, column.priority) =
                        if tells { (Align::Left, 0) } else { (Align::Right, 0) };
                }
                rows(&table, names);
            }
            Block::Figure(it) => figure(it, names),
            Block::Verdict(verdict) => {
                let head = verdict.headline.runs.first().map_or("", |run| run.as_str());
                names.take(format!("verdict {head}"));
            }
            Block::Details { blocks: inner, .. } => blocks(inner, names),
            Block::Paragraph(_) | Block::Facts(_) | Block::Warning(_) | Block::List(_) => {}
        }
    }
}

fn shown(document: &Document) -> Names {
    let mut names = Names::default();
    document.sections.iter().for_each(|section| blocks(&section.blocks, &mut names));
    names
}

const ALL: [Workload; 7] = [
    Workload::Latency,
    Workload::Throughput,
    Workload::Connect,
    Workload::Rate,
    Workload::Messaging,
    Workload::FanOut,
    Workload::Shared,
];

#[test]
#[ignore = "long form"]
fn no_two_cases_share_a_name_in_what_a_person_reads() {
    let mut shared = Shared::default();
    for workload in ALL {
        let (_folder, _store, judged) = made(workload);
        for (what, document) in [
            ("the answer", answer(&judged)),
            ("the summary", compose(&judged, Detail::Summary)),
            ("the page", compose(&judged, Detail::Full)),
        ] {
            shared.of(&shown(&document), what, workload);
        }
    }
    shared.is_none();
}

#[test]
#[ignore = "long form"]
fn each_answer_of_a_run_has_its_rows_and_what_is_true_of_all_is_said_once() {
    let other = Case { variant: "unix-stream".into(), ..base(Workload::Latency) };
    let quiet = vec![base(Workload::Latency), other];
    let (_folder, _store, judged) = made_of([quiet, with_observed(cases(Workload::Rate))].concat());
    let answer = answer(&judged);
    let blocks = || answer.sections.iter().flat_map(|section| &section.blocks);
    for id in ["answer", "rates"] {
        let section = answer.sections.iter().find(|section| section.id == id).expect(id);
        let has_rows = |block: &Block| matches!(block, Block::Table(table) if table.rows.iter().any(|row| row.cells.len() > 1));
        assert!(section.blocks.iter().any(has_rows), "{id}: {section:?}");
    }
    assert_eq!(blocks().filter(|block| matches!(block, Block::Facts(_))).count(), 1);
    for (nth, block) in blocks().enumerate() {
        assert!(!blocks().skip(nth + 1).any(|other| other == block), "twice: {block:?}");
    }
}

#[test]
#[ignore = "long form"]
fn no_two_cases_share_a_name_in_a_comparison_of_runs() {
    let mut shared = Shared::default();
    for workload in ALL {
        let (_folder, _store, judged) = made(workload);
        let run = Measured::of(&judged);
        let terms = Terms { gate: Some(0.1), gate_on: GateOn::default(), ..Terms::PLAIN };
        let found = compare(("a", &run), ("b", &run), terms);
        let results = judged.results.iter().filter(|result| !result.twin).count();
        assert_eq!(found.cases.len(), results, "{workload:?}");
        shared.of(&shown(&comparison(&found, Detail::Full)), "a comparison", workload);
    }
    shared.is_none();
}

/// The cells of a line of RFC 4180.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    cells.push(cell);
    cells
}

/// Lines of a table by the columns from `from` up to `to`, and those called `also`.
fn by_columns(text: &str, [from, to]: [&str; 2], also: &[&str]) -> Names {
    let mut lines = text.split("\r\n").filter(|part| !part.is_empty());
    let header = cells(lines.next().expect("a header"));
    let at = |name: &str| {
        header.iter().position(|text| text == name).unwrap_or_else(|| panic!("{name}: {header:?}"))
    };
    let own: Vec<usize> = (at(from)..at(to)).chain(also.iter().map(|text| at(text))).collect();
    let mut names = Names::default();
    for line in lines {
        let cells = cells(line);
        names.take(own.iter().map(|at| cells[*at].as_str()).collect::<Vec<_>>().join(" "));
    }
    names
}

/// Entries of JSON without what only numbers them.
fn entry(value: &serde_json::Value, keys: &[&str]) -> String {
    keys.iter().map(|key| format!("{key}={} ", value[key])).collect()
}

const IDENTITY: [&str; 24] = [
    "variant",
    "workload",
    "message_bytes",
    "total",
    "asked_per_sec",
    "depth",
    "connections",
    "server",
    "response_bytes",
    "service",
    "route",
    "nodes",
    "concurrent",
    "placement",
    "cpus",
    "workers",
    "payload",
    "align",
    "memory",
    "nice",
    "writers",
    "readers",
    "arm",
    "twin",
];

#[test]
#[ignore = "long form"]
fn no_two_cases_share_a_name_in_what_a_program_reads() {
    let mut shared = Shared::default();
    for workload in ALL {
        let (_folder, store, judged) = made(workload);
        let text = |format| export::text(format, &judged, &store).unwrap();
        let results = judged.results.iter().filter(|result| !result.twin).count();

        let csv = by_columns(&text(Format::Csv), ["variant", "carries"], &["metric"]);
        shared.of(&csv, "csv", workload);

        let mut table = Vec::new();
        let container = Container::Csv;
        export::write_data(Rows::Launches, container, &judged, &store, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        let launches = by_columns(&table, ["variant", "swapped"], &["round"]);
        shared.of(&launches, "launches", workload);
        let all = judged.results.len() * stored::ROUNDS as usize;
        assert_eq!(launches.seen.len(), all, "{workload:?}");

        let (mut planned, mut launched) = (Names::default(), Names::default());
        for line in text(Format::Ndjson).lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            match event["event"].as_str().unwrap() {
                "start" => list(&event["cases"]).iter().for_each(|case| {
                    planned.take(entry(case, &IDENTITY));
                }),
                "launch" => launched.take(entry(&event, &[&IDENTITY[..], &["round"]].concat())),
                _ => {}
            }
        }
        shared.of(&planned, "start", workload);
        shared.of(&launched, "launch", workload);
        assert_eq!((planned.seen.len(), launched.seen.len()), (judged.results.len(), all));

        let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
        for key in ["observed", "beside"] {
            let mut names = Names::default();
            let entries = list(&json[key]);
            let case = |entry: &serde_json::Value| {
                let case: Case = Case::deserialize(entry).expect("a case");
                format!("{case:?} {} {}", entry["nodes"], entry["concurrent"])
            };
            entries.iter().for_each(|entry| names.take(case(entry)));
            shared.of(&names, key, workload);
            assert_eq!(names.seen.len(), results, "{key} of {workload:?}");
        }

        let bmf: serde_json::Value =
            serde_json::from_str(&text(Format::named("bmf").unwrap())).unwrap();
        assert_eq!(bmf.as_object().unwrap().len(), results, "benchmarks of {workload:?}");

        let mut files = Names::default();
        for (file, _) in export::spectra(&judged, &store).unwrap() {
            files.take(file);
        }
        if !files.seen.is_empty() {
            shared.of(&files, "spectra", workload);
        }
    }
    shared.is_none();
}

#[test]
fn what_is_named_twice_is_measured_once() {
    let twice =
        "run pipe uds unix-stream pipe -w latency,latency -s 64,64 -p same-cpu,same-cpu --nice 0,0";
    let names = crate::cli_support::Bench::new().must(&format!("{twice} --list-names")).out;
    let [pipe, uds] =
        ["pipe", "unix-stream"].map(|name| format!("{name}/latency/64B/same-cpu/process"));
    assert_eq!(names, format!("{pipe}\n{uds}\n{pipe}/twin\n"));
}
