//! A round: every case of the groups launched once, in a random order of its own.

use std::time::{Duration, Instant};

use super::driver::{LaunchRequest, RoundOf, Turn};
use super::sizing::{pilot_messages, pilot_of};
use super::{Campaign, Launched, LiveCase, Stop, value_ns};
use crate::launch::{LaunchResult, Spec};
use crate::plan::are_waited_for;
use machine::interrupt::Interrupted;
use model::capacity::LOOKS;
use model::launch::SampleCount;
use model::noise::count_disturbed;
use store::{NewLaunch, StoreError};

impl Campaign<'_> {
    /// Measures one round of some groups and stores it.
    pub(super) fn round(&mut self, of: &[usize]) -> Result<(), Stop> {
        let began = Instant::now();
        let nth = self.groups[of[0]].rounds + 1;
        let began_ns = self.measured_ns();
        let round = RoundOf { groups: &self.groups, of, nth, request: &self.request };
        self.driver.begin_round(&round, Duration::from_nanos(began_ns));
        let sets = self.driver.sets(&round);
        for set in sets {
            let set = self.wanted(set, |live| live.samples > 0, nth);
            let made = self.launch(&set, nth);
            let interrupted = made.is_err();
            if let Ok(results) = made {
                self.keep(nth, &set, results)?;
            }
            self.tell_lost()?;
            if interrupted {
                self.flush()?;
                self.tell_launches();
                return Err(Stop::Interrupted);
            }
        }
        self.flush()?;
        let noise = self.driver.end_round();
        let measured = self.measured_ns();
        for nth_group in of {
            let group = &mut self.groups[*nth_group];
            group.rounds = nth;
            group.took_round(began.elapsed());
            if let Some(mut noise) = noise.clone() {
                noise.session = self.session.nth;
                noise.contenders = group.screened > 0;
                let disturbance = noise.disturbance();
                group.unmarked += u64::from(disturbance.is_none());
                group.unknown += u64::from(disturbance.is_unknown());
                self.with.store.add_round(self.run, group.nth, nth, began_ns, &noise)?;
            }
        }
        self.with.store.set_measuring(self.run, measured)?;
        if LOOKS.contains(&nth) {
            of.iter().try_for_each(|nth| self.end_hopeless(*nth))?;
        }
        self.tell_launches();
        if let Some(why) = self.driver.warning() {
            self.warn(&why)?;
        }
        Ok(())
    }

    /// Of a set the launches that are made: of cases that go on and whose nodes take part, and that are not
    /// stored already.
    pub(super) fn wanted(
        &self,
        set: Vec<Turn>,
        also: impl Fn(&LiveCase) -> bool,
        round: u64,
    ) -> Vec<Turn> {
        let wanted = |turn: &Turn| {
            let live = &self.groups[turn.group].cases[turn.case];
            let stored = self.stored.contains(&(live.id, round));
            !live.given_up && !stored && also(live) && self.driver.reaches(live)
        };
        set.into_iter().filter(wanted).collect()
    }

    /// Makes launches of a round that are set up together.
    pub(super) fn launch(
        &mut self,
        set: &[Turn],
        round: u64,
    ) -> Result<Vec<LaunchResult>, Interrupted> {
        if set.is_empty() {
            return Ok(Vec::new());
        }
        if self.with.interrupt.signal().is_some() {
            return Err(Interrupted);
        }
        let quiet =
            if self.groups[set[0].group].wants_quiet { self.settle } else { Duration::ZERO };
        let set = set.iter().map(|turn| self.asked(turn, round)).collect();
        self.driver.launch(set, quiet)
    }

    fn asked(&self, turn: &Turn, round: u64) -> LaunchRequest {
        let group = &self.groups[turn.group];
        let live = &group.cases[turn.case];
        let nodes = turn.nodes(live);
        let shared = self.spec(live, nodes.0);
        let mut spec = match round {
            0 => {
                let batch = pilot_messages(&live.case).unwrap_or(0);
                pilot_of(&live.case, Spec { batch, ..shared })
            }
            _ => {
                let seed = drawn_in(self.request.seed, group.nth, round);
                Spec { seed, buffer_offset: turn.offset, ..shared }
            }
        };
        if turn.swapped && live.case.place.swappable {
            std::mem::swap(&mut spec.initiator_cpu, &mut spec.responder_cpu);
        }
        if spec.samples == SampleCount::Exactly(0) {
            spec.samples = SampleCount::Exactly(1);
        }
        let route = live.case.route.clone();
        if route.is_local() && spec.workload.traits().paced {
            // What is observed, or has company, has one generator, and so has what it is compared with.
            let special = |case: &LiveCase| case.is_observed() || case.is_accompanied();
            let one = group.cases.iter().any(special);
            let clients = if one { 1 } else { spec.connections() };
            spec.generators = self.driver.generators(&spec, clients);
        }
        // What the scheduler places and busy-waits would first look for two CPUs in each slice.
        let settled = spec.pinned() || !live.case.variant.busy_waits();
        // Who resends would take a pause for a slow path, and wait for seconds from then on.
        let paced_by_acknowledgements = are_waited_for(&live.case.variant, &route);
        let takes_turns =
            route.is_local() && settled && !paced_by_acknowledgements && spec.takes_turns();
        let arm = live.case.arm.clone();
        LaunchRequest {
            spec,
            route,
            arm,
            nodes,
            padding: turn.padding,
            slot: turn.slot,
            takes_turns,
        }
    }

    /// Reports what was stored. At the end of a round only: the reader wakes up, and would
    /// run beside the next set and the gaps that are looked for after the last.
    fn tell_launches(&mut self) {
        let launches = std::mem::take(&mut self.unreported);
        self.with.progress.launched(&launches);
    }

    /// Keeps and tells why nodes take no part any more.
    pub(super) fn tell_lost(&mut self) -> Result<(), StoreError> {
        for (nth, name, why) in self.driver.newly_lost() {
            self.with.progress.warning(&format!("{name} left the run: {why}"));
            self.with.store.set_node_reason(self.run, nth, &why)?;
        }
        Ok(())
    }

    /// Says once, at the end, how many rounds were marked, and by what.
    pub(super) fn warn_of_marks(&mut self) -> Result<(), StoreError> {
        let rounds = self.with.store.rounds(self.run)?;
        match count_disturbed(rounds.iter().map(|round| &round.noise)) {
            Some(warning) if self.measured_before > 0 => {
                self.warn(&format!("counting those before it was resumed, {warning}"))
            }
            Some(warning) => self.warn(&warning),
            None => Ok(()),
        }
    }

    /// Takes in the results of a set's launches.
    fn keep(
        &mut self,
        round: u64,
        set: &[Turn],
        results: Vec<LaunchResult>,
    ) -> Result<(), StoreError> {
        for (turn, result) in set.iter().zip(results) {
            let row = self.row(round, turn, result);
            let live = &mut self.groups[turn.group].cases[turn.case];
            self.driver.note(live, &row.record);
            let (status, reason) = row.standing();
            let median_ns = row.record.initiator.median_ns;
            live.count(median_ns);
            self.unreported.push(Launched {
                case: row.case,
                round,
                swapped: row.swapped,
                status,
                reason,
                median_ns,
                samples: row.samples.len() as u64,
            });
            self.pending.push(row);
        }
        self.flush_if_due()
    }

    pub(super) fn row(&self, round: u64, turn: &Turn, result: LaunchResult) -> NewLaunch {
        let LaunchResult { mut record, samples } = result;
        let live = &self.groups[turn.group].cases[turn.case];
        let scale = self.clock(turn.nodes(live).0).ns_per_tick;
        let batch = record.initiator.batch.max(1);
        record.initiator.median_ns =
            if round == 0 { None } else { value_ns(&mut samples.clone(), batch, scale) };
        if let Some(turns) = &mut record.initiator.turns {
            turns.set = turn.set as u64;
        }
        NewLaunch {
            case: live.id,
            round,
            position: turn.position,
            swapped: turn.swapped && live.case.place.swappable,
            padding: turn.padding,
            offset: turn.offset,
            record,
            samples,
        }
    }

    fn flush_if_due(&mut self) -> Result<(), StoreError> {
        let since = *self.pending_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.driver.stored_within() { self.flush() } else { Ok(()) }
    }

    /// Stores the launches that have ended.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        self.pending_since = None;
        let launches = std::mem::take(&mut self.pending);
        self.with.store.add_launches(&launches)
    }
}

/// The seed of what the launches of a round draw (losses on the way): all cases of a group draw alike,
/// and each round anew.
fn drawn_in(seed: u64, group: usize, round: u64) -> u64 {
    let drawn = (group as u64) << 32 | round;
    seed ^ drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
