//! What impairs the line, and by what means: netem where the kernel has it; else tbf for rates,
//! nftables on the receiving side for losses, and for the rest the relay ([`super::relay`]).
//!
//! Which of them there are is found by trying, in a namespace that nobody else sees. A kernel that
//! sends several packets as one (segmentation offload) would lose them as one: where the kernel
//! loses packets the line's ends send each by itself.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use model::lab::{By, LabRequest};

/// What this machine offers, found by trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The queueing discipline netem.
    pub netem: bool,
    /// The queueing discipline tbf.
    pub tbf: bool,
    /// The program nft, and a kernel that loses packets by its rules.
    pub nft: bool,
}

/// What handles packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// sch_netem on both ends of the line.
    Netem,
    /// sch_tbf on both ends of the line.
    Tbf,
    /// A rule of nftables where packets come in, on both ends of the line.
    Nftables,
    /// A process of ours between two TAP devices.
    Relay,
}

impl Means {
    pub fn name(self) -> &'static str {
        match self {
            Means::Netem => "netem",
            Means::Tbf => "tbf",
            Means::Nftables => "nftables, where packets come in",
            Means::Relay => "a relay in user space",
        }
    }
}

/// What provides each thing that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    pub rate: Option<Means>,
    pub loss: Option<Means>,
    pub delay: Option<Means>,
    /// Whether the line goes through the relay.
    pub relayed: bool,
}

impl Chosen {
    /// Chooses among what is offered.
    ///
    /// # Errors
    /// What can't be had here, with the remedy.
    pub fn of(asked: &LabRequest, offered: Offered) -> Result<Chosen, String> {
        let LabRequest { rate, loss, delay_ns, by, .. } = asked;
        if *by != By::Relay && offered.netem {
            let netem = |asked: bool| asked.then_some(Means::Netem);
            return Ok(Chosen {
                rate: netem(rate.is_some()),
                loss: netem(loss.is_some()),
                delay: netem(delay_ns.is_some()),
                relayed: false,
            });
        }
        if *by == By::Kernel && delay_ns.is_some() {
            return Err("--delay: this kernel has no netem, which alone delays packets; leave \
                        --by kernel out for a relay in user space"
                .into());
        }
        if *by == By::Kernel && loss.is_some() && !offered.nft {
            return Err(
                "--loss: this kernel has no netem, and nft doesn't run; install nftables, \
                        or leave --by kernel out for a relay in user space"
                    .into(),
            );
        }
        if rate.is_some() && !offered.tbf {
            return Err(
                "--rate: this kernel has neither netem nor tbf (CONFIG_NET_SCH_TBF); leave \
                        --rate out"
                    .into(),
            );
        }
        let relayed = *by == By::Relay || delay_ns.is_some() || (loss.is_some() && !offered.nft);
        Ok(Chosen {
            rate: rate.map(|_| Means::Tbf),
            loss: loss.map(|_| if relayed { Means::Relay } else { Means::Nftables }),
            delay: delay_ns.map(|_| Means::Relay),
            relayed,
        })
    }
}

/// A program to run in the namespace of a node, with its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The node, by its place in the plan.
    pub node: usize,
    /// The program and its arguments.
    pub words: Vec<String>,
    pub input: String,
}

/// What impairs the line in the kernel, on both of its ends.
pub fn calls(plan: &Plan, asked: &LabRequest, chosen: &Chosen) -> Vec<Call> {
    let mut calls = Vec::new();
    for end in &plan.links[plan.line].ends {
        let interface = end.interface.as_str();
        let mut call = |line: String, input: String| {
            let words = line.split_whitespace().map(str::to_string).collect();
            calls.push(Call { node: end.node, words, input });
        };
        let by = [chosen.rate, chosen.loss, chosen.delay];
        if matches!(chosen.loss, Some(Means::Netem | Means::Nftables)) {
            call(format!("ip link set {interface} gso_max_segs 1"), String::new());
        }
        if by.contains(&Some(Means::Netem)) {
            call(format!("tc qdisc add dev {interface} root {}", netem(asked)), String::new());
        }
        if chosen.rate == Some(Means::Tbf) {
            call(format!("tc qdisc add dev {interface} root {}", tbf(asked)), String::new());
        }
        if chosen.loss == Some(Means::Nftables) {
            call("nft -f -".into(), nft(interface, asked.loss.map_or(0, |loss| loss.0)));
        }
    }
    calls
}

fn netem(asked: &LabRequest) -> String {
    // Packets under way at once: small ones of 256 bytes, at ten gigabits a second where no rate is
    // asked for.
    let bits =
        asked.delay_ns.unwrap_or(0) as f64 / 1e9 * asked.rate.unwrap_or(10_000_000_000) as f64;
    let limit = ((bits / 8.0 / 256.0) as u64 + 1_000).min(1_000_000);
    let mut line = format!("netem limit {limit}");
    if let Some(ns) = asked.delay_ns {
        line += &format!(" delay {}us", ns.div_ceil(1_000));
    }
    if let Some(loss) = asked.loss {
        line += &format!(" loss {loss}");
    }
    if let Some(rate) = asked.rate {
        line += &format!(" rate {rate}bit");
    }
    line
}

/// A bucket of a millisecond, of two packets at least; packets wait for at most 50 ms.
fn tbf(asked: &LabRequest) -> String {
    let rate = asked.rate.unwrap_or(0);
    let burst = (rate / 8 / 1_000).max(2 * u64::from(asked.mtu + 14));
    format!("tbf rate {rate}bit burst {burst}b latency 50ms")
}

/// Loses `parts` of a million of the packets that come in at `interface`.
fn nft(interface: &str, parts: u32) -> String {
    // That a number below a million is below a million needs no asking, and nft refuses to.
    let chosen = match parts {
        1_000_000.. => String::new(),
        parts => format!("numgen random mod 1000000 < {parts} "),
    };
    format!(
        "table netdev ipcmark {{ chain line {{ \
         type filter hook ingress device \"{interface}\" priority 0; policy accept; \
         {chosen}counter drop; }}\n}}\n"
    )
}

/// What is tried, in a namespace of its own whose only interface is `lo`.
pub fn trials() -> [(&'static str, String); 3] {
    [
        ("tc qdisc add dev lo root netem delay 1ms", String::new()),
        ("tc qdisc replace dev lo root tbf rate 1mbit burst 3000b latency 50ms", String::new()),
        ("nft -f -", nft("lo", 1)),
    ]
}
