//! `ipcmark clean`: removes what processes of this program that were killed left behind.

use super::{Common, Failure, print};
use crate::mechanism::clean;

/// Removes it, and says what.
pub fn run(_common: &Common) -> Result<u8, Failure> {
    let removed = clean();
    match removed.is_empty() {
        true => print("nothing was left behind\n")?,
        false => removed.iter().try_for_each(|line| print(&format!("removed {line}\n")))?,
    }
    Ok(0)
}
