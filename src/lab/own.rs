//! Laboratories that a run makes for itself: named after its process, so that nobody else's is taken
//! for one, and one whose run was killed is known as such.

/// What such a name begins with.
const PREFIX: &str = "run-";

/// The name of laboratory `nth` of the run of process `pid`.
pub fn name(pid: u32, nth: usize) -> String {
    format!("{PREFIX}{pid}-{nth}")
}

/// The process whose run a laboratory of that name is of; none of any other name.
pub fn process(name: &str) -> Option<u32> {
    let (pid, nth) = name.strip_prefix(PREFIX)?.split_once('-')?;
    nth.parse::<usize>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_whose_it_is() {
        assert_eq!(process(&name(4711, 3)), Some(4711));
        for other in ["lab", "run", "run-1", "run-x-1", "run-1-x", "rerun-1-2"] {
            assert_eq!(process(other), None, "{other}");
        }
        assert!(crate::lab::asked::name(&name(u32::MAX, 99)).is_ok());
    }
}
