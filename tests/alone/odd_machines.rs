//! Sandboxes, and machines that show little of themselves: what lacks is said by its name, once, before anything is
//! measured; what can't be read is unknown; and the rest is measured.

use crate::cli_support::deny::{Denied, output_denied};
use crate::cli_support::strike::await_store;
use std::time::Duration;

use crate::cli_support::{Bench, Said, can_run, flat, has, list, output, parse, results, say};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

const SHORT: &str =
    "run pipe shm-ring:wait=futex -w latency -s 64 --launches 2 --samples 20 --no-wait";

#[track_caller]
fn assert_forbidden(said: Said, words: &[&str]) {
    has(&said.fails(5, &["nothing can be measured here"]).err, words);
}

fn finding<'a>(doctor: &'a Value, check: &str) -> &'a Value {
    let findings = list(&doctor["findings"]);
    findings.iter().find(|finding| finding["check"] == check).expect("a finding")
}

/// The program in a mount namespace of its own, in which a shell has done `first`; None, said aloud, where there is none.
fn in_mounts(bench: &Bench, first: &str, line: &str) -> Option<Said> {
    can_run("mount namespaces", &["unshare", "-m", "true"]).map(|()| {
        let script = format!("{first} && exec \"$0\" \"$@\"");
        output(&mut bench.behind(&["unshare", "-m", "sh", "-c", &script], line))
    })
}

#[test]
fn a_call_that_every_launch_needs_is_named_before_anything_is_measured() {
    let bench = Bench::new();
    // Every Linux has the last: what lacks it is a filter.
    for (call, name, needed) in [
        (libc::SYS_pidfd_open, "pidfd_open(2)", "Linux 5.3"),
        (libc::SYS_waitid, "waitid(2)", "Linux 5.4"),
        (libc::SYS_pidfd_send_signal, "pidfd_send_signal(2)", "Linux 5.3"),
        (libc::SYS_socketpair, "socketpair(2)", "seccomp"),
    ] {
        for (errno, remedy) in [(libc::ENOSYS, needed), (libc::EPERM, "seccomp")] {
            let denied = [Denied::call(call)];
            let Some(said) = bench.run_denied(&denied, errno, SHORT) else { return };
            assert_forbidden(said, &[name, remedy]);
        }
    }
    let denied = |line| bench.run_denied(&[Denied::call(libc::SYS_pidfd_open)], libc::ENOSYS, line);
    assert_forbidden(denied("floor --quick").unwrap(), &["pidfd_open(2)", "Linux 5.3"]);
    let listed = denied("list").unwrap();
    assert!(listed.out.contains("pidfd_open(2)") && listed.code == Some(0), "{}", listed.out);
    let json = parse(&denied("list --format json").unwrap().out);
    assert_eq!(json["lacking"].as_array().map(Vec::len), Some(1));
    let doctor = parse(&denied("doctor --format json").unwrap().out);
    assert_eq!(finding(&doctor, "calls")["level"], "warning");
    assert!(doctor["sentence"].as_str().unwrap().starts_with("Nothing can be measured here"));
    assert!(!bench.store().exists(), "nothing was stored");
}

#[test]
fn without_proc_that_is_said() {
    let bench = Bench::new();
    let Some(said) = in_mounts(&bench, "mount -t tmpfs none /proc", SHORT) else { return };
    assert_forbidden(said, &["/proc/self/exe", "mount proc on /proc"]);
}

/// Kernels before 5.14 can't be asked for pages that are written at once.
#[test]
fn an_older_kernel_measures_too() {
    let bench = Bench::new();
    const MADV_POPULATE_WRITE: u64 = 23;
    let denied = [Denied::call_with(libc::SYS_madvise, 2, MADV_POPULATE_WRITE)];
    let line = format!("{SHORT} -p same-cpu --format json");
    let Some(said) = bench.run_denied(&denied, libc::EINVAL, &line) else { return };
    let found = parse(&said.out);
    let all_ok = results(&found).iter().all(|result| result["status"] == "ok");
    assert!(all_ok, "{}{}", said.out, said.err);
}

#[test]
fn without_sysfs_named_cpus_one_cpu_and_free_ones_are_measured() {
    let bench = Bench::new();
    let set = sched_getaffinity(None).expect("the CPUs of this process");
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
    let pair = format!("{},{}", cpus[0], cpus[cpus.len() - 1]);
    let run = |places: &str| {
        let line = format!(
            "run pipe -w latency -s 64 --launches 1 --samples 20 --no-wait --format json {places}"
        );
        in_mounts(&bench, "mount -t tmpfs none /sys", &line)
    };
    let Some(said) = run(&format!("-p {pair} -p same-cpu -p free")) else { return };
    let found = parse(&said.out);
    let all_ok = results(&found).iter().all(|result| result["status"] == "ok");
    assert!(all_ok, "{}{}", said.out, said.err);
    assert_eq!(results(&found).len(), 3);
    let said = run("-p same-llc").unwrap();
    let reason = parse(&said.out)["results"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("isn't known here") && reason.contains("mount sysfs"), "{reason}");
    let doctor = in_mounts(&bench, "mount -t tmpfs none /sys", "doctor --format json").unwrap();
    let smt = finding(&parse(&doctor.out), "smt").clone();
    assert_eq!(smt["level"], "unknown");
    assert!(smt["found"].as_str().unwrap().contains("topology"), "{smt}");
}

/// As on a machine with more CPUs than a set of a fixed size holds.
#[test]
fn an_affinity_that_the_call_does_not_tell_is_honoured() {
    let bench = Bench::new();
    let before = sched_getaffinity(None).expect("the CPUs of this process");
    let last = (0..CpuSet::MAX_CPU).rfind(|cpu| before.is_set(*cpu)).expect("a CPU");
    let mut only = CpuSet::new();
    only.set(last);
    let denied = [Denied::call(libc::SYS_sched_getaffinity)];
    let run = |line: &str| {
        std::thread::scope(|scope| {
            let pinned = || {
                sched_setaffinity(None, &only).expect("pin this thread");
                output_denied(&mut bench.line(line), &denied, libc::EINVAL)
            };
            scope.spawn(pinned).join().expect("a thread")
        })
    };
    let Some(said) = run(&format!("{SHORT} -p same-cpu --format json")) else { return };
    let found = parse(&said.out);
    for case in results(&found) {
        assert_eq!(case["place"]["cpus"], serde_json::json!([last, last]), "{}", said.err);
    }
    assert_eq!(found["host"]["limits"]["affinity"], serde_json::json!([last]));
    let all = run("run pipe -w latency -p all --launches 1 --no-wait").unwrap();
    assert!(!all.err.contains("Invalid argument"), "{}", all.err);
}

/// As in a sandbox that makes up its counters: they stand still.
#[test]
fn a_machine_whose_counters_stand_still_is_not_called_calm() {
    let bench = Bench::new();
    let frozen = "cp /proc/stat stat && mount --bind stat /proc/stat";
    let Some(doctor) = in_mounts(&bench, frozen, "doctor --format json") else { return };
    let doctor = parse(&doctor.out);
    assert_ne!(doctor["fitness"], "fit");
    for check in ["load", "steal"] {
        assert_eq!(finding(&doctor, check)["level"], "unknown", "{check}");
    }
    let line =
        "run pipe -w latency -s 64 -p same-cpu --launches 4 --samples 50 --no-wait --unmarked 3";
    in_mounts(&bench, frozen, line).unwrap().ends(0);
    let found = bench.export();
    let rounds = list(&found["rounds"]);
    assert_eq!(rounds.len(), 4, "more rounds are no remedy");
    let warnings = found["warnings"].to_string();
    // Whoever forks or interrupts may disturb a round all the same.
    let undisturbed = |value: &&Value| value["marked"].is_null() && value["unknown"].is_null();
    assert_eq!(rounds.iter().filter(undisturbed).count(), 0, "{rounds:?}");
    has(&warnings, &["can't be told by steal", "fewer than 3 rounds"]);
    let unknown =
        |value: &Value| value["unknown"].as_str().is_some_and(|text| text.contains("load"));
    let report = crate::cli_support::flat(&bench.must("report last").out);
    assert!(!report.contains("0 of 4 rounds disturbed"), "{report}");
    if rounds.iter().any(unknown) {
        assert!(report.contains("unknown whether others disturbed"), "{report}");
    }
}

#[test]
#[ignore = "long form"]
fn cpus_that_are_taken_from_a_run_are_named() {
    let allowed = sched_getaffinity(None).expect("an affinity");
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let [kept, .., lost] = cpus[..] else { return say("skipped CPUs that are lost: one is there") };
    let bench = Bench::new();
    let line = "run pipe -w latency -s 64 -p free --launches 400 --samples 20 --no-wait";
    let mut running = bench.begin(line);
    await_store(&bench, &mut running, "SELECT count(*) FROM launches WHERE round > 0");
    assert!(!running.is_over(), "it goes on");
    let mut one = CpuSet::new();
    one.set(kept);
    sched_setaffinity(Pid::from_raw(running.pid()), &one).expect("a narrower affinity");
    let said = running.finish(Duration::from_secs(120));
    let words = format!("CPU {lost} could not be used any more before the run ended");
    let all_but_one = cpus.len() == 2;
    has(&flat(&said.err), &[if all_but_one { &words } else { "could not be used" }]);
    let document = bench.export();
    let warnings = list(&document["warnings"]);
    let told = |warning: &Value| warning.as_str().unwrap().contains("could not be used any more");
    assert!(warnings.iter().any(told), "{warnings:?}");
}
