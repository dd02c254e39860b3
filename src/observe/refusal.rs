//! Why something can't be observed here, as data: a planner leaves it out with the reason.

use serde::{Deserialize, Serialize};

/// Why something can't be observed here, and what would change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What is in the way.
    pub reason: String,
    /// The command that changes it, if one does.
    pub way_out: Option<String>,
}
