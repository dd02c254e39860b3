//! Which client sends which message of an open loop. It is drawn before the first message, as the schedule is.

use model::workload::Arrivals;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::schedule::Offered;

/// The stream of the seed from which clients are drawn: when messages are due is drawn from the first, service
/// times are from the second.
const STREAM: u64 = 2;

/// The client of each message, and the messages of each client, both by number.
pub(super) struct Assignment {
    clients: Vec<u32>,
    /// The messages of the first client in their order, then those of the next.
    messages: Vec<u32>,
    /// Where each client's begin, and where the last one's end.
    starts: Vec<usize>,
}

impl Assignment {
    /// Spreads the messages of `offered` over `clients`: each to one drawn at random, so that a Poisson process
    /// is one for each client, too; in turn where nothing else is drawn.
    pub fn of(clients: usize, offered: &Offered) -> Assignment {
        let mut rng = ChaCha8Rng::seed_from_u64(offered.seed);
        rng.set_stream(STREAM);
        let mut counts = vec![0; clients];
        let drawn: Vec<u32> = (0..offered.messages as usize)
            .map(|nth| {
                let client = match offered.arrivals {
                    Arrivals::Constant | Arrivals::Bursts { .. } => nth % clients,
                    Arrivals::Poisson => rng.random_range(0..clients),
                };
                counts[client] += 1;
                client as u32
            })
            .collect();
        let mut starts = vec![0];
        for count in counts {
            starts.push(starts[starts.len() - 1] + count);
        }
        let mut messages = vec![0; drawn.len()];
        let mut next = starts.clone();
        for (client, nth) in drawn.iter().zip(0..) {
            messages[next[*client as usize]] = nth;
            next[*client as usize] += 1;
        }
        Assignment { clients: drawn, messages, starts }
    }

    pub fn clients(&self) -> usize {
        self.starts.len() - 1
    }

    /// The client of message `nth`.
    pub fn client(&self, nth: usize) -> usize {
        self.clients[nth] as usize
    }

    /// The messages of a client, in their order.
    pub fn messages(&self, client: usize) -> &[u32] {
        &self.messages[self.starts[client]..self.starts[client + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(arrivals: Arrivals, seed: u64) -> Offered {
        Offered { arrivals, per_second: 1_000, messages: 10_000, seed }
    }

    #[test]
    fn every_message_has_one_client_and_keeps_its_place_there() {
        for arrivals in [Arrivals::Poisson, Arrivals::Constant] {
            let drawn = Assignment::of(7, &offered(arrivals, 3));
            let mut all: Vec<u32> =
                (0..drawn.clients()).flat_map(|number| drawn.messages(number).to_vec()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..10_000).collect::<Vec<_>>());
            for client in 0..7 {
                let own = drawn.messages(client);
                assert!(own.is_sorted());
                assert!(own.iter().all(|nth| drawn.client(*nth as usize) == client));
            }
        }
    }

    #[test]
    fn clients_are_drawn_alike_from_one_seed_and_take_turns_where_nothing_else_is_drawn() {
        let of = |arrivals, seed| Assignment::of(4, &offered(arrivals, seed)).clients;
        assert_eq!(of(Arrivals::Poisson, 3), of(Arrivals::Poisson, 3));
        assert_ne!(of(Arrivals::Poisson, 3), of(Arrivals::Poisson, 4));
        assert_eq!(of(Arrivals::Constant, 3)[..5], [0, 1, 2, 3, 0]);
        // 2,500 each, and a standard deviation of 43.
        let drawn = Assignment::of(4, &offered(Arrivals::Poisson, 3));
        let even = (0..4).all(|number| (2_200..2_800).contains(&drawn.messages(number).len()));
        assert!(even, "{:?}", drawn.starts);
    }
}
