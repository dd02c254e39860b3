//! HdrHistogram's percentile spectrum as text, which its plotter draws: per case, all launches
//! pooled, in ns.
//!
//! Values are those of the samples themselves, not of buckets. The spectrum goes as deep as
//! the pool supports (docs/METHOD.md, percentiles) and ends with the largest sample.

use crate::units;
use std::fmt::Write;

use super::{file_name, name, single, stored, without_percentiles};
use analysis::{CaseResult, Judged};
use store::{Store, StoreError};

/// Lines per halving of the distance to 100 %, as HdrHistogram prints by default.
const LINES_PER_HALF: f64 = 5.0;

/// Every spectrum of a run, one after the other, each under a comment that names its case;
/// then comments on the cases that have none.
pub fn text(judged: &Judged, store: &Store) -> Result<String, StoreError> {
    let mut text = String::new();
    for (_, spectrum) in spectra(judged, store)? {
        text.push_str(&spectrum);
        text.push('\n');
    }
    for case in &judged.results {
        if let Some(why) = without_percentiles(judged, case) {
            let _ = writeln!(text, "# {why}");
        }
    }
    Ok(text)
}

/// One spectrum per case that has one: a name fit for a file, and the text.
pub fn spectra(judged: &Judged, store: &Store) -> Result<Vec<(String, String)>, StoreError> {
    let mut found = Vec::new();
    for (case, result) in stored(judged).filter(|(_, case)| single(case) && case.launches > 0) {
        let mut samples_ns = Vec::new();
        for launch in store.launches(case.id)? {
            if launch.round > 0 && launch.status == "ok" {
                let scale = judged.run.clock_of(case, launch.swapped).ns_per_tick;
                samples_ns
                    .extend(store.samples(launch.id)?.iter().map(|sample| *sample as f64 * scale));
            }
        }
        samples_ns.sort_unstable_by(f64::total_cmp);
        let title = name(judged, result);
        found.push((file_name(&title), spectrum(judged, result, &title, &samples_ns)));
    }
    Ok(found)
}

fn spectrum(judged: &Judged, case: &CaseResult, title: &str, samples_ns: &[f64]) -> String {
    let run = &judged.run;
    let total = samples_ns.len();
    let mut text = format!(
        "# {title}\n# {}, run {}: round trips in ns, {} pooled\n",
        run.tool,
        run.id,
        units::counted(case.launches, "launch")
    );
    let _ = writeln!(
        text,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let deep = |p: f64| p > 0.5 && stats::samples_needed(p) > total as u64;
    for p in levels().take_while(|p| !deep(*p)) {
        let rank = (p * total as f64).ceil().clamp(1.0, total as f64) as usize;
        let value = samples_ns[rank - 1];
        let count = samples_ns.partition_point(|place| *place <= value);
        let _ = writeln!(text, "{value:12.3} {p:14.12} {count:10} {:14.2}", 1.0 / (1.0 - p));
    }
    let largest = samples_ns.last().copied().unwrap_or(0.0);
    let _ = writeln!(text, "{largest:12.3} {:14.12} {total:10}", 1.0);
    let (mean, deviation) = moments(samples_ns);
    let _ = writeln!(text, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]");
    let _ = writeln!(text, "#[Max     = {largest:12.3}, Total count    = {total:12}]");
    text
}

/// The probabilities at which HdrHistogram prints: five steps to each halving of what is left.
fn levels() -> impl Iterator<Item = f64> {
    let next = |p: &f64| {
        let half = (1.0 / (1.0 - p)).log2().floor().exp2() * 2.0;
        Some(p + 1.0 / (LINES_PER_HALF * half))
    };
    std::iter::successors(Some(0.0), next).take_while(|p| *p < 1.0)
}

/// What the format's last lines hold; ipcmark judges nothing by them.
fn moments(samples_ns: &[f64]) -> (f64, f64) {
    let count = samples_ns.len().max(1) as f64;
    let mean = samples_ns.iter().sum::<f64>() / count;
    let squares = samples_ns.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (squares / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_the_reference() {
        let found: Vec<f64> = levels().take(12).collect();
        let expected = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.775];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
}
