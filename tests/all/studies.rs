//! docs/STUDIES.md and docs/WORKS.md against the program: the example declares, and the tables hold every study,
//! claim, figure and table.

use std::collections::BTreeSet;

use study::builtin;
use study::format::PublishedFigure;
use study::validated::validate;

const TEXT: &str = include_str!("../../docs/STUDIES.md");

/// The fenced blocks of `language`.
fn fenced(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    TEXT.split(start.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn the_example_declares() {
    let examples = fenced("toml");
    assert_eq!(examples.len(), 1, "one example to copy");
    let declared = validate(examples[0], "docs/STUDIES.md", &workload::catalogue(&[])).unwrap();
    assert_eq!(declared.study.hypothesis.len(), 2);
    assert_eq!(declared.request.workloads[0].1.len(), 6, "1K to 1M by 4");
}

#[test]
fn the_table_asks_every_built_in_question_once() {
    let questions = TEXT.split("## The built-in ones").nth(1).unwrap();
    let questions = questions.split("###").next().unwrap();
    for (name, _) in builtin::all() {
        let row = format!("| `{name}` |");
        assert_eq!(questions.matches(&row).count(), 1, "{name}");
    }
}

#[test]
fn the_document_shows_the_headline_figures_as_they_are_printed() {
    // Percentiles and ranks are too many to repeat: of those only the medians are shown.
    let repeated = |figure: &&PublishedFigure| {
        figure.show.as_deref().is_none_or(|text| text == "p50" || text == "mean" || text == "total")
    };
    for (name, text) in builtin::all() {
        let declared = validate(text, name, &workload::catalogue(&[])).unwrap();
        for published in &declared.study.published {
            for figure in published.figures.iter().filter(repeated) {
                let printed = figure.as_printed();
                assert!(TEXT.contains(&printed), "{name}, `{}`: {printed}", published.name);
            }
        }
    }
}

const WORKS: &str = include_str!("../../docs/WORKS.md");

/// The numbers that a section names in code under `letter`: `c7`, and each of `c7-9`.
fn numbers(section: &str, letter: char) -> BTreeSet<usize> {
    let words = section.split('`').skip(1).step_by(2);
    let ranges = words.filter_map(|word| word.strip_prefix(letter)).filter_map(|text| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

#[test]
fn every_claim_figure_and_table_stands_in_the_rows_of_its_work() {
    for (name, text) in builtin::all() {
        let section = WORKS.split("\n## ").find(|part| part.starts_with(&format!("{name}:")));
        let section = section.unwrap_or_else(|| panic!("docs/WORKS.md: no section of {name}"));
        let study = validate(text, name, &workload::catalogue(&[])).unwrap().study;
        for (letter, many) in [
            ('c', study.hypothesis.len()),
            ('f', study.figure.len()),
            ('t', study.table.len()),
            ('b', study.floor.len()),
            ('s', study.search.len()),
        ] {
            assert_eq!(numbers(section, letter), (1..=many).collect(), "{name}: `{letter}…`");
        }
    }
}
