//! Which bound stands beside which result, and how far the result is from it.
//!
//! | result | bound |
//! | --- | --- |
//! | round trip, workers sleep | a futex round trip at the same relation between CPUs |
//! | round trip, workers spin on two CPUs | a cache line's round trip between these CPUs |
//! | the same, workers placed freely | the quickest of those, wherever it is |
//! | bytes per second | copying once, in the smallest cache that holds the message twice |
//!
//! A ratio is always the result's time over the bound's time, of a rate too. Wake-ups per
//! second, and spinning on one CPU, have no bound here; `null` is no mechanism.

use super::{CaseResult, Floor, Status};
use crate::floor::{Floors, LinePair, Repeats, RoundTrip};
use crate::mechanism::Carries;
use crate::observe::Relation;

/// A bound: its name, and its value in the unit of the estimate.
type Bound = (String, f64);

/// Puts the bound beside each measured case. Gives a sentence for every kind of bound that
/// should be there and isn't.
pub(super) fn assign(results: &mut [CaseResult], floors: Option<&Floors>) -> Vec<String> {
    let mut missing = Vec::new();
    // Bounds of one machine bound nothing between two, nor between two network stacks.
    let bounded = |case: &&mut CaseResult| case.status == Status::Ok && case.reach.is_local();
    for case in results.iter_mut().filter(bounded) {
        match floors.map(|floors| bound(case, floors)) {
            Some(None) => {}
            Some(Some(Ok(bound))) => case.floor = Some(beside(case, bound)),
            Some(Some(Err(reason))) => missing.push(format!("no floor {reason}")),
            None if case.carries.is_control() => {}
            None => missing.push("no floors: the run ended before they were measured".into()),
        }
    }
    let mut told = std::collections::BTreeSet::new();
    missing.retain(|reason| told.insert(reason.clone()));
    missing
}

fn beside(case: &CaseResult, (name, value): Bound) -> Floor {
    let median = case.estimate().and_then(|it| it.median);
    let is_rate = case.latency_ns.is_none();
    let ratio = median.map(|median| if is_rate { value / median } else { median / value });
    Floor { name, value, ratio }
}

/// The bound of a case; None where there is none of that kind, Err where it wasn't measured.
fn bound(case: &CaseResult, floors: &Floors) -> Option<Result<Bound, String>> {
    let one_cpu = case.cpus.is_some_and(|[a, b]| a == b);
    match (case.workload.as_str(), case.carries, case.message_bytes) {
        (_, Carries::Nothing | Carries::Own, _) | ("rate", ..) => None,
        ("latency", ..) if case.spins && one_cpu => None,
        ("latency", ..) if case.spins => Some(line(case, floors)),
        ("latency", ..) => Some(wake_up(case, floors)),
        (_, Carries::Bytes, Some(bytes)) => Some(copy(bytes, floors)),
        _ => None,
    }
}

fn line(case: &CaseResult, floors: &Floors) -> Result<Bound, String> {
    let why = |reason: &str| format!("for spinning round trips ({}): {reason}", case.placement);
    let lines = floors.line.get().map_err(|it| why(&it.reason))?;
    let named = |pair: &LinePair, trip: &Repeats| {
        let [a, b] = pair.cpus;
        timed(format!("cache-line round trip, CPUs {a} and {b}"), trip)
    };
    let found = match case.cpus {
        Some([a, b]) => {
            let pair = lines
                .pairs
                .iter()
                .find(|it| it.cpus == [a.min(b), a.max(b)])
                .ok_or_else(|| why("these CPUs were not among the pairs measured"))?;
            named(pair, pair.round_trip_ns.get().map_err(|it| why(&it.reason))?)
        }
        None => quickest(
            lines.pairs.iter().filter_map(|pair| named(pair, pair.round_trip_ns.get().ok()?)),
        ),
    };
    found.ok_or_else(|| why("no pair of CPUs was measured"))
}

fn wake_up(case: &CaseResult, floors: &Floors) -> Result<Bound, String> {
    let why = |reason: &str| format!("for sleeping round trips ({}): {reason}", case.placement);
    let wake_ups = floors.wake_up.get().map_err(|it| why(&it.reason))?;
    let named = |relation: Relation, found: &RoundTrip| {
        timed(format!("futex wake-up round trip, {relation}"), &found.round_trip_ns)
    };
    if case.cpus.is_none() {
        let all = wake_ups.wake_ups.iter();
        let all = all.filter_map(|it| named(it.relation, it.found.get().ok()?));
        return quickest(all).ok_or_else(|| why("no wake-up was measured"));
    }
    let relation = relation(case, floors).ok_or_else(|| why("how these CPUs stand is unknown"))?;
    let found = wake_ups.of(relation).ok_or_else(|| why("it was not asked for"))?;
    let found = found.found.get().map_err(|it| why(&it.reason))?;
    named(relation, found).ok_or_else(|| why("it has no value"))
}

fn copy(bytes: u64, floors: &Floors) -> Result<Bound, String> {
    let copy = floors.copy.get().map_err(|it| format!("for throughput: {}", it.reason))?;
    let level = copy.level_for(bytes).ok_or("for throughput: no level of memory is known")?;
    let why = |reason: &str| format!("for throughput (copying in {}): {reason}", level.level);
    let copied = level.copied.get().map_err(|it| why(&it.reason))?;
    let rate = copied.bytes_per_sec.upper().ok_or_else(|| why("it has no value"))?;
    let name = format!("copying once, in {}", level.level);
    Ok((of_modes(name, &copied.bytes_per_sec), rate))
}

/// How the CPUs of a case stand to each other: by its placement's name, or, where the user
/// named the CPUs, as the floors tell of the pair.
fn relation(case: &CaseResult, floors: &Floors) -> Option<Relation> {
    let [a, b] = case.cpus?;
    if a == b {
        return Some(Relation::SameCpu);
    }
    let by_name = Relation::ALL.into_iter().find(|it| it.name() == case.placement);
    let pairs = || floors.line.get().ok().into_iter().flat_map(|it| &it.pairs);
    let by_pair = || pairs().find(|it| it.cpus == [a.min(b), a.max(b)]).map(|it| it.relation);
    by_name.or_else(by_pair)
}

/// A bound out of a time. Of two modes the quicker one bounds.
fn timed(name: String, trip: &Repeats) -> Option<Bound> {
    Some((of_modes(name, trip), trip.lower()?))
}

fn of_modes(name: String, repeats: &Repeats) -> String {
    match repeats.modes {
        Some(_) => format!("{name} (the quicker of two modes)"),
        None => name,
    }
}

fn quickest(bounds: impl Iterator<Item = Bound>) -> Option<Bound> {
    bounds.min_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::floor::{Copied, Copy, CopyLevel, Extent, Lines, Part, WakeUp, WakeUps};
    use crate::judge::Estimate;
    use crate::store::StoredCase;

    pub fn case(mechanism: &str, placement: &str, cpus: Option<(u32, u32)>) -> CaseResult {
        let mut result = CaseResult::blank(&StoredCase {
            id: 1,
            mechanism: mechanism.into(),
            workload: "latency".into(),
            message_bytes: Some(64),
            total: None,
            rate: None,
            reach: Default::default(),
            placement: placement.into(),
            workers: "process".into(),
            payload: "untouched".into(),
            twin: false,
            observe: None,
            cpus,
            swappable: true,
            absence: None,
            reason: None,
            batch: None,
            samples_per_launch: None,
            operation_ns: None,
        });
        result.latency_ns = Some(estimate(9_000.0));
        result
    }

    fn transfer(bytes: u64) -> CaseResult {
        let mut result = case("pipe", "same-cpu", Some((1, 1)));
        result.workload = "throughput".into();
        result.message_bytes = Some(bytes);
        result.throughput_bytes_per_sec = Some(estimate(2e9));
        result.latency_ns = None;
        result
    }

    fn estimate(median: f64) -> Estimate {
        Estimate {
            median: Some(median),
            low: None,
            high: None,
            ranks: None,
            coverage: None,
            min: median,
            q1: median,
            q3: median,
            max: median,
            percentiles: Default::default(),
        }
    }

    fn wake_up(relation: Relation, cpus: [u32; 2], ns: f64) -> WakeUp {
        let round_trip_ns = Repeats::of(&[ns]);
        let found = Part::Measured(RoundTrip { cpus, round_trip_ns, switched_share: 1.0 });
        WakeUp { relation, found }
    }

    fn floors() -> Floors {
        let modes = [100., 104., 450., 102., 98., 96., 440., 101., 99., 460., 103., 97.];
        let pair = |cpus, relation, trips: &[f64]| LinePair {
            cpus,
            relation,
            round_trip_ns: Part::Measured(Repeats::of(trips)),
        };
        let level = |name: &str, cache_bytes, rate: f64| CopyLevel {
            level: name.into(),
            cache_bytes,
            copied: Part::Measured(Copied { buffer_bytes: 1, bytes_per_sec: Repeats::of(&[rate]) }),
        };
        Floors {
            line: Part::Measured(Lines {
                pairs: vec![
                    pair([0, 1], Relation::SameLlc, &modes),
                    pair([0, 2], Relation::CrossNode, &[300.0]),
                ],
                pairs_in_all: 3,
                chosen: None,
            }),
            wake_up: Part::Measured(WakeUps {
                wake_ups: vec![
                    wake_up(Relation::SameCpu, [1, 1], 3_000.0),
                    wake_up(Relation::SameLlc, [0, 1], 4_500.0),
                    WakeUp { relation: Relation::CrossNode, found: Part::absent("no time") },
                ],
                quiet_ns: 0,
            }),
            copy: Part::Measured(Copy {
                levels: vec![level("L1", Some(1 << 10), 100e9), level("memory", None, 10e9)],
            }),
            ..Floors::unavailable(Extent::Quick, "not asked")
        }
    }

    fn assigned(case: CaseResult) -> (Option<Floor>, Vec<String>) {
        let mut cases = [case];
        let missing = assign(&mut cases, Some(&floors()));
        let [case] = cases;
        (case.floor, missing)
    }

    fn floor_of(case: CaseResult) -> (String, f64, f64) {
        let (floor, missing) = assigned(case);
        assert_eq!(missing, Vec::<String>::new());
        let floor = floor.expect("a floor");
        (floor.name, floor.value, floor.ratio.unwrap())
    }

    #[test]
    fn sleeping_is_held_against_a_wake_up_at_the_same_relation() {
        let wake_up = |relation: &str| format!("futex wake-up round trip, {relation}");
        let on_one = floor_of(case("pipe", "same-cpu", Some((1, 1))));
        assert_eq!(on_one, (wake_up("same-cpu"), 3_000.0, 3.0));
        let across = floor_of(case("tcp", "same-llc", Some((1, 0))));
        assert_eq!(across, (wake_up("same-llc"), 4_500.0, 2.0));
        // Pairs that the user named, and workers that may be anywhere.
        assert_eq!(floor_of(case("tcp", "1,0", Some((1, 0)))).0, wake_up("same-llc"));
        assert_eq!(floor_of(case("pipe", "3,3", Some((3, 3)))).0, wake_up("same-cpu"));
        assert_eq!(floor_of(case("pipe", "free", None)).0, wake_up("same-cpu"));
    }

    #[test]
    fn spinning_is_held_against_the_cache_line_of_its_pair() {
        let spin = |placement: &str, cpus| case("shm-ring:wait=spin", placement, cpus);
        let (name, value, ratio) = floor_of(spin("same-llc", Some((1, 0))));
        assert_eq!(name, "cache-line round trip, CPUs 0 and 1 (the quicker of two modes)");
        assert_eq!((value, ratio), (100.0, 90.0));
        assert_eq!(floor_of(spin("2,0", Some((2, 0)))).1, 300.0);
        assert_eq!(floor_of(spin("free", None)).1, 100.0);
        let (floor, missing) = assigned(spin("1,2", Some((1, 2))));
        assert!(floor.is_none() && missing[0].ends_with("not among the pairs measured"));
        // On one CPU nothing bounds a spin but the scheduler.
        let (floor, missing) = assigned(spin("same-cpu", Some((1, 1))));
        assert!(floor.is_none() && missing.is_empty());
    }

    #[test]
    fn bytes_are_held_against_copying_where_the_message_fits_twice() {
        let (name, value, ratio) = floor_of(transfer(512));
        assert_eq!((name.as_str(), value, ratio), ("copying once, in L1", 100e9, 50.0));
        let (name, value, ratio) = floor_of(transfer(513));
        assert_eq!((name.as_str(), value, ratio), ("copying once, in memory", 10e9, 5.0));
    }

    #[test]
    fn null_and_rates_of_wake_ups_have_no_floor_and_need_no_excuse() {
        let mut signal = transfer(1);
        (signal.carries, signal.message_bytes) = (Carries::Signal, None);
        let mut absent = case("pipe", "same-cpu", Some((1, 1)));
        absent.status = Status::Failed;
        for case in [case("null", "same-cpu", Some((1, 1))), signal, absent] {
            let (floor, missing) = assigned(case);
            assert!(floor.is_none() && missing.is_empty(), "{missing:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said_once_with_its_reason() {
        let mut cases = [1, 2].map(|_| case("pipe", "cross-node", Some((0, 2))));
        let missing = assign(&mut cases, Some(&floors()));
        assert_eq!(missing, ["no floor for sleeping round trips (cross-node): no time"]);
        let missing = assign(&mut cases, None);
        assert_eq!(missing.len(), 1);
        assert!(missing[0].contains("ended before"), "{missing:?}");
        assert!(cases.iter().all(|case| case.floor.is_none()));
    }
}
