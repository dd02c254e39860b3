//! From what was asked to cases: what is done on every node by itself, and between every pair. One
//! group each: its cases differ in node or pair alone, and are compared with each other.

use mechanisms::{OpenSpec, Variant, check_over_network, probe};
use model::placement::Placement;
use model::placement::ResolvedPlacement;
use model::route::Route;
use model::total::Total;
use model::workload::Workload;
use run::launch::placement;
use run::plan::{Case, WithMechanism};
use store::{Concurrent, Ends, FleetRequest, NewCase, Store, StoreError};

/// Samples of a simulated launch.
const SIMULATED_SAMPLES: u64 = 16;

/// What is done, in all cases of a group alike.
#[derive(Clone, Debug)]
pub struct GroupPlan {
    /// What is done; the CPUs of a placement are each node's own.
    pub case: Case,
    /// How many pairs of a turn at a time; None on one node.
    pub concurrent: Option<Concurrent>,
}

/// Everything that is done, group by group.
///
/// # Errors
/// What can't be measured so, with the remedy.
pub fn plan(asked: &FleetRequest) -> Result<Vec<GroupPlan>, String> {
    let mut groups = Vec::new();
    for placement in &asked.placements {
        if !matches!(placement, Placement::Free | Placement::SameCpu) {
            return Err(format!(
                "{placement}: nodes need not have such CPUs: choose same-cpu or free"
            ));
        }
    }
    let exchanges = || {
        asked
            .workloads
            .iter()
            .flat_map(|(workload, sizes)| sizes.iter().map(move |size| (*workload, *size)))
    };
    for (workload, size) in exchanges() {
        for placement in &asked.placements {
            for text in &asked.local {
                let case = case(text, workload, size, *placement)?;
                let place = case.place;
                if let Some(objection) = placement::objection(place, &case.variant) {
                    return Err(format!("{text}: {objection}").replace(
                        "--spin-on-one-cpu measures it anyway",
                        "--placement free lets it have two",
                    ));
                }
                probe(&case.variant, case.opened_for()).map_err(|why| format!("{text}: {why}"))?;
                groups.push(GroupPlan { case, concurrent: None });
            }
        }
    }
    for concurrent in &asked.concurrent {
        for (workload, size) in exchanges() {
            for text in &asked.between {
                let case = case(text, workload, size, Placement::Free)?;
                let place = ResolvedPlacement { swappable: true, ..case.place };
                let case = Case { route: Route::Peer, place, ..case };
                let open = OpenSpec {
                    options: case.variant.options.clone(),
                    message_bytes: case.opened_for(),
                    same_process: false,
                    seed: 0,
                };
                let checked = check_over_network(case.variant.entry.name, &open);
                checked.map_err(|why| format!("{text}: {why}"))?;
                groups.push(GroupPlan { case, concurrent: Some(*concurrent) });
            }
        }
    }
    if groups.is_empty() {
        return Err("nothing to measure: name a mechanism".into());
    }
    Ok(groups)
}

fn case(text: &str, workload: Workload, size: u64, placement: Placement) -> Result<Case, String> {
    let variant = Variant::parse(text)?;
    let sized = variant.traits().carries.has_size() && workload.has_size();
    // Any one CPU: which, each node says.
    let place = match placement {
        Placement::SameCpu => ResolvedPlacement { cpus: Some((0, 0)), ..ResolvedPlacement::FREE },
        _ => ResolvedPlacement::FREE,
    };
    Ok(Case {
        message_bytes: sized.then_some(size),
        total: (sized && workload.traits().transfers).then_some(Total::Long),
        load: None,
        placement,
        place,
        ..Case::usual(variant, workload)
    })
}

/// Stores every case of every group: nodes in their order, pairs row by row.
pub fn store(
    store: &mut Store,
    run: i64,
    asked: &FleetRequest,
    groups: &[GroupPlan],
) -> Result<(), StoreError> {
    let nodes = asked.nodes.len();
    let fixed = asked.simulated.then_some((1, SIMULATED_SAMPLES));
    let cases = groups.iter().enumerate().flat_map(|(group, plan)| {
        let ends: Box<dyn Iterator<Item = (usize, Option<usize>)>> = match plan.concurrent {
            None => Box::new((0..nodes).map(|node| (node, None))),
            Some(_) => {
                Box::new((0..nodes).flat_map(move |a| (a + 1..nodes).map(move |b| (a, Some(b)))))
            }
        };
        ends.enumerate().map(move |(nth, (near, far))| {
            let case = plan.case.kept();
            let ends = Some(Ends { near, far, concurrent: plan.concurrent });
            NewCase { group, nth, case, absence: None, ends, fixed }
        })
    });
    store.add_cases(run, cases).map(drop)
}
