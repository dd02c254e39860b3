//! Coverage-guided fuzzing of everything that the program reads: one binary, whose target is picked by
//! IPCMARK_FUZZ_TARGET, because linking one for each takes longer than running them (`fuzz/run`).
//!
//! A target panics where something broke that must hold: the input is then kept, and becomes a test of the
//! crate where it broke. Time (1 s an input) and memory (256 MB) are held by libFuzzer itself.

#![no_main]

mod codecs;
mod datagrams;
mod fleet;
mod frames;
mod host;
mod input;
mod messages;
mod object;
mod rows;
mod studies;
mod words;

#[allow(dead_code)]
#[path = "../../tests/cli_support/edit.rs"]
mod edit;
/// Runs that nobody measured, and changes of a store that keep its checksums right, as the tests make them.
#[allow(dead_code)]
#[path = "../../tests/cli_support/stored.rs"]
mod stored;

use std::sync::OnceLock;

type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 8] = [
    ("codecs", codecs::run),
    ("datagrams", datagrams::run),
    ("frames", frames::run),
    ("host", host::run),
    ("object", object::run),
    ("rows", rows::run),
    ("studies", studies::run),
    ("words", words::run),
];

static CHOSEN: OnceLock<Target> = OnceLock::new();

fn choose() {
    let asked = std::env::var("IPCMARK_FUZZ_TARGET").unwrap_or_default();
    let names = TARGETS.map(|(name, _)| name).join(", ");
    let (_, target) = TARGETS
        .into_iter()
        .find(|(name, _)| *name == asked)
        .unwrap_or_else(|| panic!("IPCMARK_FUZZ_TARGET={asked}: choose one of {names}"));
    // What the program does first: a partner that is gone is an error, not an end.
    sys::process::ignore_broken_pipes();
    CHOSEN.set(target).expect("chosen once");
}

libfuzzer_sys::fuzz_target!(init: choose(), |data: &[u8]| {
    CHOSEN.get().expect("chosen at the start")(data);
});
