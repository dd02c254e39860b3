//! The CPU's time-stamp counter, read so that neither earlier nor later work slips past it.
//!
//! `rdtscp` waits until earlier instructions have executed; the `lfence` after it keeps later
//! ones from starting before the read (Intel SDM vol. 2B, RDTSCP; AMD64 APM vol. 3). On
//! machines without an invariant counter `clock/` falls back to CLOCK_MONOTONIC_RAW.

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether [`invariant`] has found that this CPU has the instruction. A fork has it as its parent does.
#[cfg(target_arch = "x86_64")]
static FOUND: AtomicBool = AtomicBool::new(false);

/// Reads the counter, in ticks. Ordered against the code before and after it.
///
/// # Panics
/// Where [`invariant`] wasn't asked before, or has said no.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn read() -> u64 {
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
pub fn read() -> u64 {
    let ticks: u64;
    // SAFETY: cntvct_el0 is readable from user space on Linux; isb orders the read.
    unsafe {
        core::arch::asm!("isb", "mrs {t}, cntvct_el0", "isb", t = out(reg) ticks, options(nostack, nomem));
    }
    ticks
}

/// Reads the counter: this architecture has none that user space may trust.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn read() -> u64 {
    0
}

/// Whether the counter runs at a constant rate in every power state, and can be read with
/// ordering (CPUID 80000007h EDX bit 8 and 80000001h EDX bit 27).
#[cfg(target_arch = "x86_64")]
pub fn invariant() -> bool {
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
pub fn invariant() -> bool {
    true
}

/// Whether the counter runs at a constant rate: there is none here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn invariant() -> bool {
    false
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it asks the CPU")]
    fn a_counter_that_was_not_found_is_not_read() {
        FOUND.store(false, Ordering::Relaxed);
        assert!(std::panic::catch_unwind(read).is_err());
        if invariant() {
            assert!(read() <= read());
        }
    }
}
