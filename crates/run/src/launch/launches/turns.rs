//! Launches that take turns: which is timed when.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{Launches, Stage};
use machine::interrupt::{Interrupt, Interrupted};
use model::cycles::slices;

impl Launches {
    /// Times the launches that take turns, cycle by cycle: a slice of each, in a new random order. The last turn lets each
    /// of them finish.
    pub(super) fn take_turns(
        &mut self,
        of: &[u32],
        interrupt: &Interrupt,
    ) -> Result<(), Interrupted> {
        let mut order: Vec<u32> = of.to_vec();
        order.retain(|number| self.states[number].wanted.spec.cycles > 0);
        let Some(first) = order.first().map(|order| &self.states[order].wanted.spec) else {
            return Ok(());
        };
        let (cycles, mut rng) = (first.cycles as usize, ChaCha8Rng::seed_from_u64(first.seed));
        for cycle in 0..cycles {
            order.shuffle(&mut rng);
            for number in &order {
                let spec = &self.states[number].wanted.spec;
                let slice = slices(spec.most_samples(), spec.cycles).nth(cycle);
                if slice.is_some_and(|slice| !slice.is_empty()) && !self.has_failed(*number) {
                    let next = self.states[number].pauses() + 1;
                    self.turn(*number);
                    self.reach(&[*number], Stage::Paused(next), interrupt)?;
                }
            }
        }
        for number in order {
            if !self.has_failed(number) {
                self.turn(number);
                self.reach(&[number], Stage::Timed, interrupt)?;
            }
        }
        Ok(())
    }

    /// Lets the initiator of one have its turn.
    pub(in crate::launch) fn turn(&mut self, number: u32) {
        self.say_of(&[number], |launch| vec![launch.turn()]);
    }
}
