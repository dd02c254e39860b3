//! The example is measured, judged and kept as a mechanism of ipcmark's own: by itself, as a plug-in, and with its options.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What cargo built, seen from the folder of this test; None where it wasn't asked to.
fn built(name: &str) -> Option<PathBuf> {
    let here = std::env::current_exe().expect("this test");
    let folder = here.parent().and_then(Path::parent).expect("deps/ is in a folder");
    let path = folder.join(name);
    if !path.is_file() {
        eprintln!("skipped: {} isn't built: `cargo test --workspace` builds it", path.display());
    }
    path.is_file().then_some(path)
}

fn answer(command: &mut Command) -> (String, String) {
    let Output { stdout, stderr, status } = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let (out, err) = (text(stdout), text(stderr));
    assert!(status.success(), "{status}: {out}{err}");
    (out, err)
}

#[test]
fn a_mechanism_in_rust_gets_judged_results() {
    let (Some(ipcmark), Some(example)) = (built("ipcmark"), built("examples/std_socket")) else {
        return;
    };
    let bench = tempfile::tempdir_in(built("ipcmark").unwrap().parent().unwrap()).unwrap();
    let store = bench.path().join("runs.sqlite");
    let mut command = Command::new(&example);
    let flags = "-w latency,throughput -s 64,64K -p same-cpu --launches 3 --samples 50 --format json --no-wait";
    command.args(flags.split(' ')).arg("--store").arg(&store).arg("--bench");
    let (out, _) = answer(command.env("IPCMARK", &ipcmark).env("IPCMARK_BRIEF", "1"));
    let judged: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let cases = judged["results"].as_array().expect("results");
    let of = |name: &str| {
        let own = |case: &&serde_json::Value| {
            case["mechanism"] == name && case["twin"] == false && case["status"] == "ok"
        };
        cases.iter().filter(own).count()
    };
    assert_eq!((of("std-socket"), of("pipe"), of("unix-stream")), (4, 4, 4), "{out}");

    let (out, _) = answer(Command::new(&ipcmark).args(["engine", "check"]).arg(&example));
    assert!(
        out.contains("std-socket 0.1.0, Rust: a Unix socket of Rust's standard library"),
        "{out}"
    );
    assert!(out.contains("checks hold") && !out.contains("FAILED"), "{out}");
}

#[test]
fn without_ipcmark_it_says_where_that_is_had() {
    let Some(example) = built("examples/std_socket") else { return };
    let said = Command::new(&example).env("IPCMARK", "/nowhere/ipcmark").output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    let line = String::from_utf8(said.stderr).unwrap();
    assert!(line.contains("cargo install") && line.contains("IPCMARK="), "{line}");
}
