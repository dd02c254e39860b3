//! What was measured between pairs of CPUs (`-p all`, `-p 0-3`), as one matrix for each thing that was asked.

use std::collections::BTreeSet;

use analysis::{CaseResult, Judged, Status};
use model::placement::Placement;

/// A mechanism and a workload between CPUs.
pub struct Matrix<'a> {
    /// Every case of it, one for each pair.
    pub cases: Vec<&'a CaseResult>,
    /// The CPUs of all pairs, in ascending order.
    pub cpus: Vec<u32>,
}

impl Matrix<'_> {
    /// What was found between two CPUs, whichever of them began; None where they were not measured.
    pub fn between(&self, a: u32, b: u32) -> Option<f64> {
        let is_meant = |case: &&&CaseResult| case.place.cpus == Some((a, b));
        let is_other = |case: &&&CaseResult| case.place.cpus == Some((b, a));
        let found = self.cases.iter().find(is_meant).or_else(|| self.cases.iter().find(is_other));
        found.filter(|case| case.status == Status::Ok)?.value.as_ref().map(|value| value.median)
    }

    /// Any of its cases: they differ in their CPUs alone.
    pub fn first(&self) -> &CaseResult {
        self.cases[0]
    }
}

/// Every matrix of a run, in the order of its cases; none where no pair of CPUs was asked for by numbers.
pub fn matrices(judged: &Judged) -> Vec<Matrix<'_>> {
    let is_pair = |case: &&CaseResult| {
        matches!(case.placement, Placement::Cpus(..)) && case.route.is_local() && !case.twin
    };
    let mut found: Vec<Matrix> = Vec::new();
    for case in judged.results.iter().filter(is_pair) {
        let same = |matrix: &&mut Matrix| {
            let but_for_cpus = |case: &CaseResult| case.identity().without(&["placement", "cpus"]);
            but_for_cpus(matrix.first()) == but_for_cpus(case)
        };
        match found.iter_mut().find(same) {
            Some(matrix) => matrix.cases.push(case),
            None => found.push(Matrix { cases: vec![case], cpus: Vec::new() }),
        }
    }
    for matrix in &mut found {
        let cpus = matrix.cases.iter().filter_map(|case| case.place.cpus);
        let cpus: BTreeSet<u32> = cpus.flat_map(|(a, b)| [a, b]).collect();
        matrix.cpus = cpus.into_iter().collect();
    }
    found.retain(|matrix| matrix.cpus.len() > 1);
    found
}
