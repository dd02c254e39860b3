//! `ipcmark choose`: what to use for a described need, by measuring what can qualify.

use std::time::Duration;

use clap::Args;

use super::args::{ResultFiles, RunArgs, TakenArgs};
use super::open_loop::{Counts, server};
use super::peer::PeerArgs;
use super::plugins::PluginArgs;
use super::shown::Shown;
use super::value_parsers::{
    Depths, Placements, Rates, Sizes, Suggesting, Task, bound, every_shown_variant, launches,
    placement_names, placements, service, variant,
};
use super::{Common, Failure, run};
use ::report::export::Format;
use ::run::launch::Interrupt;
use clap::builder::PossibleValuesParser;
use model::capacity::TailBound;
use model::choice::Need;
use model::duration::budget;
use model::load::{self, Server, Service};
use model::mechanism::Framing;
use model::placement::Placement;
use model::rate;
use model::request::{Aim, Request};
use model::size;

/// Time for measuring where none is given.
const BUDGET: Duration = Duration::from_secs(30);

/// Launches that make sure of a mechanism.
const SURE: u32 = model::choice::SURE_LAUNCHES as u32;

/// Flags of `choose`.
#[derive(Args)]
pub struct ChooseArgs {
    /// Mechanisms to choose from, with options [default: all of this machine]
    #[arg(value_name = "MECHANISM", hide_possible_values = true,
          value_parser = Suggesting { parser: variant, words: every_shown_variant })]
    mechanisms: Vec<String>,
    /// Bytes of a request, as in 64 or 1K
    #[arg(short, long, value_name = "SIZE", value_parser = size::message, allow_hyphen_values = true)]
    size: u64,
    /// Requests a second over all connections, as in 500 or 50k
    #[arg(long, value_name = "N", value_parser = rate::parse, allow_negative_numbers = true)]
    rate: u64,
    /// The largest acceptable percentile of the response time: p99:200us
    #[arg(long, value_name = "PERCENTILE:TIME", value_parser = bound, allow_negative_numbers = true)]
    bound: TailBound,
    /// Bytes of an answer [default: as many as in a request]
    #[arg(long, value_name = "SIZE", value_parser = size::message, allow_negative_numbers = true)]
    response: Option<u64>,
    /// Clients of the server, each with its own connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = load::connections,
          allow_negative_numbers = true)]
    connections: u32,
    /// How the server finds the next request: epoll, poll, io-uring, threads, scan [default: epoll for several clients]
    #[arg(long, value_name = "HOW", value_parser = server)]
    server: Option<Server>,
    /// Requests that may be under way at once on one connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = load::depth,
          allow_negative_numbers = true)]
    depth: u32,
    /// How long the server works on each request: 5us, or exp:5us [default: nothing]
    #[arg(long, value_name = "TIME", value_parser = service, allow_negative_numbers = true)]
    service: Option<Service>,
    /// Only mechanisms that sleep while they wait
    #[arg(long)]
    blocking: bool,
    /// Only mechanisms that carry a stream, or only those that keep message boundaries
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(["stream", "message"]),
          hide_possible_values = true)]
    bytes: Option<String>,
    /// Where the workers run: free, same-cpu, same-llc and others, or 0,1 [default: free]
    #[arg(short, long, value_name = "PLACE", hide_possible_values = true,
          value_parser = Suggesting { parser: placements, words: placement_names })]
    placement: Option<Placements>,
    #[command(flatten)]
    plugins: PluginArgs,
    #[command(flatten)]
    peer: PeerArgs,
    /// Time for measuring [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = budget, allow_negative_numbers = true)]
    budget: Option<Duration>,
    /// This many launches of each mechanism at each rate, fewer where --budget ends first [default: what the time allows]
    #[arg(long, value_name = "N", value_parser = launches, allow_negative_numbers = true)]
    launches: Option<u64>,
    #[command(flatten)]
    taken: TakenArgs,
    /// text, or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(["text", "json"]))]
    format: String,
    #[command(flatten)]
    to: ResultFiles,
}

/// `ipcmark choose …`.
pub fn choose(common: &Common, args: &ChooseArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    let shown = args.of_run().map_err(Failure::usage)?;
    let loads = shown.request().map_err(Failure::usage)?.loads;
    let shown = shown.with_plugins(&shown.usual_mechanisms(&loads), interrupt)?;
    let request = args.request(&shown).map_err(Failure::usage)?;
    run::ask(common, &shown, request, interrupt)
}

impl ChooseArgs {
    fn need(&self) -> Need {
        let bytes = self.bytes.as_deref().map(|byte| match byte {
            "stream" => Framing::Stream,
            _ => Framing::Message,
        });
        Need { per_second: self.rate, blocking: self.blocking, bytes }
    }

    /// What no measurement could answer.
    fn contradiction(&self) -> Result<(), String> {
        if self.peer.command.is_some() && self.connections > 1 {
            return Err(
                "--connections: between two hosts there is one connection: leave --peer out".into(),
            );
        }
        if self.blocking && self.server == Some(Server::Scan) {
            return Err("--server scan busy-waits, and --blocking was asked: leave one out".into());
        }
        let needs = self.bound.messages_needed();
        let launch = Duration::from_secs_f64(needs as f64 / self.rate as f64);
        let budget = self.budget.unwrap_or(BUDGET);
        if self.launches.is_none() && launch * SURE > budget {
            return Err(format!(
                "--budget: {SURE} launches that agree decide, and each needs {needs} messages for a {}, {} at --rate {}: \
                 give a longer one",
                self.bound.percentile(),
                model::duration::format_ns(model::duration::in_ns(launch)),
                self.rate
            ));
        }
        Ok(())
    }

    /// The same as flags of `run`.
    pub fn of_run(&self) -> Result<RunArgs, String> {
        let placement = match &self.placement {
            Some(placements) if placements.0.len() > 1 => {
                return Err(
                    "--placement: what is best depends on it: choose for one at a time".into()
                );
            }
            Some(placements) => placements.clone(),
            None => Placements(vec![Placement::Free]),
        };
        self.contradiction()?;
        let mut args = RunArgs {
            mechanisms: self.mechanisms.clone(),
            workload: vec![Task::Capacity],
            size: Some(Sizes(vec![self.size])),
            placement: vec![placement],
            rate: Some(Rates(self.need().rates(rate::MOST))),
            depth: Some(Depths(vec![self.depth])),
            budget: Some(self.budget.unwrap_or(BUDGET)),
            peer: self.peer.clone(),
            plugins: self.plugins.clone(),
            launches: self.launches,
            taken: self.taken.clone(),
            format: if self.format == "json" { Shown::Exported(Format::Json) } else { Shown::Text },
            to: self.to.clone(),
            ..RunArgs::default()
        };
        args.open_loop.bound = Some(self.bound);
        args.open_loop.response = self.response;
        args.open_loop.service = self.service;
        args.open_loop.server = self.server;
        args.open_loop.connections = Some(Counts(vec![self.connections]));
        Ok(args)
    }

    pub fn request(&self, shown: &RunArgs) -> Result<Request, String> {
        Ok(Request { aim: Aim::Choice(self.need()), ..shown.request()? })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::{Cli, Command};

    fn offered(flags: &str) -> Vec<String> {
        let line = format!("ipcmark choose --size 64 --rate 1k --bound p99:1ms {flags}");
        let Ok(Cli { command: Some(Command::Choose(args)), .. }) =
            Cli::try_parse_from(line.split_whitespace())
        else {
            panic!("{line}")
        };
        let shown = args.of_run().unwrap();
        args.request(&shown).unwrap().mechanisms
    }

    #[test]
    fn how_a_ring_waits_is_offered_as_the_server_of_the_load_can_wait() {
        let ring = |flags: &str| {
            let mut all = offered(flags);
            all.retain(|name| name.starts_with("shm-ring"));
            all
        };
        let [asleep, spin, hybrid, eventfd] =
            ["futex", "spin", "hybrid", "eventfd"].map(|wait| format!("shm-ring:wait={wait}"));
        assert_eq!(ring(""), [asleep.clone(), spin.clone(), hybrid]);
        assert_eq!(ring("--connections 4"), [asleep, spin, eventfd]);
    }
}
