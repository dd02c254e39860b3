//! What there is to say of a laboratory: as it was made, and whether it is still so.

use serde::Serialize;

use super::plan::{NodeKind, Plan, ipv4, ipv6};
use super::price::Price;
use super::relay::{Counts, read_counts};
use super::state::State;
use sys::identity::Liveness;

#[derive(Debug, Serialize)]
pub struct Status {
    pub name: String,
    /// Whether it can be used.
    pub condition: Condition,
    pub missing: Vec<String>,
    /// `a ── s1 ══ r1 ── b`; `══` is the line that is impaired.
    pub chain: String,
    /// Further hosts and what they hang on: `c on s1`.
    pub further: Vec<String>,
    /// Its hosts, in the order of their letters.
    pub hosts: Vec<Host>,
    /// Largest packet of every link, in bytes.
    pub mtu_bytes: u32,
    /// What is done to packets on the line, in each direction.
    pub impairments: Vec<Impairment>,
    pub relay: Option<Relay>,
}

/// Whether a laboratory can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    Up,
    /// It is being made, or the process that made it was killed.
    HalfMade,
    /// Something of it is gone.
    Broken,
}

#[derive(Debug, Serialize)]
pub struct Host {
    pub name: String,
    /// Its network namespace, as `ip netns` names it.
    pub namespace: String,
    /// Its IPv4 address.
    pub ipv4: String,
    /// Its IPv6 address.
    pub ipv6: String,
}

/// One thing that is done to packets.
#[derive(Debug, Serialize)]
pub struct Impairment {
    /// `rate`, `loss` or `delay`.
    pub what: &'static str,
    /// In bits a second, as a share of 1, or in ns.
    pub value: f64,
    /// The value's unit: `bit/s`, `1`, `ns`.
    pub unit: &'static str,
    /// What does it, in words.
    pub means: &'static str,
}

#[derive(Debug, Serialize)]
pub struct Relay {
    pub pid: u32,
    /// Whether it runs.
    pub lives: bool,
    pub seed: u64,
    /// What it has done with frames from the side of `a`, and from that of `b`; at most a second ago.
    pub counts: Option<[Counts; 2]>,
    pub price: Option<Price>,
}

impl Status {
    pub fn of(state: &State) -> Status {
        let plan = Plan::of(&state.asked);
        let gone = state.namespaces.iter().filter(|made| !made.is_there());
        let mut missing: Vec<String> =
            gone.map(|made| format!("namespace {}", made.name)).collect();
        let relay = state.relay.as_ref().map(|relay| Relay {
            pid: relay.pid,
            lives: relay.liveness() != Liveness::Dead,
            seed: state.asked.seed,
            counts: read_counts(&state.asked.name),
            price: state.price,
        });
        missing.extend(
            relay.iter().filter(|relay| !relay.lives).map(|relay| format!("relay {}", relay.pid)),
        );
        let condition = match (state.complete, missing.is_empty()) {
            (false, _) => Condition::HalfMade,
            (true, true) => Condition::Up,
            (true, false) => Condition::Broken,
        };
        Status {
            name: state.asked.name.clone(),
            condition,
            missing,
            chain: plan.drawing(state.asked.is_impaired()),
            further: plan.further_hosts(),
            hosts: hosts(&plan),
            mtu_bytes: plan.mtu,
            impairments: impairments(state),
            relay,
        }
    }
}

fn hosts(plan: &Plan) -> Vec<Host> {
    let hosts = plan.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Host);
    let mut hosts: Vec<Host> = hosts
        .filter_map(|(node, other)| {
            let (segment, end) = plan.ends_of(node).next()?;
            let number = end.number?;
            Some(Host {
                name: other.name.clone(),
                namespace: plan.namespace(node),
                ipv4: ipv4(segment, number),
                ipv6: ipv6(segment, number),
            })
        })
        .collect();
    hosts.sort_by(|one, other| one.name.cmp(&other.name));
    hosts
}

fn impairments(state: &State) -> Vec<Impairment> {
    let (asked, chosen) = (&state.asked, &state.chosen);
    let loss = asked.loss.map(|loss| f64::from(loss.0) / 1e6);
    let all = [
        ("rate", asked.rate.map(|rate| rate as f64), "bit/s", chosen.rate),
        ("loss", loss, "1", chosen.loss),
        ("delay", asked.delay_ns.map(|number| number as f64), "ns", chosen.delay),
    ];
    let asked_for = all.into_iter().filter_map(|(what, value, unit, means)| {
        Some(Impairment { what, value: value?, unit, means: means?.name() })
    });
    asked_for.collect()
}
