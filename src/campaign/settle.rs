//! The pilot before all others: how long the machine takes to settle after a fork.

use super::pilot::PILOT_DEADLINE_MS;
use super::round::Sent;
use super::{Campaign, value_ns};
use crate::launch::{SampleCount, Spec, Workers};
use crate::mechanism::Variant;
use crate::stats;
use crate::store::Settle;
use crate::study::{Case, losses};
use crate::workload::{Policy, Workload};

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
    /// mechanism is timed, without the losses that are asked of it: they never settle. None when a
    /// signal came, or the other host is gone.
    pub(super) fn find_settle(&self) -> Option<Settle> {
        let cases = || self.groups.iter().flat_map(|group| &group.cases).map(|live| &live.case);
        let apart = || cases().filter(|case| !case.place.shares_one_cpu());
        let case = apart().find(|case| case.reach.is_local()).or_else(|| apart().next())?;
        let (place, reach) = (case.place, &case.reach);
        let Some(mechanism) = settles(case) else {
            return Some(Settle { quiet_ns: ASSUMED_NS, blocks_ns: Vec::new() });
        };
        let spec = Spec {
            mechanism,
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
}

/// The mechanism by which it can be seen how long a path like that of `case` takes to settle; None where
/// each loses something on its way, which never does.
fn settles(case: &Case) -> Option<String> {
    let mechanism = match case.reach.is_local() {
        true => "pipe".to_string(),
        false => losses::without(&case.variant.to_string()),
    };
    let variant = Variant::parse(&mechanism).expect("a variant without its losses is one");
    (!losses::are_waited_for(&variant, &case.reach)).then_some(mechanism)
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
    use super::super::pilot::tests::case;
    use super::*;
    use crate::study::Reach;

    #[test]
    fn the_fast_start_is_found_and_waited_out() {
        let seen = [31., 33., 34., 34., 39., 43., 45., 45., 45., 44., 45., 46., 45., 45.];
        assert_eq!(settled_after(&seen), 70_000_000);
        assert_eq!(settled_after(&[45.0; 20]), 10_000_000);
        assert_eq!(settled_after(&[45.0; 3]), ASSUMED_NS);
    }

    #[test]
    fn what_loses_something_never_settles() {
        let losing = case("udp:loss=20%,reliability=stop-and-wait", Workload::Latency);
        assert_eq!(settles(&losing).as_deref(), Some("pipe"));
        let apart = Case { reach: Reach::Peer, ..losing.clone() };
        assert_eq!(settles(&apart).as_deref(), Some("udp:reliability=stop-and-wait"));
        let line = Case { reach: Reach::parse("lab:loss=5%").unwrap(), ..losing };
        assert_eq!(settles(&line), None);
    }

    #[test]
    fn blocks_follow_the_time_that_passed() {
        let samples = vec![1_000_000; 25];
        assert_eq!(blocks(&samples, 1.0), vec![1_000_000.0; 3]);
    }
}
