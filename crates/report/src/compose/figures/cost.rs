//! What a round trip costs in CPU time, beside how long it takes.

use super::{at, many_within, one_of, place_id, sizes, typical};
use crate::compose::labels;
use crate::{Axis, Drawn, Figure, FigureKind, Point, Scale, Series, Unit};
use analysis::{Carries, CaseResult, CpuCost, Judged, Site};

/// For each placement the frontier; then how the CPU time is divided.
pub(super) fn figures(judged: &Judged) -> Vec<Figure> {
    let mut cases = super::smallest_latency(judged);
    cases.retain(|case| case.cpu_ns_per_operation.is_some() && typical(case).is_some());
    let (mut figures, mut divided) = (Vec::new(), Vec::new());
    for place in labels::places(&cases) {
        let mut here: Vec<Priced> = at(&cases, place).into_iter().filter_map(Priced::of).collect();
        here.sort_by(|a, b| a.cpu.total.total_cmp(&b.cpu.total));
        divided.push(bars(&here, place));
        if here.len() > 1 {
            figures.push(frontier(&here, place));
        }
    }
    figures.extend(divided);
    figures.extend(sizes::cpu(&super::measured(judged, |case| case.metric.is_round_trip())));
    figures
}

const BARS: &str = "Bars: CPU time of both workers, whose division into user and system is sampled by the \
     kernel's timer tick, and rough. Diamond: the median (wall time). The CPU time is a mean, \
     slow ones included; a bar well beyond its diamond means that both CPUs work at once.";

const FRONTIER: &str = "Left is faster, down is cheaper; whatever lies above and right of the dashed line \
     is beaten in both. Upright bars: intervals of the CPU time.";

const SPINS: &str = "A worker that busy-waits uses its CPU while nothing arrives, too: this counts only \
     round trips without a pause.";

/// A case with both of its prices, in ns.
struct Priced<'a> {
    case: &'a CaseResult,
    latency: f64,
    cpu: CpuCost,
}

impl<'a> Priced<'a> {
    fn of(case: &'a CaseResult) -> Option<Priced<'a>> {
        Some(Priced { case, latency: typical(case)?, cpu: case.cpu_ns_per_operation? })
    }

    fn in_words(&self) -> String {
        Unit::Nanoseconds.with_ends(self.cpu.total, self.cpu.interval.ends())
    }
}

fn cases<'a>(here: &[Priced<'a>]) -> Vec<&'a CaseResult> {
    here.iter().map(|priced| priced.case).collect()
}

fn bars(here: &[Priced], place: &Site) -> Figure {
    let one = one_of(&cases(here));
    let mut figure = Figure::new(
        FigureKind::Bars,
        format!("cpu-{}", place_id(place)),
        format!("CPU time of {}, {}", many_within(&cases(here)), labels::place_of(place)),
        caption(BARS, here),
        Axis::categories("mechanism", here.iter().map(|priced| priced.case.variant.as_str())),
        Axis::new(format!("time per {one}"), Unit::Nanoseconds, Scale::Linear),
    )
    .found(bars_finding(here));
    let points = |of: &dyn Fn(&Priced) -> f64| {
        here.iter()
            .enumerate()
            .map(|(nth, priced)| Point::new(nth as f64, of(priced)))
            .collect::<Vec<_>>()
    };
    let system = points(&|priced| priced.cpu.system).into_iter().zip(here);
    let system =
        system.map(|(point, priced)| point.labelled(format!("CPU in all {}", priced.in_words())));
    figure.series = vec![
        Series::new("CPU, user", points(&|priced| priced.cpu.user)),
        Series::new("CPU, system", system),
        Series::new(format!("{one} (wall time)"), points(&|priced| priced.latency))
            .drawn(Drawn::Signs),
    ];
    figure
}

fn bars_finding(here: &[Priced]) -> String {
    match here {
        [least, .., most] => format!(
            "{} uses least, {}; {} most, {}.",
            least.case.variant,
            least.in_words(),
            most.case.variant,
            most.in_words()
        ),
        _ => String::new(),
    }
}

/// With a word on those that spin, where there are any.
fn caption(words: &str, here: &[Priced]) -> String {
    if here.iter().any(|priced| priced.case.spins) {
        format!("{words} {SPINS}")
    } else {
        words.to_string()
    }
}

/// The signs of a frontier: name, whether they spin, and whether they carry bytes.
const KINDS: [(&str, bool, Option<bool>); 3] = [
    ("blocking, carries bytes", false, Some(true)),
    ("blocking, a wake-up only", false, Some(false)),
    ("spins", true, None),
];

fn frontier(here: &[Priced], place: &Site) -> Figure {
    let frontier = efficient(here, |_| true);
    let asleep = efficient(here, |case| !case.spins);
    let mut figure = Figure::new(
        FigureKind::Scatter,
        format!("frontier-{}", place_id(place)),
        format!(
            "Latency against CPU time, {}, {}",
            many_within(&cases(here)),
            labels::place_of(place)
        ),
        caption(FRONTIER, here),
        super::time_of(&cases(here)),
        Axis::new(format!("CPU time per {}", one_of(&cases(here))), Unit::Nanoseconds, Scale::Log),
    )
    .found(frontier_finding(here, &frontier, &asleep));
    for (name, spins, bytes) in KINDS {
        let belongs = |priced: &&Priced| {
            priced.case.spins == spins
                && bytes.is_none_or(|bytes| bytes == (priced.case.carries == Carries::Bytes))
        };
        figure.series.push(Series::new(name, here.iter().filter(belongs).map(point)));
    }
    figure.series.push(staircase("nothing is ahead of this in both", here, &frontier));
    if asleep != frontier {
        figure.series.push(staircase("the same of the blocking ones", here, &asleep));
    }
    figure.series.retain(|series| !series.points.is_empty());
    figure
}

/// The line through the efficient ones, from edge to edge: all beyond it is beaten.
fn staircase(name: &str, here: &[Priced], efficient: &[usize]) -> Series {
    let largest = |of: fn(&Priced) -> f64| here.iter().map(of).fold(0.0, f64::max) * 100.0;
    let corners = || efficient.iter().map(|nth| &here[*nth]);
    let first = corners()
        .next()
        .map(|corner| Point::new(corner.latency, largest(|priced| priced.cpu.total)));
    let last = corners()
        .next_back()
        .map(|other| Point::new(largest(|priced| priced.latency), other.cpu.total));
    let inner = corners().map(|corner| Point::new(corner.latency, corner.cpu.total));
    Series::new(name, first.into_iter().chain(inner).chain(last)).drawn(Drawn::Line)
}

fn point(priced: &Priced) -> Point {
    let point = Point::new(priced.latency, priced.cpu.total).labelled(&priced.case.variant);
    point.with_ends(priced.cpu.interval.ends())
}

fn frontier_finding(here: &[Priced], frontier: &[usize], asleep: &[usize]) -> String {
    let names = |of: &[usize]| -> Vec<String> {
        of.iter().map(|nth| here[*nth].case.variant.clone()).collect()
    };
    let mut finding = match names(frontier).as_slice() {
        [one] => format!("{one} is ahead of all others in both"),
        several => format!("Worth choosing between: {}", labels::list(several)),
    };
    if asleep != frontier && !asleep.is_empty() {
        finding += &format!("; of the blocking ones: {}", labels::list(&names(asleep)));
    }
    finding + " (by their medians)."
}

/// Indices of the cases among those `counted` that none other of them beats in both
/// coordinates, or ties in one and beats in the other; the fastest first.
fn efficient(here: &[Priced], counted: fn(&CaseResult) -> bool) -> Vec<usize> {
    let among: Vec<usize> = (0..here.len()).filter(|nth| counted(here[*nth].case)).collect();
    let points: Vec<(f64, f64)> =
        among.iter().map(|nth| (here[*nth].latency, here[*nth].cpu.total)).collect();
    let mut found: Vec<usize> = unbeaten(&points).into_iter().map(|nth| among[nth]).collect();
    found.sort_by(|a, b| here[*a].latency.total_cmp(&here[*b].latency));
    found
}

fn unbeaten(points: &[(f64, f64)]) -> Vec<usize> {
    let beats = |a: &(f64, f64), b: &(f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
    (0..points.len())
        .filter(|nth| !points.iter().any(|point| beats(point, &points[*nth])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frontier_is_what_nothing_beats_in_both() {
        let points = [(1.0, 9.0), (2.0, 2.0), (3.0, 3.0), (9.0, 1.0), (2.0, 4.0)];
        assert_eq!(unbeaten(&points), [0, 1, 3]);
        assert_eq!(unbeaten(&[(1.0, 1.0), (5.0, 5.0)]), [0]);
        assert_eq!(unbeaten(&[(1.0, 1.0), (1.0, 1.0)]), [0, 1], "equals don't beat each other");
        assert!(unbeaten(&[]).is_empty());
    }
}
