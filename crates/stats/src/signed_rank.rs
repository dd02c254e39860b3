//! The signed-rank test, as published analyses used it, and the normal distribution.
//!
//! It asks whether differences are symmetric about zero. Comparisons of cases don't rest on it: two cases may differ in
//! shape.

use std::cmp::Ordering;

/// Above this many differences the normal approximation takes over.
const EXACT_UP_TO: usize = 200;

/// The outcome of a signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// The smaller of the rank sums of the positive and of the negative differences.
    pub statistic: f64,
    /// Which sign has the larger rank sum: `Less` when the differences are mostly negative.
    pub direction: Ordering,
    /// Two-sided p.
    pub p: f64,
    /// Differences that are not zero.
    pub n: usize,
}

/// Wilcoxon's signed-rank test of "the differences are symmetric about zero".
///
/// Ties share their mean rank. Zeros are handled as by Pratt (1959), "Remarks on zeros and
/// ties in the Wilcoxon signed rank procedures": they are ranked, then left out; dropping
/// them first can turn evidence round when a difference is shifted a little. Up to 200
/// differences p is exact, given the ties and zeros at hand: the sum over all sign patterns.
/// Above that it is the normal approximation with tie and continuity correction.
///
/// No differences, or only zeros, give p = 1. Panics on NaN.
pub fn signed_rank(differences: &[f64]) -> SignedRank {
    let (ranks, positive) = doubled_ranks(differences);
    let total: u64 = ranks.iter().sum();
    let smaller = positive.min(total - positive);
    let p = if differences.len() <= EXACT_UP_TO {
        2.0 * sign_patterns(&ranks, smaller).iter().sum::<f64>()
    } else {
        // The mean is half the total; each sign contributes a quarter of its rank squared.
        let squares: f64 = ranks.iter().map(|&r| (r as f64 / 2.0).powi(2)).sum();
        let distance = (total as f64 / 2.0 - smaller as f64) / 2.0;
        two_sided_normal((distance - 0.5).max(0.0), (squares / 4.0).sqrt())
    };
    SignedRank {
        statistic: smaller as f64 / 2.0,
        direction: positive.cmp(&(total - positive)),
        p: p.min(1.0),
        n: ranks.len(),
    }
}

/// Twice the rank of each nonzero difference by size (whole numbers also under ties), and
/// their sum over the positive ones.
fn doubled_ranks(differences: &[f64]) -> (Vec<u64>, u64) {
    assert!(!differences.iter().any(|d| d.is_nan()), "signed-rank test of NaN");
    let mut sorted = differences.to_vec();
    sorted.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));

    let mut ranks = Vec::with_capacity(sorted.len());
    let mut positive = 0;
    let mut before = 0;
    for tied in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        // Ranks before+1 ..= before+len; twice their mean is the sum of the ends.
        let doubled = (2 * before + tied.len() + 1) as u64;
        before += tied.len();
        if tied[0] == 0.0 {
            continue;
        }
        ranks.resize(ranks.len() + tied.len(), doubled);
        positive += doubled * tied.iter().filter(|&&d| d > 0.0).count() as u64;
    }
    (ranks, positive)
}

/// The probability of each rank sum 0 ..= `up_to` when every rank counts or not by a fair
/// coin.
fn sign_patterns(ranks: &[u64], up_to: u64) -> Vec<f64> {
    let up_to = up_to as usize;
    let mut probability = vec![0.0; up_to + 1];
    probability[0] = 1.0;
    for &rank in ranks {
        let rank = rank as usize;
        for sum in (0..=up_to).rev() {
            let without = if sum >= rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = (probability[sum] + without) / 2.0;
        }
    }
    probability
}

/// The probability that a normal value is at least `distance` away from its mean, either way.
pub(super) fn two_sided_normal(distance: f64, spread: f64) -> f64 {
    if spread == 0.0 { 1.0 } else { erfc(distance / spread / std::f64::consts::SQRT_2) }
}

/// The complementary error function for `x` ≥ 0: Abramowitz and Stegun 7.1.6 below 2, the
/// continued fraction 7.1.14 from there on. Relative error about 1e-13.
fn erfc(x: f64) -> f64 {
    let root_pi = std::f64::consts::PI.sqrt();
    if x < 2.0 {
        let mut term = x;
        let mut sum = x;
        for k in 1..60 {
            term *= 2.0 * x * x / (2 * k + 1) as f64;
            sum += term;
        }
        1.0 - 2.0 / root_pi * (-x * x).exp() * sum
    } else {
        let fraction = (1..200).rev().fold(x, |tail, k| x + k as f64 / 2.0 / tail);
        (-x * x).exp() / root_pi / fraction
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
    }

    #[test]
    fn nothing_and_only_zeros_are_no_evidence() {
        for differences in [&[][..], &[0.0, -0.0, 0.0]] {
            let test = signed_rank(differences);
            assert_eq!((test.p, test.n, test.direction), (1.0, 0, Ordering::Equal));
        }
        assert_eq!(signed_rank(&[1.0]).p, 1.0);
        assert_eq!(signed_rank(&[1.0, 2.0]).p, 0.5);
    }

    #[test]
    fn twelve_pairs_of_one_sign_have_the_smallest_p() {
        let differences: Vec<f64> = (1..=12).map(|d| -f64::from(d)).collect();
        let test = signed_rank(&differences);
        assert_eq!((test.statistic, test.direction), (0.0, Ordering::Less));
        assert_eq!(test.p, 2.0 / 4096.0);
        // All tied: every pattern of the same size is as likely; only two are extreme.
        assert_eq!(signed_rank(&[3.0; 12]).p, 2.0 / 4096.0);
    }

    #[test]
    fn zeros_keep_their_ranks() {
        // Pratt: ranks 2, 3, 4 remain; dropping the zero first would leave 1, 2, 3.
        let test = signed_rank(&[0.0, -1.0, 2.0, 3.0]);
        assert_eq!((test.statistic, test.n), (2.0, 3));
        assert_eq!(test.p, 0.5);
    }

    #[test]
    #[should_panic(expected = "NaN")]
    fn nan_is_refused() {
        signed_rank(&[f64::NAN, 1.0]);
    }

    #[test]
    fn exact_and_normal_agree_where_they_meet() {
        let mut draw = Draw::seeded(3);
        let values = draw.many(200, |draw| draw.normal() + 0.15);
        let exact = signed_rank(&values);
        let (ranks, positive) = doubled_ranks(&values);
        let squares: f64 = ranks.iter().map(|&r| (r as f64 / 2.0).powi(2)).sum();
        let distance = (positive as f64 / 2.0 - 200.0 * 201.0 / 4.0).abs() - 0.5;
        let normal = two_sided_normal(distance, (squares / 4.0).sqrt());
        assert!((exact.p / normal - 1.0).abs() < 0.03, "{} {normal}", exact.p);
    }

    #[test]
    fn erfc_has_its_tabulated_values() {
        // Abramowitz and Stegun, table 7.1, and erfc(5) from SciPy.
        assert_eq!(erfc(0.0), 1.0);
        assert!(close(erfc(0.5), 0.479_500_122_186_953_5));
        assert!((erfc(1.999_999_999_999) / erfc(2.0) - 1.0).abs() < 1e-10);
        assert!((erfc(2.0) / 0.004_677_734_981_047_266 - 1.0).abs() < 1e-12);
        assert!(close(erfc(5.0), 1.537_459_794_428_035e-12));
    }
}
