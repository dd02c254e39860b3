//! Fragments that came before their turn, and the count of what came late or twice.

use std::collections::BTreeMap;

/// Where a fragment belongs: its message, and its number in it.
pub type FragmentId = (u64, u32);

/// What a fragment carries.
pub struct Part {
    /// Its bytes of the message.
    pub bytes: Box<[u8]>,
    /// Whether the message ends with it.
    pub last: bool,
}

/// What is kept until its turn. A sender gets no credit for it: there is at most a window of it.
#[derive(Default)]
pub struct Early {
    parts: BTreeMap<FragmentId, Part>,
    /// Fragments that came after one that was sent later.
    pub reordered: u64,
    /// Fragments that came again.
    pub duplicated: u64,
}

impl Early {
    /// Whether nothing waits for its turn.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Keeps what came for `place` while `wanted` is the next to come, unless it is there already.
    pub fn keep(&mut self, place: FragmentId, part: Part, wanted: FragmentId) {
        if place < wanted || self.parts.contains_key(&place) {
            self.duplicated += 1;
            return;
        }
        let overtaken = self.parts.last_key_value().is_some_and(|(newest, _)| place < *newest);
        self.reordered += u64::from(overtaken);
        self.parts.insert(place, part);
    }

    /// Notes that `fragments` were put in their places past what waits here.
    #[inline(always)]
    pub fn passed_by(&mut self, fragments: u32) {
        if !self.is_empty() {
            self.reordered += u64::from(fragments);
        }
    }

    /// Gives out what is kept for `place`.
    pub fn take(&mut self, place: FragmentId) -> Option<Part> {
        self.parts.remove(&place)
    }

    /// Drops what came again, to its place, while it was kept here too.
    pub fn forget_before(&mut self, wanted: FragmentId) {
        while let Some(again) = self.parts.first_entry()
            && *again.key() < wanted
        {
            again.remove();
            self.duplicated += 1;
        }
    }

    /// How many fragments of a message are kept.
    pub fn of(&self, message: u64) -> u64 {
        self.parts.range((message, 0)..(message + 1, 0)).count() as u64
    }
}
