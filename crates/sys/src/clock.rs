//! The clock: which one is used and why, what reading it costs, how fine it is, and how well
//! it agrees with the system's clocks.
//!
//! The time-stamp counter is used where it is invariant and the kernel itself trusts it;
//! CLOCK_MONOTONIC_RAW otherwise. Never wall-clock time. Samples are stored in ticks of the
//! chosen clock; the scale is measured over the whole run and stored beside them.
//!
//! The counter is read so that neither earlier nor later work slips past it: `rdtscp` waits until earlier instructions
//! have executed; the `lfence` after it keeps later ones from starting before the read (Intel SDM vol. 2B, RDTSCP;
//! AMD64 APM vol. 3).

use std::path::Path;
#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::time::{ClockId, clock_gettime};

use model::clock::{Anchor, ClockKind, Reading, Record, TscUnavailable};

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
        read_counter()
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
    match tsc_usable(root, invariant()) {
        Ok(()) => (ClockKind::Tsc, None),
        Err(why) => (ClockKind::MonotonicRaw, Some(why)),
    }
}

/// Whether this CPU has that clock: what another process asks for may be one that only its own CPU has.
pub fn is_here(kind: ClockKind) -> bool {
    kind == ClockKind::MonotonicRaw || invariant()
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

/// Reads the clocks 50 times and keeps the reading least disturbed.
pub fn anchor(kind: ClockKind) -> Anchor {
    let read = || {
        let before = kind.now();
        let raw_ns = system_ns(ClockId::MonotonicRaw);
        let monotonic_ns = system_ns(ClockId::Monotonic);
        let after = kind.now();
        (after - before, Anchor { ticks: before.midpoint(after), raw_ns, monotonic_ns })
    };
    (0..50).map(|_| read()).min_by_key(|(gap, _)| *gap).expect("fifty readings").1
}

/// Measures the clocks of this machine: about 30 ms, most of it to find the scale.
pub fn measure(kind: ClockKind, tsc_unavailable: Option<TscUnavailable>) -> (Anchor, Record) {
    let start = anchor(kind);
    let mut raw = vec![
        ("monotonic_raw", reading::<MonotonicRaw>(), true),
        ("monotonic", reading::<Steered>(), true),
    ];
    if kind == ClockKind::Tsc {
        raw.insert(0, ("tsc", reading::<Tsc>(), false));
    }
    while system_ns(ClockId::MonotonicRaw) - start.raw_ns < 25_000_000 {
        std::hint::spin_loop();
    }
    let ns_per_tick = start.ns_per_tick(&anchor(kind));
    let readings: Vec<Reading> = raw
        .into_iter()
        .map(|(name, (cost, step), in_ns)| {
            let scale = if in_ns { 1.0 } else { ns_per_tick };
            Reading { clock: name.into(), cost_ns: cost * scale, step_ns: step * scale }
        })
        .collect();
    let (cost_ns, step_ns) = (readings[0].cost_ns, readings[0].step_ns);
    let record = Record {
        kind,
        tsc_unavailable,
        cost_ns,
        step_ns,
        ns_per_tick,
        drift_ppm: None,
        monotonic_ppm: None,
        readings,
    };
    (start, record)
}

/// CLOCK_MONOTONIC, for comparison only.
struct Steered;

impl Clock for Steered {
    fn now() -> u64 {
        system_ns(ClockId::Monotonic)
    }
}

/// By how much a clock steps, in ticks, from the differences of its reads: the largest step of which all of them are
/// multiples (a read that takes 20 ns shows 20, 30 and 40 of a clock that steps by 10), or, where none is, the least
/// by which two of them differ. None of a clock that did not advance.
pub fn step_of(differences: impl IntoIterator<Item = u64>) -> Option<f64> {
    /// Beyond so many of the least a difference tells nothing: a step's own error adds up.
    const FARTHEST: u64 = 4;
    /// How far from a multiple, in ticks: steps need not be whole.
    const OFF: f64 = 0.75;
    /// Of a step of fewer ticks everything is a multiple.
    const FINEST: f64 = 4.0;
    /// The share that must fit: some reads are interrupted.
    const FITTING: f64 = 0.99;

    let mut found: Vec<u64> = differences.into_iter().filter(|ticks| *ticks > 0).collect();
    found.sort_unstable();
    let least = *found.first()?;
    found.retain(|ticks| *ticks <= FARTHEST * least);
    let known: Vec<f64> = found.iter().map(|ticks| *ticks as f64).collect();
    let fitted = |parts: u64| {
        let rough = least as f64 / parts as f64;
        let multiple = |ticks: f64| (ticks / rough).round();
        let products: f64 = known.iter().map(|ticks| ticks * multiple(*ticks)).sum();
        let squares: f64 = known.iter().map(|ticks| multiple(*ticks).powi(2)).sum();
        let step = products / squares;
        let fits = |ticks: &&f64| (*ticks - multiple(**ticks) * step).abs() <= OFF;
        let share = known.iter().filter(fits).count() as f64 / known.len() as f64;
        (step >= FINEST && share >= FITTING).then_some(step)
    };
    let lattice = (1..=least).take_while(|parts| least / parts >= 3).find_map(fitted);
    found.dedup();
    let gap = found.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(least);
    Some(lattice.unwrap_or(gap as f64))
}

/// Cost (median over 200 batches of 100 reads) and step, in ticks.
fn reading<C: Clock>() -> (f64, f64) {
    let mut costs: Vec<u64> = (0..200)
        .map(|_| {
            let start = C::now();
            for _ in 0..99 {
                std::hint::black_box(C::now());
            }
            C::now() - start
        })
        .collect();
    costs.sort_unstable();
    let mut last = C::now();
    let steps = (0..20_000).map(|_| {
        let now = C::now();
        now - std::mem::replace(&mut last, now)
    });
    (costs[costs.len() / 2] as f64 / 100.0, step_of(steps).unwrap_or(1.0))
}

/// Whether [`invariant`] has found that this CPU has the instruction. A fork has it as its parent does.
#[cfg(target_arch = "x86_64")]
static FOUND: AtomicBool = AtomicBool::new(false);

/// Reads the counter, in ticks. Ordered against the code before and after it.
///
/// # Panics
/// Where [`invariant`] wasn't asked before, or has said no.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_counter() -> u64 {
    assert!(FOUND.load(Ordering::Relaxed), "the counter is read, and wasn't found here");
    let mut _aux = 0;
    // SAFETY: rdtscp exists on every CPU for which `invariant` is true, and it was, as just asserted; `_aux` is a valid
    // place for the processor id; lfence is part of the x86-64 baseline.
    unsafe {
        let ticks = core::arch::x86_64::__rdtscp(&mut _aux);
        core::arch::x86_64::_mm_lfence();
        ticks
    }
}

/// Reads the counter, in ticks. Ordered against the code before and after it.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn read_counter() -> u64 {
    let ticks: u64;
    // SAFETY: cntvct_el0 is readable from user space on Linux; isb orders the read.
    unsafe {
        core::arch::asm!("isb", "mrs {t}, cntvct_el0", "isb", t = out(reg) ticks, options(nostack, nomem));
    }
    ticks
}

/// Reads the counter: this architecture has none that user space may trust.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read_counter() -> u64 {
    0
}

/// Whether the counter runs at a constant rate in every power state, and can be read with
/// ordering (CPUID 80000007h EDX bit 8 and 80000001h EDX bit 27).
#[cfg(target_arch = "x86_64")]
fn invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    let top = __cpuid(0x8000_0000).eax;
    let found = top >= 0x8000_0007
        && __cpuid(0x8000_0007).edx & (1 << 8) != 0
        && __cpuid(0x8000_0001).edx & (1 << 27) != 0;
    FOUND.store(found, Ordering::Relaxed);
    found
}

/// Whether the counter runs at a constant rate: the generic timer of ARMv8 always does.
#[cfg(target_arch = "aarch64")]
fn invariant() -> bool {
    true
}

/// Whether the counter runs at a constant rate: there is none here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn invariant() -> bool {
    false
}

#[cfg(all(test, not(miri)))]
mod tests {
    use std::sync::{Mutex, MutexGuard};

    use super::*;

    #[test]
    fn a_step_is_what_differences_are_multiples_of_and_not_what_a_read_costs() {
        // 10 ns at 2.4454 GHz, by reads of 20 ns and more, one of them interrupted.
        let lattice = |multiples: u64| {
            let ticks = move |nth: u64| (nth as f64 * 24.454).round() as u64;
            (0..2_000).map(move |nth| ticks(2 + nth % multiples)).chain([91_234])
        };
        let step = step_of(lattice(3)).unwrap();
        assert!((24.3..24.6).contains(&step), "{step}");
        // Every tick, and every second: as fine as that.
        assert_eq!(step_of((0..2_000).map(|nth| 50 + nth % 17)), Some(1.0));
        assert_eq!(step_of((0..2_000).map(|nth| 50 + 2 * (nth % 17))), Some(2.0));
        // A clock that steps more coarsely than it is read.
        assert_eq!(step_of((0..2_000).map(|nth| 1_000 * (nth % 2))), Some(1_000.0));
        assert_eq!(step_of([20; 10]), Some(20.0), "nothing tells more");
        assert_eq!(step_of([0, 0]), None);
    }

    /// Held while the counter is read, or made one that can't be.
    fn counter() -> MutexGuard<'static, ()> {
        static HELD: Mutex<()> = Mutex::new(());
        HELD.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_counter_that_was_not_found_is_not_read() {
        let _held = counter();
        FOUND.store(false, Ordering::Relaxed);
        assert!(std::panic::catch_unwind(read_counter).is_err());
        if invariant() {
            assert!(read_counter() <= read_counter());
        }
    }

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
        let _held = counter();
        for kind in [ClockKind::MonotonicRaw, choose(Path::new("/")).0] {
            let stamps: Vec<u64> = (0..1000).map(|_| kind.now()).collect();
            assert!(stamps.is_sorted());
        }
    }

    #[test]
    fn the_scale_is_that_of_the_system_clock() {
        let _held = counter();
        let (kind, why) = choose(Path::new("/"));
        let (start, mut record) = measure(kind, why);
        std::thread::sleep(std::time::Duration::from_millis(20));
        record.conclude(&start, &anchor(kind));
        assert!(record.cost_ns > 0.0 && record.step_ns > 0.0 && record.ns_per_tick > 0.0);
        assert!(record.drift_ppm.unwrap().abs() < 10_000.0, "{record:?}");
    }

    #[test]
    fn anchors_give_scale_and_steering() {
        let start = Anchor { ticks: 0, raw_ns: 0, monotonic_ns: 0 };
        let end = Anchor { ticks: 2_600, raw_ns: 1_000, monotonic_ns: 1_001 };
        assert!((start.ns_per_tick(&end) - 1.0 / 2.6).abs() < 1e-12);
        assert!((start.steering_ppm(&end) - 1_000.0).abs() < 1e-6);
    }
}
