//! The answer of a run that was made for a need: as JSON, and as an exit code.

use std::path::Path;

use super::exit_codes::UNAVAILABLE;
use super::{Failure, output, print};
use analysis::choose::Answer;
use analysis::{Choice, Judged};
use schemars::JsonSchema;
use serde::Serialize;

/// The exit code where the launches that there was time for don't tell.
const UNDECIDED: u8 = super::compare::INCONCLUSIVE;

/// An answer for other programs.
#[derive(JsonSchema, Serialize)]
pub struct Told<'a> {
    /// Version of this format, a count that grows when a reader could misread the next one.
    schema_version: u32,
    /// Program and version that measured.
    tool: &'a str,
    /// Seed of every random choice.
    seed: u64,
    #[serde(flatten)]
    choice: &'a Choice,
    /// What each mechanism carries.
    capacity: &'a [analysis::Capacity],
}

/// Writes the answer of a run that was made for a need as JSON, to a file or to standard output.
pub fn show_json(path: Option<&Path>, judged: &Judged) -> Result<(), Failure> {
    let Some(choice) = Choice::of(judged) else { return Ok(()) };
    let told = Told {
        schema_version: analysis::SCHEMA_VERSION,
        tool: &judged.run.tool,
        seed: judged.run.request.seed,
        choice: &choice,
        capacity: &judged.capacity,
    };
    let text = serde_json::to_string_pretty(&told).expect("an answer is always JSON") + "\n";
    match path {
        Some(path) => {
            let again = format!("export {} --format json -o FILE", judged.run.id);
            output::write(path, &text, &output::again(&again))
        }
        None => print(&text),
    }
}

/// The exit code of a run that was made for a need; None of any other.
pub fn exit_code(judged: &Judged) -> Option<u8> {
    let choice = Choice::of(judged)?;
    let nothing_was = choice.evidence.candidates == 0;
    Some(match choice.answer {
        Answer::Pick => 0,
        Answer::Nothing if nothing_was && !judged.asked_in_vain().is_empty() => UNAVAILABLE,
        Answer::Nothing => 1,
        Answer::Undecided => UNDECIDED,
    })
}
