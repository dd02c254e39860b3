//! Percentiles of the response time against the rate, with the bound that was asked, and what was served.

use model::distinct::distinct;

use crate::compose::capacity::percentile;
use crate::compose::{clients, labels, loads};
use crate::figure::Mark;
use crate::{Axis, Figure, FigureKind, Point, Scale, Series, Unit};
use analysis::capacity::{Capacity, RateTried, RateVerdict};
use analysis::{Judged, Site, Status};
use model::case::Case;
use model::factor;
use model::load::Load;

/// The question of a figure: all but the mechanism and the rate, at one place.
type Question<'a> = (Case<()>, &'a Site);

fn question(of: &Capacity) -> Question<'_> {
    (of.case.with(|_| ()), &of.site)
}

/// For each question the percentile of the bound first, then p50, p99 and p99.9, and what was served.
pub(super) fn figures(judged: &Judged) -> Vec<Figure> {
    let measured: Vec<&Capacity> =
        judged.capacity.iter().filter(|capacity| capacity.status == Status::Ok).collect();
    let Some(first) = measured.first() else { return Vec::new() };
    let asked = first.bound.percentile();
    let others =
        ["p50", "p99", "p99.9"].map(String::from).into_iter().filter(|text| *text != asked);
    let names: Vec<String> = [asked.clone()].into_iter().chain(others).collect();
    let questions = distinct(measured.iter().map(|capacity| question(capacity)));
    let mut figures = Vec::new();
    for name in &names {
        figures
            .extend(questions.iter().enumerate().map(|pair| times(judged, &measured, pair, name)));
    }
    figures.extend(questions.iter().enumerate().map(|pair| served(&measured, pair)));
    figures.extend(questions.iter().enumerate().map(|pair| fairness(judged, &measured, pair)));
    figures.retain(|figure: &Figure| figure.points() > 0);
    figures
}

fn times(
    judged: &Judged,
    measured: &[&Capacity],
    (nth, asked): (usize, &Question),
    name: &str,
) -> Figure {
    let rule = "The median over launches of each launch's percentile, at every rate that was tried. A ring: the largest rate \
         at which more than half of all launches are sure to keep the bound; a square: the knee. A launch with too few messages has none.";
    let y = Axis::new(format!("{name} of the response time"), Unit::Nanoseconds, Scale::Log);
    let bound = measured[0].bound;
    let mut figure = curves(
        measured,
        (nth, asked),
        (name, &format!("{name} against rate"), rule),
        y,
        |capacity, rate| {
            let ns = if name == bound.percentile() {
                rate.percentile_ns
            } else {
                percentile(&judged.results[rate.result], name)
            };
            let point = Point::new(rate.per_sec as f64, ns?);
            let is = |found: Option<u64>| found == Some(rate.per_sec) && name == bound.percentile();
            let holds = is(capacity.found.at_least_per_sec);
            let point =
                if holds { point.marked("the largest rate that is sure to hold") } else { point };
            Some(if is(capacity.knee_per_sec) { point.framed("the knee") } else { point })
        },
    );
    if name == bound.percentile() {
        figure.marks.push(Mark::new(format!("{name} asked"), bound.ns as f64));
    }
    figure
}

fn served(measured: &[&Capacity], asked: (usize, &Question)) -> Figure {
    let rule = "Messages answered per second over all connections, the median over launches; where it leaves the rate \
         that was due the mechanism is overloaded.";
    let y = Axis::new("served per second", Unit::PerSecond, Scale::Log);
    curves(measured, asked, ("served", "Served against rate", rule), y, |_, rate| {
        Some(Point::new(rate.per_sec as f64, rate.served_per_sec?))
    })
}

/// Of several clients.
fn fairness(judged: &Judged, measured: &[&Capacity], asked: (usize, &Question)) -> Figure {
    let rule = format!(
        "{}. Curves: the worst share, the median over launches; band: covers it with at least 95 %. Where the server is too \
         slow for all clients alike, it falls, and the index doesn't. What is due last is never answered in time: of few requests a visible part.",
        clients::EVENNESS
    );
    let y = Axis::new("worst share (1: all answered)", Unit::Number, Scale::Linear);
    let what = "The worst served client against rate";
    curves(measured, asked, ("fairness", what, &rule), y, |_, rate| {
        let seen = judged.results[rate.result].clients?.worst_share;
        Some(Point::new(rate.per_sec as f64, seen.median).with_ends(seen.interval.ends()))
    })
}

/// A curve for each mechanism, at the rates that it was offered.
fn curves(
    measured: &[&Capacity],
    (nth, asked): (usize, &Question),
    (name, what, rule): (&str, &str, &str),
    y: Axis,
    point: impl Fn(&Capacity, &RateTried) -> Option<Point>,
) -> Figure {
    let (case, site) = asked;
    let load = case.load.unwrap_or(Load::USUAL);
    let (size, plain) = (labels::of_size(case.message_bytes), factor::conditions(case));
    let (connected, depth) = (loads::connected(load), loads::under_way(load));
    let (answers, place) = (loads::answers(load), labels::place_of(site));
    let title = format!("{what}{size}{connected}{depth}{answers}{plain}, {place}");
    let id = format!("capacity-{}-{}", name.replace('.', "-"), nth + 1);
    let x = Axis::new("messages due per second", Unit::PerSecond, Scale::Log);
    let mut figure = Figure::new(FigureKind::Curves, id, labels::capital(&title), rule, x, y);
    for found in measured.iter().filter(|capacity| question(capacity) == *asked) {
        let offered = found.rates.iter().filter(|rate| rate.verdict != RateVerdict::Void);
        let points = offered.filter_map(|rate| point(found, rate));
        figure.series.push(Series::new(&*found.variant, points));
    }
    figure
}
