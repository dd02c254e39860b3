//! What users rely on, proved by simulation with fixed seeds over the public functions of
//! `ipcmark::stats`: intervals cover, A/A pairs don't cry wolf, real differences are found.
//! Each test names the bound it holds; nothing is measured here.

use std::cmp::Ordering;

use ipcmark::stats::{self, Interval, Look};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws of each simulation of coverage.
const DRAWS: usize = 4_000;
const ALPHA: f64 = 0.05;
/// Standard normal quantile of 99.5 %: between its two signs lie 99 %.
const Z99: f64 = 2.576;

/// A stream of draws that is the same on every machine.
struct Draw(ChaCha8Rng);

impl Draw {
    fn seeded(seed: u64) -> Draw {
        Draw(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        1.0 - self.0.random::<f64>()
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Launches of a sleeping mechanism: a floor, and delays above it. Median 100 + 6 ln 2.
    fn skewed(&mut self) -> f64 {
        100.0 - 6.0 * self.uniform().ln()
    }

    /// Launches in two modes, 70 % around 100 and 30 % around 450, each of 2 % spread.
    fn bimodal(&mut self) -> f64 {
        let center = if self.uniform() <= 0.3 { 450.0 } else { 100.0 };
        center * (0.02 * self.normal()).exp()
    }
}

/// What draws a launch.
type Shape = fn(&mut Draw) -> f64;

/// The standard error of a share of `p` over so many draws.
fn standard_error(p: f64, draws: usize) -> f64 {
    (p * (1.0 - p) / draws as f64).sqrt()
}

fn holds(interval: &Interval, truth: f64) -> bool {
    interval.low <= truth && truth <= interval.high
}

fn half_width(interval: &Interval) -> f64 {
    (interval.high - interval.low) / 2.0 / interval.estimate
}

// ---- coverage ----------------------------------------------------------------------------------

/// What is reported of a case whose budget lasts for `n` launches, and after how many launches:
/// the interval of the first look that is as narrow as asked, else that of the end.
struct Rule {
    n: usize,
    looks: Vec<Look>,
    last: Look,
}

impl Rule {
    fn lasting(n: usize) -> Rule {
        let mut looks = stats::schedule();
        looks.retain(|look| look.launches <= n);
        let at_look = looks.last().filter(|look| look.launches == n).copied();
        let spent = looks.last().map_or(0.0, |look| look.spent);
        let last = at_look.or_else(|| stats::final_look(n, spent)).expect("ranks that fit");
        Rule { n, looks, last }
    }

    fn report(
        &self,
        launches: &[f64],
        at_looks: &[(usize, Interval)],
        asked: f64,
    ) -> (usize, Interval) {
        let narrow = |it: &&(usize, Interval)| it.0 <= self.n && half_width(&it.1) <= asked;
        if let Some(early) = at_looks.iter().find(narrow) {
            return *early;
        }
        debug_assert!(self.looks.len() <= at_looks.len());
        (self.n, self.last.interval(&launches[..self.n]).expect("so many launches"))
    }
}

/// Runs that stop as soon as they are precise, for numbers of launches that a budget may allow,
/// each look's among them: the reported interval holds `truth` in at least 95 % of them, less three standard
/// errors of so many draws. Gives the shares that stopped at each look.
fn assert_covers_under_stopping(seed: u64, truth: f64, asked: f64, one: Shape) -> Vec<f64> {
    let allowed = (6..=30).chain((35..=100).step_by(5));
    let rules: Vec<Rule> = allowed.map(Rule::lasting).collect();
    let schedule = stats::schedule();
    let mut draw = Draw::seeded(seed);
    let mut held = vec![0; rules.len()];
    let mut stopped = vec![0; schedule.len()];
    for _ in 0..DRAWS {
        let launches: Vec<f64> = (0..100).map(|_| one(&mut draw)).collect();
        let at_looks: Vec<(usize, Interval)> = schedule
            .iter()
            .map(|look| (look.launches, look.interval(&launches[..look.launches]).unwrap()))
            .collect();
        for (rule, held) in rules.iter().zip(&mut held) {
            let (_, interval) = rule.report(&launches, &at_looks, asked);
            *held += usize::from(holds(&interval, truth));
        }
        let first = at_looks.iter().position(|it| half_width(&it.1) <= asked);
        stopped[first.unwrap_or(schedule.len() - 1)] += 1;
    }
    let bound = 0.95 - 3.0 * standard_error(0.95, DRAWS);
    for (rule, held) in rules.iter().zip(held) {
        let share = held as f64 / DRAWS as f64;
        assert!(
            share >= bound,
            "{} launches: {share} of the intervals hold, below {bound}",
            rule.n
        );
    }
    stopped.into_iter().map(|it| it as f64 / DRAWS as f64).collect()
}

#[test]
fn headlines_of_skewed_launches_cover_95_percent_however_they_stop() {
    let truth = 100.0 + 6.0 * std::f64::consts::LN_2;
    let stopped = assert_covers_under_stopping(1, truth, 0.02, Draw::skewed);
    // The rule is at work: no look takes all.
    assert!(stopped.iter().filter(|share| **share > 0.02).count() >= 3, "{stopped:?}");
}

#[test]
fn headlines_of_launches_with_two_modes_cover_95_percent_however_they_stop() {
    // The median is the 5/7-quantile of the lower mode: z = 0.565949.
    let truth = 100.0 * (0.02f64 * 0.565_948_821_932_863).exp();
    let stopped = assert_covers_under_stopping(2, truth, 0.02, Draw::bimodal);
    assert!(stopped.iter().filter(|share| **share > 0.02).count() >= 3, "{stopped:?}");
}

#[test]
fn headlines_of_a_fixed_number_of_launches_cover_95_percent() {
    let shapes: [(f64, Shape); 2] = [
        (100.0 + 6.0 * std::f64::consts::LN_2, Draw::skewed),
        (100.0 * (0.02f64 * 0.565_948_821_932_863).exp(), Draw::bimodal),
    ];
    let bound = 0.95 - 3.0 * standard_error(0.95, DRAWS);
    for (nth, (truth, one)) in shapes.into_iter().enumerate() {
        for n in [6, 8, 11, 12, 17, 20, 30, 50, 75, 100] {
            let look = stats::final_look(n, 0.0).unwrap();
            let mut draw = Draw::seeded(100 + n as u64 + 1000 * nth as u64);
            let mut launches = vec![0.0; n];
            let held = (0..DRAWS).filter(|_| {
                launches.fill_with(|| one(&mut draw));
                holds(&look.interval(&launches).unwrap(), truth)
            });
            let share = held.count() as f64 / DRAWS as f64;
            assert!(share >= bound, "{n} launches: {share}, below {bound}");
        }
    }
}

/// The intervals of ratios: of one pair of runs, and of two cases within a run.
#[test]
fn ratios_cover_95_percent_paired_and_unpaired() {
    let bound = 0.95 - 3.0 * standard_error(0.95, DRAWS);
    // The second is really 1.07 times the first.
    let truth = 1.07f64.ln();
    for n in [12, 20] {
        let mut draw = Draw::seeded(200 + n as u64);
        let (mut paired, mut unpaired) = (0, 0);
        for _ in 0..DRAWS {
            let mut logs = |shift: f64| (0..n).map(|_| draw.skewed().ln() + shift).collect();
            let (a, b): (Vec<f64>, Vec<f64>) = (logs(truth), logs(0.0));
            let ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            paired += usize::from(holds(&stats::hodges_lehmann(&ratios, ALPHA).unwrap(), truth));
            let shift = stats::hodges_lehmann_shift(&a, &b, ALPHA).unwrap();
            unpaired += usize::from(holds(&shift, truth));
        }
        for (what, held) in [("paired", paired), ("unpaired", unpaired)] {
            let share = held as f64 / DRAWS as f64;
            assert!(share >= bound, "{what}, {n} launches: {share}, below {bound}");
        }
    }
}

// ---- alarms ------------------------------------------------------------------------------------

/// A/A pairs of each simulation.
const PAIRS: usize = 20_000;

/// Alarms of `PAIRS` A/A pairs lie where 99 % of fair tests of 5 % would: 5 % ± 0.4 %.
fn assert_five_percent(what: &str, alarms: usize) {
    let share = alarms as f64 / PAIRS as f64;
    let slack = Z99 * standard_error(ALPHA, PAIRS);
    assert!((share - ALPHA).abs() <= slack, "{what}: {share} of the A/A pairs alarm");
}

#[test]
fn a_a_pairs_of_one_run_alarm_in_five_percent() {
    for n in [20, 30] {
        let mut draw = Draw::seeded(300 + n as u64);
        let alarms = (0..PAIRS).filter(|_| {
            // What disturbs a round multiplies both of its launches.
            let rounds: Vec<f64> = (0..n).map(|_| (0.1 * draw.normal()).exp()).collect();
            let mut case = || rounds.iter().map(|it| it * draw.skewed()).collect::<Vec<f64>>();
            let (a, b) = (case(), case());
            let ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a / b).ln()).collect();
            stats::signed_rank(&ratios).p < ALPHA
        });
        assert_five_percent(&format!("paired, {n}"), alarms.count());
    }
}

#[test]
fn a_a_runs_alarm_in_five_percent() {
    let shapes: [Shape; 2] = [Draw::skewed, Draw::bimodal];
    for (nth, one) in shapes.into_iter().enumerate() {
        let mut draw = Draw::seeded(400 + nth as u64);
        let alarms = (0..PAIRS).filter(|_| {
            let mut run = || (0..20).map(|_| one(&mut draw)).collect::<Vec<f64>>();
            let (a, b) = (run(), run());
            stats::mann_whitney(&a, &b).p < ALPHA
        });
        assert_five_percent("unpaired, 20 and 20", alarms.count());
    }
}

// ---- what is found -----------------------------------------------------------------------------

/// Cases of the family that a finding must survive.
const FAMILY: usize = 45;
const FAMILIES: usize = 100;

/// Launches of a case: log-normal, 2 % spread.
fn launches(draw: &mut Draw, center: f64) -> Vec<f64> {
    (0..30).map(|_| center * (0.02 * draw.normal()).exp()).collect()
}

/// In `FAMILIES` families of 45 comparisons, one of which is 3 % slower: that one is found, and
/// with the right sign, in at least 9 of 10; and no more than 5 % of the families find anything
/// else, but for the chance of so few (99 %).
fn assert_finds_three_percent(seed: u64, test: fn(&[f64], &[f64]) -> (f64, Ordering)) {
    let mut draw = Draw::seeded(seed);
    let (mut found, mut wrong) = (0, 0);
    for _ in 0..FAMILIES {
        let tests: Vec<(f64, Ordering)> = (0..FAMILY)
            .map(|nth| {
                let center = if nth == 0 { 103.0 } else { 100.0 };
                let (b, a) = (launches(&mut draw, center), launches(&mut draw, 100.0));
                test(&b, &a)
            })
            .collect();
        let corrected = stats::holm(&tests.iter().map(|it| it.0).collect::<Vec<f64>>());
        found += usize::from(corrected[0] < ALPHA && tests[0].1 == Ordering::Greater);
        wrong += usize::from(corrected[1..].iter().any(|p| *p < ALPHA));
    }
    let (found, wrong) = (found as f64 / FAMILIES as f64, wrong as f64 / FAMILIES as f64);
    assert!(found >= 0.9, "3 % found in {found} of the families");
    let slack = Z99 * standard_error(ALPHA, FAMILIES);
    assert!(wrong <= ALPHA + slack, "{wrong} of the families find what isn't there");
}

#[test]
fn three_percent_within_a_run_is_found_nine_times_in_ten() {
    assert_finds_three_percent(500, |b, a| {
        let ratios: Vec<f64> = b.iter().zip(a).map(|(b, a)| (b / a).ln()).collect();
        let found = stats::signed_rank(&ratios);
        (found.p, found.direction)
    });
}

#[test]
fn three_percent_between_runs_is_found_nine_times_in_ten() {
    assert_finds_three_percent(501, |b, a| {
        let found = stats::mann_whitney(b, a);
        (found.p, found.direction)
    });
}
