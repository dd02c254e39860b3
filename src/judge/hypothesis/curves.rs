//! Claims along a factor: rises, falls, peaks, and whether two curves have one shape.

use std::collections::BTreeMap;

use super::select::{cases, level, quantity, shared_at};
use super::{ALPHA, CaseResult, Decision, Told};
use crate::stats::{self, Interval, peak};
use crate::study::factor::{Chosen, Factor, UNOBSERVED};

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
}

/// The curves that a selector chooses, one for each combination of the other factors.
pub fn curves(
    chosen: &Chosen,
    along: Factor,
    order: &[String],
    results: &[CaseResult],
    of: &str,
) -> Result<Vec<Curve>, Told> {
    let mut series: BTreeMap<Vec<String>, Vec<&CaseResult>> = BTreeMap::new();
    for case in cases(chosen, results)? {
        let others = Factor::ALL.iter().filter(|it| **it != along && !it.is_of_reach());
        let key = others.map(|factor| level(case, *factor));
        let reach = (along != Factor::Reach).then(|| apart_from(along, case));
        series.entry(key.chain(reach).collect()).or_default().push(case);
    }
    let curve = |(key, cases): (Vec<String>, Vec<&CaseResult>)| {
        let at = |wanted: &String| cases.iter().find(|case| level(case, along) == *wanted);
        let found: Vec<_> = order.iter().filter_map(|it| Some((it.clone(), *at(it)?))).collect();
        let columns: Vec<_> = found.iter().map(|(_, case)| quantity(case, of)).collect();
        let mut name = key;
        name.retain(|word| !word.is_empty() && word != UNOBSERVED);
        let (nth, rounds) = shared_at(&columns).into_iter().unzip();
        let levels = found.into_iter().map(|(level, _)| level).collect();
        Curve { name: name.join(", "), levels, rounds, nth }
    };
    let curves: Vec<Curve> = series.into_iter().map(curve).collect();
    match curves.iter().all(|it| it.levels.len() >= 2 && it.rounds.len() >= 6) {
        true => Ok(curves),
        false => Err(Told::not_testable(format!(
            "{chosen}: fewer than two levels of {along}, or than six rounds, were measured"
        ))),
    }
}

/// Where the halves of a case are, but for what a curve goes along; no word where both are here.
fn apart_from(along: Factor, case: &CaseResult) -> String {
    let (routers, switches) = (along == Factor::Routers, along == Factor::Switches);
    match case.reach.is_local() {
        true => String::new(),
        false => case.reach.without(routers, switches).to_string(),
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
        let logs: Vec<f64> = self.rounds.iter().map(|it| (it[to] / it[from]).ln()).collect();
        let log = stats::hodges_lehmann(&logs, alpha)?;
        let ratio = Interval {
            estimate: log.estimate.exp(),
            low: log.low.exp(),
            high: log.high.exp(),
            ..log
        };
        Some((ratio, stats::signed_rank(&logs).p))
    }

    fn last(&self) -> usize {
        self.levels.len() - 1
    }

    /// Whether the curve goes up (or down) all the way: no step against the direction that is
    /// surely one, and the whole way surely along it.
    pub fn monotone(&self, up: bool) -> Told {
        let last = self.last();
        let Some((whole, p)) = self.ratio(0, last, ALPHA) else {
            return Told::not_testable(format!("{}: too few rounds", self.name));
        };
        let against = |ratio: &Interval| if up { ratio.high < 1.0 } else { ratio.low > 1.0 };
        let along = |ratio: &Interval| if up { ratio.low > 1.0 } else { ratio.high < 1.0 };
        let alpha = ALPHA / last as f64;
        let broken = (0..last)
            .find(|at| self.ratio(*at, at + 1, alpha).is_some_and(|(ratio, _)| against(&ratio)));
        let text = format!(
            "{}: {} from {} to {}",
            self.name,
            times(&whole),
            self.levels[0],
            self.levels[last]
        );
        match broken {
            Some(at) => {
                let (a, b) = (&self.levels[at], &self.levels[at + 1]);
                let text = format!("{text}; but it turns between {a} and {b}");
                Told::new(Decision::Refuted, text, Some(p))
            }
            None if along(&whole) => Told::new(Decision::Supported, text, Some(p)),
            None if against(&whole) => Told::new(Decision::Refuted, text, Some(p)),
            None => Told::new(Decision::Inconclusive, text, Some(p)),
        }
    }

    /// Whether the curve rises to a peak inside and falls after it.
    pub fn hill(&self) -> Told {
        let Some(top) = peak::peak(&self.rounds, ALPHA) else {
            return Told::not_testable(format!("{}: too few rounds", self.name));
        };
        let last = self.last();
        let (low, high) = (&self.levels[top.low], &self.levels[top.high]);
        let place = format!("{}: peak at {} [{low}, {high}]", self.name, self.levels[top.at]);
        if top.high == 0 || top.low == last {
            let end = if top.low == last { "never falls" } else { "never rises" };
            return Told::new(Decision::Refuted, format!("{place}: it {end}"), None);
        }
        let (rise, fall) = (self.ratio(0, top.at, ALPHA), self.ratio(top.at, last, ALPHA));
        let (Some((rise, rising)), Some((fall, falling))) = (rise, fall) else {
            return Told::new(Decision::Inconclusive, place, None);
        };
        let text = format!("{place}; {} up to it, {} after it", times(&rise), times(&fall));
        let sure = rise.low > 1.0 && fall.high < 1.0 && top.low > 0 && top.high < last;
        let decision = if sure { Decision::Supported } else { Decision::Inconclusive };
        Told::new(decision, text, Some(rising.max(falling)))
    }

    /// Whether the peak lies between two sizes, in bytes. A claim about sizes that the curve
    /// doesn't reach can't be tested.
    pub fn peaks_within(&self, least: u64, most: u64) -> Told {
        let Some(top) = peak::peak(&self.rounds, ALPHA) else {
            return Told::not_testable(format!("{}: too few rounds", self.name));
        };
        let bytes = |at: usize| crate::size::parse(&self.levels[at]).unwrap_or(0);
        if bytes(self.last()) < most {
            let most = crate::size::format(most);
            let text = format!("{}: the sizes end below {most}, where it may lie", self.name);
            return Told::not_testable(text);
        }
        let (from, to) = (bytes(top.low), bytes(top.high));
        let text = format!(
            "{}: peak at {} [{}, {}]",
            self.name, self.levels[top.at], self.levels[top.low], self.levels[top.high]
        );
        let decision = match (from >= least && to <= most, to < least || from > most) {
            (true, _) => Decision::Supported,
            (_, true) => Decision::Refuted,
            _ => Decision::Inconclusive,
        };
        Told::new(decision, text, None)
    }

    /// Whether the peak comes before that of `other`.
    pub fn peaks_before(&self, other: &Curve) -> Told {
        let common = self.beside(other);
        let told = common.and_then(|(_, mine, theirs)| peak::earlier(&mine, &theirs));
        let Some((before, after)) = told else { return self.stands_apart(other) };
        let text = format!(
            "{} before {}: in {:.0} % of the draws, after it in {:.0} %",
            self.name,
            other.name,
            100.0 * before,
            100.0 * after
        );
        let decision = match () {
            () if before >= 1.0 - ALPHA / 2.0 => Decision::Supported,
            () if before <= ALPHA / 2.0 => Decision::Refuted,
            () => Decision::Inconclusive,
        };
        Told::new(decision, text, Some((2.0 * (1.0 - before).min(before)).clamp(0.0, 1.0)))
    }

    /// Whether the peak lies where that of `other` does.
    pub fn peaks_with(&self, other: &Curve) -> Told {
        let Some((levels, mine, theirs)) = self.beside(other) else {
            return self.stands_apart(other);
        };
        let Some(moved) = stats::moved(&theirs, &mine, ALPHA) else {
            return self.stands_apart(other);
        };
        let place = |it: peak::Peak| {
            format!("at {} [{}, {}]", levels[it.at], levels[it.low], levels[it.high])
        };
        let text = format!(
            "{}: peak {}; {}: {}",
            self.name,
            place(moved.to),
            other.name,
            place(moved.from)
        );
        let decision = match (moved.low, moved.high) {
            (0, 0) => Decision::Supported,
            (low, high) if low > 0 || high < 0 => Decision::Refuted,
            _ => Decision::Inconclusive,
        };
        Told::new(decision, text, None)
    }

    /// The levels that both have, and the rounds that both have, of each; None of one level.
    fn beside(&self, other: &Curve) -> Option<Beside> {
        let place = |curve: &Curve, level: &String| curve.levels.iter().position(|it| it == level);
        let common = self
            .levels
            .iter()
            .filter_map(|level| Some((level.clone(), place(self, level)?, place(other, level)?)));
        let common: Vec<(String, usize, usize)> = common.collect();
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for (round, row) in self.nth.iter().zip(&self.rounds) {
            let Some(at) = other.nth.iter().position(|it| it == round) else { continue };
            mine.push(common.iter().map(|it| row[it.1]).collect());
            theirs.push(common.iter().map(|it| other.rounds[at][it.2]).collect());
        }
        let levels: Vec<String> = common.into_iter().map(|it| it.0).collect();
        (levels.len() >= 2).then_some((levels, mine, theirs))
    }

    fn stands_apart(&self, other: &Curve) -> Told {
        let text = format!("{} and {}: too few levels or rounds in common", self.name, other.name);
        Told::not_testable(text)
    }

    /// Whether both differ by a constant factor only, within `margin` at every level.
    pub fn has_shape_of(&self, other: &Curve, margin: f64) -> Told {
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
        let (off, at) = farthest.map_or((0.0, ""), |(it, level)| (it.estimate, level.as_str()));
        let global = stats::rescaled(&mine, &theirs)
            .map_or(String::new(), |it| format!("; one test for all of them: p = {:.4}", it.p));
        let text = format!(
            "{} and {}: at most {:.1} % off a constant factor, at {at}{global}",
            self.name,
            other.name,
            100.0 * off.abs().exp_m1()
        );
        let decision = match () {
            () if differences.iter().all(|it| it.low > -most && it.high < most) => {
                Decision::Supported
            }
            () if differences.iter().any(|it| it.low > most || it.high < -most) => {
                Decision::Refuted
            }
            () => Decision::Inconclusive,
        };
        Told::new(decision, text, None)
    }
}

/// `1.63× [1.60, 1.66]`.
pub fn times(ratio: &Interval) -> String {
    format!("{:.3}× [{:.3}, {:.3}]", ratio.estimate, ratio.low, ratio.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve rounds, without those in `missing`, of a curve over `levels`; noise of a tenth of a
    /// per cent tells the rounds apart.
    fn curve(levels: &[(&str, f64)], missing: &[usize]) -> Curve {
        let nth: Vec<usize> = (0..12).filter(|it| !missing.contains(it)).collect();
        let row = |round: &usize| {
            // Whole rounds are slow or quick: only those of the same number are alike.
            let disturbance = 1.0 + 0.5 * (round % 3) as f64;
            let noise = |at: usize| 1.0 + 0.001 * ((round * 7 + at * 3) % 5) as f64;
            levels.iter().enumerate().map(|(at, it)| it.1 * disturbance * noise(at)).collect()
        };
        let rounds = nth.iter().map(row).collect();
        let levels = levels.iter().map(|it| it.0.to_string()).collect();
        Curve { name: "it".into(), levels, rounds, nth }
    }

    const PLAIN: [(&str, f64); 5] =
        [("64", 10.0), ("1K", 40.0), ("4K", 100.0), ("16K", 60.0), ("64K", 50.0)];

    #[test]
    fn curves_are_held_against_each_other_where_both_were_measured() {
        let plain = curve(&PLAIN, &[]);
        let fewer: Vec<(&str, f64)> = PLAIN.iter().map(|it| (it.0, 0.7 * it.1)).skip(1).collect();
        let observed = curve(&fewer, &[2, 5]);
        assert_eq!(observed.has_shape_of(&plain, 0.02).decision, Decision::Supported);
        assert_eq!(observed.peaks_with(&plain).decision, Decision::Supported);
        let none = curve(&[("2K", 1.0), ("8K", 2.0)], &[]);
        for told in
            [none.has_shape_of(&plain, 0.1), none.peaks_with(&plain), none.peaks_before(&plain)]
        {
            assert_eq!(told.decision, Decision::NotTestable, "{}", told.effect);
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
}
