//! What the doctor found, by severity: `ipcmark doctor` shows it, and so does the report of a run.

use crate::{Block, Section, Table, Text};
use model::findings::{Finding, Level};

/// A section for each severity that occurs, the gravest first.
pub fn sections(findings: &[Finding]) -> Vec<Section> {
    let titles = [
        (Level::Warning, "serious", "Serious"),
        (Level::Note, "minor", "Minor"),
        (Level::Unknown, "unknown", "Not known here"),
        (Level::Fine, "fine", "As it should be"),
    ];
    let section = |(level, id, title): (Level, &str, &str)| {
        let these: Vec<&Finding> =
            findings.iter().filter(|finding| finding.level == level).collect();
        let blocks: Vec<Block> = match level {
            Level::Fine => vec![table(&these).into()],
            Level::Warning => these.iter().map(|finding| Block::Warning(text(finding))).collect(),
            _ => these.iter().map(|finding| Block::List(vec![text(finding)])).collect(),
        };
        (!these.is_empty()).then(|| Section::new(id, title).with_all(blocks))
    };
    titles.into_iter().filter_map(section).collect()
}

/// The same as blocks, each section's title before its own.
pub fn blocks(findings: &[Finding]) -> Vec<Block> {
    let titled = |section: Section| {
        let title = Block::paragraph(Text::new().strong(section.title));
        std::iter::once(title).chain(section.blocks)
    };
    sections(findings).into_iter().flat_map(titled).collect()
}

fn text(finding: &Finding) -> Text {
    let text = Text::new().strong(format!("{}: ", finding.check)).plain(sentence(&finding.found));
    let text = text.muted(format!(" Wanted: {} ", sentence(&finding.wanted)));
    let text = text.plain(sentence(&finding.effect)).strong(" Do: ");
    let text = with_names(text, &sentence(&finding.advice));
    match &finding.command {
        Some(command) => text.plain(" ").code(command),
        None => text,
    }
}

/// Appends words, with names between backticks as such.
fn with_names(text: Text, words: &str) -> Text {
    words.split('`').enumerate().fold(text, |text, (nth, part)| match nth % 2 {
        0 => text.plain(part),
        _ => text.code(part),
    })
}

/// Ends as a sentence does.
fn sentence(words: &str) -> String {
    let ends = words.ends_with(['.', '!', '?']);
    format!("{words}{}", if ends { "" } else { "." })
}

fn table(findings: &[&Finding]) -> Table {
    Table::of_each("", findings)
        .words("check", 0, |finding| Text::new().strong(&*finding.check))
        .words("found", 0, |finding| &*finding.found)
        .table()
}
