//! What a probe adds to each operation, size by size.

use super::Pair;
use crate::{ALPHA, Status};
use model::counts::Family;
use model::probe::{Instrument, Probe, Scope};
use stats::Interval;

/// The overhead of one probe at one size.
#[derive(Clone, Debug)]
pub struct ProbeOverhead {
    pub probe: Probe,
    /// Null where messages have no size.
    pub message_bytes: Option<u64>,
    /// Rounds that have both.
    pub rounds: usize,
    /// Median time of an uninstrumented operation, in ns.
    pub plain_ns: f64,
    /// The same while the probe looks, in the same rounds.
    pub observed_ns: f64,
    /// What is added to it, in ns: the median of paired differences. None with too few rounds.
    pub shift: Option<Interval>,
    /// Observed over unobserved time.
    pub ratio: Option<Interval>,
    /// Exact sign-test p of "nothing is added".
    pub p: Option<f64>,
    /// Corrected over the strand's overheads.
    pub p_holm: Option<f64>,
    /// How often the probe fired per operation, counted in other launches or by itself; None where
    /// nobody counted.
    pub firings: Option<f64>,
}

impl ProbeOverhead {
    /// What one firing adds, in ns, if all of the overhead is theirs.
    pub fn per_firing(&self) -> Option<Interval> {
        let (shift, firings) =
            (self.shift?, self.firings.filter(|firing| *firing >= LEAST_FIRINGS)?);
        Some(Interval {
            estimate: shift.estimate / firings,
            low: shift.low / firings,
            high: shift.high / firings,
            ..shift
        })
    }

    /// Whether the overhead is surely one, after correction: more than nothing.
    pub fn is_sure(&self) -> bool {
        self.differs() && self.shift.is_some_and(|shift| shift.low > 0.0)
    }

    /// Whether observed launches surely are faster, after correction: then there is no overhead.
    pub fn is_less(&self) -> bool {
        self.differs() && self.shift.is_some_and(|shift| shift.high < 0.0)
    }

    fn differs(&self) -> bool {
        self.p_holm.is_some_and(|p| p < ALPHA)
    }
}

/// Firings per operation below which an overhead per firing is that of something else.
const LEAST_FIRINGS: f64 = 0.1;

/// The overheads of a strand's probes, each attached once; one family.
pub(super) fn overheads(pairs: &[Pair]) -> Vec<ProbeOverhead> {
    let once = pairs.iter().filter(|pair| pair.probe.times == 1);
    let mut overheads: Vec<ProbeOverhead> = once.map(|pair| overhead(pair, pairs)).collect();
    let family: Vec<f64> = overheads.iter().filter_map(|overhead| overhead.p).collect();
    let mut corrected = stats::holm(&family).into_iter();
    for overhead in overheads.iter_mut().filter(|overhead| overhead.p.is_some()) {
        overhead.p_holm = corrected.next();
    }
    overheads
}

fn overhead(pair: &Pair, pairs: &[Pair]) -> ProbeOverhead {
    let (observed, plain) = pair.times();
    let added: Vec<f64> = observed.iter().zip(&plain).map(|(a, b)| a - b).collect();
    let shift = stats::median_interval(&added, ALPHA);
    let ratio = stats::compare(&pair.seen.case.shared_log_ratios_to(pair.plain), ALPHA);
    let middle = |values: Vec<f64>| stats::median_of(values).unwrap_or(f64::NAN);
    ProbeOverhead {
        probe: pair.probe,
        message_bytes: pair.bytes(),
        rounds: plain.len(),
        plain_ns: middle(plain),
        observed_ns: middle(observed),
        shift,
        ratio: ratio.map(|ratio| ratio.ratio),
        p: shift.map(|_| stats::sign_test(&added)),
        p_holm: None,
        firings: firings(pair, pairs),
    }
}

/// How often a probe fires per operation. What counts itself says so; else the kernel's counters
/// do, in launches of theirs. The processor's counters count without firing.
fn firings(pair: &Pair, pairs: &[Pair]) -> Option<f64> {
    let beside = |family: Family, name: &str| {
        let counted = pairs.iter().find(|other| {
            other.probe == Probe::counters(family)
                && other.bytes() == pair.bytes()
                && other.seen.status == Status::Ok
        });
        Some(counted?.seen.event(name)?.per_operation)
    };
    let own = |probe: Probe| {
        let counted =
            pairs.iter().find(|other| other.probe == probe && other.bytes() == pair.bytes());
        Some(counted?.seen.firings.as_ref()?.median)
    };
    match pair.probe.instrument {
        Instrument::Counters(Family::Calls) => beside(Family::Calls, "calls"),
        Instrument::Counters(Family::Software) => {
            let events = pair.seen.events.iter().filter(|event| !event.name.ends_with("-ns"));
            Some(events.map(|event| event.per_operation).sum())
        }
        Instrument::Counters(_) => None,
        // Empty programs count nothing, but fire as often as those at work.
        Instrument::Trace(scope) => own(Probe::trace(scope)).or_else(|| match scope {
            // Entering fires, and leaving.
            Scope::Calls => Some(2.0 * beside(Family::Calls, "calls")?),
            Scope::Scheduler | Scope::All => None,
        }),
    }
}
