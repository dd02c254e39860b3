use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn names_are_gone_afterwards_and_were_private() {
    let names = PrivateNames::new().unwrap();
    let name = names.name().unwrap();
    let folder = name.path().parent().unwrap().to_path_buf();
    let _socket = std::os::unix::net::UnixListener::bind(name.path()).unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let path = name.path().to_path_buf();
    drop(name);
    assert!(!path.exists());
    drop(names);
    // Other tests of this process may hold the folder, or names in it, until they end.
    let within = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let is_left = || fs::read_dir(&folder).is_ok_and(|mut entry| entry.next().is_some());
    while is_left() {
        assert!(std::time::Instant::now() < within, "{} is never empty", folder.display());
        std::thread::yield_now();
    }
}

#[test]
fn what_a_living_process_made_stays() {
    let names = PrivateNames::new().unwrap();
    let name = names.name().unwrap();
    fs::write(name.path(), b"").unwrap();
    let cleaned = clean();
    assert!(name.path().exists());
    let who = format!("process {} that made it runs", std::process::id());
    assert!(cleaned.left.iter().any(|line| line.contains(&who)), "{cleaned:?}");
}

#[test]
fn only_names_that_are_drawn_are_ours() {
    use super::wire::{is_random, is_record};
    let drawn = random_name().unwrap();
    assert!(is_random(&drawn) && is_record(&format!("{drawn}.record")));
    for other in ["ipcmark.20241123", "ipcmark.2024.results", "ipcmark-", "ipcmark-0.record"] {
        assert!(!is_random(other) && !is_record(other), "{other}");
    }
}

#[test]
fn no_signal_comes_between_an_object_and_its_entry() {
    let waits = || {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        let blocked = u64::from_str_radix(blocked.trim(), 16).unwrap();
        [libc::SIGHUP, libc::SIGINT, libc::SIGTERM].map(|signal| blocked >> (signal - 1) & 1 == 1)
    };
    let mut residue = Residue::of_objects().unwrap();
    let before = waits();
    let refused = residue.make(ObjectKind::Queue, |_| {
        assert_eq!(waits(), [true; 3]);
        Err(io::ErrorKind::PermissionDenied.into())
    });
    assert!(refused.is_err());
    assert_eq!(waits(), before);
    assert_eq!(before, [false; 3]);
}
