//! Partners that must know each other's process: met once, in `start`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use rustix::thread::futex::Flags;

use super::OpenError;
use sys::parking::Parking;
use sys::shared::{LINE, Mapping, Word};
use sys::signal::Thread;

/// One side's view of the meeting place.
pub struct Kin {
    mine: Place,
    partners: Place,
}

/// Where one side says who it is.
#[derive(Clone)]
struct Place {
    process: Word,
    /// Zero until the place is taken.
    thread: Word,
    /// Where the other side waits for that.
    waiting: Word,
}

impl Place {
    fn new(mapping: &Arc<Mapping>, offset: usize) -> Place {
        let word = |at| Word::new(mapping, offset + at);
        Place { process: word(0), thread: word(4), waiting: word(LINE) }
    }
}

impl Kin {
    /// The initiator's and the responder's view.
    pub fn pair() -> Result<(Kin, Kin), OpenError> {
        let mapping = Mapping::new(4 * LINE).map_err(OpenError::call("mmap", "free memory"))?;
        let mapping = Arc::new(mapping);
        let (first, second) = (Place::new(&mapping, 0), Place::new(&mapping, 2 * LINE));
        let kin =
            |mine: &Place, partners: &Place| Kin { mine: mine.clone(), partners: partners.clone() };
        Ok((kin(&first, &second), kin(&second, &first)))
    }

    /// Says who the calling thread is, and waits for the partner to do the same.
    pub fn meet(&self) -> io::Result<Thread> {
        let this = Thread::current();
        self.mine.process.store(this.process as u32, Release);
        self.mine.thread.store(this.thread as u32, Release);
        Parking::new(&self.mine.waiting, Flags::empty()).wake();
        let come = || (self.partners.thread.load(Acquire) != 0).then_some(());
        Parking::new(&self.partners.waiting, Flags::empty()).wait_for(come);
        Ok(Thread {
            process: self.partners.process.load(Acquire) as i32,
            thread: self.partners.thread.load(Acquire) as i32,
        })
    }
}
