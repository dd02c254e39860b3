//! One JSON object: docs/results.schema.json describes it.

use analysis::Judged;

/// The run as an object, indented.
pub fn text(judged: &Judged) -> String {
    let mut text = serde_json::to_string_pretty(&judged.export()).expect("a run is always JSON");
    text.push('\n');
    text
}
