//! `seqlock`: one message each way in shared memory, guarded by a sequence number, as the kernel hands out
//! the time of day (Linux, Documentation/locking/seqlock.rst). The number is odd while the writer writes; the
//! reader copies, and copies again where the number has changed meanwhile. Here the writer also waits until
//! its last message was read: nothing is overwritten, so that every message arrives.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::socket::wrong_length;
use super::waiting::{Hybrid, SPIN, Spin, Waiting, spin_is_of_hybrid};
use super::{
    Carries, Choice, Deadline, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened,
    OptionSpec, Options, Traits, Visitor, Waits,
};
use std::sync::Arc;
use sys::shared::{LINE, Mapping, Word};

pub struct Seqlock;

/// Words of a line: the writer's number, the reader's, and the message don't share one.
const WORDS: usize = LINE / 8;

/// Lines of words of 32 bits, by which the reader and the writer wait; those of 64 bits follow.
const PLACES: usize = 2 * LINE;

/// One direction: words of its own mapping.
#[derive(Clone)]
struct Slot<W> {
    memory: Arc<Mapping>,
    /// Where the reader waits for a message, and the writer for its being read.
    reader: W,
    writer: W,
}

pub struct SeqlockEnd<W> {
    out: Slot<W>,
    into: Slot<W>,
    sent: u64,
    received: u64,
}

impl Mechanism for Seqlock {
    const NAME: &'static str = "seqlock";
    const SUMMARY: &'static str = "one message in shared memory, guarded by a sequence number";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);

    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "wait",
            summary: "how a worker waits: spinning, or spinning for a while and then asleep",
            words: &["spin", "hybrid"],
            takes_size: false,
        },
        SPIN,
    ];
    const SHOWN: &'static [&'static str] = &["", "wait=hybrid"];

    fn summary(options: &Options) -> &'static str {
        match options.get(Self::OPTIONS, "wait") {
            Choice::Word("hybrid") => "its reader spins for a while, then sleeps",
            _ => Self::SUMMARY,
        }
    }

    fn waits(options: &Options) -> Waits {
        match options.get(Self::OPTIONS, "wait") {
            Choice::Word("hybrid") => Waits::Asleep,
            _ => Waits::Spinning,
        }
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let wait = spec.options.get(Self::OPTIONS, "wait");
        spin_is_of_hybrid(&spec.options, wait)?;
        match wait {
            Choice::Word("hybrid") => Ok(visitor.visit(slots::<Hybrid>(spec)?)),
            _ => Ok(visitor.visit(slots::<Spin>(spec)?)),
        }
    }
}

/// Both ends of two slots.
fn slots<W: Waiting>(spec: &OpenSpec) -> Result<Opened<SeqlockEnd<W>>, OpenError> {
    let slot = || {
        let bytes = spec.message_bytes.checked_add(PLACES + 3 * LINE + 7);
        let memory = Mapping::with_wide_words(bytes, PLACES).map_err(OpenError::call("mmap"))?;
        let memory = Arc::new(memory);
        let place = |nth: usize| W::new(Word::new(&memory, nth * LINE), spec);
        let (reader, writer) = (place(0)?, place(1)?);
        Ok::<_, OpenError>(Slot { memory, reader, writer })
    };
    let (there, back) = (slot()?, slot()?);
    let end = |out: &Slot<W>, into: &Slot<W>| {
        let (out, into) = (out.clone(), into.clone());
        SeqlockEnd { out, into, sent: 0, received: 0 }
    };
    Ok(Opened::new(end(&there, &back), end(&back, &there)))
}

impl<W: Waiting> Slot<W> {
    /// Twice the number of the message that is there, and one more while the next is written.
    fn sequence(&self) -> &AtomicU64 {
        &self.memory.words(PLACES)[0]
    }

    fn read(&self) -> &AtomicU64 {
        &self.memory.words(PLACES)[WORDS]
    }

    /// The length of the message, and the message.
    fn message(&self) -> (&AtomicU64, &[AtomicU64]) {
        let words = &self.memory.words(PLACES)[2 * WORDS..];
        (&words[0], &words[1..])
    }
}

impl<W: Waiting> Endpoint for SeqlockEnd<W> {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        self.out.memory.populate(self.out.memory.bytes())
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let slot = &self.out;
        let is_read = || (slot.read().load(Ordering::Acquire) == self.sent).then_some(());
        slot.writer.wait(is_read);
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
        slot.reader.wake();
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let slot = &self.into;
        let wanted = 2 * (self.received + 1);
        loop {
            let is_there = || (slot.sequence().load(Ordering::Acquire) == wanted).then_some(());
            slot.reader.wait(is_there);
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
            slot.writer.wake();
            if came != message.len() as u64 {
                return Err(wrong_length("seqlock", came as usize, message.len()));
            }
            return Ok(());
        }
    }
}
