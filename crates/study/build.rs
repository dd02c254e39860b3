//! Puts the files of `studies/` into the program (`builtin.rs`). The folder is that at the root; a package has a copy.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let variable = |name: &str| std::env::var(name).expect("cargo says so");
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")).join("studies");
    embed_studies(&folder, &Path::new(&variable("OUT_DIR")).join("studies.rs"));
}

/// Writes an array of (name, text) to `list`, one for each TOML file of `folder`, by name.
fn embed_studies(folder: &Path, list: &Path) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(folder).expect("the folder studies/ can be read");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut text = String::from("&[\n");
    for file in files {
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let path = file.to_str().expect("a path in UTF-8");
        writeln!(text, "    ({name:?}, include_str!({path:?})),").expect("room in a string");
    }
    text.push_str("]\n");
    std::fs::write(list, text).expect("OUT_DIR can be written");
}
