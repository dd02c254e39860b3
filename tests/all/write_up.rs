//! A study as a document: Markdown with pictures, Typst source, a PDF of the asked form. Nothing
//! that a user types becomes a command of any of them.
//!
//! The PDF needs a Typst compiler, and poppler's tools to look into it; without them these tests
//! say that they skipped.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli_support::{Bench, Said, flat, has, output};

/// Words that mean something to Typst, Markdown and HTML.
const HOSTILE: &str = "#panic(1) $x$ *a* _b_ `c` <d> @e [f](g) ] ) \\\\ // \\u0022 ~ & |";

/// A study of few and quick cases; `paper` is its form, `more` further tables.
fn study(paper: &str, more: &str) -> String {
    format!(
        r#"version = 1
title = "A ring against a socket, {HOSTILE}"
question = "Which is quicker on one CPU? {HOSTILE}"
critique = ["Twelve launches are few. {HOSTILE}", "- No list: 1. of one machine only."]
[source]
title = "None {HOSTILE}"
author = "nobody {HOSTILE}"
{paper}
[variables]
cause = {{ mechanism = "the way {HOSTILE}" }}
effect = {{ latency = "round trip" }}
[fixed]
placement = "same-cpu"
size = "64"
launches = 12
samples = 300
budget = "60s"
[vary]
mechanism = ["shm-ring", "tcp"]
memory = ["free", "node:63"]
[[hypothesis]]
statement = "The ring is quicker than TCP {HOSTILE}"
test = "faster"
left = {{ mechanism = "shm-ring", memory = "free" }}
right = {{ mechanism = "tcp", memory = "free" }}
claimed = "everywhere {HOSTILE}"
[[hypothesis]]
statement = "On a node that is far away it is the other way round"
test = "faster"
left = {{ mechanism = "tcp", memory = "node:63" }}
right = {{ mechanism = "shm-ring", memory = "node:63" }}
[[figure]]
title = "Round trips drawn {HOSTILE}"
kind = "bars"
x = "mechanism"
caption = "Medians. {HOSTILE}"
[[table]]
title = "Round trips {HOSTILE}"
rows = "mechanism"
show = ["median", "min", "mean"]
{more}"#
    )
}

/// A bench with a stored run of a study.
fn measured(paper: &str, more: &str) -> Bench {
    let bench = Bench::new();
    bench.put("small.toml", study(paper, more));
    bench.must("-q study run ./small.toml --seed 5");
    bench
}

/// The program with the tests' own PATH, where a compiler may be.
fn with_path(bench: &Bench, line: &str) -> Said {
    let mut command = bench.line(line);
    for name in ["PATH", "PYENV_ROOT", "PYENV_VERSION"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    output(&mut command)
}

fn answers(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether a PDF can be made and read here; None where it can't, said aloud.
fn can_print(test: &str) -> Option<()> {
    let compiler =
        answers(&["typst", "--version"]) || answers(&["python3", "-I", "-c", "import typst"]);
    let poppler =
        ["pdfinfo", "pdffonts", "pdftotext"].into_iter().all(|text| answers(&[text, "-v"]));
    if !compiler || !poppler {
        eprintln!(
            "SKIPPED {test}: no {}",
            if compiler { "poppler-utils" } else { "Typst compiler" }
        );
    }
    (compiler && poppler).then_some(())
}

fn tool(words: &[&str], file: &Path) -> String {
    let made = Command::new(words[0]).args(&words[1..]).arg(file).arg("-").output();
    let made = match words[0] {
        "pdftotext" => made,
        _ => Command::new(words[0]).args(&words[1..]).arg(file).output(),
    };
    String::from_utf8(made.expect("run poppler").stdout).expect("UTF-8")
}

/// Left, top, right and bottom of every word, page by page, in points.
fn words_of(pdf: &Path) -> Vec<Vec<([f64; 4], String)>> {
    let text = tool(&["pdftotext", "-bbox"], pdf);
    let of = |line: &str, name: &str| -> f64 {
        let rest = line.split(&format!("{name}=\"")).nth(1).expect("a coordinate");
        rest.split('"').next().and_then(|part| part.parse().ok()).expect("a number")
    };
    let word = |line: &str| {
        let place = ["xMin", "yMin", "xMax", "yMax"].map(|name| of(line, name));
        let word =
            line.split('>').nth(1).and_then(|part| part.split('<').next()).unwrap_or_default();
        (place, word.to_string())
    };
    let pages = text.split("<page ").skip(1);
    pages
        .map(|page| page.lines().filter(|line| line.contains("<word ")).map(word).collect())
        .collect()
}

const TABLES: usize = 36;

/// More tables than six pages hold.
fn many_tables() -> String {
    let table = |nth: usize| {
        format!(
            "[[table]]\ntitle = \"Again, number {nth}\"\nrows = \"mechanism\"\nshow = [\"median\", \
             \"min\", \"q1\", \"q3\", \"max\", \"mean\"]\n"
        )
    };
    (1..=TABLES).map(table).collect()
}

#[test]
fn the_assignments_form_holds_in_the_pdf() {
    let Some(()) = can_print("the_assignments_form_holds_in_the_pdf") else { return };
    let bench =
        measured("[paper]\nform = \"assignment\"\nauthor = \"A. Student\"\n", &many_tables());
    with_path(&bench, "report last --pdf paper.pdf").ends(0);
    let pdf = bench.path("paper.pdf");
    let info = tool(&["pdfinfo"], &pdf);
    let value = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key)).expect(key);
        line[key.len()..].trim().to_string()
    };
    let pages: usize = value("Pages:").parse().expect("a number");
    assert!((2..=6).contains(&pages), "{pages} pages");
    assert!(value("Page size:").starts_with("612 x 792"), "{info}");
    let fonts = tool(&["pdffonts"], &pdf);
    let listed: Vec<&str> = fonts.lines().skip(2).collect();
    let embedded = listed.iter().all(|text| text.contains(" yes "));
    assert!(fonts.contains("Serif") && embedded, "{fonts}");

    let pages = words_of(&pdf);
    let all: Vec<&([f64; 4], String)> = pages.iter().flatten().collect();
    for ([left, _, right, _], word) in &all {
        assert!(*left >= 71.5 && *right <= 540.5, "{word}: {left} to {right}");
    }
    for page in &pages {
        // The lowest line is the page's number, which stands in the margin.
        let (number, body) = page.split_last().expect("a page has words");
        assert!(number.0[1] > 720.0 && number.1.parse::<u32>().is_ok(), "{number:?}");
        let inside = |pair: &&([f64; 4], String)| pair.0[1] < 69.0 || pair.0[3] > 723.0;
        assert_eq!(body.iter().find(inside), None, "outside of the margins");
    }
    let steps = line_steps(&pages[0]);
    let eighteen = steps.iter().filter(|step| (**step - 18.0).abs() < 0.1).count();
    assert!(eighteen >= 8, "lines of the first page are 18 pt apart: {steps:?}");
    let text = tool(&["pdftotext", "-layout"], &pdf);
    has(&text, &["Left out, because the form allows no more pages", "A. Student", "References"]);
    let kept = (1..=TABLES).filter(|nth| text.contains(&format!(": Again, number {nth}."))).count();
    // Three of six pages hold words; the others have room for six: a figure, and the first tables.
    assert_eq!(kept, 4, "tables beside the study's own one and its figure");
    let kept_first = (1..=kept).all(|nth| text.contains(&format!(": Again, number {nth}.")));
    assert!(kept_first, "what is declared last goes first");
}

#[test]
fn a_paper_that_no_omission_makes_short_enough_is_an_error() {
    let Some(()) = can_print("a_paper_that_no_omission_makes_short_enough_is_an_error") else {
        return;
    };
    let words = "A sentence that its author could not part with. ".repeat(60);
    let paper = format!("[paper]\nform = \"assignment\"\npages = 1\nintroduction = [{words:?}]\n");
    let bench = measured(&paper, "");
    let said = with_path(&bench, "report last --pdf paper.pdf").ends(1);
    let line = said.err.trim_end();
    assert!(line.contains("where 1 were asked") && line.contains("or ask for --pages"), "{line}");
    let most = line
        .rsplit(' ')
        .next()
        .expect("a number")
        .trim_matches(|sign: char| !sign.is_ascii_digit());
    with_path(&bench, &format!("report last --pdf paper.pdf --pages {most}")).ends(0);
}

/// The claims rest on the figures: these are placed before the section that holds the table of claims begins.
#[test]
#[ignore = "long form"]
fn what_floats_in_a_paper_is_placed_before_the_next_section() {
    let bench = measured("[paper]\nform = \"assignment\"\n", "");
    let source = bench.must("report last --format typst").out;
    let before: Vec<&str> = source.split("\n= ").collect();
    let (_last, before) = before.split_last().expect("sections");
    assert!(before.len() >= 5, "introduction to conclusions: {source}");
    for part in before {
        assert!(part.trim_end().ends_with("#place.flush()"), "{part}");
    }
    let claims = source.find("<table-claims>").expect("a table of claims");
    let figure = source.rfind("kind: image").expect("a figure");
    assert!(figure < claims, "{source}");
}

/// From the top of each line to the next one's, where the text runs on.
fn line_steps(words: &[([f64; 4], String)]) -> Vec<f64> {
    let mut tops: Vec<f64> = words.iter().map(|word| word.0[1]).collect();
    tops.dedup_by(|a, b| (*a - *b).abs() < 0.1);
    tops.windows(2).map(|window| window[1] - window[0]).collect()
}

#[test]
fn what_a_user_types_is_printed_as_it_is() {
    let Some(()) = can_print("what_a_user_types_is_printed_as_it_is") else { return };
    let bench = measured("", "");
    let said = with_path(&bench, "report last --pdf paper.pdf");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let text = tool(&["pdftotext"], &bench.path("paper.pdf"));
    let text = flat(&text);
    for sign in ["#panic(1) $x$ *a* _b_", "<d> @e [f](g) ] ) \\ //", "~ & |", "- No list: 1. of"] {
        assert!(text.contains(sign), "{sign}: {text}");
    }
}

#[test]
fn without_a_compiler_nothing_is_measured_and_the_remedy_is_named() {
    let bench = Bench::new();
    bench.put("small.toml", study("", ""));
    output(bench.line("-q study run ./small.toml --pdf").env("PATH", bench.path("nothing")))
        .fails(5, &["pip install typst", "nothing was measured"]);
    assert!(!bench.store().exists() && !bench.path("small.pdf").exists());
    output(bench.line("-q run pipe --pdf run.pdf").env("PATH", bench.path("nothing")))
        .fails(5, &[]);
    assert!(!bench.store().exists() && !bench.path("run.pdf").exists());
    // Of a stored run, the command that shows it later is printed.
    bench.must("-q study run ./small.toml --seed 5");
    let said =
        output(bench.line("-q report last --pdf small.pdf").env("PATH", bench.path("nothing")))
            .ends(5);
    assert!(said.err.contains("pip install typst") && said.err.contains("the run is stored"));
}

#[test]
fn a_run_is_printed_on_four_pages_and_on_as_many_as_asked() {
    let Some(()) = can_print("a_run_is_printed_on_four_pages_and_on_as_many_as_asked") else {
        return;
    };
    let bench = Bench::new();
    bench.must(
        "run pipe fifo tcp eventfd noop -s 64,1K,4K,64K -w latency -p same-cpu,free --launches 5 \
         --samples 60 --warmup 5 -q",
    );
    let pages = |line: &str| {
        with_path(&bench, line).ends(0);
        words_of(&bench.path("run.pdf"))
    };
    let four = pages("-q report last --pdf run.pdf");
    assert!(four.len() <= 4, "{} pages", four.len());
    let (title, first) = (&four[0][0], &four[0]);
    assert_eq!(title.1, "How", "the title stands above everything: {title:?}");
    assert!(first.iter().all(|pair| pair.0[1] >= title.0[1] - 1.0), "nothing floats above it");
    for page in &four {
        assert!(page.iter().all(|pair| pair.0[2] <= 541.8), "nothing leaves the margins");
    }
    assert!(pages("-q report last --pdf run.pdf --pages 1").len() <= 2);
    assert!(pages("-q report last --pdf run.pdf --pages all").len() > 4);
}

#[test]
#[ignore = "long form"]
fn markdown_has_its_pictures_beside_or_inside() {
    let bench = measured("", "");
    bench.must("report last --format markdown -o paper.md");
    let text = bench.read("paper.md");
    let picture = text.split("](paper.md.figures/").nth(1).and_then(|part| part.split(')').next());
    let picture = picture.expect("a picture");
    assert!(picture.starts_with("round-trips-drawn-"), "named after what it shows: {picture}");
    let drawn = bench.path("paper.md.figures").join(picture);
    let drawn = std::fs::read_to_string(drawn).expect("a picture");
    assert!(drawn.starts_with("<svg"), "{drawn}");
    let titles: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    let expected = [
        "## Abstract",
        "## 1 Introduction",
        "## 2 Variables and hypotheses",
        "## 3 Method",
        "## 4 Results",
        "## 5 Discussion",
        "## 6 Conclusions",
        "## References",
    ];
    assert_eq!(titles, expected);
    for label in ["Figure 1", "Table 1", "Table 2", "Table 3"] {
        let count = text.matches(label).count();
        assert!(count >= 2, "{label} is shown and referred to: {count}\n{text}");
    }
    assert!(text.contains("| 1 | The ring is quicker than TCP"), "{text}");
    assert!(text.contains("\\*a\\*") && !text.contains(" <d>"), "{text}");
    has(&bench.must("report last --format markdown").out, &["](data:image/svg+xml,%3Csvg"]);
}

/// A table of places beside a printed order, and two figures of boxes.
const PLACES: &str = r#"
[[table]]
title = "Places"
rows = "size"
among = [{ mechanism = "shm-ring" }, { mechanism = "tcp" }]
beside = "there"
[[published]]
name = "there"
machine = "another"
place = "Table 9"
unit = "rank"
statistic = "rank"
figures = [
  { mechanism = "tcp", size = "64", show = "place", value = 1 },
  { mechanism = "shm-ring", size = "64", show = "place", value = 2 },
]
[[figure]]
title = "Boxes of one"
kind = "boxes"
x = "size"
only = { mechanism = "tcp" }
[[figure]]
title = "Boxes of the other"
kind = "boxes"
x = "size"
only = { mechanism = "shm-ring" }
"#;

#[test]
fn what_goes_without_among_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    let wrong = PLACES.replace("rows = \"size\"\n", "rows = \"size\"\nshow = [\"median\"]\n");
    bench.put("small.toml", study("", &wrong));
    bench.run("study run ./small.toml").fails(2, &["small.toml:", "among"]);
}

#[test]
fn a_form_that_is_none_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    for (paper, word) in [
        ("form = \"asignment\"", "`assignment`"),
        ("font = \"ten\"", "not such a length"),
        ("pages = 0", "whole number of pages"),
        ("margins = \"1in\"", "`margin`"),
    ] {
        let text = study(&format!("[paper]\n{paper}\n"), "");
        bench.put("small.toml", text);
        let said = bench.run("study run ./small.toml");
        assert_eq!((said.code, said.err.lines().count()), (Some(2), 1), "{paper}: {}", said.err);
        assert!(said.err.contains("small.toml:") && said.err.contains(word), "{}", said.err);
    }
    assert!(!bench.store().exists());
}
