//! Energy (`--energy`): read in real launches, by counters that a test keeps moving in a mount namespace of its own;
//! said why where it can't be read; and shown as the records have it, below zero too. What it comes to is never
//! asserted of a machine.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cli_support::stored::{self};
use crate::cli_support::{
    Bench, Said, can_run, list, must_fit, must_fit_the_schema, number, output, rows, say,
};
use machine::energy::PackageCounters;
use serde_json::Value;

/// A run of some ten milliseconds a launch.
const RUN: &str = "run pipe -w latency -s 64 -p same-cpu --launches 6 --samples 2000";
/// Puts the folder that is its first argument in the place of /sys/class, for itself and what it starts.
const IN_PLACE: &str = "mount --bind \"$0\" /sys/class && exec \"$@\"";

/// A package that uses ten watts, whatever is done on it.
struct Package {
    class: PathBuf,
    over: Arc<AtomicBool>,
    counting: Option<JoinHandle<()>>,
}

impl Package {
    fn begin(bench: &Bench) -> Package {
        let class = bench.path("class");
        let zone = class.join("powercap/intel-rapl:0");
        fs::create_dir_all(&zone).expect("a zone");
        fs::write(zone.join("name"), "package-0\n").expect("a name");
        fs::write(zone.join("max_energy_range_uj"), "262143328850\n").expect("a range");
        let counter = fs::File::create(zone.join("energy_uj")).expect("a counter");
        let over = Arc::new(AtomicBool::new(false));
        let (stop, began) = (over.clone(), Instant::now());
        let count = move || {
            while !stop.load(Ordering::Relaxed) {
                // As long as the one before: whoever reads meanwhile finds a whole number.
                let text = format!("{:020}\n", 10 * began.elapsed().as_micros());
                counter.write_all_at(text.as_bytes(), 0).expect("room for a number");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let counting = Some(std::thread::spawn(count));
        let package = Package { class, over, counting };
        crate::cli_support::wait_for("a counter", Duration::from_secs(10), || {
            fs::metadata(zone.join("energy_uj"))
                .is_ok_and(|metadata| metadata.len() > 0)
                .then_some(())
        });
        package
    }

    /// The program on a machine that has it, by way of `through`.
    fn run(&self, bench: &Bench, through: &[&str], line: &str) -> Said {
        let class = self.class.to_str().expect("a path in words");
        let before = [&["unshare", "--mount", "sh", "-c", IN_PLACE, class], through].concat();
        output(&mut bench.behind(&before, line))
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.counting.take().map(JoinHandle::join);
    }
}

fn mounts_can_be_made(test: &str) -> Option<()> {
    can_run(test, &["unshare", "--mount", "mount", "--bind", "/sys/fs", "/sys/class"])
}

/// The energy of a result.
fn energy(case: &Value) -> &Value {
    let all = list(&case["secondary"]);
    all.iter().find(|value| value["name"] == "energy_per_operation").expect("an energy")
}

#[test]
#[ignore = "long form"]
fn launches_are_counted_whole_and_rounds_hold_an_idle_stretch() {
    let Some(()) = mounts_can_be_made("energy of a package that a test makes") else { return };
    let bench = Bench::new();
    let package = Package::begin(&bench);
    let said = package.run(&bench, &[], &format!("{RUN} --energy")).ends(0);
    assert!(!said.err.contains("not readable"), "{}", said.err);
    assert!(said.out.contains("per operation beyond idle"), "{}", said.out);
    let document = bench.export();
    must_fit_the_schema(&document);
    let db = bench.open();
    let idle = "SELECT count(*) FROM rounds WHERE json_extract(noise, '$.idle.ns') >= 100000000";
    assert_eq!(number(&db, idle), 6, "each round left the machine alone");
    let own = "FROM launches JOIN cases ON case_id = cases.id WHERE levels ->> 'variant' = 'pipe' AND levels ->> 'twin' = 0";
    let whole = "json_extract(record, '$.initiator.operations') = 3
        + json_extract(record, '$.initiator.warmup_operations')
        + json_extract(record, '$.initiator.lead_operations')
        + json_extract(record, '$.initiator.samples') * json_extract(record, '$.initiator.batch')";
    let counted = number(&db, &format!("SELECT count(*) {own} AND {whole}"));
    assert_eq!(counted, 7, "the first message and the check too, in the pilot as well");
    let idle = |what: &str| {
        format!("(SELECT json_extract(noise, '$.idle.{what}') FROM rounds WHERE nth = round)")
    };
    let used = format!(
        "SELECT json_extract(record, '$.energy.microjoules'), json_extract(record, '$.energy.ns'),
             json_extract(record, '$.initiator.operations'), {}, {} {own} AND round > 0",
        idle("microjoules"),
        idle("ns")
    );
    let each = rows(&db, &used).into_iter().map(|row| {
        let columns: Vec<f64> =
            row.split('|').map(|part| part.parse().expect("a number")).collect();
        let [used, ns, operations, idle, idle_ns] = columns[..] else { panic!("{row}") };
        assert!(used > 0.0 && idle > 0.0, "the package used some: {row}");
        (used - idle / idle_ns * ns) / 1e6 / operations
    });
    let mut each: Vec<f64> = each.collect();
    each.sort_by(f64::total_cmp);
    let found = energy(&document["results"][0]);
    let (median, middle) = (found["median"].as_f64().expect("a median"), (each[2] + each[3]) / 2.0);
    assert!((median - middle).abs() < 1e-9 * each[5].abs().max(1e-6), "{median} of {each:?}");
    assert_eq!((&found["n"], &found["unit"]), (&6.into(), &"joules".into()));

    package.run(&bench, &[], RUN).ends(0);
    let unasked =
        format!("SELECT count(*) {own} AND run = 2 AND json_extract(record, '$.energy') IS NULL");
    assert_eq!(number(&db, &unasked), 7, "nobody asked");
    assert!(!bench.export()["results"].to_string().contains("energy_per_operation"));
}

#[test]
fn counters_that_only_root_may_read_are_named_once_and_the_run_goes_on() {
    let drop_it = "--bounding-set=-dac_override,-dac_read_search";
    let what = "energy that may not be read";
    let Some(()) = mounts_can_be_made(what) else { return };
    let Some(()) = can_run(what, &["setpriv", drop_it, "true"]) else { return };
    let bench = Bench::new();
    let package = Package::begin(&bench);
    let counter = package.class.join("powercap/intel-rapl:0/energy_uj");
    fs::set_permissions(counter, fs::Permissions::from_mode(0o000)).expect("it is ours");
    let said = package.run(&bench, &["setpriv", drop_it], &format!("{RUN} --energy"));
    let why = "/sys/class/powercap/intel-rapl:0/energy_uj: permission denied (run as root)";
    assert_unreadable(&bench, &said, why);
}

#[test]
fn a_machine_without_counters_says_so_once_and_the_run_goes_on() {
    let Err(why) = PackageCounters::open("/".as_ref()) else {
        return say("skipped a machine without package counters: this one's can be read");
    };
    let bench = Bench::new();
    let said = bench.run("run pipe -s 64 --energy --launches 2 --samples 20");
    assert_unreadable(&bench, &said, &why.to_string());
}

/// The run ended well, gave the reason in one line, and has no energy.
fn assert_unreadable(bench: &Bench, said: &Said, why: &str) {
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let line = format!("warning: energy: not readable here: {why}\n");
    assert!(said.err.contains(&line), "no `{line}` in: {}", said.err);
    assert_eq!(said.err.matches("not readable here").count(), 1, "{}", said.err);
    assert_eq!(said.out.matches("not readable here").count(), 1, "{}", said.out);
    let document = bench.export();
    assert_eq!(document["request"]["energy"], true);
    let warned = list(&document["warnings"]).iter();
    assert_eq!(
        warned.filter(|value| value.as_str().is_some_and(|text| text.contains(why))).count(),
        1
    );
    assert!(!document["results"].to_string().contains("energy_per_operation"));
    let none =
        "SELECT count(*) FROM launches, rounds WHERE json_extract(record, '$.energy') IS NOT NULL
        OR json_extract(noise, '$.idle') IS NOT NULL";
    assert_eq!(number(&bench.open(), none), 0);
}

/// A stored run of pipe and unix-stream of which each launch made 1,000 operations in 40 ms and used `microjoules`,
/// 200 more in each later round, beside an idle machine of ten watts.
fn stored_with(microjoules: [u64; 2]) -> Bench {
    let bench = Bench::new();
    stored::store_of(&bench.store(), 1);
    let [pipe, socket] = microjoules;
    bench.edit(&format!(
        "UPDATE launches SET record = json_set(record, '$.initiator.operations', 1000,
             '$.energy.ns', 40000000, '$.energy.microjoules', 200 * round +
             (SELECT CASE levels ->> 'variant' WHEN 'pipe' THEN {pipe} ELSE {socket} END
              FROM cases WHERE cases.id = case_id));
         UPDATE rounds SET noise = json_set(noise, '$.idle',
             json('{{\"microjoules\": 1000000, \"ns\": 100000000}}'))"
    ));
    bench
}

#[test]
fn an_energy_below_zero_is_a_number_like_any_other() {
    let bench = stored_with([390_000, 399_700]);
    let document = bench.export();
    let found = energy(&document["results"][0]);
    must_fit("#/$defs/Secondary", found);
    let ends = ["low", "median", "high"].map(|name| found[name].as_f64().expect("a number"));
    assert!(ends.iter().all(|end| *end < 0.0) && ends.is_sorted(), "{found}");
    let results = bench.must("report last -v").out;
    assert!(crate::cli_support::flat(&results).contains("−9.30 µJ [−9.80, −8.80]"), "{results}");
}
