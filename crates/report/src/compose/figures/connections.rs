//! Curves over connections. Of those of one server: what it served of the same load, and the 99th percentile of what
//! that took; of a closed loop's: what it yields.

use model::distinct::distinct;
use std::collections::BTreeSet;

use super::{at, intervals, place_id};
use crate::compose::{labels, open_loop};
use crate::{Axis, Figure, FigureKind, Point, Scale, Series, Unit};
use analysis::{CaseResult, Judged, Status};
use model::load::Load;
use model::workload::Workload;

pub(super) fn figures(judged: &Judged) -> Vec<Figure> {
    let measured = |it: &&CaseResult| {
        // What was overloaded was served, too: where that begins is what the curve shows.
        let kept = it.rate.is_none_or(|rate| !rate.void);
        it.status == Status::Ok && !it.twin && it.load.is_some() && kept
    };
    let cases: Vec<&CaseResult> = judged.results.iter().filter(measured).collect();
    let of = |workload: Workload, draw: fn(&[&CaseResult], (&str, &str)) -> Figure| {
        let own = cases.iter().filter(|it| it.workload == workload).copied().collect::<Vec<_>>();
        let drawn = labels::places(&own).into_iter().map(|place| draw(&at(&own, place), place));
        drawn.filter(|it| it.points() > 0).collect::<Vec<_>>()
    };
    let of = |workload: Workload| {
        if workload.traits().paced {
            [of(workload, served), of(workload, slow)].concat()
        } else {
            of(workload, yielded)
        }
    };
    Workload::ALL.into_iter().flat_map(of).collect()
}

/// Of one closed workload, what it yields.
fn yielded(here: &[&CaseResult], place: (&str, &str)) -> Figure {
    let (metric, workload) = (&here[0].metric, here[0].workload);
    let what = format!("{} against connections", metric.title);
    let rule = "The median over launches; band: covers it with at least 95 %.";
    let y = super::axis_of(metric, Scale::Log);
    curves(here, place, (workload.name(), &what, rule), y, |case, connections| {
        intervals::point_of(case, connections)
    })
}

fn served(here: &[&CaseResult], place: (&str, &str)) -> Figure {
    let y = Axis::new("served per second", Unit::PerSecond, Scale::Log);
    let what = "Served in total against connections";
    let rule = "Messages answered per second over all connections, the median over launches.";
    curves(here, place, ("served", what, rule), y, |case, connections| {
        Some(Point::new(connections, case.rate?.served_per_sec?))
    })
}

fn slow(here: &[&CaseResult], place: (&str, &str)) -> Figure {
    let y = Axis::new("p99 of the response time", Unit::Nanoseconds, Scale::Log);
    let what = "The slowest hundredth of responses against connections";
    let rule = "The 99th percentile of all clients' response times, the median over launches; band: covers it with \
         at least 95 %. A launch with too few samples has none.";
    curves(here, place, ("p99", what, rule), y, |case, connections| {
        let p99 = case.value.as_ref()?.percentiles.get("p99")?.as_ref()?;
        Some(Point::new(connections, p99.value).between(p99.low, p99.high))
    })
}

/// A curve for each mechanism at each load, where it was measured with several numbers of connections.
fn curves(
    here: &[&CaseResult],
    place: (&str, &str),
    (name, what, rule): (&str, &str, &str),
    y: Axis,
    point: fn(&CaseResult, f64) -> Option<Point>,
) -> Figure {
    let id = format!("connections-{name}-{}", place_id(place));
    let title = format!("{what}, {}", labels::place_of(place));
    let x = Axis::new("connections", Unit::Count, Scale::Log);
    let mut figure = Figure::new(FigureKind::Curves, id, title, rule, x, y);
    for key in distinct(here.iter().map(|it| key(it))) {
        let mut curve: Vec<&CaseResult> =
            here.iter().filter(|it| self::key(it) == key).copied().collect();
        let connections = |it: &CaseResult| it.load.map_or(1, |load| load.connections);
        curve.sort_by_key(|it| connections(it));
        if curve.iter().map(|it| connections(it)).collect::<BTreeSet<_>>().len() > 1 {
            let points = curve.iter().filter_map(|it| point(it, f64::from(connections(it))));
            let (variant, bytes, load) = key;
            let load = load.filter(Load::has_rate).map(open_loop::loaded).unwrap_or_default();
            let of = labels::of_size(bytes) + &load;
            figure.series.push(Series::new(format!("{variant}{of}"), points));
        }
    }
    figure
}

/// What the points of a curve share: all but the connections, and the server that comes with several.
fn key(case: &CaseResult) -> (&str, Option<u64>, Option<Load>) {
    let load = case.load.map(|load| Load { connections: 1, server: None, ..load });
    (&case.variant, case.message_bytes, load)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::RateSeen;
    use analysis::testing::case;

    fn over(connections: u32, per_sec: f64) -> CaseResult {
        let load = Load { connections, ..Load::USUAL };
        let load = Load { server: load.choice(), ..load };
        let rate = RateSeen {
            served_per_sec: Some(per_sec),
            overloaded: per_sec < 900.0,
            ..RateSeen::of(load)
        };
        CaseResult { load: Some(load), rate: Some(rate), ..case("pipe", "free", None) }
    }

    #[test]
    fn a_curve_goes_over_the_connections_in_order_and_none_over_one() {
        let (one, four, sixteen) = (over(1, 1_000.0), over(4, 990.0), over(16, 700.0));
        let figure = served(&[&sixteen, &one, &four], ("process", "free"));
        let points: Vec<(f64, Option<f64>)> =
            figure.series[0].points.iter().map(|it| (it.x, it.y)).collect();
        assert_eq!(points, [(1.0, Some(1_000.0)), (4.0, Some(990.0)), (16.0, Some(700.0))]);
        assert_eq!(figure.series.len(), 1, "with and without a choice it is one curve");
        assert_eq!(served(&[&four], ("process", "free")).points(), 0);
    }
}
