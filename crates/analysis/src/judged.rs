//! A judged run, and the order in which it is made.

use model::distinct::distinct;
use store::{Store, StoreError, StoredRun};

use super::beside::{self, Accompanied};
use super::capacity::{self, Capacity};
use super::case::CaseResult;
use super::claims::JudgedStudy;
use super::compare::ArmChanges;
use super::group::{self, GroupVerdict};
use super::inflection::{Sweep, sweeps};
use super::observed::{self, Observed};
use super::rounds::{self, JudgedRound};
use super::{counted, derived, earlier, fleet, floor, sessions, time_series};

const NO_FLOORS: &str = "no floors: the run ended before they were measured";

/// A judged run.
pub struct Judged {
    /// As stored.
    pub run: StoredRun,
    /// One per case, in the order of the groups; absent cases included.
    pub results: Vec<CaseResult>,
    /// The launches that were instrumented, by case; absent ones included.
    pub observed: Vec<Observed>,
    /// The launches beside a load, by case; absent ones included.
    pub beside: Vec<Accompanied>,
    /// Every further arm held against the first; none where there are no arms.
    pub arms: Vec<ArmChanges>,
    /// One per mechanism and load without its rate, where a bound was asked; else none.
    pub capacity: Vec<Capacity>,
    /// One per group that was measured.
    pub groups: Vec<GroupVerdict>,
    /// Every round, in the order in which they were measured.
    pub rounds: Vec<JudgedRound>,
    /// One per curve over at least two message sizes.
    pub sweeps: Vec<Sweep>,
    /// Sum over launches of the timed parts, over the wall time of measuring.
    pub timed_share: Option<f64>,
    /// Of a run on many nodes, which of them differ from the rest; None of other runs.
    pub fleet: Option<fleet::FleetJudged>,
    /// The study that it was made for, with its claims decided; None of other runs.
    pub study: Option<JudgedStudy>,
    /// Another machine's run of the same study, to be shown beside; nothing here is compared with it.
    pub elsewhere: Option<Box<Judged>>,
}

impl Judged {
    /// Judges run `id`.
    pub fn of(store: &Store, id: i64) -> Result<Judged, StoreError> {
        Judged::against(store, id, None)
    }

    /// Judges run `id`, its ratios to `reference` where that is given, else to what the run was made with.
    pub fn against(store: &Store, id: i64, reference: Option<&str>) -> Result<Judged, StoreError> {
        let mut run = store.run(id)?;
        if let Some(reference) = reference {
            run.request.reference = Some(reference.to_string());
        }
        let mut results = Vec::new();
        let mut observed = Vec::new();
        let mut accompanied = Vec::new();
        let mut groups = Vec::new();
        let mut timed_ns = 0.0;
        let mut beside = Vec::new();
        let slices = time_series::slices_each(launches_drawn(&run));
        for group in &run.groups {
            let first = results.len();
            for case in &group.cases {
                let (result, timed) = CaseResult::of(store, &run, group, case, slices)?;
                timed_ns += timed;
                let plain = &results[first..];
                if let Some(probe) = case.case.observe {
                    let launches = store.launches(case.id)?;
                    observed.push(Observed::of(probe, result, &launches, plain, first));
                } else if case.case.beside.is_some() {
                    accompanied.push(Accompanied::of(result, plain, first));
                } else {
                    results.push(result);
                }
            }
            if run.fleet.is_some() {
                continue; // its cases are nodes and pairs: `fleet` holds each against the rest
            }
            beside.push(store.round_bounds(id, group.nth)?);
            let found = beside.last().map(|pairs| floor::assign(&mut results[first..], pairs));
            run.warnings.extend(found.into_iter().flatten());
            if run.request.bound.is_some() {
                continue; // rates of one mechanism are no rivals: `capacity` compares them with the bound
            }
            // What is best here is one question, and what is best between two hosts is another.
            for site in group::alike(first..results.len(), |at| &results[at].site) {
                let asked = run.request.reference.as_deref();
                groups.extend(GroupVerdict::of(group, &site, &results, asked));
            }
        }
        run.warnings.extend(floor::demote(&mut results));
        run.warnings = distinct(std::mem::take(&mut run.warnings));
        group::assign_precision(&mut results, &groups);
        let observed_cases = observed.iter_mut().map(|observed| &mut observed.case);
        let other_cases =
            observed_cases.chain(accompanied.iter_mut().map(|accompanied| &mut accompanied.case));
        if run.fleet.is_some() {
            let asked = run.request.reference.as_deref();
            groups = GroupVerdict::of_each_node(&run, &results, asked);
        }
        let rounds = rounds::assign(&run, results.iter_mut().chain(other_cases), &mut groups);
        sessions::assign(&mut results, &rounds);
        earlier::assign(store, &run, &mut results)?;
        observed::assign(&mut observed);
        beside::assign(&mut accompanied, &results);
        counted::assign(&mut results, &mut observed);
        match &mut run.floors {
            Some(floors) => floor::refresh(floors, &beside),
            None if run.fleet.is_none() => run.warnings.push(NO_FLOORS.into()),
            None => {}
        }
        derived::assign(&mut results, &mut observed, &run);
        let one_at_a_time = run.fleet.is_none() && run.measuring_ns > 0;
        let timed_share = one_at_a_time.then(|| (timed_ns / run.measuring_ns as f64).min(1.0));
        let capacity = capacity::capacities(&results, run.request.bound);
        let sweeps = sweeps(&results, &run.catalogue, |case| run.host_of(&case.nodes));
        let (study, fleet) = (None, fleet::FleetJudged::of(store, id)?);
        let mut judged = Judged {
            run,
            results,
            observed,
            beside: accompanied,
            arms: Vec::new(),
            capacity,
            groups,
            rounds,
            sweeps,
            timed_share,
            fleet,
            study,
            elsewhere: None,
        };
        judged.decide_claims()?;
        judged.arms = ArmChanges::of(&judged);
        Ok(judged)
    }

    /// With the last run of the same study in another store beside it.
    ///
    /// # Errors
    /// That there is none, in words; or that the store can't be read.
    pub fn beside_run_of(self, store: &Store) -> Result<Result<Judged, String>, StoreError> {
        let Some(own) = self.run.request.study.as_ref() else {
            return Ok(Err(format!("run {} is of no study: name one that is", self.run.id)));
        };
        let mut others = Vec::new();
        for id in store.run_ids()?.into_iter().rev() {
            let Some(study) = store.run(id)?.request.study else { continue };
            if study.text == own.text {
                let other = Judged::of(store, id)?;
                return Ok(Ok(Judged { elsewhere: Some(Box::new(other)), ..self }));
            }
            others.push(study.name);
        }
        others.dedup();
        let holds = match others.as_slice() {
            [] => "it holds no run of a study".to_string(),
            names if names.contains(&own.name) => {
                format!("its runs of {} are of another version of that study", own.name)
            }
            names => format!("it holds runs of {}", names.join(", ")),
        };
        Ok(Err(format!(
            "no run of the study {}: {holds}; measure it there with this version",
            own.name
        )))
    }

    /// Reads the study that the run was made for, and decides its claims on the results as they are.
    ///
    /// # Errors
    /// Where its text is no study of this build.
    pub fn decide_claims(&mut self) -> Result<(), StoreError> {
        let found = JudgedStudy::of(&self.run, &self.cases());
        self.study = found.map_err(|why| {
            let (id, tool) = (self.run.id, &self.run.tool);
            StoreError::unreadable(format!(
                "run {id}: this build can't read its study: {why}; read it with the build that measured it, {tool}"
            ))
        })?;
        Ok(())
    }

    /// The results, then the cases that were observed or had company, which are none.
    pub fn cases(&self) -> Vec<CaseResult> {
        self.each_case().cloned().collect()
    }

    pub(super) fn each_case(&self) -> impl Iterator<Item = &CaseResult> {
        let observed = self.observed.iter().map(|observed| &observed.case);
        self.results
            .iter()
            .chain(observed)
            .chain(self.beside.iter().map(|accompanied| &accompanied.case))
    }
}

/// How many launches a run has, by its rounds and the usual size of a group.
fn launches_drawn(run: &StoredRun) -> u64 {
    let cases =
        run.groups.iter().flat_map(|group| &group.cases).filter(|case| case.absence.is_none());
    (cases.count().min(time_series::DRAWN) * run.rounds.len() / run.groups.len().max(1)) as u64
}
