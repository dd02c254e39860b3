//! The heat map of placements: what it costs a mechanism to be moved.

use super::{are_alike, many_of, typical};
use crate::compose::labels;
use crate::{Axis, Figure, FigureKind, Point, Scale, Series, Unit, units};
use analysis::{CaseResult, Judged, Site, Status};
use model::distinct::distinct;

const CAPTION: &str = "Each cell holds the median; its colour is that over the best of its \
     row. Hatched: not measured; pointing at it, or the table, gives the reason.";

/// One figure, where something was measured in two places at least.
pub(super) fn figures(judged: &Judged) -> Vec<Figure> {
    let measured = super::smallest_latency(judged);
    if labels::places(&measured).len() < 2 {
        return Vec::new();
    }
    let smallest = measured.iter().filter_map(|case| case.message_bytes).min();
    // The absent ones too: a place that the machine lacks is a column with its reason.
    let all: Vec<&CaseResult> = judged
        .results
        .iter()
        .filter(|result| {
            are_alike(result, measured[0]) && !result.twin && !result.carries.is_control()
        })
        .filter(|result| result.message_bytes.is_none() || result.message_bytes == smallest)
        .collect();
    let places = labels::places(&all);
    let names = distinct(all.iter().map(|case| case.variant.as_str()));
    let rows: Vec<Row> = names.iter().map(|name| Row::of(name, &all, &places)).collect();
    let mut figure = Figure::new(
        FigureKind::Heatmap,
        "placement",
        format!("{}, by placement", many_of(&measured)),
        CAPTION,
        Axis::categories("placement", places.iter().map(|place| labels::place_of(place))),
        Axis::new("× the row's fastest", Unit::Ratio, Scale::Log),
    )
    .found(finding(&rows));
    figure.series = rows.into_iter().map(|row| Series::new(row.name, row.points)).collect();
    vec![figure]
}

struct Row<'a> {
    name: &'a str,
    points: Vec<Point>,
}

impl<'a> Row<'a> {
    fn of(name: &'a str, all: &[&CaseResult], places: &[&Site]) -> Row<'a> {
        let find = |place: &Site| {
            let here = |case: &&&CaseResult| case.site == *place;
            all.iter().filter(here).find(|case| case.variant == name)
        };
        let fastest =
            places.iter().filter_map(|place| typical(find(place)?)).fold(f64::INFINITY, f64::min);
        let points = places.iter().enumerate().map(|(nth, place)| {
            let Some(case) = find(place) else {
                return Point::gap(nth as f64, "not asked for");
            };
            match typical(case).filter(|_| case.status == Status::Ok) {
                Some(value) => {
                    Point::new(nth as f64, value / fastest).labelled(labels::brief_value(case))
                }
                None => Point::gap(nth as f64, case.reason.clone().unwrap_or_default()),
            }
        });
        Row { name, points: points.collect() }
    }

    /// The slowest place over the fastest; None where there is one only.
    fn price(&self) -> Option<f64> {
        let ratios: Vec<f64> = self.points.iter().filter_map(|point| point.y).collect();
        (ratios.len() > 1).then(|| ratios.into_iter().fold(1.0, f64::max))
    }
}

fn finding(rows: &[Row]) -> String {
    let mut prices: Vec<(&str, f64)> =
        rows.iter().filter_map(|row| Some((row.name, row.price()?))).collect();
    prices.sort_by(|a, b| a.1.total_cmp(&b.1));
    match prices.as_slice() {
        [] => String::new(),
        [(name, times)] => {
            format!("In its worst place {name} takes {} its best.", units::ratio(*times))
        }
        [(least, a), .., (most, b)] => format!(
            "In its worst place a mechanism takes {} ({least}) to {} ({most}) its best.",
            units::ratio(*a),
            units::ratio(*b)
        ),
    }
}
