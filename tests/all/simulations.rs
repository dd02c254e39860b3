//! What users rely on, proved by simulation with fixed seeds over the functions that decide when a group
//! ends and that judge it: intervals cover however it ends, A/A pairs don't cry wolf, real
//! differences are found. Each test names the bound it holds; nothing is measured here.

/// The draws of the tests of `stats`.
#[allow(dead_code)]
#[path = "../../crates/stats/src/draw.rs"]
mod draw;

use crate::long_form::{is_long, many};
use analysis::{NEGLIGIBLE, interval_of};
use draw::Draw;
use model::mechanism::Class;
use model::screening::{self, Screened};
use run::campaign::stopping::Bound;
use stats::Interval;
use store::Closed;

/// Draws of each simulation of coverage.
fn draws() -> usize {
    many(1_000, 5_000) as usize
}

const ALPHA: f64 = 0.05;
/// Standard normal quantile of 99.5 %: between its two signs lie 99 %.
const Z99: f64 = 2.576;

/// What draws a launch.
type One = fn(&mut Draw) -> f64;

/// The standard error of a share of `p` over so many draws.
fn standard_error(p: f64, draws: usize) -> f64 {
    (p * (1.0 - p) / draws as f64).sqrt()
}

/// Launches of a sleeping mechanism: a floor, and delays above it. Median 100 + 6 ln 2.
fn skewed(draw: &mut Draw) -> f64 {
    100.0 + 6.0 * draw.exponential()
}

/// Launches in two modes, 70 % around 100 and 30 % around 450, each of 2 % spread.
fn bimodal(draw: &mut Draw) -> f64 {
    draw.bimodal(0.3, 0.02)
}

fn holds(interval: &Interval, truth: f64) -> bool {
    interval.low <= truth && truth <= interval.high
}

fn half_width(interval: &Interval) -> f64 {
    (interval.high - interval.low) / 2.0 / interval.estimate
}

// ---- coverage ----------------------------------------------------------------------------------

/// Launches of a case, round by round.
type Shape = fn(&mut Draw, round: usize) -> f64;

/// Where the middle of drifting launches is: they slow down by 12 % over a hundred rounds, and swing.
fn drifting(round: usize) -> f64 {
    let time = round as f64;
    100.0 * (1.0 + 0.0012 * time + 0.03 * (time / 7.0).sin())
}

const SHAPES: [(&str, Shape); 5] = [
    ("normal", |draw, _| 100.0 + 5.0 * draw.normal()),
    ("log-normal", |draw, _| 100.0 * (0.3 * draw.normal()).exp()),
    ("skewed", |draw, _| skewed(draw)),
    ("two modes", |draw, _| bimodal(draw)),
    ("drifting", |draw, round| drifting(round) + 2.0 * draw.normal()),
];

/// The median over the time of so many rounds.
fn truth(shape: &str, rounds: usize) -> f64 {
    match shape {
        "normal" | "log-normal" => 100.0,
        "skewed" => 100.0 + 6.0 * std::f64::consts::LN_2,
        // The median is the 5/7-quantile of the lower mode: z = 0.565949.
        "two modes" => 100.0 * (0.02f64 * 0.565_948_821_932_863).exp(),
        _ => {
            // The launches' distributions are symmetric around their middles: bisect.
            let below = |at: f64| -> f64 {
                (0..rounds).map(|round| normal_share(at, drifting(round))).sum::<f64>()
            };
            let (mut low, mut high) = (50.0, 200.0);
            for _ in 0..40 {
                let middle = (low + high) / 2.0;
                if below(middle) < rounds as f64 / 2.0 { low = middle } else { high = middle }
            }
            (low + high) / 2.0
        }
    }
}

/// The share of a drifting launch's distribution below `at`, by the logistic curve that misses a normal one by
/// less than 0.01 everywhere.
fn normal_share(at: f64, middle: f64) -> f64 {
    1.0 / (1.0 + (-1.702 * (at - middle) / 2.0).exp())
}

/// What ends a group.
#[derive(Clone, Copy, Debug)]
enum StopRule {
    /// `--launches`.
    Asked(usize),
    /// Time for so many rounds.
    Time(usize),
    /// Time that launches use up as long as they take: slow ones leave room for fewer.
    Spent(f64),
    /// What the precision needs by the first rounds, in the time for so many.
    Precision(usize),
    /// A signal after so many rounds, where there was time for a hundred.
    Signal(usize),
}

/// How a simulated group ended, and what its case got.
struct Ended {
    closed: Option<Closed>,
    rounds: usize,
    interval: Interval,
}

/// A group of one case from its first round to its end, by the functions that decide it; `all` are the
/// launches that it would have if it went on.
fn group(all: &[f64], rule: StopRule, asked: f64) -> Ended {
    let logs: Vec<f64> = all[..screening::ROUNDS].iter().map(|value| value.ln()).collect();
    let needed = stats::launches_needed(&logs, asked).map(|value| value.ceil() as usize);
    let mut rounds = 0;
    let closed = loop {
        let mut bound = rule.bound(&all[..rounds]);
        if matches!(rule, StopRule::Precision(_)) && rounds >= screening::ROUNDS {
            bound.needed = needed;
        }
        let ends = bound.ends(rounds);
        if ends.is_some() || matches!(rule, StopRule::Signal(signal) if signal == rounds) {
            break ends;
        }
        rounds += 1;
    };
    let found = interval_of(&all[..rounds]).expect("enough launches");
    Ended { closed, rounds, interval: found.interval }
}

impl StopRule {
    fn bound(self, launches: &[f64]) -> Bound {
        let left = |rounds: usize| Some(rounds.saturating_sub(launches.len()));
        let (asked, rounds_left) = match self {
            StopRule::Asked(rounds) => (Some(rounds), None),
            StopRule::Time(rounds) | StopRule::Precision(rounds) => (None, left(rounds)),
            StopRule::Spent(time) => {
                let spent: f64 = launches.iter().sum();
                let each = if launches.is_empty() { 100.0 } else { spent / launches.len() as f64 };
                (None, Some(((time - spent).max(0.0) / each) as usize))
            }
            StopRule::Signal(_) => (None, None),
        };
        Bound { launches: asked, rounds_left, ..Bound::default() }
    }
}

fn stop_rules() -> Vec<StopRule> {
    let asked = [6, 12, 17, 22, 50, MOST].map(StopRule::Asked);
    let time = [12, 13, 16, 20, 22, 25, 29, 30, 31, 35, 39, 60, 75, 90].map(StopRule::Time);
    let spent = [1300.0, 2600.0, 4100.0, 8000.0].map(StopRule::Spent);
    let signal = [6, 11, 21, 22, 23, 24, 31, 47].map(StopRule::Signal);
    let precision = [30, 60, MOST].map(StopRule::Precision);
    asked.into_iter().chain(time).chain(spent).chain(signal).chain(precision).collect()
}

/// More launches than any rule needs.
const MOST: usize = 120;

/// However a group ends, its interval holds the true median in at least 95 % of the groups, less three
/// standard errors of so many draws; over all rules it holds it in at most 97.5 %, drift excepted.
#[test]
#[ignore = "long form"]
fn intervals_cover_95_percent_however_a_group_ends() {
    let bound = 0.95 - 3.0 * standard_error(0.95, draws());
    for (nth, (name, shape)) in SHAPES.into_iter().enumerate() {
        let mut draw = Draw::seeded(nth as u64);
        let mut launches = || (0..MOST).map(|round| shape(&mut draw, round)).collect::<Vec<f64>>();
        // About half of the groups are planned to be precise before their time ends.
        let mut widths: Vec<f64> = (0..501)
            .map(|_| half_width(&group(&launches(), StopRule::Asked(22), 0.0).interval))
            .collect();
        widths.sort_by(f64::total_cmp);
        let truths: Vec<f64> = (0..=MOST).map(|rounds| truth(name, rounds)).collect();
        let rules = stop_rules();
        let (mut covered, mut endings, mut claimed) = (vec![0; rules.len()], [0; 4], 0.0);
        for _ in 0..draws() {
            let all = launches();
            for (rule, covered) in rules.iter().zip(&mut covered) {
                let ended = group(&all, *rule, widths[250]);
                *covered += usize::from(holds(&ended.interval, truths[ended.rounds]));
                claimed += ended.interval.coverage;
                endings[ended.closed.map_or(3, |closed| closed as usize)] += 1;
            }
        }
        let shares: Vec<f64> =
            covered.iter().map(|covered| *covered as f64 / draws() as f64).collect();
        for (rule, share) in rules.iter().zip(&shares) {
            assert!(*share >= bound, "{name}, {rule:?}: {share} hold, below {bound}");
        }
        let mean = shares.iter().sum::<f64>() / rules.len() as f64;
        let claimed = claimed / (draws() * rules.len()) as f64;
        let least = shares.iter().fold(1.0, |a: f64, b| a.min(*b));
        println!(
            "{name}: {mean:.4} hold on average ({claimed:.4} are claimed), at least {least:.4}; \
             precise, budget, launches, none: {endings:?}"
        );
        assert!(endings.iter().all(|ending| *ending > draws()), "{name}: {endings:?}");
        assert!(name == "drifting" || mean <= 0.975, "{name}: {mean} hold on average");
    }
}

/// The intervals of ratios between two runs, the second really 1.07 times the first.
#[test]
fn ratios_between_runs_cover_95_percent() {
    let bound = 0.95 - 3.0 * standard_error(0.95, draws());
    let truth = 1.07f64.ln();
    for n in [12, 20] {
        let mut draw = Draw::seeded(200 + n as u64);
        let covered = (0..draws()).filter(|_| {
            let mut logs = |shift: f64| (0..n).map(|_| skewed(&mut draw).ln() + shift).collect();
            let (a, b): (Vec<f64>, Vec<f64>) = (logs(truth), logs(0.0));
            holds(&stats::hodges_lehmann_shift(&a, &b, ALPHA).unwrap(), truth)
        });
        let share = covered.count() as f64 / draws() as f64;
        assert!(share >= bound, "{n} launches: {share}, below {bound}");
    }
}

// ---- alarms ------------------------------------------------------------------------------------

/// A/A pairs of each simulation.
fn pairs() -> usize {
    many(4_000, 20_000) as usize
}

/// Alarms of so many A/A pairs lie where 99 % of fair tests of this error would: of 20,000, 5 % ± 0.4 %.
fn assert_alarms(what: &str, error: f64, alarms: usize) {
    let share = alarms as f64 / pairs() as f64;
    // Of the few draws of the short form three standard errors, as everywhere here.
    let errors = if is_long() { Z99 } else { 3.0 };
    let slack = errors * standard_error(error, pairs());
    assert!((share - error).abs() <= slack, "{what}: {share} of the A/A pairs alarm, not {error}");
}

#[test]
fn a_a_pairs_of_one_run_alarm_as_often_as_their_ranks_say() {
    for n in [20, 30] {
        let mut draw = Draw::seeded(300 + n as u64);
        let (_, _, coverage) = stats::median_ranks(n, ALPHA).unwrap();
        let alarms = (0..pairs()).filter(|_| {
            // What disturbs a round multiplies both of its launches.
            let rounds: Vec<f64> = (0..n).map(|_| (0.1 * draw.normal()).exp()).collect();
            let mut case =
                || rounds.iter().map(|round| round * skewed(&mut draw)).collect::<Vec<f64>>();
            let (a, b) = (case(), case());
            stats::compare_paired(&a, &b, ALPHA).unwrap().p < ALPHA
        });
        assert_alarms(&format!("paired, {n}"), 1.0 - coverage, alarms.count());
    }
}

#[test]
fn a_a_runs_alarm_in_five_percent() {
    let shapes: [One; 2] = [skewed, bimodal];
    for (nth, one) in shapes.into_iter().enumerate() {
        let mut draw = Draw::seeded(400 + nth as u64);
        let alarms = (0..pairs()).filter(|_| {
            let mut run = || (0..20).map(|_| one(&mut draw)).collect::<Vec<f64>>();
            let (a, b) = (run(), run());
            stats::mann_whitney(&a, &b).p < ALPHA
        });
        assert_alarms("unpaired, 20 and 20", ALPHA, alarms.count());
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

/// In `FAMILIES` families of 45 comparisons, one of which is slower by `effect`: that one is found, and
/// with the right sign, in at least 9 of 10; and no more than 5 % of the families find anything
/// else, but for the chance of so few (99 %).
fn assert_finds(seed: u64, effect: f64, test: fn(&[f64], &[f64]) -> (f64, bool)) {
    let mut draw = Draw::seeded(seed);
    let (mut found, mut wrong) = (0, 0);
    for _ in 0..FAMILIES {
        let tests: Vec<(f64, bool)> = (0..FAMILY)
            .map(|nth| {
                let center = if nth == 0 { 1.0 + effect } else { 1.0 };
                let (b, a) = (launches(&mut draw, center), launches(&mut draw, 1.0));
                test(&b, &a)
            })
            .collect();
        let corrected = stats::holm(&tests.iter().map(|test| test.0).collect::<Vec<f64>>());
        found += usize::from(corrected[0] < ALPHA && tests[0].1);
        wrong += usize::from(corrected[1..].iter().any(|p| *p < ALPHA));
    }
    let (found, wrong) = (found as f64 / FAMILIES as f64, wrong as f64 / FAMILIES as f64);
    assert!(found >= 0.9, "{effect} found in {found} of the families");
    let slack = Z99 * standard_error(ALPHA, FAMILIES);
    assert!(wrong <= ALPHA + slack, "{wrong} of the families find what isn't there");
}

#[test]
fn four_percent_within_a_run_is_found_nine_times_in_ten() {
    assert_finds(500, 0.04, |b, a| {
        let found = stats::compare_paired(b, a, ALPHA).unwrap();
        (found.p, found.ratio.estimate > 1.0)
    });
}

#[test]
fn three_percent_between_runs_is_found_nine_times_in_ten() {
    assert_finds(501, 0.03, |b, a| {
        let found = stats::compare_unpaired(b, a, ALPHA).unwrap();
        (found.p, found.ratio.estimate > 1.0)
    });
}

// ---- shapes, the best, shares ------------------------------------------------------------------

/// Logarithms of launches of two cases that differ in shape, or of one shape.
const TWO_SHAPES: [(&str, One, One); 5] = [
    ("right-skewed, left-skewed", skewed_at_zero, |draw| -skewed_at_zero(draw)),
    ("30 % slow, normal", |draw| slow(draw, 0.3, 0.4), |draw| slow(draw, 0.0, 0.0)),
    ("stalled, normal", |draw| slow(draw, 0.1, 3.0), |draw| slow(draw, 0.0, 0.0)),
    ("two modes, mirrored", |draw| slow(draw, 0.3, 1.5), |draw| -slow(draw, 0.3, 1.5)),
    ("normal", |draw| slow(draw, 0.0, 0.0), |draw| slow(draw, 0.0, 0.0)),
];

fn skewed_at_zero(draw: &mut Draw) -> f64 {
    ((100.0 - 20.0 * draw.uniform().ln()) / (100.0 + 20.0 * std::f64::consts::LN_2)).ln()
}

/// Normal launches, of which a share takes longer.
fn slow(draw: &mut Draw, share: f64, longer: f64) -> f64 {
    0.02 * draw.normal() + if draw.uniform() < share { longer } else { 0.0 }
}

/// The median of so many draws.
fn median_of(draw: &mut Draw, one: impl Fn(&mut Draw) -> f64) -> f64 {
    stats::median_of((0..200_001).map(|_| one(draw))).unwrap()
}

/// By how much the first of two shapes lies above the second in the middle of their pairs.
fn middle_of_pairs(one: One, other: One) -> f64 {
    median_of(&mut Draw::seeded(600), |draw| one(draw) - other(draw))
}

/// The interval of a ratio holds the middle of the ratios of all rounds as often as it says, 95 to 99 %, whatever the
/// shapes.
#[test]
fn ratios_cover_95_percent_whatever_the_shapes() {
    for (name, a, b) in TWO_SHAPES {
        let truth = middle_of_pairs(a, b);
        for n in [12, 22, 39] {
            let mut draw = Draw::seeded(610 + n as u64);
            let covered = (0..draws()).filter(|_| {
                let logs: Vec<f64> = (0..n).map(|_| a(&mut draw) - b(&mut draw)).collect();
                holds(&stats::compare(&logs, ALPHA).unwrap().ratio, truth.exp())
            });
            let share = covered.count() as f64 / draws() as f64;
            println!("{name}, {n}: {share:.4} hold");
            let (_, _, said) = stats::median_ranks(n, ALPHA).unwrap();
            let slack = 3.0 * standard_error(said, draws());
            assert!(
                (0.95..=0.99).contains(&said) && (share - said).abs() <= slack,
                "{name}, {n}: {share}"
            );
        }
    }
}

/// What docs/METHOD.md tells of cases whose medians are equal and whose shapes differ: how often they are called
/// different. The ratio within rounds is not that of medians, so nothing bounds it but the figures told there.
#[test]
#[ignore = "long form"]
fn equal_medians_of_different_shapes_are_called_different_more_often() {
    let runs = many(1_000, 10_000) as usize;
    for (name, a, b) in TWO_SHAPES {
        let [of_a, of_b] = [a, b].map(|one| median_of(&mut Draw::seeded(620), one));
        for n in [12, 22, 39] {
            let mut draw = Draw::seeded(630 + n as u64);
            let (mut within, mut between) = (0, 0);
            for _ in 0..runs {
                let mut case = |one: One, median: f64| {
                    (0..n).map(|_| (one(&mut draw) - median).exp()).collect::<Vec<f64>>()
                };
                let (a, b) = (case(a, of_a), case(b, of_b));
                within += usize::from(stats::compare_paired(&a, &b, ALPHA).unwrap().p < ALPHA);
                between += usize::from(stats::compare_unpaired(&a, &b, ALPHA).unwrap().p < ALPHA);
            }
            let [within, between] = [within, between].map(|number| number as f64 / runs as f64);
            println!("{name}, {n}: {within:.4} within a run, {between:.4} between runs");
        }
    }
}

/// How often what is said of the best held.
struct Said {
    /// That either of the first two cases, which are equal, may be the best.
    kept: [f64; 2],
    /// That each is slower than the best by no more, and by no less, than was said.
    bounded: [f64; 2],
}

/// Groups of cases of two shapes in turns, which lie by `shifts` above the best in the middle of the rounds.
fn said_of_the_best((one, other): (One, One), shifts: &[f64], n: usize, runs: usize) -> Said {
    let middle = middle_of_pairs(one, other);
    let mut draw = Draw::seeded(700);
    let (mut kept, mut bounded) = ([0; 2], [0; 2]);
    for _ in 0..runs {
        let rounds: Vec<f64> = (0..n).map(|_| 0.02 * draw.normal()).collect();
        let case = |(nth, shift): (usize, &f64)| -> Vec<f64> {
            let (one, middle) = if nth % 2 == 0 { (one, middle) } else { (other, 0.0) };
            rounds.iter().map(|round| one(&mut draw) - middle + round + shift).collect()
        };
        let logs: Vec<Vec<f64>> = shifts.iter().enumerate().map(case).collect();
        let ratios = |a: usize, b: usize| -> Vec<f64> {
            logs[a].iter().zip(&logs[b]).map(|(a, b)| a - b).collect()
        };
        let found = stats::against_best(shifts.len(), &ratios, ALPHA, NEGLIGIBLE);
        kept.iter_mut()
            .zip(&found)
            .for_each(|(kept, difference)| *kept += usize::from(difference.may_be_best));
        // The middle of so many draws is known to a thousandth.
        let at_most = |(difference, shift): (&stats::AgainstBest, &f64)| {
            difference.slower_at_most.is_some_and(|most| most >= shift.exp_m1() - 1e-3)
        };
        let at_least = |(difference, shift): (&stats::AgainstBest, &f64)| {
            difference.slower_at_least.is_some_and(|least| least <= shift.exp_m1() + 1e-3)
        };
        bounded[0] += usize::from(found.iter().zip(shifts).all(at_most));
        bounded[1] += usize::from(found.iter().zip(shifts).all(at_least));
    }
    let share = |number: usize| number as f64 / runs as f64;
    Said { kept: kept.map(share), bounded: bounded.map(share) }
}

/// The best, and what is slower by no more than is negligible, is thrown out of the set in at most 5 % of the groups,
/// whatever the shapes and however many cases.
#[test]
#[ignore = "long form"]
fn the_best_is_thrown_out_in_at_most_five_percent_whatever_the_shapes() {
    let runs = many(150, 2_000) as usize;
    let bound = 0.95 - 3.0 * standard_error(0.95, runs);
    for (name, one, other) in TWO_SHAPES {
        for cases in [8, 10, 25] {
            for n in [12, 22, 39] {
                let mut shifts = vec![0.0; cases];
                shifts[..2].fill(NEGLIGIBLE.ln_1p());
                let Said { kept, .. } = said_of_the_best((one, other), &shifts, n, runs);
                println!("{name}, {cases} cases, {n} rounds: {kept:.4?} keep the best");
                assert!(kept.iter().all(|value| *value >= bound), "{name}, {cases}, {n}: {kept:?}");
            }
        }
    }
}

/// Each case is slower than the best by no more than is said, and by no less, all at once in 95 % of the groups.
#[test]
#[ignore = "long form"]
fn what_is_said_of_the_best_holds_for_95_percent_of_the_groups() {
    let runs = many(400, 4_000) as usize;
    let bound = 0.95 - 3.0 * standard_error(0.95, runs);
    let apart = [0.0, 0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.4];
    for (name, one, other) in TWO_SHAPES {
        for shifts in [[0.0; 8], apart] {
            let Said { kept, bounded } = said_of_the_best((one, other), &shifts, 12, runs);
            println!(
                "{name}, {shifts:?}: {kept:.4?} keep the best, distances hold in {bounded:.4?}"
            );
            let all = kept.iter().chain(&bounded).all(|value| *value >= bound);
            assert!(all, "{name}, {shifts:?}: {kept:?}, {bounded:?}");
        }
    }
}

/// Losses by launch: of how many messages, and what draws those that are lost of so many.
type Losses = (&'static str, f64, fn(&mut Draw, u64) -> u64);

/// Each by itself; in bursts of 30 in the mean; half of one launch in five; all of one in twenty.
const LOSSES: [Losses; 5] = [
    ("each by itself", 0.01, |draw, all| {
        (0..all).filter(|_| draw.uniform() <= 0.01).count() as u64
    }),
    ("in bursts of 30", 0.01, |draw, all| bursts(draw, all, 0.01, 30.0)),
    ("in bursts of 100", 0.01, |draw, all| bursts(draw, all, 0.01, 100.0)),
    ("half of a launch", 0.1, |draw, all| if draw.uniform() <= 0.2 { all / 2 } else { 0 }),
    ("whole launches", 0.05, |draw, all| if draw.uniform() <= 0.05 { all } else { 0 }),
];

/// Gilbert's chain of two states.
fn bursts(draw: &mut Draw, all: u64, share: f64, length: f64) -> u64 {
    let begins = share / (length * (1.0 - share));
    let mut losing = draw.uniform() <= share;
    (0..all)
        .filter(|_| {
            let lost = losing;
            losing = if losing { draw.uniform() > 1.0 / length } else { draw.uniform() <= begins };
            lost
        })
        .count() as u64
}

/// Intervals of a share hold the true one in at least 93 %, also where no launch lost anything.
#[test]
#[ignore = "long form"]
fn shares_of_losses_in_bursts_cover_93_percent() {
    let runs = many(400, 2_000) as usize;
    let slack = 3.0 * standard_error(0.93, runs);
    for (name, truth, lost) in LOSSES {
        for n in [12, 30] {
            let mut draw = Draw::seeded(800 + n);
            let (mut covered, mut none) = (0, 0);
            for _ in 0..runs {
                let launches: Vec<(u64, u64)> =
                    (0..n).map(|_| (lost(&mut draw, 400), 400)).collect();
                let found = stats::clustered_share(&launches).unwrap();
                covered += usize::from(found.low <= truth && truth <= found.high);
                none += usize::from(found.share == 0.0);
            }
            let share = covered as f64 / runs as f64;
            println!(
                "{name}, {n} launches: {share:.4} hold; none was seen in {:.3}",
                none as f64 / runs as f64
            );
            assert!(share >= 0.93 - slack, "{name}, {n} launches: {share}");
        }
    }
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

// ---- screening ---------------------------------------------------------------------------------

/// Noise of launches, as a logarithm of median 0, with a standard deviation of 0.2: that of a bad hour.
const NOISES: [(&str, One); 5] = [
    ("normal", |draw| 0.2 * draw.normal()),
    ("skewed", |draw| 0.2 * (-draw.uniform().ln() - std::f64::consts::LN_2)),
    ("skewed down", |draw| -0.2 * (-draw.uniform().ln() - std::f64::consts::LN_2)),
    ("70/30", |draw| two_modes_at_zero(draw, 0.436)),
    ("30/70", |draw| -two_modes_at_zero(draw, 0.436)),
];

fn two_modes_at_zero(draw: &mut Draw, apart: f64) -> f64 {
    let high = if draw.uniform() <= 0.3 { apart } else { 0.0 };
    0.02 * (draw.normal() - 0.565_948_821_932_863) + high
}

/// Screens cases by their first launches, by the function that screens groups.
fn screened(launches: &[Vec<f64>]) -> Vec<bool> {
    let case = |launches: &Vec<f64>| Screened {
        launches: launches[..screening::ROUNDS].iter().copied().map(Some).collect(),
        class: Class::Copying,
        spins: false,
        stays: false,
    };
    screening::contenders(&launches.iter().map(case).collect::<Vec<_>>())
}

/// Where all are as quick as the best, so that every rival may look quicker, a best one is dropped in at most 0.5 %.
#[test]
#[ignore = "long form"]
fn screening_drops_the_best_in_less_than_one_in_two_hundred() {
    let runs = many(4_000, 40_000) as usize;
    let slack = 3.0 * standard_error(0.005, runs);
    for (name, noise) in NOISES {
        for rivals in [8, 10, 25] {
            let mut draw = Draw::seeded(900 + rivals);
            let dropped = (0..runs).filter(|_| {
                let mut case = || (0..screening::ROUNDS).map(|_| noise(&mut draw).exp()).collect();
                !screened(&(0..rivals).map(|_| case()).collect::<Vec<Vec<f64>>>())[0]
            });
            let share = dropped.count() as f64 / runs as f64;
            println!("{name}, {rivals}: the best dropped in {share:.4}");
            assert!(share <= 0.005 + slack, "{name}, {rivals} cases: {share}");
        }
    }
}

/// Whatever screening saw, the intervals of what goes on hold in 95 %: of the ratio to a reference, of its own median, and of
/// what looked quickest. Those that counted the rounds that screened would not, for that one.
#[test]
#[ignore = "long form"]
fn intervals_of_what_goes_on_cover_95_percent() {
    let runs = many(400, 4_000) as usize;
    for (name, noise) in NOISES {
        for (rivals, rounds) in [(8, 12), (25, 12), (25, 17)] {
            let mut draw = Draw::seeded(950 + rivals as u64);
            let (mut covered, mut all, mut firsts) = ([0; 2], 0, [0; 2]);
            for _ in 0..runs {
                // The first is the reference; half of the others are up to 40 % slower.
                let truths: Vec<f64> = (0..rivals)
                    .map(|nth| (0.8 * nth as f64 / rivals as f64 - 0.4).max(0.0))
                    .collect();
                let launches: Vec<Vec<f64>> = truths
                    .iter()
                    .map(|value| {
                        let launch = |_| (value + noise(&mut draw)).exp();
                        (0..screening::ROUNDS + rounds).map(launch).collect()
                    })
                    .collect();
                let on = screened(&launches);
                let median = |values: &Vec<f64>| {
                    stats::median_of(values[..screening::ROUNDS].iter().copied())
                };
                let quickest = (1..rivals).min_by(|a, b| {
                    median(&launches[*a]).partial_cmp(&median(&launches[*b])).unwrap()
                });
                for nth in (1..rivals).filter(|nth| on[*nth]) {
                    let late = &launches[nth][screening::ROUNDS..];
                    let ratios: Vec<f64> = late
                        .iter()
                        .zip(&launches[0][screening::ROUNDS..])
                        .map(|(a, b)| a / b)
                        .collect();
                    let found = [interval_of(late), interval_of(&ratios)]
                        .map(|ranked| ranked.unwrap().interval)
                        .map(|interval| holds(&interval, truths[nth].exp()));
                    all += 1;
                    for (sum, flag) in covered.iter_mut().zip(found) {
                        *sum += usize::from(flag);
                    }
                    if quickest == Some(nth) {
                        firsts
                            .iter_mut()
                            .zip(found)
                            .for_each(|(sum, flag)| *sum += usize::from(flag));
                    }
                }
            }
            let shares = covered.map(|number| number as f64 / all as f64);
            let of_first = firsts.map(|number| number as f64 / runs as f64);
            println!(
                "{name}, {rivals}, {rounds}: {shares:.4?}; of what looked quickest {of_first:.4?}"
            );
            let fewest = 0.95 - 3.0 * standard_error(0.95, runs);
            assert!(
                shares.iter().chain(&of_first).all(|share| *share >= fewest),
                "{name}: {shares:?} {of_first:?}"
            );
        }
    }
}
