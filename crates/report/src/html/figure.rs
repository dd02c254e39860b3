//! A figure in a page: drawn, as data for the script, and as a table for everyone.
//!
//! It is drawn twice, for a wide place and for a narrow one, so that text keeps its size; the
//! stylesheet shows one of them. A dense one is drawn once. Points are written as short arrays, `[x, y, low, high, label,
//! marked, least, most]` without trailing nulls. A table of thousands of rows helps nobody, so a
//! large figure gets a summary per series instead.

use serde_json::{Value, json};

use super::escape::{escape, json_for_script, slug};
use crate::figure::{Figure, FigureKind, Point, Protocol, Series, Step, finite};
use crate::svg;

/// Points up to which the table lists each.
const LISTED: usize = 120;
/// How wide a figure is drawn, in its own points: for a page, and for a phone. The stylesheet
/// shows both at about one and a half times that, and says where one gives way to the other.
const WIDE: f64 = 640.0;
const NARROW: f64 = 250.0;
/// A picture of more bytes holds more than a narrow place can show: it is moved sideways there, and
/// the page stays small.
const DENSE: usize = 12_000;
/// Series of a course that are drawn, for which `analysis` keeps slices enough.
const DRAWN: usize = analysis::COURSES_DRAWN;

pub(super) fn write(out: &mut String, figure: &Figure) {
    let (id, title, caption) = (slug(&figure.id), escape(&figure.title), escape(&figure.caption));
    let found = match figure.finding.is_empty() {
        true => String::new(),
        false => format!("<p class=\"finding\">{}</p>", escape(&figure.finding)),
    };
    out.push_str(&format!(
        "<figure class=\"figure\" id=\"figure-{id}\">\n<h3>{title}</h3>\n\
         <figcaption>{found}<p>{caption}</p></figcaption>\n"
    ));
    match figure.kind {
        FigureKind::Course => course(out, figure),
        _ => {
            let wide = svg::inline(figure, WIDE, "wide", 0);
            match wide.len() > DENSE {
                true => plot(out, &svg::inline(figure, WIDE, "long", 0)),
                false => plot(out, &(wide + &svg::inline(figure, NARROW, "narrow", 0))),
            }
        }
    }
    out.push_str("<details><summary>The values as a table</summary>\n");
    table(out, figure);
    out.push_str("</details>\n");
    if figure.protocol.is_none() {
        let json = serde_json::to_string(&payload(figure)).unwrap_or_else(|_| "null".to_string());
        let json = json_for_script(&json);
        out.push_str(&format!("<script type=\"application/json\">{json}</script>\n"));
    }
    out.push_str("</figure>\n");
}

fn plot(out: &mut String, drawn: &str) {
    out.push_str(&format!("<div class=\"plot\">\n{drawn}</div>\n"));
}

/// The series that are drawn, and that the script has: of a course the first.
fn drawn(figure: &Figure) -> &[Series] {
    match figure.kind {
        FigureKind::Course => &figure.series[..figure.series.len().min(DRAWN)],
        _ => &figure.series,
    }
}

/// A course has many panels of many points: the first are shown, others are folded, and on a phone
/// they are moved sideways.
fn course(out: &mut String, figure: &Figure) {
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
        out.push_str(&format!("<p class=\"muted\">{left} more are in the table alone.</p>\n"));
    }
}

/// The figure as the script reads it; a number that is not finite becomes null.
fn payload(figure: &Figure) -> Value {
    let series = |series: &Series| {
        let points: Vec<Value> = match figure.kind {
            FigureKind::Course => launches(&series.points),
            _ => series.points.iter().map(compact).collect(),
        };
        json!({ "name": series.name, "points": points })
    };
    json!({
        "id": slug(&figure.id),
        "kind": figure.kind,
        "x": figure.x,
        "y": figure.y,
        "series": drawn(figure).iter().map(series).collect::<Vec<_>>(),
    })
}

/// A course has thousands of points, and is looked at, not read off: four digits, and for each
/// stretch without a gap `[x of the first, step of x, y, low, high, y, low, high, …]`.
fn launches(points: &[Point]) -> Vec<Value> {
    let runs = points.split(|it| it.y.and_then(finite).is_none()).filter(|it| !it.is_empty());
    let run = |run: &[Point]| {
        let (first, last) = (run[0].x, run[run.len() - 1].x);
        let step = (last - first) / (run.len() - 1).max(1) as f64;
        let values = run.iter().flat_map(|it| [it.y, it.low, it.high].map(|it| (it, 4)));
        let ends = [(Some(first), 5), (Some(step), 5)];
        let numbers = ends.into_iter().chain(values);
        Value::Array(numbers.map(|(value, digits)| number(value, digits)).collect())
    };
    runs.map(run).collect()
}

fn number(value: Option<f64>, digits: usize) -> Value {
    value.and_then(|it| short(it, digits)).unwrap_or(Value::Null)
}

/// Eight significant digits are more than any clock here resolves, and half the bytes. Whole
/// numbers lose their point.
fn short(value: f64, digits: usize) -> Option<Value> {
    let short: f64 = format!("{:.*e}", digits - 1, finite(value)?).parse().ok()?;
    let whole = short.fract() == 0.0 && short.abs() < 9e15;
    Some(if whole { json!(short as i64) } else { json!(short) })
}

fn compact(point: &Point) -> Value {
    let numbers = [finite(point.x), point.y, point.low, point.high];
    let mut cells: Vec<Value> = numbers.map(|it| number(it, 8)).to_vec();
    cells.push(json!(point.label));
    cells.push(if point.marked { json!(1) } else { Value::Null });
    let [least, most] = point.ends.unwrap_or([f64::NAN; 2]);
    cells.extend([least, most].map(|end| number(Some(end), 8)));
    while cells.last().is_some_and(Value::is_null) {
        cells.pop();
    }
    Value::Array(cells)
}

fn table(out: &mut String, figure: &Figure) {
    let lists = figure.points() <= LISTED;
    let x = escape(&figure.x.label);
    let y = escape(&figure.y.label);
    let (columns, rows) = match &figure.protocol {
        Some(protocol) => {
            (["Step", "What happens", "Timed"].map(str::to_string).to_vec(), steps(protocol))
        }
        None if lists && figure.kind == FigureKind::Boxes => {
            let columns = ["Series", &x, "Median, quartiles", "From smallest to largest", "Remark"];
            (columns.map(str::to_string).to_vec(), rows_of(figure, listed))
        }
        None if lists => {
            (["Series", &x, &y, "Remark"].map(str::to_string).to_vec(), rows_of(figure, listed))
        }
        None => {
            let columns = ["Series", "Values", "Minimum", "Median", "p99", "Maximum"];
            let summed = |figure: &Figure, series: &Series| vec![summed(figure, series)];
            (columns.map(str::to_string).to_vec(), rows_of(figure, summed))
        }
    };
    let caption = escape(&figure.title);
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table>\n");
    out.push_str(&format!("<caption class=\"unseen\">{caption}</caption>\n<thead><tr>"));
    for column in columns {
        out.push_str(&format!("<th scope=\"col\">{column}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        for (nth, cell) in row.iter().enumerate() {
            let cell = escape(cell);
            out.push_str(&match nth {
                0 => format!("<tr><th scope=\"row\">{cell}</th>"),
                _ => format!("<td>{cell}</td>"),
            });
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// The rows of every series, the name of the series in front.
fn rows_of(figure: &Figure, rows: fn(&Figure, &Series) -> Vec<Vec<String>>) -> Vec<Vec<String>> {
    let of = |series: &Series| {
        let named = |row: Vec<String>| [series.name.clone()].into_iter().chain(row).collect();
        rows(figure, series).into_iter().map(named).collect::<Vec<_>>()
    };
    figure.series.iter().flat_map(of).collect()
}

fn steps(protocol: &Protocol) -> Vec<Vec<String>> {
    let row = |(nth, step): (usize, &Step)| {
        let timed = if protocol.is_timed(nth) { &protocol.timed_label } else { "no" };
        vec![(nth + 1).to_string(), protocol.words(step), timed.to_string()]
    };
    protocol.steps.iter().enumerate().map(row).collect()
}

fn listed(figure: &Figure, series: &Series) -> Vec<Vec<String>> {
    let row = |point: &Point| {
        let label = point.label.clone().unwrap_or_default();
        let mut row = vec![figure.x.format(point.x), point.describe(figure.y.unit)];
        if figure.kind == FigureKind::Boxes {
            let ends = point.ends.map(|ends| ends.map(|end| figure.y.unit.format(end)));
            row.push(ends.map_or("–".into(), |[least, most]| format!("{least} – {most}")));
        }
        row.push(label);
        row
    };
    series.points.iter().map(row).collect()
}

fn summed(figure: &Figure, series: &Series) -> Vec<String> {
    let value = |point: &Point| point.y.and_then(finite);
    let mut values: Vec<f64> = series.points.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (share * values.len() as f64).ceil().max(1.0) as usize - 1;
        values.get(rank).map_or("–".to_string(), |value| figure.y.unit.format(*value))
    };
    vec![crate::units::count(values.len() as u64), at(0.0), at(0.5), at(0.99), at(1.0)]
}
