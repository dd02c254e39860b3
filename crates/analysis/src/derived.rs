//! The columns that a study derives: arithmetic on the results of its cases.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CaseResult, Observed};
use model::floors::Floors;
use store::StoredRun;
use study::counted::Count;
use study::expression::{Expression, MEDIAN_UNOBSERVED, is_percentile};
use study::validated::validate;

/// A derived figure of one case.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Derived {
    /// Null where the case or the machine lacks one of its statistics.
    pub value: Option<f64>,
    /// Its unit, in the study's words.
    pub unit: String,
}

/// `0.9451 s`, to four digits as published figures have; a dash where there is no value.
impl fmt::Display for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(value) = self.value else { return f.write_str("–") };
        let whole = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
        let digits = (3 - whole).clamp(0, 9) as usize;
        write!(f, "{value:.digits$} {}", self.unit)
    }
}

/// What belongs to the machine and not to a case, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Machine {
    slice: Option<f64>,
    getppid: Option<f64>,
}

/// Works out the derived columns of the study that the run was made for, if it was.
pub(super) fn assign(results: &mut [CaseResult], observed: &mut [Observed], run: &StoredRun) {
    let machine = Machine {
        slice: run.host.kernel.scheduler_slice_ns.map(|number| number as f64),
        getppid: run.floors.as_ref().and_then(getppid),
    };
    for (name, unit, expression) in columns(run) {
        let observed = observed.iter_mut().map(|observed| &mut observed.case);
        for case in results.iter_mut().chain(observed) {
            let of_round = |round: usize| {
                expression.value(&|statistic| of_launch(case, &machine, statistic, round))
            };
            let rounds: Vec<Option<f64>> = (0..case.by_round.len()).map(of_round).collect();
            // As a claim has it.
            let value = stats::median_of(rounds.iter().flatten().copied())
                .or_else(|| expression.value(&|statistic| of_case(case, &machine, statistic)));
            case.derived.insert(name.clone(), Derived { value, unit: unit.clone() });
            case.derived_by_round.insert(name.clone(), rounds);
        }
    }
}

fn columns(run: &StoredRun) -> Vec<(String, String, Expression)> {
    let declared = run.request.study.as_ref();
    let declared = declared.and_then(|text| validate(&text.text, &text.name, &run.catalogue).ok());
    let columns = declared.into_iter().flat_map(|study| study.study.derived);
    let column = columns.filter_map(|column| {
        let expression = Expression::parse(column.expression.get_ref()).ok()?;
        Some((column.name.into_inner(), column.unit, expression))
    });
    column.collect()
}

fn getppid(floors: &Floors) -> Option<f64> {
    let calls = &floors.calls.get().ok()?.calls;
    calls.iter().find(|call| call.call == "getppid")?.cost_ns.median
}

/// A statistic of the launch of a case in `round`, from 0; what is no launch's own (a count, a bound, what belongs to
/// the machine) stands for every round.
fn of_launch(case: &CaseResult, machine: &Machine, statistic: &str, round: usize) -> Option<f64> {
    let own = match statistic {
        "median" | "p50" => Some(&case.by_round),
        own if ["mean", MEDIAN_UNOBSERVED].contains(&own) || is_percentile(own) => {
            case.others_by_round.get(own)
        }
        _ => None,
    };
    let Some(rounds) = own else { return of_case(case, machine, statistic) };
    rounds.get(round).copied().flatten().map(|ns| case.metric.of_ns(ns, case.message_bytes))
}

/// A statistic of a case; None where it has none.
fn of_case(case: &CaseResult, machine: &Machine, statistic: &str) -> Option<f64> {
    let estimate = case.value.as_ref()?;
    match statistic {
        "median" => Some(estimate.median),
        "mean" => case.mean,
        "min" => Some(estimate.min),
        "q1" => Some(estimate.q1),
        "q3" => Some(estimate.q3),
        "max" => Some(estimate.max),
        "size" => case.message_bytes.map(|message_byte| message_byte as f64),
        "total" => {
            case.total?;
            Some((case.batch? * case.message_bytes?) as f64)
        }
        "switches" => case.switches_per_operation(),
        "cpu" => case.cpu_ns_per_operation.map(|cost| cost.total),
        "floor" => case.bound.as_ref().map(|bound| bound.value),
        "slice" => machine.slice,
        "getppid" => machine.getppid,
        count if Count::number(count).is_some() => {
            case.counted.of(count).ok().map(|rounds| rounds.median)
        }
        percentile => estimate.percentile(percentile).map(|launches| launches.value),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Estimate;
    use super::*;
    use model::total::Total;

    #[test]
    fn a_figure_has_four_digits_and_its_unit() {
        let text = |value| Derived { value, unit: "s".into() }.to_string();
        assert_eq!(text(Some(0.945_113)), "0.9451 s");
        assert_eq!(text(Some(105_807.3)), "105807 s");
        assert_eq!(text(Some(0.0)), "0.000 s");
        assert_eq!(text(None), "–");
    }

    #[test]
    fn statistics_are_those_of_the_case_and_its_machine() {
        let mut case = crate::testing::case("pipe", "same-cpu", None);
        let machine = Machine { slice: Some(3e6), getppid: None };
        let of = |case: &CaseResult, text: &str| {
            Expression::parse(text).unwrap().value(&|text| of_case(case, &machine, text))
        };
        case.value = Some(Estimate {
            median: 4000.0,
            interval: Default::default(),
            n: 10,
            min: 3000.0,
            q1: 3500.0,
            q3: 4500.0,
            max: 6000.0,
            percentiles: Default::default(),
        });
        case.message_bytes = Some(64);
        (case.samples, case.launches, case.batch) = (1000, 10, Some(2));
        assert_eq!(of(&case, "median / 2 / slice * 100"), Some(4000.0 / 2.0 / 3e6 * 100.0));
        assert_eq!(of(&case, "max - min + size"), Some(3064.0));
        assert_eq!(of(&case, "median - getppid"), None, "not measured");
        assert_eq!(of(&case, "total"), None, "a round trip has none");
        assert_eq!(of(&case, "p99"), None, "too few samples");
        case.total = Some(Total::Message);
        assert_eq!(of(&case, "total"), Some(128.0), "what a transfer held");
        case.noise =
            Some(crate::NoiseSeen { voluntary_switches: Some(400.0), ..Default::default() });
        assert_eq!(of(&case, "switches"), Some(2.0));
        assert_eq!(of(&case, "mean"), None);
    }

    #[test]
    fn what_a_firing_costs_is_what_its_level_adds_within_a_round() {
        let mut machine = crate::testing::Machine::seeded(1);
        let at = machine.plain("pipe", 64, 4000.0);
        machine.under("trace", at, 5200.0);
        machine.under("trace:empty", at, 4600.0);
        machine.observed[0].firings = crate::OverRounds::of(vec![Some(8.0); 12]);
        crate::counted::assign(&mut machine.results, &mut machine.observed);
        let firing = Expression::parse("(median - unobserved) / [firings]").unwrap();
        let of = |case: &CaseResult| {
            let round = |nth| firing.value(&|text| of_launch(case, &Machine::default(), text, nth));
            stats::median_of((0..12).filter_map(round))
        };
        for (observed, planted) in machine.observed.iter().zip([150.0, 75.0]) {
            let found = of(&observed.case).unwrap();
            assert!((found / planted - 1.0).abs() < 0.1, "{}: {found}", observed.probe);
        }
        assert_eq!(of(&machine.results[at]), None, "nothing fires");
    }
}
