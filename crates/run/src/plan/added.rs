//! Cases once more: under each arm, under instrumentation, and beside a load.

use std::path::Path;

use super::{Absent, Case, Group, WithMechanism};
use machine::cgroup;
use model::arm::Arm;
use model::company::Company;
use model::load::Server;
use model::mechanism::Carries;
use model::request::{Absence, Request};

/// Why nothing is observed of two hosts.
const ONE_STACK: &str =
    "instrumentation sees the workers of one network stack: observe route local";

/// Why nothing is observed of a server of many threads.
const ONE_THREAD: &str = "instrumentation sees one thread of each worker: observe --server epoll";

/// Why nothing is observed of many members or receivers.
const NO_CROWD: &str =
    "instrumentation sees one thread of each worker: observe -w latency or throughput";

/// Why nothing is observed of a server that isn't ours.
const NOT_OURS: &str =
    "instrumentation sees the workers of a launch: of a server that already runs perf(1) tells";

/// Why nothing runs beside launches between hosts.
const ONE_HOST: &str = "--beside works on local routes only: add --route local";

/// Every case under each arm, all of them in the group of the case; or the reason why one can't be measured there.
pub(super) fn under_arms(groups: &mut [Group], request: &Request) {
    if request.arms.is_empty() {
        return;
    }
    for group in groups {
        let cases = std::mem::take(&mut group.cases);
        for (case, arm) in
            cases.iter().flat_map(|case| request.arms.iter().map(move |arm| (case, arm)))
        {
            let case = Case { arm: Some(arm.name.clone()), ..case.clone() };
            match out_of_reach(&case, arm) {
                None => group.cases.push(case),
                Some(reason) => {
                    let absence = Absence::NotApplicable;
                    group.absent.push(Absent { case, absence, reason });
                }
            }
        }
    }
}

/// Why a case says nothing under an arm that changes the CPU mask: workers that are pinned elsewhere leave the mask.
fn out_of_reach(case: &Case, arm: &Arm) -> Option<String> {
    let process = arm.process.as_ref()?;
    let beyond = |cpu: &u32| !process.cpus.contains(cpu);
    let cpu = case.pinned_cpus().into_iter().flatten().find(beyond)?;
    let (name, cpus) = (&arm.name, list(&process.cpus));
    Some(format!(
        "arm {name} leaves a launch CPU {cpus}, and a worker is pinned to {cpu}: add -p free"
    ))
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Every case that moves something once more under each probe, or the reason why not.
pub(super) fn observed(groups: &mut [Group], request: &Request) {
    for probe in &request.observe {
        let refusal = machine::available(*probe).err().map(|refusal| refusal.to_string());
        let observed = |case: &Case| {
            let observed = Case { observe: Some(*probe), ..case.clone() };
            let wanted = case.observe.is_none() && study::observes(request, &observed.kept());
            wanted.then_some(observed)
        };
        add(groups, observed, |case| match case.load.and_then(|load| load.choice()) {
            _ if !case.route.is_local() => Some(ONE_STACK.to_string()),
            _ if case.variant.traits().foreign_server => Some(NOT_OURS.to_string()),
            Some(Server::Threads) => Some(ONE_THREAD.to_string()),
            _ if case.workload.traits().many_connections() => Some(NO_CROWD.to_string()),
            _ => refusal.clone(),
        });
    }
}

/// Every case that moves something once more beside each load, or the reason why not.
pub(super) fn beside(groups: &mut [Group], request: &Request) {
    for company in &request.beside {
        let refusal = match company {
            Company::Quota => cgroup::available(Path::new("/")).err().map(|why| why.to_string()),
            Company::Hog | Company::Memory => None,
        };
        let beside = |case: &Case| {
            let beside = Case { beside: Some(*company), ..case.clone() };
            let wanted = case.is_result() && !study::leaves_out(request, &beside.kept());
            wanted.then_some(beside)
        };
        add(groups, beside, |case| {
            if case.route.is_local() { refusal.clone() } else { Some(ONE_HOST.to_string()) }
        });
    }
}

/// Adds what `once_more` makes of the cases that move something, unless `refused` says why that can't be measured.
fn add(
    groups: &mut [Group],
    once_more: impl Fn(&Case) -> Option<Case>,
    refused: impl Fn(&Case) -> Option<String>,
) {
    for group in groups {
        let moves = |case: &&Case| !case.twin && case.variant.traits().carries != Carries::Nothing;
        let cases: Vec<Case> = group.cases.iter().filter(moves).filter_map(&once_more).collect();
        for case in cases {
            match refused(&case) {
                None => group.cases.push(case),
                Some(reason) => {
                    group.absent.push(Absent { case, absence: Absence::Unavailable, reason });
                }
            }
        }
    }
}
