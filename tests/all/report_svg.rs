//! Static figures: each kind is well-formed, says every name and label, and stays on its sheet.

use crate::cli_support::say;
use crate::guard::documents;

use std::io::Write;
use std::process::{Command, Stdio};

use report::{
    Axis, Document, Drawn, Figure, FigureKind, Mark, Point, Protocol, Scale, Series, Step, Unit,
    svg,
};

/// As wide as a column of text on paper: 160 mm.
const WIDTH: f64 = 453.5;
const HOSTILE: &str = "</svg><script>&\"'\u{2028}\u{1b}[31m\u{202e}";
const KINDS: [FigureKind; 10] = [
    FigureKind::Intervals,
    FigureKind::Curves,
    FigureKind::Percentiles,
    FigureKind::Heatmap,
    FigureKind::Bars,
    FigureKind::GroupedBars,
    FigureKind::Boxes,
    FigureKind::Scatter,
    FigureKind::TimeSeries,
    FigureKind::Protocol,
];

/// Every figure of stored runs, those that lie on their side upright too, and for each kind a hostile and an empty one.
fn figures() -> Vec<Figure> {
    let documents = documents();
    let figures = documents.iter().flat_map(Document::figures);
    let mut figures: Vec<Figure> = figures.cloned().collect();
    let upright = figures.iter().filter(|figure| figure.horizontal);
    let upright: Vec<Figure> =
        upright.map(|figure| Figure { horizontal: false, ..figure.clone() }).collect();
    figures.extend(upright);
    figures.extend(KINDS.map(hostile));
    figures.extend(KINDS.map(empty));
    figures
}

fn empty(kind: FigureKind) -> Figure {
    let axis = || Axis::new("", Unit::Number, Scale::Log);
    Figure::new(kind, "empty", "empty", "", axis(), axis())
}

fn hostile(kind: FigureKind) -> Figure {
    let names = Axis::categories(HOSTILE, [HOSTILE, "宽字符机制的名字", &"long ".repeat(40)]);
    let x = match kind {
        FigureKind::Curves | FigureKind::Scatter => Axis::new(HOSTILE, Unit::Bytes, Scale::Log),
        _ => names,
    };
    let y = Axis::new(HOSTILE, Unit::Nanoseconds, Scale::Log);
    let mut figure = Figure::new(kind, HOSTILE, HOSTILE, HOSTILE, x, y);
    let values =
        [(0.0, f64::INFINITY), (1.0, f64::NAN), (f64::NAN, 4.0), (1.0, -4.0), (2.0, 1e300)];
    let mut points: Vec<Point> = values
        .map(|(x, y)| Point::new(x, y).between(y, f64::NEG_INFINITY).labelled(HOSTILE))
        .to_vec();
    let mut unchecked = Point::new(1.0, 5.0).marked(HOSTILE);
    (unchecked.low, unchecked.high) = (Some(f64::NAN), Some(f64::INFINITY));
    unchecked.ends = Some([f64::NAN, f64::INFINITY]);
    points.push(unchecked);
    figure.series = vec![
        Series::new(HOSTILE, points.clone()),
        Series::new("empty", []),
        Series::new("beside", points.clone()).drawn(Drawn::Signs),
        Series::new("quiet", points).drawn(Drawn::Line),
    ];
    figure.marks = vec![Mark::new(HOSTILE, f64::NAN), Mark::new(HOSTILE, 3.0)];
    if kind == FigureKind::Protocol {
        let message = |from, to| Step::Message { from, to, label: HOSTILE.into() };
        figure.protocol = Some(Box::new(Protocol {
            parties: vec![HOSTILE.into()],
            steps: vec![
                message(0, 7),
                message(0, 0),
                Step::Act { by: 9, label: HOSTILE.repeat(9) },
            ],
            timed: Some([0, 2]),
            timed_label: HOSTILE.repeat(9),
        }));
    }
    figure
}

fn attributes<'a>(svg: &'a str, name: &str) -> Vec<&'a str> {
    let opening = format!(" {name}=\"");
    svg.split(opening.as_str()).skip(1).map(|part| part.split('"').next().unwrap()).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    let pieces = text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
    pieces.filter(|piece| !piece.is_empty()).map(|piece| piece.parse().unwrap()).collect()
}

/// The places along a path: after each `M` one, and then steps from there.
fn places(path: &str) -> Vec<[f64; 2]> {
    let run = |run: &str| {
        // A minus sign parts numbers as a space does.
        let numbers = numbers(&run.replace('-', " -"));
        let mut at = [0.0, 0.0];
        let step = |step: &[f64]| {
            at = [at[0] + step[0], at[1] + step[1]];
            at
        };
        numbers.chunks(2).map(step).collect::<Vec<_>>()
    };
    path.split('M').skip(1).flat_map(run).collect()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;").replace(['\u{1b}', '\u{202e}'], "\u{fffd}")
}

#[test]
fn nothing_is_outside_the_sheet_and_every_number_is_one() {
    for figure in figures() {
        for width in [0.0, 200.0, WIDTH, f64::NAN] {
            let svg = svg::draw(&figure, width);
            let what = format!("{:?} `{}` at {width}", figure.kind, figure.id);
            assert!(!svg.contains("NaN") && !svg.contains("inf,"), "{what}");
            let view = numbers(attributes(&svg, "viewBox")[0]);
            let (wide, high) = (view[2], view[3]);
            let within = |value: f64, most: f64, of: &str| {
                assert!((-0.06..=most + 0.11).contains(&value), "{what}: {of} {value} of {most}");
            };
            for (names, most) in [(["x", "x1", "x2", "cx"], wide), (["y", "y1", "y2", "cy"], high)]
            {
                for name in names {
                    for value in attributes(&svg, name) {
                        within(value.parse().unwrap(), most, name);
                    }
                }
            }
            for points in attributes(&svg, "points") {
                for spot in points.split_whitespace() {
                    let spot = numbers(spot);
                    within(spot[0], wide, "points");
                    within(spot[1], high, "points");
                }
            }
            for path in attributes(&svg, "d") {
                for spot in places(path) {
                    within(spot[0], wide, "path");
                    within(spot[1], high, "path");
                }
            }
            let ends = |start: &str, length: &str| -> Vec<f64> {
                let rects = svg.split("<rect").skip(1).map(|part| part.split('>').next().unwrap());
                let of = |rect: &str, name: &str| attributes(rect, name)[0].parse::<f64>().unwrap();
                rects.map(|text| of(text, start) + of(text, length)).collect()
            };
            ends("x", "width").into_iter().for_each(|end| within(end, wide, "right of rect"));
            ends("y", "height").into_iter().for_each(|end| within(end, high, "foot of rect"));
        }
    }
}

#[test]
fn every_series_name_and_label_is_said() {
    for figure in figures() {
        let svg = svg::draw(&figure, WIDTH);
        let says = |words: &str| {
            assert!(svg.contains(&escaped(words)), "{:?} `{}`: {words}", figure.kind, figure.id);
        };
        says(&figure.title);
        says(&figure.caption);
        if let Some(protocol) = &figure.protocol {
            protocol.parties.iter().for_each(|text| says(text));
            protocol.steps.iter().for_each(|step| says(&protocol.words(step)));
            says(&protocol.timed_label);
            continue;
        }
        if figure.kind == FigureKind::Protocol {
            continue;
        }
        if figure.kind != FigureKind::TimeSeries {
            figure.series.iter().for_each(|series| says(&series.name));
            figure.x.categories.iter().for_each(|category| says(category));
        }
        let axes = figure.kind != FigureKind::Heatmap && figure.id != HOSTILE;
        figure
            .marks
            .iter()
            .filter(|mark| axes && mark.value.is_finite())
            .for_each(|mark| says(&mark.label));
    }
}

#[test]
fn the_size_is_the_one_asked_for_and_nothing_is_loaded() {
    for figure in figures() {
        let svg = svg::draw(&figure, WIDTH);
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"453.5pt\""));
        for forbidden in ["<script", "<style", " id=\"", "href", "url(", "onload"] {
            assert!(!svg.contains(forbidden), "{forbidden} in {:?}", figure.kind);
        }
    }
}

/// What a figure's signs, fills and dashes are: colour is never the only difference.
#[test]
fn series_differ_without_their_colours() {
    for figure in figures().iter().filter(|figure| (2..=4).contains(&figure.series.len())) {
        if !matches!(figure.kind, FigureKind::Curves | FigureKind::Bars | FigureKind::Boxes) {
            continue;
        }
        let svg = svg::draw(figure, WIDTH);
        let mut legend = Vec::new();
        for series in figure.series.iter().filter(|series| series.drawn == Drawn::AsKind) {
            let entry = format!("<g><title>{}</title>", escaped(&series.name));
            let after = svg.split(&entry).nth(1).expect("it is in the legend");
            let sample = after.split("<text").next().unwrap();
            // Shapes and dashes without where they are and which colour they have.
            let bare: String = sample.split("#").map(|part| part.get(6..).unwrap_or("")).collect();
            let marks = bare.matches("<path").count();
            let shape = ["<circle", "<rect", "<polygon", "dasharray", "opacity"]
                .map(|text| sample.matches(text).count());
            legend.push((marks, shape, attributes(sample, "fill-opacity").join(" ")));
        }
        let mut distinct = legend.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), legend.len(), "{}: {legend:?}", figure.id);
    }
}

/// A parser that isn't ours reads each picture.
#[test]
fn every_figure_is_well_formed() {
    let found = Command::new("python3").arg("-c").arg("import xml.etree.ElementTree").status();
    if !found.is_ok_and(|status| status.success()) {
        say("skipped: python3 with xml.etree isn't here to read the pictures");
        return;
    }
    const READ: &str = "import sys, xml.etree.ElementTree as xml
for text in sys.stdin.buffer.read().split(b'\\0')[:-1]: xml.fromstring(text)
print('read')";
    let mut python = Command::new("python3")
        .args(["-c", READ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut into = python.stdin.take().unwrap();
    for figure in figures() {
        into.write_all(svg::draw(&figure, WIDTH).as_bytes()).unwrap();
        into.write_all(b"\0").unwrap();
    }
    drop(into);
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"read"));
}
