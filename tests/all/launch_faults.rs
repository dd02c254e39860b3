//! Whatever happens to a launch, it ends soon, says who failed and how, and leaves nothing
//! running: workers and supervisors killed or stopped at random moments, owners that vanish,
//! specs and streams that are wrong.
//!
//! A launch is one process group, so what is left of it can be found without knowing its ids.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cli_support::{has, send};
use crate::common::launching::{conclude, endless, finish, quick, reach, start};
use crate::common::proc::{Process, children, soon};
use crate::common::{Rng, say};
use mechanisms::Variant;
use model::launch::{Outcome, SampleCount, Workers};
use model::mechanism::Carries;
use run::launch::spec::BUILD;
use run::launch::wire::{self, FrameKind, write_frame};
use run::launch::{Launch, LaunchResult, Spec, Stage};
use rustix::process::Signal;

/// Random moments tried of each kind of fault.
const MOMENTS: u64 = 30;
/// How soon the news of a fault must be there, and nothing else.
const SOON: Duration = Duration::from_secs(1);

/// Mechanisms that move something, and so can be caught in the act.
fn moving() -> Vec<Variant> {
    Variant::shown()
        .into_iter()
        .filter(|variant| variant.traits().carries != Carries::Nothing)
        .collect()
}

fn any<'a, T>(rng: &mut Rng, of: &'a [T]) -> &'a T {
    &of[rng.below(of.len() as u64) as usize]
}

fn sleep_below(rng: &mut Rng, most: Duration) {
    thread::sleep(Duration::from_micros(rng.below(most.as_micros() as u64)));
}

fn reason(what: &str, ending: &LaunchResult) -> String {
    assert!(ending.samples.is_empty(), "{what}: it failed, and gave samples");
    match &ending.record.outcome {
        Outcome::Failed { reason } => reason.clone(),
        outcome => panic!("{what}: {outcome:?}"),
    }
}

fn assert_nothing_remains(what: &str, group: i32) {
    if soon(SOON, || Process::in_group(group).is_empty()) {
        return;
    }
    let left = Process::in_group(group);
    // A failed test leaves nothing either.
    for process in &left {
        send(process.pid, Signal::KILL);
    }
    panic!("{what}: still there: {left:?}");
}

/// Starts a launch that would time for minutes, and lets it go; gives its workers too.
fn timing(variant: &Variant, workers: Workers) -> (Launch, Vec<i32>) {
    let mut launch = start(&endless(&variant.to_string(), workers));
    reach(&mut launch, Stage::Ready);
    let worker_ids = children(launch.pid() as i32);
    let expected = if workers == Workers::Process { 2 } else { 1 };
    assert_eq!(worker_ids.len(), expected, "{variant}: workers of a launch that is ready");
    launch.go();
    (launch, worker_ids)
}

// ---- workers ------------------------------------------------------------------------------

/// Kills one of the workers of launches while they time, which the reason names in these words.
fn killed_while_timing(
    mut rng: Rng,
    moments: u64,
    workers: Workers,
    named: fn(victim: usize, pid: i32) -> String,
) {
    for nth in 0..moments {
        let variant = any(&mut rng, &moving()).clone();
        let (launch, worker_ids) = timing(&variant, workers);
        let group = launch.pid() as i32;
        let victim = rng.below(worker_ids.len() as u64) as usize;
        let expected = format!("{} was killed by signal 9", named(victim, worker_ids[victim]));
        let what = format!("moment {nth}, {variant}: {expected}");
        sleep_below(&mut rng, Duration::from_millis(30));
        let killed = Instant::now();
        send(worker_ids[victim], Signal::KILL);
        let ending = finish(launch);
        assert!(killed.elapsed() < SOON, "{what}: the news took {:?}", killed.elapsed());
        assert_eq!(reason(&what, &ending), expected, "{what}");
        assert_nothing_remains(&what, group);
    }
}

#[test]
fn a_worker_killed_while_timing_is_named_with_its_signal() {
    killed_while_timing(Rng(11), MOMENTS, Workers::Process, |victim, pid| {
        format!("{} (process {pid})", ["initiator", "responder"][victim])
    });
}

#[test]
fn a_process_of_threads_killed_while_timing_is_named_with_its_signal() {
    killed_while_timing(Rng(12), MOMENTS / 3, Workers::Thread, |_, pid| {
        format!("worker process {pid}")
    });
}

/// Also before it is ready, between ready and go, and before anything has been forked.
#[test]
fn anything_killed_at_any_moment_ends_the_launch_with_a_reason() {
    let mut rng = Rng(13);
    for nth in 0..MOMENTS {
        let variant = any(&mut rng, &moving()).clone();
        let workers = *any(&mut rng, &[Workers::Process, Workers::Thread]);
        let mut launch = start(&endless(&variant.to_string(), workers));
        let supervisor = launch.pid() as i32;
        let ready = rng.below(3) == 0;
        if ready {
            reach(&mut launch, Stage::Ready);
        }
        sleep_below(&mut rng, Duration::from_millis(4));
        let group = Process::in_group(supervisor);
        let victim = group.get(rng.below(3) as usize).map_or(supervisor, |group| group.pid);
        let what = format!("moment {nth}, {variant}, {workers:?}, {victim} of {group:?} killed");
        let killed = Instant::now();
        send(victim, Signal::KILL);
        if !ready {
            reach(&mut launch, Stage::Ready);
        }
        launch.go();
        let ending = finish(launch);
        assert!(killed.elapsed() < SOON, "{what}: the news took {:?}", killed.elapsed());
        let reason = reason(&what, &ending);
        let expected = match workers {
            _ if victim == supervisor => "the supervisor died without a word".to_string(),
            Workers::Process => format!("(process {victim}) was killed by signal 9"),
            Workers::Thread => format!("worker process {victim} was killed by signal 9"),
        };
        assert!(reason.contains(&expected), "{what}: {reason}");
        assert_nothing_remains(&what, supervisor);
    }
}

#[test]
fn a_stopped_worker_meets_the_deadline() {
    for (variant, workers) in [
        ("pipe", Workers::Process),
        ("futex", Workers::Process),
        ("shm-ring:wait=spin", Workers::Process),
        ("tcp", Workers::Thread),
    ] {
        for victim in 0..2 {
            let spec = Spec { deadline_ms: 250, ..endless(variant, workers) };
            let mut launch = start(&spec);
            let group = launch.pid() as i32;
            reach(&mut launch, Stage::Ready);
            let worker_ids = children(group);
            launch.go();
            thread::sleep(Duration::from_millis(20));
            let Some(victim) = worker_ids.get(victim) else { continue };
            send(*victim, Signal::STOP);
            let what = format!("{variant}, {workers:?}, {victim} of {worker_ids:?} stopped");
            let ending = finish(launch);
            let reason = reason(&what, &ending);
            assert!(reason.starts_with("deadline passed"), "{what}: {reason}");
            assert!(reason.contains("initiator") || reason.contains("responder"), "{reason}");
            assert_nothing_remains(&what, group);
        }
    }
}

// ---- the supervisor and its owner ----------------------------------------------------------

#[test]
fn workers_vanish_with_their_supervisor() {
    let mut rng = Rng(14);
    for nth in 0..MOMENTS {
        let variant = any(&mut rng, &moving()).clone();
        let workers = *any(&mut rng, &[Workers::Process, Workers::Thread]);
        let (launch, _) = timing(&variant, workers);
        let group = launch.pid() as i32;
        let what = format!("moment {nth}, {variant}, {workers:?}, the supervisor killed");
        sleep_below(&mut rng, Duration::from_millis(10));
        send(group, Signal::KILL);
        assert_nothing_remains(&what, group);
        let ending = finish(launch);
        assert_eq!(reason(&what, &ending), "the supervisor died without a word");
    }
}

#[test]
fn a_stopped_supervisor_is_given_up_and_removed() {
    let spec = Spec { deadline_ms: 100, ..endless("pipe", Workers::Process) };
    let mut launch = start(&spec);
    reach(&mut launch, Stage::Ready);
    let group = launch.pid() as i32;
    launch.go();
    send(group, Signal::STOP);
    let ending = finish(launch);
    let reason = reason("a stopped supervisor", &ending);
    assert_eq!(reason, "the supervisor missed its deadline");
    assert_nothing_remains("a stopped supervisor", group);
}

/// A launch that is given up at any stage takes everything with it.
#[test]
#[ignore = "long form"]
fn nothing_remains_of_a_dropped_launch() {
    let mut rng = Rng(15);
    for nth in 0..4 * MOMENTS {
        let variant = any(&mut rng, &moving()).clone();
        let workers = *any(&mut rng, &[Workers::Process, Workers::Thread]);
        let stage = ["before ready", "ready", "timing", "timed"][nth as usize % 4];
        let what = format!("moment {nth}, {variant}, {workers:?}, dropped when {stage}");
        let spec = match stage {
            "timed" => Spec { workers, ..quick(&variant.to_string(), 64) },
            _ => endless(&variant.to_string(), workers),
        };
        let mut launch = start(&spec);
        let group = launch.pid() as i32;
        if stage != "before ready" {
            reach(&mut launch, Stage::Ready);
        }
        if stage == "timing" || stage == "timed" {
            launch.go();
        }
        if stage == "timed" {
            reach(&mut launch, Stage::Timed);
            assert!(!launch.is_over(), "{what}");
            launch.end();
        }
        sleep_below(&mut rng, Duration::from_millis(4));
        drop(launch);
        assert_nothing_remains(&what, group);
    }
}

// ---- specs and streams that are wrong ------------------------------------------------------

#[test]
fn another_build_is_refused_and_both_are_named() {
    let theirs = "0.0.0/wire-0";
    let ending = conclude(start(&Spec { build: theirs.into(), ..quick("pipe", 64) }));
    has(&reason("another build", &ending), &[BUILD, theirs]);
}

#[test]
fn an_unknown_mechanism_is_answered_with_the_nearest() {
    let ending = conclude(start(&quick("pip", 64)));
    has(&reason("an unknown mechanism", &ending), &["`pip`", "did you mean `pipe`"]);
    let ending = conclude(start(&quick("tcp:nodely=off", 64)));
    has(&reason("an unknown option", &ending), &["did you mean `nodelay`"]);
}

#[test]
fn a_cpu_that_does_not_exist_is_named_with_the_worker() {
    for workers in [Workers::Process, Workers::Thread] {
        for (cpus, role) in [((Some(1_023), None), "initiator"), ((None, Some(1_023)), "responder")]
        {
            let (initiator_cpu, responder_cpu) = cpus;
            let spec = Spec { workers, initiator_cpu, responder_cpu, ..quick("pipe", 64) };
            let launch = start(&spec);
            let group = launch.pid() as i32;
            let ending = conclude(launch);
            let what = format!("{workers:?}, the {role} on CPU 1023");
            let reason = reason(&what, &ending);
            assert!(reason.contains("CPU 1023") && reason.contains(role), "{what}: {reason}");
            assert_nothing_remains(&what, group);
        }
    }
}

/// Not a process that holds the program's own launch, but the bare program.
fn raw_launch() -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipcmark"));
    command.arg("launch").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().expect("the program starts")
}

fn exit_within(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let mut status = None;
    soon(within, || {
        status = child.try_wait().expect("wait");
        status.is_some()
    });
    status
}

fn end_of(what: &str, mut child: Child, within: Duration) -> (Option<i32>, Vec<u8>, String) {
    let group = child.id() as i32;
    let Some(status) = exit_within(&mut child, within) else {
        let _ = child.kill();
        panic!("{what}: hung");
    };
    let (mut out, mut said) = (Vec::new(), String::new());
    child.stdout.take().expect("piped").read_to_end(&mut out).expect("read");
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("read");
    assert!(!said.contains("panicked"), "{what}: {said}");
    assert_nothing_remains(what, group);
    (status.code(), out, said)
}

#[test]
fn what_is_not_a_spec_ends_the_program_at_once() {
    let oversized = [b"L".as_slice(), &u32::MAX.to_le_bytes()].concat();
    let beyond = [b"L".as_slice(), &(wire::LARGEST as u32 + 1).to_le_bytes()].concat();
    let out_of_turn = [b"G".as_slice(), &0u32.to_le_bytes()].concat();
    for (what, bytes) in [
        ("garbage", &b"hello, is there anybody in there?\n"[..]),
        ("an oversized frame", &oversized),
        ("a frame one byte too large", &beyond),
        ("go instead of a spec", &out_of_turn),
    ] {
        let mut child = raw_launch();
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(bytes).expect("write");
        let (code, out, said) = end_of(what, child, SOON); // while its input is still open
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{what}: {said}");
        assert!(out.is_empty(), "{what}: it said {out:?}");
        drop(stdin);
    }
}

#[test]
fn a_frame_that_holds_no_spec_is_a_recorded_failure() {
    for (what, text) in
        [("no JSON", &b"\xff\xfe"[..]), ("another object", b"{\"build\": 7}"), ("nothing", b"")]
    {
        let mut child = raw_launch();
        let stdin = child.stdin.take().expect("piped");
        write_frame(&stdin, FrameKind::Spec, text).expect("write");
        let (code, out, said) = end_of(what, child, SOON);
        let output = String::from_utf8_lossy(&out);
        assert!(
            output.contains("failed") && output.contains("the spec is not one"),
            "{what}: {output}"
        );
        assert_eq!((code, said.as_str()), (Some(0), ""), "{what}");
        drop(stdin);
    }
}

#[test]
fn garbage_from_the_owner_ends_a_launch_at_any_stage() {
    for timing in [false, true] {
        let what = format!("garbage, timing: {timing}");
        let mut child = raw_launch();
        let group = child.id() as i32;
        let mut stdin = child.stdin.take().expect("piped");
        let text = serde_json::to_vec(&endless("futex", Workers::Process)).expect("JSON");
        write_frame(&stdin, FrameKind::Spec, &text).expect("write");
        let mut word = [0; 5]; // its workers are ready: a kind and no length
        child.stdout.as_mut().expect("piped").read_exact(&mut word).expect("ready");
        assert_eq!((word[0], children(group).len()), (FrameKind::Ready as u8, 2), "{what}");
        if timing {
            write_frame(&stdin, FrameKind::Go, b"").expect("write");
            thread::sleep(Duration::from_millis(20));
        }
        stdin.write_all(b"!\0\0\0\0\0\0\0\0").expect("write");
        let (code, ..) = end_of(&what, child, SOON);
        assert!(code.is_some(), "{what}: it was killed");
        drop(stdin);
    }
}

#[test]
fn without_an_owner_the_program_says_so_in_one_line() {
    let mut child = raw_launch();
    drop(child.stdin.take());
    let (code, out, said) = end_of("standard input at its end", child, SOON);
    assert_eq!((code, said.lines().count(), out.len()), (Some(2), 1, 0), "{said}");

    let command = format!("exec '{}' launch <&-", env!("CARGO_BIN_EXE_ipcmark"));
    let closed = Command::new("sh").args(["-c", &command]).output().expect("sh runs");
    let said = String::from_utf8_lossy(&closed.stderr);
    assert_eq!((closed.status.code(), said.lines().count()), (Some(2), 1), "closed: {said}");
}

/// Nobody types a spec: at a terminal the program must come back by itself.
#[test]
fn at_a_terminal_the_program_says_so_in_one_line() {
    let command = format!("'{}' launch", env!("CARGO_BIN_EXE_ipcmark"));
    let script = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = script else {
        say("skipped the launch at a terminal: script(1) isn't installed");
        return;
    };
    let keyboard = child.stdin.take(); // held open: end of file would end the wait
    let (code, screen, _) = end_of("at a terminal", child, Duration::from_secs(15));
    let screen = String::from_utf8_lossy(&screen);
    assert_eq!((code, screen.lines().count()), (Some(2), 1), "{screen}");
    drop(keyboard);
}

#[test]
fn odd_specs_end_with_a_reason() {
    for (what, spec) in [
        ("no warm-up", Spec { warmup: no_warmup(), ..quick("pipe", 64) }),
        ("one sample", Spec { samples: SampleCount::Exactly(1), ..quick("pipe", 64) }),
        ("a buffer far inside its page", Spec { buffer_offset: 4_095, ..quick("pipe", 64) }),
    ] {
        let ending = conclude(start(&spec));
        assert_eq!(ending.record.outcome, Outcome::Ok, "{what}");
    }
}

fn no_warmup() -> model::launch::Warmup {
    model::launch::Warmup { operations: 0, ns: 0 }
}
