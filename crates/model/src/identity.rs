//! What tells a case from the others of its run: every factor by its key, with its level. Exports, events and labels
//! read this list, so that a factor which is added to a case is in all of them.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::case::Case;
use crate::factor::{FACTORS, Level};
use crate::load::Service;
use crate::total::Total;

/// Every factor of a case by its key, in the order in which exports have them. As JSON a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity(Vec<(&'static str, Level)>);

impl Identity {
    /// That of `case`; `nodes` and `concurrent` are those of a fleet's. Instrumentation and what runs beside are not in
    /// it: such a case is the same as the result that it stands beside.
    pub fn of(case: &Case, nodes: &[String], concurrent: Option<&str>) -> Identity {
        let mut levels = Vec::new();
        for (key, level) in FACTORS.iter().flat_map(|row| row.columns) {
            levels.push((*key, level(case)));
            if *key == "route" {
                let concurrent = concurrent.map_or(Level::Absent, |word| Level::Word(word.into()));
                levels.push(("nodes", Level::Nodes(nodes.to_vec())));
                levels.push(("concurrent", concurrent));
            }
        }
        levels.push(("twin", Level::Flag(case.twin)));
        Identity(levels)
    }

    /// Its factors, in order.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, &Level)> {
        self.0.iter().map(|(key, level)| (*key, level))
    }

    /// The level of the factor called `key`.
    pub fn level(&self, key: &str) -> &Level {
        self.0.iter().find(|pair| pair.0 == key).map_or(&Level::Absent, |pair| &pair.1)
    }

    /// The same but for the factors called `keys`: what cases that differ in these alone have in common.
    pub fn without(mut self, keys: &[&str]) -> Identity {
        self.0.retain(|pair| !keys.contains(&pair.0));
        self
    }

    /// The same as columns of a table, in which a cell is a number, a word, a flag, or absent.
    pub fn columns(&self) -> Vec<(&'static str, Level)> {
        let mut columns = Vec::new();
        for (key, level) in &self.0 {
            match (*key, level) {
                ("cpus", level) => {
                    let cpu = |nth: usize| match level {
                        Level::Cpus(cpus) => Level::Count(cpus[nth].into()),
                        _ => Level::Absent,
                    };
                    columns.extend([("cpu_first", cpu(0)), ("cpu_second", cpu(1))]);
                }
                ("nodes", level) => {
                    let node = |nth: usize| match level {
                        Level::Nodes(nodes) => nodes.get(nth).cloned().map(Level::Word),
                        _ => None,
                    };
                    let node = |nth: usize| node(nth).unwrap_or(Level::Absent);
                    columns.extend([("node", node(0)), ("far_node", node(1))]);
                }
                // One type for all of a column: a reader that sees numbers first takes a word for an error.
                ("total", level) => {
                    let (word, bytes) = match level {
                        Level::Total(Total::Bytes(bytes)) => ("bytes", Level::Count(*bytes)),
                        Level::Total(Total::Long) => ("long", Level::Absent),
                        Level::Total(Total::Message) => ("message", Level::Absent),
                        _ => ("", Level::Absent),
                    };
                    columns.push(("total", said(word)));
                    columns.push(("total_bytes", bytes));
                }
                ("service", level) => {
                    let service = match level {
                        Level::Word(word) => word.parse::<Service>().ok(),
                        _ => None,
                    };
                    let (word, ns) = match service {
                        None => ("", Level::Absent),
                        Some(Service::None) => ("none", Level::Count(0)),
                        Some(Service::Fixed(ns)) => ("fixed", Level::Count(ns)),
                        Some(Service::Exponential(mean)) => ("exponential", Level::Count(mean)),
                    };
                    columns.push(("service", said(word)));
                    columns.push(("service_ns", ns));
                }
                // `0,1` is a number to R's readr.
                ("placement", Level::Word(word)) => {
                    columns.push(("placement", Level::Word(word.replace(',', "+"))));
                }
                (key, level) => columns.push((key, level.clone())),
            }
        }
        columns
    }
}

fn said(word: &str) -> Level {
    if word.is_empty() { Level::Absent } else { Level::Word(word.into()) }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Identity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Identity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let of_case = FACTORS.iter().flat_map(|row| row.columns.iter().map(|column| column.0));
        let keys: Vec<&str> = of_case.chain(["nodes", "concurrent", "twin"]).collect();
        let properties: serde_json::Map<_, _> =
            keys.iter().map(|key| (key.to_string(), true.into())).collect();
        schemars::json_schema!({ "type": "object", "required": keys, "properties": properties })
    }
}

impl Serialize for Identity {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (key, level) in &self.0 {
            map.serialize_entry(key, level)?;
        }
        map.end()
    }
}
