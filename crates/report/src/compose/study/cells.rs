//! Cells of a study's tables: what one case comes to, or several together.

use super::find;
use crate::compose::observed::{exactly, number, with_interval};
use crate::compose::{labels, percentiles};
use crate::{Text, Unit, units};
use analysis::hypothesis::{gain, level, takes};
use analysis::{CaseResult, OverRounds, Returned, Status};
use model::factor::Factor;
use study::columns::{OF_SAMPLES, STEPS};
use study::counted::{Count, SHARES};
use study::factor::Chosen;

use super::published::NOTHING;

/// What a table compares and ranks with.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    pub results: &'a [CaseResult],
    /// Those that are put in order, of what `rank` shows; all, if none is named.
    pub ranked: &'a [Chosen],
    /// What the cases of a row are compared with, where it shows gains.
    pub against: &'a [Chosen],
}

/// Statistics of gains: over all pairs of cases.
pub const GAINS: [&str; 4] = ["average", "q1", "median", "q3"];

impl Table<'_> {
    /// What stands at `here`; `column` chooses all cases of its column.
    pub fn cell(&self, here: &Chosen, show: &str, column: &Chosen) -> Text {
        if !self.against.is_empty() {
            return self.gain(here, show);
        }
        let ok = |case: &&CaseResult| case.status == Status::Ok;
        match show {
            "lowest" | "highest" | "lowest-half" | "highest-half" => {
                let part = if show.ends_with("-half") { 0.5 } else { 1.0 };
                self.end(here, show.starts_with("highest"), part)
            }
            _ => match find(here, self.results).filter(ok) {
                Some(case) => self.of_case(case, show, column),
                None => not_available(),
            },
        }
    }

    fn of_case(&self, case: &CaseResult, show: &str, column: &Chosen) -> Text {
        if let Some(count) = Count::parse(show) {
            return counted(case, show, &count);
        }
        let unit = labels::unit(case);
        let Some(estimate) = case.value.as_ref() else { return not_available() };
        let plain = |value: f64| Text::from(unit.format(value));
        if let Some(derived) = case.derived.get(show) {
            return Text::from(derived.to_string());
        }
        match show {
            "median" => Text::from(labels::value(case)),
            "mean" => case.mean.map(plain).into(),
            "min" => plain(estimate.min),
            "q1" => plain(estimate.q1),
            "q3" => plain(estimate.q3),
            "max" => plain(estimate.max),
            "settings" => effective_settings(case),
            "one-cpu" | "moved" => where_they_ran(case, show),
            of if OF_SAMPLES.contains(&of) => {
                let at = OF_SAMPLES.iter().position(|sample| *sample == of).unwrap_or(0);
                case.pooled.map(|five| plain(five[at])).into()
            }
            step if STEPS.contains(&step) => phase(case, step.trim_start_matches("step-")),
            "rank" | "rank-min" => Text::from(self.rank(case, show, column)),
            "switches" => case.switches_per_operation().map(|number| format!("{number:.2}")).into(),
            percentile => percentile_of(case, percentile, unit).into(),
        }
    }

    /// The place of a case in its column, 1 for the quickest: by the median over launches of their
    /// medians, or of their quickest operations. None of a case that isn't put in order.
    fn rank(&self, case: &CaseResult, show: &str, column: &Chosen) -> String {
        let ranked = |case: &CaseResult| {
            self.ranked.is_empty() || self.ranked.iter().any(|chosen| takes(chosen, case))
        };
        let time = |case: &CaseResult| {
            let rounds = match show {
                "rank-min" => case.others_by_round.get("min")?,
                _ => &case.by_round,
            };
            over_launches(rounds)
        };
        let Some(own) = time(case).filter(|_| ranked(case)) else { return NOTHING.into() };
        let ahead = self
            .results
            .iter()
            .filter(|result| {
                !result.twin && result.status == Status::Ok && !result.carries.is_control()
            })
            .filter(|result| {
                takes(column, result) && result.workload == case.workload && ranked(result)
            })
            .filter(|result| time(result).is_some_and(|other| other < own))
            .count();
        (ahead + 1).to_string()
    }

    /// The lowest or the highest median of all cases at `here`, or a `part` of it, and where it is.
    fn end(&self, here: &Chosen, highest: bool, part: f64) -> Text {
        let ok = |case: &&CaseResult| !case.twin && case.status == Status::Ok && takes(here, case);
        let cases: Vec<&CaseResult> = self.results.iter().filter(ok).collect();
        let value = |case: &&CaseResult| case.value.as_ref().map(|value| value.median);
        let known = cases.iter().filter_map(|case| Some((value(case)?, *case)));
        let ordered = |a: &(f64, &CaseResult), b: &(f64, &CaseResult)| a.0.total_cmp(&b.0);
        let end = if highest { known.max_by(ordered) } else { known.min_by(ordered) };
        let Some((value, case)) = end else { return not_available() };
        let differs = |factor: &Factor| {
            !factor.follows()
                && cases.iter().any(|other| level(other, *factor) != level(case, *factor))
        };
        let levels: Vec<String> =
            Factor::ALL.into_iter().filter(differs).map(|factor| level(case, factor)).collect();
        let at =
            if levels.is_empty() { String::new() } else { format!(" ({})", levels.join(", ")) };
        Text::from(format!("{}{at}", labels::unit(case).format(part * value)))
    }

    /// By how much the cases at `here` are better than those that they are compared with.
    fn gain(&self, here: &Chosen, show: &str) -> Text {
        let Ok(found) = gain(here, self.against, self.results) else {
            return not_available();
        };
        let percent = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0));
        let of_pairs = |share: f64| percent(stats::quantile(&found.of_pairs, share));
        Text::from(match show {
            "q1" => format!("{} %", of_pairs(0.25)),
            "median" => format!("{} %", of_pairs(0.5)),
            "q3" => format!("{} %", of_pairs(0.75)),
            _ => {
                let it = &found.average;
                format!("{} % [{}, {}]", percent(it.estimate), percent(it.low), percent(it.high))
            }
        })
    }
}

/// Where nothing was measured.
pub fn not_available() -> Text {
    Text::new().muted("n/a")
}

/// The median over launches; None where there is none.
pub fn over_launches(rounds: &[Option<f64>]) -> Option<f64> {
    stats::median_of(rounds.iter().flatten().copied())
}

pub fn is_dash(cell: &Text) -> bool {
    [NOTHING, "n/a"].contains(&cell.to_plain().as_str())
}

/// What observed launches beside a case counted.
fn counted(case: &CaseResult, name: &str, count: &Count) -> Text {
    let absent = || match case.counted.refusal(name) {
        Some(_) => Text::new().muted("not testable"),
        None => Text::new().muted(NOTHING),
    };
    if let Count::Values(call) = count {
        let Ok((values, others)) = case.counted.values(call) else { return absent() };
        return returned(&values, others).map_or_else(|| Text::from("none"), Text::from);
    }
    let Ok(found) = case.counted.of(name) else { return absent() };
    let ends = found.interval.ends();
    Text::from(match count {
        Count::Bytes(_) => exactly(found.median),
        Count::Parts => share(&found),
        Count::Delivery(name) if SHARES.contains(name) => share(&found),
        _ if name.ends_with("-ns") => Unit::Nanoseconds.with_ends(found.median, ends),
        _ if name == "goodput" && ends.is_some() => {
            Unit::BytesPerSecond.with_ends(found.median, ends)
        }
        _ => with_interval(found.median, ends),
    })
}

/// A share in percent, with its interval.
fn share(found: &OverRounds) -> String {
    let percent = |share: f64| match 100.0 * share {
        0.0 => "0".to_string(),
        tiny if tiny < 0.005 => "<0.01".to_string(),
        small if small < 0.1 => format!("{small:.2}"),
        some if some < 9.95 => format!("{some:.1}"),
        many => format!("{many:.0}"),
    };
    let value = percent(found.median);
    match found.interval.ends() {
        Some((low, high)) => format!("{value} % [{}, {}]", percent(low), percent(high)),
        None => format!("{value} %"),
    }
}

/// How many calls returned what, the most frequent first: `256.0 × 64 KiB`.
fn returned(values: &[Returned], others: f64) -> Option<String> {
    const NAMED: usize = 2;
    let named = values.iter().take(NAMED).map(|returned| {
        let what = match returned.value {
            Some(value) if value >= 0 => exactly(value as f64),
            Some(_) => "an error".into(),
            None => "an address".into(),
        };
        format!("{} × {what}", number(returned.stats.per_operation))
    });
    let mut parts: Vec<String> = named.collect();
    let rest: f64 =
        values.iter().skip(NAMED).map(|value| value.stats.per_operation).sum::<f64>() + others;
    let all: f64 = values.iter().map(|value| value.stats.per_operation).sum::<f64>() + others;
    if rest >= 0.01 * all && rest > 0.0 {
        parts.push(format!("{} other", number(rest)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Of free workers, in what share of the looks both were on one CPU; or in how many launches one moved.
fn where_they_ran(case: &CaseResult, show: &str) -> Text {
    Text::from(case.observed_placement.map(|seen| match show {
        "one-cpu" => format!("{:.0} % of looks", 100.0 * seen.same_cpu),
        moved => format!("{moved} of {}", units::counted(case.launches, "launch")),
    }))
}

/// A step of a set-up, over launches.
fn phase(case: &CaseResult, step: &str) -> Text {
    Text::from(case.secondary(step).map(|secondary| {
        Unit::Nanoseconds.with_ends(secondary.value.median, secondary.value.interval.ends())
    }))
}

/// What the kernel gave: `pipe capacity 64 KiB`.
fn effective_settings(case: &CaseResult) -> Text {
    let one = |(name, value): (&String, &u64)| {
        let (words, value) = match name.rsplit_once('_') {
            Some((words, "bytes")) => (words, units::size(*value)),
            Some((words, "ns")) => (words, units::duration(*value as f64)),
            _ => (&name[..], units::count(*value)),
        };
        format!("{} {value}", words.replace('_', " "))
    };
    let parts: Vec<String> = case.effective_settings.iter().map(one).collect();
    Text::from((!parts.is_empty()).then(|| parts.join(", ")))
}

/// A percentile of a case, whichever it is: the median over launches of each launch's. Of launches
/// that hold too few samples, how many they hold of those that it needs.
fn percentile_of(case: &CaseResult, name: &str, unit: Unit) -> Option<String> {
    let lacking = percentiles::lacking(case, name);
    // Batches of operations have medians, and no percentiles.
    let single = case.others_by_round.contains_key("p75");
    let rounds = match name {
        "p50" => Some(&case.by_round).filter(|_| single),
        _ => case.others_by_round.get(name),
    };
    let value = || rounds.and_then(|rounds| over_launches(rounds));
    lacking.or_else(|| value().map(|value| unit.format(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::testing::case;

    #[test]
    fn each_percentile_of_a_row_is_the_median_over_launches_and_none_falls() {
        let mut made = case("pipe", "same-cpu", None);
        let over = |values: [f64; 5]| values.map(Some).to_vec();
        made.by_round = over([4000.0, 4100.0, 4200.0, 9000.0, 9100.0]);
        made.others_by_round.insert("p75", over([4300.0, 4350.0, 4400.0, 9500.0, 9600.0]));
        made.others_by_round.insert("p90", over([4500.0, 4600.0, 4700.0, 9900.0, 9950.0]));
        // Pooled, the slow launches make the upper quartile one of theirs.
        made.curve = vec![(0.5, 4350.0), (0.75, 9050.0), (0.9, 9600.0)];
        let of = |made: &CaseResult, name: &str| percentile_of(made, name, Unit::Nanoseconds);
        let row = ["p50", "p75", "p90"].map(|name| of(&made, name).unwrap_or_default());
        assert_eq!(row, ["4.20 µs", "4.40 µs", "4.70 µs"]);
        made.samples_missing.insert("p99".into(), 102);
        assert_eq!(of(&made, "p99").as_deref(), Some("266 of the 368 needed"));
        made.others_by_round.remove("p75");
        assert_eq!(of(&made, "p50"), None, "of batches");
    }
}
