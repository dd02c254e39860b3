//! The figure of a comparison: ratios with their intervals, case by case.

use super::{case_name, counted, short_name};
use crate::{Axis, Figure, FigureKind, Mark, Point, Scale, Series, Unit, VerdictKind, units};
use analysis::Site;
use analysis::compare::{CaseChange, Change, RunComparison};
use model::distinct::distinct;
use model::metric::Metric;

/// A forest of ratios per workload; the colour is the verdict.
pub(super) fn figures(found: &RunComparison) -> Vec<Figure> {
    let compared = counted(found).filter(|case| case.ratio.is_some());
    distinct(compared.map(|change| &change.metric))
        .into_iter()
        .map(|metric| figure(found, metric))
        .collect()
}

fn figure(found: &RunComparison, metric: &Metric) -> Figure {
    let here = |case: &&CaseChange| case.metric == *metric && case.ratio.is_some();
    let cases: Vec<&CaseChange> = counted(found).filter(here).collect();
    let one_place = distinct(cases.iter().map(|case| Site::of(case))).len() == 1;
    let name = if one_place { short_name } else { case_name };
    let x = Axis::categories("case", cases.iter().map(|case| name(case)));
    let y = Axis::new("time in B over time in A", Unit::Ratio, Scale::Log);
    let caption = "Right of 1 the second run is slower: the ratio of times, and the interval that \
         covers it with at least 95 %. Dashed: no change, the margin of equivalence, the gate.";
    let kind = FigureKind::Intervals;
    let id = format!("ratios-{}", metric.name);
    let mut figure = Figure::new(kind, id, format!("{}, B over A", metric.plural), caption, x, y);
    for (change, name, tone) in [
        (Change::Slower, "slower", VerdictKind::Bad),
        (Change::Faster, "faster", VerdictKind::Good),
        (Change::Equivalent, "equivalent", VerdictKind::Neutral),
        (Change::Inconclusive, "inconclusive", VerdictKind::Unknown),
    ] {
        let points: Vec<Point> = cases
            .iter()
            .enumerate()
            .filter(|(_, case)| case.verdict == change)
            .filter_map(|(nth, case)| Some(point(nth as f64, case)?.labelled(launches(case))))
            .collect();
        if !points.is_empty() {
            figure.series.push(Series::new(name, points).toned(tone));
        }
    }
    figure.marks = vec![
        Mark::new("margin", 1.0 / (1.0 + found.margin)),
        Mark::new("no change", 1.0),
        Mark::new("margin", 1.0 + found.margin),
    ];
    figure.marks.extend(found.gate.map(|gate| Mark::new("gate", 1.0 + gate)));
    figure
}

fn point(x: f64, case: &CaseChange) -> Option<Point> {
    Some(Point::new(x, case.ratio?).between(case.low?, case.high?))
}

fn launches(case: &CaseChange) -> String {
    format!("{} and {}", case.launches_a, units::counted(case.launches_b, "launch"))
}
