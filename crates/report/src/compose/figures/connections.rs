//! Curves over connections and rates. Of those of one server: what it served of the same load, and the 99th percentile of what
//! that took; of a closed loop's: what it yields. Bars: how evenly one server served its clients.

use super::{at, intervals, place_id};
use crate::compose::{clients, labels, loads};
use crate::{Axis, Figure, FigureKind, Point, Scale, Series, Unit};
use analysis::{CaseResult, ClientsSeen, Judged, Site, Status};
use model::case::Case;
use model::distinct::distinct;
use model::load::{Load, Server};
use model::workload::Workload;

/// What a curve goes over.
struct Over {
    name: &'static str,
    axis: fn() -> Axis,
    at: fn(&Load) -> f64,
    /// What the points of a curve share.
    rest: fn(Load) -> Load,
    /// The same in words.
    words: fn(Load) -> String,
}

const CONNECTIONS: Over = Over {
    name: "connections",
    axis: || Axis::new("connections", Unit::Count, Scale::Log),
    at: |load| f64::from(load.connections),
    rest: |load| Load { connections: 1, server: unusual(load), ..load },
    words: |load| {
        let alone = Load { connections: 1, server: None, ..load };
        let server =
            unusual(load).map_or(String::new(), |server| format!(", by {}", server.name()));
        if load.has_rate() { loads::loaded(alone) + &server } else { String::new() }
    },
};

/// The server's way of waiting, where it isn't the one that comes with several connections.
fn unusual(load: Load) -> Option<Server> {
    load.server.filter(|server| *server != Server::Epoll)
}

/// What a case differs in from others of its load.
fn beside_load(case: &CaseResult) -> String {
    labels::conditions(&Case { load: None, ..case.case.clone() })
}

const RATE: Over = Over {
    name: "rate",
    axis: || Axis::new("messages due per second", Unit::PerSecond, Scale::Log),
    at: |load| load.per_second as f64,
    rest: |load| Load { per_second: 0, ..load },
    words: loads::beside_rate,
};

type Draw = fn(&[&CaseResult], &Site) -> Figure;

/// Curves over the connections, and how evenly they were served.
pub(super) fn figures(judged: &Judged) -> Vec<Figure> {
    let of_open: [Draw; 3] =
        [|all, at| served(all, at, &CONNECTIONS), |all, at| slow(all, at, &CONNECTIONS), fairness];
    drawn(judged, |workload| if workload.traits().paced { &of_open } else { &[yielded] })
}

/// Curves over the rates of an open loop.
pub(super) fn against_rate(judged: &Judged) -> Vec<Figure> {
    let of_open: [Draw; 3] = [
        |all, at| slow(all, at, &RATE),
        |all, at| typical(all, at, &RATE),
        |all, at| served(all, at, &RATE),
    ];
    drawn(judged, |workload| if workload.traits().paced { &of_open } else { &[] })
}

fn drawn<'a>(judged: &Judged, draws: impl Fn(Workload) -> &'a [Draw]) -> Vec<Figure> {
    let measured = |case: &&CaseResult| {
        // What was overloaded was served, too: where that begins is what the curve shows.
        let kept = case.rate.is_none_or(|rate| !rate.void);
        case.status == Status::Ok && !case.twin && case.load.is_some() && kept
    };
    let cases: Vec<&CaseResult> = judged.results.iter().filter(measured).collect();
    let mut figures = Vec::new();
    for workload in Workload::ALL {
        let own =
            cases.iter().filter(|case| case.workload == workload).copied().collect::<Vec<_>>();
        for draw in draws(workload) {
            let all = labels::places(&own).into_iter().map(|place| draw(&at(&own, place), place));
            figures.extend(all.filter(|figure| figure.points() > 0));
        }
    }
    figures
}

/// Of one closed workload, what it yields.
fn yielded(here: &[&CaseResult], place: &Site) -> Figure {
    let (metric, workload) = (&here[0].metric, here[0].workload);
    let what = format!("{} against connections", metric.title);
    let rule = "The median over launches; band: covers it with at least 95 %.";
    let y = super::axis_of(metric, Scale::Log);
    curves(here, place, (workload.name(), &what, rule), (&CONNECTIONS, y), |case, connections| {
        intervals::point_of(case, connections)
    })
}

fn served(here: &[&CaseResult], place: &Site, over: &Over) -> Figure {
    let y = Axis::new("served per second", Unit::PerSecond, Scale::Log);
    let what = format!("Served in total against {}", over.name);
    let rule = "Messages answered per second over all connections, the median over launches.";
    curves(here, place, ("served", &what, rule), (over, y), |case, x| {
        Some(Point::new(x, case.rate?.served_per_sec?))
    })
}

fn slow(here: &[&CaseResult], place: &Site, over: &Over) -> Figure {
    let y = Axis::new("p99 of the response time", Unit::Nanoseconds, Scale::Log);
    let what = format!("The slowest hundredth of responses against {}", over.name);
    let rule = "The 99th percentile of all clients' response times, the median over launches; band: covers it with \
         at least 95 %. A launch with too few samples has none.";
    curves(here, place, ("p99", &what, rule), (over, y), |case, x| {
        let p99 = case.value.as_ref()?.percentile("p99")?;
        Some(Point::new(x, p99.value).between(p99.low, p99.high))
    })
}

fn typical(here: &[&CaseResult], place: &Site, over: &Over) -> Figure {
    let y = Axis::new("response time", Unit::Nanoseconds, Scale::Log);
    let what = format!("Response time against {}", over.name);
    let rule = "The median over launches of their medians; band: covers it with at least 95 %.";
    curves(here, place, ("p50", &what, rule), (over, y), intervals::point_of)
}

/// A bar for each mechanism and load with several clients.
fn fairness(here: &[&CaseResult], place: &Site) -> Figure {
    let seen: Vec<(&CaseResult, ClientsSeen)> =
        here.iter().filter_map(|case| Some((*case, case.clients?))).collect();
    let one_load = distinct(seen.iter().map(|pair| pair.0.load.map(CONNECTIONS.rest))).len() == 1;
    let name = |(case, seen): &(&CaseResult, ClientsSeen)| {
        let load = if one_load { loads::connected } else { loads::loaded };
        let of = labels::of_size(case.message_bytes) + &case.load.map(load).unwrap_or_default();
        let of = of + &beside_load(case);
        format!("{}{of}: Jain\u{a0}{}", case.variant, Unit::Number.format(seen.jain.median))
    };
    let rule = "Bars: the worst share, the median over launches, and the interval that covers it with at least 95 %. \
         A short bar with an index near 1: the server was too slow for all clients alike.";
    let rule = format!("{}. {rule}", clients::EVENNESS);
    let title = format!("How evenly clients were served, {}", labels::place_of(place));
    let (id, x) = (format!("fairness-{}", place_id(place)), seen.iter().map(name));
    let x = Axis::categories("mechanism and connections", x);
    let y = Axis::new("worst share (1: all answered)", Unit::Number, Scale::Linear);
    let mut figure = Figure::new(FigureKind::GroupedBars, id, title, rule, x, y);
    let points = seen.iter().enumerate().map(|(nth, (_, ClientsSeen { worst_share, .. }))| {
        Point::new(nth as f64, worst_share.median).with_ends(worst_share.interval.ends())
    });
    figure.series.push(Series::new("worst client", points));
    figure
}

/// A curve for each mechanism at each load, where it was measured at several places of what it goes over.
fn curves(
    here: &[&CaseResult],
    place: &Site,
    (name, what, rule): (&str, &str, &str),
    (over, y): (&Over, Axis),
    point: fn(&CaseResult, f64) -> Option<Point>,
) -> Figure {
    let id = format!("{}-{name}-{}", over.name, place_id(place));
    let title = format!("{what}, {}", labels::place_of(place));
    let mut figure = Figure::new(FigureKind::Curves, id, title, rule, (over.axis)(), y);
    let key = |case: &CaseResult| {
        (case.variant.clone(), case.message_bytes, case.load.map(over.rest), beside_load(case))
    };
    let x = |case: &CaseResult| case.load.map_or(0.0, |load| (over.at)(&load));
    for of in distinct(here.iter().map(|case| key(case))) {
        let mut curve: Vec<&CaseResult> =
            here.iter().filter(|case| key(case) == of).copied().collect();
        curve.sort_by(|a, b| x(a).total_cmp(&x(b)));
        if curve.first().map(|curve| x(curve)) < curve.last().map(|curve| x(curve)) {
            let points = curve.iter().filter_map(|case| point(case, x(case)));
            let load = curve[0].load.map(over.words).unwrap_or_default();
            let name = format!("{}{}{load}{}", of.0, labels::of_size(of.1), of.3);
            figure.series.push(Series::new(name, points));
        }
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::testing::case;
    use analysis::{MedianInterval, OverClients, OverLaunches, RateSeen};

    fn over(connections: u32, per_sec: f64) -> CaseResult {
        let load = Load { connections, ..Load::USUAL };
        let load = Load { server: load.choice(), ..load };
        let rate = RateSeen {
            served_per_sec: Some(per_sec),
            overloaded: per_sec < 900.0,
            ..RateSeen::of(load)
        };
        let mut made = CaseResult { rate: Some(rate), ..case("pipe", "free", None) };
        made.load = Some(load);
        made
    }

    #[test]
    fn a_curve_goes_over_the_connections_in_order_and_none_over_one() {
        let (one, four, sixteen) = (over(1, 1_000.0), over(4, 990.0), over(16, 700.0));
        let figure = served(&[&sixteen, &one, &four], &one.site, &CONNECTIONS);
        let points: Vec<(f64, Option<f64>)> =
            figure.series[0].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(1.0, Some(1_000.0)), (4.0, Some(990.0)), (16.0, Some(700.0))]);
        assert_eq!(figure.series.len(), 1, "with and without a choice it is one curve");
        assert_eq!(served(&[&four], &one.site, &CONNECTIONS).points(), 0);
    }

    #[test]
    fn a_curve_over_rates_keeps_apart_what_differs_beside_the_rate() {
        let at = |per_second, connections| {
            let mut made = over(connections, 990.0);
            made.load = made.load.map(|load| Load { per_second, ..load });
            made
        };
        let all = [at(4_000, 1), at(1_000, 1), at(1_000, 4), at(4_000, 4), at(4_000, 16)];
        let figure = served(&all.iter().collect::<Vec<_>>(), &all[0].site, &RATE);
        let found: Vec<(&str, Vec<f64>)> = figure
            .series
            .iter()
            .map(|series| {
                (series.name.as_str(), series.points.iter().map(|point| point.x).collect())
            })
            .collect();
        let rates = vec![1_000.0, 4_000.0];
        let expected =
            [("pipe, 64 B", rates.clone()), ("pipe, 64 B, 4 connections by epoll", rates)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_bar_of_the_worst_share_stands_for_each_load_with_several_clients() {
        let of = |connections: u32, worst, jain| {
            let share = |median| OverLaunches { median, interval: MedianInterval::default() };
            let p50_ns = OverClients { median: 1e3, largest: 2e3 };
            let (worst_share, jain, clients) = (share(worst), share(jain), connections.into());
            let seen = ClientsSeen { clients, worst_share, jain, p50_ns, p99_ns: None };
            CaseResult { clients: Some(seen), ..over(connections, 990.0) }
        };
        let (one, four, sixteen) = (over(1, 1_000.0), of(4, 0.75, 0.99), of(16, 0.25, 0.5));
        let figure = fairness(&[&one, &four, &sixteen], &one.site);
        assert_eq!(figure.title, "How evenly clients were served, placed freely");
        assert_eq!(figure.series[0].points, [Point::new(0.0, 0.75), Point::new(1.0, 0.25)]);
        let names = [
            "pipe, 64 B, 4 connections by epoll: Jain\u{a0}0.990",
            "pipe, 64 B, 16 connections by epoll: Jain\u{a0}0.500",
        ];
        assert_eq!(figure.x.categories, names);
        let mut quick = of(4, 0.5, 0.9);
        quick.load = quick.load.map(|load| Load { per_second: 2 * load.per_second, ..load });
        let both = fairness(&[&four, &quick], &one.site).x.categories;
        assert!(
            both[0] != both[1] && both.iter().all(|text| text.contains(" a second, 4 ")),
            "{both:?}"
        );
        assert_eq!(fairness(&[&one], &one.site).points(), 0);
    }
}
