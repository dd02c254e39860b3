//! A study's own part of the document: what it asked, what became of each claim, its tables with
//! the published figures beside, and what the original could not see.

mod cells;
mod claims;
mod floors;
mod method;
mod order;
mod paper;
mod published;
mod results;
mod search;
mod tables;

use std::collections::BTreeMap;

use super::figures::study_figures;
use crate::{Block, Figure, Section, Table, Text, units};
use analysis::JudgedStudy;
use analysis::floor_rows::Floors;
use analysis::hypothesis::{Decision, Finding, level, takes};
use analysis::{CaseResult, Judged};
use model::factor::Factor;
use study::factor::Chosen;
use study::paper::Form;
use study::validated::ValidatedStudy;

/// A run's study, judged.
pub struct Written<'a> {
    declared: &'a ValidatedStudy,
    findings: &'a [Finding],
    figures: Vec<Figure>,
    /// As [`Judged::cases`].
    cases: Vec<CaseResult>,
    elsewhere: Option<Elsewhere<'a>>,
}

/// Another machine's run of the same study, which stands beside.
struct Elsewhere<'a> {
    /// What its rows are called.
    name: String,
    findings: &'a [Finding],
    cases: Vec<CaseResult>,
    floors: Option<&'a Floors>,
}

impl<'a> Elsewhere<'a> {
    fn of(judged: &'a Judged) -> Option<Elsewhere<'a>> {
        let run = &judged.run;
        let processor = run.host.processor.name.as_deref().unwrap_or("another machine");
        let name = run.label.clone().unwrap_or_else(|| processor.to_string());
        let findings = &judged.study.as_ref()?.findings;
        Some(Elsewhere { name, findings, cases: judged.cases(), floors: run.floors.as_ref() })
    }

    /// Which run its rows are of.
    fn note(&self, judged: &Judged) -> Text {
        let run = &judged.run;
        Text::from(format!(
            "{}: {} under Linux {}, run {} of {} there; nothing here is compared with it.",
            self.name,
            run.host.processor.name_or_unknown(),
            run.host.kernel.release.as_deref().unwrap_or("of unknown release"),
            run.id,
            run.started.split('T').next().unwrap_or(&run.started),
        ))
    }
}

impl<'a> Written<'a> {
    /// The study that the run was made for, if it was.
    pub fn of(judged: &'a Judged) -> Option<Written<'a>> {
        let JudgedStudy { declared, findings } = judged.study.as_ref()?;
        let cases = judged.cases();
        let figures = study_figures(declared, &cases, judged.run.floors.as_ref());
        let elsewhere = judged.elsewhere.as_deref().and_then(Elsewhere::of);
        Some(Written { declared, findings, figures, cases, elsewhere })
    }

    pub fn title(&self) -> &str {
        &self.declared.study.title
    }

    pub fn form(&self) -> Form {
        self.declared.form
    }

    /// What comes first: the question, and what became of the claims.
    pub fn opening(&self, judged: &Judged) -> Vec<Section> {
        let study = &self.declared.study;
        let claimed = !self.findings.is_empty();
        let question = Section::new("question", "Question")
            .with(Block::paragraph(study.question.trim()))
            .with_all(claimed.then(|| Block::paragraph(in_brief(self.findings))))
            .with_all(self.elsewhere_note(judged));
        let verdicts = self.findings.iter().enumerate();
        let verdicts = verdicts.map(|(at, finding)| claims::verdict(finding, self.there(at)));
        let claims = Section::new("claims", "Claims").with_all(verdicts).unless_empty();
        std::iter::once(question).chain(claims).collect()
    }

    /// Which run stands beside, if one does.
    fn elsewhere_note(&self, judged: &Judged) -> Option<Block> {
        let (elsewhere, other) = (self.elsewhere.as_ref()?, judged.elsewhere.as_deref()?);
        Some(Block::Paragraph(elsewhere.note(other)))
    }

    /// What became of a claim there, with the name of the machine.
    fn there(&self, at: usize) -> Option<(&str, &Finding)> {
        let elsewhere = self.elsewhere.as_ref()?;
        Some((elsewhere.name.as_str(), elsewhere.findings.get(at)?))
    }

    /// Its tables, what it searched for, the variables, the critique and the source.
    pub fn results(&self, judged: &Judged) -> Vec<Section> {
        let study = &self.declared.study;
        let tables = Section::new("study-tables", "Tables")
            .with_all(study.floor.iter().map(|spec| self.floor(spec, judged)))
            .with_all(study.table.iter().flat_map(|spec| self.tables(spec, &self.cases)))
            .with_all(study.search.iter().map(|search| self.search(search, &judged.results)));
        let figures =
            Section::new("study-figures", "Figures").with_all(self.figures.iter().cloned());
        let unseen = match &study.source {
            Some(_) => "What the original could not see",
            None => "What this study can't show",
        };
        let points = study.critique.iter().map(|text| Text::from(text.trim()));
        let discussion = Section::new("discussion", unseen).with_all(Block::list(points));
        let variables = Section::new("variables", "Variables").with(self.variables());
        let source = self.source_line().map(Block::paragraph);
        let source = Section::new("source", "Source").with_all(source);
        let sections = [tables, figures, discussion, variables, source];
        sections.into_iter().filter_map(Section::unless_empty).collect()
    }

    fn variables(&self) -> Table {
        Table::of_each("What was set and what was observed", &self.by_role())
            .words("variable", 0, |(name, ..)| *name)
            .words("role", 0, |(_, role, _)| *role)
            .words("what it is", 0, |(.., what)| *what)
            .table()
    }

    /// The variables of the study, each with its role and what it is: causes, then effects.
    fn by_role(&self) -> Vec<(&str, &'static str, &str)> {
        let variables = &self.declared.study.variables;
        let of = |role, all: &'a BTreeMap<String, String>| {
            all.iter().map(move |(name, what)| (name.as_str(), role, what.as_str()))
        };
        of("cause", &variables.cause).chain(of("effect", &variables.effect)).collect()
    }

    fn source_line(&self) -> Option<String> {
        let source = self.declared.study.source.as_ref()?;
        let year = source.year.map(|year| format!(", {year}")).unwrap_or_default();
        let machine = source.machine.as_ref().map(|machine| format!(" Measured on {machine}."));
        let address = source.address.as_ref().map(|address| format!(" {address}"));
        Some(format!(
            "{}: {}{year}.{}{}",
            source.author,
            source.title,
            machine.unwrap_or_default(),
            address.unwrap_or_default()
        ))
    }
}

/// `Of 5 claims here: 3 supported, 2 inconclusive.`
pub fn in_brief(findings: &[Finding]) -> String {
    let count = |decision| findings.iter().filter(|finding| finding.decision == decision).count();
    let counts: Vec<String> = Decision::ALL
        .into_iter()
        .filter(|decision| count(*decision) > 0)
        .map(|decision| format!("{} {}", count(decision), decision.name()))
        .collect();
    let claims = units::counted(findings.len() as u64, "claim");
    format!("Of {claims} here: {}.", counts.join(", "))
}

fn factor(name: &str) -> Factor {
    Factor::parse(name).unwrap_or(Factor::Mechanism)
}

fn is_at(case: &CaseResult, factor: Factor, wanted: &str) -> bool {
    level(case, factor) == wanted
}

fn find<'a>(chosen: &Chosen, results: &'a [CaseResult]) -> Option<&'a CaseResult> {
    results.iter().find(|case| !case.twin && takes(chosen, case))
}
