//! `ipcmark probe-effect`: what it launches, what it shows, and what it refuses. No speed is
//! asserted: what it finds is proved on a made-up machine in src/judge/probe.

use crate::cli_support::{Bench, flat, rows, say};

/// Whether the kernel's software counters can be had here; else says that a test is skipped.
fn counts_here(bench: &Bench) -> bool {
    let said = bench.run("probe-effect pipe -s 64 --levels software --launches 1 --times 1");
    if said.code == Some(5) {
        say(&format!("skipped: no software counters here: {}", said.err));
        return false;
    }
    assert_eq!(said.code, Some(0), "{}", said.err);
    true
}

#[test]
fn levels_stand_beside_unobserved_launches_in_every_round() {
    let bench = Bench::new();
    if !counts_here(&bench) {
        return;
    }
    let said = bench.must("probe-effect pipe -s 64,4K --levels software --launches 6 --seed 7");
    assert!(said.out.contains("Overheads"), "{}", said.out);
    assert!(said.out.contains("pipe, one CPU, 4 KiB"), "{}", said.out);
    assert!(said.out.contains("a line through the levels"), "{}", said.out);
    let each = "SELECT ifnull(c.levels ->> 'observe', 'none') AS level, count(*) FROM launches l
                JOIN cases c ON l.case_id = c.id
                WHERE c.run = 2 AND l.round > 0 AND c.levels ->> 'twin' = 0 GROUP BY level ORDER BY level";
    let each = rows(&bench.open(), each);
    assert_eq!(each, ["none|12", "software|12", "software:times=2|12", "software:times=4|12"]);
    // The same again from the store alone, and as a page.
    let page = bench.path("price.html");
    let again = bench.must(&format!("report last --html {}", page.display()));
    assert_eq!(again.out, said.out);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("What instrumentation adds to a round trip"));
    assert_eq!(rows(&bench.open(), "SELECT count(*) FROM runs"), ["2"]);
}

#[test]
fn what_cannot_look_is_a_row_with_its_reason() {
    let bench = Bench::new();
    let said = bench.run("probe-effect pipe -s 64 --levels hardware --launches 1");
    if said.code == Some(0) {
        say("skipped: this machine has hardware counters");
        return;
    }
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert!(said.err.contains("is available here: core: "), "{}", said.err);
    if !counts_here(&bench) {
        return;
    }
    let said = bench.must("probe-effect pipe -s 64 --levels l1d,software --launches 1 --times 1");
    assert!(said.out.contains("Levels that are unavailable here"), "{}", said.out);
    assert!(said.out.lines().any(|line| line.starts_with("l1d  ")), "{}", said.out);
}

#[test]
fn wrong_words_end_with_the_way_out() {
    let bench = Bench::new();
    for (line, word) in [("probe-effect pip", "pipe"), ("probe-effect noop", "no messages")] {
        let said = bench.run(line);
        assert_eq!(said.code, Some(2), "{line}: {}", said.err);
        assert_eq!(said.err.trim_end().lines().count(), 1, "{line}: {}", said.err);
        assert!(said.err.contains(word), "{line}: {}", said.err);
    }
}

#[test]
fn what_was_asked_and_cannot_be_measured_is_told_and_exits_with_5() {
    let bench = Bench::new();
    if !counts_here(&bench) {
        return;
    }
    let rest = "-p same-cpu --levels software --launches 1 --times 1";
    for (line, words) in [
        ("probe-effect seqlock -s 64", "seqlock: spinning on one CPU"),
        ("probe-effect posix-queue -s 1G", "posix-queue: carries at most"),
        ("probe-effect pipe posix-queue -s 64,1M", "posix-queue: carries at most"),
    ] {
        let said = bench.run(&format!("{line} {rest}"));
        assert_eq!(said.code, Some(5), "{line}: {}{}", said.out, said.err);
        assert!(flat(&said.out).contains(words), "{line}: {}", said.out);
    }
}
