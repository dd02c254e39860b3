//! Statistics: pure functions over slices; nothing here knows where numbers come from.
//!
//! - [`mod@quantile`]: quantiles, also of tied clock ticks, and how many samples one needs
//! - [`interval`]: order-statistic intervals for the median, with the coverage they have, and the sign test that agrees
//! - [`best`]: multiple comparisons with the best
//! - [`two_sample`]: ratios of two samples that share no rounds
//! - [`mod@signed_rank`]: the test of symmetric differences that published analyses used
//! - [`mod@apart`]: whether one case moved between two runs, or all did
//! - [`mod@compare`]: ratios by round, verdicts, families of claims
//! - [`modes`]: where the launches of a case split into two modes
//! - [`mod@peak`]: where a curve has its peak, and whether it lies elsewhere in another
//! - [`shape`]: whether one curve is another one rescaled, and what a step along a curve adds
//! - [`mod@inflection`]: where the cost per byte changes along a sweep, and how sure that place is
//! - [`series`]: whether launches that follow each other are alike
//!
//! NaN is never a measurement: functions that return an `Option` give `None` when they meet
//! one, the others panic.

#[cfg(not(feature = "schema"))]
extern crate schemaless as schemars;

pub mod apart;
pub mod best;
pub mod compare;
pub mod inflection;
pub mod interval;
pub mod modes;
pub mod peak;
pub mod quantile;
pub mod series;
pub mod shape;
pub mod share;
pub mod signed_rank;
pub mod two_sample;

#[cfg(test)]
mod draw;

pub use apart::{Apart, InRound, LEAST_TO_TELL_APART, apart};
pub use best::{AgainstBest, against_best};
pub use compare::{
    Comparison, Verdict, compare, compare_paired, equivalent, holm, log_ratio, smallest_holm_n,
    verdict,
};
pub use inflection::{Inflection, LEAST_SIZES, Line, TooFew, inflections};
pub use interval::{
    Interval, LEAST_LAUNCHES, launches_needed, median_interval, median_ranks, narrowest, sign_test,
    surely_most,
};
pub use modes::{Mode, Modes, two_modes};
pub use peak::{Moved, Peak, moved, peak};
pub use quantile::{median, median_of, mid_quantile, quantile, samples_needed, sum};
pub use series::serial_correlation;

pub use shape::{Rescaled, pointwise, rescaled, theil_sen};
pub use share::{Share, binomial_share, clustered_share, over_sessions};
pub use signed_rank::{SignedRank, signed_rank};

pub use two_sample::{
    MannWhitney, Shift, compare_unpaired, hodges_lehmann_shift, mann_whitney, verdict_unpaired,
};
