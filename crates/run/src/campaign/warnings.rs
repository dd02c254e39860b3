//! What the reader of the results should know of the circumstances: told at once, and kept.

use std::path::Path;

use super::Campaign;
use machine::noise::load;
use store::StoreError;

/// A load average, over a minute, from which on the machine counts as busy: above what a run
/// of our own leaves behind.
const BUSY: f64 = 1.5;

impl Campaign<'_> {
    pub(super) fn warn(&mut self, text: &str) -> Result<(), StoreError> {
        self.with.progress.warning(text);
        self.with.store.warn(self.run, text)
    }

    pub(super) fn warn_if_loaded(&mut self) -> Result<(), StoreError> {
        match load(Path::new("/")) {
            Some(load) if load.one_minute > BUSY => self.warn(&format!(
                "the machine was busy before the run began (load average {:.1} over a minute): \
                 let it calm down, and measure again",
                load.one_minute
            )),
            _ => Ok(()),
        }
    }
}
