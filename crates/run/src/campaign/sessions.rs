//! Sessions: one run in several stretches of time, with pauses between. What the machine is like now
//! and what it is like in two minutes differ by more than launches of one minute do; each session has
//! the same part of the rounds.

use std::time::{Duration, Instant};

use super::Campaign;
use machine::interrupt::Interrupted;
use model::request::Sessions;

/// The session under way.
pub(super) struct Session {
    /// From 1.
    pub(super) nth: u64,
    began: Instant,
}

impl Session {
    pub(super) fn nth(nth: u64) -> Session {
        Session { nth, began: Instant::now() }
    }
}

impl Campaign<'_> {
    /// Whether this session has had its part of the launches, or of the budget, and another follows.
    pub(super) fn session_ends(&self) -> bool {
        let Some(Sessions { count, .. }) = self.request.sessions else { return false };
        let stopping = &self.request.stopping;
        let open = || self.groups.iter().filter(|group| group.closed.is_none());
        if self.session.nth >= count || open().next().is_none() {
            return false;
        }
        match (stopping.launches, stopping.budget_ns) {
            (Some(launches), _) => {
                let part = (launches * self.session.nth).div_ceil(count);
                open().all(|group| group.rounds >= part)
            }
            (None, Some(budget)) => {
                let part = u128::from(budget) * u128::from(self.session.nth) / u128::from(count);
                self.began.elapsed().as_nanos() >= part
            }
            (None, None) => false,
        }
    }

    /// Waits until the next session is due and begins it. The pause is no part of the budget.
    pub(super) fn next_session(&mut self) -> Result<(), Interrupted> {
        let Some(Sessions { count, every_ns }) = self.request.sessions else { return Ok(()) };
        let paused = Instant::now();
        let due = self.session.began + Duration::from_nanos(every_ns);
        let nth = self.session.nth + 1;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if self.with.interrupt.signal().is_some() || !self.with.progress.wanted() {
                return Err(Interrupted);
            }
            if left.is_zero() {
                break;
            }
            let seconds = left.as_secs_f64().ceil();
            self.with.progress.stage(&format!("session {nth} of {count} begins in {seconds} s"));
            self.with.interrupt.sleep(left);
        }
        self.began += paused.elapsed();
        self.session = Session::nth(nth);
        Ok(())
    }
}
