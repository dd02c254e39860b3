//! Tracing overhead, in words: its range, whether shapes and orders survive, whether it may be
//! subtracted.

use super::{percent, strand_name};
use crate::compose::labels;
use crate::{Text, Verdict, VerdictKind, units};
use analysis::probe::{Common, CurveUnder, Kept, Linear, Order, ProbeEffect, ProbeOverhead};

/// How far a curve may be off a constant factor and still be called rescaled.
const SHAPE_WITHIN: f64 = 0.1;

pub(super) fn blocks(effect: &ProbeEffect) -> Vec<Verdict> {
    let mut verdicts = vec![overhead(effect)];
    verdicts.extend(shape(effect));
    verdicts.extend(linearity(effect));
    verdicts.extend(order(effect));
    verdicts
}

/// The smallest and the largest overhead.
fn overhead(effect: &ProbeEffect) -> Verdict {
    let mut all: Vec<(&Common, &ProbeOverhead, f64)> = Vec::new();
    for strand in &effect.strands {
        let ratios = strand
            .overheads
            .iter()
            .filter_map(|overhead| Some((overhead, overhead.ratio?.estimate)));
        all.extend(ratios.map(|(overhead, ratio)| (&strand.of, overhead, ratio)));
    }
    all.sort_by(|a, b| a.2.total_cmp(&b.2));
    let bare = |ratio| percent(ratio).trim_start_matches('+').to_string();
    let Some(most) = all.last() else {
        let head = Text::new().strong("The tracing overhead is unknown: ");
        return Verdict::new(
            VerdictKind::Unknown,
            head.plain("no level was measured in six rounds together with unobserved launches."),
            "The reasons follow; --launches 12 makes twelve rounds.",
        );
    };
    let sure: Vec<_> = all.iter().filter(|entry| entry.1.is_sure()).collect();
    let head = match (sure.first(), sure.last()) {
        (Some(least), Some(most)) => Text::new()
            .strong(format!("Tracing overhead: up to {}: ", bare(most.2)))
            .plain(format!(
                "{}. The smallest overhead that is surely above zero is ",
                described(most)
            ))
            .plain(format!("{}, under {}.", bare(least.2), described(least))),
        _ => Text::new().strong("No overhead is separated from none: ").plain(format!(
            "the largest seen is {}, under {}.",
            bare(most.2),
            described(most)
        )),
    };
    let rounds = all.iter().map(|entry| entry.1.rounds).min().unwrap_or(0);
    let less = match all.iter().filter(|entry| entry.1.is_less()).count() {
        0 => String::new(),
        less => format!(" {less} are surely below zero: instrumented launches are faster."),
    };
    let detail = format!(
        "{} of {} are surely above zero (Holm): {}, each with observed and unobserved launches in random order.{less}{}",
        sure.len(),
        units::counted(all.len() as u64, "overhead"),
        units::counted(rounds as u64, "round"),
        firings(&all)
    );
    let sure = sure.len();
    let kind = if sure > 0 { VerdictKind::Neutral } else { VerdictKind::Unknown };
    Verdict::new(kind, head, detail)
}

/// `trace-calls (pipe, one CPU, 64 B)`.
fn described((of, overhead, _): &(&Common, &ProbeOverhead, f64)) -> String {
    let size = labels::of_size(overhead.message_bytes);
    format!("{} ({}{size})", overhead.probe, strand_name(of))
}

/// What a firing costs, from the least to the most, of overheads that are sure.
fn firings(all: &[(&Common, &ProbeOverhead, f64)]) -> String {
    let sure = all.iter().filter(|entry| entry.1.is_sure());
    let each =
        sure.filter_map(|(of, overhead, _)| Some((of, overhead, overhead.per_firing()?.estimate)));
    let mut each: Vec<_> = each.collect();
    each.sort_by(|a, b| a.2.total_cmp(&b.2));
    match each.as_slice() {
        [] => String::new(),
        [least, .., most] => format!(
            " A firing costs from {} ({}) to {} ({}).",
            units::duration(least.2),
            least.1.probe,
            units::duration(most.2),
            most.1.probe
        ),
        [one] => format!(" A firing costs {} ({}).", units::duration(one.2), one.1.probe),
    }
}

/// Whether curves are only rescaled, and whether their peaks stay.
fn shape(effect: &ProbeEffect) -> Option<Verdict> {
    let curves: Vec<(&Common, &CurveUnder)> = effect
        .strands
        .iter()
        .flat_map(|strand| strand.curves.iter().map(|curve| (&strand.of, curve)))
        .filter(|(_, curve)| curve.rescaled.is_some())
        .collect();
    if curves.is_empty() {
        return None;
    }
    let name = |(of, curve): &(&Common, &CurveUnder)| format!("{} ({})", curve.probe, of.variant);
    let bent: Vec<String> = curves.iter().filter(|curve| curve.1.is_bent()).map(name).collect();
    let most = curves.iter().filter_map(|curve| curve.1.most_off()).fold(0.0, f64::max);
    let off = format!("at most {:.0} % off a constant factor at any size", 100.0 * most);
    let unknown: Vec<&CurveUnder> =
        curves.iter().map(|curve| curve.1).filter(|under| under.most_off().is_none()).collect();
    let (kind, head) = match (bent.len(), most < SHAPE_WITHIN) {
        (0, _) if !unknown.is_empty() => (VerdictKind::Unknown, too_few(&unknown, curves.len())),
        (0, true) => (
            VerdictKind::Good,
            Text::new().strong("Curves over size are only rescaled: ").plain(off + "."),
        ),
        (0, false) => (
            VerdictKind::Unknown,
            Text::new()
                .strong("No curve over size shows another shape")
                .plain(format!(", though one may have: {off}.")),
        ),
        (count, _) => (
            VerdictKind::Bad,
            Text::new()
                .strong(format!(
                    "{count} of {} curves over size change their shape: ",
                    curves.len()
                ))
                .plain(labels::few(&bent))
                .plain("."),
        ),
    };
    Some(Verdict::new(kind, head, peaks(&curves)))
}

/// Of curves of which no size's interval is known.
fn too_few(unknown: &[&CurveUnder], all: usize) -> Text {
    let takes = unknown.iter().map(|under| under.rounds_for_off()).max().unwrap_or(0);
    Text::new().strong("No curve over size shows another shape").plain(format!(
        ", but for {} of {all} the distance from a constant factor is unknown: that takes \
         {takes} rounds (--launches {takes}).",
        unknown.len()
    ))
}

fn peaks(curves: &[(&Common, &CurveUnder)]) -> String {
    let inside: Vec<_> = curves.iter().filter(|curve| curve.1.has_peak()).collect();
    let moved: Vec<String> = inside
        .iter()
        .filter(|(_, curve)| curve.peak.is_some_and(|peak| peak.low > 0 || peak.high < 0))
        .map(|(of, curve)| format!("{} ({})", curve.probe, of.variant))
        .collect();
    let stays = inside
        .iter()
        .filter(|(_, curve)| curve.peak.is_some_and(|peak| peak.low == 0 && peak.high == 0))
        .count();
    let global = "By one test for each curve, Holm-corrected; see the tables for single points.";
    match (inside.len(), moved.as_slice()) {
        (0, _) => format!("{global} No curve has a peak inside its sizes."),
        (all, []) => format!("{global} No peak moved: {stays} of {all} surely stayed."),
        (all, some) => {
            format!("{global} {} of {all} peaks moved: {}.", some.len(), labels::few(some))
        }
    }
}

/// Whether overheads are linear in how often they are paid.
fn linearity(effect: &ProbeEffect) -> Option<Verdict> {
    let lines: Vec<_> = effect.strands.iter().flat_map(|strand| &strand.linearity).collect();
    if lines.is_empty() {
        return None;
    }
    let count =
        |of: fn(&Linear) -> bool| lines.iter().filter(|linearity| of(&linearity.linear)).count();
    let meets = count(|linear| *linear == Linear::Yes);
    let more = count(|linear| *linear == Linear::FirstCostsMore);
    let less = count(|linear| *linear == Linear::FirstCostsLess);
    let open = lines.len() - meets - more - less;
    let all = lines.len();
    let (kind, head) = match (more + less, meets) {
        (0, 0) => (VerdictKind::Unknown, "Whether overheads are linear is unknown"),
        (0, _) if meets == all => (VerdictKind::Good, "Overheads are linear in their levels"),
        (0, _) => (VerdictKind::Neutral, "No overhead is surely other than linear in its levels"),
        _ => (VerdictKind::Bad, "Not every overhead is linear in its levels"),
    };
    let parts: Vec<String> = [
        (meets, "meet the unobserved time"),
        (more, "end above it (the first level costs more)"),
        (less, "end below it (the first level costs less)"),
        (open, "are undecided"),
    ]
    .into_iter()
    .filter(|(many, _)| *many > 0)
    .map(|(many, what)| format!("{many} {what}"))
    .collect();
    let head = Text::new().strong(format!("{head}: ")).plain(format!(
        "of {all} lines through levels, extended to none, {}.",
        labels::list(&parts)
    ));
    let detail = match more + less {
        0 => "Lines are fitted to the levels alone, and tested against the unobserved time.",
        _ => "Where a line misses, the overhead can't be subtracted as a multiple of the firings.",
    };
    Some(Verdict::new(kind, head, detail))
}

/// Whether instrumentation changes which of two is faster.
fn order(effect: &ProbeEffect) -> Option<Verdict> {
    if effect.orders.is_empty() {
        return None;
    }
    let all = effect.orders.len();
    let comparisons = units::counted(all as u64, "comparison");
    let of = |kept| effect.orders.iter().filter(move |order| order.kept == kept);
    let described = |order: &Order| {
        let size = labels::of_size(order.message_bytes);
        format!("{} over {}{size} ({})", order.first, order.second, order.probe)
    };
    let turned: Vec<String> = of(Kept::Turned).map(described).collect();
    let blurred: Vec<String> = of(Kept::Blurred).map(described).collect();
    let open = of(Kept::Open).count();
    let (kind, head) = match (turned.as_slice(), blurred.len()) {
        ([], 0) if open == all => (
            VerdictKind::Unknown,
            Text::new()
                .strong(
                    "Whether instrumentation changes which of two mechanisms is faster is unknown",
                )
                .plain(format!(": none of {comparisons} separates the two.")),
        ),
        ([], 0) if open > 0 => (
            VerdictKind::Neutral,
            Text::new().strong("Instrumentation changes no order").plain(format!(
                ", but {open} of {comparisons} {} open.",
                if open == 1 { "is" } else { "are" }
            )),
        ),
        ([], 0) => (
            VerdictKind::Good,
            Text::new()
                .strong("Instrumentation doesn't change which of two mechanisms is faster")
                .plain(format!(": {comparisons}.")),
        ),
        ([], _) => (
            VerdictKind::Neutral,
            Text::new().strong("Instrumentation changes no order").plain(format!(
                ", but {} of {comparisons} are decided only observed, or only unobserved: {}.",
                blurred.len(),
                labels::few(&blurred)
            )),
        ),
        (some, _) => (
            VerdictKind::Bad,
            Text::new()
                .strong(format!(
                    "Instrumentation reverses {} of {}: ",
                    some.len(),
                    units::counted(all as u64, "order")
                ))
                .plain(labels::few(some))
                .plain("."),
        ),
    };
    let open = match open {
        0 => String::new(),
        open => format!(" Open: {open}, where neither of the two separates them."),
    };
    let detail = format!(
        "Each comparison unobserved and observed, by the same test, corrected together.{open}"
    );
    Some(Verdict::new(kind, head, detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::testing::Machine;

    /// Instrumentation takes `times` as long, of two mechanisms at three sizes.
    fn rescaled(times: f64) -> ProbeEffect {
        let mut machine = Machine::seeded(11);
        for bytes in [64, 1024, 65_536] {
            for (mechanism, ns) in [("pipe", 4000.0), ("tcp", 9000.0)] {
                let at = machine.plain(mechanism, bytes, ns + bytes as f64);
                machine.under("trace", at, times * (ns + bytes as f64), &[]);
            }
        }
        machine.judged()
    }

    fn text(verdict: &Verdict) -> String {
        format!("{verdict:?}")
    }

    #[test]
    fn curves_of_too_few_rounds_are_not_called_rescaled() {
        let mut effect = rescaled(1.5);
        assert_eq!(shape(&effect).unwrap().kind, VerdictKind::Good);
        effect.strands[1].curves[0].off.clear();
        let found = shape(&effect).unwrap();
        assert_eq!(found.kind, VerdictKind::Unknown);
        assert!(text(&found).contains("for 1 of 2 the distance"), "{found:?}");
        assert!(text(&found).contains("--launches 7"), "{found:?}");
    }

    #[test]
    fn the_rounds_that_a_curve_takes_are_those_of_its_intervals() {
        let curve = &rescaled(1.5).strands[0].curves[0];
        let takes = curve.rounds_for_off() as usize;
        let rounds = |count: usize| vec![vec![1.0, 2.0, 3.0]; count];
        let off = |count| stats::peak::shape_differences(&rounds(count), &rounds(count), 0.05);
        assert!(off(takes).is_some() && off(takes - 1).is_none(), "{takes}");
    }

    #[test]
    fn open_orders_are_no_kept_ones() {
        let mut effect = rescaled(1.5);
        assert_eq!(order(&effect).unwrap().kind, VerdictKind::Good);
        effect.orders[0].kept = Kept::Open;
        let found = order(&effect).unwrap();
        assert_eq!(found.kind, VerdictKind::Neutral);
        assert!(text(&found).contains("1 of 3 comparisons is open"), "{found:?}");
        effect.orders.iter_mut().for_each(|order| order.kept = Kept::Open);
        assert_eq!(order(&effect).unwrap().kind, VerdictKind::Unknown);
    }

    #[test]
    fn what_is_quicker_while_looked_at_is_no_price() {
        let effect = rescaled(0.8);
        let overheads = effect.strands.iter().flat_map(|strand| &strand.overheads);
        assert!(overheads.clone().all(|overhead| overhead.is_less() && !overhead.is_sure()));
        let found = text(&overhead(&effect));
        assert!(found.contains("No overhead is separated from none"), "{found}");
        assert!(found.contains("6 are surely below zero"), "{found}");
    }
}
