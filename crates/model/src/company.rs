//! What runs beside a launch and takes its time, on purpose: a factor whose base is a quiet launch.
//!
//! A launch beside a load is never a result: it stands beside launches of the same case that are quiet, in the
//! same rounds.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nearest::unknown;

/// What runs beside the workers of a launch.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Company {
    /// A thread of ordinary priority that only computes, on each CPU that the workers use.
    Hog,
    /// A thread that reads and writes a buffer larger than the last-level cache, on another CPU than the
    /// workers' where there is one.
    Memory,
    /// Nobody: the workers get [`QUOTA_US`] of CPU time in every [`PERIOD_US`], together.
    Quota,
}

/// The level of a launch without company: that of every result.
pub const QUIET: &str = "quiet";

/// CPU time that [`Company::Quota`] leaves the workers in every period, in µs.
pub const QUOTA_US: u64 = 50_000;
/// The period of that quota, in µs: the one that container runtimes set.
pub const PERIOD_US: u64 = 100_000;

crate::named!(Company {
    Hog => "hog",
    Memory => "memory",
    Quota => "quota",
});

impl Company {
    /// What it is, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Company::Hog => "a busy thread on each CPU of the workers",
            Company::Memory => "a thread that streams through memory",
            Company::Quota => "half a CPU for the workers: 50 ms of every 100 ms",
        }
    }

    /// The level that `word` names; None is quiet.
    ///
    /// # Errors
    /// The nearest right word.
    pub fn level(word: &str) -> Result<Option<Company>, String> {
        let found = Company::ALL.into_iter().find(|company| company.name() == word);
        if word == QUIET || found.is_some() {
            return Ok(found);
        }
        let names: Vec<&str> = [QUIET].into_iter().chain(Company::ALL.map(Company::name)).collect();
        Err(unknown("company", word, &names))
    }

    /// The word of a level.
    pub fn word(level: Option<Company>) -> &'static str {
        level.map_or(QUIET, Company::name)
    }
}

impl FromStr for Company {
    type Err = String;

    fn from_str(word: &str) -> Result<Company, String> {
        Company::level(word)?.ok_or_else(|| format!("`{QUIET}` is no company"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_read_as_it_is_written_and_a_wrong_one_is_told_the_right_ones() {
        for level in [None, Some(Company::Hog), Some(Company::Memory), Some(Company::Quota)] {
            assert_eq!(Company::level(Company::word(level)), Ok(level));
        }
        let error = Company::level("hogg").unwrap_err();
        assert!(error.contains("hogg") && error.contains("hog"), "{error}");
        assert_eq!("memory".parse(), Ok(Company::Memory));
        assert!(QUIET.parse::<Company>().is_err());
    }
}
