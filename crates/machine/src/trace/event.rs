//! What a trace records of two workers, in the order in which it happened.

/// One of the two workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Starts each exchange.
    Initiator,
    /// Answers.
    Responder,
}

impl Who {
    /// The other one.
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
    /// On which CPU.
    pub cpu: u16,
    /// To whom.
    pub who: Who,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Its timed part begins.
    Begin,
    /// It ends.
    End,
    /// It entered the system call of this number.
    Enter(u32),
    /// It left its system call with this value, or the negative of an error.
    Exit(i64),
    /// Somebody began to wake it: its partner, or an interrupt or a stranger.
    Waking {
        /// Whether it was its partner.
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
