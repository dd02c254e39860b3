//! Laboratories that a run makes for itself: named after its process, for those who read the names.
//! Whose one is, and whether that run lives, its state tells.

use super::LabError;
use sys::identity::ProcessIdentity;

const PREFIX: &str = "run-";

/// The name of laboratory `nth` of the run of process `pid`.
pub fn name(pid: u32, nth: usize) -> String {
    format!("{PREFIX}{pid}-{nth}")
}

/// Whether runs name theirs so.
pub fn is_a_runs(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(pid, nth)| pid.parse::<u32>().is_ok() && nth.parse::<usize>().is_ok())
}

/// This process, as the state of its laboratories names it.
///
/// # Errors
/// If /proc can't be read.
pub fn owner() -> Result<ProcessIdentity, LabError> {
    ProcessIdentity::own().map_err(LabError::of("read /proc/self/stat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runs_are_known() {
        assert!(is_a_runs(&name(4711, 3)));
        for other in ["lab", "run", "run-1", "run-x-1", "run-1-x", "rerun-1-2"] {
            assert!(!is_a_runs(other), "{other}");
        }
        assert!(model::lab::name(&name(u32::MAX, 99)).is_ok());
    }
}
