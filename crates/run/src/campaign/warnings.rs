//! What the reader of the results should know of the circumstances: printed at once, and stored.

use model::words::counted;
use std::path::Path;

use super::{Campaign, LiveCase};
use crate::plan::{Case, Plan};
use machine::doctor::Measured;
use machine::energy::PackageCounters;
use machine::format_cpu_list;
use machine::noise::load;
use model::clock::ClockKind;
use model::host::Host;
use store::StoreError;
use sys::affinity::Affinity;

/// A load average, over a minute, from which on the machine counts as busy: above what a run
/// of our own leaves behind.
const BUSY: f64 = 2.5;

impl Campaign<'_> {
    /// Says it at once and keeps it, but nothing twice in the same words.
    pub(super) fn warn(&mut self, text: &str) -> Result<(), StoreError> {
        if !self.warned.insert(text.to_string()) {
            return Ok(());
        }
        self.with.progress.warning(text);
        self.with.store.warn(self.run, text)
    }

    /// Says what of the machine a reader of its results should know.
    pub(super) fn warn_of_the_machine(
        &mut self,
        host: &Host,
        plan: &Plan,
    ) -> Result<(), StoreError> {
        self.warn_if_energy_is_unreadable()?;
        self.warn_if_loaded()?;
        self.warn_of_settings(host, plan)
    }

    fn warn_if_loaded(&mut self) -> Result<(), StoreError> {
        match load(Path::new("/")) {
            Some(load) if load.one_minute > BUSY => self.warn(&format!(
                "the machine was busy before the run began (load average {:.1} over a minute): \
                 let it calm down, and measure again",
                load.one_minute
            )),
            _ => Ok(()),
        }
    }

    /// Says that the kernel gave up the clock of the samples meanwhile, where it did.
    pub(super) fn warn_of_the_clock(&mut self) -> Result<(), StoreError> {
        let (now, why) = sys::clock::choose(Path::new("/"));
        match (self.clock.kind, why) {
            (ClockKind::Tsc, Some(why)) if now != ClockKind::Tsc => self.warn(&format!(
                "the clock changed during the run: {why}; samples were timed by the counter to the end, and may be \
                 wrong: measure anew"
            )),
            _ => Ok(()),
        }
    }

    /// Says what of the doctor's findings shapes the cases of a plan.
    fn warn_of_settings(&mut self, host: &Host, plan: &Plan) -> Result<(), StoreError> {
        let cases: Vec<&Case> = plan.groups.iter().flat_map(|group| &group.cases).collect();
        let mechanisms: Vec<&str> = cases.iter().map(|case| case.variant.entry.name).collect();
        let measured = Measured {
            mechanisms: &mechanisms,
            pinned: cases.iter().any(|case| case.pinned_cpus().iter().any(Option::is_some)),
            two_cpus: cases.iter().any(|case| !case.place.shares_one_cpu()),
        };
        let found = machine::doctor::warnings(&host.findings, &measured);
        found.iter().try_for_each(|line| self.warn(line))
    }

    /// Says once why there is no energy, where it was asked for.
    fn warn_if_energy_is_unreadable(&mut self) -> Result<(), StoreError> {
        if !self.request.energy {
            return Ok(());
        }
        match PackageCounters::open(Path::new("/")) {
            Ok(_) => Ok(()),
            Err(why) => self.warn(&format!("energy: not readable here: {why}")),
        }
    }

    /// Says which CPUs were taken from the run meanwhile, as by a cpuset that shrank.
    pub(super) fn warn_of_lost_cpus(&mut self) -> Result<(), StoreError> {
        let before = self.with.store.run(self.run)?.host.limits.affinity.unwrap_or_default();
        let Ok(now) = Affinity::here().map(|affinity| affinity.cpus()) else { return Ok(()) };
        let lost: Vec<u32> = before.into_iter().filter(|cpu| !now.contains(cpu)).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let noun = if lost.len() == 1 { "CPU" } else { "CPUs" };
        let lost = format_cpu_list(&lost);
        self.warn(&format!(
            "{noun} {lost} could not be used any more before the run ended (a cpuset or an affinity that changed): what \
             ran there failed, and what is placed freely had less room from then on: measure anew"
        ))
    }

    /// Names the cases of some groups whose launches take fewer samples than were asked for.
    pub(super) fn warn_of_fewer_samples(&mut self, of: &[usize]) -> Result<(), StoreError> {
        let cases = of.iter().flat_map(|nth| &self.groups[*nth].cases);
        let asked = |live: &LiveCase| self.request.samples_of(live.case.workload);
        let fewer = |live: &&LiveCase| asked(live).is_some_and(|asked| live.samples < asked);
        let short: Vec<&LiveCase> =
            cases.filter(|live| !live.given_up && !live.is_observed()).filter(fewer).collect();
        let Some(least) = short.iter().min_by_key(|live| live.samples) else { return Ok(()) };
        let bytes = least
            .case
            .message_bytes
            .map_or_else(String::new, |message_bytes| format!(", {message_bytes} B"));
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

#[cfg(test)]
mod tests {
    #[test]
    fn checks_speak_of_mechanisms_that_there_are() {
        for name in machine::doctor::named_mechanisms() {
            assert!(mechanisms::MECHANISMS.iter().any(|entry| entry.name == name), "{name}");
        }
    }
}
