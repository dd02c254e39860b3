//! `ipcmark fleet` inside a real Slurm: a controller and three nodes on this machine, each in
//! namespaces of its own (tests/alone/hosts/slurm.sh), with a slow line that the report must find, and a node that
//! is cut off and killed in the middle. Skipped, aloud, without root or Debian's packages.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cli_support::{Bench, flat, has, number, output, rows, say, wait_for};
use crate::long_form::is_long;
use rustix::process::Signal;

const PATIENCE: Duration = Duration::from_secs(60);
const NEEDED: [&str; 8] =
    ["slurmctld", "slurmd", "salloc", "srun", "munged", "unshare", "nsenter", "ip"];

/// Three nodes and their controller; every process of it is ended when this is dropped.
struct Slurm {
    folder: PathBuf,
}

impl Slurm {
    /// None, said aloud, where it can't be had.
    fn up(bench: &Bench) -> Option<Slurm> {
        if !rustix::process::geteuid().is_root() {
            say("skipped: a Slurm of namespaces needs root");
            return None;
        }
        let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
        let there =
            |name: &str| folders.iter().any(|folder| PathBuf::from(folder).join(name).exists());
        if let Some(missing) = NEEDED.into_iter().find(|text| !there(text)) {
            say(&format!("skipped: no {missing} here (slurmctld, slurmd, slurm-client, munge)"));
            return None;
        }
        let slurm = Slurm { folder: bench.path("slurm") };
        let said = output(&mut slurm.script(&["up"]));
        if said.code != Some(0) {
            say(&format!("skipped: Slurm didn't come up here: {}", said.err.trim()));
            return None;
        }
        Some(slurm)
    }

    /// `slurm.sh WHAT FOLDER …`.
    fn script(&self, words: &[&str]) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/alone/hosts/slurm.sh");
        let mut command = Command::new("sh");
        command.arg(script).arg(words[0]).arg(&self.folder).args(&words[1..]).stdin(Stdio::null());
        command
    }

    /// `ipcmark …` inside an allocation of all nodes that outlives the loss of one.
    fn fleet(&self, bench: &Bench, line: &str) -> Command {
        let plain = bench.line(line);
        let mut command = self.script(&["in", "salloc", "-Q", "--no-kill", "-N3"]);
        command.arg(plain.get_program()).args(plain.get_args());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(bench.path("slurm"));
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = self.script(&["down"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

#[test]
fn inside_slurm_a_slow_line_is_found_and_a_dead_node_is_a_row() {
    if !is_long() {
        return say("skipped: three nodes of Slurm take a while, and are of the long form");
    }
    let bench = Bench::new();
    let Some(slurm) = Slurm::up(&bench) else { return };

    // A slow line at n3: both of its pairs are slow, and it is named.
    let said = output(&mut slurm.script(&["slow", "n3", "200mbit"]));
    if said.code == Some(0) {
        let line = "fleet tcp pipe -w throughput --rounds 9 --no-floors --settle 5ms --label slow";
        let said = output(&mut slurm.fleet(&bench, line)).ends(0);
        let text = flat(&said.out);
        assert!(text.contains("one pair at a time: n3 is slower"), "{}", said.out);
        for pair in ["n1 and n3", "n2 and n3"] {
            assert!(text.contains(&format!("{pair} are slower")), "{pair}: {}", said.out);
        }
        let db = bench.open();
        let ok = "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id
             WHERE status = 'ok' AND round > 0 AND far IS";
        assert_eq!(number(&db, &format!("{ok} NOT NULL")), 27);
        assert_eq!(number(&db, &format!("{ok} NULL")), 27);
    } else {
        say(&format!("skipped the slow line: {}", said.err.trim()));
    }

    // A node that is cut off and killed: a row with its reason, and the others go on.
    let line =
        "fleet tcp -w latency --samples 20 --rounds 9000 --no-floors --settle 5ms --label cut";
    let running = bench.begin_with(slurm.fleet(&bench, line));
    let ok = |filter: &str| {
        let sql = format!(
            "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id JOIN runs ON run = runs.id
             WHERE label = 'cut' AND launches.status = 'ok' AND round > 0 AND {filter}"
        );
        number(&bench.open(), &sql)
    };
    wait_for("launches of every pair", PATIENCE, || {
        (ok("near = 1") > 2 && ok("far = 2") > 2).then_some(())
    });
    assert_eq!(output(&mut slurm.script(&["cut", "n2"])).code, Some(0));
    wait_for("n2 to be given up", PATIENCE, || {
        let sql = "SELECT count(*) FROM nodes JOIN runs ON run = runs.id
             WHERE label = 'cut' AND name = 'n2' AND reason IS NOT NULL";
        (number(&bench.open(), sql) == 1).then_some(())
    });
    let before = ok("near = 0 AND far = 2");
    wait_for("the others to go on", PATIENCE, || {
        (ok("near = 0 AND far = 2") > before + 2).then_some(())
    });
    let coordinator = bench.processes().into_iter().find(|(pid, _)| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = words.split(|word| *word == 0);
        words.next().is_some_and(|word| word.ends_with(b"ipcmark"))
            && words.next() == Some(b"fleet")
    });
    crate::cli_support::send(coordinator.expect("the coordinator").0, Signal::TERM);
    let said = running.finish(PATIENCE);
    assert!(said.err.contains("fleet --resume"), "{}", said.err);
    has(&flat(&said.out), &["1 of 3 nodes took no part, or not to the end: • n2:"]);
    // Of a pair with it either side may be the one that says so.
    let failed = "SELECT launches.reason FROM launches JOIN cases ON case_id = cases.id
         WHERE launches.status = 'failed' AND near IS NOT 1 AND far IS NOT 1";
    assert_eq!(rows(&bench.open(), failed), [""; 0], "only its own launches failed");
}
