//! Do two runs agree about ratios? Ten pairs of runs of the same cases, one after the other; for each case the
//! shift of its log ratios to the reference from the first run to the second, with its 95 % interval, which
//! should hold 0 nearly always. The same of absolute times stands beside: runs are a level.
//!
//! `cargo bench --bench pairs [-- --quick] [busy]`; `busy` has a stranger spin on one of the CPUs at random
//! times. Exit code 1 when fewer than nine in ten ratios agree.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use common::runs::{beside_a_stranger, measure, read};
use common::{Machine, ended, names, quick};
use stats::hodges_lehmann_shift;

const CASES: &str = "run pipe unix-stream eventfd tcp udp shm-ring -w latency -s 64";
/// Time of a run, pairs of runs; and those of a quick look.
const WHOLE: (&str, u64) = ("--budget 30s", 10);
const QUICK: (&str, u64) = ("--budget 5s", 2);
const REFERENCE: &str = "pipe";

fn main() -> ExitCode {
    let machine = Machine::look();
    let busy = names().iter().any(|word| word == "busy");
    ended(if busy { beside_a_stranger(&machine, pairs) } else { pairs() })
}

/// Shifts whose interval holds 0, and all.
#[derive(Clone, Copy, Default)]
struct Agreed {
    agree: u32,
    all: u32,
}

impl Agreed {
    /// Takes two runs' logarithms into account; those with too few launches for an interval are left out.
    fn add(&mut self, first: &[f64], second: &[f64]) {
        if let Some(shift) = hodges_lehmann_shift(second, first, 0.05) {
            self.all += 1;
            self.agree += u32::from(shift.low <= 0.0 && shift.high >= 0.0);
        }
    }

    fn summary(&self) -> String {
        format!("{} of {}", self.agree, self.all)
    }
}

fn pairs() -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (budget, pairs) = if quick() { QUICK } else { WHOLE };
    let words = format!("{CASES} {budget}");
    let mut places: BTreeMap<String, [Agreed; 2]> = BTreeMap::new();
    for nth in 0..pairs {
        let a = cases(&measure(folder.path(), &words, 2 * nth)?)?;
        let b = cases(&measure(folder.path(), &words, 2 * nth + 1)?)?;
        for ((place, variant), first) in &a {
            let Some(second) = b.get(&(place.clone(), variant.clone())) else { continue };
            let of = |run: &Cases| run.get(&(place.clone(), REFERENCE.into())).cloned();
            let (Some(to_first), Some(to_second)) = (of(&a), of(&b)) else { continue };
            let [ratios, times] = places.entry(place.clone()).or_default();
            times.add(&logs(first), &logs(second));
            if variant != REFERENCE {
                ratios.add(&log_ratios(first, &to_first), &log_ratios(second, &to_second));
            }
        }
    }
    println!("placement   ratios to {REFERENCE} that agree  times that agree  ({pairs} pairs)");
    for (place, [ratios, times]) in &places {
        println!("{place:<11} {:<26}  {}", ratios.summary(), times.summary());
    }
    let (agree, all) = places
        .values()
        .fold((0, 0), |(agree, all), [ratios, _]| (agree + ratios.agree, all + ratios.all));
    println!("\nratios: {agree} of {all} (9 in 10 at least)");
    Ok(all > 0 && agree * 10 >= all * 9)
}

/// Launch medians by round, by placement and variant.
type Cases = BTreeMap<(String, String), Vec<Option<f64>>>;

fn cases(file: &Path) -> Result<Cases, String> {
    let whole = read(file)?;
    let results = whole["results"].as_array().into_iter().flatten();
    let measured = results.filter(|result| result["status"] == "ok" && result["twin"] == false);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let each = measured.map(|case| {
        let medians = case["launch_medians"].as_array().into_iter().flatten();
        let key = (word(&case["placement"]), word(&case["variant"]));
        (key, medians.map(Value::as_f64).collect())
    });
    Ok(each.collect())
}

fn logs(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().flatten().map(|value| value.ln()).collect()
}

/// Paired by round.
fn log_ratios(a: &[Option<f64>], b: &[Option<f64>]) -> Vec<f64> {
    a.iter().zip(b).filter_map(|(a, b)| Some(((*a)? / (*b)?).ln())).collect()
}
