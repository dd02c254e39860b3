//! Placement: which CPUs the workers run on. A factor of every case, never left to chance
//! unless asked for by the name `free`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::nearest::unknown;

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
                let remedy = "write INITIATOR,RESPONDER, as in 0,1";
                text.trim().parse().map_err(|_| format!("`{text}` is not a CPU: {remedy}"))
            };
            return Ok(Placement::Cpus(cpu(initiator)?, cpu(responder)?));
        }
        Placement::NAMED.into_iter().find(|it| it.to_string() == text).ok_or_else(|| {
            let names = Placement::NAMED.map(|it| it.to_string());
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            unknown("placement", text, &names)
        })
    }
}

/// A placement on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedPlacement {
    /// The two CPUs; None leaves the workers free.
    pub cpus: Option<(u32, u32)>,
    /// Whether the roles may swap CPUs, to balance.
    pub swappable: bool,
    /// Whether they are on two machines: then equal numbers are not one CPU.
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

/// How close two CPUs are; each excludes the ones before it.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

impl Relation {
    /// All of them, from close to far.
    pub const ALL: [Relation; 5] = [
        Relation::SameCpu,
        Relation::SmtSibling,
        Relation::SameLlc,
        Relation::CrossLlc,
        Relation::CrossNode,
    ];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Relation::SameCpu => "same-cpu",
            Relation::SmtSibling => "smt-sibling",
            Relation::SameLlc => "same-llc",
            Relation::CrossLlc => "cross-llc",
            Relation::CrossNode => "cross-node",
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
