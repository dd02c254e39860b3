//! The clocks: what a read costs, how fine a step shows, how well they agree.
//!
//! The smallest step is found by two means. By a growing loop, the method of a course's paper
//! assignment (University of Wisconsin-Madison, CS 736, fall 2014): an empty loop between two
//! reads grows from one iteration until the reads differ. And by repeated reads: what the differences of
//! consecutive ones are multiples of. The loop can't show less than what a read costs where the clock is finer than
//! that; so the cost stands beside.

use model::floors::{ClockFloor, Clocks, Repeats};
use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::setting::{Setting, repeat};
use model::clock::{Anchor, ClockKind};
use sys::clock::{Clock, MonotonicRaw, Tsc, step_of};

/// Reads in one repeat of the cost.
const READS: u64 = 200;
/// Differences among which one repeat takes the smallest.
const DIFFERENCES: (usize, usize) = (500, 5_000);
/// Loops grown in one repeat, of which the smallest difference counts.
const LOOPS: (usize, usize) = (50, 500);
/// The loop of a clock that does not advance is given up after so many iterations.
const LONGEST_LOOP: u64 = 1 << 24;
/// Spans over which clocks are compared, a second in all.
const SPANS: usize = 10;
const SPAN: Duration = Duration::from_millis(100);
/// Steps and costs closer than this count as equal.
const EQUAL_WITHIN: f64 = 0.1;
/// A step of at most so many reads is that of the reads: the clock's own may be finer.
const READS_TO_SHOW: f64 = 1.5;

/// CLOCK_MONOTONIC, which NTP steers: for comparison only.
struct Monotonic;

impl Clock for Monotonic {
    #[inline(always)]
    fn now() -> u64 {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

pub fn measure(setting: &Setting) -> Clocks {
    let mut clocks = Vec::new();
    let watch = &setting.watch;
    if watch.kind == ClockKind::Tsc {
        clocks.push(clock::<Tsc>(setting, "tsc", watch.ns_per_tick));
    }
    clocks.push(clock::<MonotonicRaw>(setting, "monotonic_raw", 1.0));
    clocks.push(clock::<Monotonic>(setting, "monotonic", 1.0));
    let mut compared_over_ns = None;
    if setting.is_full() {
        let anchors = anchors(watch.kind);
        compared_over_ns = Some(anchors[SPANS].raw_ns - anchors[0].raw_ns);
        for clock in &mut clocks {
            clock.disagreement_ppm = disagreement(&clock.clock, &anchors);
        }
    }
    let (best, equal) = most_precise(&clocks, name(watch.kind));
    Clocks {
        most_precise: best,
        as_precise: equal,
        used: name(watch.kind).into(),
        tsc_unavailable: setting.clock.tsc_unavailable.clone(),
        clocks,
        compared_over_ns,
    }
}

fn name(kind: ClockKind) -> &'static str {
    match kind {
        ClockKind::Tsc => "tsc",
        ClockKind::MonotonicRaw => "monotonic_raw",
    }
}

fn clock<C: Clock>(setting: &Setting, name: &str, ns_per_tick: f64) -> ClockFloor {
    let repeats = setting.by_extent(12, 30);
    let within = Duration::from_millis(setting.by_extent(20, 100));
    let cost = |_| {
        let start = C::now();
        for _ in 1..READS {
            black_box(C::now());
        }
        (C::now() - start) as f64 * ns_per_tick / READS as f64
    };
    let cost_ns = repeat(repeats, within, cost);
    let loops = setting.by_extent(LOOPS.0, LOOPS.1);
    let grown: Vec<Grown> = (0..repeats)
        .filter_map(|_| {
            (0..loops).filter_map(|_| grow(C::now, idle)).min_by_key(|growth| growth.step)
        })
        .collect();
    let reads = setting.by_extent(DIFFERENCES.0, DIFFERENCES.1);
    let steps: Vec<f64> = (0..repeats)
        .filter_map(|_| step_of(differences(C::now, reads)))
        .map(|ticks| ticks * ns_per_tick)
        .collect();
    let summary = |values: Vec<f64>| (!values.is_empty()).then(|| Repeats::of(&values));
    ClockFloor {
        clock: name.into(),
        cost_ns,
        step_by_loop_ns: summary(
            grown.iter().map(|growth| growth.step as f64 * ns_per_tick).collect(),
        ),
        loop_iterations: summary(grown.iter().map(|growth| growth.iterations as f64).collect()),
        step_by_reads_ns: summary(steps),
        disagreement_ppm: None,
    }
}

/// A loop that has grown until two clock reads around it differed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grown {
    iterations: u64,
    /// The difference, in ticks.
    step: u64,
}

/// Grows a loop from one iteration, one at a time, until the reads before and after it differ.
fn grow(now: impl Fn() -> u64, run: impl Fn(u64)) -> Option<Grown> {
    (1..=LONGEST_LOOP).find_map(|iterations| {
        let before = now();
        run(iterations);
        let step = now().saturating_sub(before);
        (step > 0).then_some(Grown { iterations, step })
    })
}

/// An empty loop that the compiler may not remove.
#[inline(always)]
fn idle(iterations: u64) {
    for nth in 0..iterations {
        black_box(nth);
    }
}

/// The differences of `reads` consecutive reads, in ticks.
fn differences(now: impl Fn() -> u64, reads: usize) -> impl Iterator<Item = u64> {
    let mut last = now();
    (0..reads).map(move |_| {
        let now = now();
        now.saturating_sub(std::mem::replace(&mut last, now))
    })
}

fn anchors(kind: ClockKind) -> Vec<Anchor> {
    let mut anchors = vec![sys::clock::anchor(kind)];
    for _ in 0..SPANS {
        std::thread::sleep(SPAN);
        anchors.push(sys::clock::anchor(kind));
    }
    anchors
}

fn disagreement(clock: &str, anchors: &[Anchor]) -> Option<Repeats> {
    let whole = anchors[0].ns_per_tick(anchors.last()?);
    let ppm = |span: &[Anchor]| match clock {
        "tsc" => Some((whole / span[0].ns_per_tick(&span[1]) - 1.0) * 1e6),
        "monotonic" => Some(span[0].steering_ppm(&span[1])),
        _ => None,
    };
    let values: Option<Vec<f64>> = anchors.windows(2).map(ppm).collect();
    values.map(|values| Repeats::of(&values))
}

/// [`Clocks::most_precise`] and [`Clocks::as_precise`].
fn most_precise(clocks: &[ClockFloor], used: &str) -> (String, Vec<String>) {
    let cost = |clock: &ClockFloor| clock.cost_ns.lower().unwrap_or(f64::INFINITY);
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let mut fine: Vec<&ClockFloor> = clocks.iter().collect();
    let finest =
        least(&mut fine.iter().map(|floor| floor.smallest_step_ns())) * (1.0 + EQUAL_WITHIN);
    fine.retain(|floor| floor.smallest_step_ns() <= finest.max(READS_TO_SHOW * cost(floor)));
    let cheapest = least(&mut fine.iter().map(|floor| cost(floor))) * (1.0 + EQUAL_WITHIN);
    fine.retain(|floor| cost(floor) <= cheapest);
    fine.sort_by(|a, b| {
        (a.clock != used, cost(a))
            .partial_cmp(&(b.clock != used, cost(b)))
            .expect("costs are numbers")
    });
    let mut names = fine.into_iter().map(|floor| floor.clock.clone());
    (names.next().unwrap_or_default(), names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A clock that shows time in steps; reading and looping take time.
    struct Fake {
        time: Cell<u64>,
        step: u64,
        read: u64,
    }

    impl Fake {
        fn new(step: u64, read: u64) -> Fake {
            Fake { time: Cell::new(0), step, read }
        }
        fn now(&self) -> u64 {
            self.time.set(self.time.get() + self.read);
            self.time.get() / self.step * self.step
        }
        fn run(&self, iterations: u64) {
            self.time.set(self.time.get() + iterations);
        }
    }

    #[test]
    fn a_loop_grows_until_a_coarse_clock_steps() {
        let fake = Fake::new(1_000, 2);
        let grown = grow(|| fake.now(), |iterations| fake.run(iterations)).unwrap();
        assert_eq!(grown.step, 1_000);
        // 1 + 2 + … + k iterations, and 2 k reads of 2, pass 1000 at k = 41.
        assert_eq!(grown.iterations, 41);
        assert_eq!(step_of(differences(|| fake.now(), 2_000)), Some(1_000.0));
    }

    #[test]
    fn a_clock_finer_than_its_cost_shows_the_cost() {
        let fake = Fake::new(1, 20);
        let grown = grow(|| fake.now(), |iterations| fake.run(iterations)).unwrap();
        assert_eq!(grown, Grown { iterations: 1, step: 21 });
        assert_eq!(step_of(differences(|| fake.now(), 10)), Some(20.0));
    }

    #[test]
    fn a_clock_that_does_not_advance_is_given_up() {
        assert_eq!(grow(|| 7, |_| ()), None);
        assert_eq!(step_of(differences(|| 7, 100)), None);
    }

    fn floor(name: &str, step: f64, cost: f64) -> ClockFloor {
        ClockFloor {
            clock: name.into(),
            cost_ns: Repeats::of(&[cost]),
            step_by_loop_ns: Some(Repeats::of(&[step * 2.0])),
            loop_iterations: None,
            step_by_reads_ns: Some(Repeats::of(&[step])),
            disagreement_ppm: None,
        }
    }

    #[test]
    fn the_finer_clock_is_the_more_precise_and_of_equal_ones_the_cheaper() {
        let coarse = [floor("tsc", 10.0, 60.0), floor("monotonic", 1e6, 5.0)];
        assert_eq!(most_precise(&coarse, "monotonic"), ("tsc".into(), vec![]));
        let cheaper = [floor("monotonic_raw", 10.0, 25.0), floor("tsc", 10.3, 17.0)];
        assert_eq!(most_precise(&cheaper, "monotonic_raw"), ("tsc".into(), vec![]));
    }

    #[test]
    fn what_reads_cannot_separate_is_equal_and_the_used_one_wins() {
        let equal = [floor("tsc", 30.0, 21.0), floor("monotonic", 20.0, 20.5)];
        assert_eq!(most_precise(&equal, "tsc"), ("tsc".into(), vec!["monotonic".into()]));
        assert_eq!(most_precise(&equal, "none").0, "monotonic");
    }

    #[test]
    fn disagreement_is_given_span_by_span() {
        let anchor = |ticks, raw_ns, monotonic_ns| Anchor { ticks, raw_ns, monotonic_ns };
        let anchors = [anchor(0, 0, 0), anchor(2_000, 1_000, 1_001), anchor(4_000, 2_000, 2_002)];
        let monotonic = disagreement("monotonic", &anchors).unwrap();
        assert!((monotonic.median.unwrap() - 1_000.0).abs() < 1e-6, "{monotonic:?}");
        assert!(disagreement("tsc", &anchors).unwrap().median.unwrap().abs() < 1e-6);
        assert_eq!(disagreement("monotonic_raw", &anchors), None);
    }
}
