use model::trace::Deeds;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use super::*;
use model::probe::{Probe, Refusal, Scope};
use sys::bpf::{Bpf, HASH, Kernel, Map, Shape, Unverified};

/// A kernel that says no to every program, or to none; its verifier may say why.
struct Refusing(Option<i32>, Option<&'static str>);

impl Bpf for Refusing {
    fn create(&self, shape: Shape) -> io::Result<Map> {
        panic!("nobody asked for {shape:?}")
    }

    fn load(&self, instructions: &[u8]) -> io::Result<OwnedFd> {
        assert_eq!(instructions.len() % 8, 0);
        match (self.0, self.1) {
            (Some(errno), Some(word)) => Err(Unverified { errno, word: word.into() }.into()),
            (Some(code), None) => Err(io::Error::from_raw_os_error(code)),
            (None, _) => Ok(File::open("/dev/null")?.into()),
        }
    }

    fn attach(&self, _: BorrowedFd<'_>, tracepoint: &CStr) -> io::Result<OwnedFd> {
        panic!("nobody asked for {tracepoint:?}")
    }
}

/// This kernel, without some of its tracepoints: name, and what it says instead.
struct Lacking(&'static [(&'static CStr, i32)]);

impl Bpf for Lacking {
    fn create(&self, shape: Shape) -> io::Result<Map> {
        Kernel.create(shape)
    }

    fn load(&self, instructions: &[u8]) -> io::Result<OwnedFd> {
        Kernel.load(instructions)
    }

    fn attach(&self, program: BorrowedFd<'_>, tracepoint: &CStr) -> io::Result<OwnedFd> {
        match self.0.iter().find(|(name, _)| *name == tracepoint) {
            Some((_, code)) => Err(io::Error::from_raw_os_error(*code)),
            None => Kernel.attach(program, tracepoint),
        }
    }
}

#[test]
fn an_obstacle_is_named_with_its_remedy() {
    let root = tempfile::tempdir().unwrap();
    let say = |code, word| available_from(&Refusing(Some(code), word), root.path());
    let load = |code| say(code, None).expect_err("no");

    let denied = load(libc::EPERM);
    assert!(denied.reason.contains("CAP_BPF and CAP_PERFMON"), "{denied:?}");
    assert!(denied.remedy.unwrap().contains("root"), "no sysctl opens it");

    assert_eq!(load(libc::ENOSYS).reason, "this kernel has no bpf(2)");
    assert_eq!(load(libc::EMFILE).remedy.as_deref(), Some("ulimit -n 1024"));

    let bad = say(libc::EACCES, Some("R1 invalid mem access")).expect_err("no");
    assert!(bad.reason.ends_with("R1 invalid mem access"), "{bad:?}");
    assert_eq!(bad.remedy, None, "no privilege makes it a good one");

    let lockdown = root.path().join("sys/kernel/security");
    std::fs::create_dir_all(&lockdown).unwrap();
    std::fs::write(lockdown.join("lockdown"), "none integrity [confidentiality]\n").unwrap();
    // A privileged process gets as far as the verifier, which knows no such helper then.
    let helper = "program of this type cannot use helper bpf_probe_read_kernel#113";
    let locked = say(libc::EINVAL, Some(helper)).expect_err("no");
    assert!(locked.reason.contains("locked down") && locked.reason.contains(helper), "{locked:?}");
    assert!(!locked.reason.contains("CAP_BPF"), "{locked:?}");
    assert_eq!(locked.remedy.as_deref(), Some("boot with lockdown=integrity"));
    let both = load(libc::EPERM);
    assert!(both.reason.contains("locked down") && both.reason.contains("CAP_BPF"), "{both:?}");
    assert!(
        both.remedy.is_some_and(|remedy| remedy.contains("lockdown=") && remedy.contains("root"))
    );
}

#[test]
fn asking_whether_a_trace_is_possible_attaches_nothing() {
    available_from(&Refusing(None, None), Path::new("/")).unwrap();
}

fn granted() -> bool {
    match available() {
        Ok(()) => true,
        Err(refusal) => {
            eprintln!("skipped: {}", refusal.reason);
            false
        }
    }
}

#[test]
fn every_program_passes_the_verifier_in_every_form() {
    if !granted() {
        return;
    }
    for text in ["trace", "trace:empty", "trace-calls", "trace-scheduler:times=2"] {
        let marks = Marks::random().unwrap();
        for room in [0, 1000] {
            let loaded = Tracer::load(&Kernel, text.parse().unwrap(), &marks, room, Path::new("/"));
            let loaded = loaded.unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
            let recording = loaded.read([0, 0]).unwrap();
            assert!(recording.events.is_empty());
            assert_eq!(recording.traced.initiator, Deeds::default());
        }
    }
}

/// Attaches a trace on a kernel that lacks some tracepoints; gives what it then calls missing.
fn attached(bpf: &dyn Bpf) -> Result<Vec<String>, Refusal> {
    let (marks, root) = (Marks::random().unwrap(), Path::new("/"));
    let mut tracer = Tracer::load(bpf, Probe::trace(Scope::All), &marks, 0, root)?;
    tracer.attach(bpf, root)?;
    tracer.detach();
    let traced = tracer.read([0, 0]).unwrap().traced;
    assert!(traced.missing.iter().all(|text| !traced.firings.contains_key(text)), "{traced:?}");
    Ok(traced.missing)
}

#[test]
fn a_tracepoint_that_is_missing_is_named_or_refused() {
    if !granted() {
        return;
    }
    const NONE: i32 = libc::ENOENT;
    let missing = attached(&Lacking(&[(c"sock_send_length", NONE), (c"ipi_send_cpu", NONE)]));
    let missing = missing.unwrap();
    for name in ["sock_send_length", "ipi_send_cpu"] {
        assert!(missing.iter().any(|text| text == name), "{name} in {missing:?}");
    }
    let one_of_several = attached(&Lacking(&[(c"ipi_entry", NONE)])).unwrap();
    assert!(
        one_of_several.iter().all(|text| text != "ipi_entry") || cfg!(not(target_arch = "x86_64"))
    );

    let all_of_them = attached(&Lacking(&[
        (c"reschedule_entry", NONE),
        (c"call_function_single_entry", NONE),
        (c"ipi_entry", NONE),
    ]));
    assert!(all_of_them.unwrap().iter().any(|text| text == "reschedule_entry"), "by tracepoint");

    let refused = attached(&Lacking(&[(c"ipi_send_cpu", libc::EMFILE)])).unwrap_err();
    assert!(refused.reason.contains("ipi_send_cpu: too many open files"), "{refused:?}");
    let needed = attached(&Lacking(&[(c"sched_waking", NONE)])).unwrap_err();
    assert!(needed.reason.contains("sched_waking: this kernel lacks it"), "{needed:?}");
    let old = attached(&Lacking(&[(c"sched_switch", libc::EINVAL)])).unwrap_err();
    assert!(old.reason.contains("before Linux 5.18"), "{old:?}");
}

#[test]
fn a_map_keeps_what_it_is_given() {
    if !granted() {
        return;
    }
    let hash = Shape { kind: HASH, key_bytes: 4, value_bytes: 8, entries: 2, flags: 0 };
    let map = Kernel.create(hash).unwrap();
    map.set(&[1, 0, 0, 0], &[7; 8]).unwrap();
    map.set(&[2, 0, 0, 0], &[8; 8]).unwrap();
    assert_eq!(map.get(&[2, 0, 0, 0]).unwrap(), [8; 8]);
    let mut entries = map.entries().unwrap();
    entries.sort();
    assert_eq!(entries, [(vec![1, 0, 0, 0], vec![7; 8]), (vec![2, 0, 0, 0], vec![8; 8])]);
    let full = map.set(&[3, 0, 0, 0], &[9; 8]).unwrap_err();
    assert_eq!(full.raw_os_error(), Some(libc::E2BIG));
    map.freeze().unwrap();
    assert_eq!(map.set(&[1, 0, 0, 0], &[0; 8]).unwrap_err().raw_os_error(), Some(libc::EPERM));
}

const TRIPS: u64 = 100;

/// Two threads that pass a byte to and fro, both marked; gives what was traced.
fn ping_pong() -> Recording {
    use std::io::{Read, Write, pipe};
    let (marks, root) = (Marks::random().unwrap(), Path::new("/"));
    let mut tracer =
        Tracer::load(&Kernel, Probe::trace(Scope::All), &marks, 100_000, root).unwrap();
    tracer.attach(&Kernel, root).unwrap();
    let (mut ping, mut to) = pipe().unwrap();
    let (mut pong, mut fro) = pipe().unwrap();
    let (theirs, mut byte) = (marks.clone(), [0]);
    let answers = std::thread::spawn(move || {
        let (marking, mut byte) = (Marking::of(theirs, Who::Responder), [0]);
        marking.begin().unwrap();
        fro.write_all(&byte).unwrap();
        for _ in 0..TRIPS {
            ping.read_exact(&mut byte).unwrap();
            fro.write_all(&byte).unwrap();
        }
        marking.end().unwrap();
    });
    let marking = Marking::of(marks, Who::Initiator);
    pong.read_exact(&mut byte).unwrap();
    marking.begin().unwrap();
    for _ in 0..TRIPS {
        to.write_all(&byte).unwrap();
        pong.read_exact(&mut byte).unwrap();
    }
    marking.end().unwrap();
    answers.join().unwrap();
    tracer.detach();
    tracer.read([TRIPS, TRIPS + 1]).unwrap()
}

#[test]
fn a_workers_events_begin_with_its_first_mark_end_with_its_last_and_take_turns() {
    if !granted() {
        return;
    }
    let Recording { traced, events } = ping_pong();
    assert_eq!(traced.events_lost, 0);
    assert!(events.iter().map(|event| event.at_ns).is_sorted());
    let both =
        [(Who::Initiator, &traced.initiator, TRIPS), (Who::Responder, &traced.responder, TRIPS)];
    for (who, deeds, trips) in both {
        let own: Vec<EventKind> =
            events.iter().filter(|event| event.who == who).map(|event| event.kind).collect();
        assert_eq!(
            (own.first(), own.last()),
            (Some(&EventKind::Begin), Some(&EventKind::End)),
            "{own:?}"
        );
        let count =
            |wanted: fn(&EventKind) -> bool| own.iter().filter(|kind| wanted(kind)).count() as u64;
        assert_eq!(count(|kind| matches!(kind, EventKind::Begin | EventKind::End)), 2);
        let calls = deeds.calls.iter().map(|call| call.count).sum::<u64>();
        assert!(calls >= 2 * trips);
        assert_eq!(count(|kind| matches!(kind, EventKind::Enter(_))), calls, "{own:?}");
        assert_eq!(
            count(|kind| matches!(kind, EventKind::Exit(1))),
            deeds.calls_of("read") + deeds.calls_of("write")
        );
        let asleep = count(|kind| matches!(kind, EventKind::Out { asleep: true }));
        assert_eq!(asleep, deeds.sleeps.count, "{own:?}");
        let sent: u64 = deeds.interrupts.iter().map(|interrupt| interrupt.count).sum();
        assert_eq!(count(|kind| matches!(kind, EventKind::Interrupts(_))), sent);

        let calls =
            own.iter().filter(|kind| matches!(kind, EventKind::Enter(_) | EventKind::Exit(_)));
        let entered: Vec<bool> = calls.map(|call| matches!(call, EventKind::Enter(_))).collect();
        assert!(entered.iter().enumerate().all(|(nth, enter)| *enter == (nth % 2 == 0)), "{own:?}");
        let turns = own.iter().filter(|kind| matches!(kind, EventKind::In | EventKind::Out { .. }));
        let left: Vec<bool> = turns.map(|turn| matches!(turn, EventKind::Out { .. })).collect();
        assert!(left.iter().enumerate().all(|(nth, out)| *out == (nth % 2 == 0)), "{own:?}");
    }
}

#[test]
fn what_finds_no_room_is_counted_as_lost() {
    use std::io::Write;
    if !granted() {
        return;
    }
    const ROWS: u64 = 2_048;
    let (marks, root) = (Marks::random().unwrap(), Path::new("/"));
    let mut tracer = Tracer::load(&Kernel, Probe::trace(Scope::Calls), &marks, 0, root).unwrap();
    tracer.attach(&Kernel, root).unwrap();
    let mut nowhere = File::create("/dev/null").unwrap();
    let (marking, message) = (Marking::of(marks, Who::Initiator), [0; ROWS as usize + 100]);
    marking.begin().unwrap();
    for length in 1..=message.len() {
        assert_eq!(nowhere.write(&message[..length]).unwrap(), length);
    }
    marking.end().unwrap();
    tracer.detach();
    let traced = tracer.read([1, 0]).unwrap().traced;
    let calls: u64 = traced.initiator.calls.iter().map(|call| call.count).sum();
    assert!(traced.lost >= 100 && calls + traced.lost >= ROWS + 100, "{}", traced.lost);
    assert!(calls >= ROWS, "what has room is kept");
}
