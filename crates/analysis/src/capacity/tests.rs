//! Decisions on launches whose truth is known.

use super::*;
use crate::testing::case;
use model::capacity::finer;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const BOUND_NS: f64 = 200_000.0;

fn launch(ns: f64) -> BoundedLaunch {
    let standing = if ns <= BOUND_NS { Standing::Passes } else { Standing::Breaks };
    BoundedLaunch { ns, standing }
}

fn at(per_sec: u64, launches: &[(Standing, usize)]) -> AtRate {
    let each = |(standing, many): &(Standing, usize)| {
        vec![BoundedLaunch { ns: 1e5, standing: *standing }; *many]
    };
    let launches = launches.iter().flat_map(each).collect();
    AtRate { per_sec, launches, failed: 0, disturbed: false }
}

use Standing::{Breaks, Passes, Short, Void};

#[test]
fn a_capacity_is_between_the_last_that_surely_holds_and_the_first_that_surely_fails() {
    let found = decide(&[
        at(1_000, &[(Passes, 12)]),
        at(2_000, &[(Passes, 10), (Breaks, 2)]),
        at(3_000, &[(Passes, 7), (Breaks, 5)]),
        at(4_000, &[(Passes, 1), (Breaks, 11)]),
        at(5_000, &[(Breaks, 12)]),
    ]);
    assert_eq!(
        found,
        Found {
            at_least_per_sec: Some(2_000),
            below_per_sec: Some(4_000),
            likely_low_per_sec: Some(3_000),
            likely_high_per_sec: Some(4_000),
            generator_ends_per_sec: None,
        }
    );
}

#[test]
fn a_test_ends_at_the_first_rate_that_is_not_sure() {
    let found = decide(&[
        at(1_000, &[(Passes, 8), (Breaks, 4)]),
        at(2_000, &[(Passes, 12)]),
        at(3_000, &[(Breaks, 12)]),
        at(4_000, &[(Passes, 4), (Breaks, 8)]),
    ]);
    assert_eq!((found.at_least_per_sec, found.below_per_sec), (None, None));
    assert_eq!((found.likely_low_per_sec, found.likely_high_per_sec), (Some(2_000), Some(3_000)));
}

#[test]
fn five_launches_are_sure_of_nothing_and_six_are() {
    assert_eq!(decide(&[at(1_000, &[(Passes, 5)])]).at_least_per_sec, None);
    assert_eq!(decide(&[at(1_000, &[(Passes, 6)])]).at_least_per_sec, Some(1_000));
    assert_eq!(
        decide(&[at(1_000, &[(Breaks, 6)])]).below_per_sec,
        Some(1_000),
        "not even the lowest"
    );
    assert_eq!(decide(&[]), Found::default());
    // A choice ends what is above a rate that broke the bound.
    let ended = [at(1_000, &[(Passes, 12)]), at(2_000, &[(Breaks, 6)]), at(4_000, &[(Breaks, 3)])];
    assert_eq!(decide(&ended).below_per_sec, Some(2_000));
}

#[test]
fn where_the_generator_ends_nothing_fails() {
    let found = decide(&[
        at(1_000, &[(Passes, 6)]),
        at(2_000, &[(Void, 6)]),
        at(3_000, &[(Void, 4), (Breaks, 2)]),
    ]);
    assert_eq!((found.at_least_per_sec, found.below_per_sec), (Some(1_000), None));
    assert_eq!(found.generator_ends_per_sec, Some(2_000));
    // Beyond it nothing is tested, and what is below is all the same.
    let found = decide(&[at(1_000, &[(Breaks, 6)]), at(2_000, &[(Void, 6)])]);
    assert_eq!(found.below_per_sec, Some(1_000));
    // A launch that says nothing never helps to hold.
    assert_eq!(decide(&[at(1_000, &[(Passes, 6), (Void, 2)])]).at_least_per_sec, None);
    assert_eq!(decide(&[at(1_000, &[(Short, 20)])]), Found::default());
}

#[test]
fn the_knee_is_within_twice_the_percentile_of_the_lowest_rate() {
    let rate = |per_sec, ns: f64| AtRate { launches: vec![launch(ns); 6], ..at(per_sec, &[]) };
    let rates = [rate(1, 10_000.0), rate(2, 12_000.0), rate(4, 20_000.0), rate(8, 21_000.0)];
    assert_eq!(knee(&rates), Some(4));
    assert_eq!(knee(&[]), None);
    // What was not offered says nothing, and where no rate passed there is nothing to be within.
    let void = || at(1, &[(Void, 3)]);
    let rising = |first| [void(), first, rate(4, 20_000.0), rate(8, 41_000.0)];
    assert_eq!(knee(&rising(rate(2, 12_000.0))), Some(4));
    assert_eq!(
        knee(&rising(rate(2, 4.0 * BOUND_NS))),
        None,
        "the lowest that was offered broke it"
    );
    assert_eq!(knee(&rising(at(2, &[(Breaks, 3), (Passes, 3)]))), None);
    assert_eq!(knee(&rising(at(2, &[(Void, 2), (Passes, 2)]))), None, "most did not pass");
    assert_eq!(knee(&[void(), at(2, &[(Void, 3)])]), None, "no rate was offered");
}

#[test]
fn where_others_disturbed_every_round_a_rate_is_undecided_and_no_end_is_sure() {
    let disturbed = |at_rate: AtRate| AtRate { disturbed: true, ..at_rate };
    let (low, high) = (|| at(1_000, &[(Passes, 12)]), || at(2_000, &[(Breaks, 12)]));
    let quiet = decide(&[low(), high()]);
    assert_eq!((quiet.at_least_per_sec, quiet.below_per_sec), (Some(1_000), Some(2_000)));
    let found = decide(&[disturbed(low()), disturbed(high())]);
    assert_eq!((found.at_least_per_sec, found.below_per_sec), (None, None));
    assert_eq!((found.likely_low_per_sec, found.likely_high_per_sec), (Some(1_000), Some(2_000)));
    let bound = "p99:200us".parse().unwrap();
    let rate = |disturbed, per_second, ns| CaseResult {
        disturbed,
        ..tried(0, per_second, vec![launch(ns); 12])
    };
    let of = |first| {
        capacities(&[rate(first, 1_000, 1e5), rate(true, 2_000, 4e5)], Some(bound)).remove(0)
    };
    assert!(of(true).every_round_disturbed && !of(false).every_round_disturbed);
    let verdicts = of(true).rates.iter().map(|rate| rate.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts, [RateVerdict::Undecided; 2]);
}

#[test]
fn launches_that_failed_help_no_verdict() {
    let rate = |launches: &[(Standing, usize)], failed| AtRate { failed, ..at(1_000, launches) };
    assert_eq!(rate(&[(Passes, 9)], 1).verdict(), RateVerdict::Holds);
    assert_eq!(rate(&[(Passes, 6)], 6).verdict(), RateVerdict::Undecided);
    assert_eq!(rate(&[(Breaks, 6)], 6).verdict(), RateVerdict::Undecided);
    assert_eq!(rate(&[(Void, 2)], 9).verdict(), RateVerdict::Undecided);
    assert_eq!(decide(&[rate(&[(Passes, 2)], 9)]), Found::default());
}

#[test]
fn a_rate_at_which_all_launches_failed_was_tried_and_ends_the_search() {
    let bound = "p99:200us".parse().unwrap();
    let dead = |per_second, reason: &str| CaseResult {
        status: Status::Failed,
        failures: vec![Failure { reason: reason.into(), launches: 6 }],
        ..tried(0, per_second, Vec::new())
    };
    let pass = |per_second| tried(0, per_second, vec![launch(1e5); 6]);
    let found = &capacities(&[pass(1_000), dead(2_000, "why"), pass(4_000)], Some(bound))[0];
    assert_eq!((found.status, found.found.at_least_per_sec), (Status::Ok, Some(1_000)));
    assert_eq!((found.launches, found.failures[0].launches, found.rounds()), (18, 6, 6));
    let rates: Vec<_> =
        found.rates.iter().map(|rate| (rate.per_sec, rate.launches, rate.failed)).collect();
    assert_eq!(rates, [(1_000, 6, 0), (2_000, 0, 6), (4_000, 6, 0)]);
    let none = &capacities(&[dead(1_000, "why"), dead(2_000, "why")], Some(bound))[0];
    assert_eq!((none.status, none.launches), (Status::Failed, 12));
    assert_eq!(none.failures, [Failure { reason: "why".into(), launches: 12 }]);
}

/// What a machine does whose median launch takes the bound exactly at `capacity`: log-normal percentiles.
fn drawn(rng: &mut ChaCha8Rng, capacity: f64, per_sec: u64, rounds: usize) -> AtRate {
    let normal = |rng: &mut ChaCha8Rng| {
        let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let median = BOUND_NS * (per_sec as f64 / capacity).powf(1.5);
    let launches = (0..rounds).map(|_| launch(median * (0.5 * normal(rng)).exp())).collect();
    AtRate { per_sec, launches, failed: 0, disturbed: false }
}

/// Both stages, as a run makes them: coarse rates choose finer ones, which are decided by launches of their own.
fn two_stages(rng: &mut ChaCha8Rng, capacity: f64) -> Found {
    let coarse = [1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000];
    let said = |at_rate: AtRate| at_rate.launches.iter().map(|launch| launch.standing).collect();
    let tried: Vec<_> =
        coarse.iter().map(|number| (*number, said(drawn(rng, capacity, *number, 3)))).collect();
    let rates: Vec<AtRate> =
        finer(&tried).into_iter().map(|number| drawn(rng, capacity, number, 12)).collect();
    decide(&rates)
}

#[test]
fn the_interval_covers_the_true_capacity_and_each_end_errs_as_stated() {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let draws = 4_000;
    let (mut low, mut high, mut both) = (0, 0, 0);
    for _ in 0..draws {
        // Between a rate that is tried and the next: from 2k to 500k, in even ratios.
        let capacity = 2_000.0 * 250f64.powf(rng.random::<f64>());
        let found = two_stages(&mut rng, capacity);
        let above = found.at_least_per_sec.is_some_and(|number| number as f64 > capacity);
        let below = found.below_per_sec.is_some_and(|number| number as f64 <= capacity);
        low += usize::from(above);
        high += usize::from(below);
        both += usize::from(found.at_least_per_sec.is_some() && found.below_per_sec.is_some());
    }
    let share = |number: usize| number as f64 / draws as f64;
    assert!(share(low) <= 0.025 && share(high) <= 0.025, "{low} and {high} of {draws}");
    assert!(share(draws - low - high) >= 0.95, "{low} and {high} of {draws}");
    // It is no interval that covers because it says nothing.
    assert!(share(both) > 0.75, "{both} of {draws} have both ends");
}

#[test]
fn a_rate_at_the_capacity_itself_is_sure_in_one_of_forty_at_most() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    for rounds in [6, 9, 12, 22] {
        let draws = 4_000;
        let verdicts: Vec<_> =
            (0..draws).map(|_| drawn(&mut rng, 50_000.0, 50_000, rounds).verdict()).collect();
        for sure in [RateVerdict::Holds, RateVerdict::Fails] {
            let many = verdicts.iter().filter(|verdict| **verdict == sure).count();
            // 2.5 %, and three deviations of the simulation.
            assert!(
                (many as f64) < 0.0325 * draws as f64,
                "{sure:?} in {many} of {draws}, {rounds} rounds"
            );
        }
    }
}

/// A case at so many a second in group `group`, of which each launch is as said.
fn tried(group: usize, per_second: u64, launches: Vec<BoundedLaunch>) -> CaseResult {
    let load = model::load::Load { per_second, ..model::load::Load::USUAL };
    let bounded = launches.into_iter().map(Some).collect();
    let rate = Some(crate::RateSeen::of(load));
    let mut made = CaseResult { group, bounded, rate, ..case("pipe", "free", None) };
    made.load = Some(load);
    made
}

#[test]
fn finer_rates_decide_and_coarse_ones_fill_the_curve() {
    let bound = "p99:200us".parse().unwrap();
    let pass = || vec![launch(1e5); 3];
    let results = [
        tried(0, 1_000, pass()),
        tried(0, 4_000, pass()),
        tried(0, 16_000, vec![launch(3e5); 3]),
        tried(1, 4_000, vec![launch(1e5); 6]),
        tried(1, 8_000, vec![launch(4e5); 6]),
    ];
    let all = capacities(&results, Some(bound));
    assert_eq!(all.len(), 1);
    let found = &all[0];
    let rates: Vec<_> =
        found.rates.iter().map(|rate| (rate.per_sec, rate.decides, rate.result)).collect();
    assert_eq!(rates, [(1_000, false, 0), (4_000, true, 3), (8_000, true, 4), (16_000, false, 2)]);
    assert_eq!(
        (found.found.at_least_per_sec, found.found.below_per_sec),
        (Some(4_000), Some(8_000))
    );
    assert_eq!(
        (found.knee_per_sec, found.rounds(), found.breaks_at_lowest()),
        (Some(4_000), 6, false)
    );
    let alone = capacities(&results[..3], Some(bound));
    assert_eq!(
        (alone[0].found.at_least_per_sec, alone[0].rounds()),
        (None, 3),
        "too few to be sure"
    );
    assert!(capacities(&results, None).is_empty());
}

#[test]
fn what_breaks_at_the_lowest_rate_and_what_was_not_measured_say_so() {
    let bound = "p99:200us".parse().unwrap();
    let lowest = capacities(&[tried(0, 1_000, vec![launch(9e5); 6])], Some(bound));
    assert!(lowest[0].breaks_at_lowest());
    let absent = CaseResult {
        status: Status::NotApplicable,
        reason: Some("why".into()),
        ..tried(0, 1_000, Vec::new())
    };
    let absent = capacities(&[absent], Some(bound));
    assert_eq!(
        (absent[0].status, absent[0].reason.as_deref()),
        (Status::NotApplicable, Some("why"))
    );
    assert!(absent[0].rates.is_empty());
}

#[test]
fn there_is_no_knee_where_the_lowest_rate_breaks_the_bound_and_what_is_void_is_in_no_percentile() {
    let bound = "p99:200us".parse().unwrap();
    let results = [tried(0, 1_000, vec![launch(3e5); 6]), tried(0, 4_000, vec![launch(4e5); 6])];
    assert_eq!(capacities(&results, Some(bound))[0].knee_per_sec, None);
    let late = BoundedLaunch { ns: 9e6, standing: Standing::Void };
    let mixed = vec![launch(1e5), late, launch(1e5), late, late, launch(1e5), launch(1e5)];
    let results = [tried(0, 1_000, mixed)];
    let found = &capacities(&results, Some(bound))[0];
    assert_eq!((found.rates[0].percentile_ns, found.knee_per_sec), (Some(1e5), Some(1_000)));
}
