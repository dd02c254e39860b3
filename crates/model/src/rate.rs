//! Messages a second, as text: `500`, `10k`, `1M`. Decimal, as rates are.

/// What is asked where nothing is said.
pub const USUAL: u64 = 1_000;
/// Below, `udp` takes a pause for a loss: it waits half a second for a message.
pub const LEAST: u64 = 10;
/// Above, no clock tells when one message is due from when the next is.
pub const MOST: u64 = 10_000_000;

/// The rate that `text` stands for.
///
/// # Errors
/// A sentence with the remedy.
pub fn parse(text: &str) -> Result<u64, String> {
    let (digits, scale) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000),
        Some(digits) => (digits, 1_000_000),
        None => (text, 1),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number =
        digits.parse::<u64>().ok().filter(|_| plain).and_then(|number| number.checked_mul(scale));
    number.filter(|number| (LEAST..=MOST).contains(number)).ok_or_else(|| {
        format!("`{text}`: write messages a second, from {LEAST} to 10M, as in 500 or 10k")
    })
}

/// As it is written: `10k`.
pub fn format(rate: u64) -> String {
    match rate {
        _ if rate > 0 && rate.is_multiple_of(1_000_000) => format!("{}M", rate / 1_000_000),
        _ if rate > 0 && rate.is_multiple_of(1_000) => format!("{}k", rate / 1_000),
        _ => rate.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written() {
        for (text, rate) in [("10", 10), ("1k", 1_000), ("1500", 1_500), ("10M", 10_000_000)] {
            assert_eq!(parse(text), Ok(rate));
            assert_eq!(parse(&format(rate)), Ok(rate));
        }
        assert_eq!(format(1_500), "1500");
        assert_eq!(format(250_000), "250k");
    }

    #[test]
    fn what_is_no_rate_is_refused_with_the_remedy() {
        let huge = "99999999999999999999k";
        for text in ["", "0", "9", "11M", "abc", "k", "1.5k", "-1", "+10", "1kk", "1 k", huge] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(&format!("`{text}`: write messages a second")), "{error}");
        }
    }
}
