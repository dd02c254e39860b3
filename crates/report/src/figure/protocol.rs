//! A message sequence diagram as data: who sends what to whom, and what is timed.

use serde::{Deserialize, Serialize};

/// A message sequence diagram: parties side by side, time runs down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// The names of the parties, from left to right.
    pub parties: Vec<String>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// What is timed: from before the first of these steps to after the last, counted from 0.
    pub timed: Option<[usize; 2]>,
    /// What the clock reads between the two.
    pub timed_label: String,
}

impl Protocol {
    /// A step in words, for a reader who doesn't see the arrows.
    pub fn words(&self, step: &Step) -> String {
        let name = |nth: usize| self.parties.get(nth).map_or("–", String::as_str);
        match step {
            Step::Message { from, to, label } => {
                format!("{} → {}: {label}", name(*from), name(*to))
            }
            Step::Act { by, label } => format!("{}: {label}", name(*by)),
            Step::More { label } => label.clone(),
        }
    }

    /// Whether a step, counted from 0, is timed.
    pub fn is_timed(&self, step: usize) -> bool {
        self.timed.is_some_and(|[first, last]| (first..=last).contains(&step))
    }
}

/// One thing that happens in a protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Step {
    /// One party sends, the other receives.
    Message { from: usize, to: usize, label: String },
    /// One party does something by itself.
    Act { by: usize, label: String },
    /// More of the same, not drawn one by one.
    More { label: String },
}
