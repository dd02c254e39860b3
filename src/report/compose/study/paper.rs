//! The study as a paper: abstract, introduction, method, results, discussion, conclusions,
//! references. Composed from the study's words and the results; it says no more than the
//! verdicts do.
//!
//! A paper may have to fit on few pages. Then the least important is left out, which is what was
//! declared last, and the paper says what.

use std::collections::{BTreeMap, BTreeSet};

use super::{Written, claims, factor, find};
use crate::judge::hypothesis::{Decision, Finding};
use crate::judge::{CaseResult, Judged, Status};
use crate::report::compose::{subtitle, words};
use crate::report::{Block, Document, Figure, FigureKind, Run, Section, Target, Text, units};
use crate::study::factor::chosen;
use crate::study::format::TableSpec;

/// Findings that the abstract tells with their effects.
const TOLD_IN_BRIEF: usize = 3;

/// A part that a paper can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Table(usize),
    Figure(usize),
    Search(usize),
    Critique(usize),
}

impl Written {
    /// How many parts [`Written::paper`] can leave out.
    pub fn dispensable(&self) -> usize {
        self.parts().len()
    }

    /// The paper without some of its parts, counted from 0, the least important first.
    pub fn paper(&self, judged: &Judged, leaving: &BTreeSet<usize>) -> Document {
        let parts = self.parts().into_iter().enumerate();
        let left: Vec<Part> =
            parts.filter(|(at, _)| leaving.contains(at)).map(|(_, part)| part).collect();
        let left = left.as_slice();
        let mut document = Document::new(self.title());
        document.subtitle = subtitle(judged);
        document.byline = self.author().unwrap_or_default();
        document.summary = self.summary(judged);
        document.references = self.references(judged);
        document.sections = vec![
            self.introduction(),
            self.method(judged),
            self.results_told(judged, left),
            self.discussion(judged, left),
            self.conclusions(judged),
        ];
        document.number();
        document
    }

    fn author(&self) -> Option<String> {
        self.declared.study.paper.as_ref()?.author.clone()
    }

    /// What can be left out, the least important first: what was declared later is less
    /// important, and a diagram of what is measured stays.
    fn parts(&self) -> Vec<Part> {
        let study = &self.declared.study;
        let figures = self.drawn().count();
        let most = study.table.len().max(figures).max(study.search.len());
        let of_rank = |rank: usize| {
            let search = (rank < study.search.len()).then_some(Part::Search(rank));
            let figure = (rank < figures).then_some(Part::Figure(rank));
            let table = (rank < study.table.len()).then_some(Part::Table(rank));
            [search, figure, table].into_iter().flatten()
        };
        let critique = (1..study.critique.len()).rev().map(Part::Critique);
        (1..most).rev().flat_map(of_rank).chain(critique).chain(of_rank(0)).collect()
    }

    /// The figures of results.
    fn drawn(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|it| !it.series.is_empty())
    }

    fn decided(&self, decision: Decision) -> Vec<(usize, &Finding)> {
        let numbered = self.findings.iter().enumerate().map(|(at, it)| (at + 1, it));
        numbered.filter(|(_, it)| it.decision == decision).collect()
    }

    fn summary(&self, judged: &Judged) -> Vec<Text> {
        let host = &judged.run.host;
        let measured = judged.results.iter().filter(|it| it.launches > 0 && !it.twin).count();
        let launches: u64 = judged.results.iter().map(|it| it.launches).sum();
        let mut told = format!(
            "The effect of {} on {} was measured on {} under Linux {}, in {} and {}, in random \
             order within paired rounds.",
            names(&self.declared.study.variables.cause),
            names(&self.declared.study.variables.effect),
            host.processor.name.as_deref().unwrap_or("one machine"),
            host.kernel.release.as_deref().unwrap_or("of unknown release"),
            counted(measured, "case"),
            counted(launches as usize, "launch"),
        );
        if !self.findings.is_empty() {
            told.push(' ');
            told.push_str(&self.counted_verdicts());
        }
        let firm = [Decision::Supported, Decision::Refuted].map(|it| self.decided(it)).concat();
        for (_, finding) in firm.iter().take(TOLD_IN_BRIEF) {
            let holds = match finding.decision {
                Decision::Supported => "Supported",
                _ => "Refuted",
            };
            told.push_str(&format!(
                " {holds}: {} ({}).",
                finding.statement.trim_end_matches('.'),
                finding.effect.trim_end_matches('.')
            ));
        }
        vec![Text::from(told)]
    }

    /// `Of 5 claims, 2 are supported, 1 is refuted and 2 can't be tested here.`
    fn counted_verdicts(&self) -> String {
        let told = [
            (Decision::Supported, ["is supported", "are supported"]),
            (Decision::Refuted, ["is refuted", "are refuted"]),
            (Decision::Inconclusive, ["stays open", "stay open"]),
            (Decision::NotTestable, ["could not be tested", "could not be tested"]),
        ];
        let told = told.into_iter().filter_map(|(decision, [one, many])| {
            match self.decided(decision).len() {
                0 => None,
                1 => Some(format!("1 {one}")),
                n => Some(format!("{n} {many}")),
            }
        });
        let told: Vec<String> = told.collect();
        format!("Of {}, {}.", counted(self.findings.len(), "claim"), words::list(&told))
    }

    fn introduction(&self) -> Section {
        let study = &self.declared.study;
        let mut section = Section::new("introduction", "Introduction");
        section.blocks.push(Block::paragraph(study.question.trim()));
        if let Some(source) = &study.source {
            let machine =
                source.machine.as_ref().map_or(String::new(), |it| format!(", measured on {it}"));
            let told = Text::from(format!("The question is that of {} ", source.author))
                .refer(Target::Work(1))
                .plain(format!(
                    "{machine}. Figures that are printed there stand here beside those of this run. \
                     They come from other machines, and no test compares the two; what is tested is \
                     what that work claims."
                ));
            section.blocks.push(Block::Paragraph(told));
        }
        let mut told = format!(
            "The study sets {} and observes {}.",
            names(&study.variables.cause),
            names(&study.variables.effect)
        );
        if !self.findings.is_empty() {
            told.push_str(&format!(
                " It states {}, each with the test that decides it, written down before anything \
                 was measured.",
                counted(self.findings.len(), "claim")
            ));
        }
        section.blocks.push(Block::paragraph(told));
        section
    }

    fn results_told(&self, judged: &Judged, left: &[Part]) -> Section {
        let study = &self.declared.study;
        let results = &judged.results;
        let mut section = Section::new("results", "Results");
        let mut missing = Vec::new();
        if results.iter().all(|case| case.launches == 0) {
            section.blocks.push(Block::warning("Nothing was measured in this run."));
        }
        for (at, figure) in self.drawn().enumerate() {
            if left.contains(&Part::Figure(at)) {
                missing.push(format!("the figure “{}”", figure.title));
                continue;
            }
            section.blocks.push(Block::Paragraph(introduced(figure)));
            section.blocks.push(figure.clone().into());
        }
        let is_left = |at: usize| left.contains(&Part::Table(at));
        let (out, shown): (Vec<_>, Vec<_>) =
            study.table.iter().enumerate().partition(|(at, _)| is_left(*at));
        missing.extend(out.iter().map(|(_, it)| format!("the table “{}”", it.title.trim())));
        section.blocks.extend(self.read_off(&shown, results).map(Block::Paragraph));
        let mut told = Vec::new();
        for (at, spec) in shown {
            let mut table = self.table(spec, results);
            table.id = table_id(at);
            // What holds for several tables is said under the first.
            table.notes.retain(|note| !told.contains(note));
            told.extend(table.notes.iter().cloned());
            table.notes = table.notes.iter().map(|it| Text::of_prose(&it.to_plain())).collect();
            section.blocks.push(table.into());
        }
        for (at, search) in study.search.iter().enumerate() {
            if left.contains(&Part::Search(at)) {
                missing.push(format!("the search “{}”", search.title.trim()));
                continue;
            }
            let mut table = self.search(search, results);
            table.id = format!("search-{at}");
            section.blocks.push(Block::Paragraph(
                Text::new().refer(Target::Table(table.id.clone())).plain(format!(
                    " gives, for each {}, the {} at which it is best, and those that these launches \
                     can't tell from it.",
                    search.each.get_ref(),
                    search.factor.get_ref()
                )),
            ));
            section.blocks.push(table.into());
        }
        let points = left.iter().filter(|it| matches!(it, Part::Critique(_))).count();
        if points > 0 {
            missing.push(format!("{points} of {} points of the critique", study.critique.len()));
        }
        if !missing.is_empty() {
            section.blocks.push(Block::Paragraph(Text::of_prose(&format!(
                "Left out, because the form allows no more pages: {}. `ipcmark report {} --html FILE` \
                 shows all of it.",
                words::list(&missing),
                judged.run.id
            ))));
        }
        section
    }

    /// The tables in words: what they show, and from where to where their medians reach.
    fn read_off(&self, shown: &[(usize, &TableSpec)], results: &[CaseResult]) -> Option<Text> {
        let refer = |text: Text, at: usize| text.refer(Target::Table(table_id(at)));
        let mut told = Text::new();
        for (nth, (at, _)) in shown.iter().enumerate() {
            let before = match nth {
                0 => "",
                _ if nth + 1 == shown.len() => " and ",
                _ => ", ",
            };
            told = refer(told.plain(before), *at);
        }
        let beside = shown.iter().filter(|(_, spec)| spec.beside.is_some()).count();
        let verb = if shown.len() == 1 { "holds" } else { "hold" };
        told = told.plain(match beside {
            0 => format!(" {verb} the results."),
            n if n == shown.len() => format!(" {verb} the results beside the published figures."),
            _ => format!(" {verb} the results, some beside published figures."),
        });
        let ranges = shown.iter().filter_map(|(at, spec)| Some((*at, self.range(spec, results)?)));
        for (nth, (at, [least, most])) in ranges.enumerate() {
            let head = if nth == 0 { " The medians reach from " } else { "; from " };
            told = told.plain(head).plain(least.0).plain(" (").code(least.1).plain(") to ");
            told = refer(told.plain(most.0).plain(" (").code(most.1).plain(") in "), at);
        }
        let ends = told.runs.last().is_some_and(|it| matches!(it, Run::Link { .. }));
        (!shown.is_empty()).then(|| if ends { told.plain(".") } else { told })
    }

    /// The smallest and the largest median of a table of one measure, and where they are.
    fn range(&self, spec: &TableSpec, results: &[CaseResult]) -> Option<[(String, String); 2]> {
        let (rows, only) = (factor(spec.rows.get_ref()), chosen(&spec.only));
        let mut medians: Vec<(f64, &CaseResult, &String)> = self.declared.levels[&rows]
            .iter()
            .filter(|level| only.level(rows).is_none_or(|it| it == *level))
            .filter_map(|level| {
                let case = find(&only.with(rows, level), results)?;
                let ok = case.status == Status::Ok && !case.carries.is_control();
                Some((case.estimate().filter(|_| ok)?.median?, case, level))
            })
            .collect();
        medians.sort_by(|a, b| a.0.total_cmp(&b.0));
        let one_kind = medians.windows(2).all(|it| words::unit(it[0].1) == words::unit(it[1].1));
        let told = |it: &(f64, &CaseResult, &String)| (words::brief_value(it.1), it.2.clone());
        match medians.as_slice() {
            [least, .., most] if one_kind && spec.columns.is_none() => {
                Some([told(least), told(most)])
            }
            _ => None,
        }
    }

    fn discussion(&self, judged: &Judged, left: &[Part]) -> Section {
        let study = &self.declared.study;
        let mut section = Section::new("discussion", "Discussion");
        if !self.findings.is_empty() {
            let mut told = Text::new()
                .strong("Claims. ")
                .refer(Target::Table("claims".into()))
                .plain(" gives the verdict on each claim, the effect with its interval, and p.");
            told = told.plain(self.by_verdict());
            section.blocks.push(Block::Paragraph(told));
            let with_place = self.declared.form.pages.is_none();
            section.blocks.push(claims::table(&self.findings, with_place).into());
        }
        let deviations = self.deviations(judged);
        match deviations.is_empty() {
            true => section.blocks.push(Block::Paragraph(
                Text::new().strong("Deviations. ").plain("The run went as declared."),
            )),
            false => {
                let head = Text::new()
                    .strong("Deviations. ")
                    .plain("The run departs from the plan, or was disturbed:");
                section.blocks.push(Block::Paragraph(head));
                section.blocks.push(Block::List(deviations));
            }
        }
        let kept = study.critique.iter().enumerate();
        let kept = kept.filter(|(at, _)| !left.contains(&Part::Critique(*at)));
        let points: Vec<Text> = kept.map(|(_, it)| Text::of_prose(it.trim())).collect();
        if !points.is_empty() {
            let about = match &study.source {
                Some(_) => "What the original could not see, and what remains unseen here:",
                None => "What this study can't show:",
            };
            let head = Text::new().strong("Critique. ").plain(about);
            section.blocks.push(Block::Paragraph(head));
            section.blocks.push(Block::List(points));
        }
        section
    }

    fn by_verdict(&self) -> String {
        let told = |decision: Decision| {
            let numbers: Vec<usize> = self.decided(decision).iter().map(|it| it.0).collect();
            let verb = if numbers.len() == 1 { "is" } else { "are" };
            which(&numbers).map(|which| format!("{which} {verb} {}", decision.name()))
        };
        let all =
            [Decision::Supported, Decision::Refuted, Decision::Inconclusive, Decision::NotTestable];
        let all: Vec<String> = all.into_iter().filter_map(told).collect();
        format!(" {}.", super::capitalised(&all.join("; ")))
    }

    fn conclusions(&self, judged: &Judged) -> Section {
        let mut section = Section::new("conclusions", "Conclusions");
        let host = &judged.run.host;
        let here = host.processor.name.as_deref().unwrap_or("this machine");
        let firm = [
            (Decision::Supported, "These claims hold here:"),
            (Decision::Refuted, "These don't hold here:"),
        ];
        let firm: Vec<_> = firm.map(|(it, head)| (self.decided(it), head)).into();
        if !self.findings.is_empty() && firm.iter().all(|(found, _)| found.is_empty()) {
            section.blocks.push(Block::paragraph("This run decides none of the claims."));
        }
        for (found, head) in firm.into_iter().filter(|(found, _)| !found.is_empty()) {
            let told = found
                .iter()
                .map(|(number, it)| format!("{} ({number})", it.statement.trim_end_matches('.')));
            let told = told.collect::<Vec<_>>().join("; ");
            section.blocks.push(Block::paragraph(format!("{head} {told}.")));
        }
        let open = [
            (Decision::Inconclusive, "the launches of this run decide neither way"),
            (Decision::NotTestable, "not testable in this run, for the reasons in the table"),
        ];
        for (decision, why) in open {
            let numbers: Vec<usize> = self.decided(decision).iter().map(|it| it.0).collect();
            if let Some(which) = which(&numbers) {
                section.blocks.push(Block::paragraph(format!(
                    "{} remain{} open: {why}.",
                    super::capitalised(&which),
                    if numbers.len() == 1 { "s" } else { "" }
                )));
            }
        }
        section.blocks.push(Block::paragraph(format!(
            "All of this is said of one machine ({here}) and one run; another kernel or another \
             processor may answer otherwise."
        )));
        section
    }

    /// The number of this run itself among the references.
    pub(super) fn own_reference(&self) -> usize {
        1 + usize::from(self.declared.study.source.is_some())
    }

    fn references(&self, judged: &Judged) -> Vec<Text> {
        let run = &judged.run;
        let words: Vec<&str> = run.argv.iter().skip(1).map(String::as_str).collect();
        let own = Text::from(format!(
            "{}, run {} of {}, seed {}: ",
            run.tool, run.id, run.started, run.request.seed
        ))
        .code(format!("ipcmark {}", words.join(" ")))
        .plain(". Every sample is stored; written up again by ")
        .code(format!("ipcmark report {}", run.id))
        .plain(".");
        let source = self.source_told().map(Text::from);
        source.into_iter().chain([own]).collect()
    }
}

/// A figure in words: what is drawn over what.
fn introduced(figure: &Figure) -> Text {
    let (x, y) = (&figure.x.label, &figure.y.label);
    let names: Vec<String> = figure.series.iter().map(|it| it.name.clone()).collect();
    let told = match (figure.kind, names.as_slice()) {
        (FigureKind::Heatmap, _) => format!(" maps {y} by {x}."),
        (FigureKind::Curves, [_, _, ..]) => {
            format!(" draws {y} over {x}, a curve each for {}.", words::few(&names))
        }
        (FigureKind::Curves, _) => format!(" draws {y} over {x}."),
        _ => format!(" shows {y} by {x}."),
    };
    Text::new().refer(Target::Figure(figure.id.clone())).plain(told)
}

fn table_id(at: usize) -> String {
    format!("study-{}", at + 1)
}

/// The variables of one role.
fn names(all: &BTreeMap<String, String>) -> String {
    words::list(&all.keys().cloned().collect::<Vec<_>>())
}

/// `claim 3`, `claims 1, 2 and 5 to 9`; None of none.
fn which(numbers: &[usize]) -> Option<String> {
    let stretch = |run: &[usize]| match run {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(usize::to_string).collect(),
    };
    let told: Vec<String> = numbers.chunk_by(|a, b| a + 1 == *b).flat_map(stretch).collect();
    match numbers.len() {
        0 => None,
        1 => Some(format!("claim {}", told[0])),
        _ => Some(format!("claims {}", words::list(&told))),
    }
}

/// `1 case`, `12 launches`.
fn counted(number: usize, what: &str) -> String {
    let ending = match number {
        1 => "",
        _ if what.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {what}{ending}", units::count(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_stretch() {
        assert_eq!(which(&[]), None);
        assert_eq!(which(&[3]).unwrap(), "claim 3");
        assert_eq!(which(&[1, 2]).unwrap(), "claims 1 and 2");
        assert_eq!(which(&[1, 2, 3, 5, 7, 8, 9]).unwrap(), "claims 1 to 3, 5 and 7 to 9");
    }
}
