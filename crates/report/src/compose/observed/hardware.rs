//! Figures of hardware counters: a row each, whether it could be counted here or not.

use super::super::Detail;
use super::{CaseGroup, ObservedCase, with_interval};
use crate::{Emphasis, Table, Text};
use analysis::Observed;
use model::counts::{FIGURES, Family, MODES};

/// Those of a group; None where there are none. Where none could be had, only a page shows it.
pub fn table(group: &CaseGroup, detail: Detail) -> Option<Table> {
    let hardware = |observed: &&&Observed| observed.probe.family().is_some_and(Family::is_hardware);
    let asked = |case: &ObservedCase| -> Vec<Family> {
        case.by.iter().filter(hardware).filter_map(|observed| observed.probe.family()).collect()
    };
    let families: Vec<Family> = group.cases.iter().flat_map(asked).collect();
    let any =
        group.cases.iter().flat_map(|case| &case.by).any(|observed| !observed.figures.is_empty());
    if families.is_empty() || (detail == Detail::Summary && !any) {
        return None;
    }
    let own = FIGURES.iter().filter(|figure| families.contains(&figure.family));
    let mut names: Vec<String> = own.map(|figure| figure.name.to_string()).collect();
    for family in Family::ALL.iter().filter(|family| families.contains(family)) {
        let last = format!(":{}", MODES[MODES.len() - 1]);
        let sums =
            family.names().into_iter().filter_map(|name| Some(name.strip_suffix(&last)?.into()));
        names.extend(sums.filter(|_| family.is_hardware()));
    }
    if detail == Detail::Full && any {
        let with_modes = |name: String| {
            let modes = MODES.map(|mode| format!("{name}:{mode}"));
            std::iter::once(name).chain(modes)
        };
        names = names.into_iter().flat_map(with_modes).collect();
    }
    let caption = format!("Hardware counters, {}, both workers", group.caption());
    let mut table =
        Table::of_each(caption, &names).words("figure", 0, |name| Text::new().code(name));
    for (nth, case) in group.cases.iter().enumerate() {
        let head = case.name(group).to_plain();
        table = table.numbers(head, nth as u8 / 3, |name| match value(case, name) {
            Some(value) => Text::from(value),
            None => Text::new().muted("not testable here"),
        });
    }
    let missing = |name: &str| group.cases.iter().all(|case| value(case, name).is_none());
    let table = table.emphasis(|name| Emphasis::Muted.only_if(missing(name))).table();
    Some(table.note(
        ":u in the program, :k in the kernel, else both. What one family counts over what \
         another does is of launches in the same round.",
    ))
}

/// A figure of a case, or else an event, with its interval.
fn value(case: &ObservedCase, name: &str) -> Option<String> {
    let mut figures = case.by.iter().flat_map(|observed| &observed.figures);
    let figure = figures.find(|figure| figure.name == name);
    let figure = figure.map(|figure| (figure.value, figure.interval));
    let event = case.event(name).map(|event| (event.per_operation, event.interval));
    figure.or(event).map(|(value, interval)| with_interval(value, interval.ends()))
}
