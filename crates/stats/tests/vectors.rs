//! Holds `stats` against vectors/*.json, which oracle/make_vectors.py
//! made with SciPy and NumPy or by definition. Nothing is measured here.

use std::path::Path;

use ipcmark_stats as stats;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The rows under `key` of one file of vectors.
fn rows<T: DeserializeOwned>(file: &str, key: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let mut all: Value = serde_json::from_str(&text).unwrap();
    assert!(all["made_with"]["scipy"].is_string(), "{file} does not say what made it");
    let rows: Vec<T> = serde_json::from_value(all[key].take()).unwrap();
    assert!(!rows.is_empty(), "{file} has no {key}");
    rows
}

#[track_caller]
fn assert_close(found: f64, expected: f64, relative: f64) {
    let scale = found.abs().max(expected.abs());
    assert!((found - expected).abs() <= relative * scale, "found {found}, expected {expected}");
}

#[test]
fn quantiles_are_those_of_numpy() {
    #[derive(Deserialize)]
    struct Row {
        values: Vec<f64>,
        p: Vec<f64>,
        quantiles: Vec<f64>,
        median: f64,
    }
    for row in rows::<Row>("quantile.json", "plain") {
        for (p, expected) in row.p.iter().zip(&row.quantiles) {
            assert_close(stats::quantile(&row.values, *p), *expected, 1e-14);
        }
        assert_close(stats::median(&row.values), row.median, 1e-14);
    }
}

#[test]
fn mid_quantiles_invert_the_mid_distribution() {
    #[derive(Deserialize)]
    struct Row {
        ticks: Vec<u64>,
        p: Vec<f64>,
        quantiles: Vec<f64>,
    }
    for row in rows::<Row>("quantile.json", "tied") {
        for (p, expected) in row.p.iter().zip(&row.quantiles) {
            assert_close(stats::mid_quantile(&row.ticks, *p), *expected, 1e-12);
        }
    }
}

#[test]
fn samples_needed_are_the_fewest() {
    #[derive(Deserialize)]
    struct Row {
        p: f64,
        samples: u64,
    }
    for row in rows::<Row>("quantile.json", "samples_needed") {
        assert_eq!(stats::samples_needed(row.p), row.samples, "p = {}", row.p);
    }
}

#[test]
fn median_ranks_have_their_binomial_coverage() {
    #[derive(Deserialize)]
    struct Row {
        n: usize,
        alpha: f64,
        low: Option<usize>,
        coverage: Option<f64>,
    }
    for row in rows::<Row>("ranks.json", "ranks") {
        let found = stats::median_ranks(row.n, row.alpha);
        assert_eq!(found.map(|(low, ..)| low), row.low, "n = {}", row.n);
        let Some((low, high, coverage)) = found else { continue };
        assert_eq!(low + high, row.n + 1);
        // SciPy's own distribution function is good to about 1e-11.
        assert_close(1.0 - coverage, 1.0 - row.coverage.unwrap(), 1e-9);
    }
}

#[derive(Deserialize)]
struct SignedRow {
    differences: Vec<f64>,
    statistic: f64,
    p: f64,
}

fn assert_signed_ranks(key: &str, relative: f64) {
    for row in rows::<SignedRow>("signed_rank.json", key) {
        let test = stats::signed_rank(&row.differences);
        assert_eq!(test.statistic, row.statistic, "{:?}", row.differences);
        assert_close(test.p, row.p, relative);
    }
}

#[test]
fn signed_rank_p_without_ties_is_that_of_scipy() {
    assert_signed_ranks("exact", 1e-12);
}

#[test]
fn signed_rank_p_with_ties_and_zeros_is_that_of_all_sign_patterns() {
    assert_signed_ranks("tied", 1e-12);
}

#[test]
fn signed_rank_p_of_many_differences_is_that_of_scipy() {
    assert_signed_ranks("normal", 1e-10);
}

#[test]
fn sign_test_p_is_that_of_scipy() {
    #[derive(Deserialize)]
    struct Row {
        above: usize,
        below: usize,
        p: f64,
    }
    for row in rows::<Row>("signed_rank.json", "signs") {
        let differences = [vec![1.0; row.above], vec![-2.0; row.below]].concat();
        assert_close(stats::sign_test(&differences), row.p, 1e-9);
    }
}

#[derive(Deserialize)]
struct TwoSampleRow {
    a: Vec<f64>,
    b: Vec<f64>,
    statistic: f64,
    p: f64,
}

fn assert_mann_whitney(key: &str, relative: f64) {
    for row in rows::<TwoSampleRow>("two_sample.json", key) {
        let test = stats::mann_whitney(&row.a, &row.b);
        assert_eq!(test.statistic, row.statistic, "{:?} {:?}", row.a, row.b);
        assert_close(test.p, row.p, relative);
    }
}

#[test]
fn mann_whitney_p_without_ties_is_that_of_scipy() {
    assert_mann_whitney("exact", 1e-12);
}

#[test]
fn mann_whitney_p_with_ties_is_that_of_all_divisions() {
    assert_mann_whitney("tied", 1e-12);
}

#[test]
fn mann_whitney_p_of_many_values_is_that_of_scipy() {
    assert_mann_whitney("normal", 1e-10);
}

#[test]
fn shifts_and_their_intervals_are_those_of_all_differences() {
    #[derive(Deserialize)]
    struct Row {
        a: Vec<f64>,
        b: Vec<f64>,
        alpha: f64,
        estimate: f64,
        low: f64,
        high: f64,
        coverage: f64,
    }
    for row in rows::<Row>("two_sample.json", "shifts") {
        let found = stats::hodges_lehmann_shift(&row.a, &row.b, row.alpha).unwrap();
        assert_close(found.estimate, row.estimate, 1e-12);
        assert_close(found.low, row.low, 1e-12);
        assert_close(found.high, row.high, 1e-12);
        assert_close(1.0 - found.coverage, 1.0 - row.coverage, 1e-11);
    }
}

#[test]
fn holm_is_holm_by_definition() {
    #[derive(Deserialize)]
    struct Row {
        p: Vec<f64>,
        adjusted: Vec<f64>,
    }
    for row in rows::<Row>("holm.json", "families") {
        let found = stats::holm(&row.p);
        assert_eq!(found.len(), row.adjusted.len());
        found.iter().zip(&row.adjusted).for_each(|(found, row)| assert_close(*found, *row, 1e-12));
    }
}

#[test]
fn sign_flips_are_those_of_scipy() {
    #[derive(Deserialize)]
    struct Row {
        first: Vec<Vec<f64>>,
        second: Vec<Vec<f64>>,
        p: f64,
        p_of_levels: Vec<f64>,
        as_published: Vec<f64>,
    }
    for row in rows::<Row>("price.json", "shapes") {
        let found = stats::rescaled(&row.first, &row.second).unwrap();
        assert_close(found.p, row.p, 1e-12);
        let levels = found.p_of_levels.iter().zip(&row.p_of_levels);
        levels.for_each(|(found, row)| assert_close(*found, *row, 1e-12));
        let bare = stats::pointwise(&row.first, &row.second).unwrap();
        assert_eq!(bare.len(), row.as_published.len());
        bare.iter().zip(&row.as_published).for_each(|(p, row)| assert_close(*p, *row, 1e-12));
    }
}

#[test]
fn modes_split_where_the_least_variance_is_left() {
    #[derive(Deserialize)]
    struct Row {
        values: Vec<f64>,
        slow: usize,
        within: f64,
    }
    for row in rows::<Row>("modes.json", "cases") {
        let modes = stats::two_modes(&row.values).unwrap();
        assert_eq!(modes.high.count, row.slow);
        assert_close(modes.within, row.within, 1e-10);
    }
}
