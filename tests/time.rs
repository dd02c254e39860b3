//! Time before modes, proved by simulation with fixed seeds through the function that judges runs:
//! launches that are exchangeable over rounds raise no more alarms than are allowed a run, however
//! skewed; a switch of the machine or of one case is named; modes of what is left are counts.
//! Nothing is measured here.

mod long_form;
mod simulation_support;

use analysis::time::{ByRound, GroupFound, Shift, over_time};
use long_form::many;
use simulation_support::Draw;

/// Simulated runs of each kind.
fn runs() -> usize {
    many(500, 2_000) as usize
}

/// What a run may raise in false alarms of every kind together, and three standard errors of so many
/// runs beyond.
const ALARMS: f64 = 0.01;

/// What draws a launch.
type Shape = (&'static str, fn(&mut Draw) -> f64);

/// One mode each, from symmetric to a floor with a tail over many orders of magnitude.
const ONE_MODE: [Shape; 6] = [
    ("normal", |d| 100.0 + 5.0 * d.normal()),
    ("log-normal", |d| (0.7 * d.normal()).exp()),
    ("floor and exponential tail", Draw::skewed),
    ("extreme: floor and log-normal tail of σ 3", |d| 100.0 + (3.0 * d.normal()).exp()),
    ("extreme: Pareto tail of shape 0.5", |d| 100.0 + d.uniform().powi(-2)),
    ("extreme: gamma of shape 0.1, in logs", |d| gamma_tenth(d).exp()),
];

/// Gamma of shape 1/10: a uniform to the tenth power times a gamma of shape 1.1, here an exponential,
/// which is near enough and as skewed.
fn gamma_tenth(draw: &mut Draw) -> f64 {
    draw.uniform().powi(10) * -draw.uniform().ln()
}

/// The launches of a run of one group.
fn run(
    draw: &mut Draw,
    cases: usize,
    rounds: usize,
    one: fn(&mut Draw) -> f64,
) -> Vec<Vec<Option<f64>>> {
    (0..cases)
        .map(|nth| (0..rounds).map(|_| Some(1.5f64.powi(nth as i32) * one(draw))).collect())
        .collect()
}

fn judged(run: &[Vec<Option<f64>>]) -> GroupFound {
    let cases: Vec<&ByRound> = run.iter().map(Vec::as_slice).collect();
    over_time(&[cases]).remove(0)
}

fn says_time(found: &GroupFound) -> bool {
    let sure = |it: &analysis::time::ChangeFound| it.verdict.is_some();
    found.common.as_ref().is_some_and(sure) || found.single.iter().flatten().any(sure)
}

fn says_modes(found: &GroupFound) -> bool {
    found.modes.iter().any(Option::is_some)
}

fn limit(share: f64) -> f64 {
    share + 3.0 * (share * (1.0 - share) / runs() as f64).sqrt()
}

/// Shares of runs of 12 cases that say anything of time, and of modes.
fn alarms(rounds: usize, one: fn(&mut Draw) -> f64) -> (f64, f64, f64) {
    let mut draw = Draw::seeded(rounds as u64);
    let (mut time, mut modes, mut any) = (0, 0, 0);
    for _ in 0..runs() {
        let found = judged(&run(&mut draw, 12, rounds, one));
        time += usize::from(says_time(&found));
        modes += usize::from(says_modes(&found));
        any += usize::from(says_time(&found) || says_modes(&found));
    }
    let share = |count: usize| count as f64 / runs() as f64;
    (share(time), share(modes), share(any))
}

#[test]
fn exchangeable_launches_of_one_mode_alarm_in_one_percent_of_runs_at_most() {
    for (name, one) in ONE_MODE {
        for rounds in [12, 20, 30, 50] {
            let (time, modes, any) = alarms(rounds, one);
            println!("{name}, {rounds} rounds: time {time:.4}, modes {modes:.4}, any {any:.4}");
            assert!(any <= limit(ALARMS), "{name}, {rounds} rounds: {any} of the runs alarm");
        }
    }
}

/// What disturbs a round multiplies all its launches: that is no change over the rounds.
#[test]
fn disturbed_rounds_are_no_switch() {
    let mut draw = Draw::seeded(1);
    let alarms = (0..runs()).filter(|_| {
        let rounds: Vec<f64> = (0..20).map(|_| (0.3 * draw.normal()).exp()).collect();
        let mut run = run(&mut draw, 12, 20, |d| (0.05 * d.normal()).exp());
        for case in &mut run {
            case.iter_mut().zip(&rounds).for_each(|(it, factor)| *it = it.map(|it| it * factor));
        }
        let found = judged(&run);
        says_time(&found) || says_modes(&found)
    });
    let share = alarms.count() as f64 / runs() as f64;
    println!("disturbed rounds: {share:.4}");
    assert!(share <= limit(ALARMS), "{share} of the runs alarm");
}

/// Two modes that take turns at random are modes, and no matter of time.
#[test]
fn modes_at_random_are_no_switch() {
    for rounds in [12, 20, 30] {
        let (time, modes, _) = alarms(rounds, Draw::bimodal);
        println!("two modes at random, {rounds} rounds: time {time:.4}, modes said in {modes:.4}");
        assert!(time <= limit(ALARMS / 2.0), "{rounds} rounds: {time} of the runs say time");
    }
}

/// 1.60 up to round `after`, 0.70 from then on.
fn switched(draw: &mut Draw, after: usize, rounds: usize) -> Vec<Option<f64>> {
    let level = |round: usize| if round < after { 1.60 } else { 0.70 };
    (0..rounds).map(|round| Some(level(round) * (0.03 * draw.normal()).exp())).collect()
}

#[test]
fn a_switch_of_the_machine_is_said_once_even_after_twelve_rounds() {
    let mut draw = Draw::seeded(2);
    let run: Vec<_> = (0..8).map(|_| switched(&mut draw, 6, 12)).collect();
    let found = judged(&run);
    let common = found.common.expect("a change");
    assert_eq!((common.verdict, common.after_round), (Some(Shift::Changed), 6));
    assert!(found.single.iter().all(Option::is_none), "{found:?}");
    assert!(!says_modes(&found), "{found:?}");
}

#[test]
fn a_case_that_switched_once_has_no_modes_and_twelve_launches_are_too_few_for_a_verdict() {
    let sure = Some(Shift::Changed);
    for (after, rounds, verdict) in [(6, 12, None), (9, 18, sure), (10, 24, sure)] {
        let mut draw = Draw::seeded(3);
        let mut run = run(&mut draw, 12, rounds, |d| (0.05 * d.normal()).exp());
        run[4] = switched(&mut draw, after, rounds);
        let found = judged(&run);
        let single = found.single[4].expect("a change");
        assert_eq!((single.verdict, single.after_round), (verdict, after), "{rounds} rounds");
        assert_eq!((found.common, found.modes[4]), (None, None), "{rounds} rounds");
    }
}

#[test]
fn a_slow_drift_is_not_called_a_switch() {
    let mut draw = Draw::seeded(4);
    let mut run = run(&mut draw, 3, 30, |d| (0.05 * d.normal()).exp());
    run[1] = (0..30).map(|at| Some((0.02 * at as f64 + 0.03 * draw.normal()).exp())).collect();
    let found = judged(&run);
    assert_eq!(found.single[1].expect("a change").verdict, Some(Shift::Drifted));
}

/// A round in which a launch failed keeps its number.
#[test]
fn rounds_without_a_launch_keep_their_place() {
    let mut draw = Draw::seeded(5);
    let mut case = switched(&mut draw, 6, 24);
    case[2] = None;
    case[9] = None;
    let found = judged(&[case]);
    assert_eq!(found.single[0].expect("a change").after_round, 6);
}

#[test]
fn modes_that_come_and_go_are_counted() {
    let mut draw = Draw::seeded(6);
    let mut run = run(&mut draw, 12, 20, |d| (0.05 * d.normal()).exp());
    let slow = [1, 4, 5, 8, 11, 12, 15, 18];
    run[7] = (0..20)
        .map(|at| if slow.contains(&at) { 450.0 } else { 100.0 })
        .map(|level| Some(level * (0.03 * draw.normal()).exp()))
        .collect();
    let found = judged(&run);
    let modes = found.modes[7].expect("modes");
    assert_eq!((modes.low_launches, modes.high_launches), (12, 8));
    assert!(
        (95.0..105.0).contains(&modes.low) && (430.0..470.0).contains(&modes.high),
        "{modes:?}"
    );
}

// ---- sessions ----------------------------------------------------------------------------------

/// Sessions that differ by 15.5 % (SD of logarithms), of 13 launches of 9 % each: what was seen across
/// CPUs. The interval over three to five of them covers the median of all sessions.
#[test]
fn intervals_over_sessions_cover_95_percent() {
    let draws = many(5_000, 20_000);
    let slack = 3.0 * (0.95f64 * 0.05 / draws as f64).sqrt();
    for count in [2, 3, 4, 5] {
        let mut draw = Draw::seeded(100 + count as u64);
        let covering = (0..draws).filter(|_| {
            let mut session = || {
                let level = 0.155 * draw.normal();
                let mut launches: Vec<f64> =
                    (0..13).map(|_| (level + 0.09 * draw.normal()).exp()).collect();
                launches.sort_unstable_by(f64::total_cmp);
                stats::median(&launches)
            };
            let medians: Vec<f64> = (0..count).map(|_| session()).collect();
            let found = stats::over_sessions(&medians).expect("an interval");
            (found.low..=found.high).contains(&1.0)
        });
        let share = covering.count() as f64 / draws as f64;
        println!("{count} sessions: {share:.4}");
        assert!(share >= 0.95 - slack, "{count} sessions: {share}");
    }
}
