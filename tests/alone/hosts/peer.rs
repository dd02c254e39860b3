//! Runs between two hosts. Most tests reach the "other host" by `env`, which runs the rest of its
//! arguments right here: two processes over loopback, and everything else as it is between machines.
//! `peer_hosts` beside it does the same between real network stacks and over a real sshd.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::planted;
use crate::cli_support::{
    Bench, Running, assert_all_ok, has, list, must_fit_the_schema, number, output, results, rows,
    send, wait_for,
};
use crate::common::proc::Process;
use rustix::process::Signal;
use serde_json::Value;

/// Against hangs: the machine may pause for seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ports of sockets that wait for someone, by `/proc/net/NAME`, which keeps addresses in hex.
fn waiting(name: &str, state: &str) -> BTreeSet<u16> {
    let table = std::fs::read_to_string(format!("/proc/net/{name}")).expect("/proc/net");
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row[3] == state)
        .filter_map(|row| u16::from_str_radix(row[1].rsplit(':').next()?, 16).ok())
        .collect()
}

fn listening() -> BTreeSet<u16> {
    waiting("tcp", "0A")
}

// ---- what can be measured --------------------------------------------------------------------

#[test]
#[ignore = "long form"]
fn every_workload_over_both_protocols_and_families() {
    let bench = Bench::new();
    bench.must(
        "run tcp udp tcp:family=6 udp:family=6 -w latency,throughput,connect -s 64 --peer env \
         --launches 2 --samples 20 --total 64K",
    );
    let run = bench.export();
    must_fit_the_schema(&run);
    // With a twin of the first latency.
    assert_all_ok(&run, 13);
    let peer = &run["peer"];
    assert_eq!((&peer["command"][0], &peer["one_kernel"]), (&"env".into(), &true.into()));
    assert_eq!((&peer["ipv4"], &peer["ipv6"]), (&"127.0.0.1".into(), &"::1".into()));
    assert_eq!(peer["host"]["boot_id"], run["host"]["boot_id"]);
    assert!(!list(&peer["host"]["findings"]).is_empty());
    assert!(peer["clock"]["cost_ns"].is_number());
    let db = bench.open();
    let query = "SELECT count(*) FROM launches WHERE json_extract(record, '$.far.noise.forks') >= 0
         AND json_extract(record, '$.far.setup_ns') > 0";
    assert_eq!(number(&db, query), 13 * 3);
    // Both workers' time, the far one's too.
    let worked =
        "SELECT count(*) FROM launches WHERE json_extract(record, '$.responder.usage.user_ns')
         + json_extract(record, '$.responder.usage.system_ns') > 0";
    assert!(number(&db, worked) > 0);
    assert!(bench.processes().is_empty());
    has(&bench.must("report last").out, &["one network stack"]);
}

#[test]
fn every_byte_of_any_size_arrives() {
    let bench = Bench::new();
    bench.must_lack(
        "run tcp tcp:nodelay=off tcp:buffer=64K udp udp:datagram=1400 udp:datagram=1400,gso=on,gro=on \
         -w latency,throughput -s 100,100K --verify --total 200K --samples 3 --peer env --launches 1",
    );
    for case in results(&bench.export()) {
        let pointless = case["options"]["gso"] == "on" && case["message_bytes"] == 100;
        let expected = if pointless { "not_applicable" } else { "ok" };
        assert_eq!(case["status"], expected, "{} {}", case["variant"], case["reason"]);
    }
}

#[test]
fn what_reaches_no_further_than_one_machine_is_a_row_with_its_reason() {
    let bench = Bench::new();
    let said = bench.must_lack(
        "run tcp tcp:mtu=1500 pipe shm-ring -w latency -s 64 -p free -p same-cpu --workers both \
         --peer env --launches 1",
    );
    let run = bench.export();
    let reason = |variant: &str, place: &str, workers: &str| {
        let fits = |value: &&Value| {
            value["variant"] == variant
                && value["placement"] == place
                && value["workers"] == workers
        };
        let case = results(&run).iter().find(fits).unwrap();
        (case["status"].as_str().unwrap().to_string(), case["reason"].to_string())
    };
    assert_eq!(reason("tcp", "free", "process").0, "ok");
    for (variant, place, workers, why) in [
        ("pipe", "free", "process", "no further than one machine"),
        ("shm-ring", "free", "process", "no further than one machine"),
        ("tcp:mtu=1500", "free", "process", "is that of a loopback"),
        ("tcp", "free", "thread", "are on one machine"),
        ("tcp", "same-cpu", "process", "a relation of one machine's CPUs"),
    ] {
        let (status, reason) = reason(variant, place, workers);
        assert_eq!(status, "not_applicable", "{variant} {place} {workers}");
        assert!(reason.contains(why), "{reason}");
    }
    assert!(said.out.contains("no further than one machine"));
}

#[test]
fn workers_run_on_the_cpus_that_were_named() {
    let bench = Bench::new();
    let cpu = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..1024).find(|number| cpu.is_set(*number)).expect("a CPU");
    bench.must(&format!("run tcp -w latency -s 64 -p {cpu},{cpu} --peer env --launches 2"));
    assert_all_ok(&bench.export(), 1);
    let seen = rows(
        &bench.open(),
        "SELECT DISTINCT json_extract(record, '$.initiator.cpus'),
             json_extract(record, '$.responder.cpus') FROM launches WHERE round > 0",
    );
    assert_eq!(seen, [format!("[{cpu},{cpu}]|[{cpu}]")]);
    let said = bench.run(&format!("run tcp -w latency -s 64 -p {cpu},9999 --peer env"));
    said.fails(2, &["CPU 9999", "peer"]);
}

#[test]
fn a_copy_is_brought_along_and_taken_away_again() {
    let bench = Bench::new();
    bench.must("run tcp -w latency -s 64 --peer env --deploy --launches 1");
    let run = bench.export();
    assert_all_ok(&run, 1);
    assert_eq!(run["peer"]["program"], "a copy, removed once it ran");
    assert_eq!(copies(&bench), 0);
}

// ---- what can't ------------------------------------------------------------------------------

/// Runs `ipcmark run tcp --peer COMMAND`, which must end with `code` and one line.
fn refused(bench: &Bench, peer: &str, code: i32) -> String {
    let mut command = bench.command(["run", "tcp", "-w", "latency", "-s", "64", "--peer", peer]);
    let said = output(&mut command).fails(code, &[]);
    assert!(!bench.store().exists(), "{peer}: nothing was measured, and a store was made");
    said.err
}

#[test]
#[ignore = "long form"]
fn a_command_that_reaches_nothing_is_one_line_with_the_remedy() {
    let bench = Bench::new();
    for (peer, code, what) in [
        ("no-such-command-here x", 1, "no-such-command-here"),
        ("false", 1, "ended with code 1"),
        ("sh -c 'kill -9 $$'", 1, "killed by signal 9"),
        ("sh -c 'echo Welcome to the machine; cat >&2'", 1, "printed `Welcome to the machine`"),
        ("sh -c 'echo no route to it >&2; exit 255'", 1, "`no route to it`"),
        ("sh -c 'exec 1>&-; sleep 100'", 1, "closed its output"),
        ("env 'open", 2, "a quote is open"),
        ("''", 2, "no command"),
    ] {
        has(&refused(&bench, peer, code), &[what, "--peer"]);
    }
    for alone in ["--deploy", "--peer-program x", "--peer-address 10.0.0.1"] {
        bench.run(&format!("run tcp {alone}")).fails(2, &["name it with --peer"]);
    }
}

/// A frame in the shell's `printf` notation.
fn frame(kind: char, payload: &str) -> String {
    let length: String =
        (payload.len() as u32).to_le_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("{kind}{length}{}", payload.replace('"', "\\\""))
}

#[test]
fn another_build_is_refused_by_both_sides_and_both_are_named() {
    let bench = Bench::new();
    let own = run::launch::spec::BUILD;
    let hello = frame('H', "{\"build\":\"0.0.7/wire-1\",\"other\":1}");
    let line = refused(&bench, &format!("sh -c \"printf '{hello}'; cat >&2\""), 1);
    has(&line, &["0.0.7/wire-1", own, "--deploy"]);

    // The agent, asked by another build, says who it is and ends.
    let mut agent = bench.command(["peer"]);
    let mut agent =
        agent.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let text = b"{\"build\":\"0.0.7/wire-1\"}";
    let mut to = agent.stdin.take().unwrap();
    to.write_all(&[b"H\x18\0\0\0", &text[..]].concat()).unwrap();
    let (mut out, mut err) = (Vec::new(), String::new());
    agent.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    agent.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(agent.wait().unwrap().code(), Some(1));
    assert!(String::from_utf8_lossy(&out).contains(own));
    assert!(err.contains(own) && err.contains("0.0.7/wire-1"), "{err}");
}

#[test]
fn a_control_stream_of_nonsense_ends_whoever_reads_it() {
    let bench = Bench::new();
    // Too long, not a frame, out of turn: to the coordinator …
    for (said, what) in [
        ("H\\377\\377\\377\\177xx", "oversized frame"),
        ("G\\000\\000\\000\\000", "it said Go first"),
        ("H\\002\\000\\000\\000{}", "its hello"),
    ] {
        has(&refused(&bench, &format!("sh -c \"printf '{said}'; cat >&2\""), 1), &[what]);
    }
    // … and to the agent.
    let hello = format!("{{\"build\":\"{}\"}}", run::launch::spec::BUILD);
    let hello = [b"H", &(hello.len() as u32).to_le_bytes()[..], hello.as_bytes()].concat();
    for nonsense in [
        &b"X\xff\xff\xff\x7f"[..],
        b"nonsense",
        b"N\x02\0\0\0xx",
        b"N\x0c\0\0\0\x01\0\0\0\0\0\0\0null",
        b"D\x04\0\0\0\x01\0\0\0",
    ] {
        let mut agent = bench.command(["peer"]);
        let mut agent = agent.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let to = agent.stdin.as_mut().unwrap();
        to.write_all(&hello).unwrap();
        to.write_all(nonsense).unwrap();
        // Its input stays open: it ends by itself.
        let ended = wait_for("the agent to end", PATIENCE, || agent.try_wait().unwrap());
        assert_eq!(ended.code(), Some(1), "{nonsense:?}");
    }
}

// ---- faults ----------------------------------------------------------------------------------

/// A run that lasts until a signal ends it, its launches long enough to be hit.
fn begin(bench: &Bench, launches: u32) -> Running {
    let line = format!(
        "run tcp udp -w latency -s 64 --peer env --launches {launches} --samples 3000 --budget 5m"
    );
    bench.begin(&line)
}

fn wait_for_rounds(bench: &Bench, count: i64) {
    bench.wait_until(&format!("SELECT count(*) >= {count} FROM rounds"));
}

fn children(bench: &Bench, of: i32) -> Vec<i32> {
    let all = bench.processes();
    all.iter()
        .filter(|(_, process): &(_, &Process)| process.parent == of)
        .map(|(pid, _)| *pid)
        .collect()
}

/// The words of a process.
fn command_line(pid: i32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).split_terminator('\0').map(String::from).collect()
}

/// The agent of a run: the program that serves as a peer, behind the keeper that its coordinator
/// started.
fn agent(bench: &Bench) -> Option<i32> {
    bench
        .processes()
        .into_keys()
        .find(|pid| command_line(*pid).get(1).is_some_and(|command_line| command_line == "peer"))
}

/// Folders and files that a copy was put in, in the far host's folder for such things.
fn copies(bench: &Bench) -> usize {
    let entries = std::fs::read_dir(bench.path("")).expect("a folder").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("ipcmark.")).count()
}

#[test]
#[ignore = "long form"]
fn of_a_copy_nothing_stays_whoever_is_killed_whenever() {
    let bench = Bench::new();
    let line = "run tcp -w latency -s 64 --peer env --deploy --launches 30 --samples 3000";
    // By what there is to be seen of it: before the copy, while it is copied, once it runs.
    let begun = |bench: &Bench| (copies(bench) > 0).then_some(());
    let runs = |bench: &Bench| agent(bench).map(drop);
    let measures = |bench: &Bench| {
        bench.ask("SELECT count(*) FROM rounds").filter(|number| *number > 0).map(drop)
    };
    let at_once = |_: &Bench| Some(());
    type When<'a> = &'a dyn Fn(&Bench) -> Option<()>;
    for (nth, when) in [&at_once as When, &begun, &runs, &measures].into_iter().enumerate() {
        let running = bench.start(line);
        wait_for("its moment", PATIENCE, || when(&bench));
        running.signal(Signal::KILL);
        drop(running);
        bench.wait_for_silence(PATIENCE);
        assert_eq!(copies(&bench), 0, "the coordinator killed at moment {nth}");
    }
    for (nth, when) in [&runs as When, &measures].into_iter().enumerate() {
        std::fs::remove_file(bench.store()).ok();
        let running = bench.start(line);
        wait_for("its moment", PATIENCE, || when(&bench));
        let agent = wait_for("the agent", PATIENCE, || agent(&bench));
        send(agent, Signal::KILL);
        let said = running.finish(PATIENCE);
        assert!(said.code == Some(1), "{}", said.err);
        bench.wait_for_silence(PATIENCE);
        assert_eq!(copies(&bench), 0, "the agent killed at moment {nth}");
    }
}

#[test]
#[ignore = "long form"]
fn what_the_command_leaves_running_ends_with_the_run() {
    let bench = Bench::new();
    let quick = ["run", "tcp", "-w", "latency", "-s", "64", "--launches", "1", "--peer"];
    for leaves in [
        "sleep 1000 &",
        "(sleep 1000; true) &",
        "sh -c 'sleep 1000 & sleep 1001' &",
        // In a group of its own, and deaf to a request.
        "set -m; (trap '' TERM; sleep 1000; sleep 1000) &",
    ] {
        let script = bench.put("there", format!("{leaves}\nexec \"$@\"\n"));
        let peer = format!("sh {}", script.display());
        output(&mut bench.command(quick.iter().copied().chain([&*peer]))).ends(0);
        assert!(bench.processes().is_empty(), "{leaves}: {:?}", bench.processes());
    }
    // The same where the coordinator can say nothing any more.
    let script = bench.put("there", "sleep 1000 &\nexec \"$@\"\n");
    let running =
        bench.start(&format!("run tcp -w latency -s 64 --peer 'sh {}'", script.display()));
    wait_for("the agent", PATIENCE, || agent(&bench));
    running.signal(Signal::KILL);
    drop(running);
    bench.wait_for_silence(PATIENCE);
}

#[test]
fn who_begins_a_session_means_to_stay() {
    let bench = Bench::new();
    let script = bench.put("there", "setsid sleep 1000 &\nexec \"$@\"\n");
    let line = "run tcp -w latency -s 64 --launches 1 --peer";
    bench.must(&format!("{line} 'sh {}'", script.display()));
    let left: Vec<Vec<String>> = bench.processes().into_keys().map(command_line).collect();
    assert_eq!(left, [["sleep", "1000"]], "what ssh's ControlPersist starts is its user's");
}

#[test]
#[ignore = "long form"]
fn what_a_peer_complains_of_is_quoted_short_and_steers_no_terminal() {
    let bench = Bench::new();
    let noise =
        "yes noise | head -c 50000000 >&2; printf '\\033]0;title\\007\\033[2Jend of it\\n' >&2";
    for deploy in [false, true] {
        let script = bench.put("there", format!("{noise}; exit 3\n"));
        let (peer, deploy) =
            (format!("sh {}", script.display()), if deploy { "--deploy" } else { "" });
        let said = bench.run(&format!("run tcp --peer '{peer}' {deploy}"));
        let said = said.fails(1, &["code 3", "end of it", &peer]); // it says who
        assert!(!said.err.trim_end().chars().any(char::is_control), "{:?}", said.err);
        assert!(said.err.len() < 1000, "{}", said.err);
    }
}

#[test]
#[ignore = "long form"]
fn after_the_death_of_a_far_worker_the_run_goes_on() {
    let bench = Bench::new();
    let mut running = begin(&bench, 14);
    wait_for_rounds(&bench, 2);
    let failed = "SELECT count(*) FROM launches WHERE status = 'failed'";
    let far = wait_for("the agent", PATIENCE, || agent(&bench));
    while bench.ask(failed) == Some(0) && !running.is_over() {
        let worker = children(&bench, far)
            .into_iter()
            .find_map(|supervisor| children(&bench, supervisor).into_iter().next());
        if let Some(worker) = worker {
            send(worker, Signal::KILL);
        }
        // To look without a pause would cost the run one of two CPUs.
        std::thread::sleep(Duration::from_millis(2));
    }
    running.finish(PATIENCE).ends(0);
    let db = bench.open();
    assert_eq!(rows(&db, "SELECT status FROM runs"), ["complete"]);
    let reasons = rows(&db, "SELECT reason FROM launches WHERE status = 'failed'");
    let named = |text: &&String| {
        text.contains("at the peer: responder") && text.contains("was killed by signal 9")
    };
    assert!(reasons.iter().any(|reason| named(&reason)), "{reasons:?}");
    assert!(bench.processes().is_empty());
}

/// The run ends once its agent gets `signal`, says `why`, and can be resumed.
/// The line that it prints goes on with it.
fn is_kept_and_can_be_resumed(bench: &Bench, running: Running, signal: Signal, why: &str) {
    wait_for_rounds(bench, 2);
    let far = wait_for("the agent", PATIENCE, || agent(bench));
    send(far, signal);
    let said = running.finish(PATIENCE).ends(1);
    has(&said.err, &["the peer is gone", why]);
    let line = said.err.split("kept: `ipcmark ").nth(1).and_then(|part| part.split('`').next());
    let line = line.unwrap_or_else(|| panic!("no command: {}", said.err));
    bench.wait_for_silence(PATIENCE);
    let run = bench.export();
    assert_eq!(run["status"], "interrupted");
    assert!(run["warnings"].to_string().contains("the peer is gone"));
    assert!(number(&bench.open(), "SELECT count(*) FROM launches WHERE status = 'ok'") >= 4);
    bench.must(line);
    let run = bench.export();
    assert_eq!(run["status"], "complete");
    assert!(results(&run).iter().all(|case| case["launches"] == 6));
}

#[test]
fn nothing_that_a_store_says_is_executed() {
    let bench = Bench::new();
    bench.must("run tcp -w latency -s 64 --peer env --launches 2 --samples 20");
    let planted = planted(&bench);
    let refused = |line: &str, forged: &str| {
        bench.edit(&format!("UPDATE runs SET status = 'interrupted', {forged}"));
        for given in [line.to_string(), line.replace(" --peer env", "")] {
            let said = bench.run(&given).fails(2, &["none is taken from a store"]);
            // It quotes what is asked to be trusted, and nothing that a terminal obeys.
            assert!(said.err.contains("planted") || !forged.contains("planted"), "{}", said.err);
            assert!(!said.err.trim_end().contains(char::is_control), "{:?}", said.err);
            assert!(!bench.path("mark").exists(), "{given}: what stands in the store was started");
        }
    };
    let set = |what: &str, value: &str| {
        format!("request = json_set(request, '$.peer.{what}', json('{value}'))")
    };
    refused("run --resume --peer env", &set("command", &format!("[\"{planted}\"]")));
    refused("run --resume --peer env", &set("command", "[\"env\", \"\\u001b[2J\"]"));
    bench.edit(&format!("UPDATE runs SET {}", set("command", "[\"env\"]")));
    refused("run --resume --peer env", &set("program", &format!("\"{planted}\"")));
    // It isn't begun with, and what is given again is enough.
    bench
        .must(&format!("run --resume --peer env --peer-program {}", env!("CARGO_BIN_EXE_ipcmark")));
    assert!(!bench.path("mark").exists());
    // A run without another host has none now.
    bench.must("run pipe -w latency -s 64 -p same-cpu --launches 2 --samples 20");
    bench.edit("UPDATE runs SET status = 'interrupted' WHERE id = 2");
    bench.run(&format!("run --resume --peer {planted}")).fails(2, &["leave it out"]);
    assert!(!bench.path("mark").exists());
}

#[test]
#[ignore = "long form"]
fn after_the_death_of_the_peer_the_rest_is_kept_and_can_be_resumed() {
    let bench = Bench::new();
    let running = begin(&bench, 6);
    is_kept_and_can_be_resumed(&bench, running, Signal::KILL, "killed by signal 9");
}

#[test]
#[ignore = "long form"]
fn a_peer_that_hangs_is_given_up_and_a_copy_is_deployed_again() {
    let bench = Bench::new();
    let line = "run tcp udp -w latency -s 64 --peer env --deploy --launches 6 --samples 3000";
    let running = bench.begin(line);
    // The kernel wakes and hangs up who is stopped in a process group that nobody can wake any more
    // (setpgid(2), "orphaned"): somebody of this test stays in it, so that nobody but us ends the peer.
    let mut beside = Command::new("sleep");
    let mut beside = beside.arg("1000").process_group(running.pid()).spawn().unwrap();
    is_kept_and_can_be_resumed(&bench, running, Signal::STOP, "says nothing any more");
    beside.kill().unwrap();
    beside.wait().unwrap();
}

#[test]
fn when_the_control_stream_closes_everything_over_there_ends() {
    let bench = Bench::new();
    let before = listening();
    let running = begin(&bench, 100);
    wait_for_rounds(&bench, 1);
    // Nobody is left to say good-bye.
    running.signal(Signal::KILL);
    bench.wait_for_silence(PATIENCE);
    drop(running);
    // Other tests' doors come and go: none of them stays.
    wait_for("every port to close", PATIENCE, || {
        listening().iter().all(|port| before.contains(port)).then_some(())
    });
}

#[test]
fn a_signal_ends_the_run_on_both_sides() {
    let bench = Bench::new();
    let running = begin(&bench, 100);
    wait_for_rounds(&bench, 1);
    running.signal(Signal::INT);
    running.finish(PATIENCE).ends(130);
    bench.wait_for_silence(PATIENCE);
    assert_eq!(bench.export()["status"], "interrupted");
}

// ---- strangers -------------------------------------------------------------------------------

#[test]
fn strangers_at_every_port_disturb_no_run() {
    let bench = Bench::new();
    let over = AtomicBool::new(false);
    let met = std::thread::scope(|scope| {
        let stranger = scope.spawn(|| {
            let (mut met, mut silent) = (0, Vec::new());
            let own = UdpSocket::bind("127.0.0.1:0").unwrap();
            while !over.load(Ordering::Relaxed) {
                for port in listening() {
                    let to = SocketAddr::from(([127, 0, 0, 1], port));
                    // A scan, one that says nothing, one that says too much.
                    for say in [None, Some(&b""[..]), Some(&[0xA5; 4096])] {
                        let Ok(mut stream) = TcpStream::connect_timeout(&to, PATIENCE) else {
                            continue;
                        };
                        met += 1;
                        match say {
                            None => {}
                            Some([]) => silent.push(stream),
                            Some(rubbish) => drop(stream.write_all(rubbish)),
                        }
                    }
                }
                silent.drain(..silent.len().saturating_sub(200));
                for port in waiting("udp", "07") {
                    let _ = own.send_to(&[0xA5; 21], ("127.0.0.1", port));
                    let _ = own.send_to(&[], ("127.0.0.1", port));
                    met += 1;
                }
                std::thread::sleep(Duration::from_micros(500));
            }
            met
        });
        let said = bench.run("run tcp udp -w latency,connect -s 64 --peer env --launches 3");
        over.store(true, Ordering::Relaxed);
        assert_eq!(said.code, Some(0), "{}", said.err);
        stranger.join().unwrap()
    });
    assert!(met > 0, "no stranger found a port");
    let run = bench.export();
    assert_all_ok(&run, 5);
    assert!(results(&run).iter().all(|case| case["failed_launches"] == 0));
}
