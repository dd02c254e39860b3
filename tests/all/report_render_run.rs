//! The page of a run: what the composer makes of real launches, and of runs that lack what a
//! figure needs. The values are set here where a test is about values; none is about speed.

use analysis::Site;
use model::case::Case;
use model::placement::Placement;
use model::workload::Workload;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::cli_support::Bench;
use analysis::{
    Bound, BoundKind, Candidate, CaseResult, Change, Inflection, Judged, MedianInterval, Status,
    Sweep,
};
use report::compose::{Detail, compose};
use report::terminal::{self, Style};
use report::{Block, Document, Drawn, Figure, FigureKind, Listing, html};
use store::Store;
use unicode_width::UnicodeWidthStr;

/// Two placements, a wake-up, the harness itself, and sizes enough for a curve.
const SIZES: &str = "run pipe eventfd noop -s 64,256,1K,4K -w latency -p same-cpu,free \
     --launches 7 --samples 120 --warmup 10 -q";

fn judged(bench: &Bench) -> Judged {
    let store = Store::open_existing(&bench.store()).expect("a store");
    Judged::of(&store, store.find_run("last").expect("a run")).expect("a judged run")
}

fn measured(line: &str) -> Judged {
    let bench = Bench::new();
    bench.must(line);
    judged(&bench)
}

/// [`SIZES`], measured once for all tests.
fn over_sizes() -> Judged {
    static MEASURED: OnceLock<Bench> = OnceLock::new();
    judged(MEASURED.get_or_init(|| {
        let bench = Bench::new();
        bench.must(SIZES);
        bench
    }))
}

/// Renders in all ways, checks what must hold of every page, and gives the document.
fn page(judged: &Judged) -> (Document, String) {
    let document = compose(judged, Detail::Full);
    let page = html::render(&document);
    let mut ids = BTreeSet::new();
    for figure in document.figures() {
        let id = &figure.id;
        assert!(ids.insert(id.clone()), "two figures called {id}");
        assert!(figure.caption.ends_with('.'), "{id}: {:?} is no sentence", figure.caption);
        assert!(figure.finding.is_empty() || figure.finding.ends_with('.'), "{id}");
        assert!(!figure.title.is_empty() && figure.points() > 0, "{id} shows nothing");
        for axis in [&figure.x, &figure.y] {
            assert!(!axis.label.is_empty(), "{id} has an axis without a name");
        }
    }
    let rest = page.split("<script").next().expect("markup");
    for load in ["src=", "href=\"h", "href=\"//", "url(", "@import", "<link"] {
        assert!(!rest.contains(load), "{load} in the page");
    }
    for width in [40, 80, 120] {
        let style = Style { width, color: false, unfold: true, ..Style::default() };
        for document in [&document, &compose(judged, Detail::Summary)] {
            let text = terminal::render(document, &style);
            assert!(text.lines().all(|line| line.width() <= width), "{text}");
        }
    }
    (document, page)
}

fn listing(block: &Block) -> Option<&Listing> {
    if let Block::Listing(it) = block { Some(it) } else { None }
}

fn figure<'a>(document: &'a Document, id: &str) -> &'a Figure {
    let all = document.figures();
    let ids: Vec<&str> = all.iter().map(|figure| figure.id.as_str()).collect();
    all.into_iter()
        .find(|figure| figure.id == id)
        .unwrap_or_else(|| panic!("no {id} among {ids:?}"))
}

fn kinds(document: &Document) -> Vec<FigureKind> {
    document.figures().into_iter().map(|figure| figure.kind).collect()
}

/// Sets a round trip to `ns` with an interval of ± `half`.
fn set(case: &mut CaseResult, ns: f64, half: f64) {
    let estimate = case.value.as_mut().expect("a latency");
    estimate.median = ns;
    (estimate.interval.low, estimate.interval.high) =
        (Some(ns * (1.0 - half)), Some(ns * (1.0 + half)));
}

#[test]
fn verdicts_name_the_largest_rate_and_only_what_spins_as_burning() {
    let mut judged =
        measured("run pipe fifo unix-stream -s 64 -w throughput -p same-cpu --launches 7 -q");
    let mut said = |spinning: &[usize], best: usize| {
        let group = &mut judged.groups[0];
        group.marked_rounds = 0;
        for (nth, standing) in group.standings.iter_mut().enumerate() {
            standing.among_best = nth < best;
            standing.among_best_sleeping = nth == 1;
        }
        let names: Vec<String> =
            group.standings.iter().map(|standing| standing.variant.clone()).collect();
        for case in &mut judged.results {
            case.spins = spinning.iter().any(|nth| case.variant == names[*nth]);
        }
        let style = Style { width: 2_000, color: false, unfold: true, ..Style::default() };
        let text = terminal::render(&compose(&judged, Detail::Summary), &style);
        let line = text.lines().find(|line| line.contains("Transfers of 64 B")).unwrap();
        names
            .iter()
            .enumerate()
            .fold(line.to_string(), |line, (nth, name)| line.replace(name, &format!("m{nth}")))
    };
    let tie = said(&[1], 2);
    assert!(tie.contains("m0 and m1 are not separated; m0 has the largest median"), "{tie}");
    assert!(tie.contains("; m1 busy-waits (uses both CPUs)") && !tie.contains("sleeps"), "{tie}");
    let alone = said(&[0], 1);
    assert!(alone.contains(", and busy-waits (uses both CPUs); best blocking: m1"), "{alone}");
    let none = said(&[], 2);
    assert!(!none.contains("busy-wait") && !none.contains("smallest"), "{none}");
}

#[test]
fn a_run_over_sizes_has_every_figure_in_reading_order() {
    let judged = over_sizes();
    let (document, page) = page(&judged);
    let sections: Vec<&str> = document.sections.iter().map(|section| section.id.as_str()).collect();
    let order = ["verdicts", "results", "latency", "cost"];
    assert_eq!(sections[..4], order);
    assert_eq!(document.figures().first().map(|figure| figure.kind), Some(FigureKind::Curves));
    assert_eq!(sections[sections.len() - 3..], ["machine", "noise", "method"]);
    let kinds = kinds(&document);
    for kind in [FigureKind::Curves, FigureKind::Heatmap, FigureKind::Bars, FigureKind::Scatter] {
        assert!(kinds.contains(&kind), "{kind:?} is missing: {kinds:?}");
    }
    assert_eq!(kinds.last(), Some(&FigureKind::TimeSeries));
    assert!(page.len() < 600_000, "{} bytes", page.len());
    // The answer stands before everything else, and behind it one list of all results.
    let mut blocks = document.sections[0].blocks.iter();
    // What others did to every round stands before it.
    let first = blocks.find(|block| !matches!(block, Block::Verdict(_))).expect("an answer");
    assert!(matches!(first, Block::Table(_)), "{first:?}");
    let lists: Vec<&Listing> = document.blocks().into_iter().filter_map(listing).collect();
    let [list] = lists[..] else { panic!("{} lists", lists.len()) };
    let measured =
        judged.results.iter().filter(|result| result.value.is_some() && !result.twin).count();
    assert_eq!(list.rows.len(), measured, "a row for each result");
    for column in ["mechanism", "placement", "size", "median", "from", "to", "max", "CPU", "class"]
    {
        assert!(list.columns.iter().any(|text| text == column), "{column}: {:?}", list.columns);
    }
    assert!(matches!(&document.sections[1].blocks[0], Block::Listing(_)));
    for workload in &document.sections[2..4] {
        assert!(matches!(workload.blocks[0], Block::Figure(_)), "a figure of it is open");
    }
    let bars = figure(&document, "cpu-process-same-cpu");
    assert!(bars.caption.contains("sampled by the kernel's timer tick"));
    assert_eq!(bars.series.last().map(|series| series.drawn), Some(Drawn::Signs));
}

/// What the rounds found beside a result.
fn bound(name: &str, value: f64, ratio: f64) -> Bound {
    Bound {
        name: name.into(),
        kind: BoundKind::Yardstick,
        value,
        interval: MedianInterval {
            low: Some(0.9 * value),
            high: Some(1.1 * value),
            ranks: Some([3, 10]),
            coverage: Some(0.96),
        },
        rounds: 12,
        ratio: Some(ratio),
        ratio_low: Some(0.9 * ratio),
        ratio_high: Some(1.1 * ratio),
        undercut: false,
    }
}

#[test]
fn floors_are_lines_and_a_column_where_they_are_and_leave_nothing_behind_elsewhere() {
    let mut judged = measured(
        "run pipe tcp -w latency -s 64 -p same-cpu --launches 7 --samples 120 --warmup 10 -q",
    );
    judged.results.iter_mut().for_each(|result| result.bound = None);
    let (document, bare) = page(&judged);
    assert!(!bare.contains("× bound") && figure(&document, "latency-64-b").marks.is_empty());

    for case in judged.results.iter_mut().filter(|result| result.value.is_some()) {
        set(case, 8_000.0, 0.01);
        case.bound = Some(bound("futex wake-up", 4_000.0, 2.0));
    }
    let (document, with) = page(&judged);
    let marks = &figure(&document, "latency-64-b").marks;
    assert_eq!(marks.len(), 1, "one line for one floor: {marks:?}");
    assert_eq!((marks[0].label.as_str(), marks[0].value), ("yardstick: futex wake-up", 4_000.0));
    assert!(with.contains("× bound") && with.contains("2.00×"));

    // A floor far below everything would squeeze the figure; the column still shows it.
    for case in &mut judged.results {
        case.bound = Some(bound("noop", 2.0, 4_000.0));
    }
    let (document, far) = page(&judged);
    assert!(figure(&document, "latency-64-b").marks.is_empty());
    assert!(far.contains("4,000×"));
}

#[test]
fn an_absent_place_is_hatched_with_its_reason() {
    let mut judged = over_sizes();
    let absent = |case: &&CaseResult| {
        case.status == Status::NotApplicable && case.workload == Workload::Latency
    };
    let case = judged.results.iter_mut().find(|result| {
        result.variant == "pipe"
            && result.placement == Placement::Free
            && result.message_bytes == Some(64)
            && !result.twin
    });
    let case = case.expect("a pipe, placed freely");
    (case.status, case.value) = (Status::NotApplicable, None);
    case.reason = Some("<b>no such place</b>".into());
    assert!(judged.results.iter().any(|result| absent(&result)));
    let (document, page) = page(&judged);
    let map = figure(&document, "placement");
    let pipe = map.series.iter().find(|series| series.name == "pipe").expect("a row");
    assert_eq!(pipe.points.iter().filter(|point| point.y.is_none()).count(), 1);
    assert!(pipe.points.iter().any(|point| point.label.as_deref() == Some("<b>no such place</b>")));
    assert!(!page.contains("<b>no such"), "a reason is text");
}

#[test]
fn one_case_makes_a_page_without_comparisons() {
    let judged =
        measured("run pipe -w latency -s 64 -p same-cpu --launches 3 --samples 80 --warmup 5 -q");
    let (document, _) = page(&judged);
    let kinds = kinds(&document);
    assert!(kinds.contains(&FigureKind::Intervals) && kinds.contains(&FigureKind::TimeSeries));
    assert!(!kinds.contains(&FigureKind::Heatmap), "one place is no map");
    assert!(!kinds.contains(&FigureKind::Scatter), "one point has no frontier");
}

#[test]
fn a_run_that_measured_nothing_says_so() {
    let mut judged =
        measured("run pipe -w latency -s 64 -p same-cpu --launches 3 --samples 80 --warmup 5 -q");
    judged.groups.clear();
    for case in &mut judged.results {
        case.status = Status::Failed;
        case.reason = Some("killed".into());
        case.launches = 0;
        (case.value, case.cpu_ns_per_operation) = (None, None);
        case.time_series.clear();
        case.curve.clear();
        case.by_round.clear();
    }
    let (document, page) = page(&judged);
    assert!(document.figures().is_empty(), "{:?}", kinds(&document));
    assert!(page.contains("Nothing was measured in this run"));
    assert!(page.contains("killed"));
}

#[test]
fn names_from_a_store_stay_text() {
    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>";
    let mut judged = over_sizes();
    for case in &mut judged.results {
        case.variant = HOSTILE.into();
        case.bound = Some(bound(HOSTILE, 3_000.0, 2.0));
    }
    for group in &mut judged.groups {
        group.standings.iter_mut().for_each(|standing| standing.variant = HOSTILE.into());
    }
    let page = html::render(&compose(&judged, Detail::Full));
    assert!(!page.contains("<img src=x"), "a name became markup");
}

#[test]
fn how_evenly_clients_were_served_is_drawn_of_several_connections_only() {
    let rate = "-w rate --rate 5k -s 64 -p free --launches 6 --samples 80 -q";
    let mut judged = measured(&format!("run pipe tcp {rate} --connections 1,4"));
    // On a busy machine the sender is late, and then there is no figure.
    judged
        .results
        .iter_mut()
        .filter_map(|result| result.rate.as_mut())
        .for_each(|rate| rate.void = false);
    let (document, page) = page(&judged);
    let drawn = figure(&document, "fairness-process-free");
    let [pipe, tcp] = &*drawn.x.categories else { panic!("{:?}", drawn.x.categories) };
    assert!(pipe.starts_with("pipe, 64 B, 4 connections by epoll: Jain"), "{pipe}");
    assert!(tcp.starts_with("tcp, 64 B, 4 connections by epoll: Jain"), "{tcp}");
    assert!(page.contains("<h3>How evenly clients were served, placed freely</h3>"));
    let one = compose(&measured(&format!("run pipe {rate}")), Detail::Full);
    assert!(one.figures().iter().all(|figure| !figure.id.starts_with("fairness")));
}

#[test]
fn the_samples_over_time_keep_every_launch_apart() {
    let judged =
        measured("run pipe -w latency -s 64 -p same-cpu --launches 4 --samples 400 --warmup 5 -q");
    let (document, _) = page(&judged);
    let dots: Vec<f64> =
        figure(&document, "launches").series[0].points.iter().map(|point| point.x).collect();
    assert_eq!(dots, [1.0, 2.0, 3.0, 4.0]);
    let drawn = figure(&document, "samples");
    let points = &drawn.series[0].points;
    assert_eq!(points.iter().filter(|point| point.y.is_none()).count(), 3, "gaps between launches");
    let rounds: BTreeSet<u64> = points
        .iter()
        .filter(|point| point.y.is_some())
        .map(|point| point.x.round() as u64)
        .collect();
    assert_eq!(rounds, BTreeSet::from([1, 2, 3, 4]));
    assert!(points.iter().all(|point| point.low <= point.y && point.y <= point.high));
}

/// Six sizes, of which the cost of a byte changes after 1 KiB.
fn sweep(variant: &str) -> Sweep {
    let candidate =
        Candidate { name: "page".into(), bytes: 4096, source: "record of the machine".into() };
    Sweep {
        case: Case::usual(variant.into(), Workload::Latency),
        metric: mechanisms::workload::latency::METRIC.clone(),
        site: Site::of(&Case::usual((), Workload::Latency)),
        nodes: Vec::new(),
        concurrent: None,
        sizes_bytes: vec![64, 256, 1024, 4096, 16_384, 65_536],
        rounds: 12,
        reason: None,
        inflections: vec![Inflection {
            from_bytes: 1024,
            to_bytes: 16_384,
            best_bytes: [1024, 4096],
            ns_per_byte: Change { before: -0.00001, after: 0.123_456 },
            step_ns: -1200.0,
            candidates: vec![candidate],
        }],
    }
}

#[test]
fn inflections_have_a_section_and_marks_and_say_what_coincides() {
    let mut judged = over_sizes();
    assert!(
        compose(&judged, Detail::Full).sections.iter().all(|section| section.id != "inflections")
    );
    let straight = Sweep { inflections: vec![], ..sweep("tcp") };
    let mut unknown = sweep("udp");
    unknown.inflections[0].candidates.clear();
    let short = Sweep { reason: Some("6 rounds, 7 are needed".into()), ..straight.clone() };
    judged.sweeps =
        vec![sweep("pipe"), straight, unknown, Sweep { case: sweep("pty").case, ..short }];
    let (document, _) = page(&judged);
    for detail in [Detail::Full, Detail::Summary] {
        let document = compose(&judged, detail);
        let section =
            document.sections.iter().find(|section| section.id == "inflections").expect("one");
        let alone = Document { sections: vec![section.clone()], ..Document::default() };
        let text = terminal::render(
            &alone,
            &Style { width: 80, color: false, unfold: true, ..Style::default() },
        );
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert!(!text.contains("Not shown at this width"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            "pipe 1 KiB–4 KiB [1 KiB, 16 KiB] 0.0000 → 0.123 −1.20 µs",
            "pipe, round trip, one CPU: 1 KiB–4 KiB, a byte costs 0.0000 ns before and 0.123 ns \
             after. Coincides with: page (4 KiB).",
            "Coincides with: nothing known.",
            "tcp, round trip, one CPU: none shown by 12 rounds between 64 B and 64 KiB.",
            "pty, round trip, one CPU: not analysed: 6 rounds, 7 are needed.",
        ] {
            assert!(words.contains(said), "{said:?} isn't in\n{text}");
        }
    }
    let curves = figure(&document, "latency-sizes-process-same-cpu");
    let marked = |name: &str| -> Vec<(f64, &str)> {
        let series = curves.series.iter().find(|series| series.name == name).expect("a curve");
        let marked = series.points.iter().filter(|point| point.marked);
        marked.map(|point| (point.x, point.label.as_deref().unwrap_or_default())).collect()
    };
    let [(size, why)] = marked("pipe")[..] else { panic!("one ring: {:?}", marked("pipe")) };
    assert!(size == 1024.0 && why.contains("an inflection, 1 KiB–4 KiB"), "{size}: {why}");
    assert!(curves.finding.contains("Inflections: pipe at 1 KiB–4 KiB."), "{}", curves.finding);
    let elsewhere = figure(&document, "latency-sizes-process-free");
    assert!(elsewhere.series.iter().all(|series| series.points.iter().all(|point| !point.marked)));
    assert!(elsewhere.finding.contains("No inflection is shown."));
}
