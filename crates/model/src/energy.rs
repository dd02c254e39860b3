//! Energy that the processor packages of a machine used over a stretch of time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What all packages together used over a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Energy {
    /// By their counters, in µJ.
    pub microjoules: u64,
    /// How long the stretch was, in ns.
    pub ns: u64,
}

impl Energy {
    /// Joules beyond those of a machine that was idle for as long, by what it used while `idle`. Below zero where it
    /// used more then. None where that stretch has no length.
    pub fn beyond(&self, idle: &Energy) -> Option<f64> {
        let share = self.ns as f64 / idle.ns as f64;
        let microjoules = self.microjoules as f64 - share * idle.microjoules as f64;
        (idle.ns > 0).then_some(microjoules / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_power_is_taken_off_for_as_long_as_it_lasted() {
        let idle = Energy { microjoules: 500_000, ns: 100_000_000 };
        let used = Energy { microjoules: 900_000, ns: 50_000_000 };
        assert_eq!(used.beyond(&idle), Some(0.65));
        let less = Energy { microjoules: 200_000, ns: 50_000_000 };
        assert!((less.beyond(&idle).unwrap() + 0.05).abs() < 1e-12, "below zero is a number too");
        assert_eq!(used.beyond(&Energy { ns: 0, ..idle }), None);
    }
}
