//! What the first rounds of a group decide: how many launches it needs.

use super::{Campaign, LiveCase, LiveGroup};
use model::reference;
use model::request::Request;
use model::screening::ROUNDS;

impl Campaign<'_> {
    /// Decides it once, as soon as a group has had its first rounds. From these alone, so that a run which is taken
    /// up again decides the same.
    pub(super) fn screen(&mut self, nth: usize) {
        let request = &self.request;
        // Sessions are for what differs between them: none is left out because others were precise.
        let open = request.stopping.launches.is_none()
            && request.sessions.is_none()
            && request.bound.is_none();
        let group = &mut self.groups[nth];
        if open && group.needed.is_none() && group.rounds >= ROUNDS as u64 {
            group.needed = group.needs(request);
        }
    }
}

impl LiveGroup {
    /// How many launches give as many of its cases the precision that was asked as are enough, by its first rounds: of
    /// their ratios to the reference, or of the launches of the one that is compared with nothing. None where these
    /// can't tell.
    fn needs(&self, request: &Request) -> Option<usize> {
        let ranked: Vec<&LiveCase> = self.cases.iter().filter(|it| it.is_ranked()).collect();
        let local = ranked.first()?.case.route.is_local();
        let names: Vec<String> = ranked.iter().map(|it| it.case.variant.to_string()).collect();
        let asked = request.reference.as_deref();
        let reference = reference::chosen(names.iter().map(String::as_str), local, asked)?;
        let alone = ranked.len() == 1;
        let cases = ranked.iter().enumerate().filter(|it| alone || it.0 != reference);
        let needed = cases.filter_map(|(_, case)| {
            let against = (!alone).then(|| ranked[reference]);
            let (workload, one_cpu) = (case.case.workload, case.case.place.shares_one_cpu());
            stats::launches_needed(&case.logs(against), request.stopping.asked(workload, one_cpu))
        });
        let mut needed: Vec<f64> = needed.collect();
        needed.sort_by(f64::total_cmp);
        let last = request.stopping.enough_of(needed.len()).checked_sub(1)?;
        Some(needed[last].ceil() as usize)
    }
}

impl LiveCase {
    /// Whether it is a result that is compared: no control, no second name, nothing beside it.
    fn is_ranked(&self) -> bool {
        let control = self.case.variant.traits().carries.is_control();
        let beside = self.is_observed() || self.is_accompanied();
        !(self.given_up || control || beside || self.case.twin)
    }

    /// Logarithms of its first launches, over those of another case in the same rounds.
    fn logs(&self, against: Option<&LiveCase>) -> Vec<f64> {
        let log = |(round, ns): (usize, &Option<f64>)| {
            let over = against.map_or(Some(1.0), |it| *it.medians.get(round)?);
            Some(((*ns)? / over?).ln())
        };
        self.medians.iter().take(ROUNDS).enumerate().filter_map(log).collect()
    }
}
