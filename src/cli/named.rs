//! Which levels a run's user named.

use super::args::RunArgs;
use model::request::Named;

impl RunArgs {
    /// Levels that stand among its arguments: what of these is not measured is told, and no success.
    pub(super) fn named(&self) -> Named {
        Named {
            mechanisms: !self.mechanisms.is_empty(),
            workloads: !self.workload.is_empty(),
            sizes: self.size.is_some(),
            placements: self.names_cpus() || !self.placement.is_empty(),
        }
    }
}
