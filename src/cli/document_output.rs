//! A run as a document in a file: Markdown with its figures beside, Typst source, PDF.

use std::path::{Path, PathBuf};

use super::exit_codes::UNAVAILABLE;
use super::output::{self, Folder, Unwritten};
use super::{Failure, print, typst};
use ::report::compose::Draft;
use ::report::document::file_names;
use ::report::{Document, Figure, markdown, svg, typst as source};
use analysis::Judged;
use study::paper::Form;

/// Width of a picture beside a Markdown file, in points: that of a text column on a screen.
const PICTURE_PT: f64 = 640.0;

/// A language that a document is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// With the figures as pictures.
    Markdown,
    /// Typst source, figures inside.
    Typst,
}

impl Script {
    /// How the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Script::Markdown => "markdown",
            Script::Typst => "typst",
        }
    }

    /// The one called `name`.
    pub fn named(name: &str) -> Option<Script> {
        [Script::Markdown, Script::Typst].into_iter().find(|script| script.name() == name)
    }
}

/// Writes the document to a file, or to standard output.
pub fn write(script: Script, path: Option<&Path>, judged: &Judged) -> Result<(), Failure> {
    let draft = Draft::of(judged);
    let again = again(script, judged.run.id);
    write_document(script, path, &again, &draft.document(), &draft.form())
}

/// What writes a stored run so where a file couldn't be written.
pub fn again(script: Script, run: i64) -> String {
    output::report_again(run, &format!("--format {} -o FILE", script.name()))
}

/// Writes any document so; `again` is the remedy where a file can't be written.
pub fn write_document(
    script: Script,
    path: Option<&Path>,
    again: &str,
    document: &Document,
    form: &Form,
) -> Result<(), Failure> {
    let text = match (script, path) {
        (Script::Typst, _) => source::render(document, form),
        (Script::Markdown, Some(path)) => {
            let folder = pictures(path);
            let figures = document.figures();
            let names = file_names(&figures);
            draw_all(&folder, figures.iter().copied().zip(&names), again)?;
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            markdown::illustrated(document, |number, _| {
                markdown::escaped(&format!("{name}/{}", names[number - 1]))
            })
        }
        // Standard output has no folder beside it.
        (Script::Markdown, None) => markdown::illustrated(document, |_, figure| {
            markdown::as_address(&svg::draw(figure, PICTURE_PT))
        }),
    };
    match path {
        Some(path) => output::write(path, &text, again),
        None => print(&text),
    }
}

/// `paper.md` has its pictures in `paper.md.figures`.
fn pictures(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".figures");
    path.with_file_name(name)
}

fn draw_all<'a>(
    folder: &Path,
    figures: impl ExactSizeIterator<Item = (&'a Figure, &'a String)>,
    again: &str,
) -> Result<(), Failure> {
    if figures.len() == 0 {
        return Ok(());
    }
    // Only this folder is made: what a mistyped path names is not.
    let around = folder.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(error) = around.and_then(|path| std::fs::metadata(path).err()) {
        let failed = Unwritten::Failed(format!("make {}: {error}", folder.display()));
        return Err(failed.but(again));
    }
    let folder = Folder::make(folder).map_err(|why| why.but(again))?;
    for (figure, name) in figures {
        folder.write(name, svg::draw(figure, PICTURE_PT), again)?;
    }
    Ok(())
}

/// What prints the documents of a stored run.
pub struct Printer {
    compiler: typst::Compiler,
    run: i64,
}

impl Printer {
    /// The compiler of this machine.
    ///
    /// # Errors
    /// Where there is none.
    pub fn of(run: i64) -> Result<Printer, Failure> {
        let compiler = typst::Compiler::find().map_err(|none| {
            let again = output::report_again(run, "--pdf FILE");
            Failure { line: format!("{none}; {again}"), code: UNAVAILABLE }
        })?;
        Ok(Printer { compiler, run })
    }

    pub fn print(&self, document: &Document, form: &Form) -> Result<Vec<u8>, Failure> {
        self.compiler.compile(&source::render(document, form)).map_err(|error| {
            Failure::other(format!("{error}; `--format typst` writes what it was given"))
        })
    }

    pub fn write(&self, path: &Path, bytes: Vec<u8>) -> Result<(), Failure> {
        let run = self.run;
        output::write(path, bytes, &output::report_again(run, "--pdf FILE"))
    }
}

/// The pages that the PDF of a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// So many at most.
    Most(u64),
    /// As many as it takes.
    All,
}

impl Default for Pages {
    fn default() -> Pages {
        Pages::Most(4)
    }
}

/// `4`, `all`.
pub fn pages(text: &str) -> Result<Pages, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(Pages::All),
        (_, Ok(most @ 1..)) => Ok(Pages::Most(most)),
        _ => Err(format!("`{text}`: write a number of pages from 1 on, or all")),
    }
}

/// Whether a PDF that is asked for can be written, found out before anything is measured.
///
/// # Errors
/// Where there is no compiler; the words say how to get one.
pub fn can_print(pdf: Option<&Path>) -> Result<(), Failure> {
    let none = |none| Failure { line: format!("{none}; nothing was measured"), code: UNAVAILABLE };
    pdf.map_or(Ok(()), |_| typst::Compiler::find().map(drop).map_err(none))
}

/// Writes the PDF. Where there is room for so many pages only, it has as many parts as they hold, or by count as
/// such a paper of a study; if it came out longer all the same, that is said.
pub fn pdf(path: &Path, judged: &Judged, asked: Option<Pages>) -> Result<(), Failure> {
    let printer = Printer::of(judged.run.id)?;
    let draft = Draft::of(judged);
    let mut form = draft.form();
    form.pages = match (asked, draft.is_of_study()) {
        (None, true) => form.pages,
        (asked, _) => match asked.unwrap_or_default() {
            Pages::Most(most) => Some(most),
            Pages::All => None,
        },
    };
    let document = match form.pages {
        None if asked.is_some() => draft.document(),
        most => draft.paper(|draft| {
            let bytes = printer.print(draft, &form)?;
            Ok::<bool, Failure>(most.is_none() || typst::pages(&bytes) <= most)
        })?,
    };
    let bytes = printer.print(&document, &form)?;
    let over = typst::pages(&bytes).zip(form.pages).filter(|(pages, most)| pages > most);
    printer.write(path, bytes)?;
    match over {
        None => Ok(()),
        Some((pages, most)) => Err(Failure::other(format!(
            "{}: {pages} pages, where {most} were asked, without all that can be left out: shorten the words of its \
             [paper], its variables and its critique, or ask for --pages {pages}",
            path.display()
        ))),
    }
}
