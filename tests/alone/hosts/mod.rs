//! Runs on several hosts: between two, and on the nodes of a fleet. One subject, since much of it waits for
//! deadlines of hosts that are silent, and for the daemons of others.

mod fleet;
mod fleet_slurm;
mod peer;
mod peer_hosts;
mod reliability_hosts;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::cli_support::{Bench, wait_until_startable};

/// A program that nobody asked for: the file `mark` says that it was started.
fn planted(bench: &Bench) -> String {
    let script = "[ \"$1\" = --version ] && exit\necho started > mark\nexec \"$@\"\n";
    let planted = bench.put("planted", format!("#!/bin/sh\n{script}"));
    fs::set_permissions(&planted, Permissions::from_mode(0o755)).unwrap();
    wait_until_startable(&planted);
    planted.display().to_string()
}
