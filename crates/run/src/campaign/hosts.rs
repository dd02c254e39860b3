//! Launches on this host, and between it and those that it has a route to.
//!
//! Launches are set up together, left alone until the machine has settled where that
//! matters, timed one after the other (each has a slot of its own), and ended together. Between the first `go`
//! and the last report this process only waits.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rustix::process::{Resource, getrlimit};
use rustix::system::sysinfo;

use super::arms::Arms;
use super::bounds::Bounds;
use super::driver::{Driver, LaunchRequest, RoundOf, Sets, Turn, rng, swapped};
use super::unmarked::Forks;
use super::{LiveCase, LiveGroup, exclusive};
use crate::launch::launches::Launches;
use crate::launch::peer::Peer;
use crate::launch::state::Wanted;
use crate::launch::{Interrupt, LaunchResult, Launcher, PeerRoute, Spec, placement, unstarted};
use crate::plan::{Case, WithMechanism};
use machine::Topology;
use machine::doctor::{Snapshot, Watch};
use machine::energy::PackageCounters;
use machine::interrupt::Interrupted;
use model::arm::Arm;
use model::distinct::ascending;
use model::energy::Energy;
use model::launch::{Outcome, Record};
use model::load::Load;
use model::noise::{Gaps, RoundNoise};
use model::route::{LabRecord, Route};

/// Rounds in which observed launches are made, unless the number of launches is fixed. Counts vary little,
/// and observing is slow.
const OBSERVED_ROUNDS: u64 = stats::LEAST_LAUNCHES as u64;
/// How long the machine is left alone after the set-up of an arm, at least.
const AFTER_A_COMMAND: Duration = Duration::from_millis(70);
/// How long the spin before and after a round lasts.
const SPIN: Duration = Duration::from_micros(500);

/// The routes to other hosts that are open, by the route of the cases that take them.
#[derive(Default)]
pub struct OpenRoutes {
    pub routes: BTreeMap<Route, PeerRoute>,
    /// The laboratories among them, as they are kept with the run.
    pub labs: Vec<LabRecord>,
}

impl OpenRoutes {
    /// The host behind `--peer`, if there is one.
    pub(super) fn peer(&self) -> Option<&Peer> {
        self.routes.get(&Route::Peer).map(|route| &route.peer)
    }
}

/// This host, and its routes to others.
pub struct Hosts {
    pub launcher: Launcher,
    pub routes: OpenRoutes,
    /// The arms of the command line, as it has them: none is taken from a store.
    pub arms: Vec<Arm>,
    /// Keeps other runs of this machine from measuring meanwhile.
    pub turn: exclusive::Turn,
}

/// Makes the launches of a campaign there.
pub(super) struct HostDriver<'a> {
    launches: Launches,
    arms: Arms,
    /// By arm, the nodes of this host, in the network of this process.
    here: Vec<usize>,
    /// By route the nodes of its two halves, the first by arm, and the host of the second.
    ends: BTreeMap<Route, (Vec<usize>, usize, Peer)>,
    turn: exclusive::Turn,
    interrupt: &'a Interrupt,
    room: Room,
    bounds: Bounds,
    idle: Idle,
    /// The CPUs of this machine, and those of them that launches may use.
    cpus: Option<(Topology, Vec<u32>)>,
    under_way: Option<UnderWay>,
    /// In how many cycles launches of the round take turns.
    cycles: u64,
}

/// What is looked at during a round.
struct UnderWay {
    watch: Watch,
    earlier: Snapshot,
    before: Gaps,
    forks: Forks,
}

impl<'a> HostDriver<'a> {
    pub(super) fn new(hosts: Hosts, interrupt: &'a Interrupt) -> HostDriver<'a> {
        let Hosts { launcher, routes, arms, turn } = hosts;
        let arms = Arms::of(arms);
        let mut nodes = arms.nodes(&launcher, None);
        let here: Vec<usize> = (0..nodes.len()).collect();
        let mut ends = BTreeMap::new();
        for (route, PeerRoute { peer, near }) in routes.routes {
            let near = near.map_or(here.clone(), |network| {
                let first = nodes.len();
                nodes.extend(arms.nodes(&launcher, Some(network)));
                (first..nodes.len()).collect()
            });
            nodes.push(peer.node());
            ends.insert(route, (near, nodes.len() - 1, peer));
        }
        let cpus = Topology::here().ok().map(|topology| {
            let allowed = topology.allowed();
            (topology, allowed)
        });
        HostDriver {
            launches: Launches::of(nodes),
            arms,
            here,
            ends,
            turn,
            interrupt,
            room: Room::of_this_machine(),
            bounds: Bounds::default(),
            idle: Idle::default(),
            cpus,
            under_way: None,
            cycles: 0,
        }
    }

    /// The CPUs of its generators beside the workers', where these are pinned.
    fn generators_of(&self, case: &Case) -> Vec<u32> {
        let (Some((topology, allowed)), Some((initiator, responder))) =
            (&self.cpus, case.place.cpus)
        else {
            return Vec::new();
        };
        let connections =
            case.load.filter(Load::has_rate).map_or(1, |load| load.connections as usize);
        let workers = [Some(initiator), Some(responder)];
        match connections {
            1 => Vec::new(),
            many => placement::generators(workers, many, 0, topology, allowed),
        }
    }

    /// How many launches of a group are set up together: all of them where there is room. The machine
    /// changes between sets: pairs that two of them divide differ more than pairs within one.
    fn set_size(&self, group: &LiveGroup) -> usize {
        let largest = group.cases.iter().map(|live| live.case.opened_for()).max();
        self.room.launches(largest.unwrap_or(0) as u64)
    }

    /// Cases in the order in which they are launched, cut into those that are set up together, `most` at a time.
    fn together(
        &self,
        group: &LiveGroup,
        order: Vec<usize>,
        most: usize,
        rng: &mut ChaCha8Rng,
    ) -> Vec<Vec<usize>> {
        self.arms.together(order, most, |at| &group.cases[at].case, rng)
    }

    /// A launch on the nodes where its halves are to be.
    fn wanted(&self, asked: LaunchRequest) -> Result<Wanted, Outcome> {
        let LaunchRequest { mut spec, route, arm, padding, slot, .. } = asked;
        let arm = self.arms.place(arm.as_deref());
        let Some((near, far, peer)) = self.ends.get(&route) else {
            if route.is_local() {
                return Ok(Wanted { near: self.here[arm], far: None, spec, padding, slot });
            }
            let error = format!("{route}: there is no way any more");
            return Err(unstarted(&io::Error::new(io::ErrorKind::NotConnected, error)));
        };
        let far = Some(peer.end(*far, &mut spec)?);
        Ok(Wanted { near: near[arm], far, spec, padding, slot })
    }

    /// The pilots of a group: of what is observed there is none.
    fn pilots(&self, nth: usize, group: &LiveGroup) -> Vec<Vec<Turn>> {
        let results: Vec<usize> =
            (0..group.cases.len()).filter(|number| !group.cases[*number].is_observed()).collect();
        let turn = |(slot, case): (usize, &usize)| Turn {
            group: nth,
            case: *case,
            slot,
            offset: group.cases[*case].case.align.offset(0),
            ..Turn::default()
        };
        let set = |numbers: &Vec<usize>| numbers.iter().enumerate().map(turn).collect();
        let mut rng = rng(group.nth as u64, 0);
        self.together(group, results, self.set_size(group), &mut rng).iter().map(set).collect()
    }

    /// The launches of a group in a random order, cut into those that are set up together.
    /// Instrumentation may slow every process of the machine for as long as its launch lives: an observed
    /// launch is alone.
    fn launches(&self, nth: usize, round: &RoundOf) -> Vec<Vec<Turn>> {
        let group = &round.groups[nth];
        let mut rng = rng(round.request.seed, (group.nth as u64) << 32 | round.nth);
        let observing = round.nth <= round.request.stopping.launches.unwrap_or(OBSERVED_ROUNDS);
        let wanted = |live: &LiveCase| !live.given_up && (observing || !live.is_observed());
        let mut order: Vec<usize> =
            (0..group.cases.len()).filter(|case| wanted(&group.cases[*case])).collect();
        order.shuffle(&mut rng);
        let (observed, results): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|case| group.cases[*case].is_observed());
        // What it is compared with is made the same way, at any place among them.
        let together = if observed.is_empty() { self.set_size(group) } else { 1 };
        let mut sets = self.together(group, results, together, &mut rng);
        if !observed.is_empty() {
            sets.extend(observed.into_iter().map(|case| vec![case]));
            sets.shuffle(&mut rng);
        }
        let swapped = swapped(round.request.seed, group.nth, round.nth);
        let mut position = 0..;
        let mut turn = |set: usize, (slot, case): (usize, &usize)| {
            let (case, position) = (*case, position.next().unwrap_or(0));
            Turn { group: nth, case, position, swapped, slot, set, ..Turn::default() }
                .shifted(group.cases[case].case.align, &mut rng)
        };
        let each = sets.into_iter().enumerate();
        each.map(|(set, numbers)| numbers.iter().enumerate().map(|one| turn(set, one)).collect())
            .collect()
    }
}

impl Driver for HostDriver<'_> {
    /// Groups take turns, a round each, so that drift hits all alike.
    fn together(&self, open: Vec<usize>) -> Vec<Vec<usize>> {
        open.into_iter().map(|number| vec![number]).collect()
    }

    fn sets(&self, round: &RoundOf) -> Sets {
        let of = |nth: &usize| match round.nth {
            0 => self.pilots(*nth, &round.groups[*nth]),
            _ => self.launches(*nth, round),
        };
        Box::new(round.of.iter().flat_map(of).collect::<Vec<_>>().into_iter())
    }

    fn launch(
        &mut self,
        mut set: Vec<LaunchRequest>,
        quiet: Duration,
    ) -> Result<Vec<LaunchResult>, Interrupted> {
        let arm = set.first().and_then(|first| first.arm.as_deref());
        let quiet = match self.arms.set_up(arm, self.interrupt) {
            Err(_) if self.interrupt.signal().is_some() => return Err(Interrupted),
            Ok(false) => quiet,
            Ok(true) => quiet.max(AFTER_A_COMMAND),
            Err(reason) => {
                let failed = || LaunchResult::of(Outcome::Failed { reason: reason.clone() });
                return Ok(set.iter().map(|_| failed()).collect());
            }
        };
        let in_turns = set.iter().filter(|request| request.takes_turns).count();
        for request in set.iter_mut().filter(|request| request.takes_turns && in_turns > 1) {
            request.spec.cycles = self.cycles;
        }
        let set = set.into_iter().map(|request| self.wanted(request)).collect();
        let (idle, bounds, interrupt) = (&mut self.idle, &mut self.bounds, self.interrupt);
        self.launches.run(set, quiet, interrupt, || {
            idle.measure(interrupt);
            bounds.measure(interrupt);
        })
    }

    fn generators(&self, spec: &Spec, clients: usize) -> Vec<u32> {
        let Some((topology, allowed)) = &self.cpus else { return Vec::new() };
        let workers = [spec.initiator_cpu, spec.responder_cpu];
        placement::generators(workers, clients, spec.seed, topology, allowed)
    }

    fn begin_round(&mut self, round: &RoundOf, measured: Duration) {
        let cases = || round.of.iter().flat_map(|number| &round.groups[*number].cases);
        let generators = cases().flat_map(|live| self.generators_of(&live.case));
        let cpus = ascending(cases().flat_map(|live| cpus_here(&live.case)).chain(generators));
        for nth in round.of {
            self.bounds.ask(&round.groups[*nth], measured);
        }
        self.idle.ask(round.request.energy);
        self.cycles = round.request.cycles;
        let watch = Watch::new(Path::new("/"), &cpus);
        let (earlier, before) = (watch.look(), machine::spin_gaps(SPIN));
        self.under_way = Some(UnderWay { watch, earlier, before, forks: Forks::default() });
    }

    fn note(&mut self, live: &LiveCase, record: &Record) {
        if let Some(under_way) = &mut self.under_way {
            under_way.forks.count(live, record);
        }
    }

    fn end_round(&mut self) -> Option<RoundNoise> {
        let UnderWay { watch, earlier, before, forks } = self.under_way.take()?;
        let after = machine::spin_gaps(SPIN);
        let stretch = watch.look().since(&earlier);
        Some(RoundNoise {
            before,
            after,
            marks: stretch.marks(),
            unknown: stretch.unknown(),
            counters: stretch.noise,
            frequencies: stretch.frequencies,
            bounds: self.bounds.take(),
            idle: self.idle.take(),
            forks: forks.disturb(),
            ..RoundNoise::default()
        })
    }

    fn warning(&mut self) -> Option<String> {
        let why = self.bounds.lost_now()?;
        Some(format!("results from here on have no bounds: {why}"))
    }

    fn ends_within(&mut self, time: Duration) {
        self.turn.ends_within(time);
    }

    fn lost(&self) -> Option<String> {
        // A signal to the whole process group is the end of an agent, too.
        let lost = self.ends.values().find_map(|(.., peer)| peer.lost());
        lost.filter(|_| self.interrupt.signal().is_none())
    }
}

/// The CPUs that a case uses on this host: its initiator's alone, where the responder is elsewhere.
pub(super) fn cpus_here(case: &Case) -> impl Iterator<Item = u32> + use<> {
    let [initiator, responder] = case.pinned_cpus();
    initiator.into_iter().chain(responder.filter(|_| case.route != Route::Peer))
}

/// How long the machine is left alone for it: a hundred steps of the counters, which move about once a millisecond.
const LEFT_ALONE: Duration = Duration::from_millis(100);

/// The idle stretch of the round under way.
#[derive(Default)]
pub(super) struct Idle {
    counters: Option<PackageCounters>,
    due: bool,
    found: Option<Energy>,
}

impl Idle {
    /// Asks for a stretch in the next round, where that is `wanted` and the counters can be read.
    pub(super) fn ask(&mut self, wanted: bool) {
        if wanted && self.counters.is_none() {
            self.counters = PackageCounters::open(Path::new("/")).ok();
        }
        self.due = wanted;
    }

    /// Leaves the machine alone, once, if that was asked for. A signal shortens it.
    pub(super) fn measure(&mut self, interrupt: &Interrupt) {
        let due = std::mem::take(&mut self.due);
        let Some(counters) = self.counters.as_ref().filter(|_| due) else { return };
        let before = counters.take();
        interrupt.sleep(LEFT_ALONE);
        let both = before.zip(counters.take());
        self.found = both.and_then(|(before, after)| counters.between(&before, &after));
    }

    /// What the round found.
    pub(super) fn take(&mut self) -> Option<Energy> {
        self.found.take()
    }
}

/// What a launch takes of the coordinator: its standard streams, and some to start it.
const DESCRIPTORS: u64 = 4;
/// What a launch is: a supervisor and two workers.
const PROCESSES: u64 = 3;
/// What they take beside their messages; and how many messages they hold, with what the kernel
/// buffers of them.
const LAUNCH_BYTES: u64 = 8 << 20;
const MESSAGES: u64 = 8;
/// So many stand ready whatever there is, and more than so many never: starting them takes time, too.
const LEAST: u64 = 4;
const MOST: u64 = 64;

/// What this machine and the limits of this process leave for launches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    descriptors: u64,
    processes: u64,
    bytes: u64,
}

impl Room {
    /// A part of what is there now: the rest is for others, and for what a launch opens.
    pub(super) fn of_this_machine() -> Room {
        let soft = |resource| getrlimit(resource).current.unwrap_or(u64::MAX);
        let memory = sysinfo();
        Room {
            descriptors: soft(Resource::Nofile) / 2,
            processes: soft(Resource::Nproc) / 2,
            bytes: (memory.freeram as u64).saturating_mul(u64::from(memory.mem_unit)) / 4,
        }
    }

    /// How many launches that send messages of such a size at most.
    pub(super) fn launches(&self, message_bytes: u64) -> usize {
        let each = LAUNCH_BYTES.saturating_add(message_bytes.saturating_mul(MESSAGES));
        let fit = (self.descriptors / DESCRIPTORS)
            .min(self.processes / PROCESSES)
            .min(self.bytes / each)
            .clamp(LEAST, MOST);
        fit as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_decides_and_some_always_stand() {
        let ample = Room { descriptors: 512, processes: 30_000, bytes: 4 << 30 };
        assert_eq!(ample.launches(64), 64);
        assert_eq!(Room { descriptors: 64, ..ample }.launches(64), 16);
        assert_eq!(Room { processes: 30, ..ample }.launches(64), 10);
        assert_eq!(ample.launches(64 << 20), 7);
        assert_eq!(ample.launches(u64::MAX), 4);
        assert!(Room::of_this_machine().launches(64) >= 4);
    }
}
