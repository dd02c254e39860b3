//! The heat map of cache lines, for a page that can draw it; a terminal has the table.

use ::report::{Axis, Document, Figure, FigureKind, Point, Scale, Series, Unit};
use model::floors::{Floors, Repeats};

/// Puts the heat map of cache lines into the document, for a page that can draw it.
pub fn draw(document: &mut Document, floors: &Floors) {
    let Ok(found) = floors.line.get() else { return };
    let mut cpus: Vec<u32> = found.pairs.iter().flat_map(|pair| pair.cpus).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let point = |nth: usize, a: u32, b: u32| {
        let pair = found.pairs.iter().find(|pair| pair.cpus == [a.min(b), a.max(b)]);
        let trip = pair.and_then(|pair| pair.round_trip_ns.get().ok()).and_then(Repeats::lower);
        match trip {
            Some(ns) => Point::new(nth as f64, ns).labelled(format!("{ns:.0}")),
            None if a == b => Point::gap(nth as f64, "one CPU: its own line"),
            None => Point::gap(nth as f64, "not among the pairs measured"),
        }
    };
    let row = |a: &u32| {
        let points = cpus.iter().enumerate().map(|(nth, b)| point(nth, *a, *b));
        Series::new(format!("CPU {a}"), points)
    };
    let mut figure = Figure::new(
        FigureKind::Heatmap,
        "cache-lines",
        "Round trip of a cache line, from CPU to CPU and back",
        "Each cell holds the median in ns, of two modes the quicker. Hatched: not measured. CPUs \
         that are close show as dark squares along the diagonal.",
        Axis::categories("CPU", cpus.iter().map(|cpu| cpu.to_string())),
        Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
    );
    figure.series = cpus.iter().map(row).collect();
    if let Some(section) = document.sections.iter_mut().find(|section| section.id == "line") {
        section.blocks.insert(0, figure.into());
    }
}
