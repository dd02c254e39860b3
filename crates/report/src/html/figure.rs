//! A figure in a page: drawn, and as data for the script, which makes a table of the values when a
//! reader asks for one.
//!
//! It is drawn twice, for a wide place and for a narrow one, so that text keeps its size; the
//! stylesheet shows one of them. A dense one is drawn once. Points are written as short arrays,
//! `[x, y, low, high, label, marked, least, most]` without trailing nulls; those of a percentile curve as their
//! values alone, where their places are those of the figure's `grid`.

use serde_json::{Value, json};

use super::escape::{escape, json_for_script, slug};
use crate::figure::{Figure, FigureKind, Point, Protocol, Series, finite};
use crate::svg;

/// How wide a figure is drawn, in its own points: for a page, and for a phone. The stylesheet
/// shows both at about one and a half times that, and says where one gives way to the other.
const WIDE: f64 = 680.0;
const NARROW: f64 = 250.0;
/// A picture of more bytes holds more than a narrow place can show: it is moved sideways there, and
/// the page stays small. Intervals, which are what a reader looks at first, are drawn twice however many.
const DENSE: usize = 12_000;
/// Time series that are drawn, for which `analysis` keeps slices enough.
const DRAWN: usize = analysis::TIME_SERIES_DRAWN;

pub(super) fn write(out: &mut String, figure: &Figure) {
    let (id, title, caption) = (slug(&figure.id), escape(&figure.title), escape(&figure.caption));
    let found = if figure.finding.is_empty() {
        String::new()
    } else {
        format!("<p class=\"finding\">{}</p>", escape(&figure.finding))
    };
    out.push_str(&format!(
        "<figure class=\"figure\" data-file=\"{}\" id=\"figure-{id}\">\n<h3>{title}</h3>\n\
         <figcaption>{found}<p>{caption}</p></figcaption>\n",
        figure.file_stem()
    ));
    match figure.kind {
        FigureKind::TimeSeries => time_series(out, figure),
        _ => {
            let wide = svg::inline(figure, WIDE, "wide", 0);
            if wide.len() > DENSE && figure.kind != FigureKind::Intervals {
                plot(out, &svg::inline(figure, WIDE, "long", 0))
            } else {
                plot(out, &(wide + &svg::inline(figure, NARROW, "narrow", 0)))
            }
        }
    }
    if let Some(protocol) = &figure.protocol {
        table(out, figure, protocol);
    } else {
        let json = json_for_script(&payload(figure).to_string());
        out.push_str(&format!("<script type=\"application/json\">{json}</script>\n"));
    }
    out.push_str("</figure>\n");
}

fn plot(out: &mut String, drawn: &str) {
    out.push_str(&format!("<div class=\"plot\">\n{drawn}</div>\n"));
}

/// The series that are drawn, and that the script has: of a time series the first.
fn drawn(figure: &Figure) -> &[Series] {
    match figure.kind {
        FigureKind::TimeSeries if !figure.is_strips() => {
            &figure.series[..figure.series.len().min(DRAWN)]
        }
        _ => &figure.series,
    }
}

/// A time series has many panels of many points: the first are shown, others are folded, and on a phone
/// they are moved sideways.
fn time_series(out: &mut String, figure: &Figure) {
    let all = drawn(figure);
    let (shown, folded) = all.split_at(all.len().min(svg::PANELS));
    let drawn = |series: &[Series], first| {
        let part = Figure { series: series.to_vec(), ..figure.clone() };
        svg::inline(&part, WIDE, "long", first)
    };
    plot(out, &drawn(shown, 0));
    if !folded.is_empty() {
        let more = folded.len();
        out.push_str(&format!("<details class=\"more\"><summary>{more} more</summary>\n"));
        plot(out, &drawn(folded, shown.len()));
        out.push_str("</details>\n");
    }
    let left = figure.series.len() - all.len();
    if left > 0 {
        out.push_str(&format!("<p class=\"muted\">{left} more are not drawn.</p>\n"));
    }
}

/// The figure as the script reads it; a number that is not finite becomes null.
fn payload(figure: &Figure) -> Value {
    let grid = grid(figure);
    let series = |series: &Series| {
        let points: Vec<Value> = match figure.kind {
            FigureKind::TimeSeries => launches(&series.points),
            FigureKind::Percentiles if on_grid(series, &grid) => {
                series.points.iter().map(|point| number(point.y, PERCENTILE_DIGITS)).collect()
            }
            _ => series.points.iter().map(compact).collect(),
        };
        json!({ "name": series.name, "points": points })
    };
    let mut payload = json!({
        "id": slug(&figure.id),
        "kind": figure.kind,
        "x": figure.x,
        "y": figure.y,
        "series": drawn(figure).iter().map(series).collect::<Vec<_>>(),
    });
    if !grid.is_empty() {
        payload["grid"] = grid.iter().map(|value| number(Some(*value), 8)).collect();
    }
    payload
}

/// Digits of a percentile: its curve has many, of which few are read off.
const PERCENTILE_DIGITS: usize = 4;

/// The probabilities of the longest percentile curve: most others begin with the same, and have them by place.
fn grid(figure: &Figure) -> Vec<f64> {
    let longest = figure.series.iter().max_by_key(|series| series.points.len());
    let longest = longest.filter(|_| figure.kind == FigureKind::Percentiles);
    longest.map_or(Vec::new(), |series| series.points.iter().map(|point| point.x).collect())
}

/// Whether a curve has nothing but values, at the first places of the grid.
fn on_grid(series: &Series, grid: &[f64]) -> bool {
    let plain = |point: &Point| {
        point.y.and_then(finite).is_some() && point.low.is_none() && point.label.is_none()
    };
    let mut places = series.points.iter().zip(grid);
    series.points.len() <= grid.len() && places.all(|(point, x)| plain(point) && point.x == *x)
}

/// A time series has thousands of points that are not read off: three digits, and for each
/// stretch without a gap `[x of the first, step of x, y, low, high, y, low, high, …]`.
fn launches(points: &[Point]) -> Vec<Value> {
    let runs =
        points.split(|point| point.y.and_then(finite).is_none()).filter(|part| !part.is_empty());
    let run = |run: &[Point]| {
        let (first, last) = (run[0].x, run[run.len() - 1].x);
        let step = (last - first) / (run.len() - 1).max(1) as f64;
        let values =
            run.iter().flat_map(|point| [point.y, point.low, point.high].map(|value| (value, 3)));
        let ends = [(Some(first), 5), (Some(step), 5)];
        let numbers = ends.into_iter().chain(values);
        Value::Array(numbers.map(|(value, digits)| number(value, digits)).collect())
    };
    runs.map(run).collect()
}

pub(super) fn number(value: Option<f64>, digits: usize) -> Value {
    value.and_then(|value| short(value, digits)).unwrap_or(Value::Null)
}

/// So many significant digits. Whole numbers lose their point.
fn short(value: f64, digits: usize) -> Option<Value> {
    let short: f64 = format!("{:.*e}", digits - 1, finite(value)?).parse().ok()?;
    let whole = short.fract() == 0.0 && short.abs() < 9e15;
    Some(if whole { json!(short as i64) } else { json!(short) })
}

fn compact(point: &Point) -> Value {
    // A size is exact; a measured value has no more digits than an interval is written with.
    let mut cells = vec![number(finite(point.x), 8)];
    cells.extend([point.y, point.low, point.high].map(|value| number(value, 5)));
    cells.push(json!(point.label));
    cells.push(if point.marked { json!(1) } else { Value::Null });
    let [least, most] = point.ends.unwrap_or([f64::NAN; 2]);
    cells.extend([least, most].map(|end| number(Some(end), 5)));
    while cells.last().is_some_and(Value::is_null) {
        cells.pop();
    }
    Value::Array(cells)
}

/// The steps of a message sequence in words.
fn table(out: &mut String, figure: &Figure, protocol: &Protocol) {
    let caption = escape(&figure.title);
    out.push_str("<details><summary>The steps as a table</summary>\n<div class=\"scroll\" tabindex=\"0\"><table>\n");
    out.push_str(&format!(
        "<caption class=\"unseen\">{caption}</caption>\n<thead><tr><th scope=\"col\">Step</th>\
         <th scope=\"col\">What happens</th><th scope=\"col\">Timed</th></tr></thead>\n<tbody>\n"
    ));
    for (nth, step) in protocol.steps.iter().enumerate() {
        let timed = if protocol.is_timed(nth) { &protocol.timed_label } else { "no" };
        let (words, timed) = (escape(&protocol.words(step)), escape(timed));
        out.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td>{words}</td><td>{timed}</td></tr>\n",
            nth + 1
        ));
    }
    out.push_str("</tbody></table></div>\n</details>\n");
}
