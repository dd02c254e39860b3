//! The flags of an open loop, beside its rates and depths: how messages arrive, over how many connections, and
//! what the server answers and works over each. Closed loops of several connections take the number of these.

use clap::Args;

use super::value_parsers::{Suggesting, arrival_words, arrivals, bound, service};
use model::capacity::TailBound;
use model::load::{self, Levels, Server, Service};
use model::size;
use model::workload::{Arrivals, Workload};

/// Flags of `run -w rate`.
#[derive(Args, Clone, Default)]
pub struct OpenLoopArgs {
    /// How messages arrive in -w rate: poisson (independently), constant (at equal intervals),
    /// bursts:100@10ms (100 at once every 10 ms, which is the rate) [default: poisson]
    #[arg(long, value_name = "HOW", hide_possible_values = true,
          value_parser = Suggesting { parser: arrivals, words: arrival_words })]
    pub arrivals: Option<Arrivals>,
    /// Connections: 16, 1,4,16, 1..64:x2; in -w rate clients of the server [default: 1], in fan-out receivers [default:
    /// 8], in messaging senders, and as many receivers [default: 20], in shared pairs of a writer and a reader, side by
    /// side [default: 1]
    #[arg(long, visible_alias = "pairs", value_name = "N", value_parser = counts, allow_negative_numbers = true)]
    pub connections: Option<Counts>,
    /// How the server of -w rate finds the next request: epoll, poll, io-uring, threads (one per
    /// connection), scan [default: epoll for several connections]
    #[arg(long, value_name = "HOW", value_parser = server)]
    pub server: Option<Server>,
    /// Bytes of an answer in -w rate [default: as many as in a request]
    #[arg(long, value_name = "SIZE", value_parser = size::message, allow_negative_numbers = true)]
    pub response: Option<u64>,
    /// How long the server of -w rate works on each request: 5us, or exp:5us for times drawn from an
    /// exponential distribution [default: nothing]
    #[arg(long, value_name = "TIME", value_parser = service, allow_negative_numbers = true)]
    pub service: Option<Service>,
    /// The largest acceptable percentile of the response time, for -w capacity: p99:200us
    #[arg(long, value_name = "PERCENTILE:TIME", value_parser = bound, allow_negative_numbers = true)]
    pub bound: Option<TailBound>,
}

#[derive(Clone)]
pub struct Counts(pub Vec<u32>);

fn counts(text: &str) -> Result<Counts, String> {
    load::connection_counts(text).map(Counts)
}

/// A way for a server to wait.
pub fn server(text: &str) -> Result<Server, String> {
    text.parse()
}

impl OpenLoopArgs {
    /// Refuses what none of `workloads` takes, and what contradicts a rate that was given.
    pub fn check(&self, workloads: &[Workload], has_rate: bool) -> Result<(), String> {
        let connected =
            |workload: &Workload| workload.traits().paced || workload.traits().many_connections();
        if self.connections.is_some() && !workloads.iter().any(connected) {
            let all = Workload::ALL.into_iter().filter(connected).map(Workload::name);
            let all = all.collect::<Vec<_>>().join(", ");
            return Err(format!("--connections needs one of -w {all}, capacity"));
        }
        let paced = workloads.iter().any(|workload| workload.traits().paced);
        let given = [
            ("--arrivals", self.arrivals.is_some()),
            ("--server", self.server.is_some()),
            ("--response", self.response.is_some()),
            ("--service", self.service.is_some()),
        ];
        if let Some((flag, _)) = given.into_iter().find(|pair| pair.1 && !paced) {
            return Err(format!("{flag} needs -w rate or -w capacity"));
        }
        let arrivals = self.arrivals();
        match arrivals.per_second().filter(|_| has_rate) {
            Some(per_second) => Err(format!(
                "--rate: `--arrivals {arrivals}` comes to {per_second} messages a second: leave --rate out"
            )),
            None => Ok(()),
        }
    }

    /// How messages arrive.
    pub fn arrivals(&self) -> Arrivals {
        self.arrivals.unwrap_or_default()
    }

    /// Puts into `levels` what these flags say of the load.
    pub fn apply(&self, levels: &mut Levels) {
        if let Some(per_second) = self.arrivals().per_second() {
            levels.rates = vec![per_second];
        }
        if let Some(Counts(connections)) = &self.connections {
            levels.connections.clone_from(connections);
        }
        levels.shared.server = self.server;
        levels.shared.response = self.response;
        levels.shared.service = self.service.unwrap_or(levels.shared.service);
    }
}
