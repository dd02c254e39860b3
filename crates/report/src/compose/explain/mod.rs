//! Where a message's time goes, as bars, a table and in words; against another mechanism, where
//! the difference comes from.

mod sentences;
mod teach;
#[cfg(test)]
mod tests;

use crate::compose::{beside_others, labels as common};
use crate::units::{duration, ratio};
use crate::{
    Axis, Block, Drawn, Figure, FigureKind, Point, Scale, Section, Series, Table, Text, Unit,
    Verdict, VerdictKind, units,
};
use analysis::explain::{Cost, CostPart, Difference, Explained, Explanation, explain};
use analysis::{Judged, Site};
use model::distinct::distinct;
use model::request::Aim;

/// The sections of a run that was made to explain; none of any other.
pub fn sections(judged: &Judged) -> Vec<Section> {
    let Aim::Explanation { teach } = judged.run.request.aim else { return Vec::new() };
    let found = explain(judged);
    let mut sections = vec![opening(&found)];
    if !found.differences.is_empty() {
        sections.push(differences(&found));
    }
    if !found.cases.is_empty() {
        sections.push(overhead(&found));
    }
    beside_others(judged, &mut sections);
    if teach {
        sections.push(teach::section(&found));
    }
    sections
}

/// What a person reads when a run that explains is over: the bars and the differences that were found, without
/// the sentences of [`sections`].
pub fn answer(judged: &Judged) -> Vec<Section> {
    let Aim::Explanation { teach } = judged.run.request.aim else { return Vec::new() };
    let found = explain(judged);
    let (separated, others): (Vec<&Difference>, Vec<&Difference>) =
        found.differences.iter().partition(|difference| is_separated(difference));
    let others = others.len() as u64;
    let others = (others > 0).then(|| {
        let pairs = units::counted(others, "pair");
        Block::paragraph(format!("{pairs} of mechanisms: not separated."))
    });
    let rest = format!(
        "`ipcmark report {} -v`: each case in words, the differences part by part, and what tracing costs.",
        judged.run.id
    );
    let section = Section::new("explained", "Where the time goes")
        .with_all(shown(&found))
        .with_all(separated.into_iter().map(|between| difference(&found, between)))
        .with_all(others)
        .with_all(missing(&found))
        .with(Block::paragraph(Text::of_prose(&rest)));
    let mut sections = vec![section];
    beside_others(judged, &mut sections);
    if teach {
        sections.push(teach::section(&found));
    }
    sections
}

/// Bars and tables of all cases, then each in words.
fn opening(found: &Explanation) -> Section {
    let mut unknown: Vec<Text> = found.cases.iter().filter_map(copying_unknown).collect();
    unknown.dedup();
    Section::new("explained", "Where the time goes")
        .with_all(shown(found))
        .with_all(found.cases.iter().map(verdict))
        .with_all(unknown.into_iter().map(Block::Paragraph))
        .with_all(missing(found))
}

/// Per place a figure for each size, and all of it as a table.
fn shown(found: &Explanation) -> Vec<Block> {
    if found.cases.is_empty() {
        return vec![Block::warning("No round trip could be taken apart.")];
    }
    let mut blocks = Vec::new();
    for place in places(found) {
        let sizes = distinct(here(found, &place).map(|explained| explained.message_bytes));
        for size in &sizes {
            blocks.push(figure(found, &place, *size, sizes.len() > 1).into());
        }
        blocks.push(table(found, &place).into());
    }
    blocks
}

/// The cases that could not be decomposed, and why.
fn missing(found: &Explanation) -> Option<Block> {
    let line = |missing: &analysis::explain::Missing| {
        let size = common::of_size(missing.message_bytes);
        let place = common::place_of(&Site::of(missing));
        Text::from(format!("{}{size}, {place}: {}", missing.variant, missing.reason))
    };
    Block::list(found.missing.iter().map(line))
}

fn copying_unknown(case: &Explained) -> Option<Text> {
    let reason = case.copying_unknown.as_ref().filter(|_| case.message_bytes.is_some())?;
    Some(Text::from(format!(
        "Copying of {} is not separated from the rest: {reason}.",
        case.variant
    )))
}

/// Placements and workers, in the order of the cases.
fn places(found: &Explanation) -> Vec<Site> {
    distinct(found.cases.iter().map(|case| Site::of(case)))
}

fn here<'a>(found: &'a Explanation, place: &'a Site) -> impl Iterator<Item = &'a Explained> {
    found.cases.iter().filter(move |case| Site::of(case) == *place)
}

fn verdict(case: &Explained) -> Verdict {
    let kind = if case.adds_up { VerdictKind::Neutral } else { VerdictKind::Unknown };
    let detail = format!("{} {}", sentences::rest(case), sentences::sum(case));
    Verdict::new(kind, sentences::short(case), detail.trim_start())
}

/// ns of one cost in a case's median, 0 where it has none.
fn ns(parts: &[CostPart], cost: Cost) -> f64 {
    parts.iter().find(|part| part.cost == cost).map_or(0.0, |part| part.ns.median)
}

/// The columns of the table: a heading, and the costs that it sums up.
const COLUMNS: [(&str, &[Cost]); 5] = [
    ("calls", &[Cost::Calls]),
    ("copying", &[Cost::Copying]),
    ("kernel", &[Cost::Transport, Cost::Elsewhere]),
    ("wake-ups", &[Cost::Waking, Cost::Interrupts, Cost::Waiting, Cost::Switching]),
    ("program", &[Cost::Program]),
];

fn table(found: &Explanation, place: &Site) -> Table {
    let sizes = distinct(here(found, place).map(|explained| explained.message_bytes));
    let of = match sizes.as_slice() {
        [only] => common::size_after(" of ", *only),
        _ => String::new(),
    };
    let cases: Vec<&Explained> = here(found, place).collect();
    let caption = format!("One round trip{of}, {}", common::place_of(place));
    let mut table = Table::of_each(caption, &cases)
        .words("mechanism", 0, |case| case.variant.as_str())
        .numbers("whole", 0, |case| duration(case.whole_ns.median));
    for (head, costs) in COLUMNS {
        table = table.numbers(head, 0, |case| {
            let sum: f64 = costs.iter().map(|cost| ns(&case.parts, *cost)).sum();
            match costs {
                [Cost::Copying] if case.copying_unknown.is_some() => "–".to_string(),
                _ if !case.is_result || is_noise(sum) => "noise".to_string(),
                _ => short(sum),
            }
        });
    }
    let table = table
        .numbers("residual", 0, |case| short(case.residual_ns.median))
        .under_several(|case| case.message_bytes, |case| common::size_heading(case.message_bytes));
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    let noise = cells.any(|cell| cell.to_plain() == "noise").then_some(NOISE);
    table.note(NOTE).notes(noise)
}

/// Whether a part came out below zero, as no time can be.
fn is_noise(ns: f64) -> bool {
    ns <= -0.5
}

const NOTE: &str = "Medians over launches; the parts are means of the middle half of the round trips, \
    so that they add up within each. calls: entering and leaving them. kernel: the rest of \
    the calls, the mechanism's own work. wake-ups: waking, waiting to run, switching. program: the \
    loop, the clock, spinning. residual: the whole less all parts, below zero where they come out larger.";

const NOISE: &str = "noise: a part below zero, or of a round trip of which more than a fifth is in no part. That is no \
    result: a quieter machine or more --launches may give one.";

/// A time in little room; what is nothing beside it is `0`.
fn short(ns: f64) -> String {
    if ns.abs() < 0.5 { "0".into() } else { duration(ns) }
}

/// `pipe 64K`, `pipe 1B`.
fn name(case: &Explained) -> String {
    match case.message_bytes {
        Some(bytes) if bytes < 1024 => format!("{} {bytes}B", case.variant),
        Some(bytes) => format!("{} {}", case.variant, model::size::format(bytes)),
        None => case.variant.clone(),
    }
}

/// The cases of one place and size; the id has the size where there are several.
fn figure(found: &Explanation, place: &Site, size: Option<u64>, several: bool) -> Figure {
    let cases: Vec<&Explained> =
        here(found, place).filter(|explained| explained.message_bytes == size).collect();
    let id = match size.filter(|_| several) {
        Some(size) => format!("-{size}"),
        None => String::new(),
    };
    let mut figure = Figure::new(
        FigureKind::Bars,
        format!(
            "explained-{}-{}{id}",
            place.placement.to_string().replace(',', "-"),
            place.workers.name()
        ),
        format!("A round trip taken apart{}, {}", common::of_size(size), common::place_of(place)),
        "Bars: the parts of a traced round trip, less the overhead of tracing it. A part below zero, and parts that \
         leave more than a fifth of the whole, are noise and aren't drawn. Diamond: the round trip without instrumentation.",
        Axis::categories("mechanism", cases.iter().map(|case| case.variant.as_str())),
        Axis::new("time per round trip", Unit::Nanoseconds, Scale::Linear),
    );
    figure.finding = cases.first().map_or(String::new(), |case| sentences::short(case));
    for cost in Cost::ALL {
        // The same parts in every figure of the run: so each has one sign and one colour in all of them.
        let any = found.cases.iter().any(|case| ns(&case.parts, cost).abs() >= 0.5);
        let points = cases.iter().enumerate().map(|(nth, case)| {
            let part = case.parts.iter().find(|part| part.cost == cost);
            match part {
                _ if !case.is_result => Point::gap(nth as f64, "noise: the parts don't add up"),
                Some(part) if is_noise(part.ns.median) => Point::gap(nth as f64, "noise"),
                Some(part) => Point::new(nth as f64, part.ns.median.max(0.0))
                    .labelled(sentences::value(&part.ns)),
                None => Point::new(nth as f64, 0.0),
            }
        });
        if any {
            figure.series.push(Series::new(sentences::cost(cost), points));
        }
    }
    let left = cases.iter().enumerate().filter(|(_, case)| case.is_result && !case.adds_up);
    let left: Vec<Point> = left
        .map(|(nth, case)| {
            Point::new(nth as f64, case.residual_ns.median.max(0.0))
                .labelled(sentences::value(&case.residual_ns))
        })
        .collect();
    if !left.is_empty() {
        figure.series.push(Series::new("in no part", left));
    }
    let whole = cases.iter().enumerate();
    let whole = whole.map(|(nth, explained)| {
        Point::new(nth as f64, explained.whole_ns.median)
            .labelled(sentences::value(&explained.whole_ns))
    });
    figure.series.push(Series::new("unobserved round trip", whole).drawn(Drawn::Signs));
    figure
}

/// Where the differences come from, one verdict a pair.
fn differences(found: &Explanation) -> Section {
    Section::new("differences", "Where the differences come from")
        .with_all(found.differences.iter().map(|between| difference(found, between)))
}

/// Whether one of the two is quicker for certain.
fn is_separated(difference: &Difference) -> bool {
    difference.whole_ns.interval.low.is_some_and(|low| low > 0.0)
}

fn difference(found: &Explanation, of: &Difference) -> Verdict {
    let (a, b) = (&found.cases[of.quicker], &found.cases[of.slower]);
    let place = common::place_of(&Site::of(a));
    let at = match a.message_bytes.or(b.message_bytes) {
        Some(bytes) => format!("{}, {place}", units::size(bytes)),
        None => place,
    };
    if !is_separated(of) {
        let headline = format!("{at}: {} and {} are not separated.", a.variant, b.variant);
        return Verdict::new(VerdictKind::Unknown, headline, "");
    }
    let headline = format!(
        "{at}: {} is {} quicker than {} ({}).",
        a.variant,
        sentences::value(&of.whole_ns),
        b.variant,
        ratio(b.whole_ns.median / a.whole_ns.median)
    );
    let unknown: Vec<String> = [a, b]
        .into_iter()
        .filter(|case| !case.is_result)
        .map(|explained| explained.variant.clone())
        .collect();
    let detail = match unknown.as_slice() {
        [] => sentences::shares(of),
        _ => format!(
            "Where that comes from is not known: the parts of {} don't add up.",
            common::list(&unknown)
        ),
    };
    Verdict::new(VerdictKind::Neutral, headline, detail)
}

/// Tracing overhead, and how far its correction can be trusted.
fn overhead(found: &Explanation) -> Section {
    let note = "a firing: what tracing twice adds, subtracted part by part. slow call: what an attached trace adds to \
         a system call besides. Parts add up where the residual's interval holds zero, or is \
         within a twentieth of the whole.";
    let overlap = "On two CPUs the workers' waits overlap: a firing on one delays the other or overlaps \
         with its wait, so that subtracting its cost part by part is not an exact correction there.";
    let table = Table::of_each("Tracing overhead of each case", &found.cases)
        .words("", 0, |case| format!("{}, {}", name(case), common::place_of(&Site::of(case))))
        .numbers("traced", 0, |case| duration(case.traced_ns.median))
        .numbers("unobserved", 0, |case| duration(case.whole_ns.median))
        .numbers("firings", 0, |case| format!("{:.1}", case.firings))
        .numbers("a firing", 0, |case| case.firing_ns.as_ref().map(|ns| duration(ns.median)))
        .numbers("slow call", 0, |case| duration(case.slow_call_ns))
        .words("add up", 0, |case| if case.adds_up { "yes" } else { "no" })
        .table();
    let overlaps = found.cases.iter().any(|case| case.overlaps);
    Section::new("price", "Tracing overhead")
        .with(table.note(note))
        .with_all(overlaps.then(|| Block::paragraph(overlap)))
}
