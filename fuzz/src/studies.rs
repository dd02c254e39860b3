//! Studies and expressions: any text, and pieces of the program's own studies with lines and words changed. A
//! whole one of them takes a hundred times as long to read, and says nothing more.

use std::sync::OnceLock;

use model::catalogue::Catalogue;
use study::expression::Expression;
use study::validated::validate;

use crate::input::Input;

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| workload::catalogue(&[]))
}

pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(4) {
        0 => expression(&mut input),
        1 => check(&input.text()),
        _ => check(&changed(&mut input)),
    }
}

fn expression(input: &mut Input) {
    let unknown = input.below(4) == 0;
    let value = f64::from_bits(input.edge());
    let Ok(read) = Expression::parse(&input.text()) else { return };
    let found = read.value(&|_| (!unknown).then_some(value));
    assert!(found.is_none_or(f64::is_finite), "{read:?} is {found:?}");
}

/// A built-in study as its pieces: what each study needs, and what may stand in it as often as one likes.
struct Pieces {
    /// The sections that stand in it once.
    sections: Vec<&'static str>,
    /// Claims, tables, figures, printed figures, each with its own sections.
    items: Vec<&'static str>,
}

/// The longest piece that is taken, in bytes: the longest printed figures repeat one line.
const LONGEST: usize = 1_500;

fn built_in() -> &'static [Pieces] {
    static PIECES: OnceLock<Vec<Pieces>> = OnceLock::new();
    PIECES.get_or_init(|| {
        let all = study::builtin::all().into_iter();
        all.map(|(_, text)| {
            let (mut sections, mut items) = (Vec::new(), Vec::new());
            for piece in pieces(text).into_iter().filter(|piece| piece.len() <= LONGEST) {
                let one_of_many = piece.starts_with("[[");
                if one_of_many { &mut items } else { &mut sections }.push(piece);
            }
            Pieces { sections, items }
        })
        .collect()
    })
}

/// A study's text, cut before each section that is no part of the one before; without what is before the first.
fn pieces(text: &'static str) -> Vec<&'static str> {
    let mut cuts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_part = line.starts_with("[[") && line.contains('.');
        if line.starts_with('[') && !is_part {
            cuts.push(at);
        }
        at += line.len();
    }
    cuts.push(at);
    cuts.windows(2).map(|window| &text[window[0]..window[1]]).collect()
}

/// A study of some pieces, most of them of one built-in study, with lines replaced.
fn changed(input: &mut Input) -> String {
    let all = built_in();
    let own = &all[input.below(all.len())];
    let mut text = String::from("version = 1\ntitle = \"t\"\nquestion = \"q\"\n");
    own.sections.iter().for_each(|section| text.push_str(section));
    for _ in 0..input.below(4) {
        let of = if input.below(8) == 0 { &all[input.below(all.len())] } else { own };
        text.push_str(of.items[input.below(of.items.len())]);
    }
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let mut many = 0;
    while input.goes_on() && many < 8 {
        many += 1;
        let at = input.below(lines.len());
        let other = lines[input.below(lines.len())].clone();
        match input.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, other),
            2 => lines[at] = String::from_utf8_lossy(input.bytes()).into_owned(),
            3 => {
                // Another value.
                let new = String::from_utf8_lossy(input.bytes()).into_owned();
                let line = &mut lines[at];
                if let Some((name, _)) = line.split_once('=') {
                    *line = format!("{name}= {new}");
                }
            }
            4 => {
                // A number somewhere, at an edge.
                let edge = input.edge().to_string();
                let line = &mut lines[at];
                if let Some(digit) = line.find(|line: char| line.is_ascii_digit()) {
                    let end = line[digit..].find(|line: char| !line.is_ascii_digit());
                    line.replace_range(digit..end.map_or(line.len(), |end| digit + end), &edge);
                }
            }
            _ => lines.swap(at, 0),
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

fn check(text: &str) {
    match validate(text, "study.toml", catalogue()) {
        Ok(declared) => {
            // What is stored with a run is read again from there.
            let again = validate(text, "study.toml", catalogue()).expect("the same text");
            let json = |request| serde_json::to_string(request).expect("a request is always JSON");
            assert!(json(&declared.request) == json(&again.request), "read twice, it differs");
            let back: model::request::Request =
                serde_json::from_str(&json(&declared.request)).expect("a request");
            assert!(json(&back) == json(&declared.request), "stored and read, it differs");
        }
        Err(line) => assert!(line.starts_with("study.toml"), "it names no file: {line}"),
    }
}
