//! Claims about the machine itself: a bound that every run measures, as a kernel call or the step of a clock.

use super::parts::together;
use super::ratio::decided;
use super::{Decision, Effect, TestResult};
use crate::floor_rows::{FloorRow, Floors, Repeats, rows};

/// Whether each row of the bound called `name` (of clocks, CPU pairs and caches there are several) lies in the claimed
/// interval, or how many times as much it is as each of another.
///
/// # Errors
/// The run holds no floors.
pub(super) fn within(
    (name, per): (&str, Option<&str>),
    claimed: (f64, f64),
    floors: Option<&Floors>,
) -> Result<TestResult, TestResult> {
    let floors = floors.ok_or_else(|| TestResult::not_testable("the run holds no floors"))?;
    let mut all = rows(floors, name);
    if let Some(per) = per {
        let others = rows(floors, per);
        let pair = |row: &FloorRow| others.iter().map(|other| over(row, other)).collect::<Vec<_>>();
        all = all.iter().flat_map(pair).collect();
    }
    Ok(together(all.iter().map(|row| lies(row, claimed)).collect()))
}

/// How many times as much one bound is as another. Each has an interval of its own: their ratio lies between the
/// farthest ends.
fn over(row: &FloorRow, other: &FloorRow) -> FloorRow {
    let what = format!("{} over {}", row.what, other.what);
    let of = |row: &FloorRow| -> Result<[f64; 3], String> {
        match &row.found {
            Ok(Repeats { median: Some(value), low: Some(low), high: Some(high), .. }) => {
                Ok([*value, *low, *high])
            }
            Ok(_) => Err(format!("{}: no interval", row.what)),
            Err(why) => Err(format!("{}: {why}", row.what)),
        }
    };
    let found = of(row).and_then(|[value, low, high]| {
        let [other, least, most] = of(other)?;
        let ends = (Some(value / other), Some(low / most), Some(high / least));
        let (median, low, high) = ends;
        Ok(Repeats { median, low, high, ..Repeats::of(&[value / other]) })
    });
    FloorRow { what, found, unit: "ratio_of_values" }
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
