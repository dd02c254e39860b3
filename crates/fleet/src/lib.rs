//! Many machines: the same experiment on every node of an allocation, and between all pairs of them.
//!
//! Nothing is scheduled here: an engine such as Slurm allocates the nodes, and its own command starts an
//! agent on each (`nodes`, `agent_pool`). Launches are driven as those on one host are
//! (`launch::launches`). Pairs meet in a round-robin tournament (`tournament`), which is a round of a
//! campaign as any other (`driver`, [`run::campaign`]). A node that fails, hangs or has another build becomes a
//! row with the reason. A fleet that isn't at hand can be simulated over the same wire format
//! ([`run::launch::peer::simulated`]).

mod agent_pool;
mod driver;
mod floors;
pub mod nodes;
mod order;
pub mod plan;
pub mod tournament;

pub use driver::measure;
pub use run::launch::peer::address::network;
