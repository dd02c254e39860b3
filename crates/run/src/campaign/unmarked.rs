//! Undisturbed rounds: how many a group has, and how long it is measured for more of them.

use super::{Campaign, LiveCase, LiveGroup};
use model::launch::{Outcome, Record};
use store::StoreError;

/// How many times what was asked (time, or launches) is spent on undisturbed rounds.
pub const MOST_TIMES: u64 = 3;

/// Launches of a round, and those of them during which others forked.
#[derive(Clone, Copy, Default)]
pub(super) struct Forks {
    launches: usize,
    with: usize,
    /// Of those among them that took turns: how many, and the most forks that one of them saw, each of all their turns.
    in_turns: usize,
    seen_in_turns: u64,
}

impl Forks {
    /// Takes a launch into account, unless its workers fork, or its instrumentation may; company is no noise to a
    /// round that it is a part of.
    pub(super) fn count(&mut self, live: &LiveCase, record: &Record) {
        let Some(noise) = record.noise.as_ref().filter(|_| record.outcome == Outcome::Ok) else {
            return;
        };
        let generators =
            record.initiator.punctuality.map_or(1, |punctuality| punctuality.generators);
        let own = live.case.forks() || generators > 1;
        let others = noise.forks.filter(|_| !live.is_observed() && !live.is_accompanied() && !own);
        if let Some(forks) = others {
            self.launches += 1;
            if record.initiator.turns.is_some() {
                self.in_turns += 1;
                self.seen_in_turns = self.seen_in_turns.max(forks);
            } else {
                self.with += usize::from(forks > 0);
            }
        }
    }

    /// Whether that was during at least half of them. Of those that took turns each fork is taken to be in a slice of another
    /// one.
    pub(super) fn disturb(self) -> bool {
        let in_turns = self.in_turns.min(self.seen_in_turns as usize);
        self.launches > 0 && 2 * (self.with + in_turns) >= self.launches
    }
}

impl Campaign<'_> {
    /// Whether a group is measured on because too many of its rounds were disturbed. More rounds are no remedy
    /// where nobody can know.
    pub(super) fn lacks_unmarked(&self, group: &LiveGroup) -> bool {
        let stopping = &self.request.stopping;
        let spent = |asked: u64, spent: u128| spent >= u128::from(asked) * u128::from(MOST_TIMES);
        let time = stopping
            .budget_ns
            .is_some_and(|budget_ns| spent(budget_ns, self.began.elapsed().as_nanos()));
        let launches =
            stopping.launches.is_some_and(|launches| spent(launches, group.rounds.into()));
        let found = group.unmarked + group.unknown;
        stopping.unmarked.is_some_and(|asked| found < asked) && !time && !launches
    }

    /// Says which groups have fewer undisturbed rounds than asked.
    pub(super) fn warn_of_lacking(&mut self) -> Result<(), StoreError> {
        let Some(asked) = self.request.stopping.unmarked else { return Ok(()) };
        let short = self.groups.iter().filter(|group| group.unmarked < asked);
        let (unknown, disturbed): (Vec<&LiveGroup>, Vec<&LiveGroup>) =
            short.partition(|group| group.unmarked + group.unknown >= asked);
        let named = |groups: &[&LiveGroup]| {
            let of = |group: &&LiveGroup| {
                format!("{} ({} of {})", group.title(), group.unmarked, group.rounds)
            };
            groups.iter().map(of).collect::<Vec<String>>().join(", ")
        };
        let rounds = model::words::counted(asked, "round");
        let (unknown, disturbed) = (named(&unknown), named(&disturbed));
        if !disturbed.is_empty() {
            self.warn(&format!(
                "fewer than {rounds} left undisturbed in {MOST_TIMES} times the time: {disturbed}; \
                 `ipcmark doctor` says by what"
            ))?;
        }
        if !unknown.is_empty() {
            self.warn(&format!(
                "fewer than {rounds} known to be undisturbed: {unknown}; what would tell can't be read \
                 here, and `ipcmark doctor` says why"
            ))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::sizing::tests::case;
    use super::*;
    use crate::plan::Case;
    use model::cycles::Turns;
    use model::load::{Load, Server};
    use model::noise::Noise;
    use model::workload::Workload;

    #[test]
    fn a_fork_during_the_turns_of_many_launches_is_in_one_of_them() {
        let live =
            LiveCase::new(1, Rc::new(case("pipe", Workload::Latency)), None, (None, None, None));
        let of = |launches: u64, forks: u64, turns: bool| {
            let mut record = Record::without_samples(Outcome::Ok);
            record.noise = Some(Noise { forks: Some(forks), ..Noise::default() });
            record.initiator.turns = turns.then(Turns::default);
            let mut found = Forks::default();
            (0..launches).for_each(|_| found.count(&live, &record));
            found.disturb()
        };
        assert!(!of(10, 0, true) && !of(10, 4, true) && of(10, 5, true) && of(10, 500, true));
        assert!(!of(10, 0, false) && of(10, 1, false) && !of(0, 1, false));
    }

    #[test]
    fn who_has_threads_or_a_crowd_of_its_own_forks_and_round_trips_do_not() {
        let forks = |workload| case("pipe", workload).forks();
        let all = [Workload::Connect, Workload::Messaging, Workload::FanOut, Workload::Shared];
        assert!(all.into_iter().all(forks));
        let none = [Workload::Latency, Workload::Throughput, Workload::Duplex, Workload::Rate];
        assert!(!none.into_iter().any(forks));
        let served = |server| {
            let load = Some(Load { connections: 4, server, ..Load::USUAL });
            Case { load, ..case("pipe", Workload::Rate) }.forks()
        };
        assert!(served(Some(Server::Threads)) && !served(None));
    }
}
