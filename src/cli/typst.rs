//! A Typst compiler, where there is one: the program `typst`, or Python's package of that name.
//! Both read the source from standard input and write the PDF to standard output.
//!
//! Neither looks into the working folder: `typst` is started by its absolute path, Python with `-I`,
//! which leaves the working folder, `PYTHONPATH` and the user's own packages out of the modules' path
//! (python(1)), and both in `/`.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use machine::program;

const NONE: &str = "no Typst compiler: `cargo install typst-cli` gets one, and so does `pip install \
                    typst`, for all users or in a virtual environment that is active";
/// The folder that a document could read files from: it has none to read, and is always there.
const ROOT: &str = "/proc/self/ns";
/// The same call in Python.
const SCRIPT: &str = "import sys, typst; \
    sys.stdout.buffer.write(typst.compile(sys.stdin.buffer.read(), root=sys.argv[1]))";
/// The same without the tags that tell a screen reader what is a table.
const UNTAGGED: &str = "import sys, typst; sys.stdout.buffer.write( \
    typst.compile(sys.stdin.buffer.read(), root=sys.argv[1], pdf_tags=False))";

/// The words of a compiler.
struct Words {
    program: &'static str,
    asked: &'static [&'static str],
    tagged: &'static [&'static str],
    untagged: &'static [&'static str],
}

const KNOWN: [Words; 2] = [
    Words {
        program: "typst",
        asked: &["--version"],
        tagged: &["compile", "--root", ROOT, "-", "-"],
        untagged: &["compile", "--root", ROOT, "--no-pdf-tags", "-", "-"],
    },
    Words {
        program: "python3",
        asked: &["-I", "-c", "import typst"],
        tagged: &["-I", "-c", SCRIPT, ROOT],
        untagged: &["-I", "-c", UNTAGGED, ROOT],
    },
];

/// A way to call the compiler.
pub struct Compiler {
    /// By its absolute path.
    program: PathBuf,
    words: &'static Words,
}

impl Compiler {
    /// The first one that answers.
    ///
    /// # Errors
    /// There is none; the words say how to get one.
    pub fn find() -> Result<Compiler, &'static str> {
        let found = KNOWN.iter().find_map(|words| {
            let compiler = Compiler { program: program::find(words.program).ok()?, words };
            let mut command = compiler.command(words.asked);
            let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            quiet.status().is_ok_and(|status| status.success()).then_some(compiler)
        });
        found.ok_or(NONE)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir("/");
        command
    }

    /// The PDF of some source. Typst 0.15 can't always tag a table that goes on on the next page:
    /// the page itself is then the same without tags.
    ///
    /// # Errors
    /// In one line, what the compiler says.
    pub fn compile(&self, source: &str) -> Result<Vec<u8>, String> {
        self.compile_by(self.words.tagged, source)
            .or_else(|error| self.compile_by(self.words.untagged, source).map_err(|_| error))
    }

    fn compile_by(&self, words: &[&str], source: &str) -> Result<Vec<u8>, String> {
        let program = self.program.display();
        let output = self.run(words, source).map_err(|error| format!("run {program}: {error}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().rev().find(|line| line.to_lowercase().contains("error"));
        Err(format!("{program}: {}", line.unwrap_or("it failed without a word").trim()))
    }

    fn run(&self, words: &[&str], source: &str) -> std::io::Result<Output> {
        let mut command = self.command(words);
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
