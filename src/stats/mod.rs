//! Statistics: pure functions over slices; nothing here knows where numbers come from.
//!
//! - [`quantile`]: quantiles, also of tied clock ticks, and how many samples one needs
//! - [`interval`]: order-statistic intervals for the median, with the coverage they have
//!
//! NaN is never a measurement: functions that return an `Option` give `None` when they meet
//! one, the others panic.

pub mod interval;
pub mod quantile;

pub use interval::{Interval, median_interval, median_ranks};
pub use quantile::{median, mid_quantile, quantile, samples_needed};
