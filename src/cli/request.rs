//! What the flags of `run` ask for: mechanisms with their plug-ins, loads, and the request.

use std::collections::BTreeMap;
use std::time::Duration;

use super::args::{Routes, RunArgs};
use super::value_parsers::{Depths, Rates, Sizes, Task, drawn_seed};
use super::{Failure, capacity, plugins};
use ::run::launch::Interrupt;
use mechanisms::{Entry, MECHANISMS, Variant};
use model::distinct::distinct;
use model::duration::{self, in_ns};
use model::factor::Factor;
use model::launch::Warmup;
use model::load::{Levels, Load, Server};
use model::placement::Placement;
use model::probe::Probe;
use model::request::{Named, Request, Sessions, Stopping};
use model::route::Route;
use model::workload::Workload;

/// Budget where none is given: with judging and writing, about a minute.
const DEFAULT_BUDGET: Duration = Duration::from_secs(50);

/// Time between the beginnings of sessions where none is given.
const DEFAULT_EVERY: Duration = Duration::from_secs(120);

impl RunArgs {
    /// What is measured under `loads` where no mechanism is named.
    pub fn usual_mechanisms(&self, loads: &[Load]) -> Vec<String> {
        let local = self.routes().iter().any(Route::is_local);
        let waits = |load: &Load| load.choice().is_some_and(Server::needs_descriptors);
        let several = loads.iter().any(waits);
        let paced = self.workload.iter().any(|task| task.workload().traits().paced);
        let one = paced && loads.iter().any(|load| load.has_rate() && load.choice().is_none());
        let fits = |entry: &&Entry| local || entry.reaches_over_network();
        let options_of = |entry: &Entry| {
            let served = entry.served.iter().filter(|_| several);
            let paced = entry.paced.iter().filter(|_| one);
            let options = entry.measured.iter().chain(served).chain(paced);
            entry.with_each(&options.copied().collect::<Vec<_>>())
        };
        MECHANISMS.iter().filter(fits).flat_map(options_of).collect()
    }

    /// The same with its plug-ins among the mechanisms; beside `usual` where none is named.
    ///
    /// # Errors
    /// One can't be had.
    pub fn with_plugins(
        &self,
        usual: &[impl ToString],
        interrupt: &Interrupt,
    ) -> Result<RunArgs, Failure> {
        let mut args = self.clone();
        let variants = self.plugins.register(interrupt)?;
        let any_kept = plugins::register_kept(&self.mechanisms, interrupt)?;
        if variants.is_empty() && !any_kept {
            return Ok(args);
        }
        if self.resume.is_none() {
            let named = args.mechanisms.iter().map(|text| Variant::parse(text));
            let named: Result<Vec<Variant>, String> = named.collect();
            let named = named.map_err(Failure::usage)?;
            args.mechanisms = named.iter().map(Variant::to_string).collect();
            if named.is_empty() {
                args.mechanisms = usual.iter().map(ToString::to_string).collect();
            }
            // One that is named among the mechanisms is measured as it is named there.
            let is_left =
                |variant: &Variant| named.iter().all(|one| one.entry.name != variant.entry.name);
            let left = variants.iter().filter(|variant| is_left(variant));
            args.mechanisms.extend(left.map(Variant::to_string));
        }
        Ok(args)
    }

    /// The request that these flags describe.
    pub fn request(&self) -> Result<Request, String> {
        self.against.fits(self.arms.are_given())?;
        let workloads = if self.workload.is_empty() {
            Workload::DEFAULT.to_vec()
        } else {
            self.workload.iter().map(|task| task.workload()).collect()
        };
        if self.size.is_some() && !workloads.iter().any(|workload| workload.has_size()) {
            return Err("--size: a set-up sends no message: leave it out".into());
        }
        for factor in [Factor::Writers, Factor::Readers] {
            let given = self.factors.levels().contains_key(factor.name());
            if given && !workloads.iter().any(|workload| workload.traits().shares) {
                let key = factor.name();
                return Err(format!("--{key} needs -w shared: add it, or leave --{key} out"));
            }
        }
        let paced = workloads.iter().any(|workload| workload.traits().paced);
        for (flag, given) in [("--rate", self.rate.is_some()), ("--depth", self.depth.is_some())] {
            if given && !paced {
                return Err(format!(
                    "{flag} needs -w rate or -w capacity: add one, or leave {flag} out"
                ));
            }
        }
        let loads = self.loads(&workloads)?;
        let mechanisms = match self.mechanisms.as_slice() {
            [] => self.usual_mechanisms(&loads),
            named => named.to_vec(),
        };
        // It may be a plug-in, which nobody knew when the command line was read.
        let reference = match &self.reference {
            Some(name) => Some(Variant::parse(name)?.to_string()),
            None => None,
        };
        if let Some(name) = &reference
            && !mechanisms.iter().any(|mechanism: &String| {
                mechanism == name || mechanism.split(':').next() == Some(name)
            })
        {
            return Err(format!(
                "--reference {name}: isn't measured in this run: name it among the mechanisms"
            ));
        }
        let bound = capacity::asked(self)?;
        let (arms, arm_cleanup) =
            if self.resume.is_none() { self.arms.asked()? } else { Default::default() };
        let sizes = |workload: Workload| match &self.size {
            Some(Sizes(sizes)) if workload.has_size() => sizes.clone(),
            _ if self.full => workload.traits().sizes.to_vec(),
            _ => vec![workload.traits().size],
        };
        let request = Request {
            except: self.left_out(&mechanisms),
            mechanisms,
            plugins: plugins::all(),
            workloads: workloads.into_iter().map(|workload| (workload, sizes(workload))).collect(),
            placements: self.placements(),
            placements_by_workload: self.placements_by_workload(),
            levels: self.factors.levels(),
            cycles: self.cycles,
            verify: self.verify,
            spin_on_one_cpu: self.spin_on_one_cpu,
            total_bytes: self.total,
            loads,
            arrivals: self.open_loop.arrivals(),
            bound,
            // A bound is far beyond what the clock resolves.
            unbatched: self.unbatched || bound.is_some(),
            warmup: match self.warmup {
                None => Warmup::default(),
                Some(duration::Warmup::Operations(operations)) => {
                    Warmup { operations, ns: u64::MAX }
                }
                Some(duration::Warmup::Time(ns)) => Warmup { operations: u64::MAX, ns },
            },
            samples: self.samples,
            stopping: self.stopping(),
            reference,
            sessions: self.sessions()?,
            observe: self.probes(),
            arms,
            arm_cleanup,
            beside: distinct(self.beside.iter().filter_map(|level| level.0)),
            energy: self.energy,
            routes: self.checked_reaches()?,
            // A run that goes on has one already, or none.
            peer: if self.resume.is_none() { self.peer.asked()? } else { None },
            named: self.named(),
            seed: self.taken.seed.map_or_else(drawn_seed, Ok)?,
            ..Request::default()
        };
        Ok(request.each_level_once())
    }

    /// Every load that a run of `workloads` asks for.
    ///
    /// # Errors
    /// A flag that none of them takes, or more connections than one of them can have.
    fn loads(&self, workloads: &[Workload]) -> Result<Vec<Load>, String> {
        self.open_loop.check(workloads, self.rate.is_some())?;
        let mut levels = Levels::default();
        if let Some(Rates(rates)) = &self.rate {
            levels.rates.clone_from(rates);
        }
        if let Some(Depths(depths)) = &self.depth {
            levels.depths.clone_from(depths);
        }
        self.open_loop.apply(&mut levels);
        if let Some(rates) = capacity::rates(self) {
            levels.rates = rates;
        }
        levels.of(workloads).map_err(|error| format!("--connections: {error}"))
    }

    fn routes(&self) -> Vec<Route> {
        match (&self.route, &self.peer.command) {
            (Some(Routes(routes)), _) => routes.clone(),
            (None, Some(_)) => vec![Route::Peer],
            (None, None) => vec![Route::Local],
        }
    }

    /// The same, if there is another host exactly where one is needed.
    fn checked_reaches(&self) -> Result<Vec<Route>, String> {
        let routes = self.routes();
        match (routes.contains(&Route::Peer), &self.peer.command) {
            (true, None) => Err("--route peer: which host? add --peer 'ssh HOST'".into()),
            (false, Some(_)) => Err("--peer: nothing is measured to it: add --route peer".into()),
            _ => Ok(routes),
        }
    }

    /// Each probe once, in the order of the words.
    fn probes(&self) -> Vec<Probe> {
        distinct(self.observe.iter().flat_map(|probes| &probes.0).copied())
    }

    pub(super) fn names_cpus(&self) -> bool {
        self.initiator_cpu.or(self.responder_cpu).is_some()
    }

    fn placements(&self) -> Vec<Placement> {
        if self.names_cpus() {
            return vec![Placement::of_cpus(self.initiator_cpu, self.responder_cpu)];
        }
        if !self.placement.is_empty() {
            return self.placement.iter().flat_map(|placements| placements.0.clone()).collect();
        }
        // CPUs of two hosts have no relation to each other, and services run where the scheduler puts them.
        if self.seeks_capacity() || self.routes().iter().any(|route| !route.is_local()) {
            return vec![Placement::Free];
        }
        Placement::PINNED.to_vec()
    }

    /// Where nothing is asked for: wake-ups one way, which answer neither question of a default run.
    fn left_out(&self, mechanisms: &[String]) -> Vec<BTreeMap<String, Vec<String>>> {
        if !self.mechanisms.is_empty() || !self.workload.is_empty() || self.full {
            return Vec::new();
        }
        let no_bytes = |text: &&String| {
            Variant::parse(text).is_ok_and(|variant| !variant.traits().carries.has_size())
        };
        let signals = mechanisms.iter().filter(no_bytes).cloned().collect();
        let levels = |factor: Factor, levels: Vec<String>| (factor.name().to_string(), levels);
        vec![BTreeMap::from([
            levels(Factor::Workload, vec![Workload::Throughput.name().into()]),
            levels(Factor::Mechanism, signals),
        ])]
    }

    /// Where none are asked for, requests and answers are also measured as the kernel places them.
    fn placements_by_workload(&self) -> BTreeMap<Workload, Vec<Placement>> {
        let asked = self.names_cpus() || !self.placement.is_empty();
        if asked || self.routes().iter().any(|route| !route.is_local()) {
            return BTreeMap::new();
        }
        let all = Placement::PINNED.into_iter().chain([Placement::Free]).collect();
        BTreeMap::from([(Workload::Latency, all)])
    }

    /// Each session needs a launch.
    fn sessions(&self) -> Result<Option<Sessions>, String> {
        let Some(count) = self.sessions else { return Ok(None) };
        match self.launches {
            Some(launches) if launches < count => Err(format!(
                "--sessions {count}: {launches} launches leave some without one: give --launches {count} \
                 or more"
            )),
            _ => Ok(Some(Sessions { count, every_ns: in_ns(self.every.unwrap_or(DEFAULT_EVERY)) })),
        }
    }

    /// Whether the largest rate within a bound is asked for.
    pub fn seeks_capacity(&self) -> bool {
        self.workload.contains(&Task::Capacity)
    }

    fn stopping(&self) -> Stopping {
        let given = self.budget.or((self.launches.is_none()).then_some(DEFAULT_BUDGET));
        Stopping {
            launches: self.launches,
            precision: self.precision,
            budget_ns: given.map(in_ns),
            budget_is_hard: self.budget.is_some(),
            unmarked: self.unmarked,
        }
    }
}

impl RunArgs {
    /// Levels that stand among its arguments: what of these is not measured is told, and no success.
    pub(super) fn named(&self) -> Named {
        Named {
            mechanisms: !self.mechanisms.is_empty(),
            workloads: !self.workload.is_empty(),
            sizes: self.size.is_some(),
            placements: self.names_cpus() || !self.placement.is_empty(),
        }
    }
}
