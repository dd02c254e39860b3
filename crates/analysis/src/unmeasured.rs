//! What was asked for by name or flag, and was not measured.

use super::{CaseResult, Judged, Status};
use model::launch::DEADLINE_PASSED;
use model::request::Named;

/// Why there is nothing of a case that had no time.
pub(super) const NO_TIME: &str = "the run ended before it was launched";

/// Why a case was not placed freely.
pub(super) const LEFT_OUT: &str =
    "not among the three quickest of its kind at any other placement: `-p free` measures it";

impl CaseResult {
    /// Whether it could not be measured: it makes no sense, or can't be had here.
    pub fn is_absent(&self) -> bool {
        matches!(self.status, Status::NotApplicable | Status::Unavailable)
    }

    /// Whether the run ended before any launch of it, its pilot included: nothing failed.
    pub fn had_no_time(&self) -> bool {
        self.status == Status::Failed && self.reason.as_deref() == Some(NO_TIME)
    }

    /// Whether the clock cut it: the run ended before it was launched, or its launches met their deadline.
    pub fn was_cut_short(&self) -> bool {
        let late = |why: &String| why.starts_with(DEADLINE_PASSED);
        self.had_no_time()
            || self.status == Status::Failed && self.reason.as_ref().is_some_and(late)
    }
}

impl Judged {
    /// The absent cases that its user asked for.
    pub fn asked_in_vain(&self) -> Vec<&CaseResult> {
        asked_in_vain(&self.results, self.run.request.named)
    }
}

/// Absent cases of a combination of named levels of which nothing was measured. Where a level wasn't named, any of
/// the usual ones that could be measured will do: nobody asked for the others.
fn asked_in_vain(results: &[CaseResult], named: Named) -> Vec<&CaseResult> {
    if named == Named::default() {
        return Vec::new();
    }
    let place = |case: &CaseResult| (case.site.route.clone(), case.placement);
    let agree = |a: &CaseResult, b: &CaseResult| {
        (!named.mechanisms || a.variant == b.variant)
            && (!named.workloads || a.workload == b.workload)
            && (!named.sizes || a.message_bytes == b.message_bytes)
            && (!named.placements || place(a) == place(b))
    };
    let cases = || results.iter().filter(|case| !case.twin);
    let in_vain = |absent: &&CaseResult| {
        // A control is no mechanism: what it has none of is nothing that is missing.
        let is_mechanism = !absent.carries.is_control();
        is_mechanism
            && absent.is_absent()
            && !cases().any(|case| !case.is_absent() && agree(case, absent))
    };
    cases().filter(in_vain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::case;

    fn of(variant: &str, bytes: u64, placement: &str, status: Status) -> CaseResult {
        let mut result = CaseResult { status, ..case(variant, placement, None) };
        result.message_bytes = Some(bytes);
        result
    }

    fn in_vain(results: &[CaseResult], named: Named) -> Vec<String> {
        let words = |case: &CaseResult| {
            format!("{} {} {}", case.variant, case.message_bytes.unwrap_or(0), case.placement)
        };
        asked_in_vain(results, named).into_iter().map(words).collect()
    }

    #[test]
    fn what_was_named_and_not_measured_is_told_and_nothing_else() {
        use Status::{NotApplicable, Ok, Unavailable};
        let results = [
            of("pipe", 64, "same-cpu", Ok),
            of("pipe", 65_536, "same-cpu", Ok),
            of("pipe", 64, "free", Ok),
            of("queue", 64, "same-cpu", Ok),
            of("queue", 65_536, "same-cpu", NotApplicable),
            of("seqlock", 64, "same-cpu", NotApplicable),
            of("seqlock", 64, "free", Ok),
            of("gone", 64, "free", Unavailable),
        ];
        let nothing = Named::default();
        let mechanisms = Named { mechanisms: true, ..nothing };
        let sized = Named { sizes: true, ..mechanisms };
        let placed = Named { placements: true, ..mechanisms };
        assert_eq!(in_vain(&results, nothing), [""; 0]);
        assert_eq!(in_vain(&results, mechanisms), ["gone 64 free"]);
        assert_eq!(in_vain(&results, sized), ["queue 65536 same-cpu", "gone 64 free"]);
        assert_eq!(in_vain(&results, placed), ["seqlock 64 same-cpu", "gone 64 free"]);
        // Of mechanisms that nobody named it takes that none was measured there.
        let places = Named { placements: true, ..nothing };
        assert_eq!(in_vain(&results, places), [""; 0]);
        assert_eq!(in_vain(&results[5..6], places), ["seqlock 64 same-cpu"]);
    }
}
