//! Stored /proc and /sys trees for tests: `tests/topologies/NAME.tsv` holds one machine, a line
//! per file: path, tab, content. `#` opens a comment; `\n`, `\t`, `\0` and `\\` stand for the
//! characters.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/topologies")
}

pub fn names() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".tsv").map(str::to_owned))
        .collect();
    names.sort();
    names
}

pub fn machine(name: &str) -> TempDir {
    let text = fs::read_to_string(directory().join(format!("{name}.tsv"))).unwrap();
    assert!(text.starts_with("# "), "{name}.tsv must say what it is modelled on");
    let files = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        line.split_once('\t').unwrap_or_else(|| panic!("{name}.tsv: no tab in {line:?}"))
    });
    unpack(files)
}

/// Writes files below a fresh root; each content gets a final newline, as the kernel does.
pub fn unpack<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> TempDir {
    // Hundreds of tiny files take seconds on a disk that discards what is deleted.
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    add(root.path(), files);
    root
}

/// Adds files to an unpacked machine.
pub fn add<'a>(root: &Path, files: impl IntoIterator<Item = (&'a str, &'a str)>) {
    for (path, content) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, unescape(content) + "\n").unwrap();
    }
}

fn unescape(content: &str) -> String {
    let mut text = String::new();
    let mut characters = content.chars();
    while let Some(c) = characters.next() {
        text.push(match c {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('0') => '\0',
                Some('\\') => '\\',
                other => panic!("unknown escape {other:?} in {content:?}"),
            },
            c => c,
        });
    }
    text
}
