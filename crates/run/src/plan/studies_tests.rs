//! The built-in studies, planned on this machine.

use super::{Case, WithMechanism};
use mechanisms::register;
use model::factor::Factor;
use study::builtin::all;
use study::factor::{Chosen, chosen};
use study::format::Hypothesis;
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

/// How many pairs of cases a claim compares.
fn pairs(claim: &Hypothesis, cases: &[Case]) -> usize {
    let plain = |chosen: &Chosen| -> Vec<&Case> {
        let asked = |case: &Case| case.observe.is_none() || chosen.level(Factor::Observe).is_some();
        cases.iter().filter(|case| !case.twin && asked(case) && takes(chosen, case)).collect()
    };
    let of = |(left, right): (&Chosen, &Chosen)| {
        let free =
            |factor: &&Factor| left.level(**factor).is_none() && right.level(**factor).is_none();
        let alike = |a: &Case, b: &Case| {
            let same = |factor: &Factor| {
                factor.of(&a.kept()).zip(factor.of(&b.kept())).is_none_or(|(a, b)| a == b)
            };
            Factor::ALL.iter().filter(free).all(same)
        };
        let rights = plain(right);
        let of_left = |a: &Case| rights.iter().filter(|b| alike(a, b)).count();
        plain(left).into_iter().map(of_left).sum::<usize>()
    };
    let left = chosen(&claim.left);
    let order: Vec<Chosen> = claim.order.iter().map(chosen).collect();
    let rights: Vec<Chosen> = claim.right.iter().map(chosen).collect();
    let steps = order.windows(2).map(|window| of((&window[0], &window[1])));
    steps.chain(rights.iter().map(|chosen| of((&left, chosen)))).max().unwrap_or(0)
}

#[test]
fn a_claim_about_several_cases_says_whether_of_each_or_of_their_mean() {
    for (name, declared, cases) in planned() {
        for claim in
            declared.study.hypothesis.iter().filter(|hypothesis| hypothesis.test.needs().pairs)
        {
            let pairs = pairs(claim, &cases);
            let said = claim.levels.is_some();
            if said != (pairs > 1) {
                eprintln!("{name}: `{}`: {pairs} pairs", claim.statement);
            }
        }
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
