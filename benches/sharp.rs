//! How sharp is an answer, alone and beside a stranger? Default runs whose launches take turns, against runs whose launches
//! are timed whole, in alternation: the half-widths of ratios to the reference, whether the same case under two names
//! differs, and whether it would with one of both 5 % slower (which multiplies its times, and so its ratios).
//!
//! `cargo bench --bench sharp [-- --quick]`. Exit code 1 where the median half-width in turns is beyond 3 % on one CPU and 6 %
//! across beside a stranger, or 1.5 % and 4 % alone; where more than one in ten of the pairs of the same case excludes 1; or where
//! fewer than nine in ten find 5 %.

mod common;

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use common::runs::{beside_a_stranger, measure, read};
use common::{Machine, ended, quick};

/// What a default run does, but the cases whose workers the scheduler places.
const TURNS: &str = "run -p same-cpu,same-llc";
const WHOLE: &str = "run -p same-cpu,same-llc --cycles 0";
/// Runs of each kind, and of a quick look.
const RUNS: [u64; 2] = [5, 1];
/// Largest median half-widths, on one CPU and across.
const ALONE: [f64; 2] = [0.015, 0.04];
const DISTURBED: [f64; 2] = [0.03, 0.06];
/// A planted slowdown.
const PLANTED: f64 = 1.05;

fn main() -> ExitCode {
    let machine = Machine::look();
    let both = || -> Result<bool, String> {
        let alone = found("alone", ALONE)?;
        Ok(beside_a_stranger(&machine, || found("beside a stranger", DISTURBED))? && alone)
    };
    ended(both())
}

/// What runs of one kind came to.
#[derive(Default)]
struct Found {
    /// Half-widths of log ratios, on one CPU and across.
    widths: [Vec<f64>; 2],
    /// Intervals of ratios of the same case under two names.
    twins: Vec<(f64, f64)>,
}

impl Found {
    fn take(&mut self, run: &Value) {
        let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
        for group in list(run, "comparisons") {
            let across = usize::from(group["placement"] != "same-cpu");
            let ends = |value: &Value| value["low"].as_f64().zip(value["high"].as_f64());
            for (low, high) in list(&group, "standings").iter().filter_map(ends) {
                self.widths[across].push((high / low).ln() / 2.0);
            }
            self.twins.extend(ends(&group["twin_check"]));
        }
    }

    /// The median half-widths, on one CPU and across; NaN without any.
    fn middle(&mut self) -> [f64; 2] {
        self.widths.each_mut().map(|values| {
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
        })
    }
}

/// Measures and prints; whether all is as sharp as it should be.
fn found(when: &str, most: [f64; 2]) -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let [mut turns, mut whole] = [Found::default(), Found::default()];
    for nth in 0..RUNS[usize::from(quick())] {
        turns.take(&one(folder.path(), TURNS, 2 * nth)?);
        whole.take(&one(folder.path(), WHOLE, 2 * nth + 1)?);
    }
    println!("{when}: median half-width of ratios to the reference");
    for (name, found) in [("in turns", &mut turns), ("timed whole", &mut whole)] {
        let [one, across] = found.middle().map(|value| format!("{:.2} %", 100.0 * value));
        let differ = found.twins.iter().filter(|twin| twin.0 > 1.0 || twin.1 < 1.0).count();
        let finds = found.twins.iter().filter(|twin| twin.0 * PLANTED > 1.0).count();
        let pairs = found.twins.len();
        println!(
            "  {name:<11}  one CPU {one:>7}  across {across:>7}  the same case differs in {differ} of {pairs}, 5 % more \
             in {finds}"
        );
    }
    let differ = turns.twins.iter().filter(|twin| twin.0 > 1.0 || twin.1 < 1.0).count();
    let finds = turns.twins.iter().filter(|twin| twin.0 * PLANTED > 1.0).count();
    let sharp = turns.middle().iter().zip(most).all(|(found, most)| *found <= most);
    let pairs = turns.twins.len();
    Ok(sharp && 10 * differ <= pairs.max(10) && 10 * finds >= 9 * pairs)
}

fn one(folder: &Path, words: &str, nth: u64) -> Result<Value, String> {
    read(&measure(folder, words, nth)?)
}
