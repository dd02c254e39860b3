//! Floors and yardsticks beside the results, measured by processes of their own.
//!
//! The coordinator never measures: `owner` starts this program anew, and `worker` measures in that process. `rounds` has one
//! that stays, and measures in every round of a run what its cases are compared with. How: the crate `floors`.

mod owner;
mod rounds;
mod worker;

use serde::{Deserialize, Serialize};

pub use floors::Order;
pub use owner::{measure, measure_by};
pub use rounds::Rounds;
pub use worker::serve;

/// What crosses to the floor process.
#[derive(Serialize, Deserialize)]
struct WireOrder {
    /// The process that asks: this one doesn't outlive it.
    pub owner: u32,
    pub order: Order,
    /// Whether the process stays, and measures single bounds whenever it is asked.
    pub rounds: bool,
}

/// The reason of a part that comes later, until it is measured.
const NOT_YET: &str = "the floor process ended before it was measured";
