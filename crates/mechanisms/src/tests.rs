//! The table, and what is checked before a mechanism opens: names, variants that parse, sizes that are
//! refused.

use super::*;
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_plain() {
    let names: BTreeSet<_> = MECHANISMS.iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), MECHANISMS.len());
    for name in names {
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
    }
}

#[test]
fn an_alias_is_of_one_mechanism_and_no_name() {
    let names = MECHANISMS.iter().map(|entry| entry.name);
    let aliases = MECHANISMS.iter().flat_map(|entry| entry.aliases);
    let all: Vec<&str> = names.chain(aliases.copied()).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
}

#[test]
fn every_shown_variant_parses_and_prints_itself() {
    for entry in MECHANISMS {
        for shown in entry.shown {
            let text = if shown.is_empty() {
                entry.name.to_string()
            } else {
                format!("{}:{shown}", entry.name)
            };
            assert_eq!(Variant::parse(&text).unwrap().to_string(), text);
        }
    }
}

#[test]
fn too_large_a_message_is_refused_not_clamped() {
    let small = Variant::parse("unix-dgram:buffer=16K").unwrap();
    assert!(matches!(probe(&small, 32_737), Err(OpenError::NotApplicable(_))));
    for name in ["pipe", "shm-ring"] {
        let variant = Variant::parse(name).unwrap();
        for bytes in [0, usize::MAX] {
            assert!(matches!(probe(&variant, bytes), Err(OpenError::NotApplicable(_))));
        }
    }
}
