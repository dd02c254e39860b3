//! What laboratories are kept in belongs to root alone, and what is found there is believed only then;
//! a run's own laboratory lives as long as its run, whatever that is called. Needs root; says aloud
//! that it skips without. Where files are forged, /run is a file system of the test's own.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::cli_support::{
    Bench, Said, behind, can_have_labs, can_run, output, send, wait_for, wait_until_startable,
};
use rustix::process::Signal;

/// Virtual machines pause for seconds at times.
const PATIENCE: Duration = Duration::from_secs(60);
/// A run that would last, with a laboratory of its own.
const LONG: &str = "run tcp -w latency -s 64 --launches 9000 --samples 100 --route lab";

/// Runs `line` with a /run that is empty but for what the shell command `prepare` puts there, and the
/// shell command `afterwards` behind it, which may look at it and is not to fail.
fn in_fresh_run(bench: &Bench, prepare: &str, line: &str, afterwards: &str) -> Said {
    let script = format!(
        "mount -t tmpfs none /run && cd /run && {{ {prepare}; }} && {{ \"$@\"; code=$?; {afterwards} && \
         exit $code || exit 99; }}"
    );
    output(&mut bench.behind(&["unshare", "--mount", "--net", "sh", "-c", &script, "sh"], line))
}

#[test]
fn what_others_could_have_written_is_not_believed() {
    let own_run = ["unshare", "--mount", "--net", "sh", "-c", "mount -t tmpfs none /run"];
    let Some(()) = can_run("forged laboratories", &own_run) else { return };
    let bench = Bench::new();
    // The file of a laboratory as `lab up` writes it.
    let kept = bench.path("kept.json");
    let keep = format!("cp /run/ipcmark-lab/lab.json {}", kept.display());
    in_fresh_run(&bench, "true", "lab up --by relay", &keep).ends(0);
    let genuine = fs::read_to_string(&kept).expect("a state");
    let name = "ipcmark-lab-a";
    assert!(genuine.contains(name));
    let elsewhere = bench.put("elsewhere.json", genuine.replace(name, "../../tmp/precious"));

    let folder = "mkdir -m 700 ipcmark-lab";
    let kept = kept.display();
    let place = format!("{folder}; cp {kept} ipcmark-lab/lab.json; chmod 600 ipcmark-lab/lab.json");
    let cases = [
        ("may be written by others", format!("{place}; chmod 777 ipcmark-lab")),
        ("may be written by others", format!("{place}; chmod 720 ipcmark-lab")),
        ("belongs to user 65534", format!("{place}; chown 65534 ipcmark-lab")),
        ("is a link or a file", format!("{place}; mv ipcmark-lab real; ln -s real ipcmark-lab")),
        ("may be written by others", format!("{place}; chmod 666 ipcmark-lab/lab.json")),
        ("belongs to user 65534", format!("{place}; chown 65534 ipcmark-lab/lab.json")),
        ("is a link", format!("{folder}; ln -s {kept} ipcmark-lab/lab.json")),
        ("another name", format!("{place}; ln ipcmark-lab/lab.json other")),
        (
            "names what no laboratory of that name has",
            format!("{folder}; cp {} ipcmark-lab/lab.json", elsewhere.display()),
        ),
        (
            "names what no laboratory of that name has",
            format!("{place}; mv ipcmark-lab/lab.json ipcmark-lab/other.json"),
        ),
    ];
    for (why, prepare) in cases {
        let before = bench.path("before").display().to_string();
        let prepare = format!("{prepare}; find . -type f -exec md5sum {{}} + > {before}");
        let same = format!("find . -type f -exec md5sum {{}} + | diff - {before} > /dev/null");
        for line in ["lab status", "lab down --kill", "lab down --name other --kill", "clean"] {
            let said = in_fresh_run(&bench, &prepare, line, &same);
            let missing = said.code == Some(2) && said.err.contains("no laboratory");
            if missing && line.starts_with("lab down") {
                continue; // of the other name
            }
            assert_eq!(said.code, Some(1), "{line}, {prepare}: {}{}", said.out, said.err);
            assert!(said.err.contains(why), "{line}, {prepare}: {}", said.err);
            assert_eq!(said.err.lines().count(), 1, "{line}: {}", said.err);
            assert!(said.err.contains("remove it (rm -r /run/ipcmark-lab)"), "{}", said.err);
        }
    }
}

#[test]
fn what_a_kill_cut_off_goes_and_nothing_else() {
    let own_run = ["unshare", "--mount", "--net", "sh", "-c", "mount -t tmpfs none /run"];
    let Some(()) = can_run("laboratories that were cut off", &own_run) else { return };
    let bench = Bench::new();
    let cut_off =
        "mkdir -m 700 ipcmark-lab; cd ipcmark-lab; touch a.json.fresh made-run-netns.fresh";
    for (files, left) in [("true", "."), ("touch notes.fresh b.counts.fresh", "ipcmark-lab")] {
        let prepare = format!("( {cut_off}; {files} )");
        let said = in_fresh_run(&bench, &prepare, "lab down --name a", "find . -name '*'").ends(2);
        assert!(said.out.contains(left) && !said.out.contains("json"), "{}", said.out);
        assert_eq!(said.out.contains("ipcmark-lab"), left == "ipcmark-lab", "{}", said.out);
        assert_eq!(said.out.contains("b.counts.fresh"), left == "ipcmark-lab", "{}", said.out);
        assert!(!said.out.contains("made-run-netns"), "{}", said.out);
    }
}

#[test]
fn whatever_the_umask_nobody_else_may_write() {
    let own_run = ["unshare", "--mount", "--net", "sh", "-c", "mount -t tmpfs none /run"];
    let Some(()) = can_run("a laboratory under umask 000", &own_run) else { return };
    let bench = Bench::new();
    // The relay writes its counts once a second.
    let look = "[ $code = 0 ] || exit $code; n=0; while [ ! -e ipcmark-lab/lab.counts ] && [ $n -lt 600 ]; do sleep 0.1; \
                n=$((n + 1)); done; stat -c '%a %n' ipcmark-lab ipcmark-lab/*";
    let umask = "umask 000";
    let said = in_fresh_run(&bench, umask, "lab up --by relay", look).ends(0);
    let modes: BTreeSet<&str> = said
        .out
        .lines()
        .filter(|line| line.contains(" ipcmark-lab"))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    let wanted = [
        "600 ipcmark-lab/lab.counts",
        "600 ipcmark-lab/lab.json",
        "600 ipcmark-lab/lock",
        "600 ipcmark-lab/made-run-netns",
        "700 ipcmark-lab",
    ];
    let of_laboratory =
        modes.iter().filter(|mode| !mode.ends_with("/lock") && !mode.ends_with("netns"));
    assert_eq!(of_laboratory.count(), 3, "{modes:?}");
    assert!(modes.iter().all(|mode| wanted.contains(mode)), "{modes:?}");
}

/// Namespaces of the laboratories of the run of process `pid`.
fn of_run(pid: i32) -> Vec<PathBuf> {
    let names =
        fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|entry| entry.path());
    let of_run = format!("/ipcmark-run-{pid}-");
    names.filter(|name| name.to_string_lossy().contains(&of_run)).collect()
}

/// Cleans by `clean` while `run` has a laboratory, which it keeps.
fn a_live_runs_laboratory_stays(bench: &Bench, run: Command, clean: &mut Command) {
    let running = bench.begin_with(run);
    let spaces = of_run(running.pid());
    assert!(spaces.len() >= 2, "{spaces:?}");
    for _ in 0..3 {
        let (done, _) = bench.launches();
        let said = output(clean);
        // Others on this machine may have left some; not this one.
        assert!(spaces.iter().all(|space| space.exists()), "{}{}", said.out, said.err);
        wait_for("two launches", PATIENCE, || (bench.launches().0 >= done + 2).then_some(()));
    }
    assert_eq!(bench.launches().1, 0, "launches failed");
    for pid in bench.processes().into_keys() {
        send(pid, Signal::TERM);
    }
    running.finish(PATIENCE);
    bench.wait_for_silence(PATIENCE);
    assert!(!spaces.iter().any(|space| space.exists()), "the run takes its laboratory down");
}

#[test]
fn the_laboratory_of_a_live_run_stays_whatever_the_program_is_called() {
    let Some(()) = can_have_labs("laboratories of runs") else { return };
    let bench = Bench::new();
    let renamed = bench.path("measure");
    fs::copy(env!("CARGO_BIN_EXE_ipcmark"), &renamed).expect("a copy");
    wait_until_startable(&renamed);
    let script = format!("exec '{}' \"$@\"", renamed.display());
    let run = bench.behind(&["sh", "-c", &script], LONG);
    a_live_runs_laboratory_stays(&bench, run, &mut bench.command(["clean"]));
}

#[test]
fn the_laboratory_of_a_live_run_stays_for_another_pid_namespace() {
    let flags = ["unshare", "--pid", "--fork", "--mount-proc"];
    let Some(()) = can_run("PID namespaces", &[&flags[..], &["true"]].concat()) else { return };
    let bench = Bench::new();
    let ours = bench.line(LONG);
    let mut clean = behind(&bench.command(["clean"]), &flags);
    a_live_runs_laboratory_stays(&bench, ours, &mut clean);
}
