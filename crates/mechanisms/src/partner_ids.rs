//! Partners that must know each other's process and thread ids exchange them once, in `start`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use rustix::thread::futex::Flags;

use super::OpenError;
use sys::failed::try_futex;
use sys::parking::Parking;
use sys::shared::{LINE, Mapping, Word};
use sys::signal::Thread;

/// One side's view of the shared ids.
pub struct PartnerIds {
    mine: IdSlot,
    partners: IdSlot,
}

/// Where one side stores its ids.
#[derive(Clone)]
struct IdSlot {
    process: Word,
    /// Zero until both ids are stored.
    thread: Word,
    /// Where the other side waits for them.
    waiting: Word,
}

impl IdSlot {
    fn new(mapping: &Arc<Mapping>, offset: usize) -> IdSlot {
        let word = |at| Word::new(mapping, offset + at);
        IdSlot { process: word(0), thread: word(4), waiting: word(LINE) }
    }
}

impl PartnerIds {
    /// The initiator's and the responder's view.
    pub fn pair() -> Result<(PartnerIds, PartnerIds), OpenError> {
        try_futex().map_err(OpenError::call("futex"))?;
        let mapping = Mapping::new(4 * LINE).map_err(OpenError::call("mmap"))?;
        let mapping = Arc::new(mapping);
        let (first, second) = (IdSlot::new(&mapping, 0), IdSlot::new(&mapping, 2 * LINE));
        let ids = |mine: &IdSlot, partners: &IdSlot| PartnerIds {
            mine: mine.clone(),
            partners: partners.clone(),
        };
        Ok((ids(&first, &second), ids(&second, &first)))
    }

    /// Stores the ids of the calling thread, waits for the partner's, and returns those.
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
