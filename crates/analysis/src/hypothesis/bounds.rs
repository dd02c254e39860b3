//! Claims about the machine itself: a bound that every run measures, as a kernel call or the step of a clock.

use super::parts::together;
use super::ratio::decided;
use super::{Decision, Effect, TestResult};
use crate::floor_rows::{FloorRow, Floors, Repeats, rows};

/// Whether each row of the bound called `name` (of clocks, CPU pairs and caches there are several) lies in the claimed
/// interval.
///
/// # Errors
/// The run holds no floors.
pub(super) fn within(
    name: &str,
    claimed: (f64, f64),
    floors: Option<&Floors>,
) -> Result<TestResult, TestResult> {
    let floors = floors.ok_or_else(|| TestResult::not_testable("the run holds no floors"))?;
    Ok(together(rows(floors, name).iter().map(|row| lies(row, claimed)).collect()))
}

fn lies(row: &FloorRow, (least, most): (f64, f64)) -> TestResult {
    let found = match &row.found {
        Ok(found) => found,
        Err(why) => return TestResult::not_testable(format!("{}: {why}", row.what)),
    };
    let Repeats { median: Some(value), low: Some(low), high: Some(high), .. } = found else {
        let text = format!("{}: no interval", row.what);
        return TestResult::new(Decision::Inconclusive, text, None);
    };
    let text = format!("{} {value:.1} [{low:.1}, {high:.1}]; claimed {least} to {most}", row.what);
    let decision = decided(*low >= least && *high <= most, *high < least || *low > most);
    let result = TestResult::new(decision, text, None);
    let found = Effect { value: *value, low: *low, high: *high, unit: row.unit.into() };
    result.with(found).clear_of([*value, *low, *high], [least, most])
}
