//! Which clock stamped the samples, what reading it costs, how fine it is, and how far it drifted.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which clock stamps the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// The time-stamp counter.
    Tsc,
    /// CLOCK_MONOTONIC_RAW.
    MonotonicRaw,
}

impl fmt::Display for ClockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClockKind::Tsc => "TSC",
            ClockKind::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
        })
    }
}

/// Why the time-stamp counter isn't used.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TscUnavailable {
    /// The CPU doesn't promise a constant rate, or lacks an ordered read.
    NotInvariant,
    /// The kernel uses another clock source, named here: it found the counter wanting.
    KernelPrefers(String),
}

impl fmt::Display for TscUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TscUnavailable::NotInvariant => {
                f.write_str("the CPU doesn't promise a counter of constant rate")
            }
            TscUnavailable::KernelPrefers(source) => {
                write!(f, "the kernel keeps time by `{source}`, not by the counter")
            }
        }
    }
}

/// One moment, read on three clocks as close together as can be.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Anchor {
    /// The chosen clock, in ticks.
    pub ticks: u64,
    /// CLOCK_MONOTONIC_RAW, in ns.
    pub raw_ns: u64,
    /// CLOCK_MONOTONIC (steered by NTP), in ns.
    pub monotonic_ns: u64,
}

impl Anchor {
    /// Nanoseconds per tick between two anchors, by CLOCK_MONOTONIC_RAW.
    pub fn ns_per_tick(&self, later: &Anchor) -> f64 {
        (later.raw_ns - self.raw_ns) as f64 / (later.ticks - self.ticks).max(1) as f64
    }

    /// How much faster CLOCK_MONOTONIC ran than CLOCK_MONOTONIC_RAW, in parts per million.
    pub fn steering_ppm(&self, later: &Anchor) -> f64 {
        let raw = (later.raw_ns - self.raw_ns).max(1) as f64;
        ((later.monotonic_ns - self.monotonic_ns) as f64 / raw - 1.0) * 1e6
    }
}

/// What reading one clock costs, and how fine it is.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reading {
    /// `tsc`, `monotonic_raw`, `monotonic`.
    pub clock: String,
    /// Median cost of one read, in ns.
    pub cost_ns: f64,
    /// Its step, in ns: what the differences of consecutive reads are multiples of.
    pub step_ns: f64,
}

/// The clock's record of a run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Record {
    /// The clock that stamped the samples.
    pub kind: ClockKind,
    /// Why it isn't the counter, where it isn't.
    pub tsc_unavailable: Option<TscUnavailable>,
    /// Median cost of one read of the chosen clock, in ns.
    pub cost_ns: f64,
    /// Smallest step of the chosen clock, in ns.
    pub step_ns: f64,
    /// The scale of stored samples, measured over the whole run.
    pub ns_per_tick: f64,
    /// How far the scale at the start was from the scale over the whole run, in ppm.
    pub drift_ppm: Option<f64>,
    /// How far CLOCK_MONOTONIC ran from CLOCK_MONOTONIC_RAW over the run, in ppm.
    pub monotonic_ppm: Option<f64>,
    /// Every clock at hand.
    pub readings: Vec<Reading>,
}

/// A sample must last so many clock reads, and so many clock steps.
const READS: f64 = 20.0;

const STEPS: f64 = 50.0;

impl Record {
    /// The shortest sample that the clock resolves, in ns.
    pub fn shortest_ns(&self) -> f64 {
        (READS * self.cost_ns).max(STEPS * self.step_ns)
    }

    /// Completes the record at the end of a run that began at `start`.
    pub fn conclude(&mut self, start: &Anchor, end: &Anchor) {
        let scale = start.ns_per_tick(end);
        self.drift_ppm = Some((self.ns_per_tick / scale - 1.0) * 1e6);
        self.monotonic_ppm = Some(start.steering_ppm(end));
        self.ns_per_tick = scale;
    }
}
