//! On which node memory lies: recorded for every launch, and as it was asked for, or a row that says why not.

use crate::cli_support::{Bench, must_fit_the_schema, results};

/// Whether this kernel knows of nodes; says aloud where it doesn't.
fn has_nodes() -> bool {
    let has = std::path::Path::new("/sys/devices/system/node/node0").exists();
    if !has {
        eprintln!("skipped nodes of memory: this kernel was built without NUMA");
    }
    has
}

#[test]
fn where_memory_lies_is_recorded_and_as_asked() {
    if !has_nodes() {
        return;
    }
    let bench = Bench::new();
    bench.must("run pipe shm-ring -w latency -s 64 -p same-cpu --memory free,local,node:0 --launches 2 --samples 200");
    let document = bench.export();
    must_fit_the_schema(&document);
    let mut levels = Vec::new();
    for case in results(&document) {
        let nodes = case["noise"]["memory_nodes"].as_array().expect("a list");
        assert!(!nodes.is_empty() && nodes.iter().all(serde_json::Value::is_u64), "{case}");
        let level = case["memory"].as_str().expect("a word").to_string();
        if level == "node:0" {
            assert_eq!(nodes, &[0], "{case}");
        }
        levels.push(level);
    }
    levels.sort();
    levels.dedup();
    assert_eq!(levels, ["free", "local", "node:0"]);
    let db = bench.open();
    let sql = "SELECT count(*) FROM launches WHERE round > 0 AND json_extract(record, '$.initiator.memory.shared') != '{}'";
    let of_rings: i64 = db.query_row(sql, [], |row| row.get(0)).expect("a number");
    assert!(of_rings >= 6, "the rings of {of_rings} launches");
    let report = bench.must("report last").out;
    assert!(report.contains("memory on node 0"), "{report}");
}

#[test]
fn a_node_without_memory_is_a_row_with_its_reason() {
    if !has_nodes() {
        return;
    }
    let bench = Bench::new();
    let said = bench.run("run pipe -w latency -s 64 -p same-cpu --memory node:900 --launches 1");
    assert_eq!(said.code, Some(5), "{}", said.err);
    let told = said.out + &said.err;
    assert!(told.contains("--memory node:900: this process can get no memory there"), "{told}");
    let said = Bench::new().run("run pipe --memory nod:0");
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("node:0"), "{}", said.err);
}
