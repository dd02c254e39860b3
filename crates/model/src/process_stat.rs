//! What /proc/PID/stat says of a process, field by field.

/// The text of a field, counted as proc_pid_stat(5) does; None of the first two. The second is the process's name in
/// brackets, which may hold anything: the fields begin behind the last of them.
pub fn field(stat: &str, nth: usize) -> Option<&str> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(nth.checked_sub(3)?)
}

/// A field that is a number.
pub fn number<T: std::str::FromStr>(stat: &str, nth: usize) -> Option<T> {
    field(stat, nth)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_as_the_manual_does_whatever_the_process_is_called() {
        let stat = "7 (a) 1 b) S 1 70 -1\n";
        assert_eq!([3, 4, 7, 1].map(|nth| field(stat, nth)), [Some("S"), Some("1"), None, None]);
        assert_eq!((number(stat, 5), number::<u32>(stat, 6)), (Some(70), None));
    }
}
