//! Claims along a factor: rises, falls, peaks, and whether two curves have one shape.

use std::collections::BTreeMap;

use super::select::{cases, level, quantity, shared};
use super::{ALPHA, CaseResult, Decision, Told};
use crate::stats::{self, Interval, peak};
use crate::study::factor::{Chosen, Factor};

/// A curve: the levels of a factor that were measured, and its values round by round.
pub struct Curve {
    /// What tells it from the others: the levels of the other factors.
    pub name: String,
    /// Levels, in the study's order.
    pub levels: Vec<String>,
    /// `rounds[round][level]`.
    pub rounds: Vec<Vec<f64>>,
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
        let others = Factor::ALL.iter().filter(|it| **it != along);
        let key: Vec<String> = others.map(|factor| level(case, *factor)).collect();
        series.entry(key).or_default().push(case);
    }
    let curve = |(key, cases): (Vec<String>, Vec<&CaseResult>)| {
        let at = |wanted: &String| cases.iter().find(|case| level(case, along) == *wanted);
        let found: Vec<_> = order.iter().filter_map(|it| Some((it.clone(), *at(it)?))).collect();
        let columns: Vec<_> = found.iter().map(|(_, case)| quantity(case, of)).collect();
        let mut name = key;
        name.retain(|word| !word.is_empty());
        Curve {
            name: name.join(", "),
            levels: found.into_iter().map(|(level, _)| level).collect(),
            rounds: shared(&columns),
        }
    };
    let curves: Vec<Curve> = series.into_iter().map(curve).collect();
    match curves.iter().all(|it| it.levels.len() >= 2 && it.rounds.len() >= 6) {
        true => Ok(curves),
        false => Err(Told::not_testable(format!(
            "{chosen}: fewer than two levels of {along}, or than six rounds, were measured"
        ))),
    }
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
        let shared = self.rounds.len().min(other.rounds.len());
        let told = peak::earlier(&self.rounds[..shared], &other.rounds[..shared]);
        let (Some((before, after)), true) = (told, self.levels == other.levels) else {
            let text = format!("{} and {}: not the same levels or rounds", self.name, other.name);
            return Told::not_testable(text);
        };
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

    /// Whether both differ by a constant factor only, within `margin` at every level.
    pub fn has_shape_of(&self, other: &Curve, margin: f64) -> Told {
        let shared = self.rounds.len().min(other.rounds.len());
        let differences =
            peak::shape_differences(&self.rounds[..shared], &other.rounds[..shared], ALPHA);
        let (Some(differences), true) = (differences, self.levels == other.levels) else {
            let text = format!("{} and {}: not the same levels or rounds", self.name, other.name);
            return Told::not_testable(text);
        };
        let most = margin.ln_1p();
        let farthest = differences
            .iter()
            .zip(&self.levels)
            .max_by(|a, b| a.0.estimate.abs().total_cmp(&b.0.estimate.abs()));
        let (off, at) = farthest.map_or((0.0, ""), |(it, level)| (it.estimate, level.as_str()));
        let text = format!(
            "{} and {}: at most {:.1} % off a constant factor, at {at}",
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
