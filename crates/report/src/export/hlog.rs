//! HdrHistogram's interval log, version 1.3: an interval per launch, tagged with its case,
//! values in ns; it starts where its round started and is as long as the timed part.

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use super::{hdr, launches, name, single, without_percentiles};
use analysis::Judged;
use store::{Store, StoreError};

/// Values are in ns; the column of largest values is in ms, as HdrHistogram's writer has it.
const NS_PER_MS: f64 = 1e6;

/// The log of a run.
pub fn text(judged: &Judged, store: &Store) -> Result<String, StoreError> {
    let run = &judged.run;
    let mut text = String::from("#[Histogram log format version 1.3]\n");
    let _ = writeln!(
        text,
        "#[{}, run {}: round trips in ns, an interval per launch, tagged with its case]",
        run.tool, run.id
    );
    for case in &judged.results {
        if let Some(why) = without_percentiles(judged, case) {
            let _ = writeln!(text, "#[{why}]");
        }
    }
    if run.fleet.is_some() {
        text.push_str("#[of a fleet's launches no time of beginning is kept: all begin at 0]\n");
    }
    let started = seconds(&run.started);
    let _ = writeln!(text, "#[StartTime: {started:.3} (seconds since epoch), {}]", run.started);
    let _ = writeln!(text, "#[BaseTime: {started:.3} (seconds since epoch)]");
    text.push_str(
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
    );
    intervals(&mut text, judged, store)?;
    Ok(text)
}

fn intervals(text: &mut String, judged: &Judged, store: &Store) -> Result<(), StoreError> {
    let cases: Vec<_> = judged.run.results().map(|(_, case)| case).collect();
    let starts = store.round_starts(judged.run.id)?;
    let group_of: Vec<usize> = judged.run.results().map(|(group, _)| group.nth).collect();
    let mut start_ns = 0;
    for (nth, launch) in launches(judged, store)? {
        // A round that was cut short left no start of its own: the last one known stands in.
        start_ns = starts.get(&(group_of[nth], launch.round)).copied().unwrap_or(start_ns);
        let case = &judged.results[nth];
        if !single(case) || launch.status != "ok" {
            continue;
        }
        let samples = store.samples(launch.id)?;
        let scale = judged.run.clock_of(cases[nth], launch.swapped).ns_per_tick;
        let in_ns = |ticks: u64| (ticks as f64 * scale).round() as u64;
        let timed_ns = samples.iter().sum::<u64>() as f64 * scale;
        let largest = samples.iter().copied().max().unwrap_or(0);
        let _ = writeln!(
            text,
            "Tag={},{:.6},{:.6},{:.6},{}",
            name(judged, case),
            start_ns as f64 / 1e9,
            timed_ns / 1e9,
            in_ns(largest) as f64 / NS_PER_MS,
            hdr::encode(samples.into_iter().map(in_ns)),
        );
    }
    Ok(())
}

/// Seconds since the epoch of a time as the store writes it.
fn seconds(rfc3339: &str) -> f64 {
    let time = humantime::parse_rfc3339(rfc3339).unwrap_or(UNIX_EPOCH);
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
