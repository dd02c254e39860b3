//! What a campaign tells while it runs: to a person on a terminal, or to another program.

use std::time::Duration;

use store::StoredRun;

/// What a campaign tells while it runs; called only while nothing is being timed.
pub trait Progress {
    /// A run has begun, or is taken up again: what was asked and where, nothing measured yet.
    fn began(&mut self, _run: &StoredRun) {}
    /// A new stage begins.
    fn stage(&mut self, text: &str);
    /// A round of a group is about to begin.
    fn round(&mut self, status: &Status);
    /// Launches that are in the store by now, in the order in which they were timed.
    fn launched(&mut self, _launches: &[Launched]) {}
    /// Whether to go on. What is measured is kept either way, as after a signal.
    fn wanted(&self) -> bool {
        true
    }
    /// Something that the reader of the results should know.
    fn warning(&mut self, text: &str);
    fn done(&mut self);
}

#[derive(Clone, Debug, PartialEq)]
pub struct Launched {
    /// The case, by its id in the store.
    pub case: i64,
    /// The round, from 1.
    pub round: u64,
    /// Whether the initiator had the second CPU of the pair.
    pub swapped: bool,
    /// `ok`, `failed`, `not_applicable`, `unavailable`.
    pub status: &'static str,
    /// Why it isn't `ok`.
    pub reason: Option<String>,
    /// Median of its samples, in ns per operation, by the clock's scale as known so far.
    pub median_ns: Option<f64>,
    pub samples: u64,
}

#[derive(Clone, Debug)]
pub struct Status {
    /// What runs now: `latency 64 B, same-llc`.
    pub now: String,
    /// The round about to begin.
    pub round: u64,
    /// Rounds that the group is planned to have, in the time that is left; None where a round's time is not known yet.
    pub planned: Option<u64>,
    /// Of a search for a capacity the rates that are tried now.
    pub rates: Option<usize>,
    /// What the rounds that are planned take about, of all groups; None where none was timed yet.
    pub left: Option<Duration>,
}
