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

use super::figures::study_figures;
use crate::{Block, Figure, Row, Section, Table, Text, units};
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
            run.host.processor.name.as_deref().unwrap_or("a CPU that doesn't say its name"),
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
        let mut question = Section::new("question", "Question");
        question.blocks.push(Block::paragraph(study.question.trim()));
        if !self.findings.is_empty() {
            question.blocks.push(Block::paragraph(in_brief(self.findings)));
        }
        question.blocks.extend(self.elsewhere_note(judged));
        let mut claims = Section::new("claims", "Claims");
        let there = |at: usize| self.there(at);
        let verdicts = self.findings.iter().enumerate();
        claims.blocks.extend(verdicts.map(|(at, finding)| claims::verdict(finding, there(at))));
        let mut sections = vec![question];
        if !self.findings.is_empty() {
            sections.push(claims);
        }
        sections
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
        let mut tables = Section::new("study-tables", "Tables");
        for spec in &study.floor {
            tables.blocks.push(self.floor(spec, judged).into());
        }
        for spec in &study.table {
            tables.blocks.extend(self.tables(spec, &self.cases).into_iter().map(Block::from));
        }
        for search in &study.search {
            tables.blocks.push(self.search(search, &judged.results).into());
        }
        let figures = self.figures.iter().cloned();
        let figures = figures.fold(Section::new("study-figures", "Figures"), Section::with);
        let unseen = match &study.source {
            Some(_) => "What the original could not see",
            None => "What this study can't show",
        };
        let mut discussion = Section::new("discussion", unseen);
        let points = study.critique.iter().map(|text| Text::from(text.trim())).collect::<Vec<_>>();
        if !points.is_empty() {
            discussion.blocks.push(Block::List(points));
        }
        let mut variables = Section::new("variables", "Variables");
        variables.blocks.push(self.variables().into());
        let mut source = Section::new("source", "Source");
        source.blocks.extend(self.source());
        [tables, figures, discussion, variables, source]
            .into_iter()
            .filter(|section| !section.blocks.is_empty())
            .collect()
    }

    fn variables(&self) -> Table {
        let variables = &self.declared.study.variables;
        let mut table = Table::new("What was set and what was observed").words([
            ("variable", 0),
            ("role", 0),
            ("what it is", 0),
        ]);
        for (role, list) in [("cause", &variables.cause), ("effect", &variables.effect)] {
            for (name, what) in list {
                table.rows.push(Row::new([name.as_str(), role, what.as_str()]));
            }
        }
        table
    }

    fn source(&self) -> Option<Block> {
        self.source_line().map(Block::paragraph)
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
