//! From a request to groups of cases.

mod added;
mod case;
mod memory;
mod remote_host;

pub use case::{Case, WithMechanism, are_held_back, are_waited_for};
pub use remote_host::{AvailableRoutes, RemoteHost};

use crate::launch::placement;
use model::distinct::distinct;
use model::factor::Factor;
use model::load::{Load, Server, Service};
use model::request::Absence;
use std::collections::BTreeMap;

use machine::Topology;
use mechanisms::{OpenError, Variant, probe, probe_connections, probe_crowd, probe_nonblocking};
use model::launch::Workers;
use model::mechanism::Carries;
use model::placement::{Placement, ResolvedPlacement};
use model::plugin::Plugin;
use model::request::Request;
use model::route::{Chain, Route};
use model::total::Total;
use model::workload::{Policy, Workload, WorkloadTraits};
use remote_host::{reached, resolve};

/// A case that isn't measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    pub case: Case,
    pub absence: Absence,
    /// Why, and the remedy where there is one.
    pub reason: String,
}

/// Cases that are compared with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub cases: Vec<Case>,
    /// What isn't.
    pub absent: Vec<Absent>,
}

impl Group {
    /// Whether its launches wait for the kernel to settle: workers on two CPUs, or free.
    pub fn wants_quiet(&self) -> bool {
        self.cases.iter().any(|case| !case.place.shares_one_cpu())
    }
}

/// Everything that will be measured, and everything that won't.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The groups, in the order they were asked for.
    pub groups: Vec<Group>,
}

/// What the planner must know of the machine.
pub struct Machine<'a> {
    pub topology: &'a Topology,
    /// Those that this process may use.
    pub allowed: &'a [u32],
    /// The routes to other hosts.
    pub routes: &'a AvailableRoutes,
}

/// Most combinations of levels that are planned: at 45 ms a launch, one round of them takes 8 minutes.
const MOST_CASES: usize = 10_000;

/// What makes cases comparable. Signals join the smallest size of a latency; they form a
/// throughput group of their own, because wake-ups per second compare with nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    nth: usize,
    signals: bool,
    levels: usize,
    placement: Placement,
}

/// Plans a request on this machine. Text was checked at the door; what remains is whether each
/// case can be measured here.
///
/// # Errors
/// A variant or an explicit CPU that doesn't exist, or a request without any case.
pub fn plan(request: &Request, machine: &Machine) -> Result<Plan, String> {
    let variants = request
        .mechanisms
        .iter()
        .map(|text| Variant::parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    check_many(request)?;
    let combinations = request.combinations();
    let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
    for what in &exchanges(request) {
        for (route, placement) in &wheres(what.workload, request) {
            let place = place(*placement, route, request, machine)?;
            // What has a placement of its own for want of others' is compared with the first.
            let joined = joins(what.workload, request, *placement);
            for (nth, levels) in combinations.iter().enumerate() {
                let mut base = model::case::Case::usual((), what.workload);
                for (factor, level) in levels {
                    if let Some(plain) = &factor.row().plain {
                        (plain.set)(&mut base, level);
                    }
                }
                for variant in &variants {
                    let sized = variant.traits().carries.has_size() && what.workload.has_size();
                    if !sized && !what.first {
                        continue; // sizes and totals mean nothing to it: measured once
                    }
                    if !goes(variant, route, request) {
                        continue; // nor does a distance: measured here
                    }
                    let transfers = what.workload.traits().transfers;
                    let case = Case {
                        message_bytes: sized.then_some(what.size),
                        total: (sized && transfers).then_some(what.total),
                        load: what.load,
                        placement: *placement,
                        place: place.clone().unwrap_or(ResolvedPlacement::FREE),
                        route: route.clone(),
                        ..base.with(|()| variant.clone())
                    };
                    let kept = case.kept();
                    let means_nothing = |(factor, level): &(Factor, String)| {
                        factor.of(&kept).is_none() && request.levels_of(*factor)[0] != *level
                    };
                    if levels.iter().any(means_nothing) {
                        continue; // nor where buffers begin: measured at the first
                    }
                    if study::leaves_out(request, &kept) {
                        continue;
                    }
                    let key = Key {
                        nth: what.nth,
                        signals: !sized && transfers,
                        levels: nth,
                        placement: joined,
                    };
                    let group = groups
                        .entry(key)
                        .or_insert(Group { cases: Vec::new(), absent: Vec::new() });
                    match absence(request, &case, &place, machine.routes) {
                        None => group.cases.push(case),
                        Some((absence, reason)) => {
                            group.absent.push(Absent { case, absence, reason });
                        }
                    }
                }
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    if groups.is_empty() {
        return Err("nothing to measure: name a mechanism, a workload and a size".into());
    }
    if request.bound.is_none() {
        add_twins(&mut groups);
    }
    added::under_arms(&mut groups, request);
    added::observed(&mut groups, request);
    added::beside(&mut groups, request);
    Ok(Plan { groups })
}

/// Refuses more cases than anybody waits for, before any is made.
fn check_many(request: &Request) -> Result<(), String> {
    let loaded = |(workload, sizes): &(Workload, Vec<u64>)| {
        sizes.len().saturating_mul(request.loads_of(*workload).len())
    };
    let exchanges = request.workloads.iter().map(loaded).fold(0, usize::saturating_add);
    let placements = request.placements_by_workload.values().map(Vec::len).max().unwrap_or(0);
    let levels = [
        request.mechanisms.len(),
        exchanges,
        request.placements.len().max(placements),
        request.combinations().len(),
        request.totals().len(),
        request.routes.len(),
        request.arms.len().max(1),
        request.observe.len() + request.beside.len() + 1,
    ];
    let many = levels.into_iter().fold(1usize, usize::saturating_mul);
    if many > MOST_CASES {
        return Err(format!(
            "{many} combinations of levels are more than {MOST_CASES}: choose fewer sizes, \
             placements or mechanisms"
        ));
    }
    Ok(())
}

/// What two workers do, by which cases are grouped.
struct Exchange {
    nth: usize,
    workload: Workload,
    size: u64,
    total: Total,
    /// What it carries, where messages are due, or its connections, where these were asked for.
    load: Option<Load>,
    /// Whether it is the first of its workload and load.
    first: bool,
}

/// Every workload with every load that it takes, every size and, of transfers, every total, in the order of the
/// request.
fn exchanges(request: &Request) -> Vec<Exchange> {
    let totals = request.totals();
    let mut found = Vec::new();
    for (workload, sizes) in &request.workloads {
        let transfers = workload.traits().transfers;
        let totals = if transfers { &*totals } else { &[Total::Long] };
        for load in request.loads_of(*workload) {
            let start = found.len();
            let each = sizes.iter().flat_map(|size| totals.iter().map(|total| (*size, *total)));
            for (size, total) in each {
                let (nth, first) = (found.len(), found.len() == start);
                found.push(Exchange { nth, workload: *workload, size, total, load, first });
            }
        }
    }
    if request.bound.is_some() {
        join_rates(&mut found);
    }
    found
}

/// Puts what differs in its rate alone into one group, so that a round tries all rates in a random order.
fn join_rates(found: &mut [Exchange]) {
    let rateless = |exchange: &Exchange| exchange.load.map(|load| Load { per_second: 0, ..load });
    let question = |exchange: &Exchange| (exchange.workload, exchange.size, rateless(exchange));
    let questions = distinct(found.iter().map(question));
    for exchange in found {
        exchange.nth =
            questions.iter().position(|known| *known == question(exchange)).unwrap_or(exchange.nth);
    }
}

/// The placements of a workload over `route`.
fn placements(workload: Workload, route: &Route, request: &Request) -> Vec<Placement> {
    let asked = request.placements_by_workload.get(&workload).unwrap_or(&request.placements);
    match request.routes.len() {
        1 => asked.clone(),
        _ => remote_host::placements(route, asked.clone()),
    }
}

fn wheres(workload: Workload, request: &Request) -> Vec<(Route, Placement)> {
    let of = |route: &Route| {
        let placements = placements(workload, route, request);
        placements.into_iter().map(|placement| (route.clone(), placement)).collect::<Vec<_>>()
    };
    request.routes.iter().flat_map(of).collect()
}

/// The placement of the cases with which those at `placement` are compared: one that is not asked
/// for stands for all that are.
fn joins(workload: Workload, request: &Request, placement: Placement) -> Placement {
    let asked = placements(workload, &Route::Local, request);
    if asked.contains(&placement) { placement } else { *asked.first().unwrap_or(&placement) }
}

/// Whether a variant is asked for over `route`: one that stays on a host is measured there alone,
/// if anything is.
fn goes(variant: &Variant, route: &Route, request: &Request) -> bool {
    if !route.is_local() && !request.elsewhere.is_empty() {
        // Lost on the way and lost again by a trace: two causes, and no answer about either.
        let text = variant.to_string();
        let twice = route.chain().is_some_and(Chain::loses)
            && model::catalogue::loss(&text) != model::catalogue::NO_LOSS;
        return request.elsewhere.contains(&text) && !twice;
    }
    let stays = !variant.entry.reaches_over_network();
    route.is_local() || !(stays && request.routes.contains(&Route::Local))
}

/// The place, or the reason why there is none; a CPU that the user named must exist. A study may name one
/// without knowing the machine.
fn place(
    placement: Placement,
    route: &Route,
    request: &Request,
    machine: &Machine,
) -> Result<Result<ResolvedPlacement, String>, String> {
    let names = placement.named_cpus() != [None; 2];
    match resolve(placement, route, machine) {
        Err(reason) if names && request.study.is_none() => Err(reason),
        resolved => Ok(resolved),
    }
}

fn absence(
    request: &Request,
    case: &Case,
    place: &Result<ResolvedPlacement, String>,
    routes: &AvailableRoutes,
) -> Option<(Absence, String)> {
    if let Err(reason) = place {
        return Some((Absence::NotApplicable, reason.clone()));
    }
    if let Some(need) = request.aim.need()
        && let Some(reason) = need.objection(case.variant.traits(), case.variant.busy_waits())
    {
        return Some((Absence::NotApplicable, reason));
    }
    let carries = case.variant.traits().carries;
    let WorkloadTraits { name, transfers, sets_up, nonblocking, crowd, receivers, .. } =
        case.workload.traits();
    if carries.is_control() && transfers {
        let what = if carries == Carries::Own { "each worker's own" } else { "nothing" };
        return Some((Absence::NotApplicable, format!("carries {what}: it has no {name}")));
    }
    if sets_up && case.variant.entry.plugin.is_some() {
        let reason = "a plug-in opens its ends before anything is timed: leave out -w connect";
        return Some((Absence::NotApplicable, reason.into()));
    }
    if let Some(reason) = engine_objection(case, request.verify).or_else(|| server_objection(case))
    {
        return Some((Absence::NotApplicable, reason.into()));
    }
    if carries == Carries::Own && sets_up {
        let reason = "a control of what is moved: the set-up to compare is the plain one's";
        return Some((Absence::NotApplicable, reason.into()));
    }
    if case.load.is_some_and(|load| load.response.is_some())
        && !matches!(carries, Carries::Bytes | Carries::Nothing)
    {
        let what = if carries == Carries::Own { "each worker's own" } else { "a wake-up" };
        return Some((
            Absence::NotApplicable,
            format!("carries {what}: an answer has no size of its own"),
        ));
    }
    if !request.spin_on_one_cpu
        && !sets_up
        && let Some(reason) = placement::objection(case.place, &case.variant)
    {
        return Some((Absence::NotApplicable, reason));
    }
    if let (Some(Total::Bytes(total)), Some(size)) = (case.total, case.message_bytes)
        && total < size
    {
        let what = if request.study.is_some() { "a total of" } else { "--total" };
        let reason = format!("{what} {total} is less than one message of {size} bytes");
        return Some((Absence::NotApplicable, reason));
    }
    let opened = if !case.route.is_local() {
        reached(case, routes)
    } else if case.variant.options.chosen().contains_key("mtu") {
        // Opening it takes the process into a network of its own, and all that it starts later: the
        // launch tries.
        Ok(())
    } else {
        probe(&case.variant, case.opened_for())
    };
    let opened = match (opened, case.load) {
        (Ok(()), _) if crowd > 0 => gathered(case),
        (Ok(()), _) if receivers > 0 => reaching(case),
        (Ok(()), Some(load)) if load.choice().is_some() => served(case, load),
        (Ok(()), load) if nonblocking || load.is_some_and(|load| load.asks_without_waiting()) => {
            probe_nonblocking(&case.variant, case.opened_for())
        }
        (opened, _) => opened,
    };
    match opened.and_then(|()| memory::enough(case)) {
        Ok(()) => None,
        Err(OpenError::NotApplicable(reason)) => Some((Absence::NotApplicable, reason)),
        Err(error @ OpenError::Unavailable(_)) => Some((Absence::Unavailable, error.to_string())),
    }
}

/// Why an engine can't do what a case asks for, where it is one: its loops are its own, and it has those of two workloads.
fn engine_objection(case: &Case, verify: bool) -> Option<&'static str> {
    if !case.variant.entry.plugin.is_some_and(Plugin::is_engine) {
        return None;
    }
    let knows = matches!(case.workload, Workload::Latency | Workload::Throughput);
    match case {
        _ if !knows => Some("an engine has latency and throughput"),
        case if case.workers == Workers::Thread => {
            Some("an engine is a process: leave out threads")
        }
        case if case.observe.is_some() => Some("an engine's process can't be observed"),
        case if case.payload != Policy::Untouched => Some("an engine leaves messages as they are"),
        case if case.connections() > 1 => Some("an engine has one connection"),
        _ if verify => Some("an engine's messages are looked at before it is timed alone"),
        _ => None,
    }
}

/// Why a server that already runs can't do what a case asks for, where one answers: it sends back what it gets.
fn server_objection(case: &Case) -> Option<&'static str> {
    if !case.variant.traits().foreign_server {
        return None;
    }
    let knows = matches!(case.workload, Workload::Latency | Workload::Rate);
    let load = case.load.unwrap_or(Load::USUAL);
    match case {
        _ if !knows => Some("a server that already runs has latency, rate and capacity"),
        case if case.payload != Policy::Untouched => {
            Some("a server that already runs does with messages what it does: leave out --payload")
        }
        _ if load.response.is_some() => {
            Some("a server that already runs sends back what it gets: leave out --response")
        }
        _ if load.service != Service::None => {
            Some("a server that already runs works as it does: leave out --service")
        }
        _ if load.choice().is_some_and(|server| server != Server::Epoll) => {
            Some("a server that already runs waits as it does: leave out --server")
        }
        _ => None,
    }
}

/// Whether a crowd of as many members a side can be had.
fn gathered(case: &Case) -> Result<(), OpenError> {
    let refuse = |reason: &str| Err(OpenError::NotApplicable(reason.into()));
    match case.variant.traits().carries {
        _ if !case.route.is_local() => {
            let name = case.workload.name();
            refuse(&format!("{name} runs on one host only: leave out its other routes"))
        }
        Carries::Bytes => {
            let shares = case.workload.traits().shares;
            let each = if shares { case.writers + case.readers } else { 2 };
            let members = case.connections() * each;
            let (bytes, connections) = (case.opened_for(), case.connections());
            probe_crowd(&case.variant, (bytes, !shares), connections, members)
        }
        _ => refuse("carries a wake-up, and a crowd's messages say who sent them"),
    }
}

/// Whether as many receivers can be had.
fn reaching(case: &Case) -> Result<(), OpenError> {
    if !case.route.is_local() {
        let reason = "receivers are threads of one worker: on this host alone";
        return Err(OpenError::NotApplicable(reason.into()));
    }
    probe_connections(&case.variant, case.opened_for(), case.connections(), Server::Threads)
}

/// Whether a server that chooses between connections can be had.
fn served(case: &Case, load: Load) -> Result<(), OpenError> {
    match load.choice() {
        Some(_) if !case.route.is_local() => Err(OpenError::NotApplicable(
            "between two hosts there is one connection: measure several on this host".into(),
        )),
        Some(server) => {
            probe_connections(&case.variant, case.opened_for(), load.connections, server)
        }
        None => Ok(()),
    }
}

/// One A/A pair per placement: the first case that carries bytes gets a second name.
fn add_twins(groups: &mut [Group]) {
    let mut placements = Vec::new();
    for group in groups {
        let subject = group.cases.iter().find(|case| {
            case.variant.traits().carries == Carries::Bytes && !case.variant.busy_waits()
        });
        let Some(subject) = subject else { continue };
        if group.cases.len() < 2 || placements.contains(&(subject.placement, subject.workers)) {
            continue;
        }
        placements.push((subject.placement, subject.workers));
        let twin = Case { twin: true, ..subject.clone() };
        group.cases.push(twin);
    }
}

#[cfg(test)]
mod added_tests;
#[cfg(test)]
mod studies_tests;
#[cfg(test)]
mod tests;
