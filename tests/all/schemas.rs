//! docs/*.schema.json are those of the types that are written.

use crate::cli_support::Bench;

/// To write them anew: `IPCMARK_WRITE=1 cargo test schemas::`.
#[test]
fn the_published_schemas_are_those_of_the_types() {
    let bench = Bench::new();
    for name in ["results", "comparison", "choice", "events"] {
        let made = bench.must(&format!("schema {name}")).out;
        let path = format!("{}/docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("IPCMARK_WRITE").is_some() {
            std::fs::write(&path, &made).expect("a file of docs/");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == made, "{path} is another: IPCMARK_WRITE=1 cargo test schemas::");
    }
}
