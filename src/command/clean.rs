//! `ipcmark clean`: removes what processes of this program that were killed left behind.

use super::{Common, Failure, complain, print, roads};
use crate::mechanism::clean;

/// Removes it, and says what.
pub fn run(_common: &Common) -> Result<u8, Failure> {
    let mut removed = clean();
    let mut left = Vec::new();
    for lab in roads::clean() {
        match lab {
            Ok(line) => removed.push(line),
            Err(line) => left.push(line),
        }
    }
    match removed.is_empty() && left.is_empty() {
        true => print("nothing was left behind\n")?,
        false => removed.iter().try_for_each(|line| print(&format!("removed {line}\n")))?,
    }
    left.iter().for_each(|line| complain(line));
    Ok(u8::from(!left.is_empty()))
}
