//! The clock: which one is used and why, what reading it costs, how fine it is, and how well
//! it agrees with the system's clocks.
//!
//! The time-stamp counter is used where it is invariant and the kernel itself trusts it;
//! CLOCK_MONOTONIC_RAW otherwise. Never wall-clock time. Samples are stored in ticks of the
//! chosen clock; the scale is measured over the whole run and stored beside them.

mod calibrate;

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use model::clock::{ClockKind, TscUnavailable};

pub use calibrate::{anchor, measure};

use sys::counter;

/// A clock by its type, for who compares clocks. The timed path reads the one that was chosen
/// ([`Now`]).
pub trait Clock: Send + 'static {
    /// The time now, in ticks of this clock.
    fn now() -> u64;
}

/// The CPU's time-stamp counter.
pub struct Tsc;

impl Clock for Tsc {
    #[inline(always)]
    fn now() -> u64 {
        counter::read()
    }
}

/// CLOCK_MONOTONIC_RAW; a tick is a nanosecond.
pub struct MonotonicRaw;

impl Clock for MonotonicRaw {
    #[inline(always)]
    fn now() -> u64 {
        system_ns(ClockId::MonotonicRaw)
    }
}

#[inline(always)]
fn system_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The clock that was chosen, read.
pub trait Now {
    /// The time now, in ticks of this clock.
    fn now(self) -> u64;
}

impl Now for ClockKind {
    // The branch always goes one way in a loop: it is nothing
    // beside the read, and loops need not be compiled for each clock.
    #[inline(always)]
    fn now(self) -> u64 {
        match self {
            ClockKind::Tsc => Tsc::now(),
            ClockKind::MonotonicRaw => MonotonicRaw::now(),
        }
    }
}

/// Chooses the clock of this machine; `root` is `/` but in tests.
pub fn choose(root: &Path) -> (ClockKind, Option<TscUnavailable>) {
    match tsc_usable(root, counter::invariant()) {
        Ok(()) => (ClockKind::Tsc, None),
        Err(why) => (ClockKind::MonotonicRaw, Some(why)),
    }
}

/// Whether this CPU has that clock: what another process asks for may be one that only its own CPU has.
pub fn is_here(kind: ClockKind) -> bool {
    kind == ClockKind::MonotonicRaw || counter::invariant()
}

/// The kernel watches the counter of every CPU against other clocks and abandons it when they
/// drift apart; its choice of clock source is therefore the verdict that counts. A KVM guest's
/// `kvm-clock` and Hyper-V's page are computed from the counter, ARM's is `arch_sys_counter`.
fn tsc_usable(root: &Path, invariant: bool) -> Result<(), TscUnavailable> {
    if !invariant {
        return Err(TscUnavailable::NotInvariant);
    }
    let path = root.join("sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = std::fs::read_to_string(path).unwrap_or_default();
    match source.trim() {
        "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter" => Ok(()),
        "" => Err(TscUnavailable::KernelPrefers("unknown".into())),
        other => Err(TscUnavailable::KernelPrefers(other.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_with(source: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/devices/system/clocksource/clocksource0");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("current_clocksource"), source).unwrap();
        root
    }

    #[test]
    fn the_kernels_choice_decides() {
        assert_eq!(tsc_usable(root_with("tsc\n").path(), true), Ok(()));
        assert_eq!(tsc_usable(root_with("tsc\n").path(), false), Err(TscUnavailable::NotInvariant));
        let hpet = tsc_usable(root_with("hpet\n").path(), true);
        assert_eq!(hpet, Err(TscUnavailable::KernelPrefers("hpet".into())));
        assert!(tsc_usable(Path::new("/nonexistent"), true).is_err());
    }

    #[test]
    fn clocks_never_run_backwards() {
        for kind in [ClockKind::MonotonicRaw, choose(Path::new("/")).0] {
            let stamps: Vec<u64> = (0..1000).map(|_| kind.now()).collect();
            assert!(stamps.is_sorted());
        }
    }
}
