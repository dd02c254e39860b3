//! Round values along an axis: steps of 1, 2 and 5, decades, powers of two for bytes.

use crate::Unit;

/// A value in words without digits that say nothing: `1 µs`, not `1.00 µs`.
pub(super) fn words(unit: Unit, value: f64) -> String {
    let text = unit.format(value);
    let Some((whole, rest)) = text.split_once('.') else { return text };
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    let (fraction, suffix) = rest.split_at(digits);
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}{suffix}"),
        kept => format!("{whole}.{kept}{suffix}"),
    }
}

fn is_bytes(unit: Unit) -> bool {
    matches!(unit, Unit::Bytes | Unit::BytesPerSecond)
}

/// Equal steps between two values, `most` at most.
pub(super) fn even(low: f64, high: f64, most: usize, unit: Unit) -> Vec<f64> {
    let raw = (high - low) / most.max(1) as f64;
    if !(raw.is_finite() && raw > 0.0) {
        return vec![low];
    }
    // Bytes step within their binary prefix.
    let prefix = if is_bytes(unit) { 1024f64.powf(raw.max(1.0).log(1024.0).floor()) } else { 1.0 };
    let power = prefix * 10f64.powf((raw / prefix).log10().floor());
    let fitting = [1.0, 2.0, 5.0].into_iter().find(|value| value * power >= raw);
    let mut step = power * fitting.unwrap_or(10.0);
    if is_bytes(unit) && step >= 1000.0 * prefix {
        step = 1024.0 * prefix; // one of the next prefix, not a thousand of this
    }
    if unit == Unit::Count {
        step = step.max(1.0);
    }
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|nth| nth as f64 * step).collect()
}

/// Equal ratios between two values above zero, `most` at most.
pub(super) fn ratios(low: f64, high: f64, most: usize, unit: Unit) -> Vec<f64> {
    let (from, to) = (low.log10(), high.log10());
    let within = |value: &f64| (from - 1e-9..=to + 1e-9).contains(&value.log10());
    let powers = |base: f64, every: i32, steps: &[f64]| {
        let size = base.log10() * f64::from(every);
        let range = (from / size).floor() as i32..=(to / size).ceil() as i32;
        let all = range.flat_map(|nth| {
            let power = base.powi(nth * every);
            steps.iter().map(move |step| power * step).collect::<Vec<_>>()
        });
        all.filter(within).collect::<Vec<f64>>()
    };
    let mut choices = Vec::new();
    if to - from < 0.7 {
        choices
            .push(even(low, high, most, unit).into_iter().filter(|value| *value > 0.0).collect());
    }
    if is_bytes(unit) {
        choices.extend([1, 2, 5, 10, 20].map(|every| powers(2.0, every, &[1.0])));
    } else {
        choices.extend([&[1.0, 2.0, 5.0][..], &[1.0, 3.0]].map(|steps| powers(10.0, 1, steps)));
        choices.extend([1, 2, 3].map(|every| powers(10.0, every, &[1.0])));
    }
    let tidy = |ticks: &Vec<f64>| ticks.len() <= most && ticks.len() > 1;
    let found = choices.into_iter().find(tidy);
    found.unwrap_or_else(|| {
        even(low, high, most, unit).into_iter().filter(|value| *value > 0.0).collect()
    })
}

/// The nines between two probabilities.
pub(super) fn nines(low: f64, high: f64) -> Vec<f64> {
    let named = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999];
    named.into_iter().filter(|value| (low..=high).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(even(0.0, 23.0, 6, Unit::Nanoseconds), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(even(1.0, 4.0, 9, Unit::Count), [1.0, 2.0, 3.0, 4.0]);
        let mib = 1024.0 * 1024.0;
        assert_eq!(even(0.0, 4.5 * mib, 5, Unit::BytesPerSecond)[1], mib);
        assert_eq!(ratios(64.0, 4096.0, 9, Unit::Bytes)[..2], [64.0, 128.0]);
        assert_eq!(ratios(150.0, 9e5, 5, Unit::Nanoseconds), [1e3, 1e4, 1e5]);
        assert_eq!(ratios(4000.0, 4100.0, 6, Unit::Nanoseconds).len(), 6);
        assert_eq!(nines(0.3, 0.9995), [0.5, 0.9, 0.99, 0.999]);
    }

    #[test]
    fn words_say_no_more_digits_than_they_need() {
        assert_eq!(words(Unit::Nanoseconds, 1000.0), "1 µs");
        assert_eq!(words(Unit::Nanoseconds, 1500.0), "1.5 µs");
        assert_eq!(words(Unit::Nanoseconds, 0.0), "0 ns");
        assert_eq!(words(Unit::Bytes, 65536.0), "64 KiB");
        assert_eq!(words(Unit::Share, 0.999), "99.9 %");
    }
}
