//! From a request to groups of cases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::across::{Across, reached, resolve};
use super::{Request, Total};
use crate::launch::placement::Place;
use crate::launch::{Placement, Workers};
use crate::mechanism::{Carries, OpenError, Variant, probe};
use crate::observe::{Probe, Topology};
use crate::workload::{Policy, Workload, connect};

/// One combination of factor levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The mechanism with its options.
    pub variant: Variant,
    /// What is done.
    pub workload: Workload,
    /// Bytes of a message; None where the mechanism carries none, or nothing is sent.
    pub message_bytes: Option<u64>,
    /// What one transfer carries; None where no bytes are transferred.
    pub total: Option<Total>,
    /// Where the workers run.
    pub placement: Placement,
    /// The CPUs of that placement here.
    pub place: Place,
    /// Processes or threads.
    pub workers: Workers,
    /// What happens to the bytes.
    pub payload: Policy,
    /// Second name of another case of the group: the pair shows the machine's own noise.
    pub twin: bool,
    /// What looks on; such a case is no result, but stands beside one.
    pub observe: Option<Probe>,
}

impl Case {
    /// Bytes of the message that the mechanism is opened for; 1 where messages have no size.
    pub fn opened_for(&self) -> usize {
        let sized = self.variant.traits().carries.has_size();
        match self.message_bytes {
            Some(bytes) => bytes as usize,
            None if sized && self.workload == Workload::Connect => connect::OPENED_FOR as usize,
            None => 1,
        }
    }
}

/// Why a case isn't measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// It makes no sense, or the machine lacks the place.
    NotApplicable,
    /// The mechanism can't be had here.
    Unavailable,
}

/// A case that isn't measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    /// The case.
    pub case: Case,
    /// Which kind of absence.
    pub absence: Absence,
    /// Why, and the way out where there is one.
    pub reason: String,
}

/// Cases that are compared with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What is measured.
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
    /// Its CPUs.
    pub topology: &'a Topology,
    /// Those that this process may use.
    pub allowed: &'a [u32],
    /// The other host, if there is one.
    pub across: Option<&'a Across>,
}

/// What makes cases comparable. Signals join the smallest size of a latency; they form a
/// throughput group of their own, because wake-ups per second compare with nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    nth: usize,
    signals: bool,
    workers: Workers,
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
    let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
    for what in &exchanges(request) {
        for workers in &request.workers {
            for placement in &placements(what.workload, request, machine) {
                let place = place(*placement, machine)?;
                for variant in &variants {
                    let sized = variant.traits().carries.has_size() && what.workload.has_size();
                    if !sized && !what.first {
                        continue; // sizes and totals mean nothing to it: measured once
                    }
                    let transfers = what.workload == Workload::Throughput;
                    let case = Case {
                        variant: variant.clone(),
                        workload: what.workload,
                        message_bytes: sized.then_some(what.size),
                        total: (sized && transfers).then_some(what.total),
                        placement: *placement,
                        place: place.clone().unwrap_or(Place::FREE),
                        workers: *workers,
                        payload: request.payload,
                        twin: false,
                        observe: None,
                    };
                    let key = Key {
                        nth: what.nth,
                        signals: !sized && transfers,
                        workers: *workers,
                        placement: *placement,
                    };
                    let group = groups
                        .entry(key)
                        .or_insert(Group { cases: Vec::new(), absent: Vec::new() });
                    match absence(request, &case, &place, machine.across) {
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
    add_twins(&mut groups);
    add_observed(&mut groups, request);
    Ok(Plan { groups })
}

/// What two workers do, by which cases are grouped.
struct Exchange {
    nth: usize,
    workload: Workload,
    size: u64,
    total: Total,
    /// Whether it is the first of its workload.
    first: bool,
}

/// Every workload with every size and, of a throughput, every total, in the order of the request.
fn exchanges(request: &Request) -> Vec<Exchange> {
    let totals = request.totals();
    let mut found = Vec::new();
    for (workload, sizes) in &request.workloads {
        let transfers = *workload == Workload::Throughput;
        let totals = if transfers { &*totals } else { &[Total::Long] };
        let start = found.len();
        for size in sizes {
            for total in totals {
                let (nth, first) = (found.len(), found.len() == start);
                found.push(Exchange {
                    nth,
                    workload: *workload,
                    size: *size,
                    total: *total,
                    first,
                });
            }
        }
    }
    found
}

/// The placements of a workload. One worker alone sets up and tears down, so that all which pin
/// are the same to it: of those that were asked for, the first that exists here.
fn placements(workload: Workload, request: &Request, machine: &Machine) -> Vec<Placement> {
    let all = request.placements_by_workload.get(&workload).unwrap_or(&request.placements);
    let pins = |it: &&Placement| Placement::PINNED.contains(it);
    let exists = |it: &&Placement| resolve(**it, machine).is_ok();
    let pinned = || all.iter().filter(pins);
    let one = pinned().find(exists).or_else(|| pinned().next());
    let wanted = |it: &&Placement| workload != Workload::Connect || !pins(it) || Some(*it) == one;
    all.iter().filter(wanted).copied().collect()
}

/// The place, or the reason why there is none; a CPU that the user named must exist.
fn place(placement: Placement, machine: &Machine) -> Result<Result<Place, String>, String> {
    match (placement, resolve(placement, machine)) {
        (Placement::Cpus(..), Err(reason)) => Err(reason),
        (_, resolved) => Ok(resolved),
    }
}

fn absence(
    request: &Request,
    case: &Case,
    place: &Result<Place, String>,
    across: Option<&Across>,
) -> Option<(Absence, String)> {
    if let Err(reason) = place {
        return Some((Absence::NotApplicable, reason.clone()));
    }
    let carries = case.variant.traits().carries;
    if carries.is_control() && case.workload == Workload::Throughput {
        let what = if carries == Carries::Own { "each worker's own" } else { "nothing" };
        return Some((Absence::NotApplicable, format!("carries {what}: it has no throughput")));
    }
    if carries == Carries::Own && case.workload == Workload::Connect {
        let reason = "a control of what is moved: the set-up to compare is the plain one's";
        return Some((Absence::NotApplicable, reason.into()));
    }
    if !request.spin_on_one_cpu
        && case.workload != Workload::Connect
        && let Some(reason) = Placement::objection(case.place, &case.variant)
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
    let opened = match across {
        None => probe(&case.variant, case.opened_for()),
        Some(across) => reached(case, across),
    };
    match opened {
        Ok(()) => None,
        Err(OpenError::NotApplicable(reason)) => Some((Absence::NotApplicable, reason)),
        Err(error @ OpenError::Unavailable(_)) => Some((Absence::Unavailable, error.to_string())),
    }
}

/// One A/A pair per placement: the first case that carries bytes gets a second name.
fn add_twins(groups: &mut [Group]) {
    let mut placements = Vec::new();
    for group in groups {
        let subject = group
            .cases
            .iter()
            .find(|case| case.variant.traits().carries == Carries::Bytes && !case.variant.burns());
        let Some(subject) = subject else { continue };
        if group.cases.len() < 2 || placements.contains(&(subject.placement, subject.workers)) {
            continue;
        }
        placements.push((subject.placement, subject.workers));
        let twin = Case { twin: true, ..subject.clone() };
        group.cases.push(twin);
    }
}

/// Every case that moves something once more under each probe, or the reason why not.
fn add_observed(groups: &mut [Group], request: &Request) {
    for probe in &request.observe {
        let refused = probe.available().err().map(|refusal| refusal.to_string());
        for group in &mut *groups {
            let subject = |it: &&Case| {
                let plain = !it.twin && it.observe.is_none();
                plain && it.variant.traits().carries != Carries::Nothing
            };
            let observed = |it: &Case| Case { observe: Some(*probe), ..it.clone() };
            let cases = group.cases.iter().filter(subject).map(observed);
            let cases: Vec<Case> = cases.filter(|it| request.observes(it)).collect();
            match &refused {
                None => group.cases.extend(cases),
                Some(reason) => group.absent.extend(cases.into_iter().map(|case| Absent {
                    case,
                    absence: Absence::Unavailable,
                    reason: reason.clone(),
                })),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn request(mechanisms: &[&str], workloads: &[(Workload, &[u64])]) -> Request {
        Request {
            mechanisms: mechanisms.iter().map(|it| it.to_string()).collect(),
            workloads: workloads.iter().map(|(w, sizes)| (*w, sizes.to_vec())).collect(),
            ..Request::default()
        }
    }

    fn planned(request: &Request) -> Plan {
        let topology = Topology::read(Path::new("/")).unwrap();
        let allowed = topology.online();
        plan(request, &Machine { topology: &topology, allowed: &allowed, across: None }).unwrap()
    }

    fn names(cases: &[Case]) -> Vec<String> {
        cases.iter().filter(|it| !it.twin).map(|it| it.variant.to_string()).collect()
    }

    #[test]
    fn signals_join_the_smallest_latency_and_stand_apart_in_throughput() {
        let sizes: &[u64] = &[64, 4096];
        let workloads = [(Workload::Latency, sizes), (Workload::Throughput, sizes)];
        let plan = planned(&request(&["pipe", "eventfd"], &workloads));
        let groups: Vec<_> = plan.groups.iter().map(|group| names(&group.cases)).collect();
        let expected: [&[&str]; 5] =
            [&["pipe", "eventfd"], &["pipe"], &["pipe"], &["eventfd"], &["pipe"]];
        assert_eq!(groups, expected);
    }

    #[test]
    fn what_cannot_be_measured_is_a_row_with_its_reason() {
        const LIMITED: &str = "unix-dgram:buffer=16K";
        let workloads: [(Workload, &[u64]); 2] =
            [(Workload::Latency, &[100_000]), (Workload::Throughput, &[64])];
        let plan = planned(&request(&[LIMITED, "shm-ring:wait=spin", "null"], &workloads));
        let absent: Vec<_> = plan.groups.iter().flat_map(|group| &group.absent).collect();
        let reason = |name: &str, workload| {
            let of =
                |it: &&&Absent| it.case.variant.to_string() == name && it.case.workload == workload;
            absent.iter().find(of).map(|it| it.reason.clone()).unwrap_or_default()
        };
        assert!(reason(LIMITED, Workload::Latency).contains("at most 32736 bytes"));
        assert!(reason("shm-ring:wait=spin", Workload::Latency).contains("--spin-on-one-cpu"));
        assert!(reason("null", Workload::Throughput).contains("carries nothing"));
    }

    #[test]
    fn set_ups_are_one_group_without_sizes_at_one_pinned_placement() {
        let mut request = request(
            &["null", "pipe", "eventfd", "shm-ring:wait=spin", "unix-stream:wiring=self"],
            &[(Workload::Connect, &[64, 4096])],
        );
        request.placements = Placement::PINNED.into_iter().chain([Placement::Free]).collect();
        let plan = planned(&request);
        let groups: Vec<_> = plan.groups.iter().map(|group| names(&group.cases)).collect();
        let all = ["null", "pipe", "eventfd", "shm-ring:wait=spin"];
        assert_eq!(groups, [all, all]);
        let cases = || plan.groups.iter().flat_map(|group| &group.cases);
        assert!(cases().all(|case| case.message_bytes.is_none()));
        assert!(
            cases().filter(|it| it.variant.to_string() == "pipe").all(|it| it.opened_for() == 64)
        );
        let places: Vec<_> = plan.groups.iter().map(|group| group.cases[0].placement).collect();
        assert!(places.contains(&Placement::SameCpu) && places.contains(&Placement::Free));
        assert_eq!(plan.groups[0].absent.len(), 1, "{:?}", plan.groups[0].absent);
    }

    #[test]
    fn each_total_is_a_case_of_its_own_where_bytes_are_transferred() {
        let sizes: &[u64] = &[64, 4096];
        let workloads = [(Workload::Latency, sizes), (Workload::Throughput, sizes)];
        let mut request = request(&["pipe", "eventfd"], &workloads);
        request.totals = vec![Total::Message, Total::Bytes(1024)];
        let plan = planned(&request);
        let of = |it: &Case| (it.variant.to_string(), it.message_bytes, it.total);
        let told: Vec<_> =
            plan.groups.iter().map(|it| it.cases.iter().map(of).collect::<Vec<_>>()).collect();
        let pipe = |size, total| ("pipe".to_string(), Some(size), total);
        let signal = || ("eventfd".to_string(), None, None);
        let twin = pipe(64, None);
        assert_eq!(told[0], [pipe(64, None), signal(), twin]);
        assert_eq!(told[1], [pipe(4096, None)]);
        assert_eq!(told[2], [pipe(64, Some(Total::Message))]);
        assert_eq!(told[3], [signal()]);
        assert_eq!(told[4], [pipe(64, Some(Total::Bytes(1024)))]);
        assert_eq!(told[5], [pipe(4096, Some(Total::Message))]);
        assert!(told[6].is_empty() && told.len() == 7);
        let absent = &plan.groups[6].absent[0];
        assert_eq!(of(&absent.case), pipe(4096, Some(Total::Bytes(1024))));
        assert_eq!(absent.reason, "--total 1024 is less than one message of 4096 bytes");
    }

    #[test]
    fn one_twin_per_placement() {
        let sizes: &[u64] = &[64, 4096];
        let plan = planned(&request(&["pipe", "tcp"], &[(Workload::Latency, sizes)]));
        let twins = plan.groups.iter().flat_map(|group| &group.cases).filter(|it| it.twin).count();
        assert_eq!(twins, 1);
    }
}
