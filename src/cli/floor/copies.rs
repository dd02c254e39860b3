//! What is shown of copying.

use ::report::{Block, Row, Table, Text, Unit, units};
use model::alignment::Alignment;
use model::floors::{Copied, Copy, CopyLevel, Part, Repeats};

/// The levels, and the places of buffers.
pub fn blocks(found: &Copy) -> Vec<Block> {
    let size = |bytes: Option<u64>| bytes.map_or("–".into(), units::size);
    let rows = found.levels.iter().map(|level| {
        let (buffer, rate) = match level.copied.get() {
            Ok(copied) => {
                let rate = cell(Unit::BytesPerSecond, &copied.bytes_per_sec);
                (units::size(copied.buffer_bytes), Text::from(rate))
            }
            Err(why) => ("–".into(), Text::new().muted(&why.reason)),
        };
        let level_name = Text::from(level.level.as_str());
        Row::new([level_name, size(level.cache_bytes).into(), buffer.into(), rate])
    });
    let table = Table::new("Copying from one buffer to another, each byte counted once")
        .words([("in", 0)])
        .numbers([("cache", 0), ("each buffer", 0), ("rate", 0)])
        .rows(rows);
    let meaning = Block::paragraph(
        "Whoever copies a message once moves bytes no faster than this. Through the kernel \
         they are copied twice: on one CPU half of it is the most. Sizes of caches are those \
         that the kernel tells; in a virtual machine others may share them.",
    );
    let blocks = [table.into(), meaning].into_iter().chain(slower_than_larger(found));
    blocks.chain(placed(found)).collect()
}

/// `4.12 µs [4.10, 4.15]`; without an interval where all repeats are alike, or too few.
pub(super) fn cell(unit: Unit, repeats: &Repeats) -> String {
    match (repeats.median, repeats.low.zip(repeats.high), repeats.modes) {
        (Some(median), Some((low, high)), _) if low < high => unit.interval(median, low, high),
        (Some(median), ..) => unit.format(median),
        (None, _, Some(modes)) => format!(
            "{} ({:.0} %) | {} ({:.0} %)",
            unit.format(modes.low),
            100.0 * modes.low_share,
            unit.format(modes.high),
            100.0 * modes.high_share
        ),
        _ => "–".into(),
    }
}

/// What the place of a buffer does.
fn placed(found: &Copy) -> Vec<Block> {
    let rate = |part: &Part<Copied>| match part.get() {
        Ok(copied) => Text::from(cell(Unit::BytesPerSecond, &copied.bytes_per_sec)),
        Err(why) => Text::new().muted(&why.reason),
    };
    let rows = found.placed.iter().map(|copy| {
        let place = match copy.align {
            Alignment::Malloc => "16 bytes into a cache line, as malloc's large blocks",
            Alignment::Line => "with a cache line",
            Alignment::Page => "with a page",
        };
        Row::new([Text::from(place), rate(&copy.copied)])
    });
    let table = Table::new("64 KiB from one buffer to another, by where both begin")
        .words([("both begin", 0)])
        .numbers([("rate", 0)])
        .rows(rows);
    let meaning = "Messages lie as malloc's blocks do, unless `--align` says otherwise.";
    if found.placed.is_empty() { Vec::new() } else { vec![table.into(), Block::paragraph(meaning)] }
}

/// A warning of a level that copies more slowly than a larger one, beyond both intervals.
fn slower_than_larger(found: &Copy) -> Option<Block> {
    let ends = |level: &CopyLevel| {
        let rate = &level.copied.get().ok()?.bytes_per_sec;
        Some((level.level.clone(), rate.low?, rate.high?))
    };
    let levels: Vec<(String, f64, f64)> = found.levels.iter().filter_map(ends).collect();
    let pair = levels.windows(2).find(|pair| pair[0].2 < pair[1].1)?;
    Some(Block::warning(format!(
        "copying in {} is slower than in {}, beyond both intervals: no cache explains that, so this is no floor",
        pair[0].0, pair[1].0
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_copies_more_slowly_than_a_larger_one_is_told() {
        let level = |(level, rate): (&str, f64)| {
            let bytes_per_sec =
                Repeats::of(&[0.98, 0.99, 1.0, 1.01, 1.02, 1.03].map(|value| value * rate));
            let copied = Part::Measured(Copied { buffer_bytes: 1, bytes_per_sec });
            CopyLevel { level: level.into(), cache_bytes: None, copied }
        };
        let told = |rates: [(&str, f64); 3]| {
            slower_than_larger(&Copy { levels: rates.map(level).into(), placed: Vec::new() })
        };
        assert!(told([("L1", 9e9), ("L2", 9.1e9), ("memory", 2e9)]).is_none());
        let warning =
            format!("{:?}", told([("L1", 2.2e9), ("L2", 39e9), ("memory", 8e9)]).unwrap());
        assert!(warning.contains("copying in L1 is slower than in L2"), "{warning}");
    }
}
