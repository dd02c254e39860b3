//! CPU lists as the kernel and the command line write them: `0-3,8`. See the "List format" of
//! cpuset(7). Strides (`0-31:2/4`) are not written by any file read here and are refused.

use std::fmt;

/// No kernel numbers a CPU this high (x86 allows 8192); it bounds what a mistyped range costs.
const CPUS_AT_MOST: u32 = 65_536;

/// Why a text is not a CPU list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuListError {
    /// Nothing was named.
    Empty,
    /// An item is neither a number nor a range.
    NotANumber {
        list: String,
        /// The part that is wrong.
        item: String,
    },
    /// A range whose end lies before its start.
    Backwards { list: String, item: String },
    /// A CPU number that no machine has.
    TooLarge { list: String, item: String },
}

impl fmt::Display for CpuListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuListError::Empty => write!(f, "cpu list \"\" names no CPU")?,
            CpuListError::NotANumber { list, item } => {
                write!(f, "cpu list {list:?}: {item:?} is neither a number nor a range")?;
            }
            CpuListError::Backwards { list, item } => {
                write!(f, "cpu list {list:?}: the range {item:?} runs backwards")?;
            }
            CpuListError::TooLarge { list, item } => {
                write!(f, "cpu list {list:?}: {item:?} is beyond CPU {}", CPUS_AT_MOST - 1)?
            }
        }
        f.write_str("; write numbers and ranges, such as 0-3,8")
    }
}

impl std::error::Error for CpuListError {}

/// Reads `0-3,8`: the CPUs in ascending order, each once, whatever order they were named in.
pub fn parse_cpu_list(list: &str) -> Result<Vec<u32>, CpuListError> {
    if list.trim().is_empty() {
        return Err(CpuListError::Empty);
    }
    // However often a list repeats itself, it takes no more room than all CPUs.
    let mut named: Vec<bool> = Vec::new();
    for item in list.trim().split(',') {
        let (first, last) = range(list, item)?;
        let until = last as usize + 1;
        named.resize(named.len().max(until), false);
        named[first as usize..until].fill(true);
    }
    Ok((0..).zip(named).filter(|(_, named)| *named).map(|(cpu, _)| cpu).collect())
}

fn range(list: &str, item: &str) -> Result<(u32, u32), CpuListError> {
    let wrong = || (list.to_owned(), item.trim().to_owned());
    let number = |text: &str| -> Result<u32, CpuListError> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            let (list, item) = wrong();
            return Err(CpuListError::NotANumber { list, item });
        }
        match text.parse::<u32>() {
            Ok(cpu) if cpu < CPUS_AT_MOST => Ok(cpu),
            _ => {
                let (list, item) = wrong();
                Err(CpuListError::TooLarge { list, item })
            }
        }
    };
    let (first, last) = match item.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(item)?, number(item)?),
    };
    if last < first {
        let (list, item) = wrong();
        return Err(CpuListError::Backwards { list, item });
    }
    Ok((first, last))
}

/// Writes CPUs as the kernel does, `0-3,8`: ascending, runs of two or more as ranges.
pub fn format_cpu_list(cpus: &[u32]) -> String {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    cpus.chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [only] => only.to_string(),
            run => format!("{}-{}", run[0], run[run.len() - 1]),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for list in ["0", "0-3,8", "0-1", "1,3,5", "0-63,128-191"] {
            assert_eq!(format_cpu_list(&parse_cpu_list(list).unwrap()), list);
        }
        assert_eq!(format_cpu_list(&[]), "");
    }

    /// Kept as often as it is named, all CPUs would take 2 GiB here.
    #[test]
    fn a_list_that_repeats_itself_takes_no_more_room_than_one_that_doesnt() {
        let list = "0-65535,".repeat(8_000) + "7";
        let cpus = parse_cpu_list(&list).unwrap();
        assert_eq!((cpus.len(), cpus.capacity() < 1 << 20), (65_536, true));
    }

    #[test]
    fn sorts_and_names_each_cpu_once() {
        assert_eq!(parse_cpu_list("8, 0-2,1\n").unwrap(), [0, 1, 2, 8]);
        assert_eq!(format_cpu_list(&[3, 1, 2, 2]), "1-3");
    }

    #[test]
    fn refuses_what_is_not_a_list_and_names_it() {
        for (list, item) in [
            ("abc", "abc"),
            ("0-", "0-"),
            ("-3", "-3"),
            ("+1", "+1"),
            ("0,,2", ""),
            ("1-2-3", "1-2-3"),
            ("0-7:2/4", "0-7:2/4"),
        ] {
            let error = parse_cpu_list(list).unwrap_err();
            let named = CpuListError::NotANumber { list: list.to_owned(), item: item.to_owned() };
            assert_eq!(error, named, "{list}");
        }
        assert_eq!(parse_cpu_list(" "), Err(CpuListError::Empty));
        assert_eq!(
            parse_cpu_list("5-2").unwrap_err().to_string(),
            "cpu list \"5-2\": the range \"5-2\" runs backwards; \
             write numbers and ranges, such as 0-3,8"
        );
    }

    #[test]
    fn a_mistyped_range_costs_nothing() {
        for list in ["0-4294967295", "99999999999999999999", "65536"] {
            let error = parse_cpu_list(list).unwrap_err();
            assert!(matches!(error, CpuListError::TooLarge { .. }), "{error}");
        }
    }
}
