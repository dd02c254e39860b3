//! Floors as a document: a section for each, with a sentence on what it means to a reader.

use std::collections::BTreeMap;

use super::copies::{self, cell};

use ::report::{Block, Column, Document, Row, Section, Table, Text, Unit, units};
use model::distinct::ascending;
use model::floors::{
    Call, Calls, ClockFloor, Clocks, Floors, LinePair, Lines, Part, Repeats, WakeUps,
};
use model::placement::Relation;

/// CPUs of which a heat map fits 80 columns.
const FIT: usize = 9;
/// Clocks that differ by less keep step: a nanosecond a second.
const TOGETHER_PPM: f64 = 0.001;
/// Pairs that are listed one by one before they are gathered by relation.
const FEW_PAIRS: usize = 6;

pub fn compose(floors: &Floors) -> Document {
    let mut document = Document::new("Floors of this machine");
    document.subtitle = "Bounds to hold results against: medians of repeats inside one \
         process [95 % interval]; two values with shares are two modes."
        .into();
    let took = units::duration(floors.took_ns as f64);
    let cpu = floors.cpu.map_or("–".into(), |cpu| cpu.to_string());
    document.meta = vec![("measured on CPU".into(), cpu), ("in".into(), took)];
    document.sections = vec![
        section("clocks", "Clocks", &floors.clocks, clocks),
        section("calls", "Kernel calls", &floors.calls, calls),
        section("copy", "Copy", &floors.copy, copies::blocks),
        section("line", "Cache line", &floors.line, lines),
        section("wake-up", "Wake-ups", &floors.wake_up, wake_ups),
    ];
    document
}

fn section<T>(id: &str, title: &str, part: &Part<T>, blocks: impl Fn(&T) -> Vec<Block>) -> Section {
    let mut section = Section::new(id, title);
    section.blocks = match part.get() {
        Ok(found) => blocks(found),
        Err(why) => vec![absent(&why.reason)],
    };
    section
}

fn absent(reason: &str) -> Block {
    Block::paragraph(Text::new().strong("Not measured: ").plain(reason))
}

fn part_cell(unit: Unit, part: &Part<Repeats>) -> Text {
    match part.get() {
        Ok(repeats) => cell(unit, repeats).into(),
        Err(why) => Text::new().muted(&why.reason),
    }
}

/// A clock's name as people know it.
fn clock_name(clock: &str) -> &'static str {
    match clock {
        "tsc" => "TSC",
        "monotonic_raw" => "CLOCK_MONOTONIC_RAW",
        "monotonic" => "CLOCK_MONOTONIC",
        _ => "no clock",
    }
}

fn clocks(found: &Clocks) -> Vec<Block> {
    let ns = |repeats: &Repeats| cell(Unit::Nanoseconds, repeats);
    let or_none = |repeats: &Option<Repeats>| repeats.as_ref().map_or("none".into(), ns);
    let row = |clock: &ClockFloor| {
        Row::new([
            clock_name(&clock.clock).to_string(),
            ns(&clock.cost_ns),
            or_none(&clock.step_by_loop_ns),
            or_none(&clock.step_by_reads_ns),
        ])
    };
    let table =
        Table::new("What a read costs, and the smallest step by a growing loop and by reads")
            .words([("clock", 0)])
            .numbers([("a read", 0), ("step, loop", 0), ("step, reads", 0)])
            .rows(found.clocks.iter().map(row));
    let mut blocks = vec![table.into(), Block::paragraph(precise(found))];
    blocks.extend(agreement(found).map(Block::paragraph));
    blocks.push(Block::paragraph(
        "Nothing shorter than a read or a step can be timed alone: what is shorter than 20 reads \
         or 50 steps is timed in batches.",
    ));
    blocks
}

/// Which clock is the more precise, and whether it is the one used.
fn precise(found: &Clocks) -> Text {
    let (best, used) = (clock_name(&found.most_precise), clock_name(&found.used));
    if found.most_precise != found.used {
        let why = match (&found.tsc_unavailable, found.used.as_str()) {
            (Some(why), _) if found.most_precise == "tsc" => why.to_string(),
            (_, "tsc") => format!("the kernel computes {best} from it, which can't be finer"),
            _ => format!("{best} is steered by the network's time, {used} is not"),
        };
        return Text::new()
            .plain("The most precise by these figures is ")
            .strong(best)
            .plain(format!("; the one used is {used}: {why}."));
    }
    let equal: Vec<&str> = found.as_precise.iter().map(|text| clock_name(text)).collect();
    match equal.as_slice() {
        [] => Text::new()
            .plain("The most precise is ")
            .strong(best)
            .plain(": no other has as small a step at as low a cost. It is the one used."),
        equal => Text::new().plain("None is more precise than ").strong(best).plain(format!(
            ", the one used: {} cost the same within 10 %, and step too finely for their reads \
             to tell.",
            equal.join(" and ")
        )),
    }
}

fn agreement(found: &Clocks) -> Option<Text> {
    let over = units::duration(found.compared_over_ns? as f64);
    let spans: Vec<String> = found
        .clocks
        .iter()
        .filter_map(|clock| {
            let repeats = clock.disagreement_ppm.as_ref()?;
            let (low, high) = repeats.low.zip(repeats.high)?;
            let together = low.abs().max(high.abs()) < TOGETHER_PPM;
            let middle = repeats.median?;
            // With three decimals, because these differences lie around zero.
            let ppm = format!("{middle:.3} [{low:.3}, {high:.3}]").replace('-', "−");
            let name = clock_name(&clock.clock);
            Some(match clock.clock.as_str() {
                "tsc" if together => format!("{name} kept its own mean scale"),
                "tsc" => format!("{name} deviated from its own mean scale by {ppm} ppm"),
                _ if together => format!("{name} kept step with CLOCK_MONOTONIC_RAW"),
                _ => format!("{name} ran {ppm} ppm faster than CLOCK_MONOTONIC_RAW"),
            })
        })
        .collect();
    let spans = spans.join("; ");
    (!spans.is_empty()).then(|| format!("Over {over}, span by span of 100 ms: {spans}.").into())
}

const MESSAGES: &str = "Timed loops call the C library, as most programs do. A call may take less where it is made inline, by \
     an instruction in the loop: on some processors, returning from a function between two calls makes the processor \
     mispredict returns inside the kernel (see spec_rstack_overflow under /sys/devices/system/cpu/vulnerabilities). A \
     program that makes its calls inline takes so much less for each message than results say.";

fn costs(title: &str, calls: &[Call]) -> Table {
    let row = |call: &Call| {
        Row::new([
            Text::new().code(&call.call),
            Text::from(call.by.as_str()),
            Text::from(cell(Unit::Nanoseconds, &call.cost_ns)),
        ])
    };
    Table::new(title)
        .words([("call", 0), ("made by", 0)])
        .numbers([("cost", 0)])
        .rows(calls.iter().map(row))
}

fn calls(found: &Calls) -> Vec<Block> {
    let cost = |by: &str| {
        let call = found.calls.iter().find(|call| call.call == "getpid" && call.by == by)?;
        call.cost_ns.lower()
    };
    let library = match cost("C library").zip(cost("syscall(2)")) {
        Some((library, bare)) if library < bare / 2.0 => {
            " The C library's getpid doesn't enter the kernel: no measure of it."
        }
        Some(_) => " The C library's getpid enters the kernel, like the bare call.",
        None => "",
    };
    let mut blocks = vec![
        costs("What a trivial call costs", &found.calls).into(),
        Block::paragraph(format!(
            "Entering the kernel and leaving it: whatever makes system calls pays this for each, \
             before any work is done.{library}"
        )),
    ];
    if !found.messages.is_empty() {
        blocks.push(
            costs("A message from a process to itself, by write(2) and read(2)", &found.messages)
                .into(),
        );
        blocks.push(Block::paragraph(MESSAGES));
    }
    blocks
}

fn lines(found: &Lines) -> Vec<Block> {
    let mut blocks = Vec::new();
    let cpus = ascending(found.pairs.iter().flat_map(|pair| pair.cpus));
    let map = heat_map(found, &cpus);
    match found.pairs.len() {
        few if few <= FEW_PAIRS => blocks.push(each_pair(found).into()),
        _ => blocks.push(by_relation(found).into()),
    }
    match cpus.len() {
        few if few <= FIT => blocks.push(map.into()),
        many => blocks.push(Block::Details {
            summary: format!("Heat map of {many} CPUs, and every pair").into(),
            blocks: vec![map.into(), each_pair(found).into()],
        }),
    }
    if let Some(chosen) = &found.chosen {
        let text = format!("{} of {} pairs: {chosen}.", found.pairs.len(), found.pairs_in_all);
        blocks.push(Block::paragraph(text));
    }
    blocks.push(Block::paragraph(
        "A yardstick: a round trip between workers on two CPUs that do nothing but poll one cache \
         line. A ring that touches its line less often may take less. Each repeat uses another \
         line; two modes are two places of lines, or two places of the CPUs.",
    ));
    blocks
}

fn each_pair(found: &Lines) -> Table {
    let row = |pair: &LinePair| {
        let [a, b] = pair.cpus;
        let trip = part_cell(Unit::Nanoseconds, &pair.round_trip_ns);
        Row::new([format!("{a}, {b}").into(), Text::from(pair.relation.name()), trip])
    };
    Table::new("Round trip of a cache line")
        .words([("CPUs", 0), ("relation", 0)])
        .numbers([("round trip", 0)])
        .rows(found.pairs.iter().map(row))
}

fn by_relation(found: &Lines) -> Table {
    let mut groups: BTreeMap<Relation, Vec<f64>> = BTreeMap::new();
    for pair in &found.pairs {
        let trip = pair.round_trip_ns.get().ok().and_then(Repeats::lower);
        groups.entry(pair.relation).or_default().extend(trip);
    }
    let row = |(relation, trips): (Relation, Vec<f64>)| {
        let trips = (!trips.is_empty()).then(|| Repeats::of(&trips).lower().zip(range(&trips)));
        let cells = match trips.flatten() {
            Some((median, (least, most))) => [median, least, most].map(units::duration),
            None => ["–", "–", "–"].map(String::from),
        };
        let count = found.pairs.iter().filter(|pair| pair.relation == relation).count();
        let [median, least, most] = cells;
        Row::new([relation.name().to_string(), count.to_string(), median, least, most])
    };
    Table::new("Round trip of a cache line, pairs of CPUs by relation")
        .words([("relation", 0)])
        .numbers([("pairs", 0), ("median pair", 0), ("quickest", 0), ("slowest", 0)])
        .rows(groups.into_iter().map(row))
        .note("Of a pair with two modes the quicker one.")
}

fn range(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    Some((least, values.iter().copied().reduce(f64::max)?))
}

fn heat_map(found: &Lines, cpus: &[u32]) -> Table {
    let value = |a: u32, b: u32| {
        let pair = found.pairs.iter().find(|pair| pair.cpus == [a.min(b), a.max(b)]);
        let trip = pair.and_then(|pair| pair.round_trip_ns.get().ok());
        match (a == b, trip.and_then(|trip| trip.median), trip.and_then(|trip| trip.modes)) {
            (true, ..) => "·".to_string(),
            (_, Some(median), _) => format!("{median:.0}"),
            (_, None, Some(modes)) => format!("{:.0}|{:.0}", modes.low, modes.high),
            _ => "–".into(),
        }
    };
    let row = |a: &u32| {
        let cells = cpus.iter().map(|b| value(*a, *b));
        Row::new(std::iter::once(format!("CPU {a}")).chain(cells))
    };
    let columns = cpus.iter().map(|cpu| Column::number(cpu.to_string(), 0));
    Table {
        id: String::new(),
        caption: "From CPU to CPU and back, in ns".into(),
        columns: std::iter::once(Column::text("", 0)).chain(columns).collect(),
        rows: cpus.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn wake_ups(found: &WakeUps) -> Vec<Block> {
    let (mut rows, mut absences) = (Vec::new(), Vec::new());
    for wake_up in &found.wake_ups {
        let name = wake_up.relation.name();
        match wake_up.found.get() {
            Ok(trip) => rows.push(Row::new([
                name.to_string(),
                format!("{}, {}", trip.cpus[0], trip.cpus[1]),
                cell(Unit::Nanoseconds, &trip.round_trip_ns),
                format!("{:.0} %", 100.0 * trip.switched_share),
            ])),
            Err(why) => absences.push(Text::new().code(name).plain(format!(": {why}"))),
        }
    }
    let table = Table::new("Round trip of two threads that sleep while they wait, by futex(2)")
        .words([("relation", 0), ("CPUs", 0)])
        .numbers([("round trip", 0), ("switched", 1)])
        .rows(rows)
        .note("switched: share of the round trips in which the first thread left its CPU.");
    let quiet = units::duration(found.quiet_ns as f64);
    let meaning = format!(
        "A yardstick: what waking by a futex costs, there and back. Pipes and sockets wake with a hint \
         that the waker is about to sleep, and may take less. Across CPUs the machine was left alone for {quiet} first, because a \
         fork changes for a while how idle CPUs wake; forks of other programs do so too."
    );
    let mut blocks = vec![Block::from(table)];
    if !absences.is_empty() {
        blocks.push(Block::List(absences));
    }
    blocks.push(Block::paragraph(meaning));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::floors::FloorDetail;
    use report::terminal::{Style, render};

    /// What is shown of a machine with so many CPUs; the last pair has two modes.
    fn shown(cpus: u32, unfold: bool) -> String {
        let modes = [100., 104., 450., 102., 98., 96., 440., 101., 99., 460., 103., 97.];
        let mut pairs = Vec::new();
        for b in 1..cpus {
            for a in 0..b {
                let trips = if b == cpus - 1 && a == 0 { modes.to_vec() } else { vec![61.2; 12] };
                let relation =
                    if a / 2 == b / 2 { Relation::SmtSibling } else { Relation::SameLlc };
                let round_trip_ns = Part::Measured(Repeats::of(&trips));
                pairs.push(LinePair { cpus: [a, b], relation, round_trip_ns });
            }
        }
        let pairs_in_all = pairs.len() as u64;
        let mut floors = Floors::unavailable(FloorDetail::Full, "not asked");
        floors.line = Part::Measured(Lines { pairs, pairs_in_all, chosen: None });
        let text = render(&compose(&floors), &Style { unfold, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text
    }

    #[test]
    fn what_is_missing_says_why_in_its_section() {
        let text = render(
            &compose(&Floors::unavailable(FloorDetail::Full, "was killed")),
            &Style::default(),
        );
        assert_eq!(text.matches("Not measured: was killed").count(), 5, "{text}");
    }

    #[test]
    fn a_heat_map_has_a_row_and_a_column_for_each_cpu_and_shows_both_modes() {
        let text = shown(4, false);
        assert!(text.contains("CPU 3  100|450  61  61        ·"), "{text}");
        assert!(text.contains("100 ns (75 %) | 450 ns (25 %)"), "{text}");
    }

    #[test]
    fn many_cpus_are_gathered_by_relation_and_the_map_is_folded() {
        let text = shown(16, false);
        assert!(text.contains("smt-sibling      8") && !text.contains("CPU 15"), "{text}");
        assert!(shown(9, false).contains("CPU 8"));
        assert!(shown(16, true).contains("CPU 15"));
    }
}
