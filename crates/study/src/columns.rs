//! What tables show, checked: statistics, derived columns, floors, and the published figures beside.

use super::counted::{Count, unknown_or_count};
use super::expression::{Expression, PERCENTILES, STATISTICS, is_percentile};
use super::format::{DerivedSpec, FLOORS, Study};
use super::reader::Reader;
use model::nearest::unknown;

/// Statistics that a table may show, beside percentiles and derived columns.
const SHOWN: [&str; 21] = [
    "median",
    "mean",
    "min",
    "q1",
    "q3",
    "max",
    "rank",
    "rank-min",
    "switches",
    "settings",
    "lowest",
    "highest",
    "lowest-half", // of round trips
    "highest-half",
    "one-cpu",
    "moved",
    "sample-min",
    "sample-q1",
    "sample-median",
    "sample-q3",
    "sample-max",
];

/// Of the samples of all launches of a case together: the smallest, the quartiles, the largest.
pub const OF_SAMPLES: [&str; 5] =
    ["sample-min", "sample-q1", "sample-median", "sample-q3", "sample-max"];

/// Steps of a set-up; the same words alone are counts of system calls.
pub const STEPS: [&str; 8] = [
    "step-open",
    "step-socket",
    "step-bind",
    "step-listen",
    "step-connect",
    "step-accept",
    "step-rest",
    "step-close",
];

impl Reader<'_> {
    pub(super) fn check_derived(&self, study: &Study) -> Result<(), String> {
        for (nth, column) in study.derived.iter().enumerate() {
            let name = column.name.get_ref().as_str();
            let taken = Count::parse(name).is_some()
                || SHOWN.contains(&name)
                || STEPS.contains(&name)
                || STATISTICS.contains(&name)
                || is_percentile(name);
            let before = study.derived[..nth].iter().any(|spec| spec.name.get_ref() == name);
            if taken || before || name.is_empty() {
                let error = format!("derived `{name}`: choose a name that nothing else has");
                return Err(self.at(column.name.span(), error));
            }
            let failed = |error| self.at(column.expression.span(), format!("expression: {error}"));
            Expression::parse(column.expression.get_ref()).map_err(failed)?;
        }
        Ok(())
    }

    pub(super) fn check_floors(&self, study: &Study) -> Result<(), String> {
        for table in &study.floor {
            for name in &table.of {
                floor(name.get_ref()).map_err(|error| self.at(name.span(), error))?;
            }
            table.beside.iter().try_for_each(|value| self.published(value, study))?;
        }
        for published in &study.published {
            for name in published.figures.iter().filter_map(|figure| figure.floor.as_ref()) {
                let failed =
                    |error| format!("{}: published `{}`: {error}", self.file, published.name);
                floor(name).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Whether there are published figures of that name.
    pub(super) fn published(
        &self,
        name: &toml::Spanned<String>,
        study: &Study,
    ) -> Result<(), String> {
        if study.published.iter().any(|published| published.name == *name.get_ref()) {
            return Ok(());
        }
        let names: Vec<&str> =
            study.published.iter().map(|published| published.name.as_str()).collect();
        Err(self.at(name.span(), unknown("published", name.get_ref(), &names)))
    }

    /// Whether a table can show that.
    pub(super) fn shown(
        &self,
        word: &toml::Spanned<String>,
        derived: &[DerivedSpec],
    ) -> Result<(), String> {
        let name = word.get_ref().as_str();
        let names = derived.iter().map(|spec| spec.name.get_ref().as_str());
        let known: Vec<&str> =
            SHOWN.into_iter().chain(STEPS).chain(PERCENTILES).chain(names).collect();
        if known.contains(&name) || Count::parse(name).is_some() {
            Ok(())
        } else {
            Err(self.at(word.span(), unknown_or_count("statistic", name, &known)))
        }
    }
}

/// Whether a bound of that name is measured.
pub(super) fn floor(name: &str) -> Result<(), String> {
    if FLOORS.contains(&name) { Ok(()) } else { Err(unknown("floor", name, &FLOORS)) }
}
