//! What observed launches of a case counted, by the names under which studies ask for it; or why
//! nothing did.

use std::collections::BTreeMap;

use super::observed::Returned;
use super::{CaseResult, Observed, OverRounds, Status, TraceSummary, explain};
use model::probe::{Probe, Scope};
use study::counted::{Count, FIRINGS, TRACED_EVENTS};
use study::expression::MEDIAN_UNOBSERVED;

/// What is in the way of counting at a tracepoint, and its remedy.
const TRACEFS: &str = "its tracepoint couldn't be read; mount -t tracefs tracefs /sys/kernel/tracing, as root, \
     or observe a trace";

/// What was counted of a case, by any instrumentation.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    events: BTreeMap<String, OverRounds>,
    trace: Option<(Scope, TraceSummary)>,
    /// Operations of what is counted: messages of a transfer, where that is fixed.
    operations: f64,
    refused: Vec<(Probe, String)>,
}

/// Gives every case what was counted beside it and what its launches lost, and every observed case
/// what it counted itself.
pub(super) fn assign(results: &mut [CaseResult], observed: &mut [Observed]) {
    for case in results.iter_mut() {
        let lost = case.datagrams.as_ref().map(|datagram| datagram.lost());
        case.counted.add(lost.unwrap_or_default());
    }
    // Empty programs fire as often as those at work.
    let at_work = |entry: &Observed| {
        let probe = Probe { empty: false, ..entry.probe };
        let same = |other: &&Observed| other.probe == probe && other.is_same_case(entry);
        observed.iter().find(same)?.firings.clone()
    };
    let firings: Vec<Option<OverRounds>> = observed.iter().map(at_work).collect();
    for (entry, firings) in observed.iter_mut().zip(firings) {
        let mut own = entry.case.counted.clone();
        own.take(entry);
        let firings = firings.map(|firings| (FIRINGS.to_string(), firings.scaled(own.operations)));
        own.events.extend(firings);
        entry.case.counted = own;
        if let Some(beside) = entry.beside {
            let plain = results[beside].by_round.clone();
            entry.case.others_by_round.insert(MEDIAN_UNOBSERVED, plain);
            results[beside].counted.take(entry);
        }
    }
    for (case, shares) in explain::shares_of_parts(results, observed) {
        results[case].counted.add(shares);
    }
}

impl Counted {
    /// Adds what the ends of a case counted themselves.
    pub(super) fn add(&mut self, counts: BTreeMap<String, OverRounds>) {
        self.events.extend(counts);
    }

    fn take(&mut self, observed: &Observed) {
        if matches!(observed.status, Status::Unavailable | Status::Failed) {
            self.refused.push((observed.probe, observed.reason.clone().unwrap_or_default()));
        }
        let messages = observed
            .case
            .total
            .zip(observed.case.message_bytes)
            .and_then(|(all, size)| all.messages(size));
        self.operations = messages.unwrap_or(1) as f64;
        if observed.probe.times > 1 || observed.probe.empty {
            return;
        }
        for event in &observed.events {
            let counted = OverRounds::of(event.by_round.clone());
            let scaled = counted.map(|rounds| (event.name.clone(), rounds.scaled(self.operations)));
            self.events.extend(scaled);
        }
        for figure in &observed.figures {
            // A quotient has no operation.
            let scale = if figure.is_sum() { self.operations } else { 1.0 };
            let counted = OverRounds::of(figure.by_round.clone());
            self.events.extend(counted.map(|rounds| (figure.name.clone(), rounds.scaled(scale))));
        }
        let fuller = |scope: Scope| self.trace.as_ref().is_none_or(|(other, _)| scope > *other);
        if let (Some(trace), Some(scope)) = (&observed.trace, observed.probe.scope())
            && fuller(scope)
        {
            self.trace = Some((scope, trace.clone()));
        }
    }

    /// The count of that name.
    ///
    /// # Errors
    /// What was in the way.
    pub fn of(&self, name: &str) -> Result<OverRounds, String> {
        let count = Count::number(name).ok_or_else(|| format!("{name} is not a number"))?;
        let known = self.events.get(name).cloned().or_else(|| self.trace(&count));
        known.ok_or_else(|| self.reason(&count, name))
    }

    /// What calls of that name returned, with how many did; the rest under None.
    ///
    /// # Errors
    /// What was in the way.
    pub fn values(&self, call: &str) -> Result<(Vec<Returned>, f64), String> {
        let trace = self.trace.as_ref().filter(|trace| trace.0 != Scope::Scheduler);
        let Some((_, trace)) = trace else {
            return Err(self.reason(&Count::Values(call), call));
        };
        let scaled = |returned: &Returned| {
            let mut scaled = returned.clone();
            scaled.stats.per_operation *= self.operations;
            scaled
        };
        let found = trace.call(call);
        let others = found.map_or(0.0, |summary| summary.others_per_operation * self.operations);
        Ok((
            found.map_or_else(Vec::new, |summary| summary.returned.iter().map(scaled).collect()),
            others,
        ))
    }

    fn trace(&self, count: &Count) -> Option<OverRounds> {
        let (scope, trace) = self.trace.as_ref()?;
        let calls = *scope != Scope::Scheduler;
        let by_round = match count {
            Count::Event(name) if trace.events.contains_key(name) => trace.events[name].clone(),
            Count::Event(call) if calls => {
                trace.rounds_of(call, |trace| trace.stats.by_round.clone())
            }
            Count::Returned(call, bytes) if calls => {
                trace.rounds_of(call, |trace| trace.returning(*bytes as i64))
            }
            Count::Bytes(call) if calls => {
                return OverRounds::of(trace.call(call)?.returned_by_round.clone());
            }
            Count::Wait(name) => {
                let wait = match *name {
                    "run-delay-ns" => &trace.delay,
                    "asleep-ns" => &trace.asleep,
                    _ => &trace.displaced,
                };
                return OverRounds::of(wait.as_ref()?.by_round.clone());
            }
            _ => return None,
        };
        OverRounds::of(by_round).map(|rounds| rounds.scaled(self.operations))
    }

    fn reason(&self, count: &Count, name: &str) -> String {
        let refused = self.refused.iter().find(|pair| count.comes_from(pair.0));
        let nothing = || {
            if *count == Count::Parts {
                "the parts of a round trip aren't known here: it takes trace and trace:times=2, and parts that \
                 add up"
                    .into()
            } else if TRACED_EVENTS.iter().any(|traced_event| traced_event.0 == name) {
                // The counter is of a tracepoint, which a family does without where it can't be read.
                format!("nothing counted {name} here: {TRACEFS}")
            } else {
                format!("nothing counted {name} here")
            }
        };
        refused.map_or_else(nothing, |pair| pair.1.clone())
    }

    /// Why a count of that name can't be had on this machine; None where nothing was asked for it,
    /// or it is there.
    pub fn refusal(&self, name: &str) -> Option<&str> {
        let count = Count::parse(name)?;
        let refused = self.refused.iter().find(|pair| count.comes_from(pair.0));
        refused.map(|pair| pair.1.as_str())
    }
}
