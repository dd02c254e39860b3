//! Two runs compared, case by case: faster, slower, equivalent, inconclusive, or incomparable.
//!
//! Launches of two runs share no rounds, so they are compared unpaired: the exact
//! Mann–Whitney test of the launch medians, corrected by Holm over the cases, and the
//! Hodges–Lehmann shift of their logarithms. Two runs are two moments of a machine: what
//! drifted between them looks like a difference and is in no interval. Of two runs that sought
//! capacities these are compared instead.

mod arms;
mod capacities;
mod fields;
mod gate;
mod measured;

use crate::case::brief;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ALPHA, EQUIVALENT_WITHIN, Status};
use crate::site::is_a_case;
use model::case::Case;
use model::factor;
use model::metric::Metric;
use model::placement::Placement;
use model::workload::Workload;
use stats::{Shift, Verdict};
use store::Concurrent;

pub use arms::{ArmChanges, arms};
pub use capacities::{CapacityChange, CapacityVerdict, Side};
pub use fields::Difference;
pub use gate::{Gate, GateGroup, GateOn, LEAST_UNMARKED, Moved, Unsettled};
pub use measured::{
    Measured, MeasuredCapacity, MeasuredCase, MeasuredGroup, MeasuredTwin, Subject,
};

/// What is asked of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Ratios within this distance of 1 are equivalent.
    pub margin: f64,
    /// A case that is slower by more is a regression.
    pub gate: Option<f64>,
    /// What it is compared with there.
    pub gate_on: GateOn,
    /// The percentile of each launch that the gate holds; None of the time of an operation.
    pub percentile: Option<&'static str>,
    /// The workload that the gate holds alone; None of all.
    pub workload: Option<Workload>,
    /// Compare what differs in more than the moment.
    pub force: bool,
}

impl Terms {
    /// What is asked where nothing else is.
    pub const PLAIN: Terms = Terms {
        margin: EQUIVALENT_WITHIN,
        gate: None,
        gate_on: GateOn::Absolute,
        percentile: None,
        workload: None,
        force: false,
    };

    /// Whether the gate holds a case: it leaves alone what shows the harness, what another workload does, and of a percentile
    /// transfers, which have none.
    fn holds(&self, change: &CaseChange) -> bool {
        let workload = change.case.workload;
        let has_percentiles = self.percentile.is_none() || !workload.traits().transfers;
        !change.control && has_percentiles && self.workload.is_none_or(|only| only == workload)
    }
}

/// A run, by its names.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Named {
    /// As the user named it.
    pub given: String,
    /// Number in its store.
    pub run: i64,
    /// Its label.
    pub label: Option<String>,
    /// UTC, RFC 3339.
    pub started: String,
    /// `complete`, `interrupted`.
    pub status: String,
    /// /proc/sys/kernel/hostname.
    pub hostname: Option<String>,
    /// Its rounds; 0 of a fleet, on whose nodes nobody looks.
    pub rounds: u64,
    /// Those of which nobody knows whether others disturbed them.
    pub unknown_rounds: u64,
}

/// The verdict on one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The second run takes less time.
    Faster,
    /// The second run takes more.
    Slower,
    /// The ratio is shown to be within the margin of 1.
    Equivalent,
    /// Neither could be shown.
    Inconclusive,
    /// There is nothing to compare, or it was measured otherwise.
    Incomparable,
}

/// One case of both runs.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CaseChange {
    /// What was asked; where the runs differ in how it was done, as in the first run.
    #[serde(flatten)]
    pub case: Case,
    /// What it yields, and in which unit: of the medians.
    #[serde(serialize_with = "brief")]
    #[schemars(with = "crate::case::Brief")]
    pub metric: Metric,
    /// The node that it was measured on, or the two between which it was; empty unless the runs are fleets'.
    pub nodes: Vec<String>,
    /// How many pairs of nodes were measured at a time; null of what is no pair.
    pub concurrent: Option<Concurrent>,
    /// Whether it shows the harness, not a mechanism: outside of the family and of the gate.
    pub control: bool,
    /// The verdict on it.
    pub verdict: Change,
    /// Median over launches in the first run, in the unit of the workload.
    pub median_a: Option<f64>,
    /// The same in the second.
    pub median_b: Option<f64>,
    /// Median over launches of their p99 in the first run, in ns; null where samples are too few for one, or no
    /// single operations.
    pub p99_a: Option<f64>,
    /// The same in the second.
    pub p99_b: Option<f64>,
    /// The largest sample of the first run, in ns; null where samples are no single operations.
    pub max_a: Option<f64>,
    /// The same in the second.
    pub max_b: Option<f64>,
    /// Launches in the first run.
    pub launches_a: u64,
    /// Launches in the second.
    pub launches_b: u64,
    /// Time per operation in the second run over that in the first, of rates too.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Mann–Whitney p.
    pub p: Option<f64>,
    /// The same, corrected by Holm over the cases.
    pub p_holm: Option<f64>,
    /// Whether others disturbed every round of it in one of the runs: then nothing is concluded.
    pub every_round_disturbed: bool,
    /// The smallest relative difference that is found four times in five, where it is inconclusive.
    pub smallest_effect: Option<f64>,
    /// Fields in which the case was measured otherwise.
    pub differences: Vec<Difference>,
    /// Why there is nothing to compare.
    pub reason: Option<String>,
    /// What the gate says of it; null without one.
    pub gate: Option<Gate>,
    /// What the gate judged: launches of unmarked rounds, apart from what its group did as a whole unless
    /// the gate is absolute; null without one, and where too few rounds tell.
    pub gated: Option<Moved>,
}

is_a_case!(CaseChange);

/// An A/A pair of one of the runs: the machine's noise inside it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Noise {
    /// `a`, `b`.
    pub side: &'static str,
    /// What was measured twice.
    pub variant: String,
    /// What was done.
    pub workload: Workload,
    /// Null where no bytes are carried.
    pub message_bytes: Option<u64>,
    /// Where its workers ran.
    pub placement: Placement,
    /// Ratio of the two.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Two runs, compared; docs/comparison.schema.json describes it as JSON.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct RunComparison {
    /// Version of this format, a count that grows when a reader could misread the next one.
    schema_version: u32,
    /// Program and version that compared.
    pub tool: String,
    /// Whether launches of both shared rounds, as those of two arms of one run do: then each ratio is one of pairs.
    pub paired: bool,
    /// The first run: the one to hold against.
    pub a: Named,
    /// The second.
    pub b: Named,
    /// Ratios within this distance of 1 are equivalent.
    pub margin: f64,
    /// The gate.
    pub gate: Option<f64>,
    /// What it holds cases against; null without one.
    pub gate_on: Option<GateOn>,
    /// The percentile of each launch that it holds; null of the time of an operation.
    pub gate_percentile: Option<&'static str>,
    /// The workload that it holds alone; null of all.
    pub gate_workload: Option<Workload>,
    /// The cases that shared rounds, as the gate sees them; empty without one.
    pub gate_groups: Vec<GateGroup>,
    /// Error probability of all verdicts together.
    pub alpha: f64,
    /// Whether they are compared although they differ.
    pub forced: bool,
    /// Fields in which the machines or the programs differ.
    pub differences: Vec<Difference>,
    /// Plug-ins whose file was another one.
    pub plugins: Vec<Difference>,
    /// The outcome of the gate: the worst of its cases; null without one.
    pub outcome: Option<Gate>,
    /// One per case that either run measured, in the order of the runs.
    pub cases: Vec<CaseChange>,
    /// Of two runs that sought capacities one per capacity, and no case.
    pub capacities: Vec<CapacityChange>,
    /// A/A pairs of both runs.
    pub noise: Vec<Noise>,
}

/// Compares two runs, each with the name that its user gave.
pub fn compare(a: (&str, &Measured), b: (&str, &Measured), terms: Terms) -> RunComparison {
    let differences = fields::of_the_machine(a.1, b.1);
    let comparable = differences.is_empty() || terms.force;
    let capacities = match capacities::sought(a.1, b.1) {
        true => capacities::compare(a.1, b.1, comparable, terms),
        false => Vec::new(),
    };
    let mut pairs: Vec<Pair> = if capacities.is_empty() { pairs(a.1, b.1) } else { Vec::new() };
    for pair in &mut pairs {
        pair.measure((a.1, b.1), comparable, terms.force);
    }
    correct(pairs.iter_mut().map(|pair| &mut pair.change));
    let judge = |gate| gate::judge((a.1, b.1), &mut pairs, 1.0 + gate, terms);
    let gate_groups = terms.gate.map(judge).unwrap_or_default();
    let cases: Vec<CaseChange> = pairs.into_iter().map(|pair| pair.judged(terms)).collect();
    RunComparison {
        schema_version: 1,
        tool: model::tool::name().into(),
        paired: false,
        a: named(a),
        b: named(b),
        margin: terms.margin,
        gate: terms.gate,
        gate_on: terms.gate.map(|_| terms.gate_on),
        gate_percentile: terms.gate.and(terms.percentile),
        gate_workload: terms.gate.and(terms.workload),
        gate_groups,
        alpha: ALPHA,
        forced: terms.force
            && !(differences.is_empty()
                && alike(&cases)
                && capacities.iter().all(|capacity| capacity.differences.is_empty())),
        differences,
        plugins: fields::of_plugins(a.1, b.1),
        outcome: terms.gate.map(|_| gate::outcome(&cases, &capacities)),
        cases,
        capacities,
        noise: noise("a", a.1).chain(noise("b", b.1)).collect(),
    }
}

impl RunComparison {
    /// Whether it says anything of any case.
    pub fn answers(&self) -> bool {
        let cases = self.cases.iter().any(|case| case.ratio.is_some());
        cases
            || self
                .capacities
                .iter()
                .any(|capacity| capacity.verdict != CapacityVerdict::Incomparable)
    }
}

/// Corrects the tests of all cases as one family. Controls ask another question: whether the harness has changed.
fn correct<'a>(changes: impl Iterator<Item = &'a mut CaseChange>) {
    let family: Vec<(&mut CaseChange, f64)> = changes
        .filter(|change| !change.control)
        .filter_map(|change| change.p.map(|p| (change, p)))
        .collect();
    let p: Vec<f64> = family.iter().map(|(_, p)| *p).collect();
    for ((change, _), corrected) in family.into_iter().zip(stats::holm(&p)) {
        change.p_holm = Some(corrected);
    }
}

fn alike(cases: &[CaseChange]) -> bool {
    cases.iter().all(|case| case.differences.is_empty())
}

fn named((given, run): (&str, &Measured)) -> Named {
    Named {
        given: given.into(),
        run: run.run,
        label: run.label.clone(),
        started: run.started.clone(),
        status: run.status.clone(),
        hostname: run.field("/host/hostname").as_str().map(str::to_string),
        rounds: run.rounds.len() as u64,
        unknown_rounds: run.unknown_rounds(),
    }
}

fn noise(side: &'static str, run: &Measured) -> impl Iterator<Item = Noise> {
    run.comparisons.iter().filter_map(move |group| {
        let twin = group.twin_check.as_ref()?;
        Some(Noise {
            side,
            variant: twin.variant.clone(),
            workload: group.workload,
            message_bytes: group.message_bytes,
            placement: group.placement,
            ratio: twin.ratio,
            low: twin.low,
            high: twin.high,
        })
    })
}

/// A case on its way to a verdict.
struct Pair<'a> {
    a: Option<&'a MeasuredCase>,
    b: Option<&'a MeasuredCase>,
    change: CaseChange,
}

/// Cases that either run measured, the first run's first.
fn pairs<'a>(a: &'a Measured, b: &'a Measured) -> Vec<Pair<'a>> {
    let mut left: Vec<&MeasuredCase> = b.results.iter().filter(|case| !case.twin).collect();
    let mut found = Vec::new();
    for case in a.results.iter().filter(|case| !case.twin) {
        // A run may hold one case done in several ways; a run with just one may have another.
        let same = |a: &MeasuredCase, b: &MeasuredCase| {
            a.is(b) && factor::loose().all(|row| row.level(a) == row.level(b))
        };
        let at = left.iter().position(|measured_case| same(measured_case, case));
        let others = |measured_case: &&MeasuredCase| {
            measured_case.is(case) && !a.results.iter().any(|a| same(a, measured_case))
        };
        let at = at.or_else(|| left.iter().position(others));
        found.push((Some(case), at.map(|at| left.remove(at))));
    }
    found.extend(left.into_iter().map(|case| (None, Some(case))));
    let measured = |case: Option<&MeasuredCase>| case.is_some_and(|case| case.status == Status::Ok);
    found.retain(|(a, b)| measured(*a) || measured(*b));
    found.into_iter().map(|(a, b)| Pair { a, b, change: blank(a, b) }).collect()
}

fn blank(a: Option<&MeasuredCase>, b: Option<&MeasuredCase>) -> CaseChange {
    let any = a.or(b).expect("a case of either run");
    let launches = |case: Option<&MeasuredCase>| {
        case.map_or(0, |case| case.launch_medians.iter().flatten().count() as u64)
    };
    CaseChange {
        nodes: any.nodes.clone(),
        concurrent: any.concurrent,
        control: any.is_control(),
        median_a: a.and_then(median),
        median_b: b.and_then(median),
        p99_a: a.and_then(MeasuredCase::p99),
        p99_b: b.and_then(MeasuredCase::p99),
        max_a: a.and_then(|case| case.largest_ns),
        max_b: b.and_then(|case| case.largest_ns),
        launches_a: launches(a),
        launches_b: launches(b),
        ..CaseChange::of(&any.case, any.metric())
    }
}

impl CaseChange {
    /// A case of which nothing is known but what it is.
    fn of(case: &Case, metric: &Metric) -> CaseChange {
        CaseChange {
            case: case.clone(),
            metric: metric.clone(),
            nodes: Vec::new(),
            concurrent: None,
            control: false,
            verdict: Change::Incomparable,
            median_a: None,
            median_b: None,
            p99_a: None,
            p99_b: None,
            max_a: None,
            max_b: None,
            launches_a: 0,
            launches_b: 0,
            ratio: None,
            low: None,
            high: None,
            p: None,
            p_holm: None,
            every_round_disturbed: false,
            smallest_effect: None,
            differences: Vec::new(),
            reason: None,
            gate: None,
            gated: None,
        }
    }

    fn conclude(&mut self, verdict: Verdict) {
        self.verdict = match verdict {
            Verdict::Faster => Change::Faster,
            Verdict::Slower => Change::Slower,
            Verdict::Equivalent => Change::Equivalent,
            Verdict::Inconclusive { smallest_effect } => {
                self.smallest_effect = Some(smallest_effect);
                Change::Inconclusive
            }
        };
    }
}

fn median(case: &MeasuredCase) -> Option<f64> {
    stats::median_of(case.launch_medians.iter().flatten().copied())
}

impl Pair<'_> {
    /// Why the case isn't in a run, or isn't measured there.
    fn absence(&self) -> Option<String> {
        let missing = |name: &str, case: Option<&MeasuredCase>| match case {
            Some(case) if case.is_ok() => None,
            Some(case) => {
                let why = case.shortfall().or_else(|| case.reason.clone());
                let why = why.unwrap_or_else(|| "no reason was given".into());
                Some(format!("not measured in {name}: {why}"))
            }
            None => Some(format!("no case of {name}")),
        };
        match (self.a, self.b) {
            (Some(_), None) => missing("B", None),
            (a, b) => missing("A", a).or_else(|| missing("B", b)),
        }
    }

    /// Takes the ratio and its p, where both runs have what it needs.
    fn measure(&mut self, runs: (&Measured, &Measured), comparable: bool, force: bool) {
        self.change.reason = self.absence();
        let (None, Some(a), Some(b)) = (&self.change.reason, self.a, self.b) else { return };
        self.change.differences = fields::of_the_case((runs.0, a), (runs.1, b));
        if !comparable || (!self.change.differences.is_empty() && !force) {
            return;
        }
        self.change.verdict = Change::Inconclusive;
        let disturbed = [("A", runs.0, a), ("B", runs.1, b)];
        let disturbed = disturbed.iter().filter(|(_, run, case)| run.disturbs_all_of(case));
        let disturbed: Vec<&str> = disturbed.map(|entry| entry.0).collect();
        if !disturbed.is_empty() {
            self.change.every_round_disturbed = true;
            let of = disturbed.join(" and of ");
            self.change.reason = Some(format!("others disturbed every round of {of}"));
        }
        match stats::compare_unpaired(&b.times(), &a.times(), ALPHA) {
            Some(Shift { ratio, p }) => {
                self.change.ratio = Some(ratio.estimate);
                (self.change.low, self.change.high) = (Some(ratio.low), Some(ratio.high));
                self.change.p = Some(p);
            }
            None => {
                let few = || "too few launches for an interval".to_string();
                self.change.reason.get_or_insert_with(few);
            }
        }
    }

    fn judged(mut self, terms: Terms) -> CaseChange {
        let p = self.change.p_holm.or(self.change.p);
        let bears_one = !self.change.every_round_disturbed;
        if let (Some(p), Some(a), Some(b)) = (p.filter(|_| bears_one), self.a, self.b) {
            let verdict = stats::verdict_unpaired(&b.times(), &a.times(), p, terms.margin, ALPHA);
            self.change.conclude(verdict);
        }
        self.change
    }
}
