//! How long an acknowledgement, or an answer, may take before something is done about it (RFC 6298, with
//! a millisecond as the least beyond the mean): the mean of what it took lately and four times its
//! spread, doubled each time in vain, but for few times: what loses datagrams here is no congestion,
//! which would end by waiting.

use std::time::{Duration, Instant};

/// The least beyond the mean: a path that never varies is no reason to be early.
const LEAST: Duration = Duration::from_millis(1);
/// How many times it is doubled at most.
const DOUBLED: u32 = 3;
/// It isn't doubled beyond that, where twice is less.
const LONGEST: Duration = Duration::from_millis(500);
/// Before anything is known.
const FIRST: Duration = Duration::from_millis(10);
/// How much longer than the wait by now something counts at most: what took longer was lost on its way
/// back a few times, and says nothing of the path.
const LONGER: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Always so long, where that was asked.
    fixed: Option<Duration>,
    known: Option<(Duration, Duration)>,
    doubled: u32,
}

impl Timer {
    /// One that learns, or that is fixed.
    pub fn new(fixed: Option<Duration>) -> Timer {
        Timer { fixed, known: None, doubled: 0 }
    }

    /// How long to wait by now.
    pub fn wait(&self) -> Duration {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let (first, doubled) = (self.at_first(), 1 << self.doubled.min(DOUBLED));
        (first * doubled).min(LONGEST.max(2 * first))
    }

    /// How long to wait for what was sent once.
    fn at_first(&self) -> Duration {
        self.known.map_or(FIRST, |(mean, spread)| mean + (4 * spread).max(LEAST))
    }

    /// What is left of the wait for something sent at `since`.
    pub fn left(&self, since: Instant) -> Duration {
        self.wait().saturating_sub(since.elapsed())
    }

    /// An acknowledgement took so long.
    pub fn took(&mut self, time: Duration) {
        let time = time.min(LONGER * self.at_first());
        self.known = Some(match self.known {
            None => (time, time / 2),
            Some((mean, spread)) => ((7 * mean + time) / 8, (3 * spread + mean.abs_diff(time)) / 4),
        });
    }

    /// Something was acknowledged.
    pub fn goes_on(&mut self) {
        self.doubled = 0;
    }

    /// Nothing was, in time.
    pub fn back_off(&mut self) {
        self.doubled += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_doubles_and_begins_again() {
        let mut timer = Timer::new(None);
        assert_eq!(timer.wait(), FIRST);
        for _ in 0..100 {
            timer.took(Duration::from_millis(20));
        }
        let known = timer.wait();
        assert!((20..22).contains(&known.as_millis()), "{known:?}");
        timer.back_off();
        assert_eq!(timer.wait(), 2 * known);
        (0..20).for_each(|_| timer.back_off());
        assert_eq!(timer.wait(), 8 * known);
        timer.goes_on();
        assert_eq!(timer.wait(), known);
        (0..100).for_each(|_| timer.took(Duration::from_micros(30)));
        assert!((LEAST..2 * LEAST).contains(&timer.wait()));
    }

    #[test]
    fn what_was_lost_for_long_makes_no_long_waits_and_a_long_path_is_learned() {
        let mut timer = Timer::new(None);
        (0..100).for_each(|_| timer.took(Duration::from_micros(30)));
        timer.took(Duration::from_secs(5));
        assert!(timer.wait() < 4 * LEAST, "{:?}", timer.wait());

        let mut timer = Timer::new(None);
        let path = Duration::from_millis(300);
        let learned = (1..).find(|_| {
            timer.took(path);
            timer.wait() > path
        });
        assert_eq!(learned, Some(3));
    }

    #[test]
    fn a_fixed_one_stays() {
        let mut timer = Timer::new(Some(Duration::from_millis(3)));
        timer.took(Duration::from_millis(50));
        timer.back_off();
        assert_eq!(timer.wait(), Duration::from_millis(3));
    }
}
