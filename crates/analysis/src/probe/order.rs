//! Whether instrumentation changes which of two mechanisms is faster.

use super::{Common, Pair};
use crate::{ALPHA, EQUIVALENT_WITHIN};
use model::probe::Probe;
use stats::Verdict;

/// Two mechanisms, observed and not.
#[derive(Clone, Debug)]
pub struct Order {
    pub probe: Probe,
    pub first: String,
    pub second: String,
    /// Null where messages have no size.
    pub message_bytes: Option<u64>,
    /// Time of the first over that of the second, unobserved.
    pub plain: f64,
    pub observed: f64,
    pub kept: Kept,
}

/// What instrumentation made of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The same one is faster, or both are equivalent.
    Yes,
    /// The other one is faster.
    Turned,
    /// A difference that one of the two shows surely, the other doesn't.
    Blurred,
    /// Neither shows a difference, and not both are equivalent for sure.
    Open,
}

/// Two mechanisms under a probe, with the rounds that both have, unobserved and observed.
type Found<'a> = (&'a Pair<'a>, &'a Pair<'a>, LogRatios, LogRatios);

/// Of two cases, one for each round that both have.
type LogRatios = Vec<f64>;

/// Every pair of mechanisms under every probe attached once; the p values are one family.
pub(super) fn orders(pairs: &[Pair]) -> Vec<Order> {
    let once: Vec<&Pair> = pairs.iter().filter(|pair| pair.probe.times == 1).collect();
    let mut found: Vec<Found> = Vec::new();
    for (nth, first) in once.iter().enumerate() {
        for second in once[nth + 1..].iter().filter(|pair| compares(first, pair)) {
            let plain = first.plain.shared_log_ratios_to(second.plain);
            let observed = first.seen.case.shared_log_ratios_to(&second.seen.case);
            if plain.len() >= 6 && observed.len() >= 6 {
                found.push((*first, *second, plain, observed));
            }
        }
    }
    let p = |of: &LogRatios| stats::sign_test(of);
    let family: Vec<f64> = found.iter().flat_map(|entry| [p(&entry.2), p(&entry.3)]).collect();
    let corrected = stats::holm(&family);
    let order = |((first, second, plain, observed), p): (Found, &[f64])| {
        let ratio = |of: &LogRatios| {
            stats::compare(of, ALPHA).map_or(f64::NAN, |comparison| comparison.ratio.estimate)
        };
        Order {
            probe: first.probe,
            first: first.plain.variant.clone(),
            second: second.plain.variant.clone(),
            message_bytes: first.bytes(),
            plain: ratio(&plain),
            observed: ratio(&observed),
            kept: kept(side(&plain, p[0]), side(&observed, p[1])),
        }
    };
    found.into_iter().zip(corrected.chunks(2)).map(order).collect()
}

fn compares(a: &Pair, b: &Pair) -> bool {
    let but_variant = |pair: &Pair| {
        let mut common = Common::of(pair.plain);
        common.variant = String::new();
        common
    };
    a.probe == b.probe
        && a.bytes() == b.bytes()
        && a.plain.variant != b.plain.variant
        && but_variant(a) == but_variant(b)
}

fn side(of: &LogRatios, p: f64) -> Verdict {
    stats::verdict(of, p, EQUIVALENT_WITHIN, ALPHA)
}

fn kept(plain: Verdict, observed: Verdict) -> Kept {
    match (plain, observed) {
        (Verdict::Faster, Verdict::Slower) | (Verdict::Slower, Verdict::Faster) => Kept::Turned,
        (Verdict::Faster, Verdict::Faster)
        | (Verdict::Slower, Verdict::Slower)
        | (Verdict::Equivalent, Verdict::Equivalent) => Kept::Yes,
        (
            Verdict::Inconclusive { .. } | Verdict::Equivalent,
            Verdict::Inconclusive { .. } | Verdict::Equivalent,
        ) => Kept::Open,
        _ => Kept::Blurred,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sure_on_no_side_is_open() {
        let open = Verdict::Inconclusive { smallest_effect: 0.1 };
        use Verdict::{Equivalent, Faster, Slower};
        for (plain, observed, what) in [
            (Faster, Faster, Kept::Yes),
            (Equivalent, Equivalent, Kept::Yes),
            (Faster, Slower, Kept::Turned),
            (Faster, Equivalent, Kept::Blurred),
            (open, Slower, Kept::Blurred),
            (open, open, Kept::Open),
            (Equivalent, open, Kept::Open),
            (open, Equivalent, Kept::Open),
        ] {
            assert_eq!(kept(plain, observed), what, "{plain:?}, then {observed:?}");
        }
    }
}
