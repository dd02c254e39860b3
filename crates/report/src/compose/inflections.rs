//! Along a sweep over sizes: a table of where the cost of a byte changes, and for each place a
//! sentence with what is known to lie there.

use super::{labels, loads};
use crate::{Block, Section, Table, Text, units};
use analysis::{Candidate, Inflection, Judged, Sweep, Total};
use stats::LEAST_SIZES;

const RULE: &str = "Straight lines in size: a place is where one ends and the next begins, between \
     two measured sizes, with the interval that holds it with 95 %. Each further place must gain \
     more than noise does; a straight line shows one with at most 5 %. Step: how far the second \
     line lies above the first at that place.";

const NO_PROOF: &str = "What coincides lies within the interval: a candidate, not proven to be \
     the cause. A wide interval holds many by chance.";

/// None unless a curve has the sizes that it takes.
pub fn section(judged: &Judged) -> Option<Section> {
    let long: Vec<&Sweep> =
        judged.sweeps.iter().filter(|sweep| sweep.sizes_bytes.len() >= LEAST_SIZES).collect();
    let found = long.iter().any(|sweep| !sweep.inflections.is_empty());
    let sentences = long.iter().flat_map(|sweep| sentences(sweep));
    (!long.is_empty()).then(|| {
        Section::new("inflections", "Inflections")
            .with_all(tables(&long))
            .with_all(found.then(|| Text::from(NO_PROOF)))
            .with(Block::List(sentences.collect()))
    })
}

fn tables(sweeps: &[&Sweep]) -> Vec<Table> {
    let found = sweeps.iter().copied().flat_map(|sweep| {
        sweep.inflections.iter().map(move |inflection| (place(sweep), (sweep, inflection)))
    });
    let places = labels::by_key(found);
    let mut tables: Vec<Table> = places.iter().map(|(place, found)| table(place, found)).collect();
    if let Some(last) = tables.last_mut() {
        last.notes.push(Text::from(RULE));
    }
    tables
}

fn table(place: &str, found: &[(&Sweep, &Inflection)]) -> Table {
    Table::of_each(format!("{place}: where the cost of a byte changes"), found)
        .words("mechanism", 0, |(sweep, _)| Text::new().code(&sweep.variant))
        .words("between", 0, |(_, it)| between(it))
        .words("[interval]", 0, |(_, it)| {
            format!("[{}, {}]", units::size(it.from_bytes), units::size(it.to_bytes))
        })
        .numbers("ns a byte", 0, |(_, it)| costs(it).join(" → "))
        .numbers("step", 1, |(_, it)| signed(it.step_ns))
        .table()
}

/// What a byte costs before a place, and after it.
fn costs(inflection: &Inflection) -> [String; 2] {
    [inflection.ns_per_byte.before, inflection.ns_per_byte.after].map(per_byte)
}

/// `Throughput, one CPU`.
fn place(sweep: &Sweep) -> String {
    let what = &sweep.metric.title;
    let total = match sweep.total {
        None | Some(Total::Long) => String::new(),
        Some(total) => format!(" of {total}"),
    };
    let load = sweep.load.map(loads::loaded).unwrap_or_default();
    let plain = model::factor::conditions(&sweep.case);
    format!("{what}{total}{load}{plain}, {}", labels::place_of(&sweep.site))
}

/// `32 KiB–64 KiB`.
pub fn between(inflection: &Inflection) -> String {
    let [before, after] = inflection.best_bytes.map(units::size);
    format!("{before}–{after}")
}

/// Three digits, with a real minus: `0.175`, `−12.3`.
fn per_byte(ns: f64) -> String {
    let whole = if ns == 0.0 { 0 } else { ns.abs().log10().floor() as i32 };
    let digits = (2 - whole).clamp(0, 4) as usize;
    minus(format!("{ns:.digits$}"))
}

/// A duration that may be less than nothing: `+1.2 µs`.
fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "−" } else { "+" };
    format!("{sign}{}", units::duration(ns.abs()))
}

fn minus(number: String) -> String {
    let zero = number.trim_start_matches('-').chars().all(|letter| matches!(letter, '0' | '.'));
    if zero { number.trim_start_matches('-').into() } else { number.replace('-', "−") }
}

/// What changes at a place: `a byte costs 0.175 ns before and 0.497 ns after`.
pub fn change(inflection: &Inflection) -> String {
    let [before, after] = costs(inflection);
    format!("a byte costs {before} ns before and {after} ns after")
}

fn sentences(sweep: &Sweep) -> Vec<Text> {
    let head = || {
        Text::new()
            .code(&sweep.variant)
            .plain(format!(", {}: ", labels::within_sentence(&place(sweep))))
    };
    if let Some(reason) = &sweep.reason {
        return vec![head().plain(format!("not analysed: {reason}."))];
    }
    if sweep.inflections.is_empty() {
        let none = match sweep.sizes_bytes[..] {
            [first, .., last] => format!(
                "none shown by {} between {} and {}.",
                units::counted(sweep.rounds as u64, "round"),
                units::size(first),
                units::size(last)
            ),
            _ => "none.".into(),
        };
        return vec![head().plain(none)];
    }
    let sentence = |inflection: &Inflection| {
        let known = match &inflection.candidates[..] {
            [] => "nothing known".to_string(),
            known => labels::list(&known.iter().map(named).collect::<Vec<_>>()),
        };
        head()
            .strong(between(inflection))
            .plain(format!(", {}. Coincides with: {known}.", change(inflection)))
    };
    sweep.inflections.iter().map(sentence).collect()
}

fn named(candidate: &Candidate) -> String {
    format!("{} ({})", candidate.name, units::size(candidate.bytes))
}
