//! What traces recorded: system calls by what they returned, waits, who woke whom, bytes of sockets.

use super::super::Detail;
use super::{CaseGroup, ObservedCase, number, with_interval};
use crate::{ASIDE, Block, Row, Table, Text, Unit, units};
use analysis::{CallSummary, Returned, TraceSummary, Wait, Worker};
use model::trace::Direction;

/// Calls rarer than this per operation, and than this share of all, are left to the page.
const RARE: f64 = 0.01;
/// Values that a terminal shows of each kind of call.
const VALUES: usize = 3;

const WAITS: &str = "woken: how often, and how long until it ran; asleep: before that. displaced: \
     runnable, but preempted or yielding. Means, medians over launches; the tracing overhead is included.";

/// The tables of a group; none where nothing was traced.
pub fn tables(group: &CaseGroup, detail: Detail) -> Vec<Block> {
    let trace: Vec<(&ObservedCase, &TraceSummary)> =
        group.cases.iter().filter_map(|case| Some((case, case.trace()?))).collect();
    if trace.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![calls(group, &trace, detail), waits(group, &trace, detail)];
    if detail == Detail::Full {
        tables.push(wake_ups(group, &trace));
        tables.push(socket(group, &trace));
    }
    let mut blocks: Vec<Block> =
        tables.into_iter().filter(|table| !table.rows.is_empty()).map(Block::from).collect();
    blocks.extend(gaps(&trace));
    blocks
}

/// What found no room, and what the kernel does not expose.
fn gaps(trace: &[(&ObservedCase, &TraceSummary)]) -> Vec<Block> {
    let mut warnings = Vec::new();
    let lost: u64 = trace.iter().map(|pair| pair.1.lost).sum();
    if lost > 0 {
        let lost = units::count(lost);
        warnings.push(Block::warning(format!(
            "{lost} traced events found no room and are missing from the counts"
        )));
    }
    let mut missing: Vec<&str> =
        trace.iter().flat_map(|pair| &pair.1.missing).map(String::as_str).collect();
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() {
        warnings.push(Block::warning(format!(
            "this kernel lacks tracepoints: {}; what they count is missing",
            missing.join(", ")
        )));
    }
    warnings
}

fn calls(group: &CaseGroup, trace: &[(&ObservedCase, &TraceSummary)], detail: Detail) -> Table {
    let mut table = Table::new(format!(
        "System calls in {} (traced), by what they returned",
        group.caption()
    ))
    .words([("mechanism", 0), ("call", 0)])
    .numbers([("how many", 0), ("returned", 0), ("takes", 0), ("asked for", 1)])
    .note(
        "takes: from entering to leaving, asleep or not, in traced launches; the tracing overhead \
             is included.",
    );
    for (case, trace) in trace {
        let all: f64 = trace.calls.iter().map(|call| call.stats.per_operation).sum();
        let often = |summary: &&CallSummary| summary.stats.per_operation >= RARE * all;
        let (shown, rare): (Vec<_>, Vec<_>) =
            trace.calls.iter().partition(|call| detail == Detail::Full || often(call));
        let mut name = Some(case.name(group));
        for call in shown {
            table.rows.extend(rows(case, call, detail, &mut name));
        }
        let rare: f64 = rare.iter().map(|summary| summary.stats.per_operation).sum();
        if rare > 0.0 {
            let cells = [
                name.take().unwrap_or_default(),
                Text::new().muted("others"),
                number(rare * case.times()).into(),
            ];
            table.rows.push(Row::new(cells));
        }
    }
    table
}

/// The rows of one kind of call: the values that it returned often, and the rest.
fn rows(
    case: &ObservedCase,
    call: &CallSummary,
    detail: Detail,
    name: &mut Option<Text>,
) -> Vec<Row> {
    let full = detail == Detail::Full;
    let most = if full { call.returned.len() } else { VALUES.min(call.returned.len()) };
    let times = case.times();
    let mut kind = Some(Text::new().code(&call.name));
    let asked = |returned: &Returned| returned.stats.asked_bytes.map(exactly).unwrap_or_default();
    let mut row = |count: String, returned: Text, takes: String, asked: String| {
        Row::new([
            name.take().unwrap_or_default(),
            kind.take().unwrap_or_default(),
            count.into(),
            returned,
            takes.into(),
            asked.into(),
        ])
    };
    let count = |returned: &Returned| {
        if full {
            let ends =
                returned.stats.interval.ends().map(|(low, high)| (low * times, high * times));
            with_interval(returned.stats.per_operation * times, ends)
        } else {
            number(returned.stats.per_operation * times)
        }
    };
    let shown = &call.returned[..most];
    let mut rows: Vec<Row> = shown
        .iter()
        .map(|entry| {
            row(
                count(entry),
                returned(&call.name, entry.value),
                units::duration(entry.stats.mean_ns),
                asked(entry),
            )
        })
        .collect();
    let others: f64 =
        call.returned[most..].iter().map(|returned| returned.stats.per_operation).sum::<f64>()
            + call.others_per_operation;
    if others >= RARE * call.stats.per_operation && others > 0.0 {
        rows.push(row(
            number(others * times),
            Text::new().muted("other"),
            String::new(),
            String::new(),
        ));
    }
    rows
}

/// Calls that return how many bytes they moved.
const MOVES: [&str; 15] = [
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "sendto",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "splice",
    "vmsplice",
    "tee",
    "msgrcv",
    "mq_timedreceive",
    "process_vm_readv",
];

fn returned(name: &str, value: Option<i64>) -> Text {
    match value {
        None => Text::new().muted("address"),
        Some(error) if error < 0 => {
            let error = std::io::Error::from_raw_os_error(-error as i32).to_string();
            let short = error.split(" (os error").next().unwrap_or_default().to_lowercase();
            Text::new().muted(short)
        }
        Some(bytes) if MOVES.contains(&name) => exactly(bytes as f64).into(),
        Some(number) => units::count(number as u64).into(),
    }
}

/// Bytes in full: `64 KiB`, `36,544 B`.
pub(in crate::compose) fn exactly(bytes: f64) -> String {
    let bytes = bytes.round() as u64;
    if bytes.is_multiple_of(1024) {
        units::size(bytes)
    } else {
        format!("{} B", units::count(bytes))
    }
}

fn waits(group: &CaseGroup, trace: &[(&ObservedCase, &TraceSummary)], detail: Detail) -> Table {
    let waited = |(_, trace): &&(&ObservedCase, &TraceSummary)| {
        trace.delay.is_some() || trace.displaced.is_some()
    };
    let trace: Vec<_> = trace.iter().filter(waited).copied().collect();
    let mean = |wait: &Option<Wait>| {
        Text::from(wait.as_ref().map(|wait| {
            let ends = wait.interval.ends().filter(|_| detail == Detail::Full);
            Unit::Nanoseconds.with_ends(wait.mean_ns, ends)
        }))
    };
    let times = |case: &ObservedCase, wait: &Option<Wait>| {
        number(wait.as_ref().map_or(0.0, |wait| wait.per_operation * case.times()))
    };
    let slow = |trace: &TraceSummary| {
        let slow = trace.delay.as_ref()?.beyond.iter().find(|beyond| beyond.ns == 1 << 14)?;
        Some(share(slow.share))
    };
    Table::of_each(format!("Waits in {} (traced)", group.caption()), &trace)
        .words("mechanism", 0, |(case, _)| case.name(group))
        .numbers("woken", 0, |(case, trace)| times(case, &trace.delay))
        .numbers("runs after", 0, |(_, trace)| mean(&trace.delay))
        .numbers(">16 µs", 1, |(_, trace)| Text::from(slow(trace)))
        .numbers("asleep", 0, |(_, trace)| mean(&trace.asleep))
        .numbers("displaced", 0, |(case, trace)| times(case, &trace.displaced))
        .numbers("for", 0, |(_, trace)| mean(&trace.displaced))
        .numbers("interrupts", 1, |(case, trace)| {
            let sent = trace.interrupts.iter().map(|interrupt| interrupt.per_operation);
            number(sent.sum::<f64>() * case.times())
        })
        .numbers("longest delay", ASIDE, |(_, trace)| {
            trace.delay.as_ref().map(|delay| units::duration(delay.longest_ns as f64))
        })
        .table()
        .note(WAITS)
}

/// `12 %`, `0.4 %`, `<0.1 %`.
fn share(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0".into(),
        it if it < 0.05 => "<0.1 %".into(),
        it if it < 9.95 => format!("{it:.1} %"),
        it => format!("{it:.0} %"),
    }
}

fn wake_ups(group: &CaseGroup, trace: &[(&ObservedCase, &TraceSummary)]) -> Table {
    let mut table = Table::new(format!("Wake-ups and interrupts in {} (traced)", group.caption()))
        .words([("mechanism", 0), ("what", 0), ("from, to", 0)])
        .numbers([("how many", 0)])
        .note(
            "All launches together. to: where the woken one then ran. Roles and CPUs are swapped \
             in half of the launches.",
        );
    for (case, trace) in trace {
        let mut name = Some(case.name(group));
        let mut row = |what: String, from: u32, to: u32, count: f64| {
            let way = format!("CPU {from} → CPU {to}");
            let name = name.take().unwrap_or_default();
            Row::new([name, what.into(), way.into(), number(count * case.times()).into()])
        };
        for wake_up in &trace.wake_ups {
            let whom = match wake_up.woken {
                Worker::Initiator => "initiator",
                Worker::Responder => "responder",
            };
            let by = if wake_up.by_partner { "its partner" } else { "another" };
            let what = format!("{whom} woken by {by}");
            table.rows.push(row(what, wake_up.from_cpu, wake_up.to_cpu, wake_up.per_operation));
        }
        for interrupt in &trace.interrupts {
            let what = "interrupt sent".to_string();
            table.rows.push(row(
                what,
                interrupt.from_cpu,
                interrupt.to_cpu,
                interrupt.per_operation,
            ));
        }
    }
    table
}

fn socket(group: &CaseGroup, trace: &[(&ObservedCase, &TraceSummary)]) -> Table {
    let mut table =
        Table::new(format!("Bytes per socket operation in {} (traced)", group.caption()))
            .words([("mechanism", 0), ("direction", 0)])
            .numbers([("bytes", 0), ("how many", 0)]);
    for (case, trace) in trace {
        let mut name = Some(case.name(group));
        for summary in &trace.socket {
            let direction = match summary.direction {
                Direction::Sent => "sent",
                Direction::Received => "received",
            };
            let bytes = match summary.bytes {
                Some(_) => returned("read", summary.bytes),
                None => Text::new().muted("other"),
            };
            let count = number(summary.per_operation * case.times());
            let name = name.take().unwrap_or_default();
            table.rows.push(Row::new([name, direction.into(), bytes, count.into()]));
        }
    }
    table
}
