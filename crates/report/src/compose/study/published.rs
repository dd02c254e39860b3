//! What was printed elsewhere, as its source has it: which figures belong to a cell, and where they
//! come from.

use crate::Text;
use analysis::CaseResult;
use analysis::hypothesis::takes;
use model::factor::Factor;
use study::factor::Chosen;
use study::format::{Published, PublishedFigure, Study};
use toml::Spanned;

/// Where nothing was printed.
pub const NOTHING: &str = "–";

pub fn named<'a>(
    study: &'a Study,
    names: impl IntoIterator<Item = &'a Spanned<String>>,
) -> Vec<&'a Published> {
    let set = |name: &Spanned<String>| {
        study.published.iter().find(|published| published.name == *name.get_ref())
    };
    names.into_iter().filter_map(set).collect()
}

/// What they are, and where they stand.
pub fn note(published: &Published) -> Text {
    Text::from(format!(
        "{}: {}{}, {}{}; {}.",
        published.name,
        published.statistic,
        if is_rank(published) { String::new() } else { format!(" in {}", published.unit) },
        published.machine,
        published.year.map(|year| format!(", {year}")).unwrap_or_default(),
        published.place
    ))
}

/// A place in an order has no unit.
fn is_rank(published: &Published) -> bool {
    published.unit == "rank"
}

pub fn statistic<'a>(published: &'a Published, figure: &'a PublishedFigure) -> &'a str {
    figure.show.as_ref().unwrap_or(&published.statistic)
}

/// Figures in words: each with its unit, and with what it is where several stand at one place.
pub fn figures_text<'a>(
    published: &Published,
    figures: impl IntoIterator<Item = &'a PublishedFigure>,
) -> Option<String> {
    let one = |figure: &PublishedFigure| {
        let unit = figure.unit.as_ref().unwrap_or(&published.unit);
        let unit = if is_rank(published) { String::new() } else { format!(" {unit}") };
        let label = figure.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
        format!("{}{unit}{label}", figure.as_printed())
    };
    let figures_text: Vec<String> = figures.into_iter().map(one).collect();
    (!figures_text.is_empty()).then(|| figures_text.join(", "))
}

/// Whether a figure is of the cases that `here` chooses, and of the very `case` where one is shown.
pub fn is_of(figure: &PublishedFigure, here: &Chosen, case: Option<&CaseResult>) -> bool {
    let Ok(levels) = Chosen::of_words(&figure.levels) else { return false };
    levels.agrees_with(here) && case.is_none_or(|case| takes(&levels, case))
}

/// Whether a figure says of which level of a factor it is.
pub fn names(figure: &PublishedFigure, factor: Factor) -> bool {
    Chosen::of_words(&figure.levels).is_ok_and(|words| words.level(factor).is_some())
}
