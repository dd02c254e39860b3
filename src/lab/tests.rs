//! The plan, without root.
