//! Claims along a factor: rises, falls, peaks, and whether two curves have one shape.

use std::collections::BTreeMap;

use super::needed::LEAST_ROUNDS;
use super::parts::refuting;
use super::ratio::{decided, times};
use super::select::{Measure, cases, level, quantity, shared_at};
use super::{ALPHA, CaseResult, Decision, Effect, TestResult};
use model::factor::{Factor, UNOBSERVED};
use model::probe::Probe;
use stats::{Interval, peak};
use study::factor::Chosen;

/// A curve: the levels of a factor that were measured, and its values round by round.
pub struct Curve {
    /// What tells it from the others: the levels of the other factors.
    pub name: String,
    /// Levels, in the study's order.
    pub levels: Vec<String>,
    /// `rounds[round][level]`.
    pub rounds: Vec<Vec<f64>>,
    /// Which rounds they are, from 0.
    pub nth: Vec<usize>,
    /// Of how many curves the claim is: a refutation splits the error over them.
    pub among: usize,
}

/// Of the levels of `observe` those that a curve along it goes over: none at all, and the probe that is named, however often.
pub fn attached<'a>(probe: &str, levels: &'a [String]) -> impl Iterator<Item = &'a String> {
    let once = |level: &str| Some(Probe { times: 1, ..level.parse().ok()? });
    let probe = once(probe);
    levels.iter().filter(move |level| *level == UNOBSERVED || once(level) == probe)
}

/// The curves that a selector chooses, one for each combination of the other factors.
pub fn curves(
    chosen: &Chosen,
    along: Factor,
    order: &[String],
    results: &[CaseResult],
    measure: Measure,
) -> Result<Vec<Curve>, TestResult> {
    let others =
        || Factor::ALL.into_iter().filter(|factor| *factor != along && !factor.is_of_reach());
    // A curve is named after what other cases of the study differ in.
    let names: Vec<bool> =
        others().map(|factor| factor == Factor::Mechanism || varies(factor, results)).collect();
    let mut series: BTreeMap<Vec<String>, Vec<&CaseResult>> = BTreeMap::new();
    let chosen_cases = match chosen.level(Factor::Observe).filter(|_| along == Factor::Observe) {
        Some(probe) => attached(probe, order)
            .map(|level| cases(&chosen.with(along, level), results))
            .collect::<Result<Vec<_>, _>>()?
            .concat(),
        None => cases(chosen, results)?,
    };
    for case in chosen_cases {
        let key = others().map(|factor| level(case, factor));
        let route = (along != Factor::Route).then(|| apart_from(along, case));
        series.entry(key.chain(route).collect()).or_default().push(case);
    }
    let among = series.len();
    let curve = |(key, cases): (Vec<String>, Vec<&CaseResult>)| {
        let at = |wanted: &String| cases.iter().find(|case| level(case, along) == *wanted);
        let found: Vec<_> =
            order.iter().filter_map(|text| Some((text.clone(), *at(text)?))).collect();
        let columns: Vec<_> = found.iter().map(|(_, case)| measure.by_round(case)).collect();
        // Behind the factors stands the route.
        let named = names.iter().chain([&true]).zip(key).filter(|(named, _)| **named);
        let mut name: Vec<String> = named.map(|(_, word)| word).collect();
        name.retain(|word| !word.is_empty() && word != UNOBSERVED);
        let (nth, rounds) = shared_at(&columns).into_iter().unzip();
        let levels = found.into_iter().map(|(level, _)| level).collect();
        Curve { name: name.join(", "), levels, rounds, nth, among }
    };
    let curves: Vec<Curve> = series.into_iter().map(curve).collect();
    if curves.iter().any(|curve| curve.levels.len() < 2) {
        let text = format!("{chosen}: fewer than two levels of {along} were measured");
        return Err(TestResult::not_testable(text));
    }
    if let Some(few) = curves.iter().find(|curve| curve.rounds.len() < LEAST_ROUNDS) {
        return Err(TestResult::too_few_rounds(
            format!("{chosen}, over {along}"),
            few.rounds.len(),
        ));
    }
    Ok(curves)
}

/// Whether cases of the study differ in a factor.
fn varies(factor: Factor, results: &[CaseResult]) -> bool {
    let mut levels =
        results.iter().map(|case| level(case, factor)).filter(|level| !level.is_empty());
    let first = levels.next();
    levels.any(|level| Some(level) != first)
}

/// Where the halves of a case are, but for what a curve goes along; no word where both are here.
fn apart_from(along: Factor, case: &CaseResult) -> String {
    let (routers, switches) = (along == Factor::Routers, along == Factor::Switches);
    if case.route.is_local() {
        String::new()
    } else {
        case.route.without(routers, switches).to_string()
    }
}

/// Levels that two curves have in common, and the rounds of the one and of the other.
type Beside = (Vec<String>, Vec<Vec<f64>>, Vec<Vec<f64>>);

/// Where two curves differ beyond a constant factor, level by level.
#[derive(Clone, Debug, PartialEq)]
pub struct PointByPoint {
    /// p of each level: each curve divided by its mean over the levels, paired signed-rank tests.
    pub uncorrected: Vec<f64>,
    /// p of each level by the largest deviation over all levels, under flipped signs.
    pub corrected: Vec<f64>,
}

/// Holds cases along a factor against others, level by level, in the rounds that all have. None
/// with fewer than two levels or six rounds.
pub fn point_by_point(left: &[&CaseResult], right: &[&CaseResult]) -> Option<PointByPoint> {
    let columns: Vec<_> = left.iter().chain(right).map(|case| quantity(case, "median")).collect();
    let rows = shared_at(&columns).into_iter().map(|(_, row)| row);
    let halves = |row: Vec<f64>| (row[..left.len()].to_vec(), row[left.len()..].to_vec());
    let (left, right): (Vec<Vec<f64>>, Vec<Vec<f64>>) = rows.map(halves).unzip();
    Some(PointByPoint {
        corrected: stats::rescaled(&left, &right)?.p_of_levels,
        uncorrected: stats::pointwise(&left, &right)?,
    })
}

impl Curve {
    /// The ratio between two levels, round by round, with its interval and p.
    fn ratio(&self, from: usize, to: usize, alpha: f64) -> Option<(Interval, f64)> {
        let log_ratio = |values: &Vec<f64>| stats::log_ratio(values[to], values[from]);
        let log_ratios: Vec<f64> = self.rounds.iter().map(log_ratio).collect::<Option<_>>()?;
        let found = stats::compare(&log_ratios, alpha)?;
        Some((found.ratio, found.p))
    }

    fn last(&self) -> usize {
        self.levels.len() - 1
    }

    /// Whether the curve goes up (or down) all the way: no step against the direction that is
    /// surely one, and the whole way surely along it.
    pub fn monotone(&self, up: bool) -> TestResult {
        let last = self.last();
        let Some((whole, p)) = self.ratio(0, last, ALPHA) else { return self.too_few() };
        let against = |ratio: &Interval| if up { ratio.high < 1.0 } else { ratio.low > 1.0 };
        let along = |ratio: &Interval| if up { ratio.low > 1.0 } else { ratio.high < 1.0 };
        let text = format!(
            "{}: {} from {} to {}",
            self.name,
            times(&whole),
            self.levels[0],
            self.levels[last]
        );
        // Any of the steps may turn by chance: each has its part of the error.
        let alpha = refuting(self.among * last);
        let step = |at: usize| Some((at, self.ratio(at, at + 1, alpha)?));
        let broken = (0..last).filter_map(step).filter(|(_, (ratio, _))| against(ratio));
        let surest = broken.min_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let rounds = self.rounds.len();
        if let Some((at, (ratio, p))) = surest {
            let (a, b) = (&self.levels[at], &self.levels[at + 1]);
            let text = format!("{text}; but it turns between {a} and {b}: {}", times(&ratio));
            let p = (p * last as f64).min(1.0);
            let result =
                TestResult::new(Decision::Refuted, text, Some(p)).measuring(&ratio, "ratio");
            return result.over_rounds(rounds);
        }
        let whole_turns = self.ratio(0, last, refuting(self.among));
        let turned = whole_turns.is_some_and(|(ratio, _)| against(&ratio));
        let result = TestResult::new(decided(along(&whole), turned), text, Some(p));
        result.measuring(&whole, "ratio").over_rounds(rounds)
    }

    /// Whether no step goes down (or up) by more than `margin`: all must be shown to, and any one that surely
    /// does refutes it.
    pub fn nearly_monotone(&self, up: bool, margin: f64) -> TestResult {
        // The ratio of a step along the direction, so that less than 1 is against it.
        let along = |ratio: Interval| {
            if up {
                ratio
            } else {
                let (estimate, low, high) =
                    (1.0 / ratio.estimate, 1.0 / ratio.high, 1.0 / ratio.low);
                Interval { estimate, low, high, ..ratio }
            }
        };
        let steps = |alpha| -> Option<Vec<Interval>> {
            (0..self.last()).map(|at| Some(along(self.ratio(at, at + 1, alpha)?.0))).collect()
        };
        let surest = steps(refuting(self.among * self.last()));
        let (Some(each), Some(surest)) = (steps(ALPHA), surest) else { return self.too_few() };
        let bound = 1.0 / (1.0 + margin);
        let worst = each.iter().enumerate().min_by(|a, b| a.1.low.total_cmp(&b.1.low));
        let Some((at, worst)) = worst else { return self.too_few() };
        let text = format!(
            "{}: the step farthest against it, from {} to {}, is {}; {:.3} at least asked",
            self.name,
            self.levels[at],
            self.levels[at + 1],
            times(worst),
            bound
        );
        let holds = each.iter().all(|interval| interval.low >= bound);
        let fails = surest.iter().any(|interval| interval.high < bound);
        TestResult::new(decided(holds, fails), text, None).measuring(worst, "ratio")
    }

    /// Whether the curve rises to a peak inside and falls after it.
    pub fn hill(&self) -> TestResult {
        let Some((top, surest)) = self.peak() else { return self.too_few() };
        let last = self.last();
        let place = format!("{}: peak {}", self.name, self.place(&top));
        if surest.high == 0 || surest.low == last {
            let end = if surest.low == last { "never falls" } else { "never rises" };
            return TestResult::new(Decision::Refuted, format!("{place}: it {end}"), None);
        }
        let (rise, fall) = (self.ratio(0, top.at, ALPHA), self.ratio(top.at, last, ALPHA));
        let (Some((rise, rising)), Some((fall, falling))) = (rise, fall) else {
            return TestResult::new(Decision::Inconclusive, place, None);
        };
        let text = format!("{place}; {} up to it, {} after it", times(&rise), times(&fall));
        let sure = rise.low > 1.0 && fall.high < 1.0 && top.low > 0 && top.high < last;
        let result = TestResult::new(decided(sure, false), text, Some(rising.max(falling)));
        result.over_rounds(self.rounds.len())
    }

    /// Whether the peak lies between two sizes, in bytes. Where it may lie at the last size that was
    /// measured it may also lie beyond: then a claim about larger ones can't be tested.
    pub fn peaks_within(&self, least: u64, most: u64) -> TestResult {
        let Some((top, surest)) = self.peak() else { return self.too_few() };
        let last = self.last();
        let bytes = |at: usize| model::size::parse(&self.levels[at]).unwrap_or(0);
        let text = format!("{}: peak {}", self.name, self.place(&top));
        let beyond = |peak: &peak::Peak| peak.high == last && bytes(last) < most;
        let inside = bytes(top.low) >= least && bytes(top.high) <= most && !beyond(&top);
        let outside = (bytes(surest.high) < least && !beyond(&surest)) || bytes(surest.low) > most;
        let decision = decided(inside, outside);
        if decision == Decision::Inconclusive && beyond(&top) {
            let most = model::size::format(most);
            return TestResult::not_testable(format!(
                "{text}: the sizes end below {most}, and it may lie beyond them"
            ));
        }
        let [value, low, high] = [top.at, top.low, top.high].map(|at| bytes(at) as f64);
        let found = Effect { value, low, high, unit: "bytes".into() };
        TestResult::new(decision, text, None).with(found)
    }

    /// The peak at the error of a claim of its own, and at that of a refutation.
    fn peak(&self) -> Option<(peak::Peak, peak::Peak)> {
        let own = peak::peak(&self.rounds, ALPHA)?;
        Some((own, peak::peak(&self.rounds, refuting(self.among))?))
    }

    /// `at 64K [32K, 64K]`.
    fn place(&self, peak: &peak::Peak) -> String {
        let [at, low, high] = [peak.at, peak.low, peak.high].map(|level| &self.levels[level]);
        format!("at {at} [{low}, {high}]")
    }

    fn too_few(&self) -> TestResult {
        TestResult::too_few_rounds(&self.name, self.rounds.len())
    }

    /// Whether the peak comes before that of `other`.
    pub fn peaks_before(&self, other: &Curve) -> TestResult {
        let common = self.beside(other);
        let result = common.and_then(|(_, mine, theirs)| peak::earlier(&mine, &theirs));
        let Some((before, after)) = result else { return self.stands_apart(other) };
        let text = format!(
            "{} before {}: in {:.0} % of the draws, after it in {:.0} %",
            self.name,
            other.name,
            100.0 * before,
            100.0 * after
        );
        let decision = decided(before >= 1.0 - ALPHA / 2.0, before <= refuting(self.among) / 2.0);
        TestResult::new(decision, text, Some((2.0 * (1.0 - before).min(before)).clamp(0.0, 1.0)))
    }

    /// Whether the peak lies where that of `other` does.
    pub fn peaks_with(&self, other: &Curve) -> TestResult {
        let Some((levels, mine, theirs)) = self.beside(other) else {
            return self.stands_apart(other);
        };
        let Some(moved) = stats::moved(&theirs, &mine, ALPHA) else {
            return self.stands_apart(other);
        };
        let place = |peak: peak::Peak| {
            format!("at {} [{}, {}]", levels[peak.at], levels[peak.low], levels[peak.high])
        };
        let text = format!(
            "{}: peak {}; {}: {}",
            self.name,
            place(moved.to),
            other.name,
            place(moved.from)
        );
        // The distance at the error of a refutation.
        let surest = stats::moved(&theirs, &mine, refuting(self.among));
        let apart = surest.is_some_and(|change| change.low > 0 || change.high < 0);
        TestResult::new(decided((moved.low, moved.high) == (0, 0), apart), text, None)
    }

    /// The levels that both have, and the rounds that both have, of each; None of one level.
    fn beside(&self, other: &Curve) -> Option<Beside> {
        let place =
            |curve: &Curve, level: &String| curve.levels.iter().position(|text| text == level);
        let common = self
            .levels
            .iter()
            .filter_map(|level| Some((level.clone(), place(self, level)?, place(other, level)?)));
        let common: Vec<(String, usize, usize)> = common.collect();
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for (round, row) in self.nth.iter().zip(&self.rounds) {
            let Some(at) = other.nth.iter().position(|number| number == round) else { continue };
            mine.push(common.iter().map(|entry| row[entry.1]).collect());
            theirs.push(common.iter().map(|entry| other.rounds[at][entry.2]).collect());
        }
        let levels: Vec<String> = common.into_iter().map(|entry| entry.0).collect();
        (levels.len() >= 2).then_some((levels, mine, theirs))
    }

    /// Why nothing can be said of two curves.
    fn stands_apart(&self, other: &Curve) -> TestResult {
        let of = format!("{} and {}", self.name, other.name);
        match self.beside(other) {
            Some((_, rounds, _)) => TestResult::too_few_rounds(of, rounds.len()),
            None => TestResult::not_testable(format!("{of}: fewer than two levels in common")),
        }
    }

    /// Whether both differ by a constant factor only, within `margin` at every level.
    pub fn has_shape_of(&self, other: &Curve, margin: f64) -> TestResult {
        let Some((levels, mine, theirs)) = self.beside(other) else {
            return self.stands_apart(other);
        };
        let differences = peak::shape_differences(&mine, &theirs, ALPHA);
        let Some(differences) = differences else { return self.stands_apart(other) };
        let most = margin.ln_1p();
        let farthest = differences
            .iter()
            .zip(&levels)
            .max_by(|a, b| a.0.estimate.abs().total_cmp(&b.0.estimate.abs()));
        let (off, at) =
            farthest.map_or((0.0, ""), |(interval, level)| (interval.estimate, level.as_str()));
        let global = stats::rescaled(&mine, &theirs).map_or(String::new(), |rescaled| {
            format!("; one test for all of them: p = {:.4}", rescaled.p)
        });
        let text = format!(
            "{} and {}: at most {:.1} % off a constant factor, at {at}{global}",
            self.name,
            other.name,
            100.0 * off.abs().exp_m1()
        );
        let surest = peak::shape_differences(&mine, &theirs, refuting(self.among));
        let same =
            differences.iter().all(|difference| difference.low > -most && difference.high < most);
        let other =
            surest.iter().flatten().any(|interval| interval.low > most || interval.high < -most);
        TestResult::new(decided(same, other), text, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve rounds, without those in `missing`, of a curve over `levels`; noise of a tenth of a
    /// per cent tells the rounds apart.
    fn curve(levels: &[(&str, f64)], missing: &[usize]) -> Curve {
        let nth: Vec<usize> = (0..12).filter(|number| !missing.contains(number)).collect();
        let row = |round: &usize| {
            // Whole rounds are slow or quick: only those of the same number are alike.
            let disturbance = 1.0 + 0.5 * (round % 3) as f64;
            let noise = |at: usize| 1.0 + 0.001 * ((round * 7 + at * 3) % 5) as f64;
            levels.iter().enumerate().map(|(at, level)| level.1 * disturbance * noise(at)).collect()
        };
        let rounds = nth.iter().map(row).collect();
        let levels = levels.iter().map(|level| level.0.to_string()).collect();
        Curve { name: "it".into(), levels, rounds, nth, among: 1 }
    }

    const PLAIN: [(&str, f64); 5] =
        [("64", 10.0), ("1K", 40.0), ("4K", 100.0), ("16K", 60.0), ("64K", 50.0)];

    #[test]
    fn curves_are_compared_where_both_were_measured() {
        let plain = curve(&PLAIN, &[]);
        let fewer: Vec<(&str, f64)> =
            PLAIN.iter().map(|pair| (pair.0, 0.7 * pair.1)).skip(1).collect();
        let observed = curve(&fewer, &[2, 5]);
        assert_eq!(observed.has_shape_of(&plain, 0.02).decision, Decision::Supported);
        assert_eq!(observed.peaks_with(&plain).decision, Decision::Supported);
        let none = curve(&[("2K", 1.0), ("8K", 2.0)], &[]);
        for result in
            [none.has_shape_of(&plain, 0.1), none.peaks_with(&plain), none.peaks_before(&plain)]
        {
            assert_eq!(result.decision, Decision::NotTestable, "{}", result.effect);
        }
    }

    #[test]
    fn another_peak_and_another_shape_are_refuted() {
        let plain = curve(&PLAIN, &[]);
        let mut moved = PLAIN;
        moved[2].1 = 50.0;
        let moved = curve(&moved, &[]);
        assert_eq!(moved.peaks_with(&plain).decision, Decision::Refuted);
        assert_eq!(moved.has_shape_of(&plain, 0.1).decision, Decision::Refuted);
    }

    #[test]
    fn a_place_is_decided_wherever_the_peak_surely_lies() {
        let hill = curve(&PLAIN, &[]);
        let within = |curve: &Curve, least: &str, most: &str| {
            let bytes = |text: &str| model::size::parse(text).unwrap();
            curve.peaks_within(bytes(least), bytes(most)).decision
        };
        assert_eq!(within(&hill, "4K", "16K"), Decision::Supported);
        // The sizes end at 64K: the peak is named all the same, on either side of that.
        assert_eq!(within(&hill, "1K", "1M"), Decision::Supported);
        assert_eq!(within(&hill, "16K", "1M"), Decision::Refuted);
        let rising = curve(&[("64", 10.0), ("1K", 40.0), ("4K", 100.0)], &[]);
        assert_eq!(within(&rising, "64", "1K"), Decision::Refuted, "it is larger for sure");
        assert_eq!(within(&rising, "4K", "4K"), Decision::Supported);
        assert_eq!(within(&rising, "4K", "64K"), Decision::NotTestable, "or beyond");
        assert_eq!(within(&rising, "16K", "64K"), Decision::NotTestable, "it may lie there");
    }

    #[test]
    fn a_step_back_within_the_margin_is_allowed_and_a_larger_one_is_not() {
        let nearly = [("64", 10.0), ("1K", 40.0), ("4K", 39.0), ("16K", 80.0)];
        let mut quiet = curve(&nearly, &[]);
        for (round, row) in quiet.rounds.iter_mut().enumerate() {
            row.iter_mut().for_each(|value| *value /= 1.0 + 0.5 * (round % 3) as f64);
        }
        let result = |up: bool, margin| quiet.nearly_monotone(up, margin);
        let by_ten = result(true, 0.10);
        assert_eq!(by_ten.decision, Decision::Supported, "{}", by_ten.effect);
        assert!(by_ten.effect.contains("from 1K to 4K, is 0.97"), "{}", by_ten.effect);
        assert_eq!(result(true, 0.01).decision, Decision::Refuted);
        assert_eq!(result(false, 0.10).decision, Decision::Refuted, "it rises by far more");
        let two = curve(&nearly, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).nearly_monotone(true, 0.1);
        assert_eq!(two.decision, Decision::TooFewRounds);
    }

    #[test]
    fn a_step_that_turns_refutes_by_its_own_p() {
        let turning = [("64", 10.0), ("1K", 40.0), ("4K", 20.0), ("16K", 80.0)];
        let result = curve(&turning, &[]).monotone(true);
        assert_eq!(result.decision, Decision::Refuted, "{}", result.effect);
        assert!(result.effect.contains("turns between 1K and 4K: 0.499×"), "{}", result.effect);
        let corrected = 3.0 * super::super::needed::least_p(12);
        assert!(result.p.is_some_and(|p| (p - corrected).abs() < 1e-12), "{:?}", result.p);
    }
}
