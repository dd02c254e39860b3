//! A disk that fills up, and memory that runs out, in the middle of a run: what was finished is
//! in the store, which opens, and nothing of ours remains.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli_support::{Bench, Said, number, output, rows, say};

const GONE: Duration = Duration::from_secs(30);

/// The program's `line` after `before`, a script that ends by running `"$@"`.
fn after(bench: &Bench, wrapper: &[&str], before: &str, line: &str) -> Said {
    let script = format!("{before}\nexec \"$@\"");
    output(&mut bench.behind(&[wrapper, &["sh", "-c", &script, "sh"]].concat(), line))
}

#[test]
#[ignore = "long form"]
fn a_disk_that_fills_up_costs_nothing_that_was_stored() {
    let bench = Bench::new();
    let disk = bench.path("disk");
    fs::create_dir(&disk).expect("a folder");
    let kept = bench.path("kept.sqlite");
    // The disk vanishes with its namespace: what is on it is copied out first.
    let script = format!(
        "mount -t tmpfs -o size=2m tmpfs {disk} || exit 77
         IPCMARK_STORE={disk}/runs.sqlite \"$@\"; code=$?
         cp {disk}/runs.sqlite {kept}; cp {disk}/runs.sqlite-wal {kept}-wal 2>/dev/null
         exit $code",
        disk = disk.display(),
        kept = kept.display()
    );
    let line = "run pipe -w latency -s 64 -p same-cpu --launches 9000 --samples 20000";
    let said = after(&bench, &["unshare", "-m"], &script, line);
    if said.code == Some(77) || said.err.contains("unshare:") {
        say(&format!("skipped: no small disk to be had: {}", said.err.trim()));
        return;
    }
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    let last = said.err.lines().last().unwrap_or_default();
    assert!(last.starts_with("ipcmark: ") && last.contains("free space on that disk"), "{last}");
    bench.wait_for_silence(GONE);
    let db = rusqlite::Connection::open(&kept).expect("the store opens");
    assert_eq!(rows(&db, "PRAGMA integrity_check"), ["ok"]);
    let launches = number(&db, "SELECT count(*) FROM launches WHERE round > 0");
    assert!(launches > 0, "nothing was stored before the disk was full");
    let whole = "SELECT count(*) FROM launches WHERE round > 0
         AND (SELECT sum(count) FROM samples WHERE launch = launches.id) = 20000";
    assert_eq!(number(&db, whole), launches, "a launch without all of its samples");
}

/// A control group of memory that this test may make, whichever version; None, said aloud.
fn small_group() -> Option<(PathBuf, &'static str)> {
    let name = format!("ipcmark-test-{}", std::process::id());
    let made = |folder: &Path, limit: &'static str| {
        let group = folder.join(&name);
        fs::create_dir(&group).ok()?;
        if fs::write(group.join(limit), "50331648").is_ok() {
            let _ = fs::write(group.join("memory.swap.max"), "0");
            let _ = fs::write(group.join("memory.memsw.limit_in_bytes"), "50331648");
            return Some((group, limit));
        }
        let _ = fs::remove_dir(&group);
        None
    };
    let found = made(Path::new("/sys/fs/cgroup/memory"), "memory.limit_in_bytes")
        .or_else(|| made(Path::new("/sys/fs/cgroup"), "memory.max"))
        .or_else(|| made(Path::new("/sys/fs/cgroup/unified"), "memory.max"));
    if found.is_none() {
        say("skipped: no control group with a limit on memory can be made here");
    }
    found
}

#[test]
fn a_launch_killed_for_memory_is_a_row_and_the_run_goes_on() {
    let Some((group, _)) = small_group() else { return };
    let bench = Bench::new();
    let join = format!("echo $$ > {}/cgroup.procs || exit 77", group.display());
    // The page for the samples alone is larger than the group.
    let line = "run noop -w latency -p same-cpu --launches 2 --samples 10000000";
    let said = after(&bench, &["env"], &join, line);
    bench.wait_for_silence(GONE);
    let _ = fs::remove_dir(&group);
    if said.code == Some(77) {
        say(&format!("skipped: {}", said.err.trim()));
        return;
    }
    let db = bench.open();
    let reasons = rows(&db, "SELECT reason FROM launches WHERE status = 'failed'");
    match said.code {
        // The kernel chose a worker or a supervisor: rows say so.
        Some(_) => {
            let named =
                |text: &String| text.contains("signal 9") || text.contains("without a word");
            assert!(!reasons.is_empty() && reasons.iter().all(named), "{reasons:?} {}", said.err);
        }
        // It chose the coordinator: the store still opens, and nothing remains.
        None => say(&format!("the coordinator itself was killed: {:?}", said.status)),
    }
}
