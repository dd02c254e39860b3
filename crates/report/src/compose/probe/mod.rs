//! Tracing overhead, as a document: verdicts in words, a table for each size, lines through
//! how often it is paid, curves over size, and what could not be tried here.

mod curves;
mod figures;
mod tables;
mod verdicts;

use super::{Detail, beside_others, labels};
use crate::{Block, Section};
use analysis::Judged;
use analysis::Site;
use analysis::probe::{Common, ProbeEffect};
use model::request::Aim;
use stats::Interval;

/// The sections of a run that was made to measure the tracing overhead; none of any other.
pub fn sections(judged: &Judged, detail: Detail) -> Vec<Section> {
    let effect = match judged.run.request.aim {
        Aim::ProbeEffect => ProbeEffect::of(&judged.results, &judged.observed),
        _ => None,
    };
    let mut sections = effect.map_or_else(Vec::new, |effect| written(&effect, detail));
    beside_others(judged, &mut sections);
    sections
}

fn written(effect: &ProbeEffect, detail: Detail) -> Vec<Section> {
    let mut answer = Section::new("price", "Verdict");
    answer.blocks.extend(verdicts::blocks(effect).into_iter().map(Block::from));
    let mut overheads = Section::new("prices", "Overheads");
    overheads.blocks.extend(effect.strands.iter().flat_map(tables::overheads));
    let mut times = Section::new("times", "Once, twice, four times");
    times.blocks.extend(effect.strands.iter().filter_map(tables::linearity));
    let mut shapes = Section::new("shapes", "Curves");
    for strand in &effect.strands {
        shapes.blocks.extend(curves::blocks(strand, detail));
    }
    let mut drawn = Section::new("price-figures", "Figures");
    if detail == Detail::Full {
        drawn.blocks.extend(figures::all(effect).into_iter().map(Block::from));
    }
    let mut untested = Section::new("untested", "Not testable here");
    untested.blocks.extend(tables::untested(effect));
    let all = [answer, overheads, times, shapes, drawn, untested];
    all.into_iter().filter(|section| !section.blocks.is_empty()).collect()
}

/// `pipe, one CPU`.
fn strand_name(of: &Common) -> String {
    format!("{}, {}", of.variant, labels::place_of(&Site::of(of)))
}

/// What an operation is: `round trip`, `message`.
fn operation(of: &Common) -> &'static str {
    of.metric.operation.noun()
}

/// `+12 %`, `−0.4 %`; a factor where it is far from 1.
fn percent(ratio: f64) -> String {
    if ratio >= 3.0 {
        return format!("{ratio:.1}×");
    }
    let hundred = 100.0 * (ratio - 1.0);
    let text =
        if hundred.abs() < 9.95 { format!("{hundred:+.1}") } else { format!("{hundred:+.0}") };
    format!("{} %", text.replace('-', "−"))
}

/// An interval of ratios as [`percent`].
fn percents(interval: &Interval) -> String {
    format!(
        "{} [{}, {}]",
        percent(interval.estimate),
        percent(interval.low),
        percent(interval.high)
    )
    .replace(" %", "")
        + if interval.estimate >= 3.0 { "" } else { " %" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, terminal};
    use analysis::testing::machine;

    #[test]
    fn the_document_says_prices_first_and_what_could_not_be_tried_last() {
        let effect = machine(1).judged();
        let mut document = Document::new("Tracing overhead");
        document.sections = written(&effect, Detail::Summary);
        let text = terminal::render(&document, &terminal::Style::default());
        for words in [
            "Tracing overhead: up to",
            "pipe, one CPU",
            "64 KiB",
            "trace-calls",
            "Not testable here",
            "no counter of l1d",
            "as published",
        ] {
            assert!(text.contains(words), "`{words}` isn't in:\n{text}");
        }
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        let full = written(&effect, Detail::Full);
        assert!(full.iter().any(|section| section.id == "price-figures"));
    }

    #[test]
    fn a_share_is_signed_and_a_multiple_is_one() {
        assert_eq!(
            (percent(1.004), percent(0.98), percent(1.5)),
            ("+0.4 %".into(), "−2.0 %".into(), "+50 %".into())
        );
        assert_eq!(percent(4.25), "4.2×");
        let interval = Interval { estimate: 1.12, low: 1.1, high: 1.14, coverage: 0.95 };
        assert_eq!(percents(&interval), "+12 [+10, +14] %");
    }
}
