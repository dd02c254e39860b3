//! `route`: where the two halves of a launch are. A factor of every case: all of it here (`local`),
//! its responder on the host behind `--peer` (`peer`), or both in a laboratory that the run makes
//! for itself (`lab:routers=2,delay=1ms`).

use std::fmt::{self, Display};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lab::{self, Loss};
use crate::named::as_text;
use crate::nearest::unknown;

/// Largest packet of a laboratory's links, in bytes, where none is named: that of Ethernet.
const USUAL_MTU: u32 = 1500;
/// Most routes of a run: a laboratory is two network stacks and more.
const MOST: usize = 32;
/// What a laboratory's level may say.
const OPTIONS: [&str; 6] = ["routers", "switches", "mtu", "rate", "loss", "delay"];

/// Where the two halves of a launch are.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub enum Route {
    /// Both on this host.
    #[default]
    Local,
    /// The responder's on the host behind `--peer`.
    Peer,
    /// Each in a host of a laboratory on this machine.
    Lab(Chain),
}

/// What lies between the two hosts of a laboratory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain {
    /// Routers between them.
    pub routers: usize,
    /// Switches between them.
    pub switches: usize,
    mtu: u32,
    rate: Option<u64>,
    loss: Option<Loss>,
    delay_ns: Option<u64>,
}

impl Route {
    /// Reads `local`, `peer`, `lab`, or `lab:routers=2,switches=1,mtu=9000,rate=…,loss=…,delay=…`.
    ///
    /// # Errors
    /// What is wrong, and what is taken.
    pub fn parse(text: &str) -> Result<Route, String> {
        match text.split_once(':') {
            Some(("lab", options)) => Chain::parse(options).map(Route::Lab),
            None if text == "lab" => Ok(Route::Lab(Chain::CABLE)),
            None if text == "local" => Ok(Route::Local),
            None if text == "peer" => Ok(Route::Peer),
            _ => Err(unknown("route", text, &["local", "peer", "lab", "lab:routers=1"])),
        }
    }

    /// Reads several with commas between them: an option belongs to the laboratory before it.
    ///
    /// # Errors
    /// As [`Route::parse`].
    pub fn parse_list(text: &str) -> Result<Vec<Route>, String> {
        let mut words: Vec<String> = Vec::new();
        for part in text.split(',').map(str::trim) {
            match words.last_mut() {
                Some(last) if last.starts_with("lab:") && is_option(part) => {
                    last.push(',');
                    last.push_str(part);
                }
                _ => words.push(part.into()),
            }
        }
        let mut found: Vec<Route> = Vec::new();
        for route in words.iter().map(|word| Route::parse(word)) {
            let route = route?;
            if !found.contains(&route) {
                found.push(route);
            }
            if found.len() > MOST {
                return Err(format!("more than {MOST} routes: each laboratory is a host or more"));
            }
        }
        Ok(found)
    }

    /// Whether both halves are on this host, in one network.
    pub fn is_local(&self) -> bool {
        *self == Route::Local
    }

    /// What lies between the hosts, if it is a laboratory.
    pub fn chain(&self) -> Option<&Chain> {
        match self {
            Route::Lab(chain) => Some(chain),
            _ => None,
        }
    }

    /// The same without its routers, or its switches: what is alike along them.
    pub fn without(&self, routers: bool, switches: bool) -> Route {
        match self {
            Route::Lab(chain) => Route::Lab(Chain {
                routers: if routers { 0 } else { chain.routers },
                switches: if switches { 0 } else { chain.switches },
                ..chain.clone()
            }),
            other => other.clone(),
        }
    }
}

/// Whether `part` continues the options of a laboratory.
fn is_option(part: &str) -> bool {
    part.split_once('=').is_some_and(|(name, _)| !name.contains(':'))
}

impl Chain {
    const CABLE: Chain =
        Chain { routers: 0, switches: 0, mtu: USUAL_MTU, rate: None, loss: None, delay_ns: None };

    fn parse(text: &str) -> Result<Chain, String> {
        let mut chain = Chain::CABLE;
        let mut seen = Vec::new();
        for option in text.split(',') {
            let (name, value) = option.split_once('=').ok_or_else(|| {
                format!("lab: `{option}`: write options as in lab:routers=2,delay=1ms")
            })?;
            if seen.contains(&name) {
                return Err(format!("lab: {name} stands there twice: leave one out"));
            }
            seen.push(name);
            match name {
                "routers" => chain.routers = lab::hops(value)?,
                "switches" => chain.switches = lab::hops(value)?,
                "mtu" => chain.mtu = lab::mtu(value)?,
                "rate" => chain.rate = Some(lab::rate(value)?),
                // Nothing lost and nothing delayed is nothing asked for.
                "loss" => chain.loss = Some(lab::loss(value)?).filter(|loss| loss.0 > 0),
                "delay" => chain.delay_ns = Some(lab::delay(value)?).filter(|delay| *delay > 0),
                _ => return Err(unknown("option of lab", name, &OPTIONS)),
            }
        }
        Ok(chain)
    }

    /// Whether its line loses packets.
    pub fn loses(&self) -> bool {
        self.loss.is_some()
    }

    /// What its delays and its rate make of a round trip of messages of so many bytes, in ns.
    pub fn round_trip_ns(&self, bytes: u64) -> f64 {
        let wire = self.rate.map_or(0.0, |rate| 8e9 * bytes as f64 / rate as f64);
        2.0 * (self.delay_ns.unwrap_or(0) as f64 + wire)
    }

    /// The laboratory of that name between whose hosts this lies.
    pub fn asked(&self, name: &str, seed: u64) -> lab::LabRequest {
        lab::LabRequest {
            name: name.into(),
            hosts: 2,
            routers: self.routers,
            switches: self.switches,
            mtu: self.mtu,
            rate: self.rate,
            loss: self.loss,
            delay_ns: self.delay_ns,
            by: lab::By::Auto,
            seed,
        }
    }
}

impl Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Route::Local => f.write_str("local"),
            Route::Peer => f.write_str("peer"),
            Route::Lab(chain) => Display::fmt(chain, f),
        }
    }
}

impl Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |name: &str, number: usize| (number > 0).then(|| format!("{name}={number}"));
        let options = [
            count("routers", self.routers),
            count("switches", self.switches),
            (self.mtu != USUAL_MTU).then(|| format!("mtu={}", self.mtu)),
            self.rate.map(|rate| format!("rate={}", lab::rate_word(rate))),
            self.loss.map(|loss| format!("loss={loss}")),
            self.delay_ns.map(|number| format!("delay={}", lab::delay_word(number))),
        ];
        let parts: Vec<String> = options.into_iter().flatten().collect();
        if parts.is_empty() { f.write_str("lab") } else { write!(f, "lab:{}", parts.join(",")) }
    }
}

as_text!(Route, Route::parse);

/// A laboratory of a run, as it is kept: it is gone when its run is over.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LabRecord {
    /// The level that it was made for.
    pub route: Route,
    /// `a ── s1 ══ r1 ── b`; `══` is the line that is impaired.
    pub chain: String,
    /// Largest packet of every link, in bytes.
    pub mtu_bytes: u32,
    /// What is done to packets on the line each way, and by which means.
    pub impairments: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_written_in_one_way() {
        let same = |text: &str| Route::parse(text).unwrap().to_string();
        for level in ["local", "peer", "lab", "lab:routers=2", "lab:routers=1,switches=8,mtu=9000"]
        {
            assert_eq!(same(level), level);
        }
        assert_eq!(same("lab:routers=0"), "lab");
        assert_eq!(same("lab:mtu=1500,switches=1"), "lab:switches=1");
        assert_eq!(
            same("lab:delay=1500us,loss=1.0%,rate=1000mbit"),
            "lab:rate=1gbit,loss=1%,delay=1ms500us"
        );
        assert_eq!(same(&same("lab:delay=1500us")), "lab:delay=1ms500us");
    }

    #[test]
    fn options_in_a_list_belong_to_the_laboratory_before_them() {
        let of = |text: &str| {
            let list = Route::parse_list(text)?;
            Ok::<_, String>(list.iter().map(Route::to_string).collect::<Vec<_>>())
        };
        let text = "local,lab:routers=2,switches=1,lab,peer,local";
        assert_eq!(of(text).unwrap(), ["local", "lab:routers=2,switches=1", "lab", "peer"]);
        for (wrong, word) in [
            ("lcoal", "`local`"),
            ("local,routers=1", "routers=1"),
            ("lab:router=1", "`routers`"),
            ("lab:routers=33", "0 to 32"),
            ("lab:routers=1,routers=2", "twice"),
            ("lab:loss=5", "5%"),
            ("lab:", "routers=2"),
        ] {
            let error = of(wrong).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{wrong}: {error}");
        }
    }
}
