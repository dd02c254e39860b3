//! The claims of a study, checked: each has what its test needs, and every end of an interval is one.

use std::collections::BTreeMap;

use super::columns;
use super::counted::{Count, FAILED_LAUNCHES, unknown_or_count};
use super::format::{DerivedSpec, Hypothesis, Interval, Over, Test};
use super::reader::Reader;
use super::size_bound::{Caches, SizeBound};
use model::factor::Factor;
use model::nearest::unknown;

/// What a claim may be `of`: statistics of each launch.
pub(super) const STATISTICS: [&str; 8] =
    ["median", "mean", "min", "p90", "p99", "p99.9", "p99.99", "p99.999"];

impl Reader<'_> {
    pub(super) fn check_hypothesis(
        &self,
        claim: &Hypothesis,
        levels: &BTreeMap<Factor, Vec<String>>,
        derived: &[DerivedSpec],
    ) -> Result<(), String> {
        self.selector(&claim.left, levels)?;
        claim.right.iter().chain(&claim.or).try_for_each(|map| self.selector(map, levels))?;
        claim.order.iter().try_for_each(|map| self.selector(map, levels))?;
        if let Some(of) = &claim.of {
            self.check_measure(claim, of, derived)?;
        }
        let wanting = |what: &str| {
            Err(format!("{}: hypothesis `{}`: it needs {what}", self.file, claim.statement))
        };
        for along in claim.along.iter().chain(&claim.than) {
            let factor = self.factor(along)?;
            if levels[&factor].len() < 2 {
                return Err(self.at(along.span(), format!("{factor} isn't varied")));
            }
        }
        if let Some(floor) = &claim.floor {
            for name in [floor].into_iter().chain(&claim.floor_per) {
                columns::floor(name.get_ref()).map_err(|error| self.at(name.span(), error))?;
            }
            if claim.test != Test::Within || !claim.left.is_empty() || claim.of.is_some() {
                let error = "floor goes with test = \"within\", and with neither left nor of";
                return Err(self.at(floor.span(), error));
            }
        } else if let Some(per) = &claim.floor_per {
            return Err(self.at(per.span(), "floor-per goes with floor"));
        } else if claim.left.is_empty() {
            return wanting("left = { … }");
        }
        let needs = claim.test.needs();
        if claim.levels.is_some() && !needs.pairs {
            return wanting("no levels: that goes with tests that compare cases");
        }
        if claim.test == Test::Difference && claim.levels == Some(Over::Average) {
            return wanting("no average: differences have none over levels of other magnitudes");
        }
        if claim.right.len() > 1 && !needs.pairs {
            return wanting("one right = { … }");
        }
        let ends = claim.within.as_ref().map(Vec::len);
        let none = ends.is_none() && needs.within_optional;
        let required = [
            (needs.right && claim.right.is_empty(), "right = { … }"),
            (needs.along && claim.along.is_none(), "along = FACTOR"),
            (needs.than && claim.than.is_none(), "than = FACTOR"),
            (needs.or && claim.or.is_none(), "or = { … }"),
            (needs.order && claim.order.len() < 2, "order = [ … ]"),
            (needs.within.is_some() && ends != Some(2) && !none, "within = [LOW, HIGH]"),
        ];
        match required.iter().find(|pair| pair.0) {
            Some((_, key)) => wanting(key),
            None => self.check_ends(claim, levels),
        }
    }

    /// A statistic of each launch; or what was counted or derived, of tests that take any number.
    fn check_measure(
        &self,
        claim: &Hypothesis,
        of: &toml::Spanned<String>,
        derived: &[DerivedSpec],
    ) -> Result<(), String> {
        let word = of.get_ref().as_str();
        if claim.test == Test::Within && derived.iter().any(|spec| spec.name.get_ref() == word) {
            return Ok(());
        }
        let counts = match claim.test {
            Test::Within => true,
            Test::Ratio | Test::Difference => word != FAILED_LAUNCHES,
            _ => false,
        };
        match (STATISTICS.contains(&word), Count::number(word)) {
            (true, _) => Ok(()),
            (false, Some(_)) if counts => Ok(()),
            (false, Some(_)) => {
                let or = if word == FAILED_LAUNCHES { "" } else { ", or ratio" };
                let error = format!("`{word}` is counted: that goes with test within{or}");
                Err(self.at(of.span(), error))
            }
            (false, None) => {
                let error = unknown_or_count("statistic of a claim", word, &STATISTICS);
                Err(self.at(of.span(), error))
            }
        }
    }

    /// The ends of the claimed interval, and the margin.
    fn check_ends(
        &self,
        claim: &Hypothesis,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<(), String> {
        if let Some(margin) = &claim.margin {
            let share =
                margin.get_ref().strip_suffix('%').and_then(|text| text.parse::<f64>().ok());
            if !share.is_some_and(|share| share > 0.0 && share.is_finite()) {
                return Err(self.at(margin.span(), "not a margin: write a percentage, as in 2%"));
            }
        }
        let along = claim.along.as_ref().map(|value| self.factor(value)).transpose()?;
        let ends = claim.within.iter().flatten().map(|word| {
            let end = match (claim.test.needs().within, along) {
                (Some(Interval::Numbers), _) => number(word.get_ref()),
                (_, Some(Factor::Size)) => SizeBound::parse(word.get_ref()).map(place_of),
                (_, Some(factor)) => position(factor, word.get_ref(), &levels[&factor]),
                (_, None) => Ok(None),
            };
            Ok((word, end.map_err(|error| self.at(word.span(), error))?))
        });
        let ends = ends.collect::<Result<Vec<_>, String>>()?;
        match ends.as_slice() {
            [(_, Some(low)), (word, Some(high))] if low > high => {
                Err(self.at(word.span(), "runs backwards: write the lower end first"))
            }
            _ => Ok(()),
        }
    }
}

fn number(word: &str) -> Result<Option<f64>, String> {
    let number = word.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    number
        .map(Some)
        .ok_or_else(|| format!("`{word}` is not a number from 0 on: write one, as in 1.5"))
}

/// Bytes, where they don't depend on the machine.
fn place_of(extent: SizeBound) -> Option<f64> {
    extent.bytes(Caches::default()).map(|bytes| bytes as f64)
}

fn position(factor: Factor, word: &str, levels: &[String]) -> Result<Option<f64>, String> {
    let level = factor.level(word)?;
    let at = levels.iter().position(|text| *text == level);
    let known: Vec<&str> = levels.iter().map(String::as_str).collect();
    at.map(|at| Some(at as f64)).ok_or_else(|| unknown(factor.name(), word, &known))
}
