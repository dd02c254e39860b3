//! Open loops on one screen: at each rate the response times of what was served, and in words what was not.

use super::{brief, labels, loads, open_loop, percentiles, signs};
use crate::{Block, Emphasis, Section, Table, Text, units};
use analysis::{CaseResult, GroupVerdict, Judged, RateSeen, Standing};

/// Lines of the table's rows, its headings counted, and of what is said under it.
const ROWS: usize = 22;
/// Lines on rates that were not kept.
const NOT_KEPT: usize = 6;

/// The answer of a run with open loops; None of any other.
pub fn section(judged: &Judged) -> Option<Section> {
    let blocks = blocks(judged, ROWS);
    (!blocks.is_empty()).then(|| {
        Section::new("rates", "Response times under load")
            .with_all(brief::above(judged, &paced(judged)))
            .with_all(blocks)
            .with(Block::Facts(brief::closing(judged)))
    })
}

fn paced(judged: &Judged) -> Vec<&GroupVerdict> {
    judged.groups.iter().filter(|group| group.metric.paced).collect()
}

/// The table, and what was not kept, in so many lines; nothing of a run without open loops.
pub fn blocks(judged: &Judged, lines: usize) -> Vec<Block> {
    let groups = paced(judged);
    let told = not_kept(judged, &groups);
    let table = table(judged, &groups, lines.saturating_sub(told.len()));
    table.map(Block::from).into_iter().chain(told).collect()
}

/// The quickest at each rate, in so many lines; None where no rate was kept.
fn table(judged: &Judged, groups: &[&GroupVerdict], lines: usize) -> Option<Table> {
    let groups: Vec<&GroupVerdict> =
        groups.iter().copied().filter(|group| !group.standings.is_empty()).collect();
    let all = || groups.iter().flat_map(|group| &group.standings);
    let cases: Vec<&CaseResult> = all().map(|standing| &judged.results[standing.result]).collect();
    let shares = brief::shares(&groups, lines.saturating_sub(groups.len()));
    // Each has a heading and a row at least.
    let shown = groups.iter().zip(shares).take(lines / 2);
    let rows: Vec<Ranked> = shown
        .flat_map(|(group, share)| {
            let standings = group.standings.iter().take(share);
            standings.map(|standing| (*group, standing, &judged.results[standing.result]))
        })
        .collect();
    let table = Table::of_each("", &rows)
        .words("mechanism", 0, |(.., case)| Text::new().code(&case.variant))
        .numbers("p50", 0, |(.., case)| labels::short_value(case));
    let table = percentiles::columns(table, |(.., case)| case, &cases, false)
        .numbers("share", 0, |(.., case)| {
            Some(format!("{:.1} %", 100.0 * case.rate?.served_share?))
        })
        .emphasis(|(group, standing, _)| {
            Emphasis::Best.only_if(standing.among_best && group.names_the_best())
        })
        .under(
            |(group, ..)| std::ptr::from_ref(*group),
            |(group, ..)| labels::capital(&labels::group(group)),
        );
    let more = (cases.len() - rows.len()) as u64;
    let more = (more > 0).then(|| {
        let more = units::counted(more, "more result");
        Text::new().muted(format!("{more}: `ipcmark report {} -v`.", judged.run.id))
    });
    table.notes(more).note(meaning(&groups, &rows)).unless_empty()
}

/// A case as it is ranked in a group.
type Ranked<'a> = (&'a GroupVerdict, &'a Standing, &'a CaseResult);

fn meaning(groups: &[&GroupVerdict], shown: &[Ranked]) -> Text {
    let best = match groups.iter().any(|group| group.names_the_best()) {
        true => format!("✓ best, or not separated from the best {}. ", signs::by_more()),
        false => String::new(),
    };
    let few = match shown.iter().any(|(.., case)| percentiles::lacking(case, "p99").is_some()) {
        true => " A p99 takes 368 samples in each launch.",
        false => "",
    };
    Text::new().muted(format!(
        "{best}p50 and p99: medians over launches, from when a message was due. Share: of what was due.{few}"
    ))
}

/// What was not served, and what was not offered, a line for each load and place.
fn not_kept(judged: &Judged, groups: &[&GroupVerdict]) -> Vec<Block> {
    let mut lines: Vec<Block> = Vec::new();
    // What carries no bytes belongs to two groups.
    let mut told: Vec<*const CaseResult> = Vec::new();
    for group in groups {
        let seen: Vec<(&CaseResult, RateSeen)> = open_loop::unranked(judged, group)
            .into_iter()
            .filter(|case| !told.contains(&std::ptr::from_ref(*case)))
            .filter_map(|case| Some((case, case.rate?)))
            .collect();
        told.extend(seen.iter().map(|pair| std::ptr::from_ref(pair.0)));
        let of = |void: bool| seen.iter().filter(move |pair| pair.1.void == void);
        let at = loads::per_second(seen.first().map_or(0, |pair| pair.1.load.per_second));
        let place = labels::place_of(&group.site);
        let served: Vec<(&str, String)> =
            of(false).map(|(case, rate)| (case.variant.as_str(), loads::served(*rate))).collect();
        match served.as_slice() {
            [] => {}
            [(name, served)] => {
                let text = format!(" can't serve {at} here ({served}), {place}");
                lines.push(Block::warning(Text::new().code(*name).plain(text)));
            }
            some => {
                let each = some.iter().map(|(name, served)| format!("{name} ({served})"));
                let names = labels::few(&each.collect::<Vec<_>>());
                lines.push(Block::warning(format!("Can't serve {at} here, {place}: {names}")));
            }
        }
        let void: Vec<String> = of(true).map(|pair| pair.0.variant.clone()).collect();
        if !void.is_empty() {
            let text = format!("At {at}, {place}, {}: no result of ", seen_late(&seen));
            lines.push(Block::warning(labels::few_codes(Text::new().plain(text), &void)));
        }
    }
    let more = lines.len().saturating_sub(NOT_KEPT);
    if more > 1 {
        lines.truncate(NOT_KEPT);
        let more = units::counted(more as u64, "more line");
        let all = format!("{more} of this kind: `ipcmark report {} -v`", judged.run.id);
        lines.push(Block::warning(all));
    }
    lines
}

fn seen_late(seen: &[(&CaseResult, RateSeen)]) -> &'static str {
    let mut void = seen.iter().filter(|pair| pair.1.void).peekable();
    match void.peek().is_some() && void.all(|pair| pair.1.is_out_of_generators()) {
        true => "calls took all of the load generator's time",
        false => "the load generator was late",
    }
}
