//! What became of an open loop over several connections, once it is over.

use super::{Generator, Generators};
use model::launch::{Clients, Usage};

impl Generators {
    /// What their threads used.
    pub fn used(&self) -> Usage {
        self.used
    }

    /// Puts into `lateness`, by message, by how much each that was begun was late, in ticks.
    pub fn tell_lateness(&self, lateness: &mut [u64]) {
        for (nth, late) in self.each.iter().flat_map(|generator| &generator.begun) {
            lateness[*nth as usize] = *late;
        }
    }

    /// Messages that were late by a generator's own fault.
    pub fn late(&self) -> u64 {
        self.each.iter().map(|generator| generator.adherence.late()).sum()
    }

    /// Messages that were late since their generator was in other calls.
    pub fn held(&self) -> u64 {
        self.each.iter().map(|generator| generator.adherence.held()).sum()
    }

    /// Share of the time in which the busiest of them had nothing to do, from when the first message of all was due, at
    /// `first`, to when it began its own last: `begun` gives when a message was.
    pub fn idle_share(&self, first: u64, begun: impl Fn(usize) -> u64) -> Option<f64> {
        let share = |generator: &Generator| {
            let last = begun(generator.begun.last()?.0 as usize);
            Some(generator.idle as f64 / last.saturating_sub(first).max(1) as f64)
        };
        self.each.iter().filter_map(share).reduce(f64::min)
    }

    /// What became of each client. `due` and `answered` give the ticks of a message since the schedule's first;
    /// the schedule ended at `end`.
    pub fn clients(
        &self,
        (due, answered): (impl Fn(usize) -> u64, impl Fn(usize) -> u64),
        end: u64,
        ns_per_tick: f64,
    ) -> Clients {
        let mut clients = Clients::default();
        for client in 0..self.assignment.clients() {
            let own = || self.assignment.messages(client).iter().map(|nth| *nth as usize);
            let served = own().filter(|nth| answered(*nth) <= end).count();
            let responses = own().map(|nth| (answered(nth) - due(nth)) as f64 * ns_per_tick);
            clients.push(served as u64, responses.collect());
        }
        clients
    }

    /// The most messages of one client that were under way at once, all of which were `answered` then.
    pub fn deepest(&self, begun: impl Fn(usize) -> u64, answered: impl Fn(usize) -> u64) -> u32 {
        let deepest = |client| {
            let own = self.assignment.messages(client);
            let (mut deepest, mut done) = (0, 0);
            for (place, nth) in own.iter().enumerate() {
                let begun = begun(*nth as usize);
                while done < place && answered(own[done] as usize) <= begun {
                    done += 1;
                }
                deepest = deepest.max(place - done + 1);
            }
            deepest as u32
        };
        (0..self.assignment.clients()).map(deepest).max().unwrap_or(0)
    }
}
