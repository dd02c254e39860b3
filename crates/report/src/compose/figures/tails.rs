//! Percentile curves of the smallest latency, one figure per placement.

use super::{at, many_within, place_id};
use crate::compose::labels;
use crate::{Axis, Figure, FigureKind, Point, Scale, Series, Unit, units};
use analysis::{CaseResult, Judged};

/// A curve with fewer points ends before it says anything.
const FEWEST: usize = 4;

const CAPTION: &str = "A curve that stays low to the right has a short tail. All launches pooled, drawn \
     to the deepest percentile that the samples support.";

pub(super) fn figures(judged: &Judged) -> Vec<Figure> {
    let mut cases = super::smallest_latency(judged);
    cases.retain(|case| case.curve.len() >= FEWEST);
    let draw = |place| {
        let here = at(&cases, place);
        let mut figure = Figure::new(
            FigureKind::Percentiles,
            format!("tail-{}", place_id(place)),
            format!("Percentiles of {}, {}", many_within(&here), labels::place_of(place)),
            CAPTION,
            Axis::new("percentile", Unit::Share, Scale::Tail),
            super::time_of(&here),
        )
        .found(finding(&here));
        for case in here {
            let points = case.curve.iter().map(|(p, ns)| Point::new(*p, *ns));
            figure.series.push(Series::new(&*case.variant, points));
        }
        figure
    };
    labels::places(&cases).into_iter().map(draw).collect()
}

fn finding(here: &[&CaseResult]) -> String {
    // Over launches, with an interval: the curve itself pools them, and is only drawn.
    let stretch = |case: &&CaseResult| {
        let estimate = case.value.as_ref()?;
        let p99 = estimate.percentile("p99")?;
        Some((case.variant.clone(), p99.value / estimate.median))
    };
    let mut stretched: Vec<(String, f64)> = here.iter().filter_map(stretch).collect();
    stretched.sort_by(|a, b| a.1.total_cmp(&b.1));
    match stretched.as_slice() {
        [] => String::new(),
        [(name, times)] => format!("The p99 of {name} is {} its median.", units::ratio(*times)),
        [(least, a), .., (most, b)] => format!(
            "The p99 is {} the median for {least}, {} for {most}.",
            units::ratio(*a),
            units::ratio(*b)
        ),
    }
}
