//! When a group ends: as soon as every interval is narrow enough, or where its time does.
//!
//! Nothing here knows launches or the store. What is decided depends on values only through the one
//! question that an analysis asks, and its answer is paid for ([`stats::analyses`]).

use stats::{Analysis, LEAST_LAUNCHES, MOST_LAUNCHES, Plan};
use store::Closed;

/// A group that is being measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progressed {
    /// Rounds that it has.
    pub rounds: usize,
    /// The error that a first analysis spent which closed nothing; 0 if there was none.
    pub spent: f64,
}

/// What bounds it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// Exactly so many launches, which the user asked for; else [`MOST_LAUNCHES`] at most.
    pub launches: Option<usize>,
    /// For how many more rounds there is time; None if there is time for any number.
    pub rounds_left: Option<usize>,
    /// Whether time may end it with less than [`LEAST_LAUNCHES`].
    pub hard: bool,
    /// Whether it goes on all the same, because too many of its rounds were disturbed.
    pub lacking: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Another round; with what is spent by then.
    Round {
        /// As in [`Progressed`].
        spent: f64,
    },
    /// It ends.
    Close {
        /// Why.
        closed: Closed,
        /// What its other analysis spent, or would have; 0 where there is one only.
        spent: f64,
    },
}

impl Progressed {
    /// What is planned for it now.
    pub fn plan(&self, bound: Bound) -> Plan {
        let least = if bound.hard { 0 } else { LEAST_LAUNCHES };
        let by_time = bound.rounds_left.map_or(usize::MAX, |left| (self.rounds + left).max(least));
        if let Some(launches) = bound.launches {
            return Plan::exactly(launches.min(by_time));
        }
        let within = by_time.min(MOST_LAUNCHES);
        Plan::within(self.rounds, within, self.spent > 0.0)
    }

    /// Whether it goes on; `is_precise` is asked at most once, about an analysis that is made.
    pub fn next(&self, bound: Bound, is_precise: impl FnOnce(&Analysis) -> bool) -> Next {
        let plan = self.plan(bound);
        let mut spent = self.spent;
        if spent == 0.0
            && let Some(analysis) = plan.first_analysis(self.rounds)
        {
            if is_precise(&analysis) {
                return Next::Close {
                    closed: Closed::Precise,
                    spent: analysis.spent - analysis.error,
                };
            }
            spent = analysis.error;
        }
        if self.rounds < plan.launches || bound.lacking {
            return Next::Round { spent };
        }
        let all = self.rounds >= bound.launches.unwrap_or(MOST_LAUNCHES);
        let closed = if all { Closed::Launches } else { Closed::Budget };
        Next::Close { closed, spent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(rounds: usize, spent: f64, bound: Bound, precise: bool) -> Next {
        Progressed { rounds, spent }.next(bound, |_| precise)
    }

    fn time(rounds_left: usize) -> Bound {
        Bound { rounds_left: Some(rounds_left), ..Bound::default() }
    }

    #[test]
    fn a_group_that_is_precise_closes_at_its_first_analysis_and_nowhere_else() {
        let first = Analysis::first(0.0).error;
        for rounds in 0..MOST_LAUNCHES {
            let found = next(rounds, 0.0, Bound::default(), true);
            let closes = matches!(found, Next::Close { closed: Closed::Precise, .. });
            assert_eq!(closes, rounds == stats::FIRST_ANALYSIS, "{rounds}: {found:?}");
        }
        assert_eq!(next(22, 0.0, time(50), false), Next::Round { spent: first });
        // It is asked once.
        assert_eq!(next(22, first, time(50), true), Next::Round { spent: first });
    }

    #[test]
    fn where_time_ends_soon_there_is_one_analysis() {
        assert_eq!(next(12, 0.0, time(0), true), close(Closed::Budget, 0.0));
        assert_eq!(next(22, 0.0, time(1), true), Next::Round { spent: 0.0 });
        assert_eq!(next(23, 0.0, time(0), true), close(Closed::Budget, 0.0));
        let first = Analysis::first(0.0).error;
        assert_eq!(next(40, first, time(0), true), close(Closed::Budget, first));
        assert_eq!(next(100, first, time(70), true), close(Closed::Launches, first));
    }

    #[test]
    fn twelve_launches_are_made_unless_the_user_set_the_time() {
        let hard = |rounds_left| Bound { hard: true, ..time(rounds_left) };
        assert_eq!(next(3, 0.0, time(0), false), Next::Round { spent: 0.0 });
        assert_eq!(next(3, 0.0, hard(0), false), close(Closed::Budget, 0.0));
        assert_eq!(next(3, 0.0, hard(1), false), Next::Round { spent: 0.0 });
    }

    #[test]
    fn a_number_that_was_asked_for_is_kept() {
        let exactly = |launches| Bound { launches: Some(launches), ..Bound::default() };
        assert_eq!(next(22, 0.0, exactly(50), true), Next::Round { spent: 0.0 });
        assert_eq!(next(50, 0.0, exactly(50), true), close(Closed::Launches, 0.0));
        assert_eq!(next(200, 0.0, exactly(300), true), Next::Round { spent: 0.0 });
        let in_time = Bound { rounds_left: Some(0), ..exactly(300) };
        assert_eq!(next(200, 0.0, in_time, true), close(Closed::Budget, 0.0));
    }

    #[test]
    fn what_lacks_undisturbed_rounds_goes_on() {
        let lacking = |bound| Bound { lacking: true, ..bound };
        for bound in [time(0), Bound { launches: Some(12), ..Bound::default() }] {
            assert_eq!(next(12, 0.0, lacking(bound), false), Next::Round { spent: 0.0 });
            assert!(matches!(next(12, 0.0, bound, false), Next::Close { .. }));
        }
        assert_eq!(next(150, 0.0, lacking(Bound::default()), false), Next::Round { spent: 0.0 });
    }

    fn close(closed: Closed, spent: f64) -> Next {
        Next::Close { closed, spent }
    }
}
