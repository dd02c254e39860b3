//! A run from its first pilot to its last round: what is launched when, and when to stop.
//!
//! A round launches every case of a group once, in a random order; the first ones screen, the rest has those that
//! go on, and a group closes as a whole. That is so on one host, between two and on the nodes of a fleet: how the launches of a
//! round are made is a `driver`'s. This is the one place that knows launches, store and statistics; it keeps no
//! figure of its own: what is judged later is judged from the store.

mod arms;
mod bounds;
pub mod driver;
mod exclusive;
mod hosts;
mod live;
mod look;
mod outlook;
mod pilot;
mod progress;
mod refine;
mod round;
mod screen;
mod settle;
mod sizing;
pub mod stopping;
mod unmarked;
mod warnings;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use driver::Driver;
use hosts::HostDriver;
use stopping::Bound;

use crate::floor::{self, Order};
use crate::launch::{Interrupt, Spec};
use crate::plan::{Plan, WithMechanism};
use machine::interrupt::Interrupted;
use model::clock::Anchor;
use model::distinct::{ascending, distinct};
use model::request::{MOST_LAUNCHES, Request, Sessions};
use model::route::Route;
use model::screening::ROUNDS;
use stats::LEAST_LAUNCHES;
use store::{Label, NewLaunch, NewRun, RunStatus, Store, StoreError, StoredRun};

pub use arms::shell;
pub use exclusive::{Other, Turn};
pub use hosts::{Hosts, OpenRoutes};
pub use live::{LiveCase, LiveGroup};
pub use look::value_ns;
pub use progress::{Launched, Progress, Status};
pub use settle::find_quiet;
pub use sizing::lasting_ns;

/// The tools of a campaign.
pub struct Conditions<'a> {
    pub store: &'a mut Store,
    /// Notices signals.
    pub interrupt: &'a Interrupt,
    /// Hears how it goes.
    pub progress: &'a mut dyn Progress,
}

/// A run being measured.
pub struct Campaign<'a> {
    with: Conditions<'a>,
    driver: Box<dyn Driver + 'a>,
    run: i64,
    request: Request,
    groups: Vec<LiveGroup>,
    /// Launches of earlier parts of this run that stay as they are, by case and round.
    stored: StoredLaunches,
    clock: model::clock::Record,
    clock_start: Anchor,
    settle: Duration,
    began: Instant,
    /// When this part of the run was taken up, floors and all.
    created: Instant,
    /// How much of preparing is not counted.
    beyond: Duration,
    /// How long it was said that it will take; nothing where nothing was.
    told: Duration,
    /// Wall time of the parts of this run before it was resumed, in ns.
    measured_before: u64,
    /// Launches that have ended and are not stored yet, and since when.
    pending: Vec<NewLaunch>,
    pending_since: Option<Instant>,
    /// Launches that are not reported yet.
    unreported: Vec<Launched>,
    warned: HashSet<String>,
    session: Session,
}

/// Launches by case and round.
type StoredLaunches = HashSet<(i64, u64)>;

/// Why measuring ends before every group is closed.
enum Stop {
    /// A signal came, nobody wants more, or nothing can be measured any more.
    Interrupted,
    Store(StoreError),
}

impl From<Interrupted> for Stop {
    fn from(_: Interrupted) -> Stop {
        Stop::Interrupted
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Store(error)
    }
}

/// How long the doctor looks at the machine before a run; `ipcmark doctor` looks longer.
const EXAMINED: Duration = Duration::from_millis(100);

/// The clock that this machine offers, and when it was measured.
pub fn measured_clock() -> (Anchor, model::clock::Record) {
    let (kind, why_not) = sys::clock::choose(Path::new("/"));
    sys::clock::measure(kind, why_not)
}

impl<'a> Campaign<'a> {
    /// Begins a new run of `plan`: stores what was asked and where it runs.
    pub fn begin(
        with: Conditions<'a>,
        hosts: Hosts,
        request: &Request,
        plan: &Plan,
        argv: &[String],
    ) -> Result<Campaign<'a>, StoreError> {
        let clock = measured_clock();
        let cases = plan.groups.iter().flat_map(|group| &group.cases);
        let cpus = ascending(cases.flat_map(hosts::cpus_here));
        let host = machine::doctor::examined(Path::new("/"), &cpus, EXAMINED);
        let peer = hosts.routes.peer().map(|peer| peer.record(&host));
        let run = with.store.begin_run(&NewRun {
            started: now_utc(),
            tool: model::tool::name(),
            argv,
            request,
            host: &host,
            clock: &clock.1,
            peer: peer.as_ref(),
            labs: &hosts.routes.labs,
            catalogue: &workload::catalogue(&request.mechanisms),
            fleet: None,
        })?;
        look::add_groups(with.store, run, plan)?;
        let stored = with.store.run(run)?;
        let mut campaign = Campaign::on_hosts(with, hosts, stored, clock)?;
        campaign.warn_of_the_machine(&host, plan)?;
        campaign.tell_if_cases_are_many();
        campaign.find_floors()?;
        Ok(campaign)
    }

    /// Takes up run `id`, which was interrupted or killed; its plan and pilots are kept, its
    /// budget begins anew, or is `budget`.
    pub fn resume(
        with: Conditions<'a>,
        hosts: Hosts,
        id: i64,
        budget: Option<Duration>,
    ) -> Result<Campaign<'a>, StoreError> {
        with.store.resume_run(id)?;
        let mut stored = with.store.run(id)?;
        if let Some(budget) = budget {
            stored.request.stopping.budget_ns = Some(budget.as_nanos() as u64);
            stored.request.stopping.budget_is_hard = true;
        }
        let lacks_floors = stored.floors.as_ref().is_none_or(|floors| !floors.missing().is_empty());
        let mut campaign = Campaign::on_hosts(with, hosts, stored, measured_clock())?;
        if lacks_floors {
            campaign.find_floors()?;
        }
        Ok(campaign)
    }

    /// A stored run on this host and those that it has a route to.
    fn on_hosts(
        with: Conditions<'a>,
        hosts: Hosts,
        stored: StoredRun,
        clock: (Anchor, model::clock::Record),
    ) -> Result<Campaign<'a>, StoreError> {
        let other = hosts.turn.other().map(ToString::to_string);
        let driver = Box::new(HostDriver::new(hosts, with.interrupt));
        let mut campaign = Campaign::of(with, driver, stored, clock)?;
        if let Some(other) = other {
            campaign.warn(&format!("{other} measured here meanwhile: each disturbs the other"))?;
        }
        Ok(campaign)
    }

    /// A stored run that is measured by `driver`, at its beginning or where it was interrupted.
    pub fn of(
        with: Conditions<'a>,
        driver: Box<dyn Driver + 'a>,
        run: StoredRun,
        (clock_start, clock): (Anchor, model::clock::Record),
    ) -> Result<Campaign<'a>, StoreError> {
        let (groups, stored) = look::revive(with.store, &run)?;
        with.progress.began(&run);
        let session = run.rounds.iter().map(|round| round.noise.session).max().unwrap_or(1);
        Ok(Campaign {
            with,
            driver,
            run: run.id,
            request: run.request,
            groups,
            stored,
            clock,
            clock_start,
            settle: Duration::from_nanos(run.settle.quiet_ns),
            began: Instant::now(),
            created: Instant::now(),
            beyond: Duration::ZERO,
            told: Duration::ZERO,
            measured_before: run.measuring_ns,
            pending: Vec::new(),
            pending_since: None,
            unreported: Vec::new(),
            warned: HashSet::new(),
            session: Session::nth(session.max(1)),
        })
    }

    /// Counts the budget from now on; of one that was asked for floors are part.
    fn begin_budget(&mut self) {
        let is_asked = self.request.stopping.budget_is_hard;
        self.began = if is_asked { self.created } else { Instant::now() };
        if let Some(budget) = self.request.stopping.budget_ns {
            let pauses = self.request.sessions.map_or(0, Sessions::pauses_ns);
            let times = self.request.stopping.unmarked.map_or(1, |_| unmarked::MOST_TIMES);
            let budget = budget.saturating_mul(times).saturating_add(pauses);
            self.driver.ends_within(Duration::from_nanos(budget));
        }
    }

    /// Gives the run a label.
    pub fn label(&mut self, label: &Label) -> Result<(), StoreError> {
        self.with.store.set_label(self.run, label)
    }

    /// Measures the bounds that the results will stand beside, and keeps them.
    fn find_floors(&mut self) -> Result<(), StoreError> {
        if settle::is_brief() {
            return Ok(());
        }
        self.with.progress.stage("floors: clocks, kernel calls, cache lines, wake-ups, copying");
        let cases = self.groups.iter().flat_map(|group| &group.cases);
        let aligned = cases.clone().map(|case| case.case.align).next();
        // Between hosts there is no pair of CPUs: what is measured describes this machine alone.
        let places = cases.map(|case| match case.case.route {
            Route::Peer => None,
            Route::Local | Route::Lab(_) => case.case.place.cpus,
        });
        let order = Order {
            anywhere: places.clone().any(|cpus| cpus.is_none()),
            pairs: distinct(places.flatten()),
            ..Order::quick(aligned.unwrap_or_default())
        };
        let floors = floor::measure(&order, self.with.interrupt);
        self.with.store.set_floors(self.run, &floors)
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
        self.begin_budget();
        let interrupted = match self.measure() {
            Ok(()) => false,
            Err(Stop::Interrupted) => true,
            Err(Stop::Store(error)) => return Err(error),
        };
        self.flush()?;
        if let Some(why) = self.driver.lost() {
            self.warn(&why)?;
        }
        self.warn_of_marks()?;
        self.warn_of_lacking()?;
        self.warn_of_the_clock()?;
        self.warn_of_lost_cpus()?;
        let status = if interrupted { RunStatus::Interrupted } else { RunStatus::Complete };
        self.with.progress.done();
        self.clock.conclude(&self.clock_start, &sys::clock::anchor(self.clock.kind));
        let took = self.measured_ns();
        self.with.store.end_run(self.run, status, &now_utc(), &self.clock, took)?;
        Ok((self.run, status))
    }

    fn measure(&mut self) -> Result<(), Stop> {
        self.tell_lost()?;
        if self.settle.is_zero() && self.groups.iter().any(|group| group.wants_quiet) {
            self.with.progress.stage("finding how long this machine takes to settle");
            let settle = self.find_settle().ok_or(Stop::Interrupted)?;
            self.settle = Duration::from_nanos(settle.quiet_ns);
            self.with.store.set_settle(self.run, &settle)?;
        }
        self.pilot_all()?;
        self.leave_time_for_rounds();
        self.tell_if_rounds_are_long();
        (0..self.groups.len()).try_for_each(|nth| self.end_hopeless(nth))?;
        (0..self.groups.len()).try_for_each(|nth| self.fit_choice(nth))?;
        loop {
            let open = self.open();
            if open.is_empty() {
                if !self.refine()? {
                    return Ok(());
                }
                self.pilot_all()?;
                continue;
            }
            if self.session_ends() {
                self.next_session()?;
            }
            for together in self.driver.together(open) {
                if !self.with.progress.wanted() {
                    return Err(Stop::Interrupted);
                }
                let mut of = Vec::new();
                for nth in together {
                    if self.goes_on(nth)? {
                        of.push(nth);
                    }
                }
                if let Some(first) = of.first() {
                    self.tell_status(*first);
                    self.round(&of)?;
                    self.fit_choice(*first)?;
                }
            }
        }
    }

    /// Runs every case once that was not piloted before.
    fn pilot_all(&mut self) -> Result<(), Stop> {
        self.with.progress.stage("pilots: how many operations fill a sample, and a launch");
        let to_come = |nth: &usize| self.groups[*nth].cases.iter().any(|live| live.samples == 0);
        let piloted: Vec<usize> = (0..self.groups.len()).filter(to_come).collect();
        for together in self.driver.together(self.in_order_of_pilots()) {
            if !self.with.progress.wanted() {
                return Err(Stop::Interrupted);
            }
            self.pilot(&together)?;
        }
        Ok(self.warn_of_fewer_samples(&piloted)?)
    }

    /// Preparing may take two thirds of the budget; what it took beyond that is not counted. On a slow
    /// machine a short budget would else end before anything is measured.
    fn leave_time_for_rounds(&mut self) {
        let Some(budget) = self.request.stopping.budget_ns.map(Duration::from_nanos) else {
            return;
        };
        let beyond = self.began.elapsed().saturating_sub(budget * 2 / 3);
        self.began += beyond;
        self.beyond = beyond;
    }

    /// The groups that get rounds now. Where the scheduler places the workers, launches differ by what it
    /// chooses, and more of them make no interval narrow: such groups get the least that has an interval,
    /// and further rounds once all others are closed.
    fn open(&self) -> Vec<usize> {
        let open = |nth: &usize| self.groups[*nth].closed.is_none();
        let (free, placed): (Vec<usize>, Vec<usize>) =
            (0..self.groups.len()).filter(open).partition(|nth| self.groups[*nth].is_free());
        // Those wait until it is known which cases are worth it there.
        let screened = |nth: &usize| self.groups[*nth].rounds >= ROUNDS as u64;
        let wait = self.chooses_free() && !placed.iter().all(screened);
        let going_on = |nth: &usize| {
            placed.is_empty() || (!wait && self.groups[*nth].rounds < LEAST_LAUNCHES as u64)
        };
        let mut now: Vec<usize> = free.into_iter().filter(going_on).collect();
        now.extend(&placed);
        now.sort_unstable();
        now
    }

    /// What bounds a group: groups that are open share the time that is left, round by round.
    fn bound(&self, nth: usize) -> Bound {
        let stopping = &self.request.stopping;
        let group = &self.groups[nth];
        let whole = stopping.budget_ns.map(Duration::from_nanos);
        let spent = self.began.elapsed();
        let left = whole.map(|whole| self.budget_of(nth, whole).saturating_sub(spent));
        let each: Duration = self.open().into_iter().map(|nth| self.groups[nth].took).sum();
        let rounds_left = left.map(|left| {
            let fit = left.as_nanos().checked_div(each.as_nanos()).unwrap_or(u128::MAX);
            // Where time is left at all, something is measured; and something of any run.
            let nothing_yet = self.groups.iter().all(|group| group.rounds == 0);
            let any = nothing_yet || whole.is_some_and(|whole| whole > spent);
            let least = usize::from(group.rounds == 0 && any);
            (fit.min(MOST_LAUNCHES.into()) as usize).max(least)
        });
        let launches = self.launches_of(nth);
        let lacking = self.lacks_unmarked(group);
        let needed = group.needed;
        Bound { launches, needed, rounds_left, hard: stopping.budget_is_hard, lacking }
    }

    /// The clock that stamps what node `near` begins.
    fn clock(&self, near: usize) -> &model::clock::Record {
        self.driver.clock(near).unwrap_or(&self.clock)
    }

    /// The spec that all launches of a case share whose initiator is on node `near`.
    fn spec(&self, live: &LiveCase, near: usize) -> Spec {
        let clock = self.clock(near);
        let [initiator_cpu, responder_cpu] = self.driver.cpus(near, &live.case);
        Spec {
            message_bytes: live.case.request_bytes(),
            initiator_cpu,
            responder_cpu,
            verify: self.request.verify,
            warmup: self.request.warmup,
            samples: model::launch::SampleCount::Exactly(live.samples),
            batch: live.batch,
            arrivals: self.request.arrivals,
            clock: clock.kind,
            ns_per_tick: clock.ns_per_tick,
            deadline_ms: live.deadline_ms(),
            energy: self.request.energy,
            seed: self.request.seed,
            ..Spec::of(&live.case)
        }
    }
}

/// The time now, UTC, RFC 3339 with seconds.
pub fn now_utc() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}

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
