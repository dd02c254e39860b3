//! The figure model: data and meaning of a figure, drawn by each renderer in its own way.
//!
//! Values are in base units (ns, bytes, bytes/s) and never formatted here; a [`Unit`] says
//! how to read them. One convention holds for every kind: `x` is what was varied, `y` is
//! what was measured. A figure that runs sideways swaps them when it is drawn, not here.
//! A value that is not finite is absent: it is written as null and drawn as a gap.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod protocol;

use super::html::escape::slug;
use super::units::Unit;
pub use protocol::{Protocol, Step};

/// Series that a page lights; it shows the others in grey until one is pointed at.
pub const LIT: usize = 6;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// A short name that is unique in the document.
    pub id: String,
    /// What its file is named after, where that isn't the id: see [`Figure::file_stem`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    pub title: String,
    /// What it lets one conclude here, one sentence; empty where that can't be said.
    #[serde(default)]
    pub finding: String,
    /// A sentence that says what the figure shows; read aloud where it can't be seen.
    pub caption: String,
    /// Which way of drawing suits the data.
    pub kind: FigureKind,
    pub x: Axis,
    pub y: Axis,
    /// Categories run down the page and values to the right. Only for kinds whose `x` is a
    /// category; on by default for intervals, bars and boxes.
    #[serde(default)]
    pub horizontal: bool,
    pub series: Vec<Series>,
    /// Bounds on the axis of the measured value, such as a floor of the same run.
    #[serde(default)]
    pub marks: Vec<Mark>,
    /// What is drawn by [`FigureKind::Protocol`], and by no other kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Box<Protocol>>,
    /// Whether a terminal draws it that only names other curves.
    #[serde(skip)]
    pub answers: bool,
}

impl Figure {
    /// A figure without data, drawn the way its kind is usually drawn.
    pub fn new(
        kind: FigureKind,
        id: impl Into<String>,
        title: impl Into<String>,
        caption: impl Into<String>,
        x: Axis,
        y: Axis,
    ) -> Self {
        Self {
            id: id.into(),
            subject: String::new(),
            title: title.into(),
            finding: String::new(),
            caption: caption.into(),
            kind,
            x,
            y,
            horizontal: matches!(
                kind,
                FigureKind::Intervals
                    | FigureKind::Bars
                    | FigureKind::GroupedBars
                    | FigureKind::Boxes
            ),
            series: Vec::new(),
            marks: Vec::new(),
            answers: false,
            protocol: None,
        }
    }

    /// A message sequence diagram.
    pub fn of_protocol(
        id: impl Into<String>,
        title: impl Into<String>,
        caption: impl Into<String>,
        protocol: Protocol,
    ) -> Self {
        let axis = || Axis::new("", Unit::Number, Scale::Linear);
        let figure = Self::new(FigureKind::Protocol, id, title, caption, axis(), axis());
        Self { protocol: Some(Box::new(protocol)), ..figure }
    }

    /// Where series `nth` of `all` stands within its category, as a part of the distance from
    /// one category to the next: 0 is its middle.
    pub fn slot(nth: usize, all: usize) -> f64 {
        const USED: f64 = 0.8;
        let all = all.max(1) as f64;
        USED * ((nth as f64 + 0.5) / all - 0.5)
    }

    /// The same figure with what it lets one conclude.
    pub fn found(mut self, finding: impl Into<String>) -> Self {
        self.finding = finding.into();
        self
    }

    /// The name of its file without the ending, after what it shows: `latency-64-b`.
    pub fn file_stem(&self) -> String {
        const LONGEST: usize = 60;
        let slug = slug(if self.subject.is_empty() { &self.id } else { &self.subject });
        let mut stem = String::new();
        for word in slug.split('-').filter(|part| !part.is_empty()) {
            if !stem.is_empty() && stem.len() + word.len() >= LONGEST {
                break;
            }
            stem.push_str(if stem.is_empty() { "" } else { "-" });
            stem.extend(word.chars().take(LONGEST));
        }
        stem
    }

    /// Whether it holds strips of dots, one below the other.
    pub fn is_strips(&self) -> bool {
        let dots = |series: &Series| series.drawn == Drawn::Signs;
        self.kind == FigureKind::TimeSeries && self.series.iter().all(dots)
    }

    /// How many points the figure has in all.
    pub fn points(&self) -> usize {
        self.series.iter().map(|series| series.points.len()).sum()
    }
}

/// Which way of drawing suits the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// A point with a bar from low to high per category, grouped by series.
    Intervals,
    /// A line per series through its points, with a band from low to high where given.
    Curves,
    /// Percentile curves: `x` is a probability on [`Scale::Tail`], `y` the value there.
    Percentiles,
    /// A coloured field: `x` is the column, each series is a row, `y` is what is coloured. The
    /// label of a point stands in its cell; that of a gap, which is hatched, is the reason.
    Heatmap,
    /// Bars stacked by series over categories.
    Bars,
    /// Bars from zero beside each other, one per series in each category, with a whisker from
    /// low to high. [`Drawn::Signs`] are values from elsewhere; a fraction of their `x` puts
    /// them at a bar, see [`Figure::slot`].
    GroupedBars,
    /// A box per category and series: `y` is the median, low and high are the quartiles, and
    /// `ends` the smallest and the largest value.
    Boxes,
    /// Who sends what to whom: drawn from the figure's `protocol`, without axes.
    Protocol,
    /// Two measured quantities against each other: a sign per point, its label beside it.
    Scatter,
    /// Values over time, one panel per series: `y` is the median of a slice, low and high are its smallest and
    /// its p99; gaps part the launches. Where all are [`Drawn::Signs`], `y` is a launch, and a panel a strip of dots.
    TimeSeries,
}

/// An axis: what it shows, in which unit, on which scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What is shown, without the unit.
    pub label: String,
    pub unit: Unit,
    pub scale: Scale,
    /// The names that `x` = 0, 1, 2 … stand for; only with [`Scale::Category`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

impl Axis {
    pub fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, categories: Vec::new() }
    }

    /// An axis of names; `x` of a point is the index of its name.
    pub fn categories<T: Into<String>>(
        label: impl Into<String>,
        names: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            label: label.into(),
            unit: Unit::Number,
            scale: Scale::Category,
            categories: names.into_iter().map(Into::into).collect(),
        }
    }

    /// A value in words of the axis: the name of a category, or a number with its unit.
    pub fn format(&self, value: f64) -> String {
        if self.scale == Scale::Category {
            let name = self.categories.get(value.max(0.0).round() as usize);
            return name.cloned().unwrap_or_default();
        }
        self.unit.format(value)
    }

    /// A round value in the words of the axis, without digits that say nothing.
    pub fn round(&self, value: f64) -> String {
        self.format(value).replace(".00 ", " ").replace(".0 ", " ")
    }
}

/// How values are placed along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal ratios; values at or below zero can't be shown and are left out.
    Log,
    /// A probability p at -log10(1 - p): 90 %, 99 % and 99.9 % stand equally far apart.
    Tail,
    /// Names in a given order.
    Category,
}

/// The tone of a verdict, and of a series that shows one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Found, and in favour: the best, faster, supported, within the gate.
    Good,
    /// Found, and against: slower, refuted, a regression.
    Bad,
    /// Found, and neither: equivalent within the stated margin.
    Neutral,
    /// Not found out: inconclusive, or not testable here.
    Unknown,
}

impl VerdictKind {
    /// The sign before a verdict.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Bad => "✗",
            Self::Neutral => "=",
            Self::Unknown => "?",
        }
    }
}

/// The data of one thing that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub name: String,
    /// The points, in drawing order.
    pub points: Vec<Point>,
    /// Whether it is drawn otherwise than the others.
    #[serde(default, skip_serializing_if = "Drawn::is_as_kind")]
    pub drawn: Drawn,
    /// What it says by its colour, which is then that of a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tone: Option<VerdictKind>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawn {
    /// As the kind of the figure says.
    #[default]
    AsKind,
    /// A quiet line without signs: a floor, a frontier.
    Line,
    /// Signs without a line or a bar: another quantity on the same axis.
    Signs,
}

impl Drawn {
    fn is_as_kind(&self) -> bool {
        *self == Self::AsKind
    }
}

impl Series {
    /// A series out of its points.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        let points = points.into_iter().collect();
        Self { name: name.into(), points, drawn: Drawn::AsKind, tone: None }
    }

    /// The same series in the colour of a verdict.
    pub fn toned(mut self, tone: VerdictKind) -> Self {
        self.tone = Some(tone);
        self
    }

    /// The same series, drawn otherwise than the others.
    pub fn drawn(mut self, drawn: Drawn) -> Self {
        self.drawn = drawn;
        self
    }
}

/// One measured value, with its interval where it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Where on the varied axis; an index for categories.
    #[serde(serialize_with = "write_finite", deserialize_with = "read_nullable")]
    pub x: f64,
    /// The value; none is a gap.
    #[serde(serialize_with = "write_present")]
    pub y: Option<f64>,
    /// The lower end of the interval.
    #[serde(default, serialize_with = "write_present")]
    pub low: Option<f64>,
    /// The upper end of the interval.
    #[serde(default, serialize_with = "write_present")]
    pub high: Option<f64>,
    /// A remark shown with the value, such as why it is absent.
    #[serde(default)]
    pub label: Option<String>,
    /// The smallest and the largest value, of a box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<[f64; 2]>,
    /// Drawn with a ring: something happens here, and the label says what.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
    /// Drawn with a square around it, for something else that happens here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub framed: bool,
}

impl Point {
    /// A value; one that is not finite becomes a gap.
    pub fn new(x: f64, y: f64) -> Self {
        let (low, high, label, ends) = (None, None, None, None);
        Self { x, y: finite(y), low, high, label, ends, marked: false, framed: false }
    }

    /// A place where there is no value, and why.
    pub fn gap(x: f64, reason: impl Into<String>) -> Self {
        Self { label: Some(reason.into()), ..Self::new(x, f64::NAN) }
    }

    /// The same point with an interval.
    pub fn between(mut self, low: f64, high: f64) -> Self {
        (self.low, self.high) = (finite(low), finite(high));
        self
    }

    /// The same point with an interval, where there is one.
    pub fn with_ends(self, ends: Option<(f64, f64)>) -> Self {
        match ends {
            Some((low, high)) => self.between(low, high),
            None => self,
        }
    }

    /// The same point with the smallest and the largest value.
    pub fn within(mut self, least: f64, most: f64) -> Self {
        self.ends = finite(least).zip(finite(most)).map(|(least, most)| [least, most]);
        self
    }

    /// The same point with a remark.
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The same point with a ring and the reason for it.
    pub fn marked(mut self, why: impl Into<String>) -> Self {
        self.marked = true;
        self.labelled(why)
    }

    /// The same point with a square and the reason for it, beside that of a ring.
    pub fn framed(mut self, why: &str) -> Self {
        self.framed = true;
        let label = self.label.take().map_or(why.into(), |label| format!("{label}; {why}"));
        self.labelled(label)
    }

    /// The value in words with its interval: `4.12 µs [4.10, 4.15]`; a dash for a gap.
    pub fn describe(&self, unit: Unit) -> String {
        match (self.y.and_then(finite), self.low.and_then(finite), self.high.and_then(finite)) {
            (Some(y), Some(low), Some(high)) => unit.interval(y, low, high),
            (Some(y), _, _) => unit.format(y),
            (None, _, _) => "–".to_string(),
        }
    }
}

/// A bound drawn as a line across the figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// What the bound is: `wake-up floor`.
    pub label: String,
    /// Where it is, on the axis of the measured value.
    #[serde(serialize_with = "write_finite", deserialize_with = "read_nullable")]
    pub value: f64,
}

impl Mark {
    pub fn new(label: impl Into<String>, value: f64) -> Self {
        Self { label: label.into(), value }
    }
}

/// The least and the most of some values; of none infinity, and less than anything.
pub fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.fold(none, |(least, most), value| (least.min(value), most.max(value)))
}

/// The value, if it is a number one can draw.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

pub(crate) fn write_finite<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
    finite(*value).serialize(out)
}

pub(crate) fn write_present<S: Serializer>(value: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
    value.and_then(finite).serialize(out)
}

pub(crate) fn read_nullable<'de, D: Deserializer<'de>>(source: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(source)?.unwrap_or(f64::NAN))
}
