//! Who may make, read and go on with what: many that make one store, readers that may write nothing, folders
//! that belong to others, and runs that several would take up.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::cli_support::stored::{self, store_of};
use crate::cli_support::{Bench, can_run, has, number, output, rows, say, send, wait_for};
use crate::common::proc::Process;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rustix::process::Signal;
use store::{RunStatus, Store};

/// Against hangs.
const SOON: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// What is in a folder, byte by byte.
fn inventory(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let names = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    names
        .filter(|name| name.is_file())
        .map(|name| (name.clone(), fs::read(name).unwrap()))
        .collect()
}

/// This test program as a child that does what [`as_a_child`] does in that role.
fn child(role: &str, store: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "store_access::as_a_child", "--nocapture"]);
    command.env("STORE_ACCESS_ROLE", role).env("STORE_ACCESS_STORE", store);
    command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null());
    command
}

#[test]
fn as_a_child() {
    let (Ok(role), Some(store)) =
        (std::env::var("STORE_ACCESS_ROLE"), std::env::var_os("STORE_ACCESS_STORE"))
    else {
        return;
    };
    let store = PathBuf::from(store);
    let confirmed = store.with_extension("confirmed");
    match role.as_str() {
        "first" => {
            // All begin at once.
            wait_for("the word to go", SOON, || store.with_extension("go").exists().then_some(()));
            let mut store = Store::open(&store).expect("a store");
            let (run, cases) = stored::begin(&mut store).expect("a run");
            stored::round(&mut store, run, &cases, 1).expect("a round");
            stored::end(&mut store, run).expect("its end");
        }
        "create" => loop {
            let mut store = Store::open(&store).expect("a store");
            let (run, cases) = stored::begin(&mut store).expect("a run");
            for nth in 1..=3 {
                stored::round(&mut store, run, &cases, nth).expect("a round");
            }
            stored::end(&mut store, run).expect("its end");
            // Only what was confirmed must be kept.
            fs::write(confirmed.join(format!("{run}")), "").expect("a name");
        },
        "read" => loop {
            let Ok(store) = Store::open_existing(&store) else { continue };
            for run in store.run_ids().expect("runs") {
                store.run(run).expect("a run");
            }
        },
        _ => loop {
            let Ok(mut store) = Store::reopen(&store) else { continue };
            for run in store.run_ids().expect("runs") {
                // A run that was killed before it stored its plan left nothing to resume.
                let goes_on = |store: &Store| {
                    let found = store.run(run).expect("a run");
                    found.status == RunStatus::Running && !found.groups.is_empty()
                };
                if goes_on(&store) && store.claim(run).is_ok() && goes_on(&store) {
                    take_up(&mut store, run, &confirmed);
                }
            }
        },
    }
}

/// Ends a run that is claimed; another process that claims it meanwhile finds the name of a live one.
fn take_up(store: &mut Store, run: i64, confirmed: &Path) {
    let holder = confirmed.join(format!("holder-{run}"));
    if let Ok(text) = fs::read_to_string(&holder)
        && let Ok(pid) = text.parse()
        && Process::living(pid).is_some()
    {
        fs::write(
            confirmed.join("twice"),
            format!("run {run} by {pid} and {}", std::process::id()),
        )
        .unwrap();
    }
    fs::write(&holder, std::process::id().to_string()).unwrap();
    store.resume_run(run).expect("a run to go on with");
    std::thread::sleep(Duration::from_millis(3));
    // Its name goes before its claim does.
    fs::remove_file(&holder).unwrap();
    stored::end(store, run).expect("its end");
    fs::write(confirmed.join(format!("{run}")), "").unwrap();
}

#[test]
fn sixty_that_make_one_store_at_once_all_have_it() {
    let bench = Bench::new();
    let children: Vec<_> =
        (0..60).map(|_| child("first", &bench.store()).spawn().expect("a child")).collect();
    bench.put("runs.go", "");
    let failed = children
        .into_iter()
        .filter_map(|mut child| child.wait().unwrap().code())
        .filter(|code| *code != 0);
    assert_eq!(failed.count(), 0);
    assert_eq!(rows(&bench.open(), "SELECT count(*), count(DISTINCT pid) FROM runs"), ["60|60"]);
    let said = bench.must("runs --check");
    assert_eq!(said.out, "whole: 60 runs, 120 launches\n");
}

/// Makers, readers and those who take up what was left, killed at drawn moments.
#[test]
fn nothing_finished_is_lost_and_no_run_is_taken_up_by_two() {
    let bench = Bench::new();
    let (store, confirmed) = (bench.store(), bench.path("runs.confirmed"));
    fs::create_dir(&confirmed).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let roles = ["create", "read", "resume", "create", "resume", "resume"];
    let mut living: Vec<_> =
        roles.iter().map(|role| child(role, &store).spawn().unwrap()).collect();
    let finished = || fs::read_dir(&confirmed).unwrap().count();
    let (mut killed, mut died) = (0, 0);
    for round in 0..60 {
        // As soon as somebody has done something, or at a drawn moment.
        let (before, began) = (finished(), std::time::Instant::now());
        let moment = Duration::from_millis(rng.random_range(0..60));
        while finished() == before && began.elapsed() < moment {
            std::thread::sleep(Duration::from_millis(1));
        }
        let nth = rng.random_range(0..living.len());
        // A process that ended by itself met something that it didn't expect.
        died += usize::from(living[nth].try_wait().unwrap().is_some());
        let _ = living[nth].kill();
        living[nth].wait().unwrap();
        killed += 1;
        living[nth] = child(roles[(nth + round) % roles.len()], &store).spawn().unwrap();
    }
    wait_for("a finished run", SOON, || (finished() > 0).then_some(()));
    for mut child in living {
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert_eq!(died, 0, "some ended by themselves");
    assert!(!confirmed.join("twice").exists(), "{:?}", fs::read_to_string(confirmed.join("twice")));
    let done: Vec<String> = fs::read_dir(&confirmed)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.parse::<i64>().is_ok())
        .collect();
    let kept = format!(
        "SELECT count(*) FROM runs WHERE status = 'complete' AND id IN ({})",
        done.join(", ")
    );
    assert_eq!(number(&bench.open(), &kept), done.len() as i64);
    let said = bench.must("runs --check");
    say(&format!(
        "{killed} were killed, {} runs were confirmed as finished; {}",
        done.len(),
        said.out.trim()
    ));
}

#[test]
fn a_store_of_another_is_read_and_left_as_it_was() {
    if !is_root() {
        return say("skipped: only root has other users to read as");
    }
    let bench = Bench::new();
    let folder = bench.path("theirs");
    fs::create_dir(&folder).unwrap();
    let store = folder.join("runs.sqlite");
    store_of(&store, 1);
    set_mode(&bench.path(""), 0o755);
    set_mode(&folder, 0o755);
    let as_nobody =
        |line: &str| output(bench.line(line).env("IPCMARK_STORE", &store).uid(NOBODY).gid(NOBODY));
    // Whoever may not enter the folders above it can't even start it.
    let tried = bench.command(["--version"]).uid(NOBODY).gid(NOBODY).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return say("skipped: the program lies where others may not run it");
    }
    // Also where what SQLite keeps beside a store could be laid there: its owner couldn't write that.
    for open in [0o755, 0o1777] {
        set_mode(&folder, open);
        let before = inventory(&folder);
        for line in
            ["runs", "report", "export", "export --format hgrm", "compare 1 1", "runs --check"]
        {
            as_nobody(line).ends(0);
        }
        assert_eq!(inventory(&folder), before, "a reader wrote something");
    }
    as_nobody("run noop --launches 1 -q").fails(2, &["runs.sqlite", "--store FILE"]);

    // While its owner writes, what is stored is read, wherever it lies.
    let mut owner = Store::open(&store).unwrap();
    stored::begin(&mut owner).unwrap();
    has(&as_nobody("runs").out, &["running"]);
    // A copy without what its readers share can't be read whole, and says so.
    let copy = bench.path("copy");
    fs::create_dir(&copy).unwrap();
    for end in ["", "-wal"] {
        fs::copy(folder.join(format!("runs.sqlite{end}")), copy.join(format!("c.sqlite{end}")))
            .unwrap();
        set_mode(&copy.join(format!("c.sqlite{end}")), 0o644);
    }
    set_mode(&copy, 0o755);
    as_nobody(&format!("runs --store {}", copy.join("c.sqlite").display()))
        .fails(2, &["c.sqlite-wal", "--store FILE"]);
}

#[test]
fn a_store_on_a_disk_that_is_read_only_is_read() {
    let bench = Bench::new();
    let disk = bench.path("disk");
    fs::create_dir(&disk).unwrap();
    store_of(&disk.join("runs.sqlite"), 2);
    let mounted = |line: &str| {
        let script = format!(
            "mount --bind {0} {0} && mount -o remount,ro,bind {0} || exit 77; exec \"$0\" \"$@\"",
            disk.display()
        );
        let mut command = bench.behind(&["unshare", "-m", "sh", "-c", &script], line);
        output(command.env("IPCMARK_STORE", disk.join("runs.sqlite")))
    };
    let said = mounted("runs");
    if said.code == Some(77) || said.err.contains("unshare:") {
        return say(&format!("skipped: nothing can be mounted here: {}", said.err.trim()));
    }
    for line in ["runs", "report 1", "export newest", "runs --check"] {
        mounted(line).ends(0);
    }
    mounted("run noop --launches 1 -q").fails(2, &["runs.sqlite", "--store FILE"]);
    // As a kill leaves it: with what isn't in the file yet.
    let mut store = Store::open(&disk.join("runs.sqlite")).unwrap();
    stored::begin(&mut store).unwrap();
    has(&mounted("runs").ends(0).out, &["running"]);
}

#[test]
fn what_is_made_is_for_its_user_whatever_the_umask_says() {
    let bench = Bench::new();
    let line = "run noop -w latency -p same-cpu --launches 1 --samples 9 -q";
    let mut command = bench.after("umask 000", line);
    fs::create_dir(bench.path("home")).unwrap();
    output(command.env("HOME", bench.path("home")).env_remove("IPCMARK_STORE")).ends(0);
    let made = bench.path("home/.local/share/ipcmark");
    for folder in [".local", ".local/share", ".local/share/ipcmark"] {
        assert_eq!(mode(&bench.path("home").join(folder)), 0o700, "{folder}");
    }
    assert_eq!(fs::read_dir(&made).unwrap().count(), 2);
    for name in ["runs.sqlite", "runs.sqlite-claims"] {
        assert_eq!(mode(&made.join(name)), 0o644, "{name}");
    }
}

#[test]
fn without_a_home_of_its_own_nothing_is_stored() {
    let bench = Bench::new();
    let at = |home: &Path, line: &str| {
        output(bench.line(line).env_remove("IPCMARK_STORE").env("HOME", home))
    };
    let run = "run noop --launches 1 --samples 9 -q";
    let tmp = Path::new("/tmp/.local");
    let before = tmp.exists();
    for line in [run, "runs", "report", "export", "run --resume -q", "fleet --resume"] {
        at(Path::new(""), line).fails(2, &["HOME is not set", "--store FILE", "IPCMARK_STORE"]);
    }
    assert_eq!(tmp.exists(), before);
    at(Path::new("rel"), run).fails(2, &["HOME is not set to an absolute path", "--store FILE"]);
    assert!(!bench.path("rel").exists());
    // A folder that all may write is nobody's.
    let shared = bench.path("shared");
    fs::create_dir(&shared).unwrap();
    set_mode(&shared, 0o1777);
    at(&shared, run).fails(2, &["everybody may write into", "--store FILE"]);
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
    if !is_root() {
        return say("skipped: only root can lay something there as a stranger");
    }
    // What a stranger made there is the stranger's.
    let theirs = shared.join(".local/share/ipcmark");
    fs::create_dir_all(&theirs).unwrap();
    for folder in theirs.ancestors().take(3) {
        chown(folder, Some(1234), Some(1234)).unwrap();
    }
    for line in [run, "runs"] {
        at(&shared, line).fails(2, &["belongs to user 1234", "--store FILE"]);
    }
    // Nor is a stranger's link followed there, not even where it was named.
    let valued = bench.path("valued");
    symlink(&valued, shared.join("x.sqlite")).unwrap();
    lchown(shared.join("x.sqlite"), Some(1234), Some(1234)).unwrap();
    let named = format!("{run} --store {}", shared.join("x.sqlite").display());
    bench.run(&named).fails(2, &["symbolic link of user 1234", "--store FILE"]);
    assert!(!valued.exists());
    // One's own is.
    symlink(bench.path("elsewhere.sqlite"), bench.path("own.sqlite")).unwrap();
    bench.must(&format!("{run} --store own.sqlite"));
    for name in ["elsewhere.sqlite", "elsewhere.sqlite-claims"] {
        assert!(bench.path(name).exists(), "{name}");
    }
}

/// A run of this bench, by a program that is called otherwise.
fn called(bench: &Bench, name: &str, line: &str) -> Command {
    let path = bench.path(name);
    if !path.exists() {
        symlink(env!("CARGO_BIN_EXE_ipcmark"), &path).unwrap();
    }
    let script = format!("exec '{}' \"$@\"", path.display());
    bench.behind(&["sh", "-c", &script], line)
}

const ENDLESS: &str = "run pipe -w latency -s 64 -p same-cpu --launches 9000 --samples 100";

fn wait_for_launches(bench: &Bench, more_than: i64) {
    bench.wait_until(&format!("SELECT count(*) > {more_than} FROM launches"));
}

#[test]
fn of_many_that_resume_a_run_one_goes_on_and_the_others_say_who() {
    let bench = Bench::new();
    let running = bench.begin_with(called(&bench, "first-name", ENDLESS));
    wait_for_launches(&bench, 2);
    // Its name is another than that of the process that asks.
    assert!(bench.must("runs").out.contains("running"));
    let by = format!("run 1 is being measured by process {}", running.pid());
    bench.run("run --resume").fails(2, &[&by]);
    running.signal(Signal::KILL);
    running.finish(SOON);
    bench.wait_for_silence(SOON);
    assert!(bench.must("runs").out.contains("killed"));

    let stored = number(&bench.open(), "SELECT count(*) FROM launches");
    let names = ["a", "b", "c", "d", "e"];
    let mut those: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = called(&bench, name, "run --resume");
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    wait_for("all but one to end", SOON, || {
        let ended = those.iter_mut().filter_map(|child| child.try_wait().unwrap()).count();
        (ended == names.len() - 1).then_some(())
    });
    let nth = those.iter_mut().position(|child| child.try_wait().unwrap().is_none()).unwrap();
    let mut winner = those.remove(nth);
    for loser in those {
        let said = loser.wait_with_output().unwrap();
        let err = String::from_utf8(said.stderr).unwrap();
        assert_eq!((said.status.code(), err.lines().count()), (Some(2), 1), "{err}");
        assert!(err.contains(&format!("being measured by process {}:", winner.id())), "{err}");
    }
    wait_for_launches(&bench, stored);
    send(winner.id() as i32, Signal::TERM);
    assert_eq!(winner.wait().unwrap().code(), Some(128 + 15));
    assert!(bench.must("runs").out.contains("interrupted"));
}

#[test]
fn a_claim_ends_with_its_holder_not_with_what_it_started() {
    let bench = Bench::new();
    let running = bench.begin(ENDLESS);
    wait_for_launches(&bench, 2);
    let holds = |pid: i32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|target| target.ends_with("runs.sqlite-claims"))
    };
    assert!(holds(running.pid()));
    // Supervisors and workers come and go: of those seen none has it open.
    let mut seen = 0;
    wait_for("fifty looks at its children", SOON, || {
        for (pid, process) in bench.processes() {
            let begun = fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|text| text.ends_with(b"launch\0"));
            if pid != running.pid() && begun {
                assert!(!holds(pid), "{pid}, child of {}, holds the claim", process.parent);
                seen += 1;
            }
        }
        (seen >= 50).then_some(())
    });
    // Though a child lives on, the run counts as killed at once.
    running.signal(Signal::KILL);
    running.finish(SOON);
    assert!(bench.must("runs").out.contains("killed"));
    bench.wait_for_silence(SOON);
}

#[test]
fn a_run_in_another_pid_namespace_is_not_taken_up() {
    let bench = Bench::new();
    let apart = ["unshare", "--kill-child", "-p", "-f", "--mount-proc"];
    let Some(()) = can_run("PID namespaces", &[&apart[..], &["true"]].concat()) else { return };
    let running = bench.begin_with(bench.behind(&apart, ENDLESS));
    wait_for_launches(&bench, 2);
    assert!(bench.must("runs").out.contains("running"));
    let resumed = bench.run("run --resume");
    resumed.fails(2, &["being measured by process 1 of another PID namespace"]);
    // Nor from there what is measured here.
    running.signal(Signal::KILL);
    running.finish(SOON);
    bench.wait_for_silence(SOON);
    let running = bench.begin("run --resume");
    wait_for("its claim", SOON, || bench.must("runs").out.contains("running").then_some(()));
    let resumed = output(&mut bench.behind(&apart, "run --resume"));
    resumed.fails(2, &["being measured by process", "of another PID namespace"]);
    running.signal(Signal::TERM);
    assert_eq!(running.finish(SOON).code, Some(128 + 15));
}

#[test]
fn only_a_regular_file_is_a_store() {
    let bench = Bench::new();
    let made = Command::new("mkfifo").arg(bench.path("fifo")).status();
    assert!(made.expect("run mkfifo").success());
    fs::create_dir(bench.path("folder")).unwrap();
    std::os::unix::fs::symlink("/dev/null", bench.path("link")).unwrap();
    let before = fs::read_dir(bench.path("")).unwrap().count();
    for store in ["fifo", "folder", "link", "/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem"]
    {
        for line in [
            "run null --launches 1 --samples 9 -q",
            "run --resume",
            "fleet --resume",
            "fleet --simulate 2",
            "runs",
            "runs --check",
            "report",
            "export",
            "compare 1 2",
        ] {
            let said = bench.run(&format!("{line} --store {store}"));
            said.fails(2, &[store, "a store is a regular file", "--store FILE"]);
        }
        for end in ["-wal", "-shm", "-journal", "-claims"] {
            assert!(!Path::new(&format!("{store}{end}")).exists(), "{store}{end}");
        }
    }
    assert_eq!(fs::read_dir(bench.path("")).unwrap().count(), before);
}

/// To stat(2) a device has no bytes, as a new store has.
#[test]
fn a_disk_is_not_overwritten() {
    let bench = Bench::new();
    let disk = bench.put("disk", "DISK".repeat(1 << 18));
    let made = Command::new("losetup").args(["--find", "--show"]).arg(&disk).output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        return say("skipped a disk as store: losetup makes none here");
    };
    let device = String::from_utf8(made.stdout).unwrap().trim().to_string();
    let said = bench.run(&format!("run null --launches 1 --samples 9 -q --store {device}"));
    let made: Vec<bool> = ["-wal", "-shm", "-journal", "-claims"]
        .map(|end| fs::remove_file(format!("{device}{end}")).is_ok())
        .to_vec();
    let start = fs::read(&device).unwrap()[..4].to_vec();
    assert!(Command::new("losetup").args(["-d", &device]).status().unwrap().success());
    said.fails(2, &[&device, "is a device"]);
    assert_eq!((start.as_slice(), made.contains(&true)), (&b"DISK"[..], false));
}
