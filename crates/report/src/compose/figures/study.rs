//! The figures that a study declares, from its results. What a figure doesn't name and the study
//! varies makes a figure of its own for each level: no point stands for two cases.

use super::protocol;
use crate::compose::labels::{self, level_name};
use crate::{Axis, Drawn, Figure, FigureKind, Point, Scale, Series, Unit, units};
use analysis::floor_rows::Floors;
use analysis::hypothesis::{quantity, takes};
use analysis::{CaseResult, OverRounds, Status};
use model::factor::Factor;
use study::counted::Count;
use study::factor::{Chosen, chosen};
use study::figure::{self, FigureSpec, HALF_SAMPLES, Printed, beside_medians};
use study::format::Published;
use study::validated::ValidatedStudy;

const INTERVAL: &str = "The median over launches, and what covers it with at least 95 %.";
const QUARTILES: &str = "The median of the launches, in the band of their quartiles.";
const BOXES: &str = "Box: from the first to the third quartile of the launches, their median within; \
     whiskers: to the smallest and the largest launch.";
const SAMPLE_BOXES: &str = "Box: quartiles of the samples of all launches together, and their median; \
     whiskers: the smallest and the largest.";
const CELLS: &str = "Each cell holds the median over launches, coloured by it. Hatched: not measured; \
     the table gives the reason.";
const FIRST: &str = " Launch 1 of each case is left out here, and here alone.";

/// Every figure of a study, in its order.
pub fn study_figures(
    declared: &ValidatedStudy,
    results: &[CaseResult],
    floors: Option<&Floors>,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (nth, spec) in declared.study.figure.iter().enumerate() {
        let id = format!("study-{}", nth + 1);
        if *spec.kind.get_ref() == figure::FigureKind::Protocol {
            figures.extend(protocol::figures(spec, declared, results, &id));
            continue;
        }
        if *spec.kind.get_ref() == figure::FigureKind::Floors {
            figures.extend(super::floors::figure(spec, declared, floors, id));
            continue;
        }
        let panels = panels(spec, declared, results);
        let many = panels.len() > 1;
        for (nth, (here, names)) in panels.into_iter().enumerate() {
            let mut panel = Panel { spec, declared, results, here, unit: Unit::Nanoseconds };
            panel.unit = panel.unit();
            let id = if nth == 0 { id.clone() } else { format!("{id}-{}", nth + 1) };
            let title = if many {
                format!("{}, {}", spec.title, names.join(", "))
            } else {
                spec.title.clone()
            };
            match spec.kind.get_ref() {
                figure::FigureKind::PValues => {
                    figures.extend(panel.p_values(&id, &title).into_iter().flatten());
                }
                _ => {
                    figures.extend(panel.figure(id, title).map(|figure| Figure {
                        marks: super::floors::marks(spec, floors),
                        ..figure
                    }))
                }
            }
        }
    }
    for figure in &mut figures {
        figure.subject = figure.title.clone();
    }
    figures
}

/// The levels that each figure is about: those of `only`, and one of every other factor that is
/// varied and isn't drawn; with their names.
fn panels(
    spec: &FigureSpec,
    declared: &ValidatedStudy,
    results: &[CaseResult],
) -> Vec<(Chosen, Vec<String>)> {
    let only = chosen(&spec.only);
    let cases = |here: &Chosen| -> Vec<usize> {
        let all = results.iter().enumerate();
        all.filter(|(_, case)| !case.twin && takes(here, case)).map(|(at, _)| at).collect()
    };
    let mut panels = vec![(only.clone(), Vec::new())];
    let of_reach = |factor: &Factor| factor.is_of_reach();
    let tells_reach = [spec.x(), spec.series()].iter().flatten().any(of_reach)
        || Factor::ALL
            .iter()
            .filter(|factor| of_reach(factor))
            .any(|factor| only.level(*factor).is_some());
    for factor in Factor::ALL {
        // What follows from the route is named with it, or the route by what follows.
        if factor.follows() || factor == Factor::Route && tells_reach {
            continue;
        }
        let drawn = [spec.x(), spec.series()].contains(&Some(factor));
        let levels = &declared.levels[&factor];
        // A figure that doesn't name probes is of uninstrumented launches.
        let unobserved = factor == Factor::Observe;
        if drawn || unobserved || only.level(factor).is_some() || levels.len() < 2 {
            continue;
        }
        let split = |(here, names): (Chosen, Vec<String>)| {
            let all = cases(&here);
            let with = |level: &String| (here.with(factor, level), panel_name(factor, level));
            let each: Vec<_> =
                levels.iter().map(with).filter(|(here, _)| !cases(here).is_empty()).collect();
            // A set-up has no size, and a round trip no total: each of their levels is all cases.
            if each.iter().all(|(here, _)| cases(here) == all) {
                return vec![(here, names)];
            }
            let named = |(here, name)| (here, names.iter().cloned().chain([name]).collect());
            each.into_iter().map(named).collect()
        };
        panels = panels.into_iter().flat_map(split).collect();
    }
    panels.retain(|(here, _)| !cases(here).is_empty());
    panels
}

/// A level that a whole figure, or table, is of.
pub fn panel_name(factor: Factor, level: &str) -> String {
    match (factor, level) {
        (Factor::Loss, _) => format!("{level} lost"),
        (Factor::Burst, "1") => "each by itself".into(),
        (Factor::Burst, _) => format!("in bursts of {level}"),
        (Factor::Connections, "1") => "1 connection".into(),
        (Factor::Connections, _) => match level.parse() {
            Ok(many) => units::counted(many, "connection"),
            Err(_) => format!("{level} connections"),
        },
        (Factor::Depth, _) => format!("at most {level} under way"),
        (Factor::Response, _) => format!("answers of {}", level_name(factor, level)),
        _ => level_name(factor, level),
    }
}

/// The axis of a factor whose levels are numbers.
fn numeric(x: Factor) -> Option<Axis> {
    match x {
        Factor::Size => Some(Axis::new("message size", Unit::Bytes, Scale::Log)),
        Factor::Response => Some(Axis::new("bytes of an answer", Unit::Bytes, Scale::Log)),
        Factor::Rate => Some(Axis::new("messages due", Unit::PerSecond, Scale::Log)),
        Factor::Depth | Factor::Connections => Some(Axis::new(x.name(), Unit::Count, Scale::Log)),
        _ => x.follows().then(|| Axis::new(x.name(), Unit::Count, Scale::Linear)),
    }
}

/// One figure while it is made.
pub(super) struct Panel<'a> {
    pub(super) spec: &'a FigureSpec,
    declared: &'a ValidatedStudy,
    results: &'a [CaseResult],
    here: Chosen,
    unit: Unit,
}

impl<'a> Panel<'a> {
    fn cases(&self) -> impl Iterator<Item = &'a CaseResult> {
        self.results.iter().filter(|case| !case.twin && takes(&self.here, case))
    }

    /// Whether round trips are halved.
    fn halves(&self) -> bool {
        self.spec.of() == Some(HALF_SAMPLES)
    }

    /// The count that is drawn, if one is.
    fn count(&self) -> Option<&'a str> {
        self.spec.of().filter(|text| Count::number(text).is_some())
    }

    /// The median of each launch of a case.
    fn rounds(&self, case: &CaseResult) -> Vec<Option<f64>> {
        match self.spec.of() {
            Some(of) => quantity(case, of),
            None => case.launch_medians.clone(),
        }
    }

    /// Wake-ups per second stand in a figure only if there are no bytes per second.
    fn unit(&self) -> Unit {
        match self.count() {
            Some(times) if times.ends_with("-ns") => return Unit::Nanoseconds,
            Some("goodput") => return Unit::BytesPerSecond,
            Some(_) => return Unit::Number,
            None => {}
        }
        let first = self.cases().find(|case| case.message_bytes.is_some());
        first.or_else(|| self.cases().next()).map_or(Unit::Nanoseconds, labels::unit)
    }

    fn y(&self, scale: Scale) -> Axis {
        if let Some(count) = self.count() {
            // A count may be none, which no logarithm shows.
            let positive =
                self.cases().all(|case| self.rounds(case).iter().flatten().all(|n| *n > 0.0));
            let scale = if positive { scale } else { Scale::Linear };
            return Axis::new(count.replace('-', " "), self.unit, scale);
        }
        let first = self.cases().find(|case| labels::unit(case) == self.unit);
        let label = first.map_or("round trip", |case| &case.metric.axis);
        let half = if self.halves() { "half " } else { "" };
        Axis::new(format!("{half}{label}"), self.unit, scale)
    }

    /// The levels of a factor that have a case here, sizes in their order.
    pub(super) fn levels(&self, factor: Factor) -> Vec<&'a String> {
        let has_case = |level: &&String| self.find(&[(factor, level.as_str())]).is_some();
        let mut levels: Vec<&String> =
            self.declared.levels[&factor].iter().filter(has_case).collect();
        if factor == Factor::Size || factor.is_of_load() {
            let number = |level: &str| factor.number(level).unwrap_or(0.0);
            levels.sort_by(|a, b| number(a).total_cmp(&number(b)));
        }
        levels
    }

    pub(super) fn find(&self, levels: &[(Factor, &str)]) -> Option<&'a CaseResult> {
        let fits = |(factor, level): &(Factor, &str)| {
            self.here.level(*factor).is_none_or(|wanted| wanted == *level)
        };
        if !levels.iter().all(fits) {
            return None;
        }
        let wanted = levels.iter().fold(self.here.clone(), |level, (a, b)| level.with(*a, b));
        self.results.iter().find(|case| !case.twin && takes(&wanted, case))
    }

    /// The series: a level and its name, or one that is named after what was measured.
    fn rows(&self) -> Vec<(Option<(Factor, &'a str)>, String)> {
        let Some(factor) = self.spec.series() else {
            return vec![(None, self.y(Scale::Log).label)];
        };
        let shared = self.shared();
        let row = |level: &'a String| {
            let name = labels::without_shared(&level_name(factor, level), shared);
            (Some((factor, level.as_str())), name)
        };
        self.levels(factor).into_iter().map(row).collect()
    }

    /// What many of its mechanisms begin with.
    fn shared(&self) -> Option<&'a str> {
        self.spec.series().and_then(|factor| labels::shared_prefix(&self.declared.levels[&factor]))
    }

    fn figure(&self, id: String, title: String) -> Option<Figure> {
        let x = self.spec.x()?;
        // Without another host there is nothing to draw of it; the reason stands once, in the remarks.
        if self.cases().all(|case| case.status != Status::Ok && !case.route.is_local()) {
            return None;
        }
        // What nothing here counts is said under the tables.
        if self.count().is_some() && self.cases().all(|case| self.rounds(case).is_empty()) {
            return None;
        }
        let (kind, scale) = match self.spec.kind.get_ref() {
            figure::FigureKind::Curves
                if [Factor::Size, Factor::Loss].contains(&x) || x.is_of_load() =>
            {
                (FigureKind::Curves, Scale::Log)
            }
            figure::FigureKind::Curves => (FigureKind::Curves, Scale::Linear),
            figure::FigureKind::Boxes => (FigureKind::Boxes, Scale::Log),
            figure::FigureKind::Bars => (FigureKind::GroupedBars, Scale::Linear),
            figure::FigureKind::HeatMap => (FigureKind::Heatmap, Scale::Log),
            figure::FigureKind::Protocol
            | figure::FigureKind::PValues
            | figure::FigureKind::Floors => return None,
        };
        let levels = self.levels(x);
        let axis = match numeric(x).filter(|_| kind == FigureKind::Curves) {
            Some(axis) => axis,
            None => Axis::categories(x.name(), levels.iter().map(|level| level_name(x, level))),
        };
        let mut figure = Figure::new(kind, id, title, "", axis, self.y(scale));
        for (row, name) in self.rows() {
            let series = self.series(kind, x, &levels, row, name);
            // A curve without a value is a name in the legend and nothing else.
            let drawn = |series: &Series| match kind {
                FigureKind::Curves => series.points.iter().any(|point| point.y.is_some()),
                _ => !series.points.is_empty(),
            };
            figure.series.extend(series.filter(drawn));
        }
        // Nothing was measured of it: an empty plot tells nothing.
        let has_value = |series: &Series| series.points.iter().any(|point| point.y.is_some());
        if !figure.series.iter().any(has_value) {
            return None;
        }
        for published in self.published() {
            figure.series.extend(self.printed(published, x, &levels));
        }
        figure.caption = self.caption(kind, &figure);
        Some(figure)
    }

    fn series(
        &self,
        kind: FigureKind,
        x: Factor,
        levels: &[&'a String],
        row: Option<(Factor, &str)>,
        name: String,
    ) -> Option<Series> {
        let find = |level: &str| {
            let wanted: Vec<(Factor, &str)> = row.into_iter().chain([(x, level)]).collect();
            self.find(&wanted)
        };
        let curves = kind == FigureKind::Curves;
        let curves_over_size = curves && x == Factor::Size;
        let numbers = curves && numeric(x).is_some();
        let mut sizeless = curves_over_size;
        let mut points = Vec::new();
        for (nth, level) in levels.iter().enumerate() {
            let at = x.number(level).filter(|_| numbers).unwrap_or(nth as f64);
            match find(level) {
                Some(case) => {
                    sizeless &= case.message_bytes.is_none();
                    points.push(self.point(kind, case, at));
                }
                None if kind == FigureKind::Heatmap => points.push(Point::gap(at, "no such case")),
                None => {}
            }
        }
        // One value for every size: a quiet line across, not a curve of measurements.
        let drawn = if sizeless { Drawn::Line } else { Drawn::AsKind };
        let name = if sizeless { format!("{name} (has no size)") } else { name };
        Some(Series::new(name, points).drawn(drawn))
    }

    fn point(&self, kind: FigureKind, case: &CaseResult, x: f64) -> Point {
        if case.status != Status::Ok {
            return Point::gap(x, case.reason.clone().unwrap_or_else(|| "not measured".into()));
        }
        if self.count().is_none() && labels::unit(case) != self.unit {
            return Point::gap(x, "counted in other units");
        }
        let made = match kind {
            FigureKind::Boxes if self.spec.draws_samples() => pooled(case, x, self.halves()),
            FigureKind::Boxes => boxed(&self.rounds(case), x, self.spec.leaves_out_first()),
            FigureKind::Curves if self.spec.shows_quartiles() => {
                boxed(&self.rounds(case), x, self.spec.leaves_out_first())
                    .map(|point| Point { ends: None, ..point })
            }
            _ if self.spec.of().is_some() => OverRounds::of(self.rounds(case))
                .map(|found| Point::new(x, found.median).with_ends(found.interval.ends())),
            FigureKind::Heatmap => super::typical(case)
                .map(|value| Point::new(x, value).labelled(labels::brief_value(case))),
            _ => super::intervals::point_of(case, x),
        };
        made.unwrap_or_else(|| Point::gap(x, "too few launches"))
    }

    fn published(&self) -> Vec<&'a Published> {
        let all = &self.declared.study.published;
        let text = self.declared.request.study.as_ref().map_or("", |study| study.text.as_str());
        let names = self.spec.beside.iter().flat_map(|words| words.each(text));
        names.filter_map(|(name, _)| all.iter().find(|published| published.name == name)).collect()
    }

    /// Published figures as signs, each at the bar of its case.
    fn printed(&self, published: &Published, x: Factor, levels: &[&'a String]) -> Option<Series> {
        let rows = self.rows();
        let printed = beside_medians(published);
        let mut points = Vec::new();
        for (nth, level) in levels.iter().enumerate() {
            for (slot, (row, _)) in rows.iter().enumerate() {
                let wanted: Vec<(Factor, &str)> =
                    row.iter().copied().chain([(x, level.as_str())]).collect();
                let Some(case) = self.find(&wanted) else { continue };
                let found = printed.iter().find(|(levels, ..)| takes(levels, case));
                let Some((_, words, value)) = found else { continue };
                let value = Printed::of(*value, &published.unit)
                    .filter(|printed| printed.is_of(case.metric.better))
                    .map(|printed| match printed {
                        Printed::Time(ns) => ns,
                        Printed::Rate(bytes) => bytes,
                    });
                let at = nth as f64 + Figure::slot(slot, rows.len());
                let point = |value| Point::new(at, value).labelled(format!("printed: {words}"));
                points.extend(value.map(point));
            }
        }
        let series = Series::new(published.name.as_str(), points).drawn(Drawn::Signs);
        Some(series).filter(|series| !series.points.is_empty())
    }

    fn caption(&self, kind: FigureKind, figure: &Figure) -> String {
        let rule = match kind {
            FigureKind::Boxes if self.spec.draws_samples() => SAMPLE_BOXES,
            FigureKind::Boxes => BOXES,
            FigureKind::Heatmap => CELLS,
            _ if self.spec.shows_quartiles() => QUARTILES,
            _ => INTERVAL,
        };
        let mut caption = [self.spec.caption.trim(), rule].join(" ").trim_start().to_string();
        if kind == FigureKind::Boxes && !self.spec.draws_samples() {
            let drawn = figure.series.iter().flat_map(|series| &series.points);
            let mut launches: Vec<&str> =
                drawn.filter_map(|point| point.label.as_deref()).collect();
            launches.sort_by_key(|label| label.len());
            launches.dedup();
            match launches[..] {
                [] => {}
                [all] => caption += &format!(" {all} each."),
                [.., most] => caption += &format!(" At most {most} each."),
            }
        }
        if self.spec.leaves_out_first() {
            caption += FIRST;
        }
        if let Some(shared) = self.shared() {
            caption += &format!(" … stands for {shared}.");
        }
        let shown = |published: &&Published| {
            figure.series.iter().any(|series| series.name == published.name)
        };
        let sources: Vec<String> =
            self.published().into_iter().filter(shown).map(Published::source).collect();
        if !sources.is_empty() {
            caption += &format!(" Signs stand for what was printed: {}.", sources.join("; "));
        }
        caption
    }
}

/// Median, quartiles and extremes of the launches.
fn boxed(launches: &[Option<f64>], x: f64, leave_out_first: bool) -> Option<Point> {
    let launches = launches.iter().skip(usize::from(leave_out_first));
    let mut values: Vec<f64> = launches.flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    let point = Point::new(x, stats::median(&values))
        .between(stats::quantile(&values, 0.25), stats::quantile(&values, 0.75))
        .within(least, most);
    Some(point.labelled(units::counted(values.len() as u64, "launch")))
}

/// The same of the samples of all launches together, or of half of each.
fn pooled(case: &CaseResult, x: f64, halved: bool) -> Option<Point> {
    let part = if halved { 0.5 } else { 1.0 };
    let [least, q1, median, q3, most] = case.pooled?.map(|value| part * value);
    let point = Point::new(x, median).between(q1, q3).within(least, most);
    Some(point.labelled(units::counted(case.samples, "sample")))
}
