//! A case before any launch: what is known of it from the plan, and what tells it from others.

use std::collections::BTreeMap;

use super::CaseResult;
use super::counted::Counted;
use super::estimate::Status;
use super::percentile::Curve;
use super::rate::RateSeen;
use super::site::Site;
use model::catalogue::{Catalogue, Described};
use model::identity::Identity;
use store::{Concurrent, StoredCase};

impl CaseResult {
    /// What tells it from the others of its run.
    pub fn identity(&self) -> Identity {
        let concurrent = self.concurrent.map(Concurrent::name);
        Identity::of(&self.case, &self.nodes, concurrent)
    }

    pub(super) fn blank(stored: &StoredCase, catalogue: &Catalogue) -> CaseResult {
        let case = &stored.case;
        let described = catalogue.variant(&case.variant);
        let name = case.variant.split(':').next().unwrap_or_default();
        CaseResult {
            id: stored.id,
            group: 0,
            case: case.clone(),
            mechanism: name.to_string(),
            options: model::catalogue::options(&case.variant),
            carries: catalogue.carries(&case.variant),
            class: described.map(|described| described.traits.class()).unwrap_or_default(),
            copies: described.and_then(|described| described.traits.copied()),
            spins: described.is_some_and(Described::spins),
            metric: catalogue.metric(case.workload, &case.variant),
            site: Site::of(case),
            nodes: Vec::new(),
            concurrent: stored.ends.and_then(|ends| ends.concurrent),
            two_machines: false,
            observed_placement: None,
            batch: stored.batch,
            launches: 0,
            failed_launches: 0,
            failures: Vec::new(),
            samples: 0,
            status: Status::Ok,
            reason: stored.reason.clone(),
            value: None,
            secondary: Vec::new(),
            rate: RateSeen::asked(stored),
            clients: None,
            launch_medians: Vec::new(),
            screening: Vec::new(),
            screened_out: false,
            halves: None,
            serial_correlation: None,
            samples_missing: BTreeMap::new(),
            largest_ns: None,
            clock_share: None,
            clock_limited: false,
            cpu_ns_per_operation: None,
            bound: None,
            precision_reached: None,
            disturbed: false,
            stratified: None,
            sessions: None,
            earlier: None,
            noise: None,
            datagrams: None,
            delivery: None,
            derived: BTreeMap::new(),
            derived_by_round: BTreeMap::new(),
            mean: None,
            effective_settings: BTreeMap::new(),
            by_round: Vec::new(),
            by_cycle: Vec::new(),
            screened: Vec::new(),
            bounded: Vec::new(),
            later_share: None,
            others_by_round: BTreeMap::new(),
            counted: Counted::default(),
            pooled: None,
            curve: Curve::new(),
            time_series: Vec::new(),
        }
    }
}
