//! What became of the clients of one server: whether it served them alike, and what they waited.

use schemars::JsonSchema;
use serde::Serialize;

use super::{MedianInterval, interval_of};
use model::launch::Clients;
use store::StoredLaunch;

/// The clients of a case, over its launches.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ClientsSeen {
    /// How many there were.
    pub clients: u64,
    /// The share of its due requests that the client which got least was served before the schedule ended.
    pub worst_share: OverLaunches,
    /// Jain's index of these shares: 1 where all clients got the same, 1/n where one of n got all.
    pub jain: OverLaunches,
    /// The median response time of the clients, in ns.
    pub p50_ns: OverClients,
    /// Their 99th percentile, in ns; null where too few of a client's requests stand behind one.
    pub p99_ns: Option<OverClients>,
}

/// A quantity of each launch, over all of them.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OverLaunches {
    /// Median over launches.
    pub median: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
}

/// A quantity of each client of each launch: medians over launches.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OverClients {
    /// Of the median client.
    pub median: f64,
    /// Of the client that has most.
    pub largest: f64,
}

impl ClientsSeen {
    /// Over the launches that were measured; None of those with one connection.
    pub(super) fn of(launches: &[&StoredLaunch]) -> Option<ClientsSeen> {
        let told: Vec<&Clients> =
            launches.iter().filter_map(|launch| launch.record.initiator.clients.as_ref()).collect();
        let over = |of: fn(&[f64]) -> Option<f64>| {
            let each: Vec<f64> = told.iter().filter_map(|clients| of(&clients.shares())).collect();
            let interval = interval_of(&each).into();
            Some(OverLaunches { median: stats::median_of(each)?, interval })
        };
        Some(ClientsSeen {
            clients: told.first()?.due.len() as u64,
            worst_share: over(|shares| shares.iter().copied().reduce(f64::min))?,
            jain: over(jain)?,
            p50_ns: over_clients(&told, |clients| &clients.p50_ns)?,
            p99_ns: over_clients(&told, |clients| &clients.p99_ns),
        })
    }
}

/// Jain's fairness index of `shares` (Jain, Chiu and Hawe 1984, DEC-TR-301): the square of their sum over the
/// sum of their squares, by their number. None of no shares; of clients none of which was served, alike, 1.
fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares
        .iter()
        .fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    let index = if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 };
    (!shares.is_empty()).then_some(index.min(1.0))
}

/// A quantity of each client, where every client of every launch that had a request has it.
fn over_clients(
    launches: &[&Clients],
    of: fn(&Clients) -> &Vec<Option<u64>>,
) -> Option<OverClients> {
    let each = |clients: &&Clients| {
        let asked = clients.due.iter().zip(of(clients)).filter(|(due, _)| **due > 0);
        asked.map(|(_, ns)| Some((*ns)? as f64)).collect()
    };
    let each: Vec<Vec<f64>> = launches.iter().map(each).collect::<Option<_>>()?;
    let over = |of: fn(&Vec<f64>) -> Option<f64>| stats::median_of(each.iter().filter_map(of));
    Some(OverClients {
        median: over(|values| stats::median_of(values.iter().copied()))?,
        largest: over(|values| values.iter().copied().reduce(f64::max))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_of_equal_shares_and_the_part_of_those_that_were_served() {
        assert_eq!(jain(&[0.5; 4]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 1.0, 0.0, 0.0]), Some(0.5));
        assert_eq!((jain(&[0.0; 3]), jain(&[])), (Some(1.0), None));
    }

    #[test]
    fn a_percentile_that_one_client_lacks_is_none_of_the_case() {
        let mut few = Clients::default();
        few.push(1, vec![2e3, 4e3, 6e3]);
        few.push(0, Vec::new()); // it asked for nothing
        let mut many = Clients::default();
        many.push(1, vec![8e3; 1_000]);
        let both = |of| over_clients(&[&few, &many], of);
        assert_eq!(
            both(|clients| &clients.p50_ns),
            Some(OverClients { median: 6e3, largest: 6e3 })
        );
        assert_eq!(both(|clients| &clients.p99_ns), None);
    }
}
