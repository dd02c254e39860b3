//! docs/FACTORS.md is what `model::factor` says.

use std::fmt::Write;

use model::factor::FACTORS;

const HEAD: &str = "# Factors

What a case can differ in. Each is a key of `[vary]` and `[fixed]` in a [study](STUDIES.md), of a claim's selector and of a
table's rows and columns; those with a flag are flags of `ipcmark run` and keys of `ipcmark.toml`, too. The columns are those of
exports ([FORMAT.md](FORMAT.md)). Two cases of a run that differ in one of these differ in a column.

| key | what it is | default | flag, with its levels | columns |
| --- | --- | --- | --- | --- |
";

/// To write it anew: `IPCMARK_WRITE=1 cargo test factors::`.
#[test]
fn the_documented_factors_are_those_of_the_table() {
    let mut text = HEAD.to_string();
    for row in &FACTORS {
        let usual = row.usual.map_or("–".to_string(), |level| format!("`{level}`"));
        let flag = row.plain.as_ref().map_or("–".to_string(), |plain| {
            format!("`--{} {}`", row.key, plain.levels.join("\\|"))
        });
        let columns: Vec<String> = row.columns.iter().map(|(key, _)| format!("`{key}`")).collect();
        let columns = if columns.is_empty() { "–".into() } else { columns.join(", ") };
        writeln!(text, "| `{}` | {} | {usual} | {flag} | {columns} |", row.key, row.summary)
            .expect("room");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/FACTORS.md");
    if std::env::var_os("IPCMARK_WRITE").is_some() {
        std::fs::write(path, &text).expect("docs/FACTORS.md");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == text, "docs/FACTORS.md is another: IPCMARK_WRITE=1 cargo test factors::");
}
