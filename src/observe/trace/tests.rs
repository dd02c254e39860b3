use std::cell::RefCell;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use super::*;
use crate::observe::Refusal;
use crate::sys::bpf::{Bpf, Kernel, Map, Shape};

/// A kernel that refuses what a test wants it to.
#[derive(Default)]
struct Fake {
    load: Option<i32>,
    /// A tracepoint, and what is said to whoever wants it.
    attach: Option<(&'static CStr, i32)>,
    heard: RefCell<Vec<String>>,
}

fn answer(code: Option<i32>) -> io::Result<OwnedFd> {
    match code {
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Ok(File::open("/dev/null")?.into()),
    }
}

impl Bpf for Fake {
    fn create(&self, _: &Shape) -> io::Result<OwnedFd> {
        answer(self.load)
    }

    fn load(&self, instructions: &[u8]) -> io::Result<OwnedFd> {
        assert_eq!(instructions.len() % 8, 0);
        answer(self.load)
    }

    fn attach(&self, _: BorrowedFd<'_>, tracepoint: &CStr) -> io::Result<OwnedFd> {
        self.heard.borrow_mut().push(tracepoint.to_string_lossy().into_owned());
        answer(self.attach.and_then(|(name, code)| (name == tracepoint).then_some(code)))
    }
}

fn refused(fake: &Fake, root: &Path) -> Refusal {
    available_from(fake, root).expect_err("it is refused")
}

#[test]
fn what_is_in_the_way_is_said_with_the_way_out() {
    let root = tempfile::tempdir().unwrap();
    let load = |code| refused(&Fake { load: Some(code), ..Fake::default() }, root.path());

    let denied = load(libc::EPERM);
    assert!(denied.reason.contains("CAP_BPF and CAP_PERFMON"), "{denied:?}");
    assert!(denied.way_out.unwrap().contains("root"), "no sysctl opens it");

    assert_eq!(load(libc::ENOSYS).reason, "this kernel has no bpf(2)");
    assert_eq!(load(libc::EMFILE).way_out.as_deref(), Some("ulimit -n 1024"));

    let lacking = Fake { attach: Some((c"sched_waking", libc::ENOENT)), ..Fake::default() };
    let lacking = refused(&lacking, root.path());
    assert!(lacking.reason.contains("sched_waking: this kernel lacks it"), "{lacking:?}");

    let lockdown = root.path().join("sys/kernel/security");
    std::fs::create_dir_all(&lockdown).unwrap();
    std::fs::write(lockdown.join("lockdown"), "none integrity [confidentiality]\n").unwrap();
    assert!(load(libc::EPERM).reason.contains("locked down"), "it isn't a privilege then");
}

#[test]
fn asking_whether_a_trace_is_possible_leaves_optional_tracepoints_alone() {
    let fake = Fake::default();
    available_from(&fake, Path::new("/")).unwrap();
    let wanted = ["task_rename", "sys_enter", "sys_exit", "sched_waking", "sched_wakeup"];
    assert_eq!(fake.heard.borrow()[..5], wanted);
    assert!(!fake.heard.borrow().iter().any(|it| it == "ipi_send_cpu"));
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
            let heard = loaded.hear([0, 0]).unwrap();
            assert!(heard.events.is_empty());
            assert_eq!(heard.traced.initiator, Deeds::default());
        }
    }
}

#[test]
fn a_map_keeps_what_it_is_given() {
    if !granted() {
        return;
    }
    let hash = Shape { kind: 1, key_bytes: 4, value_bytes: 8, entries: 2, flags: 0 };
    let map = Map::new(&Kernel, hash).unwrap();
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
