//! What a byte more adds to each part of a round trip: the slope over the sizes of a curve.
//!
//! Copying is done in the midst of system calls, where no event tells it from the rest. It alone
//! grows with the message.

use std::collections::BTreeMap;

use super::Source;
use model::trace::Part;

/// By round, ns per byte of the parts that can hold copying; Err says why they aren't known.
pub(super) type Slopes = Result<Vec<BTreeMap<Part, f64>>, String>;

/// Sizes from which on a slope is given.
const ENOUGH: usize = 3;

/// The parts that copy: in the program, in calls, and in the rest of a call that slept.
const COPYING: [Part; 3] = [Part::Program, Part::Call, Part::Switching];

/// The slopes of one curve: per round the median of those of all pairs of sizes (Theil and Sen).
pub(super) fn slopes(curve: &[&Source]) -> Slopes {
    if curve.iter().any(|source| source.traced.case.message_bytes.is_none()) {
        return Err("it carries no bytes".into());
    }
    if curve.len() < ENOUGH {
        return Err(format!(
            "{ENOUGH} sizes are needed to separate it, as in --size 1,4K,64K; measured: {}",
            match curve.len() {
                1 => "one".to_string(),
                sizes => sizes.to_string(),
            }
        ));
    }
    let rounds = curve.iter().map(|source| source.traced.trips.len()).min().unwrap_or(0);
    let of_round = |round| {
        let slope_of = |part| Some((part, stats::theil_sen(&points(curve, part, round))?));
        COPYING.into_iter().filter_map(slope_of).collect()
    };
    Ok((0..rounds).map(of_round).collect())
}

/// Size in bytes and the part's ns, of one round.
fn points(curve: &[&Source], part: Part, round: usize) -> Vec<(f64, f64)> {
    let point = |source: &&Source| {
        let trips = source.traced.trips.get(round)?.as_ref()?;
        let ns = trips.parts.get(&part).map_or(0.0, |share| share.ns);
        Some((source.traced.case.message_bytes? as f64, ns))
    };
    curve.iter().filter_map(point).collect()
}
