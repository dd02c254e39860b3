//! Figures of the overhead: shifts with their intervals, curves under each level, and the p of each
//! point as published and corrected.

use super::{operation, strand_name};
use crate::compose::figures;
use crate::{Axis, Figure, FigureKind, Mark, Point, Scale, Series, Unit, units};
use analysis::probe::{CurveUnder, ProbeEffect, ProbeOverhead, Strand};
use model::probe::Probe;

pub(super) fn all(effect: &ProbeEffect) -> Vec<Figure> {
    let strands = effect.strands.iter().enumerate();
    strands.flat_map(|(nth, strand)| of_strand(nth + 1, strand)).collect()
}

fn of_strand(nth: usize, strand: &Strand) -> Vec<Figure> {
    let mut figures = vec![shifts(nth, strand)];
    let tested: Vec<&CurveUnder> =
        strand.curves.iter().filter(|curve| curve.rescaled.is_some()).collect();
    if !tested.is_empty() {
        figures.push(curves(nth, strand));
        figures.push(points(nth, strand, &tested, false));
        figures.push(points(nth, strand, &tested, true));
    }
    figures
}

fn probes(strand: &Strand) -> Vec<Probe> {
    let mut probes: Vec<Probe> = strand.overheads.iter().map(|overhead| overhead.probe).collect();
    probes.sort();
    probes.dedup();
    probes
}

/// Overheads with intervals, by size and level.
fn shifts(nth: usize, strand: &Strand) -> Figure {
    let mut sizes: Vec<Option<u64>> =
        strand.overheads.iter().map(|overhead| overhead.message_bytes).collect();
    sizes.dedup();
    let names = sizes.iter().map(|size| size.map_or("–".into(), units::size));
    let what = operation(&strand.of);
    // A message may be of any size: what is added to a large one would hide all others.
    let (ratios, head) = if strand.of.metric.is_transfer() {
        (true, format!("How much longer a {what} takes while traced or counted"))
    } else {
        (false, format!("What instrumentation adds to a {what}"))
    };
    let y = if ratios {
        Axis::new("time observed over time unobserved", Unit::Ratio, Scale::Log)
    } else {
        Axis::new(format!("added to a {what}"), Unit::Nanoseconds, Scale::Linear)
    };
    let mut figure = Figure::new(
        FigureKind::Intervals,
        format!("price-{nth}"),
        format!("{head}: {}", strand_name(&strand.of)),
        "Of paired launches, and the interval that covers it with at least 95 %. Dashed: nothing is \
         added.",
        Axis::categories("size", names),
        y,
    );
    for probe in probes(strand) {
        let point = |overhead: &ProbeOverhead| {
            let at = sizes.iter().position(|size| *size == overhead.message_bytes)?;
            let shift = if ratios { overhead.ratio? } else { overhead.shift? };
            Some(Point::new(at as f64, shift.estimate).between(shift.low, shift.high))
        };
        let here = strand.overheads.iter().filter(|overhead| overhead.probe == probe);
        figure.series.push(Series::new(probe.to_string(), here.filter_map(point)));
    }
    figure.marks.push(Mark::new("nothing", if ratios { 1.0 } else { 0.0 }));
    figure
}

/// Medians over size under each level, and unobserved.
fn curves(nth: usize, strand: &Strand) -> Figure {
    let transfers = strand.of.metric.is_transfer();
    let (label, unit) = if transfers {
        ("bandwidth", Unit::BytesPerSecond)
    } else {
        ("round trip", Unit::Nanoseconds)
    };
    let mut figure = Figure::new(
        FigureKind::Curves,
        format!("price-curves-{nth}"),
        format!("Under each level, and unobserved: {}", strand_name(&strand.of)),
        "Medians over the launches.",
        Axis::new("message size", Unit::Bytes, Scale::Log),
        Axis::new(label, unit, Scale::Log),
    );
    let point = |overhead: &ProbeOverhead, ns: f64| {
        let bytes = overhead.message_bytes? as f64;
        Some(Point::new(bytes, if transfers { bytes * 1e9 / ns } else { ns }))
    };
    let probes = probes(strand);
    let of = |probe: Probe| strand.overheads.iter().filter(move |overhead| overhead.probe == probe);
    if let Some(first) = probes.first() {
        let plain = of(*first).filter_map(|overhead| point(overhead, overhead.plain_ns));
        figure.series.push(Series::new("unobserved", plain));
    }
    for probe in probes {
        let points = of(probe).filter_map(|overhead| point(overhead, overhead.observed_ns));
        figure.series.push(Series::new(probe.to_string(), points));
    }
    figure
}

/// The p of each point: as published, or by the maximum over sizes.
fn points(nth: usize, strand: &Strand, tested: &[&CurveUnder], corrected: bool) -> Figure {
    let (id, how, caption) = if corrected {
        (
            "corrected",
            "corrected",
            "Log ratios less their round's mean; each size compared with the largest deviation that \
             flipped signs make.",
        )
    } else {
        (
            "published",
            "as published",
            "Each curve divided by its mean over sizes; a paired signed-rank test at each size, \
             uncorrected.",
        )
    };
    let series = tested.iter().map(|curve| {
        let by_maximum = curve.rescaled.as_ref().map_or(&[][..], |rescaled| &rescaled.p_of_levels);
        let p = if corrected { by_maximum } else { &curve.published };
        let points = curve.sizes.iter().map(|size| *size as f64).zip(p.iter().copied());
        (curve.probe.to_string(), points.collect())
    });
    let title = format!("Where the shape differs, {how}: {}", strand_name(&strand.of));
    let sizes = Axis::new("message size", Unit::Bytes, Scale::Log);
    figures::of_p(format!("price-p-{id}-{nth}"), title, caption, sizes, series)
}
