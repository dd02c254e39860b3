//! A run on many nodes, from the first hello to the last round: the order of the launches, what is stored,
//! and what happens when a node is lost. Launches that were set up together are stored together, as soon as
//! they have ended. After any kill the store opens, and the run can be resumed.

mod live;
mod order;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::agent_pool::{AgentPool, Interrupted};
use super::floors;
use super::plan::Kind;
use super::tournament::{self, index};
use crate::campaign::{
    deadline_ms, deadline_of, drawn_in, lasting_ns, now_utc, operation_ns, pilot_of, sized,
};
use crate::launch::peer::address;
use crate::launch::spec::BUILD;
use crate::launch::state::{FarEnd, Wanted, is_given_up};
use crate::launch::{Interrupt, LaunchResult, Spec};
use live::{Done, Live, Turn, revive};
use model::launch::{Outcome, SampleCount, Warmup};
use order::Item;
use store::{FleetAsked, NewLaunch, RunStatus, Store, StoreError};

/// Launches of one node that are set up together.
const BATCH: usize = 12;
/// Longest time for which ended launches that were simulated are only in memory: they end by the
/// thousand.
const KEPT_WITHIN: Duration = Duration::from_millis(900);

/// The tools of a fleet's run.
pub struct Conditions<'a> {
    /// Where everything is kept.
    pub store: &'a mut Store,
    /// Notices signals.
    pub interrupt: &'a Interrupt,
    /// Hears how it goes, a line at a time; never while anything is timed.
    pub tell: &'a mut dyn FnMut(&str),
}

/// A run on many nodes.
pub struct Fleet<'a> {
    with: Conditions<'a>,
    run: i64,
    asked: FleetAsked,
    kinds: Vec<Kind>,
    agents: AgentPool<'a>,
    network: Option<model::peer::Address>,
    /// Cases, group by group.
    live: Vec<Vec<Live>>,
    done: Done,
    pending: Vec<NewLaunch>,
    /// When the first of them ended.
    since: Option<Instant>,
    told_lost: HashSet<usize>,
    began: Instant,
    measured_before: u64,
}

impl<'a> Fleet<'a> {
    /// Runs or resumes run `run`, whose cases are stored: starts the agents and measures every launch that
    /// is not stored yet. Returns the run's status.
    ///
    /// # Errors
    /// The store can't be read or written.
    pub fn run(
        with: Conditions<'a>,
        run: i64,
        asked: FleetAsked,
        kinds: Vec<Kind>,
    ) -> Result<RunStatus, StoreError> {
        let began = Instant::now();
        let stored = with.store.fleet(run)?;
        let measured_before = stored.as_ref().map_or(0, |it| it.measuring_ns);
        (with.tell)(&format!("starting an agent on each of {} nodes", asked.nodes.len()));
        let Ok(mut agents) = AgentPool::start(&asked, with.interrupt) else {
            with.store.end_fleet(run, RunStatus::Interrupted, &now_utc(), measured_before)?;
            return Ok(RunStatus::Interrupted);
        };
        // Its clock is another after a boot: what was measured before has the old one's scale.
        for (nth, before) in stored.iter().flat_map(|it| it.nodes.iter().enumerate()) {
            let boot = |far: &model::peer::FarHost| far.host.boot_id.clone();
            if let (Some(before), Some(now)) = (&before.far, &agents.far[nth])
                && boot(before) != boot(now)
            {
                agents.give_up(nth, "it was started anew since the run began: measure anew".into());
            }
        }
        let (live, done) = revive(with.store, run, &kinds, asked.nodes.len())?;
        let network = asked.network.as_deref().and_then(|text| address::network(text).ok());
        let mut fleet = Fleet {
            with,
            run,
            asked,
            kinds,
            agents,
            network,
            live,
            done,
            pending: Vec::new(),
            since: None,
            told_lost: HashSet::new(),
            began,
            measured_before,
        };
        fleet.keep_nodes(stored.map(|it| it.nodes).unwrap_or_default())?;
        let interrupted = fleet.measure()?.is_err();
        fleet.flush()?;
        fleet.tell_lost()?;
        let status = if interrupted { RunStatus::Interrupted } else { RunStatus::Complete };
        let took = fleet.measured_before + fleet.began.elapsed().as_nanos() as u64;
        fleet.with.store.end_fleet(run, status, &now_utc(), took)?;
        Ok(status)
    }

    /// Keeps what the nodes are, and their bounds where they aren't known.
    fn keep_nodes(&mut self, before: Vec<store::StoredNode>) -> Result<(), StoreError> {
        for nth in 0..self.asked.nodes.len() {
            let known = before.get(nth).is_some_and(|it| it.far.is_some());
            match &self.agents.far[nth] {
                // Samples are scaled by the clock as it was met first.
                Some(far) if !known => self.with.store.set_node(self.run, nth, far)?,
                Some(_) if self.agents.is_here(nth) => {
                    self.with.store.clear_node_reason(self.run, nth)?;
                    self.agents.far[nth].clone_from(&before[nth].far);
                }
                _ => {}
            }
        }
        self.tell_lost()?;
        if !self.asked.floors || self.asked.simulated {
            return Ok(());
        }
        let lacking = |nth: &usize| {
            before.get(*nth).is_none_or(|it| it.floors.is_none()) && self.agents.is_here(*nth)
        };
        for wave in self.waves() {
            let wave: Vec<usize> = wave.into_iter().filter(lacking).collect();
            if wave.is_empty() || self.with.interrupt.signal().is_some() {
                continue;
            }
            let of = match wave.as_slice() {
                [one] => self.asked.nodes[*one].clone(),
                many => format!("{} nodes at a time", many.len()),
            };
            (self.with.tell)(&format!("bounds: clocks, kernel calls, wake-ups, copying of {of}"));
            for (nth, floors) in floors::measure(&self.asked, &wave, self.with.interrupt) {
                self.with.store.set_node_floors(self.run, nth, &floors)?;
            }
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<Result<(), Interrupted>, StoreError> {
        for round in 1..=self.asked.rounds {
            (self.with.tell)(&format!("round {round} of {}", self.asked.rounds));
            for (position, item) in self.items(round).into_iter().enumerate() {
                if self.with.interrupt.signal().is_some()
                    || self.item(round, position, &item)?.is_err()
                {
                    return Ok(Err(Interrupted));
                }
                self.tell_lost()?;
            }
        }
        Ok(Ok(()))
    }

    /// Measures one item: pilots where they lack, then a launch of each case.
    fn item(
        &mut self,
        round: u64,
        position: usize,
        item: &Item,
    ) -> Result<Result<(), Interrupted>, StoreError> {
        let level = match item {
            Item::Alone(_) => None,
            Item::Pairs(level, _) => Some(*level),
        };
        let mut groups: Vec<usize> =
            (0..self.kinds.len()).filter(|it| self.kinds[*it].concurrent == level).collect();
        let mut rng =
            tournament::of_round(self.asked.seed, 1 << 61 | round << 32 | position as u64);
        groups.shuffle(&mut rng);
        for groups in groups.chunks(BATCH) {
            for pilot in [true, false] {
                let turns = self.turns(groups, item, round, pilot, &mut rng);
                if turns.is_empty() {
                    continue;
                }
                let (refused, turns): (Vec<Turn>, Vec<Turn>) =
                    turns.into_iter().partition(|it| it.refused.is_some());
                let set: Vec<Wanted> = turns.iter().map(|it| it.wanted.clone()).collect();
                let quiet = match (pilot, self.asked.simulated) {
                    (false, false) => Duration::from_nanos(self.asked.settle_ns),
                    _ => Duration::ZERO,
                };
                let mut results = Vec::new();
                if !set.is_empty() {
                    match self.agents.run_launches(set, quiet) {
                        Ok(these) => results = these,
                        Err(Interrupted) => return Ok(Err(Interrupted)),
                    }
                }
                let round = if pilot { 0 } else { round };
                for (turn, result) in turns.into_iter().zip(results) {
                    self.take(turn, result, round, position)?;
                }
                for turn in refused {
                    let result = turn.not_had();
                    self.take(turn, result, round, position)?;
                }
                self.since.get_or_insert_with(Instant::now);
                if !self.asked.simulated || self.since.is_some_and(|it| it.elapsed() > KEPT_WITHIN)
                {
                    self.flush()?;
                }
            }
        }
        Ok(Ok(()))
    }

    /// The launches of some groups that are wanted now; of pilots those that lack one.
    fn turns(
        &self,
        groups: &[usize],
        item: &Item,
        round: u64,
        pilot: bool,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Turn> {
        let nodes = self.asked.nodes.len();
        let ends: Vec<(usize, usize, Option<usize>, bool)> = match item {
            Item::Alone(wave) => wave.iter().map(|it| (*it, *it, None, false)).collect(),
            Item::Pairs(_, pairs) => {
                let ends = pairs.iter().map(|pair| {
                    let nth = index(nodes, *pair);
                    let swapped = self.swapped(nth, round);
                    let (near, far) = if swapped { (pair.1, pair.0) } else { *pair };
                    (nth, near, Some(far), swapped)
                });
                ends.collect()
            }
        };
        let mut turns = Vec::new();
        for (nth, near, far, swapped) in ends {
            if !self.agents.is_here(near) || far.is_some_and(|it| !self.agents.is_here(it)) {
                continue;
            }
            for (slot, group) in groups.iter().enumerate() {
                let live = self.live[*group][nth];
                let given_up = is_given_up(live.failed, live.worked);
                let wanted = if pilot { live.samples == 0 } else { live.samples > 0 };
                if given_up || !wanted || self.done.contains(&(live.id, round)) {
                    continue;
                }
                let padding = 16 * rng.random_range(0..256);
                let offset = 64 * rng.random_range(0..64);
                let seed = drawn_in(self.asked.seed, *group, if pilot { 0 } else { round });
                let spec = Spec { seed, ..self.spec(*group, near, &live, pilot, offset) };
                let far = far.map(|far| (far, self.far_end(near, far, &spec.mechanism)));
                let wanted = Wanted { near, far: None, spec, padding, slot };
                turns.push(match far {
                    Some((_, Ok(end))) => Turn {
                        group: *group,
                        nth,
                        swapped,
                        wanted: Wanted { far: Some(end), ..wanted },
                        refused: None,
                    },
                    Some((far, Err(why))) => {
                        let why = format!("{}: {why}", self.agents.names[far]);
                        Turn { group: *group, nth, swapped, wanted, refused: Some(why) }
                    }
                    None => Turn { group: *group, nth, swapped, wanted, refused: None },
                });
            }
        }
        turns
    }

    fn far_end(&self, near: usize, node: usize, mechanism: &str) -> Result<FarEnd, String> {
        let ipv6 = mechanisms::Variant::parse(mechanism).is_ok_and(|it| it.is_ipv6());
        let (Some(near), Some(far)) = (&self.agents.far[near], &self.agents.far[node]) else {
            return Err("it never answered".into());
        };
        let at = address::between(near, far, self.network.as_ref(), ipv6)?;
        let clock = &far.clock;
        Ok(FarEnd { node, at, clock: clock.kind, ns_per_tick: clock.ns_per_tick })
    }

    fn spec(&self, group: usize, near: usize, live: &Live, pilot: bool, offset: usize) -> Spec {
        let case = &self.kinds[group].case;
        let far = self.agents.far[near].as_ref().expect("a node that is here has said what it is");
        let cpu = case.place.cpus.and_then(|_| far.allowed_cpus.first().copied());
        let expected = live.operation_ns * (live.batch * live.samples) as f64;
        let launch = Spec {
            build: BUILD.into(),
            mechanism: case.variant.to_string(),
            workload: case.workload,
            message_bytes: case.opened_for(),
            workers: case.workers,
            initiator_cpu: cpu,
            others: Vec::new(),
            responder_cpu: cpu,
            payload: case.payload,
            verify: false,
            warmup: Warmup::default(),
            samples: SampleCount::Exactly(live.samples),
            batch: if pilot { 0 } else { live.batch },
            rate: case.rate,
            arrivals: Default::default(),
            clock: far.clock.kind,
            ns_per_tick: far.clock.ns_per_tick,
            deadline_ms: deadline_ms(case, deadline_of(expected)),
            buffer_offset: offset,
            seed: self.asked.seed,
            observe: None,
            plant: None,
            half: None,
        };
        if pilot { pilot_of(case, launch) } else { launch }
    }

    /// Keeps what a launch came to; a pilot fixes what the launches of its case do.
    fn take(
        &mut self,
        turn: Turn,
        result: LaunchResult,
        round: u64,
        position: usize,
    ) -> Result<(), StoreError> {
        let Turn { group, nth, swapped, wanted, .. } = turn;
        let live = &mut self.live[group][nth];
        match result.record.outcome {
            Outcome::Ok => live.worked += usize::from(round > 0),
            _ => live.failed += 1,
        }
        if round == 0 && result.record.outcome == Outcome::Ok {
            let case = &self.kinds[group].case;
            let clock = &self.agents.far[wanted.near].as_ref().expect("it was here").clock;
            if let Some(operation) = operation_ns(case, &result, clock) {
                live.operation_ns = operation;
                let lasting = lasting_ns(case.place.shares_one_cpu());
                let found = (operation, result.record.initiator.ack_ns);
                (live.batch, live.samples) = sized(case, found, clock, lasting);
                if let Some(samples) =
                    self.asked.samples.filter(|_| !case.workload.traits().transfers)
                {
                    live.samples = samples;
                }
                let live = *live;
                self.with.store.set_pilot(live.id, live.batch, live.samples, live.operation_ns)?;
            }
        }
        let case = self.live[group][nth].id;
        if round > 0 {
            self.done.insert((case, round));
        }
        let (padding, offset) = (wanted.padding, wanted.spec.buffer_offset);
        let LaunchResult { record, samples } = result;
        self.pending.push(NewLaunch {
            case,
            round,
            position,
            swapped,
            padding,
            offset,
            record,
            samples,
        });
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.since = None;
        let launches = std::mem::take(&mut self.pending);
        self.with.store.add_launches(&launches)
    }

    /// Keeps and tells why nodes take no part any more.
    fn tell_lost(&mut self) -> Result<(), StoreError> {
        for nth in 0..self.agents.lost.len() {
            let Some(why) = &self.agents.lost[nth] else { continue };
            if self.told_lost.insert(nth) {
                (self.with.tell)(&format!(
                    "{} takes no part any more: {why}",
                    self.agents.names[nth]
                ));
                self.with.store.set_node_reason(self.run, nth, why)?;
            }
        }
        Ok(())
    }
}
