//! `ipcmark doctor`: every check is reported, in text and as JSON, with advice; nothing is refused
//! for what was found; a run keeps the findings, and says which rounds were disturbed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::cli_support::{Bench, Said, has, list, number, output, rows, say};
use serde_json::Value;

const LEVELS: [&str; 4] = ["fine", "unknown", "note", "warning"];

fn parse(said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    crate::cli_support::parse(&said.out)
}

fn finding<'a>(findings: &'a Value, check: &str) -> &'a Value {
    let all = list(findings);
    all.iter()
        .find(|value| value["check"] == check)
        .unwrap_or_else(|| panic!("no {check}: {all:?}"))
}

/// The names of all checks, in their order.
fn checks() -> Vec<String> {
    let found = machine::doctor::examined(Path::new("/"), &[], Duration::ZERO).findings;
    found.into_iter().map(|finding| finding.check).collect()
}

/// Every check once, in its order, with words for everything.
fn assert_complete(findings: &Value) {
    let all = list(findings);
    let names: Vec<&str> = all.iter().map(|value| value["check"].as_str().unwrap()).collect();
    assert_eq!(names, checks());
    for value in all {
        for field in ["found", "wanted", "effect", "advice"] {
            assert!(value[field].as_str().is_some_and(|words| !words.trim().is_empty()), "{value}");
        }
        assert!(LEVELS.contains(&value["level"].as_str().unwrap()), "{value}");
        assert!(
            value["command"].is_null()
                || value["command"].as_str().is_some_and(|text| !text.is_empty())
        );
    }
}

#[test]
fn every_check_appears_in_json_with_advice() {
    let answer = parse(&Bench::new().run("doctor --format json"));
    assert_complete(&answer["findings"]);
    let worst =
        |level: &str| list(&answer["findings"]).iter().any(|finding| finding["level"] == level);
    let decisive = ["load", "steal", "interrupts", "quota"];
    let open = decisive.iter().any(|text| finding(&answer["findings"], text)["level"] == "unknown");
    let fitness = match (worst("warning"), worst("note")) {
        (true, _) => ("not_fit", "Not fit for measuring now"),
        _ if open => ("unknown", "Not known whether it is fit to measure on"),
        (false, true) => ("fit_with_reservations", "Fit to measure on, with reservations"),
        (false, false) => ("fit", "Fit to measure on"),
    };
    assert_eq!(answer["fitness"], fitness.0);
    assert!(answer["sentence"].as_str().unwrap().starts_with(fitness.1), "{answer}");
    assert!(!list(&answer["cpus"]).is_empty());
}

#[test]
fn every_check_appears_in_text_of_80_columns() {
    let said = Bench::new().must("doctor");
    for check in checks() {
        // In front of a line: after a sign, or as the first cell of a row.
        let named = said.out.lines().any(|line| {
            let words = line.trim_start_matches(['!', '•', ' ']);
            words.strip_prefix(&*check).is_some_and(|rest| rest.starts_with([':', ' ']))
        });
        assert!(named, "{check} is missing:\n{}", said.out);
    }
    let help = Bench::new().must("doctor --help");
    for line in said.out.lines().chain(help.out.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let answers = ["Fit to measure on", "Not fit", "Not known whether it is fit"];
    let answer = answers.iter().find_map(|answer| said.out.find(answer)).unwrap();
    assert!(answer < said.out.find("As it should be").unwrap_or(usize::MAX));
    assert!(said.out.contains("no setting was changed"));
    assert_eq!(said.err, "");
}

#[test]
fn a_guest_is_warned_that_its_topology_may_not_be_its_hosts() {
    let bench = Bench::new();
    let answer = parse(&bench.run("doctor --format json"));
    let virtualisation = finding(&answer["findings"], "virtualisation");
    if virtualisation["level"] != "note" {
        return say("skipped: no hypervisor is seen here");
    }
    has(virtualisation["effect"].as_str().unwrap(), &["A guest's topology may not be its host's"]);
}

#[test]
fn named_cpus_are_looked_at_and_wrong_ones_refused() {
    let bench = Bench::new();
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..1024).find(|cpu| allowed.is_set(*cpu)).expect("a CPU");
    let answer = parse(&bench.run(&format!("doctor --cpus {cpu} --format json")));
    assert_eq!(answer["cpus"], serde_json::json!([cpu]));
    for (list, words) in [("60000", "not online"), ("zero", "--cpus"), ("", "--cpus")] {
        let said = output(&mut bench.command(["doctor", "--cpus", list]));
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{list}");
        assert!(said.err.contains(words) && said.err.lines().count() == 1, "{}", said.err);
    }
}

#[test]
fn nothing_is_stored_by_looking() {
    let bench = Bench::new();
    bench.must("doctor");
    assert!(!bench.store().exists());
}

#[test]
fn a_spinning_stranger_is_load() {
    let stop = AtomicBool::new(false);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let said = Bench::new().run("doctor --format json");
        stop.store(true, Ordering::Relaxed);
        said
    });
    let answer = parse(&answer);
    let found = finding(&answer["findings"], "load")["found"].as_str().unwrap();
    let Some(used) = found.strip_prefix("others used ") else {
        return say(&format!("skipped: {found}"));
    };
    // It wants one CPU all the time; a process that takes it away is another.
    let cpus: f64 = used.split(' ').next().unwrap().parse().unwrap();
    assert!(cpus > 0.3, "{found}");
}

#[test]
fn a_run_keeps_what_was_found_before_it() {
    let bench = Bench::new();
    bench.must("run pipe -w latency -s 64 -p same-cpu --launches 2 --samples 50");
    let document = bench.export();
    assert_complete(&document["host"]["findings"]);
    let build = &document["host"]["build"];
    assert!(build["compiler"].as_str().is_some_and(|text| text.starts_with("rustc")), "{build}");
    assert!(document["host"]["default_buffers"]["pipe_bytes"].as_u64() >= Some(4096));
    let rounds = rows(&bench.open(), "SELECT json_type(noise, '$.marks') FROM rounds");
    assert_eq!(rounds, ["array", "array"]);
    let report = bench.must("report --html page.html");
    let page = bench.read("page.html");
    assert!(page.contains("Before the run: ") && page.contains("isolation"), "{}", report.err);
}

/// A control group with a tenth of a CPU, removed at the end.
struct Limited {
    folder: PathBuf,
    tasks: &'static str,
}

impl Limited {
    /// In either version; the reason where neither lets us.
    fn new() -> Result<Limited, String> {
        let mounts =
            fs::read_to_string("/proc/self/mountinfo").map_err(|error| error.to_string())?;
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let mut reasons = vec!["no control group of CPU time is mounted".to_owned()];
        for line in mounts.lines() {
            let Some((mount, file_system)) = line.split_once(" - ") else { continue };
            let place = mount.split(' ').nth(4).unwrap_or_default();
            let has_cpu = file_system.split([' ', ',']).any(|word| word == "cpu");
            let of = |prefix: &str| own.lines().find_map(|line| line.strip_prefix(prefix));
            let made = match file_system.split(' ').next() {
                Some("cgroup2") => Limited::make(place, of("0::").unwrap_or("/"), true),
                Some("cgroup") if has_cpu => Limited::make(place, "/", false),
                _ => continue,
            };
            match made {
                Ok(limited) => return Ok(limited),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("; "))
    }

    fn make(mount: &str, group: &str, second: bool) -> Result<Limited, String> {
        let below = group.trim_start_matches('/');
        let folder = Path::new(mount).join(below).join(format!("ipcmark-{}", std::process::id()));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir(&folder).map_err(failed)?;
        let tasks = if second { "cgroup.procs" } else { "tasks" };
        let limited = Limited { folder: folder.clone(), tasks };
        let settings: &[(&str, &str)] = if second {
            &[("cpu.max", "10000 100000")]
        } else {
            &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "10000")]
        };
        for (file, value) in settings {
            fs::write(folder.join(file), value).map_err(failed)?;
        }
        Ok(limited)
    }

    fn run(&self, bench: &Bench, line: &str) -> Said {
        let join = format!("echo $$ > {}/{}", self.folder.display(), self.tasks);
        output(&mut bench.after(&join, line))
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // The last process may take a moment to leave.
        for _ in 0..500 {
            if fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        say(&format!("{} can't be removed", self.folder.display()));
    }
}

#[test]
#[ignore = "long form"]
fn a_quota_is_named_and_marks_the_rounds_that_it_stopped() {
    let limited = match Limited::new() {
        Ok(limited) => limited,
        Err(reason) => return say(&format!("skipped: no group with a quota here: {reason}")),
    };
    let bench = Bench::new();
    let answer = parse(&limited.run(&bench, "doctor --format json"));
    let quota = finding(&answer["findings"], "quota");
    assert_eq!(quota["level"], "warning", "{quota}");
    let found = quota["found"].as_str().unwrap();
    assert!(found.starts_with("0.10 CPUs: 10000 µs in every 100000 µs"), "{found}");
    assert_eq!(answer["fitness"], "not_fit");

    let line = "run pipe -w latency -s 64 -p same-cpu --launches 2 --samples 20000";
    limited.run(&bench, line).ends(0);
    let marked = "SELECT count(*) FROM rounds WHERE noise LIKE '%\"check\":\"quota\"%'";
    let marked = number(&bench.open(), marked);
    assert!(marked > 0, "20,000 round trips fit into 10 ms");
    let document = bench.export();
    let warnings: BTreeSet<&str> =
        list(&document["warnings"]).iter().filter_map(Value::as_str).collect();
    let warning = warnings
        .iter()
        .find(|warning| warning.contains("of 2 rounds were disturbed"))
        .expect("said");
    assert!(warning.contains(&format!("quota in {marked} ")), "{warning}");
}
