//! Launches beside a load over the quiet ones of the same rounds: a row for each case, a column for each neighbour.

use super::labels;
use super::observed::{merged, not_testable};
use crate::{Block, Section, Table, Text};
use analysis::beside::Accompanied;
use analysis::{CaseRatio, Judged, Status};
use model::company::Company;
use model::distinct::distinct;

const MEDIAN: &str = "Median time of an operation beside a load over the quiet one, paired by rounds, with its 95 % \
                      interval; 1 is no difference.";
const WHOLE: &str = "Time of all operations of a launch over that of as many quiet ones: what is stopped seldom \
                     and for long shows here, and not in the median.";
const TOO_FEW: &str = "No case has rounds enough, both quiet and beside a load, for a ratio with its interval: more \
                       launches (--launches) or time (--budget) give them.";
const NO_CPU_LEFT: &str =
    "The workers had every CPU: the thread that streams also took their time.";

/// The section of a run with company; None of any other.
pub fn section(judged: &Judged) -> Option<Section> {
    if judged.beside.is_empty() {
        return None;
    }
    let head = || Section::new("beside", "Beside a load");
    let measured: Vec<&Accompanied> =
        judged.beside.iter().filter(|accompanied| accompanied.status == Status::Ok).collect();
    let of_median: Over = |accompanied| accompanied.median.as_ref();
    let of_whole: Over = |accompanied| accompanied.whole.as_ref();
    let no_cpu_left = measured.iter().any(|accompanied| streams_among(judged, accompanied));
    let whole = "All operations over the quiet ones";
    let section = head()
        .with_all(table(judged, &measured, "Median over the quiet one", MEDIAN, of_median))
        .with_all(table(judged, &measured, whole, WHOLE, of_whole))
        .with_all(no_cpu_left.then(|| Block::warning(NO_CPU_LEFT)))
        .with_all(absent(judged));
    section.unless_empty().or_else(|| Some(head().with(Block::paragraph(TOO_FEW))))
}

/// A ratio of a case beside a load over the quiet one.
type Over = fn(&Accompanied) -> Option<&CaseRatio>;

fn table(
    judged: &Judged,
    measured: &[&Accompanied],
    caption: &str,
    note: &str,
    ratio: Over,
) -> Option<Table> {
    let known: Vec<&Accompanied> =
        measured.iter().copied().filter(|accompanied| ratio(accompanied).is_some()).collect();
    let mut kinds = distinct(known.iter().filter_map(|seen| seen.case.beside));
    kinds.sort_unstable();
    let quiet = distinct(known.iter().filter_map(|accompanied| accompanied.quiet));
    let mut table = Table::of_each(caption, &quiet)
        .words("mechanism", 0, |at| Text::new().code(&judged.results[*at].variant))
        .words("what", 0, |at| labels::what(&judged.results[*at]))
        .numbers("quiet", 2, |at| labels::value(&judged.results[*at]));
    for kind in &kinds {
        table = table.numbers(kind.name(), 0, |at| {
            let own = |it: &&&Accompanied| it.quiet == Some(*at) && it.case.beside == Some(*kind);
            let found = known.iter().find(own).and_then(|accompanied| ratio(accompanied));
            Text::from(found.map(|over| labels::over(over.ratio, over.low, over.high)))
        });
    }
    (!kinds.is_empty()).then(|| table.table().note(note))
}

/// Whether it is a stream of which the workers left no CPU.
fn streams_among(judged: &Judged, accompanied: &Accompanied) -> bool {
    let Some(online) = judged.run.host.cpus_online.as_ref().map(Vec::len) else { return false };
    let taken = accompanied.case.place.cpus.map_or(online, |(a, b)| if a == b { 1 } else { 2 });
    accompanied.case.beside == Some(Company::Memory) && taken >= online
}

/// What could not be tried: each reason once.
fn absent(judged: &Judged) -> Vec<Block> {
    let kept = judged.beside.iter().filter(|accompanied| accompanied.status != Status::Ok);
    let told = |accompanied: &Accompanied| {
        (
            accompanied.case.beside.map_or(String::new(), |what| what.to_string()),
            accompanied.reason.clone().unwrap_or_default(),
        )
    };
    let reasons = merged(distinct(kept.map(told))).into_iter();
    reasons.map(|(kinds, reason)| not_testable(&kinds, "", &reason)).collect()
}
