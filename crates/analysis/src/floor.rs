//! What a result is compared with: floors, which nothing can beat, and yardsticks, which it may beat. Both
//! are measured in the rounds of the results.
//!
//! | result | beside it | which is |
//! | --- | --- | --- |
//! | round trip, workers sleep | a futex round trip on the same CPUs | a yardstick: pipes wake with a hint |
//! | round trip, workers spin on two CPUs | a cache line's round trip between them | a yardstick: a ring may touch the line less often |
//! | bytes per second, copied | copying the message once | a floor |
//! | bytes per second, moved without a copy | the same | a yardstick |
//!
//! A ratio is the result's time over the other's in the same round, of rates too; only where both do the
//! same kind of work: round trips of messages up to a page, transfers of messages from a page on. What is
//! undercut beyond both intervals is called no floor in this run, and that is said.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ALPHA, CaseResult, MedianInterval};
use model::bound::{Beside, RoundBound};
use model::distinct::distinct;
use model::floors::{Floors, LinePair, Part, Repeats};
use model::metric::Better;

/// Bytes of a message up to which a round trip is mostly waking or signalling, and from which on a
/// transfer is mostly copying.
const PAGE: u64 = 4096;
/// Answers from which on they say more than what was measured at the start.
const FEWEST: usize = 6;

/// Whether results can lie below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundKind {
    /// They can't.
    Floor,
    /// They may.
    Yardstick,
}

impl BoundKind {
    /// `floor`, `yardstick`.
    pub fn name(self) -> &'static str {
        match self {
            BoundKind::Floor => "floor",
            BoundKind::Yardstick => "yardstick",
        }
    }
}

/// What a result is compared with, measured in its rounds, in the unit of its estimate.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Bound {
    /// What it is.
    pub name: String,
    /// Whether results can lie below it.
    pub kind: BoundKind,
    /// Median over rounds.
    pub value: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
    /// Rounds in which it was measured.
    pub rounds: u64,
    /// The case's time over the other's in the same round, median; of a rate too. Null where they don't do
    /// the same kind of work.
    pub ratio: Option<f64>,
    /// Lower end of its interval; null below six rounds.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// Whether the case lies below it, beyond both intervals.
    pub undercut: bool,
}

/// What the rounds of a group found: by the number of the round.
pub(super) type Rounds = Vec<(u64, Vec<RoundBound>)>;

/// Puts beside each measured case of a group what its rounds found. Gives a sentence for every kind that
/// should be there and isn't.
pub(super) fn assign(cases: &mut [CaseResult], rounds: &Rounds) -> Vec<String> {
    let mut warnings = Vec::new();
    for case in cases.iter_mut() {
        let Some(of) = beside(case) else { continue };
        let name = name(of);
        match bound(case, of, rounds) {
            Some(bound) => case.bound = Some(bound),
            None => warnings
                .push(format!("no {name} to compare results with: its rounds measured none")),
        }
    }
    distinct(warnings)
}

/// What fits a case, where it was measured on this machine.
fn beside(case: &CaseResult) -> Option<Beside> {
    // What one machine does bounds nothing between two, nor between two network stacks.
    if case.launches == 0 || case.carries.is_control() || !case.route.is_local() {
        return None;
    }
    let message = case.message_bytes.map(|bytes| (bytes, case.align));
    Beside::of(&case.metric, case.spins, case.place.cpus, message)
}

fn name(of: Beside) -> String {
    match of {
        Beside::CacheLine { cpus: [a, b] } => format!("cache-line round trip, CPUs {a} and {b}"),
        Beside::WakeUp { cpus: [a, b] } if a == b => "futex wake-up round trip, one CPU".into(),
        Beside::WakeUp { cpus: [a, b] } => format!("futex wake-up round trip, CPUs {a} and {b}"),
        Beside::Copy { bytes, .. } => {
            format!("copying once, {} messages", model::size::spell(bytes))
        }
    }
}

fn bound(case: &CaseResult, of: Beside, rounds: &Rounds) -> Option<Bound> {
    let found: Vec<(u64, f64)> = rounds
        .iter()
        .flat_map(|(round, found)| found.iter().map(move |bound| (*round, bound)))
        .filter(|(_, bound)| bound.of == of)
        .map(|(round, bound)| (round, bound.ns))
        .collect();
    let (values, ratios): (Vec<f64>, Vec<f64>) = (
        found.iter().map(|(_, ns)| *ns).collect(),
        found.iter().filter_map(|(round, ns)| Some(time_in(case, *round)? / ns)).collect(),
    );
    let has_ratio = has_ratio(of, case.message_bytes);
    let unit = |ns: f64| match of {
        Beside::Copy { bytes, .. } => bytes as f64 * 1e9 / ns,
        _ => ns,
    };
    let interval = stats::median_interval(&values, ALPHA);
    let ends = interval.map(|interval| (unit(interval.low), unit(interval.high)));
    let ratio_interval = stats::median_interval(&ratios, ALPHA).filter(|_| has_ratio);
    let mut bound = Bound {
        name: name(of),
        kind: match of {
            Beside::Copy { .. } if case.copies.is_some_and(|copies| copies > 0) => BoundKind::Floor,
            _ => BoundKind::Yardstick,
        },
        value: unit(stats::median_of(values.iter().copied())?),
        interval: MedianInterval {
            low: ends.map(|(a, b)| a.min(b)),
            high: ends.map(|(a, b)| a.max(b)),
            ranks: interval.and_then(|_| ranks_of(values.len())),
            coverage: interval.map(|interval| interval.coverage),
        },
        rounds: values.len() as u64,
        ratio: stats::median_of(ratios).filter(|_| has_ratio),
        ratio_low: ratio_interval.map(|ratio_interval| ratio_interval.low),
        ratio_high: ratio_interval.map(|ratio_interval| ratio_interval.high),
        undercut: false,
    };
    bound.undercut = lies_below(case, &bound);
    Some(bound)
}

/// Ranks of the ends of the interval of a median of `n` values, counted from 1.
pub(super) fn ranks_of(n: usize) -> Option<[usize; 2]> {
    stats::median_ranks(n, ALPHA).map(|(low, high, _)| [low, high])
}

/// Time per operation of a case in a round, from 1, in ns.
fn time_in(case: &CaseResult, round: u64) -> Option<f64> {
    *case.by_round.get(round.checked_sub(1)? as usize)?
}

fn has_ratio(of: Beside, message_bytes: Option<u64>) -> bool {
    match of {
        Beside::Copy { bytes, .. } => bytes >= PAGE,
        _ => message_bytes.is_none_or(|message_bytes| message_bytes <= PAGE),
    }
}

/// Whether all of a case's interval is better than all of the bound's.
fn lies_below(case: &CaseResult, bound: &Bound) -> bool {
    let Some(estimate) = &case.value else { return false };
    match (estimate.interval.ends(), bound.interval.ends()) {
        (Some((low, _)), Some((_, most))) if case.metric.better == Better::Higher => low > most,
        (Some((_, high)), Some((least, _))) if case.metric.better == Better::Lower => high < least,
        _ => false,
    }
}

/// Calls each floor that a case of the run undercut a yardstick, for all cases that are compared with it; gives a sentence
/// for all of them.
pub(super) fn demote(cases: &mut [CaseResult]) -> Option<String> {
    let mut refuted: Vec<(String, Vec<&str>)> = Vec::new();
    for case in &*cases {
        let is_floor = |bound: &&Bound| bound.kind == BoundKind::Floor && bound.undercut;
        let Some(bound) = case.bound.as_ref().filter(is_floor) else { continue };
        match refuted.iter_mut().find(|(name, _)| *name == bound.name) {
            Some((_, variants)) if variants.contains(&case.variant.as_str()) => {}
            Some((_, variants)) => variants.push(&case.variant),
            None => refuted.push((bound.name.clone(), vec![&case.variant])),
        }
    }
    let each = refuted.iter().map(|(name, variants)| format!("{name} ({})", variants.join(", ")));
    let each = each.collect::<Vec<_>>().join("; ");
    let names: Vec<String> = refuted.into_iter().map(|(name, _)| name).collect();
    for bound in cases.iter_mut().filter_map(|case| case.bound.as_mut()) {
        if names.contains(&bound.name) {
            bound.kind = BoundKind::Yardstick;
        }
    }
    let sentence = format!(
        "results lie below what should be a floor, beyond both intervals, so that it is a yardstick here: {each}"
    );
    (!names.is_empty()).then_some(sentence)
}

/// Puts what all rounds of a run found in the place of what was measured once, at its start.
pub(super) fn refresh(floors: &mut Floors, rounds: &[Rounds]) {
    let of = |wanted: Beside| {
        let found = rounds.iter().flatten().flat_map(|(_, found)| found);
        let values: Vec<f64> =
            found.filter(|bound| bound.of == wanted).map(|bound| bound.ns).collect();
        (values.len() >= FEWEST).then(|| Repeats::of(&values))
    };
    if let Part::Measured(lines) = &mut floors.line {
        for LinePair { cpus, round_trip_ns, .. } in &mut lines.pairs {
            if let Some(found) = of(Beside::CacheLine { cpus: *cpus }) {
                *round_trip_ns = Part::Measured(found);
            }
        }
    }
    if let Part::Measured(wake_ups) = &mut floors.wake_up {
        for wake_up in &mut wake_ups.wake_ups {
            let Part::Measured(trip) = &mut wake_up.found else { continue };
            let [a, b] = trip.cpus;
            if let Some(found) = of(Beside::WakeUp { cpus: [a.min(b), a.max(b)] }) {
                trip.round_trip_ns = found;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::testing::{case, estimate, redo};
    use model::mechanism::Carries;
    use model::workload::Workload;

    /// A case that moves messages of so many bytes, each in `ns`.
    fn transfer(mechanism: &str, bytes: u64, ns: f64) -> CaseResult {
        let mut result = case(mechanism, "same-cpu", Some((1, 1)));
        redo(&mut result, Workload::Throughput);
        result.message_bytes = Some(bytes);
        result.value = Some(estimate(bytes as f64 * 1e9 / ns));
        result.by_round = vec![Some(ns); 12];
        result
    }

    /// Twelve rounds that found the same within a few percent.
    fn rounds(of: Beside, ns: f64) -> Rounds {
        let found = |round| RoundBound { of, ns: ns * (1.0 + 0.001 * round as f64) };
        (1..=12).map(|round| (round, vec![found(round)])).collect()
    }

    fn beside_of(case: CaseResult, rounds: &Rounds) -> (Option<Bound>, Vec<String>) {
        let mut cases = [case];
        let warnings = assign(&mut cases, rounds);
        let [case] = cases;
        (case.bound, warnings)
    }

    #[test]
    fn what_rounds_found_has_an_interval_and_a_ratio_of_the_same_rounds() {
        let wake_up = Beside::WakeUp { cpus: [1, 1] };
        let (bound, warnings) =
            beside_of(case("pipe", "same-cpu", Some((1, 1))), &rounds(wake_up, 3_000.0));
        let bound = bound.expect("a bound");
        assert!(warnings.is_empty());
        assert_eq!(bound.name, "futex wake-up round trip, one CPU");
        assert_eq!((bound.kind, bound.rounds, bound.undercut), (BoundKind::Yardstick, 12, false));
        assert!(
            bound.interval.low < Some(bound.value) && Some(bound.value) < bound.interval.high,
            "{bound:?}"
        );
        assert!((bound.ratio.unwrap() - 9_000.0 / bound.value).abs() < 1e-3, "{bound:?}");
        assert!(bound.ratio_low < bound.ratio && bound.ratio < bound.ratio_high);
        // Too few for an interval still have a median.
        let few: Rounds = rounds(wake_up, 3_000.0).into_iter().take(3).collect();
        let bound = beside_of(case("pipe", "same-cpu", Some((1, 1))), &few).0.expect("a bound");
        assert_eq!((bound.rounds, bound.interval.low, bound.ratio_low), (3, None, None));
    }

    #[test]
    fn a_result_below_a_yardstick_is_kept_with_it() {
        let line = Beside::CacheLine { cpus: [0, 1] };
        let ring = case("shm-ring:wait=spin", "same-llc", Some((1, 0)));
        let (bound, warnings) = beside_of(ring, &rounds(line, 12_000.0));
        let bound = bound.expect("a bound");
        assert_eq!(bound.name, "cache-line round trip, CPUs 0 and 1");
        assert_eq!((bound.kind, bound.undercut), (BoundKind::Yardstick, true));
        assert!(bound.ratio < Some(1.0) && warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn a_floor_that_results_undercut_is_none_and_that_is_said_once() {
        let judged = |cases: &mut [CaseResult], ns| {
            for case in &mut *cases {
                let copy = Beside::Copy { bytes: case.message_bytes.unwrap(), align: case.align };
                assert!(assign(std::slice::from_mut(case), &rounds(copy, ns)).is_empty());
            }
            demote(cases)
        };
        let kinds = |cases: &[CaseResult]| -> Vec<BoundKind> {
            cases.iter().map(|case| case.bound.as_ref().unwrap().kind).collect()
        };
        let mut cases = [
            transfer("pipe", 65_536, 9_000.0),
            transfer("tcp", 65_536, 3_000.0),
            transfer("fifo", 65_536, 3_000.0),
            transfer("tcp", 4_096, 3_000.0),
            transfer("tcp", 65_536, 3_000.0),
        ];
        assert_eq!(judged(&mut cases, 2_000.0), None);
        assert_eq!(kinds(&cases), [BoundKind::Floor; 5]);
        let sentence = judged(&mut cases, 4_000.0).expect("a warning");
        let ends =
            "here: copying once, 64 KiB messages (tcp, fifo); copying once, 4 KiB messages (tcp)";
        assert!(sentence.ends_with(ends), "{sentence}");
        let all = [BoundKind::Yardstick; 5];
        assert_eq!(kinds(&cases), all, "what one beats is no floor of another");
        // Within the intervals nothing is undercut.
        assert_eq!(judged(&mut cases, 3_000.0), None);
    }

    #[test]
    fn no_ratio_is_given_where_the_work_is_of_another_kind() {
        let small = transfer("pipe", 16, 900.0);
        let copy = Beside::Copy { bytes: 16, align: small.align };
        let bound = beside_of(small, &rounds(copy, 1.0)).0.expect("a bound");
        assert_eq!((bound.ratio, bound.ratio_low, bound.ratio_high), (None, None, None));
        assert!((bound.value / 16e9 - 1.0).abs() < 0.02, "{bound:?}");
        let mut large = case("pipe", "same-cpu", Some((1, 1)));
        large.message_bytes = Some(1 << 20);
        let rounds = rounds(Beside::WakeUp { cpus: [1, 1] }, 3_000.0);
        assert_eq!(beside_of(large, &rounds).0.expect("a bound").ratio, None);
    }

    #[test]
    fn what_is_missing_is_said_once_and_what_has_none_needs_no_excuse() {
        let mut cases = [1, 2].map(|_| case("pipe", "cross-node", Some((0, 2))));
        let warnings = assign(&mut cases, &Vec::new());
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].starts_with("no futex wake-up round trip, CPUs 0 and 2"),
            "{warnings:?}"
        );
        let mut signal = transfer("eventfd", 1, 900.0);
        (signal.carries, signal.message_bytes) = (Carries::Signal, None);
        let mut absent = case("pipe", "same-cpu", Some((1, 1)));
        (absent.status, absent.launches) = (Status::Failed, 0);
        let control = case("noop", "same-cpu", Some((1, 1)));
        for case in [control, signal, absent, case("pipe", "free", None)] {
            assert_eq!(beside_of(case, &Vec::new()), (None, Vec::new()));
        }
    }
}
