//! Numbers of a paper: of its sections, figures and tables, and in the words that refer to them.

use std::borrow::Cow;

use super::{Block, Document, Listing, Run, Section, Table, Target, Text};

impl Document {
    /// Numbers the document: from now on figures and tables count in reading order, and every
    /// reference reads as what it refers to. What stands in an appendix, and a table without an
    /// id, has no number.
    pub fn number(&mut self) {
        self.numbered = true;
        let (mut figures, mut tables) = (Vec::new(), Vec::new());
        let numbered = self.sections.iter().filter(|section| !section.appendix);
        for block in numbered.flat_map(Section::all_blocks) {
            match block {
                Block::Figure(figure) => figures.push(figure.id.clone()),
                Block::Table(table) if !table.id.is_empty() => tables.push(table.id.clone()),
                _ => {}
            }
        }
        let read = |target: &Target| {
            let place = |ids: &[String], id: &String| ids.iter().position(|text| text == id);
            match target {
                Target::Figure(id) => place(&figures, id).map(|at| figure_label(at + 1)),
                Target::Table(id) => place(&tables, id).map(|at| table_label(at + 1)),
                Target::Work(number) => Some(format!("[{number}]")),
                Target::Page(_) => None,
            }
        };
        self.summary.iter_mut().for_each(|text| put_words(text, &read));
        for section in &mut self.sections {
            section.each_block(&mut |block| in_block(block, &read));
        }
    }

    /// The document for a renderer that has no numbers, abstract and references of its own: they
    /// are words of headings and captions here, and sections.
    pub fn labelled(&self) -> Cow<'_, Document> {
        if !self.numbered {
            return Cow::Borrowed(self);
        }
        let mut labelled = self.clone();
        let (mut figures, mut tables) = (0, 0);
        for (at, section) in
            labelled.sections.iter_mut().filter(|section| !section.appendix).enumerate()
        {
            section.title = format!("{} {}", at + 1, section.title);
            section.each_block(&mut |block| match block {
                Block::Figure(figure) => {
                    figures += 1;
                    figure.title = format!("{}. {}", figure_label(figures), figure.title);
                }
                Block::Table(table) if !table.id.is_empty() => {
                    tables += 1;
                    table.caption = format!("{}. {}", table_label(tables), table.caption);
                }
                _ => {}
            });
        }
        if !labelled.summary.is_empty() {
            let mut section = Section::new("abstract", "Abstract");
            section.blocks = labelled.summary.drain(..).map(Block::Paragraph).collect();
            labelled.sections.insert(0, section);
        }
        if !labelled.references.is_empty() {
            let mut section = Section::new("references", "References");
            let works = labelled.references.drain(..).enumerate();
            section.blocks = works
                .map(|(at, mut work)| {
                    work.runs.insert(0, Run::Plain(format!("[{}] ", at + 1)));
                    Block::Paragraph(work)
                })
                .collect();
            let body = labelled.sections.iter().position(|section| section.appendix);
            labelled.sections.insert(body.unwrap_or(labelled.sections.len()), section);
        }
        Cow::Owned(labelled)
    }
}

/// `Figure 3`.
pub(crate) fn figure_label(number: usize) -> String {
    format!("Figure {number}")
}

/// `Table 3`.
pub(crate) fn table_label(number: usize) -> String {
    format!("Table {number}")
}

fn in_block(block: &mut Block, read: &impl Fn(&Target) -> Option<String>) {
    match block {
        Block::Paragraph(text) | Block::Warning(text) => put_words(text, read),
        Block::List(points) => points.iter_mut().for_each(|point| put_words(point, read)),
        Block::Verdict(verdict) => {
            put_words(&mut verdict.headline, read);
            put_words(&mut verdict.detail, read);
        }
        Block::Table(Table { notes, .. }) | Block::Listing(Listing { notes, .. }) => {
            notes.iter_mut().for_each(|note| put_words(note, read));
        }
        Block::Details { .. } | Block::Figure(_) | Block::Facts(_) => {}
    }
}

fn put_words(text: &mut Text, read: &impl Fn(&Target) -> Option<String>) {
    for run in &mut text.runs {
        if let Run::Link { to, words } = run
            && !matches!(to, Target::Page(_))
        {
            *words = read(to).unwrap_or_else(|| "(not shown)".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paper() -> Document {
        let table = |id: &str| Table { id: id.into(), caption: id.into(), ..Table::default() };
        let text = Text::from("See ").refer(Target::Table("b".into())).refer(Target::Work(1));
        let mut document = Document::new("T");
        document.summary.push("In short.".into());
        document.references.push("A work.".into());
        document.sections = vec![
            Section::new("one", "One")
                .with(Block::Paragraph(text))
                .with(table("a"))
                .with(table(""))
                .with(table("b")),
            Section { appendix: true, ..Section::new("more", "More").with(table("c")) },
        ];
        document.number();
        document
    }

    #[test]
    fn references_read_as_the_number_of_what_they_refer_to() {
        let document = paper();
        let Block::Paragraph(text) = &document.sections[0].blocks[0] else { panic!("a paragraph") };
        assert_eq!(text.to_plain(), "See Table 2[1]");
    }

    #[test]
    fn a_renderer_without_numbers_gets_them_as_words() {
        let labelled = paper();
        let labelled = labelled.labelled();
        let titles: Vec<&str> =
            labelled.sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["Abstract", "1 One", "References", "More"]);
        let captions: Vec<&str> = labelled
            .sections
            .iter()
            .flat_map(|section| &section.blocks)
            .filter_map(caption)
            .collect();
        assert_eq!(captions, ["Table 1. a", "", "Table 2. b", "c"]);
    }

    fn caption(block: &Block) -> Option<&str> {
        match block {
            Block::Table(table) => Some(table.caption.as_str()),
            _ => None,
        }
    }
}
