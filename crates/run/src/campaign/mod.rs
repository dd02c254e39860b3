//! A run from its first pilot to its last look: what is launched when, and when to stop.
//!
//! Groups take turns, a round each, so that drift hits all alike. A round launches every case
//! of a group once, in a random order; a group is analysed twice at most, and closes as a whole. This is the one place that knows launches, store and
//! statistics; it keeps no figure of its own: what is judged later is judged from the store.

mod bounds;
mod look;
mod pilot;
mod progress;
mod roads;
mod room;
mod round;
mod sessions;
mod settle;
pub mod stopping;
mod turn;
mod unmarked;
mod warnings;

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use bounds::Bounds;

use crate::floor::{self, Order};
use crate::launch::{Interrupt, Launcher, Spec, spec::BUILD};
use crate::plan::{Case, Plan};
use model::clock::Anchor;
use model::floors::FloorDetail;
use model::placement::Place;
use model::request::Request;
use model::route::Route;
use model::total::Total;
use stats::MOST_LAUNCHES;
use store::{Closed, Label, NewRun, RunStatus, Store, StoreError};

use stopping::{Bound, Progressed};

pub use look::value_ns;
pub use pilot::{deadline_ms, deadline_of, lasting_ns, operation_ns, pilot_of, sized};
pub use progress::{Launched, Progress, Status};
pub use roads::Roads;
pub use round::drawn_in;
use sessions::Session;
pub use settle::find_quiet;
pub use turn::{Other, Turn};

/// A case being measured.
struct LiveCase {
    id: i64,
    case: Case,
    batch: u64,
    samples: u64,
    operation_ns: f64,
    /// Launch medians by round, in ns per operation; None where the launch failed.
    medians: Vec<Option<f64>>,
    precise: bool,
    /// Set when it failed so often that further launches would only cost time.
    given_up: bool,
}

/// A group being measured.
struct LiveGroup {
    nth: usize,
    cases: Vec<LiveCase>,
    wants_quiet: bool,
    rounds: u64,
    /// Those of them that nobody disturbed.
    unmarked: u64,
    spent: f64,
    closed: Option<Closed>,
    /// How long a round of it takes: what its pilot lets expect, then the mean.
    took: Duration,
}

impl LiveCase {
    /// Whether instrumentation is active: then it is no result.
    fn is_observed(&self) -> bool {
        self.case.observe.is_some()
    }
}

impl LiveGroup {
    fn progressed(&self) -> Progressed {
        Progressed { rounds: self.rounds as usize, spent: self.spent }
    }

    /// The cases at which nothing looks.
    fn results(&self) -> impl Iterator<Item = &LiveCase> {
        self.cases.iter().filter(|live| !live.is_observed())
    }

    /// Takes into account how long its last round took: what its pilot let expect counts as one.
    fn took_round(&mut self, took: Duration) {
        let before = self.rounds as u32;
        self.took =
            if self.took.is_zero() { took } else { (self.took * before + took) / (before + 1) };
    }

    fn title(&self) -> String {
        let case = &self.cases[0].case;
        let size = match case.message_bytes {
            Some(bytes) => format!(" {}", model::size::spell(bytes)),
            None => String::new(),
        };
        let total = match case.total {
            Some(total) if total != Total::Long => format!(" of {total}"),
            _ => String::new(),
        };
        format!(
            "{}{size}{total}, {}, {}",
            case.workload.name(),
            case.placement,
            case.workers.name()
        )
    }
}

/// The tools of a campaign.
pub struct Conditions<'a> {
    /// Where everything is kept.
    pub store: &'a mut Store,
    /// Starts launches.
    pub launcher: Launcher,
    /// The ways to other hosts.
    pub roads: Roads,
    /// Keeps other runs of this machine from measuring meanwhile.
    pub turn: Turn,
    /// Notices signals.
    pub interrupt: &'a Interrupt,
    /// Hears how it goes.
    pub progress: &'a mut dyn Progress,
}

/// A run being measured.
pub struct Campaign<'a> {
    with: Conditions<'a>,
    run: i64,
    request: Request,
    groups: Vec<LiveGroup>,
    clock: model::clock::Record,
    clock_start: Anchor,
    settle: Duration,
    room: room::Room,
    began: Instant,
    /// Wall time of the parts of this run before it was resumed, in ns.
    measured_before: u64,
    /// Launches that are stored, and not told yet.
    untold: Vec<Launched>,
    /// What rounds measure beside their launches.
    bounds: RefCell<Bounds>,
    session: Session,
}

/// How long the doctor looks at the machine before a run; `ipcmark doctor` looks longer.
const EXAMINED: Duration = Duration::from_millis(100);

/// Version and build, as stored with each run.
pub const TOOL: &str = concat!("ipcmark ", env!("CARGO_PKG_VERSION"));

impl<'a> Campaign<'a> {
    /// Begins a new run of `plan`: stores what was asked and where it runs.
    pub fn begin(
        with: Conditions<'a>,
        request: Request,
        plan: &Plan,
        argv: &[String],
    ) -> Result<Campaign<'a>, StoreError> {
        let began = Instant::now();
        let root = Path::new("/");
        let (kind, why_not) = clock::choose(root);
        let (clock_start, clock) = clock::measure(kind, why_not);
        let cases = plan.groups.iter().flat_map(|group| &group.cases);
        let cpus = round::distinct(cases.filter_map(round::cpus_here));
        let host = machine::doctor::examined(root, &cpus, EXAMINED);
        let peer = with.roads.peer().map(|peer| peer.record(&host));
        let run = with.store.begin_run(&NewRun {
            started: now_utc(),
            tool: TOOL,
            argv,
            request: &request,
            host: &host,
            clock: &clock,
            peer: peer.as_ref(),
            labs: &with.roads.labs,
            catalogue: &mechanisms::catalogue(&request.mechanisms),
        })?;
        let groups = look::add_groups(with.store, run, plan)?;
        let settle = Duration::ZERO;
        let mut campaign = Campaign {
            with,
            run,
            request,
            groups,
            clock,
            clock_start,
            settle,
            room: room::Room::of_this_machine(),
            began,
            measured_before: 0,
            untold: Vec::new(),
            bounds: RefCell::default(),
            session: Session::nth(1),
        };
        campaign.tell_beginning()?;
        campaign.warn_of_other_run()?;
        campaign.warn_if_loaded()?;
        campaign.find_floors()?;
        campaign.begin_budget();
        Ok(campaign)
    }

    /// Counts the budget from now on: floors are no part of it.
    fn begin_budget(&mut self) {
        self.began = Instant::now();
        if let Some(budget) = self.request.stopping.budget_ns {
            let pauses = self.request.sessions.map_or(0, |it| (it.count - 1) * it.every_ns);
            let times = self.request.stopping.unmarked.map_or(1, |_| unmarked::MOST_TIMES);
            let budget = budget.saturating_mul(times).saturating_add(pauses);
            self.with.turn.ends_within(Duration::from_nanos(budget));
        }
    }

    /// Gives the run a label.
    pub fn label(&mut self, label: &Label) -> Result<(), StoreError> {
        self.with.store.set_label(self.run, label)
    }

    /// Measures the bounds that the results will stand beside, and keeps them.
    fn find_floors(&mut self) -> Result<(), StoreError> {
        self.with.progress.stage("floors: clocks, kernel calls, cache lines, wake-ups, copying");
        let cases = self.groups.iter().flat_map(|group| &group.cases);
        // Between hosts there is no pair of CPUs: what is measured tells of this machine alone.
        let places = cases.map(|it| match it.case.route {
            Route::Peer => Place::FREE,
            Route::Local | Route::Lab(_) => it.case.place,
        });
        let mut order = Order { extent: FloorDetail::Quick, pairs: Vec::new(), anywhere: false };
        for place in places {
            match place.cpus {
                Some(pair) if order.pairs.contains(&pair) => {}
                Some(pair) => order.pairs.push(pair),
                None => order.anywhere = true,
            }
        }
        let floors = floor::measure(&order, self.with.interrupt);
        self.with.store.set_floors(self.run, &floors)
    }

    /// Takes up run `id`, which was interrupted or killed; its plan and pilots are kept, its
    /// budget begins anew, or is `budget`.
    pub fn resume(
        with: Conditions<'a>,
        id: i64,
        budget: Option<Duration>,
    ) -> Result<Campaign<'a>, StoreError> {
        let began = Instant::now();
        let stored = with.store.run(id)?;
        let (kind, why_not) = clock::choose(Path::new("/"));
        let (clock_start, clock) = clock::measure(kind, why_not);
        let mut groups = Vec::new();
        for group in &stored.groups {
            groups.extend(look::revive(with.store, &stored, group, &clock)?);
        }
        with.store.resume_run(id)?;
        let settle = Duration::from_nanos(stored.settle.quiet_ns);
        let mut request = stored.request;
        if let Some(budget) = budget {
            request.stopping.budget_ns = Some(budget.as_nanos() as u64);
            request.stopping.budget_is_hard = true;
        }
        let measured_before = stored.measuring_ns;
        let session = stored.rounds.iter().map(|it| it.noise.session).max().unwrap_or(1);
        let mut campaign = Campaign {
            with,
            run: id,
            request,
            groups,
            clock,
            clock_start,
            settle,
            room: room::Room::of_this_machine(),
            began,
            measured_before,
            untold: Vec::new(),
            bounds: RefCell::default(),
            session: Session::nth(session.max(1)),
        };
        campaign.tell_beginning()?;
        campaign.warn_of_other_run()?;
        if stored.floors.is_none_or(|floors| !floors.missing().is_empty()) {
            campaign.find_floors()?;
        }
        campaign.begin_budget();
        Ok(campaign)
    }

    fn tell_beginning(&mut self) -> Result<(), StoreError> {
        let stored = self.with.store.run(self.run)?;
        self.with.progress.began(&stored);
        Ok(())
    }

    /// Wall time of measuring so far, resumed parts added, in ns.
    fn measured_ns(&self) -> u64 {
        self.measured_before + self.began.elapsed().as_nanos() as u64
    }

    /// Measures until every group is closed, the budget ends or a signal comes. Returns the run's number
    /// and its status.
    ///
    /// # Errors
    /// The store can't be read or written.
    pub fn run(mut self) -> Result<(i64, RunStatus), StoreError> {
        let interrupted = self.measure()?.is_err();
        // A signal to the whole process group is the end of an agent, too.
        let lost = self.with.roads.lost().filter(|_| self.with.interrupt.signal().is_none());
        if let Some(why) = lost {
            self.warn(&why)?;
        }
        self.warn_of_marks()?;
        self.warn_of_lacking()?;
        let status = if interrupted { RunStatus::Interrupted } else { RunStatus::Complete };
        self.with.progress.done();
        self.clock.conclude(&self.clock_start, &clock::anchor(self.clock.kind));
        let took = self.measured_ns();
        self.with.store.end_run(self.run, status, &now_utc(), &self.clock, took)?;
        Ok((self.run, status))
    }

    fn measure(&mut self) -> Result<Result<(), Interrupted>, StoreError> {
        if self.settle.is_zero() && self.groups.iter().any(|group| group.wants_quiet) {
            self.with.progress.stage("finding how long this machine takes to settle");
            let Some(settle) = self.find_settle() else { return Ok(Err(Interrupted)) };
            self.settle = Duration::from_nanos(settle.quiet_ns);
            self.with.store.set_settle(self.run, &settle)?;
        }
        self.with.progress.stage("pilots: how many operations fill a sample, and a launch");
        for nth in 0..self.groups.len() {
            if !self.with.progress.wanted() || self.pilot(nth)?.is_err() {
                return Ok(Err(Interrupted));
            }
        }
        loop {
            let open: Vec<usize> =
                (0..self.groups.len()).filter(|nth| self.groups[*nth].closed.is_none()).collect();
            if open.is_empty() {
                return Ok(Ok(()));
            }
            if self.session_ends() && self.next_session().is_err() {
                return Ok(Err(Interrupted));
            }
            for nth in open {
                if !self.with.progress.wanted() {
                    return Ok(Err(Interrupted));
                }
                if self.goes_on(nth)? {
                    self.tell_status(nth);
                    if self.round(nth)?.is_err() {
                        return Ok(Err(Interrupted));
                    }
                }
            }
        }
    }

    /// What bounds a group: groups that are open share the time that is left, round by round.
    fn bound(&self, nth: usize) -> Bound {
        let stopping = &self.request.stopping;
        let group = &self.groups[nth];
        let left = stopping
            .budget_ns
            .map(|budget| Duration::from_nanos(budget).saturating_sub(self.began.elapsed()));
        let open = self.groups.iter().filter(|group| group.closed.is_none());
        let each: Duration = open.map(|group| group.took).sum();
        let rounds_left = left.map(|left| {
            let fit = left.as_nanos().checked_div(each.as_nanos()).unwrap_or(u128::MAX);
            // Where time is left at all, something is measured.
            let least = usize::from(group.rounds == 0 && !left.is_zero());
            usize::try_from(fit).map_or(MOST_LAUNCHES, |it| it.clamp(least, MOST_LAUNCHES))
        });
        let launches = stopping.launches.map(|it| it as usize);
        let lacking = self.lacks_unmarked(group);
        Bound { launches, rounds_left, hard: stopping.budget_is_hard, lacking }
    }

    fn tell_status(&mut self, nth: usize) {
        let group = &self.groups[nth];
        let planned = group.progressed().plan(self.bound(nth)).launches as u64;
        let budget = self.request.stopping.budget_ns.map(Duration::from_nanos);
        let cases = || self.groups.iter().flat_map(LiveGroup::results);
        let status = Status {
            now: group.title(),
            round: group.rounds + 1,
            planned,
            precise: cases().filter(|case| case.precise).count(),
            cases: cases().count(),
            left: budget.map(|budget| budget.saturating_sub(self.began.elapsed())),
        };
        self.with.progress.round(&status);
    }

    /// The spec that all launches of a case share.
    fn spec(&self, live: &LiveCase) -> Spec {
        Spec {
            build: BUILD.into(),
            mechanism: live.case.variant.to_string(),
            workload: live.case.workload,
            message_bytes: live.case.opened_for(),
            workers: live.case.workers,
            initiator_cpu: live.case.place.cpus.map(|cpus| cpus.0),
            others: Vec::new(),
            responder_cpu: live.case.place.cpus.map(|cpus| cpus.1),
            payload: live.case.payload,
            verify: self.request.verify,
            warmup: self.request.warmup,
            samples: model::launch::SampleCount::Exactly(live.samples),
            batch: live.batch,
            rate: live.case.rate,
            arrivals: self.request.arrivals,
            clock: self.clock.kind,
            ns_per_tick: self.clock.ns_per_tick,
            deadline_ms: live.deadline_ms(),
            buffer_offset: 0,
            observe: live.case.observe,
            plant: None,
            half: None,
            seed: self.request.seed,
        }
    }
}

/// A signal ended the campaign, or nobody wants it any more.
struct Interrupted;

/// The time now, UTC, RFC 3339 with seconds.
pub fn now_utc() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}
