//! What the launches of a run show beside their medians: changes over the rounds, then modes.

use super::{Detail, labels};
use crate::{Block, Text, units};
use analysis::time::Shift;
use analysis::{CommonChange, Judged};

/// Lines that a terminal shows.
const SHOWN: usize = 6;

/// The lines of the run under their heading; nothing where there are none.
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
    let head = Text::new().strong("Over the rounds, and in modes").plain(
        ". Medians are of all launches. Lines without “changed” or “drifted” may be chance.",
    );
    vec![Block::paragraph(head), Block::List(lines)]
}

/// One for each group that changes as a whole, then for each case that does, or has two modes; then what
/// each comes to over several sessions.
pub fn lines(judged: &Judged) -> Vec<Text> {
    let groups = judged.groups.iter().filter_map(|group| {
        let change = common(group.over_time.as_ref()?);
        Some(Text::new().strong(labels::group(group)).plain(format!(": {change}")))
    });
    let cases = judged.results.iter().filter_map(|case| {
        Some(Text::new().code(labels::case(case)).plain(format!(": {}", labels::remark(case)?)))
    });
    let sessions = judged.results.iter().filter_map(|case| {
        Some(Text::new().code(labels::case(case)).plain(format!(": {}", labels::sessions(case)?)))
    });
    groups.chain(cases).chain(sessions).collect()
}

/// `the machine changed after round 6: most cases take 0.44× as long since`.
fn common(change: &CommonChange) -> String {
    let CommonChange { verdict, after_round, later_rounds, .. } = change;
    let ratio = units::ratio(change.time_ratio);
    match verdict {
        Some(Shift::Changed) => {
            format!(
                "the machine changed after round {after_round}: most cases take {ratio} as long since"
            )
        }
        Some(Shift::Drifted) => format!(
            "the machine drifted: most cases take {ratio} as long in the last {later_rounds} rounds as in \
             the first {after_round}"
        ),
        None => format!(
            "most cases take {ratio} as long in the last {later_rounds} rounds as in the first {after_round}"
        ),
    }
}
