//! `ipcmark fleet` as a user meets it: nodes behind any command, a node that isn't there, one of
//! another build, one that falls silent, a coordinator that is killed, and a simulated rack. Every
//! agent here runs on this machine, behind env(1) or sh(1).

mod cli_support;

use std::collections::BTreeSet;
use std::time::Duration;

use cli_support::{Bench, number, output, wait_for, works};
use rustix::process::Signal;

/// One quick case between nodes, and no bounds.
const QUICK: &str = "-w latency -s 64 --samples 20 --settle 0ms --no-floors";

fn launches(bench: &Bench, filter: &str) -> i64 {
    let sql = format!(
        "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id WHERE round > 0 AND {filter}"
    );
    let db = bench.open();
    // The file is there before its tables are.
    let made = number(&db, "SELECT count(*) FROM sqlite_schema WHERE name = 'launches'") == 1;
    if made { number(&db, &sql) } else { 0 }
}

/// The rows of all launches that were measured: one that is measured again has another.
fn measured(bench: &Bench) -> BTreeSet<i64> {
    let db = bench.open();
    let mut found = db.prepare("SELECT id FROM launches WHERE status = 'ok'").expect("a table");
    let ids = found.query_map([], |row| row.get(0)).expect("rows");
    ids.collect::<Result<_, _>>().expect("numbers")
}

#[test]
fn every_pair_and_every_node_is_measured_and_kept_as_its_own_case() {
    let bench = Bench::new();
    let said = bench.must(&format!(
        "fleet tcp pipe --nodes a,b,c --launcher env --rounds 2 --concurrent one,all {QUICK}"
    ));
    assert_eq!(launches(&bench, "status = 'ok' AND far IS NULL"), 3 * 2, "{}", said.out);
    for level in ["one", "all"] {
        let of = format!("status = 'ok' AND concurrent = '{level}'");
        assert_eq!(launches(&bench, &of), 3 * 2, "{level}");
    }
    assert_eq!(launches(&bench, "swapped = 1 AND far IS NOT NULL"), 6, "roles in blocks of two");
    let db = bench.open();
    assert_eq!(
        number(&db, "SELECT count(*) FROM nodes WHERE far IS NOT NULL AND reason IS NULL"),
        3
    );
    let near: Vec<(i64, i64)> = db
        .prepare("SELECT DISTINCT near, far FROM cases WHERE far IS NOT NULL ORDER BY 1, 2")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(near, [(0, 1), (0, 2), (1, 2)]);
    for word in ["tcp: round trips of 64 B", "pipe", "under one kernel", "a and b"] {
        assert!(said.out.contains(word), "{word} in {}", said.out);
    }
    // The run is one of the store's, and nobody takes it for a run of one machine.
    assert!(bench.must("runs").out.contains("complete"));
    assert!(bench.must("report last").out.contains("tcp: round trips of 64 B"));
    for (other, way_out) in
        [("export last", "ipcmark report 1"), ("run --resume last", "ipcmark fleet --resume 1")]
    {
        let said = bench.run(other);
        assert!(said.code != Some(0) && said.err.contains(way_out), "{other}: {}", said.err);
    }
    let said = bench.run("fleet --resume last");
    assert_eq!(said.code, Some(2), "{}", said.err);
    bench.must("report last --html page.html");
    let page = std::fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.contains("heatmap") && page.contains("median over launches"));
    bench.must("report last --format markdown -o fleet.md");
    assert!(bench.path("fleet.md.figures/1.svg").exists());
    bench.wait_for_silence(Duration::from_secs(30));
}

#[test]
fn the_bounds_of_the_nodes_stand_side_by_side() {
    let bench = Bench::new();
    let said = bench.must(
        "fleet pipe --nodes a,b --launcher env --rounds 1 -w latency -s 64 --samples 20 --settle 0ms",
    );
    let db = bench.open();
    let sql =
        "SELECT count(*) FROM nodes WHERE json_extract(floors, '$.clocks.measured') IS NOT NULL";
    assert_eq!(number(&db, sql), 2, "{}", said.err);
    assert!(said.err.contains("bounds: clocks"), "{}", said.err);
    let told = bench.must("report last -v").out;
    let row = |name: &str| {
        let row = told.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")));
        row.unwrap_or_else(|| panic!("no row of {name}: {told}")).to_string()
    };
    assert!(row("a").contains("ns") && row("b").contains("ns"), "{told}");
}

#[test]
fn a_node_that_is_missing_or_of_another_build_is_a_row_and_the_rest_goes_on() {
    let bench = Bench::new();
    let script = bench.path("launch");
    // The first word is the node; what follows is what to run there.
    let text = r#"node=$1; shift
        case $node in
          gone) echo "no such host" >&2; exit 9;;
          chatty) echo "Welcome to chatty"; cat >/dev/null;;
          older) printf 'H\017\0\0\0{"build":"0.0"}'; cat >/dev/null;;
          *) exec "$@";;
        esac"#;
    std::fs::write(&script, text).unwrap();
    let launcher = format!("sh {} {{node}}", script.display());
    let words = "fleet tcp --nodes a,gone,b,older,chatty --rounds 1";
    let mut command = bench.command(words.split_whitespace().chain(QUICK.split_whitespace()));
    let said = output(command.args(["--launcher", &launcher]));
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!(launches(&bench, "status = 'ok'"), 1, "a and b met");
    assert_eq!(launches(&bench, "status != 'ok'"), 0);
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for why in ["ended with code 9 (`no such host`)", "build 0.0", "Welcome to chatty"] {
        assert!(flat.contains(why), "{why} in {}", said.out);
    }
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM nodes WHERE reason IS NOT NULL"), 3);
}

/// A container often is a PID namespace inside of somebody's session: there getsid(2) gives 0.
#[test]
fn a_node_is_heard_where_the_session_belongs_to_another_pid_namespace() {
    let unshared = ["unshare", "--pid", "--fork", "--mount-proc"];
    if !works("PID namespaces", &[&unshared[..], &["true"]].concat()) {
        return;
    }
    let bench = Bench::new();
    let line = format!("fleet tcp --nodes a,b --launcher false --rounds 1 {QUICK}");
    let said = output(&mut bench.behind(&unshared, &line));
    assert!(said.err.contains("ended with code 1"), "{}{}", said.out, said.err);
}

#[test]
fn a_node_that_falls_silent_or_dies_is_lost_alone_and_comes_back_with_resume() {
    let bench = Bench::new();
    let script = bench.path("launch");
    // Each agent leaves its id, so that one can be found.
    std::fs::write(&script, "echo $$ >$1.pid; shift; exec \"$@\"").unwrap();
    let launcher = format!("sh {} {{node}}", script.display());
    let words = format!("fleet tcp --nodes a,b,c,d --rounds 400 --label long {QUICK}");
    let mut command = bench.command(words.split_whitespace());
    command.args(["--launcher", &launcher]);
    let running = bench.begin_with(command);
    let stored = |many: i64| {
        wait_for("launches in the store", Duration::from_secs(30), || {
            (launches(&bench, "status = 'ok'") >= many).then_some(())
        });
    };
    stored(6);
    let pid = |node: &str| -> i32 {
        let text = std::fs::read_to_string(bench.path(&format!("{node}.pid"))).unwrap();
        text.trim().parse().unwrap()
    };
    cli_support::send(pid("d"), Signal::KILL);
    wait_for("d to be given up", Duration::from_secs(30), || {
        let sql = "SELECT count(*) FROM nodes WHERE name = 'd' AND reason LIKE '%signal 9%'";
        (number(&bench.open(), sql) == 1).then_some(())
    });
    let before = launches(&bench, "status = 'ok'");
    stored(before + 6);
    // The coordinator is killed outright: what was stored is whole, and its agents end.
    running.signal(Signal::KILL);
    running.finish(Duration::from_secs(30));
    bench.wait_for_silence(Duration::from_secs(30));
    let kept = launches(&bench, "status = 'ok'");
    bench.edit("UPDATE runs SET fleet = json_set(fleet, '$.rounds', 3) WHERE label = 'long'");
    let of_d = "status = 'ok' AND round <= 3 AND (near = 3 OR far = 3)";
    let whole = measured(&bench);
    assert!(whole.len() >= 6, "{whole:?}");
    let said = bench.must("fleet --resume long");
    assert_eq!(launches(&bench, of_d) + launches(&bench, "status != 'ok' AND round <= 3"), 9);
    assert!(launches(&bench, "status = 'ok'") >= kept, "{}", said.out);
    assert!(measured(&bench).is_superset(&whole), "what was stored is measured again");
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM nodes WHERE reason IS NOT NULL"), 0);
    bench.wait_for_silence(Duration::from_secs(30));
}

#[test]
fn a_signal_ends_it_with_what_there_is() {
    let bench = Bench::new();
    let line = format!("fleet tcp --nodes a,b --launcher env --rounds 4000 {QUICK}");
    let running = bench.begin(&line);
    wait_for("a launch in the store", Duration::from_secs(30), || {
        (launches(&bench, "status = 'ok'") > 0).then_some(())
    });
    running.signal(Signal::TERM);
    let said = running.finish(Duration::from_secs(30));
    assert_eq!(said.code, Some(143), "{}", said.err);
    assert!(
        said.err.contains("fleet --resume 1") && said.out.contains("interrupted"),
        "{}",
        said.err
    );
    bench.wait_for_silence(Duration::from_secs(30));
}

#[test]
fn a_simulated_rack_is_planned_kept_and_reported_and_its_slow_node_found() {
    let bench = Bench::new();
    let said = bench.must("fleet --simulate 40 --seed 7 --html page.html");
    assert_eq!(launches(&bench, "status = 'ok'"), 40 * 39 / 2);
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["Nothing was measured", "sim13 is slower", "kernel.release", "simulated-other"] {
        assert!(flat.contains(word), "{word} in {}", said.out);
    }
    // Tiles, since 40 nodes are too many cells to read.
    assert!(
        flat.contains("Tiles of up to 2 × 2 nodes")
            || std::fs::read_to_string(bench.path("page.html"))
                .unwrap()
                .contains("Tiles of up to 2 × 2 nodes")
    );
    let twice = "fleet --simulate 9 --rounds 14 --seed 7";
    let said = bench.must(twice);
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("sim3 is slower") && flat.contains("sim4 and sim8 are slower"),
        "{}",
        said.out
    );
}

#[test]
fn bad_words_are_one_line_with_the_way_out() {
    let bench = Bench::new();
    for (line, why) in [
        ("fleet", "--nodes a,b,c"),
        ("fleet --nodes a", "no fleet"),
        ("fleet --nodes a,a", "twice"),
        ("fleet --nodes a,b --network 10.0.0.0", "10.1.0.0/16"),
        ("fleet --nodes a,b --concurrent two", "one, all"),
        ("fleet pipe --nodes a,b -p same-llc", "same-cpu or free"),
        ("fleet shm-ring:wait=spin --nodes a,b", "--placement free"),
        ("fleet tcp --nodes a,b --settle 1h", "at most 10s"),
        ("fleet --simulate 1", "from 2 to"),
        ("fleet tcp --nodes a,b --rounds 0", "from 1 to"),
    ] {
        let said = bench.run(line);
        assert_eq!(said.code, Some(2), "{line}: {}", said.err);
        assert!(said.err.contains(why) && said.err.lines().count() == 1, "{line}: {}", said.err);
        assert!(!bench.store().exists(), "{line} stored something");
    }
}
