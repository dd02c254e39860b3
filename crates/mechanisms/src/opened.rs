//! An open mechanism: its two ends, what was granted, and what must be removed.

use super::Residue;

/// Both ends of an open mechanism, what the kernel granted, and what must be removed.
pub struct Opened<E> {
    /// The end of the worker that starts each exchange.
    pub initiator: E,
    /// The other end.
    pub responder: E,
    /// What the kernel granted, under names with units: `pipe_capacity_bytes`.
    pub effective_settings: Vec<(String, u64)>,
    /// What outlives its users; removed when this is dropped. It must live as long as the ends.
    pub residue: Residue,
}

impl<E> Opened<E> {
    /// Two ends that leave nothing behind.
    pub fn new(initiator: E, responder: E) -> Opened<E> {
        Opened { initiator, responder, effective_settings: Vec::new(), residue: Residue::none() }
    }

    /// With what the kernel granted.
    pub fn effective_settings(self, effective_settings: Vec<(String, u64)>) -> Opened<E> {
        Opened { effective_settings, ..self }
    }

    /// With what must be removed.
    pub fn residue(self, residue: Residue) -> Opened<E> {
        Opened { residue, ..self }
    }
}
