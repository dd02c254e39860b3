//! The gate: whether a case became slower by itself, in undisturbed rounds.
//!
//! A machine moves all that is measured on it from run to run. So a case is compared with the cases that
//! shared its rounds ([`stats::apart`]): what all of them have in common is the machine's, or what the user
//! changed for all of them, and is no regression unless asked so ([`GateOn::Absolute`]).

use schemars::JsonSchema;
use serde::Serialize;

use super::measured::{Measured, MeasuredCase};
use super::{CapacityChange, CaseChange, Pair, Terms};
use crate::ALPHA;
use stats::{InRound, LEAST_TO_TELL_APART, Shift};

/// Unmarked rounds that each of two runs needs for a gate.
pub const LEAST_UNMARKED: u64 = 12;

/// What a gate holds a case against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOn {
    /// What the cases of its rounds did together.
    #[default]
    Relative,
    /// Its own time in the first run: for two kernels, where what all have in common is the question.
    Absolute,
}

/// What the gate says of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// The whole interval is at most the gate.
    Within,
    /// The whole interval is beyond the gate, and the difference survives the correction.
    Beyond,
    /// Unknown.
    Open,
}

/// Why a group leaves its cases open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unsettled {
    /// One of the runs has fewer than [`LEAST_UNMARKED`] undisturbed rounds.
    TooFewRounds,
    /// Too few cases shared its rounds: one that moved and a machine that did look alike.
    TooFewCases,
    /// All cases moved together, by more than the gate.
    MachineChanged,
}

/// A ratio of times, second run over first.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Moved {
    /// Hodges–Lehmann estimate.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Mann–Whitney p; of arms that of the sign test against the gate.
    pub p: f64,
    /// The same, corrected by Holm over the cases that stand to the gate; null of what is no case.
    pub p_holm: Option<f64>,
}

/// The cases that shared rounds in both runs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct GateGroup {
    /// Its cases, as indices into `cases`.
    pub cases: Vec<usize>,
    /// Rounds of the first run, and how many of them are known to be undisturbed.
    pub rounds_a: [u64; 2],
    /// The same of the second.
    pub rounds_b: [u64; 2],
    /// Rounds of the first run, and of the second, of which nobody knows whether others disturbed them.
    pub unknown: [u64; 2],
    /// By how much all of them moved together; null where that is unknown.
    pub common: Option<Moved>,
    /// Why its cases are open; null where they aren't for a reason of the whole group.
    pub unsettled: Option<Unsettled>,
}

/// Judges all cases that the gate of `terms` holds; `beyond` is the ratio at which a regression begins.
pub(super) fn judge(
    runs: (&Measured, &Measured),
    pairs: &mut [Pair],
    beyond: f64,
    terms: Terms,
) -> Vec<GateGroup> {
    let on = terms.gate_on;
    let mut groups: Vec<Group> = Vec::new();
    for (nth, pair) in pairs.iter_mut().enumerate() {
        // What the first run didn't have can't have become slower.
        if !terms.holds(&pair.change) || !pair.a.is_some_and(MeasuredCase::is_ok) {
            continue;
        }
        pair.change.gate = Some(Gate::Open);
        let (Some(a), Some(b), Some(_)) = (pair.a, pair.b, pair.change.ratio) else { continue };
        match groups.iter_mut().find(|group| group.key == (a.group, b.group)) {
            Some(group) => group.cases.push(nth),
            None => groups.push(Group { key: (a.group, b.group), cases: vec![nth] }),
        }
    }
    let mut found: Vec<GateGroup> =
        groups.iter().map(|group| group.measure(runs, pairs, terms)).collect();
    let gated = |pair: &&mut Pair| pair.change.gated.is_some();
    let p: Vec<f64> = pairs.iter().filter_map(|pair| Some(pair.change.gated.as_ref()?.p)).collect();
    for (pair, p) in pairs.iter_mut().filter(gated).zip(stats::holm(&p)) {
        pair.change.gated.iter_mut().for_each(|change| change.p_holm = Some(p));
        pair.change.gate = pair.change.gated.map(|change| change.judged(beyond));
    }
    for group in &mut found {
        group.settle(pairs, beyond, on);
    }
    found
}

/// Cases by the group that they were measured in, in both runs.
struct Group {
    key: (usize, usize),
    cases: Vec<usize>,
}

impl Group {
    fn measure(&self, runs: (&Measured, &Measured), pairs: &mut [Pair], terms: Terms) -> GateGroup {
        let times = |run: &Measured, case: &MeasuredCase| run.undisturbed(case, terms.percentile);
        let sides = self.cases.iter().filter_map(|nth| pairs[*nth].a.zip(pairs[*nth].b));
        let (a, b): (Vec<_>, Vec<_>) =
            sides.map(|(a, b)| (times(runs.0, a), times(runs.1, b))).unzip();
        let (rounds_a, rounds_b) =
            (runs.0.rounds_of(self.key.0, &a), runs.1.rounds_of(self.key.1, &b));
        let mut found = GateGroup {
            cases: self.cases.clone(),
            rounds_a,
            rounds_b,
            unknown: [
                runs.0.unknown_of(self.key.0, rounds_a[0]),
                runs.1.unknown_of(self.key.1, rounds_b[0]),
            ],
            common: None,
            unsettled: None,
        };
        if found.rounds_a[1].min(found.rounds_b[1]) < LEAST_UNMARKED {
            found.unsettled = Some(Unsettled::TooFewRounds);
            return found;
        }
        let apart = stats::apart(&a, &b, ALPHA);
        found.common = apart.as_ref().map(|apart| Moved::of(apart.common));
        let alone = |nth: usize| {
            let values = |rounds: &[Option<InRound>]| -> Vec<f64> {
                rounds.iter().flatten().map(|round| round.time).collect()
            };
            stats::compare_unpaired(&values(&b[nth]), &values(&a[nth]), ALPHA)
        };
        let own = match (apart, terms.gate_on) {
            (Some(apart), GateOn::Relative) => apart.own,
            _ => (0..self.cases.len()).map(alone).collect(),
        };
        for (nth, own) in self.cases.iter().zip(own) {
            pairs[*nth].change.gated = own.map(Moved::of);
        }
        found
    }
}

impl GateGroup {
    /// Opens what the gate may blame no case for.
    fn settle(&mut self, pairs: &mut [Pair], beyond: f64, on: GateOn) {
        let any = |gate| self.cases.iter().any(|nth| pairs[*nth].change.gate == Some(gate));
        if self.unsettled.is_some() || on == GateOn::Absolute {
            return;
        }
        let opened = if self.cases.len() < LEAST_TO_TELL_APART {
            self.unsettled = any(Gate::Beyond).then_some(Unsettled::TooFewCases);
            Gate::Beyond
        } else {
            let common = self.common.is_some_and(|change| change.low > beyond);
            self.unsettled = (common && !any(Gate::Beyond)).then_some(Unsettled::MachineChanged);
            Gate::Within
        };
        if self.unsettled.is_some() {
            for nth in &self.cases {
                let gate = &mut pairs[*nth].change.gate;
                *gate = gate.map(|gate| if gate == opened { Gate::Open } else { gate });
            }
        }
    }
}

impl Moved {
    fn of(Shift { ratio, p }: Shift) -> Moved {
        Moved { ratio: ratio.estimate, low: ratio.low, high: ratio.high, p, p_holm: None }
    }

    fn judged(&self, beyond: f64) -> Gate {
        match self.p_holm {
            Some(p) if self.low > beyond && p < ALPHA => Gate::Beyond,
            _ if self.high <= beyond => Gate::Within,
            _ => Gate::Open,
        }
    }
}

/// The worst of all; open where nothing was judged.
pub(super) fn outcome(cases: &[CaseChange], capacities: &[CapacityChange]) -> Gate {
    let all = cases.iter().map(|case| case.gate);
    let all: Vec<Option<Gate>> =
        all.chain(capacities.iter().map(|capacity| capacity.gate)).collect();
    let any = |gate| all.contains(&Some(gate));
    match (any(Gate::Beyond), any(Gate::Open) || !any(Gate::Within)) {
        (true, _) => Gate::Beyond,
        (false, true) => Gate::Open,
        (false, false) => Gate::Within,
    }
}
