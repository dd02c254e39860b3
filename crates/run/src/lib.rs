//! What is measured: one launch at a time, the floors beside them, campaigns on this machine, between
//! two and on many.
//!
//! ```text
//! request ──plan──▶ cases in groups ──campaign──▶ launches ──▶ store
//! ```
//!
//! | room | what it does |
//! | --- | --- |
//! | [`plan`] | from what is asked to cases that this machine can measure |
//! | [`launch`] | one fresh execution of a case, here or between two hosts |
//! | [`floor`] | what no result can undercut |
//! | [`campaign`] | rounds of launches until a group is precise, or the time is up: here, at a peer, on many nodes |

pub mod campaign;
pub mod conformance;
pub mod floor;
pub mod hosted;
pub mod launch;
pub mod plan;
pub mod plugin;
