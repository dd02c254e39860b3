//! What to use for a need, on one screen: the pick and why, the next best and why not, how sure that is, what would
//! change it, and what does not qualify.

use super::loads::per_second;
use super::{failures, labels};
use crate::{Block, Emphasis, Section, Table, Text, Unit, Verdict, VerdictKind, units};
use analysis::capacity::RateVerdict;
use analysis::choose::{Answer, Candidate, Choice, Rejected, Why};
use analysis::{Capacity, Judged};
use model::choice::{ERROR, SURE_LAUNCHES};
use model::load::Service;
use model::mechanism::Framing;
use stats::surely_most;

/// Rows of the table, the pick's included.
const ROWS: usize = 6;
/// Reasons for which mechanisms are rejected, each with its names on a line of its own.
const REASONS: usize = 7;

/// The answer of a run that was made for a need; None of any other.
pub fn section(judged: &Judged) -> Option<Section> {
    let choice = Choice::of(judged)?;
    let section = Section::new("choice", title(judged, &choice))
        .with(verdict(&choice))
        .with_all(table(&choice))
        .with(Block::Facts(facts(judged, &choice)));
    Some(section)
}

/// `For 50.0 k/s of 1 KiB, 16 clients, answers of 4 KiB, p99 ≤ 200 µs`.
fn title(judged: &Judged, choice: &Choice) -> String {
    let need = choice.need;
    let mut parts = Vec::new();
    let size = judged.capacity.iter().find_map(|capacity| capacity.message_bytes);
    let of = labels::size_after(" of ", size);
    parts.push(format!("For {}{of}", per_second(need.per_second)));
    if let Some(it) = judged.capacity.first() {
        let clients = units::counted(it.connections().into(), "client");
        parts.extend((it.connections() > 1).then_some(clients));
        let load = it.load();
        parts.extend(load.response.map(|response| format!("answers of {}", units::size(response))));
        parts.extend((load.depth > 1).then(|| format!("{} under way", load.depth)));
        parts.extend(
            (load.service != Service::None).then(|| format!("service of {}", load.service)),
        );
    }
    let most = units::duration(choice.bound.ns as f64);
    parts.push(format!("{} ≤ {most}", choice.bound.percentile()));
    parts.extend(need.blocking.then(|| "blocking".into()));
    parts.extend(need.bytes.map(|framing| match framing {
        Framing::Stream => "a stream".into(),
        Framing::Message => "messages".into(),
    }));
    parts.join(", ")
}

fn verdict(choice: &Choice) -> Verdict {
    let percentile = choice.bound.percentile();
    match (choice.answer, &choice.pick, &choice.closest) {
        (Answer::Pick, Some(pick), _) => {
            let headline = Text::new().strong("Use ").code(&pick.variant);
            let headline = headline.plain(format!(": {percentile} {}", time_of(pick)));
            Verdict::new(VerdictKind::Good, headline, sure(choice, pick))
        }
        (Answer::Nothing, _, Some(closest)) => {
            let headline = Text::new().strong("Nothing qualifies. ").plain("Closest: ");
            let headline = headline.code(&closest.variant);
            let time = labels::or_dash(closest.percentile_ns.map(units::duration));
            let served = labels::or_dash(closest.served_per_sec.map(units::per_second));
            let detail =
                format!("Its {percentile} is {time} at that load, of which it serves {served}.");
            Verdict::new(VerdictKind::Bad, headline, detail)
        }
        (Answer::Undecided, ..) if choice.evidence.every_round_disturbed => {
            let headline = Text::new()
                .strong("Undecided: ")
                .plain("other programs ran during every round, and no mechanism is named.");
            Verdict::new(VerdictKind::Unknown, headline, beside_others(choice))
        }
        (Answer::Undecided, ..) if choice.undecided.is_empty() => Verdict::new(
            VerdictKind::Unknown,
            Text::new().strong("Undecided."),
            "The run ended before all that might qualify was measured.",
        ),
        (Answer::Undecided, ..) => {
            let names: Vec<String> =
                choice.undecided.iter().map(|candidate| candidate.variant.clone()).collect();
            let headline = Text::new().strong("Undecided. ").plain("These might qualify: ");
            Verdict::new(VerdictKind::Unknown, labels::few_codes(headline, &names), unsure(choice))
        }
        _ => Verdict::new(
            VerdictKind::Bad,
            Text::new().strong("Nothing qualifies."),
            match choice.evidence.candidates {
                0 => "Nothing could be measured.",
                _ => "Launches of all that was measured failed.",
            },
        ),
    }
}

/// What kept the bound although others disturbed every round, and what to do about these.
fn beside_others(choice: &Choice) -> String {
    let kept =
        choice.undecided.iter().filter(|candidate| 2 * candidate.passed > candidate.launches);
    let names: Vec<String> = kept.map(|candidate| candidate.variant.clone()).collect();
    let meanwhile =
        meanwhile(&names, choice.undecided.iter().map(|candidate| candidate.void).max());
    let few = match choice.evidence.rounds as u64 {
        0..SURE_LAUNCHES => format!(" {}", unsure(choice)),
        _ => String::new(),
    };
    format!("{meanwhile}. `ipcmark doctor` says what disturbs: end it, and run again.{few}")
}

/// What is known of the bound then, where these kept it and so many launches, at most, had a late sender.
fn meanwhile(kept: &[String], late: Option<usize>) -> String {
    match (kept, late) {
        ([], None | Some(0)) => "Nothing kept the bound meanwhile".into(),
        ([], Some(late)) => format!(
            "The sender itself was late, or in calls all the time, in up to {}",
            units::counted(late as u64, "launch")
        ),
        (some, _) => format!("Most launches of {} kept the bound all the same", labels::few(some)),
    }
}

/// `88.0 µs [80.0, 97.0]`.
fn time_of(candidate: &Candidate) -> String {
    let ends = candidate.low_ns.zip(candidate.high_ns);
    labels::or_dash(candidate.percentile_ns.map(|ns| Unit::Nanoseconds.with_ends(ns, ends)))
}

fn sure(choice: &Choice, pick: &Candidate) -> String {
    let launches = units::counted(pick.launches as u64, "launch");
    let need = per_second(choice.need.per_second);
    let most = units::duration(choice.bound.ns as f64);
    let later = labels::or_dash(pick.later_share.map(labels::later));
    format!(
        "At {need} it holds in {} of {launches}, give or take 10 %; of all {} {later} were later than {most}.",
        pick.passed,
        units::counted(pick.messages, "message"),
    )
}

fn unsure(choice: &Choice) -> String {
    let rounds = units::counted(choice.evidence.rounds as u64, "round");
    if choice.evidence.messages_lacking > 0 {
        return format!(
            "Launches lack {} for a {}: leave --samples out.",
            units::counted(choice.evidence.messages_lacking, "message"),
            choice.bound.percentile()
        );
    }
    let closest =
        choice.undecided.first().filter(|closest| closest.launches >= SURE_LAUNCHES as usize);
    let Some(closest) = closest else {
        let were = units::were(choice.evidence.rounds as u64);
        return format!(
            "Only {rounds} {were} measured, and a decision needs {SURE_LAUNCHES} that agree: raise --budget or --launches."
        );
    };
    let (kept, of) = (closest.passed, closest.launches);
    let enough = (kept..of).find(|kept| surely_most(*kept, of, ERROR)).unwrap_or(of);
    let late = match closest.void {
        0 => String::new(),
        late => format!(
            " In {} that broke it the sender itself was late: a quieter machine helps, too.",
            units::counted(late as u64, "launch")
        ),
    };
    format!(
        "{} kept the bound in {kept} of {of} launches; {enough} are enough to name it. Give a longer --budget.{late}",
        closest.variant
    )
}

/// What qualifies, or might, the best first; None where nothing does.
fn table(choice: &Choice) -> Option<Table> {
    let shown: Vec<&Candidate> = match choice.answer {
        Answer::Pick => choice.qualified().collect(),
        Answer::Undecided => choice.undecided.iter().collect(),
        Answer::Nothing => choice.closest.iter().collect(),
    };
    let best = choice.pick.as_ref().filter(|_| choice.answer == Answer::Pick);
    let percentile = choice.bound.percentile();
    let time = |ns: Option<f64>| ns.map(units::duration);
    let table = Table::of_each("", &shown[..shown.len().min(ROWS)])
        .words("mechanism", 0, |candidate| Text::new().code(&candidate.variant))
        .numbers("p50", 0, |candidate| time(candidate.p50_ns))
        .numbers_if(percentile != "p50", &percentile, 0, |candidate| time(candidate.percentile_ns))
        .numbers_if(percentile != "p99", "p99", 2, |candidate| time(candidate.p99_ns))
        .numbers("n", 2, |candidate| units::count(candidate.messages))
        .numbers("capacity", 0, |candidate| {
            span(candidate.at_least_per_sec, candidate.below_per_sec)
        })
        .numbers("headroom", 0, |candidate| {
            headroom(choice, candidate.at_least_per_sec, candidate.below_per_sec)
        })
        .numbers("CPUs", 1, |candidate| candidate.server_cpus.map(|cpus| format!("{cpus:.2}")))
        .emphasis(|candidate| {
            Emphasis::Best.only_if(best.is_some_and(|best| best.variant == candidate.variant))
        })
        .table();
    let more = match shown.len().saturating_sub(ROWS) as u64 {
        0 => String::new(),
        more => {
            let run = choice.evidence.run;
            format!("{} more: `ipcmark report {run} -v`. ", units::count(more))
        }
    };
    table.note(format!("{more}n: messages; CPUs: what the server uses.")).unless_empty()
}

/// `10.0–20.0 k/s`, `≥ 10.0 k/s`, `< 20.0 k/s`, with what is known.
fn span(low: Option<u64>, high: Option<u64>) -> Option<String> {
    match (low, high) {
        (Some(low), Some(high)) => Some(Unit::PerSecond.range(low as f64, high as f64)),
        (Some(low), None) => Some(format!("≥ {}", per_second(low))),
        (None, Some(high)) => Some(format!("< {}", per_second(high))),
        (None, None) => None,
    }
}

/// The same over the rate that is needed: `2.0–4.0×`.
fn headroom(choice: &Choice, low: Option<u64>, high: Option<u64>) -> Option<String> {
    let over = |rate: u64| format!("{:.1}", rate as f64 / choice.need.per_second as f64);
    match (low.map(over), high.map(over)) {
        (Some(low), Some(high)) => Some(format!("{low}–{high}×")),
        (Some(low), None) => Some(format!("≥ {low}×")),
        (None, Some(high)) => Some(format!("< {high}×")),
        (None, None) => None,
    }
}

fn facts(judged: &Judged, choice: &Choice) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut put = |name: &str, words: String| facts.push((name.to_string(), words));
    if let (Some(pick), Some(next)) = (&choice.pick, &choice.runner_up) {
        put("runner-up", format!("{}: {}", next.variant, why_not(choice, pick, next)));
    }
    if let Some(pick) = choice.pick.as_ref().filter(|candidate| candidate.spins) {
        put(
            "CPU",
            format!("{} busy-waits: it uses whole CPUs also while nothing comes", pick.variant),
        );
    }
    if let Some(beyond) = &choice.beyond {
        let from = per_second(beyond.from_per_sec);
        put(
            "changes",
            match &beyond.variant {
                Some(variant) => format!("from {from} on: {variant}"),
                None => {
                    format!("from {from} on nothing that was measured is sure to keep the bound")
                }
            },
        );
    }
    let open = |why: &str, void: bool| {
        let own = choice
            .undecided
            .iter()
            .filter(|candidate| (candidate.verdict == RateVerdict::Void) == void);
        let names: Vec<&str> = own.map(|candidate| candidate.variant.as_str()).collect();
        (choice.pick.is_some() && !names.is_empty())
            .then(|| format!("{}: {why}", labels::few(&names)))
    };
    for (why, void) in [
        ("launches disagree, are too few, or others disturbed every round of them", false),
        (
            "the load can't be offered from here: the sender was late, or in calls all the time",
            true,
        ),
    ] {
        if let Some(words) = open(why, void) {
            put("undecided", words);
        }
    }
    put("evidence", evidence(judged, choice));
    let others =
        |capacity: &&Capacity| choice.rejected.iter().all(|no| no.variant != capacity.variant);
    for capacity in judged.capacity.iter().filter(others) {
        if let Some(words) = failures::of_capacity(capacity) {
            put("failed", format!("{}: {words}", capacity.variant));
        }
    }
    let [refused, left] = [false, true].map(|left| rejected(judged, choice, left));
    let more = (refused.len() + left.len()).saturating_sub(REASONS);
    let shown = REASONS.saturating_sub(left.len());
    for (heading, lines) in
        [("rejected", &refused[..refused.len().min(shown)]), ("not tried", &left)]
    {
        for (nth, line) in lines.iter().enumerate() {
            put(if nth == 0 { heading } else { "" }, line.clone());
        }
    }
    let run = choice.evidence.run;
    let further = if more > 0 {
        format!("{}, ", units::counted(more as u64, "more reason"))
    } else {
        String::new()
    };
    put("next", format!("`ipcmark report {run} -v`: {further}every rate and mechanism"));
    facts
}

fn evidence(judged: &Judged, choice: &Choice) -> String {
    let evidence = &choice.evidence;
    if evidence.candidates == 0 {
        return format!("run {}: nothing was measured", evidence.run);
    }
    let rounds = units::counted(evidence.rounds as u64, "round");
    let marked = judged.rounds.iter().filter(|round| round.marked.is_some()).count();
    let unknown = judged.rounds.iter().filter(|round| round.unknown.is_some()).count();
    let mut disturbed =
        if marked > 0 { format!("; others disturbed {marked} of them") } else { String::new() };
    if unknown > 0 {
        disturbed += &format!("; whether others disturbed {unknown} of them can't be read here");
    }
    let rates: Vec<String> = evidence.rates_per_sec.iter().map(|rate| per_second(*rate)).collect();
    format!(
        "run {}: {rounds} of {} at {}{disturbed}",
        evidence.run,
        units::counted(evidence.candidates as u64, "mechanism"),
        rates.join(", ")
    )
}

fn why_not(choice: &Choice, pick: &Candidate, next: &Candidate) -> String {
    let percentile = choice.bound.percentile();
    if !next.may_be_best {
        return match (next.slower_at_least, next.slower_at_most) {
            (Some(least), Some(most)) => {
                format!("its {percentile} is {} as long", factor(least, most))
            }
            _ => format!("its {percentile} is longer"),
        };
    }
    match (pick.server_cpus, next.server_cpus) {
        (Some(own), Some(other)) if next.uses_more_than(pick) => {
            format!(
                "its {percentile} is not separated, and its server uses {other:.2} CPUs, not {own:.2}"
            )
        }
        _ => format!("its {percentile} is not separated from that of {}", pick.variant),
    }
}

/// `1.2–1.5×`, rounded outwards.
fn factor(least: f64, most: f64) -> String {
    format!(
        "{:.1}–{:.1} times",
        (10.0 * (1.0 + least)).floor() / 10.0,
        (10.0 * (1.0 + most)).ceil() / 10.0
    )
}

/// What does not qualify, or what was left out: each reason once, with the first of its names.
fn rejected(judged: &Judged, choice: &Choice, left_out: bool) -> Vec<String> {
    let rejected = choice.rejected.iter().filter(|no| (no.reason == Why::LeftOut) == left_out);
    let said =
        rejected.map(|candidate| (words(judged, choice, candidate), candidate.variant.as_str()));
    let lines = labels::by_key(said);
    lines.iter().map(|(why, names)| format!("{}: {why}", labels::few(names))).collect()
}

fn words(judged: &Judged, choice: &Choice, rejected: &Rejected) -> String {
    let own = judged.capacity.iter().find(|known| known.variant == rejected.variant);
    let rate = own.and_then(|known: &Capacity| known.at(choice.need.per_second));
    let percentile = choice.bound.percentile();
    match rejected.reason {
        Why::TooSlow => {
            let time = rate.and_then(|rate| rate.percentile_ns).map(units::duration);
            format!("{percentile} {}", labels::or_dash(time))
        }
        Why::Overloaded => {
            let served = rate.and_then(|rate| rate.served_per_sec).map(units::per_second);
            format!("serves {}", labels::or_dash(served))
        }
        Why::LeftOut if choice.evidence.rounds > 1 => {
            "there was time for what was quicker in its pilot alone".into()
        }
        Why::LeftOut => "the run ended before its turn".into(),
        Why::NotMeasured | Why::Failed => {
            if let Some(words) = own.and_then(failures::of_capacity) {
                return words;
            }
            let detail = rejected.detail.as_deref().unwrap_or("not measured");
            labels::without_name(detail, &rejected.variant).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::meanwhile;

    #[test]
    fn a_late_sender_is_not_told_as_a_bound_that_was_broken() {
        assert_eq!(meanwhile(&[], Some(0)), "Nothing kept the bound meanwhile");
        let late = meanwhile(&[], Some(5));
        assert!(late.ends_with("in up to 5 launches") && !late.contains("kept"), "{late}");
        assert!(meanwhile(&["pipe".into()], Some(5)).contains("pipe kept the bound"));
    }
}
