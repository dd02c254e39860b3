//! Whether this process has room to work in: where a stack or an address space is too small, the program would die of a
//! signal, somewhere, without a word; where a filter denies what nobody foresees, of a panic.

use crate::cli::UNAVAILABLE;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sys::process::denied_unforeseen;

/// The least stack that parsing, judging and showing take, with much to spare, in bytes.
const STACK: u64 = 1 << 20;
/// The stack that is asked for where the soft limit is lower: what Linux gives by itself.
const USUAL_STACK: u64 = 8 << 20;
/// What is allocated, at least, beside the program itself.
const MEMORY: u64 = 16 << 20;

/// What keeps the program from working: a line with the way out, and the exit code.
pub type Obstacle = (String, u8);

/// Raises what may be raised.
///
/// # Errors
/// What is too small, and what is denied.
pub fn check() -> Result<(), Obstacle> {
    if let Some((call, errno)) = denied_unforeseen() {
        let error = std::io::Error::from(errno);
        let line = format!(
            "nothing can be done here: {call}(2): {error}; a filter (seccomp) denies it: it needs one that allows it"
        );
        return Err((line, UNAVAILABLE));
    }
    stack().and_then(|()| memory()).map_err(|line| (line, 1))
}

fn memory() -> Result<(), String> {
    for (resource, what, flag, used) in [
        (Resource::As, "address space", "-v", "VmSize:"),
        (Resource::Data, "data", "-d", "VmData:"),
    ] {
        let Some(limit) = getrlimit(resource).current else { continue };
        let wanted = kib(used).unwrap_or(0).saturating_mul(1 << 10) + MEMORY;
        if limit < wanted {
            return Err(format!(
                "the limit on {what} is {} KiB, and the program takes {} at least; raise it: ulimit {flag} unlimited",
                limit >> 10,
                wanted >> 10
            ));
        }
    }
    Ok(())
}

/// The kernel looks at the limit when the stack grows: one that is raised now counts at once.
fn stack() -> Result<(), String> {
    let Rlimit { current, maximum } = getrlimit(Resource::Stack);
    let Some(limit) = current.filter(|limit| *limit < STACK) else { return Ok(()) };
    let wanted = maximum.map_or(USUAL_STACK, |most| most.min(USUAL_STACK));
    let raised = Rlimit { current: Some(wanted), maximum };
    if wanted >= STACK && setrlimit(Resource::Stack, raised).is_ok() {
        return Ok(());
    }
    Err(format!(
        "the limit on the stack is {} KiB, and the program takes {} at least; raise it: ulimit -s 8192",
        limit >> 10,
        STACK >> 10
    ))
}

/// A number that /proc/self/status says, in KiB.
fn kib(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
