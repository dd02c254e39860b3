//! A run on many nodes: its agents, what is kept of the nodes, and how the launches of its campaign are made by
//! the agents. A node that is lost takes no part any more; the others go on, and a resumed run measures what it
//! owes.

use std::collections::HashSet;
use std::time::Duration;

use super::agent_pool::AgentPool;
use super::floors;
use super::order::{sets, waves};
use machine::interrupt::Interrupted;
use model::launch::Outcome;
use model::peer::{Address, FarHost};
use run::campaign::driver::{Driver, LaunchRequest, RoundOf, Sets};
use run::campaign::{Campaign, Conditions, LiveCase, measured_clock, now_utc};
use run::launch::peer::address;
use run::launch::state::{FarEnd, Wanted};
use run::launch::{Interrupt, LaunchResult};
use run::plan::Case;
use store::{FleetRequest, RunStatus, StoreError, StoredNode, StoredRun};

/// Longest time for which ended launches that were simulated are only in memory: they end by the
/// thousand.
const SIMULATED_STORED_WITHIN: Duration = Duration::from_millis(900);

/// Measures every launch of a fleet's run that is not stored yet, whose cases are: starts the agents, and runs
/// the campaign. Returns the run's status; `measured_before` is the wall time of measuring so far, in ns.
///
/// # Errors
/// The store can't be read or written.
pub fn measure(
    mut with: Conditions<'_>,
    stored: StoredRun,
    asked: FleetRequest,
) -> Result<RunStatus, StoreError> {
    let (clock, interrupt) = (measured_clock(), with.interrupt);
    with.progress.stage(&format!("starting an agent on each of {} nodes", asked.nodes.len()));
    let Ok(agents) = AgentPool::start(&asked, interrupt) else {
        let interrupted = RunStatus::Interrupted;
        let measured = stored.measuring_ns;
        with.store.end_run(stored.id, interrupted, &now_utc(), &clock.1, measured)?;
        return Ok(interrupted);
    };
    let network = asked.network.as_deref().and_then(|text| address::network(text).ok());
    let reported_lost = HashSet::new();
    let mut driver = FleetDriver { asked, agents, network, interrupt, reported_lost };
    let nodes = stored.fleet.as_ref().map_or(&[][..], |fleet| &fleet.nodes);
    driver.keep_nodes(&mut with, stored.id, nodes)?;
    Ok(Campaign::of(with, Box::new(driver), stored, clock)?.run()?.1)
}

/// The launches of a campaign, made by the agents.
struct FleetDriver<'a> {
    asked: FleetRequest,
    agents: AgentPool<'a>,
    network: Option<Address>,
    interrupt: &'a Interrupt,
    reported_lost: HashSet<usize>,
}

impl FleetDriver<'_> {
    /// Keeps what the nodes are, and their bounds where they aren't known; `before` is what was kept earlier.
    fn keep_nodes(
        &mut self,
        with: &mut Conditions<'_>,
        run: i64,
        before: &[StoredNode],
    ) -> Result<(), StoreError> {
        for (nth, before) in before.iter().enumerate() {
            let boot = |far: &FarHost| far.host.boot_id.clone();
            match (&self.agents.far[nth], &before.far) {
                (Some(now), None) => with.store.set_node(run, nth, now)?,
                // Its clock is another after a boot: what was measured before has the old one's scale.
                (Some(now), Some(before)) if boot(now) != boot(before) => {
                    let why = "it was started anew since the run began: measure anew";
                    self.agents.give_up(nth, why.into());
                }
                (Some(now), Some(before)) if now.clock.kind != before.clock.kind => {
                    let (now, before) = (now.clock.kind, before.clock.kind);
                    let why = format!("its clock was {before} and is {now} now: measure anew");
                    self.agents.give_up(nth, why);
                }
                // Samples are scaled by the clock as it was met first.
                (Some(_), Some(before)) if self.agents.is_here(nth) => {
                    with.store.clear_node_reason(run, nth)?;
                    self.agents.far[nth] = Some(before.clone());
                }
                _ => {}
            }
        }
        if !self.asked.floors || self.asked.simulated {
            return Ok(());
        }
        for mut wave in self.waves() {
            wave.retain(|nth| before.get(*nth).is_none_or(|node| node.floors.is_none()));
            if wave.is_empty() || with.interrupt.signal().is_some() {
                continue;
            }
            let of = match wave.as_slice() {
                [one] => self.asked.nodes[*one].clone(),
                many => format!("{} nodes at a time", many.len()),
            };
            let stage = format!("bounds: clocks, kernel calls, wake-ups, copying of {of}");
            with.progress.stage(&stage);
            for (nth, floors) in floors::measure(&self.asked, &wave, with.interrupt) {
                with.store.set_node_floors(run, nth, &floors)?;
            }
        }
        Ok(())
    }

    fn waves(&self) -> Vec<Vec<usize>> {
        let far = self.agents.far.iter().enumerate();
        waves(far.map(|(nth, far)| far.as_ref().filter(|_| self.agents.is_here(nth))))
    }

    fn far_end(&self, near: usize, node: usize, mechanism: &str) -> Result<FarEnd, String> {
        let ipv6 = mechanisms::Variant::parse(mechanism).is_ok_and(|variant| variant.is_ipv6());
        let at_node = |why| format!("{}: {why}", self.asked.nodes[node]);
        let (Some(near), Some(far)) = (&self.agents.far[near], &self.agents.far[node]) else {
            return Err(at_node("it never answered".into()));
        };
        let at = address::between(near, far, self.network.as_ref(), ipv6).map_err(at_node)?;
        let clock = &far.clock;
        Ok(FarEnd { node, at, clock: clock.kind, ns_per_tick: clock.ns_per_tick })
    }
}

impl Driver for FleetDriver<'_> {
    /// All of them: a round is a whole tournament.
    fn together(&self, open: Vec<usize>) -> Vec<Vec<usize>> {
        vec![open]
    }

    fn sets(&self, round: &RoundOf) -> Sets {
        sets(self.asked.nodes.len(), self.waves(), round)
    }

    fn launch(
        &mut self,
        set: Vec<LaunchRequest>,
        quiet: Duration,
    ) -> Result<Vec<LaunchResult>, Interrupted> {
        let wanted = |LaunchRequest { spec, nodes: (near, far), padding, slot, .. }| {
            let far = far.map(|far| self.far_end(near, far, &spec.mechanism)).transpose();
            let far = far.map_err(|reason| Outcome::NotApplicable { reason })?;
            Ok(Wanted { near, far, spec, padding, slot })
        };
        let set = set.into_iter().map(wanted).collect();
        self.agents.launches.run(set, quiet, self.interrupt, || {})
    }

    fn clock(&self, near: usize) -> Option<&model::clock::Record> {
        self.agents.far[near].as_ref().map(|host| &host.clock)
    }

    /// The one CPU that its workers share is the node's own.
    fn cpus(&self, near: usize, case: &Case) -> [Option<u32>; 2] {
        let pinned = case.place.cpus.and(self.agents.far[near].as_ref());
        [pinned.and_then(|host| host.allowed_cpus.first().copied()); 2]
    }

    fn reaches(&self, live: &LiveCase) -> bool {
        let here = |node: usize| self.agents.is_here(node);
        live.ends.is_some_and(|ends| here(ends.near) && ends.far.is_none_or(here))
    }

    fn newly_lost(&mut self) -> Vec<(usize, String, String)> {
        let lost = |nth: usize| Some((nth, self.asked.nodes[nth].clone(), self.agents.lost(nth)?));
        let lost = (0..self.asked.nodes.len()).filter_map(lost);
        lost.filter(|(nth, ..)| self.reported_lost.insert(*nth)).collect()
    }

    fn stored_within(&self) -> Duration {
        if self.asked.simulated { SIMULATED_STORED_WITHIN } else { Duration::ZERO }
    }
}
