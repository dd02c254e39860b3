//! Sizes as people write them: `64`, `4K`, `4KB`, `1MiB`, ranges such as `64..1M:x4`.
//!
//! Units are binary, in bytes: K, KB and KiB are 1024, as memory is counted. Parsed once, at the door.

/// Largest message or transfer that is taken, in bytes (64 GiB): a larger number is a slip.
pub const LARGEST: u64 = 64 << 30;

/// Parses one size in bytes. Zero, negative, fractional and absurd sizes are refused.
pub fn parse(text: &str) -> Result<u64, String> {
    let remedy = "write bytes, or K, M, G for binary units: 64, 4K, 1M";
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("a size is missing: {remedy}"));
    }
    if text.strip_prefix('-').is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(format!("`{text}`: sizes start at 1: {remedy}"));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err(format!("`{text}` is not a size: {remedy}")),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is not a size: {remedy}"))?;
    match number.checked_mul(factor) {
        Some(0) => Err(format!("size 0 carries nothing, sizes start at 1: {remedy}")),
        Some(bytes) if bytes <= LARGEST => Ok(bytes),
        _ => Err(format!("size `{text}` is beyond the largest taken, 64G: choose a smaller one")),
    }
}

/// Largest message that is taken, in bytes (1 GiB).
pub const LARGEST_MESSAGE: u64 = 1 << 30;

/// Parses the size of one message.
pub fn message(text: &str) -> Result<u64, String> {
    match parse(text)? {
        bytes if bytes > LARGEST_MESSAGE => {
            Err(format!("`{text}`: a message is at most 1G: choose a smaller size"))
        }
        bytes => Ok(bytes),
    }
}

/// Parses a list: commas between items, each a size as `one` takes it, or `FROM..TO:xFACTOR`.
pub fn parse_list(
    text: &str,
    one: impl Fn(&str) -> Result<u64, String>,
) -> Result<Vec<u64>, String> {
    let mut sizes = Vec::new();
    for item in text.split(',') {
        match item.split_once("..") {
            None => sizes.push(one(item)?),
            Some((from, rest)) => sizes.extend(range(from, rest, item, &one)?),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    sizes.retain(|size| seen.insert(*size));
    Ok(sizes)
}

fn range(
    from: &str,
    rest: &str,
    item: &str,
    one: impl Fn(&str) -> Result<u64, String>,
) -> Result<Vec<u64>, String> {
    let (to, step) = rest.split_once(":x").unwrap_or((rest, "2"));
    let (from, to) = (one(from)?, one(to)?);
    let factor: u64 =
        step.parse().ok().filter(|f| *f >= 2).ok_or_else(|| {
            format!("`{item}`: the step is a factor of at least 2, as in 64..1M:x4")
        })?;
    if from > to {
        return Err(format!("`{item}` runs backwards: write the smaller size first"));
    }
    Ok(std::iter::successors(Some(from), |size| size.checked_mul(factor))
        .take_while(|size| *size <= to)
        .collect())
}

/// The shortest exact way to write a size: `64`, `4K`, `1M`.
pub fn format(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 && b % (1 << 30) == 0 => format!("{}G", b >> 30),
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{}K", b >> 10),
        b => b.to_string(),
    }
}

/// The same as people read it: `64 B`, `4 KiB`.
pub fn spell(bytes: u64) -> String {
    let short = format(bytes);
    match short.split_at(short.len() - 1) {
        (number, unit @ ("K" | "M" | "G")) => format!("{number} {unit}iB"),
        _ => format!("{short} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_binary_units() {
        assert_eq!(parse("64"), Ok(64));
        assert_eq!(parse("4K"), Ok(4096));
        assert_eq!(parse("1MiB"), Ok(1 << 20));
        for text in ["1K", "1k", "1KB", "1kB", "1kb", "1KiB", "1024B", "1024"] {
            assert_eq!(parse(text), Ok(1024), "{text}");
        }
        assert_eq!(parse("2MB"), parse("2M"));
        assert_eq!(parse_list("1,64..4K:x4,64", parse), Ok(vec![1, 64, 256, 1024, 4096]));
    }

    #[test]
    fn refuses_what_is_no_size() {
        for text in ["", "abc", "-1", "1.5K", "0", "0K", "1TiB", "99999999999999999999", "4Q"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["64..1M:x1", "1M..64", "64..", "64,,1"] {
            assert!(parse_list(text, parse).is_err(), "{text}");
        }
        for text in ["1G,1025M", "1..2G"] {
            assert!(parse_list(text, message).unwrap_err().contains("at most 1G"), "{text}");
        }
        for (text, why) in [("-1", "start at 1"), ("-1K", "start at 1"), ("64..", "is missing")] {
            assert!(parse_list(text, parse).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn writes_what_it_reads() {
        for bytes in [1, 63, 64, 1024, 1025, 4096, 1 << 20, 3 << 30] {
            assert_eq!(parse(&format(bytes)), Ok(bytes));
            assert_eq!(parse(&spell(bytes).replace(' ', "")), Ok(bytes));
        }
        assert_eq!((spell(64), spell(64 << 10)), ("64 B".into(), "64 KiB".into()));
    }
}
