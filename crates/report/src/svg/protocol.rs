//! A message sequence: the parties side by side, time down the page, what is timed in a bracket.

use super::metrics::{TEXT, shorten, width_of, wrap};
use super::sheet::{Anchor, Area, Sheet, Spot, TextStyle, stroke};
use crate::figure::{Figure, Protocol, Step};

/// From one step to the next.
const ROW: f64 = 24.0;
/// How much later a message arrives than it leaves.
const FALL: f64 = 9.0;
const HEAD: f64 = 18.0;
/// From the first party to the last.
const WIDEST: f64 = 340.0;

/// Where things stand on the sheet.
struct Lives<'a> {
    protocol: &'a Protocol,
    left: f64,
    step: f64,
}

impl Lives<'_> {
    fn x(&self, party: usize) -> f64 {
        let last = self.protocol.parties.len().saturating_sub(1);
        self.left + self.step * party.min(last) as f64
    }

    fn y(&self, row: usize) -> f64 {
        HEAD + 26.0 + ROW * row as f64
    }
}

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let Some(protocol) = &figure.protocol else { return 1.0 };
    let width = sheet.width;
    // Room to the left for what is timed, and to the right for half of the last name.
    let timed = if protocol.timed.is_some() { width_of(&protocol.timed_label, TEXT) } else { 0.0 };
    let half = |name: Option<&String>| name.map_or(0.0, |name| width_of(name, TEXT) / 2.0);
    let left = (timed + 36.0).max(half(protocol.parties.first()) + 8.0).clamp(50.0, 0.36 * width);
    let right = width - (half(protocol.parties.last()) + 8.0).min(0.2 * width);
    // Nobody follows an arrow across the whole of a wide page.
    let spare = (right - left - WIDEST).max(0.0) / 2.0;
    let (left, right) = (left + spare, right - spare);
    let apart = protocol.parties.len().saturating_sub(1).max(1) as f64;
    let lives = Lives { protocol, left, step: (right - left) / apart };
    let bottom = lives.y(protocol.steps.len()) - 6.0;
    for (nth, name) in protocol.parties.iter().enumerate() {
        let x = lives.x(nth);
        sheet.line(
            [x, HEAD],
            [x, bottom],
            &(stroke(sheet.theme.muted, 0.8) + " stroke-dasharray=\"2 2.5\""),
        );
        let short = shorten(name, 0.28 * width, TEXT);
        label(sheet, [x, HEAD / 2.0 + 2.0], &short, name, 2.0, sheet.theme.muted);
    }
    if let Some([first, last]) = protocol.timed {
        bracket(sheet, &lives, first, last);
    }
    for (row, step) in protocol.steps.iter().enumerate() {
        draw_step(sheet, &lives, row, step);
    }
    bottom + 4.0
}

/// Words in a box around their middle.
fn label(sheet: &mut Sheet, [x, y]: Spot, short: &str, full: &str, radius: f64, edge: &str) {
    let half = (width_of(short, TEXT) / 2.0 + 6.0).min(sheet.width / 2.0 - 1.0);
    let x = x.min(sheet.width - 1.0 - half).max(1.0 + half);
    let area = Area { left: x - half, top: y - 7.5, right: x + half, bottom: y + 7.5 };
    sheet.named(full, |sheet| {
        sheet.rect(
            area,
            radius,
            &format!("fill=\"{}\" stroke=\"{edge}\" stroke-width=\"0.9\"", sheet.theme.paper),
        );
        sheet.text([x, y], sheet.ink(Anchor::Middle), short);
    });
}

fn bracket(sheet: &mut Sheet, lives: &Lives, first: usize, last: usize) {
    let x = lives.x(0);
    let (top, bottom) = (lives.y(first) - 5.0, lives.y(last) + FALL + 5.0);
    let (edge, line) = (x - 12.0, stroke(sheet.theme.color(1), 1.4));
    sheet.line([edge, top], [edge, bottom], &line);
    sheet.line([edge, top], [x - 4.0, top], &line);
    sheet.line([edge, bottom], [x - 4.0, bottom], &line);
    // The clock is the initiator's: its life line is solid while it runs.
    let running = Area { left: x - 2.5, top, right: x + 2.5, bottom };
    sheet.rect(running, 1.0, &format!("fill=\"{}\"", sheet.theme.color(1)));
    let lines = wrap(&lives.protocol.timed_label, edge - 12.0, TEXT, 6);
    let head = (top + bottom) / 2.0 - 5.0 * (lines.len() as f64 - 1.0);
    sheet.named(&lives.protocol.timed_label, |sheet| {
        let words = TextStyle { bold: true, ..sheet.ink(Anchor::End) };
        sheet.texts([edge - 6.0, head], 10.0, words, &lines);
    });
}

fn draw_step(sheet: &mut Sheet, lives: &Lives, row: usize, step: &Step) {
    let y = lives.y(row);
    match step {
        Step::Message { from, to, label } => {
            let way = if lives.x(*to) < lives.x(*from) { -1.0 } else { 1.0 };
            let (x1, x2) = (lives.x(*from) + 4.0 * way, lives.x(*to) - 2.0 * way);
            let (start, end) = ([x1, y], [x2, y + FALL]);
            let angle = FALL.atan2(x2 - x1);
            let barb =
                |turn: f64| [x2 - 7.0 * (angle + turn).cos(), end[1] - 7.0 * (angle + turn).sin()];
            let middle = [(x1 + x2) / 2.0, y + FALL / 2.0 - 8.0];
            let short = shorten(label, (x2 - x1).abs() - 8.0, TEXT);
            sheet.named(&lives.protocol.words(step), |sheet| {
                sheet.line(start, end, &stroke(sheet.theme.color(0), 1.3));
                let head = [end, barb(0.38), barb(-0.38)];
                sheet.polygon(&head, &format!("fill=\"{}\"", sheet.theme.color(0)));
                let words = TextStyle { halo: true, ..sheet.ink(Anchor::Middle) };
                sheet.text(middle, words, &short);
            });
        }
        Step::Act { by, label: what } => {
            let short = shorten(what, 0.3 * sheet.width, TEXT);
            label(
                sheet,
                [lives.x(*by), y + 3.0],
                &short,
                &lives.protocol.words(step),
                7.5,
                sheet.theme.color(0),
            );
        }
        Step::More { label } => {
            let last = lives.protocol.parties.len().saturating_sub(1);
            let (a, b) = (lives.x(0), lives.x(last));
            let words = sheet.muted(Anchor::Middle);
            let lines = wrap(&format!("⋯ {label}"), (b - a).max(60.0) - 12.0, TEXT, 3);
            sheet.named(label, |sheet| {
                sheet.texts([(a + b) / 2.0, y - 2.0], 9.0, words, &lines);
            });
        }
    }
}
