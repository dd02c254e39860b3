//! A figure in a page: its data as JSON for the scripts, and as a table for everyone.
//!
//! Points are written as short arrays, `[x, y, low, high, label, marked, least, most]` without
//! trailing nulls, because a strip has thousands of them. A table of thousands of rows helps nobody, so a
//! large figure gets a summary per series instead.

use serde_json::{Value, json};

use super::escape::{escape, json_for_script, slug};
use crate::figure::{Figure, FigureKind, Mark, Point, Protocol, Series, Step, finite};

/// Points up to which the table lists each.
const LISTED: usize = 400;

pub(super) fn write(out: &mut String, figure: &Figure) {
    let (id, title, caption) = (slug(&figure.id), escape(&figure.title), escape(&figure.caption));
    let finding = escape(&figure.finding);
    let found = match figure.finding.is_empty() {
        true => String::new(),
        false => format!("<p class=\"finding\">{finding}</p>"),
    };
    out.push_str(&format!(
        "<figure class=\"figure\" id=\"figure-{id}\">\n<h3>{title}</h3>\n\
         <figcaption>{found}<p>{caption}</p></figcaption>\n\
         <div class=\"plot\" role=\"img\" aria-label=\"{title}. {finding} {caption} The values are in the \
         table below.\"></div>\n<details><summary>The values as a table</summary>\n"
    ));
    table(out, figure);
    let json = serde_json::to_string(&payload(figure)).unwrap_or_else(|_| "null".to_string());
    let json = json_for_script(&json);
    out.push_str("</details>\n");
    out.push_str(&format!("<script type=\"application/json\">{json}</script>\n</figure>\n"));
}

/// The figure as the scripts read it; a number that is not finite becomes null.
fn payload(figure: &Figure) -> Value {
    // A course has tens of thousands of points, and is looked at, not read off.
    let digits = if figure.kind == FigureKind::Course { 4 } else { 8 };
    let marks = |mark: &Mark| json!({ "label": mark.label, "value": finite(mark.value) });
    let series = |series: &Series| {
        let points: Vec<Value> = series.points.iter().map(|point| compact(point, digits)).collect();
        json!({
            "name": series.name,
            "points": points,
            "drawn": series.drawn,
            "spans": series.spans,
        })
    };
    json!({
        "id": slug(&figure.id),
        "kind": figure.kind,
        "horizontal": figure.horizontal,
        "x": figure.x,
        "y": figure.y,
        "points": figure.points(),
        "protocol": figure.protocol,
        "series": figure.series.iter().map(series).collect::<Vec<_>>(),
        "marks": figure.marks.iter().map(marks).collect::<Vec<_>>(),
    })
}

/// Eight significant digits are more than any clock here resolves, and half the bytes. Whole
/// numbers lose their point.
fn short(value: f64, digits: usize) -> Option<Value> {
    let short: f64 = format!("{:.*e}", digits - 1, finite(value)?).parse().ok()?;
    let whole = short.fract() == 0.0 && short.abs() < 9e15;
    Some(if whole { json!(short as i64) } else { json!(short) })
}

fn compact(point: &Point, digits: usize) -> Value {
    let numbers = [finite(point.x), point.y, point.low, point.high];
    let mut cells: Vec<Value> = numbers
        .into_iter()
        .zip([8, digits, digits, digits])
        .map(|(number, digits)| number.and_then(|it| short(it, digits)).unwrap_or(Value::Null))
        .collect();
    cells.push(json!(point.label));
    cells.push(if point.marked { json!(1) } else { Value::Null });
    let [least, most] = point.ends.unwrap_or([f64::NAN; 2]);
    cells.extend([least, most].map(|end| short(end, digits).unwrap_or(Value::Null)));
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
    // Of a distribution the measured values stand on the other axis.
    let (axis, of_x) = match figure.kind {
        FigureKind::Ecdf => (&figure.x, true),
        _ => (&figure.y, false),
    };
    let value = |point: &Point| if of_x { finite(point.x) } else { point.y.and_then(finite) };
    let mut values: Vec<f64> = series.points.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (share * values.len() as f64).ceil().max(1.0) as usize - 1;
        values.get(rank).map_or("–".to_string(), |value| axis.unit.format(*value))
    };
    vec![crate::units::count(values.len() as u64), at(0.0), at(0.5), at(0.99), at(1.0)]
}
