//! Limits and denials: the case is `unavailable` with the reason, and the rest of the run goes
//! on. As an unprivileged user, through setpriv and prlimit (util-linux), where they can be had.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cli_support::deny::{Denied, output_denied};
use crate::cli_support::{
    Bench, Said, can_run, flat, has, list, output, say, wait_until_startable,
};
use serde_json::Value;

/// A folder that anybody may use, with a copy of the program in it.
struct Anybody {
    bench: Bench,
    program: PathBuf,
}

impl Anybody {
    fn new() -> Anybody {
        let bench = Bench::new();
        let program = bench.path("ipcmark");
        fs::copy(env!("CARGO_BIN_EXE_ipcmark"), &program).expect("copy the program");
        fs::create_dir(bench.path("data")).expect("a folder");
        for (path, mode) in [("", 0o755), ("data", 0o777), ("ipcmark", 0o755)] {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(bench.path(path), mode).expect("chmod");
        }
        wait_until_startable(&program);
        Anybody { bench, program }
    }

    /// Runs the program's `line` after the words of `before` (setpriv, prlimit, unshare, …).
    fn run(&self, before: &[&str], line: &str) -> Said {
        output(&mut self.command(before, line))
    }

    /// The same, to be started.
    fn command(&self, before: &[&str], line: &str) -> Command {
        let script = format!("exec '{}' \"$@\"", self.program.display());
        let mut command = self.bench.behind(&[before, &["sh", "-c", &script]].concat(), line);
        let data = self.bench.path("data");
        command.env("IPCMARK_STORE", data.join("runs.sqlite"));
        command.env("HOME", &data).env("TMPDIR", &data).current_dir(data);
        command
    }
}

const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

fn as_nobody(more: &[&'static str]) -> Vec<&'static str> {
    AS_NOBODY.into_iter().chain(more.iter().copied()).collect()
}

fn may_become_nobody() -> Option<()> {
    can_run("another user", &as_nobody(&["true"]))
}

const REST: &str = "-w latency -s 64 -p same-cpu --launches 1 --samples 10 --format json";

fn is_ok(said: &Said, variant: &str) -> bool {
    results(said).iter().any(|result| result.0 == variant && result.1 == "ok")
}

/// Status and reason of each variant.
fn results(said: &Said) -> Vec<(String, String, String)> {
    let document: Value = serde_json::from_str(&said.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", said.out, said.err));
    let text = |case: &Value, key: &str| case[key].as_str().unwrap_or_default().to_string();
    let row = |case: &Value| (text(case, "variant"), text(case, "status"), text(case, "reason"));
    list(&document["results"]).iter().map(row).collect()
}

#[track_caller]
fn assert_unavailable(said: &Said, variant: &str, words: &[&str]) {
    let results = results(said);
    let (_, status, reason) =
        results.iter().find(|result| result.0 == variant).unwrap_or_else(|| panic!("{results:?}"));
    assert_eq!(status, "unavailable", "{variant}: {reason}");
    for word in words {
        assert!(reason.contains(word), "{variant}: `{word}` isn't in: {reason}");
    }
    assert_eq!(said.code, Some(5), "{}", said.err);
}

/// Every mechanism of the table works without any privilege.
#[test]
fn an_unprivileged_user_measures_every_mechanism() {
    let Some(()) = may_become_nobody() else { return };
    let anybody = Anybody::new();
    let said = anybody.run(&as_nobody(&[]), &format!("run {REST}"));
    let results = results(&said);
    assert!(results.len() > 20, "{results:?}");
    for (variant, status, reason) in &results {
        let known = status == "ok" || reason.contains("--spin-on-one-cpu");
        assert!(known, "{variant}: {status}: {reason}");
    }
    assert_eq!(said.code, Some(0), "{}", said.err);
    // System V objects lived in a namespace of the launch: none is left in this one.
    let clean = anybody.run(&as_nobody(&[]), "clean");
    assert_eq!(clean.out, "nothing was left behind\n");
}

#[test]
#[ignore = "long form"]
fn too_few_open_files_make_a_case_unavailable_and_the_run_goes_on() {
    let Some(()) = can_run("few open files", &["prlimit", "--nofile=64", "true"]) else { return };
    let anybody = Anybody::new();
    // Found by trying: as few as the run itself needs, so that a mechanism is what lacks.
    let mut seen = false;
    for files in 8..40 {
        let limit = format!("--nofile={files}:{files}");
        let said = anybody.run(&["prlimit", &limit], &format!("run pipe tcp noop {REST}"));
        if said.out.is_empty() {
            // Not even the run could begin: one line, and not a success.
            assert_eq!(said.err.lines().count(), 1, "{files}: {}", said.err);
            assert!(matches!(said.code, Some(1 | 2)), "{files}: {}", said.err);
            continue;
        }
        let results = results(&said);
        let lacking = results.iter().filter(|result| result.1 == "unavailable").count();
        if lacking > 0 {
            seen = true;
            let named = format!("limit on open files is {files}");
            let named_in = results.iter().filter(|result| result.2.contains(&named)).count();
            assert_eq!(named_in, lacking, "{files}: {results:?}");
            assert_eq!(said.code, Some(5), "{files}: {}", said.err);
        } else if seen {
            break; // from here on there are enough for all
        }
    }
    assert!(seen, "no limit made a mechanism unavailable");
}

/// Asked of the limit, not found out by waiting: each worker would yield for the other's queue until the
/// deadline of the launch.
#[test]
fn without_pending_signals_signals_are_unavailable_and_the_limit_is_named() {
    let Some(()) = can_run("no pending signals", &["prlimit", "--sigpending=0", "true"]) else {
        return;
    };
    let anybody = Anybody::new();
    let said = anybody.run(&["prlimit", "--sigpending=0:0"], &format!("run signal pipe {REST}"));
    assert_unavailable(&said, "signal", &["the limit on pending signals is 0"]);
    assert!(said.out.contains("ulimit -i"), "{}", said.out);
    assert!(is_ok(&said, "pipe"), "{}", said.out);
}

#[test]
fn too_few_processes_make_cases_unavailable_with_the_limit() {
    let Some(()) = may_become_nobody() else { return };
    let Some(()) = can_run("few processes", &["prlimit", "--nproc=64", "true"]) else { return };
    let anybody = Anybody::new();
    // The limit counts this user's processes, other tests' too: so it is a user of its own. One more
    // than there are is one below the need (a supervisor and two workers).
    const SOMEBODY: u32 = 64_123;
    let there = fs::read_dir("/proc").expect("/proc").flatten().filter(|entry| {
        use std::os::unix::fs::MetadataExt;
        entry.metadata().is_ok_and(|metadata| metadata.uid() == SOMEBODY)
    });
    let limit = format!("--nproc={}", there.count() + 2);
    let user = format!("--reuid={SOMEBODY}");
    let before = ["prlimit", &limit, "setpriv", &user, "--regid=65534", "--clear-groups"];
    let said = anybody.run(&before, &format!("run pipe {REST}"));
    assert_unavailable(&said, "pipe", &["the limit on processes is", "ulimit -u"]);
}

#[test]
fn a_queue_beyond_the_limit_is_unavailable_and_names_it() {
    let Some(()) = can_run("small queues", &["prlimit", "--msgqueue=1000:1000", "true"]) else {
        return;
    };
    let anybody = Anybody::new();
    let before = ["prlimit", "--msgqueue=1000:1000"];
    let said = anybody.run(&before, &format!("run posix-queue pipe {REST}"));
    assert_unavailable(&said, "posix-queue", &["1000 bytes in POSIX queues", "ulimit -q"]);
    assert!(is_ok(&said, "pipe"), "{}", said.out);
}

#[test]
fn without_locked_memory_only_rings_are_unavailable() {
    let Some(()) = may_become_nobody() else { return };
    let Some(()) = can_run("no locked memory", &["prlimit", "--memlock=0:0", "true"]) else {
        return;
    };
    let anybody = Anybody::new();
    let mut before = vec!["prlimit", "--memlock=0:0"];
    before.extend(as_nobody(&[]));
    let said = anybody.run(&before, &format!("run io-uring vmsplice shm-ring {REST}"));
    assert_unavailable(&said, "io-uring", &["the limit on locked memory is 0", "ulimit -l"]);
    assert_eq!(results(&said).iter().filter(|result| result.1 == "ok").count(), 3); // and a twin
}

#[test]
fn a_full_dev_shm_disturbs_nobody() {
    let full = "mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero > /dev/shm/full";
    let Some(()) = can_run("a full /dev/shm", &["unshare", "-m", "sh", "-c", full]) else { return };
    let anybody = Anybody::new();
    let program = anybody.program.display().to_string();
    let line = format!("{full}; exec {program} run shm-ring futex splice posix-sem {REST}");
    let said = {
        let inner = anybody.bench.command::<&str>([]);
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &line]).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        output(command.stdin(Stdio::null()))
    };
    assert!(results(&said).iter().all(|result| result.1 == "ok"), "{}{}", said.out, said.err);
}

/// As container engines have it.
#[test]
fn a_denied_io_uring_is_unavailable_and_the_run_goes_on() {
    let anybody = Anybody::new();
    let run = |line: &str| {
        let denied = [Denied::call(libc::SYS_io_uring_setup)];
        output_denied(&mut anybody.command(&[], line), &denied, libc::EPERM)
    };
    let Some(said) = run(&format!("run io-uring:op=send pipe {REST}")) else { return };
    assert_unavailable(&said, "io-uring:op=send", &["io_uring_setup", "seccomp"]);
    assert!(is_ok(&said, "pipe"), "{}", said.out);
    has(&run("list").expect("a filter as before").out, &["io-uring:op=send", "denied"]);
}

#[test]
fn a_queue_whose_name_stays_is_said_and_cleaned_up() {
    let anybody = Anybody::new();
    let mut run = anybody.command(&[], &format!("run posix-queue pipe {REST}"));
    let denied = [Denied::call(libc::SYS_mq_unlink)];
    let Some(said) = output_denied(&mut run, &denied, libc::EPERM) else { return };
    assert_unavailable(&said, "posix-queue", &["mq_unlink", "/dev/mqueue", "ipcmark clean"]);
    let reason = results(&said).into_iter().find(|row| row.0 == "posix-queue").expect("a row").2;
    let name = reason.split_whitespace().find_map(|word| word.strip_prefix("/ipcmark-"));
    let name = format!("ipcmark-{}", name.expect("the queue's name").trim_end_matches(':'));
    let cleaned = anybody.run(&[], "clean");
    let line = format!("removed POSIX queue /{name}");
    assert!(cleaned.out.contains(&line), "{}{}", cleaned.out, cleaned.err);
    assert!(!std::path::Path::new("/dev/mqueue").join(&name).exists(), "{name} stays");
    assert_eq!(anybody.run(&[], "clean").out, "nothing was left behind\n");
}

/// An errno alone says nothing of what is to be allowed.
#[test]
#[ignore = "long form"]
fn a_denied_call_is_named_where_the_kernel_says_only_that_it_was() {
    let prctl = Denied::call_with(libc::SYS_prctl, 0, libc::PR_SET_PDEATHSIG as u64);
    let call = Denied::call;
    let sem = [libc::SYS_semop, libc::SYS_semtimedop].map(call);
    for (variant, denied, named) in [
        ("pipe", &[prctl][..], "prctl PR_SET_PDEATHSIG: "),
        ("pipe", &[call(libc::SYS_madvise)], "madvise: "),
        ("pipe", &[call(libc::SYS_setpgid)], "allow dup2, setpgid and execve in the filter"),
        ("fifo", &[call(libc::SYS_flock)], "flock: "),
        ("signal", &[call(libc::SYS_rt_sigprocmask)], "pthread_sigmask: "),
        ("posix-queue", &[call(libc::SYS_mq_timedsend)], "mq_timedsend: "),
        ("posix-queue", &[call(libc::SYS_mq_timedreceive)], "mq_timedreceive: "),
        ("sysv-queue", &[call(libc::SYS_msgsnd)], "msgsnd: "),
        ("sysv-sem", &sem, "semop: "),
        ("vmsplice", &[call(libc::SYS_vmsplice)], "vmsplice: "),
        ("splice", &[call(libc::SYS_splice)], "splice: "),
        ("unix-seqpacket", &[call(libc::SYS_sendto)], "sendto: "),
        ("unix-seqpacket", &[call(libc::SYS_recvfrom)], "recvfrom: "),
    ] {
        let bench = Bench::new();
        let line = format!("run {variant} noop {REST}");
        let Some(said) = bench.run_denied(denied, libc::EPERM, &line) else { return };
        let results = results(&said);
        let (_, status, reason) =
            results.iter().find(|row| row.0 == variant).unwrap_or_else(|| panic!("{results:?}"));
        assert_ne!(status, "ok", "{variant}");
        assert!(reason.contains(named), "{variant}: `{named}` isn't in: {reason}");
    }
}

/// Workers and supervisors talk by calls that no mechanism's denial touches, and what can't be waited for isn't begun.
#[test]
fn a_run_whose_words_are_denied_ends_soon_with_its_reason() {
    let bench = Bench::new();
    let words = [libc::SYS_sendto, libc::SYS_recvfrom].map(Denied::call);
    let line = format!("run pipe {REST}");
    let Some(said) = bench.run_denied(&words, libc::EPERM, &line) else { return };
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert_eq!(results(&said)[0].1, "ok", "{:?}", results(&said));

    let waits = [Denied::call(libc::SYS_ppoll)];
    let said = bench.run_denied(&waits, libc::EPERM, &line).expect("a filter as before");
    assert_eq!((said.code, said.out.as_str()), (Some(5), ""), "{}", said.err);
    has(said.err.lines().last().unwrap_or_default(), &["ppoll", "not permitted"]);
}

#[test]
fn a_umask_that_takes_the_owners_rights_is_named() {
    if !rustix::process::geteuid().is_root() {
        return say("skipped a umask of 777: without root's rights not even a store is made");
    }
    let bench = Bench::new();
    let said = output(&mut bench.after("umask 777", &format!("run fifo pipe {REST}")));
    assert_unavailable(&said, "fifo", &["the umask takes rights from the owner", "umask 077"]);
}

/// What opens may carry nothing: `list` sends a message, and a run ends with 5 where all that it was asked for is denied.
#[test]
#[ignore = "long form"]
fn what_a_filter_denies_later_than_open_is_unavailable_with_its_call() {
    let bench = Bench::new();
    let cases: [(&str, &[i64], &str); 3] = [
        (
            "process-vm",
            &[libc::SYS_process_vm_readv, libc::SYS_process_vm_writev],
            "process_vm_readv",
        ),
        ("vmsplice", &[libc::SYS_vmsplice, libc::SYS_splice, libc::SYS_tee], "vmsplice"),
        ("sysv-sem", &[libc::SYS_semop, libc::SYS_semtimedop], "semop"),
    ];
    for (variant, calls, named) in cases {
        let denied: Vec<Denied> = calls.iter().map(|call| Denied::call(*call)).collect();
        for errno in [libc::EPERM, libc::ENOSYS] {
            let run = |line: &str| bench.run_denied(&denied, errno, line);
            let Some(said) = run(&format!("run {variant} pipe {REST}")) else { return };
            assert_unavailable(&said, variant, &[named, "a seccomp filter is in force", "allow "]);
            assert!(is_ok(&said, "pipe"), "{}", said.out);
            let (_, _, reason) =
                results(&said).into_iter().find(|result| result.0 == variant).expect("its result");
            assert!(!reason.contains("yama") && !reason.contains("ulimit"), "{reason}");
        }
        let said = bench.run_denied(&denied, libc::EPERM, &format!("run {variant} {REST}"));
        assert_eq!(said.expect("a filter as before").code, Some(5), "{variant}");
    }
    let denied = [Denied::call(libc::SYS_process_vm_readv), Denied::call(libc::SYS_vmsplice)];
    let listed = bench.run_denied(&denied, libc::EPERM, "list --format json").expect("as before");
    let document: Value = serde_json::from_str(&listed.out).expect("JSON");
    for row in list(&document["mechanisms"]) {
        let name = row["variant"].as_str().expect("a name");
        let denied = name == "process-vm" || name.starts_with("vmsplice");
        let cause = row["unavailable"]["cause"].as_str();
        assert_eq!(cause == Some("denied"), denied, "{row}");
    }
}

#[test]
fn a_refused_family_and_used_up_ports_are_told_as_what_they_are() {
    let bench = Bench::new();
    const INET: u64 = 2;
    let family = [Denied::call_with(libc::SYS_socket, 0, INET)];
    let line = format!("run tcp pipe {REST}");
    let Some(said) = bench.run_denied(&family, libc::EAFNOSUPPORT, &line) else { return };
    assert_unavailable(
        &said,
        "tcp",
        &["socket AF_INET", "let the filter pass this address family"],
    );
    let (range, off) = ("net/ipv4/ip_local_port_range", "net/ipv6/conf/lo/disable_ipv6");
    let network = format!("ip link set lo up && echo 60000 60001 > /proc/sys/{range}");
    let without = format!("ip link set lo up && echo 1 > /proc/sys/{off}");
    for (first, variant, words) in [
        (network, "tcp", ["60000 to 60001", "net.ipv4.ip_local_port_range"]),
        (without, "tcp:family=6", ["net.ipv6.conf.lo.disable_ipv6 is 1", "family=4"]),
        ("true".into(), "tcp", ["the loopback interface is down", "ip link set lo up"]),
    ] {
        let set_up = ["unshare", "-n", "sh", "-c", &first];
        let Some(()) = can_run("a network of its own", &set_up) else { continue };
        let script = format!("{first}; exec \"$0\" \"$@\"");
        let task = if variant == "tcp" { "connect" } else { "latency" };
        let line = format!(
            "run {variant} pipe -w {task} -p same-cpu --launches 1 --samples 10 --format json"
        );
        let said = output(&mut bench.behind(&["unshare", "-n", "sh", "-c", &script], &line));
        if first.starts_with("true") && !said.out.contains("loopback interface is down") {
            // Some kernels give a new network its loopback addresses before it is up.
            continue;
        }
        assert_unavailable(&said, variant, &words);
    }
}

#[test]
fn a_workload_whose_threads_meet_the_limit_is_unavailable() {
    let Some(()) = may_become_nobody() else { return };
    let Some(()) = can_run("few processes", &["prlimit", "--nproc=64", "true"]) else { return };
    let anybody = Anybody::new();
    const SOMEBODY: u32 = 64_124; // counted by user: its own alone
    let user = format!("--reuid={SOMEBODY}");
    let before = ["prlimit", "--nproc=12:12", "setpriv", &user, "--regid=65534", "--clear-groups"];
    let rest = "-s 64 -p free --launches 1 --no-wait --format json";
    for line in [
        format!("run unix-stream -w messaging --connections 60 {rest}"),
        format!(
            "run unix-stream -w rate --rate 1k --server threads --connections 60 --duration 50ms {rest}"
        ),
    ] {
        let said = anybody.run(&before, &line);
        assert_unavailable(&said, "unix-stream", &["the limit on processes is 12", "ulimit -u"]);
    }
    let line = "choose unix-stream --size 64 --rate 1k --bound p99:10ms --server threads --connections 60 --launches 1 \
                --no-wait";
    let said = anybody.run(&before, line).ends(5);
    has(&flat(&said.out), &["the limit on processes is 12; raise it: ulimit -u"]);
}

/// Asked before anything is allocated: neither an abort by the allocator nor the kernel's choice of a process to kill.
#[test]
fn messages_that_no_memory_holds_are_unavailable_with_the_limit() {
    let Some(()) = can_run("little address space", &["prlimit", "--as=1073741824", "true"]) else {
        return;
    };
    let bench = Bench::new();
    let limits = ["prlimit", "--as=1073741824:1073741824"];
    let line = "run pipe shm-ring -w throughput -s 1G -p free --launches 1 --no-wait --format json";
    let said = output(&mut bench.behind(&limits, line));
    for variant in ["pipe", "shm-ring"] {
        assert_unavailable(&said, variant, &["address space", "ulimit -v"]);
    }
    // More than any machine has.
    let line = "run unix-stream pipe -w rate --rate 1k -s 1G --connections 4096 -p free --launches 1 \
                --no-wait --format json";
    let said = output(&mut bench.after("ulimit -n $(ulimit -H -n)", line));
    if results(&said).iter().all(|result| result.2.contains("limit on open files")) {
        crate::cli_support::say("skipped the memory of 4,096 connections: too few open files");
        return;
    }
    assert_unavailable(&said, "unix-stream", &["4096 connections of 1 GiB", "leaves"]);
}

#[test]
fn what_the_run_itself_needs_is_named_where_it_is_denied() {
    let bench = Bench::new();
    let denied = [Denied::call(libc::SYS_socketpair)];
    let Some(said) = bench.run_denied(&denied, libc::EPERM, &format!("run pipe {REST}")) else {
        return;
    };
    said.fails(5, &["socketpair(2): Operation not permitted", "a filter (seccomp)"]);
}

/// Libraries panic where these fail.
#[test]
fn a_denied_call_that_nobody_foresees_is_named_and_no_panic() {
    let bench = Bench::new();
    for (number, name) in [
        (libc::SYS_prlimit64, "prlimit64(2)"),
        (libc::SYS_sysinfo, "sysinfo(2)"),
        (libc::SYS_clock_nanosleep, "clock_nanosleep(2)"),
        (libc::SYS_sched_yield, "sched_yield(2)"),
        (libc::SYS_getppid, "getppid(2)"),
        (libc::SYS_gettid, "gettid(2)"),
        (libc::SYS_fcntl, "take over signals: fcntl: "),
    ] {
        for errno in [libc::EPERM, libc::ENOSYS] {
            let denied = [Denied::call(number)];
            let Some(said) = bench.run_denied(&denied, errno, &format!("run pipe {REST}")) else {
                return;
            };
            said.fails(5, &[name, "seccomp"]);
        }
    }
}

#[test]
fn a_small_stack_and_few_files_are_named_in_one_line() {
    let Some(()) = can_run("a small stack", &["prlimit", "--stack=131072:131072", "true"]) else {
        return;
    };
    let bench = Bench::new();
    for (limit, code, words) in [
        ("--stack=131072:131072", Some(1), "the limit on the stack is 128 KiB"),
        ("--nofile=3:3", Some(5), "open files"),
    ] {
        let said = output(&mut bench.behind(&["prlimit", limit], &format!("run pipe {REST}")));
        let last = said.err.lines().last().unwrap_or_default();
        assert!(last.contains(words) && last.contains("ulimit"), "{limit}: {}", said.err);
        assert!(!said.err.contains("mount sysfs"), "{limit}: {}", said.err);
        assert_eq!(said.code, code, "{limit}: {}", said.err);
    }
    // What the user may raise is raised.
    let soft = ["prlimit", "--stack=131072:"];
    output(&mut bench.behind(&soft, &format!("run pipe {REST}"))).ends(0);
}

/// As on network file systems without a lock daemon: SQLite takes it for another program's lock.
#[test]
#[ignore = "long form"]
fn a_store_without_locks_is_told_to_be_elsewhere() {
    let bench = Bench::new();
    let denied = [Denied::call_with(libc::SYS_fcntl, 1, libc::F_SETLK as u64)];
    for errno in [libc::ENOLCK, libc::ENOSYS, libc::EOPNOTSUPP] {
        let Some(said) = bench.run_denied(&denied, errno, &format!("run pipe {REST}")) else {
            return;
        };
        let words = ["this file system has no locks", "choose a local place with --store FILE"];
        said.fails(2, &words);
    }
}
