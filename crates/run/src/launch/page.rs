//! The page that both workers of a launch share: the initiator's commands to the responder,
//! and the samples. Commands pass between stretches, never inside the timed loop.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sys::parking::{self, Parking};
use sys::shared::{LINE, Mapping, PAGE};

/// What the initiator asks the responder to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Answer one round trip, the first since set-up.
    First,
    /// Answer so many checked round trips.
    Verify(u64),
    /// Take part in `lead` untimed operations of the workload, then in `samples` of `batch` each.
    Exchange {
        /// Operations that nobody times.
        lead: u64,
        /// How many samples follow; none in the warm-up.
        samples: u64,
        /// Operations of each.
        batch: u64,
    },
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
        }
    }

    fn of(words: [u64; 4]) -> Command {
        match words {
            [1, count, ..] => Command::Verify(count),
            [2, lead, samples, batch] => Command::Exchange { lead, samples, batch },
            [4, ..] => Command::First,
            _ => Command::Stop,
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
const WORDS: usize = 2 * LINE;

impl Page {
    /// A page with room for `samples` samples.
    pub fn new(samples: usize) -> io::Result<Page> {
        Ok(Page {
            mapping: Mapping::new(samples.checked_mul(8).and_then(|it| it.checked_add(PAGE)))?,
        })
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

    /// Room for samples.
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
            Command::Stop,
        ];
        for (taken, command) in sent.into_iter().enumerate() {
            page.issue(command);
            assert_eq!(page.next_command(taken as u32), command);
            assert_eq!(Command::from_bytes(&command.to_bytes()), command);
        }
        let waiting = page.clone();
        let waiter = std::thread::spawn(move || waiting.next_command(4));
        page.issue(Command::Verify(9));
        assert_eq!(waiter.join().unwrap(), Command::Verify(9));
    }

    #[test]
    fn there_is_room_for_what_was_asked() {
        let page = Page::new(1000).unwrap();
        assert!(page.room() >= 1000);
        page.populate(1000).unwrap();
        page.samples(1000)[999].store(5, Ordering::Relaxed);
    }
}
