//! The figures that a study declares: `[[figure]]`, its keys, and which go with which kind.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::claims;
use super::columns;
use super::counted::{Count, unknown_or_count};
use super::factor::{Chosen, chosen};
use super::format::{Published, Selector, Study};
use super::table::Words;
use model::factor::Factor;
use model::metric::Better;
use model::nearest::unknown;

/// What boxes may be `of`: the samples of all launches of a case.
pub const SAMPLES: &str = "samples";
/// The same of round trips, halved.
pub const HALF_SAMPLES: &str = "half-samples";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FigureSpec {
    pub title: String,
    /// `curves`, `boxes`, `bars`, `heat-map`, `protocol`, `p-values`, `floors`.
    pub kind: Spanned<FigureKind>,
    /// The factor along the horizontal axis.
    pub x: Option<Spanned<String>>,
    /// The factor that distinguishes series.
    pub series: Option<Spanned<String>>,
    /// The level of the series that the others are compared with, of `p-values`.
    pub against: Option<Spanned<String>>,
    /// What is drawn of each case: a count, or a statistic of each launch; the median if nothing is said.
    /// Of `boxes` also `samples`, those of all launches together, and `half-samples`, of round trips.
    pub of: Option<Spanned<String>>,
    /// Of `floors`: which of [`super::format::FLOORS`], all of them times. Of `curves` of times: lines across.
    #[serde(default)]
    pub floors: Vec<Spanned<String>>,
    #[serde(default)]
    pub only: Selector,
    /// What the band of a curve is; without it the interval of the median.
    pub band: Option<Spanned<Band>>,
    /// Leave launch 1 of each case out of this figure, and of nothing else.
    pub leave_out_first: Option<Spanned<bool>>,
    /// Published figures that stand beside bars, by name.
    pub beside: Option<Words>,
    /// A sentence under it.
    #[serde(default)]
    pub caption: String,
}

impl FigureSpec {
    /// Whether launch 1 is left out.
    pub fn leaves_out_first(&self) -> bool {
        self.leave_out_first.as_ref().is_some_and(|value| *value.get_ref())
    }

    /// Whether a curve has the band of the quartiles.
    pub fn shows_quartiles(&self) -> bool {
        self.band.as_ref().is_some_and(|band| *band.get_ref() == Band::Quartiles)
    }

    /// What is drawn of each case, where it isn't the median of each launch.
    pub fn of(&self) -> Option<&str> {
        self.of.as_ref().map(|value| value.get_ref().as_str()).filter(|text| *text != "median")
    }

    /// Whether it draws the samples of all launches together, as they are or halved.
    pub fn draws_samples(&self) -> bool {
        matches!(self.of(), Some(SAMPLES | HALF_SAMPLES))
    }

    /// The factor along the horizontal axis, of a figure that has been checked.
    pub fn x(&self) -> Option<Factor> {
        Factor::parse(self.x.as_ref()?.get_ref()).ok()
    }

    /// The factor that distinguishes series, of a figure that has been checked.
    pub fn series(&self) -> Option<Factor> {
        Factor::parse(self.series.as_ref()?.get_ref()).ok()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// A line with a band for each series.
    Curves,
    /// Minimum, quartiles, median and maximum of the launches of each case.
    Boxes,
    /// A bar with an interval for each case.
    Bars,
    /// A cell for each pair of levels.
    HeatMap,
    /// Who sends what to whom, and what is timed.
    Protocol,
    /// A bar with an interval for each bound of the machine.
    Floors,
    /// Where each series differs from one of them beyond a constant factor: the p of every level,
    /// uncorrected and corrected.
    PValues,
}

/// What the band of a curve is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Band {
    /// The interval that covers the median over launches.
    Interval,
    /// From the first to the third quartile of the launches.
    Quartiles,
}

/// What a printed number measures, once its unit is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Printed {
    /// A time, in ns.
    Time(f64),
    /// Bytes per second.
    Rate(f64),
}

impl Printed {
    /// A printed number in base units; none where its unit is neither a time nor a bandwidth.
    /// Without an `i`, prefixes of bytes are decimal, as sources print them.
    pub fn of(value: f64, unit: &str) -> Option<Printed> {
        let times = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
        let (kib, mib) = (1024.0, 1024.0 * 1024.0);
        let rates = [
            ("B/s", 1.0),
            ("kB/s", 1e3),
            ("MB/s", 1e6),
            ("GB/s", 1e9),
            ("KiB/s", kib),
            ("MiB/s", mib),
            ("GiB/s", kib * mib),
        ];
        let scale =
            |units: &[(&str, f64)]| units.iter().find(|pair| pair.0 == unit).map(|pair| pair.1);
        let time = scale(&times).map(|scale| Printed::Time(value * scale));
        time.or_else(|| scale(&rates).map(|scale| Printed::Rate(value * scale)))
    }

    /// Whether results of which this is better are of the same kind.
    pub fn is_of(self, better: Better) -> bool {
        matches!(self, Printed::Rate(_)) == (better == Better::Higher)
    }
}

/// Where in the text something is wrong, and what.
type Wrong = (Range<usize>, String);

/// Checks the words of a figure and whether its keys go with its kind; `workloads` are the levels
/// of that factor, and which way is better in each.
pub(super) fn check(
    spec: &FigureSpec,
    study: &Study,
    text: &str,
    workloads: &[(&str, Better)],
) -> Result<(), Wrong> {
    let kind = *spec.kind.get_ref();
    let wrong = |span: Range<usize>, what: String| Err((span, what));
    for word in spec.x.iter().chain(&spec.series) {
        Factor::parse(word.get_ref()).map_err(|error| (word.span(), error))?;
    }
    if kind == FigureKind::Floors {
        return check_floors(spec, study, text);
    }
    if let Some(word) = spec.floors.first()
        && (kind != FigureKind::Curves
            || spec.of().is_some_and(|named| Count::parse(named).is_some()))
    {
        let what = "floors goes with kind = \"floors\", and with curves of times";
        return wrong(word.span(), what.into());
    }
    check_bounds(spec)?;
    match (kind, &spec.x, &spec.series) {
        (FigureKind::Protocol, Some(word), _) | (FigureKind::Protocol, None, Some(word)) => {
            let what = "a protocol is drawn from the workload: leave out x and series";
            return wrong(word.span(), what.into());
        }
        (FigureKind::Protocol, None, None) => {}
        (_, None, _) => {
            return wrong(spec.kind.span(), format!("`{}`: it needs x = FACTOR", spec.title));
        }
        (FigureKind::PValues, _, _) if spec.series.is_none() || spec.against.is_none() => {
            let what = "p values need series = FACTOR, and against = LEVEL of it";
            return wrong(spec.kind.span(), format!("`{}`: {what}", spec.title));
        }
        (FigureKind::HeatMap, _, None) => {
            let what = "a heat map needs series = FACTOR, for its rows";
            return wrong(spec.kind.span(), format!("`{}`: {what}", spec.title));
        }
        (_, Some(x), Some(series)) if x.get_ref() == series.get_ref() => {
            return wrong(series.span(), "x and series are the same factor: choose two".into());
        }
        _ => {}
    }
    if let Some(word) = &spec.against {
        if kind != FigureKind::PValues {
            return wrong(word.span(), "against goes with kind = \"p-values\"".into());
        }
        let level = spec.series().map(|series| series.level(word.get_ref()));
        level.transpose().map_err(|error| (word.span(), error))?;
    }
    if let Some(band) = spec.band.as_ref().filter(|_| kind != FigureKind::Curves) {
        return wrong(band.span(), "band goes with kind = \"curves\"".into());
    }
    let ranks = kind == FigureKind::Boxes || spec.shows_quartiles();
    if let Some(first) = spec.leave_out_first.as_ref().filter(|_| spec.leaves_out_first() && !ranks)
    {
        let what = "leave-out-first goes with boxes, or with band = \"quartiles\": the interval of a \
             median counts every launch";
        return wrong(first.span(), what.into());
    }
    if let Some(of) = &spec.of {
        check_of(spec, of)?;
    }
    check_beside(spec, study, text, workloads)
}

/// A figure of the machine's bounds has those, published figures, and nothing of cases.
fn check_floors(spec: &FigureSpec, study: &Study, text: &str) -> Result<(), Wrong> {
    let kind = spec.kind.span();
    if spec.floors.is_empty() {
        return Err((kind, format!("`{}`: it needs floors = [BOUND]", spec.title)));
    }
    let own = spec.x.is_some() || spec.series.is_some() || spec.of.is_some();
    if own || !spec.only.is_empty() {
        return Err((kind, "floors are of no case: leave out x, series, of and only".into()));
    }
    check_bounds(spec)?;
    for (name, span) in spec.beside.iter().flat_map(|words| words.each(text)) {
        named(study, name).map_err(|error| (span, error))?;
    }
    Ok(())
}

/// The bounds that it names are bounds, and times.
fn check_bounds(spec: &FigureSpec) -> Result<(), Wrong> {
    for word in &spec.floors {
        columns::floor(word.get_ref()).map_err(|error| (word.span(), error))?;
        if word.get_ref() == "copy" {
            return Err((word.span(), "copy is no time: name it in a [[floor]] table".into()));
        }
    }
    Ok(())
}

fn named<'a>(study: &'a Study, name: &str) -> Result<&'a Published, String> {
    let names =
        || study.published.iter().map(|published| published.name.as_str()).collect::<Vec<_>>();
    let found = study.published.iter().find(|published| published.name == name);
    found.ok_or_else(|| unknown("published", name, &names()))
}

/// Whether a figure of that kind draws that.
fn check_of(spec: &FigureSpec, of: &Spanned<String>) -> Result<(), Wrong> {
    let kind = *spec.kind.get_ref();
    let wrong = |what: String| Err((of.span(), what));
    if !matches!(kind, FigureKind::Curves | FigureKind::Boxes | FigureKind::Bars) {
        return wrong("of goes with curves, boxes and bars".into());
    }
    if spec.beside.is_some() {
        return wrong("of doesn't go with beside, whose figures are medians".into());
    }
    match of.get_ref().as_str() {
        SAMPLES | HALF_SAMPLES if kind == FigureKind::Boxes && !spec.leaves_out_first() => Ok(()),
        word @ (SAMPLES | HALF_SAMPLES) => {
            wrong(format!("of = \"{word}\" goes with boxes, of every launch"))
        }
        word if claims::STATISTICS.contains(&word) || Count::number(word).is_some() => Ok(()),
        word => wrong(unknown_or_count("statistic of a figure", word, &claims::STATISTICS)),
    }
}

/// Published figures must exist, and be of the kind that is shown.
fn check_beside(
    spec: &FigureSpec,
    study: &Study,
    text: &str,
    workloads: &[(&str, Better)],
) -> Result<(), Wrong> {
    let only = chosen(&spec.only);
    let shown = |(name, _): &&(&str, Better)| {
        only.level(Factor::Workload).is_none_or(|level| level == *name)
    };
    for (name, span) in spec.beside.iter().flat_map(|words| words.each(text)) {
        if *spec.kind.get_ref() != FigureKind::Bars {
            return Err((span, "beside goes with kind = \"bars\"".into()));
        }
        let published = named(study, name).map_err(|error| (span.clone(), error))?;
        let fits = |printed: Printed| {
            workloads.iter().filter(shown).any(|(_, better)| printed.is_of(*better))
        };
        if !Printed::of(1.0, &published.unit).is_some_and(fits) {
            let what = format!("published `{name}` is in `{}`", published.unit);
            return Err((span, format!("{what}, which can't be drawn beside these results")));
        }
    }
    Ok(())
}

/// Of a published table the figures that may stand beside a median, with their levels: medians
/// where it has any, else means, else those without a named statistic.
pub fn beside_medians(published: &Published) -> Vec<(Chosen, String, f64)> {
    let statistic = |show: &Option<String>| show.as_ref().unwrap_or(&published.statistic).clone();
    let of = |names: &[&str]| {
        let wanted = published.figures.iter().filter(|figure| {
            let statistic = statistic(&figure.show);
            names.contains(&statistic.as_str()) || (names.is_empty() && figure.show.is_none())
        });
        let read = |figure: &super::format::PublishedFigure| {
            let levels = Chosen::of_words(&figure.levels).ok()?;
            Some((levels, format!("{} {}", figure.as_printed(), published.unit), figure.value))
        };
        wanted.filter_map(read).collect::<Vec<_>>()
    };
    let kinds: [&[&str]; 3] = [&["median", "p50"], &["mean"], &[]];
    kinds.into_iter().map(of).find(|entries| !entries.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validated::validate;

    const STUDY: &str = r#"version = 1
title = "Small"
question = "Is it drawn?"
[variables]
cause = { size = "bytes of a message" }
effect = { latency = "round trip" }
[vary]
mechanism = ["pipe", "tcp"]
size = "1K..4K:x2"
[[figure]]
title = "Round trip by size"
kind = "curves"
x = "size"
series = "mechanism"
band = "quartiles"
leave-out-first = true
[[figure]]
title = "By mechanism"
kind = "bars"
x = "mechanism"
beside = ["elsewhere"]
[[published]]
name = "elsewhere"
machine = "another"
place = "Table 1"
unit = "us"
statistic = "mean"
figures = [{ mechanism = "pipe", value = 7.0, printed = "7.0" }]
"#;

    #[track_caller]
    fn refused(from: &str, to: &str, words: &[&str]) {
        crate::tests::refused(STUDY, (from, to), words);
    }

    #[test]
    fn every_word_of_a_figure_is_checked() {
        validate(STUDY, "s.toml", &crate::tests::catalogue()).unwrap();
        refused("kind = \"curves\"", "kind = \"curve\"", &["s.toml:12", "`curves`"]);
        refused("kind = \"curves\"", "kind = \"boxes\"", &["s.toml:15", "curves"]);
        refused("kind = \"curves\"", "kind = \"protocol\"", &["s.toml:13", "leave out x"]);
        refused("x = \"size\"", "x = \"siz\"", &["s.toml:13", "`size`"]);
        refused("series = \"mechanism\"", "series = \"size\"", &["s.toml:14", "choose two"]);
        refused("series = \"mechanism\"", "serie = \"mechanism\"", &["s.toml:14", "`series`"]);
        refused("band = \"quartiles\"", "band = \"quartile\"", &["s.toml:15", "`quartiles`"]);
        refused("band = \"quartiles\"", "band = \"interval\"", &["s.toml:16", "boxes"]);
        refused("leave-out-first", "leave-first-out", &["s.toml:16", "`leave-out-first`"]);
        refused("kind = \"bars\"", "kind = \"heat-map\"", &["s.toml:19", "series = FACTOR"]);
        refused("kind = \"bars\"\nx = \"mechanism\"", "kind = \"bars\"", &["s.toml:19", "x ="]);
        refused("kind = \"bars\"", "kind = \"p-values\"", &["s.toml:19", "against = LEVEL"]);
        let against = "x = \"mechanism\"\nagainst = \"tcp\"";
        refused("x = \"mechanism\"", against, &["s.toml:21", "p-values"]);
        refused("[\"elsewhere\"]", "\"elsewere\"", &["s.toml:21", "`elsewhere`"]);
        refused("kind = \"bars\"", "kind = \"boxes\"", &["s.toml:21", "bars"]);
        let of = |word: &str| format!("kind = \"curves\"\nof = \"{word}\"");
        validate(
            &STUDY.replace("kind = \"curves\"", &of("context-switches")),
            "s.toml",
            &crate::tests::catalogue(),
        )
        .unwrap();
        refused("kind = \"curves\"", &of("context-switch"), &["s.toml:13", "`context-switches`"]);
        refused("kind = \"curves\"", &of("samples"), &["s.toml:13", "boxes"]);
        let bars = "kind = \"bars\"\nof = \"min\"";
        refused("kind = \"bars\"", bars, &["s.toml:20", "beside"]);
        refused("unit = \"us\"", "unit = \"rank\"", &["s.toml:21", "`rank`"]);
        refused("unit = \"us\"", "unit = \"MB/s\"", &["s.toml:21", "`MB/s`"]);
    }

    #[test]
    fn a_printed_number_is_read_in_its_unit() {
        assert_eq!(Printed::of(7.0, "us"), Some(Printed::Time(7000.0)));
        assert_eq!(Printed::of(108.0, "MB/s"), Some(Printed::Rate(108e6)));
        assert_eq!(Printed::of(3.0, "rank"), None);
        let times = Better::Lower;
        assert!(Printed::Time(1.0).is_of(times) && !Printed::Rate(1.0).is_of(times));
    }

    #[test]
    fn beside_a_median_stand_medians_or_else_means() {
        let study = |text: &str| {
            validate(text, "s.toml", &crate::tests::catalogue()).unwrap().study.published.remove(0)
        };
        let found = beside_medians(&study(STUDY));
        assert_eq!(found[0].1, "7.0 us");
        let both = STUDY.replace("figures = [", "figures = [{ value = 6.0, show = \"p50\" }, ");
        assert_eq!(beside_medians(&study(&both)).len(), 1);
        assert_eq!(beside_medians(&study(&both))[0].2, 6.0);
    }
}
