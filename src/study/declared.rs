//! A study whose every word has been checked: what will be asked of the machine.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::extent::Extent;
use super::factor::{Chosen, Factor, workers, workload};
use super::figure;
use super::format::{
    self, Fixed, Hypothesis, Levels, PublishedFigure, Study, Test, Words, line_at,
};
use super::{Request, Stopping, StudyText};
use crate::launch::{Placement, Warmup};
use crate::mechanism::unknown;
use crate::size;
use crate::workload::Policy;

/// A study that can be run.
#[derive(Debug)]
pub struct Declared {
    /// As its author wrote it.
    pub study: Study,
    /// What it asks of the machine; its seed is zero until one is drawn.
    pub request: Request,
    /// The levels of each factor, in the author's order.
    pub levels: BTreeMap<Factor, Vec<String>>,
}

/// Reads a study and checks every word of it; `file` names it in errors.
///
/// # Errors
/// One line: file, line, what is wrong, and the nearest right word.
pub fn declare(text: &str, file: &str) -> Result<Declared, String> {
    let study = format::read(text, file)?;
    Reader { text, file }.declared(study)
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>, what: impl fmt::Display) -> String {
        format!("{}:{}: {what}", self.file, line_at(self.text, span.start))
    }

    fn declared(&self, study: Study) -> Result<Declared, String> {
        let levels = self.levels(&study.fixed, &study.vary)?;
        let request = self.request(&study.fixed, &levels)?;
        for hypothesis in &study.hypothesis {
            self.check_hypothesis(hypothesis, &levels)?;
        }
        for table in &study.table {
            self.factor(&table.rows)?;
            table.columns.iter().try_for_each(|it| self.factor(it).map(drop))?;
            self.selector(&table.only)?;
            table.show.iter().try_for_each(|it| self.shown(it))?;
            if let Some(name) = &table.beside
                && !study.published.iter().any(|it| it.name == *name.get_ref())
            {
                let names: Vec<&str> = study.published.iter().map(|it| it.name.as_str()).collect();
                return Err(self.at(name.span(), unknown("published", name.get_ref(), &names)));
            }
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
        Ok(Declared { study, request, levels })
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
            Factor::Placement => (&fixed.placement, &vary.placement),
            Factor::Workers => (&fixed.workers, &vary.workers),
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
                    Factor::Placement => vec!["same-cpu".into()],
                    Factor::Workers => vec!["process".into()],
                },
            };
            levels.insert(factor, words);
        }
        Ok(levels)
    }

    fn words(&self, factor: Factor, words: &Words) -> Result<Vec<String>, String> {
        let mut levels = Vec::new();
        for (word, span) in words.each(self.text) {
            let failed = |error| self.at(span.clone(), error);
            match factor {
                Factor::Size => {
                    let sizes = size::parse_list(word).map_err(failed)?;
                    levels.extend(sizes.into_iter().map(size::format));
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
            None => Warmup { operations: 1000, ns: 5_000_000 },
            Some(word) => warmup(word.get_ref()).map_err(|error| self.at(word.span(), error))?,
        };
        let total_bytes = match &fixed.total {
            None => None,
            Some(word) => {
                let bytes = size::parse(word.get_ref());
                Some(bytes.map_err(|error| self.at(word.span(), error))?)
            }
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
            mechanisms: levels[&Factor::Mechanism].clone(),
            workloads: of(Factor::Workload)
                .filter_map(|word| Some((workload(word).ok()?, sizes.clone())))
                .collect(),
            placements: of(Factor::Placement).filter_map(|it| Placement::parse(it).ok()).collect(),
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
            warmup,
            samples: self.count(&fixed.samples)?,
            stopping: Stopping {
                launches: self.count(&fixed.launches)?,
                precision: None,
                budget_ns,
                budget_is_hard: budget_ns.is_some(),
            },
            study: Some(StudyText { name: self.file.into(), text: self.text.into() }),
            seed: 0,
        })
    }

    fn count(&self, count: &Option<toml::Spanned<i64>>) -> Result<Option<u64>, String> {
        let Some(count) = count else { return Ok(None) };
        match u64::try_from(*count.get_ref()) {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(self.at(count.span(), "write a whole number from 1 on")),
        }
    }

    fn factor(&self, word: &toml::Spanned<String>) -> Result<Factor, String> {
        Factor::parse(word.get_ref()).map_err(|error| self.at(word.span(), error))
    }

    fn selector(&self, selector: &format::Selector) -> Result<(), String> {
        for (name, word) in selector {
            let failed = |error| self.at(word.span(), error);
            Factor::parse(name).and_then(|it| it.level(word.get_ref())).map_err(failed)?;
        }
        Ok(())
    }

    fn shown(&self, word: &toml::Spanned<String>) -> Result<(), String> {
        let name = word.get_ref().as_str();
        let known = ["median", "mean", "min", "q1", "q3", "max", "rank", "switches"];
        let percentile = name.strip_prefix('p').is_some_and(|rest| rest.parse::<f64>().is_ok());
        match known.contains(&name) || percentile {
            true => Ok(()),
            false => Err(self.at(word.span(), unknown("statistic", name, &known))),
        }
    }

    fn check_hypothesis(
        &self,
        claim: &Hypothesis,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<(), String> {
        self.selector(&claim.left)?;
        claim.right.iter().try_for_each(|it| self.selector(it))?;
        claim.order.iter().try_for_each(|it| self.selector(it))?;
        let wanting = |what: &str| {
            Err(format!("{}: hypothesis `{}`: it needs {what}", self.file, claim.statement))
        };
        if let Some(along) = &claim.along {
            let factor = self.factor(along)?;
            if levels[&factor].len() < 2 {
                return Err(self.at(along.span(), format!("{factor} isn't varied")));
            }
        }
        let needs_right = matches!(
            claim.test,
            Test::Faster | Test::Equivalent | Test::Ratio | Test::PeaksEarlier | Test::SameShape
        );
        let needs_along = matches!(
            claim.test,
            Test::Rises
                | Test::Falls
                | Test::RisesThenFalls
                | Test::Peak
                | Test::PeaksEarlier
                | Test::SameShape
        );
        match claim.test {
            _ if needs_right && claim.right.is_none() => wanting("right = { … }"),
            _ if needs_along && claim.along.is_none() => wanting("along = FACTOR"),
            Test::Ranking if claim.order.len() < 2 => wanting("order = [ … ]"),
            Test::Ratio | Test::Peak if claim.within.as_ref().is_none_or(|it| it.len() != 2) => {
                wanting("within = [LOW, HIGH]")
            }
            _ => self.check_ends(claim, levels),
        }
    }

    /// The ends of the claimed interval, and the margin.
    fn check_ends(
        &self,
        claim: &Hypothesis,
        levels: &BTreeMap<Factor, Vec<String>>,
    ) -> Result<(), String> {
        if let Some(margin) = &claim.margin {
            let share = margin.get_ref().strip_suffix('%').and_then(|it| it.parse::<f64>().ok());
            if !share.is_some_and(|it| it > 0.0 && it.is_finite()) {
                return Err(self.at(margin.span(), "not a margin: write a percentage, as in 2%"));
            }
        }
        let along = claim.along.as_ref().map(|it| self.factor(it)).transpose()?;
        let ends = claim.within.iter().flatten().map(|word| {
            let end = match (claim.test, along) {
                (Test::Ratio, _) => ratio(word.get_ref()),
                (_, Some(Factor::Size)) => Extent::parse(word.get_ref()).map(place_of),
                (_, Some(factor)) => position(factor, word.get_ref(), &levels[&factor]),
                (_, None) => Ok(None),
            };
            Ok((word, end.map_err(|error| self.at(word.span(), error))?))
        });
        let ends = ends.collect::<Result<Vec<_>, String>>()?;
        match ends.as_slice() {
            [(_, Some(low)), (word, Some(high))] if low > high => {
                Err(self.at(word.span(), "runs backwards: write the lower end first"))
            }
            _ => Ok(()),
        }
    }
}

fn ratio(word: &str) -> Result<Option<f64>, String> {
    let number = word.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
    number.map(Some).ok_or_else(|| format!("`{word}` is not a ratio: write a number, as in 1.5"))
}

/// Bytes, where they don't depend on the machine.
fn place_of(extent: Extent) -> Option<f64> {
    extent.bytes(None).map(|bytes| bytes as f64)
}

fn position(factor: Factor, word: &str, levels: &[String]) -> Result<Option<f64>, String> {
    let level = factor.level(word)?;
    let at = levels.iter().position(|it| *it == level);
    let known: Vec<&str> = levels.iter().map(String::as_str).collect();
    at.map(|at| Some(at as f64)).ok_or_else(|| unknown(factor.name(), word, &known))
}

/// A figure as it was printed must be the figure: separators of thousands apart.
fn check_printed(figure: &PublishedFigure) -> Result<(), String> {
    let printed = figure.as_printed();
    match printed.replace(',', "").parse::<f64>() {
        Ok(number) if number == figure.value => Ok(()),
        _ => Err(format!("printed = `{printed}` isn't its value, {}", figure.value)),
    }
}

fn policy(word: &str) -> Result<Policy, String> {
    let all = [Policy::Untouched, Policy::Written, Policy::Read];
    let names = all.map(Policy::name);
    all.into_iter()
        .find(|it| it.name() == word)
        .ok_or_else(|| unknown("payload policy", word, &names))
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
    use crate::workload::Workload;

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
        refused("launches = 12", "launches = 12\nmechanism = \"pipe\"", &["fixed and varied"]);
    }
}
