//! `ipcmark clean`: removes what processes of this program that were killed left behind.

use super::{Common, Failure, complain, routes, say};
use mechanisms::clean;

/// Removes it, and says what; says also what it left, and where it couldn't look, and why.
pub fn run(_common: &Common) -> Result<u8, Failure> {
    let mut cleaned = clean();
    let (labs, failed) = routes::clean();
    cleaned.extend(labs);
    let failed: Vec<String> = cleaned
        .unseen
        .iter()
        .map(|text| format!("could not look at {text}"))
        .chain(failed)
        .collect();
    if cleaned.removed.is_empty() && cleaned.left.is_empty() && failed.is_empty() {
        say("nothing was left behind\n")?;
    }
    cleaned.removed.iter().try_for_each(|line| say(&format!("removed {line}\n")))?;
    cleaned.left.iter().try_for_each(|line| say(&format!("left {line}\n")))?;
    failed.iter().for_each(|line| complain(line));
    Ok(u8::from(!failed.is_empty()))
}
