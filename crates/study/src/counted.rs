//! Names by which studies ask for what observed launches counted or traced: events of counters,
//! figures of hardware, waits, and system calls by what they returned.
//!
//! They are per round trip, message or set-up, both workers together; of a transfer, where `total`
//! is a number of bytes.

use model::counts::{FIGURES, Family, MODES};
use model::nearest::unknown;
use model::probe::{Instrument, Probe, Scope};
use model::size;

/// Waits that a trace records, in ns: from a wake-up to running, asleep, and without the CPU.
pub const WAITS: [&str; 3] = ["run-delay-ns", "asleep-ns", "displaced-ns"];

/// Events of counters that a trace of the scheduler records too, each with the tracepoint by which it does.
pub const TRACED_EVENTS: [(&str, &str); 3] = [
    ("context-switches", "sched_switch"),
    ("wake-ups", "sched_waking"),
    ("interrupts-sent", "ipi_send_cpu"),
];

/// What ends count themselves where messages can be lost: over both, of the whole launch. All are
/// shares of messages, or per message, but these: wire bytes for each byte of payload, bytes
/// delivered in a second of a transfer, CPU time in ns for each byte delivered. And of any launch of a load: how many
/// CPUs its server used, and of any at all: the energy of an operation in µJ.
pub const DELIVERY: [&str; 11] = [
    "residual-loss",
    "recovered",
    "resent",
    "corrected",
    "detected",
    "silently-wrong",
    "wire-overhead",
    "goodput",
    "cpu-per-byte",
    "server-cpus",
    "microjoules",
];

/// Those of [`DELIVERY`] that are shares of messages.
pub const SHARES: [&str; 5] =
    ["residual-loss", "recovered", "corrected", "detected", "silently-wrong"];

/// Launches that failed, as a share of all, and fragments lost, as a share of those sent: of what
/// sends datagrams over a network, which fails where something is lost for good.
pub const LOST: [&str; 2] = [FAILED_LAUNCHES, "fragments-lost"];
/// The one of [`LOST`] that is no number of a launch, but of all of them.
pub const FAILED_LAUNCHES: &str = "failed-launches";

/// What entering and leaving system calls, waking and switching take of a round trip, as a share of it: parts of one that
/// is decomposed, which needs a trace and the same trace twice over.
pub const CALLS_AND_WAKE_UPS: &str = "calls-and-wake-ups";
/// The same with all that the kernel does within these calls but to copy.
pub const WHOLE_CALLS_AND_WAKE_UPS: &str = "whole-calls-and-wake-ups";
const PARTS: [&str; 2] = [CALLS_AND_WAKE_UPS, WHOLE_CALLS_AND_WAKE_UPS];

/// How often the instrumentation itself ran for the workers of an observed case: of that case alone.
pub const FIRINGS: &str = "firings";

/// A count that a study asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count<'a> {
    /// An event of counters, or the calls of a name, which a trace hears too.
    Event(&'a str),
    /// A figure of hardware counters.
    Figure(&'a str),
    /// One of [`WAITS`].
    Wait(&'a str),
    /// A share of the parts of a round trip.
    Parts,
    /// [`FIRINGS`].
    Firings,
    /// One of [`DELIVERY`].
    Delivery(&'a str),
    /// One of [`LOST`].
    Lost(&'a str),
    /// Calls of a name that returned so many bytes: `read:64K`.
    Returned(&'a str, u64),
    /// What calls of a name returned on average: `read:bytes`.
    Bytes(&'a str),
    /// What calls of a name returned, in words: `read:values`.
    Values(&'a str),
}

impl<'a> Count<'a> {
    /// Reads a name; None of what names no count.
    pub fn parse(word: &'a str) -> Option<Count<'a>> {
        let named = |family: &Family| family.names().iter().any(|name| name == word);
        if Family::ALL.iter().any(named) {
            return Some(Count::Event(word));
        }
        if figures().iter().any(|figure| figure.0 == word) {
            return Some(Count::Figure(word));
        }
        if WAITS.contains(&word) {
            return Some(Count::Wait(word));
        }
        if PARTS.contains(&word) {
            return Some(Count::Parts);
        }
        if word == FIRINGS {
            return Some(Count::Firings);
        }
        if DELIVERY.contains(&word) {
            return Some(Count::Delivery(word));
        }
        if LOST.contains(&word) {
            return Some(Count::Lost(word));
        }
        let (call, what) = word.split_once(':').filter(|pair| is_call(pair.0))?;
        match what {
            "bytes" => Some(Count::Bytes(call)),
            "values" => Some(Count::Values(call)),
            what => size::parse(what).ok().map(|bytes| Count::Returned(call, bytes)),
        }
    }

    /// Reads a name that is a number: for claims and arithmetic.
    pub fn number(word: &'a str) -> Option<Count<'a>> {
        Count::parse(word).filter(|count| !matches!(count, Count::Values(_)))
    }

    /// Whether `probe` measures it.
    pub fn comes_from(&self, probe: Probe) -> bool {
        if *self == Count::Parts {
            return probe.instrument == Instrument::Trace(Scope::All) && probe.times == 2;
        }
        if probe.empty || probe.times > 1 {
            return false;
        }
        match (self, probe.instrument) {
            (Count::Event(name), Instrument::Counters(family)) => {
                family.names().iter().any(|text| text == name)
            }
            (Count::Figure(name), Instrument::Counters(family)) => {
                figures().iter().any(|(figure, of)| figure == name && of.contains(&family))
            }
            (Count::Wait(_), Instrument::Trace(scope)) => scope != Scope::Calls,
            (Count::Event(name), Instrument::Trace(scope)) => {
                (scope != Scope::Scheduler && is_call(name))
                    || (scope != Scope::Calls && is_traced_event(name))
            }
            (
                Count::Returned(..) | Count::Bytes(_) | Count::Values(_),
                Instrument::Trace(scope),
            ) => scope != Scope::Scheduler,
            _ => false,
        }
    }
}

/// What to say of a word that is neither a statistic nor a count.
pub fn unknown_or_count(what: &str, word: &str, known: &[&str]) -> String {
    let events = Family::ALL.into_iter().flat_map(|family| family.names());
    let names: Vec<String> = events.chain(figures().into_iter().map(|figure| figure.0)).collect();
    let names = names.iter().map(String::as_str).chain(WAITS).chain(DELIVERY).chain(LOST);
    let names = names.chain(PARTS).chain([FIRINGS]);
    let all: Vec<&str> = known.iter().copied().chain(names).collect();
    let error = unknown(what, word, &all);
    // Of so many only the nearest is worth a line.
    match error.find("there are") {
        Some(at) => format!("{}there are {}, and counts", &error[..at], known.join(", ")),
        None => error,
    }
}

/// Whether a trace of the scheduler records it.
fn is_traced_event(name: &str) -> bool {
    TRACED_EVENTS.iter().any(|traced_event| traced_event.0 == name)
}

fn is_call(name: &str) -> bool {
    name != "calls" && Family::Calls.names().iter().any(|text| text == name)
}

/// Every figure with the families that it needs: sums of user and kernel, and quotients.
fn figures() -> Vec<(String, Vec<Family>)> {
    let last = format!(":{}", MODES[MODES.len() - 1]);
    let hardware = Family::ALL.into_iter().filter(|family| family.is_hardware());
    let sums: Vec<(String, Family)> = hardware
        .flat_map(|family| family.names().into_iter().map(move |name| (name, family)))
        .filter_map(|(name, family)| Some((name.strip_suffix(&last)?.to_string(), family)))
        .collect();
    let family_of = |event: &str| sums.iter().find(|sum| sum.0 == event).map(|pair| pair.1);
    let quotients = FIGURES.iter().flat_map(|figure| {
        let needs: Vec<Family> =
            [figure.top, figure.bottom].into_iter().filter_map(family_of).collect();
        let apart = MODES.map(|mode| format!("{}:{mode}", figure.name));
        let names = std::iter::once(figure.name.to_string()).chain(apart);
        names.map(move |name| (name, needs.clone()))
    });
    let quotients: Vec<_> = quotients.collect();
    sums.iter().map(|(name, family)| (name.clone(), vec![*family])).chain(quotients).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(word: &str, probe: &str) -> bool {
        Count::parse(word).expect(word).comes_from(probe.parse().unwrap())
    }

    #[test]
    fn a_name_says_what_can_tell_it() {
        assert!(from("context-switches", "software") && from("context-switches", "trace"));
        assert!(from("wake-ups", "trace-scheduler") && !from("wake-ups", "trace-calls"));
        assert!(from("page-faults", "software") && !from("page-faults", "trace"));
        assert!(from("read", "calls") && from("read", "trace-calls") && !from("read", "software"));
        assert!(from("read:64K", "trace") && !from("read:64K", "calls"));
        assert!(from("run-delay-ns", "trace-scheduler") && !from("run-delay-ns", "trace-calls"));
        assert!(from("cycles-per-l1d-read:k", "l1d"), "it needs that");
        assert!(from("cycles-per-l1d-read", "core"), "and this");
        assert!(!from("cycles-per-instruction", "l1d"));
        assert!(from(CALLS_AND_WAKE_UPS, "trace:times=2") && !from(CALLS_AND_WAKE_UPS, "trace"));
        assert!(!from("read", "calls:times=2") && !from("read:values", "trace:empty"));
    }

    #[test]
    fn only_counts_are_counts() {
        assert_eq!(Count::parse("read:64K"), Some(Count::Returned("read", 65_536)));
        assert_eq!(Count::parse("instructions"), Some(Count::Figure("instructions")));
        assert_eq!(Count::parse("instructions:u"), Some(Count::Event("instructions:u")));
        for word in ["median", "reed:64K", "read:often", "calls:64K", "p99", ""] {
            assert_eq!(Count::parse(word), None, "{word}");
        }
        assert_eq!(Count::number("read:values"), None);
        let error = unknown_or_count("statistic", "context-switch", &["median"]);
        assert!(error.contains("`context-switches`"), "{error}");
    }
}
