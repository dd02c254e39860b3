//! Many machines: the same experiment on every node of an allocation, and between all pairs of them.
//!
//! Nothing is scheduled here: an engine such as Slurm gives the nodes, and its own command starts an
//! agent on each (`nodes`, `line`). The coordinator relays between the agents (`board`, `play`) who
//! meets whom in a round-robin tournament (`tournament`), keeps every launch as it ends (`conduct`),
//! and takes a node that fails, hangs or has another build for what it is: a row with its reason.
//! A fleet that isn't at hand can be simulated over the same bytes (`stub`, `simulated`).

mod address;
mod board;
mod conduct;
mod floors;
mod line;
pub mod nodes;
pub mod plan;
mod play;
pub mod simulated;
pub mod stub;
pub mod tournament;

pub use address::network;
pub use conduct::{Conditions, Fleet};
