//! What must be alike for two runs to be compared: fields of the machine and of the program for
//! all cases, and how a case was measured for each.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::measured::{Measured, MeasuredCase};
use model::factor;
use model::plugin::Plugin;

/// A field in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
pub struct Difference {
    /// What it is.
    pub field: String,
    /// In the first run.
    pub a: String,
    /// In the second.
    pub b: String,
}

/// Names, and where exports hold them. The boot is not among them, nor is the host's name: one
/// machine is comparable with itself, and so are two that are alike in all of these.
const OF_THE_MACHINE: [(&str, &str); 25] = [
    ("ipcmark", "/tool"),
    ("architecture", "/host/processor/architecture"),
    ("CPU", "/host/processor/name"),
    ("CPU stepping", "/host/processor/stepping"),
    ("CPU parts", "/host/processor/parts"),
    ("microcode", "/host/processor/microcode"),
    ("online CPUs", "/host/cpus_online"),
    ("SMT", "/host/smt/active"),
    ("kernel", "/host/kernel/release"),
    ("kernel build", "/host/kernel/version"),
    ("preemption", "/host/kernel/preemption/mode"),
    ("timer tick (Hz)", "/host/kernel/hz"),
    ("sched_ext scheduler", "/host/kernel/sched_ext"),
    ("scheduling", "/host/limits/scheduling"),
    ("mitigations", "/host/kernel/mitigations"),
    ("governor", "/host/frequency/governors"),
    ("frequency driver", "/host/frequency/driver"),
    ("boost", "/host/frequency/boost/on"),
    ("hypervisor", "/host/hypervisor"),
    ("container", "/host/container/kind"),
    ("CPU quota", "/host/cgroup/cpu_quota"),
    ("usable CPUs", "/host/cgroup/cpus_effective"),
    ("memory limit", "/host/cgroup/memory_max_bytes"),
    ("clock source", "/host/clock_source/current"),
    ("clock", "/clock/kind"),
];

/// The fields in which the machines or the programs differ; of a fleet each node is one, by its name.
pub fn of_the_machine(a: &Measured, b: &Measured) -> Vec<Difference> {
    let mut found = Vec::new();
    let (of_a, of_b) = (nodes(a), nodes(b));
    let is_node = |pointer: &str| pointer.starts_with("/host") || pointer.starts_with("/clock");
    for (name, pointer) in OF_THE_MACHINE {
        if of_a.is_empty() || of_b.is_empty() || !is_node(pointer) {
            differing(name, a.field(pointer), b.field(pointer), &mut found);
            continue;
        }
        for (node, a) in &of_a {
            let Some((_, b)) = of_b.iter().find(|pair| pair.0 == *node) else { continue };
            let field = |of: &Value| of.pointer(pointer).cloned().unwrap_or_default();
            differing(&format!("{name} ({node})"), &field(a), &field(b), &mut found);
        }
    }
    found
}

/// The plug-ins of both runs whose file isn't the same: what may be the point of a comparison, and is no hindrance.
pub fn of_plugins(a: &Measured, b: &Measured) -> Vec<Difference> {
    let of = |run: &Measured| -> Vec<Plugin> {
        serde_json::from_value(run.field("/request/plugins").clone()).unwrap_or_default()
    };
    let what = |plugin: &Plugin| {
        let start = plugin.sha256.get(..12).unwrap_or(&plugin.sha256);
        format!("version {}, SHA-256 {start}…", plugin.version)
    };
    let all_b = of(b);
    let both = of(a).into_iter().filter_map(|plugin| {
        let other = all_b.iter().find(|other| other.name == plugin.name)?;
        let differs = other.sha256 != plugin.sha256;
        differs.then(|| Difference { field: plugin.name.clone(), a: what(&plugin), b: what(other) })
    });
    both.collect()
}

/// The nodes of a fleet that answered, each with its name.
fn nodes(run: &Measured) -> Vec<(&str, &Value)> {
    let nodes = run.field("/fleet/nodes").as_array().into_iter().flatten();
    nodes
        .filter(|node| node["host"].is_object())
        .filter_map(|node| Some((node["name"].as_str()?, node)))
        .collect()
}

/// The fields in which the same case was measured otherwise.
///
/// What a pilot chose (samples that last 20 ms, a transfer that does) follows from how fast the
/// case is and is no difference; what was asked is. A batch of one and one of several are
/// different quantities: medians of single round trips, and of means.
pub fn of_the_case(
    a: (&Measured, &MeasuredCase),
    b: (&Measured, &MeasuredCase),
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut take = |name: &str, a: Value, b: Value| differing(name, &a, &b, &mut found);
    for row in factor::loose() {
        take(&format!("--{}", row.key), row.level(a.1).into(), row.level(b.1).into());
    }
    let cpus = |case: &MeasuredCase| case.place.cpus.map(|(a, b)| vec![a, b]).into();
    take("CPUs", cpus(a.1), cpus(b.1));
    // Where several CPUs are free a client has more of them, whatever the mechanism.
    if let (Some(of_a), Some(of_b)) = (a.1.rate, b.1.rate) {
        let generators = |rate: super::measured::MeasuredRate| rate.generators.unwrap_or(1).into();
        take("generators", generators(of_a), generators(of_b));
    }
    let samples = |run: &Measured, case: &MeasuredCase| {
        let own = run.field(&format!("/request/samples_by_workload/{}", case.workload.name()));
        let all = run.field("/request/samples");
        if own.is_null() { all.clone() } else { own.clone() }
    };
    take("--samples", samples(a.0, a.1), samples(b.0, b.1));
    let asked = [
        ("--verify", "/request/verify"),
        ("--warmup", "/request/warmup"),
        ("--cycles", "/request/cycles"),
    ];
    if !a.1.metric().is_transfer() {
        let batch = |case: &MeasuredCase| match case.batch {
            Some(1) => Value::from("1"),
            _ => Value::from("several"),
        };
        take("round trips per sample", batch(a.1), batch(b.1));
    }
    for (name, pointer) in asked {
        differing(name, a.0.field(pointer), b.0.field(pointer), &mut found);
    }
    found
}

/// Of two objects, the entries that differ, each under its own name.
fn differing(name: &str, a: &Value, b: &Value, found: &mut Vec<Difference>) {
    match (a, b) {
        (Value::Object(in_a), Value::Object(in_b)) => {
            let added = in_b.keys().filter(|key| !in_a.contains_key(*key));
            for key in in_a.keys().chain(added) {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
                let (a, b) = (of(in_a).unwrap_or_default(), of(in_b).unwrap_or_default());
                differing(&format!("{name}: {key}"), &a, &b, found);
            }
        }
        _ if a == b => {}
        _ => found.push(Difference { field: name.into(), a: words(a), b: words(b) }),
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_number) => {
            let items: Vec<String> = items.iter().map(Value::to_string).collect();
            items.join(",")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(a: Value, b: Value) -> Vec<String> {
        let mut found = Vec::new();
        differing("x", &a, &b, &mut found);
        found
            .into_iter()
            .map(|difference| format!("{} {} {}", difference.field, difference.a, difference.b))
            .collect()
    }

    #[test]
    fn an_object_tells_which_entry_differs() {
        let (a, b) = (json!({"p": 1, "q": "on", "r": null}), json!({"p": 1, "q": "off", "s": 2}));
        assert_eq!(found(a, b), ["x: q on off", "x: s none 2"]);
        assert_eq!(found(json!(null), json!({"p": 1})), ["x none {\"p\":1}"]);
        assert_eq!(found(json!([0, 1]), json!([0])), ["x 0,1 0"]);
        assert!(found(json!("same"), json!("same")).is_empty());
    }
}
