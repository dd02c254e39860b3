//! Across CPUs the level changes from run to run, and ratios to the reference don't: they are the headline of every
//! table, and the results of earlier runs stand beside the medians. On one CPU medians are. All on stored runs, but
//! for where workers run of which one is pinned: that is looked at.

use std::time::Duration;

use crate::cli_support::{Bench, flat, number, results, say, stored, wait_for};
use model::placement::Placement;
use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_getaffinity};
use store::Store;

/// Seven rounds in which `unix-stream` takes less time in four, and more in three by so much that its median is the
/// larger one.
const LESS_BY_ROUND_AND_MORE_IN_THE_MEDIAN: [[u64; 2]; 7] = [
    [10_000, 7_000],
    [10_000, 31_000],
    [30_000, 21_000],
    [10_000, 31_000],
    [30_000, 21_000],
    [10_000, 31_000],
    [10_000, 7_000],
];

/// A store of so many runs alike.
fn stored(placement: Placement, ticks: &[[u64; 2]], runs: usize) -> Bench {
    let bench = Bench::new();
    let mut store = Store::open(&bench.store()).expect("a store");
    for _ in 0..runs {
        let (run, cases) = stored::begin_at(&mut store, placement).expect("a run");
        for (ticks, round) in ticks.iter().zip(1..) {
            stored::round_of(&mut store, run, &cases, round, ticks).expect("a round");
        }
        stored::end(&mut store, run).expect("its end");
    }
    bench
}

/// What follows `heading` up to the next empty line.
fn table<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(heading));
    let found: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    assert!(!found.is_empty(), "no {heading:?} in {text}");
    found
}

/// That they stand in this order.
#[track_caller]
fn in_order(line: &str, parts: &[&str]) {
    let mut rest = line;
    for part in parts {
        let near: String = rest.chars().take(1_000).collect();
        let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} in {near}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn what_is_first_goes_by_ratio_across_cpus_and_by_median_on_one() {
    let ticks = &LESS_BY_ROUND_AND_MORE_IN_THE_MEDIAN;
    let first = |bench: &Bench| {
        let export = bench.export();
        let standing = &export["comparisons"][0]["standings"][0];
        standing["variant"].as_str().expect("a name").to_string()
    };
    let across = stored(Placement::Free, ticks, 1);
    assert_eq!(first(&across), "unix-stream");
    let text = across.must("report last -v").out;
    let found = table(&text, "Round trip of 64 B, placed freely: ").join("\n");
    in_order(&found, &["──", "unix-stream", "0.7", "pipe"]);
    assert!(!found.contains("earlier here"), "there is no earlier run: {found}");
    in_order(
        &flat(&text),
        &["unix-stream has the least time, 0.7", "× [", "] the time of pipe (10.5"],
    );

    let on_one = stored(Placement::SameCpu, ticks, 1);
    assert_eq!(first(&on_one), "pipe");
}

/// The CPUs that both workers of a launch of this bench may use, the initiator's first, once there are two.
fn affinities(bench: &Bench) -> Option<[CpuSet; 2]> {
    let processes = bench.processes();
    // The initiator is forked first.
    let children = |parent: &i32| -> Vec<i32> {
        processes
            .iter()
            .filter(|process| process.1.parent == *parent)
            .map(|process| *process.0)
            .collect()
    };
    let workers = processes.keys().map(children).find(|numbers| numbers.len() == 2)?;
    let may_use = |pid: i32| {
        sched_getaffinity(Some(rustix::process::Pid::from_raw(pid).expect("an id"))).ok()
    };
    Some([may_use(workers[0])?, may_use(workers[1])?])
}

#[test]
fn one_worker_is_pinned_and_the_other_left_to_the_scheduler() {
    let all = sched_getaffinity(None).expect("the CPUs of this process");
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
    let [.., _, cpu] = cpus[..] else {
        return say("skipped: with one CPU nobody is free");
    };
    let mut one = CpuSet::new();
    one.set(cpu);
    for (placement, expected) in
        [(format!("{cpu},free"), [one, all]), (format!("free,{cpu}"), [all, one])]
    {
        let bench = Bench::new();
        let line = format!("run pipe -w latency -s 8 -p {placement} --launches 1 --samples");
        let run = bench.begin(&format!("{line} 10000000"));
        wait_for("both workers where they were placed", Duration::from_secs(60), || {
            (affinities(&bench)? == expected).then_some(())
        });
        run.signal(Signal::INT);
        run.finish(Duration::from_secs(60));
        bench.must(&format!("{line} 500"));
        let result = &bench.export()["results"][0];
        assert_eq!(result["placement"], placement.as_str());
        assert_eq!(result["status"], "ok", "{result:#}");
        assert!(result["place"]["cpus"].is_null(), "{result:#}");
        assert!(result["observed_placement"].is_object(), "where the free one ran: {result:#}");
        let swapped = "SELECT count(*) FROM cases WHERE levels ->> '$.place.swappable'";
        assert_eq!(number(&bench.open(), swapped), 0);
        let who = if placement.ends_with("free") { "initiator" } else { "responder" };
        let text = bench.must("report last").out;
        assert!(text.contains(&format!("{who} on CPU {cpu}")), "{text}");
    }
}

/// It spins to keep its schedule: on the server's CPU it would take a time slice from it.
#[test]
fn the_generator_of_an_open_loop_has_a_cpu_that_the_free_server_does_not_use() {
    let all = sched_getaffinity(None).expect("the CPUs of this process");
    if all.count() < 2 {
        return say("skipped: with one CPU both share it");
    }
    let bench = Bench::new();
    let line = "run pipe -w rate --rate 1k -s 8 -p free --launches 1 --samples 1000000";
    let run = bench.begin(line);
    wait_for("both workers where they belong", Duration::from_secs(60), || {
        let [generator, server] = affinities(&bench)?;
        let apart = (0..CpuSet::MAX_CPU).all(|cpu| {
            (generator.is_set(cpu) || server.is_set(cpu)) == all.is_set(cpu)
                && !(generator.is_set(cpu) && server.is_set(cpu))
        });
        (apart && generator.count() == 1).then_some(())
    });
    run.signal(Signal::INT);
    run.finish(Duration::from_secs(60));
    // One that is pinned alone knows that it has company enough: who must sleep is on time within 200 µs.
    let cpu = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).expect("a CPU");
    let line = "run pipe -w rate --rate 10k -s 8 --launches 1 --samples 50";
    bench.must(&format!("{line} -p free -p {cpu},free -p free,{cpu}"));
    let export = bench.export();
    let results = results(&export);
    assert_eq!(results.len(), 3);
    for result in results {
        let tolerance = result["rate"]["tolerance_ns"].as_f64().expect("a tolerance");
        assert!((9_000.0..=10_000.0).contains(&tolerance), "{result:#}");
    }
}
