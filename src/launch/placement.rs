//! Placement: which CPUs the workers run on. A factor of every case, never left to chance
//! unless asked for by the name `free`.

use std::fmt;

use serde::{Deserialize, Serialize};

use machine::{Relation, Topology};
use mechanisms::{Variant, Waits};

/// Where the workers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Placement {
    /// Wherever the scheduler puts them; where that was is recorded.
    Free,
    /// Both on one CPU.
    SameCpu,
    /// On two hardware threads of one core.
    SmtSibling,
    /// On two cores that share their last-level cache.
    SameLlc,
    /// On two cores of one memory node that don't.
    CrossLlc,
    /// On two memory nodes.
    CrossNode,
    /// Initiator's and responder's CPU, as the user named them; never swapped.
    Cpus(u32, u32),
}

impl Placement {
    /// Every placement with a name.
    pub const NAMED: [Placement; 6] = [
        Placement::Free,
        Placement::SameCpu,
        Placement::SmtSibling,
        Placement::SameLlc,
        Placement::CrossLlc,
        Placement::CrossNode,
    ];

    /// Every named placement that pins.
    pub const PINNED: [Placement; 5] = [
        Placement::SameCpu,
        Placement::SmtSibling,
        Placement::SameLlc,
        Placement::CrossLlc,
        Placement::CrossNode,
    ];

    /// Parses a name, or an explicit pair `INITIATOR,RESPONDER`.
    pub fn parse(text: &str) -> Result<Placement, String> {
        if let Some((initiator, responder)) = text.split_once(',') {
            let cpu = |text: &str| {
                let way_out = "write INITIATOR,RESPONDER, as in 0,1";
                text.trim().parse().map_err(|_| format!("`{text}` is not a CPU: {way_out}"))
            };
            return Ok(Placement::Cpus(cpu(initiator)?, cpu(responder)?));
        }
        Placement::NAMED.into_iter().find(|it| it.to_string() == text).ok_or_else(|| {
            let names = Placement::NAMED.map(|it| it.to_string());
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            mechanisms::unknown("placement", text, &names)
        })
    }

    /// Where both workers run, or why this machine has no such place.
    pub fn resolve(self, topology: &Topology, allowed: &[u32]) -> Result<Place, String> {
        let relation = match self {
            Placement::Free => return Ok(Place::FREE),
            Placement::Cpus(initiator, responder) => {
                for cpu in [initiator, responder] {
                    check_cpu(cpu, topology, allowed)?;
                }
                return Ok(Place { cpus: Some((initiator, responder)), ..Place::FREE });
            }
            Placement::SameCpu => Relation::SameCpu,
            Placement::SmtSibling => Relation::SmtSibling,
            Placement::SameLlc => Relation::SameLlc,
            Placement::CrossLlc => Relation::CrossLlc,
            Placement::CrossNode => Relation::CrossNode,
        };
        let cpus =
            topology.pair(relation, allowed).ok_or_else(|| topology.why_not(relation, allowed))?;
        Ok(Place { cpus: Some(cpus), swappable: cpus.0 != cpus.1, ..Place::FREE })
    }

    /// Where the initiator runs here, and the responder on another host, which may use the CPUs
    /// `allowed_there`; `one_kernel` says that both hosts have the same CPUs.
    pub fn resolve_apart(
        self,
        topology: &Topology,
        allowed: &[u32],
        allowed_there: &[u32],
        one_kernel: bool,
    ) -> Result<Place, String> {
        let apart = !one_kernel;
        match self {
            Placement::Free => Ok(Place { apart, ..Place::FREE }),
            Placement::Cpus(initiator, responder) => {
                check_cpu(initiator, topology, allowed)?;
                if !allowed_there.contains(&responder) {
                    let list = machine::format_cpu_list(allowed_there);
                    return Err(format!(
                        "CPU {responder} is not the peer's to use: choose from {list}"
                    ));
                }
                Ok(Place { cpus: Some((initiator, responder)), apart, ..Place::FREE })
            }
            _ => Err(format!(
                "{self} is a relation of one machine's CPUs: with --peer choose free, or a CPU here \
                 and one there as in 0,1"
            )),
        }
    }

    /// Why `variant` isn't measured at `place` unless that is asked for explicitly.
    pub fn objection(place: Place, variant: &Variant) -> Option<String> {
        (place.shares_one_cpu() && variant.waits() == Waits::Spinning).then(|| {
            "spinning on one CPU costs a time slice per message; --spin-on-one-cpu insists".into()
        })
    }
}

/// The error for a CPU that isn't there, is offline, or may not be used.
pub fn check_cpu(cpu: u32, topology: &Topology, allowed: &[u32]) -> Result<(), String> {
    let list = || machine::format_cpu_list(allowed);
    if topology.offline.contains(&cpu) {
        return Err(format!("CPU {cpu} is offline: choose from {}", list()));
    }
    if topology.cpu(cpu).is_none() {
        return Err(format!("CPU {cpu} does not exist: choose from {}", list()));
    }
    if !allowed.contains(&cpu) {
        return Err(format!(
            "CPU {cpu} is outside this process's affinity: choose from {}",
            list()
        ));
    }
    Ok(())
}

/// A placement on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The two CPUs; None leaves the workers free.
    pub cpus: Option<(u32, u32)>,
    /// Whether the roles may swap CPUs, to balance.
    pub swappable: bool,
    /// Whether they are on two machines: then equal numbers are not one CPU.
    pub apart: bool,
}

impl Place {
    /// Wherever the scheduler puts the workers of one machine.
    pub const FREE: Place = Place { cpus: None, swappable: false, apart: false };

    /// Whether both workers share a CPU.
    pub fn shares_one_cpu(self) -> bool {
        !self.apart && self.cpus.is_some_and(|(a, b)| a == b)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Placement::Free => "free",
            Placement::SameCpu => "same-cpu",
            Placement::SmtSibling => "smt-sibling",
            Placement::SameLlc => "same-llc",
            Placement::CrossLlc => "cross-llc",
            Placement::CrossNode => "cross-node",
            Placement::Cpus(a, b) => return write!(f, "{a},{b}"),
        })
    }
}

impl From<Placement> for String {
    fn from(placement: Placement) -> String {
        placement.to_string()
    }
}

impl TryFrom<String> for Placement {
    type Error = String;
    fn try_from(text: String) -> Result<Placement, String> {
        Placement::parse(&text)
    }
}
