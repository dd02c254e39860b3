//! All runs of a store on one page: a row for each, which leads to the run's own page, and of cases that were
//! measured in several runs on one host the medians in order of time.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::titles::{machine, measured};
use super::{answer, brief, capacity, choose, fleet, labels, study};
use crate::export::name;
use crate::{
    Axis, Block, Document, Emphasis, Figure, FigureKind, Point, Row, Scale, Section, Series, Table,
    Text, units,
};
use analysis::{Capacity, GroupVerdict, Judged, Status};
use model::distinct::distinct;
use model::host::Host;
use model::request::Aim;
use model::workload::Workload;
use store::RunRow;

/// Histories that are drawn: of the cases in the most runs.
const DRAWN: usize = 12;
/// Runs in each, the newest.
const NEWEST: usize = 12;
/// Answers in a row.
const ANSWERS: usize = 3;

/// A run as the page tells it.
pub struct Indexed {
    id: i64,
    /// Or why it can't be read.
    told: Result<Told, String>,
}

struct Told {
    label: Option<String>,
    started: String,
    status: &'static str,
    host: Host,
    machine: String,
    what: String,
    answer: Text,
    noise: Option<String>,
    extent: String,
    medians: Vec<Median>,
}

/// A case of a run.
struct Median {
    /// The same in every run that asks for the same.
    name: String,
    title: String,
    axis: Axis,
    /// At no place yet.
    point: Point,
}

impl Indexed {
    /// A run whose page is [`page_name`], and its `status` in a word.
    pub fn of(judged: &Judged, row: &RunRow, status: &'static str) -> Indexed {
        let told = Told {
            label: row.label.clone(),
            started: row.started.replace('T', " ").trim_end_matches('Z').to_string(),
            status,
            host: judged.run.host.clone(),
            machine: machine(judged),
            what: what(judged),
            answer: joined(answers(judged)),
            noise: brief::noise(judged),
            extent: measured(judged),
            medians: medians(judged),
        };
        Indexed { id: row.id, told: Ok(told) }
    }

    /// A run that has no page.
    pub fn unreadable(id: i64, reason: String) -> Indexed {
        Indexed { id, told: Err(reason) }
    }
}

/// The file of a run's page, beside that of the index.
pub fn page_name(run: i64) -> String {
    format!("run-{run}.html")
}

/// The page of runs, which are in the order of their numbers.
pub fn index(store: &str, runs: &[Indexed]) -> Document {
    let hosts = hosts(runs);
    let mut document = Document::new("Runs");
    document.subtitle = format!("{} in {store}", units::counted(runs.len() as u64, "run"));
    document.sections.push(Section::new("runs", "What was measured").with(table(runs, &hosts)));
    document.sections.extend(history(&hosts));
    document
}

/// A host, and its runs, the newest first.
struct OnHost<'a> {
    host: &'a Host,
    name: String,
    runs: Vec<(i64, &'a Told)>,
}

/// The host of the newest run first.
fn hosts(runs: &[Indexed]) -> Vec<OnHost<'_>> {
    let mut hosts: Vec<OnHost> = Vec::new();
    for Indexed { id, told } in runs.iter().rev() {
        let Ok(told) = told else { continue };
        match hosts.iter_mut().find(|known| known.host.is_like(&told.host)) {
            Some(known) => known.runs.push((*id, told)),
            None => {
                let name = told.host.hostname.as_deref().unwrap_or("a host without a name");
                let name = format!("{name}: {}", told.machine);
                hosts.push(OnHost { host: &told.host, name, runs: vec![(*id, told)] });
            }
        }
    }
    hosts
}

fn table(runs: &[Indexed], hosts: &[OnHost]) -> Table {
    let mut rows: Vec<(&OnHost, i64, &Told)> = Vec::new();
    for on in hosts {
        rows.extend(on.runs.iter().map(|(id, run)| (on, *id, *run)));
    }
    let mut table = Table::of_each("", &rows)
        .words("", 0, |(_, id, _)| Text::new().page(page_name(*id), format!("run {id}")))
        .words("started (UTC)", 0, |(.., run)| run.started.as_str())
        .words("what was measured", 0, |(.., run)| match &run.label {
            Some(label) => Text::new().code(label).plain(format!(": {}", run.what)),
            None => run.what.as_str().into(),
        })
        .words("answers", 0, |(.., run)| run.answer.clone())
        .words("noise", 0, |(.., run)| run.noise.as_deref())
        .words("extent", 0, |(.., run)| format!("{}, {}", run.extent, run.status))
        .under(|(on, ..)| std::ptr::from_ref(*on), |(on, ..)| on.name.clone());
    let unreadable: Vec<Row> = runs
        .iter()
        .rev()
        .filter_map(|run| {
            let why = Text::from(run.told.as_ref().err()?.as_str());
            let cells = [format!("run {}", run.id).into(), "".into(), why];
            Some(Row::new(cells).emphasis(Emphasis::Warning))
        })
        .collect();
    if !unreadable.is_empty() {
        table.rows.push(Row::heading(Text::new().strong("Not readable")));
        table.rows.extend(unreadable);
    }
    table
}

/// `latency of 64 B: pipe, tcp and udp`; of a study its title.
fn what(judged: &Judged) -> String {
    let (run, asked) = (&judged.run, &judged.run.request);
    if let (Some(text), Some(study)) = (&asked.study, &judged.study) {
        return format!("study {}: {}", text.name, study.declared.study.title);
    }
    let variants = if asked.named.mechanisms {
        labels::few(&asked.mechanisms)
    } else {
        units::counted(asked.mechanisms.len() as u64, "variant")
    };
    let nodes = run.fleet.as_ref().map_or(String::new(), |fleet| {
        format!(" on {}", units::counted(fleet.nodes.len() as u64, "node"))
    });
    let peer = if run.peer.is_some() { " to another host" } else { "" };
    let arms: Vec<String> = asked.arms.iter().map(|arm| arm.name.clone()).collect();
    let under = if arms.is_empty() { "" } else { ", under " };
    format!("{}: {variants}{nodes}{peer}{under}{}", subject(judged), labels::list(&arms))
}

fn subject(judged: &Judged) -> String {
    let titled = choose::section(judged).or_else(|| capacity::section(judged));
    match (judged.run.request.aim, titled) {
        (_, Some(section)) => section.title,
        (Aim::Explanation { .. }, _) => "where the time goes".into(),
        _ => labels::few_with_commas(&workloads(judged)),
    }
}

/// `latency of 64 B and 1 KiB`, `rate of 64 B to 64 KiB`.
fn workloads(judged: &Judged) -> Vec<String> {
    let words = |workload: Workload| {
        let cases = judged.results.iter().filter(|case| case.workload == workload);
        let mut sizes = distinct(cases.filter_map(|case| case.message_bytes));
        sizes.sort_unstable();
        let sizes: Vec<String> = sizes.into_iter().map(units::size).collect();
        match sizes.as_slice() {
            [] => workload.name().to_string(),
            [least, _, .., _, most] => format!("{} of {least} to {most}", workload.name()),
            few => format!("{} of {}", workload.name(), labels::list(few)),
        }
    };
    distinct(judged.results.iter().map(|case| case.workload)).into_iter().map(words).collect()
}

/// The first few, and how many more.
fn joined(answers: Vec<Text>) -> Text {
    let more = answers.len().saturating_sub(ANSWERS);
    let mut text = Text::new();
    for one in answers.into_iter().take(ANSWERS) {
        text = match text.to_plain() {
            before if before.is_empty() => text,
            before if before.ends_with('.') => text.plain(" "),
            _ => text.plain("; "),
        };
        text.runs.extend(one.runs);
    }
    if more > 0 { text.muted(format!("; and {more} more")) } else { text }
}

/// What a run answers, the most general first.
fn answers(judged: &Judged) -> Vec<Text> {
    let asked = &judged.run.request;
    if judged.results.iter().all(|case| case.launches == 0) && judged.observed.is_empty() {
        return vec![Text::new().muted("nothing was measured")];
    }
    if let Some(study) = judged.study.as_ref().filter(|study| !study.findings.is_empty()) {
        return vec![study::in_brief(&study.findings).into()];
    }
    let headlines = |document: &Document| {
        let verdict = |block: &&Block| match block {
            Block::Verdict(verdict) => Some(verdict.headline.clone()),
            _ => None,
        };
        document.blocks().iter().filter_map(verdict).collect::<Vec<_>>()
    };
    if let Some(found) = &judged.fleet {
        return headlines(&fleet::compose(found, &judged.groups, super::Detail::Summary));
    }
    match asked.aim {
        Aim::Comparison if !judged.capacity.is_empty() => capacities(judged),
        Aim::Comparison if asked.arms.is_empty() => of_groups(judged),
        _ => headlines(&answer(judged)),
    }
}

/// The largest capacity first.
fn capacities(judged: &Judged) -> Vec<Text> {
    let mut found: Vec<_> =
        judged.capacity.iter().filter(|capacity| capacity.status == Status::Ok).collect();
    found.sort_by_key(|capacity| Reverse(capacity.found.at_least_per_sec));
    let text = |capacity: &Capacity| {
        let named = Text::new().strong(&capacity.variant);
        named.plain(format!(" {}", capacity::interval(capacity)))
    };
    found.into_iter().map(text).collect()
}

/// The best of each group, of each question one place first.
fn of_groups(judged: &Judged) -> Vec<Text> {
    let measured = judged.groups.iter().filter(|group| !group.standings.is_empty());
    let mut groups: Vec<(usize, &GroupVerdict)> = Vec::new();
    for group in measured {
        let alike = |known: &&(usize, &GroupVerdict)| {
            let key = |group: &GroupVerdict| (group.workload, group.message_bytes);
            key(known.1) == key(group)
        };
        groups.push((groups.iter().filter(alike).count(), group));
    }
    groups.sort_by_key(|(nth, _)| *nth);
    let mut answers = Vec::new();
    let (mut disturbed, mut too_few) = (0, 0);
    for (_, group) in groups {
        let alone = group.standings.len() == 1;
        if group.is_disturbed() && !alone {
            disturbed += 1;
        } else if group.has_too_few_launches() {
            too_few += 1;
        } else {
            let first = &judged.results[group.standings[0].result];
            let best = if alone { first.variant.clone() } else { labels::best_of(group) };
            let asked = labels::within_sentence(&labels::group(group));
            let text = Text::new().muted(format!("{asked}: ")).strong(best);
            let is_one = alone || group.names_the_best();
            let value = if is_one { format!(" {}", labels::ends(first)) } else { String::new() };
            answers.push(text.plain(value));
        }
    }
    // Said once: whoever reads a row wants what was found.
    for (many, why) in [(disturbed, "others disturbed every round"), (too_few, "too few launches")]
    {
        if many > 0 {
            let many = units::counted(many, "question");
            answers.push(Text::new().strong("undecided").plain(format!(": {why} of {many}")));
        }
    }
    answers
}

/// The medians that may stand beside those of other runs on the same host: not those of two hosts, nor of an arm,
/// whose command may be another in each run.
fn medians(judged: &Judged) -> Vec<Median> {
    let run = &judged.run;
    if run.peer.is_some() || run.fleet.is_some() || !run.request.arms.is_empty() {
        return Vec::new();
    }
    let cases = judged.results.iter().filter(|case| case.is_valid() && !case.twin);
    cases
        .filter_map(|case| {
            let estimate = case.value.as_ref()?;
            let point = Point::new(0.0, estimate.median);
            Some(Median {
                name: name(judged, case),
                title: labels::case(case),
                axis: Axis::new(&*case.metric.axis, case.metric.unit, Scale::Log),
                point: point
                    .with_ends(estimate.interval.ends())
                    .labelled(units::counted(case.launches, "launch")),
            })
        })
        .collect()
}

/// A case over runs of one host, the newest first.
struct History<'a> {
    on: &'a OnHost<'a>,
    median: &'a Median,
    points: Vec<(i64, &'a Told, &'a Point)>,
}

/// None where no case was measured twice.
fn history(hosts: &[OnHost]) -> Option<Section> {
    let mut all: Vec<History> = Vec::new();
    for on in hosts {
        let mut known: HashMap<&str, usize> = HashMap::new();
        for (id, run) in &on.runs {
            for median in &run.medians {
                let point = (*id, *run, &median.point);
                match known.get(median.name.as_str()) {
                    Some(at) => all[*at].points.push(point),
                    None => {
                        known.insert(&median.name, all.len());
                        all.push(History { on, median, points: vec![point] });
                    }
                }
            }
        }
    }
    all.retain(|history| history.points.len() > 1);
    if all.is_empty() {
        return None;
    }
    all.sort_by_key(|history| Reverse(history.points.len()));
    let cases = units::counted(all.len() as u64, "case");
    let drawn = match all.len() {
        0..=DRAWN => String::new(),
        _ => format!(" Drawn are the {DRAWN} in the most runs."),
    };
    let section = Section::new("history", "Cases over runs").with(Block::paragraph(format!(
        "{cases} measured in several runs on the same host.{drawn} Each interval holds within its run; whether two runs \
         differ, `ipcmark compare A B` decides.",
    )));
    let several = distinct(all.iter().map(|history| history.on.name.as_str())).len() > 1;
    let figures = all.iter().take(DRAWN).enumerate();
    Some(figures.map(|(nth, history)| figure(history, nth, several)).fold(section, Section::with))
}

fn figure(history: &History, nth: usize, several: bool) -> Figure {
    let mut shown: Vec<_> = history.points.iter().take(NEWEST).collect();
    shown.reverse();
    let names = shown.iter().map(|(id, run, _)| match &run.label {
        Some(label) => format!("{id} {label}"),
        None => format!("{id}, {}", run.started.split(' ').next().unwrap_or_default()),
    });
    let (median, all) = (history.median, history.points.len());
    let x = Axis::categories("run", names);
    let host = if several { format!(" On {}.", history.on.name) } else { String::new() };
    let cut = if all > NEWEST { format!(", the newest of {all}") } else { String::new() };
    let caption =
        format!("Runs in order of time{cut}: medians over launches, 95 % intervals.{host}");
    let id = format!("history-{}", nth + 1);
    let mut figure =
        Figure::new(FigureKind::Intervals, id, &median.title, caption, x, median.axis.clone());
    figure.subject = median.name.clone();
    let points = shown
        .iter()
        .zip(0_u32..)
        .map(|((.., point), at)| Point { x: at.into(), ..(*point).clone() });
    figure.series = vec![Series::new("median", points)];
    let values = || shown.iter().filter_map(|(.., point)| point.y);
    if let (Some(least), Some(most), Some(newest)) =
        (values().reduce(f64::min), values().reduce(f64::max), values().next_back())
    {
        let unit = median.axis.unit;
        let range = unit.range(least, most);
        figure.finding = format!("Medians of {range}; the newest {}.", unit.format(newest));
    }
    figure
}
