//! Once, twice, four times over: whether the overhead is a straight line through its levels, and
//! whether that line meets what was measured without any.

use super::Pair;
use crate::{ALPHA, EQUIVALENT_WITHIN};
use model::probe::Probe;
use stats::{Interval, OverheadLine};

/// A probe at one size, once and several times over.
#[derive(Clone, Debug)]
pub struct Linearity {
    pub probe: Probe,
    /// Null where messages have no size.
    pub message_bytes: Option<u64>,
    /// How many times over it was attached.
    pub times: Vec<u8>,
    /// What each further time costs, in ns.
    pub slope: Interval,
    /// Where the line meets none at all, in ns.
    pub at_none: Interval,
    /// Median of what was measured without any, in ns.
    pub plain_ns: f64,
    /// By how much the line misses that, as a share of it.
    pub miss: Interval,
    /// Sign-test p of "the line meets it".
    pub p: f64,
    /// Corrected over the strand's lines.
    pub p_holm: f64,
    pub linear: Linear,
}

/// Whether an overhead is linear in how often it is paid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Linear {
    /// The line meets the measured time within 2 %: the overhead may be subtracted.
    Yes,
    /// The line ends above it: the first level costs more than each further one.
    FirstCostsMore,
    /// The line ends below it: the first level costs less.
    FirstCostsLess,
    /// These launches can't tell; a miss smaller than this share could not have been seen.
    Open(f64),
}

/// A probe with its times, their line, and the unobserved times of the same rounds.
type Found<'a> = (Pair<'a>, Vec<u8>, OverheadLine, Vec<f64>);

/// The lines of a strand; one family.
pub(super) fn linearities(pairs: &[Pair]) -> Vec<Linearity> {
    let once = pairs.iter().filter(|pair| pair.probe.times == 1);
    let found: Vec<Found> = once
        .filter_map(|pair| {
            let (times, line, plain) = line(pair, pairs)?;
            Some((*pair, times, line, plain))
        })
        .collect();
    let corrected = stats::holm(&found.iter().map(|entry| entry.2.p).collect::<Vec<f64>>());
    let linearity = |((pair, times, line, mut plain), p_holm): (Found, f64)| {
        plain.sort_by(f64::total_cmp);
        Linearity {
            probe: pair.probe,
            message_bytes: pair.bytes(),
            times,
            slope: line.slope,
            at_none: line.at_none,
            plain_ns: stats::median(&plain),
            miss: line.miss,
            p: line.p,
            p_holm,
            linear: linear(&line, p_holm),
        }
    };
    found.into_iter().zip(corrected).map(linearity).collect()
}

/// How often, of those that were measured, their line, and the unobserved times of the same rounds.
fn line(pair: &Pair, pairs: &[Pair]) -> Option<(Vec<u8>, OverheadLine, Vec<f64>)> {
    let same = |other: &&Pair| {
        other.bytes() == pair.bytes() && Probe { times: 1, ..other.probe } == pair.probe
    };
    let columns: Vec<&Pair> = pairs.iter().filter(same).collect();
    if columns.len() < 2 {
        return None;
    }
    let of_round = |round: usize| {
        let value = |pair: &&Pair| pair.seen.case.by_round.get(round).copied().flatten();
        let plain = pair.plain.by_round[round]?;
        Some((columns.iter().map(value).collect::<Option<Vec<f64>>>()?, plain))
    };
    let (rounds, plain): (Vec<_>, Vec<_>) =
        (0..pair.plain.by_round.len()).filter_map(of_round).unzip();
    let times: Vec<u8> = columns.iter().map(|column| column.probe.times).collect();
    let levels: Vec<f64> = times.iter().map(|time| f64::from(*time)).collect();
    Some((times, stats::overhead_line(&levels, &rounds, &plain, ALPHA)?, plain))
}

fn linear(line: &OverheadLine, p_holm: f64) -> Linear {
    let within = |interval: &Interval| {
        interval.low > -EQUIVALENT_WITHIN && interval.high < EQUIVALENT_WITHIN
    };
    match line.miss.estimate {
        _ if within(&line.miss_narrow) => Linear::Yes,
        miss if p_holm < ALPHA && miss > 0.0 => Linear::FirstCostsMore,
        _ if p_holm < ALPHA => Linear::FirstCostsLess,
        miss => Linear::Open((line.miss.high - miss).max(miss - line.miss.low)),
    }
}
