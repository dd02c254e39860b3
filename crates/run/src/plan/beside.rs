//! Cases in company: every result once more with each neighbour that is asked for.

use std::path::Path;

use super::{Absent, Case, Group, WithMechanism};
use machine::cgroup;
use model::company::Company;
use model::mechanism::Carries;
use model::request::{Absence, Request};

/// Why nothing runs beside launches between hosts.
const ONE_HOST: &str = "company is of this host: choose it with --route local";

/// Adds to every case that moves something the same one in company, or the reason why not.
pub(super) fn add(groups: &mut [Group], request: &Request) {
    for company in &request.beside {
        let refused = match company {
            Company::Quota => {
                cgroup::available(Path::new("/")).err().map(|error| error.to_string())
            }
            Company::Hog | Company::Memory => None,
        };
        for group in &mut *groups {
            let plain = |case: &&Case| {
                let carries = case.variant.traits().carries;
                !case.twin && case.is_result() && carries != Carries::Nothing
            };
            let beside = |case: &Case| Case { beside: Some(*company), ..case.clone() };
            let cases = group.cases.iter().filter(plain).map(beside);
            let cases: Vec<Case> =
                cases.filter(|case| !study::leaves_out(request, &case.kept())).collect();
            for case in cases {
                let reason = match &refused {
                    _ if !case.route.is_local() => Some(ONE_HOST.to_string()),
                    refused => refused.clone(),
                };
                match reason {
                    None => group.cases.push(case),
                    Some(reason) => {
                        group.absent.push(Absent { case, absence: Absence::Unavailable, reason });
                    }
                }
            }
        }
    }
}
