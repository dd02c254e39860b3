//! The document as Typst source: one file, figures inside it, which a Typst compiler turns into
//! a PDF. The page has the form that is asked for: sheet, margins, size and distance of lines.
//!
//! Numbers, captions and the abstract are Typst's own, so that the source stays one that a
//! person can go on with. Words are escaped: nothing that a user typed is a command.

mod escape;
mod table;

use super::document::{Block, Document, Run, Section, Table, Target, Text, Verdict};
use super::figure::{Figure, FigureKind};
use super::svg;
use escape::{label, string, words};
use study::paper::Form;

/// Facts that a page shows; a longer record is for a screen.
const FACTS_SHOWN: usize = 24;

/// A document as Typst source.
pub fn render(document: &Document, form: &Form) -> String {
    let mut page = Page { out: String::new(), form: *form, numbered: document.numbered };
    page.head(document);
    for section in &document.sections {
        page.section(section, document.numbered && !section.appendix);
    }
    page.references(&document.references);
    page.out
}

struct Page {
    out: String,
    form: Form,
    numbered: bool,
}

impl Page {
    fn head(&mut self, document: &Document) {
        let form = &self.form;
        // A line is as high as its letters, so that lines stand exactly `leading` apart.
        let gap = form.leading_pt - form.font_pt;
        self.out.push_str(&format!(
            "#set document(title: {title}, date: none)\n\
             #set page(paper: \"{sheet}\", margin: {margin}pt, numbering: \"1\")\n\
             #set text(font: (\"Libertinus Serif\", \"New Computer Modern\"), size: {size}pt, \
             top-edge: 0.8em, bottom-edge: -0.2em, lang: \"en\", overhang: false)\n\
             #set par(justify: true, leading: {gap}pt, spacing: {gap}pt, first-line-indent: 1.5em)\n",
            title = string(&document.title),
            sheet = form.sheet.name(),
            margin = form.margin_pt,
            size = form.font_pt,
        ));
        self.out.push_str(&format!(
            "#set heading(numbering: {numbering})\n\
             #show heading: it => block(above: {above}pt, below: {gap}pt, sticky: true, \
             text(size: {size}pt, weight: \"bold\", it))\n\
             #set list(indent: 0.5em, spacing: {gap}pt)\n\
             #set place(clearance: {above}pt)\n\
             #show figure.caption: it => block(width: 100%, {{\n  \
             set par(leading: {tight}pt, first-line-indent: 0pt)\n  \
             set align(left)\n  it\n}})\n\
             #show figure.where(kind: table): set figure.caption(position: top)\n\
             #show figure.where(kind: table): set block(breakable: true)\n\
             #show table: set par(justify: false, leading: {tight}pt, first-line-indent: 0pt)\n\
             #show raw: set text(font: \"DejaVu Sans Mono\", size: {size_raw}pt, \
             top-edge: {top}pt, bottom-edge: -{bottom}pt)\n\
             #let title-line(it) = layout(room => {{\n  \
             let full = text(size: 16pt, weight: \"bold\", it)\n  \
             let size = calc.min(16pt, 16pt * (room.width / measure(full).width))\n  \
             align(center, text(size: size, weight: \"bold\", it))\n}})\n\n",
            numbering = if self.numbered { "\"1\"" } else { "none" },
            above = form.leading_pt,
            size = form.font_pt + 1.0,
            tight = table::TIGHT_PT,
            size_raw = 0.82 * form.font_pt,
            top = 0.8 * form.font_pt,
            bottom = 0.2 * form.font_pt,
        ));
        // Figures float to the top of a page, below what floated there before: so the head of a paper floats first.
        if self.numbered {
            self.out.push_str("#place(top, float: true, block(width: 100%)[\n");
        }
        self.out.push_str(&format!("#title-line[{}]\n", words(&document.title)));
        // A paper says in its text what a report says under its title.
        let under = if self.numbered { "" } else { document.subtitle.as_str() };
        for line in [document.byline.as_str(), under] {
            if !line.is_empty() {
                self.out.push_str(&format!("#align(center)[{}]\n", words(line)));
            }
        }
        let meta: Vec<String> =
            document.meta.iter().map(|(key, value)| words(&format!("{key} {value}"))).collect();
        if !meta.is_empty() && !self.numbered {
            self.out.push_str(&format!("#align(center)[{}]\n", meta.join(" · ")));
        }
        if !document.summary.is_empty() {
            let paragraphs: Vec<String> = document.summary.iter().map(inline).collect();
            self.out.push_str(&format!(
                "\n#v(4pt)\n#pad(x: 2em)[*Abstract.* {}]\n",
                paragraphs.join("\n\n")
            ));
        }
        if self.numbered {
            self.out.push_str("])\n");
        }
    }

    fn section(&mut self, section: &Section, numbered: bool) {
        // What floats stands before the next section begins, so that figures come before the tables of what is
        // concluded from them.
        if self.numbered {
            self.out.push_str("\n#place.flush()\n");
        }
        if numbered || !self.numbered {
            self.out.push_str(&format!("\n= {}\n\n", words(&section.title)))
        } else {
            self.out
                .push_str(&format!("\n#heading(numbering: none)[{}]\n\n", words(&section.title)))
        }
        self.blocks(&section.blocks);
    }

    fn references(&mut self, works: &[Text]) {
        if works.is_empty() {
            return;
        }
        self.out.push_str("\n#heading(numbering: none)[References]\n\n");
        self.out.push_str("#set enum(numbering: \"[1]\")\n");
        for work in works {
            self.out.push_str(&format!("+ {}\n", inline(work)));
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        let mut rest = blocks;
        while let [block, others @ ..] = rest {
            let narrow = self.narrow(rest);
            if narrow.len() > 1 {
                self.side_by_side(&narrow);
                rest = &rest[narrow.len()..];
                continue;
            }
            rest = others;
            match (block, others.first()) {
                // What announces a list isn't left behind on the page before.
                (Block::Paragraph(text), Some(Block::List(_))) => {
                    self.out.push_str(&format!("#block(sticky: true)[{}]\n\n", inline(text)));
                }
                _ => self.block(block),
            }
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(text) => self.out.push_str(&format!("{}\n\n", inline(text))),
            Block::Warning(text) => {
                self.out.push_str(&format!("*Note.* {}\n\n", inline(text)));
            }
            Block::Verdict(it) => self.verdict(it),
            Block::Table(it) => self.table(it),
            Block::Listing(it) => self.table(&it.table()),
            Block::Figure(it) => self.figure(it),
            Block::Facts(facts) => self.facts(facts),
            Block::List(points) => {
                for point in points {
                    self.out.push_str(&format!("- {}\n", inline(point)));
                }
                self.out.push('\n');
            }
            Block::Details { summary, blocks } => {
                self.out.push_str(&format!("*{}*\n\n", inline(summary)));
                self.blocks(blocks);
            }
        }
    }

    fn table(&mut self, table: &Table) {
        let room = self.form.text_width_pt();
        table::write(&mut self.out, table, room, self.numbered, self.form.pages.is_some());
    }

    fn verdict(&mut self, verdict: &Verdict) {
        let sign = words(verdict.kind.sign());
        let (head, detail) = (inline(&verdict.headline), inline(&verdict.detail));
        self.out.push_str(&format!("{sign} {head} {detail}\n\n"));
    }

    fn figure(&mut self, figure: &Figure) {
        // Where nothing but a number tells where a float belongs, there are numbers.
        let (part, placement) = if self.numbered { (1.0, "auto") } else { (0.8, "none") };
        let call = self.figure_in(figure, part * self.form.text_width_pt(), placement);
        self.out.push_str(&format!("#{call}\n\n"));
    }

    /// The figures with which `blocks` begin that need a part of the width, all of one kind: those boxes in
    /// pairs, diagrams and curves too where pages are few.
    fn narrow<'b>(&self, blocks: &'b [Block]) -> Vec<&'b Figure> {
        let figures = blocks.iter().map_while(|block| match block {
            Block::Figure(it) => Some(it),
            _ => None,
        });
        let few = self.form.pages.is_some();
        let most = match figures.clone().next().map(|figure| figure.kind) {
            Some(FigureKind::Boxes) if self.numbered => 2,
            Some(FigureKind::Protocol | FigureKind::Curves) if self.numbered && few => 2,
            _ => return Vec::new(),
        };
        let kind = blocks.first();
        let alike = |figure: &&Figure| matches!(kind, Some(Block::Figure(first)) if first.kind == figure.kind);
        figures.take_while(alike).take(most).collect()
    }

    fn side_by_side(&mut self, figures: &[&Figure]) {
        const GUTTER_PT: f64 = 14.0;
        let many = figures.len();
        let width = (self.form.text_width_pt() - GUTTER_PT * (many - 1) as f64) / many as f64;
        let cells =
            figures.iter().map(|figure| format!("[#{}]", self.figure_in(figure, width, "none")));
        let cells: Vec<String> = cells.collect();
        self.out.push_str(&format!(
            "#place(auto, float: true, grid(columns: (1fr,) * {many}, column-gutter: {GUTTER_PT}pt,\n\
             {}))\n\n",
            cells.join(", ")
        ));
    }

    /// A figure with its label, drawn so wide.
    fn figure_in(&self, figure: &Figure, width_pt: f64, placement: &str) -> String {
        let drawn = svg::draw(figure, width_pt);
        let caption_text =
            [figure.title.as_str(), ".", " ", &figure.caption, " ", &figure.finding].concat();
        let numbering = if self.numbered { "\"1\"" } else { "none" };
        format!(
            "figure(\n  image(bytes({}), format: \"svg\", width: {width_pt:.1}pt, alt: {}),\n  \
             kind: image, numbering: {numbering}, placement: {placement},\n  caption: [{}],\n) <figure-{}>",
            string(&drawn),
            string(&figure.title),
            words(caption_text.trim()),
            label(&figure.id),
        )
    }

    fn facts(&mut self, facts: &[(String, String)]) {
        self.out
            .push_str("#table(columns: (auto, 1fr), stroke: none, inset: (x: 3pt, y: 1.5pt),\n");
        for (key, value) in facts.iter().take(FACTS_SHOWN) {
            self.out.push_str(&format!(
                "  [{}], [{}],\n",
                words(key),
                inline(&Text::from(value.as_str()))
            ));
        }
        self.out.push_str(")\n\n");
        if facts.len() > FACTS_SHOWN {
            let more = facts.len() - FACTS_SHOWN;
            self.out.push_str(&format!("{more} more are in the HTML report.\n\n"));
        }
    }
}

/// A text with its meanings as markup. Every call ends with a semicolon, which isn't shown:
/// without it a `.` or `(` behind would belong to the call.
fn inline(text: &Text) -> String {
    let mut out = String::new();
    for run in &text.runs {
        match run {
            prose if prose.is_prose() => out.push_str(&inline(&Text::of_prose(prose.as_str()))),
            Run::Plain(shown) => out.push_str(&words(shown)),
            Run::Strong(shown) => out.push_str(&format!("#strong[{}];", words(shown))),
            Run::Code(shown) => out.push_str(&format!("#raw({});", string(shown))),
            Run::Muted(shown) => {
                out.push_str(&format!("#text(fill: luma(40%))[{}];", words(shown)));
            }
            Run::Link { to: Target::Figure(id), words: shown } => {
                out.push_str(&format!("#link(<figure-{}>)[{}];", label(id), words(shown)));
            }
            Run::Link { to: Target::Table(id), words: shown } => {
                out.push_str(&format!("#link(<table-{}>)[{}];", label(id), words(shown)));
            }
            Run::Link { to: Target::Work(_) | Target::Page(_), words: shown } => {
                out.push_str(&words(shown))
            }
        }
    }
    out
}
