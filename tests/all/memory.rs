//! On which node memory lies: recorded for every launch, and as it was asked for, or a row that says why not.

use crate::cli_support::{Bench, has, list, must_fit_the_schema, results};

/// Whether this kernel knows of nodes; None where it doesn't, said aloud.
fn has_nodes() -> Option<()> {
    let has = std::path::Path::new("/sys/devices/system/node/node0").exists();
    if !has {
        eprintln!("skipped nodes of memory: this kernel was built without NUMA");
    }
    has.then_some(())
}

#[test]
fn where_memory_lies_is_recorded_and_as_asked() {
    let Some(()) = has_nodes() else { return };
    let bench = Bench::new();
    bench.must("run pipe shm-ring -w latency -s 64 -p same-cpu --memory free,local,node:0 --launches 2 --samples 200");
    let document = bench.export();
    must_fit_the_schema(&document);
    let mut levels = Vec::new();
    for case in results(&document) {
        let nodes = list(&case["noise"]["memory_nodes"]);
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
    has(&bench.must("report last").out, &["memory on node 0"]);
}

#[test]
fn a_node_without_memory_is_a_row_with_its_reason() {
    let Some(()) = has_nodes() else { return };
    let bench = Bench::new();
    let said =
        bench.must_lack("run pipe -w latency -s 64 -p same-cpu --memory node:900 --launches 1");
    has(
        &format!("{}{}", said.out, said.err),
        &["--memory node:900: this process can get no memory there"],
    );
}
