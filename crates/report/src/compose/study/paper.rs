//! The study as a paper: abstract, introduction, method, results, discussion, conclusions,
//! references. Composed from the study's words and the results; it says no more than the
//! verdicts do.
//!
//! A paper may have to fit on few pages. Then it holds as many figures and tables as such a paper
//! has room for by count, those declared first, and says what is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::method::headed;
use super::{Written, claims, method};
use crate::compose::labels;
use crate::compose::titles::{self, subtitle};
use crate::{Block, Document, Figure, FigureKind, Section, Target, Text, units};
use analysis::hypothesis::{Decision, Finding};
use analysis::{Judged, Route};
use store::command_line;
use study::paper::{Paper, cited};
use toml::Spanned;

/// Findings that the abstract tells with their effects, where its author names none.
const MOST_IN_BRIEF: usize = 3;

/// A part that a paper can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Floor(usize),
    Table(usize),
    Figure(usize),
    Search(usize),
    Claim(usize),
    Critique(usize),
    /// The rows of claims that could not be tested, which are counted instead.
    Untestable,
}

/// Parts of a kind: of which number they are made, and the room of each.
type PartKind = (fn(usize) -> Part, Vec<usize>);

/// Pages that the words of a paper take, and its references.
const WORDS_PAGES: u64 = 3;
/// The room of a figure or a table as wide as the text; so many boxes stand side by side in it.
const FULL: usize = 3;
/// Figures and tables of that width for which each further page has room.
const SHOWN_A_PAGE: u64 = 2;
/// Claims that take the room of a figure or a table.
const CLAIMS_AS_SHOWN: usize = 8;

impl Written<'_> {
    pub fn whole(&self, judged: &Judged) -> Document {
        self.without(judged, &[])
    }

    /// The paper without what its form has no room for, by `fits`: what was chosen to stay is left out from its end
    /// until the rest does.
    ///
    /// # Errors
    /// Those of `fits`.
    pub fn paper<E>(
        &self,
        judged: &Judged,
        fits: &mut dyn FnMut(&Document) -> Result<bool, E>,
    ) -> Result<Document, E> {
        let mut left = self.left_out();
        left.push(Part::Untestable);
        let mut dispensable = self.dispensable(&left);
        loop {
            let document = self.without(judged, &left);
            if dispensable.is_empty() || fits(&document)? {
                return Ok(document);
            }
            left.extend(dispensable.pop());
        }
    }

    /// The parts that are shown and can be done without, those first that stay longest: figures, tables and claims
    /// in turn.
    fn dispensable(&self, left: &[Part]) -> Vec<Part> {
        let study = &self.declared.study;
        let is_shown = |part: &Part| !left.contains(part);
        let paper = study.paper.as_ref();
        let figures = self.by_choice(paper.and_then(|paper| paper.figures.as_ref()));
        let tables = self.chosen(
            paper.and_then(|paper| paper.tables.as_ref()),
            (0..study.table.len()).collect(),
        );
        let kinds: [Vec<Part>; 5] = [
            figures.into_iter().map(Part::Figure).collect(),
            tables.into_iter().map(Part::Table).collect(),
            (0..self.findings.len()).map(Part::Claim).collect(),
            (0..study.search.len()).map(Part::Search).collect(),
            (0..study.critique.len()).map(Part::Critique).collect(),
        ];
        let mut parts: Vec<(f64, Part)> = Vec::new();
        for kind in kinds {
            let shown: Vec<Part> = kind.into_iter().filter(is_shown).collect();
            let many = shown.len() as f64;
            let is_critique = |part: &Part| matches!(part, Part::Critique(_));
            let ranked = shown.into_iter().enumerate().map(|(at, part)| {
                // What is said of the original goes before anything that was measured.
                let rank = if is_critique(&part) { 1.0 } else { at as f64 / many };
                (rank, part)
            });
            parts.extend(ranked);
        }
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        parts.into_iter().map(|pair| pair.1).collect()
    }

    /// The figures that draw results, by their places among those, in the order of the author's choice.
    fn by_choice(&self, numbers: Option<&Vec<Spanned<i64>>>) -> Vec<usize> {
        let order = self.chosen(numbers, Vec::new());
        let rank = |figure: &Figure| {
            let number = figure.id.trim_start_matches("study-").split('-').next();
            let number = number.and_then(|number| number.parse::<usize>().ok());
            number.and_then(|number| order.iter().position(|at| at + 1 == number))
        };
        let mut places: Vec<(Option<usize>, usize)> =
            self.drawn().enumerate().map(|(at, figure)| (rank(figure), at)).collect();
        places.sort_by_key(|(rank, at)| (rank.unwrap_or(usize::MAX), *at));
        places.into_iter().map(|pair| pair.1).collect()
    }

    /// Places from 0, as the study numbers them from 1; `all` where it says nothing.
    fn chosen(&self, numbers: Option<&Vec<Spanned<i64>>>, all: Vec<usize>) -> Vec<usize> {
        let Some(numbers) = numbers else { return all };
        let place = |number: &Spanned<i64>| usize::try_from(*number.get_ref()).ok()?.checked_sub(1);
        numbers.iter().filter_map(place).collect()
    }

    fn without(&self, judged: &Judged, left: &[Part]) -> Document {
        let mut document = Document::new(self.title());
        document.subtitle = subtitle(judged);
        document.byline = self.author().unwrap_or_default();
        document.summary = self.summary(judged);
        document.references = self.references(judged);
        document.sections = vec![
            self.introduction(),
            self.hypotheses(left),
            self.method(judged),
            self.results_section(judged, left),
            self.discussion(judged, left),
            self.conclusions(judged, left),
        ];
        document.sections.retain(|section| !section.blocks.is_empty());
        document.number();
        document
    }

    fn author(&self) -> Option<String> {
        self.declared.study.paper.as_ref()?.author.clone()
    }

    /// What a form of few pages leaves out, by the room that it has: claims beyond those that stay, the critique but
    /// for its first point, and what is beyond the room of figures, tables, searches and bounds, of
    /// which the first of each stay longest. A diagram of what is measured stays.
    fn left_out(&self) -> Vec<Part> {
        let study = &self.declared.study;
        let Some(pages) = self.declared.form.pages else { return Vec::new() };
        if let Some(paper) = study.paper.as_ref().filter(|paper| paper.figures.is_some()) {
            return self.not_chosen(paper);
        }
        let claims = self.declared.form.claims_kept.min(self.findings.len());
        let room = (SHOWN_A_PAGE * pages.saturating_sub(WORDS_PAGES)) as usize;
        let mut room = FULL * room.saturating_sub(claims / CLAIMS_AS_SHOWN).max(1);
        let width = |figure: &Figure| if figure.kind == FigureKind::Boxes { 1 } else { FULL };
        let kinds: [PartKind; 4] = [
            (Part::Figure, self.drawn().map(width).collect()),
            (Part::Table, vec![FULL; study.table.len()]),
            (Part::Search, vec![FULL; study.search.len()]),
            (Part::Floor, vec![FULL; study.floor.len()]),
        ];
        let mut shown: Vec<(usize, Part, usize)> = Vec::new();
        for (part, rooms) in kinds {
            let mut before = 0;
            for (at, own) in rooms.into_iter().enumerate() {
                shown.push((before / FULL, part(at), own));
                before += own;
            }
        }
        // A stable order: where as much of their kind goes before them, kinds go as they stand above.
        shown.sort_by_key(|entry| entry.0);
        let mut fits = |own: usize| {
            let fits = own <= room;
            room = if fits { room - own } else { 0 };
            fits
        };
        let shown = shown.into_iter().filter(|entry| !fits(entry.2)).map(|entry| entry.1);
        let shown: Vec<Part> = shown.collect();
        let claims = (claims..self.findings.len()).map(Part::Claim);
        let critique = (1..study.critique.len()).map(Part::Critique);
        shown.into_iter().chain(claims).chain(critique).collect()
    }

    /// What an author who says what is shown leaves out.
    fn not_chosen(&self, paper: &Paper) -> Vec<Part> {
        let study = &self.declared.study;
        let figures = self.chosen(paper.figures.as_ref(), Vec::new());
        let ids: Vec<String> = figures.iter().map(|at| format!("study-{}", at + 1)).collect();
        let is_chosen = |figure: &Figure| {
            ids.iter().any(|id| figure.id == *id || figure.id.starts_with(&format!("{id}-")))
        };
        let drawn = self.drawn().enumerate().filter(|(_, figure)| !is_chosen(figure));
        let tables = self.chosen(paper.tables.as_ref(), (0..study.table.len()).collect());
        let bounds = self.chosen(paper.bounds.as_ref(), (0..study.floor.len()).collect());
        let kept = self.declared.form.claims_kept.min(self.findings.len());
        let parts = drawn
            .map(|(at, _)| Part::Figure(at))
            .chain((0..study.table.len()).filter(|at| !tables.contains(at)).map(Part::Table))
            .chain((0..study.search.len()).map(Part::Search))
            .chain((0..study.floor.len()).filter(|at| !bounds.contains(at)).map(Part::Floor))
            .chain((kept..self.findings.len()).map(Part::Claim))
            .chain((1..study.critique.len()).map(Part::Critique));
        parts.collect()
    }

    pub(super) fn drawn(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|figure| figure.kind != FigureKind::Protocol)
    }

    fn decided(&self, decision: Decision) -> Vec<(usize, &Finding)> {
        let numbered = self.findings.iter().enumerate().map(|(at, finding)| (at + 1, finding));
        numbered.filter(|(_, finding)| finding.decision == decision).collect()
    }

    fn numbers_of(&self, decision: Decision) -> Vec<usize> {
        self.decided(decision).iter().map(|pair| pair.0).collect()
    }

    /// The claims that the author's abstract names and this run tested, with their numbers.
    fn of_abstract(&self) -> Vec<(usize, &Finding)> {
        let chosen = self.declared.study.paper.iter().flat_map(|paper| &paper.summary);
        let tested = chosen.filter_map(|value| {
            let number = usize::try_from(*value.get_ref()).ok()?;
            let finding = self.findings.get(number.checked_sub(1)?)?;
            finding.decision.is_tested().then_some((number, finding))
        });
        tested.collect()
    }

    /// The numbers of the claims that stand in words: all, or where pages are few those of the abstract and of the
    /// table.
    fn worded(&self, left: &[Part]) -> BTreeSet<usize> {
        let all = 1..=self.findings.len();
        if self.declared.form.pages.is_none() {
            return all.collect();
        }
        let of_table = all.filter(|number| !left.contains(&Part::Claim(number - 1)));
        of_table.chain(self.of_abstract().into_iter().map(|pair| pair.0)).collect()
    }

    fn summary(&self, judged: &Judged) -> Vec<Text> {
        let host = &judged.run.host;
        let [cases, launches] = titles::counts(judged);
        let mut text = format!(
            "The effect of {} on {} was measured on {} under Linux {}, in {cases} and {launches}, in random \
             order within paired rounds.",
            names(&self.declared.study.variables.cause),
            names(&self.declared.study.variables.effect),
            host.processor.name.as_deref().unwrap_or("one machine"),
            host.kernel.release.as_deref().unwrap_or("of unknown release"),
        );
        if !self.findings.is_empty() {
            text.push(' ');
            text.push_str(&self.counted_verdicts());
        }
        let mut main = self.of_abstract();
        if main.is_empty() {
            let firm = [Decision::Supported, Decision::Refuted];
            let firm = firm.into_iter().flat_map(|decision| self.decided(decision));
            main = firm.take(MOST_IN_BRIEF).collect();
        }
        for (_, finding) in main {
            let claim = finding.statement.trim_end_matches('.');
            let found = finding.brief.trim_end_matches('.');
            text.push_str(&match finding.decision {
                Decision::Supported => format!(" {claim}: this holds ({found})."),
                Decision::Refuted => {
                    format!(" {claim}: the opposite, or no difference, was found ({found}).")
                }
                _ => format!(" {claim}: this stays open ({found})."),
            });
        }
        if let Some(words) = one_machine(judged) {
            text.push_str(&format!(" {words}"));
        }
        vec![Text::from(text)]
    }

    /// `Of 5 claims, 2 are supported, 1 is refuted and 2 can't be tested here.`
    fn counted_verdicts(&self) -> String {
        let counts = [
            (Decision::Supported, ["is supported", "are supported"]),
            (Decision::Refuted, ["is refuted", "are refuted"]),
            (Decision::Inconclusive, ["stays open", "stay open"]),
            (Decision::TooFewRounds, ["had too few rounds", "had too few rounds"]),
            (Decision::TooFewSamples, ["had too few samples", "had too few samples"]),
            (Decision::NoTime, ["had no time", "had no time"]),
            (Decision::NotTestable, ["could not be tested", "could not be tested"]),
        ];
        let counts = counts.into_iter().filter_map(|(decision, [one, many])| {
            match self.decided(decision).len() {
                0 => None,
                1 => Some(format!("1 {one}")),
                n => Some(format!("{n} {many}")),
            }
        });
        let counts: Vec<String> = counts.collect();
        format!("Of {}, {}.", counted(self.findings.len(), "claim"), labels::list(&counts))
    }

    fn introduction(&self) -> Section {
        let study = &self.declared.study;
        let written = study.paper.iter().flat_map(|paper| &paper.introduction);
        let written: Vec<Text> = written.map(|text| self.citing(text)).collect();
        let asked = written.is_empty().then(|| Text::from(study.question.trim()));
        let source = study.source.as_ref().map(|source| {
            let machine = source.machine.as_ref().map(|machine| format!(", measured on {machine}"));
            Text::from(format!("The question is that of {} ", source.author))
                .refer(Target::Work(1))
                .plain(format!(
                    "{}. Figures that are printed there stand here beside those of this run. \
                     They come from other machines, and no test compares the two; what is tested is \
                     what that work claims.",
                    machine.unwrap_or_default()
                ))
        });
        Section::new("introduction", "Introduction")
            .with_all(asked)
            .with_all(written)
            .with_all(source)
            .with(Block::paragraph(
                "First stand the variables and the hypotheses, then how they were measured, then what was \
                 measured, without a verdict; the discussion holds the verdicts, what went otherwise than \
                 planned, and what can't be seen here.",
            ))
    }

    /// Variables, and the claims before anything is said of what became of them.
    fn hypotheses(&self, left: &[Part]) -> Section {
        let text = Text::new().refer(Target::Table(method::VARIABLES.into())).plain(format!(
            " lists what is set, the causes, and what is observed, the effects. {}",
            self.fixed()
        ));
        let section = Section::new("hypotheses", "Variables and hypotheses")
            .with(text)
            .with(self.variable_table());
        let claims: Vec<(usize, &Finding)> = self
            .findings
            .iter()
            .enumerate()
            .filter(|(at, _)| !left.contains(&Part::Claim(*at)))
            .collect();
        if claims.is_empty() {
            return section;
        }
        let all = self.findings.len();
        let rest = match all - claims.len() {
            0 => String::new(),
            1 => " One more is in the study's file.".into(),
            more => format!(" {more} more are in the study's file."),
        };
        let text = Text::new().refer(Target::Table("hypotheses".into())).plain(format!(
            " states the hypotheses, each of which has the test that decides it; both were written down before \
             anything was measured.{rest}"
        ));
        section.with(text).with(claims::hypotheses(&claims))
    }

    /// A text of the study's author, with the numbers of the works that it names.
    pub(super) fn citing(&self, words: &str) -> Text {
        let works = self.declared.study.paper.iter().flat_map(|paper| &paper.work);
        let keys: Vec<&str> = works.map(|work| work.key.as_str()).collect();
        let before = usize::from(self.declared.study.source.is_some());
        cited(words.trim()).into_iter().fold(Text::new(), |mut text, part| match part {
            Ok(words) => {
                text.runs.extend(Text::of_prose(words).runs);
                text
            }
            Err(key) => {
                let at = keys.iter().position(|known| *known == key).unwrap_or_default();
                text.refer(Target::Work(before + at + 1))
            }
        })
    }

    fn discussion(&self, judged: &Judged, left: &[Part]) -> Section {
        let verdicts = (!self.findings.is_empty()).then(|| self.verdicts(judged, left));
        let deviations = match Block::list(self.deviations(judged)) {
            None => vec![headed("Deviations.", "The run went as declared.").into()],
            Some(list) => {
                let head = "The run departs from the plan, or was disturbed:";
                vec![headed("Deviations.", head).into(), list]
            }
        };
        let study = &self.declared.study;
        let kept = study.critique.iter().enumerate();
        let kept = kept.filter(|(at, _)| !left.contains(&Part::Critique(*at)));
        let critique = Block::list(kept.map(|(_, text)| Text::of_prose(text.trim())));
        let about = match &study.source {
            Some(_) => "What the original could not see, and what remains unseen here:",
            None => "What this study can't show:",
        };
        Section::new("discussion", "Discussion")
            .with_all(verdicts.into_iter().flatten())
            .with_all(deviations)
            .with_all(critique.is_some().then(|| headed("Critique.", about)))
            .with_all(critique)
    }

    /// What became of the claims: in words, and as a table.
    fn verdicts(&self, judged: &Judged, left: &[Part]) -> [Block; 2] {
        let counted_only = left.contains(&Part::Untestable);
        let has_row = |finding: &Finding| !counted_only || !is_untested(finding);
        let shown: Vec<(usize, &Finding)> = self
            .findings
            .iter()
            .enumerate()
            .filter(|(at, finding)| !left.contains(&Part::Claim(*at)) && has_row(finding))
            .collect();
        let numbers: Vec<usize> = shown.iter().map(|(at, _)| at + 1).collect();
        let on = if numbers.len() == self.findings.len() {
            "each claim".into()
        } else {
            by_number(&numbers).unwrap_or_else(|| "no claim".into())
        };
        let text = Text::new()
            .strong("Claims. ")
            .refer(Target::Table("claims".into()))
            .plain(format!(" gives the verdict on {on}, the effect with its interval, and p."))
            .plain(self.by_verdict(left));
        let at_length = self.declared.form.pages.is_none();
        let table = claims::table(&shown, at_length, |at| self.there(at));
        let rest = self.findings.iter().filter(|finding| !has_row(finding)).count();
        let uncounted = (rest > 0).then(|| {
                Text::of_prose(&format!(
                    "{} could not be tested in this run and {} no row; `ipcmark report {} --html report.html` \
                     gives the reasons.",
                    counted(rest, "claim"),
                    if rest == 1 { "has" } else { "have" },
                    judged.run.id
                ))
            });
        [text.into(), table.notes(uncounted).into()]
    }

    /// The verdicts by number, and by count on those that no page explains.
    fn by_verdict(&self, left: &[Part]) -> String {
        let worded = self.worded(left);
        let one = |decision: Decision| {
            let which = which(&self.numbers_of(decision), &worded)?;
            let verb = match decision {
                Decision::TooFewRounds | Decision::TooFewSamples => "had",
                _ if which.is_one => "is",
                _ => "are",
            };
            Some(format!("{} {verb} {}", which.words, decision.name()))
        };
        let all: Vec<String> = Decision::ALL.into_iter().filter_map(one).collect();
        format!(" {}.", labels::capital(&all.join("; ")))
    }

    fn conclusions(&self, judged: &Judged, left: &[Part]) -> Section {
        let mut told: Vec<String> = Vec::new();
        let host = &judged.run.host;
        let here = host.processor.name.as_deref().unwrap_or("this machine");
        let firm = [
            (Decision::Supported, "These claims hold here:"),
            (Decision::Refuted, "These don't hold here:"),
        ];
        let firm: Vec<_> = firm.map(|(decision, head)| (self.decided(decision), head)).into();
        if !self.findings.is_empty() && firm.iter().all(|(found, _)| found.is_empty()) {
            told.push("This run decides none of the claims.".into());
        }
        let worded = self.worded(left);
        for (found, head) in firm.into_iter().filter(|(found, _)| !found.is_empty()) {
            let named = found.iter().filter(|(number, _)| worded.contains(number));
            let mut sentences: Vec<String> = named
                .map(|(number, finding)| {
                    format!("{} ({number})", finding.statement.trim_end_matches('.'))
                })
                .collect();
            match found.len() - sentences.len() {
                0 => {}
                rest if sentences.is_empty() => sentences.push(counted(rest, "claim")),
                rest => sentences.push(format!("and {rest} more")),
            }
            told.push(format!("{head} {}.", sentences.join("; ")));
        }
        let open = [
            (Decision::Inconclusive, "the launches of this run decide neither way"),
            (Decision::TooFewRounds, "this run had too few rounds for a test"),
            (Decision::TooFewSamples, "its launches held too few samples for that percentile"),
            (Decision::NoTime, "the run ended before it"),
            (Decision::NotTestable, "not testable on this machine"),
        ];
        for (decision, why) in open {
            if let Some(which) = which(&self.numbers_of(decision), &worded) {
                let remain = if which.is_one { "remains" } else { "remain" };
                told.push(format!("{} {remain} open: {why}.", labels::capital(&which.words)));
            }
        }
        told.push(format!(
            "All of this is said of one machine ({here}) and one run; another kernel or another \
             processor may answer otherwise."
        ));
        Section::new("conclusions", "Conclusions").with_all(told.into_iter().map(Text::from))
    }

    /// The number of this run itself among the references.
    pub(super) fn own_reference(&self) -> usize {
        let works = self.declared.study.paper.as_ref().map_or(0, |paper| paper.work.len());
        1 + works + usize::from(self.declared.study.source.is_some())
    }

    fn references(&self, judged: &Judged) -> Vec<Text> {
        let run = &judged.run;
        let own = Text::from(format!(
            "{}, run {} of {}, seed {}: ",
            run.tool, run.id, run.started, run.request.seed
        ))
        .code(command_line(&run.argv));
        let own = if model::hint::is_nothing_kept() {
            own.plain(". Nothing of it is stored.")
        } else {
            own.plain(". Every sample is stored; written up again by ")
                .code(format!("ipcmark report {}", run.id))
                .plain(".")
        };
        let source = self.source_line().map(Text::from);
        let works = self.declared.study.paper.iter().flat_map(|paper| &paper.work);
        let works = works.map(|work| Text::of_prose(&work.text));
        source.into_iter().chain(works).chain([own]).collect()
    }
}

/// Whether a run without counters, another host or time left has nothing to say of it.
fn is_untested(finding: &Finding) -> bool {
    matches!(finding.decision, Decision::NoTime | Decision::NotTestable)
}

/// That all hosts of a run were one machine, where they were.
fn one_machine(judged: &Judged) -> Option<&'static str> {
    let peer = judged.run.peer.as_ref().is_some_and(|peer| peer.one_kernel);
    let lab =
        judged.results.iter().any(|case| case.launches > 0 && matches!(case.route, Route::Lab(_)));
    (peer || lab).then_some(
        "Both hosts were network stacks of one machine: what is said of another host is said of the protocols, and \
         not of a distance.",
    )
}

/// The variables of one role.
fn names(all: &BTreeMap<String, String>) -> String {
    labels::list(&all.keys().cloned().collect::<Vec<_>>())
}

/// Claims of one verdict as a subject.
struct Which {
    words: String,
    is_one: bool,
}

/// `claim 3`, `claims 1, 2 and 5 to 9`, `claim 3 and 12 more`: by number those of `worded`; None of none.
fn which(found: &[usize], worded: &BTreeSet<usize>) -> Option<Which> {
    let numbers = found.iter().copied().filter(|number| worded.contains(number));
    let numbers: Vec<usize> = numbers.collect();
    let words = match (by_number(&numbers), found.len() - numbers.len()) {
        (None, 0) => return None,
        (None, rest) => counted(rest, "claim"),
        (Some(named), 0) => named,
        (Some(named), rest) => format!("{named} and {rest} more"),
    };
    Some(Which { words, is_one: found.len() == 1 })
}

/// `claim 3`, `claims 1, 2 and 5 to 9`; None of none.
fn by_number(numbers: &[usize]) -> Option<String> {
    let stretch = |run: &[usize]| match run {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(usize::to_string).collect(),
    };
    let ranges: Vec<String> = numbers.chunk_by(|a, b| a + 1 == *b).flat_map(stretch).collect();
    match numbers.len() {
        0 => None,
        1 => Some(format!("claim {}", ranges[0])),
        _ => Some(format!("claims {}", labels::list(&ranges))),
    }
}

/// `1 case`, `12 launches`.
fn counted(number: usize, what: &str) -> String {
    units::counted(number as u64, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_page_explains_is_counted() {
        let worded = BTreeSet::from([1, 2, 9]);
        let words =
            |found: &[usize]| which(found, &worded).map(|which| (which.words, which.is_one));
        assert_eq!(words(&[]), None);
        assert_eq!(words(&[9]), Some(("claim 9".into(), true)));
        assert_eq!(words(&[7]), Some(("1 claim".into(), true)));
        assert_eq!(words(&[1, 2, 5, 6]), Some(("claims 1 and 2 and 2 more".into(), false)));
    }

    #[test]
    fn numbers_that_follow_each_other_are_a_stretch() {
        assert_eq!(by_number(&[]), None);
        assert_eq!(by_number(&[3]).unwrap(), "claim 3");
        assert_eq!(by_number(&[1, 2]).unwrap(), "claims 1 and 2");
        assert_eq!(by_number(&[1, 2, 3, 5, 7, 8, 9]).unwrap(), "claims 1 to 3, 5 and 7 to 9");
    }
}
