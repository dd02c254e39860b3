//! The clock of the events, which is CLOCK_MONOTONIC as the kernel has it: in a time namespace (time_namespaces(7))
//! processes read it with an offset.

use std::path::Path;

use crate::tree;

/// How far CLOCK_MONOTONIC of this process is ahead of the kernel's, in ns.
pub fn offset_ns(root: &Path) -> i64 {
    let text = tree::text(root, "proc/self/timens_offsets").unwrap_or_default();
    text.lines().find_map(parse).unwrap_or(0)
}

/// `monotonic 86400 0`: seconds, and nanoseconds.
fn parse(line: &str) -> Option<i64> {
    let mut words = line.strip_prefix("monotonic")?.split_ascii_whitespace();
    let mut next = || words.next()?.parse::<i64>().ok();
    let (seconds, nanoseconds) = (next()?, next()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn a_time_namespace_is_ahead_by_what_it_says() {
        let of = |text| offset_ns(stored::unpack([("proc/self/timens_offsets", text)]).path());
        assert_eq!(of("monotonic  86400  5\\nboottime  7  0"), 86_400_000_000_005);
        assert_eq!(of("monotonic  -1  0\\nboottime  7  0"), -1_000_000_000);
        assert_eq!((of("nonsense"), offset_ns(tempfile::tempdir().unwrap().path())), (0, 0));
    }
}
