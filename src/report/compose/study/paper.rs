//! The study as a paper: abstract, introduction, method, results, discussion, conclusions,
//! references. Composed from the study's words and the results; it says no more than the
//! verdicts do.
//!
//! A paper may have to fit on few pages. Then the least important is left out, which is what was
//! declared last, and the paper says what.

use super::{Written, claims, factor, find};
use crate::judge::hypothesis::{Decision, Finding};
use crate::judge::{CaseResult, Judged, Status};
use crate::report::compose::{subtitle, words};
use crate::report::{Block, Document, Section, Target, Text, units};
use crate::study::factor::chosen;
use crate::study::format::{FigureKind, FigureSpec, TableSpec};

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

    /// The paper, without the `leaving` least important of its parts.
    pub fn paper(&self, judged: &Judged, leaving: usize) -> Document {
        let parts = self.parts();
        let left = &parts[..leaving.min(parts.len())];
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
        let drawn = |at: &usize| study.figure[*at].kind != FigureKind::Protocol;
        let figures: Vec<usize> = (0..study.figure.len()).filter(drawn).collect();
        let most = study.table.len().max(figures.len()).max(study.search.len());
        let of_rank = |rank: usize| {
            let search = (rank < study.search.len()).then_some(Part::Search(rank));
            let figure = figures.get(rank).map(|at| Part::Figure(*at));
            let table = (rank < study.table.len()).then_some(Part::Table(rank));
            [search, figure, table].into_iter().flatten()
        };
        let critique = (1..study.critique.len()).rev().map(Part::Critique);
        (1..most).rev().flat_map(of_rank).chain(critique).chain(of_rank(0)).collect()
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
            "{} To answer this, {} were measured on {} under Linux {}, {} in all, in random order \
             within paired rounds.",
            self.declared.study.question.trim(),
            counted(measured, "case"),
            host.processor.name.as_deref().unwrap_or("one machine"),
            host.kernel.release.as_deref().unwrap_or("of unknown release"),
            counted(launches as usize, "launch"),
        );
        if !self.findings.is_empty() {
            told.push(' ');
            told.push_str(&self.in_brief());
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

    fn introduction(&self) -> Section {
        let study = &self.declared.study;
        let mut section = Section::new("introduction", "Introduction");
        section.blocks.push(Block::paragraph(study.question.trim()));
        if let Some(source) = &study.source {
            let machine = source.machine.as_ref().map_or(String::new(), |it| {
                format!(", measured on {it}")
            });
            let told = Text::from(format!("The question is that of {} ", source.author))
                .refer(Target::Work(1))
                .plain(format!(
                    "{machine}. Figures that are printed there stand here beside those of this run. \
                     They come from other machines, and no test compares the two; what is tested is \
                     what that work claims."
                ));
            section.blocks.push(Block::Paragraph(told));
        }
        let names = |all: &std::collections::BTreeMap<String, String>| {
            words::list(&all.keys().cloned().collect::<Vec<_>>())
        };
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
        for (at, spec) in study.figure.iter().enumerate() {
            if left.contains(&Part::Figure(at)) {
                missing.push(format!("the figure “{}”", spec.title.trim()));
                continue;
            }
            let id = format!("declared-{at}");
            if let Some(figure) = self.figure(spec, &id, results) {
                section.blocks.push(Block::Paragraph(introduced(spec, &id)));
                section.blocks.push(figure.into());
            }
        }
        for (at, spec) in study.table.iter().enumerate() {
            if left.contains(&Part::Table(at)) {
                missing.push(format!("the table “{}”", spec.title.trim()));
                continue;
            }
            let mut table = self.table(spec, results);
            table.id = format!("declared-{at}");
            section.blocks.push(Block::Paragraph(self.read_off(spec, &table.id, results)));
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
            section.blocks.push(Block::paragraph(format!(
                "Left out, because the form allows no more pages: {}. `ipcmark report {} --html FILE` \
                 shows all of it.",
                words::list(&missing),
                judged.run.id
            )));
        }
        section
    }

    /// A table in words: what it shows, and from where to where its medians reach.
    fn read_off(&self, spec: &TableSpec, id: &str, results: &[CaseResult]) -> Text {
        let rows = factor(spec.rows.get_ref());
        let only = chosen(&spec.only);
        let by = match &spec.columns {
            Some(columns) => format!("{} and {}", rows.name(), columns.get_ref()),
            None => rows.name().to_string(),
        };
        let shows = match spec.beside {
            Some(_) => "shows the results beside the published ones, by",
            None => "shows the results by",
        };
        let told = Text::new().refer(Target::Table(id.into())).plain(format!(" {shows} {by}."));
        let mut medians: Vec<(f64, &CaseResult, &String)> = self.declared.levels[&rows]
            .iter()
            .filter_map(|level| {
                let case = find(&only.with(rows, level), results)?;
                let ok = case.status == Status::Ok && !case.carries.is_control();
                Some((case.estimate().filter(|_| ok)?.median?, case, level))
            })
            .collect();
        medians.sort_by(|a, b| a.0.total_cmp(&b.0));
        let one_kind = medians.windows(2).all(|it| words::unit(it[0].1) == words::unit(it[1].1));
        match (medians.first(), medians.last()) {
            (Some(least), Some(most))
                if medians.len() > 1 && one_kind && spec.columns.is_none() =>
            {
                told.plain(format!(
                    " The medians reach from {} (",
                    words::brief_value(least.1)
                ))
                .code(least.2.as_str())
                .plain(format!(") to {} (", words::brief_value(most.1)))
                .code(most.2.as_str())
                .plain(").")
            }
            _ => told,
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
                let head = Text::new().strong("Deviations. ").plain("The run departs from the plan, or was disturbed:");
                section.blocks.push(Block::Paragraph(head));
                section.blocks.push(Block::List(deviations));
            }
        }
        let kept = study.critique.iter().enumerate();
        let kept = kept.filter(|(at, _)| !left.contains(&Part::Critique(*at)));
        let points: Vec<Text> = kept.map(|(_, it)| Text::from(it.trim())).collect();
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
            let numbers: Vec<String> =
                self.decided(decision).iter().map(|(number, _)| number.to_string()).collect();
            match numbers.len() {
                0 => None,
                1 => Some(format!("claim {} is {}", numbers[0], decision.name())),
                _ => Some(format!("claims {} are {}", words::list(&numbers), decision.name())),
            }
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
        let groups = [
            (Decision::Supported, "These claims hold here:"),
            (Decision::Refuted, "These don't:"),
            (Decision::Inconclusive, "These launches can't tell whether the following hold:"),
            (Decision::NotTestable, "It remains unknown, because this run could not test it, whether the following hold:"),
        ];
        for (decision, head) in groups {
            let of_it = self.decided(decision);
            if of_it.is_empty() {
                continue;
            }
            let told: Vec<String> = of_it
                .iter()
                .map(|(number, it)| format!("{} ({number})", it.statement.trim_end_matches('.')))
                .collect();
            section.blocks.push(Block::paragraph(format!("{head} {}.", told.join("; "))));
        }
        section.blocks.push(Block::paragraph(format!(
            "All of this is said of one machine ({here}) and one run; another kernel or another \
             processor may answer otherwise."
        )));
        section
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
fn introduced(spec: &FigureSpec, id: &str) -> Text {
    let x = spec.x.as_ref().map_or("", |it| it.get_ref().as_str());
    let told = match (spec.kind, &spec.series) {
        (FigureKind::Protocol, _) => " shows what is sent, and what is timed.".to_string(),
        (FigureKind::HeatMap, Some(series)) => {
            format!(" is a map of the medians by {x} and {}.", series.get_ref())
        }
        (_, Some(series)) => {
            format!(" draws the medians over {x}, one line for each {}.", series.get_ref())
        }
        (_, None) => format!(" draws the medians by {x} with their intervals."),
    };
    Text::new().refer(Target::Figure(id.into())).plain(told)
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
