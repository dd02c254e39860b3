//! What the commands that measure do with a signal: end in order, or not at all.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::exit_codes::{UNAVAILABLE, can_measure};
use super::{Failure, complain};
use ::run::launch::Interrupt;
use machine::interrupt::not_removed;
use mechanisms::unavailable_in;
use store::RunStatus;

/// What is said where an orderly end is given up; `not_removed` is what was made and is still there.
fn farewell(not_removed: &[String]) -> String {
    let left = match not_removed {
        [] => "`ipcmark clean` removes what may be left behind".to_string(),
        named => format!("left behind: {}", named.join(", ")),
    };
    format!(
        "ipcmark: after the signal something stood still (a reader, a disk, another host): left at once; \
         what was measured is stored, see `ipcmark runs`; {left}\n"
    )
}

/// Takes over SIGINT, SIGTERM and SIGHUP.
pub fn take_over() -> Result<Interrupt, Failure> {
    Interrupt::install().and_then(|interrupt| interrupt.with_watch(give_up)).map_err(|error| {
        let other = || {
            let (line, code) = match unavailable_in(&error) {
                Some(why) => (format!("{}; {}", why.reason, why.remedy), UNAVAILABLE),
                None => (error.to_string(), 1),
            };
            Failure { line: format!("take over signals: {line}"), code }
        };
        can_measure().err().unwrap_or_else(other)
    })
}

/// Ends a command in order where a signal has come by now.
pub fn unless_stopped(interrupt: &Interrupt) -> Result<(), Failure> {
    interrupt.signal().map_or(Ok(()), |signal| {
        let line = "stopped before anything was measured".into();
        Err(Failure { line, code: 128 + signal as u8 })
    })
}

/// The exit code of a run that a signal ended, once that is said, with what went wrong in what was `shown` of it; None of one
/// that came to its own end.
pub fn ended(
    status: RunStatus,
    interrupt: &Interrupt,
    shown: &Result<(), Failure>,
    resume: &str,
) -> Option<u8> {
    let signal = interrupt.signal().filter(|_| status == RunStatus::Interrupted)?;
    if let Err(failure) = shown {
        complain(&failure.line);
    }
    complain(&format!("interrupted; {resume}"));
    Some(128 + signal as u8)
}

/// The orderly end hangs: a disk, a reader or another host doesn't answer. Nothing that is
/// stored is lost by leaving: a transaction is there or not, and a file that isn't whole has no name.
fn give_up(signal: i32) {
    // Not by way of the standard library: the thread that hangs may hold its lock. And only where there
    // is room: pipe(7) says ready where a line fits.
    let stderr = io::stderr();
    let mut room = [PollFd::new(&stderr, PollFlags::OUT)];
    if matches!(poll(&mut room, Some(&Timespec::default())), Ok(1)) {
        let _ = rustix::io::write(&stderr, farewell(&not_removed()).as_bytes());
    }
    std::process::exit(128 + signal);
}

#[cfg(test)]
mod tests {
    use super::farewell;

    #[test]
    fn what_is_left_is_named_with_what_removes_it() {
        let line = farewell(&["laboratory x: `ipcmark clean` removes it".into()]);
        assert!(
            line.ends_with("left behind: laboratory x: `ipcmark clean` removes it\n"),
            "{line}"
        );
        assert!(farewell(&[]).contains("`ipcmark clean`"));
    }
}
