//! `seqlock`: one message each way in shared memory, guarded by a sequence number, as the kernel hands out
//! the time of day (Linux, Documentation/locking/seqlock.rst). The number is odd while the writer writes; the
//! reader copies, and copies again where the number has changed meanwhile. Here the writer also waits until
//! its last message was read: nothing is overwritten, so that every message arrives.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::socket::wrong_length;
use super::{
    Carries, Deadline, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Options, Traits,
    Visitor, Waits,
};
use std::sync::Arc;
use sys::shared::{LINE, Mapping};

pub struct Seqlock;

/// Words of a line: the writer's number, the reader's, and the message don't share one.
const WORDS: usize = LINE / 8;

/// One direction: words of its own mapping.
#[derive(Clone)]
struct Slot(Arc<Mapping>);

pub struct SeqlockEnd {
    out: Slot,
    into: Slot,
    sent: u64,
    received: u64,
}

impl Mechanism for Seqlock {
    const NAME: &'static str = "seqlock";
    const SUMMARY: &'static str = "one message in shared memory, guarded by a sequence number";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);

    fn waits(_options: &Options) -> Waits {
        Waits::Spinning
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let bytes = spec.message_bytes.checked_add(3 * LINE + 7);
        let slot = || Mapping::with_wide_words(bytes, 0).map(|mapping| Slot(Arc::new(mapping)));
        let failed = OpenError::call("mmap");
        let (there, back) = slot().and_then(|there| Ok((there, slot()?))).map_err(failed)?;
        let end = |out: &Slot, into: &Slot| {
            let (out, into) = (out.clone(), into.clone());
            SeqlockEnd { out, into, sent: 0, received: 0 }
        };
        Ok(visitor.visit(Opened::new(end(&there, &back), end(&back, &there))))
    }
}

impl Slot {
    /// Twice the number of the message that is there, and one more while the next is written.
    fn sequence(&self) -> &AtomicU64 {
        &self.0.words(0)[0]
    }

    fn read(&self) -> &AtomicU64 {
        &self.0.words(0)[WORDS]
    }

    /// The length of the message, and the message.
    fn message(&self) -> (&AtomicU64, &[AtomicU64]) {
        let words = &self.0.words(0)[2 * WORDS..];
        (&words[0], &words[1..])
    }
}

impl Endpoint for SeqlockEnd {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        self.out.0.populate(self.out.0.bytes())
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let slot = &self.out;
        while slot.read().load(Ordering::Acquire) != self.sent {
            std::hint::spin_loop();
        }
        slot.sequence().store(2 * self.sent + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        let (length, words) = slot.message();
        length.store(message.len() as u64, Ordering::Relaxed);
        for (word, bytes) in words.iter().zip(message.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
        }
        self.sent += 1;
        slot.sequence().store(2 * self.sent, Ordering::Release);
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let slot = &self.into;
        let wanted = 2 * (self.received + 1);
        loop {
            if slot.sequence().load(Ordering::Acquire) != wanted {
                std::hint::spin_loop();
                continue;
            }
            let (length, words) = slot.message();
            let came = length.load(Ordering::Relaxed);
            for (bytes, word) in message.chunks_mut(8).zip(words) {
                let whole = word.load(Ordering::Relaxed).to_le_bytes();
                bytes.copy_from_slice(&whole[..bytes.len()]);
            }
            fence(Ordering::Acquire);
            if slot.sequence().load(Ordering::Relaxed) != wanted {
                continue;
            }
            self.received += 1;
            slot.read().store(self.received, Ordering::Release);
            if came != message.len() as u64 {
                return Err(wrong_length("seqlock", came as usize, message.len()));
            }
            return Ok(());
        }
    }
}
