//! A quantity of which each round gave one value, and whose number of rounds was fixed beforehand.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ALPHA, MedianInterval, interval_of};
use stats::Share;

/// Its median over launches, and what covers it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct OverRounds {
    /// The median; of a share, that of all counts together.
    pub median: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
    /// By round, from 1; null where there is none.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
}

impl OverRounds {
    /// The quantity by round; None where no round has it.
    pub fn of(by_round: Vec<Option<f64>>) -> Option<OverRounds> {
        let mut values: Vec<f64> = by_round.iter().flatten().copied().collect();
        if values.is_empty() {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let found = interval_of(&values);
        Some(OverRounds { median: stats::median(&values), interval: found.into(), by_round })
    }

    /// A share by round, of `counts` of `(part, all)` in each: all of them together where the others
    /// have a median.
    pub fn of_share(by_round: Vec<Option<f64>>, counts: &[(u64, u64)]) -> Option<OverRounds> {
        let (part, all) =
            counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        let interval = stats::clustered_share(counts);
        (all > 0).then(|| OverRounds::share(part as f64 / all as f64, interval, by_round))
    }

    /// A share with its interval.
    pub fn share(share: f64, interval: Option<Share>, by_round: Vec<Option<f64>>) -> OverRounds {
        OverRounds {
            median: share,
            interval: MedianInterval {
                low: interval.map(|interval| interval.low),
                high: interval.map(|interval| interval.high),
                ranks: None,
                coverage: interval.map(|_| 1.0 - ALPHA),
            },
            by_round,
        }
    }

    /// The same of `times` as many.
    pub fn scaled(self, times: f64) -> OverRounds {
        let by_round =
            self.by_round.into_iter().map(|round| round.map(|value| value * times)).collect();
        OverRounds {
            median: self.median * times,
            interval: MedianInterval {
                low: self.interval.low.map(|value| value * times),
                high: self.interval.high.map(|value| value * times),
                ..self.interval
            },
            by_round,
        }
    }

    /// The same, its interval reaching `further` than its end on that side.
    pub fn reaching(mut self, further: f64) -> OverRounds {
        let end = if further < 0.0 { &mut self.interval.low } else { &mut self.interval.high };
        *end = end.map(|end| end + further);
        self
    }

    /// Whether the interval holds `value`; not, where there is none.
    pub fn covers(&self, value: f64) -> bool {
        self.interval.ends().is_some_and(|(low, high)| low <= value && value <= high)
    }
}
