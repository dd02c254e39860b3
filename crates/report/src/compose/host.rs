//! All that is known of a machine, field by field.

use serde_json::Value;

use crate::units;
use model::host::Host;

/// `2 CPUs`, as many as are online.
pub(super) fn cpus_of(host: &Host) -> String {
    match &host.cpus_online {
        Some(online) => units::counted(online.len() as u64, "CPU"),
        None => "an unknown number of CPUs".into(),
    }
}

/// `Intel(R) Xeon(R) Processor, 2 CPUs, Linux 6.18`.
pub(super) fn in_short(host: &Host) -> String {
    let model = host.processor.name_or_unknown();
    let kernel = host.kernel.release.as_deref().unwrap_or("unknown");
    format!("{model}, {}, Linux {kernel}", cpus_of(host))
}

/// What most changes a result, in the order of a page; the rest of the record follows.
const FIRST: [&str; 12] = [
    "processor.name",
    "cpus_online",
    "smt.active",
    "hypervisor.flag",
    "container.kind",
    "kernel.release",
    "kernel.preemption.mode",
    "kernel.hz",
    "frequency.driver",
    "idle.driver",
    "clock_source.current",
    "memory.total_bytes",
];

/// All that is known of a machine, field by field, what matters most first.
pub(super) fn facts(host: &Host) -> Vec<(String, String)> {
    let mut host = serde_json::to_value(host).unwrap_or(Value::Null);
    // Findings have a section of their own.
    host.as_object_mut().and_then(|host| host.remove("findings"));
    let mut facts = Vec::new();
    flatten("", &host, &mut facts);
    let place = |key: &str| FIRST.iter().position(|text| *text == key).unwrap_or(FIRST.len());
    facts.sort_by_key(|(key, _)| place(key));
    facts
}

/// The record as `a.b.c` and value; what is absent is said to be so.
fn flatten(path: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.into() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&below(key), value, facts);
            }
        }
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
            let words: Vec<String> = items.iter().map(plain).collect();
            facts.push((path.into(), words.join(" ")));
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                flatten(&below(&nth.to_string()), item, facts);
            }
        }
        leaf => facts.push((path.into(), plain(leaf))),
    }
}

/// What is said of what couldn't be read.
pub(super) const NOT_KNOWN: &str = "not known here";

fn plain(value: &Value) -> String {
    match value {
        Value::Null => NOT_KNOWN.into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
