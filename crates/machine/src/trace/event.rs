//! What a trace records of two workers, in the order in which it happened.

use std::path::Path;

use crate::tree;

/// One of the two workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Starts each exchange.
    Initiator,
    Responder,
}

impl Who {
    pub fn partner(self) -> Who {
        match self {
            Who::Initiator => Who::Responder,
            Who::Responder => Who::Initiator,
        }
    }
}

/// Something that the kernel did with a worker, or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ns of CLOCK_MONOTONIC.
    pub at_ns: u64,
    pub cpu: u16,
    pub who: Who,
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Its timed part begins.
    Begin,
    End,
    /// It entered the system call of this number.
    Enter(u32),
    /// It left its system call with this value, or the negative of an error.
    Exit(i64),
    /// Somebody began to wake it: its partner, or an interrupt or a stranger.
    Waking {
        by_partner: bool,
    },
    /// It is awake, and stands in the queue of a CPU.
    Awake,
    /// It comes to run.
    In,
    /// It ceases to run: asleep, or still willing to run.
    Out {
        /// Whether it waits for something.
        asleep: bool,
    },
    /// It had an interrupt sent to this CPU.
    Interrupts(u16),
    /// The CPU that it last had an interrupt sent to has taken it.
    Interrupted,
}

/// How far CLOCK_MONOTONIC of this process is ahead of the kernel's, in ns.
pub fn offset_ns(root: &Path) -> i64 {
    let text = tree::text(root, "proc/self/timens_offsets").unwrap_or_default();
    text.lines().find_map(parse).unwrap_or(0)
}

/// `monotonic 86400 0`: seconds, and nanoseconds.
fn parse(line: &str) -> Option<i64> {
    let mut words = line.strip_prefix("monotonic")?.split_ascii_whitespace();
    let mut next = || words.next()?.parse::<i64>().ok();
    let (seconds, nanoseconds) = (next()?, next()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn a_time_namespace_is_ahead_by_what_it_says() {
        let of = |text| offset_ns(stored::unpack([("proc/self/timens_offsets", text)]).path());
        assert_eq!(of("monotonic  86400  5\\nboottime  7  0"), 86_400_000_000_005);
        assert_eq!(of("monotonic  -1  0\\nboottime  7  0"), -1_000_000_000);
        assert_eq!((of("nonsense"), offset_ns(tempfile::tempdir().unwrap().path())), (0, 0));
    }
}
