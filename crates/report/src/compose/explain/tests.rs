use super::*;
use analysis::OverRounds;
use model::case::Case;
use model::workload::Workload;

fn times(ns: f64) -> OverRounds {
    OverRounds::of(vec![Some(ns); 12]).unwrap()
}

/// A round trip of so many bytes with these parts, in ns; what is left of the whole is its residual.
fn explained(bytes: u64, parts: &[(Cost, f64)], whole: f64) -> Explained {
    let sum: f64 = parts.iter().map(|part| part.1).sum();
    Explained {
        case: Case { message_bytes: Some(bytes), ..Case::usual("pipe".into(), Workload::Latency) },
        whole_ns: times(whole),
        traced_ns: times(whole),
        firing_ns: None,
        slow_call_ns: 0.0,
        firings: 4.0,
        calls: 4.0,
        parts: parts.iter().map(|(cost, ns)| CostPart { cost: *cost, ns: times(*ns) }).collect(),
        residual_ns: times(whole - sum),
        adds_up: (whole - sum).abs() <= 0.05 * whole,
        is_result: (whole - sum).abs() <= 0.2 * whole,
        copying_unknown: None,
        spins: false,
        overlaps: false,
    }
}

fn found(cases: Vec<Explained>) -> Explanation {
    Explanation { cases, ..Explanation::default() }
}

fn figures(blocks: &[Block]) -> Vec<&Figure> {
    let mut figures = Vec::new();
    for block in blocks {
        if let Block::Figure(figure) = block {
            figures.push(figure);
        }
    }
    figures
}

#[test]
fn a_part_has_one_sign_in_all_figures_of_a_run() {
    let small = explained(1, &[(Cost::Waking, 3_000.0), (Cost::Switching, 1_000.0)], 4_000.0);
    let large = explained(65_536, &[(Cost::Copying, 6_000.0), (Cost::Waking, 2_000.0)], 8_000.0);
    let blocks = shown(&found(vec![small, large]));
    let names = |figure: &&Figure| {
        figure.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>()
    };
    let figures = figures(&blocks);
    assert_eq!(figures.len(), 2);
    assert_eq!(names(&figures[0]), names(&figures[1]), "a sign goes by the place among these");
    assert_eq!(figures[0].series.len(), 4, "copying, waking, switching, the whole");
}

#[test]
fn what_is_noise_is_no_result() {
    // Parts that add up but for one below zero, and parts that don't.
    let negative = explained(64, &[(Cost::Transport, -854.0), (Cost::Waking, 9_000.0)], 8_100.0);
    let apart = explained(4_096, &[(Cost::Waking, 2_600.0)], 14_400.0);
    assert!(negative.adds_up && !apart.adds_up);
    let blocks = shown(&found(vec![negative, apart.clone()]));
    let Some(Block::Table(table)) = blocks.last() else { panic!("a table comes last") };
    // The last cell is the residual: what the parts come out too large by, it has below zero.
    let parts = table.rows.iter().flat_map(|row| &row.cells[..row.cells.len() - 1]);
    let text: Vec<String> = parts.map(|part| part.to_plain()).collect();
    assert!(!text.iter().any(|text| text.starts_with(['-', '−'])), "{text:?}");
    assert_eq!(text.iter().filter(|text| *text == "noise").count(), 1 + COLUMNS.len(), "{text:?}");
    assert!(
        table.notes.iter().any(|note| note.to_plain().starts_with("noise:")),
        "{:?}",
        table.notes
    );
    let figures = figures(&blocks);
    let drawn = |figure: &Figure| {
        let parts = figure.series.iter().filter(|series| series.drawn != Drawn::Signs);
        parts.flat_map(|series| &series.points).filter_map(|point| point.y).sum::<f64>()
    };
    assert_eq!((drawn(figures[0]), drawn(figures[1])), (9_000.0, 0.0));
    let said = sentences::short(&apart);
    assert!(said.contains("noise") && !said.contains("waking"), "{said}");
    assert_eq!(sentences::rest(&apart), "");
}
