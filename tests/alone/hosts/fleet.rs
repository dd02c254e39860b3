//! `ipcmark fleet` as a user meets it: nodes behind any command, a node that isn't there, one of
//! another build, one that falls silent, a coordinator that is killed, and a simulated rack. Every
//! agent here runs on this machine, behind env(1) or sh(1).

use std::collections::BTreeSet;
use std::time::Duration;

use super::planted;
use crate::cli_support::{
    Bench, can_run, has, list, must_fit_the_schema, number, output, parse, results, rows, wait_for,
};
use rustix::process::Signal;
use serde_json::{Value, json};

/// One quick case between nodes, and no bounds.
const QUICK: &str = "-w latency -s 64 --samples 20 --settle 0ms --no-floors";

fn launches(bench: &Bench, filter: &str) -> i64 {
    let sql = format!(
        "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id WHERE round > 0 AND {filter}"
    );
    bench.ask(&sql).unwrap_or(0)
}

/// The rows of all launches that were measured: one that is measured again has another.
fn measured(bench: &Bench) -> BTreeSet<i64> {
    let ids = rows(&bench.open(), "SELECT id FROM launches WHERE status = 'ok'");
    ids.iter().map(|id| id.parse().expect("a number")).collect()
}

/// A run as one object, which is what its schema says.
fn exported(bench: &Bench, run: &str) -> Value {
    let export = bench.export_of(run);
    must_fit_the_schema(&export);
    export
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
    let answered = "SELECT count(*) FROM nodes WHERE far IS NOT NULL AND reason IS NULL";
    assert_eq!(number(&db, answered), 3);
    let near = "SELECT DISTINCT near, far FROM cases WHERE far IS NOT NULL ORDER BY 1, 2";
    assert_eq!(rows(&db, near), ["0|1", "0|2", "1|2"]);
    // The run is one of the store's, and nothing takes it for a run of one machine.
    assert!(bench.must("runs").out.contains("complete"));
    bench.run("run --resume last").fails(2, &["ipcmark fleet --resume 1"]);
    // It is exported as any other, node by node and pair by pair.
    let export = exported(&bench, "last");
    let named = |nodes: &[&str], level: Value| {
        let here = |value: &&Value| value["nodes"] == json!(nodes) && value["concurrent"] == level;
        let found: Vec<&Value> = results(&export).iter().filter(here).collect();
        assert_eq!(found.len(), 1, "{nodes:?} {level}");
        found[0].clone()
    };
    let of_a = named(&["a"], Value::Null);
    assert_eq!((&of_a["variant"], &of_a["route"]), (&json!("pipe"), &json!("local")));
    let cpus = &of_a["place"]["cpus"];
    assert_eq!(cpus[0], cpus[1], "the one CPU that it ran on: {of_a}");
    for level in ["one", "all"] {
        let pair = named(&["a", "c"], json!(level));
        assert_eq!((&pair["variant"], &pair["route"]), (&json!("tcp"), &json!("peer")));
        assert_eq!((&pair["launches"], &pair["status"]), (&json!(2), &json!("ok")));
    }
    bench.run("fleet --resume last").ends(2);
    bench.must("report last --format markdown -o fleet.md");
    let markdown = bench.read("fleet.md");
    let picture =
        markdown.split("](fleet.md.figures/").nth(1).and_then(|part| part.split(')').next());
    let picture = picture.expect("a picture");
    assert!(picture.ends_with(".svg") && bench.path("fleet.md.figures").join(picture).exists());
    bench.wait_for_silence(Duration::from_secs(30));
}

#[test]
#[ignore = "long form"]
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
}

#[test]
#[ignore = "long form"]
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
    bench.put("launch", text);
    let launcher = format!("sh {} {{node}}", script.display());
    let words = "fleet tcp --nodes a,gone,b,older,chatty --rounds 1";
    let mut command = bench.command(words.split_whitespace().chain(QUICK.split_whitespace()));
    let said = output(command.args(["--launcher", &launcher])).ends(0);
    assert_eq!(launches(&bench, "status = 'ok'"), 1, "a and b met");
    assert_eq!(launches(&bench, "status != 'ok'"), 0);
    let flat = crate::cli_support::flat(&said.out);
    has(&flat, &["ended with code 9 (`no such host`)", "build 0.0", "Welcome to chatty"]);
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM nodes WHERE reason IS NOT NULL"), 3);
    let export = exported(&bench, "last");
    for case in results(&export) {
        let met = case["nodes"] == json!(["a", "b"]);
        assert_eq!(case["status"] == "ok", met, "{case}");
        let why = case["reason"].as_str().unwrap_or_default();
        let lost = ["gone: ", "older: ", "chatty: "].iter().any(|text| why.starts_with(text));
        assert!(met || lost, "{case}");
    }
    assert_eq!(export["fleet"]["nodes"][1]["host"], Value::Null, "gone");
}

/// A container often is a PID namespace inside of another session: there getsid(2) gives 0.
#[test]
#[ignore = "long form"]
fn a_node_answers_where_the_session_belongs_to_another_pid_namespace() {
    let unshared = ["unshare", "--pid", "--fork", "--mount-proc"];
    let Some(()) = can_run("PID namespaces", &[&unshared[..], &["true"]].concat()) else { return };
    let bench = Bench::new();
    let line = format!("fleet tcp --nodes a,b --launcher false --rounds 1 {QUICK}");
    has(&output(&mut bench.behind(&unshared, &line)).err, &["ended with code 1"]);
}

#[test]
#[ignore = "long form"]
fn a_node_that_falls_silent_or_dies_is_lost_alone_and_comes_back_with_resume() {
    let bench = Bench::new();
    let script = bench.path("launch");
    // Each agent leaves its id, so that one can be found.
    bench.put("launch", "echo $$ >$1.pid; shift; exec \"$@\"");
    let launcher = format!("sh {} {{node}}", script.display());
    let words = format!("fleet tcp --nodes a,b,c,d --rounds 400 --label long {QUICK}");
    let mut command = bench.line(&words);
    command.args(["--launcher", &launcher]);
    let running = bench.begin_with(command);
    let stored = |many: i64| {
        wait_for("launches in the store", Duration::from_secs(30), || {
            (launches(&bench, "status = 'ok'") >= many).then_some(())
        });
    };
    stored(6);
    let pid = |node: &str| -> i32 {
        let text = bench.read(&format!("{node}.pid"));
        text.trim().parse().unwrap()
    };
    crate::cli_support::send(pid("d"), Signal::KILL);
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
    let mut command = bench.command(["fleet", "--resume", "long", "--launcher", &launcher]);
    let said = output(&mut command).ends(0);
    assert_eq!(launches(&bench, of_d) + launches(&bench, "status != 'ok' AND round <= 3"), 9);
    assert!(launches(&bench, "status = 'ok'") >= kept, "{}", said.out);
    assert!(measured(&bench).is_superset(&whole), "what was stored is measured again");
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM nodes WHERE reason IS NOT NULL"), 0);
    bench.wait_for_silence(Duration::from_secs(30));
}

#[test]
#[ignore = "long form"]
fn a_pair_that_was_given_up_is_not_tried_again_by_resume() {
    let bench = Bench::new();
    bench.must(&format!("fleet tcp --nodes a,b --launcher env --rounds 3 {QUICK}"));
    bench.edit("UPDATE launches SET status = 'failed', reason = 'planted' WHERE round > 0");
    bench.edit(
        "UPDATE runs SET fleet = json_set(fleet, '$.rounds', 6), status = 'interrupted' WHERE id = 1",
    );
    let said = bench.run("fleet --resume last --launcher env");
    assert_eq!(said.code, Some(1), "nothing worked, and nothing is tried: {}", said.err);
    assert_eq!((launches(&bench, "status = 'failed'"), launches(&bench, "status = 'ok'")), (3, 0));
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
    let said = running.finish(Duration::from_secs(30)).ends(143);
    assert!(said.out.contains("interrupted"), "{}", said.out);
    bench.wait_for_silence(Duration::from_secs(30));
    // Both the line and the report say how it goes on.
    bench.edit("UPDATE runs SET fleet = json_set(fleet, '$.rounds', 1)");
    let line = "ipcmark fleet --resume 1 --launcher env";
    assert!(said.err.contains(&format!("`{line}`")), "{}", said.err);
    assert!(crate::cli_support::flat(&said.out).contains(&format!("`{line}`")), "{}", said.out);
    bench.must(&line["ipcmark ".len()..]);
}

#[test]
fn nothing_that_a_store_says_is_executed() {
    let bench = Bench::new();
    bench.must(&format!("fleet tcp --nodes a,b --launcher env --rounds 1 {QUICK}"));
    let planted = planted(&bench);
    let refused = |what: &str, value: &str, why: &str| {
        bench.edit(&format!(
            "UPDATE runs SET status = 'interrupted',
                 fleet = json_set(fleet, '$.{what}', json('{value}'), '$.rounds', 2)"
        ));
        for line in ["fleet --resume", "fleet --resume --launcher env"] {
            bench.run(line).fails(2, &[why]);
            assert!(!bench.path("mark").exists(), "{what}: what stands in the store was started");
        }
    };
    refused("launcher", &format!("[\"{planted}\"]"), "planted");
    refused("launcher", "[\"env\", \"-i\"]", "--launcher 'env -i'");
    bench.edit("UPDATE runs SET fleet = json_set(fleet, '$.launcher', json('[\"env\"]'))");
    refused("program", &format!("\"{planted}\""), "--program");
    let own = serde_json::to_string(env!("CARGO_BIN_EXE_ipcmark")).unwrap();
    bench.edit(&format!("UPDATE runs SET fleet = json_set(fleet, '$.program', json('{own}'))"));
    // A node's name is a part of the command.
    refused("nodes", "[\"a\", \"-oProxyCommand=x\"]", "no name of a node");
    bench.edit("UPDATE runs SET fleet = json_set(fleet, '$.nodes', json('[\"a\", \"b\"]'))");
    bench.must("fleet --resume --launcher env");
    assert!(!bench.path("mark").exists());
    bench.wait_for_silence(Duration::from_secs(30));
}

#[test]
#[ignore = "long form"]
fn a_simulated_rack_is_planned_kept_and_reported_and_its_slow_node_found() {
    let bench = Bench::new();
    let said = bench.must("fleet --simulate 40 --seed 7 --html page.html");
    assert_eq!(launches(&bench, "status = 'ok'"), 40 * 39 / 2);
    let flat = crate::cli_support::flat(&said.out);
    has(&flat, &["Nothing was measured", "sim13 is slower", "kernel.release", "simulated-other"]);
    // Tiles, since 40 nodes are too many cells to read.
    has(&format!("{flat}{}", bench.read("page.html")), &["Tiles of up to 2 × 2 nodes"]);
    let twice = "fleet --simulate 9 --rounds 14 --seed 7";
    let said = bench.must(twice);
    has(&crate::cli_support::flat(&said.out), &["sim3 is slower", "sim4 and sim8 are slower"]);
}

#[test]
fn variants_are_compared_and_sizes_swept_on_every_pair_and_ratios_are_to_any_of_them() {
    let bench = Bench::new();
    bench.must("fleet tcp udp --simulate 3 -s 64,1K,4K --rounds 14 --seed 7");
    let export = exported(&bench, "last");
    let comparisons = list(&export["comparisons"]);
    assert_eq!(comparisons.len(), 3 * 3, "of each pair at each size");
    for comparison in comparisons {
        let reference = &results(&export)[comparison["reference"].as_u64().expect("one") as usize];
        assert!(reference["variant"] == "tcp" && reference["nodes"] == comparison["nodes"]);
        assert!(comparison["concurrent"] == "all" && comparison["rounds"] == 14, "{comparison}");
        for standing in list(&comparison["standings"]) {
            let case = &results(&export)[standing["result"].as_u64().expect("one") as usize];
            for key in ["nodes", "message_bytes"] {
                assert_eq!(case[key], comparison[key]);
            }
            let ratio = standing["ratio"].as_f64();
            assert!(ratio.is_some_and(|ratio| (0.9..1.1).contains(&ratio)), "{standing}");
        }
    }
    let sweeps = list(&export["sweeps"]);
    assert_eq!(sweeps.len(), 3 * 2, "of each pair and variant");
    for sweep in sweeps {
        assert_eq!(sweep["sizes_bytes"], json!([64, 1024, 4096]));
        assert_eq!(sweep["rounds"], 14);
    }
    // A report has a row for each variant but the reference.
    let compared = |line: &str| {
        let out = bench.must(line).out;
        let (_, table) = out.split_once("Time over the reference's").expect("a table");
        let row = table.lines().find(|line| line.contains("round trips of 64 B")).expect("a row");
        ["tcp", "udp"].into_iter().filter(|text| row.contains(text)).collect::<Vec<_>>()
    };
    assert_eq!(compared("report last"), ["udp"]);
    assert_eq!(compared("report last --reference udp"), ["tcp"]);
    bench.run("report last --reference pipe").fails(2, &["didn't measure it"]);
}

#[test]
fn two_fleets_runs_are_compared_by_the_names_of_their_nodes() {
    let bench = Bench::new();
    // The slow node is sim1 of four, and sim3 of nine.
    bench.must("fleet --simulate 4 --rounds 14 --seed 7");
    bench.must("fleet --simulate 9 --rounds 14 --seed 8");
    let said = bench.run("compare 1 2 --format json --gate 5% --gate-on absolute").ends(3);
    let found = parse(&said.out);
    let verdict = |near: &str, far: &str| {
        let cases = list(&found["cases"]);
        let here: Vec<_> =
            cases.iter().filter(|case| case["nodes"] == json!([near, far])).collect();
        assert_eq!(here.len(), 1, "{near} {far}");
        assert_eq!(here[0]["concurrent"], "all");
        here[0]["verdict"].as_str().expect("a verdict").to_string()
    };
    assert_eq!(verdict("sim0", "sim1"), "faster");
    assert_eq!(verdict("sim0", "sim3"), "slower");
    assert!(["inconclusive", "equivalent"].contains(&verdict("sim0", "sim2").as_str()));
    assert_eq!(verdict("sim0", "sim8"), "incomparable");
    bench.must("export 1 -o before.json");
    has(&bench.run("compare ./before.json 2").out, &["sim0–sim3 (all pairs)"]);
    // A node that is another machine now is reported by its name.
    bench.edit(
        "UPDATE nodes SET far = json_set(far, '$.host.kernel.release', 'other') WHERE run = 2 AND nth = 2",
    );
    // Nothing can be compared.
    let said = bench.run("compare 1 2 --format json").ends(4);
    let differences = &parse(&said.out)["differences"];
    assert_eq!(differences[0]["field"], "kernel (sim2)");
    assert_eq!(list(differences).len(), 1, "{}", said.out);
}

#[test]
fn bad_words_are_one_line_with_the_remedy() {
    let bench = Bench::new();
    for (line, why) in [
        ("fleet pipe --nodes a,b -p same-llc", "same-cpu or free"),
        ("fleet shm-ring:wait=spin --nodes a,b", "--placement free"),
    ] {
        bench.run(line).fails(2, &[why]);
        assert!(!bench.store().exists(), "{line} stored something");
    }
}

/// Both ways at once is a transfer like one way: it has a total, which exports tell.
#[test]
fn transfers_both_ways_between_nodes_have_a_total_as_those_one_way_have() {
    let bench = Bench::new();
    bench.must("fleet --simulate 3 -w throughput,duplex --rounds 2");
    let document = bench.export();
    must_fit_the_schema(&document);
    let of = |workload: &str| {
        let here = results(&document).iter();
        here.filter(|value| value["workload"] == workload).collect::<Vec<_>>()
    };
    for workload in ["throughput", "duplex"] {
        assert!(!of(workload).is_empty(), "{workload}");
        assert!(of(workload).iter().all(|value| value["total"] == "long"), "{:#?}", of(workload));
    }
}
