//! The renderers on the documents of stored runs, and on one whose names try to break out of the page or the
//! terminal. What such documents look like is held in tests/snapshots.

use std::collections::BTreeSet;

use crate::cli_support::{has, list};
use crate::guard::documents;
use analysis::TIME_SERIES_DRAWN as DRAWN;
use report::document::file_names;
use report::terminal::{self, Style};
use report::{
    Axis, Block, Column, Document, Figure, FigureKind, Listing, Mark, Point, Row, Scale, Section,
    Series, Table, Unit, Value, Verdict, VerdictKind,
};
use report::{html, svg};
use unicode_width::UnicodeWidthStr;

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{2028}\u{1b}[31m";

fn hostile_figure() -> Figure {
    let mut figure = Figure::new(
        FigureKind::Intervals,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        Axis::categories(HOSTILE, [HOSTILE, "宽字符机制的名字"]),
        Axis::new(HOSTILE, Unit::Nanoseconds, Scale::Log),
    );
    let values = [(0.0, f64::INFINITY), (1.0, f64::NAN), (f64::NAN, 4.0), (1.0, -4.0)];
    let points =
        values.map(|(x, y)| Point::new(x, y).between(y, f64::NEG_INFINITY).labelled(HOSTILE));
    let mut unchecked = Point::new(1.0, 5.0);
    (unchecked.low, unchecked.high) = (Some(f64::NAN), Some(f64::INFINITY));
    figure.series = vec![Series::new(HOSTILE, points), Series::new("empty", [])];
    figure.series[0].points.push(unchecked);
    figure.marks = vec![Mark::new(HOSTILE, f64::NAN)];
    figure
}

fn hostile() -> Document {
    let mut document = Document::new(HOSTILE);
    document.subtitle = HOSTILE.to_string();
    document.meta = vec![(HOSTILE.to_string(), HOSTILE.to_string())];
    let table = Table {
        id: String::new(),
        caption: HOSTILE.repeat(3),
        columns: vec![Column::text(HOSTILE, 0), Column::number("b", 0).unit(HOSTILE)],
        rows: vec![Row::new([HOSTILE.repeat(9), "宽".repeat(90)]), Row::new([HOSTILE])],
        notes: vec![HOSTILE.into()],
    };
    let section = Section::new(HOSTILE, HOSTILE)
        .with(hostile_figure())
        .with(table)
        .with(Verdict::new(VerdictKind::Bad, HOSTILE, HOSTILE))
        .with(Block::Facts(vec![(HOSTILE.repeat(4), "x".repeat(300))]))
        .with(Block::Details { summary: HOSTILE.into(), blocks: vec![Block::warning(HOSTILE)] });
    document.sections = vec![section];
    document
}

/// A comparison of mechanisms at several places.
fn document() -> Document {
    documents().swap_remove(0)
}

/// The page with its script cut out: the markup around what the user named.
fn without_scripts(page: &str) -> String {
    let mut rest = page;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("<script>") {
        kept.push_str(before);
        rest = after.split_once("</script>").expect("a script is closed").1;
    }
    kept + rest
}

/// The JSON of every figure as it stands in the page.
fn figure_texts(page: &str) -> Vec<&str> {
    page.split("<script type=\"application/json\">")
        .skip(1)
        .map(|rest| rest.split_once("</script>").expect("data is closed").0)
        .collect()
}

fn figure_data(page: &str) -> Vec<serde_json::Value> {
    let parse = |json: &str| serde_json::from_str(json).expect("figure data is JSON");
    figure_texts(page).into_iter().map(parse).collect()
}

#[test]
#[ignore = "long form"]
fn no_line_is_wider_than_the_terminal() {
    for document in documents().into_iter().chain([hostile()]) {
        for width in [40, 60, 80, 81, 132] {
            for unfold in [false, true] {
                let text = terminal::render(
                    &document,
                    &Style { width, color: false, unfold, ascii: false },
                );
                for line in text.lines() {
                    assert!(line.width() <= width, "{} cells of {width}: {line}", line.width());
                }
            }
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    let document = document();
    let plain = terminal::render(&document, &Style::default());
    let coloured = terminal::render(&document, &Style { color: true, ..Style::default() });
    assert!(!plain.contains('\u{1b}'));
    let mut stripped = String::new();
    for (at, part) in coloured.split("\u{1b}[").enumerate() {
        stripped.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(stripped, plain);
}

#[test]
fn a_terminal_gets_no_control_characters_from_names() {
    let text = terminal::render(&hostile(), &Style { unfold: true, ..Style::default() });
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn the_page_loads_nothing() {
    let page = html::render(&document());
    let ours = without_scripts(&page);
    let loads = ["src=", "srcset=", "href=\"h", "href=\"//", "url(", "@import", "<link", "<base"];
    for load in loads {
        assert!(!ours.contains(load), "{load} in the page");
    }
    has(&page, &["default-src 'none'; script-src 'sha256-", "connect-src 'none'"]);
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn hostile_names_stay_text() {
    let page = html::render(&hostile());
    let ours = without_scripts(&page);
    assert!(!ours.contains("<img"));
    assert!(!ours.contains('\u{1b}'));
    assert!(ours.contains("&lt;/script&gt;&lt;img"));
    assert_eq!(ours.matches("</script>").count(), 1, "only the figure's own data is closed");
    assert_eq!(figure_data(&page)[0]["series"][0]["name"], HOSTILE, "and the data is as given");
    assert!(!figure_texts(&page)[0].contains('\u{2028}'));
}

#[test]
fn a_value_that_is_not_finite_is_null() {
    let data = figure_data(&html::render(&hostile()));
    let points = &data[0]["series"][0]["points"];
    assert_eq!(points[0][1], serde_json::Value::Null);
    assert_eq!(points[2][0], serde_json::Value::Null);
    assert_eq!(points[4], serde_json::json!([1, 5]));
    let json = serde_json::to_string(&hostile()).unwrap();
    assert!(!json.contains("NaN") && !json.contains("inf"));
    let read: Document = serde_json::from_str(&json).expect("null is read back");
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
}

#[test]
fn every_series_and_point_is_in_the_page_as_data() {
    let document = document();
    let page = html::render(&document);
    let data = figure_data(&page);
    let figures = document.figures().into_iter().filter(|figure| figure.protocol.is_none());
    assert_eq!(data.len(), figures.clone().count());
    for (figure, json) in figures.zip(&data) {
        for (series, json) in figure.series.iter().zip(list(&json["series"])) {
            assert_eq!(json["name"], series.name.as_str());
            let points = list(&json["points"]);
            match figure.kind {
                // Stretches without a gap: two numbers, and three of each point.
                FigureKind::TimeSeries => {
                    let carried = points.iter().map(|point| (list(point).len() - 2) / 3);
                    let present = series.points.iter().filter(|point| point.y.is_some());
                    assert_eq!(carried.sum::<usize>(), present.count());
                }
                _ => assert_eq!(points.len(), series.points.len()),
            }
        }
    }
}

#[test]
fn a_listing_is_a_table_whose_numbers_a_page_sorts() {
    let number = |unit, value, low| Value::Number { unit, value, low, high: low };
    let listing = Listing {
        aside: Vec::new(),
        caption: "All results".into(),
        columns: ["mechanism", "size", "median"].map(str::to_string).to_vec(),
        rows: vec![
            vec![
                Value::Words(HOSTILE.into()),
                number(Unit::Bytes, 1_048_577.0, None),
                number(Unit::Nanoseconds, 4_123.456, Some(4_123.456)),
            ],
            vec![
                Value::Words("tcp".into()),
                Value::None,
                number(Unit::PerSecond, f64::NAN, Some(2.0)),
            ],
        ],
        notes: vec![HOSTILE.into()],
    };
    let mut document = Document::new("listed");
    document.sections = vec![Section::new("a", "A").with(listing)];
    let page = html::render(&document);
    let list = page.split_once("<div class=\"table listing\">").expect("the list").1;
    let list = list.split_once("</table>").unwrap().0;
    assert_eq!(list.matches("<tr>").count(), 3, "the rows are there without the script");
    // Sizes are exact, all else has five digits; what has no number stands where numbers do.
    for part in [
        "<th scope=\"row\">tcp</th>",
        "<td data-v=1048577>",
        "<td data-v=4123.5>4.12 µs [4.12, 4.12]</td>",
        "<td data-v>–</td>",
        "<td data-v=null data-u=PerSecond>",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert!(page.contains("script-src 'sha256-") && !list.contains("<img"));
}

/// The pictures of one figure of a page.
fn pictures<'a>(page: &'a str, id: &str) -> Vec<&'a str> {
    let figure = page.split_once(&format!(" id=\"figure-{id}\">")).expect("the figure").1;
    let figure = figure.split_once("</figure>").unwrap().0;
    figure.split("<svg ").skip(1).map(|part| part.split_once("</svg>").unwrap().0).collect()
}

#[test]
fn every_figure_is_drawn_for_a_wide_and_a_narrow_place_with_each_series_in_it() {
    let document = document();
    let page = html::render(&document);
    for figure in document.figures() {
        let all = pictures(&page, &figure.id);
        let classes = ["class=\"wide\"", "class=\"narrow\""];
        let dense = all[0].len() > 12_000 && figure.kind != FigureKind::Intervals;
        if figure.kind == FigureKind::TimeSeries {
            assert!(all.iter().all(|words| words.starts_with("class=\"long\"")), "{}", figure.id);
            continue;
        }
        if dense {
            assert!(all.len() == 1 && all[0].starts_with("class=\"long\""), "{}", figure.id);
        } else {
            assert!(all.iter().zip(classes).all(|(text, class)| text.starts_with(class)));
            assert_eq!(all.len(), 2, "{}", figure.id);
        }
        for (nth, picture) in
            all.iter().flat_map(|text| (0..figure.series.len()).map(move |n| (n, text)))
        {
            assert!(picture.contains(&format!("data-s=\"{nth}\"")), "{} of {}", nth, figure.id);
        }
    }
}

#[test]
fn a_time_series_of_many_panels_is_folded_and_complete() {
    let mut document = document();
    let drawn = document.figures().into_iter().find(|figure| figure.id == "samples");
    let mut drawn = drawn.expect("samples over time").clone();
    drawn.series = (0..DRAWN)
        .map(|nth| Series { name: format!("case {nth}"), ..drawn.series[0].clone() })
        .collect();
    document.sections = vec![Section::new("a", "A").with(drawn)];
    let page = html::render(&document);
    let more = format!("<details class=\"more\"><summary>{} more</summary>", DRAWN - 6);
    assert!(page.contains(&more));
    let all = pictures(&page, "samples");
    assert_eq!(all.len(), 2);
    for nth in 0..DRAWN {
        let series = format!("data-s=\"{nth}\"");
        assert_eq!(all[0].contains(&series), nth < 6);
        assert_eq!(all[1].contains(&series), nth >= 6);
    }
}

#[test]
fn pictures_in_a_page_have_the_colours_of_its_theme_and_of_a_verdict_where_they_are_one() {
    let page = html::render(&document());
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    for picture in page.split("<svg ").skip(1).map(|part| part.split_once("</svg>").unwrap().0) {
        for name in picture.split("var(").skip(1).map(|part| part.split_once(')').unwrap().0) {
            assert!(style.contains(&format!("{name}: light-dark(")), "{name}");
        }
        // The letters on a heat map's cells, whose colours no theme changes.
        let map = picture.contains("fill=\"rgb(");
        let fixed = picture.replace(if map { "\"#111111\"" } else { "\0" }, "");
        let fixed = fixed.replace(if map { "\"#ffffff\"" } else { "\0" }, "");
        assert!(!fixed.contains("=\"#"), "a colour that doesn't change with the theme");
    }
    let mut figure = hostile_figure();
    figure.series.truncate(1);
    figure.series[0] = Series::new("slower", [Point::new(0.0, 5.0)]).toned(VerdictKind::Bad);
    let mut document = Document::new("toned");
    document.sections = vec![Section::new("a", "A").with(figure)];
    let page = html::render(&document);
    assert_eq!(
        page.matches("fill=\"var(--bad)\"").count(),
        4,
        "a sign, its like in the legend, twice"
    );
}

#[test]
fn a_page_without_figures_carries_no_script() {
    let mut document = Document::new("short");
    document.sections = vec![Section::new("a", "A").with(Block::paragraph("b"))];
    let page = html::render(&document);
    assert!(page.len() < 40_000);
    assert!(page.contains("script-src 'none'"));
    assert!(!page.contains("<script"));
}

#[test]
fn a_document_survives_serde_and_renders_the_same_each_time() {
    let document = document();
    let json = serde_json::to_string(&document).unwrap();
    let read: Document = serde_json::from_str(&json).unwrap();
    let style = Style::default();
    assert_eq!(terminal::render(&read, &style), terminal::render(&document, &style));
    assert_eq!(html::render(&document), html::render(&read));
}

#[test]
fn a_page_lights_six_curves_and_print_tells_all_apart() {
    let document = document();
    let mut figure = document
        .figures()
        .into_iter()
        .find(|figure| figure.kind == FigureKind::Percentiles)
        .unwrap()
        .clone();
    figure.id = "percentiles".into();
    let first = figure.series[0].clone();
    figure.series = (0..9).map(|nth| Series { name: format!("m{nth}"), ..first.clone() }).collect();
    let printed = svg::draw(&figure, 400.0);
    assert!(!printed.contains("--quiet"), "what can't be pointed at has its colour");
    let mut document = Document::new("many");
    document.sections = vec![Section::new("a", "A").with(figure)];
    let page = html::render(&document);
    for picture in pictures(&page, "percentiles") {
        let of = |nth: usize| {
            let part = picture.split(&format!("<g data-s=\"{nth}\">")).nth(1).expect("a curve");
            part.split("</g>").next().unwrap().contains("stroke=\"var(--quiet)\"")
        };
        let grey: Vec<usize> = (0..9).filter(|nth| of(*nth)).collect();
        assert_eq!(grey, [6, 7, 8]);
    }
}

#[test]
fn files_are_named_after_what_they_show_and_no_two_alike() {
    let document = document();
    let mut figure = document.figures()[0].clone();
    figure.id = "latency-64-b".into();
    let twin = figure.clone();
    let titled = Figure { subject: "Sizes: <b> & more".into(), ..figure.clone() };
    let names = file_names(&[&figure, &twin, &titled]);
    assert_eq!(names, ["latency-64-b.svg", "latency-64-b-2.svg", "sizes-b-more.svg"]);
}

#[test]
fn every_figure_has_a_name_of_its_own_and_a_sentence_below_it() {
    for document in documents() {
        let mut ids = BTreeSet::new();
        for figure in document.figures() {
            let id = &figure.id;
            assert!(ids.insert(id.clone()), "two figures called {id}");
            assert!(figure.caption.ends_with('.'), "{id}: {:?} is no sentence", figure.caption);
            assert!(figure.finding.is_empty() || figure.finding.ends_with('.'), "{id}");
            assert!(!figure.title.is_empty(), "{id} has no title");
            assert!(figure.protocol.is_some() || figure.points() > 0, "{id} shows nothing");
        }
    }
}
