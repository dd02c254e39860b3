//! Capacities: between which rates each mechanism begins to exceed the bound, and what it does at the largest that
//! is sure to hold.

use super::loads::per_second;
use super::{failures, labels, loads, unmeasured};
use crate::{Block, Emphasis, Section, Table, Text, Unit, units};
use analysis::capacity::{Capacity, Found, RateTried, RateVerdict};
use analysis::{CaseResult, Judged, Site, Status};
use model::case::Case;
use model::distinct::distinct;
use model::factor;
use model::launch::Punctuality;
use model::load::Load;

const MEANING: &str = "Capacity: from the largest rate at which more than half of all launches keep the bound to the \
     smallest at which more than half exceed it; both together 95 % sure. Knee: the largest rate at which the percentile \
     is within twice its value at the lowest rate. At: the largest rate that holds, of which p50, p99 and what was served are medians over launches, kept the launches that kept the \
     bound, and later the share of all messages that were later than it allows.";

const UNSURE: &str = "Where no rate is sure to hold, it is the largest that is likely to, else the lowest that was tried. A \
     capacity with a question mark is what most launches did, and not sure.";

/// What a person reads when such a run is over: the same, and what the run warned of.
pub fn answer(judged: &Judged) -> Option<Section> {
    let warnings = judged.run.warnings.iter().map(|warning| Block::warning(warning.as_str()));
    Some(section(judged)?.with_all(warnings))
}

/// The section of a run that sought capacities; None of any other.
pub fn section(judged: &Judged) -> Option<Section> {
    let first = judged.capacity.first()?;
    let (percentile, most) = (first.bound.percentile(), units::duration(first.bound.ns as f64));
    let measured: Vec<&Capacity> =
        judged.capacity.iter().filter(|capacity| capacity.status == Status::Ok).collect();
    let disturbed = measured.iter().filter(|capacity| capacity.every_round_disturbed).count();
    let questions = distinct(measured.iter().map(|capacity| question(capacity)));
    let mut tables: Vec<Table> = Vec::new();
    for asked in &questions {
        let here = measured.iter().copied().filter(|capacity| question(capacity) == *asked);
        tables.push(table(judged, &here.collect::<Vec<_>>(), questions.len() > 1));
    }
    let unsure = measured.iter().any(|capacity| capacity.found.at_least_per_sec.is_none());
    if let Some(last) = tables.last_mut() {
        last.notes.push(MEANING.into());
        last.notes.extend(unsure.then(|| UNSURE.into()));
    }
    let failed = |capacity: &&Capacity| {
        let how = failures::of_capacity(capacity)?;
        Some(Block::warning(format!("{}: {how}", named(judged, capacity))))
    };
    let section = Section::new("capacity", format!("The largest load with {percentile} ≤ {most}"))
        .with_all(labels::disturbed((disturbed, measured.len()), "capacity", "no end is sure"))
        .with_all(tables)
        .with_all(remarks(judged, &measured))
        .with_all(measured.iter().filter_map(failed))
        .with_all(absent(judged));
    Some(section)
}

/// What the rows of one table share: all but the mechanism and the connections.
fn question(capacity: &Capacity) -> String {
    question_of(&capacity.case, &capacity.site)
}

/// The same of any case, at `site`.
pub fn question_of(case: &Case, site: &Site) -> String {
    let load = case.load.unwrap_or(Load::USUAL);
    let size = case
        .message_bytes
        .map_or("wake-ups".into(), |bytes| format!("requests of {}", units::size(bytes)));
    let (depth, answered) = (loads::under_way(load), loads::answered(load));
    let (plain, place) = (factor::conditions(case), labels::place_of(site));
    labels::capital(&format!("{size}{depth}{answered}{plain}, {place}"))
}

fn table(judged: &Judged, here: &[&Capacity], several: bool) -> Table {
    let asked = here[0].bound.percentile();
    let mut percentiles = vec!["p50".to_string(), "p99".to_string()];
    if !percentiles.contains(&asked) {
        percentiles.push(asked);
    }
    let caption =
        if several || here[0].load().depth > 1 { question(here[0]) } else { String::new() };
    let here = ordered(here);
    let connected = here.iter().any(|capacity| capacity.connections() > 1);
    let mut table = Table::of_each(caption, &here)
        .words("mechanism", 0, |capacity| Text::new().code(&capacity.variant))
        .numbers_if(connected, "clients", 0, |capacity| units::count(capacity.connections().into()))
        .numbers("capacity", 0, |capacity| interval(capacity))
        .numbers("knee", 2, |capacity| capacity.knee_per_sec.map(per_second))
        .numbers("at", 1, |capacity| shown_at(capacity).map(|rate| per_second(rate.per_sec)));
    for name in &percentiles {
        table = table.numbers(name, 1, |capacity| time_at(judged, capacity, name));
    }
    table
        .numbers("kept", 1, |capacity| {
            shown_at(capacity).map(|rate| format!("{} of {}", rate.passed, rate.launches))
        })
        .numbers("later", 1, |capacity| shown_at(capacity)?.later_share.map(labels::later))
        .numbers("served", 3, |capacity| shown_at(capacity)?.served_per_sec.map(units::per_second))
        .emphasis(|capacity| Emphasis::Muted.only_if(capacity.found.at_least_per_sec.is_none()))
        .table()
}

/// By connections, the largest capacity first.
fn ordered<'a>(here: &[&'a Capacity]) -> Vec<&'a Capacity> {
    let mut rows = here.to_vec();
    rows.sort_by_key(|row| {
        let low = row.found.at_least_per_sec.unwrap_or(0);
        let high = row.found.below_per_sec.or(row.found.likely_high_per_sec).unwrap_or(u64::MAX);
        (row.connections(), std::cmp::Reverse((low, high)))
    });
    rows
}

/// `81.0–100 k/s`, `≥ 250 k/s`, `not even 1.00 k/s`; of what is not decided what is likely, with a question mark.
pub fn interval(capacity: &Capacity) -> String {
    interval_of(&capacity.found, capacity.lowest().map(|rate| rate.per_sec))
}

/// The same, `lowest` being the lowest rate that was tried.
pub fn interval_of(found: &Found, lowest: Option<u64>) -> String {
    match (found.at_least_per_sec, found.below_per_sec) {
        (Some(low), Some(high)) => Unit::PerSecond.range(low as f64, high as f64),
        (Some(low), None) => format!("≥ {}", per_second(low)),
        (None, Some(high)) if Some(high) == lowest => format!("not even {}", per_second(high)),
        (None, Some(high)) => format!("< {}", per_second(high)),
        (None, None) => match (found.likely_low_per_sec, found.likely_high_per_sec) {
            (Some(low), Some(high)) => {
                format!("{}?", Unit::PerSecond.range(low as f64, high as f64))
            }
            (Some(low), None) => format!("≥ {}?", per_second(low)),
            (None, Some(high)) => format!("< {}?", per_second(high)),
            (None, None) => "undecided".into(),
        },
    }
}

/// `, tried first`: of a rate that only chose others, and decides nothing.
pub fn stage(judged: &Judged, case: &CaseResult) -> &'static str {
    let later = |rate: &RateTried| rate.decides && judged.results[rate.result].group > case.group;
    let chose = |capacity: &Capacity| capacity.covers(case) && capacity.rates.iter().any(later);
    if judged.capacity.iter().any(chose) { ", tried first" } else { "" }
}

/// The largest rate that holds; of what is not sure that most launches kept; else the lowest.
fn shown_at(capacity: &Capacity) -> Option<&RateTried> {
    let rate = capacity.found.at_least_per_sec.or(capacity.found.likely_low_per_sec);
    rate.and_then(|rate| capacity.at(rate)).or_else(|| capacity.lowest())
}

/// A percentile at a rate: that of the bound by what decided it, others by what the samples support.
fn time_at(judged: &Judged, of: &Capacity, name: &str) -> Option<String> {
    let rate = shown_at(of)?;
    let found = if name == of.bound.percentile() {
        rate.percentile_ns
    } else {
        percentile(&judged.results[rate.result], name)
    };
    found.map(units::duration)
}

/// A percentile of a case, in ns: the median over launches.
pub fn percentile(case: &CaseResult, name: &str) -> Option<f64> {
    let value = case.value.as_ref()?;
    match name {
        "p50" => Some(value.median),
        _ => value.percentile(name).map(|percentile| percentile.value),
    }
}

/// What a row can't say: why there is no upper end, or none at all.
fn remarks(judged: &Judged, measured: &[&Capacity]) -> Option<Block> {
    let said = measured
        .iter()
        .filter_map(|capacity| Some((remark(judged, capacity)?, named(judged, capacity))));
    let line = |(why, names): &(String, Vec<String>)| {
        labels::few_codes(Text::new(), names).plain(format!(": {why}"))
    };
    Block::list(labels::by_key(said).iter().map(line))
}

/// `tcp with 4 clients`; where the run asked at several sizes or places, also which.
fn named(judged: &Judged, capacity: &Capacity) -> String {
    let name = match capacity.connections() {
        1 => capacity.variant.clone(),
        many => format!("{} with {many} clients", capacity.variant),
    };
    let asked = question(capacity);
    if judged.capacity.iter().any(|other| question(other) != asked) {
        format!("{name} ({})", labels::within_sentence(&asked))
    } else {
        name
    }
}

/// Why a capacity has no upper end, or no lower one; None of an interval.
pub fn remark(judged: &Judged, capacity: &Capacity) -> Option<String> {
    let found = &capacity.found;
    let lacking =
        capacity.rates.iter().map(|rate| rate.messages_lacking).max().filter(|number| *number > 0);
    if let Some(messages) = lacking {
        let all = units::count(capacity.bound.messages_needed());
        return Some(format!(
            "launches lack {} of the {all} messages that a {} takes: leave --samples out, or ask for more",
            units::count(messages),
            capacity.bound.percentile()
        ));
    }
    if capacity.every_round_disturbed {
        return Some("other programs ran during every round: `ipcmark doctor` says which".into());
    }
    if capacity.breaks_at_lowest() {
        let lowest = capacity.lowest()?;
        let unloaded = labels::or_dash(lowest.percentile_ns.map(units::duration));
        return Some(format!(
            "its {} is {unloaded} at {}, the lowest rate that was tried",
            capacity.bound.percentile(),
            per_second(lowest.per_sec)
        ));
    }
    if let Some(why) = found.below_per_sec.and_then(|high| spent(judged, capacity, high)) {
        return Some(why);
    }
    match (found.at_least_per_sec, found.below_per_sec) {
        (Some(low), Some(_)) => broke_below(capacity, low),
        (Some(_), None) => Some(match found.generator_ends_per_sec {
            Some(ends) => format!(
                "the generator ends at {}: more can't be offered from here",
                per_second(ends)
            ),
            None => match capacity.rates.iter().rfind(|rate| rate.decides) {
                Some(last) if last.verdict == RateVerdict::Holds => {
                    format!("{} is the highest rate that was tried", per_second(last.per_sec))
                }
                _ => unsure(capacity, judged),
            },
        }),
        (None, _) => Some(unsure(capacity, judged)),
    }
}

/// That at the upper end a generator, which clients have in common, was about to end.
fn spent(judged: &Judged, capacity: &Capacity, high: u64) -> Option<String> {
    let rate = judged.results[capacity.at(high)?.result].rate?;
    Punctuality::ends_first(rate.generator_idle_share, rate.server_cpus).then(|| {
        format!(
            "at {} a generator's calls for many clients took all of its time: with a thread for each it may be more",
            per_second(high)
        )
    })
}

/// That lower rates broke the bound, too: an idle CPU takes long to answer.
fn broke_below(capacity: &Capacity, low: u64) -> Option<String> {
    let broke = |rate: &&RateTried| rate.per_sec < low && 2 * rate.broke > rate.launches;
    let rate = capacity.rates.iter().rev().find(broke)?;
    Some(format!(
        "at {} most launches broke the bound, too: CPUs that idle answer late",
        per_second(rate.per_sec)
    ))
}

fn unsure(capacity: &Capacity, judged: &Judged) -> String {
    let (rounds, run) = (capacity.rounds(), judged.run.id);
    let many = units::counted(rounds as u64, "round");
    let deciding = || capacity.rates.iter().filter(|rate| rate.decides);
    let late = deciding().any(|rate| rate.void > 0);
    let failed = deciding().any(|rate| rate.failed > 0);
    match rounds {
        0..6 => format!(
            "{many} of the deciding rates: to be sure takes 6 that agree, so a longer --budget"
        ),
        _ if failed => "launches that failed decide nothing: measure again".into(),
        _ if late => format!(
            "in some launches of {many} the sender itself was late, or in calls all the time: measure on a quieter machine"
        ),
        _ => format!("launches of {many} disagree: `ipcmark report {run} -v` shows each rate"),
    }
}

/// What could not be tried: each reason once.
fn absent(judged: &Judged) -> Vec<Block> {
    let absent = judged.capacity.iter().filter(|capacity| capacity.status != Status::Ok);
    let said = absent.map(|capacity| {
        let why = failures::of_capacity(capacity).or_else(|| capacity.reason.clone());
        let why = why.unwrap_or_default();
        (labels::without_name(&why, &capacity.variant).to_string(), named(judged, capacity))
    });
    let reasons = labels::by_key(said);
    reasons.iter().map(|(why, names)| unmeasured::line("", names, why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::testing::case;
    use model::load::Load;

    fn found(found: Found, lowest: u64) -> Capacity {
        let tried = RateTried {
            per_sec: lowest,
            decides: true,
            verdict: RateVerdict::Holds,
            launches: 6,
            passed: 6,
            failed: 0,
            broke: 0,
            void: 0,
            later_share: Some(0.0),
            messages_lacking: 0,
            percentile_ns: Some(1e5),
            served_per_sec: Some(1e3),
            result: 0,
        };
        let head = case("pipe", "free", None);
        Capacity {
            case: Case { message_bytes: Some(64), load: Some(Load::USUAL), ..head.case },
            site: head.site,
            bound: "p99:200us".parse().unwrap(),
            status: Status::Ok,
            reason: None,
            every_round_disturbed: false,
            launches: 6,
            failures: Vec::new(),
            found,
            knee_per_sec: None,
            rates: vec![tried],
        }
    }

    #[test]
    fn an_interval_says_which_ends_are_sure() {
        let all = [
            (Some(81_000), Some(100_000), None, "81.0–100 k/s"),
            (Some(250_000), None, None, "≥ 250 k/s"),
            (None, Some(1_000), None, "not even 1.00 k/s"),
            (None, Some(64_000), None, "< 64.0 k/s"),
            (None, None, Some(16_000), "≥ 16.0 k/s?"),
            (None, None, None, "undecided"),
        ];
        for (at_least_per_sec, below_per_sec, likely_low_per_sec, words) in all {
            let known =
                Found { at_least_per_sec, below_per_sec, likely_low_per_sec, ..Found::default() };
            assert_eq!(interval(&found(known, 1_000)), words);
        }
    }
}
