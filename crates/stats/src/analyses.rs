//! When the launches of a group are analysed, and the ranks that keep the error at 5 %.
//!
//! A group closes early where its intervals are narrow enough. Computing the ordinary 95 % interval
//! again and again, and stopping once it is narrow, makes it cover far less than 95 %. So there are two
//! analyses at most: one after [`FIRST_ANALYSIS`] launches, where many more are to come, and one at the
//! end, wherever that is. Their ranks are chosen together: both intervals cover the true median at
//! once with at least 95 %. Whichever a group closes with, and for whatever reason, then has at least
//! that coverage.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::interval::{Interval, between_ranks};

/// Launches at the first of two analyses.
///
/// It spends 1.7 % there, on the ranks that 22 launches would have by themselves (6 and 17), so that
/// it costs nothing if the group closes; and of the numbers below 27 it is the only one after which no
/// number of launches has an interval more than 1.2 times as wide as without it (normal launches; 1.06 times on
/// average up to 100). After 12 that was 1.26 to 1.4 times: ranks 3 and 10 cost 3.9 %.
pub const FIRST_ANALYSIS: usize = 22;

/// The first analysis is made only where the end is at least so far away: it couldn't save much else.
const WORTH_AN_ANALYSIS: usize = 30;

/// Launches that a group gets whatever they take, unless the user set a time limit.
pub const LEAST_LAUNCHES: usize = 12;

/// Launches at which a group ends, however wide its intervals.
pub const MOST_LAUNCHES: usize = 100;

/// The probability that any interval of a group's case misses, over both analyses.
pub const TOTAL_ERROR: f64 = 0.05;

/// An analysis: the ranks of the interval, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Analysis {
    /// Launches at this analysis.
    pub launches: usize,
    /// Rank of the lower end among the sorted values, counted from 1.
    pub low_rank: usize,
    /// Rank of the upper end.
    pub high_rank: usize,
    /// The probability that this interval misses the median, and no earlier one did.
    pub error: f64,
    /// The probability that this interval misses, or that of the group's other analysis.
    pub spent: f64,
}

impl Analysis {
    /// The only analysis, of a number of launches that doesn't depend on what they measure. `None`
    /// where no ranks fit (`launches` < 6).
    pub fn only(launches: usize) -> Option<Analysis> {
        static USUAL: LazyLock<Vec<Option<Analysis>>> = LazyLock::new(|| {
            (0..=MOST_LAUNCHES).map(|launches| narrowest(&Walk::after(launches), 0.0)).collect()
        });
        static OTHERS: Kept = Kept::new(BTreeMap::new());
        match USUAL.get(launches) {
            Some(analysis) => *analysis,
            None => kept(&OTHERS, launches, || narrowest(&Walk::after(launches), 0.0)),
        }
    }

    /// The first of two analyses, if the other one is to spend `reserved`.
    pub fn first(reserved: f64) -> Analysis {
        let analysis = Analysis::only(FIRST_ANALYSIS).expect("22 launches have ranks");
        Analysis { spent: analysis.error + reserved, ..analysis }
    }

    /// The second of two analyses, which spends what the first one left. `None` unless `launches` are
    /// more than [`FIRST_ANALYSIS`].
    pub fn second(launches: usize) -> Option<Analysis> {
        static USUAL: LazyLock<Vec<Option<Analysis>>> =
            LazyLock::new(|| (0..=MOST_LAUNCHES).map(second).collect());
        static OTHERS: Kept = Kept::new(BTreeMap::new());
        match USUAL.get(launches) {
            Some(analysis) => *analysis,
            None => kept(&OTHERS, launches, || second(launches)),
        }
    }

    /// The analysis that a case with so many launches is entitled to, whose group closed as `end` says.
    pub fn at(launches: usize, end: GroupEnd) -> Option<Analysis> {
        match end {
            GroupEnd::AtFirst { reserved } if launches == FIRST_ANALYSIS => {
                Some(Analysis::first(reserved))
            }
            GroupEnd::AfterFirst if launches > FIRST_ANALYSIS => Analysis::second(launches),
            // Some of its launches failed: then it was not analysed before.
            _ => Analysis::only(launches),
        }
    }

    /// The median of `values` (in any order) with the interval of this analysis.
    ///
    /// `None` when the number of values is not [`Analysis::launches`] or one is NaN.
    pub fn interval(&self, values: &[f64]) -> Option<Interval> {
        if values.len() != self.launches {
            return None;
        }
        between_ranks(values, self.low_rank, self.high_rank, 1.0 - self.spent)
    }
}

/// How a group ended, as far as its intervals are concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GroupEnd {
    /// It was analysed once.
    Once,
    /// At the first of two analyses, because every interval was narrow enough.
    AtFirst {
        /// What the second one would have spent.
        reserved: f64,
    },
    /// Later, or there and then, after a first analysis that closed nothing.
    AfterFirst,
}

/// When a group that may go on for a certain time is analysed, and when it ends.
///
/// Times depend on the machine, and on values only through how long launches take; the plan
/// uses no measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Launches after which it ends.
    pub launches: usize,
    /// Whether it is analysed after [`FIRST_ANALYSIS`] launches too.
    pub analysed_twice: bool,
}

impl Plan {
    /// Exactly so many launches, and one analysis.
    pub fn exactly(launches: usize) -> Plan {
        Plan { launches, analysed_twice: false }
    }

    /// For a group that has `now` launches and time for `within` at most. Of the numbers in between it
    /// is the one with the narrowest interval, which need not be the largest: 13 launches have a wider
    /// one than 12. With `looked` it was analysed once already.
    pub fn within(now: usize, within: usize, analysed: bool) -> Plan {
        let most = within.max(now);
        let analysed_twice = analysed || (now <= FIRST_ANALYSIS && most >= WORTH_AN_ANALYSIS);
        let (mut launches, mut deepest) = (now, depth(now, analysed_twice));
        for n in now + 1..=most {
            let depth = depth(n, analysed_twice);
            if depth > deepest {
                (launches, deepest) = (n, depth);
            }
        }
        Plan { launches, analysed_twice }
    }

    /// The first analysis, where it is due after so many launches.
    pub fn first_analysis(&self, launches: usize) -> Option<Analysis> {
        if !self.analysed_twice || launches != FIRST_ANALYSIS {
            return None;
        }
        Some(Analysis::first(
            Analysis::second(self.launches).map_or(0.0, |analysis| analysis.error),
        ))
    }
}

/// Analyses of more launches than usual: a walk of thousands takes a second, and each case asks again.
type Kept = Mutex<BTreeMap<usize, Option<Analysis>>>;

fn kept(
    known: &Kept,
    launches: usize,
    find: impl FnOnce() -> Option<Analysis>,
) -> Option<Analysis> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(launches).or_insert_with(find)
}

/// How deep the ranks of the last analysis of so many launches lie: the probability below the lower one, by
/// Blom's scores. The deeper, the narrower is the interval. Where there is none, the most launches say most.
fn depth(launches: usize, analysed_twice: bool) -> f64 {
    let analysis = if analysed_twice { Analysis::second(launches) } else { None };
    match analysis.or_else(|| Analysis::only(launches)) {
        Some(analysis) => (analysis.low_rank as f64 - 0.375) / (launches as f64 + 0.25),
        None => launches as f64 - MOST_LAUNCHES as f64,
    }
}

fn second(launches: usize) -> Option<Analysis> {
    if launches <= FIRST_ANALYSIS {
        return None;
    }
    let first = Analysis::first(0.0);
    let mut walk = Walk::after(FIRST_ANALYSIS);
    walk.miss(first.low_rank);
    walk.advance_to(launches);
    narrowest(&walk, first.error)
}

/// The narrowest interval that what was `spent` before leaves room for.
fn narrowest(walk: &Walk, spent: f64) -> Option<Analysis> {
    let launches = walk.below.len() - 1;
    let (mut low_rank, mut error) = (0, 0.0);
    while low_rank < launches.div_ceil(2) {
        let more = error + walk.below[low_rank] + walk.below[launches - low_rank];
        if spent + more > TOTAL_ERROR {
            break;
        }
        (low_rank, error) = (low_rank + 1, more);
    }
    if low_rank == 0 {
        return None;
    }
    let high_rank = launches + 1 - low_rank;
    Some(Analysis { launches, low_rank, high_rank, error, spent: spent + error })
}

/// The fair walk of the number of launches below the true median.
///
/// Errors are exact, not bounds. The number of launches below the true median is a fair random walk
/// whatever the distribution, and an interval misses when the walk is below its lower rank or has reached
/// its upper one. First misses exclude each other, so their sum is the probability of any miss. (Values tied with
/// the median can only help.) The device is that of Armitage, McPherson and Rowe (1969),
/// "Repeated significance tests on accumulating data", applied to the sign test.
struct Walk {
    /// `below[k]`: probability of `k` launches below, and no interval that missed so far.
    below: Vec<f64>,
}

impl Walk {
    fn after(launches: usize) -> Self {
        let mut walk = Walk { below: vec![1.0] };
        walk.advance_to(launches);
        walk
    }

    fn advance_to(&mut self, launches: usize) {
        while self.below.len() <= launches {
            let mut after = 0.0;
            for here in &mut self.below {
                let before = *here;
                *here = (before + after) / 2.0;
                after = before;
            }
            self.below.push(after / 2.0);
        }
    }

    /// Takes out of the walk what the interval from this rank misses.
    fn miss(&mut self, low_rank: usize) {
        let first_above = self.below.len() - low_rank;
        self.below[..low_rank].fill(0.0);
        self.below[first_above..].fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::interval::median_ranks;
    use super::*;

    #[test]
    fn an_only_analysis_has_the_ranks_of_a_fixed_number_of_launches() {
        for n in (0..=130).chain([1000, 2500]) {
            let analysis =
                Analysis::only(n).map(|analysis| (analysis.low_rank, analysis.high_rank));
            let ranks = median_ranks(n, TOTAL_ERROR).map(|(low, high, _)| (low, high));
            assert_eq!(analysis, ranks, "n = {n}");
        }
    }

    #[test]
    fn the_first_analysis_has_the_ranks_it_would_have_alone() {
        let (first, alone) = (Analysis::first(0.03), Analysis::only(FIRST_ANALYSIS).unwrap());
        assert_eq!((first.low_rank, first.high_rank), (6, 17));
        assert_eq!((first.low_rank, first.error), (alone.low_rank, alone.error));
        assert_eq!(first.spent, first.error + 0.03);
    }

    #[test]
    fn both_analyses_together_spend_at_most_five_percent() {
        assert_eq!(Analysis::second(FIRST_ANALYSIS), None);
        for n in FIRST_ANALYSIS + 1..=MOST_LAUNCHES {
            let analysis = Analysis::second(n).unwrap();
            assert!(analysis.spent <= TOTAL_ERROR && analysis.spent > 0.025, "{analysis:?}");
            assert!((analysis.spent - analysis.error - Analysis::first(0.0).error).abs() < 1e-15);
            // At most one rank further out than without the first.
            let alone = Analysis::only(n).unwrap();
            assert!(alone.low_rank - analysis.low_rank <= 1, "{analysis:?}");
        }
    }

    #[test]
    fn whatever_ends_a_group_its_interval_is_that_of_the_analysis_made_then() {
        let ranks = |n, end| Analysis::at(n, end).map(|it| (it.low_rank, it.high_rank));
        // Twelve launches are twelve launches.
        assert_eq!(ranks(12, GroupEnd::Once), Some((3, 10)));
        assert!((Analysis::at(12, GroupEnd::Once).unwrap().spent - 158.0 / 4096.0).abs() < 1e-15);
        // A first analysis that closed nothing, and no launch since.
        assert_eq!(ranks(22, GroupEnd::AfterFirst), Some((6, 17)));
        assert_eq!(ranks(22, GroupEnd::AtFirst { reserved: 0.01 }), Some((6, 17)));
        assert_eq!(ranks(30, GroupEnd::AfterFirst), Some((10, 21)));
        assert_eq!(
            ranks(31, GroupEnd::AfterFirst),
            Analysis::second(31).map(|it| (it.low_rank, it.high_rank))
        );
        // Of a case whose launches failed.
        assert_eq!(ranks(12, GroupEnd::AtFirst { reserved: 0.01 }), Some((3, 10)));
        assert_eq!(ranks(5, GroupEnd::Once), None);
    }

    #[test]
    fn a_plan_takes_the_narrowest_interval_within_reach() {
        assert_eq!(Plan::within(0, 14, false), Plan { launches: 12, analysed_twice: false });
        assert_eq!(Plan::within(0, 17, false).launches, 17);
        assert_eq!(Plan::within(13, 14, false).launches, 13, "no launch can be taken back");
        assert_eq!(Plan::within(12, 12, false).launches, 12);
        // Without any interval the most launches say most.
        assert_eq!(Plan::within(0, 4, false).launches, 4);
        let twice = |now, within| Plan::within(now, within, false).analysed_twice;
        assert!(!twice(0, 29) && twice(0, 30) && !twice(23, 100));
        assert_eq!(Plan::within(0, 100, false).launches, 100);
        // 31 to 34 launches have a wider one than 30 without a first analysis, and after one too.
        assert_eq!(Plan::within(25, 34, true).launches, 33);
    }

    #[test]
    fn the_first_analysis_is_due_once_and_only_where_much_is_to_come() {
        let long = Plan::within(22, 100, false);
        let analysis = long.first_analysis(22).unwrap();
        let joint = Analysis::second(long.launches).unwrap().spent;
        assert!((analysis.spent - joint).abs() < 1e-15, "what is claimed covers both");
        assert_eq!(long.first_analysis(23), None);
        assert_eq!(Plan::within(22, 25, false).first_analysis(22), None);
        assert_eq!(Plan::exactly(50).first_analysis(22), None);
    }

    #[test]
    fn an_interval_wants_exactly_its_launches() {
        let analysis = Analysis::only(12).unwrap();
        assert_eq!(analysis.interval(&[1.0; 11]), None);
        assert_eq!(analysis.interval(&[f64::NAN; 12]), None);
        assert_eq!(analysis.interval(&[1.0; 12]).unwrap().coverage, 1.0 - analysis.spent);
    }
}
