//! How a worker says that its timed part begins and ends: it takes a name that only its launch
//! knows (prctl(2), PR_SET_NAME). The tracepoint of renaming fires for nothing else, so that the
//! marks cost a trace nothing in between; and an unobserved launch doesn't make the call.

use std::ffi::{CStr, CString};
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use rustix::thread;

use super::event::Who;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    cookie: [u8; 6],
}

/// Bytes of a task's name, with the zero at its end (TASK_COMM_LEN).
const NAME: usize = 16;

impl Marks {
    /// Names that no other launch has, but for one chance in two thousand millions.
    ///
    /// # Errors
    /// What getrandom(2) says.
    pub fn random() -> io::Result<Marks> {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut bytes = [0u8; 8];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let mut number = u64::from_le_bytes(bytes);
        let cookie = std::array::from_fn(|_| {
            let letter = LETTERS[(number % 36) as usize];
            number /= 36;
            letter
        });
        Ok(Marks { cookie })
    }

    fn name(&self, who: Who, begins: bool) -> [u8; NAME] {
        let mut name = *b"ipcmark?????????";
        name[7] = if who == Who::Initiator { b'i' } else { b'r' };
        name[8] = if begins { b'+' } else { b'-' };
        name[9..15].copy_from_slice(&self.cookie);
        name[15] = 0;
        name
    }

    /// The first eight bytes of a name, which tell who, as the programs compare them.
    pub(super) fn head(&self, who: Who) -> [u8; 8] {
        self.name(who, true)[..8].try_into().expect("half a name")
    }

    /// The last eight, which tell the launch, and whether the window begins.
    pub(super) fn tail(&self, begins: bool) -> [u8; 8] {
        self.name(Who::Initiator, begins)[8..].try_into().expect("half a name")
    }
}

/// One worker's marks.
pub struct Marking {
    marks: Marks,
    who: Who,
    own: CString,
}

impl Marking {
    /// The marks of the calling thread, which is `who`.
    pub fn of(marks: Marks, who: Who) -> Marking {
        Marking { marks, who, own: thread::name().unwrap_or_default() }
    }

    /// The timed part begins.
    ///
    /// # Errors
    /// What prctl(2) says: nothing, on any kernel.
    pub fn begin(&self) -> io::Result<()> {
        self.take(&self.marks.name(self.who, true))
    }

    /// It ends; the thread has its own name again.
    ///
    /// # Errors
    /// As `begin`.
    pub fn end(&self) -> io::Result<()> {
        self.take(&self.marks.name(self.who, false))?;
        Ok(thread::set_name(&self.own)?)
    }

    fn take(&self, name: &[u8; NAME]) -> io::Result<()> {
        let name = CStr::from_bytes_with_nul(name).expect("a name ends in a zero");
        Ok(thread::set_name(name)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_launch_role_and_phase() {
        let marks = Marks { cookie: *b"x8k2p0" };
        assert_eq!(&marks.name(Who::Initiator, true), b"ipcmarki+x8k2p0\0");
        assert_eq!(&marks.name(Who::Responder, false), b"ipcmarkr-x8k2p0\0");
        assert_eq!(&marks.head(Who::Responder), b"ipcmarkr");
        assert_eq!(&marks.tail(false), b"-x8k2p0\0");
        assert_ne!(Marks::random().unwrap(), Marks::random().unwrap());
    }

    #[test]
    fn a_thread_has_its_own_name_again_afterwards() {
        let before = thread::name().unwrap();
        let marking = Marking::of(Marks::random().unwrap(), Who::Responder);
        marking.begin().unwrap();
        assert!(thread::name().unwrap().to_bytes().starts_with(b"ipcmarkr+"));
        marking.end().unwrap();
        assert_eq!(thread::name().unwrap(), before);
    }
}
