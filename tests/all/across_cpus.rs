//! Across CPUs the level changes from run to run, and ratios to the reference don't: they are the headline of every
//! table, and the results of earlier runs stand beside the medians. On one CPU medians are. All on stored runs, but
//! for where workers run of which one is pinned: that is looked at.

use std::time::Duration;

use crate::cli_support::{Bench, flat, number, say, stored, wait_for};
use model::placement::Placement;
use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_getaffinity};
use serde_json::Value;
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
/// `pipe` is quicker in each.
const APART: [[u64; 2]; 7] = [[8_000, 12_000]; 7];

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

fn row<'a>(table: &[&'a str], name: &str) -> &'a str {
    let named = |line: &&&str| line.split_whitespace().next() == Some(name);
    table.iter().find(named).unwrap_or_else(|| panic!("no {name} in {table:#?}"))
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
fn in_a_terminal_the_ratio_comes_first_with_percentiles_beside_it() {
    let bench = stored(Placement::Free, &APART, 3);
    let text = bench.must("report last -v").out;
    let caption = "Round trip of 64 B, placed freely: time over that of pipe, and percentiles";
    let found = table(&text, caption);
    let heading = row(&found, "mechanism");
    in_order(heading, &["× pipe", "p50", "p99", "max"]);
    let best = row(&found, "✓");
    in_order(best, &["pipe", " 1 ", " 4.02–4.03 µs"]);
    in_order(row(&found, "unix-stream"), &[" 1.4970× (1.4968–1.4972)", " 6.02–6.03 µs"]);
    assert!(found.iter().all(|line| line.chars().count() <= 80), "{found:#?}");
    assert!(!text.contains("Not shown at this width"), "{text}");
    in_order(
        &flat(&text),
        &["pipe, the reference of the ratios (4.02", "; earlier here: 4.02 µs, 2 runs)"],
    );
}

#[test]
fn the_page_markdown_and_paper_have_the_same_columns_in_the_same_order() {
    let bench = stored(Placement::Free, &APART, 3);
    let columns =
        ["mechanism", "best", "× reference", "median", "from", "to", "p99", "max", "class"];
    let page = bench.path("page.html");
    bench.must(&format!("report last --html {}", page.display()));
    let page = std::fs::read_to_string(page).expect("a page");
    let markdown = bench.must("report last --format markdown").out;
    let typst = bench.must("report last --format typst").out;
    // Signs that only keep words together, or signs from being markup.
    let plain = |text: String| text.replace('\\', "").replace('\u{a0}', " ");
    for written in [page, markdown, typst].map(plain) {
        let at = written.find("ratios: 95 %, each by itself").expect("a caption");
        in_order(&written[at..], &columns);
        in_order(&written[at..], &["pipe", "4.02", "unix-stream", "1.49", "6.02"]);
    }
}

#[test]
fn the_list_of_a_page_begins_with_the_best_and_says_so_beside_its_name() {
    // In the request `pipe` stands first.
    let bench = stored(Placement::SameCpu, &[[12_000, 8_000]; 7], 1);
    let page = bench.path("page.html");
    bench.must(&format!("report last --html {}", page.display()));
    let page = std::fs::read_to_string(page).expect("a page");
    let (_, list) = page.split_once("<div class=\"table listing\">").expect("the list");
    let (_, rows) = list.split_once("<tbody>").expect("its rows");
    let first = "\n<tr><th scope=\"row\">unix-stream</th><td>best</td>";
    assert!(rows.starts_with(first), "{}", rows.chars().take(400).collect::<String>());
    assert_eq!(rows.matches("<td>best</td>").count(), 1);
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

#[test]
fn of_too_few_launches_the_smallest_median_stands_first_and_nothing_is_ranked() {
    // Three rounds give no interval, and so no ratio: `pipe`, what ratios are to, takes longer in each.
    let bench = stored(Placement::Free, &[[12_000, 8_000]; 3], 1);
    let standings = bench.export()["comparisons"][0]["standings"].clone();
    assert_eq!(
        (&standings[0]["variant"], &standings[0]["ratio"]),
        (&"unix-stream".into(), &Value::Null)
    );
    let short = bench.must("report last").out;
    let said = "? Too few launches to rank: sorted by the median.";
    assert!(flat(&short).contains(said), "no `{said}` in {short}");
    assert!(!short.contains('✓'), "{short}");
    in_order(&short, &["unix-stream", " 4.02 µs", "pipe", " 6.02 µs"]);
    let long = flat(&bench.must("report last -v").out);
    let said =
        "too few launches to rank; smallest median: unix-stream, 4.02 µs. 3 rounds of 2 mechanisms";
    assert!(long.contains(said), "no `{said}` in {long}");
    assert!(!long.contains("least time") && !long.contains('✓'), "{long}");
    let one = stored(Placement::Free, &[[12_000, 8_000]; 1], 1);
    let long = flat(&one.must("report last -v").out);
    assert!(long.contains("1 round of 2 mechanisms"), "{long}");
}

#[test]
fn the_short_and_the_long_table_agree_on_what_is_undecided() {
    // Seven rounds, three won by the one and four by the other.
    let bench = stored(Placement::SameCpu, &LESS_BY_ROUND_AND_MORE_IN_THE_MEDIAN, 1);
    let standings = bench.export()["comparisons"][0]["standings"].clone();
    let all = standings.as_array().expect("standings");
    assert!(all.iter().all(|value| value["among_best"] == true), "{standings:#}");
    for form in ["report last", "report last -v"] {
        let text = bench.must(form).out;
        assert!(!text.contains('✓') && !text.contains(" *"), "{form}: {text}");
    }
    let short = bench.must("report last").out;
    let said = "the answer is sure for 0 of 1 question";
    assert!(flat(&short).contains(said), "no `{said}` in {short}");
}

#[test]
fn what_the_sign_of_the_best_means_is_said_only_where_it_stands() {
    let explained = |bench: &Bench| {
        let text = flat(&bench.must("report last -v").out);
        text.contains("✓ best under its heading")
    };
    let bench = stored(Placement::SameCpu, &APART, 1);
    assert!(explained(&bench));
    // Where others disturbed every round nothing is called best.
    bench.edit(
        "UPDATE rounds SET noise = json_set(noise, '$.marks', json('[{\"check\": \"load\", \
         \"level\": \"note\", \"found\": \"others used 1.18 CPUs\"}]'))",
    );
    let text = bench.must("report last -v").out;
    assert!(text.contains("undecided") || text.contains("none of them is called best"), "{text}");
    assert!(!explained(&bench), "{text}");
}

#[test]
fn on_one_cpu_medians_are_the_headline() {
    let bench = stored(Placement::SameCpu, &APART, 2);
    let text = bench.must("report last -v").out;
    let found = table(&text, "Round trip of 64 B, one CPU: time over that of pipe");
    in_order(row(&found, "✓"), &["pipe", " 4.02–4.03 µs"]);
    in_order(&flat(&text), &["pipe, 4.02", "] (earlier here: 4.02 µs, 1 run)"]);
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
    let results = export["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    for result in results {
        let tolerance = result["rate"]["tolerance_ns"].as_f64().expect("a tolerance");
        assert!((9_000.0..=10_000.0).contains(&tolerance), "{result:#}");
    }
}

#[test]
fn the_answer_names_in_few_lines_what_the_run_warned_of() {
    let bench = stored(Placement::Free, &APART, 1);
    let mut store = Store::open(&bench.store()).expect("a store");
    for text in [
        "another run (process 7) measured here meanwhile: each disturbs the other",
        "the machine was busy before the run began (load average 9.1 over a minute): let it calm \
         down, and measure again",
        "a third",
    ] {
        store.warn(1, text).expect("a warning");
    }
    let said = bench.must("report last").out;
    in_order(
        &flat(&said),
        &[
            "warning another run (process 7) measured here meanwhile: each disturbs the other",
            "warning the machine was busy before the run began",
            "(and 2 more warnings)",
            "next ",
        ],
    );
    assert!(said.lines().count() <= 40, "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
}
