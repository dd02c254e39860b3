//! What the report calls things: places, routes, groups and cases by name, values and ratios with their intervals.

mod asked;

pub use asked::conditions;

use crate::{Text, Unit, Verdict, VerdictKind, units};
use analysis::hypothesis::Decision;
use analysis::{CaseResult, Estimate, GroupVerdict, Judged, Site, Standing};
use asked::{between, lossy};
use model::distinct::distinct;
use model::factor::Factor;
use model::launch::Workers;
use model::metric::Metric;
use model::placement::Placement;

pub use super::lists::{by_key, few, few_codes, few_with_commas, list};

pub fn unit(case: &CaseResult) -> Unit {
    case.metric.unit
}

/// What the best of a group has: times are small, rates are large.
pub fn best_median(case: &CaseResult) -> &'static str {
    match unit(case) {
        Unit::Nanoseconds => "smallest median",
        _ => "largest median",
    }
}

/// A level in words: `4 KiB`, `one CPU`, `threads`.
pub fn level_name(factor: Factor, level: &str) -> String {
    match (factor, model::size::parse(level)) {
        (Factor::Size | Factor::Response, Ok(bytes)) => units::size(bytes),
        (Factor::Rate, _) => {
            let rate = model::rate::parse(level).map(units::count);
            rate.map_or(level.into(), |rate| format!("{rate} a second"))
        }
        (Factor::Placement, _) => Placement::parse(level).map_or(level.into(), placement),
        (Factor::Workers, _) if level == "process" => "processes".into(),
        (Factor::Workers, _) => "threads".into(),
        (Factor::Route, _) => route(level),
        _ => level.to_string(),
    }
}

/// A placement in words: `one CPU`, `two CPUs, one cache`.
pub fn placement(placement: Placement) -> String {
    match placement {
        Placement::SameCpu => "one CPU".into(),
        Placement::Free => "placed freely".into(),
        Placement::SmtSibling => "two threads of a core".into(),
        Placement::SameLlc => "two CPUs, one cache".into(),
        Placement::CrossLlc => "two CPUs, two caches".into(),
        Placement::CrossNode => "two memory nodes".into(),
        Placement::Cpus(initiator, responder) => format!("CPUs {initiator},{responder}"),
        Placement::InitiatorCpu(cpu) => format!("initiator on CPU {cpu}"),
        Placement::ResponderCpu(cpu) => format!("responder on CPU {cpu}"),
    }
}

/// A place with its route, where several are told apart; without what its workers are.
pub fn place(site: &Site) -> String {
    let route = site.route.as_ref().map_or(String::new(), |is| route(&is.to_string()) + ", ");
    route + &placement(site.placement) + &arm(site)
}

/// `, arm rt`, or nothing where there are none.
pub fn arm(site: &Site) -> String {
    site.arm.as_ref().map_or(String::new(), |name| format!(", arm {name}"))
}

/// As [`place`], with threads named.
pub fn place_of(site: &Site) -> String {
    place(site) + threads(site.workers)
}

/// `, threads`, or nothing of processes.
pub fn threads(workers: Workers) -> &'static str {
    if workers == Workers::Thread { ", threads" } else { "" }
}

/// `, 64 B`, or nothing of what has no size.
pub fn of_size(bytes: Option<u64>) -> String {
    size_after(", ", bytes)
}

/// The same after other words: ` of 64 B`.
pub fn size_after(words: &str, bytes: Option<u64>) -> String {
    bytes.map_or(String::new(), |bytes| format!("{words}{}", units::size(bytes)))
}

/// Where client and server run, in words: `this host`, `to the peer`, `lab: 2 routers, 1 switch`.
pub fn route(route: &str) -> String {
    match route.split_once(':') {
        None if route == "local" => "this host".into(),
        None if route == "peer" => "to the peer".into(),
        None => "lab: a cable".into(),
        Some((lab, options)) => {
            let parts = options.split(',').map(|option| match option.split_once('=') {
                Some((what @ ("routers" | "switches"), "1")) => {
                    format!("1 {}", what.trim_end_matches("es").trim_end_matches('s'))
                }
                Some((what @ ("routers" | "switches"), count)) => format!("{count} {what}"),
                Some((what, value)) => format!("{what} {value}"),
                None => option.to_string(),
            });
            format!("{lab}: {}", parts.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The head of a group: `64-byte messages, one CPU`.
pub fn group(group: &GroupVerdict) -> String {
    let workers = threads(group.workers);
    if group.metric.is_set_up() {
        let conditions = conditions(&group.case);
        return format!("{}{conditions}, {}{workers}", group.metric.title, place(&group.site));
    }
    let of = group.message_bytes.map_or("a wake-up".into(), units::size);
    let what = group.metric.many(&of) + group.class.words() + &conditions(&group.case);
    format!("{what}, {}{workers}", place(&group.site))
}

/// `1.04× [1.01, 1.08]`: one time over another.
pub fn over(ratio: f64, low: f64, high: f64) -> String {
    format!("{} [{low:.2}, {high:.2}]", units::ratio(ratio))
}

/// What stands above the rows of a size: `64 B`, `a wake-up, no bytes`.
pub fn size_heading(bytes: Option<u64>) -> String {
    bytes.map_or("a wake-up, no bytes".into(), units::size)
}

/// `latency, 64 B, one CPU`: all that a case is beside its variant.
pub fn what(case: &CaseResult) -> String {
    let size = of_size(case.message_bytes) + &conditions(&case.case);
    let place = place_of(&case.site);
    format!("{}{size}, {place}{}", case.workload.name(), between(case))
}

/// What is said of the headline value; a dash where there is none.
fn said(case: &CaseResult, words: impl Fn(Unit, f64, Option<(f64, f64)>) -> String) -> String {
    let said = |value: &Estimate| words(unit(case), value.median, value.interval.ends());
    let value = || case.value.as_ref().map(|value| said(value) + &lossy(case));
    or_dash(not_kept(case).or_else(value))
}

/// Words, or a dash where there are none.
pub fn or_dash(words: Option<String>) -> String {
    words.unwrap_or_else(|| "–".into())
}

/// The headline value: `4.12 µs [4.10, 4.15]`.
pub fn value(case: &CaseResult) -> String {
    said(case, |unit, median, ends| match ends {
        Some((low, high)) => unit.interval(median, low, high),
        None => format!("{} (too few launches)", unit.format(median)),
    })
}

/// What replaces a value where a schedule was not kept.
pub fn not_kept(case: &CaseResult) -> Option<String> {
    case.rate.filter(|rate| !rate.is_kept()).map(super::loads::shortfall)
}

/// `36.0–52.0 µs, 5 runs`: the results of earlier runs, where there were any.
pub fn earlier_runs(case: &CaseResult) -> Option<String> {
    let it = case.earlier?;
    let runs = units::counted(it.runs, "run");
    Some(format!("{}, {runs}", unit(case).range(it.low, it.high)))
}

/// The same with its heading: `earlier here: 36.0–52.0 µs, 5 runs`.
pub fn earlier(case: &CaseResult) -> Option<String> {
    earlier_runs(case).map(|runs| format!("earlier here: {runs}"))
}

/// `0.978× [0.644, 1.29]`: how a case stands to the reference of its group, which itself has `1`.
pub fn ratio(group: &GroupVerdict, standing: &Standing) -> Option<String> {
    let own = (group.reference == Some(standing.result)).then(|| "1".into());
    let ratio = standing.ratio.zip(standing.low.zip(standing.high));
    ratio.map(|(ratio, (low, high))| Unit::Ratio.interval(ratio, low, high)).or(own)
}

/// `0.978× [0.644, 1.29] the time of pipe`; None of the reference itself.
pub fn times_reference(
    judged: &Judged,
    group: &GroupVerdict,
    standing: &Standing,
) -> Option<String> {
    let reference = group.reference.filter(|at| *at != standing.result)?;
    let ratio = ratio(group, standing)?;
    Some(format!("{ratio} the time of {}", judged.results[reference].variant))
}

/// `3 sessions: 41.0 µs [36.0, 52.0]`, where there were several.
pub fn sessions(case: &CaseResult) -> Option<String> {
    let it = case.sessions.as_ref()?;
    let sessions = units::counted(it.sessions, "session");
    Some(format!("{sessions}: {}", unit(case).interval(it.median, it.low, it.high)))
}

/// The same in little room: `0.978× (0.938–1.02)`.
pub fn short_ratio(group: &GroupVerdict, standing: &Standing) -> Option<String> {
    let own = (group.reference == Some(standing.result)).then(|| "1".into());
    let ratio = standing.ratio.zip(standing.low.zip(standing.high));
    ratio.map(|(ratio, ends)| Unit::Ratio.short(ratio, Some(ends))).or(own)
}

/// The headline value in little room, with the ends of its interval: `4.12 µs (4.10–4.15)`.
pub fn short_value(case: &CaseResult) -> String {
    said(case, Unit::short)
}

/// The ends of the interval of the headline value: `4.10–4.15 µs`; the value alone where it has none.
pub fn ends(case: &CaseResult) -> String {
    said(case, |unit, median, ends| match ends {
        Some((low, high)) => unit.range(low, high),
        None => unit.format(median),
    })
}

/// The headline value alone: `4.12 µs`.
pub fn brief_value(case: &CaseResult) -> String {
    said(case, |unit, median, _| unit.format(median))
}

/// `pipe, 64 B, one CPU`; the workload is said where it isn't a round trip.
pub fn case(case: &CaseResult) -> String {
    let (what, size) = (qualifier(&case.metric), of_size(case.message_bytes));
    let (size, place) = (size + &conditions(&case.case), place_of(&case.site));
    format!("{}{what}{size}, {place}{}", case.variant, between(case))
}

/// `, open loop`; nothing of a round trip.
pub fn qualifier(metric: &Metric) -> String {
    match &*metric.qualifier {
        "" => String::new(),
        qualifier => format!(", {qualifier}"),
    }
}

/// A reason without the name of the mechanism that it begins with, with its options or without: where that stands
/// before it already.
pub fn without_name<'a>(reason: &'a str, variant: &str) -> &'a str {
    let mechanism = variant.split(':').next().unwrap_or_default();
    let without = |name: &str| reason.strip_prefix(name)?.strip_prefix(' ');
    without(variant).or_else(|| without(mechanism)).unwrap_or(reason)
}

/// What stands first where others disturbed every round of some, or all, of so many comparisons; None where of none.
pub fn disturbed((some, all): (usize, usize), noun: &str, therefore: &str) -> Option<Verdict> {
    if some == 0 {
        return None;
    }
    let which = match all {
        _ if some < all => format!(" of {some} of {}", units::counted(all as u64, noun)),
        _ => String::new(),
    };
    let there = if some < all { " there" } else { "" };
    let head = format!("Other programs ran during every round{which}: {therefore}{there}.");
    Some(Verdict::new(
        VerdictKind::Unknown,
        Text::new().strong(head),
        "`ipcmark doctor` says what disturbs: end it, and run again.",
    ))
}

/// The names of a group's best set: `pipe`, or `pipe ≈ futex ≈ 3 more`; none of what others disturbed.
pub fn best_of(group: &GroupVerdict) -> String {
    if group.is_disturbed() {
        return "undecided, every round was disturbed".into();
    }
    if group.has_too_few_launches() {
        return "undecided, too few launches".into();
    }
    together(group, |standing| standing.among_best)
}

/// The names of the standings that `belong`, as of those that are not separated.
pub fn together(group: &GroupVerdict, belong: fn(&Standing) -> bool) -> String {
    let best = group.standings.iter().filter(|standing| belong(standing));
    let names: Vec<&str> = best.map(|standing| standing.variant.as_str()).collect();
    match names.as_slice() {
        [first, second, _, rest @ ..] if !rest.is_empty() => {
            format!("{first} ≈ {second} ≈ {} more", names.len() - 2)
        }
        few => few.join(" ≈ "),
    }
}

/// Of what the case `of` is, `Best: pipe (one CPU); tcp ≈ udp (two CPUs, one cache).`, or nothing.
pub fn best_by_place(judged: &Judged, of: &CaseResult, size: Option<u64>) -> String {
    let here = judged.groups.iter().filter(|group| {
        (group.workload, group.message_bytes) == (of.workload, size)
            && conditions(&group.case) == conditions(&of.case)
            && group.standings.len() > 1
    });
    let named =
        |verdict: &GroupVerdict| format!("{} ({})", best_of(verdict), place_of(&verdict.site));
    best(&here.map(named).collect::<Vec<_>>())
}

/// The same over sizes, `Best: pipe (64 B to 1 KiB); tcp (4 KiB).`, or nothing.
pub fn best_by_size(judged: &Judged, of: &CaseResult, at: &Site) -> String {
    let mut stretches: Vec<(String, u64, u64)> = Vec::new();
    for group in &judged.groups {
        let here = group.site == *at;
        let same = group.workload == of.workload && conditions(&group.case) == conditions(&of.case);
        let Some(size) = group.message_bytes.filter(|_| here && same) else {
            continue;
        };
        let names = best_of(group);
        match stretches.last_mut() {
            Some(last) if last.0 == names => last.2 = size,
            _ if group.standings.len() > 1 => stretches.push((names, size, size)),
            _ => {}
        }
    }
    let named: Vec<String> = stretches
        .into_iter()
        .map(|(names, from, to)| {
            if from == to {
                format!("{names} ({})", units::size(from))
            } else {
                format!("{names} ({} to {})", units::size(from), units::size(to))
            }
        })
        .collect();
    best(&named)
}

fn best(named: &[String]) -> String {
    match named {
        [] => String::new(),
        // ≈ is explained at its first use.
        _ if named.iter().any(|text| text.contains('≈')) => {
            format!("Best (≈: not separated {}): {}.", super::signs::by_more(), named.join("; "))
        }
        _ => format!("Best: {}.", named.join("; ")),
    }
}

/// With a capital first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |letter| letter.to_uppercase().chain(letters).collect())
}

/// Workers and placements, in the order of the results.
pub fn places<'a>(cases: &[&'a CaseResult]) -> Vec<&'a Site> {
    distinct(cases.iter().map(|case| &case.site))
}

/// A share of all messages in two digits: `6.6 %`, `0.12 %`.
pub fn later(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = match percent {
        0.0 | 9.95.. => 0,
        it => (-it.log10().floor()) as usize + 1,
    };
    format!("{percent:.digits$} %")
}

/// What at least three names begin with, up to the value of their first option.
pub(super) fn shared_prefix(names: &[String]) -> Option<&str> {
    let prefix = |name: &'_ String| name.find('=').map(|at| at + 1);
    let prefixes = names.iter().filter_map(|name| Some(&name[..prefix(name)?]));
    let alike = |text: &&str| names.iter().filter(|name| name.starts_with(*text)).count() >= 3;
    prefixes.into_iter().find(alike)
}

/// A name without what it shares with others, which an ellipsis replaces.
pub(super) fn without_shared(name: &str, shared: Option<&str>) -> String {
    match shared.and_then(|text| name.strip_prefix(text)) {
        Some(rest) => format!("…{rest}"),
        None => name.to_string(),
    }
}

/// How the decision on a claim is marked.
pub fn kind(decision: Decision) -> VerdictKind {
    match decision {
        Decision::Supported => VerdictKind::Good,
        Decision::Refuted => VerdictKind::Bad,
        Decision::Inconclusive
        | Decision::TooFewRounds
        | Decision::TooFewSamples
        | Decision::NoTime
        | Decision::NotTestable => VerdictKind::Unknown,
    }
}

/// Words that began a sentence, within one.
pub fn within_sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |letter| letter.to_lowercase().chain(letters).collect())
}
