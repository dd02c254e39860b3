//! The right of one process to its half of something shared: the first process that uses a half has it.
//!
//! What is single-ended (a ring's producer, the sender of a window, the submission queue of an io_uring) is used
//! by `&mut` and isn't cloned, which is enough among threads. A fork copies it nevertheless: whatever an `Arc` or a
//! static holds is in both processes afterwards, and each has a `&mut` of its own to one memory. No bound on types
//! rules that out, so it is decided where the half is used: a word that both processes see holds the id of its user,
//! and [`crate::process::fork_with_first`] refuses while this process uses a half.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use super::shared::{LINE, Mapping, Word};

/// Halves that this process uses. A copy of such a half in a forked child would believe itself in use there.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// How many halves this process uses.
pub(super) fn in_use() -> usize {
    IN_USE.load(Relaxed)
}

pub(super) struct Claim {
    /// The id of the process that uses the half; 0 before its first use.
    user: Word,
    /// Whether that is this process. Copied by no fork while it is set.
    mine: bool,
}

impl Claim {
    /// A claim by way of `user`, a word that is zero and used by nobody else, but to be read.
    pub(super) fn new(user: Word) -> Claim {
        Claim { user, mine: false }
    }

    /// A claim with a word of its own.
    pub(super) fn alone() -> io::Result<Claim> {
        Ok(Claim::new(Word::new(&Arc::new(Mapping::new(LINE)?), 0)))
    }

    /// To be called before each use: by the one process whose half it is, it returns.
    ///
    /// # Panics
    /// If another process has used the half.
    #[inline(always)]
    pub(super) fn assert(&mut self) {
        if !self.mine {
            self.take();
        }
    }

    #[cold]
    fn take(&mut self) {
        if let Err(user) = self.take_for(process::id()) {
            panic!("process {user} uses this half of what two processes share: a fork copied it");
        }
    }

    /// Takes the half for process `id`, this one; gives whose it is otherwise.
    fn take_for(&mut self, id: u32) -> Result<(), u32> {
        self.user.compare_exchange(0, id, AcqRel, Acquire)?;
        IN_USE.fetch_add(1, Relaxed);
        self.mine = true;
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.mine {
            IN_USE.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{exit_now, fork_with_first};

    /// The child's copy is no claim any more, whichever way it came there.
    #[test]
    #[cfg_attr(miri, ignore = "it forks")]
    fn a_half_is_used_by_the_process_that_used_it_first() {
        let mut claim = Claim::alone().unwrap();
        // SAFETY: the child makes system calls and touches atomics, which needs no lock of another thread.
        let child = match unsafe { libc::fork() } {
            0 => exit_now(i32::from(claim.take_for(process::id()).is_err())),
            child => child,
        };
        let mut status = -1;
        // SAFETY: the status is a place for one integer.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child was first");
        assert_eq!(claim.take_for(process::id()), Err(child as u32));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| claim.assert())).is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn a_process_that_uses_a_half_is_not_forked() {
        let mut claim = Claim::alone().unwrap();
        claim.assert();
        let error = fork_with_first(&mut vec![()], |()| 0).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
    }
}
