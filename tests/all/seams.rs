//! The house: which crate may see which, where `unsafe` may stand, and which files are too small.
//!
//! Cargo enforces the arrows: a crate sees the crates that its Cargo.toml names. What is named there is compared with
//! the design here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate, and whom it may name beside crates of others.
const MAY_SEE: &[(&str, &[&str])] = &[
    ("schemaless", &[]),
    ("stats", &["schemaless"]),
    ("codes", &[]),
    ("model", &["schemaless", "stats"]),
    ("sys", &["model"]),
    ("mechanisms", &["codes", "model", "sys"]),
    ("workload", &["mechanisms", "model", "sys"]),
    ("machine", &["model", "sys"]),
    ("lab", &["machine", "model", "sys"]),
    ("store", &["model", "schemaless"]),
    ("study", &["model", "schemaless"]),
    ("floors", &["machine", "model", "stats", "sys", "workload"]),
    (
        "run",
        &["floors", "machine", "mechanisms", "model", "stats", "store", "study", "sys", "workload"],
    ),
    ("fleet", &["machine", "mechanisms", "model", "run", "store"]),
    ("host", &["mechanisms", "model", "run", "sys"]),
    ("analysis", &["model", "schemaless", "stats", "store", "study"]),
    ("report", &["analysis", "model", "schemaless", "stats", "store", "study"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of the program and its crates whose name ends so.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    ["src", "crates"].iter().for_each(|text| walk(&root().join(text), &mut found));
    found.retain(|path| {
        endings.iter().any(|ending| path.extension().is_some_and(|is| is == *ending))
    });
    assert!(found.len() > 100, "src/ and crates/ hold the program");
    found
}

/// What a crate's Cargo.toml names under `[dependencies]`, of ours.
fn named(krate: &str) -> BTreeSet<String> {
    let path = root().join("crates").join(krate).join("Cargo.toml");
    let manifest: BTreeMap<String, toml::Value> =
        toml::from_str(&fs::read_to_string(path).expect("a manifest")).expect("TOML");
    let tables = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter();
    let all = tables.flat_map(toml::Table::keys);
    all.filter(|text| MAY_SEE.iter().any(|(ours, _)| ours == text)).cloned().collect()
}

#[test]
fn every_crate_sees_only_whom_it_may() {
    let folders = fs::read_dir(root().join("crates")).expect("crates/").flatten();
    let folders: BTreeSet<String> =
        folders.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect();
    let known: BTreeSet<String> = MAY_SEE.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(folders, known, "say in tests/seams.rs whom a new crate may see");
    for (krate, may_see) in MAY_SEE {
        for seen in named(krate) {
            assert!(may_see.contains(&&*seen), "{krate} -> {seen} is not an allowed arrow");
        }
    }
}

#[test]
fn who_judges_and_shows_reaches_nothing_that_measures() {
    for krate in ["store", "study", "analysis", "report"] {
        let mut reached = BTreeSet::from([krate.to_string()]);
        loop {
            let next: BTreeSet<String> = reached.iter().flat_map(|text| named(text)).collect();
            let before = reached.len();
            reached.extend(next);
            if reached.len() == before {
                break;
            }
        }
        for measuring in ["run", "floors", "mechanisms", "machine", "sys"] {
            assert!(!reached.contains(measuring), "{krate} reaches {measuring}: {reached:?}");
        }
    }
}

/// A file of fewer lines that only one other file uses belongs into that one.
const SMALL: usize = 80;
/// Those that still stand alone: none may be added.
const STILL_ALONE: &[&str] = &[
    "crates/analysis/src/earlier.rs",
    "crates/analysis/src/energy.rs",
    "crates/analysis/src/hypothesis/bounds.rs",
    "crates/analysis/src/hypothesis/lost.rs",
    "crates/analysis/src/sessions.rs",
    "crates/mechanisms/src/partner_ids.rs",
    "crates/mechanisms/src/udp/bends.rs",
    "crates/mechanisms/src/udp/fragments/silence.rs",
    "crates/report/src/compose/compare/forest.rs",
    "crates/report/src/compose/compare/trust.rs",
    "crates/report/src/compose/figures/floors.rs",
    "crates/report/src/compose/lists.rs",
    "crates/report/src/compose/study/floors.rs",
    "crates/report/src/svg/boxes.rs",
];

/// Whether code names something in the module `name` of `krate`, below `parent`.
fn uses(text: &str, krate: &str, parent: &str, name: &str) -> bool {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.into_iter().any(|line| {
        line.match_indices(&format!("{name}::")).any(|(at, _)| {
            let before = &line[..at];
            match before.strip_suffix("::") {
                Some(path) => {
                    let word = path.rsplit(|letter: char| !is_of_a_name(letter)).next();
                    word.is_some_and(|word| {
                        ["super", "self", "crate", krate, parent].contains(&word)
                    })
                }
                None => !before.ends_with(is_of_a_name),
            }
        })
    })
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Crates, and folders by their `mod.rs`, are tables of what they hold, as are those that are called so, and an order in which
/// all is told: what they alone name may be small.
#[test]
fn a_small_file_that_one_other_uses_is_a_part_of_that_one() {
    let texts: Vec<(String, String)> = files(&["rs"])
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("readable source");
            (path.strip_prefix(root()).unwrap().display().to_string(), text)
        })
        .collect();
    let stem = |path: &str| Path::new(path).file_stem().unwrap().to_str().unwrap().to_string();
    let is_table = |path: &str| ["lib", "main", "mod", "table", "order"].contains(&&*stem(path));
    let is_test = |path: &str| stem(path).ends_with("tests");
    let mut alone = Vec::new();
    for (path, text) in &texts {
        if text.lines().count() >= SMALL || is_table(path) || is_test(path) {
            continue;
        }
        let krate = path.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
        let (krate, home) =
            krate.map_or(("", "src/".into()), |krate| (krate, format!("crates/{krate}/")));
        let parent = stem(Path::new(path).parent().unwrap().to_str().unwrap());
        let name = stem(path);
        let near = |other: &str| other.starts_with(&home);
        // What another crate uses is a face of its own.
        let is_shown = texts
            .iter()
            .any(|(other, text)| !near(other) && text.contains(&format!("{krate}::{name}")));
        let users = texts.iter().filter(|(other, text)| {
            near(other) && other != path && uses(text, krate, &parent, &name)
        });
        let users: Vec<&String> = users.map(|(other, _)| other).collect();
        if let [user] = users[..]
            && !is_shown
            && !is_table(user)
            && !STILL_ALONE.contains(&&**path)
        {
            alone.push(format!("{path} is used by {user} alone"));
        }
    }
    assert!(alone.is_empty(), "small files that belong into others:\n{}", alone.join("\n"));
}

/// The files of Rust that say such a thing.
fn sources(says: impl Fn(&str) -> bool) -> BTreeSet<PathBuf> {
    let text = |path: &PathBuf| fs::read_to_string(path).expect("readable source");
    files(&["rs"]).into_iter().filter(|path| says(&text(path))).collect()
}

#[test]
fn only_the_system_boundary_lifts_the_lint_on_unsafe_code() {
    for (krate, _) in MAY_SEE {
        let manifest = fs::read_to_string(root().join("crates").join(krate).join("Cargo.toml"));
        assert!(manifest.unwrap().contains("[lints]\nworkspace = true"), "{krate} has no lints");
    }
    let lifting =
        sources(|text| text.contains("allow(unsafe_code)") || text.contains("expect(unsafe_code)"));
    assert_eq!(lifting, BTreeSet::from([root().join("crates/sys/src/lib.rs")]));
}

/// Programs call the C library, and so does what is timed; the floors alone compare the two.
#[test]
fn no_system_call_is_made_inline_but_by_the_floors() {
    let inline = sources(|text| {
        text.contains("asm!") && (text.contains("\"syscall\"") || text.contains("\"svc "))
    });
    let calls = root().join("crates/sys/src/calls.rs");
    assert_eq!(inline, BTreeSet::from([calls.clone()]));
    let users = sources(|text| {
        ["inline_getpid", "inline_read", "inline_write"].iter().any(|name| text.contains(name))
    });
    let floor = root().join("crates/floors/src/calls.rs");
    assert_eq!(users, BTreeSet::from([floor, calls]));
}
