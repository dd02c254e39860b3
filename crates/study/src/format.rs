//! A study as its author wrote it: TOML, checked word by word before anything is measured.
//!
//! docs/STUDIES.md describes the format with an example to copy. An error names the file, the
//! line, the key and, for a misspelt word, the nearest right one.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use super::paper::Paper;
use super::table::{Own, Table, Words};
use model::factor::Factor;
use model::nearest::unknown;

pub use super::claim_test::{Interval, Needs, Test};
pub use super::figure::{Band, FigureKind, FigureSpec};
pub use super::outputs::{
    DerivedSpec, FLOORS, FloorSpec, Published, PublishedFigure, Search, TableSpec,
};

/// The only version of the format so far.
const VERSION: i64 = 1;

/// A mechanism that a study wants and that isn't built in: whoever runs it gives it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedPlugin {
    /// Its options, as a plug-in writes them: `wait=sleep|spin`.
    #[serde(default)]
    pub options: String,
    /// How it is had, in words; they are shown, never run.
    pub get: String,
}

/// A study, as text made it. Words are not yet checked against mechanisms and placements: see
/// [`super::validated`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// Version of the format.
    version: i64,
    /// A few words, as in a paper's title.
    pub title: String,
    /// What it wants to know, in a sentence or two.
    pub question: String,
    /// The published work that it reproduces, if it does.
    pub source: Option<Source>,
    /// Mechanisms that aren't built in, by name.
    #[serde(default)]
    pub plugins: BTreeMap<String, WantedPlugin>,
    #[serde(default)]
    pub fixed: Fixed,
    /// What is varied: every combination is a case.
    #[serde(default)]
    pub vary: Levels,
    /// The levels that are observed; every level of a factor that isn't named.
    pub observed: Option<Levels>,
    /// Which quantities are causes and which are effects.
    pub variables: Variables,
    /// Claims, with the tests that decide them.
    #[serde(default)]
    pub hypothesis: Vec<Hypothesis>,
    /// Columns that are worked out of others, for tables.
    #[serde(default)]
    pub derived: Vec<DerivedSpec>,
    /// Tables of the machine's bounds.
    #[serde(default)]
    pub floor: Vec<FloorSpec>,
    #[serde(default)]
    pub table: Vec<TableSpec>,
    #[serde(default)]
    pub figure: Vec<FigureSpec>,
    /// Figures that were printed elsewhere.
    #[serde(default)]
    pub published: Vec<Published>,
    /// The level of a factor at which a measure is best.
    #[serde(default)]
    pub search: Vec<Search>,
    /// What the original could not see, a paragraph each.
    #[serde(default)]
    pub critique: Vec<String>,
    pub paper: Option<Paper>,
}

/// A published work.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub title: String,
    pub author: String,
    pub year: Option<i64>,
    pub machine: Option<String>,
    pub address: Option<String>,
}

/// Levels of the factors, each a list or one.
pub type Levels = Table<Varied>;

/// What stands beside the levels of factors that are varied, or observed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Varied {
    /// Of `[observed]`: further cases to observe.
    #[serde(default)]
    pub also: Vec<Levels>,
    /// Cases that are not measured: those that have one of each of these levels.
    #[serde(default)]
    pub except: Vec<Levels>,
    #[serde(default)]
    pub latency: OwnLevels,
    #[serde(default)]
    pub throughput: OwnLevels,
    /// Of those mechanisms, the ones that are measured between hosts, at each of their losses or at one
    /// that is named; else all that can be.
    pub elsewhere: Option<Words>,
}

impl Own for Varied {
    fn takes(factor: Factor) -> bool {
        !factor.follows()
    }
}

/// Levels of one workload, before those of all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnLevels {
    pub size: Option<Words>,
    /// `free`, `same-cpu`, …
    pub placement: Option<Words>,
}

/// Conditions of one workload, before those of all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnFixed {
    pub samples: Option<Spanned<i64>>,
}

/// What is held fixed: a level of each factor that isn't varied, and the conditions.
pub type Fixed = Table<Conditions>;

/// What is the same for all cases, beside levels of factors.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conditions {
    /// How messages of an open loop arrive: `poisson`, `constant`, `bursts:100@10ms`.
    pub arrivals: Option<Spanned<String>>,
    /// What the server of an open loop works over each request: `"5us"`, `"exp:5us"`.
    pub service: Option<Spanned<String>>,
    /// How that server finds the next request: `epoll`, `poll`, `scan`.
    pub server: Option<Spanned<String>>,
    /// Operations, or a time: `"5"`, `"100ms"`.
    pub warmup: Option<Spanned<String>>,
    pub samples: Option<Spanned<i64>>,
    #[serde(default)]
    pub latency: OwnFixed,
    #[serde(default)]
    pub throughput: OwnFixed,
    /// What set-ups have of their own.
    #[serde(default)]
    pub connect: OwnFixed,
    pub launches: Option<Spanned<i64>>,
    /// Time for measuring, unless the command line gives one: `"5m"`.
    pub budget: Option<Spanned<String>>,
    /// Measure spinning mechanisms on one CPU too.
    #[serde(default)]
    pub spin_on_one_cpu: bool,
}

impl Own for Conditions {
    // Launches that are observed, or run beside a load, are compared with those that aren't: never all of a study's. An
    // arm is a command, and none is taken from a file.
    fn takes(factor: Factor) -> bool {
        !factor.follows() && !matches!(factor, Factor::Observe | Factor::Beside | Factor::Arm)
    }
}

/// Which quantities are causes and which are effects, each with a line that says what it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variables {
    /// Set by the study.
    pub cause: BTreeMap<String, String>,
    pub effect: BTreeMap<String, String>,
}

/// Levels that choose cases: `{ mechanism = "pipe", size = "64" }`.
pub type Selector = BTreeMap<String, Spanned<String>>;

/// One selector, or a list of them.
pub(super) fn one_or_several<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<Selector>, D::Error> {
    struct OneOrSeveral;

    impl<'de> Visitor<'de> for OneOrSeveral {
        type Value = Vec<Selector>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("levels of factors, or a list of such")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Selector::deserialize(MapAccessDeserializer::new(map)).map(|map| vec![map])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    from.deserialize_any(OneOrSeveral)
}

/// A claim about the results.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypothesis {
    /// The claim, in a sentence.
    pub statement: String,
    pub test: Test,
    /// The factor whose levels are gone through.
    pub along: Option<Spanned<String>>,
    /// The factor whose levels the right goes through, for `adds-less`.
    pub than: Option<Spanned<String>>,
    /// The cases it is about.
    #[serde(default)]
    pub left: Selector,
    /// Instead of cases, one of [`FLOORS`]: the claim is of the machine, in ns.
    pub floor: Option<Spanned<String>>,
    /// Another of them: the claim is of how many times as much `floor` takes.
    #[serde(rename = "floor-per")]
    pub floor_per: Option<Spanned<String>>,
    /// The cases they are compared with; several selectors where the claim is of all that they choose.
    #[serde(default, deserialize_with = "one_or_several")]
    pub right: Vec<Selector>,
    /// The other cases that they may be compared with, for `near-either`.
    pub or: Option<Selector>,
    /// Which statistic of each launch: `median` (if none is named), `mean`, `min`, `p90` … .
    pub of: Option<Spanned<String>>,
    /// Whether a claim about several cases is one of each of them, or of their mean.
    pub levels: Option<Over>,
    /// An order from best to worst, for `ranking`.
    #[serde(default)]
    pub order: Vec<Selector>,
    /// How far from 1 a ratio may be for `equivalent` and `same-shape`, or must be for `differs`: `"2%"`.
    pub margin: Option<Spanned<String>>,
    /// The claimed interval of `ratio`, and the claimed places of `peak`: two levels, the lower
    /// first. Along size they may be parts of the last-level cache: `"llc/8"`.
    pub within: Option<Vec<Spanned<String>>>,
    /// Where the source makes the claim.
    pub claimed: Option<String>,
}

/// Which cases a claim about several of them is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Of each: it holds where it does at every level, and fails where it does at any.
    #[default]
    Every,
    /// Of the geometric mean of their ratios.
    Average,
}

/// Reads a study; `file` names it in errors.
///
/// # Errors
/// One line: file, line, key or word, and the nearest right one.
pub fn read(text: &str, file: &str) -> Result<Study, String> {
    let failed = |error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        format!("{file}:{line}: {}", in_words(error.message()))
    };
    // Checked first: a word that is no level is looked for among all that are.
    let table: toml::Table = toml::from_str(text).map_err(failed)?;
    check(text, file, None, &toml::Value::Table(table))?;
    let study: Study = toml::from_str(text).map_err(failed)?;
    if study.version != VERSION {
        let line = text.lines().position(|line| line.trim_start().starts_with("version"));
        return Err(format!(
            "{file}:{}: version {}: this ipcmark knows version {VERSION}",
            1 + line.unwrap_or(0),
            study.version
        ));
    }
    Ok(study)
}

/// The number of the line that holds byte `at`.
pub fn line_at(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

/// The parser's message, with the nearest word where it names an unknown one.
fn in_words(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let what = if message.starts_with("unknown field") {
        "key"
    } else if message.starts_with("unknown variant") {
        "word"
    } else if message.starts_with("missing field") {
        return format!("{message}: add it, as in `ipcmark study show 004`");
    } else if message.contains("recurs") {
        return "tables or lists are nested too deeply: write it flat".into();
    } else {
        return message.lines().collect::<Vec<_>>().join("; ");
    };
    let word = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    unknown(what, word, &known)
}

/// Most bytes of a study: the longest that comes with the program has 54,000.
pub const LONGEST_STUDY: u64 = 1 << 20;
/// Most characters of a title, and of any other text in a study: what is more is no sentence.
const LONGEST_TITLE: usize = 300;
const LONGEST_TEXT: usize = 10_000;

/// Refuses texts that are longer than any that is read.
///
/// # Errors
/// One line: file, line, key, and how long it may be.
pub(super) fn check(
    text: &str,
    file: &str,
    key: Option<&str>,
    value: &toml::Value,
) -> Result<(), String> {
    match value {
        toml::Value::String(it) => {
            let most = if key == Some("title") { LONGEST_TITLE } else { LONGEST_TEXT };
            if it.chars().nth(most).is_none() {
                return Ok(());
            }
            let start = it.lines().next().and_then(|line| text.find(line)).unwrap_or(0);
            let line = line_at(text, start);
            let key = key.unwrap_or("a text");
            Err(format!("{file}:{line}: {key} is longer than {most} characters: shorten it"))
        }
        toml::Value::Array(all) => all.iter().try_for_each(|value| check(text, file, key, value)),
        toml::Value::Table(all) => {
            all.iter().try_for_each(|(key, value)| check(text, file, Some(key), value))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
