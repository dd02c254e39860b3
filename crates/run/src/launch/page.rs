//! The page of one initiator: commands to one worker, and the initiator's samples. The first initiator's
//! commands go to the responder over its own page, and to each other initiator over that one's. Commands
//! pass between stretches, never inside the timed loop.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sys::parking::{self, Parking};
use sys::shared::{LINE, Mapping, PAGE};

/// What the first initiator asks the other workers to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Answer the first initiator's first round trip since set-up. To the responder alone.
    First,
    /// Make, or answer, so many checked round trips.
    Verify(u64),
    /// Take part in `lead` untimed operations of the workload, then in `samples` of `batch` each.
    Exchange {
        /// Operations that are not timed.
        lead: u64,
        /// How many samples follow; none in the warm-up.
        samples: u64,
        /// Operations of each.
        batch: u64,
    },
    /// Answer what the initiator does once all is timed. To the responder alone.
    Finish,
    /// Nothing follows.
    Stop,
}

impl Command {
    /// Bytes of one that goes over the mechanism itself.
    pub const BYTES: usize = 32;

    fn words(self) -> [u64; 4] {
        match self {
            Command::Verify(count) => [1, count, 0, 0],
            Command::Exchange { lead, samples, batch } => [2, lead, samples, batch],
            Command::Stop => [3, 0, 0, 0],
            Command::First => [4, 0, 0, 0],
            Command::Finish => [5, 0, 0, 0],
        }
    }

    fn of(words: [u64; 4]) -> Command {
        match words {
            [1, count, ..] => Command::Verify(count),
            [2, lead, samples, batch] => Command::Exchange { lead, samples, batch },
            [4, ..] => Command::First,
            [5, ..] => Command::Finish,
            _ => Command::Stop,
        }
    }

    /// How many operations it asks for; None of more than can be counted.
    pub fn operations(self) -> Option<u64> {
        match self {
            Command::Verify(count) => Some(count),
            Command::Exchange { lead, samples, batch } => {
                samples.checked_mul(batch)?.checked_add(lead)
            }
            Command::First | Command::Finish | Command::Stop => Some(0),
        }
    }

    /// As bytes, for a partner that shares no memory.
    pub fn to_bytes(self) -> [u8; Command::BYTES] {
        let mut bytes = [0; Command::BYTES];
        for (place, word) in bytes.chunks_mut(8).zip(self.words()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// From such bytes.
    pub fn from_bytes(bytes: &[u8; Command::BYTES]) -> Command {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Command::of(words)
    }
}

/// The shared page and the samples behind it.
pub struct Page {
    mapping: Mapping,
}

const ISSUED: usize = LINE;
const DONE: usize = 2 * LINE;
const DONE_PARKING: usize = 3 * LINE;
/// Of a command; and samples from [`PAGE`] on: words of 64 bits.
const WORDS: usize = 4 * LINE;

impl Page {
    /// A page with room for `samples` samples.
    pub fn new(samples: usize) -> io::Result<Page> {
        let bytes = samples.checked_mul(8).and_then(|number| number.checked_add(PAGE));
        Ok(Page { mapping: Mapping::with_wide_words(bytes, WORDS)? })
    }

    /// Where it lies in memory.
    pub fn place(&self) -> Range<usize> {
        self.mapping.place_in_memory()
    }

    fn issued(&self) -> &AtomicU32 {
        self.mapping.word(ISSUED)
    }

    fn parking(&self) -> Parking<'_> {
        Parking::new(self.mapping.word(0), parking::flags(false))
    }

    /// Issues a command. The one before must have been carried out.
    pub fn issue(&self, command: Command) {
        for (place, word) in self.mapping.words(WORDS).iter().zip(command.words()) {
            place.store(word, Ordering::Relaxed);
        }
        self.issued().fetch_add(1, Ordering::Release);
        self.parking().wake();
    }

    /// Waits for the command after the first `taken`.
    pub fn next_command(&self, taken: u32) -> Command {
        let ready = || (self.issued().load(Ordering::Acquire) > taken).then_some(());
        self.parking().wait_for(ready);
        let words = self.mapping.words(WORDS);
        Command::of([0, 1, 2, 3].map(|at: usize| words[at].load(Ordering::Relaxed)))
    }

    /// Says that one more command has been carried out. Only for commands that are acknowledged.
    pub fn carried_out(&self) {
        self.mapping.word(DONE).fetch_add(1, Ordering::Release);
        self.done_parking().wake();
    }

    /// Waits until every command that was issued has been carried out.
    pub fn wait_until_carried_out(&self) {
        let issued = self.issued().load(Ordering::Relaxed);
        let done = self.mapping.word(DONE);
        self.done_parking().wait_for(|| (done.load(Ordering::Acquire) == issued).then_some(()));
    }

    fn done_parking(&self) -> Parking<'_> {
        Parking::new(self.mapping.word(DONE_PARKING), parking::flags(false))
    }

    pub fn room(&self) -> usize {
        (self.mapping.bytes() - PAGE) / 8
    }

    /// The first `count` samples, in ticks.
    pub fn samples(&self, count: usize) -> &[AtomicU64] {
        &self.mapping.words(PAGE)[..count]
    }

    /// Faults in what `count` samples need, in the caller's address space.
    pub fn populate(&self, count: usize) -> io::Result<()> {
        self.mapping.populate(PAGE + count * 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn commands_pass_in_order() {
        let page = Arc::new(Page::new(10).unwrap());
        let sent = [
            Command::First,
            Command::Verify(2),
            Command::Exchange { lead: 1, samples: 2, batch: 3 },
            Command::Finish,
            Command::Stop,
        ];
        for (taken, command) in sent.into_iter().enumerate() {
            page.issue(command);
            assert_eq!(page.next_command(taken as u32), command);
            assert_eq!(Command::from_bytes(&command.to_bytes()), command);
        }
        let waiting = page.clone();
        let waiter = std::thread::spawn(move || waiting.next_command(5));
        page.issue(Command::Verify(9));
        assert_eq!(waiter.join().unwrap(), Command::Verify(9));
    }

    #[test]
    fn whoever_issues_can_wait_until_all_is_carried_out() {
        let page = Arc::new(Page::new(10).unwrap());
        page.wait_until_carried_out(); // nothing was issued
        let partner = page.clone();
        let worker = std::thread::spawn(move || {
            for taken in 0..3 {
                let Command::Verify(nth) = partner.next_command(taken) else { unreachable!() };
                partner.samples(10)[0].store(nth, Ordering::Relaxed);
                partner.carried_out();
            }
        });
        for nth in 1..=3 {
            page.issue(Command::Verify(nth));
            page.wait_until_carried_out();
            assert_eq!(page.samples(10)[0].load(Ordering::Relaxed), nth);
        }
        worker.join().unwrap();
    }

    #[test]
    fn more_operations_than_can_be_counted_are_noticed() {
        let asked = |lead, samples, batch| Command::Exchange { lead, samples, batch }.operations();
        assert_eq!(asked(3, 4, 5), Some(23));
        assert_eq!((asked(0, u64::MAX, 2), asked(1, u64::MAX, 1)), (None, None));
    }

    #[test]
    fn there_is_room_for_what_was_asked() {
        let page = Page::new(1000).unwrap();
        page.populate(1000).unwrap();
        page.samples(1000)[999].store(5, Ordering::Relaxed);
    }
}
