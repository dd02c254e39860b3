//! What the traces of a case's launches heard: system calls by what they returned, waits, who woke
//! whom, interrupts, bytes of sockets. Counts are per operation, both workers together: each
//! worker's are divided by what that worker did.
//!
//! Times are those of traced launches and hold the price of looking.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::super::OverRounds;
use crate::observe::trace::{Calls, Deeds, Direction, Spread, Traced};
use crate::store::StoredLaunch;

/// What a call returned has a row of its own from this share of the calls on, …
const SHOWN: f64 = 0.01;
/// … if no more than so many are as frequent or more.
const MOST: usize = 6;
/// Waits are told by the share beyond these powers of two, in ns: 1 µs to 1 ms, by four.
const BEYOND: [u32; 6] = [10, 12, 14, 16, 18, 20];

/// What was heard of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Heard {
    /// Launches that were heard.
    pub launches: u64,
    /// System calls by name, the most frequent first.
    pub calls: Vec<CallsHeard>,
    /// From a wake-up to running; null where nobody was woken.
    pub delay: Option<Wait>,
    /// From falling asleep to the wake-up.
    pub asleep: Option<Wait>,
    /// Waiting for the CPU though nothing else was missing: preempted, or yielding.
    pub displaced: Option<Wait>,
    /// Who was woken, by whom, from which CPU, and where it then ran.
    pub wake_ups: Vec<WakeUps>,
    /// Interrupts that the workers had sent.
    pub interrupts: Vec<InterruptsHeard>,
    /// Operations of sockets by their bytes.
    pub socket: Vec<SocketHeard>,
    /// Things that found no room among what is counted, all launches together; 0 means that the
    /// counts are complete.
    pub lost: u64,
    /// Tracepoints that the kernel lacks: what they tell is missing above.
    pub missing: Vec<String>,
    /// Whether a round was heard, from 1.
    #[serde(skip)]
    pub rounds: Vec<bool>,
}

/// System calls of one name.
#[derive(Clone, Debug, Serialize)]
pub struct CallsHeard {
    /// The name: `read`.
    pub name: String,
    /// How many per operation: the median over launches.
    pub per_operation: f64,
    /// Lower end of its interval; null where there are too few launches.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// From entering to leaving, time asleep included: the median over launches of their means.
    pub mean_ns: f64,
    /// Bytes that a call asks for, on average; null where that isn't known.
    pub asked_bytes: Option<f64>,
    /// What a call returned on average, where it was no error and no address.
    pub mean_returned: Option<f64>,
    /// Apart by what they returned, the most frequent first.
    pub returned: Vec<Returned>,
    /// All that returned something rarer, per operation.
    pub others_per_operation: f64,
    /// By round, from 1.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
    /// Of `mean_returned`.
    #[serde(skip)]
    pub returned_by_round: Vec<Option<f64>>,
    /// How many returned each value, per operation, by round from 0; the rare ones too.
    #[serde(skip)]
    pub every: BTreeMap<i64, BTreeMap<usize, f64>>,
}

impl CallsHeard {
    /// Those that returned `value`, by round from 1.
    pub(crate) fn returning(&self, value: i64) -> Vec<Option<f64>> {
        let counts = self.every.get(&value);
        let at = |round: usize| counts.and_then(|it| it.get(&round)).copied().unwrap_or(0.0);
        self.by_round.iter().enumerate().map(|(round, all)| all.map(|_| at(round))).collect()
    }
}

/// System calls of one name that returned the same.
#[derive(Clone, Debug, Serialize)]
pub struct Returned {
    /// What they returned, or the negative of an error; null for addresses.
    pub value: Option<i64>,
    /// How many per operation: the median over launches.
    pub per_operation: f64,
    /// Lower end of its interval; null where there are too few launches.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// From entering to leaving: the median over launches of their means.
    pub mean_ns: f64,
    /// Bytes that they asked for, on average; null where that isn't known.
    pub asked_bytes: Option<f64>,
    /// By round, from 1.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
}

/// Waits of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Wait {
    /// How many per operation: the median over launches.
    pub per_operation: f64,
    /// The median over launches of their means.
    pub mean_ns: f64,
    /// Lower end of its interval; null where there are too few launches.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The longest of all launches.
    pub longest_ns: u64,
    /// How many of all launches took longer than a power of two.
    pub beyond: Vec<Beyond>,
    /// Of `mean_ns`, by round from 1.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
}

/// The share of waits that took so long, or longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Beyond {
    /// A power of two.
    pub ns: u64,
    /// From 0 to 1.
    pub share: f64,
}

/// One of the two workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Worker {
    /// Who begins each operation.
    Initiator,
    /// Who answers.
    Responder,
}

/// Wake-ups of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct WakeUps {
    /// Who was woken.
    pub woken: Worker,
    /// Whether by its partner: else by an interrupt, or by a stranger.
    pub by_partner: bool,
    /// CPU of whoever woke it.
    pub from_cpu: u32,
    /// CPU where it then ran.
    pub to_cpu: u32,
    /// How many per operation, all launches together.
    pub per_operation: f64,
}

/// Interrupts from one CPU to another.
#[derive(Clone, Debug, Serialize)]
pub struct InterruptsHeard {
    /// The sender's.
    pub from_cpu: u32,
    /// The receiver's.
    pub to_cpu: u32,
    /// How many per operation, all launches together.
    pub per_operation: f64,
}

/// Operations of sockets that moved the same number of bytes.
#[derive(Clone, Debug, Serialize)]
pub struct SocketHeard {
    /// Sent, or received.
    pub direction: Direction,
    /// Bytes of one, or the negative of an error; null for all that are rarer than those with a row.
    pub bytes: Option<i64>,
    /// How many per operation, all launches together.
    pub per_operation: f64,
}

impl Heard {
    /// What the launches of a case heard; None where none was traced.
    pub fn of(launches: &[StoredLaunch]) -> Option<Heard> {
        let measured = launches.iter().filter(|it| it.round > 0 && it.status == "ok");
        let traced = measured.filter_map(|it| Some((it.round, it.record.trace.as_ref()?)));
        Heard::over(traced)
    }

    /// The same of traces with their rounds, from 1.
    pub(super) fn over<'a>(traced: impl Iterator<Item = (u64, &'a Traced)>) -> Option<Heard> {
        let mut by_round = Vec::new();
        for (round, traced) in traced {
            let at = round as usize - 1;
            by_round.resize(by_round.len().max(at + 1), None);
            by_round[at] = Some(traced);
        }
        let traces = Traces { by_round };
        let missing: BTreeSet<&String> = traces.all().flat_map(|it| &it.missing).collect();
        let launches = traces.all().count() as u64;
        (launches > 0).then(|| Heard {
            launches,
            calls: calls(&traces),
            delay: wait(&traces, |it| &it.delays),
            asleep: wait(&traces, |it| &it.sleeps),
            displaced: wait(&traces, |it| &it.waits),
            wake_ups: wake_ups(&traces),
            interrupts: interrupts(&traces),
            socket: socket(&traces),
            lost: traces.all().map(|it| it.lost).sum(),
            missing: missing.into_iter().cloned().collect(),
            rounds: traces.by_round.iter().map(Option::is_some).collect(),
        })
    }

    /// Something of the calls of a name, by round; 0 in every round where there were none.
    pub(crate) fn rounds_of(
        &self,
        name: &str,
        of: impl Fn(&CallsHeard) -> Vec<Option<f64>>,
    ) -> Vec<Option<f64>> {
        match self.call(name) {
            Some(call) => of(call),
            None => self.rounds.iter().map(|heard| heard.then_some(0.0)).collect(),
        }
    }

    /// The calls of this name.
    pub fn call(&self, name: &str) -> Option<&CallsHeard> {
        self.calls.iter().find(|it| it.name == name)
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
        OverRounds::of(self.by_round.iter().map(|it| it.and_then(&of)).collect())
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
    traced.workers().into_iter().filter(|it| it.operations > 0).map(of).sum()
}

fn calls(traces: &Traces) -> Vec<CallsHeard> {
    let rows = traces.all().flat_map(Traced::workers).flat_map(|it| &it.calls);
    let names: BTreeSet<&str> = rows.map(|it| it.name.as_str()).collect();
    let mut calls: Vec<CallsHeard> =
        names.into_iter().filter_map(|name| calls_of(traces, name)).collect();
    calls.sort_by(|a, b| b.per_operation.total_cmp(&a.per_operation));
    calls
}

fn sum(deeds: &Deeds, chosen: impl Fn(&Calls) -> bool, of: impl Fn(&Calls) -> u64) -> u64 {
    deeds.calls.iter().filter(|it| chosen(it)).map(of).sum()
}

fn calls_of(traces: &Traces, name: &str) -> Option<CallsHeard> {
    let own = |it: &Calls| it.name == name;
    let moved = |it: &Calls| own(it) && it.returned.is_some_and(|value| value >= 0);
    let count = traces.counted(|deeds| sum(deeds, own, |it| it.count))?;
    let time = traces
        .mean(|deeds| sum(deeds, own, |it| it.count), |deeds| sum(deeds, own, |it| it.total_ns))?;
    let asked = traces.mean(
        |deeds| sum(deeds, |it| own(it) && it.asked_bytes.is_some(), |it| it.count),
        |deeds| sum(deeds, own, |it| it.asked_bytes.unwrap_or(0)),
    );
    let returned = traces.mean(
        |deeds| sum(deeds, moved, |it| it.count),
        |deeds| sum(deeds, moved, |it| it.count * it.returned.unwrap_or(0) as u64),
    );
    let shown = frequent(traces, name);
    let rare = |it: &Calls| own(it) && !shown.contains(&it.returned);
    let others = traces.counted(|deeds| sum(deeds, rare, |it| it.count))?;
    Some(CallsHeard {
        name: name.to_owned(),
        per_operation: count.median,
        low: count.low,
        high: count.high,
        mean_ns: time.median,
        asked_bytes: asked.map(|it| it.median),
        mean_returned: returned.as_ref().map(|it| it.median),
        returned: shown.iter().filter_map(|value| returned_of(traces, name, *value)).collect(),
        others_per_operation: others.median,
        by_round: count.by_round,
        returned_by_round: returned.map_or_else(Vec::new, |it| it.by_round),
        every: every(traces, name),
    })
}

/// How many of a name returned each value, by round.
fn every(traces: &Traces, name: &str) -> BTreeMap<i64, BTreeMap<usize, f64>> {
    let mut counts: BTreeMap<i64, BTreeMap<usize, f64>> = BTreeMap::new();
    let rounds = traces.by_round.iter().enumerate();
    for (round, traced) in rounds.filter_map(|(round, it)| Some((round, (*it)?))) {
        for deeds in traced.workers().into_iter().filter(|it| it.operations > 0) {
            for it in deeds.calls.iter().filter(|it| it.name == name) {
                let Some(value) = it.returned else { continue };
                let count = counts.entry(value).or_default().entry(round).or_insert(0.0);
                *count += it.count as f64 / deeds.operations as f64;
            }
        }
    }
    counts
}

fn returned_of(traces: &Traces, name: &str, value: Option<i64>) -> Option<Returned> {
    let own = |it: &Calls| it.name == name && it.returned == value;
    let count = traces.counted(|deeds| sum(deeds, own, |it| it.count))?;
    let time = traces
        .mean(|deeds| sum(deeds, own, |it| it.count), |deeds| sum(deeds, own, |it| it.total_ns))?;
    let asked = traces.mean(
        |deeds| sum(deeds, |it| own(it) && it.asked_bytes.is_some(), |it| it.count),
        |deeds| sum(deeds, own, |it| it.asked_bytes.unwrap_or(0)),
    );
    Some(Returned {
        value,
        per_operation: count.median,
        low: count.low,
        high: count.high,
        mean_ns: time.median,
        asked_bytes: asked.map(|it| it.median),
        by_round: count.by_round,
    })
}

/// What calls of a name returned often enough for a row, the most frequent first.
fn frequent(traces: &Traces, name: &str) -> Vec<Option<i64>> {
    let mut counts: BTreeMap<Option<i64>, u64> = BTreeMap::new();
    let rows = traces.all().flat_map(Traced::workers).flat_map(|it| &it.calls);
    for it in rows.filter(|it| it.name == name) {
        *counts.entry(it.returned).or_insert(0) += it.count;
    }
    often(counts)
}

/// The most frequent keys, the rest being rare.
fn often<K: Ord + Copy>(counts: BTreeMap<K, u64>) -> Vec<K> {
    let all: u64 = counts.values().sum();
    let mut kept: Vec<(K, u64)> =
        counts.into_iter().filter(|it| it.1 as f64 >= SHOWN * all as f64).collect();
    kept.sort_by_key(|it| std::cmp::Reverse(it.1));
    kept.truncate(MOST);
    kept.into_iter().map(|it| it.0).collect()
}

fn wait(traces: &Traces, of: impl Fn(&Deeds) -> &Spread) -> Option<Wait> {
    let count = traces.counted(|deeds| of(deeds).count)?;
    let mean = traces.mean(|deeds| of(deeds).count, |deeds| of(deeds).total_ns)?;
    let spreads: Vec<&Spread> = traces.all().flat_map(Traced::workers).map(&of).collect();
    let all: u64 = spreads.iter().map(|it| it.count).sum();
    let beyond = |power: u32| {
        let slow = spreads.iter().flat_map(|it| it.log2_ns.iter().skip(power as usize));
        Beyond { ns: 1 << power, share: slow.sum::<u64>() as f64 / all as f64 }
    };
    Some(Wait {
        per_operation: count.median,
        mean_ns: mean.median,
        low: mean.low,
        high: mean.high,
        longest_ns: spreads.iter().map(|it| it.longest_ns).max().unwrap_or(0),
        beyond: BEYOND.map(beyond).to_vec(),
        by_round: mean.by_round,
    })
}

fn wake_ups(traces: &Traces) -> Vec<WakeUps> {
    let mut found = Vec::new();
    for (nth, woken) in [Worker::Initiator, Worker::Responder].into_iter().enumerate() {
        let of = |traced: &'_ Traced| traced.workers()[nth].clone();
        let deeds: Vec<Deeds> = traces.all().map(of).collect();
        let rows = deeds.iter().flat_map(|it| &it.woken);
        let kinds: BTreeSet<_> = rows.map(|it| (!it.by_partner, it.from_cpu, it.to_cpu)).collect();
        for (stranger, from_cpu, to_cpu) in kinds {
            let kind = (!stranger, from_cpu, to_cpu);
            let per_launch = deeds.iter().filter(|it| it.operations > 0).map(|it| {
                let own =
                    it.woken.iter().filter(|it| (it.by_partner, it.from_cpu, it.to_cpu) == kind);
                own.map(|it| it.count).sum::<u64>() as f64 / it.operations as f64
            });
            let per_operation = per_launch.sum::<f64>() / deeds.len() as f64;
            let by_partner = kind.0;
            found.push(WakeUps { woken, by_partner, from_cpu, to_cpu, per_operation });
        }
    }
    found.sort_by(|a, b| b.per_operation.total_cmp(&a.per_operation));
    found
}

fn interrupts(traces: &Traces) -> Vec<InterruptsHeard> {
    let rows = traces.all().flat_map(Traced::workers).flat_map(|it| &it.interrupts);
    let ways: BTreeSet<(u32, u32)> = rows.map(|it| (it.from_cpu, it.to_cpu)).collect();
    let on = |way: (u32, u32)| {
        traces.pooled(|deeds| {
            let own = deeds.interrupts.iter().filter(|it| (it.from_cpu, it.to_cpu) == way);
            own.map(|it| it.count).sum()
        })
    };
    let told = |way: (u32, u32)| InterruptsHeard {
        from_cpu: way.0,
        to_cpu: way.1,
        per_operation: on(way),
    };
    ways.into_iter().map(told).collect()
}

fn socket(traces: &Traces) -> Vec<SocketHeard> {
    let mut found = Vec::new();
    for direction in [Direction::Sent, Direction::Received] {
        let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
        let rows = traces.all().flat_map(Traced::workers).flat_map(|it| &it.socket);
        for it in rows.filter(|it| it.direction == direction) {
            *counts.entry(it.bytes).or_insert(0) += it.count;
        }
        let shown = often(counts);
        let pooled = |wanted: &dyn Fn(i64) -> bool| {
            traces.pooled(|deeds| {
                let own = deeds.socket.iter().filter(|it| it.direction == direction);
                own.filter(|it| wanted(it.bytes)).map(|it| it.count).sum()
            })
        };
        for bytes in &shown {
            let per_operation = pooled(&|it| it == *bytes);
            found.push(SocketHeard { direction, bytes: Some(*bytes), per_operation });
        }
        let per_operation = pooled(&|it| !shown.contains(&it));
        if per_operation > 0.0 {
            found.push(SocketHeard { direction, bytes: None, per_operation });
        }
    }
    found
}
