//! Which room of the program may use which: the arrows of the design, held against every `crate::`
//! path in src/, for as long as they aren't crates whose arrows the compiler holds. Also: where `unsafe`
//! may stand, and how long a file may be.
//!
//! Comments, strings and characters are blanked out before looking, so that prose may say what
//! it likes. Modules that don't exist yet are no failure; modules that aren't in the table are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A module, whom it may use beside itself, and why no others.
struct Seam {
    module: &'static str,
    may_use: &'static [&'static str],
    rule: &'static str,
}

const fn seam(module: &'static str, may_use: &'static [&'static str], rule: &'static str) -> Seam {
    Seam { module, may_use, rule }
}

const SEAMS: &[Seam] = &[
    seam("input", &[], "a leaf"),
    seam(
        "launch",
        &["clock", "machine", "mechanisms", "model", "sys"],
        "a launch measures; it neither plans, keeps nor judges",
    ),
    seam(
        "floor",
        &["clock", "launch", "machine", "stats", "sys"],
        "a floor is measured by itself, over the wire of a launch; it knows no mechanism",
    ),
    seam(
        "study",
        &["launch", "machine", "mechanisms", "model"],
        "a plan is made before anything is measured or kept",
    ),
    seam(
        "store",
        &["clock", "floor", "launch", "machine", "mechanisms", "study", "sys"],
        "the store keeps what was measured, and judges nothing",
    ),
    seam(
        "campaign",
        &[
            "clock",
            "floor",
            "launch",
            "machine",
            "mechanisms",
            "model",
            "stats",
            "store",
            "study",
            "sys",
        ],
        "a campaign runs a study; what comes of it is shown by others",
    ),
    seam(
        "fleet",
        &["campaign", "clock", "floor", "launch", "machine", "mechanisms", "store", "study", "sys"],
        "a fleet runs launches on many nodes; what comes of it is shown by others",
    ),
    seam(
        "judge",
        &["clock", "floor", "machine", "mechanisms", "model", "stats", "store", "study"],
        "judging works on the store alone, and can be done again without measuring",
    ),
    seam(
        "report",
        &["clock", "judge", "machine", "model", "stats", "store", "study"],
        "a report shows what was judged, in the words of the study that asked, and never sees a launch",
    ),
    seam(
        "export",
        &["clock", "judge", "machine", "model", "report", "stats", "store"],
        "an export writes what was judged for other programs, and never sees a launch",
    ),
    seam(
        "command",
        &[
            "campaign",
            "clock",
            "export",
            "fleet",
            "floor",
            "input",
            "judge",
            "launch",
            "machine",
            "mechanisms",
            "model",
            "report",
            "stats",
            "store",
            "study",
            "sys",
        ],
        "a subcommand ties everything together, and nothing uses it",
    ),
    seam("main", &["command", "launch", "sys"], "the program is thin: parse, dispatch, exit code"),
    seam("lib", &[], "the map of the house holds no code"),
];

/// What stands in a crate of its own: cargo holds whom it uses.
const CRATES: &[&str] = &["clock", "codes", "machine", "mechanisms", "model", "stats", "sys"];

/// Longest file, in lines. Whoever needs more has two subjects.
const LONGEST: usize = 450;

// ---- what the source says ------------------------------------------------------------------

/// Every file of `folders` whose name ends in one of `endings`, but for assets.
fn files(folders: &[&str], endings: &[&str]) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = entry.path();
            match path.is_dir() {
                true if path.ends_with("assets") => {}
                true => walk(&path, found),
                false => found.push(path),
            }
        }
    }
    let mut found = Vec::new();
    folders.iter().for_each(|folder| walk(&root().join(folder), &mut found));
    found.retain(|path| endings.iter().any(|it| path.extension().is_some_and(|is| is == *it)));
    found.sort();
    assert!(found.len() > 10, "{folders:?} hold the program");
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The path below src/, and its parts without `mod.rs` and `.rs`: the module path.
fn names(path: &Path) -> (String, Vec<String>) {
    let below = path.strip_prefix(root().join("src")).expect("a file of src");
    let mut parts: Vec<String> =
        below.with_extension("").iter().map(|it| it.to_string_lossy().into_owned()).collect();
    if parts.len() > 1 && parts.last().is_some_and(|it| it == "mod") {
        parts.pop();
    }
    (format!("src/{}", below.display()), parts)
}

/// `source` with comments, strings and characters blanked out; line breaks stay.
fn code_of(source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let (mut code, mut at) = (String::new(), 0);
    while at < text.len() {
        let end = blank_until(&text, at);
        match end {
            Some(end) => {
                let lines = text[at..end].iter().filter(|it| **it == '\n').map(|_| '\n');
                code.extend(std::iter::once(' ').chain(lines));
                at = end;
            }
            None => {
                code.push(text[at]);
                at += 1;
            }
        }
    }
    code
}

/// Where the comment, string or character that begins at `at` ends, if one begins there.
fn blank_until(text: &[char], at: usize) -> Option<usize> {
    let find = |from: usize, what: &str| {
        let what: Vec<char> = what.chars().collect();
        let found = text[from..].windows(what.len()).position(|it| it == what);
        found.map_or(text.len(), |found| from + found + what.len())
    };
    let next = |ahead: usize| text.get(at + ahead).copied().unwrap_or(' ');
    let inside_a_word = at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_');
    match (text[at], next(1)) {
        ('/', '/') => {
            text[at..].iter().position(|it| *it == '\n').map_or(Some(text.len()), |n| Some(at + n))
        }
        ('/', '*') => Some(find(at + 2, "*/")),
        ('r', '"' | '#') if !inside_a_word || text[at - 1] == 'b' => {
            let hashes = text[at + 1..].iter().take_while(|it| **it == '#').count();
            let opens = text.get(at + 1 + hashes) == Some(&'"');
            opens.then(|| find(at + 2 + hashes, &format!("\"{}", "#".repeat(hashes))))
        }
        ('"', _) => Some(end_of_quoted(text, at, '"')),
        ('\'', '\\') => Some(end_of_quoted(text, at, '\'')),
        ('\'', _) if next(2) == '\'' => Some(at + 3), // else it is a lifetime
        _ => None,
    }
}

fn end_of_quoted(text: &[char], at: usize, quote: char) -> usize {
    let mut at = at + 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// First names of all paths that begin at the root of the crate: `crate::a::b`,
/// `crate::{a, b::{c, d}}`, `ipcmark::a` in the program. And the crates of ours that paths begin with.
fn rooted(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for root in ["crate::", "ipcmark::"] {
        for (at, _) in code.match_indices(root) {
            if !code[..at].chars().next_back().is_some_and(is_word) {
                found.extend(first_names(&code[at + root.len()..]));
            }
        }
    }
    let begins = |name: &&&str| {
        code.match_indices(&format!("{name}::")).any(|(at, _)| {
            let before = code[..at].strip_suffix("::").unwrap_or(&code[..at]);
            !before.chars().next_back().is_some_and(|it| is_word(it) || it == '>')
        })
    };
    found.extend(CRATES.iter().filter(begins).map(|name| name.to_string()));
    found
}

/// The first name of the path that `rest` begins with, or of each path of its group.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| text.trim_start().chars().take_while(|c| is_word(*c)).collect();
    let Some(group) = rest.trim_start().strip_prefix('{') else { return vec![name(rest)] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name: &String| !name.is_empty());
    names
}

/// First names of `super::` paths that leave a module of `depth` names for the crate's root,
/// or might: an inline module is one deeper than its file.
fn climbing(code: &str, depth: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("super::") {
        let before = &code[..at];
        if before.ends_with("super::") || before.chars().next_back().is_some_and(is_word) {
            continue; // not the first of its chain
        }
        let (mut rest, mut steps) = (&code[at..], 0);
        while let Some(further) = rest.strip_prefix("super::") {
            (rest, steps) = (further, steps + 1);
        }
        if steps >= depth {
            found.extend(first_names(rest));
        }
    }
    found
}

/// The modules that `source`, of module path `parts`, uses beside its own.
fn arrows(source: &str, parts: &[String]) -> BTreeSet<String> {
    let code = code_of(source);
    let mut used = rooted(&code);
    let modules = climbing(&code, parts.len());
    used.extend(modules.into_iter().filter(|it| SEAMS.iter().any(|seam| seam.module == it)));
    used.remove(&parts[0]);
    used
}

// ---- the rules -------------------------------------------------------------------------------

#[test]
fn modules_use_only_whom_they_may() {
    let mut broken = Vec::new();
    for path in files(&["src"], &["rs"]) {
        let (file, parts) = names(&path);
        let Some(seam) = SEAMS.iter().find(|seam| seam.module == parts[0]) else {
            broken.push(format!(
                "{file}: module `{}` isn't in the table of tests/seams.rs: say there whom it may use",
                parts[0]
            ));
            continue;
        };
        let source = fs::read_to_string(&path).expect("readable source");
        for used in arrows(&source, &parts) {
            if !seam.may_use.contains(&used.as_str()) {
                broken.push(format!(
                    "{file}: {} -> {used} is not an allowed arrow ({})",
                    seam.module, seam.rule
                ));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn the_arrows_of_the_table_form_no_circle() {
    // Struck out from below: whoever uses only what is struck out already.
    let mut struck: BTreeSet<&str> = BTreeSet::new();
    loop {
        let done = |seam: &&Seam| {
            seam.may_use.iter().all(|used| CRATES.contains(used) || struck.contains(used))
        };
        let next: Vec<_> = SEAMS.iter().filter(done).map(|seam| seam.module).collect();
        if next.len() == struck.len() {
            break;
        }
        struck.extend(next);
    }
    let circle: Vec<_> =
        SEAMS.iter().map(|seam| seam.module).filter(|it| !struck.contains(it)).collect();
    assert!(circle.is_empty(), "these use each other, or someone who isn't there: {circle:?}");
}

fn says_unsafe(code: &str) -> bool {
    code.match_indices("unsafe").any(|(at, word)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[test]
fn unsafe_appears_only_at_the_system_boundary() {
    let mut seen_there = false;
    for path in files(&["src", "crates"], &["rs"]) {
        let code = code_of(&fs::read_to_string(&path).expect("readable source"));
        let file = path.strip_prefix(root()).expect("a file below the root");
        let allowed = file.starts_with("crates/sys");
        let file = file.display();
        seen_there |= allowed && says_unsafe(&code);
        assert!(allowed || !says_unsafe(&code), "{file}: `unsafe` belongs in crates/sys");
        let lifted = code.contains("allow(unsafe_code)") || code.contains("expect(unsafe_code)");
        assert!(allowed || !lifted, "{file}: only crates/sys may lift the lint on unsafe code");
    }
    assert!(seen_there, "crates/sys says `unsafe`: the search must find it there");
}

#[test]
fn no_file_is_longer_than_one_subject() {
    for path in files(&["src", "crates"], &["rs", "sql"]) {
        let lines = fs::read_to_string(&path).expect("readable source").lines().count();
        let file = path.display();
        assert!(lines <= LONGEST, "{file}: {lines} lines, more than {LONGEST}: divide it");
    }
}

// ---- the search itself -------------------------------------------------------------------------

fn found(source: &str, module: &str) -> Vec<String> {
    let parts: Vec<String> = module.split("::").map(str::to_string).collect();
    arrows(source, &parts).into_iter().collect()
}

#[test]
fn every_form_of_arrow_is_found() {
    assert_eq!(found("use crate::launch::Spec;", "stats"), ["launch"]);
    assert_eq!(
        found("use crate::{\n  clock::{self, Kind},\n  store,\n};", "stats"),
        ["clock", "store"]
    );
    assert_eq!(found("fn f(x: &crate::study::Case) {}", "stats"), ["study"]);
    assert_eq!(found("let x = ipcmark::store::open();", "main"), ["store"]);
    assert_eq!(found("pub(crate) use crate::sys as y;", "stats"), ["sys"]);
    assert_eq!(found("use super::super::launch;", "stats::tail"), ["launch"]);
    assert_eq!(found("use super::launch;", "stats"), ["launch"]);
    assert_eq!(found("use super::launch;", "stats::tail"), Vec::<String>::new());
    assert_eq!(found("use crate::stats::tail;", "stats"), Vec::<String>::new());
    assert_eq!(found("use sys::calls;\nlet x: ::model::Size;", "launch"), ["model", "sys"]);
}

#[test]
fn prose_is_no_arrow() {
    for prose in [
        "// use crate::launch::Spec;",
        "/// See [`crate::launch`].\nfn f() {}",
        "/* crate::launch */",
        "let x = \"crate::launch \\\" crate::launch\";",
        "let x = r#\"crate::launch \" \"#;",
        "use other_crate::launch;",
    ] {
        assert_eq!(found(prose, "stats"), Vec::<String>::new(), "{prose}");
    }
    // What follows them is code again.
    let after = "let q = '\"'; let s = \"//\"; fn f<'a>(x: &'a crate::store::Run) {} // crate::sys";
    assert_eq!(found(after, "stats"), ["store"]);
    assert!(says_unsafe(&code_of("let c = '\\''; unsafe { f() }")));
    assert!(!says_unsafe(&code_of("#![forbid(unsafe_code)] const X: &str = \"unsafe\";")));
}
