//! Losses and repairs on the way, and what they cost on the wire.

use super::quantities;
use crate::{Block, Table, units};
use analysis::Judged;
use analysis::quantity::Topic;

/// Rows that a table has open; more are folded.
const OPEN: usize = 24;

const LOSSES: &str = "Both ends together, warm-up included, first messages and checks left out. lost for good: with \
     a 95 % interval that is wider where launches vary more than by chance, as with bursts. wire: with the \
     headers of UDP and IP, acknowledgements and credits too.";

const FLIPS: &str = "by CRC-32C only: the code found no error, or there is none; without the checksum these would be \
     silently wrong. UDP's own checksums are off.";

/// A table of losses and one of flipped bits, where ends counted any.
pub fn tables(judged: &Judged) -> Vec<Block> {
    let losses = quantities::table(judged, Topic::Losses, "Losses and repairs");
    let flips = quantities::table(judged, Topic::Flips, "What became of flipped bits");
    let tables = [losses.map(|table| table.note(LOSSES)), flips.map(|table| table.note(FLIPS))];
    tables.into_iter().flatten().map(folded).collect()
}

fn folded(table: Table) -> Block {
    match table.rows.len() {
        ..=OPEN => table.into(),
        many => {
            let rows = units::counted(many as u64, "row");
            Block::folded(format!("{} ({rows})", table.caption), vec![table.into()])
        }
    }
}
