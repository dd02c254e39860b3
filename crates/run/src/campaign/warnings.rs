//! What the reader of the results should know of the circumstances: printed at once, and stored.

use model::words::counted;
use std::path::Path;

use super::{Campaign, LiveCase};
use machine::energy::PackageCounters;
use machine::noise::load;
use store::StoreError;

/// A load average, over a minute, from which on the machine counts as busy: above what a run
/// of our own leaves behind.
const BUSY: f64 = 2.5;

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

    /// Says once why there is no energy, where it was asked for.
    pub(super) fn warn_if_energy_is_unreadable(&mut self) -> Result<(), StoreError> {
        if !self.request.energy {
            return Ok(());
        }
        match PackageCounters::open(Path::new("/")) {
            Ok(_) => Ok(()),
            Err(why) => self.warn(&format!("energy: not readable here: {why}")),
        }
    }

    /// Names the cases of some groups whose launches take fewer samples than were asked for.
    pub(super) fn warn_of_fewer_samples(&mut self, of: &[usize]) -> Result<(), StoreError> {
        let cases = of.iter().flat_map(|nth| &self.groups[*nth].cases);
        let asked = |live: &LiveCase| self.request.samples_of(live.case.workload);
        let fewer = |live: &&LiveCase| asked(live).is_some_and(|asked| live.samples < asked);
        let short: Vec<&LiveCase> =
            cases.filter(|live| !live.given_up && !live.is_observed()).filter(fewer).collect();
        let Some(least) = short.iter().min_by_key(|live| live.samples) else { return Ok(()) };
        let bytes = least.case.message_bytes.map_or_else(String::new, |it| format!(", {it} B"));
        let text = format!(
            "launches of {} take fewer samples than were asked for, down to {} of {} ({}{bytes}), so that all cases \
             get their rounds in the budget: a longer --budget takes more",
            counted(short.len() as u64, "case"),
            least.samples,
            asked(least).unwrap_or_default(),
            least.case.variant,
        );
        self.warn(&text)
    }
}
