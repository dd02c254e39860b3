//! The arms of a run, each held against the first: a comparison as of two runs, but of launches that shared rounds, and
//! cycles where arms needed no set-up. So every ratio is paired, and what the machine did to both is not in it.

use super::gate;
use super::{
    CaseChange, Change, Gate, GateOn, Moved, Named, Noise, Pair, RunComparison, Terms, blank,
    correct,
};
use crate::compare::Measured;
use crate::paired::log_ratios;
use crate::{ALPHA, CaseRatio, CaseResult, GroupVerdict, Judged};
use model::arm::Arm;
use schemars::JsonSchema;
use serde::Serialize;

/// An arm held against the first one.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ArmChanges {
    /// Its name.
    pub arm: String,
    /// The name of the one that it is held against.
    pub against: String,
    /// One entry per case: `a` is the first arm, `b` this one, and a ratio is one of paired launches.
    pub cases: Vec<CaseChange>,
}

impl ArmChanges {
    /// Those of a run as its export has them.
    pub(crate) fn of(judged: &Judged) -> Vec<ArmChanges> {
        let found = arms(judged, Terms::PLAIN).into_iter();
        let found = found.zip(judged.run.request.arms.iter().skip(1));
        let of = |(found, arm): (RunComparison, &Arm)| ArmChanges {
            arm: arm.name.clone(),
            against: judged.run.request.arms[0].name.clone(),
            cases: found.cases,
        };
        found.map(of).collect()
    }
}

/// Every further arm of a run against its first; none where it has none.
pub fn arms(judged: &Judged, terms: Terms) -> Vec<RunComparison> {
    let Some((first, others)) = judged.run.request.arms.split_first() else { return Vec::new() };
    let measured = Measured::of(judged);
    others.iter().map(|arm| against(judged, &measured, (first, arm), terms)).collect()
}

fn against(
    judged: &Judged,
    measured: &Measured,
    (first, arm): (&Arm, &Arm),
    terms: Terms,
) -> RunComparison {
    let under = |arm: &Arm, result: &CaseResult| result.arm.as_deref() == Some(&*arm.name);
    let results = || judged.results.iter().enumerate();
    let plain = |result: &CaseResult| result.identity().without(&["arm"]);
    let counterpart = |result: &CaseResult| {
        let own = plain(result);
        results().find(|(_, other)| under(arm, other) && plain(other) == own).map(|pair| pair.0)
    };
    let held = results().filter(|(_, result)| under(first, result) && !result.twin);
    let of = |(at, result): (usize, &CaseResult)| {
        pair(judged, measured, (at, counterpart(result)), terms.percentile)
    };
    let pairs = held.map(of).collect();
    let cases = decide(pairs, terms);
    RunComparison {
        schema_version: 1,
        tool: model::tool::name().into(),
        paired: true,
        a: named(first, measured),
        b: named(arm, measured),
        margin: terms.margin,
        gate: terms.gate,
        gate_on: terms.gate.map(|_| GateOn::Absolute),
        gate_percentile: terms.gate.and(terms.percentile),
        gate_workload: terms.gate.and(terms.workload),
        gate_groups: Vec::new(),
        alpha: ALPHA,
        forced: false,
        differences: Vec::new(),
        plugins: Vec::new(),
        outcome: terms.gate.map(|_| gate::outcome(&cases, &[])),
        cases,
        capacities: Vec::new(),
        noise: noise("a", judged, first).chain(noise("b", judged, arm)).collect(),
    }
}

/// A case under both arms.
struct Paired {
    /// What is known of it before it is judged.
    change: CaseChange,
    /// By round the log of what the second took over what the first did.
    logs: Vec<Option<f64>>,
    /// The same of what the gate holds.
    held: Vec<Option<f64>>,
}

fn pair(
    judged: &Judged,
    measured: &Measured,
    (a, b): (usize, Option<usize>),
    percentile: Option<&str>,
) -> Paired {
    let side = |at: usize| &measured.results[at];
    let pair = Pair { a: Some(side(a)), b: b.map(side), change: blank(Some(side(a)), b.map(side)) };
    let reason = pair.absence();
    let mut change = pair.change;
    // What both have in common.
    change.case.arm = None;
    change.reason = reason;
    let (None, Some(b)) = (&change.reason, b) else {
        return Paired { change, logs: Vec::new(), held: Vec::new() };
    };
    let (a, b) = (&judged.results[a], &judged.results[b]);
    change.verdict = Change::Inconclusive;
    if a.disturbed || b.disturbed {
        change.every_round_disturbed = true;
        change.reason = Some("others disturbed every round".into());
    }
    let logs = b.log_ratios_to(a);
    let of = |case: &CaseResult, name| case.others_by_round.get(name).cloned().unwrap_or_default();
    let held = percentile.map(|name| log_ratios(&of(b, name), &of(a, name)));
    Paired { change, held: held.unwrap_or_else(|| logs.clone()), logs }
}

/// Judges all cases of two arms as one family.
fn decide(mut pairs: Vec<Paired>, terms: Terms) -> Vec<CaseChange> {
    for Paired { change, logs, .. } in &mut pairs {
        change.gate = terms.gate.filter(|_| terms.holds(change)).map(|_| Gate::Open);
        match CaseRatio::of(logs) {
            _ if change.verdict == Change::Incomparable => {}
            Some(CaseRatio { ratio, low, high, p, .. }) => {
                (change.ratio, change.low, change.high) = (Some(ratio), Some(low), Some(high));
                change.p = Some(p);
            }
            None => change.reason = Some("too few rounds have both for an interval".into()),
        }
    }
    correct(pairs.iter_mut().map(|pair| &mut pair.change));
    let mut cases: Vec<CaseChange> =
        pairs.iter().map(|pair| decided(pair.change.clone(), &pair.logs, terms)).collect();
    if let Some(gate) = terms.gate {
        hold_to_the_gate(&mut cases, &pairs, (gate, terms));
    }
    cases
}

/// Holds every case to the gate. Beyond it is what is shown to be: by its own test against the gate, corrected over all
/// cases that have one. Within it is what has its whole interval there.
fn hold_to_the_gate(cases: &mut [CaseChange], pairs: &[Paired], (gate, terms): (f64, Terms)) {
    let against = |Paired { change, held, .. }: &Paired| {
        let is_judged = terms.holds(change) && change.p.is_some() && !change.every_round_disturbed;
        let found = CaseRatio::of(held).filter(|_| is_judged)?;
        let apart: Vec<f64> = held.iter().flatten().map(|log| log - gate.ln_1p()).collect();
        Some((found, stats::compare(&apart, ALPHA)?.p))
    };
    let found: Vec<Option<(CaseRatio, f64)>> = pairs.iter().map(against).collect();
    let p: Vec<f64> = found.iter().flatten().map(|(_, p)| *p).collect();
    let mut corrected = stats::holm(&p).into_iter();
    for (case, found) in cases.iter_mut().zip(found) {
        let Some((CaseRatio { ratio, low, high, .. }, p)) = found else { continue };
        let p_holm = corrected.next();
        case.gated = Some(Moved { ratio, low, high, p, p_holm });
        case.gate = Some(match p_holm {
            Some(corrected) if ratio > 1.0 + gate && corrected < ALPHA => Gate::Beyond,
            _ if high <= 1.0 + gate => Gate::Within,
            _ => Gate::Open,
        });
    }
}

fn decided(mut change: CaseChange, logs: &[Option<f64>], terms: Terms) -> CaseChange {
    let p = change.p_holm.or(change.p).filter(|_| !change.every_round_disturbed);
    let Some(p) = p else { return change };
    let logs: Vec<f64> = logs.iter().copied().flatten().collect();
    change.conclude(stats::verdict(&logs, p, terms.margin, ALPHA));
    change
}

/// The A/A pairs under one arm.
fn noise(side: &'static str, judged: &Judged, arm: &Arm) -> impl Iterator<Item = Noise> {
    let arm = arm.name.clone();
    let under = move |group: &&GroupVerdict| group.arm.as_deref() == Some(&*arm);
    judged.groups.iter().filter(under).filter_map(move |group| {
        let twin = group.twin_check.as_ref()?;
        Some(Noise {
            side,
            variant: twin.variant.clone(),
            workload: group.workload,
            message_bytes: group.message_bytes,
            placement: group.placement,
            ratio: twin.over.ratio,
            low: twin.over.low,
            high: twin.over.high,
        })
    })
}

fn named(arm: &Arm, run: &Measured) -> Named {
    let command = match arm.prefix.as_slice() {
        [] => "started as it is".to_string(),
        words => words.join(" "),
    };
    let set_up = arm.setup.as_ref().map_or(String::new(), |text| format!(", after: {text}"));
    // Those of `ab` are called as the sides of any comparison are.
    let called = match arm.name.as_str() {
        side @ ("A" | "B") => side.to_string(),
        name => format!("arm {name}"),
    };
    Named { given: command + &set_up, label: Some(called), ..super::named(("", run)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    const TERMS: Terms = Terms { gate: Some(0.05), ..Terms::PLAIN };

    /// Six cases under two arms, of which the second takes so many times as long.
    fn family(seed: u64, times: f64) -> Vec<CaseChange> {
        let mut machine = Machine::seeded(seed);
        let names = ["pipe", "unix-stream", "tcp", "udp", "eventfd", "futex"];
        let pairs = names.into_iter().enumerate().map(|(nth, name)| {
            let ns = 4_000.0 * (nth + 1) as f64;
            let (a, b) = (machine.plain(name, 64, ns), machine.plain(name, 64, times * ns));
            let (a, b) = (&machine.results[a], &machine.results[b]);
            let change = CaseChange::of(&a.case, &a.metric);
            let change = CaseChange { verdict: Change::Inconclusive, ..change };
            let logs = b.log_ratios_to(a);
            Paired { change, held: logs.clone(), logs }
        });
        decide(pairs.collect(), TERMS)
    }

    fn share(times: f64, holds: impl Fn(&[CaseChange]) -> bool) -> f64 {
        let found = (0..400).filter(|seed| holds(&family(*seed, times))).count();
        found as f64 / 400.0
    }

    #[test]
    fn one_family_in_twenty_has_a_false_verdict_at_most() {
        let differs = |case: &CaseChange| matches!(case.verdict, Change::Faster | Change::Slower);
        let wrong = share(1.0, |cases| cases.iter().any(differs));
        assert!(wrong <= 0.05, "{wrong}");
        let beyond = share(1.05, |cases| cases.iter().any(|case| case.gate == Some(Gate::Beyond)));
        assert!(beyond <= 0.05, "at the gate itself: {beyond}");
    }

    #[test]
    fn what_differs_by_a_tenth_is_found_and_fails_a_gate() {
        let all = |cases: &[CaseChange]| {
            let found = |case: &CaseChange| {
                (case.verdict, case.gate) == (Change::Slower, Some(Gate::Beyond))
            };
            cases.iter().all(found)
        };
        assert!(share(1.10, all) > 0.95);
        let passes =
            |cases: &[CaseChange]| cases.iter().all(|case| case.gate == Some(Gate::Within));
        assert!(share(1.0, passes) > 0.9);
    }

    #[test]
    fn what_others_disturbed_in_every_round_has_no_verdict() {
        let mut change = family(1, 1.0).remove(0);
        (change.every_round_disturbed, change.verdict) = (true, Change::Inconclusive);
        let logs = vec![Some(0.7); 12];
        let pairs = vec![Paired { change, held: logs.clone(), logs }];
        let found = decide(pairs, TERMS).remove(0);
        assert_eq!((found.verdict, found.gate), (Change::Inconclusive, Some(Gate::Open)));
    }

    #[test]
    fn a_gate_on_a_percentile_leaves_the_median_alone() {
        let found = |held: f64| {
            let mut change = family(1, 1.0).remove(0);
            change.verdict = Change::Inconclusive;
            let (logs, held) = (vec![Some(0.0); 12], vec![Some(held); 12]);
            decide(vec![Paired { change, logs, held }], TERMS).remove(0)
        };
        let slow = found(0.2);
        assert_eq!((slow.verdict, slow.gate), (Change::Equivalent, Some(Gate::Beyond)));
        assert_eq!(found(0.0).gate, Some(Gate::Within));
    }
}
