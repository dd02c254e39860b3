//! Figures of hardware counters: user and kernel together, and one count over another. Families
//! that are counted in different launches of a case are brought together by round.

use super::{CountFigure, Observed};
use crate::OverRounds;
use model::counts::{FIGURES, Family, MODES};

/// Works out the figures of every case with hardware counters.
pub fn assign(observed: &mut [Observed]) {
    let found: Vec<Vec<CountFigure>> =
        (0..observed.len()).map(|at| figures(observed, &observed[at])).collect();
    for (entry, figures) in observed.iter_mut().zip(found) {
        entry.figures = figures;
    }
}

/// The sums and figures that stand with one family of a case.
fn figures(all: &[Observed], of: &Observed) -> Vec<CountFigure> {
    let Some(family) = of.probe.family().filter(|family| family.is_hardware()) else {
        return Vec::new();
    };
    let beside: Vec<&Observed> = all.iter().filter(|observed| is_same(observed, of)).collect();
    let sums = events(family).into_iter().filter_map(|event| {
        let by_round = together(&[of], &event);
        figure(event, by_round)
    });
    let own = FIGURES.iter().filter(|figure| figure.family == family);
    let divided = own.flat_map(|divided| {
        let of_mode = |mode: &str| {
            let name = |event: &str| format!("{event}:{mode}");
            let by_round =
                over(&rounds(&beside, &name(divided.top)), &rounds(&beside, &name(divided.bottom)));
            figure(name(divided.name), by_round)
        };
        let both = over(&together(&beside, divided.top), &together(&beside, divided.bottom));
        MODES.map(of_mode).into_iter().chain([figure(divided.name.into(), both)])
    });
    sums.chain(divided.flatten()).collect()
}

/// Whether both are of one case, and count as often.
fn is_same(a: &Observed, b: &Observed) -> bool {
    a.probe.family().is_some() && a.probe.times == b.probe.times && a.is_same_case(b)
}

/// The events of a family, user and kernel under one name.
fn events(family: Family) -> Vec<String> {
    let last = format!(":{}", MODES[MODES.len() - 1]);
    let names = family.names();
    names.iter().filter_map(|name| name.strip_suffix(&last)).map(String::from).collect()
}

/// An event by round, from whichever family counted it.
fn rounds(beside: &[&Observed], event: &str) -> Vec<Option<f64>> {
    let counted = beside.iter().find_map(|observed| observed.event(event));
    counted.map_or_else(Vec::new, |count| count.by_round.clone())
}

/// The sum of an event's modes, in the rounds that have all.
fn together(beside: &[&Observed], event: &str) -> Vec<Option<f64>> {
    let [user, kernel] = MODES.map(|mode| rounds(beside, &format!("{event}:{mode}")));
    user.iter().zip(&kernel).map(|(user, kernel)| Some((*user)? + (*kernel)?)).collect()
}

fn over(top: &[Option<f64>], bottom: &[Option<f64>]) -> Vec<Option<f64>> {
    let ratio = |(top, bottom): (&Option<f64>, &Option<f64>)| {
        let ratio = (*top)? / (*bottom)?;
        ratio.is_finite().then_some(ratio)
    };
    top.iter().zip(bottom).map(ratio).collect()
}

fn figure(name: String, by_round: Vec<Option<f64>>) -> Option<CountFigure> {
    let value = OverRounds::of(by_round)?;
    Some(CountFigure {
        name,
        value: value.median,
        interval: value.interval,
        by_round: value.by_round,
    })
}
