//! Where the cost per byte changes along a sweep over sizes, and how sure that place is.
//!
//! The model is straight lines in size, each with a fixed cost and a cost per byte of its own:
//! a break is a change of slope, a step, or both, and lies between two measured sizes. What a
//! line misses counts relative to the value, as on two logarithmic axes; a straight line itself
//! is round there, so slopes are not those of logarithms.
//!
//! The number of breaks is found by one test for each further break (see [`inflections`]); whole
//! rounds are flipped and drawn again, because what disturbs a round moves all its sizes.

use std::fmt;
use std::ops::Range;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::peak::Rounds;
use super::quantile::median;

/// Sizes below which nothing can be said: three on either side of a break.
pub const LEAST_SIZES: usize = 6;
/// Rounds below which no test can reach its level.
pub const LEAST_ROUNDS: usize = 7;
/// A break without which the lines miss every size by less than this share of its value is none
/// that anybody would look for.
pub const LEAST_MISS: f64 = 0.05;

/// The fewest sizes that a line runs through.
const STRETCH: usize = 2;
const FLIPS: usize = 499;
const DRAWS: usize = 999;
/// Rounds are leveled where that leaves less than this share of the usual spread.
const LEVELED: f64 = 0.5;
/// Relative spread below which sizes count as equally precise.
const PRECISE: f64 = 1e-4;

/// A straight stretch: `fixed + per_unit × size`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// What it would take at size 0.
    pub fixed: f64,
    /// What each further unit of size takes.
    pub per_unit: f64,
}

impl Line {
    pub fn at(&self, size: f64) -> f64 {
        self.fixed + self.per_unit * size
    }
}

/// A place where one line ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inflection {
    /// Index of the first size of the second line; the last of the first is one before.
    pub at: usize,
    /// The least that `at` may be.
    pub low: usize,
    /// The most that it may be.
    pub high: usize,
    pub before: Line,
    pub after: Line,
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooFew {
    /// So many sizes; [`LEAST_SIZES`] are needed.
    Sizes(usize),
    /// So many rounds with all sizes; [`LEAST_ROUNDS`] are needed.
    Rounds(usize),
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooFew::Sizes(found) => {
                let s = if *found == 1 { "" } else { "s" };
                write!(f, "{found} size{s}, {LEAST_SIZES} are needed (-s 64..1M:x2 asks for 15)")
            }
            TooFew::Rounds(found) => {
                let s = if *found == 1 { "" } else { "s" };
                write!(
                    f,
                    "{found} round{s} with every size, {LEAST_ROUNDS} are needed (--launches)"
                )
            }
        }
    }
}

/// The breaks of a curve, in the order of size; none of a straight line.
///
/// `sizes` ascend; `rounds[r][level]` is the value of round r at each size, above 0.
///
/// Breaks are added one by one, up to one for every three sizes: the best division into k + 1
/// breaks must gain more over the best one into k than in a share `alpha` / 2 of curves in which
/// there are k, which are made by turning the residuals of whole rounds round, at random from a
/// fixed seed. So a straight line with symmetric noise shows a break with probability `alpha` / 2,
/// whatever the spread at each size and however the sizes of a round hang together; the other half
/// is for noise that is skewed, as that of launches is. Then every break without which the lines
/// miss no size by [`LEAST_MISS`] is left out.
///
/// A place has its interval at `1 - alpha` by percentile bootstrap over rounds, the other breaks
/// held where they are.
pub fn inflections(sizes: &[f64], rounds: &Rounds, alpha: f64) -> Result<Vec<Inflection>, TooFew> {
    let usable = |row: &&Vec<f64>| {
        row.len() == sizes.len() && row.iter().all(|value| value.is_finite() && *value > 0.0)
    };
    let whole: Vec<Vec<f64>> = rounds.iter().filter(usable).cloned().collect();
    if sizes.len() < LEAST_SIZES {
        return Err(TooFew::Sizes(sizes.len()));
    }
    if whole.len() < LEAST_ROUNDS {
        return Err(TooFew::Rounds(whole.len()));
    }
    let whole = leveled(whole);
    let curve = Curve::of(sizes, &whole);
    let found = prune(&curve, search(sizes, &whole, &curve, alpha / 2.0));
    let places = places(sizes, &whole, &curve, &found, alpha);
    let lines = curve.lines(&found);
    let one = |(nth, (low, high)): (usize, (usize, usize))| Inflection {
        at: found[nth],
        low,
        high,
        before: lines[nth].1,
        after: lines[nth + 1].1,
    };
    Ok(places.into_iter().enumerate().map(one).collect())
}

/// Rounds without what moved all their sizes alike, where that is most of what moved them:
/// otherwise the correction would add more than it takes away.
fn leveled(rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let typical = medians(&rows);
    let level = |row: &Vec<f64>| -> Vec<f64> {
        let logs = row.iter().zip(&typical).map(|(value, of)| (value / of).ln());
        let factor = (logs.sum::<f64>() / row.len() as f64).exp();
        row.iter().map(|value| value / factor).collect()
    };
    let level_rows: Vec<Vec<f64>> = rows.iter().map(level).collect();
    let usual = |rows: &Rounds| middle(spreads(rows, &medians(rows)).into_iter());
    if usual(&level_rows) < LEVELED * usual(&rows) { level_rows } else { rows }
}

/// The relative spread about the value of each size. Not a robust one: of residuals that were
/// turned round most may still agree, and a spread that forgets the others would call that precise.
fn spreads(rows: &Rounds, values: &[f64]) -> Vec<f64> {
    let spread = |level: usize| {
        let squares = rows.iter().map(|row| (row[level] / values[level] - 1.0).powi(2));
        (squares.sum::<f64>() / rows.len() as f64).sqrt()
    };
    (0..values.len()).map(spread).collect()
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    median(&values)
}

fn medians(rows: &Rounds) -> Vec<f64> {
    (0..rows[0].len()).map(|level| middle(rows.iter().map(|row| row[level]))).collect()
}

/// A curve with the weight of each size, and sums that make any line's misfit a few operations.
struct Curve<'a> {
    sizes: &'a [f64],
    values: Vec<f64>,
    /// Of everything before each level: weights, and weighted sizes, values, their squares and
    /// product.
    sums: Vec<[f64; 6]>,
}

impl<'a> Curve<'a> {
    /// Values are medians over rounds. A size weighs by its relative spread, of which half is
    /// that of all sizes: of a dozen rounds alone it is too uncertain.
    fn of(sizes: &'a [f64], rows: &Rounds) -> Curve<'a> {
        let values = medians(rows);
        let spreads: Vec<f64> =
            spreads(rows, &values).iter().map(|spread| spread * spread).collect();
        let usual = middle(spreads.iter().copied());
        let weight = |(value, spread): (&f64, &f64)| {
            1.0 / ((spread + usual) / 2.0).max(PRECISE * PRECISE) / (value * value)
        };
        let weights: Vec<f64> = values.iter().zip(&spreads).map(weight).collect();
        Curve::weighted(sizes, values, &weights)
    }

    fn weighted(sizes: &'a [f64], values: Vec<f64>, weights: &[f64]) -> Curve<'a> {
        let mut sums = vec![[0.0; 6]];
        let mut sum = [0.0; 6];
        for ((x, y), w) in sizes.iter().zip(&values).zip(weights) {
            let terms = [1.0, *x, *y, x * x, x * y, y * y];
            sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += w * term);
            sums.push(sum);
        }
        Curve { sizes, values, sums }
    }

    fn weights(&self) -> Vec<f64> {
        self.sums.windows(2).map(|two| two[1][0] - two[0][0]).collect()
    }

    /// The weighted line through some levels, and what it leaves.
    fn line(&self, levels: Range<usize>) -> (Line, f64) {
        let (from, to) = (&self.sums[levels.start], &self.sums[levels.end]);
        let of = |nth: usize| to[nth] - from[nth];
        let (w, x, y) = (of(0), of(1) / of(0), of(2) / of(0));
        let (xx, xy, yy) = (of(3) - w * x * x, of(4) - w * x * y, of(5) - w * y * y);
        let per_unit = if xx > 0.0 { xy / xx } else { 0.0 };
        (Line { fixed: y - per_unit * x, per_unit }, (yy - per_unit * xy).max(0.0))
    }

    /// Each stretch between `breaks` with its line.
    fn lines(&self, breaks: &[usize]) -> Vec<(Range<usize>, Line)> {
        let ends = breaks.iter().copied().chain([self.values.len()]);
        let starts = [0].into_iter().chain(breaks.iter().copied());
        let stretch = |(from, to): (usize, usize)| (from..to, self.line(from..to).0);
        starts.zip(ends).map(stretch).collect()
    }

    fn fitted(&self, breaks: &[usize]) -> Vec<f64> {
        let lines = self.lines(breaks);
        let values = |(levels, line): (Range<usize>, Line)| {
            levels.map(move |level| line.at(self.sizes[level]))
        };
        lines.into_iter().flat_map(values).collect()
    }

    /// For 0, 1, … `most` breaks: what the best division leaves, and where it breaks.
    fn divisions(&self, most: usize) -> Vec<(f64, Vec<usize>)> {
        let levels = self.values.len();
        let mut left = vec![vec![f64::INFINITY; levels + 1]; levels + 1];
        for (from, row) in left.iter_mut().enumerate() {
            for (to, value) in row.iter_mut().enumerate().skip(from + STRETCH) {
                *value = self.line(from..to).1;
            }
        }
        // best[to]: of the levels before `to`, with as many breaks as rounds of the loop.
        let mut best: Vec<(f64, Vec<usize>)> =
            left[0].iter().map(|value| (*value, Vec::new())).collect();
        let mut found = vec![best[levels].clone()];
        for _ in 0..most {
            let ending = |to: usize| {
                let sum = |from: &usize| best[*from].0 + left[*from][to];
                let from = (0..to).min_by(|a, b| sum(a).total_cmp(&sum(b)));
                match from {
                    Some(from) if sum(&from).is_finite() => {
                        let mut breaks = best[from].1.clone();
                        breaks.push(from);
                        (sum(&from), breaks)
                    }
                    _ => (f64::INFINITY, Vec::new()),
                }
            };
            best = (0..=levels).map(ending).collect();
            found.push(best[levels].clone());
        }
        found
    }
}

/// The division with as many breaks as the tests tell.
fn search(sizes: &[f64], rows: &Rounds, curve: &Curve, alpha: f64) -> Vec<usize> {
    let most = sizes.len() / 3;
    let divisions = curve.divisions(most);
    let fewest = (0..most).find(|k| {
        let gain = divisions[*k].0 - divisions[k + 1].0;
        !(gain > 0.0 && beyond_chance(sizes, rows, curve.fitted(&divisions[*k].1), *k, gain, alpha))
    });
    divisions[fewest.unwrap_or(most)].1.clone()
}

/// Whether a further break gains what it does by chance with at most `alpha`, if the curve is
/// `truth`, which has `k` breaks.
fn beyond_chance(
    sizes: &[f64],
    rows: &Rounds,
    truth: Vec<f64>,
    k: usize,
    gain: f64,
    alpha: f64,
) -> bool {
    let mut rng = ChaCha8Rng::seed_from_u64(0x1F1E);
    let allowed = (alpha * (FLIPS + 1) as f64) as usize;
    let mut as_good = 1;
    for _ in 0..FLIPS {
        let flip = |row: &Vec<f64>| -> Vec<f64> {
            let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
            truth.iter().zip(row).map(|(truth, value)| truth + sign * (value - truth)).collect()
        };
        let flipped: Vec<Vec<f64>> = rows.iter().map(flip).collect();
        let divisions = Curve::of(sizes, &flipped).divisions(k + 1);
        if divisions[k].0 - divisions[k + 1].0 >= gain * (1.0 - 1e-9) {
            as_good += 1;
            if as_good > allowed {
                return false;
            }
        }
    }
    true
}

/// Without the breaks that hardly matter, the least of them first.
fn prune(curve: &Curve, mut breaks: Vec<usize>) -> Vec<usize> {
    loop {
        let with = curve.fitted(&breaks);
        let miss = |nth: usize| {
            let mut others = breaks.clone();
            others.remove(nth);
            let without = curve.fitted(&others);
            let share = |level: usize| (without[level] - with[level]).abs() / curve.values[level];
            (0..with.len()).map(share).fold(0.0, f64::max)
        };
        let misses: Vec<f64> = (0..breaks.len()).map(miss).collect();
        match (0..breaks.len()).min_by(|a, b| misses[*a].total_cmp(&misses[*b])) {
            Some(least) if misses[least] < LEAST_MISS => breaks.remove(least),
            _ => return breaks,
        };
    }
}

/// The least and the most that each break may be.
fn places(
    sizes: &[f64],
    rows: &Rounds,
    curve: &Curve,
    breaks: &[usize],
    alpha: f64,
) -> Vec<(usize, usize)> {
    let mut rng = ChaCha8Rng::seed_from_u64(0x70EA);
    let weights = curve.weights();
    let mut drawn: Vec<Vec<usize>> = vec![Vec::with_capacity(DRAWS); breaks.len()];
    for _ in 0..if breaks.is_empty() { 0 } else { DRAWS } {
        let chosen: Vec<usize> = rows.iter().map(|_| rng.random_range(0..rows.len())).collect();
        let level = |level: usize| middle(chosen.iter().map(|round| rows[*round][level]));
        let values = (0..sizes.len()).map(level).collect();
        let curve = Curve::weighted(sizes, values, &weights);
        for (nth, places) in drawn.iter_mut().enumerate() {
            let start = if nth == 0 { 0 } else { breaks[nth - 1] };
            let end = breaks.get(nth + 1).copied().unwrap_or(sizes.len());
            let left = |at: &usize| curve.line(start..*at).1 + curve.line(*at..end).1;
            let best = (start + STRETCH..=end - STRETCH).min_by(|a, b| left(a).total_cmp(&left(b)));
            places.push(best.unwrap_or(breaks[nth]));
        }
    }
    let ends = |(places, at): (&mut Vec<usize>, &usize)| {
        places.sort_unstable();
        let rank = |share: f64| places[((share * DRAWS as f64) as usize).min(DRAWS - 1)];
        (rank(alpha / 2.0).min(*at), rank(1.0 - alpha / 2.0).max(*at))
    };
    drawn.iter_mut().zip(breaks).map(ends).collect()
}

#[cfg(test)]
#[path = "inflection/tests.rs"]
mod tests;
