//! A study whose every word has been checked: what will be asked of the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::factor::{Chosen, Factor, UNOBSERVED, policy, workers, workload};
use super::figure;
use super::format::{self, Fixed, Levels, PublishedFigure, Study, Words, line_at};
use super::paper::Form;
use super::{Request, Stopping, StudyText, Total, losses};
use crate::launch::{Placement, Warmup};
use crate::size;
use crate::workload::{Policy, Workload};

/// A study that can be run.
#[derive(Debug)]
pub struct Declared {
    /// As its author wrote it.
    pub study: Study,
    /// What it asks of the machine; its seed is zero until one is drawn.
    pub request: Request,
    /// The levels of each factor, in the author's order.
    pub levels: BTreeMap<Factor, Vec<String>>,
    /// Its form on paper.
    pub form: Form,
}

/// Reads a study and checks every word of it; `file` names it in errors.
///
/// # Errors
/// One line: file, line, what is wrong, and the nearest right word.
pub fn declare(text: &str, file: &str) -> Result<Declared, String> {
    let study = format::read(text, file)?;
    Reader { text, file }.declared(study)
}

/// Reads a study's words, and names the file and the line of a wrong one.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a str,
}

impl Reader<'_> {
    pub(super) fn at(&self, span: Range<usize>, what: impl fmt::Display) -> String {
        format!("{}:{}: {what}", self.file, line_at(self.text, span.start))
    }

    fn declared(&self, study: Study) -> Result<Declared, String> {
        let mut levels = self.levels(&study.fixed, &study.vary)?;
        let mut request = self.request(&study.fixed, &levels)?;
        self.add_own(&study, &mut request, &mut levels)?;
        (request.observe_only, request.observe_also) = self.observed(&study, &levels)?;
        for hypothesis in &study.hypothesis {
            self.check_hypothesis(hypothesis, &levels)?;
        }
        self.check_derived(&study)?;
        self.check_floors(&study)?;
        for table in &study.table {
            self.factor(&table.rows)?;
            table.columns.iter().try_for_each(|it| self.factor(it).map(drop))?;
            self.selector(&table.only)?;
            table.show.iter().try_for_each(|it| self.shown(it, &study.derived))?;
            table.beside.iter().try_for_each(|it| self.published(it, &study))?;
        }
        for figure in &study.figure {
            figure::check(figure, &study, self.text, &levels[&Factor::Workload])
                .map_err(|(span, what)| self.at(span, what))?;
        }
        for search in &study.search {
            self.factor(&search.factor)?;
            self.factor(&search.each)?;
            self.selector(&search.only)?;
        }
        for published in &study.published {
            for figure in &published.figures {
                let failed =
                    |error| format!("{}: published `{}`: {error}", self.file, published.name);
                Chosen::of_words(&figure.levels).map_err(failed)?;
                check_printed(figure).map_err(failed)?;
            }
        }
        let form = Form::of(study.paper.as_ref()).map_err(|(span, told)| self.at(span, told))?;
        Ok(Declared { study, request, levels, form })
    }

    fn levels(
        &self,
        fixed: &Fixed,
        vary: &Levels,
    ) -> Result<BTreeMap<Factor, Vec<String>>, String> {
        let of = |factor| match factor {
            Factor::Mechanism => (&fixed.mechanism, &vary.mechanism),
            Factor::Workload => (&fixed.workload, &vary.workload),
            Factor::Size => (&fixed.size, &vary.size),
            Factor::Total => (&fixed.total, &vary.total),
            Factor::Placement => (&fixed.placement, &vary.placement),
            Factor::Workers => (&fixed.workers, &vary.workers),
            Factor::Observe => (&None, &vary.observe),
            Factor::Loss => (&fixed.loss, &vary.loss),
            Factor::Burst => (&fixed.burst, &vary.burst),
        };
        let mut levels = BTreeMap::new();
        for factor in Factor::ALL {
            let words = match of(factor) {
                (Some(fixed), Some(_)) => {
                    let span = fixed.each(self.text).next().map_or(0..0, |(_, span)| span);
                    return Err(self.at(span, format!("{factor} is fixed and varied: choose")));
                }
                (Some(words), None) | (None, Some(words)) => self.words(factor, words)?,
                (None, None) => match factor {
                    Factor::Mechanism => {
                        return Err(format!("{}: no mechanism: fix or vary one", self.file));
                    }
                    Factor::Workload => vec!["latency".into()],
                    Factor::Size => vec!["64".into()],
                    Factor::Total => vec!["long".into()],
                    Factor::Placement => vec!["same-cpu".into()],
                    Factor::Workers => vec!["process".into()],
                    Factor::Observe => vec![UNOBSERVED.into()],
                    Factor::Loss => vec![losses::NONE.into()],
                    Factor::Burst => vec!["1".into()],
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
        for (workload, own) in
            [(Workload::Latency, &vary.latency), (Workload::Throughput, &vary.throughput)]
        {
            let asked = request.workloads.iter_mut().find(|it| it.0 == workload);
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
                asked.1 = sizes.iter().filter_map(|it| size::parse(it).ok()).collect();
            }
            if let Some(words) = &own.placement {
                let places = self.words(Factor::Placement, words)?;
                let all = levels.entry(Factor::Placement).or_default();
                all.extend(
                    places.iter().filter(|it| !all.contains(it)).cloned().collect::<Vec<_>>(),
                );
                let places = places.iter().filter_map(|it| Placement::parse(it).ok());
                request.placements_by_workload.insert(workload, places.collect());
            }
        }
        let sized = request.workloads.iter().filter(|(workload, _)| workload.has_size());
        let sizes: BTreeSet<u64> = sized.flat_map(|(_, sizes)| sizes).copied().collect();
        if vary.latency.size.is_some() || vary.throughput.size.is_some() {
            levels.insert(Factor::Size, sizes.into_iter().map(size::format).collect());
        }
        for (workload, own) in [
            (Workload::Latency, &fixed.latency),
            (Workload::Throughput, &fixed.throughput),
            (Workload::Connect, &fixed.connect),
        ] {
            let samples = self.count(&own.samples)?;
            request.samples_by_workload.extend(samples.map(|it| (workload, it)));
        }
        Ok(())
    }

    pub(super) fn words(&self, factor: Factor, words: &Words) -> Result<Vec<String>, String> {
        let mut levels = Vec::new();
        for (word, span) in words.each(self.text) {
            let failed = |error| self.at(span.clone(), error);
            match factor {
                Factor::Size => {
                    let sizes = size::parse_list(word).map_err(failed)?;
                    levels.extend(sizes.into_iter().map(size::format));
                }
                Factor::Total if word.contains("..") || word.contains(',') => {
                    let totals = size::parse_list(word).map_err(failed)?;
                    levels.extend(totals.into_iter().map(size::format));
                }
                _ => levels.push(factor.level(word).map_err(failed)?),
            }
        }
        if levels.is_empty() {
            return Err(format!("{}: {factor} has no level", self.file));
        }
        Ok(levels)
    }

    fn request(
        &self,
        fixed: &Fixed,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<Request, String> {
        let of = |factor: Factor| levels[&factor].iter().map(String::as_str);
        let sizes: Vec<u64> = of(Factor::Size).filter_map(|it| size::parse(it).ok()).collect();
        let warmup = match &fixed.warmup {
            None => Warmup::default(),
            Some(word) => warmup(word.get_ref()).map_err(|error| self.at(word.span(), error))?,
        };
        let totals: Vec<Total> = of(Factor::Total).filter_map(|it| Total::parse(it).ok()).collect();
        let (total_bytes, totals) = match totals.as_slice() {
            [Total::Long] => (None, Vec::new()),
            [Total::Bytes(bytes)] => (Some(*bytes), Vec::new()),
            _ => (None, totals),
        };
        let budget_ns = match &fixed.budget {
            None => None,
            Some(word) => {
                let time = humantime::parse_duration(word.get_ref())
                    .ok()
                    .filter(|time| *time > Duration::ZERO)
                    .ok_or_else(|| self.at(word.span(), "not a time: write 30s, 5m"))?;
                Some(time.as_nanos() as u64)
            }
        };
        Ok(Request {
            mechanisms: losses::product(
                &levels[&Factor::Mechanism],
                &levels[&Factor::Loss],
                &levels[&Factor::Burst],
            ),
            workloads: of(Factor::Workload)
                .filter_map(|word| Some((workload(word).ok()?, sizes.clone())))
                .collect(),
            placements: of(Factor::Placement).filter_map(|it| Placement::parse(it).ok()).collect(),
            observe: of(Factor::Observe).filter_map(|it| it.parse().ok()).collect(),
            workers: of(Factor::Workers).filter_map(|it| workers(it).ok()).collect(),
            payload: match &fixed.payload {
                None => Policy::Untouched,
                Some(word) => {
                    policy(word.get_ref()).map_err(|error| self.at(word.span(), error))?
                }
            },
            verify: false,
            spin_on_one_cpu: fixed.spin_on_one_cpu,
            total_bytes,
            totals,
            warmup,
            samples: self.count(&fixed.samples)?,
            observe_only: BTreeMap::new(),
            observe_also: Vec::new(),
            samples_by_workload: BTreeMap::new(),
            placements_by_workload: BTreeMap::new(),
            stopping: Stopping {
                launches: self.count(&fixed.launches)?,
                precision: None,
                budget_ns,
                budget_is_hard: budget_ns.is_some(),
            },
            study: Some(StudyText { name: self.file.into(), text: self.text.into() }),
            ..Request::default()
        })
    }

    fn count(&self, count: &Option<toml::Spanned<i64>>) -> Result<Option<u64>, String> {
        let Some(count) = count else { return Ok(None) };
        match u64::try_from(*count.get_ref()) {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(self.at(count.span(), "write a whole number from 1 on")),
        }
    }

    pub(super) fn factor(&self, word: &toml::Spanned<String>) -> Result<Factor, String> {
        Factor::parse(word.get_ref()).map_err(|error| self.at(word.span(), error))
    }

    pub(super) fn selector(&self, selector: &format::Selector) -> Result<(), String> {
        for (name, word) in selector {
            let failed = |error| self.at(word.span(), error);
            Factor::parse(name).and_then(|it| it.level(word.get_ref())).map_err(failed)?;
        }
        Ok(())
    }
}

/// A figure as it was printed must be the figure: separators of thousands apart.
fn check_printed(figure: &PublishedFigure) -> Result<(), String> {
    let printed = figure.as_printed();
    match printed.replace(',', "").parse::<f64>() {
        Ok(number) if number == figure.value => Ok(()),
        _ => Err(format!("printed = `{printed}` isn't its value, {}", figure.value)),
    }
}

fn warmup(word: &str) -> Result<Warmup, String> {
    if let Ok(operations) = word.parse() {
        return Ok(Warmup { operations, ns: u64::MAX });
    }
    let time = humantime::parse_duration(word)
        .map_err(|_| format!("`{word}`: write a number of operations, or a time as in 100ms"))?;
    Ok(Warmup { operations: u64::MAX, ns: time.as_nanos() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::factor::chosen;

    const STUDY: &str = r#"
version = 1
title = "Small"
question = "Does it hold?"
[variables]
cause = { size = "bytes of a message" }
effect = { latency = "round trip" }
[fixed]
launches = 12
warmup = "5"
[vary]
mechanism = ["pipe", "tcp:nodelay=off"]
size = "1K..4K:x2"
[[hypothesis]]
statement = "pipes are faster"
test = "faster"
left = { mechanism = "pipe" }
right = { mechanism = "tcp:nodelay=off" }
[[hypothesis]]
statement = "the peak is where the cache is"
test = "peak"
along = "size"
left = { mechanism = "pipe" }
within = ["2K", "llc/4"]
[[hypothesis]]
statement = "a pipe takes half the time"
test = "ratio"
left = { mechanism = "pipe" }
right = { mechanism = "tcp:nodelay=off" }
within = ["0.4", "0.6"]
margin = "5%"
[[published]]
name = "elsewhere"
machine = "another"
place = "Table 1"
unit = "us"
statistic = "mean"
figures = [{ mechanism = "pipe", value = 7.0, printed = "7.0" }, { value = 1200, printed = "1,200" }]
"#;

    #[test]
    fn a_study_becomes_a_request() {
        let declared = declare(STUDY, "s.toml").unwrap();
        assert_eq!(declared.levels[&Factor::Size], ["1K", "2K", "4K"]);
        assert_eq!(declared.request.mechanisms, ["pipe", "tcp:nodelay=off"]);
        assert_eq!(declared.request.workloads, [(Workload::Latency, vec![1024, 2048, 4096])]);
        assert_eq!(declared.request.stopping.launches, Some(12));
        assert_eq!(declared.request.warmup.operations, 5);
        let left = chosen(&declared.study.hypothesis[0].left);
        assert_eq!(left.level(Factor::Mechanism), Some("pipe"));
        let figures = &declared.study.published[0].figures;
        assert_eq!(figures.iter().map(|it| it.as_printed()).collect::<Vec<_>>(), ["7.0", "1,200"]);
    }

    /// The same with transfers beside, of three totals.
    fn with_transfers(own: &str) -> String {
        let more = "workload = [\"latency\", \"throughput\"]\n\
                    total = [\"message\", \"1M..4M:x4\", \"long\"]\n";
        STUDY.replace("[vary]\n", &format!("[vary]\n{more}")).replace("[[published]]", own)
    }

    #[test]
    fn transfers_have_totals_and_workloads_sizes_and_samples_of_their_own() {
        let plain = declare(&with_transfers("[[published]]"), "s.toml").unwrap();
        assert_eq!(plain.levels[&Factor::Total], ["message", "1M", "4M", "long"]);
        let bytes = |it: u64| Total::Bytes(it << 20);
        assert_eq!(plain.request.totals(), [Total::Message, bytes(1), bytes(4), Total::Long]);

        let own = "[vary.latency]\nsize = \"1\"\nplacement = \"free\"\n[fixed.latency]\nsamples = 1000\n[[published]]";
        let own = declare(&with_transfers(own), "s.toml").unwrap();
        assert_eq!(own.levels[&Factor::Size], ["1", "1K", "2K", "4K"]);
        let sizes = [(Workload::Latency, vec![1]), (Workload::Throughput, vec![1024, 2048, 4096])];
        assert_eq!(own.request.workloads, sizes);
        assert_eq!(own.levels[&Factor::Placement], ["same-cpu", "free"]);
        let free = BTreeMap::from([(Workload::Latency, vec![Placement::Free])]);
        assert_eq!(own.request.placements_by_workload, free);
        assert_eq!(own.request.samples_of(Workload::Latency), Some(1000));
        assert_eq!(own.request.samples_of(Workload::Throughput), None);

        let one = STUDY.replace("warmup = \"5\"", "warmup = \"5\"\ntotal = \"16M\"");
        let one = declare(&one, "s.toml").unwrap().request;
        assert_eq!((one.total_bytes, one.totals.len()), (Some(16 << 20), 0));
    }

    #[track_caller]
    fn refused(from: &str, to: &str, words: &[&str]) {
        assert!(STUDY.contains(from), "{from}");
        let error = declare(&STUDY.replace(from, to), "s.toml").unwrap_err();
        assert_eq!(error.lines().count(), 1, "{error}");
        for word in words {
            assert!(error.contains(word), "`{word}` isn't in: {error}");
        }
    }

    #[test]
    fn every_word_is_checked() {
        refused("\"pipe\", \"tcp", "\"pip\", \"tcp", &["s.toml:12", "`pipe`"]);
        refused("1K..4K:x2", "4K..1K", &["s.toml:13", "backwards"]);
        refused(
            "left = { mechanism = \"pipe\" }",
            "left = { mechanism = \"pippe\" }",
            &["s.toml:17", "`pipe`"],
        );
        refused("launches = 12", "launches = 0", &["s.toml:9"]);
        refused("warmup = \"5\"", "warmup = \"soon\"", &["s.toml:10", "100ms"]);
        refused("right = { mechanism = \"tcp:nodelay=off\" }", "", &["right"]);
        refused("llc/4", "llc/x", &["s.toml:24", "llc/8"]);
        refused("llc/4", "1K", &["s.toml:24", "backwards"]);
        refused("\"0.4\"", "\"half\"", &["s.toml:30", "`half`"]);
        refused("\"0.6\"", "\"0.3\"", &["s.toml:30", "backwards"]);
        refused("\"5%\"", "\"5\"", &["s.toml:31", "2%"]);
        refused("printed = \"7.0\"", "printed = \"70\"", &["elsewhere", "`70`", "value, 7"]);
        refused("launches = 12", "launches = 12\ntotal = \"mesage\"", &["s.toml:10", "message"]);
        refused("[vary]", "[vary.throughput]\nsize = \"1\"\n[vary]", &["throughput isn't"]);
        refused("margin = \"5%\"", "margin = \"5%\"\nof = \"p98\"", &["s.toml:32", "p99"]);
        refused("test = \"faster\"", "test = \"near-either\"", &["or = {"]);
        let derived = |name: &str, expression: &str| {
            format!(
                "[[derived]]\nname = \"{name}\"\nunit = \"s\"\nexpression = \"{expression}\"\n\
                 [[published]]"
            )
        };
        refused("[[published]]", &derived("x", "medain / 2"), &["s.toml:35", "`median`"]);
        refused("[[published]]", &derived("mean", "1"), &["s.toml:33", "nothing else has"]);
        let floor = "[[floor]]\ntitle = \"t\"\nof = [\"getpdi\"]\n[[published]]";
        refused("[[published]]", floor, &["s.toml:34", "`getpid`"]);
        let beside = "[[floor]]\ntitle = \"t\"\nof = [\"read\"]\nbeside = \"x\"\n[[published]]";
        refused("[[published]]", beside, &["s.toml:35", "elsewhere"]);
        refused("value = 1200", "floor = \"copi\", value = 1200", &["elsewhere", "`copy`"]);
        refused("launches = 12", "launches = 12\nmechanism = \"pipe\"", &["fixed and varied"]);
    }
}
