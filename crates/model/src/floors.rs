//! Floors, which no mechanism of a machine can beat, and yardsticks, which one may beat.

use crate::alignment::Alignment;
use crate::clock::TscUnavailable;
use crate::placement::Relation;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloorDetail {
    /// What every run measures at its start: under 1.5 s.
    Quick,
    /// What `ipcmark floor` measures: under 6 s.
    Full,
}

/// Why a floor is missing: a sentence that ends with the remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FloorsUnavailable {
    /// The reason.
    pub reason: String,
}

impl fmt::Display for FloorsUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// A part of the floors: measured, or the reason why not.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part<T> {
    /// What was found.
    Measured(T),
    /// Why there is nothing.
    Unavailable(FloorsUnavailable),
}

impl<T> Part<T> {
    /// Absent, for this reason.
    pub fn absent(reason: impl Into<String>) -> Part<T> {
        Part::Unavailable(FloorsUnavailable { reason: reason.into() })
    }

    /// What was found, or why nothing was.
    pub fn get(&self) -> Result<&T, &FloorsUnavailable> {
        match self {
            Part::Measured(it) => Ok(it),
            Part::Unavailable(why) => Err(why),
        }
    }
}

impl<T> From<Result<T, String>> for Part<T> {
    fn from(result: Result<T, String>) -> Part<T> {
        result.map_or_else(Part::absent, Part::Measured)
    }
}

/// The floors of a machine, as one process found them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Floors {
    /// How much was measured.
    pub extent: FloorDetail,
    /// The CPU on which everything was measured that needs only one; None before it is known.
    pub cpu: Option<u32>,
    /// How long the process took, in ns.
    pub took_ns: u64,
    /// The clocks of this machine.
    pub clocks: Part<Clocks>,
    /// Trivial system calls.
    pub calls: Part<Calls>,
    /// Round trips of a cache line.
    pub line: Part<Lines>,
    /// Round trips of two threads that sleep.
    pub wake_up: Part<WakeUps>,
    /// Copying.
    pub copy: Part<Copy>,
}

impl Floors {
    /// Floors of which nothing is known, for this reason.
    pub fn unavailable(extent: FloorDetail, reason: &str) -> Floors {
        Floors {
            extent,
            cpu: None,
            took_ns: 0,
            clocks: Part::absent(reason),
            calls: Part::absent(reason),
            line: Part::absent(reason),
            wake_up: Part::absent(reason),
            copy: Part::absent(reason),
        }
    }

    /// Every part that is missing, by name, with the reason.
    pub fn missing(&self) -> Vec<(&'static str, &FloorsUnavailable)> {
        let parts = [
            ("clocks", self.clocks.get().err()),
            ("kernel calls", self.calls.get().err()),
            ("cache line", self.line.get().err()),
            ("wake-ups", self.wake_up.get().err()),
            ("copy", self.copy.get().err()),
        ];
        parts.into_iter().filter_map(|(name, why)| Some((name, why?))).collect()
    }

    /// Whether no part was measured.
    pub fn is_empty(&self) -> bool {
        self.missing().len() == 5
    }
}

/// The clocks of this machine.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Clocks {
    /// Each of them.
    pub clocks: Vec<ClockFloor>,
    /// The most precise: the smallest step, and of those that step as finely, or too finely
    /// for their reads to show, the cheapest; where costs are equal, the one that is used.
    pub most_precise: String,
    /// Those that are as precise, as far as reads can show: equal in step and in cost.
    pub as_precise: Vec<String>,
    /// The one that stamps samples.
    pub used: String,
    /// Why that isn't the counter, where it isn't.
    pub tsc_unavailable: Option<TscUnavailable>,
    /// How long the clocks were compared, in ns; None in the quick set, because a run compares
    /// them from its start to its end.
    pub compared_over_ns: Option<u64>,
}

/// One clock.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ClockFloor {
    /// `tsc`, `monotonic_raw`, `monotonic`.
    pub clock: String,
    /// Cost of a read, in ns.
    pub cost_ns: Repeats,
    /// Smallest step by the growing loop, in ns; None where the clock did not advance.
    pub step_by_loop_ns: Option<Repeats>,
    /// Iterations that the loop had when it showed that step.
    pub loop_iterations: Option<Repeats>,
    /// Smallest step by repeated reads, in ns; None where the clock did not advance.
    pub step_by_reads_ns: Option<Repeats>,
    /// How much faster it ran than CLOCK_MONOTONIC_RAW, in parts per million, over each span of
    /// the comparison; the counter, which has no scale of its own, against its own mean scale.
    /// None for CLOCK_MONOTONIC_RAW itself, and in the quick set.
    pub disagreement_ppm: Option<Repeats>,
}

impl ClockFloor {
    /// The smallest step that either means showed, in ns; infinite where the clock did not advance.
    pub fn smallest_step_ns(&self) -> f64 {
        let steps = [&self.step_by_loop_ns, &self.step_by_reads_ns];
        let steps = steps.into_iter().flatten().filter_map(Repeats::lower);
        steps.fold(f64::INFINITY, f64::min)
    }
}

/// The trivial calls.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Calls {
    /// Each of them.
    pub calls: Vec<Call>,
    /// A message from a process to itself, inline and by the C library; empty in what was stored before it was
    /// measured.
    pub messages: Vec<Call>,
}

/// One call.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Call {
    /// `getpid`, `read of 0 bytes`, …
    pub call: String,
    /// `syscall(2)`, `C library`, or `inline`: by an instruction in the loop that makes the call.
    pub by: String,
    /// What it costs, in ns.
    pub cost_ns: Repeats,
}

/// Copying, level by level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Copy {
    /// L1, L2, L3 and memory, in this order.
    pub levels: Vec<CopyLevel>,
    /// 64 KiB between buffers that begin at each of the places that `--align` knows.
    pub placed: Vec<PlacedCopy>,
}

/// Copying between buffers that begin at one kind of place.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PlacedCopy {
    /// Where both begin.
    pub align: Alignment,
    /// What was found.
    pub copied: Part<Copied>,
}

/// One level of the memory hierarchy.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CopyLevel {
    /// `L1`, `L2`, `L3`, `memory`.
    pub level: String,
    /// Size of the cache, in bytes; None for memory, and where the kernel doesn't say.
    pub cache_bytes: Option<u64>,
    /// What was found.
    pub copied: Part<Copied>,
}

/// What was found at one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Copied {
    /// Size of each of the two buffers, in bytes.
    pub buffer_bytes: u64,
    /// Bytes copied per second, each counted once.
    pub bytes_per_sec: Repeats,
}

/// Round trips of a cache line.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Lines {
    /// Each pair that was measured, the smaller CPU first.
    pub pairs: Vec<LinePair>,
    /// How many pairs this process might have measured.
    pub pairs_in_all: u64,
    /// Which pairs were chosen, where that isn't all of them.
    pub chosen: Option<String>,
}

/// One pair of CPUs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LinePair {
    /// The CPUs, the smaller first.
    pub cpus: [u32; 2],
    /// How they stand to each other.
    pub relation: Relation,
    /// There and back, in ns.
    pub round_trip_ns: Part<Repeats>,
}

/// Round trips of two threads that sleep.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WakeUps {
    /// One for each relation that was asked for, whether this machine has it or not.
    pub wake_ups: Vec<WakeUp>,
    /// How long the process was left alone before timing across CPUs, in ns.
    pub quiet_ns: u64,
}

/// Two threads on CPUs that stand so to each other.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WakeUp {
    /// How their CPUs stand to each other.
    pub relation: Relation,
    /// What was found on one such pair.
    pub found: Part<RoundTrip>,
}

/// What was found on one pair of CPUs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The pair; one CPU twice where both share it.
    pub cpus: [u32; 2],
    /// There and back, in ns.
    pub round_trip_ns: Repeats,
    /// Share of the round trips in which the first thread left its CPU, 0 to 1: it slept, or
    /// was put aside for the thread that it had woken on the same CPU.
    pub switched_share: f64,
}

/// The summary of a measurement's repeats, in the unit that the field holding it is named
/// for. The headline is None where they fall into two modes; its ends also where there are
/// fewer than six.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Repeats {
    /// Median of the repeats.
    pub median: Option<f64>,
    /// Lower end of its order-statistic interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Ranks of the ends among the repeats, counted from 1; null also of what was stored without.
    pub ranks: Option<[usize; 2]>,
    /// The coverage that the interval really has.
    pub coverage: Option<f64>,
    /// Repeats.
    pub n: u64,
    /// Two modes among the repeats, where they show them.
    pub modes: Option<Modes>,
}

/// Two modes among repeats.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Modes {
    /// Median of the repeats in the mode of smaller values.
    pub low: f64,
    /// Their share.
    pub low_share: f64,
    /// Median of the repeats in the mode of larger values.
    pub high: f64,
    /// Their share.
    pub high_share: f64,
}

impl Repeats {
    /// Summarises `values`, which are in any order.
    ///
    /// # Panics
    /// If there are none, or one is NaN.
    pub fn of(values: &[f64]) -> Repeats {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let both = |modes: &stats::Modes| modes.low.share.min(modes.high.share) >= LEAST_SHARE;
        let modes = stats::two_modes(values).filter(both).map(|mode| Modes {
            low: mode.low.center,
            low_share: mode.low.share,
            high: mode.high.center,
            high_share: mode.high.share,
        });
        let median = stats::median(&sorted);
        let unimodal = modes.is_none();
        let interval = stats::median_interval(values, ALPHA).filter(|_| unimodal);
        let ranks = interval.and_then(|_| stats::median_ranks(values.len(), ALPHA));
        Repeats {
            median: unimodal.then_some(median),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            ranks: ranks.map(|(low, high, _)| [low, high]),
            coverage: interval.map(|interval| interval.coverage),
            n: values.len() as u64,
            modes,
        }
    }

    /// The median, or that of the mode of smaller values: of a time the quicker one.
    pub fn lower(&self) -> Option<f64> {
        self.median.or(self.modes.map(|modes| modes.low))
    }
}

/// Name of the level beyond all caches.
pub const MEMORY: &str = "memory";

impl WakeUps {
    /// What was found for a relation, or why nothing was; None where it wasn't asked for.
    pub fn of(&self, relation: Relation) -> Option<&WakeUp> {
        self.wake_ups.iter().find(|wake_up| wake_up.relation == relation)
    }
}

/// Error probability of the intervals.
const ALPHA: f64 = 0.05;
/// A mode with a smaller share of the repeats is a disturbance, which a median doesn't mind.
const LEAST_SHARE: f64 = 1.0 / 6.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_floors_name_every_part_and_survive_json() {
        let floors = Floors::unavailable(FloorDetail::Quick, "killed by signal 9");
        assert!(floors.is_empty());
        assert!(floors.missing().iter().all(|(_, why)| why.reason == "killed by signal 9"));
        let text = serde_json::to_string(&floors).unwrap();
        assert!(
            text.contains(r#""copy":{"unavailable":{"reason":"killed by signal 9"}}"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Floors>(&text).unwrap(), floors);
    }

    #[test]
    fn twelve_repeats_have_a_median_and_an_interval() {
        let values: Vec<f64> = (1..=12).map(f64::from).rev().collect();
        let found = Repeats::of(&values);
        assert_eq!((found.median, found.low, found.high), (Some(6.5), Some(3.0), Some(10.0)));
        assert_eq!((found.n, found.modes), (12, None));
        assert_eq!(found.ranks, Some([3, 10]));
        assert!(found.coverage.unwrap() > 0.95);
    }

    #[test]
    fn few_repeats_have_no_interval() {
        let found = Repeats::of(&[3.0, 1.0, 2.0]);
        assert_eq!((found.median, found.low, found.coverage), (Some(2.0), None, None));
    }

    #[test]
    fn a_few_disturbed_repeats_are_no_mode() {
        let mut values = vec![26.0; 28];
        values.extend([610.0, 640.0]);
        let found = Repeats::of(&values);
        assert_eq!((found.median, found.high, found.modes), (Some(26.0), Some(26.0), None));
    }

    #[test]
    fn two_modes_have_no_headline_and_two_bounds() {
        let values = [100., 104., 450., 102., 98., 96., 440., 101., 99., 460., 103., 97.];
        let found = Repeats::of(&values);
        assert_eq!((found.median, found.low, found.high), (None, None, None));
        assert_eq!(found.lower(), Some(100.0));
    }
}
