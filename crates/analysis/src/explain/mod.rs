//! A message's time decomposed: what of an unobserved round trip is entering and leaving system
//! calls, copying, waking, waiting to run, switching, and what nothing explains.
//!
//! A trace says what the worker that has the message is doing at every moment of a round trip
//! ([`model::trace::Trips`]), but it lengthens the round trip. What launches that are traced twice
//! have more of a part is subtracted from that part; by how much an attached trace slows system
//! calls is measured with the cheapest call, before and while it is attached. The sum is compared
//! with uninstrumented launches of the same rounds: the residual is the difference, and no part is
//! adjusted to make it vanish.

mod parts;
mod slope;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

pub use parts::{Cost, CostPart};

use super::site::is_a_case;
use super::{CaseResult, Judged, Observed, OverRounds, Status};
use model::case::Case;
use model::probe::{Instrument, Probe, Scope};
use model::trace::{Part, Trips};
use parts::{Rounds, TraceOverhead};
use study::counted::{CALLS_AND_WAKE_UPS, WHOLE_CALLS_AND_WAKE_UPS};

/// A case, decomposed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Explained {
    /// What was asked.
    #[serde(flatten)]
    pub case: Case,
    /// Mean of the middle half of the round trips of each unobserved launch, in ns.
    pub whole_ns: OverRounds,
    /// The same of the round trips that were traced.
    pub traced_ns: OverRounds,
    /// What one firing of a program costs, in ns; null where no launch was traced twice over.
    pub firing_ns: Option<OverRounds>,
    /// What an attached trace adds to a system call beside its programs, in ns.
    pub slow_call_ns: f64,
    /// Firings per round trip that hold the message up.
    pub firings: f64,
    /// System calls per round trip, of the worker that has the message.
    pub calls: f64,
    /// The parts, in the order in which a message meets them, less the trace's overhead.
    pub parts: Vec<CostPart>,
    /// What is left of the whole without the parts, in ns.
    pub residual_ns: OverRounds,
    /// Whether the parts add up to the whole: the residual's interval holds zero, or it is less
    /// than a twentieth of the whole.
    pub adds_up: bool,
    /// Whether they say something all the same: the residual, which stands beside them and widens their intervals, is
    /// less than a fifth of the whole.
    pub is_result: bool,
    /// Why the share of copying is unknown, where it is.
    pub copying_unknown: Option<String>,
    /// Whether a waiting worker spins: then the program's time is that.
    pub spins: bool,
    /// Whether workers run at the same time, so that taking off an overhead part by part isn't exact.
    pub overlaps: bool,
}

/// Where the difference between two mechanisms comes from, at one size and place.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Difference {
    /// Index of the quicker one among the cases.
    pub quicker: usize,
    /// Index of the other.
    pub slower: usize,
    /// By how much, in ns.
    pub whole_ns: OverRounds,
    /// The difference of each part, the largest first; negative where the quicker one pays more.
    pub parts: Vec<CostPart>,
    /// The difference of what is in no part.
    pub residual_ns: OverRounds,
}

/// All that a run says of where time goes.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Explanation {
    /// The cases that could be decomposed.
    pub cases: Vec<Explained>,
    /// Those that couldn't, and why.
    pub missing: Vec<Missing>,
    /// Pairs of cases that differ in the mechanism alone.
    pub differences: Vec<Difference>,
}

/// A case that couldn't be decomposed.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Missing {
    /// What was asked.
    #[serde(flatten)]
    pub case: Case,
    /// Why, with the remedy.
    pub reason: String,
}

is_a_case!(Explained);
is_a_case!(Missing);

/// The case that was traced, as it is without instrumentation.
fn plain_case(traced: &Observed) -> Case {
    Case { observe: None, ..traced.case.case.clone() }
}

impl Missing {
    fn of(observed: &Observed, reason: String) -> Missing {
        Missing { case: plain_case(observed), reason }
    }
}

/// The residual may be so large a share of the whole before the parts are said not to add up, and before they are no
/// result.
const UNEXPLAINED: f64 = 0.05;
const NO_RESULT: f64 = 0.2;

const ONCE: Probe = Probe::trace(Scope::All);
const TWICE: Probe = Probe { instrument: Instrument::Trace(Scope::All), times: 2, empty: false };

/// Decomposes the latencies of a run.
pub fn explain(judged: &Judged) -> Explanation {
    decompose(&judged.results, &judged.observed)
}

/// The counts that are shares of parts, and the costs that each holds.
type PartShare = (&'static str, fn(Cost) -> bool);
const SHARES: [PartShare; 2] = [
    (CALLS_AND_WAKE_UPS, |cost| cost == Cost::Calls || cost.wakes()),
    (WHOLE_CALLS_AND_WAKE_UPS, |cost| {
        matches!(cost, Cost::Calls | Cost::Transport) || cost.wakes()
    }),
];

/// What system calls, waking and switching take of each case that was traced once and twice over, as shares of its
/// unobserved round trips, by name: by the index of the case. None of one whose parts don't add up.
pub(super) fn shares_of_parts(
    results: &[CaseResult],
    all: &[Observed],
) -> Vec<(usize, BTreeMap<String, OverRounds>)> {
    let traced = all
        .iter()
        .filter(|observed| observed.probe == ONCE && observed.case.metric.is_round_trip());
    let sources = traced.filter_map(|observed| Source::of(results, all, observed).ok());
    let sources: Vec<Source> = sources.filter(|source| source.twice.is_some()).collect();
    let shares = |source: &Source| {
        let case =
            source.explained(&source.rounds(&sources)).filter(|explained| explained.adds_up)?;
        let share = |(name, holds): PartShare| {
            let parts = || case.parts.iter().filter(|part| holds(part.cost));
            let of_round = |(round, whole): (usize, &Option<f64>)| {
                let ns: Option<f64> = parts().map(|part| *part.ns.by_round.get(round)?).sum();
                Some(ns? / (*whole)?)
            };
            let rounds = case.whole_ns.by_round.iter().enumerate().map(of_round);
            Some((name.to_string(), OverRounds::of(rounds.collect())?))
        };
        Some((source.traced.beside?, SHARES.into_iter().filter_map(share).collect()))
    };
    sources.iter().filter_map(shares).collect()
}

fn decompose(results: &[CaseResult], all: &[Observed]) -> Explanation {
    let mut found = Explanation::default();
    let mut sources = Vec::new();
    for observed in
        all.iter().filter(|observed| observed.probe == ONCE && observed.case.metric.is_round_trip())
    {
        match Source::of(results, all, observed) {
            Ok(source) => sources.push(source),
            Err(reason) => found.missing.push(Missing::of(observed, reason)),
        }
    }
    let rounds: Vec<Rounds> = sources.iter().map(|source| source.rounds(&sources)).collect();
    for (source, rounds) in sources.iter().zip(&rounds) {
        match source.explained(rounds) {
            Some(case) => found.cases.push(case),
            None => {
                let reason = "no round has a traced launch beside an unobserved one";
                found.missing.push(Missing::of(source.traced, reason.into()));
            }
        }
    }
    found.differences = differences(&found.cases);
    found
}

/// One case with everything that is needed to decompose it.
struct Source<'a> {
    traced: &'a Observed,
    twice: Option<&'a Observed>,
    /// By round: the middle mean of unobserved launches.
    whole: &'a [Option<f64>],
}

impl<'a> Source<'a> {
    fn of(
        results: &'a [CaseResult],
        all: &'a [Observed],
        traced: &'a Observed,
    ) -> Result<Source<'a>, String> {
        let reason = |or: &str| traced.reason.clone().unwrap_or_else(|| or.to_string());
        let plain = traced.beside.map(|at| &results[at]);
        let Some(plain) = plain.filter(|case| case.status == Status::Ok) else {
            return Err(reason("nothing was measured unobserved"));
        };
        if traced.status != Status::Ok {
            return Err(reason("it wasn't traced"));
        }
        if traced.trips.iter().flatten().next().is_none() {
            return Err("no traced launch holds a whole round trip".into());
        }
        let twice = all.iter().find(|observed| {
            observed.probe == TWICE
                && observed.beside == traced.beside
                && observed.status == Status::Ok
        });
        let whole = plain.others_by_round.get("middle").map_or(&[][..], Vec::as_slice);
        Ok(Source { traced, twice, whole })
    }

    /// Whether `other` differs in the size alone.
    fn is_along(&self, other: &Source) -> bool {
        let key = |source: &Source| source.traced.case.identity().without(&["message_bytes"]);
        key(self) == key(other)
    }

    /// Its parts by round, with what the other sizes of its curve say of copying, and all mechanisms
    /// at its place of the way from one call into the next: that is the machine's, and the same of all.
    fn rounds(&self, all: &[Source]) -> Rounds {
        let curve: Vec<&Source> = all.iter().filter(|source| self.is_along(source)).collect();
        let place = |source: &Source| (source.traced.case.placement, source.traced.case.workers);
        let there = all.iter().filter(|source| place(source) == place(self));
        let crossing_ns = there.filter_map(Source::crossing_ns).min_by(f64::total_cmp);
        Rounds::of(self.traced, &self.overheads(crossing_ns), &slope::slopes(&curve))
    }

    /// The way from leaving one call into the next, less what a second trace adds to it.
    fn crossing_ns(&self) -> Option<f64> {
        let median = |observed: &Observed| {
            let rounds = observed.trips.iter().map(|trip| trip.as_ref()?.crossing_ns);
            OverRounds::of(rounds.collect()).map(|rounds| rounds.median)
        };
        Some(2.0 * median(self.traced)? - median(self.twice?)?)
    }

    /// What tracing adds to a traced round trip.
    fn overheads(&self, crossing_ns: Option<f64>) -> TraceOverhead {
        let [bare_ns, _] = call_medians(self.traced).unwrap_or_default();
        let added = |part| Some((part, self.added_ns(part)?));
        TraceOverhead {
            added_ns: Part::ALL.into_iter().filter_map(added).collect(),
            call_ns: crossing_ns
                .map_or(bare_ns, |crossing_ns| (crossing_ns - self.slow_call_ns()).max(bare_ns)),
            slow_call_ns: self.slow_call_ns(),
        }
    }

    /// What an attached trace adds to a call beside its programs, which a second trace adds to again.
    fn slow_call_ns(&self) -> f64 {
        let (once, twice) = (call_medians(self.traced), self.twice.and_then(call_medians));
        let slow = once.zip(twice).map(|([bare, once], [_, twice])| 2.0 * once - twice - bare);
        slow.unwrap_or(0.0).max(0.0)
    }

    /// ns that a second trace adds to a part: median over the rounds.
    fn added_ns(&self, part: Part) -> Option<f64> {
        let ns = |trips: &Option<Trips>| {
            trips.as_ref().map(|trips| trips.parts.get(&part).map_or(0.0, |share| share.ns))
        };
        let rounds = self.traced.trips.iter().zip(&self.twice?.trips);
        let added = rounds.map(|(once, twice)| Some(ns(twice)? - ns(once)?));
        OverRounds::of(added.collect()).map(|rounds| rounds.median)
    }

    /// ns of one firing, by round: what a second trace adds, over the firings of the first.
    fn firing_ns(&self) -> Option<OverRounds> {
        let middle = |observed: &'a Observed| observed.case.others_by_round.get("middle");
        let (once, twice) = (middle(self.traced)?, middle(self.twice?)?);
        let firings = |round: usize| {
            let trips = self.traced.trips.get(round)?.as_ref()?;
            let firings: f64 = trips.parts.values().map(|share| share.firings).sum();
            (firings > 0.0).then_some(firings)
        };
        let added = once.iter().zip(twice).enumerate();
        let each =
            added.map(|(round, (once, twice))| Some(((*twice)? - (*once)?) / firings(round)?));
        OverRounds::of(each.collect())
    }

    fn explained(&self, rounds: &Rounds) -> Option<Explained> {
        let trips = || self.traced.trips.iter();
        let each = |of: &dyn Fn(&Trips) -> f64| {
            OverRounds::of(trips().map(|trips| trips.as_ref().map(of)).collect())
        };
        let whole_ns = OverRounds::of(self.whole[..self.whole.len().min(trips().len())].to_vec())?;
        let traced_ns = each(&|trips| trips.mean_ns)?;
        let residual_ns = rounds.residual(self.whole)?;
        let share = residual_ns.median.abs() / whole_ns.median;
        let adds_up = residual_ns.covers(0.0) || share <= UNEXPLAINED;
        let on_one_cpu = self.traced.case.place.cpus.is_some_and(|(a, b)| a == b);
        Some(Explained {
            case: plain_case(self.traced),
            firing_ns: self.firing_ns(),
            slow_call_ns: self.slow_call_ns(),
            firings: each(&|trips| trips.parts.values().map(|share| share.firings).sum())?.median,
            calls: each(&|trips| trips.calls)?.median,
            parts: rounds.parts(if adds_up { 0.0 } else { residual_ns.median }),
            adds_up,
            is_result: adds_up || share <= NO_RESULT,
            residual_ns,
            copying_unknown: rounds.copying_unknown.clone(),
            spins: self.traced.case.spins,
            overlaps: !on_one_cpu,
            whole_ns,
            traced_ns,
        })
    }
}

/// Medians over launches of what the cheapest call cost before and while programs were attached.
fn call_medians(traced: &Observed) -> Option<[f64; 2]> {
    let of = |at: usize| {
        let rounds = traced.call_ns.iter().map(|values| values.map(|calls| calls[at]));
        OverRounds::of(rounds.collect()).map(|rounds| rounds.median)
    };
    Some([of(0)?, of(1)?])
}

/// Every pair of cases that differ in the mechanism alone, the quicker one first.
fn differences(cases: &[Explained]) -> Vec<Difference> {
    let alike = |a: &Explained, b: &Explained| {
        // What carries no bytes is compared with every size.
        let sizes = a.message_bytes == b.message_bytes
            || a.message_bytes.is_none()
            || b.message_bytes.is_none();
        sizes && a.placement == b.placement && a.workers == b.workers && a.variant != b.variant
    };
    let mut found = Vec::new();
    for (nth, a) in cases.iter().enumerate() {
        for (other, b) in cases.iter().enumerate().skip(nth + 1).filter(|(_, b)| alike(a, b)) {
            let a_first = a.whole_ns.median <= b.whole_ns.median;
            let (quicker, slower) = if a_first { (nth, other) } else { (other, nth) };
            found.extend(Difference::of(cases, quicker, slower));
        }
    }
    found
}

impl Difference {
    fn of(cases: &[Explained], quicker: usize, slower: usize) -> Option<Difference> {
        let (a, b) = (&cases[quicker], &cases[slower]);
        let mut parts: Vec<CostPart> = Cost::ALL
            .into_iter()
            .filter_map(|cost| CostPart::between(cost, &a.parts, &b.parts))
            .collect();
        parts.sort_by(|x, y| y.ns.median.abs().total_cmp(&x.ns.median.abs()));
        let whole_ns = parts::difference(&a.whole_ns, &b.whole_ns)?;
        let residual_ns = parts::difference(&a.residual_ns, &b.residual_ns)?;
        Some(Difference { quicker, slower, whole_ns, parts, residual_ns })
    }
}
