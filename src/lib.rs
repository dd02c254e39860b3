//! ipcmark measures how processes talk to each other, and says how sure it is.
//!
//! Data flows one way; the store is the only bridge between measuring and judging, so that
//! every table, figure and verdict can be made again from an old run without measuring:
//!
//! ```text
//! plan ──▶ launch ──▶ store ──▶ judge ──▶ report · export
//! (asked)  (measured) (kept)   (judged)  (shown)
//!             ▲
//!   mechanism · workload · clock · observe · sys
//! ```
//!
//! Beside the flow stand leaves that anybody may ask: [`stats`], [`size`], [`time`], [`input`],
//! [`visible`], [`program`], which finds other programs, and [`coding`], which brings lost datagrams back.
//! [`fleet`] does on many nodes what `campaign` does on one, and keeps it in the same store.
//! Beside it stands [`lab`]: hosts to measure between, made of network namespaces.

pub mod campaign;
pub mod clock;
pub mod coding;
pub mod command;
pub mod export;
pub mod fleet;
pub mod floor;
pub mod input;
pub mod interrupt;
pub mod judge;
pub mod lab;
pub mod launch;
pub mod mechanism;
pub mod observe;
pub mod program;
pub mod report;
pub mod size;
pub mod stats;
pub mod store;
pub mod study;
pub mod sys;
pub mod time;
pub mod visible;
pub mod workload;
