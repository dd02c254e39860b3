//! Every pair of CPUs: on a page a heat map, on a terminal the matrix, in shades where it is too wide for
//! numbers.

use super::{Detail, labels};
use crate::cpu_pairs::{Matrix, matrices};
use crate::{Axis, Block, Figure, FigureKind, Point, Scale, Section, Series, Table};
use analysis::Judged;

/// Most CPUs whose numbers stand beside each other in 80 columns.
const NUMBERED: usize = 8;
/// From the least value to the most, in equal ratios.
const SHADES: [&str; 4] = ["░░", "▒▒", "▓▓", "██"];

/// The matrices of a run of more pairs than one; a single pair is a result like others.
pub fn section(judged: &Judged, detail: Detail) -> Option<Section> {
    let all: Vec<Matrix> =
        matrices(judged).into_iter().filter(|matrix| matrix.cpus.len() > 2).collect();
    let drawn = all.iter().enumerate().map(|(nth, matrix)| match detail {
        Detail::Full => Block::from(figure(matrix, nth)),
        Detail::Summary => Block::from(table(matrix)),
    });
    Section::new("cpu-pairs", "Between CPUs").with_all(drawn).unless_empty()
}

/// `pipe: round trip, 64 B`.
fn title(matrix: &Matrix) -> String {
    let case = matrix.first();
    let what = case.metric.title.to_lowercase();
    let threads = labels::threads(case.workers);
    let of = labels::of_size(case.message_bytes) + &labels::conditions(&case.case);
    format!("{}: {what}{of}{threads}", case.variant)
}

fn meaning(matrix: &Matrix) -> String {
    let ways = if matrix.first().metric.is_round_trip() {
        "there and back; one way is half of it"
    } else {
        "as the metric counts it"
    };
    format!("Each cell is the median over launches between two CPUs, {ways}.")
}

fn cell(matrix: &Matrix, row: u32, column: u32) -> Option<String> {
    matrix.between(row, column).map(|value| spelled(matrix, value))
}

fn spelled(matrix: &Matrix, value: f64) -> String {
    matrix.first().metric.unit.format(value)
}

fn values(matrix: &Matrix) -> Vec<f64> {
    let cpus = &matrix.cpus;
    cpus.iter().flat_map(|a| cpus.iter().filter_map(|b| matrix.between(*a, *b))).collect()
}

fn table(matrix: &Matrix) -> Table {
    let table =
        Table::of_each(title(matrix), &matrix.cpus).words("CPU", 0, |from| from.to_string());
    if matrix.cpus.len() <= NUMBERED {
        let numbered = matrix.cpus.iter().fold(table, |table, to| {
            table.numbers(to.to_string(), 0, |from| cell(matrix, *from, *to))
        });
        return numbered.table().note(meaning(matrix));
    }
    let (least, most) = values(matrix)
        .iter()
        .fold((f64::INFINITY, 0.0f64), |ends, value| (ends.0.min(*value), ends.1.max(*value)));
    let shade = |value: f64| {
        let place = (value / least).ln() / (most / least).ln().max(f64::MIN_POSITIVE);
        SHADES[((place * SHADES.len() as f64) as usize).min(SHADES.len() - 1)]
    };
    let shades = |from: &u32| -> String {
        matrix.cpus.iter().map(|to| matrix.between(*from, *to).map_or("  ", shade)).collect()
    };
    let key = format!(
        "{} {} to {} {}, in equal ratios.",
        SHADES[0],
        spelled(matrix, least),
        SHADES[SHADES.len() - 1],
        spelled(matrix, most)
    );
    let table = table.words("to each CPU in the same order", 0, shades).table();
    table.note(key).note(meaning(matrix))
}

fn figure(matrix: &Matrix, nth: usize) -> Figure {
    let metric = &matrix.first().metric;
    let mut figure = Figure::new(
        FigureKind::Heatmap,
        format!("cpu-pairs-{nth}"),
        title(matrix),
        format!("{} Hatched: not measured.", meaning(matrix)),
        Axis::categories("CPU", matrix.cpus.iter().map(u32::to_string)),
        Axis::new(metric.title.to_lowercase(), metric.unit, Scale::Log),
    );
    let point = |nth: usize, a: u32, b: u32| match matrix.between(a, b) {
        Some(value) => Point::new(nth as f64, value).labelled(spelled(matrix, value)),
        None if a == b => Point::gap(nth as f64, "one CPU"),
        None => Point::gap(nth as f64, "not measured"),
    };
    let row = |a: &u32| {
        let points = matrix.cpus.iter().enumerate().map(|(nth, b)| point(nth, *a, *b));
        Series::new(format!("CPU {a}"), points)
    };
    figure.series = matrix.cpus.iter().map(row).collect();
    figure
}
