//! ipcmark measures how processes talk to each other, and says how sure it is.
//!
//! Data flows one way; the store is the only bridge between measuring and judging, so that
//! every table, figure and verdict can be made again from an old run without measuring:
//!
//! ```text
//! plan ──▶ launch ──▶ store ──▶ judge ──▶ report · export
//! (asked)  (measured) (kept)   (judged)  (shown)
//!             ▲
//!   mechanisms · machine · clock · codes · sys
//! ```
//!
//! What stands below the arrow are crates of their own (`crates/`), as are `stats` and `model`.
//! [`fleet`] does on many nodes what [`campaign`] does on one, and keeps it in the same store.

pub mod campaign;
pub mod command;
pub mod fleet;
pub mod floor;
pub mod input;
pub mod launch;
pub mod plan;
