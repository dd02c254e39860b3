//! Curves over size under each probe: the global test, the peak, and point by point what was
//! published beside what correction leaves of it.

use super::{Detail, strand_name};
use crate::{Block, Emphasis, Row, Table, Text, units};
use analysis::ALPHA;
use analysis::probe::{CurveUnder, Strand};

/// What the global test of a curve says.
const RESCALED: &str = "p: of “only a constant factor”, all sizes together, by flipping the signs of \
     whole rounds. off: how far a size may be off that factor at most (95 % together).";

pub(super) fn blocks(strand: &Strand, detail: Detail) -> Vec<Block> {
    let tested: Vec<&CurveUnder> =
        strand.curves.iter().filter(|curve| curve.rescaled.is_some()).collect();
    if tested.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::from(shapes(strand, &tested))];
    blocks.push(Block::paragraph(what_correction_changes(&tested)));
    if detail == Detail::Full {
        blocks.push(points(strand, &tested).into());
    }
    blocks
}

fn shapes(strand: &Strand, tested: &[&CurveUnder]) -> Table {
    let row = |curve: &&CurveUnder| {
        let farthest = curve.rescaled.as_ref().map_or(0, |rescaled| rescaled.farthest);
        let [published, holm, maximum] = curve.points();
        let off = curve.most_off().map_or("–".into(), |value| format!("<{:.0} %", 100.0 * value));
        let cells = [
            Text::new().code(curve.probe.to_string()),
            curve.p_holm.map_or("–".into(), units::p_value).into(),
            off.into(),
            units::size(curve.sizes[farthest]).into(),
            peak(curve).into(),
            format!("{published}/{holm}/{maximum}").into(),
        ];
        let emphasis = if curve.is_bent() { Emphasis::Warning } else { Emphasis::Normal };
        Row::new(cells).emphasis(emphasis)
    };
    let sizes = tested[0].sizes.len();
    let points = format!(
        "points: of {sizes} sizes those that differ at 5 %: as published (each curve divided by its \
         mean, a signed-rank test at each size), after Holm, and by the maximum over sizes, which takes \
         no factor for known."
    );
    Table::new(format!("{}: is the curve over size only rescaled?", strand_name(&strand.of)))
        .words([("level", 0)])
        .numbers([("p, Holm", 0), ("off", 1), ("most at", 2)])
        .words([("peak", 1)])
        .numbers([("points", 0)])
        .rows(tested.iter().map(row))
        .note(RESCALED)
        .note(points)
}

/// Where the peak lay and lies; nothing where the best is at an end.
fn peak(curve: &CurveUnder) -> String {
    let Some(moved) = curve.peak.filter(|_| curve.has_peak()) else {
        return "none inside".into();
    };
    let size = |at: usize| units::size(curve.sizes[at]);
    match (moved.low, moved.high) {
        (low, high) if low > 0 || high < 0 => {
            format!("{} → {}", size(moved.from.at), size(moved.to.at))
        }
        (0, 0) => format!("stays, {}", size(moved.from.at)),
        _ if moved.from.at == moved.to.at => format!("about {}", size(moved.from.at)),
        _ => format!("{} or {}", size(moved.from.at), size(moved.to.at)),
    }
}

/// The published analysis and the corrected ones, side by side in words.
fn what_correction_changes(tested: &[&CurveUnder]) -> String {
    let all: usize = tested.iter().map(|under| under.published.len()).sum();
    let sum = |nth: usize| tested.iter().map(|under| under.points()[nth]).sum::<usize>();
    let (published, holm, maximum) = (sum(0), sum(1), sum(2));
    let bent = tested.iter().filter(|under| under.is_bent()).count();
    let changed = match (published, bent) {
        (0, 0) => "Correction changes nothing: no point differs, and no curve does.".to_string(),
        (_, 0) => {
            let points = if published == 1 { "That point is" } else { "Those points are" };
            format!("{points} no evidence of another shape: no curve differs as a whole.")
        }
        (0, _) => "Single points don't show it, but curves differ as a whole.".to_string(),
        _ => {
            let verb = if bent == 1 { "differs" } else { "differ" };
            format!(
                "The finding survives correction: {bent} of {} curves {verb} as a whole.",
                tested.len()
            )
        }
    };
    format!(
        "Point by point, as published, {published} of {all} points differ at 5 %, where chance alone \
         would give about {:.1}. After Holm {holm} do; by the maximum over sizes {maximum}. {changed}",
        ALPHA * all as f64
    )
}

/// Every point: the published p beside the corrected ones.
fn points(strand: &Strand, tested: &[&CurveUnder]) -> Table {
    let mut table = Table::new(format!("{}: p of each point, three ways", strand_name(&strand.of)))
        .words([("level", 0)])
        .numbers([("size", 0), ("p, as published", 0), ("after Holm", 0)])
        .numbers([("by the maximum", 0), ("off [95 % together]", 1)]);
    for curve in tested {
        for (at, size) in curve.sizes.iter().enumerate() {
            let p = |values: &[f64]| values.get(at).map_or("–".into(), |p| units::p_value(*p));
            let off = curve.off.get(at).map_or("–".into(), |interval| {
                let share = |log: f64| format!("{:+.1}", 100.0 * log.exp_m1()).replace('-', "−");
                format!(
                    "{} [{}, {}] %",
                    share(interval.estimate),
                    share(interval.low),
                    share(interval.high)
                )
            });
            let by_maximum =
                curve.rescaled.as_ref().map_or(&[][..], |rescaled| &rescaled.p_of_levels);
            table.rows.push(Row::new([
                Text::new().code(curve.probe.to_string()),
                units::size(*size).into(),
                p(&curve.published).into(),
                p(&curve.published_holm).into(),
                p(by_maximum).into(),
                off.into(),
            ]));
        }
    }
    table
}
