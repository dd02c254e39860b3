//! One case: its launches turned into a result.

use model::request::Absence;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::clients::ClientsSeen;
use super::conditions::{NoiseSeen, ObservedPlacement};
use super::counted::Counted;
use super::cpu::CpuCost;
use super::datagrams::DatagramsSeen;
use super::delivery::{self, DeliveryCounters};
use super::derived::Derived;
use super::earlier::Earlier;
use super::estimate::{Estimate, Precision, Status};
use super::failures::{self, Failure};
use super::floor::Bound;
use super::per_launch::{self, Secondary};
use super::percentile::{self, Curve, OfLaunch};
use super::pool::{LaunchValue, Pool};
use super::rate::RateSeen;
use super::rounds::{Stratified, put};
use super::sessions::SessionsSeen;
use super::site::{Site, is_a_case};
use super::time_series::TimeSeries;
use super::{interval_of, screening, unmeasured};
use model::capacity::BoundedLaunch;
use model::case::Case;
use model::clock::Record;
use model::cycles::Cycles;
use model::mechanism::{Carries, Class};
use model::metric::{Better, Metric, Unit};
use model::route::Route;
use store::{Concurrent, Store, StoreError, StoredCase, StoredGroup, StoredLaunch, StoredRun};

/// Among the effective settings of an engine: what its loop and its clock take without a mechanism.
pub const NULL_NS: &str = "null_ns";

/// A case, judged.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CaseResult {
    /// Its id in the store.
    #[serde(skip)]
    pub id: i64,
    /// What was asked.
    #[serde(flatten)]
    pub case: Case,
    /// The group that it is compared in, by its number in the run.
    pub group: usize,
    /// Its mechanism without options: `tcp`.
    pub mechanism: String,
    /// The chosen options.
    pub options: BTreeMap<String, String>,
    /// `bytes`, `signal`, `nothing`.
    pub carries: Carries,
    /// `copying`, `in-place`, `broker`, `signal`, `control`: what it competes with.
    pub class: Class,
    /// How often the mechanism copies a message; null where there is none to copy.
    pub copies: Option<u8>,
    /// Whether a waiting worker busy-waits.
    pub spins: bool,
    /// What it yields, and in which unit: of `value`, and of the launches.
    #[serde(serialize_with = "brief")]
    #[schemars(with = "Brief")]
    pub metric: Metric,
    /// Where it ran, as reports tell places of the run apart.
    #[serde(skip)]
    pub site: Site,
    /// The node that it was measured on, or the two between which it was; empty unless the run is a fleet's.
    pub nodes: Vec<String>,
    /// How many pairs of a fleet were measured at a time: `one`, `all`; null of what is no pair.
    pub concurrent: Option<Concurrent>,
    /// Whether its halves ran on different machines, whose CPUs have nothing to do with each other.
    #[serde(skip)]
    pub two_machines: bool,
    /// Where free workers ran.
    pub observed_placement: Option<ObservedPlacement>,
    /// Round trips or set-ups per sample, or messages per transfer.
    pub batch: Option<u64>,
    /// Launches that were measured.
    pub launches: u64,
    /// Launches that failed.
    pub failed_launches: u64,
    /// Of what they failed; of a case that was given up after its pilot, of what that did.
    #[serde(skip)]
    pub failures: Vec<Failure>,
    /// Samples over all launches.
    pub samples: u64,
    /// What became of it.
    pub status: Status,
    /// Why it isn't ok.
    pub reason: Option<String>,
    /// The metric over launches, in its unit; null where nothing was measured.
    pub value: Option<Estimate>,
    /// Other quantities of the same launches, each with its own unit: the first message after set-up, the
    /// steps of a set-up, the energy.
    pub secondary: Vec<Secondary>,
    /// Its schedule, and how it was kept; null of other workloads than a rate.
    pub rate: Option<RateSeen>,
    /// What each of several clients got; null where there was one connection.
    pub clients: Option<ClientsSeen>,
    /// The median of each launch, by round, in the unit of the estimate; null where it failed.
    pub launch_medians: Vec<Option<f64>>,
    /// Those of the rounds that screened, which chose it and judge nothing; empty where none did.
    pub screening: Vec<Option<f64>>,
    /// Whether screening left it out: all that there is of it are the rounds that screened.
    pub screened_out: bool,
    /// The medians of the first half of those launches and of the second, the middle one of an odd number in neither;
    /// null of fewer than two.
    pub halves: Option<[f64; 2]>,
    /// The correlation of each launch's median with that of the launch before it, in logarithms; null of fewer than
    /// three, or where all are equal.
    pub serial_correlation: Option<f64>,
    /// Samples that each launch lacks for a percentile.
    pub samples_missing: BTreeMap<String, u64>,
    /// The largest sample of all launches, in ns; null where samples aren't single operations.
    pub largest_ns: Option<f64>,
    /// Cost of the clock over the time of a sample.
    pub clock_share: Option<f64>,
    /// Whether its samples are single operations too short for the clock (`--unbatched`): then its cost
    /// and its step are a part of every percentile.
    pub clock_limited: bool,
    /// CPU time of both workers per round trip or message, in ns.
    pub cpu_ns_per_operation: Option<CpuCost>,
    /// What the case is compared with; null where there is nothing of its kind, or it wasn't measured.
    pub bound: Option<Bound>,
    /// Precision asked and reached.
    pub precision_reached: Option<Precision>,
    /// Whether others disturbed every round that it has a launch in: see [`super::RoundCounts`].
    #[serde(skip)]
    pub disturbed: bool,
    /// Those in undisturbed rounds, where more than a tenth were in disturbed ones.
    pub stratified: Option<Stratified>,
    /// Over the sessions of the run; null where there was one.
    pub sessions: Option<SessionsSeen>,
    /// In earlier runs of the store on this host; null where there are none.
    pub earlier: Option<Earlier>,
    /// What happened beside.
    pub noise: Option<NoiseSeen>,
    /// What became of its datagrams; null of mechanisms that send none over a network.
    pub datagrams: Option<DatagramsSeen>,
    /// What its ends counted of messages and datagrams; null where they count nothing.
    pub delivery: Option<DeliveryCounters>,
    /// The columns that its study derives, by name; empty without one.
    pub derived: BTreeMap<String, Derived>,
    /// The same of each launch, by round: for claims.
    #[serde(skip)]
    pub derived_by_round: BTreeMap<String, Vec<Option<f64>>>,
    /// What observed launches beside it counted, for studies.
    #[serde(skip)]
    pub counted: Counted,
    /// Mean of all operations, over launches alike, in the unit of the estimate: for tables that
    /// reproduce a published mean, never with an interval.
    #[serde(skip)]
    pub mean: Option<f64>,
    /// What the kernel granted: buffers, capacities. Of an engine also `null_ns`, what its loop and its clock take without a
    /// mechanism: the median over launches.
    pub effective_settings: BTreeMap<String, u64>,
    /// ns per operation of each launch, by round (from 1); what comparisons are made of.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
    /// Each launch cycle by cycle, by round; null where it took no turns with others.
    #[serde(rename = "launch_cycles")]
    pub by_cycle: Vec<Option<Cycles>>,
    /// Its launches of the rounds that screened its group, of what went on and of what did not.
    #[serde(skip)]
    pub screened: Vec<Option<f64>>,
    /// What each launch says of the bound that was asked, by round; empty without one.
    #[serde(skip)]
    pub bounded: Vec<Option<BoundedLaunch>>,
    /// Share of the messages of all launches that were later than that bound.
    #[serde(skip)]
    pub later_share: Option<f64>,
    /// The same of other statistics of each launch: `mean`, `min` (its quickest sample), `middle`
    /// (the mean of the middle half of its samples), and `p75` and those
    /// of [`super::PERCENTILES`] where samples are single operations; an export has those.
    #[serde(rename = "launch_percentiles", serialize_with = "percentiles")]
    pub others_by_round: BTreeMap<&'static str, Vec<Option<f64>>>,
    /// The smallest, the quartiles and the largest of the samples of all launches, in the unit of the
    /// estimate and in its order; null where a sample is a batch of operations.
    #[serde(skip)]
    pub pooled: Option<[f64; 5]>,
    /// The pooled percentile curve, in ns.
    #[serde(skip)]
    pub curve: Curve,
    /// Its samples over time, launch by launch.
    #[serde(skip)]
    pub time_series: Vec<TimeSeries>,
}

/// Of statistics of each launch by name the percentiles.
fn percentiles<S: Serializer>(
    others: &BTreeMap<&'static str, Vec<Option<f64>>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let is_one = |name: &str| percentile::PERCENTILES.iter().any(|(known, _)| *known == name);
    serializer.collect_map(others.iter().filter(|(name, _)| is_one(name)))
}

is_a_case!(CaseResult);

/// What an export says of the metric of each result: all of it is once in `metrics`.
pub(super) fn brief<S: serde::Serializer>(metric: &Metric, to: S) -> Result<S::Ok, S::Error> {
    Brief { name: &metric.name, unit: metric.unit, better: metric.better }.serialize(to)
}

/// A metric in brief.
#[derive(JsonSchema, Serialize)]
pub(super) struct Brief<'a> {
    /// Its name among `metrics`.
    name: &'a str,
    /// The unit of its values.
    unit: Unit,
    /// Which values are better.
    better: Better,
}

impl CaseResult {
    /// A secondary quantity by its name.
    pub fn secondary(&self, name: &str) -> Option<&Secondary> {
        self.secondary.iter().find(|secondary| secondary.name == name)
    }

    /// Whether it may be compared: measured, no second name of another, no control, its schedule kept.
    pub fn is_ranked(&self) -> bool {
        self.is_valid() && !self.twin && !self.carries.is_control()
    }

    /// Whether its schedule was kept, where it has one: else its times say how long a launch was.
    pub fn is_kept(&self) -> bool {
        self.rate.is_none_or(|rate| rate.is_kept())
    }

    /// Whether its values are those of what was asked: measured, and its schedule was kept.
    pub fn is_valid(&self) -> bool {
        self.status == Status::Ok && self.is_kept()
    }

    /// Why they are not, where anything says so.
    pub fn shortfall(&self) -> Option<String> {
        self.rate.and_then(|rate| rate.shortfall()).or_else(|| self.reason.clone())
    }

    /// Whether both workers ran on one CPU: elsewhere the level changes from run to run, and ratios say more.
    pub fn is_on_one_cpu(&self) -> bool {
        !self.two_machines && self.place.cpus.is_some_and(|(a, b)| a == b)
    }

    /// Judges one case, its time series in so many `slices` a launch; also gives the sum of its
    /// launches' timed parts, in ns.
    pub(super) fn of(
        store: &Store,
        run: &StoredRun,
        group: &StoredGroup,
        case: &StoredCase,
        slices: usize,
    ) -> Result<(CaseResult, f64), StoreError> {
        let mut result = CaseResult::blank(case, &run.catalogue);
        if let Some(rate) = &mut result.rate {
            rate.arrivals = run.request.arrivals;
        }
        result.group = group.nth;
        let elsewhere = run.peer.as_ref().is_some_and(|peer| !peer.one_kernel);
        result.two_machines = elsewhere && result.route == Route::Peer;
        if run.routes().len() > 1 && !case.case.route.is_local() {
            result.site.route = Some(case.case.route.clone());
        }
        let all = store.launches(case.id)?;
        let launches = result.take_screening(&all, run.screening(group.nth));
        if let Some(fleet) = &run.fleet {
            result.nodes = run.nodes_of(case).into_iter().map(str::to_string).collect();
            result.stand_between(fleet, case, &launches);
        }
        let clock = run.clock_of(case, false);
        let mut pool = Pool::in_ticks_of(clock.ns_per_tick);
        let mut values = Vec::new();
        for launch in &launches {
            let at = launch.round as usize - 1;
            result.by_round.resize(result.by_round.len().max(at + 1), None);
            if launch.status != "ok" {
                result.failed_launches += 1;
                continue;
            }
            let samples = store.samples(launch.id)?;
            let single = result.metric.is_time() && launch.record.initiator.batch == 1;
            let ns_per_tick = run.clock_of(case, launch.swapped).ns_per_tick;
            let scale = ns_per_tick / launch.record.initiator.batch.max(1) as f64;
            result.time_series.push(TimeSeries::of(launch.round, &samples, scale, slices));
            if let Some(bound) = run.request.bound {
                let (kept, used) =
                    (launch.record.initiator.punctuality, launch.record.server_cpus());
                let found = bound.judge(&mut samples.clone(), ns_per_tick, kept.as_ref(), used);
                put(&mut result.bounded, at, Some(found));
            }
            let value = pool.take(samples, launch, ns_per_tick, single);
            result.by_round[at] = Some(value.ns);
            result.by_cycle.resize(result.by_round.len(), None);
            result.by_cycle[at] = value.cycles.clone();
            result.keep_others(at, &value);
            values.push(value);
        }
        result.datagrams = DatagramsSeen::of(&all, case.case.message_bytes);
        result.settle_status(case, &all, &values);
        result.tell_if_left_out(run, &all);
        if !values.is_empty() {
            result.pooled = pool.five().map(|five| {
                let mut five = five.map(|ns| result.metric.of_ns(ns, result.message_bytes));
                five.sort_by(f64::total_cmp);
                five
            });
            result.later_share = run.request.bound.map(|bound| pool.share_later(bound.ns as f64));
            result.fill(run, clock, group, &values, &launches, &pool);
            if result.metric.is_time() {
                result.curve = percentile::curve(&mut pool.ticks, clock.ns_per_tick);
            }
        }
        Ok((result, pool.timed_ns))
    }

    /// Keeps what claims about other statistics than the median are made of.
    fn keep_others(&mut self, at: usize, value: &LaunchValue) {
        let tails = value.percentiles.iter().flat_map(|of_launch| {
            percentile::PERCENTILES.iter().zip(of_launch.ns).map(|((name, _), ns)| (*name, ns))
        });
        for (name, ns) in
            [("mean", value.mean_ns), ("min", value.least_ns), ("middle", value.middle_ns)]
                .into_iter()
                .chain(value.p75_ns.map(|ns| ("p75", ns)))
                .chain(tails)
        {
            put(self.others_by_round.entry(name).or_default(), at, Some(ns));
        }
    }

    /// Voluntary switches of both workers for each operation.
    pub fn switches_per_operation(&self) -> Option<f64> {
        let operations =
            self.samples as f64 / self.launches.max(1) as f64 * self.batch.unwrap_or(1) as f64;
        Some(self.noise.as_ref()?.voluntary_switches? / operations)
    }

    fn settle_status(
        &mut self,
        case: &StoredCase,
        launches: &[StoredLaunch],
        values: &[LaunchValue],
    ) {
        // The plan's probe may find what a worker, which holds more descriptors, no longer gets.
        self.status = match case.absence {
            Some(Absence::Unavailable) => Status::Unavailable,
            Some(Absence::NotApplicable) => Status::NotApplicable,
            None if values.is_empty() => match launches.last().map(|launch| launch.status.as_str())
            {
                Some("unavailable") => Status::Unavailable,
                Some("not_applicable") => Status::NotApplicable,
                _ => Status::Failed,
            },
            None => Status::Ok,
        };
        self.failures = failures::of_launches(launches, self.status == Status::Failed);
        if self.reason.is_none() {
            self.reason = launches.iter().rev().find_map(|launch| launch.reason.clone());
        }
        if self.status == Status::Failed && self.reason.is_none() {
            self.reason = Some(unmeasured::NO_TIME.into());
        }
    }

    fn fill(
        &mut self,
        run: &StoredRun,
        clock: &Record,
        group: &StoredGroup,
        values: &[LaunchValue],
        launches: &[&StoredLaunch],
        pool: &Pool,
    ) {
        let ns: Vec<f64> = values.iter().map(|value| value.ns).collect();
        let unit = self.unit();
        let in_unit: Vec<f64> = ns.iter().map(|ns| unit(*ns)).collect();
        self.launch_medians = self.by_round.iter().map(|ns| ns.map(&unit)).collect();
        self.halves = screening::halves(&in_unit);
        self.serial_correlation = stats::serial_correlation(&in_unit);
        self.launches = values.len() as u64;
        let mean_ns = values.iter().map(|value| value.mean_ns).sum::<f64>() / values.len() as f64;
        self.mean = Some(unit(mean_ns));
        self.samples = values.iter().map(|value| value.samples).sum();
        let per_launch: Vec<OfLaunch> =
            values.iter().filter_map(|value| value.percentiles).collect();
        let (percentiles, missing) =
            percentile::over_launches(&per_launch, |ns| pool.share_later(ns));
        self.samples_missing = if per_launch.is_empty() { BTreeMap::new() } else { missing };
        let estimate = Estimate::of(in_unit).expect("a measured case has values");
        let asked = run.request.stopping.asked(self.workload, self.is_on_one_cpu());
        let half_width = interval_of(&ns).map(|interval| {
            (interval.interval.high - interval.interval.low) / 2.0 / interval.interval.estimate
        });
        self.precision_reached = Some(Precision {
            asked,
            half_width,
            reached: half_width.is_some_and(|half_width| half_width <= asked),
        });
        let typical = ns.iter().sum::<f64>() / ns.len() as f64;
        let batch = self.batch.unwrap_or(1) as f64;
        self.clock_share = Some(clock.cost_ns / (typical * batch));
        let single = self.metric.is_time() && self.batch == Some(1);
        self.clock_limited = run.request.unbatched && single && typical < clock.shortest_ns();
        self.largest_ns = values.iter().filter_map(|value| value.largest_ns).reduce(f64::max);
        let ok: Vec<&StoredLaunch> =
            launches.iter().filter(|launch| launch.status == "ok").copied().collect();
        // Of a server that isn't ours nobody knows what it used.
        let described = run.catalogue.variant(&self.variant);
        let foreign = described.is_some_and(|variant| variant.traits.foreign_server);
        self.cpu_ns_per_operation = if foreign { None } else { CpuCost::of(&ok) };
        self.noise = Some(NoiseSeen::of(&ok));
        self.rate = self.rate.map(|rate| rate.with(&ok).by_bound(&self.bounded));
        self.clients = ClientsSeen::of(&ok);
        self.delivery = DeliveryCounters::of(&ok);
        self.counted.add(delivery::by_round(self, &ok, &run.rounds));
        self.effective_settings =
            ok.last().map(|launch| launch.record.effective_settings.clone()).unwrap_or_default();
        let nulls = ok.iter().filter_map(|launch| launch.record.initiator.null_ns);
        let null = stats::median_of(nulls.map(|ns| ns as f64));
        self.effective_settings.extend(null.map(|ns| (NULL_NS.into(), ns.round() as u64)));
        self.secondary = per_launch::secondary(&self.metric, &ok, group.nth, &run.rounds);
        if self.placement.leaves_free() && !self.metric.is_set_up() && !self.two_machines {
            self.observed_placement = ObservedPlacement::of(&ok);
        }
        self.value = Some(Estimate { percentiles, ..estimate });
    }

    /// From ns per operation to the unit of the estimate.
    pub(super) fn unit(&self) -> impl Fn(f64) -> f64 + use<> {
        let (metric, bytes) = (self.metric.clone(), self.message_bytes);
        move |ns| metric.of_ns(ns, bytes)
    }
}
