//! What the program is made of is what deny.toml allows: licences, sources, and no crate twice but those that are
//! named. Of Cargo.lock as it is, without the network. And a program that is released doesn't say who built it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The packages that are compiled for this platform, those of tests too.
fn packages() -> Vec<Value> {
    let about = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform"])
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .current_dir(root())
        .output()
        .expect("run cargo");
    assert!(about.status.success(), "{}", String::from_utf8_lossy(&about.stderr));
    let about: Value = serde_json::from_slice(&about.stdout).expect("JSON");
    about["packages"].as_array().expect("packages").clone()
}

fn deny() -> toml::Table {
    toml::from_str(&std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml"))
        .expect("TOML")
}

fn words(list: &toml::Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|word| word.as_str().expect("a word")).collect()
}

/// Whether some choice that a licence expression offers (SPDX 2.3, annex D) is allowed.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    let allows = either(&mut words, allowed);
    assert!(words.is_empty(), "`{expression}`: more than an expression");
    allows
}

fn either(words: &mut Vec<&str>, allowed: &[&str]) -> bool {
    let mut allows = both(words, allowed);
    while words.pop_if(|word| *word == "OR").is_some() {
        allows |= both(words, allowed);
    }
    allows
}

fn both(words: &mut Vec<&str>, allowed: &[&str]) -> bool {
    let mut allows = one(words, allowed);
    while words.pop_if(|word| *word == "AND").is_some() {
        allows &= one(words, allowed);
    }
    allows
}

fn one(words: &mut Vec<&str>, allowed: &[&str]) -> bool {
    let word = words.pop().expect("a licence");
    if word == "(" {
        let allows = either(words, allowed);
        assert_eq!(words.pop(), Some(")"));
        return allows;
    }
    // What an exception permits, the licence alone does not.
    match words.pop_if(|word| *word == "WITH") {
        Some(_) => {
            allowed.contains(&&*format!("{word} WITH {}", words.pop().expect("an exception")))
        }
        None => allowed.contains(&word),
    }
}

#[test]
fn every_licence_is_allowed_and_every_allowed_one_is_used() {
    let deny = deny();
    let allowed = words(&deny["licenses"]["allow"]);
    let packages = packages();
    assert!(packages.len() > 100, "{}", packages.len());
    let licences: BTreeSet<&str> = packages
        .iter()
        .map(|package| {
            package["license"].as_str().unwrap_or_else(|| panic!("no licence: {package}"))
        })
        .collect();
    let refused: Vec<_> =
        licences.iter().filter(|licence| !is_allowed(licence, &allowed)).collect();
    assert!(refused.is_empty(), "deny.toml doesn't allow {refused:?}");
    for licence in &allowed {
        assert!(
            licences.iter().any(|used| used.contains(licence)),
            "{licence} isn't needed any more"
        );
    }
}

#[test]
fn everything_comes_from_one_registry() {
    let registry = format!("registry+{}", words(&deny()["sources"]["allow-registry"])[0]);
    assert_eq!(registry, CRATES_IO);
    for package in packages() {
        let here = package["manifest_path"]
            .as_str()
            .is_some_and(|path| Path::new(path).starts_with(root()));
        match package["source"].as_str() {
            Some(source) => assert_eq!(source, registry, "{}", package["name"]),
            None => assert!(here, "{} lies elsewhere", package["name"]),
        }
    }
}

#[test]
fn no_crate_is_there_twice_but_those_that_are_named() {
    let deny = deny();
    let skipped: BTreeSet<&str> = deny["bans"]["skip"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|skip| skip["crate"].as_str().expect("a crate with its version"))
        .collect();
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        let word = |key: &str| package[key].as_str().expect("a word").to_string();
        versions.entry(word("name")).or_default().insert(word("version"));
    }
    let mut used = BTreeSet::new();
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let mut skip = |version: &String| {
            let named = skipped.iter().find(|skip| {
                let (of, least) = skip.split_once('@').expect("a version");
                of == name && format!("{version}.").starts_with(&format!("{least}."))
            });
            used.extend(named);
            named.is_some()
        };
        let left = versions.iter().filter(|version| !skip(version)).count();
        assert_eq!(
            left, 1,
            "{name} is there as {versions:?}: name all but one in deny.toml, or update"
        );
    }
    assert_eq!(used, skipped, "no longer there twice: take it out of deny.toml");
}

#[test]
fn expressions_are_read_as_they_are_meant() {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
        "GPL-2.0 AND Zlib OR MIT",
    ] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "(GPL-2.0 OR Zlib) AND MIT",
    ] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

/// As cargo starts the compiler for a release: by .cargo/rustc, for a crate that lies where cargo puts those of others.
#[test]
fn a_released_program_names_no_path_of_its_builder() {
    let home = tempfile::tempdir().expect("a folder");
    let source = home.path().join("registry/src/index/some-1.0/lib.rs");
    std::fs::create_dir_all(source.parent().expect("a folder")).expect("folders");
    std::fs::write(&source, "fn main() { assert!(std::env::args().count() < 9, \"{}\", file!()) }")
        .expect("a source");
    let built = |flag: &str| {
        let program = home.path().join("program");
        let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
        let status = Command::new(root().join(".cargo/rustc"))
            .arg(rustc)
            .args(["--crate-name", "some", "-C", flag, "-o"])
            .args([&program, &source])
            .env("CARGO_HOME", home.path())
            .status();
        assert!(status.expect("run the compiler").success());
        let bytes = std::fs::read(program).expect("a program");
        let told = home.path().to_str().expect("text").as_bytes();
        bytes.windows(told.len()).any(|part| part == told)
    };
    assert!(!built("opt-level=3"));
    assert!(built("debuginfo=1"), "a debugger finds its sources");
}
