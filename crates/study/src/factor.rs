//! How a study's words choose cases.

use std::collections::BTreeMap;
use std::fmt;

use super::format::Selector;
use model::factor::Factor;

/// Levels that choose cases; a factor that isn't named may have any level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen(BTreeMap<Factor, String>);

impl Chosen {
    /// Whether a case is chosen whose levels `level` gives; none of a factor that means nothing to
    /// it, of which it stands for every level.
    pub fn takes(&self, level: impl Fn(Factor) -> Option<String>) -> bool {
        self.0.iter().all(|(factor, wanted)| level(*factor).is_none_or(|level| level == *wanted))
    }

    pub fn level(&self, factor: Factor) -> Option<&str> {
        self.0.get(&factor).map(String::as_str)
    }

    /// As this, with one more level.
    pub fn with(&self, factor: Factor, level: &str) -> Chosen {
        let mut levels = self.0.clone();
        levels.insert(factor, level.to_string());
        Chosen(levels)
    }

    /// Whether the two don't differ in a factor that both name.
    pub fn agrees_with(&self, other: &Chosen) -> bool {
        self.0.iter().all(|(factor, text)| other.level(*factor).is_none_or(|level| level == text))
    }

    /// The levels in which not all of `others` agree: what distinguishes it among them.
    pub fn apart_from_any(&self, others: &[Chosen]) -> Chosen {
        let differs = |(factor, level): &(&Factor, &String)| {
            others.iter().any(|other| other.0.get(factor) != Some(*level))
        };
        let own = self.0.iter().filter(differs).map(|(factor, text)| (*factor, text.clone()));
        Chosen(own.collect())
    }

    /// Levels written as plain words, as published figures are.
    ///
    /// # Errors
    /// The factor or level that isn't one.
    pub fn of_words(words: &BTreeMap<String, String>) -> Result<Chosen, String> {
        let level = |(name, word): (&String, &String)| {
            let factor = Factor::parse(name)?;
            Ok((factor, factor.level(word)?))
        };
        words.iter().map(level).collect::<Result<_, String>>().map(Chosen)
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<&str> = self.0.values().map(String::as_str).collect();
        f.write_str(&levels.join(", "))
    }
}

/// Normalises the selector of a claim, table or figure that has been checked.
pub fn chosen(selector: &Selector) -> Chosen {
    let level = |(name, word): (&String, &toml::Spanned<String>)| {
        let factor = Factor::parse(name).ok()?;
        Some((factor, factor.level(word.get_ref()).ok()?))
    };
    Chosen(selector.iter().filter_map(level).collect())
}
