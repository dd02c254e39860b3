//! Numbers in words: base units in, three significant digits with a prefix out.
//!
//! Durations take SI prefixes, bytes and bytes per second take binary ones (1 KiB is 1024
//! bytes) and say so in the prefix. A value, its lower and its upper end share one unit and
//! one number of decimals, so that an interval can be read without arithmetic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::words::{count, counted, plural, were};

/// The base unit of a value, and with it the way it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes: an exact size such as 64 KiB.
    Bytes,
    /// Bytes per second.
    #[serde(rename = "bytes_per_sec")]
    BytesPerSecond,
    /// Events per second.
    #[serde(rename = "per_sec")]
    PerSecond,
    /// Joules.
    Joules,
    /// Whole things.
    Count,
    /// How many times as much.
    Ratio,
    /// A probability from 0 to 1, written as a percentage.
    Share,
    /// 1 of what is so, 0 of what isn't.
    Flag,
    /// A number without a unit.
    #[default]
    Number,
}

type Prefixes = &'static [(f64, &'static str)];

const KIB: f64 = 1024.0;
const SECONDS: Prefixes = &[(1.0, " ns"), (1e3, " µs"), (1e6, " ms"), (1e9, " s")];
const BYTES: Prefixes = &[
    (1.0, " B"),
    (KIB, " KiB"),
    (KIB * KIB, " MiB"),
    (KIB * KIB * KIB, " GiB"),
    (KIB * KIB * KIB * KIB, " TiB"),
];
const BYTE_RATES: Prefixes = &[
    (1.0, " B/s"),
    (KIB, " KiB/s"),
    (KIB * KIB, " MiB/s"),
    (KIB * KIB * KIB, " GiB/s"),
    (KIB * KIB * KIB * KIB, " TiB/s"),
];
const RATES: Prefixes = &[(1.0, " /s"), (1e3, " k/s"), (1e6, " M/s"), (1e9, " G/s")];
const JOULES: Prefixes = &[(1e-9, " nJ"), (1e-6, " µJ"), (1e-3, " mJ"), (1.0, " J")];
const TIMES: Prefixes = &[(1.0, "×")];
const PERCENT: Prefixes = &[(0.01, " %")];
const NONE: Prefixes = &[(1.0, "")];

crate::named!(Unit {
    Nanoseconds => "ns",
    Bytes => "bytes",
    BytesPerSecond => "bytes_per_sec",
    PerSecond => "per_sec",
    Joules => "joules",
    Count => "count",
    Ratio => "ratio",
    Share => "share",
    Flag => "flag",
    Number => "number",
});

impl Unit {
    fn prefixes(self) -> Prefixes {
        match self {
            Self::Nanoseconds => SECONDS,
            Self::Bytes => BYTES,
            Self::BytesPerSecond => BYTE_RATES,
            Self::PerSecond => RATES,
            Self::Joules => JOULES,
            Self::Ratio => TIMES,
            Self::Share => PERCENT,
            Self::Count | Self::Flag | Self::Number => NONE,
        }
    }

    /// A value of this unit in words; a dash where it is not finite.
    pub fn format(self, value: f64) -> String {
        if !value.is_finite() {
            return "–".to_string();
        }
        match self {
            Self::Bytes if value >= 0.0 && value.fract() == 0.0 => size(value as u64),
            Self::Count if value >= 0.0 && value.fract() == 0.0 => count(value as u64),
            Self::Ratio => ratio(value),
            Self::Share => percentile(value),
            _ => {
                let (scale, suffix) = prefix(self.prefixes(), value);
                format!("{}{suffix}", number(value / scale, decimals(value / scale, 3)))
            }
        }
    }

    /// A value with its interval, the unit said once: `4.12 µs [4.10, 4.15]`.
    ///
    /// Three significant digits of the value; up to two more where the ends of the interval
    /// would otherwise read the same.
    pub fn interval(self, value: f64, low: f64, high: f64) -> String {
        if !(value.is_finite() && low.is_finite() && high.is_finite()) {
            return self.format(value);
        }
        let (scale, suffix) = prefix(self.prefixes(), value);
        let (value, low, high) = (value / scale, low / scale, high / scale);
        let write =
            |digits: usize, v: f64| number(v, decimals(value, digits).min(decimals(v, digits)));
        let tells_apart = |digits: &usize| write(*digits, low) != write(*digits, high);
        // A ratio that differs by less than a thousandth is the same.
        let most = if self == Unit::Ratio { 4 } else { 5 };
        let digits = if low == high { 3 } else { (3..most).find(tells_apart).unwrap_or(most) };
        let [value, low, high] = [value, low, high].map(|v| write(digits, v));
        format!("{value}{suffix} [{low}, {high}]")
    }

    /// The same in little room, or the value alone where there is no interval: `4.12 µs (4.10–4.15)`.
    pub fn short(self, value: f64, ends: Option<(f64, f64)>) -> String {
        let text = self.with_ends(value, ends);
        match text.split_once('[').and_then(|(value, ends)| Some((value, ends.split_once(", ")?))) {
            Some((value, (low, high))) => format!("{value}({low}–{})", high.trim_end_matches(']')),
            None => text,
        }
    }

    /// As [`Unit::interval`], or the value alone where there is no interval.
    pub fn with_ends(self, value: f64, ends: Option<(f64, f64)>) -> String {
        match ends {
            Some((low, high)) => self.interval(value, low, high),
            None => self.format(value),
        }
    }

    /// A change from one value to another, the unit said once: `2.61 → 2.70 µs`.
    pub fn from_to(self, before: f64, after: f64) -> String {
        let (scale, suffix) = prefix(self.prefixes(), before.max(after));
        let write = |value: f64| number(value / scale, decimals(value / scale, 3));
        format!("{} → {}{suffix}", write(before), write(after))
    }

    /// From one value to another, the unit said once: `36.0–52.0 µs`; one of them where both read the same, and each with its
    /// own unit where the second is more than a hundred times the first.
    pub fn range(self, low: f64, high: f64) -> String {
        let (scale, suffix) = prefix(self.prefixes(), high);
        if high > 100.0 * low && prefix(self.prefixes(), low).1 != suffix {
            return format!("{}–{}", self.format(low), self.format(high));
        }
        let write = |value: f64| number(value / scale, decimals(value / scale, 3));
        let (low, high) = (write(low), write(high));
        if low == high { format!("{high}{suffix}") } else { format!("{low}–{high}{suffix}") }
    }
}

/// A duration: `duration(4120.0)` is `4.12 µs`.
pub fn duration(ns: f64) -> String {
    Unit::Nanoseconds.format(ns)
}

/// A p value in little room: `0.034`, `<0.0001`.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".into(),
        p if p < 0.01 => format!("{p:.4}"),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// A text whose numbers stay on one line with their units, by spaces that don't break.
pub fn kept_together(text: &str) -> String {
    const UNITS: [&str; 18] = [
        "%", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "KiB/s", "MiB/s", "GiB/s", "k/s",
        "M/s", "nJ", "µJ", "mJ", "J",
    ];
    let mut out = String::with_capacity(text.len());
    let mut number = false;
    for (position, word) in text.split(' ').enumerate() {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')', '?']);
        if position > 0 {
            out.push(if number && UNITS.contains(&bare) { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
        number = word.ends_with(|c: char| c.is_ascii_digit());
    }
    out
}

/// A transfer rate in binary units: `rate(1.32e9)` is `1.23 GiB/s`.
pub fn rate(bytes_per_second: f64) -> String {
    Unit::BytesPerSecond.format(bytes_per_second)
}

/// A rate of events: `per_second(241_000.0)` is `241 k/s`.
pub fn per_second(events: f64) -> String {
    Unit::PerSecond.format(events)
}

/// A size in bytes, exact where a binary prefix divides it: `size(65_536)` is `64 KiB`,
/// `size(1_500)` is `1,500 B`. Above 10,000 bytes an odd size is rounded to three digits.
pub fn size(bytes: u64) -> String {
    let exact = BYTES.iter().rev().find(|(scale, _)| {
        let scale = *scale as u64;
        bytes >= scale && bytes.is_multiple_of(scale)
    });
    match exact {
        Some((scale, suffix)) if *scale > 1.0 => {
            format!("{}{suffix}", count(bytes / *scale as u64))
        }
        _ if bytes < 10_000 => format!("{} B", count(bytes)),
        _ => {
            let (scale, suffix) = prefix(BYTES, bytes as f64);
            let value = bytes as f64 / scale;
            format!("{}{suffix}", number(value, decimals(value, 3)))
        }
    }
}

/// How many times as much: `2.31×`; from ten upwards without decimals, `14×`.
pub fn ratio(times: f64) -> String {
    if !times.is_finite() {
        return "–".to_string();
    }
    let decimals = if times.abs() >= 9.995 { 0 } else { decimals(times, 3) };
    format!("{}×", number(times, decimals))
}

/// A probability as a percentage with as many nines as it has: `99.9 %`.
pub fn percentile(probability: f64) -> String {
    if !probability.is_finite() {
        return "–".to_string();
    }
    let written = format!("{:.6}", probability * 100.0);
    let short = written.trim_end_matches('0').trim_end_matches('.');
    format!("{short} %")
}

/// A share of what was counted in three digits, however small: `12.3 %`, `0.123 %`, `1.2e-3 %`.
pub fn share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0 %".into(),
        ..0.01 => format!("{percent:.1e} %"),
        ..1.0 => format!("{percent:.3} %"),
        ..10.0 => format!("{percent:.2} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// The largest prefix that leaves at least one after rounding to three digits; 999.6 ns is
/// 1.00 µs. Binary prefixes also step at a thousand, so there are never four digits.
fn prefix(prefixes: Prefixes, value: f64) -> (f64, &'static str) {
    let fits = |entry: &&(f64, &'static str)| value.abs() / entry.0 < 999.5;
    *prefixes.iter().find(fits).unwrap_or(&prefixes[prefixes.len() - 1])
}

/// How many decimals show `digits` significant digits of a value.
fn decimals(value: f64, digits: usize) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let limit = digits as i32 - 1;
    let magnitude = value.abs().log10().floor() as i32;
    let places = (limit - magnitude).clamp(0, 9);
    let rounded = (value.abs() * 10f64.powi(places)).round() / 10f64.powi(places);
    // 9.996 rounds up to 10.0, which has a digit more before the point.
    let magnitude = if rounded > 0.0 { rounded.log10().floor() as i32 } else { magnitude };
    (limit - magnitude).clamp(0, 9) as usize
}

/// A number with fixed decimals, whole digits in threes, and a true minus sign.
fn number(value: f64, decimals: usize) -> String {
    let written = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_string(), count);
    let sign = if value < 0.0 { "−" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_significant_digits_and_carry_into_the_next_unit() {
        let written = [0.412, 41.23, 999.4, 999.6, 4_120.0, 44_499.0, 1e6, 2.5e9, 3.6e12];
        let expected =
            ["0.412 ns", "41.2 ns", "999 ns", "1.00 µs", "4.12 µs", "44.5 µs", "1.00 ms"];
        for (ns, words) in written.iter().zip(expected) {
            assert_eq!(duration(*ns), words);
        }
        assert_eq!(duration(2.5e9), "2.50 s");
        assert_eq!(duration(3.6e12), "3,600 s");
        assert_eq!(duration(f64::NAN), "–");
        assert_eq!(duration(0.0), "0 ns");
        assert_eq!(duration(-41.23), "−41.2 ns");
    }

    #[test]
    fn bytes_are_binary_and_say_so() {
        assert_eq!(rate(1.32e9), "1.23 GiB/s");
        assert_eq!(rate(1000.0 * 1024.0), "0.977 MiB/s");
        assert_eq!(size(64), "64 B");
        assert_eq!(size(65_536), "64 KiB");
        assert_eq!(size(1_500), "1,500 B");
        assert_eq!(size(100_000), "97.7 KiB");
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1 << 30), "1 GiB");
    }

    #[test]
    fn an_interval_shares_one_unit_and_shows_its_width() {
        assert_eq!(Unit::Nanoseconds.interval(4120.0, 4100.0, 4150.0), "4.12 µs [4.10, 4.15]");
        assert_eq!(Unit::Nanoseconds.interval(990.0, 980.0, 1_010.0), "990 ns [980, 1,010]");
        assert_eq!(Unit::Nanoseconds.interval(4121.3, 4120.1, 4123.2), "4.121 µs [4.120, 4.123]");
        assert_eq!(Unit::Nanoseconds.interval(412.0, 412.0, 412.0), "412 ns [412, 412]");
        assert_eq!(Unit::Ratio.interval(1.4, 1.352, 1.449), "1.40× [1.35, 1.45]");
        assert_eq!(Unit::Nanoseconds.interval(412.0, f64::NAN, 412.0), "412 ns");
        assert_eq!(Unit::Nanoseconds.range(36_000.0, 52_000.0), "36.0–52.0 µs");
        assert_eq!(Unit::Nanoseconds.range(412.1, 412.2), "412 ns");
        assert_eq!(Unit::Nanoseconds.from_to(950.0, 1_200.0), "0.950 → 1.20 µs");
        assert_eq!(Unit::Joules.interval(21.3e-6, 20.9e-6, 21.8e-6), "21.3 µJ [20.9, 21.8]");
        assert_eq!(Unit::Joules.interval(-4e-8, -9.1e-8, 2e-8), "−40.0 nJ [−91.0, 20.0]");
    }

    #[test]
    fn counts_ratios_and_percentiles() {
        assert_eq!(count(36_887), "36,887");
        assert_eq!(count(999), "999");
        assert_eq!(per_second(241_000.0), "241 k/s");
        assert_eq!(ratio(14.2), "14×");
        assert_eq!(ratio(9.996), "10×");
        assert_eq!(ratio(2.314), "2.31×");
        assert_eq!(ratio(0.7149), "0.715×");
        assert_eq!(percentile(0.999), "99.9 %");
        assert_eq!(percentile(0.5), "50 %");
    }
}
