//! When a group ends: after as many rounds as were planned for it, or where its time does.
//!
//! Nothing here knows launches or the store. Values are asked once, after the first rounds: how many launches the
//! precision needs that was asked. One analysis is made of what there is then.

use model::request::MOST_LAUNCHES;
use stats::LEAST_LAUNCHES;
use store::Closed;

/// What bounds a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// Exactly so many launches, which the user asked for.
    pub launches: Option<usize>,
    /// So many are enough for the precision that was asked; None where that isn't known yet, or isn't asked.
    pub needed: Option<usize>,
    /// For how many more rounds there is time; None if there is time for any number.
    pub rounds_left: Option<usize>,
    /// Whether time may end it with less than [`LEAST_LAUNCHES`].
    pub hard: bool,
    /// Whether it goes on all the same, because too many of its rounds were disturbed.
    pub lacking: bool,
}

impl Bound {
    /// How many launches a group will have that has so many now.
    pub fn plan(&self, now: usize) -> usize {
        let least = if self.hard { 0 } else { LEAST_LAUNCHES };
        let by_time = self.rounds_left.map_or(usize::MAX, |left| (now + left).max(least));
        match (self.launches, self.needed) {
            (Some(launches), _) => launches.min(by_time),
            (None, Some(needed)) if needed.max(LEAST_LAUNCHES) <= by_time => {
                needed.max(LEAST_LAUNCHES).max(now)
            }
            (None, _) => stats::narrowest(now, by_time.min(MOST_LAUNCHES as usize).max(now)),
        }
    }

    /// Why a group ends with so many launches; None where it goes on.
    pub fn ends(&self, now: usize) -> Option<Closed> {
        if now < self.plan(now) || self.lacking {
            return None;
        }
        Some(match (self.launches, self.needed) {
            (Some(launches), _) if now >= launches => Closed::Launches,
            (None, Some(needed)) if now >= needed => Closed::Precise,
            (None, _) if now >= MOST_LAUNCHES as usize => Closed::Launches,
            _ => Closed::Budget,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(rounds_left: usize) -> Bound {
        Bound { rounds_left: Some(rounds_left), ..Bound::default() }
    }

    #[test]
    fn a_group_has_what_its_precision_needs_where_there_is_time() {
        let needs = |needed, left| Bound { needed: Some(needed), ..time(left) };
        assert_eq!((needs(150, 500).plan(4), needs(5, 500).plan(4)), (150, 12));
        assert_eq!(
            (needs(150, 500).ends(149), needs(150, 1).ends(150)),
            (None, Some(Closed::Precise))
        );
        assert_eq!(needs(5, 0).ends(12), Some(Closed::Precise));
        assert_eq!(Bound { hard: true, ..needs(5, 100) }.ends(5), None, "there is time for twelve");
        assert_eq!((needs(150, 10).plan(12), needs(150, 0).ends(22)), (20, Some(Closed::Budget)));
    }

    #[test]
    fn where_time_ends_the_narrowest_interval_is_taken() {
        assert_eq!(
            (time(10).plan(4), time(2).plan(12), time(0).ends(12)),
            (12, 12, Some(Closed::Budget))
        );
        assert_eq!((time(13).plan(4), time(1).ends(12)), (17, Some(Closed::Budget)));
    }

    #[test]
    fn twelve_launches_are_made_unless_the_user_set_the_time() {
        let hard = |rounds_left| Bound { hard: true, ..time(rounds_left) };
        assert_eq!(
            (time(0).ends(3), hard(0).ends(3), hard(1).ends(3)),
            (None, Some(Closed::Budget), None)
        );
    }

    #[test]
    fn a_number_that_was_asked_for_is_kept() {
        let exactly = Bound { launches: Some(300), needed: Some(20), ..Bound::default() };
        assert_eq!((exactly.ends(22), exactly.ends(300)), (None, Some(Closed::Launches)));
        let in_time = Bound { rounds_left: Some(0), ..exactly };
        assert_eq!(in_time.ends(200), Some(Closed::Budget));
    }

    #[test]
    fn what_lacks_undisturbed_rounds_goes_on() {
        for bound in [time(0), Bound { launches: Some(12), ..Bound::default() }] {
            assert!(bound.ends(12).is_some());
            assert_eq!(Bound { lacking: true, ..bound }.ends(12), None);
        }
    }
}
