//! Markdown as GitHub shows it: verdicts and tables, and pictures where there is a place for
//! them. Any document can be written so.

use super::document::{Align, Block, Document, Run, Table, Text};
use super::figure::Figure;

/// Any document, with a line in the place of each figure.
pub fn render(document: &Document) -> String {
    write(document, &mut |figure| format!("*{}: drawn in the HTML report.*", plain(&figure.title)))
}

/// Any document with its figures, each as a picture at the address that `place` gives for its
/// number, from 1 on.
pub fn illustrated(document: &Document, place: impl Fn(usize, &Figure) -> String) -> String {
    let mut number = 0;
    write(document, &mut |figure| {
        number += 1;
        let seen = [figure.title.as_str(), &figure.finding].join(" ");
        let picture = format!("![{}]({})", plain(seen.trim()), place(number, figure));
        let words = [plain(&figure.caption), plain(&figure.finding)].join(" ");
        format!("{picture}\n\n**{}.** {}", plain(&figure.title), words.trim())
    })
}

/// A picture as its own address, for a document that has no folder beside it.
pub fn as_address(svg: &str) -> String {
    format!("data:image/svg+xml,{}", escaped(svg))
}

/// A path as an address: what has a meaning in addresses or in Markdown is escaped.
pub fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

fn write(document: &Document, draw: &mut dyn FnMut(&Figure) -> String) -> String {
    let document = document.labelled();
    let mut parts = vec![format!("# {}", plain(&document.title))];
    for line in [&document.byline, &document.subtitle] {
        parts.push(plain(line));
    }
    if !document.meta.is_empty() {
        parts.push(facts(&document.meta));
    }
    for section in &document.sections {
        parts.push(format!("## {}", plain(&section.title)));
        blocks(&section.blocks, &mut parts, draw);
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

fn blocks(all: &[Block], parts: &mut Vec<String>, draw: &mut dyn FnMut(&Figure) -> String) {
    let is_verdict = |block: &Block| matches!(block, Block::Verdict(_));
    for part in all.chunk_by(|a, b| is_verdict(a) && is_verdict(b)) {
        match &part[0] {
            Block::Verdict(_) => parts.push(verdicts(part)),
            Block::Paragraph(text) => parts.push(begun(inline(text))),
            Block::Table(it) => table(it, parts),
            Block::Listing(it) => table(&it.table(), parts),
            Block::Figure(it) => parts.push(draw(it)),
            Block::Facts(it) => parts.push(facts(it)),
            Block::Warning(text) => parts.push(format!("> [!WARNING]\n> {}", inline(text))),
            Block::List(points) => {
                let points = points.iter().map(|point| format!("- {}", begun(inline(point))));
                parts.push(points.collect::<Vec<_>>().join("\n"));
            }
            Block::Details { summary, blocks: folded } => {
                parts.push(format!("<details><summary>{}</summary>", plain(&summary.to_plain())));
                blocks(folded, parts, draw);
                parts.push("</details>".into());
            }
        }
    }
}

/// Verdicts that follow each other are one table.
fn verdicts(blocks: &[Block]) -> String {
    let mut lines = vec![cells(["", "finding", "how sure"]), cells([":-:", "---", "---"])];
    for block in blocks {
        if let Block::Verdict(it) = block {
            lines.push(cells([it.kind.sign(), &inline(&it.headline), &inline(&it.detail)]));
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
    };
    let mut lines = vec![
        cells(table.columns.iter().map(|column| plain(&column.heading()))),
        cells(table.columns.iter().map(|column| rule(column.align))),
    ];
    for row in &table.rows {
        let of = |nth| {
            let cell = row.cells.get(nth).map_or(String::new(), inline);
            match row.emphasis.sign().filter(|_| nth == 0) {
                Some(sign) => format!("{sign} {cell}"),
                None => cell,
            }
        };
        lines.push(cells((0..table.columns.len()).map(of)));
    }
    parts.push(lines.join("\n"));
    parts.extend(table.notes.iter().map(inline));
}

fn facts(facts: &[(String, String)]) -> String {
    let mut lines = vec![cells(["", ""]), cells(["---", "---"])];
    lines.extend(
        facts.iter().map(|(key, value)| cells([plain(key), inline(&Text::from(value.as_str()))])),
    );
    lines.join("\n")
}

fn cells<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<String> =
        cells.into_iter().map(|cell| format!(" {} |", cell.as_ref())).collect();
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
            prose if prose.is_prose() => inline(&Text::of_prose(inner)),
            Run::Plain(_) | Run::Link { .. } => plain(inner),
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
    // A reference that is defined nowhere stays as it is; these two would not.
    out.replace("](", "]\\(").replace("]:", "]\\:")
}

/// A block whose first letters make it no list and no rule: `1. `, `- `, `+ `, `===`.
fn begun(block: String) -> String {
    let digits = block.bytes().take_while(u8::is_ascii_digit).count();
    let at = match block.as_bytes().get(digits) {
        Some(b'.' | b')') if (1..10).contains(&digits) => digits,
        Some(b'-' | b'+' | b'=') if digits == 0 => 0,
        _ => return block,
    };
    format!("{}\\{}", &block[..at], &block[at..])
}

fn code(words: &str) -> String {
    let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words = words.replace('|', "\\|");
    if words.contains('`') { format!("`` {words} ``") } else { format!("`{words}`") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Row, Section};

    #[test]
    fn nothing_that_a_user_typed_becomes_a_mark() {
        let text = Text::new().plain("a|b *c* <d> [e](f)").strong(" g ").code("h|i `j`");
        let expected = "a\\|b \\*c\\* \\<d\\> [e]\\(f) **g** `` h\\|i `j` ``";
        assert_eq!(inline(&text), expected);
    }

    #[test]
    fn a_paragraph_begins_no_list_and_pictures_have_addresses() {
        let begins = ["1. a", "- a", "+ a", "=== a", "1970 a"];
        let lines = begins.map(|text| begun(plain(text)));
        assert_eq!(lines, ["1\\. a", "\\- a", "\\+ a", "\\=== a", "1970 a"]);
        assert_eq!(escaped("a b(c).figures/d.svg"), "a%20b%28c%29.figures/d.svg");
        assert_eq!(as_address("<svg/>"), "data:image/svg+xml,%3Csvg/%3E");
    }

    #[test]
    fn every_row_has_every_cell() {
        let table = Table {
            id: String::new(),
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
