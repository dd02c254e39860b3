//! What a thread has used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the calling thread has used since it began (getrusage(2), RUSAGE_THREAD).
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Usage {
    /// Time in user mode, in ns (microsecond steps, and coarser where the kernel samples).
    pub user_ns: u64,
    /// Time in kernel mode, in ns.
    pub system_ns: u64,
    /// Switches because the thread slept.
    pub voluntary_switches: u64,
    /// Switches because the scheduler took the CPU away.
    pub involuntary_switches: u64,
    /// Page faults served without input or output.
    pub minor_faults: u64,
    /// Page faults that had to read from a disk.
    pub major_faults: u64,
}

impl Usage {
    /// What two threads used together.
    pub fn with(&self, other: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
        }
    }

    /// `part` of `whole` of it.
    pub fn part(&self, part: u64, whole: u64) -> Usage {
        let of = |count: u64| (count as f64 * part as f64 / whole.max(1) as f64).round() as u64;
        Usage {
            user_ns: of(self.user_ns),
            system_ns: of(self.system_ns),
            voluntary_switches: of(self.voluntary_switches),
            involuntary_switches: of(self.involuntary_switches),
            minor_faults: of(self.minor_faults),
            major_faults: of(self.major_faults),
        }
    }

    /// What was used between `earlier` and `self`.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_rounded_to_the_nearest() {
        let all = Usage { user_ns: 1_000, voluntary_switches: 7, ..Usage::default() };
        let part = all.part(3, 4);
        assert_eq!((part.user_ns, part.voluntary_switches, part.major_faults), (750, 5, 0));
        assert_eq!(all.part(4, 4), all);
    }
}
