//! Programs that may not make some system calls: those answer with an error, as under a container's filter
//! (seccomp(2)).
//!
//! ```text
//! let denied = [Denied::call(libc::SYS_mq_unlink)];
//! let Some(said) = bench.run_denied(&denied, libc::EPERM, "run posix-queue …") else { return };
//! ```

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::{Bench, HUNG, Running, Said, collect, say};

/// A call that is denied.
#[derive(Clone, Copy, Debug)]
pub struct Denied {
    number: i64,
    /// Only where an argument, counted from 0, is this.
    argument: Option<(u8, u64)>,
}

impl Denied {
    /// Every call of that number, as in `libc::SYS_mq_unlink`.
    pub fn call(number: i64) -> Denied {
        Denied { number, argument: None }
    }

    /// Only calls whose argument `nth` (from 0) is `value`, as of prctl(2): 0, PR_SET_PDEATHSIG.
    pub fn call_with(number: i64, nth: u8, value: u64) -> Denied {
        Denied { number, argument: Some((nth, value)) }
    }

    fn rules(self) -> Vec<SeccompRule> {
        let Some((nth, value)) = self.argument else { return Vec::new() };
        // An int has 32 bits, and what stands in the others of its register is no matter.
        let length = SeccompCmpArgLen::Dword;
        let condition = SeccompCondition::new(nth, length, SeccompCmpOp::Eq, value);
        let rule = SeccompRule::new(vec![condition.expect("an argument")]);
        vec![rule.expect("a rule")]
    }
}

/// Starts `command`; it and all that it starts get `errno` from the calls that are `denied`. None, said aloud,
/// where this kernel takes no filter. The rest of this process is as it was: a filter is of the thread that takes
/// it, and of what that starts.
pub fn start_denied(command: &mut Command, denied: &[Denied], errno: i32) -> Option<Child> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in denied {
        calls.entry(call.number).or_default().extend(call.rules());
    }
    let arch = std::env::consts::ARCH.try_into().ok();
    let Some(arch) = arch else {
        say("skipped denied calls: no filter is known for this architecture");
        return None;
    };
    let deny = SeccompAction::Errno(errno as u32);
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, deny, arch).expect("a filter");
    let filter: BpfProgram = filter.try_into().expect("a short filter");
    let start = || match apply_filter(&filter) {
        Ok(()) => Ok(command.spawn().expect("start the program")),
        Err(error) => Err(format!("skipped denied calls: {error}")),
    };
    let started = std::thread::scope(|scope| scope.spawn(start).join().expect("a thread"));
    started.map_err(|why| say(&why)).ok()
}

/// Runs a command to its end as [`start_denied`] does.
pub fn output_denied(command: &mut Command, denied: &[Denied], errno: i32) -> Option<Said> {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    start_denied(command, denied, errno).map(|mut child| collect(&mut child, HUNG))
}

impl Bench {
    /// As [`Bench::run`] of a program that gets `errno` from some calls. None, said aloud, where calls can't be denied.
    pub fn run_denied(&self, denied: &[Denied], errno: i32, line: &str) -> Option<Said> {
        output_denied(&mut self.line(line), denied, errno)
    }

    /// As [`Bench::start`] of such a program.
    pub fn start_denied(&self, denied: &[Denied], errno: i32, line: &str) -> Option<Running> {
        use std::os::unix::process::CommandExt;
        let mut command = self.line(line);
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        start_denied(&mut command, denied, errno).map(|child| Running { child })
    }
}
