//! What the gate found: the cases that are slower, or why it is undecided.

use super::{case_name, change, counted, percent, short_name};
use crate::compose::labels;
use crate::{Block, Text, Verdict, VerdictKind, units};
use analysis::compare::{
    CaseChange, Change, Gate, GateGroup, GateOn, LEAST_UNMARKED, RunComparison, Unsettled,
};

/// The gate's verdict, and what keeps groups open; nothing without a gate.
pub(super) fn blocks(found: &RunComparison) -> Vec<Block> {
    let Some((gate, outcome)) = found.gate.zip(found.outcome) else { return Vec::new() };
    let of = match (found.gate_percentile, found.gate_workload) {
        (Some(name), _) => format!(", by the {name} of each launch"),
        (_, Some(workload)) => format!(", {} alone", workload.name()),
        _ => String::new(),
    };
    let by = if found.capacities.is_empty() { "slower" } else { "less" };
    let head = Text::new().strong(format!("Gate at {} {by}{of}: ", percent(gate)));
    let verdict = match outcome {
        Gate::Beyond => {
            let slower = names(found, Gate::Beyond, |change| {
                format!("{}{}", case_name(change), moved(change))
            });
            let headline =
                head.plain("regression in ").code(labels::few_with_commas(&slower)).plain(".");
            Verdict::new(VerdictKind::Bad, headline, judged(found))
        }
        Gate::Within => Verdict::new(VerdictKind::Good, head.plain("passed."), judged(found)),
        Gate::Open => match names(found, Gate::Open, case_name) {
            open if open.is_empty() => {
                Verdict::new(VerdictKind::Unknown, head.plain("there is no case to judge."), "")
            }
            open => {
                let headline =
                    head.plain("undecided for ").code(labels::few_with_commas(&open)).plain(".");
                Verdict::new(VerdictKind::Unknown, headline, remedy(found))
            }
        },
    };
    let mut blocks = vec![Block::from(verdict)];
    let lines = found.gate_groups.iter().filter_map(|group| unsettled(found, group));
    let mut lines: Vec<Text> = lines.collect();
    if outcome == Gate::Beyond {
        let open = names(found, Gate::Open, case_name);
        let open = Some(open).filter(|texts| !texts.is_empty());
        lines.extend(open.map(|texts| {
            Text::new().plain("Undecided: ").code(labels::few_with_commas(&texts)).plain(".")
        }));
    }
    if !lines.is_empty() {
        blocks.push(Block::List(lines));
    }
    blocks
}

fn names(found: &RunComparison, gate: Gate, name: impl Fn(&CaseChange) -> String) -> Vec<String> {
    let cases = counted(found).filter(|case| case.gate == Some(gate)).map(name);
    let capacities = found.capacities.iter().filter(|capacity| capacity.gate == Some(gate));
    let capacities = capacities.map(|capacity| {
        let clients = units::counted(capacity.subject.connections().into(), "client");
        format!("{}, {clients}", capacity.subject.variant)
    });
    cases.chain(capacities).collect()
}

/// ` +5.1 % [+4.0, +6.2]`: what the gate judged of a case.
fn moved(case: &CaseChange) -> String {
    case.gated
        .map_or(String::new(), |moved| format!(" {}", change(moved.ratio, moved.low, moved.high)))
}

fn judged(found: &RunComparison) -> String {
    if !found.capacities.is_empty() {
        return "A regression is where all of the interval of B is so much below all of that of A; it passes where none of \
                it is."
            .into();
    }
    if found.paired {
        return "Judged by the ratios of paired launches; p below 5 %, Holm-corrected.".into();
    }
    let against = match found.gate_on {
        Some(GateOn::Absolute) => "each case by its own time",
        _ => "each case apart from what all cases of its rounds did together",
    };
    let unchecked = |group: &GateGroup| {
        group.unknown[0] == group.rounds_a[0] && group.rounds_a[0] == group.rounds_a[1]
    };
    let rounds = if found.gate_groups.iter().any(unchecked) {
        "all rounds (whether others disturbed those of a fleet isn't known)"
    } else {
        "undisturbed rounds"
    };
    format!("Judged by {rounds}, {against}; p below 5 %, Holm-corrected.")
}

fn remedy(found: &RunComparison) -> &'static str {
    if !found.capacities.is_empty() {
        "More time (--budget) narrows intervals, and disturbed rounds leave them open."
    } else if counted(found).all(|case| case.verdict == Change::Incomparable) {
        "No case was measured on both sides in the same way."
    } else if counted(found).all(|case| case.ratio.is_none()) {
        "Too few launches: a ratio takes six of a case on each side."
    } else if found.gate_groups.iter().any(|group| group.unsettled.is_some()) {
        "The reasons follow."
    } else {
        "More launches (--launches, --budget) narrow intervals."
    }
}

/// Why the cases of a group are open.
fn unsettled(found: &RunComparison, group: &GateGroup) -> Option<Text> {
    let first = &found.cases[*group.cases.first()?];
    let place = labels::placement(first.placement);
    let what = match group.cases.as_slice() {
        [_] => case_name(first),
        cases => {
            let others = units::counted(cases.len() as u64 - 1, "more case");
            format!("{} and {others}, {place}", short_name(first))
        }
    };
    let head = Text::new().code(what).plain(": ");
    Some(match group.unsettled? {
        Unsettled::TooFewRounds => {
            let sides = [("A", group.rounds_a, 0), ("B", group.rounds_b, 1)]
                .map(|(name, [all, quiet], side)| (name, all, quiet, group.unknown[side]));
            let too_few = || sides.into_iter().filter(|side| side.2 < LEAST_UNMARKED);
            let told = too_few().map(|(name, all, quiet, unknown)| {
                let (rounds, were) = (units::counted(all, "round"), units::were(quiet));
                let unknown = match unknown {
                    0 => String::new(),
                    some => format!(" (of {some} it is unknown)"),
                };
                format!("{quiet} of {rounds} of {name} {were} left undisturbed{unknown}")
            });
            let sides: Vec<String> = told.collect();
            let remedy = match too_few().any(|(.., quiet, unknown)| quiet + unknown >= LEAST_UNMARKED) {
                true => "what would tell can't be read there, and `ipcmark doctor` says why".to_owned(),
                false => format!("run both with --unmarked {LEAST_UNMARKED}"),
            };
            head.plain(format!(
                "{}, and the gate needs {LEAST_UNMARKED}: {remedy}.",
                labels::list(&sides)
            ))
        }
        Unsettled::TooFewCases => head.plain(
            "slower, or the machine was: it takes three cases measured together to separate a slower case \
             from a slower machine. Add mechanisms to the run, or attribute the change to the case \
             with --gate-on absolute.",
        ),
        Unsettled::MachineChanged => {
            let moved = group.common.map(|moved| change(moved.ratio, moved.low, moved.high));
            head.plain(format!(
                "the machine changed: together they take {}. --gate-on absolute calls that a regression.",
                moved.unwrap_or_default()
            ))
        }
    })
}
