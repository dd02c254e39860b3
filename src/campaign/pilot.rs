//! Pilots, before the first round: how long the machine takes to settle after a fork, and how
//! many operations fill a sample and a launch. What they fix stays fixed for the run.

use super::round::{BATCH, Sent};
use super::{Campaign, Interrupted, LiveCase, LiveGroup, value_ns};
use crate::clock;
use crate::launch::{Ending, Outcome, SampleCount, Spec, Workers};
use crate::stats;
use crate::store::{NewLaunch, Settle, StoreError};
use crate::study::{Case, losses};
use crate::workload::{Policy, Workload};

/// What a launch should last once its workers share a CPU, and otherwise, in ns.
const LASTING_ON_ONE_CPU: f64 = 20e6;
const LASTING_ACROSS: f64 = 35e6;
/// Down to this share of it where the budget is tight: many cases then still get the launches
/// of the first look, which say more than long ones.
const LEAST_PACE: f64 = 0.5;
/// What a launch costs beside what it times, in ns, quiet included: to see whether it is tight.
const BESIDE: f64 = 8e6;
/// Shortest transfer, in ns; and in acknowledgements, so that one stays under 0.5 % of it.
const TRANSFER: f64 = 20e6;
const TRANSFER_ACKS: f64 = 200.0;
/// What a launch of a rate lasts, in ns.
const LASTING_PACED: f64 = 200e6;
/// A sample must last so many clock reads, and so many clock steps.
const READS: f64 = 20.0;
const STEPS: f64 = 50.0;
/// What the pilot of a case lasts, in ns.
pub const PILOT_NS: u64 = 5_000_000;
/// The deadline of a pilot, in ms.
pub const PILOT_DEADLINE_MS: u64 = 10_000;
/// The least where losses are waited for: three times what a resending mechanism takes to give up.
const LOSING_DEADLINE_MS: u64 = 30_000;

/// The settle pilot: so many launches, each so long, cut into blocks.
const SETTLE_LAUNCHES: usize = 3;
const SETTLE_NS: u64 = 200_000_000;
const BLOCK_NS: f64 = 10e6;
/// A block within this distance of the later ones is settled.
const SETTLED_WITHIN: f64 = 0.08;
/// Added to what was found; and what is assumed where nothing could be found.
const MARGIN_BLOCKS: usize = 2;
const ASSUMED_NS: u64 = 70_000_000;

impl Campaign<'_> {
    /// Times pipe round trips across CPUs from the moment of their fork, and looks for how long
    /// they differ from later ones. Between hosts no pipe reaches: there the first case's own
    /// mechanism is timed. None when a signal came, or the other host is gone.
    pub(super) fn find_settle(&self) -> Option<Settle> {
        let cases = || self.groups.iter().flat_map(|group| &group.cases).map(|live| &live.case);
        let apart = || cases().filter(|case| !case.place.shares_one_cpu());
        let case = apart().find(|case| case.reach.is_local()).or_else(|| apart().next())?;
        let (place, reach) = (case.place, &case.reach);
        let spec = Spec {
            mechanism: match reach.is_local() {
                true => "pipe".into(),
                false => case.variant.to_string(),
            },
            workload: Workload::Latency,
            message_bytes: 64,
            workers: Workers::Process,
            initiator_cpu: place.cpus.map(|cpus| cpus.0),
            responder_cpu: place.cpus.map(|cpus| cpus.1),
            payload: Policy::Untouched,
            samples: SampleCount::Lasting(SETTLE_NS),
            batch: 1,
            deadline_ms: PILOT_DEADLINE_MS,
            ..self.spec(&self.groups[0].cases[0])
        };
        let mut found = Vec::new();
        for _ in 0..SETTLE_LAUNCHES {
            let sent = Sent { spec: spec.clone(), reach };
            let endings = self.launch_together(&[sent], &[], false).ok()?;
            let blocks_ns = blocks(&endings[0].samples, self.clock.ns_per_tick);
            let failed = endings[0].samples.is_empty();
            found.push(Settle { quiet_ns: settled_after(&blocks_ns), blocks_ns });
            if failed {
                break; // over a path that loses everything each takes until its deadline
            }
        }
        // The middle one: a stranger's disturbance in one launch says nothing of our forks.
        found.sort_by_key(|settle| settle.quiet_ns);
        Some(found.swap_remove(found.len() / 2))
    }

    /// Runs every case of a group once, and fixes its batch and samples.
    pub(super) fn pilot(&mut self, nth: usize) -> Result<Result<(), Interrupted>, StoreError> {
        if self.groups[nth].cases.iter().all(|live| live.samples > 0) {
            return Ok(Ok(())); // resumed
        }
        let specs: Vec<Sent> =
            self.groups[nth].results().map(|live| self.pilot_spec(live)).collect();
        let quiet = self.groups[nth].wants_quiet;
        let mut endings = Vec::new();
        for specs in specs.chunks(BATCH) {
            match self.launch_together(specs, &[], quiet) {
                Ok(some) => endings.extend(some),
                Err(interrupted) => return Ok(Err(interrupted)),
            }
        }
        // A case is given up for good where its pilot fails: a mishap gets a second chance.
        for (spec, ending) in specs.iter().zip(&mut endings) {
            if matches!(ending.record.outcome, Outcome::Failed { .. }) {
                match self.launch_together(std::slice::from_ref(spec), &[], quiet) {
                    Ok(mut again) => *ending = again.remove(0),
                    Err(interrupted) => return Ok(Err(interrupted)),
                }
            }
        }
        let mut rows = Vec::new();
        let (request, pace) = (self.request.clone(), self.pace());
        let results = self.groups[nth].cases.iter_mut().filter(|live| !live.is_observed());
        for (live, mut ending) in results.zip(endings) {
            refuse_coarse(live.case.workload, &mut ending, &self.clock);
            live.fix(&ending, &request, &self.clock, pace);
            self.with.store.set_pilot(live.id, live.batch, live.samples, live.operation_ns)?;
            rows.push(NewLaunch {
                case: live.id,
                round: 0,
                position: 0,
                swapped: false,
                padding: 0,
                offset: 0,
                record: ending.record,
                samples: ending.samples,
            });
        }
        self.with.store.add_launches(&rows)?;
        self.groups[nth].observe_alike();
        for live in self.groups[nth].cases.iter().filter(|live| live.is_observed()) {
            self.with.store.set_pilot(live.id, live.batch, live.samples, live.operation_ns)?;
        }
        Ok(Ok(()))
    }

    /// By which factor latency launches are shortened, so that every case reaches the first look
    /// within the budget.
    fn pace(&self) -> f64 {
        let Some(budget) = self.request.stopping.budget_ns else { return 1.0 };
        let first_look = stats::LOOKS[0] as f64;
        let (mut shortened, mut whole) = (0.0, 0.0);
        for case in self.groups.iter().flat_map(|group| &group.cases).map(|live| &live.case) {
            whole += first_look * BESIDE;
            let one_cpu = case.place.shares_one_cpu();
            match case.workload {
                Workload::Throughput => whole += first_look * TRANSFER,
                Workload::Rate => whole += first_look * LASTING_PACED,
                _ if one_cpu => shortened += first_look * LASTING_ON_ONE_CPU,
                _ => shortened += first_look * LASTING_ACROSS,
            }
        }
        ((budget as f64 - whole) / shortened).clamp(LEAST_PACE, 1.0)
    }

    fn pilot_spec<'a>(&self, live: &'a LiveCase) -> Sent<'a> {
        let spec = Spec {
            samples: SampleCount::Lasting(PILOT_NS),
            batch: live.asked_messages().unwrap_or(0),
            deadline_ms: deadline_ms(&live.case, PILOT_DEADLINE_MS),
            ..self.spec(live)
        };
        Sent { spec, reach: &live.case.reach }
    }
}

impl LiveGroup {
    /// What is observed does exactly what is done unobserved.
    fn observe_alike(&mut self) {
        let (observed, results): (Vec<_>, Vec<_>) =
            self.cases.iter_mut().partition(|live| live.is_observed());
        for live in observed {
            let plain = Case { observe: None, ..live.case.clone() };
            let Some(pilot) = results.iter().find(|it| it.case == plain) else { continue };
            live.batch = pilot.batch;
            live.samples = pilot.samples;
            live.operation_ns = pilot.operation_ns;
            live.given_up = pilot.given_up;
        }
    }
}

impl LiveCase {
    /// Messages of a transfer, where the request says how many.
    fn asked_messages(&self) -> Option<u64> {
        self.case.total?.messages(self.case.message_bytes?)
    }

    /// Fixes batch and samples from what the pilot found; latency launches are shortened by
    /// `pace`. A pilot that failed gives up the
    /// case: its record says why.
    fn fix(
        &mut self,
        pilot: &Ending,
        request: &crate::study::Request,
        clock: &clock::Record,
        pace: f64,
    ) {
        let report = &pilot.record.initiator;
        let batch = report.batch.max(1);
        let value = value_ns(&mut pilot.samples.clone(), batch, clock.ns_per_tick);
        let (Some(operation), Outcome::Ok) = (value, &pilot.record.outcome) else {
            self.given_up = true;
            (self.batch, self.samples) = (1, 1);
            return;
        };
        self.operation_ns = operation.max(0.1);
        if let Some(rate) = self.case.rate {
            // It lasts as long as its schedule, or as it takes to serve it one by one.
            self.operation_ns = report.estimate_ns.max(1e9 / rate as f64);
        }
        let lasting = pace * lasting_ns(self.case.place.shares_one_cpu());
        let asked = self.asked_messages();
        (self.batch, self.samples) = match (self.case.workload, asked) {
            // Of short transfers many: one alone would be a draw of the moment.
            (Workload::Throughput, Some(batch)) => {
                let transfer = self.operation_ns * batch as f64;
                (batch, (TRANSFER / transfer).floor().max(1.0) as u64)
            }
            (workload, _) => sized(workload, self.operation_ns, report.ack_ns, clock, lasting),
        };
        self.samples = request.samples_of(self.case.workload).unwrap_or(self.samples).max(1);
    }
}

/// What a launch should last, in ns.
pub fn lasting_ns(one_cpu: bool) -> f64 {
    if one_cpu { LASTING_ON_ONE_CPU } else { LASTING_ACROSS }
}

/// Operations per sample and samples per launch, from what a pilot found: a sample that the clock
/// resolves, a launch of `lasting` ns; of a throughput one transfer of many acknowledgements.
pub fn sized(
    workload: Workload,
    operation_ns: f64,
    ack_ns: f64,
    clock: &clock::Record,
    lasting: f64,
) -> (u64, u64) {
    match workload {
        Workload::Latency | Workload::Connect => {
            let batch = (shortest_ns(clock) / operation_ns).ceil().max(1.0);
            (batch as u64, (lasting / (operation_ns * batch)).ceil().max(1.0) as u64)
        }
        Workload::Rate => (1, (LASTING_PACED / operation_ns).ceil().max(1.0) as u64),
        Workload::Throughput => {
            let transfer = TRANSFER.max(TRANSFER_ACKS * ack_ns);
            ((transfer / operation_ns).ceil().max(1.0) as u64, 1)
        }
    }
}

/// The shortest sample that the clock resolves, in ns.
fn shortest_ns(clock: &clock::Record) -> f64 {
    (READS * clock.cost_ns).max(STEPS * clock.step_ns)
}

/// Responses are never batched: what is too short for the clock has no open loop.
fn refuse_coarse(workload: Workload, pilot: &mut Ending, clock: &clock::Record) {
    let measured = workload == Workload::Rate && pilot.record.outcome == Outcome::Ok;
    let response = value_ns(&mut pilot.samples.clone(), 1, clock.ns_per_tick);
    let (true, Some(ns), shortest) = (measured, response, shortest_ns(clock)) else { return };
    if ns < shortest {
        let reason = format!(
            "a response takes {ns:.0} ns, which the clock can't time by itself (from {shortest:.0} ns \
             on): -w latency times many as one"
        );
        pilot.record.outcome = Outcome::NotApplicable { reason };
    }
}

impl LiveCase {
    /// When a launch of it is taken for hung, in ms.
    pub(super) fn deadline_ms(&self) -> u64 {
        let expected = self.operation_ns * (self.batch * self.samples) as f64;
        deadline_ms(&self.case, deadline_of(expected))
    }
}

/// The deadline of a launch that should last so many ns, in ms: twenty times that, and a second more.
pub fn deadline_of(expected_ns: f64) -> u64 {
    1_000 + (20.0 * expected_ns / 1e6) as u64
}

/// When a launch of `case` is taken for hung that is promised to be over in so many ms. Where what is
/// lost is sent again a launch that met few losses promises too much, and to give up the slow ones
/// would flatter the rest.
pub fn deadline_ms(case: &Case, promised_ms: u64) -> u64 {
    match losses::are_waited_for(&case.variant, &case.reach) {
        true => promised_ms.max(LOSING_DEADLINE_MS),
        false => promised_ms,
    }
}

/// Median sample of each 10 ms, in ns.
fn blocks(samples: &[u64], ns_per_tick: f64) -> Vec<f64> {
    let mut blocks: Vec<Vec<u64>> = Vec::new();
    let mut at = 0.0;
    for sample in samples {
        let block = (at / BLOCK_NS) as usize;
        blocks.resize_with(blocks.len().max(block + 1), Vec::new);
        blocks[block].push(*sample);
        at += *sample as f64 * ns_per_tick;
    }
    blocks.iter_mut().filter_map(|block| value_ns(block, 1, ns_per_tick)).collect()
}

/// How long the leading blocks differ from the later half, with a margin, in ns.
fn settled_after(blocks: &[f64]) -> u64 {
    if blocks.len() < 6 {
        return ASSUMED_NS;
    }
    let mut later = blocks[blocks.len() / 2..].to_vec();
    later.sort_by(f64::total_cmp);
    let level = stats::median(&later);
    let unsettled =
        blocks.iter().take_while(|block| (*block / level - 1.0).abs() > SETTLED_WITHIN).count();
    match unsettled {
        0 => BLOCK_NS as u64,
        some => ((some + MARGIN_BLOCKS) as f64 * BLOCK_NS) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_start_is_found_and_waited_out() {
        let seen = [31., 33., 34., 34., 39., 43., 45., 45., 45., 44., 45., 46., 45., 45.];
        assert_eq!(settled_after(&seen), 70_000_000);
        assert_eq!(settled_after(&[45.0; 20]), 10_000_000);
        assert_eq!(settled_after(&[45.0; 3]), ASSUMED_NS);
    }

    #[test]
    fn responses_too_short_for_the_clock_are_refused_and_nothing_else_is() {
        let (_, clock) = clock::measure(clock::Kind::MonotonicRaw, None);
        let clock = clock::Record { cost_ns: 20.0, step_ns: 10.0, ns_per_tick: 1.0, ..clock };
        for (workload, ns, refused) in [
            (Workload::Rate, 499, true),
            (Workload::Rate, 500, false),
            (Workload::Latency, 100, false), // those are batched
        ] {
            let record = crate::launch::Record::without_samples(Outcome::Ok);
            let mut pilot = Ending { record, samples: vec![ns; 5] };
            refuse_coarse(workload, &mut pilot, &clock);
            let reason = match pilot.record.outcome {
                Outcome::NotApplicable { reason } => reason,
                _ => String::new(),
            };
            assert_eq!(reason.contains("the clock can't time by itself (from 500 ns"), refused);
        }
        assert_eq!(sized(Workload::Rate, 1e6, 0.0, &clock, 20e6), (1, 200));
        assert_eq!(sized(Workload::Rate, 1e9, 0.0, &clock, 20e6), (1, 1));
    }

    #[test]
    fn blocks_follow_the_time_that_passed() {
        let samples = vec![1_000_000; 25];
        assert_eq!(blocks(&samples, 1.0), vec![1_000_000.0; 3]);
    }
}
