//! The initiator's part in a connect: set-ups of the spec's mechanism, timed, and cut into their
//! parts. The responder sleeps meanwhile; on another host it accepts them.

use std::io;
use std::sync::atomic::AtomicU64;

use super::spec::{Half, Spec};
use mechanisms::OpenError;
use mechanisms::network::{Call, ConnectionKind};
use mechanisms::workload::connect;
use model::launch::WorkerReport;

/// Set-ups that are cut into their parts, in a launch.
const DISSECTED: u64 = 50;

/// Fills `samples` with `batch` set-ups each.
pub fn initiate(
    spec: &Spec,
    report: &mut WorkerReport,
    samples: &[AtomicU64],
    batch: u64,
) -> io::Result<()> {
    let (variant, open) = spec.to_open().map_err(io::Error::other)?;
    let call = call(spec, ConnectionKind::SetUp);
    connect::initiate(variant.entry.name, &open, call.as_ref(), spec.clock, samples, batch)
        .map_err(|error| refused(report, error))
}

/// Makes one untimed set-up that tells the far side what the next ones are for.
pub fn announce(spec: &Spec, report: &mut WorkerReport, kind: ConnectionKind) -> io::Result<()> {
    let (variant, open) = spec.to_open().map_err(io::Error::other)?;
    let call = call(spec, kind);
    let untimed = [AtomicU64::new(0)];
    let said = connect::initiate(variant.entry.name, &open, call.as_ref(), spec.clock, &untimed, 1);
    match (said, kind) {
        // The answer may be lost, and the far side, which is gone, gives no other.
        (Err(_), ConnectionKind::Last) => Ok(()),
        (said, _) => said.map_err(|error| refused(report, error)),
    }
}

/// Where the far side is, if it is on another host.
fn call(spec: &Spec, kind: ConnectionKind) -> Option<Call> {
    match spec.half {
        Some(Half::Near { to, cookie }) => Some(Call { to, cookie, kind }),
        _ => None,
    }
}

/// Reports what each part of a set-up takes.
pub fn dissect(spec: &Spec, report: &mut WorkerReport) -> io::Result<()> {
    let (variant, open) = spec.to_open().map_err(io::Error::other)?;
    let call = call(spec, ConnectionKind::SetUp);
    let all = connect::phases(variant.entry.name, &open, call.as_ref(), spec.clock, DISSECTED)
        .map_err(|error| refused(report, error))?;
    let median = |at: usize| {
        let mut ticks: Vec<u64> = all.iter().map(|phases| phases[at].1).collect();
        ticks.sort_unstable();
        ticks[ticks.len() / 2] as f64 * spec.ns_per_tick
    };
    let named = all[0].iter().enumerate();
    report.phases_ns = named.map(|(at, (name, _))| (name.to_string(), median(at))).collect();
    Ok(())
}

/// Keeps what is in the way of opening as data, and gives it in words.
fn refused(report: &mut WorkerReport, error: OpenError) -> io::Error {
    let text = error.to_string();
    if let OpenError::Unavailable(why) = error {
        report.unavailable = Some(why);
    }
    io::Error::other(text)
}
