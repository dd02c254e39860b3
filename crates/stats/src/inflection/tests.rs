//! Inflections: alarms on straight lines, coverage of places, what is found and what is not.

use super::super::draw::Draw;
use super::*;

fn sizes(count: usize) -> Vec<f64> {
    (0..count).map(|nth| 64.0 * 2f64.powi(nth as i32)).collect()
}

/// Rounds of a curve: each moved as a whole by 10 %, each value by its size's spread, with
/// `noise` drawn for it.
fn measured(
    draw: &mut Draw,
    truth: &[f64],
    spread: impl Fn(usize) -> f64,
    rounds: usize,
    noise: fn(&mut Draw) -> f64,
) -> Vec<Vec<f64>> {
    let mut round = || {
        let moved = (0.1 * draw.normal()).exp();
        let value = |(nth, value): (usize, &f64)| value * moved * (spread(nth) * noise(draw)).exp();
        truth.iter().enumerate().map(value).collect()
    };
    (0..rounds).map(|_| round()).collect()
}

fn straight(sizes: &[f64]) -> Vec<f64> {
    sizes.iter().map(|size| 1000.0 + 0.1 * size).collect()
}

/// Noise whose median is 0 and whose upper tail is long, as that of launches is.
fn skewed(draw: &mut Draw) -> f64 {
    draw.exponential() - std::f64::consts::LN_2
}

/// Share of straight lines in which a break was seen.
fn alarms(
    seed: u64,
    (count, rounds): (usize, usize),
    spread: fn(usize) -> f64,
    noise: fn(&mut Draw) -> f64,
) -> f64 {
    let mut draw = Draw::seeded(seed);
    let (sizes, truth) = (sizes(count), straight(&sizes(count)));
    let seen = |draw: &mut Draw| {
        let rows = measured(draw, &truth, spread, rounds, noise);
        inflections(&sizes, &rows, 0.05).is_ok_and(|inflections| !inflections.is_empty())
    };
    (0..LINES).filter(|_| seen(&mut draw)).count() as f64 / f64::from(LINES)
}

const LINES: u32 = 100;

/// At most 5 %, and three standard errors of the count.
#[test]
fn a_straight_line_with_noise_is_seldom_called_broken() {
    let most = 0.05 + 3.0 * (0.05f64 * 0.95 / f64::from(LINES)).sqrt();
    let uneven: fn(usize) -> f64 = |nth| if nth < 4 { 0.2 } else { 0.04 };
    let seen = [
        alarms(1, (LEAST_SIZES, 12), |_| 0.1, Draw::normal),
        alarms(2, (9, LEAST_ROUNDS), uneven, Draw::normal),
        alarms(3, (12, 12), |_| 0.1, skewed),
    ];
    assert!(seen.iter().all(|value| *value <= most), "{seen:?}");
}

/// A curve that breaks at `place`: a step, and from there on a byte costs `times` as much.
fn broken(sizes: &[f64], place: f64, times: f64, step: f64) -> Vec<f64> {
    let value = |size: &f64| {
        let beyond = (size - place).max(0.0);
        let step = if *size > place { step } else { 0.0 };
        1000.0 + 0.1 * (size - beyond) + step + 0.1 * times * beyond
    };
    sizes.iter().map(value).collect()
}

/// Of 40 curves of nine sizes with one break: how many showed it alone, and in how many of these
/// the interval holds the place.
fn covered(seed: u64, place: f64, times: f64, step: f64, spread: f64) -> (u32, u32) {
    let mut draw = Draw::seeded(seed);
    let sizes: Vec<f64> = sizes(11).split_off(2);
    let truth = broken(&sizes, place, times, step);
    let mut counts = (0, 0);
    for _ in 0..40 {
        let rows = measured(&mut draw, &truth, |_| spread, 12, Draw::normal);
        if let [it] = inflections(&sizes, &rows, 0.05).unwrap()[..] {
            counts.0 += 1;
            counts.1 += u32::from(sizes[it.low - 1] <= place && place <= sizes[it.high]);
        }
    }
    counts
}

/// A kink on a measured size, a bend downwards between two, and a step, at several spreads: 95 %
/// of those found less three standard errors, and most are found.
#[test]
fn the_interval_of_the_place_covers() {
    for (place, times, step, spread) in
        [(8192.0, 4.0, 0.0, 0.03), (12e3, 0.2, 0.0, 0.1), (8192.0, 1.0, 1500.0, 0.08)]
    {
        let (found, covering) = covered(5, place, times, step, spread);
        let least = 0.95 - 3.0 * (0.95 * 0.05 / f64::from(found)).sqrt();
        assert!(found >= 30, "{place} {times} {step}: found {found} of 40");
        assert!(f64::from(covering) / f64::from(found) >= least, "{covering} of {found}");
    }
}

#[test]
fn two_breaks_are_found_with_their_lines() {
    let sizes = sizes(15);
    let value = |size: &f64| match *size {
        it if it <= 4096.0 => 1000.0 + 0.1 * it,
        it if it <= 131_072.0 => 3000.0 + 0.1 * it,
        it => 3000.0 + 0.1 * 131_072.0 + 0.4 * (it - 131_072.0),
    };
    let truth: Vec<f64> = sizes.iter().map(value).collect();
    let rows = measured(&mut Draw::seeded(8), &truth, |_| 0.002, 12, Draw::normal);
    let found = inflections(&sizes, &rows, 0.05).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    let [step, kink] = [found[0], found[1]];
    assert_eq!((step.at, step.low, step.high), (7, 7, 7), "between 4 and 8 KiB");
    let added = step.after.fixed - step.before.fixed;
    assert!((added / 2000.0 - 1.0).abs() < 0.1, "{added}");
    // 128 KiB lies on both lines.
    assert!(kink.low >= 11 && kink.high <= 12, "{kink:?}");
    let costs = kink.before.per_unit / kink.after.per_unit;
    assert!((costs / 0.25 - 1.0).abs() < 0.1, "{costs}");
}

#[test]
fn a_slight_break_is_none_however_sure() {
    let sizes = sizes(12);
    let truth = broken(&sizes, 8192.0, 1.05, 0.0);
    let rows = measured(&mut Draw::seeded(9), &truth, |_| 0.0005, 12, Draw::normal);
    let rows = leveled(rows);
    assert!(!search(&sizes, &rows, &Curve::of(&sizes, &rows), 0.025).is_empty(), "it is seen");
    assert_eq!(inflections(&sizes, &rows, 0.05), Ok(vec![]));
}

#[test]
fn a_line_without_any_noise_is_straight() {
    let sizes = sizes(10);
    assert_eq!(inflections(&sizes, &vec![straight(&sizes); 12], 0.05), Ok(vec![]));
}

#[test]
fn too_few_sizes_or_rounds_say_how_many_are_needed() {
    let rows = |levels: usize, rounds: usize| vec![straight(&sizes(levels)); rounds];
    let found_of = |levels: usize, rows: &Rounds| inflections(&sizes(levels), rows, 0.05);
    assert_eq!(found_of(5, &rows(5, 12)), Err(TooFew::Sizes(5)));
    assert_eq!(found_of(6, &rows(6, 6)), Err(TooFew::Rounds(6)));
    let mut holed = rows(6, 7);
    holed[3][2] = f64::NAN;
    assert_eq!(found_of(6, &holed), Err(TooFew::Rounds(6)), "a round with a hole doesn't count");
    assert!(TooFew::Sizes(5).to_string().starts_with("5 sizes, 6 are needed"));
    assert!(TooFew::Rounds(5).to_string().contains("7 are needed"));
}
