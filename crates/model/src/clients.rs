//! What became of each client of a server that has several.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The clients of one launch: a column per quantity and in each a value per client, in the order of their
/// connections.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Clients {
    /// Requests that were due.
    pub due: Vec<u64>,
    /// Of these the ones whose answers were in when the last request of all clients was due.
    pub served: Vec<u64>,
    /// Median of its response times, in ns; None where it had no request.
    pub p50_ns: Vec<Option<u64>>,
    /// Their 99th percentile, in ns; None where it had fewer requests than that takes.
    pub p99_ns: Vec<Option<u64>>,
}

impl Clients {
    /// Adds a client of so many `served` requests, whose response times in ns are `responses`, in any order.
    pub fn push(&mut self, served: u64, mut responses: Vec<f64>) {
        responses.sort_by(f64::total_cmp);
        let count = responses.len() as u64;
        let at = |p: f64| stats::quantile(&responses, p).round() as u64;
        self.due.push(count);
        self.served.push(served);
        self.p50_ns.push((count > 0).then(|| at(0.5)));
        self.p99_ns.push((count >= stats::samples_needed(0.99)).then(|| at(0.99)));
    }

    /// Of each client that had a request, the share of them that was served.
    pub fn shares(&self) -> Vec<f64> {
        let asked = self.due.iter().zip(&self.served).filter(|(due, _)| **due > 0);
        asked.map(|(due, served)| *served as f64 / *due as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_no_percentile_that_its_requests_cannot_support() {
        let mut clients = Clients::default();
        clients.push(3, vec![3.0, 1.0, 2.0, 4.0]);
        clients.push(0, Vec::new());
        clients.push(1_000, (0..1_001).map(f64::from).collect());
        assert_eq!((clients.due[0], clients.p50_ns[0], clients.p99_ns[0]), (4, Some(3), None));
        assert_eq!((clients.due[1], clients.p50_ns[1]), (0, None));
        assert_eq!((clients.p50_ns[2], clients.p99_ns[2]), (Some(500), Some(990)));
        assert_eq!(clients.shares(), [0.75, 1_000.0 / 1_001.0]);
    }
}
