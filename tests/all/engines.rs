//! `--engine`: mechanisms of processes that make the timed loops themselves; and whatever is wrong with one is a line or a row.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::cli_support::{Bench, has, output, results, say};

/// The folder of the kits.
fn kits() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("engines")
}

/// Whether what an engine is written in is there; said aloud where it isn't.
fn there_is(program: &str) -> Option<()> {
    let found =
        Command::new(program).arg(if program == "go" { "version" } else { "--version" }).output();
    if let Err(error) = &found {
        say(&format!("skipped an engine: {program}: {error}"));
    }
    found.is_ok().then_some(())
}

/// The file of an engine that runs `words`, in a folder of the test's.
fn file(bench: &Bench, name: &str, words: &[&str]) -> PathBuf {
    bench.put(name, format!("run = {words:?}\n"))
}

/// The engine with one thing wrong with it.
fn bad(bench: &Bench, nth: u32) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/bad_engine.py");
    let (script, kit) = (script.display().to_string(), kits().join("python").display().to_string());
    file(bench, &format!("bad-{nth}.toml"), &["python3", &script, &nth.to_string(), &kit])
}

/// A few round trips of these mechanisms and of the engine.
fn quickly(mechanisms: &str, engine: &Path) -> String {
    format!(
        "run {mechanisms} --engine {} -w latency -s 64 -p same-cpu --launches 2 --samples 20",
        engine.display()
    )
}

/// Measures an engine beside a pipe, and finds every case of it.
fn measured(bench: &Bench, engine: &Path, name: &str, place: &str) {
    let line = format!(
        "run pipe --engine {} -w latency,throughput -s 4K -p {place} --launches 2 --samples 20",
        engine.display()
    );
    bench.run(&line).ends(0);
    let document = bench.export();
    let results = results(&document);
    let own: Vec<&Value> =
        results.iter().filter(|case| case["mechanism"] == name && case["twin"] == false).collect();
    assert_eq!(own.len(), 2, "{results:?}");
    for case in own {
        assert_eq!(case["status"], "ok", "{case}");
        let null = case["effective_settings"]["null_ns"].as_u64();
        assert!(null.is_some_and(|ns| (1..100_000).contains(&ns)), "{case}");
    }
    let said = bench.run("report -v");
    let null = said.out.split_once("Null operation ").map(|(_, told)| told.contains(name));
    assert_eq!(null, Some(true), "{}", said.out);
    let plugin = &document["request"]["plugins"][0];
    assert_eq!(plugin["sha256"].as_str().map(str::len), Some(64), "{plugin}");
    assert!(plugin["language"].as_str().is_some_and(|text| text.contains(' ')), "{plugin}");
}

#[test]
fn an_engine_in_python_is_measured_beside_what_is_built_in() {
    let Some(()) = there_is("python3") else { return };
    let engine = kits().join("python/engine.toml");
    measured(&Bench::new(), &engine, "python-multiprocessing", "same-cpu");
}

#[test]
#[ignore = "long form"]
fn an_engine_in_node_is_measured_beside_what_is_built_in() {
    let Some(()) = there_is("node") else { return };
    measured(&Bench::new(), &kits().join("node/engine.toml"), "node-unix-socket", "free");
}

#[test]
#[ignore = "long form"]
fn an_engine_in_go_is_measured_beside_what_is_built_in() {
    let bench = Bench::new();
    let Some(()) = there_is("go") else { return };
    let program = bench.path("unix-socket");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg("./unix-socket")
        .current_dir(kits().join("go"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    measured(&bench, &file(&bench, "go.toml", &["./unix-socket"]), "go-unix-socket", "same-cpu");
}

/// Held by what keeps every CPU busy for a minute, and by what is slow beside it: libraries that spin, and Java, whose
/// compiler and collector have threads of their own.
static EVERY_CPU: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "long form"]
fn an_engine_in_java_is_measured_beside_what_is_built_in() {
    let _alone = EVERY_CPU.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let Some(()) = there_is("javac") else { return };
    let java = kits().join("java");
    let built = Command::new("javac")
        .arg("-d")
        .arg(bench.path("bin"))
        .args(["IpcmarkEngine.java", "UnixSocket.java"].map(|name| java.join(name)))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let engine = file(&bench, "java.toml", &["java", "-cp", "bin", "UnixSocket"]);
    measured(&bench, &engine, "java-unix-socket", "free");
}

#[test]
#[ignore = "long form"]
fn options_of_an_engine_are_its_variants() {
    let bench = Bench::new();
    let Some(()) = there_is("python3") else { return };
    let engine = kits().join("python/engine.toml");
    let line = format!(
        "run mp mp:send=objects --engine {}:name=mp -w latency -s 64 -p same-cpu --launches 2 --samples 20",
        engine.display()
    );
    bench.run(&line).ends(0);
    let document = bench.export();
    let results = results(&document);
    for variant in ["mp", "mp:send=objects"] {
        let own = |case: &&Value| case["variant"] == variant;
        assert_eq!(results.iter().find(own).unwrap()["status"], "ok", "{variant}");
    }
}

#[test]
fn workers_and_what_they_start_are_as_nice_as_asked() {
    let bench = Bench::new();
    let Some(()) = there_is("python3") else { return };
    let script = bench.path("nice.py");
    let text = "import os\nprint('hello protocol=1 name=nicest version=1', flush=True)\n\
                input()\nprint(f'failed reason=nice:{os.nice(0)}', flush=True)\n";
    std::fs::write(&script, text).unwrap();
    let engine = file(&bench, "nice.toml", &["python3", &script.display().to_string()]);
    let line = format!(
        "run nicest --engine {} --nice 0,7 -w latency -s 64 -p same-cpu --launches 1 --samples 20",
        engine.display()
    );
    bench.run(&line);
    let document = bench.export();
    let cases = results(&document).iter().filter(|case| case["twin"] == false);
    let own = rustix::process::getpriority_process(None).unwrap();
    let mut found = Vec::new();
    for case in cases {
        let nice = case["nice"].as_u64().unwrap() as i32;
        let reason = case["reason"].as_str().unwrap();
        assert!(reason.contains(&format!("nice:{}", own + nice)), "{case}");
        found.push(nice);
    }
    assert_eq!(found, [0, 7]);
    let said = bench.run("run pipe --nice 20");
    assert_eq!((said.code, said.err.contains("0 to 19 are added")), (Some(2), true));
}

/// The file of an engine with a daemon that is told `words`.
fn relayed(bench: &Bench, program: &str, words: &[&str]) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/relayed_engine.py");
    let (script, kit) = (script.display().to_string(), kits().join("python").display().to_string());
    let mut daemon = vec![program, script.as_str(), "daemon"];
    daemon.extend(words);
    let run = ["python3", script.as_str(), "engine", kit.as_str()];
    bench.put("relayed.toml", format!("run = {run:?}\ndaemon = {daemon:?}\n"))
}

#[test]
fn the_daemon_of_an_engine_lives_as_long_as_its_launch() {
    let bench = Bench::new();
    let Some(()) = there_is("python3") else { return };
    // Its second argument tells this test's daemons from others.
    let engine = relayed(&bench, "python3", &["{folder}", &bench.store().display().to_string()]);
    let line = quickly("relayed", &engine);
    bench.run(&line).ends(0);
    let document = bench.export();
    let own = &document["results"][0];
    assert_eq!((own["status"].as_str(), own["class"].as_str()), (Some("ok"), Some("broker")));
    // Each round trip the daemon sleeps 20 times, and both ends a few.
    let slept = own["noise"]["voluntary_switches"].as_f64();
    assert!(slept.is_some_and(|times| times > 15.0 * 20.0), "{own}");
    let store = bench.store().display().to_string();
    let is_left = |entry: &std::fs::DirEntry| {
        let words = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        words.contains("relayed_engine.py") && words.contains(&store)
    };
    let left = std::fs::read_dir("/proc").unwrap().flatten().find(is_left);
    assert!(left.is_none(), "{left:?}");
}

#[test]
fn a_daemon_that_ends_or_is_missing_is_the_reason() {
    let bench = Bench::new();
    let Some(()) = there_is("python3") else { return };
    for (program, status, reason) in [
        ("python3", "failed", "its daemon ended with exit status: 1: no room for a daemon"),
        ("./nowhere", "unavailable", "start its daemon ./nowhere"),
    ] {
        let engine = relayed(&bench, program, &["ends"]);
        let line = quickly("relayed", &engine);
        let said = bench.run(&line);
        let document = bench.export();
        let own = &document["results"][0];
        assert_eq!(own["status"], status, "{own} {}", said.err);
        assert!(own["reason"].as_str().unwrap().contains(reason), "{own}");
    }
    let none = bench.put("none.toml", "run = ['python3']\ndaemon = []\n");
    let said = bench.run(&format!("run --engine {}", none.display()));
    assert_eq!((said.code, said.err.contains("daemon = [] starts nothing")), (Some(2), true));
}

#[test]
#[ignore = "long form"]
fn what_an_engine_has_no_loop_for_is_not_applicable() {
    let bench = Bench::new();
    let Some(()) = there_is("python3") else { return };
    let line = format!(
        "run pipe --engine {} -w latency,duplex,rate,connect --rate 1k -s 64 -p same-cpu --workers both --launches 2 \
         --samples 20",
        bad(&bench, 0).display()
    );
    bench.run(&line);
    let document = bench.export();
    let results = results(&document);
    for case in results.iter().filter(|case| case["mechanism"] == "bad" && case["twin"] == false) {
        let can = case["workload"] == "latency" && case["workers"] == "process";
        assert_eq!(case["status"], if can { "ok" } else { "not_applicable" }, "{case}");
    }
}

#[test]
fn what_is_no_engine_is_refused_in_one_line() {
    let bench = Bench::new();
    let Some(()) = there_is("python3") else { return };
    let refused = |path: &Path, words: &[&str]| {
        bench.run(&format!("run --engine {} --launches 2", path.display())).fails(2, words);
        assert!(!bench.store().exists());
    };
    for (nth, words) in [
        (1, &["exit status: 1", "no such queue"][..]),
        (2, &["protocol 2"]),
        (3, &["built in", ":name=my-pipe"]),
        (4, &["option `wait`"]),
        (7, &["no `hello …`"]),
        (19, &["null=maybe: no or yes"]),
    ] {
        refused(&bad(&bench, nth), words);
    }
    refused(&file(&bench, "none.toml", &["./nowhere"]), &["./nowhere", "No such file"]);
    refused(&file(&bench, "empty.toml", &[]), &["starts nothing"]);
    refused(Path::new("./nowhere.toml"), &["nowhere.toml", "No such file"]);
    refused(Path::new("engine.toml"), &["./engine.toml"]);
    let other = bench.path("other.toml");
    for text in ["command = 'true'", "run = 'true'", "run"] {
        std::fs::write(&other, text).unwrap();
        refused(&other, &["other.toml", "run = ["]);
    }
}

#[test]
#[ignore = "long form"]
fn what_an_engine_does_wrong_is_its_row_and_nothing_else() {
    let Some(()) = there_is("python3") else { return };
    for (nth, status, words) in [
        (6, "unavailable", "no broker"),
        (8, "failed", "differ from what was sent"),
        (9, "failed", "operations"),
        (10, "failed", "stamps lie outside"),
        (11, "failed", "its samples come to 0 ns"),
        (12, "failed", "SIGSEGV"),
        (14, "failed", "fewer samples"),
        (16, "failed", "no answer to `open"),
        (17, "failed", "its samples come to 0 ns"),
    ] {
        let bench = Bench::new();
        let line = quickly("pipe", &bad(&bench, nth));
        let said = bench.run(&line);
        let document = bench.export();
        let results = results(&document);
        let of = |name: &str| {
            let own = |case: &&Value| case["variant"] == name && case["twin"] == false;
            results.iter().find(own).unwrap_or_else(|| panic!("{nth}: {}", said.err))
        };
        assert_eq!(of("bad")["status"], status, "{nth}: {} {}", of("bad"), said.err);
        let reason = of("bad")["reason"].to_string();
        assert!(reason.contains(words), "{nth}: {reason}");
        assert_eq!(of("pipe")["status"], "ok", "{nth}");
        assert_eq!(said.code, Some(5), "{nth}: {}", said.err);
        // Of an engine that hangs, or that crashed, nothing is left.
        bench.wait_for_silence(std::time::Duration::from_secs(30));
    }
}

/// Engines from before it was asked.
#[test]
fn an_engine_without_a_null_operation_is_measured_all_the_same() {
    let bench = Bench::new();
    let Some(()) = there_is("python3") else { return };
    let line = quickly("bad", &bad(&bench, 18));
    bench.run(&line).ends(0);
    let case = &bench.export()["results"][0];
    assert_eq!(case["status"], "ok", "{case}");
    assert_eq!(case["effective_settings"].get("null_ns"), None, "{case}");
}

#[test]
fn what_an_engine_prints_is_no_answer() {
    let bench = Bench::new();
    let Some(()) = there_is("python3") else { return };
    let line = quickly("bad", &bad(&bench, 5));
    bench.run(&line).ends(0);
}

/// The plug-ins of libraries that a C or C++ compiler alone builds.
const LIBRARIES: [&str; 7] = ["zeromq", "nng", "nanomsg", "boost", "dbus", "redis", "cyclonedds"];

/// Whether they can be built here; None where not, said aloud.
fn can_build() -> Option<()> {
    ["python3", "cc", "c++"].into_iter().try_for_each(there_is)
}

/// What `engines/build` prints of each of them: its name and where it is, or why it isn't.
fn built(bench: &Bench, compiler: Option<&str>) -> Vec<(String, String)> {
    let mut command = Command::new(kits().join("build"));
    command.arg("-o").arg(bench.path("libraries")).args(LIBRARIES);
    if let Some(compiler) = compiler {
        command.env("CC", format!("cc {compiler}")).env("CXX", format!("c++ {compiler}"));
    }
    let said = output(&mut command);
    let lines: Vec<(String, String)> = said
        .out
        .lines()
        .map(|line| line.split_once("  ").expect("a name and what is of it"))
        .map(|(name, told)| (name.into(), told.trim().into()))
        .collect();
    let left_out = lines.iter().any(|(_, told)| told.starts_with("left out: "));
    assert_eq!(said.code, Some(i32::from(left_out)), "{}{}", said.out, said.err);
    assert_eq!(lines.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), LIBRARIES);
    lines
}

#[test]
fn what_a_library_is_left_out_for_is_said() {
    let bench = Bench::new();
    let Some(()) = can_build() else { return };
    // A compiler without its usual folders has no header of any library.
    for (name, told) in built(&bench, Some("-nostdinc")) {
        let (header, package) = told.split_once(" (Debian: ").expect("the package that has it");
        assert!(header.starts_with("left out: no ") && package.ends_with(')'), "{name}: {told}");
    }
    let mut unknown = Command::new(kits().join("build"));
    let said = output(unknown.arg("-o").arg(bench.path("libraries")).arg("nothing")).ends(2);
    has(&said.err, &["nothing: there is zeromq"]);
}

#[test]
#[ignore = "long form"]
fn every_byte_arrives_by_each_library_that_is_here() {
    let _alone = EVERY_CPU.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let Some(()) = can_build() else { return };
    for (name, told) in built(&bench, None) {
        match told.strip_prefix("left out: ") {
            Some(why) => say(&format!("skipped an engine: {name}: {why}")),
            None => {
                let library = bench.path("libraries").join(format!("lib{name}.so"));
                let said = output(bench.command(["engine", "check"]).arg(library));
                assert_eq!(said.code, Some(0), "{name}: {}{}", said.out, said.err);
            }
        }
    }
}
