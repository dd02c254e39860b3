//! The bounds of a run by the names that studies use, as rows of a table.

use model::floors::ClockFloor;
pub use model::floors::{Floors, Repeats};

/// A bound of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct FloorRow {
    /// What it is: `getppid, by syscall(2)`.
    pub what: String,
    /// What was found; or why nothing was.
    pub found: Result<Repeats, String>,
    /// `ns`, `bytes/s`.
    pub unit: &'static str,
}

/// The rows of the bound that a study calls `name`; of clocks, CPU pairs and caches one each.
pub fn rows(floors: &Floors, name: &str) -> Vec<FloorRow> {
    type OfClock = fn(&ClockFloor) -> Option<&Repeats>;
    let clocks = |what: &str, of: OfClock| clocks(floors, what, of);
    let calls = |call: &str, by: &str| calls(floors, call, by);
    const BARE: &str = "syscall(2)";
    match name {
        "clock-step-by-loop" => {
            clocks("smallest step by a growing loop", |floor| floor.step_by_loop_ns.as_ref())
        }
        "clock-step-by-reads" => {
            clocks("smallest step by repeated reads", |floor| floor.step_by_reads_ns.as_ref())
        }
        "clock-cost" => clocks("cost of a read", |floor| Some(&floor.cost_ns)),
        "getpid-of-library" => calls("getpid", "C library"),
        "read" => calls("read of 0 bytes", BARE),
        "cache-line" => lines(floors),
        "wake-up" => wake_ups(floors),
        "copy" => copies(floors),
        call => calls(call, BARE),
    }
}

fn row(what: String, found: Result<Repeats, String>) -> FloorRow {
    FloorRow { what, found, unit: "ns" }
}

/// The one row of a part that wasn't measured.
fn missing(what: &str, why: impl ToString) -> Vec<FloorRow> {
    vec![row(what.to_string(), Err(why.to_string()))]
}

fn clocks(floors: &Floors, what: &str, of: fn(&ClockFloor) -> Option<&Repeats>) -> Vec<FloorRow> {
    let clocks = match floors.clocks.get() {
        Ok(clocks) => &clocks.clocks,
        Err(why) => return missing(what, why),
    };
    let each = |clock: &ClockFloor| {
        let found = of(clock).cloned().ok_or_else(|| "the clock stood still".to_string());
        row(format!("{}: {what}", clock.clock), found)
    };
    clocks.iter().map(each).collect()
}

fn calls(floors: &Floors, call: &str, by: &str) -> Vec<FloorRow> {
    let what = format!("{call}, by {by}");
    let calls = match floors.calls.get() {
        Ok(calls) => &calls.calls,
        Err(why) => return missing(&what, why),
    };
    match calls.iter().find(|other| other.call == call && other.by == by) {
        Some(it) => vec![row(what, Ok(it.cost_ns.clone()))],
        None => missing(&what, "this call wasn't measured"),
    }
}

fn lines(floors: &Floors) -> Vec<FloorRow> {
    const WHAT: &str = "cache line there and back";
    match floors.line.get() {
        Err(why) => missing(WHAT, why),
        Ok(lines) if lines.pairs.is_empty() => missing(WHAT, "no pair of CPUs was measured"),
        Ok(lines) => {
            let each = lines.pairs.iter().map(|pair| {
                let [a, b] = pair.cpus;
                let found = pair.round_trip_ns.get().cloned().map_err(ToString::to_string);
                row(format!("{WHAT}, CPUs {a} and {b}"), found)
            });
            each.collect()
        }
    }
}

fn wake_ups(floors: &Floors) -> Vec<FloorRow> {
    const WHAT: &str = "wake-up there and back";
    match floors.wake_up.get() {
        Err(why) => missing(WHAT, why),
        Ok(found) => {
            let each = found.wake_ups.iter().map(|wake_up| {
                let found = wake_up.found.get();
                let found =
                    found.map(|trip| trip.round_trip_ns.clone()).map_err(ToString::to_string);
                row(format!("{WHAT}, {}", wake_up.relation.name()), found)
            });
            each.collect()
        }
    }
}

fn copies(floors: &Floors) -> Vec<FloorRow> {
    const WHAT: &str = "copying";
    match floors.copy.get() {
        Err(why) => missing(WHAT, why),
        Ok(copy) => {
            let each = copy.levels.iter().map(|level| {
                let found = level.copied.get();
                let found =
                    found.map(|copied| copied.bytes_per_sec.clone()).map_err(ToString::to_string);
                FloorRow { what: format!("{WHAT}, {}", level.level), found, unit: "bytes/s" }
            });
            each.collect()
        }
    }
}
