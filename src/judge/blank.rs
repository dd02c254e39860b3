//! A case before any launch: what is known of it from the plan.

use std::collections::BTreeMap;

use super::CaseResult;
use super::counted::Counted;
use super::estimate::Status;
use super::percentile::Curve;
use super::rate::RateSeen;
use mechanisms::Variant;
use model::mechanism::Carries;
use store::StoredCase;

impl CaseResult {
    pub(super) fn blank(stored: &StoredCase) -> CaseResult {
        let case = &stored.case;
        let variant = Variant::parse(&case.variant).ok();
        let name = case.variant.split(':').next().unwrap_or_default();
        CaseResult {
            id: stored.id,
            group: 0,
            variant: case.variant.clone(),
            mechanism: name.to_string(),
            options: variant.as_ref().map(|it| it.options.chosen().clone()).unwrap_or_default(),
            carries: variant.as_ref().map_or(Carries::Bytes, |it| it.traits().carries),
            copies: variant.as_ref().and_then(|it| it.traits().copied()),
            spins: variant.is_some_and(|it| it.burns()),
            twin: case.twin,
            observe: case.observe,
            workload: case.workload.name().to_string(),
            workers: case.workers.name().to_string(),
            reach: case.reach.clone(),
            placement: case.placement.to_string(),
            site: case.placement.to_string(),
            cpus: case.place.cpus.map(|(a, b)| [a, b]),
            two_machines: false,
            observed_placement: None,
            message_bytes: case.message_bytes,
            total: case.total,
            payload: case.payload.name().to_string(),
            batch: stored.batch,
            launches: 0,
            failed_launches: 0,
            samples: 0,
            effective_samples: 0.0,
            status: Status::Ok,
            reason: stored.reason.clone(),
            latency_ns: None,
            throughput_bytes_per_sec: None,
            wakeups_per_sec: None,
            setup_ns: None,
            response_ns: None,
            rate: RateSeen::asked(stored),
            setup_phases_ns: Vec::new(),
            first_message_ns: None,
            launch_medians: Vec::new(),
            samples_missing: BTreeMap::new(),
            largest_ns: None,
            clock_share: None,
            clock_limited: false,
            cpu_ns_per_operation: None,
            bound: None,
            precision_reached: None,
            stratified: None,
            sessions: None,
            earlier: None,
            over_time: None,
            modes: None,
            steady: None,
            noise: None,
            datagrams: None,
            carried: None,
            derived: BTreeMap::new(),
            mean: None,
            granted: BTreeMap::new(),
            by_round: Vec::new(),
            others_by_round: BTreeMap::new(),
            counted: Counted::default(),
            look: None,
            curve: Curve::new(),
            course: Vec::new(),
        }
    }
}
