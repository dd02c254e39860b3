//! A run as a document in a file: Markdown with its figures beside, Typst source, PDF.

use std::path::{Path, PathBuf};

use super::args::Script;
use super::{Failure, complain, print, report, typst};
use crate::judge::Judged;
use crate::report::compose::{Paper, paper};
use crate::report::{markdown, svg, typst as source};

/// Width of a picture beside a Markdown file, in points: that of a text column on a screen.
const PICTURE_PT: f64 = 640.0;

/// Writes the document to a file, or to standard output.
pub fn write(script: Script, path: Option<&Path>, judged: &Judged) -> Result<(), Failure> {
    let Paper { document, form, .. } = paper(judged, 0);
    let text = match (script, path) {
        (Script::Typst, _) => source::render(&document, &form),
        (Script::Markdown, Some(path)) => {
            let folder = pictures(path);
            draw_all(&folder, &document.figures())?;
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            markdown::illustrated(&document, |number, _| {
                markdown::escaped(&format!("{name}/{number}.svg"))
            })
        }
        // Standard output has no folder beside it.
        (Script::Markdown, None) => markdown::illustrated(&document, |_, figure| {
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

fn draw_all(folder: &Path, figures: &[&crate::report::Figure]) -> Result<(), Failure> {
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

/// Writes the PDF. Where the study allows so many pages only, the least important parts are left
/// out, one more at a time, until it fits.
pub fn pdf(path: &Path, judged: &Judged) -> Result<(), Failure> {
    let compiler = typst::Compiler::find().map_err(|none| {
        let told = format!("{none}; run {} is stored: `ipcmark report {0} --pdf FILE`", judged.run.id);
        Failure { line: told, code: super::run::UNAVAILABLE }
    })?;
    let mut leaving = 0;
    let bytes = loop {
        let Paper { document, form, dispensable } = paper(judged, leaving);
        let bytes = compiler.compile(&source::render(&document, &form)).map_err(|error| {
            Failure::other(format!("{error}; `--format typst` writes what it was given"))
        })?;
        let (Some(most), Some(pages)) = (form.pages, typst::pages(&bytes)) else { break bytes };
        if pages <= most {
            break bytes;
        }
        if leaving == dispensable {
            complain(&format!(
                "{}: {pages} pages, and no more than {most} were asked; nothing is left that could \
                 be left out",
                path.display()
            ));
            break bytes;
        }
        leaving += 1;
    };
    std::fs::write(path, bytes).map_err(|error| {
        Failure::other(format!(
            "write {}: {error}; the run is stored: `ipcmark report {} --pdf FILE`",
            path.display(),
            judged.run.id
        ))
    })
}
