//! Markdown as GitHub shows it: verdicts and results as tables with their intervals. The
//! document is the one that a terminal shows.

use crate::judge::Judged;
use crate::report::compose::{Extent, compose};
use crate::report::{Align, Block, Document, Run, Table, Text, Verdict, VerdictKind};

/// The run, written up.
pub fn text(judged: &Judged) -> String {
    render(&compose(judged, Extent::Summary))
}

/// Any document, as Markdown.
pub fn render(document: &Document) -> String {
    let mut parts = vec![format!("# {}", plain(&document.title))];
    if !document.subtitle.is_empty() {
        parts.push(plain(&document.subtitle));
    }
    if !document.meta.is_empty() {
        parts.push(facts(&document.meta));
    }
    for section in &document.sections {
        parts.push(format!("## {}", plain(&section.title)));
        blocks(&section.blocks, &mut parts);
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

fn blocks(all: &[Block], parts: &mut Vec<String>) {
    let is_verdict = |block: &Block| matches!(block, Block::Verdict(_));
    for part in all.chunk_by(|a, b| is_verdict(a) && is_verdict(b)) {
        match &part[0] {
            Block::Verdict(_) => parts.push(verdicts(part)),
            Block::Paragraph(told) => parts.push(inline(told)),
            Block::Table(it) => table(it, parts),
            Block::Figure(it) => {
                parts.push(format!("*{}: drawn in the HTML report.*", plain(&it.title)));
            }
            Block::Facts(it) => parts.push(facts(it)),
            Block::Warning(told) => parts.push(format!("> [!WARNING]\n> {}", inline(told))),
            Block::List(points) => {
                let points = points.iter().map(|it| format!("- {}", inline(it)));
                parts.push(points.collect::<Vec<_>>().join("\n"));
            }
            Block::Details { summary, blocks: folded } => {
                parts.push(format!("<details><summary>{}</summary>", plain(&summary.to_plain())));
                blocks(folded, parts);
                parts.push("</details>".into());
            }
        }
    }
}

/// Verdicts that follow each other are one table.
fn verdicts(blocks: &[Block]) -> String {
    let sign = |verdict: &Verdict| match verdict.kind {
        VerdictKind::Good => "✓",
        VerdictKind::Bad => "✗",
        VerdictKind::Neutral => "=",
        VerdictKind::Unknown => "?",
    };
    let mut lines = vec![cells(["", "finding", "how sure"]), cells([":-:", "---", "---"])];
    for block in blocks {
        if let Block::Verdict(it) = block {
            lines.push(cells([sign(it), &inline(&it.headline), &inline(&it.detail)]));
        }
    }
    lines.join("\n")
}

fn table(table: &Table, parts: &mut Vec<String>) {
    if !table.caption.is_empty() {
        parts.push(format!("**{}**", plain(&table.caption)));
    }
    let rule = |align| match align {
        Align::Left => "---",
        Align::Right => "--:",
        Align::Center => ":-:",
    };
    let mut lines = vec![
        cells(table.columns.iter().map(|it| plain(&it.heading()))),
        cells(table.columns.iter().map(|it| rule(it.align))),
    ];
    for row in &table.rows {
        let of = |nth| row.cells.get(nth).map_or(String::new(), inline);
        lines.push(cells((0..table.columns.len()).map(of)));
    }
    parts.push(lines.join("\n"));
    parts.extend(table.notes.iter().map(inline));
}

fn facts(facts: &[(String, String)]) -> String {
    let mut lines = vec![cells(["", ""]), cells(["---", "---"])];
    lines.extend(facts.iter().map(|(key, value)| cells([plain(key), plain(value)])));
    lines.join("\n")
}

fn cells<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|it| format!(" {} |", it.as_ref())).collect();
    format!("|{}", cells.concat())
}

/// A text with its meanings as marks. Spaces at the ends of a run stay outside of its marks,
/// inside which they would undo them.
fn inline(text: &Text) -> String {
    let mut out = String::new();
    for run in &text.runs {
        let words = run.as_str();
        let inner = words.trim();
        if inner.is_empty() {
            out.push_str(words);
            continue;
        }
        let start = words.len() - words.trim_start().len();
        out.push_str(&words[..start]);
        out.push_str(&match run {
            Run::Plain(_) => plain(inner),
            Run::Strong(_) => format!("**{}**", plain(inner)),
            Run::Code(_) => code(inner),
            Run::Muted(_) => format!("*{}*", plain(inner)),
        });
        out.push_str(&words[start + inner.len()..]);
    }
    out
}

/// Words in which nothing is a mark.
fn plain(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '<' | '>' | '|' | '~' | '#' => out.extend(['\\', c]),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.replace("](", "]\\(")
}

fn code(words: &str) -> String {
    let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = words.replace('|', "\\|");
    match words.contains('`') {
        true => format!("`` {words} ``"),
        false => format!("`{words}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Column, Row, Section};

    #[test]
    fn nothing_that_a_user_typed_becomes_a_mark() {
        let text = Text::new().plain("a|b *c* <d> [e](f)").strong(" g ").code("h|i `j`");
        let expected = "a\\|b \\*c\\* \\<d\\> [e]\\(f) **g** `` h\\|i `j` ``";
        assert_eq!(inline(&text), expected);
    }

    #[test]
    fn every_row_has_every_cell() {
        let table = Table {
            caption: "sizes".into(),
            columns: vec![Column::text("name", 0), Column::number("64 B", 0)],
            rows: vec![Row::new(["a|b", "1"]), Row::new(["c"])],
            notes: vec!["noted".into()],
        };
        let mut document = Document::new("T");
        document.sections.push(Section::new("s", "S").with(table));
        let expected = "# T\n\n## S\n\n**sizes**\n\n| name | 64 B |\n| --- | --: |\n\
                        | a\\|b | 1 |\n| c |  |\n\nnoted\n";
        assert_eq!(render(&document), expected);
    }
}
