//! The properties of a mechanism, what became of its datagrams, and why it can't be had.

use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a mechanism carries, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Traits {
    /// Bytes, only a wake-up, or nothing.
    pub carries: Carries,
    /// Whether boundaries between messages survive.
    pub framing: Framing,
    /// How far apart the workers may be.
    pub scope: Scope,
    /// How often a message's bytes are copied on their way from the sender's buffer to the
    /// receiver's, as far as the mechanism decides it; with in-place filling.
    pub copies: u8,
    /// Whether a third process carries messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broker: bool,
    /// Whether the partner is a server that ran before the launch and isn't ours: it sends back what it gets, and nothing
    /// else is known of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign_server: bool,
}

impl Traits {
    /// A mechanism on this host that copies a message in and out.
    pub const fn host(carries: Carries, framing: Framing) -> Traits {
        let copies = if matches!(carries, Carries::Bytes | Carries::Own) { 2 } else { 0 };
        Traits {
            carries,
            framing,
            scope: Scope::Host,
            copies,
            broker: false,
            foreign_server: false,
        }
    }

    /// What it competes with.
    pub fn class(&self) -> Class {
        match self.carries {
            Carries::Nothing | Carries::Own => Class::Control,
            Carries::Signal => Class::Signal,
            Carries::Bytes if self.broker => Class::Broker,
            Carries::Bytes if self.copies == 0 => Class::InPlace,
            Carries::Bytes => Class::Copying,
        }
    }

    /// The copies of a message; None where there is no message of some size to copy.
    pub fn copied(&self) -> Option<u8> {
        self.carries.has_size().then_some(self.copies)
    }
}

/// What competes with what: only within a class one is the best.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Bytes are copied from one worker to the other.
    #[default]
    Copying,
    /// Bytes are written and read where both workers share them.
    InPlace,
    /// Bytes go by way of a third process.
    Broker,
    /// Wake-ups alone.
    Signal,
    /// A control, which competes with nothing.
    Control,
}

impl Class {
    /// What follows a size: `, in place`; nothing of what is usual.
    pub fn words(self) -> &'static str {
        match self {
            Class::InPlace => ", in place",
            Class::Broker => ", through a broker",
            Class::Copying | Class::Signal | Class::Control => "",
        }
    }
}

/// What a worker does while it waits for its partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// It sleeps in the kernel.
    Asleep,
    /// It busy-waits, but yields its CPU at every poll (sched_yield(2)).
    Yielding,
    /// It busy-waits: on a shared CPU every message costs a time slice.
    Spinning,
}

/// What arrives at the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// Any bytes.
    #[default]
    Bytes,
    /// A wake-up without contents: sizes mean nothing, throughput is wake-ups per second.
    Signal,
    /// Nothing at all: the harness's own cost. Can't be verified, is never ranked.
    Nothing,
    /// Each worker's own message back to itself: a control, wired wrong on purpose. Verifying
    /// it would prove nothing; it is never ranked.
    Own,
}

impl Carries {
    /// Whether this is a control, which is compared with nothing.
    pub fn is_control(self) -> bool {
        matches!(self, Carries::Nothing | Carries::Own)
    }

    /// Whether messages have a size.
    pub fn has_size(self) -> bool {
        matches!(self, Carries::Bytes | Carries::Own)
    }
}

/// Whether boundaries between messages survive the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// A byte stream.
    #[default]
    Stream,
    /// Messages arrive whole or not at all.
    Message,
}

/// How far apart the workers may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// On one machine.
    Host,
    /// Across a network too.
    Network,
}

/// What one end has counted since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages known to be lost on the way to it.
    pub lost: u64,
    /// What became of the datagrams on the way to it. `None` where it receives none, or numbers them itself.
    pub datagrams: Option<Datagrams>,
    /// What it sent and received in what is timed, under names with units: `sent_datagrams`, `wire_bytes`.
    pub counts: Vec<(&'static str, u64)>,
}

impl Stats {
    /// Takes in what another end has counted; of datagrams the first tells.
    pub fn add(&mut self, other: Stats) {
        self.lost += other.lost;
        self.datagrams = both(self.datagrams, other.datagrams, Datagrams::with);
        for (name, count) in other.counts {
            match self.counts.iter_mut().find(|count| count.0 == name) {
                Some(known) => known.1 += count,
                None => self.counts.push((name, count)),
            }
        }
    }
}

/// What became of the datagrams sent to one end, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Datagrams {
    /// Dropped by the kernel, because the socket's receive queue was full (SO_MEMINFO). `None`
    /// where it can't say.
    pub queue_overflows: Option<u64>,
    /// What became of fragments. `None` where a datagram is a message: nothing numbers those.
    pub fragments: Option<FragmentCounts>,
}

impl Datagrams {
    /// Those of two ends together.
    fn with(self, other: Datagrams) -> Datagrams {
        Datagrams {
            queue_overflows: both(self.queue_overflows, other.queue_overflows, u64::add),
            fragments: both(self.fragments, other.fragments, FragmentCounts::with),
        }
    }
}

/// The sum of what is known.
fn both<T>(a: Option<T>, b: Option<T>, sum: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(sum(a, b)),
        (a, b) => a.or(b),
    }
}

/// What became of the fragments of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FragmentCounts {
    /// Put in their places.
    pub received: u64,
    /// Never came, of a message of which others came: they were waited for in vain.
    pub lost: u64,
    /// Came after one that was sent later.
    pub reordered: u64,
    /// Came again.
    pub duplicated: u64,
}

impl FragmentCounts {
    /// Those of two ends together.
    fn with(self, other: FragmentCounts) -> FragmentCounts {
        FragmentCounts {
            received: self.received + other.received,
            lost: self.lost + other.lost,
            reordered: self.reordered + other.reordered,
            duplicated: self.duplicated + other.duplicated,
        }
    }
}

/// Why a mechanism can't be had here, and what would change that.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Unavailable {
    /// The kind of obstacle.
    pub cause: Cause,
    /// What is missing: `IPv6 loopback: address not available (os error 99)`.
    pub reason: String,
    /// What the user could do about it.
    pub remedy: String,
}

/// Kinds of obstacles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// This kernel doesn't have it.
    AbsentFromKernel,
    /// A filter, a security module or missing privileges deny it.
    Denied,
    /// A limit is used up.
    Limit,
    /// Something else.
    Other,
}

impl Cause {
    /// Its name for a reader.
    pub fn name(self) -> &'static str {
        match self {
            Cause::AbsentFromKernel => "absent from this kernel",
            Cause::Denied => "denied",
            Cause::Limit => "a limit",
            Cause::Other => "unavailable",
        }
    }
}
