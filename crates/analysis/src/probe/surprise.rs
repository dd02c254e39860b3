//! Two surprises of a report that measured the price of looking on FreeBSD: that counters cost more
//! than software tracing, and that counters which the processor doesn't count directly cost less
//! than those that it does.

use super::{Common, Pair, Untested};
use crate::ALPHA;
use crate::hypothesis::Decision;
use model::counts::Family;
use model::probe::Probe;
use model::probe::Scope;
use stats::{Interval, Verdict};

/// A surprise, decided here.
#[derive(Clone, Debug)]
pub struct Surprise {
    /// The claim.
    pub statement: &'static str,
    /// Of which cases; None where no case could tell.
    pub of: Option<Common>,
    /// What was found.
    pub decision: Decision,
    /// Time under the left probes over time under the right ones, all sizes together.
    pub ratio: Option<Interval>,
    /// Signed-rank p, corrected over all surprises.
    pub p_holm: Option<f64>,
    /// Why it can't be told, where it can't.
    pub reason: Option<String>,
}

/// A claim that one set of probes costs more than another.
struct Claim {
    statement: &'static str,
    left: Vec<Probe>,
    right: Vec<Probe>,
}

/// Counters that the processor of that report counted directly, and others.
const DIRECT: [Family; 4] = [Family::L1d, Family::Mem, Family::Bus, Family::Tlb];
const INDIRECT: [Family; 2] = [Family::L1i, Family::L2];

fn claims() -> [Claim; 3] {
    let all = |families: &[Family]| families.iter().copied().map(Probe::counters).collect();
    // What their software tracing heard: entering and leaving system calls.
    let tracing = vec![Probe::trace(Scope::Calls)];
    [
        Claim {
            statement: "counters of the processor cost more than tracing system calls",
            left: all(&[&DIRECT[..], &INDIRECT[..]].concat()),
            right: tracing.clone(),
        },
        Claim {
            statement: "counters of the kernel cost more than tracing system calls",
            left: all(&[Family::Software, Family::Calls]),
            right: tracing,
        },
        Claim {
            statement: "direct counters of the processor cost more than indirect ones",
            left: all(&DIRECT),
            right: all(&INDIRECT),
        },
    ]
}

/// What became of each, strand by strand.
pub(super) fn surprises(pairs: &[Pair], untested: &[Untested]) -> Vec<Surprise> {
    let mut found = Vec::new();
    let mut tested: Vec<(usize, Rounds, f64)> = Vec::new();
    for claim in claims() {
        let mut commons: Vec<Common> = Vec::new();
        for common in pairs.iter().map(|it| Common::of(it.plain)) {
            if !commons.contains(&common) {
                commons.push(common);
            }
        }
        let before = found.len();
        for of in commons {
            let here: Vec<&Pair> = pairs.iter().filter(|it| Common::of(it.plain) == of).collect();
            let Some(rounds) = rounds(&claim, &here) else { continue };
            let p = stats::paired_p(&rounds.0, &rounds.1).unwrap_or(1.0);
            tested.push((found.len(), rounds, p));
            found.push(surprise(&claim, Some(of)));
        }
        if found.len() == before {
            let reason = Some(missing(&claim, untested));
            found.push(Surprise { reason, ..surprise(&claim, None) });
        }
    }
    let corrected = stats::holm(&tested.iter().map(|it| it.2).collect::<Vec<f64>>());
    for ((at, rounds, _), p) in tested.iter().zip(corrected) {
        decide(&mut found[*at], rounds, p);
    }
    found
}

fn surprise(claim: &Claim, of: Option<Common>) -> Surprise {
    let decision = Decision::NotTestable;
    Surprise { statement: claim.statement, of, decision, ratio: None, p_holm: None, reason: None }
}

/// Times under the left probes and under the right ones, by round.
type Rounds = (Vec<f64>, Vec<f64>);

fn decide(surprise: &mut Surprise, (left, right): &Rounds, p: f64) {
    let log = stats::paired_log_ratio(left, right, ALPHA);
    surprise.p_holm = Some(p);
    surprise.ratio = log.map(|log| Interval {
        estimate: log.estimate.exp(),
        low: log.low.exp(),
        high: log.high.exp(),
        ..log
    });
    // No margin: any difference that is surely one decides.
    surprise.decision = match stats::verdict((left, right), p, f64::MIN_POSITIVE, ALPHA) {
        Verdict::Slower => Decision::Supported,
        Verdict::Faster => Decision::Refuted,
        Verdict::Equivalent | Verdict::Inconclusive { .. } => Decision::Inconclusive,
    };
}

/// Round by round, over every size that has all of them: the geometric mean of the time under the left probes
/// that were measured, and under the right ones. None with fewer than six rounds.
fn rounds(claim: &Claim, here: &[&Pair]) -> Option<Rounds> {
    let mut sizes: Vec<Option<u64>> = here.iter().map(|it| it.bytes()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let measured = |probes: &[Probe]| -> Vec<Probe> {
        let all = |probe: &&Probe| {
            sizes
                .iter()
                .all(|size| here.iter().any(|it| it.probe == **probe && it.bytes() == *size))
        };
        probes.iter().filter(all).copied().collect()
    };
    let (left, right) = (measured(&claim.left), measured(&claim.right));
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let mean = |probes: &[Probe], round: usize| {
        let cases = here.iter().filter(|it| probes.contains(&it.probe));
        let values = cases.map(|it| it.seen.case.by_round.get(round).copied().flatten());
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        Some((values.iter().map(|ns| ns.ln()).sum::<f64>() / values.len() as f64).exp())
    };
    let rounds = here.iter().map(|it| it.plain.by_round.len()).max().unwrap_or(0);
    let both = |at: usize| mean(&left, at).zip(mean(&right, at));
    let (left, right): Rounds = (0..rounds).filter_map(both).unzip();
    (left.len() >= 6).then_some((left, right))
}

/// Which probes a claim lacks, and why.
fn missing(claim: &Claim, untested: &[Untested]) -> String {
    let of = |probes: &[Probe]| untested.iter().find(|it| probes.contains(&it.probe)).cloned();
    match of(&claim.left).or_else(|| of(&claim.right)) {
        Some(it) => format!("{}: {}", it.probe, it.reason),
        None => {
            let words = |probes: &[Probe]| {
                let names: Vec<String> = probes.iter().map(ToString::to_string).collect();
                names.join(", ")
            };
            let (left, right) = (words(&claim.left), words(&claim.right));
            format!("it wants some of {left} beside some of {right}, in six rounds at least")
        }
    }
}
