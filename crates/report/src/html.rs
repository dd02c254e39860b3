//! The document as one page that works offline: styles, script, pictures and data are inside it.
//!
//! The page may load nothing: its content security policy names its script by its digest and
//! forbids everything else, so a name that slipped through the escaping still could not run.
//! The figures are drawn here; the script lets a reader point at them, zoom in, hide series, see their
//! values and take them along, and it builds the list of all results. Without it figures are complete.

pub(super) mod escape;
mod figure;
mod listing;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::document::{
    Align, Block, Column, Document, Emphasis, Row, Run, Section, Table, Target, Text, Verdict,
};
use super::figure::VerdictKind;
use escape::{escape, sentence, slug};

const STYLE: &str = include_str!("assets/report.css");
const SCRIPT: &str = concat!(
    include_str!("assets/numbers.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/report.js")
);

/// Every page holds it near its beginning, and so tells that it is one of these.
pub const MARK: &str = "<meta name=\"generator\" content=\"ipcmark ";

/// Facts shown before the rest is folded.
const FACTS_SHOWN: usize = 12;

/// The longest name that is kept on one line; it fits a phone.
const UNBROKEN: usize = 24;

/// Renders a document as one self-contained page.
pub fn render(document: &Document) -> String {
    let document = &*document.labelled();
    let lives = |block: &&Block| matches!(block, Block::Figure(_) | Block::Listing(_));
    let lives = document.blocks().iter().any(lives);
    let mut out = String::with_capacity(if lives { 400_000 } else { 60_000 });
    head(&mut out, document, lives);
    navigation(&mut out, &document.sections);
    out.push_str("<main id=\"main\">\n");
    masthead(&mut out, document);
    for section in &document.sections {
        let (id, title) = (slug(&section.id), escape(&section.title));
        out.push_str(&format!("<section id=\"{id}\">\n<h2>{title}</h2>\n"));
        blocks(&mut out, &section.blocks);
        out.push_str("</section>\n");
    }
    foot(&mut out, lives);
    out
}

/// The SHA-256 digest of a script in base64, by which a content security policy names it.
fn digest(script: &str) -> String {
    STANDARD.encode(Sha256::digest(script))
}

/// The policy of the page: its own script by digest, styles inside the page, nothing else.
fn policy(lives: bool) -> String {
    let scripts = if lives { format!("'sha256-{}'", digest(SCRIPT)) } else { "'none'".to_string() };
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; \
         connect-src 'none'; base-uri 'none'; form-action 'none'"
    )
}

fn head(out: &mut String, document: &Document, lives: bool) {
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    let policy = policy(lives);
    out.push_str(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         {MARK}{}\">\n<title>{}</title>\n",
        env!("CARGO_PKG_VERSION"),
        escape(&document.title),
    ));
    out.push_str(&format!("<style>\n{STYLE}</style>\n"));
    out.push_str("</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the report</a>\n");
    out.push_str("<div class=\"page\">\n");
}

fn navigation(out: &mut String, sections: &[Section]) {
    out.push_str("<nav aria-label=\"Sections\"><ol>\n");
    for section in sections {
        let (id, title) = (slug(&section.id), escape(&section.title));
        out.push_str(&format!("<li><a href=\"#{id}\">{title}</a></li>\n"));
    }
    out.push_str("</ol></nav>\n");
}

fn masthead(out: &mut String, document: &Document) {
    out.push_str("<header>\n<button id=\"theme\" type=\"button\" hidden>Dark</button>\n");
    out.push_str(&format!("<h1>{}</h1>\n", escape(&document.title)));
    if !document.byline.is_empty() {
        out.push_str(&format!("<p class=\"subtitle\">{}</p>\n", escape(&document.byline)));
    }
    if !document.subtitle.is_empty() {
        out.push_str(&format!("<p class=\"subtitle\">{}</p>\n", escape(&document.subtitle)));
    }
    if !document.meta.is_empty() {
        out.push_str("<dl class=\"meta\">\n");
        for (key, value) in &document.meta {
            let (key, value) = (escape(key), escape(value));
            out.push_str(&format!("<div><dt>{key}</dt><dd>{value}</dd></div>\n"));
        }
        out.push_str("</dl>\n");
    }
    out.push_str("</header>\n");
}

fn foot(out: &mut String, lives: bool) {
    let version = env!("CARGO_PKG_VERSION");
    out.push_str(&format!(
        "<footer>\n<p>Written by ipcmark {version}. This page is complete in one file and loads \
         nothing.</p>\n"
    ));
    out.push_str("</footer>\n</main>\n</div>\n");
    if lives {
        out.push_str(&format!("<script>{SCRIPT}</script>\n"));
    }
    out.push_str("</body>\n</html>\n");
}

/// Blocks in order; verdicts that follow each other stand side by side.
fn blocks(out: &mut String, blocks: &[Block]) {
    let mut among_verdicts = false;
    for item in blocks {
        let verdict = matches!(item, Block::Verdict(_));
        if verdict != among_verdicts {
            out.push_str(if verdict { "<div class=\"verdicts\">\n" } else { "</div>\n" });
            among_verdicts = verdict;
        }
        block(out, item);
    }
    if among_verdicts {
        out.push_str("</div>\n");
    }
}

fn block(out: &mut String, block: &Block) {
    match block {
        Block::Paragraph(text) => out.push_str(&format!("<p>{}</p>\n", inline(text))),
        Block::Verdict(item) => verdict(out, item),
        Block::Table(item) => table(out, item),
        Block::Listing(item) => {
            out.push_str("<div class=\"table listing\">\n");
            listing::write(out, item);
            notes(out, &item.notes);
            out.push_str("</div>\n");
        }
        Block::Figure(item) => figure::write(out, item),
        Block::Facts(items) => facts(out, items),
        Block::Warning(text) => out.push_str(&format!(
            "<div class=\"warning\" role=\"note\"><span class=\"sign\" aria-hidden=\"true\">!</span>\
             <span><span class=\"unseen\">Warning: </span>{}</span></div>\n",
            inline(text)
        )),
        Block::List(points) => {
            out.push_str("<ul class=\"points\">\n");
            for point in points {
                out.push_str(&format!("<li>{}</li>\n", inline(point)));
            }
            out.push_str("</ul>\n");
        }
        Block::Details { summary, blocks: folded } => {
            out.push_str(&format!("<details><summary>{}</summary>\n", inline(summary)));
            blocks(out, folded);
            out.push_str("</details>\n");
        }
    }
}

fn inline(text: &Text) -> String {
    let mut out = String::new();
    for run in &text.runs {
        let words = sentence(run.as_str());
        match run {
            prose if prose.is_prose() => out.push_str(&inline(&Text::of_prose(prose.as_str()))),
            Run::Plain(_) => out.push_str(&words),
            Run::Strong(_) => out.push_str(&format!("<strong>{words}</strong>")),
            // A short name is not broken at its dashes; a long command line may be.
            Run::Code(name) if name.len() <= UNBROKEN => {
                out.push_str(&format!("<code class=\"name\">{words}</code>"));
            }
            Run::Code(_) => out.push_str(&format!("<code>{words}</code>")),
            Run::Muted(_) => out.push_str(&format!("<span class=\"muted\">{words}</span>")),
            Run::Link { to, .. } => {
                let place = match to {
                    Target::Figure(id) => format!("#figure-{}", slug(id)),
                    Target::Table(id) => format!("#table-{}", slug(id)),
                    Target::Work(_) => "#references".to_string(),
                    // A path, whatever it is called: no name is an address of its own.
                    Target::Page(name) => format!("./{}", escape(name)),
                };
                out.push_str(&format!("<a href=\"{place}\">{words}</a>"));
            }
        }
    }
    out
}

fn verdict(out: &mut String, verdict: &Verdict) {
    let (class, words) = match verdict.kind {
        VerdictKind::Good => ("good", "In favour"),
        VerdictKind::Bad => ("bad", "Against"),
        // What is equivalent says so itself.
        VerdictKind::Neutral => ("neutral", ""),
        VerdictKind::Unknown => ("unknown", "Undecided"),
    };
    let sign = verdict.kind.sign();
    // What the sign says, for who doesn't see it; a headline may begin with the word.
    let is_said = verdict.headline.to_plain().starts_with(words);
    let unseen = if is_said { String::new() } else { format!("{words}: ") };
    out.push_str(&format!(
        "<div class=\"verdict {class}\"><p class=\"headline\"><span class=\"sign\" \
         aria-hidden=\"true\">{sign}</span><span><span class=\"unseen\">{unseen}</span>{}</span></p>",
        inline(&verdict.headline)
    ));
    if !verdict.detail.is_empty() {
        out.push_str(&format!("<p class=\"detail\">{}</p>", inline(&verdict.detail)));
    }
    out.push_str("</div>\n");
}

fn facts(out: &mut String, facts: &[(String, String)]) {
    let fold = facts.len() > FACTS_SHOWN + 2;
    let (shown, folded) = facts.split_at(if fold { FACTS_SHOWN } else { facts.len() });
    fact_list(out, shown);
    if fold {
        out.push_str(&format!("<details><summary>{} more</summary>\n", folded.len()));
        fact_list(out, folded);
        out.push_str("</details>\n");
    }
}

fn fact_list(out: &mut String, facts: &[(String, String)]) {
    out.push_str("<dl class=\"facts\">\n");
    for (key, value) in facts {
        out.push_str(&format!(
            "<dt>{}</dt><dd>{}</dd>\n",
            escape(key),
            inline(&Text::from(value.as_str()))
        ));
    }
    out.push_str("</dl>\n");
}

fn table(out: &mut String, table: &Table) {
    let id = if table.id.is_empty() {
        String::new()
    } else {
        format!(" id=\"table-{}\"", slug(&table.id))
    };
    out.push_str(&format!(
        "<div class=\"table\"{id}><div class=\"scroll\" tabindex=\"0\" role=\"group\""
    ));
    out.push_str(&format!(
        " aria-label=\"{}\"><table{}>\n",
        escape(&table.caption),
        if is_prose(&table.columns) { " class=\"prose\"" } else { "" }
    ));
    if !table.caption.is_empty() {
        out.push_str(&format!("<caption><span>{}</span></caption>\n", escape(&table.caption)));
    }
    out.push_str("<thead><tr>");
    for column in &table.columns {
        let unit = column.unit.as_ref().map(|unit| format!(" ({})", escape(unit)));
        out.push_str(&format!(
            "<th scope=\"col\"{}>{}<span class=\"unit\">{}</span></th>",
            class(column.align),
            escape(&column.name),
            unit.unwrap_or_default()
        ));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let signed = table.rows.iter().any(|row| sign(row.emphasis).is_some());
    for row in &table.rows {
        table_row(out, &table.columns, row, signed);
    }
    out.push_str("</tbody></table></div>\n");
    notes(out, &table.notes);
    out.push_str("</div>\n");
}

fn notes(out: &mut String, notes: &[Text]) {
    if !notes.is_empty() {
        out.push_str("<ul class=\"notes\">\n");
        for note in notes {
            out.push_str(&format!("<li>{}</li>\n", inline(note)));
        }
        out.push_str("</ul>\n");
    }
}

fn table_row(out: &mut String, columns: &[Column], row: &Row, signed: bool) {
    let class_of_row = match row.emphasis {
        Emphasis::Normal => "",
        Emphasis::Best | Emphasis::Tied => " class=\"best\"",
        Emphasis::Muted => " class=\"muted\"",
        Emphasis::Worse => " class=\"worse\"",
        Emphasis::Warning => " class=\"warning-row\"",
        Emphasis::Heading => {
            let cell = row.cells.first().map_or(String::new(), inline);
            let across = columns.len();
            out.push_str(&format!(
                "<tr class=\"question\"><th scope=\"rowgroup\" colspan=\"{across}\">{cell}</th></tr>\n"
            ));
            return;
        }
    };
    out.push_str(&format!("<tr{class_of_row}>"));
    let empty = Text::default();
    let prose = is_prose(columns);
    for (at, column) in columns.iter().enumerate() {
        let cell = inline(row.cells.get(at).unwrap_or(&empty));
        if at == 0 {
            let class = class(column.align);
            let (sign, words) = sign(row.emphasis).unwrap_or(("", ""));
            let lead = if signed {
                format!(
                    "<span class=\"sign\" aria-hidden=\"true\">{sign}</span>\
                     <span class=\"unseen\">{words}</span>"
                )
            } else {
                String::new()
            };
            out.push_str(&format!("<th scope=\"row\"{class}>{lead}{cell}</th>"));
        } else {
            let heading = if prose {
                format!(" data-heading=\"{}\"", escape(&column.name))
            } else {
                String::new()
            };
            // Most cells are numbers, which stand right unless a cell says otherwise.
            let class = if column.align == Align::Left { " class=\"left\"" } else { "" };
            out.push_str(&format!("<td{class}{heading}>{cell}</td>"));
        }
    }
    out.push_str("</tr>\n");
}

/// Cells of words: on a phone they stand below each other, each under its heading.
fn is_prose(columns: &[Column]) -> bool {
    columns.iter().all(|column| column.align == Align::Left)
}

fn sign(emphasis: Emphasis) -> Option<(&'static str, &'static str)> {
    let words = match emphasis {
        Emphasis::Best => "best: ",
        Emphasis::Tied => "not separated from the best: ",
        Emphasis::Worse => "worse: ",
        _ => "with a warning: ",
    };
    emphasis.sign().map(|sign| (sign, words))
}

fn class(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"right\"",
    }
}
