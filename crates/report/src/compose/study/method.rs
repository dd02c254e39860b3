//! How a study was measured, and where the run departs from what was declared: the machine, the
//! variables, the order, when it ended.

use std::collections::BTreeMap;

use super::Written;
use crate::compose::host::cpus_of;
use crate::compose::{absences, labels, over_sessions, peer};
use crate::{Figure, FigureKind, Section, Table, Target, Text, units};
use analysis::floor_rows::rows;
use analysis::{CaseResult, Judged, Status};
use model::factor::Factor;
use store::{Closed, RunStatus};

pub(super) const VARIABLES: &str = "variables";
/// Changes over the rounds that a paper of few pages tells one by one; those of whole groups come first.
const DRIFTS: usize = 2;
/// Points of what went otherwise that such a paper tells.
const DEVIATIONS: usize = 3;

impl Written<'_> {
    /// Apparatus, variables, what is timed, order, stopping.
    pub(super) fn method(&self, judged: &Judged) -> Section {
        let diagrams: Vec<&Figure> = self.diagrams().collect();
        let written = self.declared.study.paper.iter().flat_map(|paper| &paper.method);
        let order = format!(
            "The unit of every statistic is the launch: fresh processes, descriptors and mappings. A \
             round launches every case of a group of comparable cases once, in a new random order, so \
             that a drift of the machine meets all of them alike and every comparison is paired \
             within its rounds. The order follows from the seed {}; the command is given in ",
            judged.run.request.seed
        );
        let statistics = "A value is the median over launches of each launch's median; the interval beside it is \
             made of order statistics and covers with at least 95 %. Two cases are compared by the \
             median of their ratios within rounds, with an exact sign test. The p values of \
             all claims are one family, corrected by Holm; a claim counts as supported or refuted by \
             a difference only if its corrected p is below 0.05.";
        Section::new("method", "Method")
            .with(headed("Apparatus.", apparatus(judged)))
            .with_all(peer::hosts(judged))
            .with_all(clocks(judged).map(|text| headed("Clock.", text)))
            .with(referring(headed("Measurement.", measurement(judged)), &diagrams))
            .with_all(diagrams.into_iter().cloned())
            .with_all(written.map(|text| self.citing(text)))
            .with(headed("Order.", order).refer(Target::Work(self.own_reference())).plain("."))
            .with(headed("Stopping.", self.stopping(judged)))
            .with(headed("Statistics.", statistics))
    }

    /// Figures of what is measured: they hold no results.
    pub(super) fn diagrams(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|figure| figure.kind == FigureKind::Protocol)
    }

    pub(super) fn fixed(&self) -> String {
        let fixed: Vec<String> = Factor::ALL
            .into_iter()
            .filter_map(|factor| match self.declared.levels[&factor].as_slice() {
                [one] if factor != Factor::Observe && !factor.follows() => {
                    Some(format!("{} ({one})", factor.name()))
                }
                _ => None,
            })
            .collect();
        if fixed.is_empty() {
            String::new()
        } else {
            format!("Fixed: {}.{}", labels::list(&fixed), self.combinations())
        }
    }

    /// That not all combinations were measured, where the study leaves some out.
    fn combinations(&self) -> &'static str {
        if self.declared.request.except.is_empty() {
            ""
        } else {
            " The study leaves out some of their combinations, about which it claims nothing."
        }
    }

    /// The varied factors with their levels, then what was seen.
    pub(super) fn variable_table(&self) -> Table {
        let levels = |name: &str| {
            let levels = Factor::parse(name).map(|factor| self.declared.levels[&factor].join(", "));
            levels.unwrap_or_default()
        };
        let caption = "What was set (causes) and what was observed (effects)";
        let mut table = Table::of_each(caption, &self.by_role())
            .words("variable", 0, |(name, ..)| *name)
            .words("role", 0, |(_, role, _)| *role)
            .words("levels", 0, |(name, role, _)| match *role {
                "cause" => levels(name),
                _ => String::new(),
            })
            .words("what it is", 0, |(.., what)| *what)
            .table();
        table.id = VARIABLES.into();
        table
    }

    fn stopping(&self, judged: &Judged) -> String {
        let declared = &self.declared.request.stopping;
        let stopping = &judged.run.request.stopping;
        let asked = match stopping.launches {
            Some(launches) => format!("Each case was to be launched {}", units::counted(launches, "time")),
            None => "The first four rounds told how many launches nine of ten cases needed for the precision \
                     asked, ±2 % on one CPU, ±5 % across and ±10 % of transfers; as many were made, 12 at least, \
                     for as long as there was time"
                .into(),
        };
        let budget = match stopping.budget_ns {
            Some(ns) => format!(", within a budget of {}", units::duration(ns as f64)),
            None => String::new(),
        };
        let groups = &judged.run.groups;
        let closed = |why: Closed| groups.iter().filter(|group| group.closed == Some(why)).count();
        let cut = closed(Closed::Budget);
        let ended = match (cut, closed(Closed::Precise)) {
            (0, 0) => "Every group ended as asked.".to_string(),
            (0, precise) => {
                format!("{} had as many as that.", groups_of(precise, groups.len()))
            }
            (cut, _) => {
                format!("The time limit ended {} before that.", groups_of(cut, groups.len()))
            }
        };
        let changed = if declared == stopping {
            ""
        } else {
            " These limits were given on the command line; the study declares others."
        };
        format!("{asked}{budget}. {ended}{changed}")
    }

    /// Where the run departs from what was declared; empty where it doesn't.
    pub(super) fn deviations(&self, judged: &Judged) -> Vec<Text> {
        let run = &judged.run;
        let mut deviations = Vec::new();
        if run.status != RunStatus::Complete {
            deviations
                .push("The run was interrupted; what was measured until then is used.".into());
        }
        if run.groups.iter().any(|group| group.closed == Some(Closed::Budget)) {
            let measured: Vec<u64> = judged
                .results
                .iter()
                .map(|result| result.launches)
                .filter(|launches| *launches > 0)
                .collect();
            let (least, most) = (measured.iter().min(), measured.iter().max());
            if let (Some(least), Some(most)) = (least, most) {
                let from = if least == most { String::new() } else { format!("{least} to ") };
                let launches = units::counted(*most, "launch");
                let limit = format!(
                    "The run stopped at the time limit after {from}{launches} of each case."
                );
                deviations.push(Text::from(limit));
            }
        }
        for (what, why) in absences::absences(judged) {
            deviations.push(Text::from("Not measured: ").code(what).plain(format!(" ({why}).")));
        }
        let failed = |case: &&CaseResult| case.status == Status::Failed;
        let mut without: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for case in judged.results.iter().filter(failed) {
            let why = case.reason.clone().unwrap_or_else(|| "no launch was made".into());
            without.entry(why).or_default().push(labels::case(case));
        }
        let none = without.iter().map(|(why, cases)| {
            Text::from("No result: ").code(labels::few(cases)).plain(format!(" ({why})."))
        });
        deviations.extend(none);
        let drifts = over_sessions::lines(judged);
        let told = self.declared.form.pages.map_or(drifts.len(), |_| DRIFTS.min(drifts.len()));
        let more = (drifts.len() - told) as u64;
        deviations.extend(drifts.into_iter().take(told).map(|line| line.plain(".")));
        if more > 0 {
            let more = units::counted(more, "further change");
            deviations.push(Text::from(format!("{more} over the rounds, of single cases.")));
        }
        deviations.extend(run.warnings.iter().map(|warning| Text::of_prose(&sentence(warning))));
        let most = self.declared.form.pages.map_or(deviations.len(), |_| DEVIATIONS);
        let more = deviations.len().saturating_sub(most) as u64;
        deviations.truncate(most);
        if more > 0 {
            let more = units::counted(more, "further remark");
            deviations.push(Text::from(format!("{more}: the whole report has them.")));
        }
        deviations
    }
}

/// A warning of the run as a sentence.
fn sentence(warning: &str) -> String {
    format!("{}.", labels::capital(warning.trim_end_matches('.')))
}

fn groups_of(some: usize, all: usize) -> String {
    match (some, all) {
        (some, all) if some == all => "all groups".into(),
        (some, all) => format!("{some} of {}", units::counted(all as u64, "group")),
    }
}

/// A text that goes on with a word on its diagrams, if there are any: one sentence for all.
fn referring(text: Text, diagrams: &[&Figure]) -> Text {
    let figure = |text: Text, of: &Figure| text.refer(Target::Figure(of.id.clone()));
    let [first, others @ ..] = diagrams else { return text };
    let text = figure(text.plain(" "), first);
    let between = if others.len() == 1 { " and " } else { " to " };
    let (text, verb) = match others.last() {
        Some(last) => (figure(text.plain(between), last), "show"),
        None => (text, "shows"),
    };
    text.plain(format!(" {verb} what is sent, and what is timed."))
}

pub(super) fn headed(head: &str, words: impl Into<String>) -> Text {
    Text::new().strong(format!("{head} ")).plain(words)
}

fn apparatus(judged: &Judged) -> String {
    let run = &judged.run;
    let host = &run.host;
    let cpus = cpus_of(host);
    let last = host.caches.iter().max_by_key(|cache| cache.level);
    let cache = last.and_then(|cache| Some((cache.level, cache.size_bytes?)));
    let cache = cache.map_or(String::new(), |(level, bytes)| {
        format!(", a level-{level} cache of {}", units::size(bytes))
    });
    let governor: Vec<&str> = host.frequency.governors.keys().map(String::as_str).collect();
    let governor = if governor.is_empty() {
        String::new()
    } else {
        format!(" Frequency governor: {}.", governor.join(", "))
    };
    let guest = host.hypervisor.kind.as_ref().or(host.hypervisor.vendor.as_ref());
    let guest = guest.map_or(String::new(), |guest| format!(", a guest of {guest}"));
    let clock = &run.clock;
    format!(
        "{}{}, {cpus}{cache}{guest}, under Linux {}.{governor} Measured by {} on {}. \
         Time was read from {} at {} a read, in steps of {}.",
        if run.peer.as_ref().is_some_and(|peer| !peer.one_kernel) {
            "Here: "
        } else {
            "One machine: "
        },
        host.processor.name_or_unknown(),
        host.kernel.release.as_deref().unwrap_or("of unknown release"),
        run.tool,
        run.started.split('T').next().unwrap_or(&run.started),
        clock.kind,
        units::duration(clock.cost_ns),
        units::duration(clock.step_ns),
    )
}

/// In which two ways the clocks were looked at, and what follows; None of a run without floors.
fn clocks(judged: &Judged) -> Option<String> {
    let floors = judged.run.floors.as_ref()?;
    let of = |name: &str| -> Vec<String> {
        let found = rows(floors, name).into_iter().filter_map(|row| {
            let value = row.found.ok()?.median?;
            let clock = row.what.split(": ").next().unwrap_or_default().to_string();
            Some(format!("{} ({clock})", units::duration(value)))
        });
        found.collect()
    };
    let (by_loop, by_reads) = (of("clock-step-by-loop"), of("clock-step-by-reads"));
    if by_loop.is_empty() || by_reads.is_empty() {
        return None;
    }
    let found = floors.clocks.get().ok()?;
    let best = found.most_precise == found.used || found.as_precise.contains(&found.used);
    let why = if best { ": none is more precise, within a tenth" } else { "" };
    Some(format!(
        "The step of each clock was found in two ways: by a loop that grows until it takes any time, {}; and by the \
         differences of repeated reads, {}. {} was read in the rest{why}. What is \
         shorter than 20 reads or 50 steps was timed in batches.",
        labels::list(&by_loop),
        labels::list(&by_reads),
        judged.run.clock.kind,
    ))
}

/// What is timed, of the workloads that were run.
fn measurement(judged: &Judged) -> String {
    let request = &judged.run.request;
    let mut sentences: Vec<&str> = Vec::new();
    for (workload, _) in &request.workloads {
        let case = judged.results.iter().find(|result| result.workload == *workload);
        sentences.extend(case.map(|case| &*case.metric.definition));
    }
    sentences.push("Each launch checked its messages end to end, then warmed up, then was timed");
    let quiet = match judged.run.settle.quiet_ns {
        0 => String::new(),
        ns => {
            let quiet = units::duration(ns as f64);
            format!("; launches across CPUs waited {quiet} after the last fork on the machine")
        }
    };
    format!("{}{quiet}.", sentences.join(" "))
}
