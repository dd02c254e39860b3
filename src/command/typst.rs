//! A Typst compiler, where there is one: the program `typst`, or Python's package of that name.
//! Both read the source from standard input and write the PDF to standard output.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// What to say where there is none.
const NONE: &str = "no Typst compiler: `pip install typst` or `cargo install typst-cli` gets one";
/// The same call in Python.
const SCRIPT: &str =
    "import sys, typst; sys.stdout.buffer.write(typst.compile(sys.stdin.buffer.read()))";
/// The same without the tags that tell a screen reader what is a table.
const UNTAGGED: &str = "import sys, typst; \
    sys.stdout.buffer.write(typst.compile(sys.stdin.buffer.read(), pdf_tags=False))";

/// A way to call the compiler.
pub struct Compiler {
    words: &'static [&'static str],
    untagged: &'static [&'static str],
}

impl Compiler {
    /// The first one that answers.
    ///
    /// # Errors
    /// There is none; the words say how to get one.
    pub fn find() -> Result<Compiler, &'static str> {
        let known: [(&[&str], Compiler); 2] = [
            (
                &["typst", "--version"],
                Compiler {
                    words: &["typst", "compile", "-", "-"],
                    untagged: &["typst", "compile", "--no-pdf-tags", "-", "-"],
                },
            ),
            (
                &["python3", "-c", "import typst"],
                Compiler {
                    words: &["python3", "-c", SCRIPT],
                    untagged: &["python3", "-c", UNTAGGED],
                },
            ),
        ];
        let answers = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            let quiet = command.args(&words[1..]).stdin(Stdio::null());
            let quiet = quiet.stdout(Stdio::null()).stderr(Stdio::null());
            quiet.status().is_ok_and(|status| status.success())
        };
        let found = known.into_iter().find(|(asked, _)| answers(asked));
        found.map(|(_, compiler)| compiler).ok_or(NONE)
    }

    /// The PDF of some source. Typst 0.15 can't always tag a table that goes on on the next page:
    /// the page itself is then the same without tags.
    ///
    /// # Errors
    /// In one line, what the compiler says.
    pub fn compile(&self, source: &str) -> Result<Vec<u8>, String> {
        self.compile_by(self.words, source)
            .or_else(|error| self.compile_by(self.untagged, source).map_err(|_| error))
    }

    fn compile_by(&self, words: &[&str], source: &str) -> Result<Vec<u8>, String> {
        let failed = |error: std::io::Error| format!("run {}: {error}", words[0]);
        let output = self.run(words, source).map_err(failed)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().rev().find(|line| line.to_lowercase().contains("error"));
        Err(format!("{}: {}", words[0], line.unwrap_or("it failed without a word").trim()))
    }

    fn run(&self, words: &[&str], source: &str) -> std::io::Result<Output> {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        std::thread::scope(|scope| {
            // Written beside the reading, so that neither waits for the other for ever. A compiler
            // that stops reading has a reason, which its output tells.
            scope.spawn(move || input.map(|mut input| input.write_all(source.as_bytes())));
            child.wait_with_output()
        })
    }
}

/// How many pages a PDF has, by its page tree; None where that can't be read.
pub fn pages(pdf: &[u8]) -> Option<u64> {
    // Spaces between the words of a dictionary are free.
    let text = String::from_utf8_lossy(pdf).replace(' ', "");
    let trees = text.split("/Type/Pages").skip(1).filter_map(|rest| {
        let object = rest.split("endobj").next()?;
        let count = object.split("/Count").nth(1)?;
        count.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    trees.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_the_page_tree_tells_the_pages() {
        let pdf = b"1 0 obj\n<< /Type /Outlines /Count 9 >>\nendobj\n2 0 obj\n<< /Type /Pages \
                    /Kids [3 0 R 4 0 R] /Count 7 >>\nendobj\n3 0 obj << /Type /Pages /Count 4 >>";
        assert_eq!(pages(pdf), Some(7));
        assert_eq!(pages(b"1 0 obj <</Type/Pages/Count 3/Kids[16 0 R]>> endobj"), Some(3));
        assert_eq!(pages(b"\xff\xfe"), None);
    }
}
