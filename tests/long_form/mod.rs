//! How long a test that could go on for ever goes on: `IPCMARK_LONG=1` asks for the long forms, as
//! `.ci/run` does, and a larger number for so many times as much (CONTRIBUTING.md).

#![allow(dead_code)] // each test binary takes a part of it

/// Whether the long forms were asked for.
pub fn is_long() -> bool {
    many(0, 1) > 0
}

/// So many of something: `short`, or `long` as often as was asked for.
pub fn many(short: u64, long: u64) -> u64 {
    let asked = std::env::var("IPCMARK_LONG").unwrap_or_default();
    match asked.as_str() {
        "" | "0" => short,
        times => {
            let times = times.parse::<u64>();
            long * times.unwrap_or_else(|_| panic!("IPCMARK_LONG={asked}: write a number"))
        }
    }
}
