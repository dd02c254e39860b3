//! A value measured again and again: never one number.
//!
//! Repeats are taken inside one process. Their interval says how steady the value was there;
//! another process may find another (a floor is a bound to compare with, not a result).

use serde::{Deserialize, Serialize};

/// Error probability of the intervals.
const ALPHA: f64 = 0.05;
/// A mode with a smaller share of the repeats is a disturbance, which a median doesn't mind.
const LEAST_SHARE: f64 = 1.0 / 6.0;

/// What the repeats of a measurement came to, in the unit that the field holding it is named
/// for. The headline is None where they fall into two modes; its ends also where there are
/// fewer than six.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Median of the repeats.
    pub median: Option<f64>,
    /// Lower end of its order-statistic interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Ranks of the ends among the repeats, counted from 1; null also of what was stored without.
    #[serde(default)]
    pub ranks: Option<[usize; 2]>,
    /// The coverage that the interval really has.
    pub coverage: Option<f64>,
    /// Repeats.
    pub n: u64,
    /// Two modes among the repeats, where they show them.
    pub modes: Option<Modes>,
}

/// Two modes among repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
        let both = |it: &stats::Modes| it.low.share.min(it.high.share) >= LEAST_SHARE;
        let modes = stats::two_modes(values).filter(both).map(|it| Modes {
            low: it.low.center,
            low_share: it.low.share,
            high: it.high.center,
            high_share: it.high.share,
        });
        let median = stats::median(&sorted);
        let told = modes.is_none();
        let interval = stats::median_interval(values, ALPHA).filter(|_| told);
        let ranks = interval.and_then(|_| stats::median_ranks(values.len(), ALPHA));
        Repeats {
            median: told.then_some(median),
            low: interval.map(|it| it.low),
            high: interval.map(|it| it.high),
            ranks: ranks.map(|(low, high, _)| [low, high]),
            coverage: interval.map(|it| it.coverage),
            n: values.len() as u64,
            modes,
        }
    }

    /// The median, or that of the mode of smaller values: of a time the quicker one.
    pub fn lower(&self) -> Option<f64> {
        self.median.or(self.modes.map(|it| it.low))
    }

    /// The median, or that of the mode of larger values: of a rate the quicker one.
    pub fn upper(&self) -> Option<f64> {
        self.median.or(self.modes.map(|it| it.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_repeats_have_a_median_and_an_interval() {
        let values: Vec<f64> = (1..=12).map(f64::from).rev().collect();
        let repeats = Repeats::of(&values);
        assert_eq!((repeats.median, repeats.low, repeats.high), (Some(6.5), Some(3.0), Some(10.0)));
        assert_eq!((repeats.n, repeats.modes), (12, None));
        assert_eq!(repeats.ranks, Some([3, 10]));
        assert!(repeats.coverage.unwrap() > 0.95);
    }

    #[test]
    fn few_repeats_have_no_interval() {
        let repeats = Repeats::of(&[3.0, 1.0, 2.0]);
        assert_eq!((repeats.median, repeats.low, repeats.coverage), (Some(2.0), None, None));
    }

    #[test]
    fn a_few_disturbed_repeats_are_no_mode() {
        let mut values = vec![26.0; 28];
        values.extend([610.0, 640.0]);
        let repeats = Repeats::of(&values);
        assert_eq!((repeats.median, repeats.high, repeats.modes), (Some(26.0), Some(26.0), None));
    }

    #[test]
    fn two_modes_have_no_headline_and_two_bounds() {
        let values = [100., 104., 450., 102., 98., 96., 440., 101., 99., 460., 103., 97.];
        let repeats = Repeats::of(&values);
        assert_eq!((repeats.median, repeats.low, repeats.high), (None, None, None));
        assert_eq!((repeats.lower(), repeats.upper()), (Some(100.0), Some(450.0)));
    }
}
