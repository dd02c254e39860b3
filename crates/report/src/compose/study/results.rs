//! The results of a paper: figures and tables with a sentence each, and what was left out.

use super::paper::Part;
use super::{Written, factor, find};
use crate::compose::labels;
use crate::{Block, Drawn, Figure, FigureKind, Run, Section, Series, Table, Target, Text, units};
use analysis::{CaseResult, Judged, Status};
use model::factor::Factor;
use study::factor::chosen;
use study::format::TableSpec;

/// Left out parts that are named one by one.
const NAMED_AT_MOST: usize = 6;

impl Written<'_> {
    /// Figures first, which show the whole, then tables, then what was searched for.
    pub(super) fn results_section(&self, judged: &Judged, left: &[Part]) -> Section {
        let study = &self.declared.study;
        let results = &self.cases;
        let (figures, _) = parted(self.drawn(), left, Part::Figure);
        let (floors, _) = parted(study.floor.iter(), left, Part::Floor);
        let (tables, _) = parted(study.table.iter(), left, Part::Table);
        let (searches, _) = parted(study.search.iter(), left, Part::Search);
        let nothing = results.iter().all(|case| case.launches == 0);
        let mut section = Section::new("results", "Results")
            .with_all(self.elsewhere_note(judged))
            .with_all(nothing.then(|| Block::warning("Nothing was measured in this run.")));
        // Boxes stand side by side, and curves where pages are few: one sentence says what all of a stretch show.
        let few = self.declared.form.pages.is_some();
        let both = |a: &&Figure, b: &&Figure| {
            let beside = a.kind == FigureKind::Boxes || few && a.kind == FigureKind::Curves;
            beside && a.kind == b.kind
        };
        let figures: Vec<&Figure> = figures.into_iter().map(|pair| pair.1).collect();
        for stretch in figures.chunk_by(both) {
            section = section.with(told(introduced(stretch), stretch));
            section = section.with_all(stretch.iter().map(|figure| (*figure).clone()));
        }
        let told_first = |table: &Table, words: &str| {
            Text::new().refer(Target::Table(table.id.clone())).plain(words)
        };
        for (at, spec) in floors {
            let table = Table { id: format!("floor-{}", at + 1), ..self.floor(spec, judged) };
            let words = " holds what the machine itself allows, measured before the first round.";
            section = section.with(told_first(&table, words)).with(table);
        }
        section = section.with_all(self.read_off(&tables, results));
        let mut seen = Vec::new();
        for (at, spec) in tables {
            for (nth, mut table) in self.tables(spec, results).into_iter().enumerate() {
                // A reference to it leads to the first.
                table.id = if nth == 0 { table_id(at) } else { String::new() };
                // What holds for several tables is said under the first.
                table.notes.retain(|note| !seen.contains(note));
                seen.extend(table.notes.iter().cloned());
                table.notes =
                    table.notes.iter().map(|note| Text::of_prose(&note.to_plain())).collect();
                section = section.with(table);
            }
        }
        for (at, search) in searches {
            let table = Table { id: format!("search-{at}"), ..self.search(search, results) };
            let words = format!(
                " gives, for each {}, the {} at which it is best, and those that are not separated \
                 from it.",
                search.each.get_ref(),
                search.factor.get_ref()
            );
            section = section.with(told_first(&table, &words)).with(table);
        }
        section.with_all(self.missing(judged, left))
    }

    /// What was left out, by name where that is little; None where nothing was.
    fn missing(&self, judged: &Judged, left: &[Part]) -> Option<Text> {
        let study = &self.declared.study;
        let title = |what: &str, title: &str| format!("the {what} “{}”", title.trim());
        let (_, figures) = parted(self.drawn(), left, Part::Figure);
        let (_, floors) = parted(study.floor.iter(), left, Part::Floor);
        let (_, tables) = parted(study.table.iter(), left, Part::Table);
        let (_, searches) = parted(study.search.iter(), left, Part::Search);
        let figure = figures.iter().map(|(_, figure)| format!("the figure “{}”", figure.title));
        let floor = floors.iter().map(|(_, spec)| title("table", &spec.title));
        let table = tables.iter().map(|(_, spec)| title("table", &spec.title));
        let search = searches.iter().map(|(_, spec)| title("search", &spec.title));
        let mut missing: Vec<String> = figure.chain(floor).chain(table).chain(search).collect();
        // Many names would take the room of what they stand for.
        if missing.len() > NAMED_AT_MOST {
            let of = [
                (figures.len(), self.drawn().count(), "figures"),
                (floors.len(), study.floor.len(), "tables of bounds"),
                (tables.len(), study.table.len(), "tables"),
                (searches.len(), study.search.len(), "searches"),
            ];
            let some = of.into_iter().filter(|entry| entry.0 > 0);
            missing = some.map(|(left, all, what)| format!("{left} of {all} {what}")).collect();
        }
        let (_, points) = parted(study.critique.iter(), left, Part::Critique);
        let (points, all) = (points.len(), study.critique.len());
        missing.extend((points > 0).then(|| format!("{points} of {all} points of the critique")));
        let (_, claims) = parted(self.findings.iter(), left, Part::Claim);
        let (claims, all) = (claims.len(), units::counted(self.findings.len() as u64, "claim"));
        missing.extend((claims > 0).then(|| format!("the effects of {claims} of {all}")));
        let (what, run) = (labels::list(&missing), judged.run.id);
        (!missing.is_empty()).then(|| {
            Text::of_prose(&format!(
                "Left out, because the form allows no more pages: {what}. `ipcmark report {run} --html report.html` \
                 shows all of it.",
            ))
        })
    }

    /// The tables in words: what they show, and from where to where their medians reach.
    fn read_off(&self, shown: &[(usize, &TableSpec)], results: &[CaseResult]) -> Option<Text> {
        let refer = |text: Text, at: usize| text.refer(Target::Table(table_id(at)));
        let mut text = Text::new();
        for (nth, (at, _)) in shown.iter().enumerate() {
            let before = match nth {
                0 => "",
                _ if nth + 1 == shown.len() => " and ",
                _ => ", ",
            };
            text = refer(text.plain(before), *at);
        }
        let beside = shown.iter().filter(|(_, spec)| !spec.beside.is_empty()).count();
        let verb = if shown.len() == 1 { "holds" } else { "hold" };
        text = text.plain(match beside {
            0 => format!(" {verb} the results."),
            n if n == shown.len() => format!(" {verb} the results beside the published figures."),
            _ => format!(" {verb} the results, some beside published figures."),
        });
        let ranges = shown.iter().filter_map(|(at, spec)| Some((*at, self.range(spec, results)?)));
        for (nth, (at, [least, most])) in ranges.enumerate() {
            let head = if nth == 0 { " The medians reach from " } else { "; from " };
            text = text.plain(head).plain(least.0).plain(" (").code(least.1).plain(") to ");
            text = refer(text.plain(most.0).plain(" (").code(most.1).plain(") in "), at);
        }
        let ends = text.runs.last().is_some_and(|run| matches!(run, Run::Link { .. }));
        (!shown.is_empty()).then(|| if ends { text.plain(".") } else { text })
    }

    /// The smallest and the largest median of a table of one measure, and where they are.
    fn range(&self, spec: &TableSpec, results: &[CaseResult]) -> Option<[(String, String); 2]> {
        let (rows, only) = (factor(spec.rows.get_ref()), chosen(&spec.only));
        let mut medians: Vec<(f64, &CaseResult, &String)> = self.declared.levels[&rows]
            .iter()
            .filter(|level| only.level(rows).is_none_or(|text| text == *level))
            .filter_map(|level| {
                let case = find(&only.with(rows, level), results)?;
                let ok = case.status == Status::Ok && !case.carries.is_control();
                Some((case.value.as_ref().filter(|_| ok)?.median, case, level))
            })
            .collect();
        medians.sort_by(|a, b| a.0.total_cmp(&b.0));
        let one_kind =
            medians.windows(2).all(|window| labels::unit(window[0].1) == labels::unit(window[1].1));
        let named =
            |entry: &(f64, &CaseResult, &String)| (labels::brief_value(entry.1), entry.2.clone());
        match medians.as_slice() {
            [least, .., most] if one_kind && shows_medians(spec) => {
                Some([named(least), named(most)])
            }
            _ => None,
        }
    }
}

/// Parts of a kind with their places.
type Placed<T> = Vec<(usize, T)>;

/// Of all parts of a kind those that stay, and those that are `left` out.
fn parted<T>(
    all: impl Iterator<Item = T>,
    left: &[Part],
    part: fn(usize) -> Part,
) -> (Placed<T>, Placed<T>) {
    all.enumerate().partition(|(at, _)| !left.contains(&part(*at)))
}

/// Whether a table has one column, of medians.
fn shows_medians(spec: &TableSpec) -> bool {
    let median = |show: &toml::Spanned<String>| show.get_ref() == "median";
    spec.columns.is_none()
        && spec.among.is_empty()
        && spec.against.is_empty()
        && (spec.show.is_empty() || spec.show.iter().any(median))
}

/// Figures of one kind in words: what is drawn over what.
fn introduced(figures: &[&Figure]) -> Text {
    let figure = figures[0];
    if let [first, .., last] = figures {
        let between = if figures.len() == 2 { " and " } else { " to " };
        let text = Text::new().refer(Target::Figure(first.id.clone())).plain(between);
        let text = text.refer(Target::Figure(last.id.clone()));
        let x = &figure.x.label;
        if figure.kind == FigureKind::Boxes {
            return text.plain(format!(" show smallest, quartiles, median and largest by {x}."));
        }
        let mut what: Vec<String> = figures.iter().map(|figure| figure.y.label.clone()).collect();
        what.dedup();
        return text
            .plain(format!(" draw {} over {x}, a curve for each mechanism.", labels::list(&what)));
    }
    let (x, y) = (&figure.x.label, &figure.y.label);
    let names: Vec<String> = figure.series.iter().map(|series| series.name.clone()).collect();
    let rest = match (figure.kind, names.as_slice()) {
        (FigureKind::Heatmap, _) => format!(" maps {y} by {x}."),
        (FigureKind::Curves, [_, _, ..]) => {
            format!(" draws {y} over {x}, a curve each for {}.", labels::few(&names))
        }
        (FigureKind::Curves, _) => format!(" draws {y} over {x}."),
        _ => format!(" shows {y} by {x}."),
    };
    Text::new().refer(Target::Figure(figure.id.clone())).plain(rest)
}

/// From where to where figures go, in words: of curves each by itself, of boxes their medians.
fn told(mut text: Text, figures: &[&Figure]) -> Text {
    const TOLD: usize = 4;
    for figure in figures {
        // From where to where is a word of what has an order.
        let ordered =
            |factor: Factor| factor == Factor::Size || factor.is_of_load() || factor.follows();
        let is_ordered =
            figure.x.categories.is_empty() || Factor::parse(&figure.x.label).is_ok_and(ordered);
        if !matches!(figure.kind, FigureKind::Boxes | FigureKind::Curves) || !is_ordered {
            continue;
        }
        let several = figures.len() > 1;
        let drawn = figure.series.iter().filter(|series| series.drawn == Drawn::AsKind);
        let known = drawn.filter_map(|series| Some((series.name.as_str(), ends(figure, series)?)));
        let words = known.take(TOLD).map(|(name, [from, to])| {
            let who = match figure.kind {
                FigureKind::Boxes if several => figure.title.clone(),
                _ if several => format!("{} of {name}", figure.y.label),
                _ => name.to_string(),
            };
            format!("{who} goes from {from} to {to}")
        });
        let words: Vec<String> = words.collect();
        if !words.is_empty() {
            text = text.plain(format!(" {}.", labels::capital(&words.join("; "))));
        }
    }
    text
}

/// The first and the last value of a series, each with its place.
fn ends(figure: &Figure, series: &Series) -> Option<[String; 2]> {
    let mut known = series.points.iter().filter_map(|point| Some((point.x, point.y?)));
    let (first, last) = (known.next()?, known.next_back()?);
    let place = |x: f64| match figure.x.categories.get(x as usize) {
        Some(name) => name.clone(),
        None => figure.x.unit.format(x),
    };
    Some([first, last].map(|(x, y)| format!("{} at {}", figure.y.unit.format(y), place(x))))
}

fn table_id(at: usize) -> String {
    format!("study-{}", at + 1)
}
