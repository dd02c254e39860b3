//! Why a machine can't be observed, as data: what is in the way, and what would change it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why something can't be observed here.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Refusal {
    /// What is in the way.
    pub reason: String,
    /// What changes it, if anything does: mostly a command.
    pub remedy: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}
