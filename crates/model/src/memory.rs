//! On which node of a machine the memory of a launch lies.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::as_text;
use crate::nearest::unknown;
use crate::words::counted;

/// Where the memory of a launch is asked to lie: its message buffers, what its workers share, and what the kernel allocates for
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Memory {
    /// Where the kernel puts it, or the command that starts the launch asks for.
    #[default]
    Free,
    /// On the node of the CPU that touches it first.
    Local,
    /// On this node alone.
    Node(u32),
}

impl Memory {
    /// What any machine has.
    pub const WORDS: [&'static str; 3] = ["free", "local", "node:0"];

    /// `free`, `local`, `node:1`.
    ///
    /// # Errors
    /// The nearest right word.
    pub fn parse(word: &str) -> Result<Memory, String> {
        let node = word.strip_prefix("node:").and_then(|number| number.parse().ok());
        match (word, node) {
            ("free", _) => Ok(Memory::Free),
            ("local", _) => Ok(Memory::Local),
            (_, Some(node)) => Ok(Memory::Node(node)),
            _ => Err(unknown("place of memory", word, &Memory::WORDS)),
        }
    }

    /// Whether memory lies where it was asked to, by a worker on a CPU of node `own`.
    ///
    /// # Errors
    /// What lies elsewhere.
    pub fn check(self, found: &MemoryNodes, own: u32) -> Result<(), String> {
        let wanted = match self {
            Memory::Free => return Ok(()),
            Memory::Local => own,
            Memory::Node(node) => node,
        };
        // What both workers share is local to who touched it first.
        let shared = (self != Memory::Local).then_some(("shared memory", &found.shared));
        let elsewhere = [("message buffers", &found.buffers)].into_iter().chain(shared).find_map(
            |(what, nodes)| {
                let (node, pages) = nodes.iter().find(|(node, _)| **node != wanted)?;
                let lie = if *pages == 1 { "lies" } else { "lie" };
                let pages = counted(*pages, "page");
                Some(format!("{pages} of its {what} {lie} on node {node}, not on node {wanted}"))
            },
        );
        elsewhere.map_or(Ok(()), Err)
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Memory::Free => f.write_str("free"),
            Memory::Local => f.write_str("local"),
            Memory::Node(node) => write!(f, "node:{node}"),
        }
    }
}

as_text!(Memory, Memory::parse);

#[cfg(feature = "schema")]
impl JsonSchema for Memory {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Memory".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^(free|local|node:[0-9]+)$",
            "description": "Where the memory of a launch is asked to lie: `free` is where the kernel puts it, `local` the node \
                            of the CPU that touches it first, `node:1` that node alone.",
        })
    }
}

/// On which nodes pages lie, as the kernel tells (move_pages(2)): how many on each, by its number. Empty where it doesn't tell, or
/// where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MemoryNodes {
    /// Of the message buffers.
    pub buffers: BTreeMap<u32, u64>,
    /// Of what the workers share.
    pub shared: BTreeMap<u32, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(buffers: &[(u32, u64)], shared: &[(u32, u64)]) -> MemoryNodes {
        let map = |pairs: &[(u32, u64)]| pairs.iter().copied().collect();
        MemoryNodes { buffers: map(buffers), shared: map(shared) }
    }

    #[test]
    fn what_lies_elsewhere_than_asked_is_told() {
        let here = nodes(&[(1, 3)], &[(1, 64)]);
        assert_eq!(Memory::Node(1).check(&here, 0), Ok(()));
        assert_eq!(Memory::Local.check(&here, 1), Ok(()));
        assert_eq!(Memory::Free.check(&here, 0), Ok(()));
        let error = Memory::Node(0).check(&here, 0).unwrap_err();
        assert_eq!(error, "3 pages of its message buffers lie on node 1, not on node 0");
        let error = Memory::Node(1).check(&nodes(&[(1, 3)], &[(0, 2), (1, 62)]), 1).unwrap_err();
        assert_eq!(error, "2 pages of its shared memory lie on node 0, not on node 1");
        assert_eq!(Memory::Local.check(&nodes(&[(1, 3)], &[(0, 2)]), 1), Ok(()));
        assert_eq!(Memory::Node(1).check(&MemoryNodes::default(), 0), Ok(()), "nothing is told");
    }

    #[test]
    fn a_place_is_written_in_one_way() {
        for word in ["free", "local", "node:0", "node:12"] {
            assert_eq!(Memory::parse(word).unwrap().to_string(), word);
        }
        assert!(Memory::parse("nod:1").unwrap_err().contains("node:0"));
        assert!(Memory::parse("node:-1").is_err());
    }
}
