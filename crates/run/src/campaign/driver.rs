//! Which launches a round is made of, and on which nodes: this host and those that it has a route to
//! (`hosts`), or those of a fleet. How one is made is the same for both
//! ([`crate::launch::launches`]). What a round is made of, how often there is one, what is given up and
//! what is stored, the campaign decides for both alike.

use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{LiveCase, LiveGroup};
use crate::launch::{LaunchResult, Spec};
use crate::plan::Case;
use machine::interrupt::Interrupted;
use model::alignment::Alignment;
use model::launch::Record;
use model::noise::RoundNoise;
use model::request::Request;
use model::route::Route;

/// One launch of a round, before it is started.
#[derive(Clone, Copy, Default)]
pub struct Turn {
    /// The group, by its place in the campaign.
    pub group: usize,
    pub case: usize,
    /// Where it stands in the order of its round.
    pub position: usize,
    /// Whether the two ends of the case change roles.
    pub swapped: bool,
    /// Bytes added to its environment.
    pub padding: usize,
    /// Bytes by which its buffers are shifted.
    pub offset: usize,
    /// Launches of one set with the same slot may be timed at the same time.
    pub slot: usize,
    /// The set of the group's round, from 0.
    pub set: usize,
}

/// The generator of one of a run's random choices: each has a stream of its own.
pub fn rng(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// Whether the two ends of `what` change roles: in blocks of two rounds, one each way, in an order drawn per
/// block.
pub fn swapped(seed: u64, what: usize, round: u64) -> bool {
    let mut rng = rng(seed, 1 << 63 | (what as u64) << 32 | round.div_ceil(2));
    rng.random::<bool>() ^ round.is_multiple_of(2)
}

impl Turn {
    /// The same, with where its stack and its buffers begin drawn anew, those as `align` has it.
    pub fn shifted(self, align: Alignment, rng: &mut ChaCha8Rng) -> Turn {
        let padding = 16 * rng.random_range(0..256);
        let offset = align.offset(rng.random_range(0..Alignment::LINES));
        Turn { padding, offset, ..self }
    }

    /// The node of the initiator, and that of the responder where it is another one.
    pub fn nodes(&self, live: &LiveCase) -> (usize, Option<usize>) {
        match live.ends.map(|ends| (ends.near, ends.far)) {
            None => (0, None),
            Some((near, Some(far))) if self.swapped => (far, Some(near)),
            Some(ends) => ends,
        }
    }
}

pub struct LaunchRequest {
    pub spec: Spec,
    /// Where client and server of it run.
    pub route: Route,
    /// The arm under which it is made.
    pub arm: Option<String>,
    /// The node of the initiator, and that of the responder where it is another one.
    pub nodes: (usize, Option<usize>),
    pub padding: usize,
    pub slot: usize,
    /// Whether it can be timed in turns with others.
    pub takes_turns: bool,
}

/// A round of some groups.
pub struct RoundOf<'a> {
    pub groups: &'a [LiveGroup],
    pub of: &'a [usize],
    /// From 1; 0 is that of the pilots.
    pub nth: u64,
    pub request: &'a Request,
}

/// Sets of launches that are set up together.
pub type Sets = Box<dyn Iterator<Item = Vec<Turn>>>;

/// Who makes the launches.
pub trait Driver {
    /// The open groups, in those that have their rounds together.
    fn together(&self, open: Vec<usize>) -> Vec<Vec<usize>>;

    /// The launches of a round in the order in which they are made, from the seed alone.
    fn sets(&self, round: &RoundOf) -> Sets;

    /// Makes the launches of a set: sets all of them up, leaves them alone for `quiet`, times them slot by
    /// slot, and ends them together. Gives their results in the order of the set.
    ///
    /// # Errors
    /// A signal came, or nothing can be measured any more.
    fn launch(
        &mut self,
        set: Vec<LaunchRequest>,
        quiet: Duration,
    ) -> Result<Vec<LaunchResult>, Interrupted>;

    /// The clock that stamps what node `near` begins; None for that of this process.
    fn clock(&self, _near: usize) -> Option<&model::clock::Record> {
        None
    }

    /// The CPUs to which the workers of a case are pinned on node `near`, the initiator's first.
    fn cpus(&self, _near: usize, case: &Case) -> [Option<u32>; 2] {
        case.pinned_cpus()
    }

    /// The CPUs of the generators of an open loop of so many clients; see [`crate::launch::placement::generators`].
    fn generators(&self, _spec: &Spec, _clients: usize) -> Vec<u32> {
        Vec::new()
    }

    /// Whether the nodes of a case take part.
    fn reaches(&self, _live: &LiveCase) -> bool {
        true
    }

    /// A round of a group begins, after so much time of measuring.
    fn begin_round(&mut self, _round: &RoundOf, _measured: Duration) {}

    /// A launch has ended.
    fn note(&mut self, _live: &LiveCase, _record: &Record) {}

    /// What happened beside the round that ends; None where that can't be seen from here.
    fn end_round(&mut self) -> Option<RoundNoise> {
        None
    }

    /// Nodes that were lost since it was last asked: number, name, and why.
    fn newly_lost(&mut self) -> Vec<(usize, String, String)> {
        Vec::new()
    }

    /// What the reader of the results should know since it was last asked.
    fn warning(&mut self) -> Option<String> {
        None
    }

    /// Why nothing can be measured any more, where that is so.
    fn lost(&self) -> Option<String> {
        None
    }

    /// The run expects to end within so much time.
    fn ends_within(&mut self, _time: Duration) {}

    /// How long launches that have ended may be in memory alone.
    fn stored_within(&self) -> Duration {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_launch_has_its_buffers_at_the_same_place_of_one_of_all_lines_of_a_page() {
        let mut rng = rng(1, 2);
        let mut offsets: Vec<usize> = (0..2_000)
            .map(|_| Turn::default().shifted(Alignment::Malloc, &mut rng).offset)
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        let all: Vec<usize> =
            (0..Alignment::LINES).map(|line| Alignment::Malloc.offset(line)).collect();
        assert_eq!(offsets, all);
    }
}
