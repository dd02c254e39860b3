//! What a study shows beside its figures, as its author wrote it: tables, derived columns, bounds,
//! published figures, searches.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::format::{Selector, one_or_several};
use super::table::OneOrMany;

/// A column that is worked out of others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DerivedSpec {
    /// Its name, for `show`.
    pub name: Spanned<String>,
    pub unit: String,
    /// Arithmetic on statistics of a case: see [`super::expression`].
    pub expression: Spanned<String>,
}

/// A table of the machine's bounds, which every run measures at its start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloorSpec {
    pub title: String,
    /// Which of [`FLOORS`], a row or several each.
    pub of: Vec<Spanned<String>>,
    /// The published figures that stand beside, by name: those with `floor`.
    pub beside: Option<Spanned<String>>,
}

/// The bounds that a table may show.
pub const FLOORS: [&str; 11] = [
    "clock-step-by-loop",
    "clock-step-by-reads",
    "clock-cost",
    "getpid",
    "getpid-of-library",
    "getppid",
    "getuid",
    "read",
    "cache-line",
    "wake-up",
    "copy",
];

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    pub title: String,
    /// The factor whose levels are rows.
    pub rows: Spanned<String>,
    /// The factor whose levels are columns, unless `show` names several measures.
    pub columns: Option<Spanned<String>>,
    /// What stands in the cells: `median`, `mean`, `min`, `q1`, `q3`, `max`, `p50` … `p99.999`,
    /// `rank`, `switches`, `effective_settings`, `lowest` and `highest` (of all cases of a cell), or a derived
    /// column.
    #[serde(default)]
    pub show: Vec<Spanned<String>>,
    #[serde(default)]
    pub only: Selector,
    /// Cases that are put in order, best first, in each row: the columns are then their places.
    #[serde(default)]
    pub among: Vec<Selector>,
    /// Cases among which `rank` counts; all of a column, if none is named.
    #[serde(default)]
    pub ranked: Vec<Selector>,
    /// What the cases of each row are compared with: the columns are then how much better these are.
    #[serde(default, deserialize_with = "one_or_several")]
    pub against: Vec<Selector>,
    /// The published figures that stand beside, by name: one, or several.
    #[serde(default, deserialize_with = "names")]
    pub beside: Vec<Spanned<String>>,
}

/// One name or several, each at the place of all.
fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Spanned<String>>, D::Error> {
    let words = Spanned::<OneOrMany>::deserialize(from)?;
    let span = words.span();
    let words = match words.into_inner() {
        OneOrMany::One(word) => vec![word],
        OneOrMany::Many(words) => words,
    };
    Ok(words.into_iter().map(|word| Spanned::new(span.clone(), word)).collect())
}

/// Figures that were printed elsewhere.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub name: String,
    pub machine: String,
    pub year: Option<i64>,
    /// Where in the source they stand.
    pub place: String,
    /// Their unit, as the source has it; `ns`, `us`, `MB/s`.
    pub unit: String,
    /// Which statistic they are: `mean`, `median`, …
    pub statistic: String,
    /// The figures: levels, and `value`.
    pub figures: Vec<PublishedFigure>,
}

/// One printed figure.
#[derive(Clone, Debug, Deserialize)]
pub struct PublishedFigure {
    /// In the unit of its table.
    pub value: f64,
    /// The same as it stands in print, where a number would lose zeros: `"7.0"`.
    pub printed: Option<String>,
    /// Which statistic, where the table has several: `p99`.
    pub show: Option<String>,
    /// What it is, where several stand at one place: `first`, `largest`.
    pub label: Option<String>,
    /// Its own unit, where it isn't that of its table.
    pub unit: Option<String>,
    /// Which of [`FLOORS`], where it is no case.
    pub floor: Option<String>,
    #[serde(flatten)]
    pub levels: BTreeMap<String, String>,
}

impl Published {
    /// Where its figures are from: `name (median on a machine, 2007)`.
    pub fn source(&self) -> String {
        let year = self.year.map(|year| format!(", {year}")).unwrap_or_default();
        format!("{} ({} on {}{year})", self.name, self.statistic, self.machine)
    }
}

impl PublishedFigure {
    /// The figure, digit by digit as it was printed.
    pub fn as_printed(&self) -> String {
        self.printed.clone().unwrap_or_else(|| self.value.to_string())
    }
}

/// A factor whose best level is looked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What is looked for, in a few words.
    pub title: String,
    pub factor: Spanned<String>,
    /// For each level of this factor.
    pub each: Spanned<String>,
    /// Among which cases.
    #[serde(default)]
    pub only: Selector,
    /// The published figures that stand beside, by name: one, or several.
    #[serde(default, deserialize_with = "names")]
    pub beside: Vec<Spanned<String>>,
}
