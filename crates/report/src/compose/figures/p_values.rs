//! Where the curves of a study differ from one of them beyond a constant factor: the p of every
//! level, as an uncorrected analysis has it, and corrected over the levels.

use super::study::Panel;
use crate::compose::labels::level_name;
use crate::{Axis, Figure, FigureKind, Mark, Point, Scale, Series, Unit};
use analysis::hypothesis::{PointByPoint, point_by_point};
use analysis::{ALPHA, CaseResult, Status};
use model::factor::Factor;

/// Smaller ones are drawn here.
const LEAST: f64 = 1e-4;

const UNCORRECTED: &str = "Each curve divided by its mean over all levels, and a paired signed-rank \
     test at each level, uncorrected.";
const CORRECTED: &str = "Log ratios less their round's mean; each level compared with the largest \
     deviation that flipping the signs of whole rounds makes.";

/// The figure of p over `x`: each series with its places and its p, and a line at 5 %.
fn drawn(
    id: String,
    title: String,
    caption: &str,
    x: Axis,
    series: impl Iterator<Item = (String, Vec<(f64, f64)>)>,
) -> Figure {
    let caption = format!("{caption} Dashed: 5 %; what is smaller than {LEAST} is drawn there.");
    let y = Axis::new("p", Unit::Number, Scale::Log);
    let mut figure = Figure::new(FigureKind::Curves, id, title, caption, x, y);
    figure.marks.push(Mark::new("5 %", ALPHA));
    let point = |(x, p): (f64, f64)| Point::new(x, p.max(LEAST));
    let series = series.map(|(name, p)| Series::new(name, p.into_iter().map(point)));
    figure.series.extend(series);
    figure
}

impl Panel<'_> {
    /// Two figures: uncorrected, and corrected. None of what shares no levels and rounds.
    pub(super) fn p_values(&self, id: &str, title: &str) -> [Option<Figure>; 2] {
        let found = self.compared();
        let figure = |corrected: bool| {
            let (what, caption) =
                if corrected { ("corrected", CORRECTED) } else { ("point by point", UNCORRECTED) };
            let own = match self.spec.caption.trim() {
                "" => String::new(),
                caption => format!("{caption} "),
            };
            let series = found.iter().map(|(name, places, points)| {
                let p = if corrected { &points.corrected } else { &points.uncorrected };
                (name.clone(), places.iter().copied().zip(p.iter().copied()).collect())
            });
            let id = if corrected { format!("{id}-corrected") } else { id.to_string() };
            let title = format!("{title}: {what}");
            drawn(id, title, &format!("{own}{caption}"), self.p_axis(), series)
        };
        [false, true].map(|corrected| (!found.is_empty()).then(|| figure(corrected)))
    }

    fn p_axis(&self) -> Axis {
        match self.spec.x() {
            Some(Factor::Size) | None => Axis::new("message size", Unit::Bytes, Scale::Log),
            Some(x) => {
                Axis::categories(x.name(), self.levels(x).iter().map(|level| level_name(x, level)))
            }
        }
    }

    /// Each series with its places and its p.
    fn compared(&self) -> Vec<(String, Vec<f64>, PointByPoint)> {
        let (Some(x), Some(series)) = (self.spec.x(), self.spec.series()) else {
            return Vec::new();
        };
        let against =
            self.spec.against.as_ref().and_then(|value| series.level(value.get_ref()).ok());
        let Some(against) = against else { return Vec::new() };
        let measured = |level: &str, place: &str| {
            self.find(&[(series, level), (x, place)]).filter(|case| case.status == Status::Ok)
        };
        let of = |level: &String| {
            let mut places = Vec::new();
            let (mut left, mut right): (Vec<&CaseResult>, Vec<&CaseResult>) = Default::default();
            for (nth, place) in self.levels(x).iter().enumerate() {
                let pair = measured(level, place).zip(measured(&against, place));
                let Some((mine, theirs)) = pair else { continue };
                left.push(mine);
                right.push(theirs);
                places.push(match x {
                    Factor::Size => model::size::parse(place).unwrap_or(1) as f64,
                    _ => nth as f64,
                });
            }
            Some((level_name(series, level), places, point_by_point(&left, &right)?))
        };
        let others = self.levels(series).into_iter().filter(|level| **level != against);
        others.filter_map(of).collect()
    }
}
