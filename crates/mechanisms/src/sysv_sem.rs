//! `sysv-sem`: a set of two System V semaphores, one each way (semop(2)). Carries a wake-up,
//! no bytes. A semaphore counts to 32,767 (SEMVMX): a sender that far ahead yields until the
//! receiver has taken some.

use std::io;

use rustix::io::Errno;

use super::residue::{NAMESPACE, private};
use super::{
    Carries, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options,
    Residue, Traits, Visitor,
};
use sys::failed::failed_in;
use sys::system_v::{self, ObjectKind};

pub struct SysvSem;

/// One side: the set, which semaphore it raises, which it takes from.
pub struct SysvSemEnd {
    set: i32,
    raises: u16,
    takes: u16,
}

impl Mechanism for SysvSem {
    const NAME: &'static str = "sysv-sem";
    const SUMMARY: &'static str = "two System V semaphores, one each way";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);
    const OPTIONS: &'static [OptionSpec] = &[NAMESPACE];
    const LEAVES_OBJECTS: bool = true;

    fn wants_namespace(options: &Options) -> bool {
        private(options, Self::OPTIONS)
    }

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let mut residue = Residue::of_objects()?;
        let semaphores = |key| system_v::make_semaphores(key, 2);
        let set =
            residue.make(ObjectKind::Semaphores, semaphores).map_err(OpenError::call("semget"))?;
        let end = |raises, takes| SysvSemEnd { set, raises, takes };
        Ok(visitor.visit(Opened::new(end(0, 1), end(1, 0)).residue(residue)))
    }
}

impl SysvSemEnd {
    #[inline(always)]
    fn change(&self, nth: u16, by: i16) -> io::Result<()> {
        loop {
            match system_v::change_semaphore(self.set, nth, by) {
                Ok(()) => return Ok(()),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    Some(Errno::RANGE) => rustix::thread::sched_yield(),
                    _ => return Err(failed_in("semop")(error)),
                },
            }
        }
    }
}

impl Endpoint for SysvSemEnd {
    #[inline(always)]
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        self.change(self.raises, 1)
    }

    #[inline(always)]
    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        self.change(self.takes, -1)
    }
}
