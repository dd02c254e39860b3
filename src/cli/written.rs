//! A run as a document in a file: Markdown with its figures beside, Typst source, PDF.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::Script;
use super::{Failure, complain, output, print, report, typst};
use ::report::compose::Draft;
use ::report::{Document, markdown, svg, typst as source};
use analysis::Judged;
use study::paper::Form;

/// Width of a picture beside a Markdown file, in points: that of a text column on a screen.
const PICTURE_PT: f64 = 640.0;

/// Parts that are tried in a row where none has room any more.
const IN_VAIN: u32 = 30;

/// Writes the document to a file, or to standard output.
pub fn write(script: Script, path: Option<&Path>, judged: &Judged) -> Result<(), Failure> {
    let draft = Draft::of(judged);
    write_document(script, path, &draft.document(&BTreeSet::new()), &draft.form())
}

/// Writes any document so.
pub fn write_document(
    script: Script,
    path: Option<&Path>,
    document: &Document,
    form: &Form,
) -> Result<(), Failure> {
    let text = match (script, path) {
        (Script::Typst, _) => source::render(document, form),
        (Script::Markdown, Some(path)) => {
            let folder = pictures(path);
            draw_all(&folder, &document.figures())?;
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            markdown::illustrated(document, |number, _| {
                markdown::escaped(&format!("{name}/{number}.svg"))
            })
        }
        // Standard output has no folder beside it.
        (Script::Markdown, None) => markdown::illustrated(document, |_, figure| {
            markdown::as_address(&svg::draw(figure, PICTURE_PT))
        }),
    };
    match path {
        Some(path) => report::write(path, &text),
        None => print(&text),
    }
}

/// `paper.md` has its pictures in `paper.md.figures`.
fn pictures(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".figures");
    path.with_file_name(name)
}

fn draw_all(folder: &Path, figures: &[&::report::Figure]) -> Result<(), Failure> {
    if figures.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::other(format!(
            "make {}: {error}; the run is stored: `ipcmark report` writes it elsewhere",
            folder.display()
        ))
    })?;
    for (at, figure) in figures.iter().enumerate() {
        report::write(&folder.join(format!("{}.svg", at + 1)), &svg::draw(figure, PICTURE_PT))?;
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
            let line = format!("{none}; run {run} is stored: `ipcmark report {run} --pdf FILE`");
            Failure { line, code: super::run::UNAVAILABLE }
        })?;
        Ok(Printer { compiler, run })
    }

    /// A document as PDF.
    pub fn print(&self, document: &Document, form: &Form) -> Result<Vec<u8>, Failure> {
        self.compiler.compile(&source::render(document, form)).map_err(|error| {
            Failure::other(format!("{error}; `--format typst` writes what it was given"))
        })
    }

    /// Writes what was printed.
    pub fn write(&self, path: &Path, bytes: Vec<u8>) -> Result<(), Failure> {
        let run = self.run;
        let way_out = format!("the run is stored: `ipcmark report {run} --pdf FILE` writes it");
        output::write(path, bytes, &way_out)
    }
}

/// Writes the PDF. Where the study allows so many pages only, the least important parts are left
/// out until the rest fits; of those, what still has room is taken in again.
pub fn pdf(path: &Path, judged: &Judged) -> Result<(), Failure> {
    let printer = Printer::of(judged.run.id)?;
    let draft = Draft::of(judged);
    let (form, dispensable) = (draft.form(), draft.dispensable());
    let printed = |leaving: &BTreeSet<usize>| {
        let bytes = printer.print(&draft.document(leaving), &form)?;
        let over = typst::pages(&bytes).zip(form.pages).filter(|(pages, most)| pages > most);
        Ok::<_, Failure>((bytes, over))
    };
    let mut leaving = BTreeSet::new();
    let (mut bytes, mut over) = printed(&leaving)?;
    if over.is_some() {
        // The fewest that have to go, by halves: each print takes its time.
        let (mut too_few, mut enough) = (0, dispensable);
        leaving = (0..enough).collect();
        (bytes, over) = printed(&leaving)?;
        while over.is_none() && too_few + 1 < enough {
            let middle = (too_few + enough) / 2;
            match printed(&(0..middle).collect())? {
                (fits, None) => (bytes, enough, leaving) = (fits, middle, (0..middle).collect()),
                _ => too_few = middle,
            }
        }
    }
    if let Some((pages, most)) = over {
        complain(&format!(
            "{}: {pages} pages, where {most} were asked: nothing is left to leave out",
            path.display()
        ));
    }
    let mut in_vain = 0;
    let left: Vec<usize> = leaving.iter().copied().rev().filter(|_| over.is_none()).collect();
    // Figures stand side by side: two may need no more room than one.
    for parts in left.windows(2).flat_map(|pair| [&pair[..1], pair]) {
        if in_vain == IN_VAIN {
            break; // the page is full
        }
        if parts.iter().any(|part| !leaving.contains(part)) {
            continue;
        }
        let fewer: BTreeSet<usize> =
            leaving.iter().copied().filter(|part| !parts.contains(part)).collect();
        match printed(&fewer)? {
            (fits, None) => (bytes, leaving, in_vain) = (fits, fewer, 0),
            _ => in_vain += 1,
        }
    }
    printer.write(path, bytes)
}
