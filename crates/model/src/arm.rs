//! Arms: the same cases under several commands or settings, in the same rounds. What is stored of a command is there to
//! be read: only what the command line says is ever executed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Scheduling;

/// The last word of a command that is the whole command of a launch, as in `./other/ipcmark launch`.
pub const LAUNCH: &str = "launch";
/// Most letters of a name.
const LETTERS: usize = 32;

/// An arm, as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Arm {
    /// What cases under it are called.
    pub name: String,
    /// The words before the command of a launch; none where launches are started as ever. Where the last one is
    /// `launch` they are the whole command.
    pub prefix: Vec<String>,
    /// The shell command before its launches of a round; null where it needs none.
    pub setup: Option<String>,
    /// What its command makes of a launch; null before it was tried.
    pub process: Option<ArmProcess>,
}

/// What an arm's command makes of the process that it starts.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ArmProcess {
    /// Name, version and commit of the program that it starts.
    pub tool: String,
    /// The CPUs that it may use.
    pub cpus: Vec<u32>,
    /// How it is scheduled.
    #[serde(flatten)]
    pub scheduling: Scheduling,
}

impl Arm {
    /// Whether its command is another program's, instead of standing before this one's.
    pub fn is_whole(&self) -> bool {
        self.prefix.last().is_some_and(|word| word == LAUNCH)
    }

    /// The same as it was asked for, whatever its command was found to make of a process.
    pub fn asked(&self) -> Arm {
        Arm { process: None, ..self.clone() }
    }
}

/// The name of an arm.
///
/// # Errors
/// What it may hold.
pub fn name(text: &str) -> Result<String, String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    match text.chars().all(fits) && (1..=LETTERS).contains(&text.len()) {
        true => Ok(text.to_string()),
        false => Err(format!(
            "`{text}`: the name of an arm has 1 to {LETTERS} letters, digits, `.`, `_`, `+`, `-`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_a_column() {
        assert_eq!(name("6.12-rt+fix").unwrap(), "6.12-rt+fix");
        for wrong in ["", "a b", "a,b", "ä", &"x".repeat(33)] {
            assert!(name(wrong).unwrap_err().contains("letters"), "{wrong}");
        }
    }

    #[test]
    fn a_command_is_whole_where_it_ends_in_launch() {
        let arm = |words: &[&str]| Arm {
            prefix: words.iter().map(ToString::to_string).collect(),
            ..Arm::default()
        };
        assert!(arm(&["./other/ipcmark", "launch"]).is_whole());
        assert!(!arm(&["chrt", "-f", "50"]).is_whole() && !arm(&[]).is_whole());
    }
}
