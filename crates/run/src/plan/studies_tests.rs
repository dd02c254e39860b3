//! The built-in studies, planned on this machine.

use super::{Case, WithMechanism};
use mechanisms::register;
use study::builtin::all;
use study::factor::{Chosen, chosen};
use study::validated::{ValidatedStudy, validate, wanted};

/// Every built-in study with its cases on this machine, measured or absent with a reason.
fn planned() -> Vec<(&'static str, ValidatedStudy, Vec<Case>)> {
    let planned = |(name, text): (&'static str, &str)| {
        let declared =
            validate(text, &format!("studies/{name}.toml"), &workload::catalogue(&[])).unwrap();
        // What isn't built in has a place all the same.
        wanted(&declared.study).unwrap().iter().for_each(|place| register(place).unwrap());
        let plan = super::tests::planned(&declared.request);
        let cases = plan.groups.into_iter().flat_map(|group| {
            assert!(group.absent.iter().all(|absent| !absent.reason.is_empty()));
            group.cases.into_iter().chain(group.absent.into_iter().map(|absent| absent.case))
        });
        let cases = cases.collect();
        (name, declared, cases)
    };
    all().into_iter().map(planned).collect()
}

/// Whether `chosen` means `case`, which stands for every size and total that mean nothing to it.
fn takes(chosen: &Chosen, case: &Case) -> bool {
    chosen.takes(|factor| factor.of(&case.kept()))
}

#[test]
fn every_claim_table_and_figure_is_about_cases_of_its_plan() {
    for (name, declared, cases) in planned() {
        let some = |selector: &_, what: &str| {
            let chosen = chosen(selector);
            let any = cases.iter().any(|case| takes(&chosen, case));
            assert!(any, "{name}: `{what}` chooses nothing by `{chosen}`");
        };
        for claim in &declared.study.hypothesis {
            let sides = [&claim.left].into_iter().chain(&claim.right).chain(&claim.order);
            sides.for_each(|map| some(map, &claim.statement));
            // A study of our own makes its claims itself.
            let is_sourced = claim.claimed.is_some() || declared.study.source.is_none();
            assert!(is_sourced, "{name}: `{}`: claimed where?", claim.statement);
        }
        declared.study.table.iter().for_each(|spec| some(&spec.only, &spec.title));
        declared.study.figure.iter().for_each(|spec| some(&spec.only, &spec.title));
        declared.study.search.iter().for_each(|search| some(&search.only, &search.title));
    }
}

#[test]
fn every_printed_figure_stands_beside_a_case() {
    for (name, declared, cases) in planned() {
        for published in &declared.study.published {
            assert!(!published.place.is_empty());
            for figure in &published.figures {
                let chosen = Chosen::of_words(&figure.levels).unwrap();
                let any = cases.iter().any(|case| takes(&chosen, case));
                assert!(any, "{name}: `{}`: no case for `{chosen}`", published.name);
            }
        }
    }
}

#[test]
fn each_ends_by_itself_and_says_what_the_original_could_not_see() {
    for (name, declared, _) in planned() {
        let stopping = &declared.request.stopping;
        assert!((12..=30).contains(&stopping.launches.unwrap_or(0)), "{name}");
        let minutes = stopping.budget_ns.unwrap_or(0) / 60_000_000_000;
        assert!((1..=10).contains(&minutes), "{name}: {minutes} minutes");
        // What others wrote is tested by those with a number, and by those of what others made.
        let is_of_others = name.starts_with(|name: char| name.is_ascii_digit())
            || !declared.study.plugins.is_empty();
        assert_eq!(declared.study.source.is_some(), is_of_others, "{name}");
        assert!(!declared.study.hypothesis.is_empty(), "{name}");
        assert!(!declared.study.critique.is_empty(), "{name}");
    }
}
