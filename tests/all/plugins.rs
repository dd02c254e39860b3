//! `--plugin`: mechanisms of somebody else's, measured as those that are built in; and whatever is wrong with one is a line or a
//! row.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cli_support::{Bench, case_of, has, list, output, results, say};

/// The tree that the sources are in.
const TREE: &str = env!("CARGO_MANIFEST_DIR");

/// Compiles a plug-in; None, said aloud, where there is no compiler.
fn compiled(bench: &Bench, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    compiled_in(bench, name, &Path::new(TREE).join(source), flags)
}

fn compiled_in(bench: &Bench, name: &str, source: &Path, flags: &[&str]) -> Option<PathBuf> {
    let library = bench.path(name);
    let made = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-I"])
        .arg(Path::new(TREE).join("include"))
        .args(flags)
        .arg("-o")
        .arg(&library)
        .arg(source)
        .output();
    match made {
        Ok(said) if said.status.success() => Some(library),
        Ok(said) => panic!("{}: {}", source.display(), String::from_utf8_lossy(&said.stderr)),
        Err(error) => {
            say(&format!("skipped: a plug-in needs a C compiler: cc: {error}"));
            None
        }
    }
}

fn c_pipe(bench: &Bench) -> Option<PathBuf> {
    compiled(bench, "libc-pipe.so", "engines/c-pipe/c-pipe.c", &[])
}

fn bad(bench: &Bench, nth: u32) -> Option<PathBuf> {
    let define = format!("-DBAD={nth}");
    compiled(bench, &format!("bad-{nth}.so"), "tests/all/bad_plugin.c", &[&define, "-w"])
}

/// A few round trips of these mechanisms and of the plug-in.
fn quickly(mechanisms: &str, library: &Path) -> String {
    format!(
        "run {mechanisms} --plugin {} -w latency -s 64 -p same-cpu --launches 2 --samples 20",
        library.display()
    )
}

#[test]
fn a_plug_in_is_measured_beside_what_is_built_in() {
    let bench = Bench::new();
    let Some(library) = c_pipe(&bench) else { return };
    let line = format!(
        "run pipe --plugin {} -w latency,throughput -s 64,4K -p same-cpu --workers both --launches 2 \
         --samples 20 --verify",
        library.display()
    );
    bench.run(&line).ends(0);
    let document = bench.export();
    let results = results(&document);
    let own = |name: &str| {
        let of = |case: &&Value| case["variant"] == name && case["twin"] == false;
        let found: Vec<&Value> = results.iter().filter(of).collect();
        assert!(found.iter().all(|case| case["status"] == "ok"), "{found:?}");
        found.len()
    };
    assert_eq!((own("pipe"), own("c-pipe")), (8, 8));
    // Where it has a process of its own, all that happens in that is its.
    for case in results.iter().filter(|case| case["twin"] == false) {
        let whole = case["variant"] == "c-pipe" && case["workers"] == "process";
        let threads = case["noise"]["threads"].as_f64();
        assert_eq!(threads.map(|count| count >= 2.0), whole.then_some(true), "{case:#}");
    }
    let plugin = &document["request"]["plugins"][0];
    assert_eq!((plugin["version"].as_str(), plugin["language"].as_str()), (Some("1"), Some("C")));
    assert_eq!(plugin["sha256"].as_str().map(str::len), Some(64));
    // Its page and its tables come from the store alone.
    std::fs::remove_file(library).unwrap();
    assert!(bench.must("report last -v").out.contains("c-pipe"));
}

/// It is among the candidates of `choose`.
#[test]
fn choose_takes_a_plug_in() {
    let bench = Bench::new();
    let Some(library) = c_pipe(&bench) else { return };
    let plugin = format!("--plugin {}", library.display());
    let need = "--size 64 --rate 200 --bound p50:1s --launches 2 --format json";
    let said = bench.run(&format!("choose pipe {plugin} {need}"));
    let answer: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}", said.err));
    let carried = list(&answer["capacity"]);
    let names: BTreeSet<&str> =
        carried.iter().filter_map(|capacity| capacity["variant"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(["c-pipe", "pipe"]), "{answer}");
}

/// A study has a place for it: who runs the study fills the place, or its rows say how that is done.
#[test]
fn a_study_takes_the_plug_in_that_is_given() {
    let bench = Bench::new();
    let Some(library) = c_pipe(&bench) else { return };
    let study = bench.path("mine.toml");
    let text = r#"
        version = 1
        title = "One that is there, and one that isn't"
        question = "Is a pipe by way of a plug-in a pipe?"
        plugins.c-pipe.get = "compile it"
        plugins.elsewhere = { options = "wait=sleep|spin", get = "ask its maker" }
        [variables.cause]
        mechanism = "who calls the kernel"
        [variables.effect]
        latency = "time of a round trip"
        [fixed]
        size = "64"
        launches = 2
        [vary]
        mechanism = ["pipe", "c-pipe", "elsewhere:wait=spin"]
        [[hypothesis]]
        statement = "The absent one is faster"
        test = "faster"
        left = { mechanism = "elsewhere:wait=spin" }
        right = { mechanism = "pipe" }
    "#;
    std::fs::write(&study, text).unwrap();
    let plugin = format!("--plugin {}", library.display());
    let line = format!("study run {} --samples 20", study.display());
    let said = bench.run(&format!("{line} {plugin}")).ends(0);
    has(&said.out, &["Not testable here", "no plug-in elsewhere was given"]);
    assert_eq!(case_of(&bench.export(), "c-pipe")["status"], "ok");
    assert_eq!(case_of(&bench.export(), "elsewhere:wait=spin")["status"], "unavailable");

    has(&bench.run(&format!("{line} --dry-run")).out, &["compile it", "ask its maker"]);
    bench.run(&format!("study run 004 {plugin} --dry-run")).fails(2, &["no place for c-pipe"]);
}

#[test]
fn what_a_plug_in_has_no_call_for_is_not_applicable() {
    let bench = Bench::new();
    let Some(library) = c_pipe(&bench) else { return };
    let line = format!(
        "run pipe --plugin {} -w duplex,connect,rate --rate 1k -s 64 -p same-cpu --launches 2 --samples 20 \
         --observe software",
        library.display()
    );
    bench.run(&line);
    let document = bench.export();
    let results = results(&document);
    let of = |workload: &str| {
        let own = |case: &&Value| case["variant"] == "c-pipe" && case["workload"] == workload;
        results.iter().find(own).unwrap()["status"].as_str().unwrap()
    };
    let found = ["duplex", "connect", "rate"].map(of);
    assert_eq!(found, ["not_applicable", "not_applicable", "ok"]);
    let observed = list(&document["observed"]);
    let own = |case: &&Value| case["variant"] == "c-pipe" && case["workload"] == "rate";
    assert_eq!(observed.iter().find(own).unwrap()["status"], "ok");
}

#[test]
#[ignore = "long form"]
fn two_builds_of_one_library_are_measured_in_the_same_rounds() {
    let bench = Bench::new();
    let Some(old) = c_pipe(&bench) else { return };
    let Some(new) = compiled(&bench, "new.so", "engines/c-pipe/c-pipe.c", &["-O0"]) else { return };
    let line = format!(
        "run --plugin {}:name=mine-main --plugin {}:name=mine-pr -w latency -s 64 -p same-cpu --launches 6 \
         --samples 20",
        old.display(),
        new.display()
    );
    bench.run(&line).ends(0);
    let document = bench.export();
    for name in ["pipe", "unix-stream", "mine-main", "mine-pr"] {
        assert_eq!(case_of(&document, name)["launches"], 6, "{name}");
    }
    let hashes: Vec<&Value> =
        list(&document["request"]["plugins"]).iter().map(|one| &one["sha256"]).collect();
    assert_ne!(hashes[0], hashes[1]);
}

#[test]
#[ignore = "long form"]
fn what_is_no_plug_in_is_refused_in_one_line() {
    let bench = Bench::new();
    let refused = |path: &Path, words: &[&str]| {
        bench.run(&format!("run --plugin {} --launches 2", path.display())).fails(2, words);
        assert!(!bench.store().exists());
    };
    let text = bench.put("text.so", "no library");
    refused(&text, &["text.so"]);
    refused(Path::new("./nowhere.so"), &["nowhere.so", "No such file"]);
    refused(Path::new("/bin/true"), &["/bin/true"]);
    refused(Path::new("libmine.so"), &["./libmine.so"]);
    for (nth, words) in [
        (1, &["IPCMARK_PLUGIN_MAGIC"][..]),
        (2, &["ABI 2", "header"]),
        (3, &["24 bytes"]),
        (4, &["no send()"]),
        (5, &["built in", ":name=my-pipe"]),
        (6, &["option `wait`"]),
        (7, &["prints on standard output"]),
        (8, &["exit status: 3"]),
        (9, &["gave no table"]),
        (17, &["all of them or none"]),
        (22, &["in_place is set", "no loan()"]),
        (18, &["`Bad Name`", "small letters"]),
    ] {
        let Some(library) = bad(&bench, nth) else { return };
        refused(&library, words);
    }
}

#[test]
#[ignore = "long form"]
fn what_a_plug_in_does_wrong_is_its_row_and_nothing_else() {
    for (nth, status, words) in [
        (11, "unavailable", "no daemon at /run/mine: start mined"),
        (12, "failed", "differs from what was sent, from byte 63 on"),
        (13, "failed", "differs from what was sent"),
        (19, "failed", "differs from what was sent"),
        (14, "failed", "exited with code 0"),
        (15, "failed", "signal 11"),
        (23, "failed", "was killed by signal 11 when it closed its ends"),
        (24, "failed", "didn't end within 5 s when it closed its ends"),
    ] {
        let bench = Bench::new();
        let Some(library) = bad(&bench, nth) else { return };
        let line = quickly("pipe", &library);
        let said = bench.run(&line);
        let document = bench.export();
        let own = case_of(&document, "bad");
        assert_eq!(own["status"], status, "{nth}: {own} {}", said.err);
        let reason = own["reason"].to_string();
        assert!(reason.contains(words), "{nth}: {reason}");
        assert_eq!(case_of(&document, "pipe")["status"], "ok", "{nth}");
        assert_eq!(said.code, Some(5), "{nth}: {}", said.err);
    }
}

#[test]
fn what_a_plug_in_prints_goes_where_it_disturbs_nobody() {
    let bench = Bench::new();
    let Some(library) = bad(&bench, 20) else { return };
    let line = quickly("bad", &library);
    let said = bench.run(&line).ends(0);
    assert!(said.err.contains("opening") && !said.out.contains("opening"), "{}", said.err);
}

#[test]
#[ignore = "long form"]
fn a_plug_in_with_every_call_does_what_is_built_in_does() {
    let bench = Bench::new();
    let Some(library) = bad(&bench, 21) else { return };
    let of = |more: &str| {
        let line = format!(
            "run whole:slots=8 --plugin {} -s 64 --launches 2 --samples 20 {more}",
            library.display()
        );
        bench.run(&line).ends(0);
        let document = bench.export();
        let results = results(&document);
        for case in results.iter().filter(|case| case["twin"] == false) {
            let told = (case["variant"].as_str(), case["status"].as_str());
            assert_eq!(told, (Some("whole:slots=8"), Some("ok")), "{more}: {case}");
        }
    };
    of("-w latency,throughput -p same-cpu --verify --workers both");
    of("-w duplex,fan-out -p same-cpu --verify");
    for server in ["epoll", "poll", "scan"] {
        of(&format!("-w rate --rate 500 --connections 3 --server {server} -p free"));
    }
}

/// What is copied, what lies where both read it, and what a broker carries are compared with one reference, and each among
/// themselves: none is the best of all.
#[test]
#[ignore = "long form"]
fn each_class_has_a_best_of_its_own() {
    let bench = Bench::new();
    let (Some(whole), Some(bus)) = (bad(&bench, 21), bad(&bench, 26)) else { return };
    let line = format!(
        "run pipe unix-stream whole whole:slots=8 bus --plugin {} --plugin {} -w latency -s 64 -p same-cpu \
         --launches 8 --samples 20",
        whole.display(),
        bus.display()
    );
    assert_eq!(bench.run(&line).code, Some(0));
    let document = bench.export();
    let class = |group: &Value| {
        let standings = list(&group["standings"]);
        assert!(standings.iter().all(|standing| standing["ratio"].is_number()), "{group:#}");
        assert!(standings.iter().any(|standing| standing["among_best"] == true), "{group:#}");
        let names =
            standings.iter().map(|standing| standing["variant"].as_str().unwrap().to_string());
        (group["class"].as_str().unwrap().to_string(), names.collect::<BTreeSet<String>>())
    };
    let classes: Vec<_> = list(&document["comparisons"]).iter().map(class).collect();
    let expected = [
        ("copying", &["pipe", "unix-stream"][..]),
        ("in-place", &["whole", "whole:slots=8"]),
        ("broker", &["bus"]),
    ];
    let expected = expected.map(|(class, names)| {
        (class.to_string(), names.iter().map(ToString::to_string).collect::<BTreeSet<String>>())
    });
    assert_eq!(classes, expected);
    let said = bench.must("report last").out;
    has(
        &said,
        &[
            "Round trip, 64 B\n",
            "Round trip, 64 B, in place\n",
            "Round trip, 64 B, through a broker\n",
        ],
    );
}

#[test]
#[ignore = "long form"]
fn a_plug_in_that_never_opens_is_given_up() {
    let bench = Bench::new();
    let Some(library) = bad(&bench, 10) else { return };
    let line = quickly("pipe", &library);
    let said = bench.run(&line);
    let document = bench.export();
    assert_eq!(case_of(&document, "bad")["status"], "failed", "{}", said.err);
    // Where the kernel tells in what it waits, it is said.
    let reason = case_of(&document, "bad")["reason"].to_string();
    assert!(reason.contains("pause") || reason.contains(", which runs"), "{reason}");
    assert_eq!(case_of(&document, "pipe")["status"], "ok");
    assert_eq!(said.code, Some(5), "{}", said.err);
    bench.wait_for_silence(std::time::Duration::from_secs(30));
}

#[test]
fn what_a_plug_in_leaves_in_its_folder_is_removed() {
    let bench = Bench::new();
    let Some(library) = bad(&bench, 16) else { return };
    let line = quickly("", &library);
    let said = bench.run(&line).ends(0);
    let left: Vec<_> = std::fs::read_dir(bench.path(""))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("ipcmark-"))
        .collect();
    assert!(left.is_empty(), "{left:?} {}", said.err);
}

/// Each launch has a /dev/shm and a /tmp of its own, unless its file or what the environment names lies there.
#[test]
fn what_a_plug_in_leaves_in_memory_ends_with_its_launch() {
    let bench = Bench::new();
    let Some(built) = bad(&bench, 25) else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let library = folder.path().join("libbad.so");
    std::fs::copy(&built, &library).unwrap();
    let measures = |library: &Path, home: &str| {
        let line = quickly("bad", library);
        output(bench.line(&line).env("HOME", home).env("TMPDIR", "/tmp")).ends(0);
        case_of(&bench.export(), "bad")["effective_settings"].to_string()
    };
    let takes_what_is_left = |folder: &str| {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_ours = |path: &PathBuf| path.to_string_lossy().contains("ipcmark-test-");
        let left: Vec<PathBuf> = files.map(|entry| entry.path()).filter(is_ours).collect();
        left.iter().for_each(|path| std::fs::remove_file(path).unwrap());
        left
    };
    let granted = measures(&library, "/");
    let left = ["/dev/shm", "/tmp"].map(takes_what_is_left);
    if !granted.contains("private_shared_memory") {
        return say("skipped: no mount namespace may be made here");
    }
    assert_eq!(left[0], Vec::<PathBuf>::new());
    if library.starts_with("/tmp") {
        return say("skipped in part: this copy of the source lies in /tmp");
    }
    assert!(granted.contains("private_temporary_files"), "{granted}");
    assert_eq!(left[1], Vec::<PathBuf>::new());
    // What a plug-in needs isn't hidden from it.
    for (library, home) in [(&library, "/tmp/home"), (&built, "/")] {
        let granted = measures(library, home);
        assert!(!granted.contains("private_temporary_files"), "{granted}");
        assert!(takes_what_is_left("/tmp").len() >= 4);
    }
}

#[test]
fn a_run_with_a_plug_in_goes_on_with_the_same_file_alone() {
    let bench = Bench::new();
    let Some(library) = c_pipe(&bench) else { return };
    let line = quickly("", &library);
    bench.must(&line);
    bench.edit("UPDATE runs SET status = 'interrupted'");
    let plugin = format!("--plugin {}:name=c-pipe", library.display());
    bench.run("run --resume 1").fails(2, &[&plugin]);
}

#[test]
#[ignore = "long form"]
fn what_must_hold_of_a_plug_in_is_checked_for_its_author() {
    let bench = Bench::new();
    let Some(library) = c_pipe(&bench) else { return };
    let said = bench.run(&format!("engine check {} -v", library.display())).ends(0);
    assert!(said.out.contains("ok      c-pipe: throughput, 4 KiB, one CPU"), "{}", said.out);
    assert!(said.out.ends_with("21 of 21 checks hold\n"), "{}", said.out);
    for (nth, how, words) in [
        (12, "FAILED", "differs from what was sent"),
        (15, "FAILED", "signal 11"),
        // What isn't there is no fault of it, but neither does anything hold.
        (11, "absent", "no daemon"),
    ] {
        let Some(library) = bad(&bench, nth) else { return };
        let said = bench.run(&format!("engine check {}", library.display()));
        assert_eq!(said.code, Some(1), "{nth}: {}{}", said.out, said.err);
        assert!(said.out.contains(how) && said.out.contains(words), "{nth}: {}", said.out);
    }
    let Some(whole) = bad(&bench, 21) else { return };
    let said = bench.run(&format!("engine check {} -v", whole.display()));
    // It sends what doesn't fit, and waits: that is what the check is for.
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    has(
        &said.out,
        &[
            "ok      whole: duplex, 4 KiB",
            "FAILED  whole: duplex, 65,537 B",
            "ok      whole:wait=spin: latency, 64 KiB",
        ],
    );
    assert!(!bench.store().exists());
}

#[test]
fn a_plug_in_begins_with_one_that_works() {
    let bench = Bench::new();
    let said = bench.must("engine new c mine").out;
    assert!(said.starts_with("cd mine && cc "), "{said}");
    let Some(library) = compiled_in(&bench, "mine/libmine.so", &bench.path("mine/mine.c"), &[])
    else {
        return;
    };
    bench.must(&format!(
        "run --plugin {} -w latency -s 64 -p free --launches 2 --samples 20",
        library.display()
    ));
    // Nothing that is there is written over.
    bench.run("engine new c mine").ends(2);
    for language in ["python", "node", "go", "java"] {
        bench.must(&format!("engine new {language} {language}"));
        assert!(bench.path(&format!("{language}/engine.toml")).is_file());
    }
}

/// In the folder that a variable names, or the user's own; never in the working folder, and none that others may change.
#[test]
fn a_plug_in_of_the_users_folder_is_found_by_its_name() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    std::fs::create_dir(bench.path("kept")).unwrap();
    let Some(library) = compiled(&bench, "kept/libmine.so", "engines/c-pipe/c-pipe.c", &[]) else {
        return;
    };
    let kept = |line: &str| output(bench.line(line).env("IPCMARK_ENGINES", bench.path("kept")));
    let listed = kept("engine list");
    let words: Vec<&str> = listed.out.split_whitespace().collect();
    assert_eq!(words, ["mine", library.to_str().unwrap()], "{}", listed.err);
    let one = "run pipe mine -w latency -s 64 -p same-cpu --launches 1 --samples 50";
    kept(one).ends(0);
    assert_eq!(case_of(&bench.export(), "mine")["status"], "ok");

    std::fs::set_permissions(&library, std::fs::Permissions::from_mode(0o775)).unwrap();
    for line in [one, "engine list"] {
        has(&kept(line).err, &["chmod go-w"]);
    }
    std::fs::set_permissions(&library, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::copy(&library, bench.path("libmine.so")).unwrap();
    bench.run(one).fails(2, &["unknown mechanism `mine`"]);
}
