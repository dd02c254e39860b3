//! What pilots fix: how many operations are a sample and how many samples a launch, and when it is taken for
//! hung.

use crate::plan::{Case, are_held_back, are_waited_for};

use super::{Campaign, LiveCase, value_ns};
use crate::launch::{LaunchResult, Spec};
use model::launch::{MOST_SAMPLES, Outcome, SampleCount, Warmup};
use model::load::Load;
use model::mechanism::Carries;
use stats::LEAST_LAUNCHES;
use workload::{Found, Size, row};

/// What a launch should last once its workers share a CPU, and otherwise, in ns.
const LASTING_ON_ONE_CPU: f64 = 20e6;
const LASTING_ACROSS: f64 = 35e6;
/// At most so many times its schedule a launch of an open loop is meant to last.
const LONGER: f64 = 10.0;
/// What a launch of free workers may last, in ns, if they stay on two CPUs, where an operation may take thirty
/// times as long as on one.
const LASTING_APART: f64 = 100e6;
/// Down to this share of it where the budget is tight: more launches say more than longer ones. As many
/// as this are aimed at, since launches of sleeping workers across CPUs differ by some 10 %, and ratios
/// of that many are within 5 %.
const LEAST_PACE: f64 = 0.5;
const AIMED_AT: usize = 32;
/// What a launch costs beside what it times, in ns, quiet included: to see whether it is tight.
const BESIDE: f64 = 8e6;
/// Of the budget what launches may time whose samples were asked for, and the fewest samples that are left of
/// them where that is less than they would take.
const TIMED: f64 = 0.8;
const FEWEST_SAMPLES: u64 = 15;
/// What the pilot of a case lasts, in ns.
const PILOT_NS: u64 = 5_000_000;
/// The deadline of a pilot, in ms.
pub(super) const PILOT_DEADLINE_MS: u64 = 10_000;
/// Where losses are waited for: the least deadline, three times what a resending mechanism takes to give
/// up; and the least that a pilot warms up and times of transfers, in ns, since few losses tell little of
/// many.
const LOSING_DEADLINE_MS: u64 = 30_000;
const LOSING_PILOT_NS: u64 = 100_000_000;
/// The longest wait, in ns, that makes a transfer longer, of those that a path's round trip doesn't explain: what
/// takes longer was lost, or delayed on purpose, and 200 of it would last many seconds.
const LONGEST_WAIT_NS: f64 = 5e6;
/// What the pilot of a transfer sends whose end may be held back, in bytes and in messages: enough that it isn't the
/// wait alone that it times.
const HELD_BYTES: u64 = 16 << 20;
const HELD_MESSAGES: u64 = 1 << 18;

impl Campaign<'_> {
    /// By which factor latency launches are shortened, so that many fit the budget.
    pub(super) fn pace(&self) -> f64 {
        let Some(budget) = self.request.stopping.budget_ns else { return 1.0 };
        let launches = AIMED_AT as f64;
        let (mut shortened, mut whole) = (0.0, 0.0);
        for case in self.groups.iter().flat_map(|group| &group.cases).map(|live| &live.case) {
            whole += launches * BESIDE;
            let one_cpu = case.place.shares_one_cpu();
            match row(case.workload).lasts_ns {
                Some(lasts_ns) => whole += launches * lasts_ns,
                None => shortened += launches * lasting_ns(one_cpu),
            }
        }
        ((budget as f64 - whole) / shortened).clamp(LEAST_PACE, 1.0)
    }

    /// Takes samples from the longest launches of the cases that were just piloted, until as many rounds of the groups
    /// fit the budget as were asked for, or as an interval needs: a case whose launch took minutes would leave
    /// all others without.
    pub(super) fn fit_samples(&mut self, of: &[usize], piloted: &[(usize, usize)]) {
        let Some(budget) = self.request.stopping.budget_ns else { return };
        let rounds = self.request.stopping.launches.unwrap_or(LEAST_LAUNCHES as u64).max(1) as f64;
        let (mut asked, mut others) = (Vec::new(), 0.0);
        for (group, case) in of
            .iter()
            .flat_map(|nth| (0..self.groups[*nth].cases.len()).map(move |case| (*nth, case)))
        {
            let live = &self.groups[group].cases[case];
            let may_change = piloted.contains(&(group, case))
                && self.request.samples_of(live.case.workload).is_some();
            others += BESIDE;
            if may_change {
                asked.push(live.timed_ns());
            } else {
                others += live.timed_ns();
            }
        }
        let Some(longest_ns) = longest(asked, TIMED * budget as f64 / rounds - others) else {
            return;
        };
        for (group, case) in piloted {
            let live = &mut self.groups[*group].cases[*case];
            if self.request.samples_of(live.case.workload).is_some() {
                let fit = (longest_ns / (live.operation_ns * live.batch as f64)) as u64;
                live.samples = live.samples.min(fit.max(FEWEST_SAMPLES));
            }
        }
    }
}

/// What the length of a launch depends on beside its operation.
pub(super) struct Lasts {
    /// The factor that shortens it.
    pub pace: f64,
    /// What an operation takes in ns if the scheduler places its workers on two CPUs; None where that is not
    /// up to the scheduler, or unknown.
    pub apart_ns: Option<f64>,
    /// Whether a bound is decided by it: all mechanisms are then offered as many messages at one rate. What only
    /// chooses further rates is shorter where it falls behind.
    pub decides: bool,
}

impl LiveCase {
    /// Fixes batch and samples from what the pilot found. A pilot that failed gives up the case: its record
    /// says why.
    pub(super) fn fix(
        &mut self,
        pilot: &LaunchResult,
        request: &model::request::Request,
        clock: &model::clock::Record,
        Lasts { pace, apart_ns, decides }: Lasts,
    ) {
        let report = &pilot.record.initiator;
        let found = operation_ns(&self.case, pilot, clock);
        let (Some(operation), Outcome::Ok) = (found, &pilot.record.outcome) else {
            self.given_up = true;
            (self.batch, self.samples) = (1, 1);
            return;
        };
        self.operation_ns = operation;
        if let Some(load) = self.case.load.filter(Load::has_rate) {
            // It lasts as long as its schedule, or as it takes to serve it one by one: what took shorter in the pilot,
            // since a stall there is none of the launches'.
            let period = 1e9 / load.per_second as f64;
            self.operation_ns = report.estimate_ns.min(operation).clamp(period, LONGER * period);
        }
        let mut lasting = pace * lasting_ns(self.case.place.shares_one_cpu());
        if let Some(apart_ns) = apart_ns.filter(|value| *value > self.operation_ns) {
            // The scheduler may move the workers apart at any time.
            (self.operation_ns, lasting) = (apart_ns, LASTING_APART);
        }
        let found = (self.operation_ns, report.ack_ns);
        let found = found_of(&self.case, found, clock, lasting);
        let unbatched = request.unbatched;
        let Size { batch, samples } = (row(self.case.workload).size)(&Found { unbatched, ..found });
        (self.batch, self.samples) = (batch, samples);
        if let Some(bound) = request.bound {
            let period = self.case.load.map(|load| 1e9 / load.per_second as f64);
            let each = period.filter(|_| decides).unwrap_or(self.operation_ns);
            self.samples = bound.messages(each);
        }
        if self.case.workload.traits().paced {
            self.samples = request.arrivals.whole(self.samples).min(MOST_SAMPLES);
        }
        self.samples = request.samples_of(self.case.workload).unwrap_or(self.samples).max(1);
    }

    /// What a launch of it will time, in ns.
    pub(super) fn timed_ns(&self) -> f64 {
        self.operation_ns * (self.batch * self.samples) as f64
    }
}

/// What an operation of `case` takes in ns once the scheduler places its workers on two CPUs: as long as the
/// same of `cases` that is pinned to two. None where the case is pinned itself, or there is no such pilot.
pub(super) fn ns_apart<'a>(
    case: &Case,
    mut cases: impl Iterator<Item = &'a LiveCase>,
) -> Option<f64> {
    let pinned = |live: &&LiveCase| {
        let Case { place, placement, .. } = *live.case;
        let like = Case { place, placement, ..case.clone() };
        place.cpus.is_some() && !place.shares_one_cpu() && *live.case == like
    };
    if case.place.cpus.is_some() {
        return None;
    }
    cases.find(pinned).map(|live| live.operation_ns)
}

/// The length to which the longest of `lengths` are cut so that all of them sum to `room`; None where they do
/// whole.
fn longest(mut lengths: Vec<f64>, mut room: f64) -> Option<f64> {
    lengths.sort_by(f64::total_cmp);
    for (nth, length) in lengths.iter().enumerate() {
        let each = room.max(0.0) / (lengths.len() - nth) as f64;
        if *length > each {
            return Some(each);
        }
        room -= length;
    }
    None
}

/// Messages of a transfer, where the request says how many.
pub(super) fn asked_messages(case: &Case) -> Option<u64> {
    case.total?.messages(case.message_bytes?)
}

/// Messages of the transfer of a pilot, where it doesn't choose them.
pub(super) fn pilot_messages(case: &Case) -> Option<u64> {
    let held = case.workload.traits().transfers && are_held_back(&case.variant);
    asked_messages(case).or_else(|| {
        let bytes = case.message_bytes.filter(|_| held)?;
        Some(HELD_BYTES.div_ceil(bytes).min(HELD_MESSAGES))
    })
}

/// What a launch should last, in ns.
pub fn lasting_ns(one_cpu: bool) -> f64 {
    if one_cpu { LASTING_ON_ONE_CPU } else { LASTING_ACROSS }
}

pub(super) fn pilot_of(case: &Case, launch: Spec) -> Spec {
    let (warmup, lasting) = pilot_lasts(case, launch.warmup);
    let deadline_ms = deadline_ms(case, PILOT_DEADLINE_MS);
    Spec { warmup, samples: SampleCount::Lasting(lasting), deadline_ms, ..launch }
}

/// How long the pilot of a case warms up whose launches do so long, and what it times, in ns.
fn pilot_lasts(case: &Case, launch: Warmup) -> (Warmup, u64) {
    let to_size = case.workload.traits().transfers && asked_messages(case).is_none();
    if !to_size || !are_waited_for(&case.variant, &case.route) {
        return (launch, PILOT_NS);
    }
    let operations = launch.operations.max(Warmup::default().operations);
    (Warmup { operations, ns: launch.ns.max(LOSING_PILOT_NS) }, LOSING_PILOT_NS)
}

/// Time per operation by a pilot of `case`, in ns; None where it timed nothing.
fn operation_ns(case: &Case, pilot: &LaunchResult, clock: &model::clock::Record) -> Option<f64> {
    let report = &pilot.record.initiator;
    let batch = report.batch.max(1);
    let middle = value_ns(&mut pilot.samples.clone(), batch, clock.ns_per_tick)?;
    let losing = are_waited_for(&case.variant, &case.route);
    if !losing || !case.workload.traits().transfers {
        return Some(middle.max(0.1));
    }
    // Most of the time goes into few long waits, which the middle one of few transfers knows nothing of.
    let timed = pilot.samples.iter().sum::<u64>() as f64 * clock.ns_per_tick;
    let untimed = report.warmup_operations + report.lead_operations;
    let operations = untimed + pilot.samples.len() as u64 * batch;
    Some((report.untimed_ns + timed) / operations as f64)
}

fn found_of(
    case: &Case,
    (operation_ns, ack_ns): (f64, f64),
    clock: &model::clock::Record,
    lasting_ns: f64,
) -> Found {
    let waits = are_waited_for(&case.variant, &case.route);
    let held = are_held_back(&case.variant);
    Found {
        operation_ns,
        ack_ns: match (waits, held) {
            (true, _) => ack_ns.min(LONGEST_WAIT_NS),
            (false, true) => ack_ns.max(LONGEST_WAIT_NS),
            (false, false) => ack_ns,
        },
        lasting_ns,
        shortest_ns: clock.shortest_ns(),
        batch: asked_messages(case),
        connections: u64::from(case.connections()),
        unbatched: false,
    }
}

/// Responses are never batched: what is too short for the clock has no open loop. What carries nothing has one all
/// the same: not for its responses, but for the rate that the sender keeps by itself.
pub(super) fn refuse_coarse(case: &Case, pilot: &mut LaunchResult, clock: &model::clock::Record) {
    let carries = case.variant.traits().carries != Carries::Nothing;
    let measured = case.workload.traits().paced && carries && pilot.record.outcome == Outcome::Ok;
    let response = value_ns(&mut pilot.samples.clone(), 1, clock.ns_per_tick);
    let (true, Some(ns), shortest) = (measured, response, clock.shortest_ns()) else { return };
    if ns < shortest {
        let reason = format!(
            "a response takes {ns:.0} ns, which the clock can't time by itself (from {shortest:.0} ns \
             on): -w latency times many as one, and --unbatched times it all the same"
        );
        pilot.record.outcome = Outcome::NotApplicable { reason };
    }
}

impl LiveCase {
    /// When a launch of it is taken for hung, in ms: after twenty times what it should last, and five seconds more,
    /// which on a busy host a process may have to wait for its CPU.
    pub(super) fn deadline_ms(&self) -> u64 {
        let warmup_ms = self.case.variant.entry.plugin.map_or(0, |plugin| plugin.warmup_ms);
        let over_ms = 5_000 + (20.0 * self.timed_ns() / 1e6) as u64;
        3 * warmup_ms + deadline_ms(&self.case, over_ms)
    }
}

/// When a launch of `case` is taken for hung that is promised to be over in so many ms. Where what is
/// lost is sent again a launch that met few losses promises too much, and to give up the slow ones
/// would flatter the rest.
fn deadline_ms(case: &Case, promised_ms: u64) -> u64 {
    let waits = are_waited_for(&case.variant, &case.route);
    if waits { promised_ms.max(LOSING_DEADLINE_MS) } else { promised_ms }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use mechanisms::Variant;
    use model::clock::Record;
    use model::placement::{Placement, ResolvedPlacement};
    use model::total::Total;
    use model::workload::Workload;

    #[test]
    fn the_longest_launches_are_cut_until_all_fit() {
        assert_eq!(longest(vec![1.0, 2.0, 3.0], 6.0), None);
        assert_eq!(longest(vec![1.0, 2.0, 3.0], 5.0), Some(2.0));
        assert_eq!(longest(vec![100.0, 1.0, 9.0, 90.0], 30.0), Some(10.0));
        assert_eq!(longest(vec![4.0, 4.0], -1.0), Some(0.0));
        assert_eq!(longest(Vec::new(), 0.0), None);
    }

    pub fn case(mechanism: &str, workload: Workload) -> Case {
        Case {
            message_bytes: Some(64),
            total: None,
            load: None,
            placement: Placement::Free,
            ..Case::usual(Variant::parse(mechanism).unwrap(), workload)
        }
    }

    fn sized(case: &Case, found: (f64, f64), clock: &Record, lasting_ns: f64) -> (u64, u64) {
        let size = (row(case.workload).size)(&found_of(case, found, clock, lasting_ns));
        (size.batch, size.samples)
    }

    /// A clock of which 500 ns are the shortest sample.
    fn clock() -> model::clock::Record {
        let (_, clock) = sys::clock::measure(model::clock::ClockKind::MonotonicRaw, None);
        model::clock::Record { cost_ns: 20.0, step_ns: 10.0, ns_per_tick: 1.0, ..clock }
    }

    #[test]
    fn responses_too_short_for_the_clock_are_refused_and_nothing_else_is() {
        for (mechanism, workload, ns, refused) in [
            ("pipe", Workload::Rate, 499, true),
            ("pipe", Workload::Rate, 500, false),
            ("noop", Workload::Rate, 100, false), // it shows the sender
            ("pipe", Workload::Latency, 100, false), // those are batched
        ] {
            let record = model::launch::Record::without_samples(Outcome::Ok);
            let mut pilot = LaunchResult { record, samples: vec![ns; 5] };
            refuse_coarse(&case(mechanism, workload), &mut pilot, &clock());
            let reason = match pilot.record.outcome {
                Outcome::NotApplicable { reason } => reason,
                _ => String::new(),
            };
            assert_eq!(reason.contains("the clock can't time by itself (from 500 ns"), refused);
        }
        let paced = case("pipe", Workload::Rate);
        assert_eq!(sized(&paced, (1e6, 0.0), &clock(), 20e6), (1, 200));
        assert_eq!(sized(&paced, (1e9, 0.0), &clock(), 20e6), (1, 1));
    }

    #[test]
    fn where_losses_are_waited_for_few_long_waits_count_as_what_they_take() {
        let mut record = model::launch::Record::without_samples(Outcome::Ok);
        record.initiator.batch = 10;
        (record.initiator.warmup_operations, record.initiator.lead_operations) = (18, 2);
        record.initiator.untimed_ns = 6_000.0;
        let pilot = LaunchResult { record, samples: vec![900, 1_000, 22_100] };
        let of = |mechanism, workload| operation_ns(&case(mechanism, workload), &pilot, &clock());
        assert_eq!(of("udp:reliability=raptorq+arq", Workload::Throughput), Some(100.0));
        assert_eq!(of("udp:reliability=raptorq+arq,loss=5%", Workload::Throughput), Some(600.0));
        assert_eq!(of("udp:reliability=raptorq+arq,loss=5%", Workload::Latency), Some(100.0));
        let nothing = LaunchResult { samples: Vec::new(), ..pilot };
        assert_eq!(operation_ns(&case("tcp", Workload::Latency), &nothing, &clock()), None);
    }

    #[test]
    fn free_workers_may_take_as_long_as_the_same_ones_on_two_cpus() {
        let free = case("pipe", Workload::Latency);
        let pinned = |mechanism, cpus, operation_ns| {
            let place = ResolvedPlacement { cpus: Some(cpus), swappable: true, apart: false };
            let case =
                Case { place, placement: Placement::SameLlc, ..case(mechanism, free.workload) };
            LiveCase::new(1, std::rc::Rc::new(case), None, (Some(1), Some(1), Some(operation_ns)))
        };
        let cases =
            [pinned("pipe", (1, 1), 2e3), pinned("tcp", (0, 1), 8e4), pinned("pipe", (0, 1), 7e4)];
        assert_eq!(ns_apart(&free, cases.iter()), Some(7e4));
        assert_eq!(ns_apart(&free, cases[..2].iter()), None);
        assert_eq!(ns_apart(&cases[0].case, cases.iter()), None);
    }

    #[test]
    fn a_launch_times_some_transfers_and_none_is_shorter_than_200_acknowledgements() {
        let pipe = case("pipe", Workload::Throughput);
        let sized = |ack_ns| sized(&pipe, (1_000.0, ack_ns), &clock(), 20e6);
        assert_eq!(sized(4e3), (4_000, 5), "five of 4 ms, as 200 acknowledgements last 0.8 ms");
        assert_eq!(sized(45e3), (9_000, 3), "three of 9 ms");
        assert_eq!(sized(1e6), (200_000, 1), "one of 200 ms");
    }

    /// A segment that Nagle's algorithm holds back waits for an acknowledgement that is delayed by 40 ms.
    #[test]
    fn a_transfer_whose_end_may_be_held_back_is_long_by_bytes() {
        let with = |mechanism, bytes| Case {
            message_bytes: Some(bytes),
            ..case(mechanism, Workload::Throughput)
        };
        assert_eq!(pilot_messages(&with("tcp:nodelay=off", 64)), Some(262_144));
        assert_eq!(pilot_messages(&with("tcp:nodelay=off", 512 << 10)), Some(32));
        assert_eq!(pilot_messages(&with("tcp", 64)), None);
        assert_eq!(pilot_messages(&case("tcp:nodelay=off", Workload::Latency)), None);
        let small = with("tcp:nodelay=off", 64);
        assert_eq!(sized(&small, (3_160.0, 20e3), &clock(), 20e6), (316_456, 1), "a second");
    }

    #[test]
    fn a_lost_acknowledgement_makes_no_transfer_of_minutes_and_its_pilot_meets_losses() {
        let lossless = case("udp:reliability=stop-and-wait", Workload::Throughput);
        let losing = case("udp:reliability=stop-and-wait,loss=20%", Workload::Throughput);
        let transfer_of = |case, ack_ns| sized(case, (1e6, ack_ns), &clock(), 20e6);
        // 200 acknowledgements; at most a second where one may have been lost.
        assert_eq!(transfer_of(&losing, 5e4), (10, 3));
        assert_eq!(transfer_of(&lossless, 5e7), (10_000, 1));
        assert_eq!(transfer_of(&losing, 5e7), (1_000, 1));

        let asked = Warmup { operations: 5, ns: 1 };
        assert_eq!(pilot_lasts(&lossless, asked), (asked, PILOT_NS));
        let longer = Warmup { operations: 1_000, ns: LOSING_PILOT_NS };
        assert_eq!(pilot_lasts(&losing, asked), (longer, LOSING_PILOT_NS));
        let fixed = Case { total: Some(Total::Bytes(640)), ..losing };
        assert_eq!(pilot_lasts(&fixed, asked), (asked, PILOT_NS));
    }
}
