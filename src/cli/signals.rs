//! What the commands that measure do with a signal: end in order, or not at all.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Failure;
use ::run::launch::Interrupt;

const LEFT: &[u8] =
    b"ipcmark: after the signal something stood still (a reader, a disk, another host): \
    left at once; what was measured is stored, see `ipcmark runs`\n";

/// Takes over SIGINT, SIGTERM and SIGHUP.
pub fn take_over() -> Result<Interrupt, Failure> {
    Interrupt::install()
        .and_then(|it| it.with_watch(give_up))
        .map_err(|error| Failure::other(format!("take over signals: {error}")))
}

/// The orderly end hangs: a disk, a reader or another host doesn't answer. Nothing that is
/// stored is lost by leaving: a transaction is there or not, and a file that isn't whole has no name.
fn give_up(signal: i32) {
    // Not by way of the standard library: the thread that hangs may hold its lock. And only where there
    // is room: pipe(7) says ready where a line fits.
    let stderr = io::stderr();
    let mut room = [PollFd::new(&stderr, PollFlags::OUT)];
    if matches!(poll(&mut room, Some(&Timespec::default())), Ok(1)) {
        let _ = rustix::io::write(&stderr, LEFT);
    }
    std::process::exit(128 + signal);
}
