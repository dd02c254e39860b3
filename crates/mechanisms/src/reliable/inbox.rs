//! Messages on their way in: parts are kept until they, or what can be rebuilt of them, are whole.

use std::collections::BTreeMap;

use super::shape::Shape;
use super::wire::{Header, widened};
use codes::{Coder, LARGEST_BLOCK};

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It belongs to a message that is there already, or was given up.
    Late,
    /// It was there before.
    Twice,
    /// It is in its place, and more is needed.
    Kept,
    /// With it its message is whole.
    Whole,
    /// It is part of no message.
    Wrong,
}

/// A message of which something has come.
#[derive(Default)]
struct Partial {
    length: usize,
    /// Each part, empty until it comes.
    parts: Vec<Vec<u8>>,
    blocks: Vec<bool>,
    message: Vec<u8>,
    whole: bool,
    rebuilt: bool,
}

/// A message that is whole.
pub struct Whole<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Whether something of it was lost and rebuilt.
    pub rebuilt: bool,
}

/// The messages of one direction.
pub struct Inbox {
    shape: Shape,
    coder: Option<Coder>,
    next: u64,
    partial: BTreeMap<u64, Partial>,
    /// What was used before, to be used again.
    used: Partial,
}

impl Inbox {
    pub fn new(shape: Shape, coder: Option<Coder>) -> Inbox {
        Inbox { shape, coder, next: 0, partial: BTreeMap::new(), used: Partial::default() }
    }

    /// The number of the message that is awaited.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether something of a later message has come.
    pub fn is_overtaken(&self) -> bool {
        self.partial.last_key_value().is_some_and(|(number, _)| *number > self.next)
    }

    /// Which of the 32 messages after the awaited one are whole.
    pub fn whole_after(&self) -> u32 {
        let later = self.partial.range(self.next + 1..self.next + 33);
        later
            .filter(|pair| pair.1.whole)
            .fold(0, |sum, (number, _)| sum | 1 << (number - self.next - 1))
    }

    /// The number of the message that a datagram belongs to.
    pub fn number(&self, header: &Header) -> u64 {
        widened(self.next, header.message)
    }

    /// Takes a part of a message.
    pub fn put(&mut self, header: &Header, part: &[u8]) -> Put {
        let (number, length) = (self.number(header), header.length as usize);
        if number < self.next {
            return Put::Late;
        }
        let (shape, place) = (self.shape, usize::from(header.place));
        if length == 0 || length > shape.largest() || place >= shape.datagrams(length) {
            return Put::Wrong;
        }
        let used = &mut self.used;
        let partial = self.partial.entry(number).or_insert_with(|| begin(used, shape, length));
        if partial.length != length || part.is_empty() {
            return Put::Wrong;
        }
        if partial.whole {
            return Put::Late;
        }
        if !partial.parts[place].is_empty() {
            return Put::Twice;
        }
        partial.parts[place].extend_from_slice(part);
        let block = place / shape.total();
        if !partial.blocks[block] && partial.complete(shape, self.coder.as_mut(), block) {
            partial.blocks[block] = true;
            partial.whole = partial.blocks.iter().all(|whole| *whole);
        }
        if partial.whole { Put::Whole } else { Put::Kept }
    }

    /// Shows the awaited message to `with`, if it is whole, and awaits the next.
    pub fn take<T>(&mut self, with: impl FnOnce(Whole) -> T) -> Option<T> {
        let whole = self.partial.first_entry().filter(|entry| *entry.key() == self.next);
        let partial = whole.filter(|entry| entry.get().whole)?.remove();
        self.next += 1;
        let shown = with(Whole { bytes: &partial.message, rebuilt: partial.rebuilt });
        self.used = partial;
        Some(shown)
    }

    /// Gives the awaited message up.
    pub fn pass(&mut self) {
        self.partial.remove(&self.next);
        self.next += 1;
    }
}

fn begin(used: &mut Partial, shape: Shape, length: usize) -> Partial {
    let mut partial = std::mem::take(used);
    partial.parts.iter_mut().for_each(Vec::clear);
    partial.parts.resize(shape.datagrams(length), Vec::new());
    partial.blocks.clear();
    partial.blocks.resize(shape.blocks(length), false);
    partial.message.resize(length, 0);
    (partial.length, partial.whole, partial.rebuilt) = (length, false, false);
    partial
}

impl Partial {
    /// Puts a block together if what came of it suffices.
    fn complete(&mut self, shape: Shape, coder: Option<&mut Coder>, block: usize) -> bool {
        let parts = &self.parts[block * shape.total()..][..shape.total()];
        let came = |parts: &[Vec<u8>]| parts.iter().filter(|part| !part.is_empty()).count();
        if came(parts) < shape.data() {
            return false;
        }
        let into = &mut self.message[shape.block(self.length, block)];
        let Some(coder) = coder else {
            let fits = parts[0].len() == into.len();
            if fits {
                into.copy_from_slice(&parts[0]);
            }
            return fits;
        };
        let mut received = [None; LARGEST_BLOCK];
        for (place, part) in received.iter_mut().zip(parts) {
            *place = (!part.is_empty()).then_some(part.as_slice());
        }
        let whole = coder.decode(&received[..parts.len()], into).is_ok();
        self.rebuilt |= whole && came(&parts[..shape.data()]) < shape.data();
        whole
    }
}
