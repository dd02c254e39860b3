//! Once, twice, four times over: whether the price is a straight line through its doses, and
//! whether that line meets what was measured without any.

use super::Pair;
use crate::judge::{ALPHA, EQUIVALENT_WITHIN};
use crate::observe::Probe;
use crate::stats::{self, DoseLine, Interval, Verdict};

/// The doses of one probe at one size.
#[derive(Clone, Debug)]
pub struct Dose {
    /// The probe, once.
    pub probe: Probe,
    /// Null where messages have no size.
    pub message_bytes: Option<u64>,
    /// How many times over it looked on.
    pub doses: Vec<u8>,
    /// What one dose more costs, in ns.
    pub slope: Interval,
    /// Where the line meets dose none, in ns.
    pub at_none: Interval,
    /// Median of what was measured without any, in ns.
    pub plain_ns: f64,
    /// The line at dose none over what was measured there; None where the line ends below zero.
    pub check: Option<Interval>,
    /// Signed-rank p of "the line meets it".
    pub p: f64,
    /// Corrected over the strand's lines.
    pub p_holm: f64,
    /// What the check says.
    pub linear: Linear,
}

/// Whether a price is linear in its doses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Linear {
    /// The line meets the measured time within 2 %: the price may be subtracted.
    Yes,
    /// The line ends above it: the first dose costs more than each further one.
    FirstCostsMore,
    /// The line ends below it: the first dose costs less.
    FirstCostsLess,
    /// These launches can't tell; a miss smaller than this share could not have been seen.
    Open(f64),
}

/// The lines of a strand; one family.
pub(super) fn doses(pairs: &[Pair]) -> Vec<Dose> {
    let once = pairs.iter().filter(|it| it.probe.times == 1);
    let found: Vec<(Pair, Vec<u8>, DoseLine, Vec<f64>)> = once
        .filter_map(|pair| {
            let (doses, line, plain) = line(pair, pairs)?;
            Some((*pair, doses, line, plain))
        })
        .collect();
    let p = |line: &DoseLine| line.check.map_or(f64::NAN, |it| it.p);
    let family: Vec<f64> = found.iter().map(|it| p(&it.2)).filter(|p| !p.is_nan()).collect();
    let mut corrected = stats::holm(&family).into_iter();
    let told = |(pair, doses, line, mut plain): (Pair, Vec<u8>, DoseLine, Vec<f64>)| {
        let p = p(&line);
        let p_holm = if p.is_nan() { f64::NAN } else { corrected.next().unwrap_or(1.0) };
        let linear = linear(&line, &plain, p_holm);
        plain.sort_by(f64::total_cmp);
        Dose {
            probe: pair.probe,
            message_bytes: pair.bytes(),
            doses,
            slope: line.slope,
            at_none: line.at_none,
            plain_ns: stats::median(&plain),
            check: line.check.map(|it| it.ratio),
            p,
            p_holm,
            linear,
        }
    };
    found.into_iter().map(told).collect()
}

/// The doses that were measured, their line, and the unobserved times of the same rounds.
fn line(pair: &Pair, pairs: &[Pair]) -> Option<(Vec<u8>, DoseLine, Vec<f64>)> {
    let same =
        |it: &&Pair| it.bytes() == pair.bytes() && Probe { times: 1, ..it.probe } == pair.probe;
    let columns: Vec<&Pair> = pairs.iter().filter(same).collect();
    if columns.len() < 2 {
        return None;
    }
    let of_round = |round: usize| {
        let value = |it: &&Pair| it.seen.case.by_round.get(round).copied().flatten();
        let plain = pair.plain.by_round[round]?;
        Some((columns.iter().map(value).collect::<Option<Vec<f64>>>()?, plain))
    };
    let (rounds, plain): (Vec<_>, Vec<_>) =
        (0..pair.plain.by_round.len()).filter_map(of_round).unzip();
    let times: Vec<u8> = columns.iter().map(|it| it.probe.times).collect();
    let doses: Vec<f64> = times.iter().map(|it| f64::from(*it)).collect();
    Some((times, stats::dose_line(&doses, &rounds, &plain, ALPHA)?, plain))
}

fn linear(line: &DoseLine, plain: &[f64], p_holm: f64) -> Linear {
    if line.check.is_none() {
        return Linear::FirstCostsLess;
    }
    let ends = line.at_none_by_round.iter().zip(plain);
    let logs: Vec<f64> = ends.map(|(end, plain)| (end / plain).ln()).collect();
    match stats::verdict(&logs, p_holm, EQUIVALENT_WITHIN, ALPHA) {
        Verdict::Equivalent => Linear::Yes,
        Verdict::Slower => Linear::FirstCostsMore,
        Verdict::Faster => Linear::FirstCostsLess,
        Verdict::Inconclusive { smallest_effect } => Linear::Open(smallest_effect),
    }
}
