//! What the cases of a run come to over its sessions.

use super::{Detail, labels};
use crate::{Block, Text};
use analysis::Judged;

/// Lines that a terminal shows.
const SHOWN: usize = 6;

/// The lines of the run under their heading; nothing where it had one session.
pub fn remarks(judged: &Judged, detail: Detail) -> Vec<Block> {
    let mut lines = lines(judged);
    if lines.is_empty() {
        return Vec::new();
    }
    if detail == Detail::Summary && lines.len() > SHOWN + 1 {
        let more = lines.split_off(SHOWN).len();
        let all =
            format!("{more} more; `ipcmark report {} -v` and the page name them", judged.run.id);
        lines.push(Text::from(all));
    }
    vec![Block::paragraph(Text::new().strong("Over the sessions")), Block::List(lines)]
}

pub fn lines(judged: &Judged) -> Vec<Text> {
    let cases = judged.results.iter().filter_map(|case| {
        Some(Text::new().code(labels::case(case)).plain(format!(": {}", labels::sessions(case)?)))
    });
    cases.collect()
}
