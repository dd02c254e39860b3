//! What a comparison of two cases is made of: one number for each round that both have. Where their launches took turns
//! it is the median over cycles of the log of what one took over what the other did in the same cycle, which leaves out
//! what the machine did to both; else the log of the ratio of the two launches.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ALPHA, CaseResult};
use stats::Comparison;

impl CaseResult {
    /// The log of its time over that of `other`, by round: None where either lacks, and in rounds that only one has.
    /// Every comparison of two cases of a run rests on these numbers and on nothing else.
    pub fn log_ratios_to(&self, other: &CaseResult) -> Vec<Option<f64>> {
        let mut found = log_ratios(&self.by_round, &other.by_round);
        let cycles = self.by_cycle.iter().zip(&other.by_cycle);
        for (ratio, (own, others)) in found.iter_mut().zip(cycles) {
            let in_turns = own.as_ref().zip(others.as_ref()).and_then(|(a, b)| a.log_ratio(b));
            *ratio = ratio.map(|whole| in_turns.unwrap_or(whole));
        }
        found
    }

    /// Those of the rounds that both have.
    pub fn shared_log_ratios_to(&self, other: &CaseResult) -> Vec<f64> {
        self.log_ratios_to(other).into_iter().flatten().collect()
    }
}

/// The time of one case over that of another, of the rounds that both have.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CaseRatio {
    /// The middle one of `by_round`: 1 is no difference.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The ranks of both ends among the ratios sorted, counted from 1.
    pub ranks: [usize; 2],
    /// The coverage that these ranks have.
    pub coverage: f64,
    /// The ratio in each round; null in a round that lacks one of both.
    pub by_round: Vec<Option<f64>>,
    /// Sign-test p, before any correction.
    #[serde(skip)]
    pub p: f64,
}

impl CaseRatio {
    /// None where too few rounds have both.
    pub(crate) fn of(log_ratios: &[Option<f64>]) -> Option<CaseRatio> {
        let shared: Vec<f64> = log_ratios.iter().copied().flatten().collect();
        let Comparison { ratio, ranks, p, .. } = stats::compare(&shared, ALPHA)?;
        Some(CaseRatio {
            ratio: ratio.estimate,
            low: ratio.low,
            high: ratio.high,
            ranks: ranks.into(),
            coverage: ratio.coverage,
            by_round: log_ratios.iter().map(|log_ratio| log_ratio.map(f64::exp)).collect(),
            p,
        })
    }
}

/// The log of what a launch of `a` came to over what one of `b` did, round by round.
pub(crate) fn log_ratios(a: &[Option<f64>], b: &[Option<f64>]) -> Vec<Option<f64>> {
    let of = |round: usize| stats::log_ratio((*a.get(round)?)?, (*b.get(round)?)?);
    (0..a.len().max(b.len())).map(of).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::case;
    use model::cycles::{Cycles, Turns};

    #[test]
    fn the_ratio_of_launches_that_took_turns_is_that_within_cycles() {
        let (mut a, mut b) = (case("pipe", "free", None), case("tcp", "free", None));
        (a.by_round, b.by_round) = (vec![Some(9.0); 2], vec![Some(1.0); 2]);
        let cycles = |samples: &[u64], set| {
            let turns = Turns { cycles: 2, set, ..Turns::default() };
            Some(Cycles::of(samples, &turns, 1.0))
        };
        (a.by_cycle, b.by_cycle) =
            (vec![cycles(&[4, 8], 0); 2], vec![cycles(&[2, 4], 0), cycles(&[2, 4], 1)]);
        let ln = f64::ln;
        assert_eq!(
            a.log_ratios_to(&b),
            [Some(ln(2.0)), Some(ln(9.0))],
            "the second pair took none"
        );
    }

    #[test]
    fn a_round_that_one_of_both_lacks_has_no_ratio() {
        let (mut a, mut b) = (case("pipe", "free", None), case("tcp", "free", None));
        a.by_round = vec![Some(6.0), None, Some(9.0), Some(0.0), Some(5.0)];
        b.by_round = vec![Some(3.0), Some(4.0), Some(3.0), Some(1.0)];
        let ln = f64::ln;
        assert_eq!(a.log_ratios_to(&b), [Some(ln(2.0)), None, Some(ln(3.0)), None, None]);
        assert_eq!(b.shared_log_ratios_to(&a), [ln(0.5), ln(1.0 / 3.0)]);
    }
}
