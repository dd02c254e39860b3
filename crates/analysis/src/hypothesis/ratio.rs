//! Claims about two sides, case by case of one against the case of the other that agrees otherwise:
//! which is faster, by how much, or that neither is. Where a side chooses several cases, the claim is
//! of each of them, or of their geometric mean.

use super::parts::{at_every_level, refuting, together};
use super::select::{Measure, Missing, Pairs, level, pairs, shared_at};
use super::{ALPHA, CaseResult, Decision, TestResult};
use crate::{Derived, EQUIVALENT_WITHIN};
use model::factor::Factor;
use stats::Interval;
use study::counted::Count;
use study::factor::Chosen;
use study::format::Over;

/// Two sides, and what is compared of them.
pub struct Sides<'a> {
    pub left: &'a Chosen,
    pub rights: &'a [Chosen],
    pub results: &'a [CaseResult],
    pub measure: Measure<'a>,
    pub over: Over,
}

/// Left over right: of one pair of cases, or the mean over several.
pub struct Ratio {
    /// The mean over the pairs of the log ratio of each, round by round.
    logs: Vec<f64>,
    /// Of each side the geometric mean over the pairs.
    left: Vec<f64>,
    right: Vec<f64>,
    /// At the error of a claim of its own.
    interval: Interval,
    /// Of how many parts of a claim it is one: a refutation splits the error over them.
    parts: usize,
    /// How many pairs there are, and in how many the left is larger (by the median round).
    pairs: usize,
    larger: usize,
    /// What is compared: `as fast`, or `as much time`.
    times_what: &'static str,
}

/// What a test makes of one ratio.
pub type Test<'a> = &'a dyn Fn(&Ratio) -> TestResult;

impl Sides<'_> {
    /// The claim decided by `test`.
    ///
    /// # Errors
    /// What is missing where nothing can be compared.
    pub fn decide(&self, test: Test) -> Result<TestResult, TestResult> {
        let many = self.count()?;
        let (mut parts, without) = self.parts(many, test)?;
        if many > 1 {
            return Ok(at_every_level(parts, &without));
        }
        let mut result = parts.remove(0).1;
        result.effect.push_str(&without);
        Ok(result)
    }

    /// Of how many parts the claim is.
    fn count(&self) -> Result<usize, TestResult> {
        let pairs = pairs(self.left, self.rights, self.results)?;
        Ok(match self.over {
            Over::Average => 1,
            Over::Every => pairs.measured.len() + pairs.missing.len(),
        })
    }

    /// A named part for each pair, or one of their mean, of a claim of so many `parts`; and what is
    /// left out, in words.
    fn parts(
        &self,
        parts: usize,
        test: Test,
    ) -> Result<(Vec<(String, TestResult)>, String), TestResult> {
        let Pairs { measured, missing, inapplicable } =
            pairs(self.left, self.rights, self.results)?;
        let left_out = |of: &[Missing]| {
            let each =
                of.iter().map(|Missing { name, why, .. }| format!("; without {name} ({why})"));
            each.collect::<String>()
        };
        if self.over == Over::Average {
            let ratio = self.ratio(&measured, parts)?;
            let without = left_out(&missing) + &left_out(&inapplicable);
            return Ok((vec![(String::new(), test(&ratio))], without));
        }
        let some_are_missing = !missing.is_empty();
        let tested = measured.iter().zip(names(&measured)).map(|(pair, name)| {
            let ratio = self.ratio(std::slice::from_ref(pair), parts);
            // The missing ones have names.
            let name = if name.is_empty() && some_are_missing {
                "the only one measured".into()
            } else {
                name
            };
            (name, ratio.map_or_else(|result| result, |ratio| test(&ratio)))
        });
        let absent = missing
            .into_iter()
            .map(|Missing { name, why, case }| (name, TestResult::not_measured(case, why)));
        Ok((tested.chain(absent).collect(), left_out(&inapplicable)))
    }

    fn right_in_words(&self) -> String {
        self.rights.iter().map(Chosen::to_string).collect::<Vec<_>>().join(" or ")
    }

    fn ratio(
        &self,
        pairs: &[(&CaseResult, &CaseResult)],
        parts: usize,
    ) -> Result<Ratio, TestResult> {
        let columns: Vec<Vec<Option<f64>>> = pairs
            .iter()
            .flat_map(|(a, b)| [a, b])
            .map(|case| self.measure.by_round(case))
            .collect();
        let (nth, rounds): (Vec<usize>, Vec<Vec<f64>>) = shared_at(&columns).into_iter().unzip();
        if let Some(side) = without_ratio(&rounds) {
            let of = if side == 0 { self.left.to_string() } else { self.right_in_words() };
            return Err(TestResult::not_testable(format!(
                "{of} is 0 in a round: no ratio can be made"
            )));
        }
        let count = pairs.len();
        let of_pairs: Vec<Vec<Option<f64>>> =
            pairs.iter().map(|(a, b)| self.measure.log_ratios(a, b)).collect();
        let log = |round: &usize| {
            let each = of_pairs.iter().map(|pair| pair[*round]);
            each.sum::<Option<f64>>().map(|sum| sum / count as f64)
        };
        let logs: Vec<f64> = nth.iter().filter_map(log).collect();
        let mean = |side: usize| -> Vec<f64> {
            let of = |row: &Vec<f64>| {
                row.iter().skip(side).step_by(2).map(|value| value.ln()).sum::<f64>()
            };
            rounds.iter().map(|row| (of(row) / count as f64).exp()).collect()
        };
        let (left, right) = (mean(0), mean(1));
        let is_larger = |of_pair: &&Vec<Option<f64>>| {
            let shared = nth.iter().filter_map(|round| of_pair[*round]);
            stats::median_of(shared).is_some_and(|median| median > 0.0)
        };
        let larger = of_pairs.iter().filter(is_larger).count();
        let Some(interval) = interval(&logs, ALPHA) else {
            let of = format!("{} and {}", self.left, self.right_in_words());
            return Err(TestResult::too_few_rounds(of, logs.len()));
        };
        let times_what = match (self.measure.by_goodness, pairs[0].0.metric.is_time()) {
            (true, _) => "as fast",
            _ if Count::number(self.measure.of).is_some() => "as many",
            (_, true) => "as much time",
            (_, false) => "as much",
        };
        Ok(Ratio { logs, left, right, interval, parts, pairs: count, larger, times_what })
    }
}

/// By how much one side is better than the other, over all pairs of cases.
pub struct Gain {
    /// The geometric mean of their ratios.
    pub average: Interval,
    /// The ratio of each pair, the least first.
    pub of_pairs: Vec<f64>,
}

/// Left over right, of times or of rates alike more than 1 where the left is better.
///
/// # Errors
/// Why nothing can be compared.
pub fn gain(left: &Chosen, rights: &[Chosen], results: &[CaseResult]) -> Result<Gain, String> {
    let measure = Measure { of: "median", by_goodness: true };
    let sides = Sides { left, rights, results, measure, over: Over::Average };
    let of = || -> Result<Gain, TestResult> {
        let measured = pairs(left, rights, results)?.measured;
        let one = |pair| Ok(sides.ratio(std::slice::from_ref(pair), 1)?.interval.estimate);
        let mut of_pairs = measured.iter().map(one).collect::<Result<Vec<f64>, TestResult>>()?;
        of_pairs.sort_by(f64::total_cmp);
        Ok(Gain { average: sides.ratio(&measured, 1)?.interval, of_pairs })
    };
    of().map_err(|result| result.effect)
}

/// Each of `order` is faster than the next, pair by pair or in the mean.
///
/// # Errors
/// What is missing where a step can't be compared at all.
pub fn ranking(order: &[Chosen], of: &Sides) -> Result<TestResult, TestResult> {
    let steps: Vec<Sides> =
        order.windows(2).map(|pair| Sides { left: &pair[0], rights: &pair[1..], ..*of }).collect();
    let counts: Vec<usize> = steps.iter().map(Sides::count).collect::<Result<_, TestResult>>()?;
    let mut all = Vec::new();
    for step in &steps {
        // A step is named by what differs anywhere in the order.
        let [left, right] = [step.left, &step.rights[0]].map(|side| side.apart_from_any(order));
        let (parts, without) = step.parts(counts.iter().sum(), &|ratio| ratio.larger())?;
        for (name, mut result) in parts {
            let at = if name.is_empty() { String::new() } else { format!(" at {name}") };
            let head = format!("{left} over {right}{at}: ");
            let brief = format!("{head}{}", result.brief());
            result.effect = format!("{head}{}{without}", result.effect);
            all.push(result.in_brief(brief));
        }
    }
    Ok(together(all))
}

impl Ratio {
    fn words(&self) -> String {
        let over = match self.pairs {
            1 => String::new(),
            many => format!(
                ", geometric mean over {many} pairs of cases, of which {} are above 1",
                self.larger
            ),
        };
        format!("{} {}{over}", times(&self.interval), self.times_what)
    }

    /// Which side of `bound` it is on, at the errors of support and of refutation.
    fn side_of(&self, bound: f64) -> Side {
        let refuting = interval(&self.logs, refuting(self.parts));
        Side {
            above: self.interval.low > bound,
            below: self.interval.high < bound,
            above_for_sure: refuting.is_some_and(|interval| interval.low > bound),
            below_for_sure: refuting.is_some_and(|interval| interval.high < bound),
        }
    }

    /// p of the hypothesis that it is `bound`.
    fn p_of(&self, bound: f64) -> f64 {
        let beyond: Vec<f64> = self.logs.iter().map(|log| log - bound.ln()).collect();
        stats::sign_test(&beyond)
    }

    /// Both within `margin` of each other, by two one-sided tests at `alpha`.
    fn is_equivalent(&self, margin: f64, alpha: f64) -> bool {
        stats::equivalent(&self.logs, margin, alpha)
    }

    /// What was found of this ratio, in its own few words.
    fn found(&self, decision: Decision, text: String, p: Option<f64>) -> TestResult {
        let result = TestResult::new(decision, text, p).in_brief(times(&self.interval));
        result.measuring(&self.interval, "ratio")
    }

    /// With how far it is from both bounds, in widths of its interval.
    fn clear(&self, result: TestResult, low: f64, high: f64) -> TestResult {
        let Interval { estimate, low: from, high: to, .. } = self.interval;
        result.clear_of([estimate, from, to].map(f64::ln), [low, high].map(f64::ln))
    }

    fn result(&self, decision: Decision, text: String, p: f64) -> TestResult {
        self.found(decision, text, Some(p)).over_rounds(self.logs.len())
    }

    /// The left is faster. Refuted where the right is, or where both are equivalent.
    pub fn larger(&self) -> TestResult {
        let text = self.words();
        let side = self.side_of(1.0);
        let decision = decided(side.above, side.below_for_sure);
        let alpha = refuting(self.parts);
        if decision == Decision::Inconclusive && self.is_equivalent(EQUIVALENT_WITHIN, alpha) {
            let words = format!("equivalent within {} %", 100.0 * EQUIVALENT_WITHIN);
            let brief = format!("{}: {words}", times(&self.interval));
            let result = self.found(Decision::Refuted, format!("{text}: {words}"), None);
            return result.in_brief(brief);
        }
        self.result(decision, text, self.p_of(1.0))
    }

    /// The left is slower by no more than `margin`.
    pub fn not_slower(&self, margin: f64) -> TestResult {
        let bound = 1.0 / (1.0 + margin);
        let side = self.side_of(bound);
        let text = format!("{}, slower by {} % at most asked", self.words(), 100.0 * margin);
        self.result(decided(side.above, side.below_for_sure), text, self.p_of(bound))
    }

    /// The left is faster by no more than `margin`.
    pub fn not_faster(&self, margin: f64) -> TestResult {
        let bound = 1.0 + margin;
        let side = self.side_of(bound);
        let text = format!("{}, faster by {} % at most asked", self.words(), 100.0 * margin);
        self.result(decided(side.below, side.above_for_sure), text, self.p_of(bound))
    }

    /// One of both is faster by more than `margin`.
    pub fn differs(&self, margin: f64) -> TestResult {
        let text = format!("{}, {} % apart at least asked", self.words(), 100.0 * margin);
        let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
        let apart = self.side_of(low).below || self.side_of(high).above;
        if !apart && self.is_equivalent(margin, refuting(self.parts)) {
            return self.found(Decision::Refuted, text, None);
        }
        let nearer = if self.interval.estimate < 1.0 { low } else { high };
        self.result(decided(apart, false), text, self.p_of(nearer))
    }

    /// Both within `margin` of each other, at the error `alpha`.
    pub fn equivalent(&self, margin: f64, alpha: f64) -> TestResult {
        let text = format!("{}, within {} % asked", self.words(), 100.0 * margin);
        let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
        let apart = self.side_of(low).below_for_sure || self.side_of(high).above_for_sure;
        let decision = decided(self.is_equivalent(margin, alpha), apart);
        self.clear(self.found(decision, text, None), low, high)
    }

    /// Between two ratios.
    pub fn within(&self, (low, high): (f64, f64)) -> TestResult {
        let claimed = format!("; claimed {low} to {high}");
        let text = format!("{}{claimed}", self.words());
        let inside = low <= self.interval.low && self.interval.high <= high;
        let outside = self.side_of(low).below_for_sure || self.side_of(high).above_for_sure;
        let brief = format!("{} {}{claimed}", times(&self.interval), self.times_what);
        let found = self.found(decided(inside, outside), text, None).in_brief(brief);
        let found = found.measuring(&self.interval, "ratio_of_values");
        self.clear(found, low, high)
    }

    /// Left less right, between two bounds in `unit`: the median over rounds of the difference of each.
    pub fn difference(&self, (low, high): (f64, f64), unit: &'static str) -> TestResult {
        let rounds = self.left.iter().zip(&self.right);
        let each: Vec<f64> = rounds.map(|(left, right)| left - right).collect();
        let Some(found) = stats::median_interval(&each, ALPHA) else {
            return TestResult::too_few_rounds("the difference", each.len());
        };
        let surest = stats::median_interval(&each, refuting(self.parts));
        let inside = low <= found.low && found.high <= high;
        let outside = surest.is_some_and(|interval| interval.high < low || interval.low > high);
        let [value, least, most] = [found.estimate, found.low, found.high].map(four_digits);
        let text = format!("{value} [{least}, {most}] {unit} more; claimed {low} to {high}");
        let result = TestResult::new(decided(inside, outside), text, None);
        result
            .measuring(&found, unit)
            .clear_of([found.estimate, found.low, found.high], [low, high])
    }
}

/// On which side of a bound a ratio surely is: by its own interval, and by that of a refutation.
struct Side {
    above: bool,
    below: bool,
    above_for_sure: bool,
    below_for_sure: bool,
}

/// What follows where a claim surely holds, surely doesn't, or neither.
pub fn decided(yes: bool, no: bool) -> Decision {
    match (yes, no) {
        (true, _) => Decision::Supported,
        (_, true) => Decision::Refuted,
        _ => Decision::Inconclusive,
    }
}

/// The interval of a ratio by its logs; None of too few rounds.
fn interval(logs: &[f64], alpha: f64) -> Option<Interval> {
    stats::compare(logs, alpha).map(|comparison| comparison.ratio)
}

/// Four digits, without a unit.
fn four_digits(value: f64) -> String {
    Derived { value: Some(value), unit: String::new() }.to_string().trim().to_string()
}

/// `1.63× [1.60, 1.66]`.
pub fn times(ratio: &Interval) -> String {
    format!("{:.3}× [{:.3}, {:.3}]", ratio.estimate, ratio.low, ratio.high)
}

/// What tells pairs from each other: the levels in which their left cases differ, or else their right
/// ones. No name where there is one pair only.
fn names(pairs: &[(&CaseResult, &CaseResult)]) -> Vec<String> {
    let differing =
        Factor::ALL.into_iter().filter(|factor| !factor.follows()).filter_map(|factor| {
            let lefts: Vec<String> = pairs.iter().map(|pair| level(pair.0, factor)).collect();
            let rights: Vec<String> = pairs.iter().map(|pair| level(pair.1, factor)).collect();
            // What has no such level stands for every one.
            let differ = |levels: &Vec<String>| {
                let mut result = levels.iter().filter(|level| !level.is_empty());
                let first = result.next();
                result.any(|result| Some(result) != first)
            };
            [lefts, rights].into_iter().find(differ)
        });
    let differing: Vec<Vec<String>> = differing.collect();
    let name = |nth: usize| {
        let words =
            differing.iter().map(|texts| texts[nth].as_str()).filter(|text| !text.is_empty());
        words.collect::<Vec<&str>>().join(" ")
    };
    (0..pairs.len()).map(name).collect()
}

/// The side, 0 or 1, of a value in `rounds` that no ratio can be made of: a count of 0, or its
/// inverse.
fn without_ratio(rounds: &[Vec<f64>]) -> Option<usize> {
    let fits = |value: f64| value.is_finite() && value > 0.0;
    rounds.iter().find_map(|row| row.iter().position(|value| !fits(*value))).map(|at| at % 2)
}
