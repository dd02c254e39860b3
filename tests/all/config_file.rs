//! Defaults for flags from files: which are taken, which come first, which are refused, and that a run says
//! which settings it took from them.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::cli_support::{Bench, has, list, output};
use serde_json::Value;

/// One case, quickly; the number of launches is a file's.
const SHORT: &str = "run pipe -w latency -s 64 -p same-cpu --samples 10 -q";

/// Writes a file that its owner alone may change.
fn put(bench: &Bench, name: &str, text: &str) -> PathBuf {
    let path = bench.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    path
}

fn launches(bench: &Bench) -> u64 {
    bench.export()["results"][0]["launches"].as_u64().unwrap()
}

#[test]
#[ignore = "long form"]
fn the_command_line_comes_first_then_this_folder_then_the_user() {
    let bench = Bench::new();
    put(&bench, ".config/ipcmark.toml", "launches = 4\n[run]\nworkers = 'thread'\n");
    bench.must(SHORT);
    assert_eq!(launches(&bench), 4);
    assert_eq!(bench.export()["results"][0]["workers"], "thread");
    let stored = bench.export()["request"]["defaults"].to_string();
    has(&stored, &["--launches 4", "run: --workers thread", ".config/ipcmark.toml"]);
    put(&bench, "ipcmark.toml", "launches = 3");
    bench.must(SHORT);
    assert_eq!(launches(&bench), 3);
    bench.must(&format!("{SHORT} --launches 2 --workers process"));
    assert_eq!(launches(&bench), 2);
    assert_eq!(bench.export()["request"]["defaults"], serde_json::json!([]));

    let elsewhere = put(&bench, "xdg/ipcmark.toml", "samples = 12");
    let mut command = bench.line("doctor --format json");
    command.env("XDG_CONFIG_HOME", elsewhere.parent().unwrap());
    let doctor: Value = serde_json::from_str(&output(&mut command).out).unwrap();
    let defaults = list(&doctor["defaults"]);
    let keys: Vec<&str> = defaults.iter().map(|value| value["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["samples", "launches"]);
    assert!(bench.must("doctor").out.contains("--launches 3 (ipcmark.toml)"));
}

#[test]
fn the_example_of_the_readme_is_taken() {
    let bench = Bench::new();
    let text =
        include_str!("../../docs/QUESTIONS.md").split("```toml\n").nth(1).expect("an example");
    put(&bench, "ipcmark.toml", text.split("```").next().unwrap());
    let shown = bench.must("doctor").out;
    has(&shown, &["--precision 1%", "--no-wait true", "run: --placement same-cpu,0,1"]);
}

#[test]
fn lists_and_switches_are_defaults_too() {
    let bench = Bench::new();
    let text = "quiet = true\n[run]\nworkload = ['latency', 'throughput']\nsize = [64, '1K']\nplacement = 'same-cpu'\n\
                launches = 2\nsamples = 5\nno-wait = true\ntotal = '64K'\n";
    put(&bench, "ipcmark.toml", text);
    let said = bench.must("run mq");
    assert_eq!(said.err, "", "quiet");
    let request = &bench.export()["request"];
    assert_eq!(
        request["workloads"].to_string(),
        r#"[["latency",[64,1024]],["throughput",[64,1024]]]"#
    );
    assert_eq!(request["total_bytes"], 65536);
}

#[test]
fn what_is_wrong_in_a_file_is_one_line_with_file_and_key() {
    let bench = Bench::new();
    for (text, words) in [
        ("budget = 'soon'", ["ipcmark.toml: budget: ", "`soon`"]),
        ("[run]\nbudget = 'soon'", ["ipcmark.toml: run.budget: ", "`soon`"]),
        ("budgte = '1m'", ["ipcmark.toml: budgte: ", "did you mean `budget`"]),
        ("size = [64, 'x']", ["ipcmark.toml: size: ", "`x`"]),
        ("size = {}", ["ipcmark.toml: ", "unknown command `size`"]),
        ("launches = 1979-05-27", ["ipcmark.toml: launches: ", "a number"]),
        ("\nlaunches = ", ["ipcmark.toml:2: ", ""]),
        ("[rnu]\nlaunches = 3", ["ipcmark.toml: ", "did you mean `run`"]),
        (
            "[list]\nlaunches = 3",
            ["ipcmark.toml: list.launches: ", "`ipcmark list` has no such flag"],
        ),
        ("[run]\nquiet = true", ["ipcmark.toml: run.quiet: ", "before the first table"]),
        ("verify = 'perhaps'", ["ipcmark.toml: verify: ", "perhaps"]),
        ("color = 'pink'", ["ipcmark.toml: color: ", "pink"]),
    ] {
        put(&bench, "ipcmark.toml", text);
        bench.run(SHORT).is_refused(&words);
        bench.run("list").is_refused(&words);
    }
    assert!(!bench.store().exists());
}

#[test]
fn a_file_says_nothing_of_programs_and_files() {
    let bench = Bench::new();
    for key in [
        "arm",
        "arm-setup",
        "arm-cleanup",
        "plugin",
        "engine",
        "peer",
        "peer-program",
        "deploy",
        "launcher",
        "program",
        "store",
        "output",
        "html",
        "pdf",
        "export-json",
        "export-csv",
        "export-markdown",
        "against",
        "route",
        "resume",
    ] {
        for table in ["", "[run]\n", "[fleet]\n", "[study]\n"] {
            put(&bench, "ipcmark.toml", &format!("{table}{key} = 'touch made'"));
            bench.run(SHORT).is_refused(&["ipcmark.toml: ", key]);
        }
    }
    assert!(!bench.path("made").exists() && !bench.store().exists());
}

#[test]
#[ignore = "long form"]
fn a_file_that_others_may_write_is_not_read() {
    let bench = Bench::new();
    let path = put(&bench, "ipcmark.toml", "launches = 7");
    for mode in [0o664, 0o646, 0o666] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let said = bench.must(&format!("{SHORT} --launches 2"));
        assert!(said.err.contains("ipcmark.toml: not read: others may write it"), "{}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        bench.must("doctor");
        assert_eq!(launches(&bench), 2);
    }
    if rustix::process::geteuid().is_root() {
        put(&bench, "ipcmark.toml", "launches = 7");
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        has(&bench.must("list").err, &["belongs to another user"]);
    } else {
        crate::cli_support::say("skipped a file of another user: that takes root");
    }
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    has(&bench.must("list").err, &["it is no file"]);
}

/// Flags that start a program, reach another host, name a file, take up what was begun, or are of one run alone.
const NEVER: [&str; 30] = [
    "against",
    "arm",
    "arm-cleanup",
    "arm-setup",
    "deploy",
    "dry-run",
    "engine",
    "export-csv",
    "export-json",
    "export-markdown",
    "gate",
    "help",
    "html",
    "label",
    "launcher",
    "list-names",
    "network",
    "no-store",
    "nodes",
    "output",
    "pages",
    "pdf",
    "peer",
    "peer-address",
    "peer-program",
    "plugin",
    "program",
    "resume",
    "route",
    "store",
];

#[test]
fn a_file_takes_every_flag_that_says_how_to_measure() {
    let bench = Bench::new();
    for command in ["run", "choose", "explain"] {
        let help = bench.must(&format!("{command} --help")).out;
        let lines = help.lines().map(str::trim_start).filter(|start| start.starts_with('-'));
        let named = lines.filter_map(|line| {
            line.split("--")
                .nth(1)?
                .split(|part: char| !part.is_alphanumeric() && part != '-')
                .next()
        });
        let flags: Vec<&str> = named.filter(|text| !NEVER.contains(text)).collect();
        assert!(flags.len() > 5, "{help}");
        for flag in flags {
            // No flag takes a date: what is said of it tells whether the flag is taken at all.
            put(&bench, "ipcmark.toml", &format!("{flag} = 1979-05-27"));
            bench.run(&format!("{command} pipe")).is_refused(&[flag, "write a word, a number"]);
        }
        std::fs::remove_file(bench.path("ipcmark.toml")).unwrap();
    }
}

#[test]
fn a_broken_file_fails_nothing_that_needs_no_defaults() {
    for name in ["ipcmark.toml", ".config/ipcmark.toml"] {
        let bench = Bench::new();
        put(&bench, name, "launches = ");
        for line in [
            "--version",
            "--help",
            "run --help",
            "completions bash",
            "man",
            "man -o pages",
            "clean",
        ] {
            let said = bench.run(line);
            assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{name}: {line}");
        }
        for line in ["list", "runs", "doctor"] {
            bench.run(line).is_refused(&["ipcmark.toml:1: "]);
        }
        bench.run("rnu").is_refused(&["ipcmark.toml:1: "]);
    }
}
