//! From the traces of a case's launches to what was traced: medians over launches with their
//! intervals; sums over all launches of what moves from one to another, as CPUs do.

use std::collections::{BTreeMap, BTreeSet};

use super::super::OverRounds;
use super::super::rounds::by_round;
use super::trace_summary::{
    Beyond, CallStats, CallSummary, InterruptSummary, Returned, SocketSummary, TraceSummary, Wait,
    WakeUps, Worker,
};
use model::trace::{Calls, Deeds, Direction, Spread, Traced};
use store::StoredLaunch;
use study::counted::TRACED_EVENTS;

/// What a call returned has a row of its own from this share of the calls on, …
const SHOWN: f64 = 0.01;
/// … if no more than so many are as frequent or more.
const MOST: usize = 6;
/// Waits are given by the share beyond these powers of two, in ns: 1 µs to 1 ms, by four.
const BEYOND: [u32; 6] = [10, 12, 14, 16, 18, 20];

impl TraceSummary {
    /// What the traces of a case's launches show; None where none was traced.
    pub fn of(launches: &[StoredLaunch]) -> Option<TraceSummary> {
        let measured = launches.iter().filter(|launch| launch.round > 0 && launch.status == "ok");
        let traced =
            measured.filter_map(|launch| Some((launch.round, launch.record.trace.as_ref()?)));
        TraceSummary::over(traced)
    }

    /// The same of traces with their rounds, from 1.
    pub(super) fn over<'a>(
        traced: impl Iterator<Item = (u64, &'a Traced)>,
    ) -> Option<TraceSummary> {
        let traces = Traces { by_round: by_round(traced.map(|(at, traced)| (at, Some(traced)))) };
        let missing: BTreeSet<&String> = traces.all().flat_map(|traced| &traced.missing).collect();
        let launches = traces.all().count() as u64;
        (launches > 0).then(|| TraceSummary {
            launches,
            calls: calls(&traces),
            delay: wait(&traces, |deeds| &deeds.delays),
            asleep: wait(&traces, |deeds| &deeds.sleeps),
            displaced: wait(&traces, |deeds| &deeds.waits),
            wake_ups: wake_ups(&traces),
            interrupts: interrupts(&traces),
            socket: socket(&traces),
            lost: traces.all().map(|traced| traced.lost).sum(),
            events: events(&traces, &missing),
            missing: missing.into_iter().cloned().collect(),
            rounds: traces.by_round.iter().map(Option::is_some).collect(),
        })
    }
}

/// The traces of a case, by round from 1.
struct Traces<'a> {
    by_round: Vec<Option<&'a Traced>>,
}

impl<'a> Traces<'a> {
    fn all(&self) -> impl Iterator<Item = &'a Traced> {
        self.by_round.iter().flatten().copied()
    }

    fn each(&self, of: impl Fn(&Traced) -> Option<f64>) -> Option<OverRounds> {
        OverRounds::of(self.by_round.iter().map(|round| round.and_then(&of)).collect())
    }

    /// Per operation, both workers together.
    fn counted(&self, count: impl Fn(&Deeds) -> u64) -> Option<OverRounds> {
        self.each(|traced| Some(per_operation(traced, &count)))
    }

    /// The mean of what took `time`, which happened `count` times; None in no launch at all.
    fn mean(
        &self,
        count: impl Fn(&Deeds) -> u64,
        total: impl Fn(&Deeds) -> u64,
    ) -> Option<OverRounds> {
        self.each(|traced| {
            let both = |of: &dyn Fn(&Deeds) -> u64| traced.workers().map(of).iter().sum::<u64>();
            let times = both(&count);
            (times > 0).then(|| both(&total) as f64 / times as f64)
        })
    }

    /// Per operation, all launches together: for what moves from launch to launch, as CPUs do.
    fn pooled(&self, count: impl Fn(&Deeds) -> u64) -> f64 {
        let sum: f64 = self.all().map(|traced| per_operation(traced, &count)).sum();
        sum / self.all().count() as f64
    }
}

fn per_operation(traced: &Traced, count: impl Fn(&Deeds) -> u64) -> f64 {
    let of = |deeds: &Deeds| count(deeds) as f64 / deeds.operations as f64;
    traced.workers().into_iter().filter(|worker| worker.operations > 0).map(of).sum()
}

/// What counters count too; nothing of whose tracepoint the kernel lacks.
fn events(
    traces: &Traces,
    missing: &BTreeSet<&String>,
) -> BTreeMap<&'static str, Vec<Option<f64>>> {
    type OfDeeds = fn(&Deeds) -> u64;
    let counts: [OfDeeds; 3] = [
        // A worker leaves its CPU to sleep, or because it is displaced.
        |deeds| deeds.sleeps.count + deeds.waits.count,
        |deeds| deeds.woken.iter().map(|woken| woken.count).sum(),
        |deeds| deeds.interrupts.iter().map(|interrupt| interrupt.count).sum(),
    ];
    let each = TRACED_EVENTS
        .iter()
        .zip(counts)
        .filter(|((_, tracepoint), _)| !missing.iter().any(|text| text.as_str() == *tracepoint));
    each.filter_map(|((name, _), of)| Some((*name, traces.counted(of)?.by_round))).collect()
}

fn calls(traces: &Traces) -> Vec<CallSummary> {
    let rows = traces.all().flat_map(Traced::workers).flat_map(|worker| &worker.calls);
    let names: BTreeSet<&str> = rows.map(|row| row.name.as_str()).collect();
    let mut calls: Vec<CallSummary> =
        names.into_iter().filter_map(|name| calls_of(traces, name)).collect();
    calls.sort_by(|a, b| b.stats.per_operation.total_cmp(&a.stats.per_operation));
    calls
}

fn sum(deeds: &Deeds, chosen: impl Fn(&Calls) -> bool, of: impl Fn(&Calls) -> u64) -> u64 {
    deeds.calls.iter().filter(|call| chosen(call)).map(of).sum()
}

fn calls_of(traces: &Traces, name: &str) -> Option<CallSummary> {
    let own = |calls: &Calls| calls.name == name;
    let moved = |calls: &Calls| own(calls) && calls.returned.is_some_and(|value| value >= 0);
    let returned = traces.mean(
        |deeds| sum(deeds, moved, |calls| calls.count),
        |deeds| sum(deeds, moved, |calls| calls.count * calls.returned.unwrap_or(0) as u64),
    );
    let shown = frequent(traces, name);
    let rare = |calls: &Calls| own(calls) && !shown.contains(&calls.returned);
    let others = traces.counted(|deeds| sum(deeds, rare, |calls| calls.count))?;
    let returned_of = |value: Option<i64>| {
        let stats = call_stats(traces, |calls| own(calls) && calls.returned == value)?;
        Some(Returned { value, stats })
    };
    Some(CallSummary {
        name: name.to_owned(),
        stats: call_stats(traces, own)?,
        mean_returned: returned.as_ref().map(|rounds| rounds.median),
        returned: shown.iter().filter_map(|value| returned_of(*value)).collect(),
        others_per_operation: others.median,
        returned_by_round: returned.map_or_else(Vec::new, |rounds| rounds.by_round),
        every: every(traces, name),
    })
}

/// How often the chosen calls were made, and how long each took.
fn call_stats(traces: &Traces, own: impl Fn(&Calls) -> bool + Copy) -> Option<CallStats> {
    let count = traces.counted(|deeds| sum(deeds, own, |calls| calls.count))?;
    let time = traces.mean(
        |deeds| sum(deeds, own, |calls| calls.count),
        |deeds| sum(deeds, own, |calls| calls.total_ns),
    )?;
    let asked = traces.mean(
        |deeds| sum(deeds, |calls| own(calls) && calls.asked_bytes.is_some(), |calls| calls.count),
        |deeds| sum(deeds, own, |calls| calls.asked_bytes.unwrap_or(0)),
    );
    Some(CallStats {
        per_operation: count.median,
        interval: count.interval,
        mean_ns: time.median,
        asked_bytes: asked.map(|rounds| rounds.median),
        by_round: count.by_round,
    })
}

/// How many of a name returned each value, by round.
fn every(traces: &Traces, name: &str) -> BTreeMap<i64, BTreeMap<usize, f64>> {
    let mut counts: BTreeMap<i64, BTreeMap<usize, f64>> = BTreeMap::new();
    let rounds = traces.by_round.iter().enumerate();
    for (round, traced) in rounds.filter_map(|(round, traced)| Some((round, (*traced)?))) {
        for deeds in traced.workers().into_iter().filter(|worker| worker.operations > 0) {
            for calls in deeds.calls.iter().filter(|call| call.name == name) {
                let Some(value) = calls.returned else { continue };
                let count = counts.entry(value).or_default().entry(round).or_insert(0.0);
                *count += calls.count as f64 / deeds.operations as f64;
            }
        }
    }
    counts
}

/// What calls of a name returned often enough for a row, the most frequent first.
fn frequent(traces: &Traces, name: &str) -> Vec<Option<i64>> {
    let mut counts: BTreeMap<Option<i64>, u64> = BTreeMap::new();
    let rows = traces.all().flat_map(Traced::workers).flat_map(|worker| &worker.calls);
    for calls in rows.filter(|row| row.name == name) {
        *counts.entry(calls.returned).or_insert(0) += calls.count;
    }
    often(counts)
}

/// The most frequent keys, the rest being rare.
fn often<K: Ord + Copy>(counts: BTreeMap<K, u64>) -> Vec<K> {
    let all: u64 = counts.values().sum();
    let mut kept: Vec<(K, u64)> =
        counts.into_iter().filter(|count| count.1 as f64 >= SHOWN * all as f64).collect();
    kept.sort_by_key(|pair| std::cmp::Reverse(pair.1));
    kept.truncate(MOST);
    kept.into_iter().map(|pair| pair.0).collect()
}

fn wait(traces: &Traces, of: impl Fn(&Deeds) -> &Spread) -> Option<Wait> {
    let count = traces.counted(|deeds| of(deeds).count)?;
    let mean = traces.mean(|deeds| of(deeds).count, |deeds| of(deeds).total_ns)?;
    let spreads: Vec<&Spread> = traces.all().flat_map(Traced::workers).map(&of).collect();
    let all: u64 = spreads.iter().map(|spread| spread.count).sum();
    let beyond = |power: u32| {
        let slow = spreads.iter().flat_map(|spread| spread.log2_ns.iter().skip(power as usize));
        Beyond { ns: 1 << power, share: slow.sum::<u64>() as f64 / all as f64 }
    };
    Some(Wait {
        per_operation: count.median,
        mean_ns: mean.median,
        interval: mean.interval,
        longest_ns: spreads.iter().map(|spread| spread.longest_ns).max().unwrap_or(0),
        beyond: BEYOND.map(beyond).to_vec(),
        by_round: mean.by_round,
    })
}

fn wake_ups(traces: &Traces) -> Vec<WakeUps> {
    let mut found = Vec::new();
    for (nth, woken) in [Worker::Initiator, Worker::Responder].into_iter().enumerate() {
        let of = |traced: &'_ Traced| traced.workers()[nth].clone();
        let deeds: Vec<Deeds> = traces.all().map(of).collect();
        let rows = deeds.iter().flat_map(|deeds| &deeds.woken);
        let kinds: BTreeSet<_> =
            rows.map(|row| (!row.by_partner, row.from_cpu, row.to_cpu)).collect();
        for (stranger, from_cpu, to_cpu) in kinds {
            let kind = (!stranger, from_cpu, to_cpu);
            let per_launch = deeds.iter().filter(|deeds| deeds.operations > 0).map(|deeds| {
                let own = deeds
                    .woken
                    .iter()
                    .filter(|woken| (woken.by_partner, woken.from_cpu, woken.to_cpu) == kind);
                own.map(|woken| woken.count).sum::<u64>() as f64 / deeds.operations as f64
            });
            let per_operation = per_launch.sum::<f64>() / deeds.len() as f64;
            let by_partner = kind.0;
            found.push(WakeUps { woken, by_partner, from_cpu, to_cpu, per_operation });
        }
    }
    found.sort_by(|a, b| b.per_operation.total_cmp(&a.per_operation));
    found
}

fn interrupts(traces: &Traces) -> Vec<InterruptSummary> {
    let rows = traces.all().flat_map(Traced::workers).flat_map(|worker| &worker.interrupts);
    let ways: BTreeSet<(u32, u32)> = rows.map(|row| (row.from_cpu, row.to_cpu)).collect();
    let on = |way: (u32, u32)| {
        traces.pooled(|deeds| {
            let own = deeds
                .interrupts
                .iter()
                .filter(|interrupt| (interrupt.from_cpu, interrupt.to_cpu) == way);
            own.map(|interrupts| interrupts.count).sum()
        })
    };
    let summary = |way: (u32, u32)| InterruptSummary {
        from_cpu: way.0,
        to_cpu: way.1,
        per_operation: on(way),
    };
    ways.into_iter().map(summary).collect()
}

fn socket(traces: &Traces) -> Vec<SocketSummary> {
    let mut found = Vec::new();
    for direction in [Direction::Sent, Direction::Received] {
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        let rows = traces.all().flat_map(Traced::workers).flat_map(|worker| &worker.socket);
        for bytes in rows.filter(|row| row.direction == direction) {
            *counts.entry(bytes.bytes).or_insert(0) += bytes.count;
        }
        let shown = often(counts);
        let pooled = |wanted: &dyn Fn(i64) -> bool| {
            traces.pooled(|deeds| {
                let own = deeds.socket.iter().filter(|bytes| bytes.direction == direction);
                own.filter(|bytes| wanted(bytes.bytes)).map(|bytes| bytes.count).sum()
            })
        };
        for bytes in &shown {
            let per_operation = pooled(&|number| number == *bytes);
            found.push(SocketSummary { direction, bytes: Some(*bytes), per_operation });
        }
        let per_operation = pooled(&|number| !shown.contains(&number));
        if per_operation > 0.0 {
            found.push(SocketSummary { direction, bytes: None, per_operation });
        }
    }
    found
}
