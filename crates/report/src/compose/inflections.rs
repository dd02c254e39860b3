//! Along a sweep over sizes: a table of where the cost of a byte changes, and for each place a
//! sentence with what is known to lie there.

use super::{labels, open_loop};
use crate::{Block, Column, Row, Section, Table, Text, units};
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
        judged.sweeps.iter().filter(|it| it.sizes_bytes.len() >= LEAST_SIZES).collect();
    if long.is_empty() {
        return None;
    }
    let mut section = Section::new("inflections", "Inflections");
    section.blocks.extend(tables(&long));
    let sentences: Vec<Text> = long.iter().flat_map(|it| sentences(it)).collect();
    if long.iter().any(|it| !it.inflections.is_empty()) {
        section.blocks.push(Block::paragraph(NO_PROOF));
    }
    section.blocks.push(Block::List(sentences));
    Some(section)
}

fn tables(sweeps: &[&Sweep]) -> Vec<Block> {
    let mut tables: Vec<Table> = Vec::new();
    for sweep in sweeps.iter().filter(|it| !it.inflections.is_empty()) {
        let caption = format!("{}: where the cost of a byte changes", place(sweep));
        let at = tables.iter().position(|it| it.caption == caption).unwrap_or_else(|| {
            tables.push(empty(caption));
            tables.len() - 1
        });
        tables[at].rows.extend(sweep.inflections.iter().map(|it| row(sweep, it)));
    }
    if let Some(last) = tables.last_mut() {
        last.notes.push(Text::from(RULE));
    }
    tables.into_iter().map(Block::from).collect()
}

fn empty(caption: String) -> Table {
    let columns = vec![
        Column::text("mechanism", 0),
        Column::text("between", 0),
        Column::text("[interval]", 0),
        Column::number("ns a byte", 0),
        Column::number("step", 1),
    ];
    Table { caption, columns, ..Default::default() }
}

fn row(sweep: &Sweep, it: &Inflection) -> Row {
    Row::new([
        Text::new().code(&sweep.variant),
        Text::from(between(it)),
        Text::from(format!("[{}, {}]", units::size(it.from_bytes), units::size(it.to_bytes))),
        Text::from(format!(
            "{} → {}",
            per_byte(it.ns_per_byte.before),
            per_byte(it.ns_per_byte.after)
        )),
        Text::from(signed(it.step_ns)),
    ])
}

/// `Throughput, one CPU`.
fn place(sweep: &Sweep) -> String {
    let what = &sweep.metric.title;
    let total = match sweep.total {
        None | Some(Total::Long) => String::new(),
        Some(total) => format!(" of {total}"),
    };
    let load = sweep.load.map(open_loop::loaded).unwrap_or_default();
    let plain = model::factor::conditions(&sweep.case);
    format!("{what}{total}{load}{plain}, {}", labels::place_of(&sweep.site))
}

/// `32 KiB–64 KiB`.
pub fn between(it: &Inflection) -> String {
    let [before, after] = it.best_bytes.map(units::size);
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
    let zero = number.trim_start_matches('-').chars().all(|it| matches!(it, '0' | '.'));
    if zero { number.trim_start_matches('-').into() } else { number.replace('-', "−") }
}

/// What changes at a place: `a byte costs 0.175 ns before and 0.497 ns after`.
pub fn change(it: &Inflection) -> String {
    let [before, after] = [it.ns_per_byte.before, it.ns_per_byte.after].map(per_byte);
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
    let sentence = |it: &Inflection| {
        let known = match &it.candidates[..] {
            [] => "nothing known".to_string(),
            known => labels::list(&known.iter().map(named).collect::<Vec<_>>()),
        };
        head().strong(between(it)).plain(format!(", {}. Coincides with: {known}.", change(it)))
    };
    sweep.inflections.iter().map(sentence).collect()
}

fn named(it: &Candidate) -> String {
    format!("{} ({})", it.name, units::size(it.bytes))
}
