//! A run on few pages: the answer, its figures, the machine, and the list of all results, as many of them as the
//! pages hold.

use super::titles::{headline, subtitle};
use super::{background, brief, cautions, everything, figures, host};
use crate::document::Listing;
use crate::{Block, Document, Figure, FigureKind, Section, Text, Unit, units};
use ::study::paper::Form;
use analysis::Judged;

/// Narrower margins and lines than a paper's.
pub const FORM: Form = Form { margin_pt: 54.0, font_pt: 9.5, leading_pt: 12.5, ..Form::PLAIN };
/// Rows of the first table.
const ROWS: usize = 16;
/// Categories of a printed figure: the first ones by what they reach.
const CATEGORIES: usize = 7;
/// Figures that stay longer than the machine and the list of all results.
const FIRST: usize = 2;
/// Facts of the machine.
const FACTS: usize = 12;
/// Columns that a line of print has room for.
const COLUMNS: [&str; 10] = [
    "mechanism",
    "placement",
    "size",
    "median",
    "from",
    "to",
    "p99",
    "CPU",
    "× reference",
    "class",
];

/// The parts of a printed run in reading order, each with its rank: those of a low rank are left out last.
pub fn parts(judged: &Judged) -> Vec<(usize, Section)> {
    let mut parts = vec![(0, answer(judged))];
    // Curves stand before tables; a figure that a page folds is printed where there is room.
    let (mut open, mut further) = (0, 0);
    for section in figures::sections(judged) {
        for block in section.blocks {
            let (rank, figure) = match block {
                Block::Figure(figure) => {
                    open += 1;
                    (if open <= FIRST { 1 } else { 4 }, figure)
                }
                Block::Details { blocks, .. } => {
                    let Some(Block::Figure(figure)) = blocks.into_iter().next() else { continue };
                    further += 1;
                    (4 + further, figure)
                }
                _ => continue,
            };
            let title = figure.title.clone();
            let part = Section::new(section.id.as_str(), title).with(shortened(figure));
            parts.push((rank, part));
        }
    }
    parts.push((2, machine(judged)));
    parts.push((3, results(judged)));
    parts.retain(|(_, part)| !part.blocks.is_empty());
    parts
}

/// The parts that are kept, with a line for those that are not.
pub fn document(judged: &Judged, kept: &[Section], left: &[&Section]) -> Document {
    let mut document = Document::new(headline(&judged.run));
    document.subtitle = subtitle(judged);
    document.meta = background::meta(judged);
    document.sections = kept.to_vec();
    let is_figure = |section: &&&Section| matches!(section.blocks[0], Block::Figure(_));
    let figures = left.iter().filter(is_figure).count() as u64;
    let figures = (figures > 0).then(|| units::counted(figures, "further figure"));
    let others = left
        .iter()
        .filter(|section| !is_figure(section))
        .map(|section| section.title.to_lowercase());
    let named: Vec<String> = figures.into_iter().chain(others).collect();
    if let Some(last) = document.sections.last_mut().filter(|_| !named.is_empty()) {
        last.blocks.push(Block::Paragraph(Text::new().muted(format!(
            "Left out for want of room: {}; `--pages all` prints all of it.",
            named.join(", ")
        ))));
    }
    document
}

fn answer(judged: &Judged) -> Section {
    Section::new("answer", "What is best here")
        .with_all(cautions(judged))
        .with_all(brief::table(judged, ROWS))
}

fn machine(judged: &Judged) -> Section {
    let facts = host::facts(&judged.run.host).into_iter().take(FACTS).collect();
    Section::new("machine", "The machine").with(Block::Facts(facts))
}

/// The list of all results, without the columns for which a line has no room.
fn results(judged: &Judged) -> Section {
    let mut section = Section::new("results", "All results");
    for block in everything::blocks(judged) {
        let Block::Listing(all) = block else { continue };
        let kept: Vec<usize> = (0..all.columns.len())
            .filter(|at| COLUMNS.contains(&all.columns[*at].as_str()))
            .collect();
        section.blocks.push(Block::Listing(Listing {
            aside: Vec::new(),
            columns: kept.iter().map(|at| all.columns[*at].clone()).collect(),
            rows: all
                .rows
                .iter()
                .map(|row| kept.iter().map(|at| row[*at].clone()).collect())
                .collect(),
            ..all
        }));
    }
    section
}

/// A figure of many categories with the first ones by what they reach: all of them are taller than a page.
fn shortened(mut figure: Figure) -> Figure {
    let many = figure.x.categories.len();
    if figure.kind != FigureKind::Intervals || many <= CATEGORIES {
        return figure;
    }
    let larger_is_better = figure.y.unit != Unit::Nanoseconds;
    let best = |at: usize| {
        let here = figure
            .series
            .iter()
            .flat_map(|series| &series.points)
            .filter(|point| point.x == at as f64);
        let values =
            here.filter_map(|point| point.y).map(|y| if larger_is_better { -y } else { y });
        values.fold(f64::INFINITY, f64::min)
    };
    let mut order: Vec<usize> = (0..many).collect();
    order.sort_by(|a, b| best(*a).total_cmp(&best(*b)));
    order.truncate(CATEGORIES);
    figure.x.categories = order.iter().map(|at| figure.x.categories[*at].clone()).collect();
    for series in &mut figure.series {
        series.points = series
            .points
            .iter()
            .filter_map(|point| {
                let at = order.iter().position(|at| *at as f64 == point.x)?;
                Some(crate::Point { x: at as f64, ..point.clone() })
            })
            .collect();
    }
    figure.caption = format!("The first {CATEGORIES} of {many}. {}", figure.caption);
    figure
}
