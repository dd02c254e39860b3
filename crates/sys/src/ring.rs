//! Rings of messages in shared memory, each for one producer and one consumer.
//!
//! A ring is reached through its two halves alone, a [`Writer`] and a [`Reader`]: [`two`] makes the
//! mapping, keeps it to itself, and gives each half out once. Neither can be cloned, and both are
//! used by `&mut`, so no safe code of a process can touch a slot out of turn. The protocol is in
//! `protocol`, the memory in `slots`.
//!
//! A fork copies both halves: of two processes that have one, the first to use it may (`claim`).

mod protocol;
mod slots;

use std::io;
use std::sync::Arc;

use self::slots::{Slot, Slots};
use super::claim::Claim;
use super::shared::{LINE, Mapping, Word};
use super::sync;

pub use self::protocol::{Reader, Wait, Writer};

/// Lines before the slots: released count, consumer's parking word, producer's parking word, and
/// the claims to both halves. Pairs of lines stay together, since processors fetch a line's other half with it.
const HEAD: usize = 4 * LINE;

/// Both halves of a ring.
pub type Halves<W> = (Writer<W>, Reader<W>);

/// What a ring needs of the machine, before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots in a ring, a power of two.
    count: usize,
    /// Bytes that a message takes at most.
    room: usize,
    bytes: usize,
}

impl Shape {
    /// Rings for messages of at most `room` bytes whose slots take about `bytes`: at least two slots, at most `most`
    /// (a power of two, as the number of slots is), or what packs into as many lines. None where no number
    /// holds what they take, or 32 bits not the length of a message or the number of slots.
    pub fn new(room: usize, bytes: usize, most: usize) -> Option<Shape> {
        let stride = Slots::stride(room)?;
        let most = most * (LINE / stride).max(1);
        let count = (bytes / stride).clamp(2, most).next_power_of_two();
        let bytes = Slots::bytes(count, room)?.checked_add(HEAD)?;
        let _in_32_bits = (u32::try_from(room).ok()?, u32::try_from(count).ok()?);
        Some(Shape { count, room, bytes })
    }

    pub fn slots(&self) -> usize {
        self.count
    }
}

/// Two rings in one mapping of their own. `parking` makes a waiting place of a word that is zero;
/// it is asked for the consumer's and then the producer's of each ring.
///
/// # Errors
/// What mmap(2) says, as `failed` puts it; what `parking` says.
pub fn two<W: Wait + Clone, E>(
    shape: Shape,
    failed: impl FnOnce(io::Error) -> E,
    mut parking: impl FnMut(Word) -> Result<W, E>,
) -> Result<[Halves<W>; 2], E> {
    let mapping = Arc::new(Mapping::new(shape.bytes.checked_mul(2)).map_err(failed)?);
    let mut ring = |at: usize| {
        let word = |line: usize| Word::new(&mapping, at + line * LINE);
        let (consumer, producer) = (parking(word(1))?, parking(word(2))?);
        let claims = [0, 4].map(|byte| Claim::new(Word::new(&mapping, at + 3 * LINE + byte)));
        let slots = Slots::new(mapping.clone(), at + HEAD, shape.count, shape.room);
        // SAFETY: the mapping is new, so all is zero, and nobody has it but this function and what
        // it makes. Of that, the parking words and claims lie in lines of their own, and a `Word`
        // leads to its four bytes only. The slots and the released count go into this pair of halves and
        // nowhere else: the two rings don't overlap, each being `shape.bytes` long.
        Ok(unsafe { protocol::halves(slots, word(0), claims, consumer, producer) })
    };
    Ok([ring(0)?, ring(shape.bytes)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parking::{Parking, flags};

    #[derive(Clone)]
    struct Sleep(Word);

    impl Wait for Sleep {
        fn wait<T>(&self, ready: impl FnMut() -> Option<T>) -> T {
            Parking::new(&self.0, flags(true)).wait_for(ready)
        }

        fn wake(&self) {
            Parking::new(&self.0, flags(true)).wake();
        }
    }

    /// Of one byte, of a line and more, and each through every slot: for Miri, which sees every access.
    #[test]
    fn messages_of_any_length_come_as_they_went() {
        const LENGTHS: [usize; 3] = [1, 61, 150];
        let shape = Shape::new(150, 0, 2).unwrap();
        let rings = two(shape, |error| error, |word| Ok(Sleep(word))).unwrap();
        let [(mut there, mut arrives), (mut back, mut returns)] = rings;
        let message = |nth: usize| vec![nth as u8; LENGTHS[nth % LENGTHS.len()]];
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for nth in 0..9 {
                    let mut into = vec![0xFF; LENGTHS[nth % LENGTHS.len()]];
                    arrives.recv(&mut into).unwrap();
                    back.send(&into);
                }
            });
            for nth in 0..9 {
                there.send(&message(nth));
                let mut into = vec![0xFF; message(nth).len()];
                returns.recv(&mut into).unwrap();
                assert_eq!(into, message(nth));
            }
        });
    }
}
