//! A study whose every word has been checked: what will be asked of the machine.

use model::catalogue::Catalogue;
use model::metric::{Better, Measured};
use std::collections::{BTreeMap, BTreeSet};

use super::factor::Chosen;
use super::format::{self, Fixed, Levels, PublishedFigure, Study};
use super::paper::{Form, Has};
use super::reader::Reader;
use super::table::Words;
use super::{Request, figure, losses, open_loop};
use model::case::Case;
use model::company::Company;
use model::duration::{self, in_ns};
use model::factor::{FACTORS, Factor};
use model::launch::{MOST_SAMPLES, Warmup};
use model::placement::Placement;
use model::plugin::{self, Plugin};
use model::request::{MOST_LAUNCHES, Stopping, StudyText};
use model::route::Route;
use model::size;
use model::total::Total;
use model::workload::Workload;

const MOST_LEVELS: usize = 1000;
/// Most mechanisms, each counted at every loss and burst.
const MOST_MECHANISMS: usize = 10_000;

/// A study that can be run.
#[derive(Debug)]
pub struct ValidatedStudy {
    /// As its author wrote it.
    pub study: Study,
    /// What it asks of the machine; its seed is zero until one is drawn.
    pub request: Request,
    /// The levels of each factor, in the author's order.
    pub levels: BTreeMap<Factor, Vec<String>>,
    pub form: Form,
}

/// Reads a study and checks every word of it; `file` names it in errors.
///
/// # Errors
/// One line: file, line, what is wrong, and the nearest right word.
pub fn validate(text: &str, file: &str, catalogue: &Catalogue) -> Result<ValidatedStudy, String> {
    let study = format::read(text, file)?;
    let mut catalogue = catalogue.clone();
    for plugin in wanted(&study).map_err(|why| format!("{file}: plugins: {why}"))? {
        if catalogue.mechanisms.iter().all(|known| !known.is_called(&plugin.name)) {
            catalogue.mechanisms.push(plugin.words());
        }
    }
    Reader { text, file, catalogue: &catalogue }.validated(study)
}

/// The mechanisms that a study wants beside those that are built in, as places for them.
///
/// # Errors
/// What is wrong with a name, or with options.
pub fn wanted(study: &Study) -> Result<Vec<Plugin>, String> {
    let place = |(name, wanted): (&String, &format::WantedPlugin)| {
        let options = plugin::options(&wanted.options)?;
        Ok(Plugin::absent(&plugin::name(name)?, options, &wanted.get))
    };
    study.plugins.iter().map(place).collect()
}

impl Reader<'_> {
    /// Each of these workloads, and which way is better in it.
    fn better<'b>(&self, workloads: &'b [String]) -> Vec<(&'b str, Better)> {
        let found = |name: &'b String| {
            let is = |measured: &&Measured| measured.workload.name() == name;
            Some((name.as_str(), self.catalogue.metrics.iter().find(is)?.bytes.better))
        };
        workloads.iter().filter_map(found).collect()
    }

    fn validated(&self, mut study: Study) -> Result<ValidatedStudy, String> {
        self.write_levels(&mut study)?;
        let mut levels = self.levels(&study.fixed, &study.vary)?;
        let mut request = self.request(&study, &levels)?;
        levels.extend(open_loop::levels(&request));
        self.add_own(&study, &mut request, &mut levels)?;
        (request.observe_only, request.observe_also) = self.observed(&study, &levels)?;
        request.except = self.left_out(&study, &levels)?;
        if let Some(words) = &study.vary.elsewhere {
            let measured = losses::by_name(&request.mechanisms);
            for (word, span) in words.each(self.text) {
                let written = self.catalogue.written(word);
                let written = written.map_err(|error| self.at(span.clone(), error))?;
                let named = losses::named(&measured, &written);
                if named.is_empty() {
                    return Err(
                        self.at(span, format!("elsewhere: `{word}` isn't measured: add it"))
                    );
                }
                request.elsewhere.extend(named);
            }
        }
        for hypothesis in &study.hypothesis {
            self.check_hypothesis(hypothesis, &levels, &study.derived)?;
        }
        self.check_derived(&study)?;
        self.check_floors(&study)?;
        for table in &study.table {
            self.factor(&table.rows)?;
            table.columns.iter().try_for_each(|column| self.factor(column).map(drop))?;
            self.selector(&table.only, &levels)?;
            table.among.iter().try_for_each(|map| self.selector(map, &levels))?;
            table.ranked.iter().try_for_each(|map| self.selector(map, &levels))?;
            table.against.iter().try_for_each(|map| self.selector(map, &levels))?;
            let own_columns = !table.among.is_empty() || !table.against.is_empty();
            if let Some(word) = table.show.first().filter(|_| own_columns) {
                let other = if table.among.is_empty() { "against" } else { "among" };
                let error = format!("show doesn't go with {other}: choose");
                return Err(self.at(word.span(), error));
            }
            table.show.iter().try_for_each(|value| self.shown(value, &study.derived))?;
            table.beside.iter().try_for_each(|value| self.published(value, &study))?;
        }
        for figure in &study.figure {
            self.selector(&figure.only, &levels)?;
            figure::check(figure, &study, self.text, &self.better(&levels[&Factor::Workload]))
                .map_err(|(span, what)| self.at(span, what))?;
        }
        for search in &study.search {
            self.factor(&search.factor)?;
            self.factor(&search.each)?;
            self.selector(&search.only, &levels)?;
            search.beside.iter().try_for_each(|value| self.published(value, &study))?;
        }
        for published in &study.published {
            for figure in &published.figures {
                let failed =
                    |error| format!("{}: published `{}`: {error}", self.file, published.name);
                Chosen::of_words(&figure.levels).map_err(failed)?;
                check_printed(figure).map_err(failed)?;
            }
        }
        let has = Has {
            claims: study.hypothesis.len(),
            figures: study.figure.len(),
            tables: study.table.len(),
            bounds: study.floor.len(),
        };
        let form = Form::of(study.paper.as_ref(), &has)
            .map_err(|(span, message)| self.at(span, message))?;
        Ok(ValidatedStudy { study, request, levels, form })
    }

    fn levels(
        &self,
        fixed: &Fixed,
        vary: &Levels,
    ) -> Result<BTreeMap<Factor, Vec<String>>, String> {
        let mut levels = BTreeMap::new();
        for factor in Factor::ALL {
            let words = match (fixed.of(factor), vary.of(factor)) {
                (Some(fixed), Some(_)) => {
                    let span = fixed.each(self.text).next().map_or(0..0, |(_, span)| span);
                    return Err(self.at(span, format!("{factor} is fixed and varied: choose")));
                }
                // Those that a request's loads have: `open_loop`.
                _ if factor.is_of_load() => Vec::new(),
                // Their names: a command is of no file.
                (None, None) if factor == Factor::Arm => Vec::new(),
                (Some(words), None) | (None, Some(words)) => self.words(factor, words)?,
                (None, None) if factor.follows() => {
                    follow(factor, levels.get(&Factor::Route).into_iter().flatten())
                }
                (None, None) => match factor.row().usual {
                    Some(level) => vec![level.to_string()],
                    None => return Err(format!("{}: no {factor}: fix or vary one", self.file)),
                },
            };
            levels.insert(factor, words);
        }
        Ok(levels)
    }

    /// Sizes and samples that a workload has of its own; the levels of size are then all of them.
    fn add_own(
        &self,
        study: &Study,
        request: &mut Request,
        levels: &mut BTreeMap<Factor, Vec<String>>,
    ) -> Result<(), String> {
        let (vary, fixed) = (&study.vary, &study.fixed);
        let sections =
            [(Workload::Latency, &vary.latency), (Workload::Throughput, &vary.throughput)];
        for (workload, own) in sections {
            let asked = request.workloads.iter_mut().find(|pair| pair.0 == workload);
            let words = own.size.iter().chain(&own.placement).next();
            let asked = match (asked, words) {
                (_, None) => continue,
                (Some(asked), _) => asked,
                (None, Some(words)) => {
                    let span = words.each(self.text).next().map_or(0..0, |(_, span)| span);
                    return Err(self.at(span, format!("{} isn't measured", workload.name())));
                }
            };
            if let Some(words) = &own.size {
                let sizes = self.words(Factor::Size, words)?;
                asked.1 = sizes.iter().filter_map(|size| size::parse(size).ok()).collect();
            }
            if let Some(words) = &own.placement {
                let places = self.words(Factor::Placement, words)?;
                let all = levels.entry(Factor::Placement).or_default();
                all.extend(
                    places.iter().filter(|place| !all.contains(place)).cloned().collect::<Vec<_>>(),
                );
                let places = places.iter().filter_map(|place| Placement::parse(place).ok());
                request.placements_by_workload.insert(workload, places.collect());
            }
        }
        let sized = request.workloads.iter().filter(|(workload, _)| workload.has_size());
        let sizes: BTreeSet<u64> = sized.flat_map(|(_, sizes)| sizes).copied().collect();
        if sections.iter().any(|(_, own)| own.size.is_some()) {
            levels.insert(Factor::Size, sizes.into_iter().map(size::format).collect());
        }
        for (workload, own) in [
            (Workload::Latency, &fixed.latency),
            (Workload::Throughput, &fixed.throughput),
            (Workload::Connect, &fixed.connect),
        ] {
            let samples = self.count(&own.samples, MOST_SAMPLES)?;
            request.samples_by_workload.extend(samples.map(|sample| (workload, sample)));
        }
        Ok(())
    }

    pub(super) fn words(&self, factor: Factor, words: &Words) -> Result<Vec<String>, String> {
        let mut levels = Vec::new();
        for (word, span) in words.each(self.text) {
            if levels.len() > MOST_LEVELS {
                return Err(self.at(span, format!("{factor}: at most {MOST_LEVELS} levels")));
            }
            let failed = |error| self.at(span.clone(), error);
            match factor {
                Factor::Size => {
                    let sizes = size::parse_list(word, size::message).map_err(failed)?;
                    levels.extend(sizes.into_iter().map(size::format));
                }
                _ if factor.is_of_load() => {
                    levels.extend(open_loop::listed(factor, word).map_err(failed)?);
                }
                Factor::Total if word.contains("..") || word.contains(',') => {
                    let totals = size::parse_list(word, size::parse).map_err(failed)?;
                    levels.extend(totals.into_iter().map(size::format));
                }
                _ => levels.push(self.level(factor, word).map_err(failed)?),
            }
        }
        if levels.is_empty() {
            return Err(format!("{}: {factor} has no level", self.file));
        }
        // Twice the same level is twice the same case, which says nothing of either.
        let mut seen = BTreeSet::new();
        levels.retain(|level| seen.insert(level.clone()));
        Ok(levels)
    }

    fn request(
        &self,
        Study { fixed, vary, .. }: &Study,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<Request, String> {
        let of = |factor: Factor| levels[&factor].iter().map(String::as_str);
        let sizes: Vec<u64> = of(Factor::Size).filter_map(|text| size::parse(text).ok()).collect();
        let warmup = match &fixed.warmup {
            None => Warmup::default(),
            Some(word) => {
                let parsed = duration::warmup(word.get_ref());
                match parsed.map_err(|error| self.at(word.span(), error))? {
                    duration::Warmup::Operations(operations) => Warmup { operations, ns: u64::MAX },
                    duration::Warmup::Time(ns) => Warmup { operations: u64::MAX, ns },
                }
            }
        };
        let totals: Vec<Total> =
            of(Factor::Total).filter_map(|text| Total::parse(text).ok()).collect();
        let (total_bytes, totals) = match totals.as_slice() {
            [Total::Long] => (None, Vec::new()),
            [Total::Bytes(bytes)] => (Some(*bytes), Vec::new()),
            _ => (None, totals),
        };
        let workloads: Vec<Workload> =
            of(Factor::Workload).filter_map(|word| Workload::parse(word).ok()).collect();
        let (loads, arrivals) = self.loads((fixed, vary), &workloads)?;
        let budget_ns = match &fixed.budget {
            None => None,
            Some(word) => {
                let parsed = duration::budget(word.get_ref());
                Some(in_ns(parsed.map_err(|error| self.at(word.span(), error))?))
            }
        };
        let plain = FACTORS.iter().filter(|row| row.plain.is_some());
        let combined = [Factor::Mechanism, Factor::Loss, Factor::Burst];
        if combined.iter().map(|factor| levels[factor].len()).product::<usize>() > MOST_MECHANISMS {
            let what = "mechanisms, each at every loss and burst: name fewer";
            return Err(format!("{}: more than {MOST_MECHANISMS} {what}", self.file));
        }
        let request = Request {
            mechanisms: losses::product(
                self.catalogue,
                &levels[&Factor::Mechanism],
                &levels[&Factor::Loss],
                &levels[&Factor::Burst],
            ),
            workloads: workloads.into_iter().map(|workload| (workload, sizes.clone())).collect(),
            placements: of(Factor::Placement)
                .filter_map(|text| Placement::parse(text).ok())
                .collect(),
            observe: of(Factor::Observe).filter_map(|text| text.parse().ok()).collect(),
            beside: of(Factor::Beside).filter_map(|text| Company::level(text).ok()?).collect(),
            routes: of(Factor::Route).filter_map(|text| Route::parse(text).ok()).collect(),
            levels: plain.map(|row| (row.key.to_string(), levels[&row.factor].clone())).collect(),
            verify: false,
            spin_on_one_cpu: fixed.spin_on_one_cpu,
            total_bytes,
            totals,
            loads,
            arrivals,
            warmup,
            samples: self.count(&fixed.samples, MOST_SAMPLES)?,
            observe_only: BTreeMap::new(),
            observe_also: Vec::new(),
            samples_by_workload: BTreeMap::new(),
            placements_by_workload: BTreeMap::new(),
            stopping: Stopping {
                launches: self.count(&fixed.launches, MOST_LAUNCHES)?,
                budget_ns,
                budget_is_hard: budget_ns.is_some(),
                ..Stopping::default()
            },
            study: Some(StudyText { name: self.file.into(), text: self.text.into() }),
            ..Request::default()
        };
        Ok(request.each_level_once())
    }

    /// Brings the levels that choose cases into the way in which those of cases are written.
    fn write_levels(&self, study: &mut Study) -> Result<(), String> {
        let claims = study.hypothesis.iter_mut().flat_map(|hypothesis| {
            let one = [&mut hypothesis.left].into_iter().chain(&mut hypothesis.right);
            one.chain(&mut hypothesis.or).chain(&mut hypothesis.order)
        });
        let tables = study.table.iter_mut().flat_map(|spec| {
            let one = [&mut spec.only].into_iter().chain(&mut spec.among);
            one.chain(&mut spec.ranked).chain(&mut spec.against)
        });
        let figures = study.figure.iter_mut().map(|spec| &mut spec.only);
        let searches = study.search.iter_mut().map(|search| &mut search.only);
        for selector in claims.chain(tables).chain(figures).chain(searches) {
            for (name, word) in selector {
                self.write(name, word)?;
            }
        }
        for figure in &mut study.figure {
            if let Some((series, word)) = figure.series.as_ref().zip(figure.against.as_mut()) {
                self.write(series.get_ref(), word)?;
            }
        }
        for published in &mut study.published {
            for figure in &mut published.figures {
                for (name, word) in &mut figure.levels {
                    // What isn't a factor or a level is reported with the table that it belongs to.
                    let level = Factor::parse(name).and_then(|factor| self.level(factor, word));
                    *word = level.unwrap_or_else(|_| word.clone());
                }
            }
        }
        Ok(())
    }

    fn write(&self, name: &str, word: &mut toml::Spanned<String>) -> Result<(), String> {
        let level = Factor::parse(name).and_then(|factor| self.level(factor, word.get_ref()));
        *word.as_mut() = level.map_err(|error| self.at(word.span(), error))?;
        Ok(())
    }
}

/// The levels of a factor that follow from those of route, ascending.
fn follow<'a>(factor: Factor, routes: impl Iterator<Item = &'a String>) -> Vec<String> {
    let level = |word: &String| {
        let route = Route::parse(word).ok()?;
        factor.of(&Case { route, ..Case::usual(String::new(), Workload::Latency) })?.parse().ok()
    };
    routes.filter_map(level).collect::<BTreeSet<usize>>().iter().map(usize::to_string).collect()
}

/// A figure as it was printed must be the figure: separators of thousands apart.
fn check_printed(figure: &PublishedFigure) -> Result<(), String> {
    let printed = figure.as_printed();
    match printed.replace(',', "").parse::<f64>() {
        Ok(number) if number == figure.value => Ok(()),
        _ => Err(format!("printed = `{printed}` isn't its value, {}", figure.value)),
    }
}

#[cfg(test)]
mod tests;
