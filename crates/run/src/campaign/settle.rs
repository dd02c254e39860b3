//! The pilot before all others: how long the machine takes to settle after a fork.

use crate::plan::{Case, are_waited_for};
use std::time::Duration;

use super::driver::LaunchRequest;
use super::sizing::PILOT_DEADLINE_MS;
use super::{Campaign, value_ns};
use crate::launch::Spec;
use mechanisms::Variant;
use model::catalogue;
use model::launch::{SampleCount, Workers};
use model::route::Route;
use model::workload::{Policy, Workload};
use store::Settle;

/// The pilot: so many launches from the moment of their fork, each so long, cut into blocks. One alone
/// says little: a stranger's fork, or a plateau of some milliseconds, moves the end that it shows.
const FORKED: usize = 7;
const FORKED_NS: u64 = 150_000_000;
const BLOCK_NS: f64 = 10e6;
/// So many launches, each so long, then wait for the quiet that was found, to see that it is enough.
const QUIET: usize = 4;
const QUIET_NS: u64 = 60_000_000;
/// How often the quiet is lengthened where it wasn't.
const LENGTHENED: usize = 2;
/// A block within this distance of the later ones is settled.
const SETTLED_WITHIN: f64 = 0.05;
/// More than one later block further than this from the others: the machine doesn't rest.
const RESTLESS: f64 = 0.15;
/// Added to what was found; and what is assumed where nothing could be found.
const MARGIN_BLOCKS: usize = 1;
const ASSUMED_NS: u64 = 70_000_000;
/// Longer than a kernel's tick stays on after a fork, with a margin: what takes longer is no effect of ours.
const LONGEST_BLOCKS: usize = 12;

/// Set by tests that aren't about what a run finds out before its pilots, which takes longer than they do:
/// no floors, and a quiet of [`BRIEF_NS`]. Builds that measure know nothing of it.
const BRIEF: &str = "IPCMARK_BRIEF";
const BRIEF_NS: u64 = 5_000_000;

pub(super) fn is_brief() -> bool {
    cfg!(debug_assertions) && std::env::var_os(BRIEF).is_some()
}

impl Campaign<'_> {
    /// Times pipe round trips across CPUs from the moment of their fork, and looks for how long
    /// they differ from later ones. Between hosts no pipe reaches: there the first case's own
    /// mechanism is timed, without the losses that are asked of it: they never settle. None when a
    /// signal came, or the other host is gone.
    pub(super) fn find_settle(&mut self) -> Option<Settle> {
        if is_brief() {
            return Some(Settle { quiet_ns: BRIEF_NS, ..Settle::default() });
        }
        let cases = self.groups.iter().flat_map(|group| &group.cases).map(|live| &*live.case);
        let Some(([initiator_cpu, responder_cpu], route, mechanism)) = shows_settling(cases) else {
            return Some(Settle { quiet_ns: ASSUMED_NS, ..Settle::default() });
        };
        let spec = Spec {
            mechanism,
            plugin: None,
            workload: Workload::Latency,
            message_bytes: 64,
            workers: Workers::Process,
            initiator_cpu,
            responder_cpu,
            payload: Policy::Untouched,
            batch: 1,
            deadline_ms: PILOT_DEADLINE_MS,
            ..self.spec(&self.groups[0].cases[0], 0)
        };
        find_quiet(self.clock.ns_per_tick, |lasting_ns, quiet| {
            let spec = Spec { samples: SampleCount::Lasting(lasting_ns), ..spec.clone() };
            let route = route.clone();
            let one = LaunchRequest {
                arm: None,
                spec,
                route,
                nodes: (0, None),
                padding: 0,
                slot: 0,
                takes_turns: false,
            };
            Some(self.driver.launch(vec![one], quiet).ok()?.remove(0).samples)
        })
    }
}

/// The quiet that `launch` needs: it makes one launch of so many ns after such a quiet, and gives its
/// samples, in ticks of `ns_per_tick`. None where it gives none.
pub fn find_quiet(
    ns_per_tick: f64,
    mut launch: impl FnMut(u64, Duration) -> Option<Vec<u64>>,
) -> Option<Settle> {
    let mut timed = |launches: usize, lasting_ns, quiet: Duration| {
        let mut found = Vec::new();
        for _ in 0..launches {
            let samples = launch(lasting_ns, quiet)?;
            found.push(blocks(&samples, ns_per_tick));
            if samples.is_empty() {
                break; // over a path that loses everything each takes until its deadline
            }
        }
        Some(found)
    };
    let forked = timed(FORKED, FORKED_NS, Duration::ZERO)?;
    let found = settled_after(&forked);
    let (mut quiet_ns, mut quiet_blocks_ns) = (found, Vec::new());
    for _ in 0..=LENGTHENED {
        let launches = timed(QUIET, QUIET_NS, Duration::from_nanos(quiet_ns))?;
        quiet_blocks_ns = pooled(&launches);
        match unsettled(&quiet_blocks_ns) {
            Some(0) => break,
            Some(blocks) => quiet_ns += (blocks as f64 * BLOCK_NS) as u64,
            // The machine is too restless to tell: what it does is no effect of our forks.
            None => quiet_ns = found,
        }
    }
    Some(Settle { quiet_ns, blocks_ns: pooled(&forked), quiet_blocks_ns })
}

/// Where, by which route and over which mechanism it can be seen how long the machine takes to settle:
/// between two CPUs of this host if any case is pinned to two, else between hosts. Where the scheduler
/// places both workers they share a CPU for part of the time, and round trips differ by more than a fork
/// changes them.
fn shows_settling<'a>(
    cases: impl Iterator<Item = &'a Case> + Clone,
) -> Option<([Option<u32>; 2], Route, String)> {
    let local = |case: &&Case| {
        case.route.is_local() && case.place.cpus.is_some() && !case.place.shares_one_cpu()
    };
    let elsewhere = |case: &&Case| !case.route.is_local();
    let case = cases.clone().find(local).or_else(|| cases.clone().find(elsewhere))?;
    Some((case.pinned_cpus(), case.route.clone(), settles(case)?))
}

/// The mechanism by which it can be seen how long a path like that of `case` takes to settle; None where
/// each loses something on its way, which never does.
fn settles(case: &Case) -> Option<String> {
    let mechanism = if case.route.is_local() {
        "pipe".to_string()
    } else {
        catalogue::without_losses(&case.variant.to_string())
    };
    let variant = Variant::parse(&mechanism).expect("a variant without its losses is one");
    (!are_waited_for(&variant, &case.route)).then_some(mechanism)
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

/// Blocks at the same distance from the fork, pooled: the median over launches of each, as far as half
/// of them reach.
fn pooled(launches: &[Vec<f64>]) -> Vec<f64> {
    let longest = launches.iter().map(Vec::len).max().unwrap_or(0);
    let at =
        |nth| launches.iter().filter_map(|launch| launch.get(nth).copied()).collect::<Vec<f64>>();
    let reached = (0..longest).map(at).take_while(|values| 2 * values.len() >= launches.len());
    reached.filter_map(stats::median_of).collect()
}

/// How many leading blocks differ from the later half; None where there are too few to tell, or where
/// the later ones differ too much among themselves.
fn unsettled(blocks: &[f64]) -> Option<usize> {
    let level = level(blocks)?;
    let differ = |block: &&f64| (*block / level - 1.0).abs() > RESTLESS;
    if blocks[blocks.len() / 2..].iter().filter(differ).count() > 1 {
        return None;
    }
    Some(blocks.iter().take_while(|block| (*block / level - 1.0).abs() > SETTLED_WITHIN).count())
}

/// How long round trips differ after a fork from later ones, with a margin, in ns. Launches are set to
/// their own later level before they are pooled: they differ in that by more than the fork does.
fn settled_after(launches: &[Vec<f64>]) -> u64 {
    let leveled = |blocks: &Vec<f64>| {
        let level = level(blocks)?;
        Some(blocks.iter().map(|block| block / level).collect())
    };
    let leveled: Vec<Vec<f64>> = launches.iter().filter_map(leveled).collect();
    match unsettled(&pooled(&leveled)) {
        None => ASSUMED_NS,
        Some(0) => BLOCK_NS as u64,
        Some(blocks) => ((blocks + MARGIN_BLOCKS).min(LONGEST_BLOCKS) as f64 * BLOCK_NS) as u64,
    }
}

/// The median of the later half; None where there are too few blocks.
fn level(blocks: &[f64]) -> Option<f64> {
    let later = &blocks[blocks.len() / 2..];
    stats::median_of(later.iter().copied()).filter(|_| blocks.len() >= 4)
}

#[cfg(test)]
mod tests {
    use super::super::sizing::tests::case;
    use super::*;
    use model::placement::ResolvedPlacement;

    /// A launch that begins fast and settles at `level`.
    fn launch(level: f64) -> Vec<f64> {
        let start = [31., 33., 34., 34., 39., 42.];
        start.into_iter().map(|block| block * level / 45.0).chain([level; 9]).collect()
    }

    #[test]
    fn the_fast_start_is_found_and_waited_out() {
        let levels = [36.0, 45.0, 45.0, 48.0, 42.0, 45.0, 60.0];
        let launches = levels.map(launch);
        assert_eq!(settled_after(&launches), 70_000_000);
        assert_eq!(settled_after(&levels.map(|level| vec![level; 15])), 10_000_000);
        assert_eq!(settled_after(&[vec![45.0; 3]]), ASSUMED_NS);
        assert_eq!(settled_after(&[]), ASSUMED_NS);
    }

    #[test]
    fn a_strangers_disturbance_of_three_launches_of_seven_changes_nothing() {
        let mut launches = [45.0; 7].map(launch);
        let found = settled_after(&launches);
        launches[0][8..].fill(70.0);
        launches[3][..12].fill(33.0);
        launches[5].truncate(2);
        assert_eq!(settled_after(&launches), found);
    }

    #[test]
    fn what_never_settles_is_not_waited_for_for_ever() {
        let rising: Vec<f64> = (1..=40).map(|nth| 1e3 + f64::from(nth) * 10.0).collect();
        assert_eq!(settled_after(&[rising]), 120_000_000);
        // Beside busy neighbours the blocks differ too much.
        assert_eq!(settled_after(&[vec![72., 2009., 300., 2220., 1405., 60.]]), ASSUMED_NS);
        assert_eq!(unsettled(&[45.0; 6]), Some(0));
        assert_eq!(unsettled(&[33.0, 45.0, 45.0, 45.0, 45.0, 45.0]), Some(1));
    }

    #[test]
    fn what_loses_something_never_settles() {
        let losing = case("udp:loss=20%,reliability=stop-and-wait", Workload::Latency);
        assert_eq!(settles(&losing).as_deref(), Some("pipe"));
        let apart = Case { route: Route::Peer, ..losing.clone() };
        assert_eq!(settles(&apart).as_deref(), Some("udp:reliability=stop-and-wait"));
        let line = Case { route: Route::parse("lab:loss=5%").unwrap(), ..losing };
        assert_eq!(settles(&line), None);
    }

    #[test]
    fn settling_is_looked_for_between_two_cpus_and_never_where_the_scheduler_places() {
        let free = case("tcp", Workload::Latency);
        let on = |cpus| {
            let place = ResolvedPlacement { cpus: Some(cpus), swappable: true, apart: false };
            Case { place, ..free.clone() }
        };
        let (one_cpu, two, peer) =
            (on((1, 1)), on((0, 1)), Case { route: Route::Peer, ..free.clone() });
        let found = |cases: &[&Case]| shows_settling(cases.iter().copied());
        let local = Some(([Some(0), Some(1)], Route::Local, "pipe".to_string()));
        assert_eq!(found(&[&free, &one_cpu, &peer, &two]), local);
        assert_eq!(found(&[&free, &peer]), Some(([None, None], Route::Peer, "tcp".to_string())));
        assert_eq!(found(&[&free, &one_cpu]), None);
    }

    #[test]
    fn blocks_follow_the_time_that_passed() {
        let samples = vec![1_000_000; 25];
        assert_eq!(blocks(&samples, 1.0), vec![1_000_000.0; 3]);
    }
}
