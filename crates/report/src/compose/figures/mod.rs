//! Figures of a run, from the results alone: each says what it shows and, where it can, what
//! this run lets one conclude.

mod capacity;
mod connections;
mod cost;
mod floors;
mod intervals;
mod p_values;
mod placement;
mod protocol;
mod sizes;
mod study;
mod tails;
mod time_series;

use std::collections::BTreeSet;

pub use study::{panel_name, study_figures};

use crate::compose::labels;
use crate::figure::LIT;
use crate::{Axis, Block, Drawn, Figure, FigureKind, Scale, Section, Series, Unit};
use analysis::{Carries, CaseResult, Judged, Site, Status};
use model::distinct::distinct;
use model::metric::{Metric, Operation};
use model::workload::Workload;

/// Sizes up to which there is a figure for each; beyond, there is a curve over them.
const FEW: usize = 3;

/// What the data are there for: latency, throughput, placement, cost, tails, time.
pub fn sections(judged: &Judged) -> Vec<Section> {
    if !judged.capacity.is_empty() {
        // Other figures hold one case of a mechanism against those of others, and here it has many rates.
        return sought(judged);
    }
    let of_workload = |workload: Workload| {
        let head = judged.results.iter().find(|result| result.workload == workload)?;
        Some((workload.name(), &*head.metric.section, 2, self::workload(judged, workload)))
    };
    let others = [
        ("against-rate", "Response time and rate", 2, connections::against_rate(judged)),
        ("connections", "Many connections", 3, connections::figures(judged)),
        ("cost", "What it costs in CPU time", 1, cost::figures(judged)),
        ("tails", "Tails", 1, tails::figures(judged)),
        // What another figure shows too, and what is asked where a figure is in doubt.
        ("more-figures", "Placement and time", 0, {
            let mut figures = placement::figures(judged);
            figures.extend(time_series::figures(judged));
            figures
        }),
    ];
    let parts = Workload::ALL.into_iter().filter_map(of_workload).chain(others);
    let drawn = parts.filter(|(.., figures)| !figures.is_empty());
    drawn.map(section).collect()
}

/// The figures of a run that seeks capacities.
fn sought(judged: &Judged) -> Vec<Section> {
    let figures = capacity::figures(judged);
    if figures.is_empty() {
        return Vec::new();
    }
    vec![section(("against-rate", "Response time and rate", 2, figures))]
}

/// Of such a run the percentile of the bound alone, for a terminal.
pub fn bounded(judged: &Judged) -> Option<Section> {
    let mut figures = capacity::figures(judged);
    figures.retain(|figure| !figure.marks.is_empty());
    figures.iter_mut().for_each(|figure| figure.answers = true);
    let all = figures.len();
    (all > 0).then(|| section(("against-rate", "Response time and rate", all, figures)))
}

/// Figures of which so many are open, each other folded under its title.
fn section((id, title, open, figures): (&str, &str, usize, Vec<Figure>)) -> Section {
    let mut section = Section::new(id, title);
    for (nth, figure) in in_one_order(figures).into_iter().enumerate() {
        section.blocks.push(if nth < open {
            figure.into()
        } else {
            Block::Details { summary: figure.title.as_str().into(), blocks: vec![figure.into()] }
        });
    }
    section
}

/// Curves of one name have one colour in all figures of a section: they come in the order of the results, or, where a page
/// doesn't light all of them, in that of what they reach where they are first, the quickest first. Bounds stay last.
fn in_one_order(mut figures: Vec<Figure>) -> Vec<Figure> {
    let mut order: Vec<String> = Vec::new();
    let curves =
        |figure: &&mut Figure| matches!(figure.kind, FigureKind::Curves | FigureKind::Percentiles);
    for figure in figures.iter_mut().filter(curves) {
        let is_bound = |series: &Series| series.drawn == Drawn::Line;
        if figure.series.iter().filter(|series| !is_bound(series)).count() > LIT {
            let mut own: Vec<(f64, &String)> =
                figure.series.iter().map(|series| (middle(figure, series), &series.name)).collect();
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
            let new = own.into_iter().map(|pair| pair.1).filter(|text| !order.contains(text));
            let new: Vec<String> = new.cloned().collect();
            order.extend(new);
            let place = |series: &Series| order.iter().position(|name| *name == series.name);
            figure.series.sort_by_key(|series| (is_bound(series), place(series)));
        } else {
            figure.series.sort_by_key(is_bound);
        }
    }
    figures
}

/// What a curve reaches in the middle, less where that is better.
fn middle(figure: &Figure, series: &Series) -> f64 {
    let pooled = figure.kind == FigureKind::Percentiles;
    let below_median = series.points.iter().filter(|point| !pooled || point.x <= 0.5);
    let mut values: Vec<f64> = below_median.filter_map(|median| median.y).collect();
    values.sort_by(f64::total_cmp);
    let at = if pooled { values.len().saturating_sub(1) } else { values.len() / 2 };
    let value = values.get(at).copied().unwrap_or(f64::INFINITY);
    if figure.y.unit == Unit::Nanoseconds { value } else { -value }
}

/// The figures of a workload, of all cases under the same conditions by themselves: what a figure calls the same,
/// is the same.
fn workload(judged: &Judged, workload: Workload) -> Vec<Figure> {
    let cases = measured(judged, |case| case.workload == workload);
    let conditions = distinct(cases.iter().map(|case| labels::conditions(&case.case)));
    let several = conditions.len() > 1;
    let of = |conditions: String| {
        let here = |case: &&&CaseResult| labels::conditions(&case.case) == conditions;
        let here: Vec<&CaseResult> = cases.iter().filter(here).copied().collect();
        let mut figures = under(judged, &here);
        for figure in figures.iter_mut().filter(|_| several) {
            figure.title += &conditions;
            figure.id += &conditions.replace(|condition: char| !condition.is_alphanumeric(), "-");
        }
        figures
    };
    conditions.into_iter().flat_map(of).collect()
}

fn under(judged: &Judged, cases: &[&CaseResult]) -> Vec<Figure> {
    let answered = cases.iter().any(|case| case.metric.operation == Operation::RoundTrip);
    let counts = |case: &&&CaseResult| {
        if answered { case.carries == Carries::Bytes } else { !case.carries.is_control() }
    };
    let sizes: BTreeSet<Option<u64>> =
        cases.iter().filter(counts).map(|case| case.message_bytes).collect();
    if sizes.iter().flatten().count() > FEW {
        return sizes::figures(judged, cases);
    }
    let only_signals = cases.iter().any(|case| case.carries == Carries::Signal);
    let smallest = sizes.iter().flatten().next().copied();
    // Wake-ups, which have no size, stand with the smallest latency, and else come last.
    let (signals, with_size): (Vec<_>, Vec<_>) = sizes.iter().partition(|size| size.is_none());
    let alone = (sizes.is_empty() && only_signals).then_some(None);
    let all = with_size.into_iter().chain(signals).copied().chain(alone);
    all.map(|size| {
        let signals = answered && size == smallest;
        let here: Vec<&CaseResult> = cases
            .iter()
            .filter(|case| {
                case.message_bytes == size || (signals && case.carries != Carries::Bytes)
            })
            .copied()
            .collect();
        intervals::figure(judged, &here, size)
    })
    .collect()
}

fn measured(judged: &Judged, is: impl Fn(&CaseResult) -> bool) -> Vec<&CaseResult> {
    judged
        .results
        .iter()
        .filter(|result| {
            is(result) && result.status == Status::Ok && !result.twin && result.is_kept()
        })
        .collect()
}

/// The round trips of the smallest size, wake-ups with them; without the harness's own cost. Of several workloads or
/// loads the first.
fn smallest_latency(judged: &Judged) -> Vec<&CaseResult> {
    let mut cases = measured(judged, |case| case.metric.is_round_trip());
    let smallest = cases.iter().filter_map(|case| case.message_bytes).min();
    cases.retain(|case| case.message_bytes.is_none() || case.message_bytes == smallest);
    cases.retain(|case| !case.carries.is_control());
    let first = cases.first().copied();
    cases.retain(|case| first.is_some_and(|first| are_alike(case, first)));
    cases
}

/// Whether both did the same under the same conditions.
fn are_alike(one: &CaseResult, other: &CaseResult) -> bool {
    one.workload == other.workload
        && labels::conditions(&one.case) == labels::conditions(&other.case)
}

/// What cases that are alike did: `Round trips of 64 B`, `Responses to 64 B, 1,000 a second`.
fn many_of(cases: &[&CaseResult]) -> String {
    let Some(head) = cases.iter().find(|case| case.message_bytes.is_some()).or(cases.first())
    else {
        return String::new();
    };
    let size = head.message_bytes.map_or("a wake-up".into(), crate::units::size);
    head.metric.many(&size) + &labels::conditions(&head.case)
}

/// The same within a sentence.
fn many_within(cases: &[&CaseResult]) -> String {
    labels::within_sentence(&many_of(cases))
}

/// What one operation of such cases is called: `round trip`, `fan-out`.
fn one_of(cases: &[&CaseResult]) -> String {
    match cases.first() {
        Some(case) if !case.metric.paced => case.metric.axis.to_string(),
        _ => Operation::RoundTrip.noun().into(),
    }
}

/// Those of `cases` at one place, with a short name of it for an id.
fn at<'a>(cases: &[&'a CaseResult], site: &Site) -> Vec<&'a CaseResult> {
    let here = |case: &&&CaseResult| case.site == *site;
    cases.iter().filter(here).copied().collect()
}

/// A place as a part of an id: `process-same-cpu`.
fn place_id(site: &Site) -> String {
    let route = site.route.as_ref().map_or(String::new(), |route| format!("{route}-"));
    let arm = site.arm.as_ref().map_or(String::new(), |arm| format!("-{arm}"));
    let place = format!("{}-{route}{}{arm}", site.workers.name(), site.placement);
    place.replace([',', '/', ':', '=', '%', '.'], "-")
}

/// What cases that are alike took.
fn time_of(cases: &[&CaseResult]) -> Axis {
    let words = cases.first().map_or("time", |case| &*case.metric.axis);
    Axis::new(words, Unit::Nanoseconds, Scale::Log)
}

fn axis_of(metric: &Metric, scale: Scale) -> Axis {
    Axis::new(&*metric.axis, metric.unit, scale)
}

/// The median over launches.
fn typical(case: &CaseResult) -> Option<f64> {
    case.value.as_ref().map(|value| value.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Point;

    fn curves(values: &[(&str, f64)]) -> Figure {
        let axis = |words: &str| Axis::new(words, Unit::Nanoseconds, Scale::Log);
        let mut figure = Figure::new(FigureKind::Curves, "f", "f", "", axis("x"), axis("y"));
        figure.series =
            values.iter().map(|(name, y)| Series::new(*name, [Point::new(1.0, *y)])).collect();
        figure
    }

    fn names(figure: &Figure) -> Vec<&str> {
        figure.series.iter().map(|series| series.name.as_str()).collect()
    }

    #[test]
    fn a_name_has_one_colour_in_all_figures_of_a_section() {
        let few = [curves(&[("a", 3.0), ("b", 1.0)]), curves(&[("a", 1.0), ("b", 3.0)])];
        let few = in_one_order(few.to_vec());
        assert_eq!((names(&few[0]), names(&few[1])), (vec!["a", "b"], vec!["a", "b"]));
        let many: Vec<(String, f64)> =
            (0..8).map(|nth| (format!("m{nth}"), 9.0 - f64::from(nth))).collect();
        let with = |turn: f64| {
            let all: Vec<(&str, f64)> =
                many.iter().map(|(name, y)| (name.as_str(), turn * y + 10.0)).collect();
            curves(&all)
        };
        let many = in_one_order(vec![with(1.0), with(-1.0)]);
        assert_eq!(
            names(&many[0]),
            ["m7", "m6", "m5", "m4", "m3", "m2", "m1", "m0"],
            "the quickest first"
        );
        assert_eq!(names(&many[0]), names(&many[1]));
    }
}
