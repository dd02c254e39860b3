//! Curves over size under a probe: only rescaled, or of another shape; the peak where it was, or
//! not; and what a published analysis would have made of the same launches.

use super::Pair;
use crate::ALPHA;
use model::distinct::distinct;
use model::probe::Probe;
use stats::{Interval, Moved, Rescaled};

/// A curve under a probe, beside the unobserved one.
#[derive(Clone, Debug)]
pub struct CurveUnder {
    pub probe: Probe,
    /// Its sizes, in bytes.
    pub sizes: Vec<u64>,
    /// Rounds that have all of them, observed and not.
    pub rounds: usize,
    /// The global test, and the p of each size by its maximum; None with fewer than six rounds.
    pub rescaled: Option<Rescaled>,
    /// The global p, corrected over the strand's curves.
    pub p_holm: Option<f64>,
    /// How far each size is off a constant factor: log ratios less their mean, with intervals that
    /// hold together; empty with fewer than [`CurveUnder::rounds_for_off`].
    pub off: Vec<Interval>,
    /// The p of each size as published: each curve divided by its mean, paired signed-rank tests.
    pub published: Vec<f64>,
    /// The same, corrected by Holm over the strand: every probe and size of one figure.
    pub published_holm: Vec<f64>,
    /// Where the peaks lie, of a quantity of which more is better.
    pub peak: Option<Moved>,
}

impl CurveUnder {
    /// Whether the curve surely is not only rescaled.
    pub fn is_bent(&self) -> bool {
        self.p_holm.is_some_and(|p| p < ALPHA)
    }

    /// The share that a size may be off a constant factor at most, by its interval; the largest.
    pub fn most_off(&self) -> Option<f64> {
        let farthest = self.off.iter().map(|interval| interval.low.abs().max(interval.high.abs()));
        farthest.max_by(f64::total_cmp).map(f64::exp_m1)
    }

    /// Rounds that it takes to say of every size how far it is off: the interval of each holds at
    /// 5 % over all of them, and n rounds reach no p below 2 of 2ⁿ.
    pub fn rounds_for_off(&self) -> u32 {
        (2.0 * self.sizes.len() as f64 / ALPHA).log2().ceil() as u32
    }

    /// How many sizes differ at 5 %: as published, after Holm, by the maximum over sizes.
    pub fn points(&self) -> [usize; 3] {
        let below = |p: &[f64]| p.iter().filter(|p| **p < ALPHA).count();
        let by_maximum = self.rescaled.as_ref().map_or(0, |rescaled| below(&rescaled.p_of_levels));
        [below(&self.published), below(&self.published_holm), by_maximum]
    }

    /// Whether the unobserved peak surely lies inside, and not at an end of the sizes.
    pub fn has_peak(&self) -> bool {
        let last = self.sizes.len() - 1;
        self.peak.is_some_and(|peak| peak.from.low > 0 && peak.from.high < last)
    }
}

/// The curves of a strand, of probes that are attached once.
pub(super) fn curves(pairs: &[Pair]) -> Vec<CurveUnder> {
    let probes = distinct(pairs.iter().map(|pair| pair.probe).filter(|probe| probe.times == 1));
    let mut curves: Vec<CurveUnder> =
        probes.into_iter().filter_map(|probe| curve(probe, pairs)).collect();
    let global: Vec<f64> = curves
        .iter()
        .filter_map(|curve| curve.rescaled.as_ref())
        .map(|rescaled| rescaled.p)
        .collect();
    let points: Vec<f64> = curves.iter().flat_map(|curve| curve.published.clone()).collect();
    let mut global = stats::holm(&global).into_iter();
    let mut points = stats::holm(&points).into_iter();
    for curve in &mut curves {
        curve.p_holm = curve.rescaled.as_ref().and_then(|_| global.next());
        curve.published_holm = points.by_ref().take(curve.published.len()).collect();
    }
    curves
}

fn curve(probe: Probe, pairs: &[Pair]) -> Option<CurveUnder> {
    let here: Vec<&Pair> =
        pairs.iter().filter(|pair| pair.probe == probe && pair.bytes().is_some()).collect();
    let sizes: Vec<u64> = here.iter().filter_map(|pair| pair.bytes()).collect();
    if sizes.len() < 2 {
        return None;
    }
    let known = here.iter().map(|pair| pair.plain.by_round.len()).min().unwrap_or(0);
    let of_round = |round: usize| {
        let value = |by_round: &Vec<Option<f64>>| by_round.get(round).copied().flatten();
        let each = here
            .iter()
            .map(|pair| value(&pair.seen.case.by_round).zip(value(&pair.plain.by_round)));
        let both: Vec<(f64, f64)> = each.collect::<Option<_>>()?;
        Some(both.into_iter().unzip::<f64, f64, Vec<f64>, Vec<f64>>())
    };
    let (observed, plain): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (0..known).filter_map(of_round).unzip();
    let metric = &here[0].plain.metric;
    let transfers = metric.is_transfer();
    // Bandwidth where bytes are transferred, else trips per time: more is better.
    let better = |rounds: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let rate = |(at, ns): (usize, &f64)| metric.rate_of_ns(*ns, Some(sizes[at]));
        rounds.iter().map(|round| round.iter().enumerate().map(rate).collect()).collect()
    };
    let (more, less) = (better(&observed), better(&plain));
    // What a figure would show: a bandwidth, or a time.
    let published = if transfers {
        stats::pointwise(&more, &less)
    } else {
        stats::pointwise(&observed, &plain)
    };
    Some(CurveUnder {
        probe,
        rounds: plain.len(),
        rescaled: stats::rescaled(&more, &less),
        p_holm: None,
        off: stats::peak::shape_differences(&more, &less, ALPHA).unwrap_or_default(),
        published: published.unwrap_or_default(),
        published_holm: Vec::new(),
        peak: stats::moved(&less, &more, ALPHA),
        sizes,
    })
}
