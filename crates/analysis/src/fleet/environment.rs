//! Where the nodes' environments differ: the record of each machine, field by field.

use std::collections::BTreeMap;

use serde_json::Value;

use store::StoredNode;

/// A field in which nodes differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Where it is in the record of the machine: `kernel.release`.
    pub field: String,
    /// Each value, with the nodes that have it; the most frequent first.
    pub values: Vec<(String, Vec<usize>)>,
}

/// What differs between any two machines, or from one moment to the next, and tells nothing.
const NO_DIFFERENCE: [&str; 6] = [
    "hostname",
    "boot_id",
    "findings",
    "memory.available_bytes",
    "memory.free_bytes",
    "limits.pid",
];

/// The fields in which the nodes that answered differ.
pub fn differing(nodes: &[StoredNode]) -> Vec<Differing> {
    let mut fields: BTreeMap<String, BTreeMap<String, Vec<usize>>> = BTreeMap::new();
    let mut met = 0;
    for (nth, node) in nodes.iter().enumerate() {
        let Some(far) = &node.far else { continue };
        met += 1;
        let mut flat = BTreeMap::new();
        let mut host = serde_json::to_value(&far.host).unwrap_or_default();
        for mount in host["mounts"].as_array_mut().into_iter().flatten() {
            // How full it is deviations from one moment to the next.
            mount.as_object_mut().map(|map| map.remove("free_bytes"));
        }
        flatten("", &host, &mut flat);
        flat.insert("clock.kind".into(), far.clock.kind.to_string());
        flat.retain(|field, _| {
            !NO_DIFFERENCE.iter().any(|difference| field.starts_with(difference))
        });
        for (field, value) in flat {
            fields.entry(field).or_default().entry(value).or_default().push(nth);
        }
    }
    let differs = |values: &BTreeMap<String, Vec<usize>>| {
        values.len() > 1 || values.values().any(|value| value.len() < met)
    };
    let sorted = |(field, values): (String, BTreeMap<String, Vec<usize>>)| {
        let mut values: Vec<(String, Vec<usize>)> = values.into_iter().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.1.len()));
        Differing { field, values }
    };
    fields.into_iter().filter(|field| differs(&field.1)).map(sorted).collect()
}

/// Every leaf under its path; a list is one leaf.
fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, found);
            }
        }
        Value::Null => drop(found.insert(path.into(), "none".into())),
        Value::String(text) => drop(found.insert(path.into(), text.clone())),
        other => drop(found.insert(path.into(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::clock::{ClockKind, Record};
    use model::host::Host;
    use model::peer::FarHost;

    #[test]
    fn only_what_differs_is_listed_with_the_nodes_that_have_it() {
        let clock = Record {
            kind: ClockKind::MonotonicRaw,
            tsc_unavailable: None,
            cost_ns: 20.0,
            step_ns: 1.0,
            ns_per_tick: 1.0,
            drift_ppm: None,
            monotonic_ppm: None,
            readings: Vec::new(),
        };
        let node = |name: &str, release: &str| {
            let mut host = Host { hostname: Some(name.into()), ..Host::default() };
            host.kernel.release = Some(release.into());
            let far = FarHost {
                host,
                clock: clock.clone(),
                addresses: Vec::new(),
                reached_at: None,
                network: None,
                allowed_cpus: Vec::new(),
            };
            StoredNode { name: name.into(), far: Some(far), floors: None, reason: None }
        };
        let gone = StoredNode { name: "z".into(), far: None, floors: None, reason: None };
        let found = differing(&[node("a", "6.1"), node("b", "6.2"), gone, node("c", "6.1")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].field, "kernel.release");
        assert_eq!(found[0].values, [("6.1".into(), vec![0, 3]), ("6.2".into(), vec![1])]);
    }
}
