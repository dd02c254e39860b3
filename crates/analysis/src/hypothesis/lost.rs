//! The share of launches that failed, of all chosen cases together: a claim about losses. A launch
//! is the unit, and each fails or doesn't, so that the interval is that of a binomial share.

use super::super::CaseResult;
use super::select::takes;
use super::{Decision, Effect, TestResult};
use study::factor::Chosen;

/// Whether the share lies in the claimed interval.
///
/// # Errors
/// No launch of those cases was made.
pub(super) fn failed(
    chosen: &Chosen,
    results: &[CaseResult],
    (least, most): (f64, f64),
) -> Result<TestResult, TestResult> {
    let all = || results.iter().filter(|case| !case.twin && takes(chosen, case));
    let counts = all().filter_map(|case| Some(case.datagrams.as_ref()?.failed()));
    let (failed, launches) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    let Some(share) = stats::binomial_share(failed, launches) else {
        let reason = all().find_map(|case| case.reason.clone());
        let reason = reason.unwrap_or_else(|| "no launch that sends datagrams".into());
        return Err(TestResult::not_testable(format!("{chosen}: {reason}")));
    };
    let decision = if share.low >= least && share.high <= most {
        Decision::Supported
    } else if share.high < least || share.low > most {
        Decision::Refuted
    } else {
        Decision::Inconclusive
    };
    let percent = |value: f64| format!("{:.1}", 100.0 * value);
    let effect = format!(
        "{failed} of {} failed: {} % [{}, {}]; claimed {} to {} %",
        model::words::counted(launches, "launch"),
        percent(share.share),
        percent(share.low),
        percent(share.high),
        100.0 * least,
        100.0 * most
    );
    let found =
        Effect { value: share.share, low: share.low, high: share.high, unit: "share".into() };
    Ok(TestResult::new(decision, effect, None).with(found))
}
