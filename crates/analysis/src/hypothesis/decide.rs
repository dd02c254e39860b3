//! The tests by name: what each makes of a claim.

use super::curves::{Curve, curves};
use super::needed::LEAST_ROUNDS;
use super::parts::{refuting, together};
use super::ratio::{Sides, Test as Compared, decided, ranking};
use super::select::{Measure, any_disturbed, cases, have, in_words, overloaded, quantity, takes};
use super::slope::Steps;
use super::{ALPHA, CaseResult, Decision, Effect, Ground, TestResult, bounds, lost};
use crate::{Derived, EQUIVALENT_WITHIN, OverRounds};
use model::factor::Factor;
use study::counted::{Count, FAILED_LAUNCHES, SHARES};
use study::factor::{Chosen, chosen};
use study::format::{Hypothesis, Test};
use study::size_bound::SizeBound;

/// Decides one claim; and says which of its cases it leaves out, since they were overloaded.
pub fn decide(claim: &Hypothesis, on: &Ground) -> TestResult {
    let mut result = attempt(claim, on).unwrap_or_else(|untestable| untestable);
    if claim.of.as_ref().is_some_and(|named| named.get_ref() == FAILED_LAUNCHES) {
        return result;
    }
    let sides = [&claim.left].into_iter().chain(&claim.right).chain(&claim.or).chain(&claim.order);
    let sides: Vec<Chosen> = sides.map(chosen).collect();
    let firm = matches!(result.decision, Decision::Supported | Decision::Refuted);
    // What is counted is as many beside others.
    let counts = claim.of.as_ref().is_some_and(|named| Count::number(named.get_ref()).is_some());
    if firm && !counts && claim.floor.is_none() && any_disturbed(&sides, on.results) {
        result.decision = Decision::Inconclusive;
        let why = "; others disturbed every round of some of its cases";
        result.brief = result.brief.map(|brief| brief + why);
        result.effect.push_str(why);
    }
    for (name, why) in overloaded(&sides, on.results) {
        if result.effect.contains(&why) {
            continue;
        }
        let without = format!("; without {name} ({why})");
        result.brief = result.brief.map(|brief| format!("{brief}{without}"));
        result.effect.push_str(&without);
    }
    result
}

fn attempt(claim: &Hypothesis, on: &Ground) -> Result<TestResult, TestResult> {
    if let Some(floor) = &claim.floor {
        let per = claim.floor_per.as_ref().map(|name| name.get_ref().as_str());
        return bounds::within((floor.get_ref(), per), numbers(claim), on.floors);
    }
    let results = on.results;
    let left = chosen(&claim.left);
    let rights: Vec<Chosen> = claim.right.iter().map(chosen).collect();
    let margin = share(claim.margin.as_ref().map(|margin| margin.get_ref().as_str()));
    let of = claim.of.as_ref().map_or("median", |value| value.get_ref());
    if of == FAILED_LAUNCHES {
        return lost::failed(&left, results, numbers(claim));
    }
    if of != "median" {
        // An order is of what it names: its left side only says what all of it share.
        let left = [&claim.left].into_iter().filter(|_| claim.order.is_empty());
        let sides = left.chain(&claim.right).chain(&claim.order);
        sides.into_iter().try_for_each(|side| have(of, &chosen(side), results))?;
    }
    let [goodness, quantity] = [true, false].map(|by_goodness| Measure { of, by_goodness });
    let over = claim.levels.unwrap_or_default();
    let with = |rights: &[Chosen], measure: Measure, test: Compared| {
        Sides { left: &left, rights, results, measure, over }.decide(test)
    };
    let compared = |test: Compared| with(&rights, goodness, test);
    let margin_or = |otherwise: f64| margin.unwrap_or(otherwise);
    match claim.test {
        Test::Faster => compared(&|ratio| ratio.larger()),
        Test::NotSlower => compared(&|ratio| ratio.not_slower(margin_or(EQUIVALENT_WITHIN))),
        Test::NotFaster => compared(&|ratio| ratio.not_faster(margin_or(EQUIVALENT_WITHIN))),
        Test::Differs => compared(&|ratio| ratio.differs(margin_or(EQUIVALENT_WITHIN))),
        Test::Equivalent => {
            compared(&|ratio| ratio.equivalent(margin_or(EQUIVALENT_WITHIN), ALPHA))
        }
        Test::NearEither => {
            let or = claim.or.as_ref().map(chosen).unwrap_or_default();
            let margin = margin_or(EQUIVALENT_WITHIN);
            // Either of the two may say yes: each gets half of the error probability.
            let near = |right: &[Chosen]| {
                with(right, goodness, &|ratio| ratio.equivalent(margin, ALPHA / 2.0))
            };
            let right = rights.first().cloned().unwrap_or_default();
            Ok(either((&right, near(&rights)), (&or, near(std::slice::from_ref(&or)))))
        }
        Test::Within => {
            let chosen = cases(&left, results)?;
            let lies = |case: &&CaseResult| lies(case, of, numbers(claim), chosen.len());
            Ok(together(chosen.iter().map(lies).collect()))
        }
        Test::Difference => {
            let unit = unit_of(&left, of, results);
            with(&rights, quantity, &|ratio| ratio.difference(numbers(claim), unit))
        }
        Test::Ratio => with(&rights, quantity, &|ratio| ratio.within(numbers(claim))),
        Test::Ranking => {
            let order: Vec<Chosen> = claim.order.iter().map(chosen).collect();
            let of = Sides { left: &left, rights: &rights, results, measure: goodness, over };
            ranking(&order, &of)
        }
        Test::Rises
        | Test::Falls
        | Test::NearlyRises
        | Test::NearlyFalls
        | Test::RisesThenFalls
        | Test::Peak
        | Test::PeaksEarlier
        | Test::SamePeak
        | Test::SameShape
        | Test::Adds
        | Test::Straight
        | Test::AddsLess => {
            along(claim, &left, &rights.first().cloned().unwrap_or_default(), margin, on)
        }
    }
}

/// Claims along a factor, for every curve that the selector chooses.
fn along(
    claim: &Hypothesis,
    left: &Chosen,
    right: &Chosen,
    margin: Option<f64>,
    on: &Ground,
) -> Result<TestResult, TestResult> {
    let results = on.results;
    let factor = claim.along.as_ref().and_then(|value| Factor::parse(value.get_ref()).ok());
    let factor = factor.ok_or_else(|| TestResult::not_testable("the claim names no factor"))?;
    let order = &on.declared.levels[&factor];
    let of = claim.of.as_ref().map_or("median", |value| value.get_ref());
    // A best level is that of the least time.
    let by_goodness = matches!(claim.test, Test::Peak | Test::PeaksEarlier | Test::SamePeak);
    let measure = Measure { of, by_goodness };
    let lefts = curves(left, factor, order, results, measure)?;
    let each = |test: &dyn Fn(&Curve) -> TestResult| together(lefts.iter().map(test).collect());
    let against = |test: &dyn Fn(&Curve, &Curve) -> TestResult| {
        let rights = curves(right, factor, order, results, measure)?;
        let pairs = lefts.iter().enumerate().filter_map(|(nth, curve)| {
            // One right curve serves all; else they go by their order.
            Some((curve, rights.get(nth).or(rights.first())?))
        });
        Ok(together(pairs.map(|(a, b)| test(a, b)).collect()))
    };
    match claim.test {
        Test::Rises => Ok(each(&|curve| curve.monotone(true))),
        Test::Falls => Ok(each(&|curve| curve.monotone(false))),
        Test::NearlyRises | Test::NearlyFalls => {
            let (up, margin) =
                (claim.test == Test::NearlyRises, margin.unwrap_or(EQUIVALENT_WITHIN));
            Ok(each(&|curve| curve.nearly_monotone(up, margin)))
        }
        Test::RisesThenFalls => Ok(each(&Curve::hill)),
        Test::Peak => {
            let within = claim.within.as_deref().unwrap_or_default();
            let bytes = |at: usize| {
                let word = within.get(at)?.get_ref();
                SizeBound::parse(word).ok()?.bytes(on.caches)
            };
            match (bytes(0), bytes(1)) {
                (Some(least), Some(most)) => Ok(each(&|curve| curve.peaks_within(least, most))),
                _ => Err(TestResult::not_testable("the size of that cache isn't known here")),
            }
        }
        Test::PeaksEarlier => against(&Curve::peaks_before),
        Test::SamePeak => against(&Curve::peaks_with),
        Test::Adds => {
            let claimed = claim.within.as_ref().map(|_| numbers(claim));
            Ok(each(&|curve| {
                stepped(curve, factor, |steps| steps.adds(claimed, is_time(left, results)))
            }))
        }
        Test::Straight => Ok(each(&|curve| {
            stepped(curve, factor, |steps| steps.straight(margin, is_time(left, results)))
        })),
        Test::AddsLess => {
            let than = claim.than.as_ref().and_then(|value| Factor::parse(value.get_ref()).ok());
            let than =
                than.ok_or_else(|| TestResult::not_testable("the claim names no other factor"))?;
            let rights = curves(right, than, &on.declared.levels[&than], results, measure)?;
            let pair = |(a, b): (&Curve, &Curve)| {
                let other = Steps::of(b, than);
                stepped(a, factor, |steps| match other {
                    Ok(other) => steps.add_less_than(&other, is_time(left, results)),
                    Err(result) => result,
                })
            };
            Ok(together(lefts.iter().zip(&rights).map(pair).collect()))
        }
        Test::SameShape => against(&|a, b| a.has_shape_of(b, margin.unwrap_or(0.1))),
        Test::Faster
        | Test::NotSlower
        | Test::NotFaster
        | Test::Differs
        | Test::Equivalent
        | Test::NearEither
        | Test::Within
        | Test::Difference
        | Test::Ratio
        | Test::Ranking => {
            Err(TestResult::not_testable("a claim of its kind goes along no factor"))
        }
    }
}

fn stepped(curve: &Curve, along: Factor, test: impl FnOnce(&Steps) -> TestResult) -> TestResult {
    match Steps::of(curve, along) {
        Ok(steps) => test(&steps),
        Err(result) => result,
    }
}

fn unit_of(chosen: &Chosen, of: &str, results: &[CaseResult]) -> &'static str {
    let case = results.iter().find(|result| takes(chosen, result));
    match Count::number(of) {
        Some(_) => "count",
        None => case.map_or("ns", |case| case.metric.unit.name()),
    }
}

/// Whether what is measured is a time, and no rate.
fn is_time(chosen: &Chosen, results: &[CaseResult]) -> bool {
    results.iter().find(|result| takes(chosen, result)).is_none_or(|case| case.metric.is_time())
}

/// Whether the measure of one case lies in the claimed interval, as one of so many `parts`.
fn lies(case: &CaseResult, of: &str, (least, most): (f64, f64), parts: usize) -> TestResult {
    let name = if parts > 1 { format!("{}: ", in_words(case)) } else { String::new() };
    let measured = match measure(case, of) {
        Ok(found) => found,
        Err(reason) => return TestResult::not_testable(format!("{name}{reason}")),
    };
    let unit = case.derived.get(of).map_or(String::new(), |derived| derived.unit.clone());
    let digits = |value: f64| Derived { value: Some(value), unit: String::new() }.to_string();
    let value = digits(measured.median);
    let Some((low, high)) = measured.ends else {
        let of = format!("{name}{of} {}", value.trim());
        return match measured.values.len() {
            few if few < LEAST_ROUNDS => TestResult::too_few_rounds(of, few),
            _ => {
                TestResult::new(Decision::Inconclusive, format!("{of}, without an interval"), None)
            }
        };
    };
    let text = format!(
        "{name}{of} {} [{}, {}]{}; claimed {least} to {most}",
        value.trim(),
        digits(low).trim(),
        digits(high).trim(),
        if unit.is_empty() { String::new() } else { format!(" {unit}") }
    );
    let (from, to) = match parts {
        1 => (low, high),
        many => stats::median_interval(&measured.values, refuting(many))
            .map_or((f64::NEG_INFINITY, f64::INFINITY), |median_interval| {
                (median_interval.low, median_interval.high)
            }),
    };
    let decision = decided(low >= least && high <= most, to < least || from > most);
    let unit = match case.derived.get(of) {
        Some(derived) => derived.unit.clone().into(),
        None if SHARES.contains(&of) => "share".into(),
        None if Count::number(of).is_some() => "count".into(),
        None => case.metric.unit.name().into(),
    };
    let result = TestResult::new(decision, text, None);
    let result = result.clear_of([measured.median, low, high], [least, most]);
    result.with(Effect { value: measured.median, low, high, unit })
}

/// What the launches of a case come to.
struct Measured {
    median: f64,
    /// None of too few launches.
    ends: Option<(f64, f64)>,
    values: Vec<f64>,
}

/// The median and the ends of its interval, or why there is none.
fn measure(case: &CaseResult, of: &str) -> Result<Measured, String> {
    if Count::number(of).is_some() {
        let found = case.counted.of(of)?;
        let values = found.by_round.iter().flatten().copied().collect();
        return Ok(Measured { median: found.median, ends: found.interval.ends(), values });
    }
    let by_round = quantity(case, of);
    let values: Vec<f64> = by_round.iter().flatten().copied().collect();
    if of == "median" {
        let estimate = case.value.as_ref().ok_or("no launch has its median")?;
        return Ok(Measured { median: estimate.median, ends: estimate.interval.ends(), values });
    }
    let found = OverRounds::of(by_round).ok_or_else(|| format!("no launch has {of}"))?;
    Ok(Measured { median: found.median, ends: found.interval.ends(), values })
}

/// Whether it is near one or the other, and which. One that the machine lacks can't refute.
fn either(
    one: (&Chosen, Result<TestResult, TestResult>),
    other: (&Chosen, Result<TestResult, TestResult>),
) -> TestResult {
    let flat = |(name, result): (&Chosen, Result<TestResult, TestResult>)| {
        let result = result.unwrap_or_else(|untestable| untestable);
        (name.to_string(), result.decision, result.effect)
    };
    let sides = [flat(one), flat(other)];
    let near: Vec<&str> = sides
        .iter()
        .filter(|(_, decision, _)| *decision == Decision::Supported)
        .map(|(name, ..)| name.as_str())
        .collect();
    let all = |wanted| sides.iter().all(|(_, decision, _)| *decision == wanted);
    let any = |wanted| sides.iter().any(|(_, decision, _)| *decision == wanted);
    let (decision, answer) = match near.as_slice() {
        [] if all(Decision::Refuted) => (Decision::Refuted, "near neither".to_string()),
        [] if any(Decision::Inconclusive) => {
            (Decision::Inconclusive, "near neither for sure".into())
        }
        [] if any(Decision::TooFewRounds) => {
            (Decision::TooFewRounds, "near neither in so few rounds".into())
        }
        [] => (Decision::NotTestable, "one of the two can't be had".into()),
        near => (Decision::Supported, format!("near {}", near.join(" and "))),
    };
    let result: Vec<String> =
        sides.iter().map(|(name, _, effect)| format!("against {name}: {effect}")).collect();
    TestResult::new(decision, format!("{answer}; {}", result.join("; ")), None)
}

/// `2%` or `0.02` as a share.
fn share(word: Option<&str>) -> Option<f64> {
    let word = word?;
    match word.strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().ok().map(|value| value / 100.0),
        None => word.parse().ok(),
    }
}

/// The two numbers of `within`.
fn numbers(claim: &Hypothesis) -> (f64, f64) {
    let within = claim.within.as_deref().unwrap_or_default();
    let number = |at: usize| within.get(at).and_then(|value| value.get_ref().parse().ok());
    (number(0).unwrap_or(f64::NEG_INFINITY), number(1).unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod checks;
#[cfg(test)]
mod levels;
