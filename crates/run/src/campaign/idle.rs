//! What the packages of this machine use while nothing is asked of them: once a round, right before its first
//! launch, whose processes are there already and asleep. `--energy` takes as much off every launch of the round.

use std::path::Path;
use std::time::Duration;

use crate::launch::Interrupt;
use machine::energy::PackageCounters;
use model::energy::Energy;

/// How long the machine is left alone for it: a hundred steps of the counters, which move about once a millisecond.
const LEFT_ALONE: Duration = Duration::from_millis(100);

/// The idle stretch of the round under way.
#[derive(Default)]
pub(super) struct Idle {
    counters: Option<PackageCounters>,
    due: bool,
    found: Option<Energy>,
}

impl Idle {
    /// Asks for a stretch in the next round, where that is `wanted` and the counters can be read.
    pub(super) fn ask(&mut self, wanted: bool) {
        if wanted && self.counters.is_none() {
            self.counters = PackageCounters::open(Path::new("/")).ok();
        }
        self.due = wanted;
    }

    /// Leaves the machine alone, once, if that was asked for. A signal shortens it.
    pub(super) fn measure(&mut self, interrupt: &Interrupt) {
        let due = std::mem::take(&mut self.due);
        let Some(counters) = self.counters.as_ref().filter(|_| due) else { return };
        let before = counters.take();
        interrupt.sleep(LEFT_ALONE);
        let both = before.zip(counters.take());
        self.found = both.and_then(|(before, after)| counters.between(&before, &after));
    }

    /// What the round found.
    pub(super) fn take(&mut self) -> Option<Energy> {
        self.found.take()
    }
}
