//! Cases under instrumentation: each beside the plain one of its group.

use super::{Absent, Case, Group, WithMechanism};
use model::load::Server;
use model::mechanism::Carries;
use model::request::{Absence, Request};

/// Why nothing is observed of two hosts.
const ONE_HOST: &str = "instrumentation sees the workers of one network stack: observe route local";

/// Why nothing is observed of a server of many threads.
const ONE_THREAD: &str = "instrumentation sees one thread of each worker: observe --server epoll";

/// Why nothing is observed of many members or receivers.
const NO_CROWD: &str =
    "instrumentation sees one thread of each worker: observe -w latency or throughput";

/// Every case that moves something once more under each probe, or the reason why not.
pub(super) fn add(groups: &mut [Group], request: &Request) {
    for probe in &request.observe {
        let refused = machine::available(*probe).err().map(|refusal| refusal.to_string());
        let refused = |case: &Case| match case.load.and_then(|load| load.choice()) {
            _ if !case.route.is_local() => Some(ONE_HOST.to_string()),
            Some(Server::Threads) => Some(ONE_THREAD.to_string()),
            _ if case.workload.traits().many_connections() => Some(NO_CROWD.to_string()),
            _ => refused.clone(),
        };
        for group in &mut *groups {
            let subject = |case: &&Case| {
                let plain = !case.twin && case.observe.is_none();
                plain && case.variant.traits().carries != Carries::Nothing
            };
            let observed = |case: &Case| Case { observe: Some(*probe), ..case.clone() };
            let cases = group.cases.iter().filter(subject).map(observed);
            let cases: Vec<Case> =
                cases.filter(|case| study::observes(request, &case.kept())).collect();
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
}
