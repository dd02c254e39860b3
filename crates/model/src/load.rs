//! The load of an open loop: how many messages are due per second, how many may be under way, over how many
//! connections they come, and what each asks of the server. Of a closed loop: how many connections it has.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration;
use crate::named::as_text;
use crate::rate;
use crate::size::{self, parse_list};
use crate::workload::Workload;

/// More messages under way than any queue here holds are a slip.
const DEEPEST: u32 = 4096;
/// More clients than a machine's descriptors are meant for are a slip.
const MOST_CONNECTIONS: u32 = 4096;
/// What stands in place of the rate of a closed loop.
const CLOSED: &str = "closed";
/// A server that works longer over one request is a batch job.
const LONGEST_SERVICE_NS: u64 = 1_000_000_000;

/// What an open loop is asked to carry, or over how many connections a closed one goes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(try_from = "Told")]
pub struct Load {
    /// Messages due per second, in the mean, over all connections; 0 of a closed loop, where each operation waits
    /// for the one before it.
    pub per_second: u64,
    /// Messages that may be under way at once on one connection; 1 sends none before the answer to the one
    /// before it.
    pub depth: u32,
    /// Connections: of an open loop each of a client of its own, to the one server; of a closed one each to a
    /// receiver of its own.
    pub connections: u32,
    /// How the server finds out which connection has a request; None where one connection needs no choice.
    pub server: Option<Server>,
    /// Bytes of an answer; None answers with as many as were asked.
    pub response: Option<u64>,
    /// What the server works over each request.
    pub service: Service,
}

/// How a server of many connections waits for the next request.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// epoll(7) over all connections.
    Epoll,
    /// poll(2) over all connections.
    Poll,
    /// io_uring(7), with one poll under way per connection.
    IoUring,
    /// A thread per connection, each blocked in its own receive.
    Threads,
    /// It asks one connection after the other, without sleeping.
    Scan,
}

crate::named!(Server {
    Epoll => "epoll",
    Poll => "poll",
    IoUring => "io-uring",
    Threads => "threads",
    Scan => "scan",
});

impl Server {
    /// Whether it waits for descriptors, so that a mechanism without any can't be served.
    pub fn needs_descriptors(self) -> bool {
        matches!(self, Server::Epoll | Server::Poll | Server::IoUring)
    }

    /// Whether it keeps a descriptor of its own for each connection.
    pub fn keeps_descriptors(self) -> bool {
        matches!(self, Server::Poll | Server::IoUring)
    }
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Server, String> {
        Server::ALL.into_iter().find(|server| server.name() == text).ok_or_else(|| {
            let names = Server::ALL.map(Server::name).join(", ");
            format!("`{text}` is no way for a server to wait: it is one of {names}")
        })
    }
}

/// What a server does with a request before it answers: it spins for so long.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub enum Service {
    /// Nothing.
    #[default]
    None,
    /// The same time over each request, in ns.
    Fixed(u64),
    /// A time drawn from an exponential distribution with this mean, in ns.
    Exponential(u64),
}

/// As it is written: `5us`, `exp:5us`; `0` is none.
impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Service::None => f.write_str("0"),
            Service::Fixed(ns) => f.write_str(&duration::format_ns(*ns)),
            Service::Exponential(ns) => write!(f, "exp:{}", duration::format_ns(*ns)),
        }
    }
}

impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Service, String> {
        if text == "0" {
            return Ok(Service::None);
        }
        let (time, drawn) = match text.strip_prefix("exp:") {
            Some(mean) => (mean, true),
            None => (text, false),
        };
        let ns = humantime::parse_duration(time).ok().map(duration::in_ns);
        match ns.filter(|number| (1..=LONGEST_SERVICE_NS).contains(number)) {
            Some(mean) if drawn => Ok(Service::Exponential(mean)),
            Some(time) => Ok(Service::Fixed(time)),
            None => Err(format!(
                "`{text}`: write a time up to 1s that the server works over each request, as in 5us, or exp:5us for \
                 times drawn from an exponential distribution"
            )),
        }
    }
}

as_text!(Service, str::parse);

impl Load {
    /// What is asked where nothing is said.
    pub const USUAL: Load = Load {
        per_second: rate::USUAL,
        depth: 1,
        connections: 1,
        server: None,
        response: None,
        service: Service::None,
    };

    /// A closed loop over so many connections.
    pub const fn closed(connections: u32) -> Load {
        Load { per_second: 0, connections, ..Load::USUAL }
    }

    /// That of a case of `workload`: what was `said`, else the connections that the workload has by itself; None where
    /// it has one.
    pub fn of(workload: Workload, said: Option<Load>) -> Option<Load> {
        let traits = workload.traits();
        let own = traits.many_connections().then(|| Load::closed(traits.connections()));
        said.or(own)
    }

    /// Whether it is that of an open loop.
    pub fn has_rate(&self) -> bool {
        self.per_second > 0
    }

    /// How the server finds the next request; None where it has one connection and nobody asked for a choice, and of
    /// a closed loop.
    pub fn choice(&self) -> Option<Server> {
        self.server.or((self.has_rate() && self.connections > 1).then_some(Server::Epoll))
    }

    /// Whether it takes ends that can be asked without waiting.
    pub fn asks_without_waiting(&self) -> bool {
        self.depth > 1 || self.choice().is_some()
    }

    /// What stands behind the rate: `depth=8`, `service=exp:5us`; empty where nothing but the rate was asked.
    fn options(&self) -> Vec<String> {
        let usual = Load::USUAL;
        let said = [
            (self.depth != usual.depth).then(|| format!("depth={}", self.depth)),
            (self.connections != usual.connections)
                .then(|| format!("connections={}", self.connections)),
            self.server.map(|server| format!("server={}", server.name())),
            self.response.map(|response| format!("response={response}")),
            (self.service != usual.service).then(|| format!("service={}", self.service)),
        ];
        said.into_iter().flatten().collect()
    }
}

/// As it is written: `10k`, `10k:depth=8,connections=16,server=epoll,response=4096,service=exp:5us`,
/// `closed:connections=16`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = if self.has_rate() { rate::format(self.per_second) } else { CLOSED.into() };
        f.write_str(&rate)?;
        let options = self.options();
        if options.is_empty() { Ok(()) } else { write!(f, ":{}", options.join(",")) }
    }
}

/// As others tell it: its numbers are those of a load that may be written, whatever they send.
#[derive(JsonSchema, Deserialize)]
struct Told {
    per_second: u64,
    depth: u32,
    connections: u32,
    server: Option<Server>,
    response: Option<u64>,
    service: Service,
}

impl TryFrom<Told> for Load {
    type Error = String;

    fn try_from(told: Told) -> Result<Load, String> {
        let Told { per_second, depth, connections, server, response, service } = told;
        let load = Load { per_second, depth, connections, server, response, service };
        // What has no rate is written like what has.
        let rate = if load.has_rate() { per_second } else { rate::USUAL };
        Load { per_second: rate, ..load }.to_string().parse::<Load>()?;
        Ok(load)
    }
}

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        let (rate, options) = match text.split_once(':') {
            Some((rate, options)) => (rate, Some(options)),
            None => (text, None),
        };
        let per_second = if rate == CLOSED { 0 } else { rate::parse(rate)? };
        let mut load = Load { per_second, ..Load::USUAL };
        for option in options.into_iter().flat_map(|option| option.split(',')) {
            match option.split_once('=') {
                Some(("depth", value)) => load.depth = depth(value)?,
                Some(("connections", value)) => load.connections = connections(value)?,
                Some(("server", value)) => load.server = Some(value.parse()?),
                Some(("response", value)) => load.response = Some(size::message(value)?),
                Some(("service", value)) => load.service = value.parse()?,
                _ => {
                    return Err(format!(
                        "`{option}` is no option of a load: it has depth, connections, server, response, service"
                    ));
                }
            }
        }
        if !load.has_rate() && load != Load::closed(load.connections) {
            return Err(format!("`{text}`: a closed loop has connections, and no other option"));
        }
        Ok(load)
    }
}

/// Messages under way at once.
///
/// # Errors
/// A sentence with the way out.
pub fn depth(text: &str) -> Result<u32, String> {
    count(text, DEEPEST, "how many messages may be under way")
}

/// Connections of a launch.
///
/// # Errors
/// A sentence with the way out.
pub fn connections(text: &str) -> Result<u32, String> {
    count(text, MOST_CONNECTIONS, "how many connections there are")
}

fn count(text: &str, most: u32, what: &str) -> Result<u32, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<u32>()
        .ok()
        .filter(|number| plain && (1..=most).contains(number))
        .ok_or_else(|| format!("`{text}`: write {what}, from 1 to {most}"))
}

/// A list of rates: `10k`, `1k,5k`, `1k..64k:x2`.
///
/// # Errors
/// A sentence with the way out.
pub fn rates(text: &str) -> Result<Vec<u64>, String> {
    parse_list(text, rate::parse)
}

/// A list of depths: `8`, `1,8,64`, `1..64:x2`.
///
/// # Errors
/// A sentence with the way out.
pub fn depths(text: &str) -> Result<Vec<u32>, String> {
    counts(text, depth)
}

/// A list of numbers of connections: `16`, `1,4,16`, `1..64:x2`.
///
/// # Errors
/// A sentence with the way out.
pub fn connection_counts(text: &str) -> Result<Vec<u32>, String> {
    counts(text, connections)
}

fn counts(text: &str, one: fn(&str) -> Result<u32, String>) -> Result<Vec<u32>, String> {
    Ok(parse_list(text, |text| one(text).map(u64::from))?
        .into_iter()
        .map(|number| number as u32)
        .collect())
}

/// What a request lists of each part of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Messages a second.
    pub rates: Vec<u64>,
    /// Messages under way.
    pub depths: Vec<u32>,
    /// Connections; empty where nothing is said of them.
    pub connections: Vec<u32>,
    /// Bytes of an answer; empty where nothing is said of them.
    pub responses: Vec<u64>,
    /// What all of them share: how the server waits, what it works.
    pub shared: Load,
}

impl Default for Levels {
    fn default() -> Levels {
        let shared = Load::USUAL;
        let (rates, depths) = (vec![shared.per_second], vec![shared.depth]);
        Levels { rates, depths, connections: Vec::new(), responses: Vec::new(), shared }
    }
}

impl Levels {
    /// What `workloads` take of it: an open loop all of it, a closed one the connections.
    ///
    /// # Errors
    /// More connections than one of them can have, in a sentence with the way out.
    pub fn of(&self, workloads: &[Workload]) -> Result<Vec<Load>, String> {
        let mut closed = Vec::new();
        for traits in workloads
            .iter()
            .map(|workload| workload.traits())
            .filter(|traits| traits.many_connections())
        {
            let (name, most) = (traits.name, traits.most_connections().unwrap_or(MOST_CONNECTIONS));
            if let Some(many) = self.connections.iter().find(|connection| **connection > most) {
                return Err(format!("`{many}`: {name} has at most {most} connections"));
            }
            closed = self.connections.iter().map(|connection| Load::closed(*connection)).collect();
        }
        let open = closed.is_empty() || workloads.iter().any(|workload| workload.traits().paced);
        let open = if open { self.product() } else { Vec::new() };
        Ok([open, closed].concat())
    }

    /// Every rate at every depth over every number of connections, rates first, with every answer.
    pub fn product(&self) -> Vec<Load> {
        let one = [self.shared.connections];
        let connections = if self.connections.is_empty() { &one[..] } else { &self.connections };
        let responses: Vec<Option<u64>> = match &self.responses[..] {
            [] => vec![self.shared.response],
            all => all.iter().copied().map(Some).collect(),
        };
        let mut loads = Vec::new();
        for response in responses {
            for connections in connections {
                for depth in &self.depths {
                    let of = |rate: &u64| {
                        let (per_second, depth, connections) = (*rate, *depth, *connections);
                        let load = Load { per_second, depth, connections, response, ..self.shared };
                        Load { server: load.choice(), ..load }
                    };
                    loads.extend(self.rates.iter().map(of));
                }
            }
        }
        loads
    }
}

#[cfg(test)]
mod tests;
