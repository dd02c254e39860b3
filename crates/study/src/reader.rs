//! Reads a study's words, and names the file and the line of a wrong one.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::format::{Selector, line_at};
use super::losses;
use model::catalogue::{BURST, Catalogue, LOSS};
use model::factor::Factor;

/// The text of a study, where it is from, and what may stand in it.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a str,
    pub(super) catalogue: &'a Catalogue,
}

impl Reader<'_> {
    pub(super) fn at(&self, span: Range<usize>, what: impl fmt::Display) -> String {
        format!("{}:{}: {what}", self.file, line_at(self.text, span.start))
    }

    pub(super) fn count(
        &self,
        count: &Option<toml::Spanned<i64>>,
        most: u64,
    ) -> Result<Option<u64>, String> {
        let Some(count) = count else { return Ok(None) };
        match u64::try_from(*count.get_ref()) {
            Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
            _ => Err(self.at(count.span(), format!("write a whole number from 1 to {most}"))),
        }
    }

    pub(super) fn factor(&self, word: &toml::Spanned<String>) -> Result<Factor, String> {
        Factor::parse(word.get_ref()).map_err(|error| self.at(word.span(), error))
    }

    /// Checks that what a selector names is measured.
    pub(super) fn selector(
        &self,
        selector: &Selector,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<(), String> {
        for (name, word) in selector {
            let factor = Factor::parse(name).map_err(|error| self.at(word.span(), error))?;
            let (level, measured) = (word.get_ref(), &levels[&factor]);
            if !measured.is_empty() && !measured.contains(level) {
                let error = format!("{factor} `{level}` isn't measured: add it");
                return Err(self.at(word.span(), error));
            }
        }
        Ok(())
    }

    /// A level in the one way it is written everywhere.
    pub(super) fn level(&self, factor: Factor, word: &str) -> Result<String, String> {
        match factor {
            Factor::Mechanism => factor.level(&self.catalogue.written(word)?),
            Factor::Loss => losses::level(self.catalogue, LOSS, word),
            Factor::Burst => losses::level(self.catalogue, BURST, word),
            _ => factor.level(word),
        }
    }
}
