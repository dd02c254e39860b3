//! Signs: two quantities against each other, with names beside them.

use super::frame;
use super::intervals::said;
use super::lines::{runs, stairs};
use super::metrics::{TEXT, shorten, width_of};
use super::sheet::{Anchor, Area, Sheet, Spot, TextStyle, stroke};
use super::theme::number_of;
use crate::figure::{Drawn, Figure, Series, finite};

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let tall = (0.62 * sheet.width).clamp(170.0, 281.0);
    let frame = frame::lay(sheet, figure, tall);
    frame.inside(sheet, figure, |sheet| {
        for (nth, series) in figure.series.iter().enumerate() {
            sheet.series(nth, &series.name, |sheet| match series.drawn {
                Drawn::Line => {
                    let style = sheet.quiet();
                    let runs = runs(&frame, &series.points);
                    let steps: Vec<Vec<Spot>> = runs.iter().map(|run| stairs(run)).collect();
                    sheet.lines(&steps, &style);
                }
                _ => points(sheet, figure, &frame, series, nth),
            });
        }
        names(sheet, figure, &frame);
    });
    frame.bottom
}

fn points(sheet: &mut Sheet, figure: &Figure, frame: &frame::Frame, series: &Series, nth: usize) {
    let nth = number_of(series, nth);
    for (number, point) in series.points.iter().enumerate() {
        let at = |value: Option<f64>| frame.spot(point.x, finite(value?)?, 0.0);
        let Some(spot) = at(point.y) else { continue };
        sheet.point(number, spot, &said(figure, series, point), |sheet| {
            if let (Some(low), Some(high)) = (at(point.low), at(point.high)) {
                sheet.line(low, high, &stroke(sheet.theme.color(nth), 1.1));
            }
            sheet.sign(nth, spot, 7.0);
        });
    }
}

/// Names beside their signs: the first place around each that is free of signs and other names.
fn names(sheet: &mut Sheet, figure: &Figure, frame: &frame::Frame) {
    let signs = figure.series.iter().enumerate().filter(|pair| pair.1.drawn != Drawn::Line);
    let named: Vec<(Spot, usize, &str)> = signs
        .flat_map(|(nth, series)| series.points.iter().map(move |point| (nth, point)))
        .filter_map(|(nth, point)| {
            Some((frame.spot(point.x, point.y?, 0.0)?, nth, point.label.as_deref()?))
        })
        .collect();
    let around =
        |[x, y]: Spot, r: f64| Area { left: x - r, top: y - r, right: x + r, bottom: y + r };
    let mut taken: Vec<Area> = named.iter().map(|(spot, ..)| around(*spot, 5.0)).collect();
    for (spot, nth, name) in named {
        let short = shorten(name, frame.plot.width() / 2.0, TEXT);
        let places = places(spot, width_of(&short, TEXT));
        let room = frame.plot;
        let free = |area: &&(Area, bool)| {
            let area = area.0;
            area.left >= room.left
                && area.right <= room.right
                && area.top >= room.top
                && area.bottom <= room.bottom
                && !taken.iter().any(|other| other.touches(&area))
        };
        // Where nothing is free the sign stands alone: what it says is in the table.
        let Some((area, far)) = places.iter().find(free).copied() else { continue };
        taken.push(area);
        let middle = [area.left, (area.top + area.bottom) / 2.0];
        sheet.series(nth, name, |sheet| {
            if far {
                let near = spot[0].clamp(area.left, area.right);
                let edge = if area.top > spot[1] { area.top } else { area.bottom };
                let within = (area.top..=area.bottom).contains(&spot[1]);
                let end = if within { middle[1] } else { edge };
                sheet.line(spot, [near, end], &stroke(sheet.theme.muted, 0.5));
            }
            let plain = sheet.ink(Anchor::Start);
            let words = TextStyle { halo: true, beside: Some(spot[0]), ..plain };
            sheet.text(middle, words, &short);
        });
    }
}

/// Places for a name around its sign, the nearest first; and whether it is so far off that a line
/// must lead there.
fn places([x, y]: Spot, wide: f64) -> Vec<(Area, bool)> {
    let mut places = Vec::new();
    for off in [0.0, 10.0, 20.0, 32.0, 46.0, 62.0, 80.0] {
        let (right, left) = (x + 7.0 + off, x - 7.0 - off - wide);
        for (left, middle) in [
            (right, y - off),
            (left, y - off),
            (right, y + off),
            (left, y + off),
            (x - wide / 2.0, y - 11.0 - off),
            (x - wide / 2.0, y + 11.0 + off),
        ] {
            let half = TEXT / 2.0 + 0.5;
            let area = Area { left, top: middle - half, right: left + wide, bottom: middle + half };
            places.push((area, off > 0.0));
        }
    }
    places
}
