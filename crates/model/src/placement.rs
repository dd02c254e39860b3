//! Placement: which CPUs the workers run on. A factor of every case, never left to chance
//! unless asked for by the name `free`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::as_text;
use crate::nearest::unknown;

/// Where the workers run.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
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
    /// The initiator's CPU, as the user named it; the responder runs wherever the scheduler puts it.
    InitiatorCpu(u32),
    /// The same of the responder, beside a free initiator.
    ResponderCpu(u32),
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

    /// Parses a name, or an explicit pair `INITIATOR,RESPONDER`, of which one may be `free`.
    pub fn parse(text: &str) -> Result<Placement, String> {
        if let Some((initiator, responder)) = text.split_once(',') {
            let cpu = |text: &str| match text.trim() {
                "free" => Ok(None),
                word => word.parse().map(Some).map_err(|_| {
                    format!("`{text}` is not a CPU: write INITIATOR,RESPONDER, as in 0,1 or 0,free")
                }),
            };
            return Ok(Placement::of_cpus(cpu(initiator)?, cpu(responder)?));
        }
        Placement::NAMED.into_iter().find(|placement| placement.to_string() == text).ok_or_else(
            || {
                let names = Placement::NAMED.map(|placement| placement.to_string());
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                unknown("placement", text, &names)
            },
        )
    }

    /// The CPUs of the initiator and the responder; a worker without one is free.
    pub fn of_cpus(initiator: Option<u32>, responder: Option<u32>) -> Placement {
        match (initiator, responder) {
            (Some(initiator), Some(responder)) => Placement::Cpus(initiator, responder),
            (Some(initiator), None) => Placement::InitiatorCpu(initiator),
            (None, Some(responder)) => Placement::ResponderCpu(responder),
            (None, None) => Placement::Free,
        }
    }

    /// The CPUs that the user named, the initiator's first. Of a named placement none is.
    pub fn named_cpus(self) -> [Option<u32>; 2] {
        match self {
            Placement::Cpus(initiator, responder) => [Some(initiator), Some(responder)],
            Placement::InitiatorCpu(cpu) => [Some(cpu), None],
            Placement::ResponderCpu(cpu) => [None, Some(cpu)],
            _ => [None; 2],
        }
    }

    /// Whether a worker is left to the scheduler.
    pub fn leaves_free(self) -> bool {
        matches!(self, Placement::Free | Placement::InitiatorCpu(_) | Placement::ResponderCpu(_))
    }
}

/// A placement on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ResolvedPlacement {
    /// The two CPUs; None leaves the workers free, or one of them ([`Placement::leaves_free`]).
    pub cpus: Option<(u32, u32)>,
    /// Whether the roles may swap CPUs, to balance.
    pub swappable: bool,
    /// Whether they are on two machines: then equal numbers are not one CPU.
    #[serde(skip)]
    pub apart: bool,
}

impl ResolvedPlacement {
    /// Wherever the scheduler puts the workers of one machine.
    pub const FREE: ResolvedPlacement =
        ResolvedPlacement { cpus: None, swappable: false, apart: false };

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
            Placement::InitiatorCpu(cpu) => return write!(f, "{cpu},free"),
            Placement::ResponderCpu(cpu) => return write!(f, "free,{cpu}"),
        })
    }
}

as_text!(Placement, Placement::parse);

/// How close two CPUs are; each excludes the ones before it.
#[derive(
    JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// One CPU, for both.
    SameCpu,
    /// Two threads of one core.
    SmtSibling,
    /// Different cores of one node that share their last-level cache.
    SameLlc,
    /// Different last-level caches, one node.
    CrossLlc,
    /// Different memory nodes.
    CrossNode,
}

crate::named!(Relation {
    SameCpu => "same-cpu",
    SmtSibling => "smt-sibling",
    SameLlc => "same-llc",
    CrossLlc => "cross-llc",
    CrossNode => "cross-node",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placement_is_read_as_it_is_written_and_one_side_may_be_free() {
        for (text, cpus, free) in [
            ("0,free", [Some(0), None], true),
            ("free,3", [None, Some(3)], true),
            ("0,1", [Some(0), Some(1)], false),
            ("free", [None, None], true),
            ("same-cpu", [None, None], false),
        ] {
            let placement = Placement::parse(text).unwrap();
            let found = (placement.to_string(), placement.named_cpus(), placement.leaves_free());
            assert_eq!(found, (text.to_string(), cpus, free));
        }
        assert_eq!(Placement::parse("free, free"), Ok(Placement::Free));
        assert!(Placement::parse("0,fre").unwrap_err().contains("as in 0,1 or 0,free"));
    }
}
