//! The parts of a round trip, by round: from what a trace saw to what an engineer asks for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Observed, OverRounds};
use super::slope::Slopes;
use model::trace::{Part, Trips};

/// What the time of a message goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Entering and leaving system calls: so many times the quickest way from one into the next.
    Calls,
    /// What grows with the message.
    Copying,
    /// The mechanism's own work in the kernel: the rest of its calls.
    Transport,
    /// From the first step of a wake-up to standing in a CPU's queue.
    Waking,
    /// Interrupts to the other CPU on their way.
    Interrupts,
    /// Awake, until a CPU takes it up.
    Waiting,
    /// The switch, with the rest of the call that slept.
    Switching,
    /// The rest of the program: its loop, the clock, spinning, a mechanism in shared memory.
    Program,
    /// Neither worker has it: under way in the kernel.
    Elsewhere,
}

impl Cost {
    /// Every cost, in the order in which a message meets them.
    pub const ALL: [Cost; 9] = [
        Cost::Calls,
        Cost::Copying,
        Cost::Transport,
        Cost::Waking,
        Cost::Interrupts,
        Cost::Waiting,
        Cost::Switching,
        Cost::Program,
        Cost::Elsewhere,
    ];

    /// Whether it is a part of a wake-up.
    pub fn wakes(self) -> bool {
        matches!(self, Cost::Waking | Cost::Interrupts | Cost::Waiting | Cost::Switching)
    }
}

/// How long a message is delayed by something.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CostPart {
    /// By what.
    pub cost: Cost,
    /// How long, in ns of a round trip.
    pub ns: OverRounds,
}

impl CostPart {
    /// What `there` has more of it than `here`; None where neither has any.
    pub(super) fn between(cost: Cost, here: &[CostPart], there: &[CostPart]) -> Option<CostPart> {
        let of = |parts: &[CostPart]| {
            parts.iter().find(|part| part.cost == cost).map(|part| part.ns.clone())
        };
        let rounds =
            [here, there].into_iter().flatten().map(|part| part.ns.by_round.len()).max()?;
        let none = || OverRounds::of(vec![Some(0.0); rounds]);
        let ns = match (of(here), of(there)) {
            (None, None) => return None,
            (here, there) => difference(&here.or_else(none)?, &there.or_else(none)?)?,
        };
        Some(CostPart { cost, ns })
    }
}

/// What `there` is more than `here`, round by round.
pub(super) fn difference(here: &OverRounds, there: &OverRounds) -> Option<OverRounds> {
    let rounds = here.by_round.iter().zip(&there.by_round);
    OverRounds::of(rounds.map(|(here, there)| Some((*there)? - (*here)?)).collect())
}

/// What tracing adds to a traced round trip.
pub(super) struct TraceOverhead {
    /// To each part, in ns of a round trip.
    pub(super) added_ns: BTreeMap<Part, f64>,
    /// Leaving one system call and entering the next, in ns.
    pub(super) call_ns: f64,
    /// What an attached trace adds to a call beside its programs, in ns.
    pub(super) slow_call_ns: f64,
}

impl TraceOverhead {
    /// The share of what it adds that falls on each cost; none where that isn't known.
    fn shares(&self) -> BTreeMap<Cost, f64> {
        let all: f64 = self.added_ns.values().map(|ns| ns.max(0.0)).sum();
        let share = |(part, ns): (&Part, &f64)| Some((cost_of(*part)?, ns.max(0.0) / all));
        self.added_ns.iter().filter(|_| all > 0.0).filter_map(share).collect()
    }
}

/// The cost that a part of a trace is, beside what is taken out of it.
fn cost_of(part: Part) -> Option<Cost> {
    Some(match part {
        Part::Call => Cost::Transport,
        Part::Waking => Cost::Waking,
        Part::Interrupt => Cost::Interrupts,
        Part::Waiting => Cost::Waiting,
        Part::Switching => Cost::Switching,
        Part::Program => Cost::Program,
        Part::Asleep => Cost::Elsewhere,
    })
}

/// Each cost of a round, in ns.
type Costs = Vec<(Cost, f64)>;

/// The costs of each round, less the trace's overhead.
pub(super) struct Rounds {
    by_round: Vec<Option<Costs>>,
    /// The share of what tracing adds that falls on each cost.
    added: BTreeMap<Cost, f64>,
    pub(super) copying_unknown: Option<String>,
}

impl Rounds {
    /// The costs of `traced`, less the trace's `overheads`, with what `slopes` say of copying.
    pub(super) fn of(traced: &Observed, overheads: &TraceOverhead, slopes: &Slopes) -> Rounds {
        let bytes = traced.case.message_bytes.unwrap_or(0) as f64;
        let part = |round: usize, trips: &Trips| {
            let slopes = slopes.as_ref().ok().and_then(|slopes| slopes.get(round));
            let slope = |part| slopes.and_then(|slopes| slopes.get(&part)).copied().unwrap_or(0.0);
            costs(trips, overheads, |part| slope(part) * bytes)
        };
        let rounds = traced.trips.iter().enumerate();
        Rounds {
            by_round: rounds.map(|(nth, trips)| Some(part(nth, trips.as_ref()?))).collect(),
            added: overheads.shares(),
            copying_unknown: slopes.as_ref().err().cloned(),
        }
    }

    /// What is left of `whole`, round by round, without all costs.
    pub(super) fn residual(&self, whole: &[Option<f64>]) -> Option<OverRounds> {
        let sum = |costs: &Costs| costs.iter().map(|(_, ns)| ns).sum::<f64>();
        let rounds = self.by_round.iter().map(|costs| costs.as_ref().map(sum)).zip(whole);
        OverRounds::of(rounds.map(|(sum, whole)| Some((*whole)? - sum?)).collect())
    }

    /// Each cost that some round has. What is in no part, `unexplained` ns, may be in any: what tracing the first time
    /// adds less than the second, or what nothing saw. So each interval reaches as far as its share of the overhead.
    pub(super) fn parts(&self, unexplained: f64) -> Vec<CostPart> {
        let of = |cost: Cost| {
            let ns =
                |costs: &Costs| costs.iter().find(|pair| pair.0 == cost).map_or(0.0, |pair| pair.1);
            let rounds: Vec<Option<f64>> =
                self.by_round.iter().map(|round| round.as_ref().map(ns)).collect();
            let any = rounds.iter().flatten().any(|ns| *ns != 0.0);
            let share = self.added.get(&cost).copied().unwrap_or(0.0);
            let ns = OverRounds::of(rounds).filter(|_| any)?;
            Some(CostPart { cost, ns: ns.reaching(share * unexplained) })
        };
        Cost::ALL.into_iter().filter_map(of).collect()
    }
}

/// The costs of one round: they add up to the traced round trip less the overhead of tracing it.
fn costs(trips: &Trips, overheads: &TraceOverhead, copied_ns: impl Fn(Part) -> f64) -> Costs {
    let net = |part: Part| {
        let share = trips.parts.get(&part).copied().unwrap_or_default();
        share.ns - overheads.added_ns.get(&part).copied().unwrap_or(0.0)
    };
    let bare = |part: Part| net(part) - copied_ns(part);
    // A call is traced from its entry to its exit: what lies outside counts as the program's.
    let edges = trips.calls * overheads.call_ns;
    let slow = trips.calls * overheads.slow_call_ns;
    let copying: f64 = Part::ALL.into_iter().map(&copied_ns).sum();
    vec![
        (Cost::Calls, edges),
        (Cost::Copying, copying),
        (Cost::Transport, bare(Part::Call)),
        (Cost::Waking, bare(Part::Waking)),
        (Cost::Interrupts, bare(Part::Interrupt)),
        (Cost::Waiting, bare(Part::Waiting)),
        (Cost::Switching, bare(Part::Switching)),
        (Cost::Program, bare(Part::Program) - edges - slow),
        (Cost::Elsewhere, bare(Part::Asleep)),
    ]
}
