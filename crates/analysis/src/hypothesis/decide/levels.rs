//! Claims about several cases: of each or of their mean, of an order, with a margin; and what is too
//! little to decide them. On made-up launches.

use super::super::{Finding, needed};
use super::checks::measured;
use super::*;
use crate::Status;
use crate::testing::Machine;
use model::workload::Workload;
use study::size_bound::Caches;
use study::validated::validate;

const PLACEMENTS: [&str; 3] = ["free", "same-cpu", "same-llc"];

/// A case at `placement` whose launches take about so many ns; `spread` apart, in an order of its own.
fn case(mechanism: &str, placement: &str, ns: f64, spread: f64) -> CaseResult {
    let mut made = measured(placement, ns, ns);
    made.mechanism = mechanism.into();
    made.variant = mechanism.into();
    let own = mechanism.len();
    let at = |nth: usize| 1.0 + spread * (((nth * 5 + own * 3) % 12) as f64 - 5.5) / 5.5;
    made.by_round = (0..12).map(|nth| Some(ns * at(nth))).collect();
    made
}

/// What becomes of claims, corrected together.
fn findings(claims: &[String], results: &[CaseResult]) -> Vec<Finding> {
    let claims: String = claims
        .iter()
        .map(|claim| format!("[[hypothesis]]\nstatement = \"s\"\n{claim}\n"))
        .collect();
    let text = format!(
        "version = 1\ntitle = \"t\"\nquestion = \"q\"\n[variables]\ncause = {{}}\neffect = {{}}\n\
         [vary]\nmechanism = [\"pipe\", \"tcp\", \"udp\"]\n\
         placement = [\"free\", \"same-cpu\", \"same-llc\"]\n{claims}"
    );
    let declared = validate(&text, "s.toml", &workload::catalogue(&[])).unwrap();
    super::super::decide(&Ground {
        declared: &declared,
        results,
        floors: None,
        caches: Caches::default(),
    })
}

fn one(claim: &str, results: &[CaseResult]) -> Finding {
    findings(&[claim.to_string()], results).remove(0)
}

fn pipe_against_tcp(test: &str, more: &str) -> String {
    format!(
        "test = \"{test}\"\nleft = {{ mechanism = \"pipe\" }}\nright = {{ mechanism = \"tcp\" }}\n{more}"
    )
}

/// A pipe of 1 µs a round trip at each placement, and TCP of so many µs.
fn against(tcp: [f64; 3]) -> Vec<CaseResult> {
    let of = |(placement, ns): (&str, f64)| {
        [case("pipe", placement, 1000.0, 0.002), case("tcp", placement, ns * 1000.0, 0.002)]
    };
    PLACEMENTS.into_iter().zip(tcp).flat_map(of).collect()
}

#[test]
fn faster_at_every_level_is_not_faster_on_average() {
    let every = pipe_against_tcp("faster", "levels = \"every\"");
    let average = pipe_against_tcp("faster", "levels = \"average\"");
    let clear = against([2.0, 3.0, 1.5]);
    let result = one(&every, &clear);
    assert_eq!(result.decision, Decision::Supported, "{}", result.effect);
    assert!(result.effect.starts_with("at each of 3 levels: free: 1.99"), "{}", result.effect);
    assert!(result.brief.starts_with("at each of 3 levels, the least sure: "), "{}", result.brief);
    // Slower at one of three, and faster in the mean.
    let mixed = against([2.0, 3.0, 0.5]);
    let result = one(&every, &mixed);
    assert_eq!(result.decision, Decision::Refuted, "{}", result.effect);
    assert!(result.effect.starts_with("fails at same-llc: 0.499"), "{}", result.effect);
    assert!(result.effect.contains("holds at 2 of 3 levels"), "{}", result.effect);
    let brief = "fails at 1 of 3, the surest: same-llc, 0.499";
    assert!(result.brief.starts_with(brief), "{}", result.brief);
    assert_eq!(one(&average, &mixed).decision, Decision::Supported);
    let unsaid = one(&pipe_against_tcp("faster", ""), &mixed);
    assert_eq!(unsaid.decision, Decision::Refuted, "what says nothing means each");
    // A level that was measured alone has nothing to be told from.
    let mut alone = against([0.5, 3.0, 1.5]);
    alone[2..].iter_mut().for_each(|case| case.status = Status::Unavailable);
    let result = one(&every, &alone);
    let begins = "fails at the only one measured: 0.499";
    assert!(result.effect.starts_with(begins), "{}", result.effect);
}

#[test]
fn cases_of_one_load_are_compared_with_each_other_alone() {
    let at = |mechanism, connections, ns| {
        let load = Some(model::load::Load::closed(connections));
        let mut made = case(mechanism, "free", ns, 0.002);
        (made.load, made.workload) = (load, Workload::FanOut);
        made
    };
    let (pipe, tcp) = ([(2, 1000.0), (8, 4000.0)], [(2, 2000.0), (8, 8000.0)]);
    let of = |mechanism, all: [(u32, f64); 2]| all.map(|(many, ns)| at(mechanism, many, ns));
    let results = [of("pipe", pipe), of("tcp", tcp)].concat();
    let found = one(&pipe_against_tcp("faster", ""), &results);
    assert_eq!(found.decision, Decision::Supported, "a pipe to 8 is slower than TCP to 2");
}

#[test]
fn a_level_refutes_at_its_part_of_the_error() {
    let every = pipe_against_tcp("faster", "");
    // At one placement ten of twelve rounds are against it: p is above 0.05 / 3 and below 0.05.
    let mut results = against([2.0, 3.0, 0.99]);
    let tcp = results.iter_mut().rfind(|result| result.variant == "tcp").unwrap();
    let rounds = [0.9, 0.91, 0.92, 1.055, 0.93, 0.94, 1.045, 0.95, 0.96, 0.97, 0.985, 0.98];
    tcp.by_round = rounds.iter().map(|round| Some(round * 1000.0)).collect();
    let logs =
        |case: &CaseResult| case.by_round.iter().flatten().map(|ns| ns.ln()).collect::<Vec<_>>();
    let (pipe, tcp) = (logs(&results[4]), logs(&results[5]));
    let ratios: Vec<f64> = tcp.iter().zip(&pipe).map(|(a, b)| a - b).collect();
    let p = stats::sign_test(&ratios);
    assert!((ALPHA / 3.0..ALPHA).contains(&p), "{p}");
    let result = one(&every, &results);
    assert_eq!(result.decision, Decision::Inconclusive, "{}", result.effect);
    assert!(result.effect.starts_with("open at same-llc: "), "{}", result.effect);
}

#[test]
fn one_step_against_an_order_refutes_it_however_open_the_others_are() {
    let step = |mechanism: &str| format!("{{ mechanism = \"{mechanism}\", placement = \"free\" }}");
    let claim = format!(
        "test = \"ranking\"\nleft = {{ placement = \"free\" }}\norder = [{}, {}, {}]\n",
        step("udp"),
        step("tcp"),
        step("pipe")
    );
    // UDP and TCP are not separated; a pipe is surely ahead of TCP, and should be behind it.
    let results = [
        case("udp", "free", 10_000.0, 0.2),
        case("tcp", "free", 10_100.0, 0.2),
        case("pipe", "free", 4_000.0, 0.01),
    ];
    let result = one(&claim, &results);
    assert_eq!(result.decision, Decision::Refuted, "{} p = {:?}", result.effect, result.p);
    let least = 2.0 * needed::least_p(12);
    assert!(result.p.is_some_and(|p| (p - least).abs() < 1e-12), "{:?}: over two steps", result.p);
    assert!(result.brief.starts_with("tcp over pipe: 0.3"), "{}", result.brief);
    assert!(result.brief.ends_with("; fails in 1 of 2"), "one holds: {}", result.brief);
}

#[test]
fn the_least_sure_level_is_the_one_nearest_to_its_bound_and_a_ratio_of_times_says_so() {
    let claim = pipe_against_tcp("ratio", "within = [\"0.1\", \"1.1\"]");
    let result = one(&claim, &against([2.0, 1.05, 1.5]));
    assert_eq!(result.decision, Decision::Supported, "{}", result.effect);
    let brief = "at each of 3 levels, the least sure: same-cpu, 0.95";
    assert!(result.brief.starts_with(brief), "{}", result.brief);
    assert!(result.brief.contains("] as much time; claimed 0.1 to 1.1"), "{}", result.brief);
    let measured = result.measured.expect("the words have numbers");
    assert_eq!(measured.unit, "ratio_of_values");
    assert!(measured.low <= measured.value && measured.value <= measured.high, "{measured:?}");
}

#[test]
fn what_the_clock_cut_is_no_lack_of_the_machine() {
    let claim = pipe_against_tcp("faster", "");
    let mut results = against([2.0, 3.0, 1.5]);
    for reason in
        ["the run ended before it was launched", "deadline passed: no word from the initiator"]
    {
        let last = results.last_mut().unwrap();
        (last.status, last.reason) = (Status::Failed, Some(reason.into()));
        assert_eq!(one(&claim, &results).decision, Decision::NoTime, "{reason}");
    }
}

#[test]
fn not_slower_and_not_faster_have_a_margin() {
    let free = |test: &str, margin: &str| {
        format!(
            "test = \"{test}\"\nmargin = \"{margin}\"\n\
             left = {{ mechanism = \"pipe\", placement = \"free\" }}\n\
             right = {{ mechanism = \"tcp\", placement = \"free\" }}\n"
        )
    };
    let results =
        |pipe: f64| [case("pipe", "free", pipe, 0.002), case("tcp", "free", 1000.0, 0.002)];
    let decision = |test, margin, pipe| one(&free(test, margin), &results(pipe)).decision;
    use Decision::{Refuted, Supported};
    for (pipe, slower, faster, differs) in [
        (1100.0, Refuted, Supported, Supported),
        (1020.0, Supported, Supported, Refuted),
        (980.0, Supported, Supported, Refuted),
        (900.0, Supported, Refuted, Supported),
    ] {
        assert_eq!(decision("not-slower", "5%", pipe), slower, "{pipe}");
        assert_eq!(decision("not-faster", "5%", pipe), faster, "{pipe}");
        assert_eq!(decision("differs", "5%", pipe), differs, "{pipe}");
    }
    assert_eq!(decision("not-slower", "20%", 1100.0), Supported);
    let result = one(&free("not-slower", "5%"), &results(1020.0));
    assert!(result.effect.contains("slower by 5 % at most asked"), "{}", result.effect);
    assert_eq!(result.p, Some(needed::least_p(12)), "of a test against the margin");
}

#[test]
fn a_level_that_was_to_be_measured_and_was_not_is_no_support() {
    let claim = pipe_against_tcp("faster", "");
    let mut results = against([2.0, 3.0, 1.5]);
    let last = results.last_mut().unwrap();
    (last.status, last.reason) = (Status::Failed, Some("a datagram was lost".into()));
    let result = one(&claim, &results);
    assert_eq!(result.decision, Decision::NotTestable, "{}", result.effect);
    assert!(result.effect.contains("tcp 64 same-llc: a datagram was lost"), "{}", result.effect);
    assert!(result.effect.starts_with("holds at 2 of 3 levels"), "{}", result.effect);
    // A level that doesn't exist here is none of the claim's, and is named.
    let last = results.last_mut().unwrap();
    (last.status, last.reason) = (Status::NotApplicable, Some("one CPU".into()));
    let result = one(&claim, &results);
    assert_eq!(result.decision, Decision::Supported, "{}", result.effect);
    assert!(result.effect.ends_with("; without tcp 64 same-llc (one CPU)"), "{}", result.effect);
    // But if another level refutes, that decides.
    let mut results = against([2.0, 0.3, 1.5]);
    results.last_mut().unwrap().status = Status::Failed;
    assert_eq!(one(&claim, &results).decision, Decision::Refuted);
}

#[test]
fn too_few_rounds_are_another_verdict_than_a_machine_that_lacks_something() {
    let claim =
        format!("{}\n", pipe_against_tcp("faster", "").replace(" }", ", placement = \"free\" }"));
    let in_rounds = |rounds: usize| {
        let mut results = against([2.0, 3.0, 1.5]);
        results.iter_mut().for_each(|result| result.by_round.truncate(rounds));
        results
    };
    let result = one(&claim, &in_rounds(5));
    assert_eq!(result.decision, Decision::TooFewRounds, "{}", result.effect);
    assert!(result.effect.contains("5 rounds, of at least 6 needed"), "{}", result.effect);
    assert_eq!(one(&claim, &in_rounds(6)).decision, Decision::Supported);
    // Six rounds tell one claim from chance, and never three together.
    let result = findings(&[claim.clone(), claim.clone(), claim.clone()], &in_rounds(6)).remove(0);
    assert_eq!(result.decision, Decision::TooFewRounds, "{}", result.effect);
    assert!(result.effect.ends_with("3 claims together need 1 round more"), "{}", result.effect);
    let result = findings(&[claim.clone(), claim.clone(), claim.clone()], &in_rounds(7)).remove(0);
    assert_eq!(result.decision, Decision::Supported, "{}", result.effect);
    let lacking =
        in_rounds(12).into_iter().filter(|round| round.variant == "tcp").collect::<Vec<_>>();
    assert_eq!(one(&claim, &lacking).decision, Decision::NotTestable);
}

#[test]
fn a_price_goes_along_how_often_it_is_paid() {
    let judge = |prices: [f64; 3]| {
        let mut machine = Machine::seeded(2);
        let at = machine.plain("pipe", 64, 4000.0);
        machine.under("software", at, 9000.0);
        for (probe, price) in ["trace", "trace:times=2", "trace:times=4"].into_iter().zip(prices) {
            machine.under(probe, at, 4000.0 + price);
        }
        let cases = machine.observed.into_iter().map(|observed| observed.case);
        let results: Vec<CaseResult> = machine.results.into_iter().chain(cases).collect();
        let text = "version = 1\ntitle = \"t\"\nquestion = \"q\"\n[variables]\ncause = {}\neffect = {}\n\
            [vary]\nmechanism = \"pipe\"\n\
            observe = [\"none\", \"software\", \"trace\", \"trace:times=2\", \"trace:times=4\"]\n\
            [[hypothesis]]\nstatement = \"s\"\ntest = \"straight\"\nalong = \"observe\"\n\
            left = { mechanism = \"pipe\", observe = \"trace\" }\n";
        let declared = validate(text, "s.toml", &workload::catalogue(&[])).unwrap();
        assert_eq!(needed(&declared).for_intervals, 7, "two levels between the ends");
        let caches = Caches::default();
        let on = Ground { declared: &declared, results: &results, floors: None, caches };
        decide(&declared.study.hypothesis[0], &on)
    };
    let line = judge([1000.0, 2000.0, 4000.0]);
    assert_eq!(line.decision, Decision::Supported, "{}", line.effect);
    assert!(line.effect.contains("each time"), "{}", line.effect);
    let first_costs_more = judge([2000.0, 2700.0, 4000.0]);
    assert_eq!(first_costs_more.decision, Decision::Refuted, "{}", first_costs_more.effect);
}

#[test]
fn the_best_level_of_a_time_is_its_least() {
    let mut machine = Machine::seeded(3);
    for (bytes, ns) in [(64, 4000.0), (4096, 3000.0), (65_536, 9000.0)] {
        machine.plain("pipe", bytes, ns);
    }
    let text = "version = 1\ntitle = \"t\"\nquestion = \"q\"\n[variables]\ncause = {}\neffect = {}\n\
        [vary]\nmechanism = \"pipe\"\nsize = [\"64\", \"4K\", \"64K\"]\n[[hypothesis]]\nstatement = \"s\"\n\
        test = \"peak\"\nalong = \"size\"\nleft = { mechanism = \"pipe\" }\nwithin = [\"4K\", \"4K\"]\n";
    let declared = validate(text, "s.toml", &workload::catalogue(&[])).unwrap();
    let (results, caches) = (&machine.results[..], Caches::default());
    let on = Ground { declared: &declared, results, floors: None, caches };
    let found = decide(&declared.study.hypothesis[0], &on);
    assert_eq!(found.decision, Decision::Supported, "{}", found.effect);
}
