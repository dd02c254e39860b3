//! The tests by name: what each makes of a claim.

use super::curves::{Curve, curves, times};
use super::select::{cases, goodness, have, level, pairs, quantity, shared};
use super::slope::Steps;
use super::{ALPHA, CaseResult, Decision, Ground, Told, lost};
use crate::judge::{Derived, EQUIVALENT_WITHIN, OverRounds};
use crate::stats::{self, Interval};
use crate::study::counted::{Count, FAILED_LAUNCHES};
use crate::study::extent::Extent;
use crate::study::factor::{Chosen, Factor, chosen};
use crate::study::format::{Hypothesis, Test};

/// Decides one claim.
pub fn decide(claim: &Hypothesis, on: &Ground) -> Told {
    attempt(claim, on).unwrap_or_else(|untestable| untestable)
}

fn attempt(claim: &Hypothesis, on: &Ground) -> Result<Told, Told> {
    let results = on.results;
    let left = chosen(&claim.left);
    let right = claim.right.as_ref().map(chosen).unwrap_or_default();
    let margin = share(claim.margin.as_ref().map(|it| it.get_ref().as_str()));
    let of = claim.of.as_ref().map_or("median", |it| it.get_ref());
    if of == FAILED_LAUNCHES {
        return lost::failed(&left, results, numbers(claim));
    }
    if of != "median" {
        let sides = [&claim.left].into_iter().chain(&claim.right).chain(&claim.order);
        sides.into_iter().try_for_each(|side| have(of, &chosen(side), results))?;
    }
    let goodness = |case: &CaseResult| goodness(case, of);
    match claim.test {
        Test::Faster => faster(&left, &right, results, &goodness),
        Test::Equivalent => {
            let ratio = Ratio::of(&left, &right, results, &goodness)?;
            Ok(ratio.equivalent(margin.unwrap_or(EQUIVALENT_WITHIN), ALPHA))
        }
        Test::NearEither => {
            let or = claim.or.as_ref().map(chosen).unwrap_or_default();
            let near = |right: &Chosen| {
                let ratio = Ratio::of(&left, right, results, &goodness)?;
                // Either of the two may say yes: each gets half of the error probability.
                Ok(ratio.equivalent(margin.unwrap_or(EQUIVALENT_WITHIN), ALPHA / 2.0))
            };
            Ok(either((&right, near(&right)), (&or, near(&or))))
        }
        Test::Within => {
            let chosen = cases(&left, results)?;
            let parts = chosen.iter().map(|case| lies(case, of, numbers(claim), chosen.len() > 1));
            Ok(together(parts.collect()))
        }
        Test::Ratio => {
            let ratio = Ratio::of(&left, &right, results, &|case| quantity(case, of))?;
            Ok(ratio.within(numbers(claim)))
        }
        Test::Ranking => {
            let order: Vec<Chosen> = claim.order.iter().map(chosen).collect();
            ranking(&order, results, &goodness)
        }
        _ => along(claim, &left, &right, margin, on),
    }
}

/// Claims along a factor, for every curve that the selector chooses.
fn along(
    claim: &Hypothesis,
    left: &Chosen,
    right: &Chosen,
    margin: Option<f64>,
    on: &Ground,
) -> Result<Told, Told> {
    let results = on.results;
    let factor = claim.along.as_ref().and_then(|it| Factor::parse(it.get_ref()).ok());
    let factor = factor.ok_or_else(|| Told::not_testable("the claim names no factor"))?;
    let order = &on.declared.levels[&factor];
    let of = claim.of.as_ref().map_or("median", |it| it.get_ref());
    let lefts = curves(left, factor, order, results, of)?;
    let each = |test: &dyn Fn(&Curve) -> Told| together(lefts.iter().map(test).collect());
    let against = |test: &dyn Fn(&Curve, &Curve) -> Told| {
        let rights = curves(right, factor, order, results, of)?;
        let pairs = lefts.iter().enumerate().filter_map(|(nth, curve)| {
            // One right curve serves all; else they go by their order.
            Some((curve, rights.get(nth).or(rights.first())?))
        });
        Ok(together(pairs.map(|(a, b)| test(a, b)).collect()))
    };
    match claim.test {
        Test::Rises => Ok(each(&|curve| curve.monotone(true))),
        Test::Falls => Ok(each(&|curve| curve.monotone(false))),
        Test::RisesThenFalls => Ok(each(&Curve::hill)),
        Test::Peak => {
            let within = claim.within.as_deref().unwrap_or_default();
            let bytes = |at: usize| {
                let word = within.get(at)?.get_ref();
                Extent::parse(word).ok()?.bytes(on.llc_bytes)
            };
            match (bytes(0), bytes(1)) {
                (Some(least), Some(most)) => Ok(each(&|curve| curve.peaks_within(least, most))),
                _ => Err(Told::not_testable("the size of the last-level cache isn't known here")),
            }
        }
        Test::PeaksEarlier => against(&Curve::peaks_before),
        Test::SamePeak => against(&Curve::peaks_with),
        Test::Adds => {
            let claimed = claim.within.as_ref().map(|_| numbers(claim));
            Ok(each(&|it| stepped(it, factor, |steps| steps.adds(claimed, is_time(left)))))
        }
        Test::Straight => {
            Ok(each(&|it| stepped(it, factor, |steps| steps.straight(margin, is_time(left)))))
        }
        Test::AddsLess => {
            let than = claim.than.as_ref().and_then(|it| Factor::parse(it.get_ref()).ok());
            let than = than.ok_or_else(|| Told::not_testable("the claim names no other factor"))?;
            let rights = curves(right, than, &on.declared.levels[&than], results, of)?;
            let pair = |(a, b): (&Curve, &Curve)| {
                let other = Steps::of(b, than);
                stepped(a, factor, |steps| match other {
                    Ok(other) => steps.add_less_than(&other, is_time(left)),
                    Err(told) => told,
                })
            };
            Ok(together(lefts.iter().zip(&rights).map(pair).collect()))
        }
        _ => against(&|a, b| a.has_shape_of(b, margin.unwrap_or(0.1))),
    }
}

fn stepped(curve: &Curve, along: Factor, test: impl FnOnce(&Steps) -> Told) -> Told {
    match Steps::of(curve, along) {
        Ok(steps) => test(&steps),
        Err(told) => told,
    }
}

/// Whether what is measured is a time, and no rate.
fn is_time(chosen: &Chosen) -> bool {
    chosen.level(Factor::Workload) != Some("throughput")
}

/// Whether the measure of one case lies in the claimed interval; `named` if it is one of several.
fn lies(case: &CaseResult, of: &str, (least, most): (f64, f64), named: bool) -> Told {
    let name = match named {
        true => {
            let levels = [Factor::Mechanism, Factor::Size, Factor::Placement];
            let levels = levels.map(|it| level(case, it));
            format!("{}: ", levels.join(" ").trim())
        }
        false => String::new(),
    };
    let (median, ends) = match measure(case, of) {
        Ok(found) => found,
        Err(reason) => return Told::not_testable(format!("{name}{reason}")),
    };
    let digits = |it: f64| Derived { value: Some(it), unit: String::new() }.to_string();
    let value = digits(median);
    let Some((low, high)) = ends else {
        let text = format!("{name}{of} {}, of too few launches", value.trim());
        return Told::new(Decision::Inconclusive, text, None);
    };
    let text = format!(
        "{name}{of} {} [{}, {}]; claimed {least} to {most}",
        value.trim(),
        digits(low).trim(),
        digits(high).trim()
    );
    let decision = match () {
        () if low >= least && high <= most => Decision::Supported,
        () if high < least || low > most => Decision::Refuted,
        () => Decision::Inconclusive,
    };
    Told::new(decision, text, None)
}

/// What the launches come to and the ends of its interval, or why there is none. Looks that were
/// taken while measuring have spent error, which counts of observed launches know nothing of.
fn measure(case: &CaseResult, of: &str) -> Result<(f64, Option<(f64, f64)>), String> {
    if of == "median" {
        let estimate = case.estimate().ok_or("no launch told its median")?;
        let median = estimate.median.ok_or("its launches fall into two modes")?;
        return Ok((median, estimate.low.zip(estimate.high)));
    }
    if Count::number(of).is_some() {
        let found = case.counted.of(of)?;
        return Ok((found.median, found.low.zip(found.high)));
    }
    let by_round = quantity(case, of);
    let values: Vec<f64> = by_round.iter().flatten().copied().collect();
    let found = OverRounds::of(by_round).ok_or_else(|| format!("no launch told {of}"))?;
    let interval = case.look.and_then(|it| it.interval(&values));
    Ok((found.median, interval.map(|it| (it.low, it.high))))
}

/// Parts of one claim: it holds if all of them do.
fn together(parts: Vec<Told>) -> Told {
    let decisions: Vec<Decision> = parts.iter().map(|it| it.decision).collect();
    let text: Vec<&str> = parts.iter().map(|it| it.effect.as_str()).collect();
    // All parts must hold, so the largest p decides; Bonferroni would only punish.
    let p = parts
        .iter()
        .filter_map(|it| it.p)
        .fold(None, |most: Option<f64>, p| Some(most.map_or(p, |most| most.max(p))));
    let told = Told::new(Decision::of_all(&decisions), text.join("; "), p);
    let telling = [Decision::Refuted, Decision::Inconclusive, Decision::Supported];
    let one = telling.iter().find_map(|it| parts.iter().find(|part| part.decision == *it));
    match (one, parts.len()) {
        (Some(one), 1) => told.in_brief(one.brief()),
        (Some(one), many) => told.in_brief(format!("{}, and {} more", one.brief(), many - 1)),
        (None, _) => told,
    }
}

/// Left over right, over all pairs of cases that agree otherwise.
struct Ratio {
    /// The mean over the pairs of the log ratio, round by round.
    logs: Vec<f64>,
    interval: Interval,
    p: f64,
    /// How many pairs there are, and in how many the left is larger (by the median round).
    pairs: usize,
    larger: usize,
}

impl Ratio {
    fn of(
        left: &Chosen,
        right: &Chosen,
        results: &[CaseResult],
        value: Value,
    ) -> Result<Ratio, Told> {
        let pairs = pairs(left, right, results)?;
        let columns: Vec<Vec<Option<f64>>> =
            pairs.iter().flat_map(|(a, b)| [value(a), value(b)]).collect();
        let rounds = shared(&columns);
        if let Some(side) = without_ratio(&rounds) {
            let of = [left, right][side];
            return Err(Told::not_testable(format!("{of} is 0 in a round: no ratio can be made")));
        }
        let log = |pair: &[f64]| (pair[0] / pair[1]).ln();
        let count = pairs.len();
        let logs: Vec<f64> =
            rounds.iter().map(|row| row.chunks(2).map(log).sum::<f64>() / count as f64).collect();
        let larger = (0..count)
            .filter(|nth| {
                let mut of_pair: Vec<f64> =
                    rounds.iter().map(|row| log(&row[2 * nth..2 * nth + 2])).collect();
                of_pair.sort_by(f64::total_cmp);
                !of_pair.is_empty() && stats::median(&of_pair) > 0.0
            })
            .count();
        let Some(interval) = stats::hodges_lehmann(&logs, ALPHA) else {
            return Err(Told::not_testable(format!(
                "{left} and {right}: {} rounds in common are too few",
                logs.len()
            )));
        };
        let p = stats::signed_rank(&logs).p;
        let interval = Interval {
            estimate: interval.estimate.exp(),
            low: interval.low.exp(),
            high: interval.high.exp(),
            ..interval
        };
        Ok(Ratio { logs, interval, p, pairs: count, larger })
    }

    fn words(&self, what: &str) -> String {
        let over = match self.pairs {
            1 => String::new(),
            many => format!(
                ", geometric mean over {many} pairs of cases, of which {} are above 1",
                self.larger
            ),
        };
        format!("{} {what}{over}", times(&self.interval))
    }

    fn larger(&self) -> Told {
        let text = self.words("as fast");
        let decision = match () {
            () if self.interval.low > 1.0 => Decision::Supported,
            () if self.interval.high < 1.0 => Decision::Refuted,
            () if stats::equivalent(&self.logs, EQUIVALENT_WITHIN, ALPHA) => {
                let text = format!("{text}: equivalent within {} %", 100.0 * EQUIVALENT_WITHIN);
                return Told::new(Decision::Refuted, text, None);
            }
            () => Decision::Inconclusive,
        };
        Told::new(decision, text, Some(self.p)).in_brief(times(&self.interval))
    }

    fn equivalent(&self, margin: f64, alpha: f64) -> Told {
        let text = format!("{}, within {} % asked", self.words("as fast"), 100.0 * margin);
        let decision = match () {
            () if stats::equivalent(&self.logs, margin, alpha) => Decision::Supported,
            () if self.interval.low > 1.0 + margin => Decision::Refuted,
            () if self.interval.high < 1.0 / (1.0 + margin) => Decision::Refuted,
            () => Decision::Inconclusive,
        };
        Told::new(decision, text, None)
    }

    fn within(&self, (low, high): (f64, f64)) -> Told {
        let claimed = format!("; claimed {low} to {high}");
        let text = format!("{}{claimed}", self.words("as much"));
        let Interval { low: from, high: to, .. } = self.interval;
        let decision = match () {
            () if low <= from && to <= high => Decision::Supported,
            () if to < low || high < from => Decision::Refuted,
            () => Decision::Inconclusive,
        };
        let brief = format!("{}{claimed}", times(&self.interval));
        Told::new(decision, text, None).in_brief(brief)
    }
}

/// The side, 0 or 1, of a value in `rounds` that no ratio can be made of: a count of 0, or its
/// inverse.
fn without_ratio(rounds: &[Vec<f64>]) -> Option<usize> {
    let fits = |value: f64| value.is_finite() && value > 0.0;
    rounds.iter().find_map(|row| row.iter().position(|it| !fits(*it))).map(|at| at % 2)
}

/// What a case comes to, by round.
type Value<'a> = &'a dyn Fn(&CaseResult) -> Vec<Option<f64>>;

fn faster(
    left: &Chosen,
    right: &Chosen,
    results: &[CaseResult],
    goodness: Value,
) -> Result<Told, Told> {
    Ok(Ratio::of(left, right, results, goodness)?.larger())
}

/// Whether it is near one or the other, and which. One that the machine lacks can't refute.
fn either(one: (&Chosen, Result<Told, Told>), other: (&Chosen, Result<Told, Told>)) -> Told {
    let flat = |(name, told): (&Chosen, Result<Told, Told>)| {
        let told = told.unwrap_or_else(|untestable| untestable);
        (name.to_string(), told.decision, told.effect)
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
        [] => (Decision::NotTestable, "one of the two can't be had".into()),
        near => (Decision::Supported, format!("near {}", near.join(" and "))),
    };
    let told: Vec<String> =
        sides.iter().map(|(name, _, effect)| format!("against {name}: {effect}")).collect();
    Told::new(decision, format!("{answer}; {}", told.join("; ")), None)
}

/// Each of `order` is faster than the next.
fn ranking(order: &[Chosen], results: &[CaseResult], goodness: Value) -> Result<Told, Told> {
    let mut parts = Vec::new();
    for pair in order.windows(2) {
        let mut told = faster(&pair[0], &pair[1], results, goodness)?;
        let [left, right] = [pair[0].apart_from(&pair[1]), pair[1].apart_from(&pair[0])];
        let brief = format!("{left} over {right}: {}", told.brief());
        told.effect = format!("{left} over {right}: {}", told.effect);
        parts.push(told.in_brief(brief));
    }
    Ok(together(parts))
}

/// `2%` or `0.02` as a share.
fn share(word: Option<&str>) -> Option<f64> {
    let word = word?;
    match word.strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().ok().map(|it| it / 100.0),
        None => word.parse().ok(),
    }
}

/// The two numbers of `within`.
fn numbers(claim: &Hypothesis) -> (f64, f64) {
    let within = claim.within.as_deref().unwrap_or_default();
    let number = |at: usize| within.get(at).and_then(|it| it.get_ref().parse().ok());
    (number(0).unwrap_or(f64::NEG_INFINITY), number(1).unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod checks;
