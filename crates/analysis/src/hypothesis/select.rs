//! Cases that a selector chooses, and the rounds that they share.

use super::super::{CaseResult, Status, paired::log_ratios};
use super::{Decision, TestResult};
use model::factor::Factor;
use model::metric::Better;
use study::counted::Count;
use study::factor::Chosen;

/// A case's level of a factor, as studies write it.
pub fn level(case: &CaseResult, factor: Factor) -> String {
    factor.of(&case.case).unwrap_or_default()
}

/// Whether a factor means nothing to a case, which then stands for every level of it: sizes of
/// wake-ups and set-ups, totals of what isn't transferred.
fn any_level(case: &CaseResult, factor: Factor) -> bool {
    !factor.follows() && factor.of(&case.case).is_none()
}

/// Whether the selector takes a case. What has no size is taken at any size; what was observed or
/// had company, only where that is asked.
pub fn takes(chosen: &Chosen, case: &CaseResult) -> bool {
    let asked = case.observe.is_none() || chosen.level(Factor::Observe).is_some();
    let asked = asked && (case.beside.is_none() || chosen.level(Factor::Beside).is_some());
    asked && chosen.takes(|factor| (!any_level(case, factor)).then(|| level(case, factor)))
}

/// The measured cases that a selector chooses; none that was overloaded, whose times say how long a launch was.
///
/// # Errors
/// Why there are none: the reason of a chosen case that wasn't measured.
pub fn cases<'a>(
    chosen: &Chosen,
    results: &'a [CaseResult],
) -> Result<Vec<&'a CaseResult>, TestResult> {
    let all: Vec<&CaseResult> =
        results.iter().filter(|case| !case.twin && takes(chosen, case)).collect();
    let measured: Vec<&CaseResult> = all.iter().copied().filter(|case| case.is_valid()).collect();
    if !measured.is_empty() {
        return Ok(measured);
    }
    let lacking = all.iter().find_map(|case| Some((case, case.shortfall()?)));
    Err(match lacking {
        Some((case, reason)) => TestResult::not_measured(case, format!("{chosen}: {reason}")),
        None => TestResult::not_testable(format!("{chosen}: no such case was measured")),
    })
}

/// Of the cases that any of `sides` chooses, those that were measured at a rate that they did not serve, or were
/// not offered: each with why.
pub fn overloaded(sides: &[Chosen], results: &[CaseResult]) -> Vec<(String, String)> {
    let chosen = |case: &&CaseResult| !case.twin && sides.iter().any(|side| takes(side, case));
    let short = |case: &CaseResult| Some((in_words(case), case.rate?.shortfall()?));
    results.iter().filter(chosen).filter_map(short).collect()
}

/// Whether others disturbed every round of any measured case that one of `sides` chooses.
pub fn any_disturbed(sides: &[Chosen], results: &[CaseResult]) -> bool {
    let chosen = |case: &&CaseResult| {
        !case.twin && case.is_valid() && sides.iter().any(|side| takes(side, case))
    };
    results.iter().filter(chosen).any(|case| case.disturbed)
}

/// The measured quantity by round, `of` a statistic of each launch: ns of a latency or set-up, bytes or wake-ups per second of a
/// throughput.
pub fn quantity(case: &CaseResult, of: &str) -> Vec<Option<f64>> {
    if Count::number(of).is_some() {
        return case.counted.of(of).map_or_else(|_| Vec::new(), |rounds| rounds.by_round);
    }
    if let Some(derived) = case.derived_by_round.get(of) {
        return derived.clone();
    }
    let in_unit = |ns: f64| case.metric.of_ns(ns, case.message_bytes);
    let by_round = match of {
        "median" => Some(&case.by_round),
        other => case.others_by_round.get(other),
    };
    by_round.into_iter().flatten().map(|ns| ns.map(in_unit)).collect()
}

/// How good it is: the quantity where more is better, else its inverse.
pub fn goodness(case: &CaseResult, of: &str) -> Vec<Option<f64>> {
    let better = |value: f64| match case.metric.better {
        Better::Higher => value,
        Better::Lower => 1.0 / value,
    };
    quantity(case, of).into_iter().map(|value| value.map(better)).collect()
}

/// What is compared of two cases: a statistic of each launch.
#[derive(Clone, Copy)]
pub struct Measure<'a> {
    pub of: &'a str,
    /// Whether it counts by how good it is ([`goodness`]), or as it is ([`quantity`]).
    pub by_goodness: bool,
}

impl Measure<'_> {
    /// What the launches of a case come to.
    pub fn by_round(self, case: &CaseResult) -> Vec<Option<f64>> {
        if self.by_goodness { goodness(case, self.of) } else { quantity(case, self.of) }
    }

    /// The log of `left` over `right`, by round. Of medians it is made of the ratio of the two cases.
    pub fn log_ratios(self, left: &CaseResult, right: &CaseResult) -> Vec<Option<f64>> {
        let in_unit = |case: &CaseResult, ns: f64| {
            let value = case.metric.of_ns(ns, case.message_bytes);
            let turned = self.by_goodness && case.metric.better == Better::Lower;
            if turned { 1.0 / value } else { value }
        };
        // What is measured is a time, or goes as its inverse: 1 or -1.
        let power = |case| (in_unit(case, 2.0) / in_unit(case, 1.0)).log2().round();
        if self.of != "median" || power(left) != power(right) {
            return log_ratios(&self.by_round(left), &self.by_round(right));
        }
        let unit = (in_unit(left, 1.0) / in_unit(right, 1.0)).ln();
        let ratios = left.log_ratios_to(right).into_iter();
        ratios.map(|ratio| ratio.map(|value| power(left) * value + unit)).collect()
    }
}

/// Whether each chosen case has that statistic of its launches.
///
/// # Errors
/// What its launches lack.
pub fn have(of: &str, chosen: &Chosen, results: &[CaseResult]) -> Result<(), TestResult> {
    for case in cases(chosen, results)? {
        if Count::number(of).is_some() {
            case.counted
                .of(of)
                .map_err(|reason| TestResult::not_testable(format!("{chosen}: {reason}")))?;
            continue;
        }
        let about = |reason: &str| format!("{of} of {chosen}: {reason}");
        if let Some(derived) = case.derived_by_round.get(of) {
            if derived.iter().all(Option::is_none) {
                let reason = "what it is worked out of isn't known here";
                return Err(TestResult::not_testable(about(reason)));
            }
            continue;
        }
        return Err(match case.samples_missing.get(of) {
            Some(missing) => {
                let text = format!("{missing} more samples a launch are needed");
                TestResult::new(Decision::TooFewSamples, about(&text), None)
            }
            None if of == "median" || case.others_by_round.contains_key(of) => continue,
            None => TestResult::not_testable(about("its samples aren't single operations")),
        });
    }
    Ok(())
}

/// Pairs of a left and a right case that agree in every factor that neither selector names.
#[derive(Default)]
pub struct Pairs<'a> {
    /// Both were measured.
    pub measured: Vec<(&'a CaseResult, &'a CaseResult)>,
    /// One should have been, and wasn't.
    pub missing: Vec<Missing<'a>>,
    /// One means nothing on this machine or to its mechanism.
    pub inapplicable: Vec<Missing<'a>>,
}

/// A case that wasn't measured, and why.
pub struct Missing<'a> {
    pub case: &'a CaseResult,
    pub name: String,
    pub why: String,
}

/// The pairs of two sides, of which the right is what any of several selectors chooses.
///
/// # Errors
/// Why none was measured.
pub fn pairs<'a>(
    left: &Chosen,
    rights: &[Chosen],
    results: &'a [CaseResult],
) -> Result<Pairs<'a>, TestResult> {
    let mut found = Pairs::default();
    // Where a side has nothing measured, its reason is that of the claim.
    cases(left, results)?;
    for right in rights {
        cases(right, results)?;
        for (a, b) in planned(left, right, results) {
            let Some(absent) = [a, b].into_iter().find(|case| !case.is_valid()) else {
                found.measured.push((a, b));
                continue;
            };
            let why = absent.shortfall().unwrap_or_else(|| "not measured".into());
            let result = Missing { case: absent, name: in_words(absent), why };
            match absent.status {
                Status::NotApplicable => found.inapplicable.push(result),
                _ => found.missing.push(result),
            }
        }
    }
    if found.measured.is_empty() {
        let right: Vec<String> = rights.iter().map(Chosen::to_string).collect();
        let text = format!("{left} and {} have no case in common", right.join(" or "));
        return Err(TestResult::not_testable(text));
    }
    Ok(found)
}

/// The pairs that were planned, measured or not.
fn planned<'a>(
    left: &Chosen,
    right: &Chosen,
    results: &'a [CaseResult],
) -> Vec<(&'a CaseResult, &'a CaseResult)> {
    let free = |factor: Factor| left.level(factor).is_none() && right.level(factor).is_none();
    // What follows from the route is compared with it.
    let compared = |factor: &&Factor| free(**factor) && !factor.is_of_reach();
    let route =
        |case: &CaseResult| case.route.without(!free(Factor::Routers), !free(Factor::Switches));
    let alike = |a: &CaseResult, b: &CaseResult| {
        let there = !free(Factor::Route) || route(a) == route(b);
        // Two workloads have loads of their own.
        let own = |factor: Factor| factor.is_of_load() && a.workload != b.workload;
        there
            && Factor::ALL.iter().filter(compared).all(|factor| {
                any_level(a, *factor)
                    || any_level(b, *factor)
                    || own(*factor)
                    || level(a, *factor) == level(b, *factor)
            })
    };
    let of = |chosen: &Chosen| -> Vec<&'a CaseResult> {
        results.iter().filter(|case| !case.twin && takes(chosen, case)).collect()
    };
    let rights = of(right);
    let pair = |a: &'a CaseResult| -> Vec<_> {
        rights.iter().filter(|b| alike(a, b)).map(|b| (a, *b)).collect()
    };
    of(left).into_iter().flat_map(pair).collect()
}

/// A case by the levels that differ most often.
pub fn in_words(case: &CaseResult) -> String {
    let levels =
        [Factor::Mechanism, Factor::Size, Factor::Placement].map(|factor| level(case, factor));
    let load = case.load.map_or(String::new(), |load| load.to_string());
    [levels.join(" "), load].join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rounds, from 0, in which every column has a value, each with its row.
pub fn shared_at(columns: &[Vec<Option<f64>>]) -> Vec<(usize, Vec<f64>)> {
    let rounds = columns.iter().map(Vec::len).min().unwrap_or(0);
    let row = |round: usize| columns.iter().map(|column| column[round]).collect::<Option<Vec<_>>>();
    (0..rounds).filter_map(|round| Some((round, row(round)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{case, redo};
    use model::workload::Workload;

    #[test]
    fn a_ratio_of_medians_is_that_of_what_they_come_to() {
        let (mut small, mut large) = (case("pipe", "free", None), case("tcp", "free", None));
        small.by_round = vec![Some(3_000.0), None, Some(5_000.0)];
        large.by_round = vec![Some(7_000.0), Some(9_000.0), Some(4_000.0)];
        large.message_bytes = Some(4_096);
        for workload in [Workload::Latency, Workload::Throughput] {
            redo(&mut small, workload);
            redo(&mut large, workload);
            for by_goodness in [false, true] {
                let measure = Measure { of: "median", by_goodness };
                let found = measure.log_ratios(&small, &large);
                let values = log_ratios(&measure.by_round(&small), &measure.by_round(&large));
                let near = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
                    (Some(a), Some(b)) => (a - b).abs() < 1e-12,
                    _ => a == b,
                };
                assert!(
                    found.len() == 3 && found.iter().zip(&values).all(near),
                    "{found:?}, {values:?}"
                );
            }
        }
    }
}
