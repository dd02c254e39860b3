//! The figure of the machine's own bounds that a study asks for: a bar for each, published figures as signs.

use crate::{Axis, Drawn, Figure, FigureKind, Mark, Point, Scale, Series, Unit};
use analysis::floor_rows::{FloorRow, Floors, Repeats, rows};
use study::figure::{FigureSpec, Printed};
use study::format::Published;
use study::validated::ValidatedStudy;

const BARS: &str = "The median over repeats, and what covers it with at least 95 %.";

/// The figure; None of a run without floors.
pub(super) fn figure(
    spec: &FigureSpec,
    declared: &ValidatedStudy,
    floors: Option<&Floors>,
    id: String,
) -> Option<Figure> {
    let floors = floors?;
    let each = spec.floors.iter().map(|floor| floor.get_ref().as_str());
    let shown: Vec<(&str, FloorRow)> =
        each.flat_map(|name| rows(floors, name).into_iter().map(move |row| (name, row))).collect();
    let x = Axis::categories("bound", shown.iter().map(|pair| pair.1.what.as_str()));
    let y = Axis::new("time", Unit::Nanoseconds, Scale::Linear);
    let mut figure = Figure::new(FigureKind::GroupedBars, id, &*spec.title, "", x, y);
    let points = shown.iter().enumerate().map(|(nth, (_, row))| point(row, nth as f64));
    figure.series.push(Series::new("here", points));
    let study = &declared.study;
    let text = declared.request.study.as_ref().map_or("", |study| study.text.as_str());
    let names = spec.beside.iter().flat_map(|words| words.each(text));
    let mut sources = Vec::new();
    for published in names.filter_map(|name| study.published.iter().find(|set| set.name == name.0))
    {
        figure.series.push(printed(published, &shown));
        sources.push(published.source());
    }
    figure.caption = [spec.caption.trim(), BARS].join(" ").trim_start().to_string();
    if !sources.is_empty() {
        figure.caption += &format!(" Signs stand for what was printed: {}.", sources.join("; "));
    }
    Some(figure)
}

/// The bounds that a figure of cases names, as lines across.
pub(super) fn marks(spec: &FigureSpec, floors: Option<&Floors>) -> Vec<Mark> {
    let names = spec.floors.iter().map(|floor| floor.get_ref().as_str());
    let shown = names.flat_map(|name| floors.map_or_else(Vec::new, |floors| rows(floors, name)));
    shown.filter_map(|row| Some(Mark::new(row.what, row.found.ok()?.median?))).collect()
}

/// A bound with its interval; a gap that says why where there is none.
fn point(row: &FloorRow, x: f64) -> Point {
    match &row.found {
        Ok(Repeats { median: Some(value), low: Some(low), high: Some(high), .. }) => {
            Point::new(x, *value).between(*low, *high)
        }
        Ok(Repeats { modes: Some(modes), .. }) => {
            Point::new(x, modes.low).labelled("the quicker of two modes")
        }
        Ok(_) => Point::gap(x, "no median"),
        Err(why) => Point::gap(x, why.as_str()),
    }
}

/// What was printed of each bound, at its bar.
fn printed(published: &Published, shown: &[(&str, FloorRow)]) -> Series {
    let mut points = Vec::new();
    for (nth, (name, _)) in shown.iter().enumerate() {
        for figure in
            published.figures.iter().filter(|figure| figure.floor.as_deref() == Some(*name))
        {
            let unit = figure.unit.as_ref().unwrap_or(&published.unit);
            let Some(Printed::Time(ns)) = Printed::of(figure.value, unit) else { continue };
            let label = figure.label.as_deref().unwrap_or(name);
            let words = format!("printed: {} {unit} ({label})", figure.as_printed());
            points.push(Point::new(nth as f64, ns).labelled(words));
        }
    }
    Series::new(published.name.as_str(), points).drawn(Drawn::Signs)
}
