//! Each built-in study on its page, from a stored run: everything that its source prints stands there,
//! beside what was measured at the same levels, and ranks are among what the source ranks.
//!
//! The run is a small one. Its study and its results are put in its place: a case for each of the plan's,
//! with times that are made up, so that a test knows what comes first.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use crate::cli_support::Bench;
use analysis::Site;
use analysis::{CaseResult, Judged, Status};
use machine::Topology;
use model::request::StudyText;
use report::compose::{Detail, compose};
use report::{Block, Document, Table, html};
use run::plan::{AvailableRoutes, Case, Machine, WithMechanism, plan};
use store::Store;
use study::builtin;
use study::format::{Published, PublishedFigure};
use study::validated::{ValidatedStudy, validate};

/// A small run, measured once for all tests.
fn small() -> Judged {
    static MEASURED: OnceLock<Bench> = OnceLock::new();
    let bench = MEASURED.get_or_init(|| {
        // Published floors stand beside those of the run.
        let bench = Bench::thorough();
        bench.must("run pipe -w latency -s 64 -p same-cpu --launches 6 --samples 50 -q");
        bench
    });
    let store = Store::open_existing(&bench.store()).expect("a store");
    Judged::of(&store, store.find_run("last").expect("a run")).expect("a judged run")
}

/// What an operation of a mechanism takes, in ns: what the second paper doesn't rank is quickest.
fn made_up(case: &Case) -> f64 {
    let own = match case.variant.to_string().as_str() {
        "tcp" => 1_000.0,
        "pipe" => 2_000.0,
        "udp" => 3_000.0,
        _ => 500.0,
    };
    own + case.message_bytes.unwrap_or(1) as f64 / 16.0
}

fn result(template: &CaseResult, case: &Case) -> CaseResult {
    let mut made = template.clone();
    let ns = made_up(case);
    made.case = case.kept();
    made.site = Site::of(case);
    made.mechanism = made.variant.split(':').next().unwrap_or_default().to_string();
    made.carries = case.variant.traits().carries;
    made.metric = workload::metric(made.workload, made.carries).clone();
    (made.status, made.reason) = (Status::Ok, None);
    made.by_round = vec![Some(ns); 6];
    made.others_by_round.insert("min", vec![Some(ns); 6]);
    let mut estimate = template.value.clone().expect("a latency");
    estimate.median = ns;
    made.value = Some(estimate);
    made
}

/// The run as if it had been made for that study.
fn as_if(name: &str, text: &str) -> (ValidatedStudy, Judged) {
    let declared = validate(text, name, &workload::catalogue(&[])).unwrap();
    let topology = Topology::read(Path::new("/")).unwrap();
    let allowed = topology.online();
    let machine =
        Machine { topology: &topology, allowed: &allowed, routes: &AvailableRoutes::default() };
    let plan = plan(&declared.request, &machine).unwrap();
    let all = plan
        .groups
        .iter()
        .flat_map(|group| group.cases.iter().chain(group.absent.iter().map(|absent| &absent.case)));
    let mut judged = small();
    let template = judged.results[0].clone();
    judged.results =
        all.filter(|case| case.observe.is_none()).map(|case| result(&template, case)).collect();
    judged.groups.clear();
    judged.sweeps.clear();
    judged.run.request = declared.request.clone();
    judged.run.request.study = Some(StudyText { name: name.into(), text: text.into() });
    judged.decide_claims().unwrap();
    (declared, judged)
}

/// The tables of a study's own part of the page.
fn tables(document: Document) -> Vec<Table> {
    let blocks = document
        .sections
        .into_iter()
        .filter(|section| !section.appendix)
        .flat_map(|section| section.blocks);
    let table = |block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    };
    blocks.filter_map(table).collect()
}

/// The figure as a page has it, of a set whose ranks have no unit.
fn on_page(set: &Published, figure: &PublishedFigure) -> String {
    let unit = figure.unit.as_ref().unwrap_or(&set.unit);
    let unit = if set.unit == "rank" { String::new() } else { format!(" {unit}") };
    let label = figure.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
    format!("{}{unit}{label}", figure.as_printed())
}

/// What the tables beside which a set stands have in their cells and notes, and how often.
fn shown(set: &Published, tables: &[Table]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for table in tables.iter().filter(|table| stands_beside(set, table)) {
        let notes =
            table.notes.iter().map(|note| note.to_plain().trim_end_matches('.').to_string());
        let notes: Vec<String> =
            notes.map(|note| note.replace("Without a bound of that name: ", "")).collect();
        let cells = table.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.to_plain());
        for text in cells.chain(notes) {
            for part in parts(&text) {
                *found.entry(part).or_default() += 1;
            }
        }
    }
    found
}

fn stands_beside(set: &Published, table: &Table) -> bool {
    let named = |text: &str| text.trim_start().starts_with(set.name.as_str());
    table.columns.iter().any(|column| named(&column.name))
        || table
            .rows
            .iter()
            .any(|row| row.cells.first().is_some_and(|cell| named(&cell.to_plain())))
}

/// `16 KiB (first), 64 KiB (largest)` by its figures; commas in brackets part nothing.
fn parts(text: &str) -> Vec<String> {
    let mut depth = 0;
    let part = |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    };
    let all = text.split(part).map(str::trim).map(String::from).collect::<Vec<_>>();
    // A number has commas too.
    if all.len() > 1 { all.into_iter().chain([text.trim().to_string()]).collect() } else { all }
}

#[test]
#[ignore = "long form"]
fn every_published_number_stands_on_the_page_of_its_study() {
    for (name, text) in builtin::all() {
        if !text.contains("[[published]]") {
            continue;
        }
        let (declared, judged) = as_if(name, text);
        let document = compose(&judged, Detail::Full);
        let page = html::render(&document);
        let tables = tables(document);
        for set in &declared.study.published {
            let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
            for figure in &set.figures {
                let printed = figure.as_printed();
                assert!(page.contains(&printed), "{name}, `{}`: {printed} on the page", set.name);
                if figure.show.as_deref() != Some("place") {
                    *wanted.entry(on_page(set, figure)).or_default() += 1;
                }
            }
            let shown = shown(set, &tables);
            for (number, times) in wanted {
                let found = shown.get(&number).copied().unwrap_or(0);
                assert!(found >= times, "{name}, `{}`: {number}: {found} of {times}", set.name);
            }
        }
    }
}

/// A column of a table by its rows' names.
fn column(table: &Table, name: &str) -> BTreeMap<String, String> {
    let at = table.columns.iter().position(|column| column.name == name).expect(name);
    let cell = |row: &report::Row| (row.cells[0].to_plain(), row.cells[at].to_plain());
    table.rows.iter().map(cell).collect()
}

#[test]
#[ignore = "long form"]
fn a_table_of_ranks_has_those_printed_of_its_own_sizes_and_ranks_no_other_variant() {
    let text = builtin::find("002").unwrap();
    let (_, judged) = as_if("002", text);
    let all = tables(compose(&judged, Detail::Full));
    let ranked: Vec<&Table> = all
        .iter()
        .filter(|table| table.columns.iter().any(|column| column.name == "rank"))
        .collect();
    assert_eq!(ranked.len(), 9, "three sizes in latency and in two throughputs");
    let of = |title: &str| {
        let found = ranked.iter().find(|table| table.caption.starts_with(title));
        *found.unwrap_or_else(|| panic!("{title}"))
    };
    for table in &ranked {
        for show in ["rank", "rank-min"] {
            let here = column(table, show);
            let order = ["tcp", "pipe", "udp"].map(|text| here[text].as_str());
            assert_eq!(order, ["1", "2", "3"], "{}", table.caption);
            let others = here
                .iter()
                .filter(|pair| !["tcp", "pipe", "udp", "  ranks"].contains(&pair.0.as_str()));
            assert!(
                others.map(|pair| pair.1).all(|text| text == "–"),
                "{}: {here:?}",
                table.caption
            );
        }
    }
    // Below each of the three stands its printed rank: udp, tcp, pipe of the small, tcp before of the large.
    let printed = |title: &str| {
        let table = of(title);
        let at = table.columns.iter().position(|column| column.name == "rank").unwrap();
        let pairs =
            table.rows.windows(2).filter(|window| window[1].cells[0].to_plain() == "  ranks");
        let ranked = pairs.map(|rows| (rows[0].cells[0].to_plain(), rows[1].cells[at].to_plain()));
        let mut ranked: Vec<(String, String)> = ranked.map(|(a, b)| (b, a)).collect();
        ranked.sort();
        ranked.into_iter().map(|pair| pair.1).collect::<Vec<String>>()
    };
    assert_eq!(printed("Latency: minimum, quartiles"), ["udp", "tcp", "pipe"]);
    assert_eq!(printed("Latency at 1 KiB"), ["udp", "tcp", "pipe"]);
    assert_eq!(printed("Latency at 64 KiB"), ["tcp", "udp", "pipe"]);
    assert_eq!(printed("Throughput by message, as published, at 16 B"), ["udp", "tcp", "pipe"]);
    assert_eq!(printed("Throughput by message, as published, at 64 KiB"), ["tcp", "pipe", "udp"]);
    assert!(printed("Throughput of long transfers, as assigned, at 64 KiB").is_empty());
}

#[test]
#[ignore = "long form"]
fn the_printed_order_stands_below_the_measured_one_of_its_size() {
    let text = builtin::find("002").unwrap();
    let (declared, judged) = as_if("002", text);
    let set =
        declared.study.published.iter().find(|published| published.name == "table-1").unwrap();
    let places: Vec<&PublishedFigure> =
        set.figures.iter().filter(|figure| figure.show.as_deref() == Some("place")).collect();
    assert_eq!(places.len(), 30);
    let all = tables(compose(&judged, Detail::Full));
    for figure in places {
        let (workload, size) = (&figure.levels["workload"], &figure.levels["size"]);
        let title = match workload.as_str() {
            "latency" => "As its Table 1, over all sizes: places in latency",
            _ => "As its Table 1, over all sizes: places in throughput by message",
        };
        let table = all.iter().find(|table| table.caption == title).unwrap();
        let at = table.rows.iter().position(|row| row.cells[0].to_plain() == *size).unwrap();
        let below = &table.rows[at + 1];
        assert_eq!(below.cells[0].to_plain().trim(), "table-1", "{title}, {size}");
        let name = format!("{} {}", figure.levels["route"], figure.levels["mechanism"]);
        assert_eq!(below.cells[figure.value as usize].to_plain(), name, "{title}, {size}");
    }
}
