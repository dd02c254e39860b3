//! A study's own part of the document: what it asked, what became of each claim, its tables with
//! the published figures beside, and what the original could not see.

use super::figures::study_figures;
use super::words;
use crate::judge::hypothesis::{Decision, Finding, Ground, decide, level, takes};
use crate::judge::{CaseResult, Judged, Status};
use crate::report::{
    Block, Column, Emphasis, Row, Section, Table, Text, Unit, Verdict, VerdictKind, units,
};
use crate::study::declared::{Declared, declare};
use crate::study::factor::{Chosen, Factor, chosen};
use crate::study::format::{Published, Search, TableSpec};

/// Columns beside which published figures still fit.
const BESIDE: usize = 3;
/// Where nothing was printed.
const NOTHING: &str = "–";

/// A run's study, judged.
pub struct Written {
    declared: Declared,
    findings: Vec<Finding>,
}

impl Written {
    /// The study that the run was made for, if it was.
    pub fn of(judged: &Judged) -> Option<Written> {
        let text = judged.run.request.study.as_ref()?;
        let declared = declare(&text.text, &text.name).ok()?;
        let copy = judged.run.floors.as_ref().and_then(|floors| floors.copy.get().ok());
        let caches = copy.iter().flat_map(|copy| &copy.levels).filter_map(|it| it.cache_bytes);
        let ground =
            Ground { declared: &declared, results: &judged.results, llc_bytes: caches.max() };
        let findings = decide(&ground);
        Some(Written { declared, findings })
    }

    /// Its title.
    pub fn title(&self) -> &str {
        &self.declared.study.title
    }

    /// What comes first: the question, and what became of the claims.
    pub fn opening(&self) -> Vec<Section> {
        let study = &self.declared.study;
        let mut question = Section::new("question", "Question");
        question.blocks.push(Block::paragraph(study.question.trim()));
        if !self.findings.is_empty() {
            question.blocks.push(Block::paragraph(self.in_brief()));
        }
        let mut claims = Section::new("claims", "Claims");
        claims.blocks.extend(self.findings.iter().map(claim));
        let mut sections = vec![question];
        if !self.findings.is_empty() {
            sections.push(claims);
        }
        sections
    }

    fn in_brief(&self) -> String {
        let count = |decision| self.findings.iter().filter(|it| it.decision == decision).count();
        let decisions =
            [Decision::Supported, Decision::Refuted, Decision::Inconclusive, Decision::NotTestable];
        let told: Vec<String> = decisions
            .into_iter()
            .filter(|it| count(*it) > 0)
            .map(|it| format!("{} {}", count(it), it.name()))
            .collect();
        format!("Of {} claims here: {}.", self.findings.len(), told.join(", "))
    }

    /// Its tables, what it searched for, the variables, the critique and the source.
    pub fn results(&self, judged: &Judged) -> Vec<Section> {
        let study = &self.declared.study;
        let mut tables = Section::new("study-tables", "Tables");
        for spec in &study.table {
            tables.blocks.push(self.table(spec, &judged.results).into());
        }
        for search in &study.search {
            tables.blocks.push(self.search(search, &judged.results).into());
        }
        let figures = study_figures(&self.declared, &judged.results);
        let figures =
            figures.into_iter().fold(Section::new("study-figures", "Figures"), Section::with);
        let mut discussion = Section::new("discussion", "What the original could not see");
        let points = study.critique.iter().map(|it| Text::from(it.trim())).collect::<Vec<_>>();
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
        let mut table = Table {
            caption: "What was set, and what was seen".into(),
            columns: vec![
                Column::text("variable", 0),
                Column::text("role", 0),
                Column::text("what it is", 0),
            ],
            ..Default::default()
        };
        for (role, list) in [("cause", &variables.cause), ("effect", &variables.effect)] {
            for (name, what) in list {
                table.rows.push(Row::new([name.as_str(), role, what.as_str()]));
            }
        }
        table
    }

    fn source(&self) -> Option<Block> {
        let source = self.declared.study.source.as_ref()?;
        let year = source.year.map(|it| format!(", {it}")).unwrap_or_default();
        let machine = source.machine.as_ref().map(|it| format!(" Measured on {it}."));
        let address = source.address.as_ref().map(|it| format!(" {it}"));
        Some(Block::paragraph(format!(
            "{}: {}{year}.{}{}",
            source.author,
            source.title,
            machine.unwrap_or_default(),
            address.unwrap_or_default()
        )))
    }

    fn table(&self, spec: &TableSpec, results: &[CaseResult]) -> Table {
        let only = chosen(&spec.only);
        let rows = factor(spec.rows.get_ref());
        let shown: Vec<&str> = spec.show.iter().map(|it| it.get_ref().as_str()).collect();
        let shown = if shown.is_empty() { vec!["median"] } else { shown };
        let columns = spec.columns.as_ref().map(|it| factor(it.get_ref()));
        let beside = spec.beside.iter().filter_map(|name| {
            self.declared.study.published.iter().find(|it| it.name == *name.get_ref())
        });
        let beside: Vec<&Published> = beside.collect();
        let heads = self.heads(columns, &only, &shown, results);
        let mut table = Table { caption: spec.title.clone(), ..Default::default() };
        table.columns.push(Column::text(rows.name(), 0));
        for head in &heads {
            table.columns.push(Column::number(&head.name, 0));
        }
        // Few columns stand beside each other; many would not fit, and stand below each other.
        let below = heads.len() > BESIDE;
        for published in &beside {
            let told = heads.iter().filter(|head| !below && told_of(published, head));
            table.columns.extend(told.map(|head| published_column(published, head)));
            table.notes.push(Text::from(format!(
                "{}: {} in {}, {}{}; {}.",
                published.name,
                published.statistic,
                published.unit,
                published.machine,
                published.year.map(|it| format!(", {it}")).unwrap_or_default(),
                published.place
            )));
        }
        for row in &self.declared.levels[&rows] {
            if only.level(rows).is_some_and(|it| it != row) {
                continue;
            }
            let here = only.with(rows, row);
            let mut cells = vec![Text::new().code(row)];
            let mut missing = true;
            for head in &heads {
                let case = find(&head.at(&here), results);
                missing &= case.is_none_or(|it| it.status != Status::Ok);
                cells.push(cell(case, &head.show, rows, &head.at(&only), results));
            }
            for published in &beside {
                let told = heads.iter().filter(|head| !below && told_of(published, head));
                cells.extend(told.map(|head| printed(published, head, rows, row)));
            }
            let emphasis = if missing { Emphasis::Muted } else { Emphasis::Normal };
            table.rows.push(Row::new(cells).emphasis(emphasis));
            for published in beside.iter().filter(|_| below) {
                let told = heads.iter().map(|head| printed(published, head, rows, row));
                let told: Vec<Text> = told.collect();
                if told.iter().any(|it| it.to_plain() != NOTHING) {
                    let name = Text::new().muted(format!("  {}", published.name));
                    let cells = std::iter::once(name).chain(told);
                    table.rows.push(Row::new(cells).emphasis(Emphasis::Muted));
                }
            }
        }
        table
    }

    /// The columns of measured values: levels of a factor, statistics, or both.
    fn heads(
        &self,
        columns: Option<Factor>,
        only: &Chosen,
        shown: &[&str],
        results: &[CaseResult],
    ) -> Vec<Head> {
        let Some(factor) = columns else {
            return shown
                .iter()
                .map(|show| Head { name: show.to_string(), level: None, show: show.to_string() })
                .collect();
        };
        let present = |level: &&String| {
            only.level(factor).is_none_or(|it| it == *level)
                && results.iter().any(|case| is_at(case, factor, level))
        };
        let mut heads = Vec::new();
        for level in self.declared.levels[&factor].iter().filter(present) {
            for show in shown {
                let name = if shown.len() == 1 { level.clone() } else { format!("{level} {show}") };
                let at = Some((factor, level.clone()));
                heads.push(Head { name, level: at, show: show.to_string() });
            }
        }
        heads
    }

    fn search(&self, search: &Search, results: &[CaseResult]) -> Table {
        let (along, each) = (factor(search.factor.get_ref()), factor(search.each.get_ref()));
        let only = chosen(&search.only);
        let mut table = Table {
            caption: search.title.clone(),
            columns: vec![
                Column::text(each.name(), 0),
                Column::text(format!("best {along}"), 0),
                Column::number("there", 0),
                Column::text("may also be", 0),
            ],
            ..Default::default()
        };
        for row in &self.declared.levels[&each] {
            let here = only.with(each, row);
            let order = &self.declared.levels[&along];
            let columns: Vec<(&String, &CaseResult)> = order
                .iter()
                .filter_map(|it| Some((it, find(&here.with(along, it), results)?)))
                .filter(|(_, case)| case.status == Status::Ok)
                .collect();
            // Time per byte, so that sizes compare.
            let per_byte = |case: &CaseResult| -> Vec<Option<f64>> {
                let bytes = case.message_bytes.unwrap_or(1) as f64;
                let scale = if case.workload == "throughput" { bytes } else { 1.0 };
                case.by_round.iter().map(|ns| ns.map(|ns| ns / scale)).collect()
            };
            let times: Vec<Vec<Option<f64>>> =
                columns.iter().map(|(_, case)| per_byte(case)).collect();
            let times: Vec<&[Option<f64>]> = times.iter().map(Vec::as_slice).collect();
            let best = crate::stats::best_set(&times, crate::judge::ALPHA);
            let typical = |values: &[Option<f64>]| {
                let mut known: Vec<f64> = values.iter().flatten().copied().collect();
                known.sort_by(f64::total_cmp);
                if known.is_empty() { f64::INFINITY } else { crate::stats::median(&known) }
            };
            let leader =
                (0..columns.len()).min_by(|a, b| typical(times[*a]).total_cmp(&typical(times[*b])));
            let Some(leader) = leader else { continue };
            let others: Vec<String> = (0..columns.len())
                .filter(|nth| best[*nth] && *nth != leader)
                .map(|nth| columns[nth].0.clone())
                .collect();
            table.rows.push(Row::new([
                Text::new().code(row),
                Text::from(columns[leader].0.as_str()),
                Text::from(words::cell_value(columns[leader].1)),
                Text::from(if others.is_empty() { "–".into() } else { others.join(", ") }),
            ]));
        }
        table
    }
}

/// A column of measured values.
struct Head {
    name: String,
    level: Option<(Factor, String)>,
    show: String,
}

impl Head {
    fn at(&self, chosen: &Chosen) -> Chosen {
        match &self.level {
            Some((factor, level)) => chosen.with(*factor, level),
            None => chosen.clone(),
        }
    }
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

fn claim(finding: &Finding) -> Block {
    let kind = match finding.decision {
        Decision::Supported => VerdictKind::Good,
        Decision::Refuted => VerdictKind::Bad,
        Decision::Inconclusive => VerdictKind::Unknown,
        Decision::NotTestable => VerdictKind::Neutral,
    };
    let head = Text::new()
        .strong(format!("{}: ", capitalised(finding.decision.name())))
        .plain(finding.statement.trim_end_matches('.'))
        .plain(".");
    let p = match (finding.p, finding.p_holm) {
        (Some(_), Some(corrected)) => format!(" Corrected p = {corrected:.2e}."),
        _ => String::new(),
    };
    let claimed = finding.claimed.as_ref().map(|it| format!(" Claimed: {it}."));
    let detail = format!(
        "{}.{p}{}",
        capitalised(finding.effect.trim_end_matches('.')),
        claimed.unwrap_or_default()
    );
    Block::Verdict(Verdict::new(kind, head, detail))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// One measured value in a table.
fn cell(
    case: Option<&CaseResult>,
    show: &str,
    rows: Factor,
    column: &Chosen,
    results: &[CaseResult],
) -> Text {
    let Some(case) = case.filter(|it| it.status == Status::Ok) else {
        return Text::new().muted("n/a");
    };
    let unit = words::unit(case);
    let Some(estimate) = case.estimate() else { return Text::new().muted("n/a") };
    let plain = |value: f64| Text::from(unit.format(value));
    match show {
        "median" => Text::from(words::cell_value(case)),
        "mean" => case.mean.map_or(Text::from("–"), plain),
        "min" => plain(estimate.min),
        "q1" => plain(estimate.q1),
        "q3" => plain(estimate.q3),
        "max" => plain(estimate.max),
        "rank" => Text::from(rank(case, rows, column, results)),
        "switches" => Text::from(switches(case)),
        percentile => Text::from(percentile_of(case, percentile, unit)),
    }
}

/// The place of a case in its column, 1 for the quickest.
fn rank(case: &CaseResult, _rows: Factor, column: &Chosen, results: &[CaseResult]) -> String {
    let time = |case: &CaseResult| {
        let mut known: Vec<f64> = case.by_round.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        (!known.is_empty()).then(|| crate::stats::median(&known))
    };
    let Some(own) = time(case) else { return "–".into() };
    let ahead = results
        .iter()
        .filter(|it| !it.twin && it.status == Status::Ok && !it.carries.is_control())
        .filter(|it| takes(column, it) && it.workload == case.workload)
        .filter(|it| time(it).is_some_and(|other| other < own))
        .count();
    (ahead + 1).to_string()
}

/// Voluntary switches of both workers for each operation.
fn switches(case: &CaseResult) -> String {
    let switches = case.noise.as_ref().and_then(|it| it.voluntary_switches);
    let operations =
        case.samples as f64 / case.launches.max(1) as f64 * case.batch.unwrap_or(1) as f64;
    switches.map_or("–".into(), |it| format!("{:.2}", it / operations))
}

/// A percentile over launches; where only the pooled samples have it, of those.
fn percentile_of(case: &CaseResult, name: &str, unit: Unit) -> String {
    let over_launches = case.estimate().and_then(|it| it.percentiles.get(name).copied().flatten());
    if let Some(known) = over_launches {
        return unit.format(known.value);
    }
    let wanted =
        name.strip_prefix('p').and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0) / 100.0;
    let pooled = case.curve.iter().find(|(probability, _)| *probability >= wanted - 1e-9);
    match (pooled, case.samples_missing.get(name)) {
        (Some((_, ns)), None) => units::duration(*ns),
        (_, Some(missing)) => format!("{} more", units::count(*missing)),
        (None, None) => "–".into(),
    }
}

/// Whether a published table has something to stand beside a column: of the same statistic.
fn told_of(published: &Published, head: &Head) -> bool {
    let of_figure = |show: &Option<String>| match show {
        Some(show) => *show == head.show,
        None => published.statistic == head.show,
    };
    published.figures.iter().any(|figure| of_figure(&figure.show))
}

fn published_column(published: &Published, head: &Head) -> Column {
    let of = if head.level.is_some() || head.show != "median" {
        format!("{} {}", published.name, head.name)
    } else {
        published.name.clone()
    };
    Column::number(of, 1)
}

/// A printed figure as its source has it.
fn printed(published: &Published, head: &Head, rows: Factor, row: &str) -> Text {
    let found = published.figures.iter().find(|figure| {
        let Ok(levels) = Chosen::of_words(&figure.levels) else { return false };
        let level_fits =
            |factor: Factor, wanted: &str| levels.level(factor).is_none_or(|it| it == wanted);
        level_fits(rows, row)
            && levels.level(rows).is_some()
            && head.level.as_ref().is_none_or(|(factor, level)| level_fits(*factor, level))
            && figure.show.as_ref().unwrap_or(&published.statistic) == &head.show
    });
    match found {
        Some(figure) => Text::from(format!("{} {}", figure.as_printed(), published.unit)),
        None => Text::new().muted(NOTHING),
    }
}
