//! What is said although the test passes.

use std::io::Write;

/// Says something aloud: unlike `eprintln!`, also when the test passes.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
