//! Figures that hardware counters are asked for: one count divided by another, of the same family
//! or of two, which are then counted in different launches of the same round.

use super::Family;

/// One such figure: of user and kernel apart, and of both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// `cycles-per-instruction`.
    pub name: &'static str,
    /// The family whose result it stands with.
    pub family: Family,
    /// What is divided.
    pub top: &'static str,
    /// By what.
    pub bottom: &'static str,
}

const fn figure(
    name: &'static str,
    family: Family,
    top: &'static str,
    bottom: &'static str,
) -> Figure {
    Figure { name, family, top, bottom }
}

/// Every figure, by family.
pub const FIGURES: &[Figure] = &[
    figure("cycles-per-instruction", Family::Core, "cycles", "instructions"),
    figure("misses-per-branch", Family::Branches, "branch-misses", "branches"),
    figure("cycles-per-l1d-read", Family::L1d, "cycles", "l1d-reads"),
    figure("misses-per-l1d-read", Family::L1d, "l1d-misses", "l1d-reads"),
    figure("l1i-misses-per-instruction", Family::L1i, "l1i-misses", "instructions"),
    figure("cycles-per-llc-read", Family::L2, "cycles", "llc-reads"),
    figure("misses-per-llc-read", Family::L2, "llc-misses", "llc-reads"),
    figure("misses-per-node-read", Family::Mem, "node-misses", "node-reads"),
    figure("dtlb-misses-per-instruction", Family::Tlb, "dtlb-misses", "instructions"),
    figure("itlb-misses-per-instruction", Family::Tlb, "itlb-misses", "instructions"),
    figure("cycles-per-reference-cycle", Family::Bus, "cycles", "ref-cycles"),
];

/// Where events of hardware are counted apart: in the program, and in the kernel.
pub const MODES: [&str; 2] = ["u", "k"];
