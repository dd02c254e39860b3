//! Losses and repairs on the way, and what they cost on the wire.

use std::collections::BTreeMap;

use super::labels;
use crate::{Block, Column, Row, Table, Text, units};
use analysis::{CaseResult, DeliveryCounters, Judged, Share, Status};

/// Rows that a table has open; more are folded.
const OPEN: usize = 24;

/// A table of losses and one of flipped bits, where ends counted any.
pub fn tables(judged: &Judged) -> Vec<Block> {
    let cases: Vec<(&CaseResult, &DeliveryCounters)> = judged
        .results
        .iter()
        .filter(|result| result.status == Status::Ok && !result.twin)
        .filter_map(|result| Some((result, result.delivery.as_ref()?)))
        .collect();
    let flipped =
        |pair: &&(&CaseResult, &DeliveryCounters)| pair.1.counts.contains_key("flipped_bits");
    let (flips, losses): (Vec<_>, Vec<_>) = cases.iter().partition(flipped);
    let made = [(losses, lost as fn(&_) -> _), (flips, flipped_bits)];
    made.into_iter()
        .filter(|(cases, _)| !cases.is_empty())
        .map(|(cases, table)| {
            let table: Table = table(&cases);
            match table.rows.len() {
                ..=OPEN => table.into(),
                many => Block::Details {
                    summary: format!("{} ({})", table.caption, units::counted(many as u64, "row"))
                        .into(),
                    blocks: vec![table.into()],
                },
            }
        })
        .collect()
}

/// Cases with what their ends counted.
type Cases<'a> = [(&'a CaseResult, &'a DeliveryCounters)];

fn lost(cases: &Cases) -> Table {
    let columns = [
        ("messages due", 1),
        ("lost for good [95 %]", 0),
        ("rebuilt", 1),
        ("resent / message", 0),
        ("wire / payload", 0),
        ("datagrams lost", 3),
    ];
    let mut table = table("Losses and repairs", &columns);
    for (case, counters) in cases {
        let of = |name: &str| counters.counts.get(name).copied().unwrap_or(0);
        let rebuilt = of("recovered_messages") as f64 / of("due_messages").max(1) as f64;
        let figures = [
            units::count(of("due_messages")),
            counters.residual_loss.map_or("–".into(), share),
            percent(rebuilt),
            counters
                .resent_datagrams_per_message
                .map_or("–".into(), |resent_datagrams| format!("{resent_datagrams:.4}")),
            counters
                .wire_bytes_per_payload_byte
                .map_or("–".into(), |wire_bytes| format!("{wire_bytes:.2}")),
            units::count(of("lost_datagrams")),
        ];
        table.rows.push(Row::new(labels::named(case).into_iter().chain(figures.map(Text::from))));
    }
    table.notes.push(Text::from(
        "Both ends together, warm-up included, first messages and checks left out. lost for good: with \
         a 95 % interval that is wider where launches vary more than by chance, as with bursts. wire: with the \
         headers of UDP and IP, acknowledgements and credits too.",
    ));
    table
}

fn flipped_bits(cases: &Cases) -> Table {
    const WHAT: [(&str, &str); 5] = [
        ("intact", "intact_messages"),
        ("corrected", "corrected_messages"),
        ("detected by the code", "detected_by_code"),
        ("by CRC-32C only", "detected_by_checksum"),
        ("silently wrong", "silently_wrong_messages"),
    ];
    let columns: Vec<(&str, u8)> = [("messages", 0), ("bits flipped", 3)]
        .into_iter()
        .chain(WHAT.map(|(name, _)| (name, 0)))
        .chain([("wire / payload", 2)])
        .collect();
    let mut table = table("What became of flipped bits", &columns);
    for (case, counters) in cases {
        let counts: &BTreeMap<String, u64> = &counters.counts;
        let of = |name: &str| units::count(counts.get(name).copied().unwrap_or(0));
        let overhead = counters.wire_bytes_per_payload_byte;
        let figures = [of("due_messages"), of("flipped_bits")]
            .into_iter()
            .chain(WHAT.map(|(_, name)| of(name)))
            .chain([overhead.map_or("–".into(), |overhead| format!("{overhead:.2}"))]);
        table.rows.push(Row::new(labels::named(case).into_iter().chain(figures.map(Text::from))));
    }
    table.notes.push(Text::from(
        "by CRC-32C only: the code found no error, or there is none; without the checksum these would be \
         silently wrong. UDP's own checksums are off.",
    ));
    table
}

fn table(caption: &str, columns: &[(&str, u8)]) -> Table {
    let numbers = columns.iter().map(|(name, priority)| Column::number(*name, *priority));
    let words = [Column::text("mechanism", 0), Column::text("of", 0)];
    Table {
        caption: caption.into(),
        columns: words.into_iter().chain(numbers).collect(),
        ..Default::default()
    }
}

fn share(share: Share) -> String {
    format!("{} [{}, {}]", percent(share.share), percent(share.low), percent(share.high))
}

/// Three digits, however small.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0 %".into(),
        ..0.01 => format!("{percent:.1e} %"),
        ..1.0 => format!("{percent:.3} %"),
        _ => format!("{percent:.2} %"),
    }
}
