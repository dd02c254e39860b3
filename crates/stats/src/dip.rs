//! May values be of one mode? The dip test, which holds for every unimodal distribution.
//!
//! A long tail splits as well as two modes do: a test of a split against normal shapes calls
//! skew two modes. The dip (Hartigan and Hartigan 1985, "The dip test of unimodality") is the
//! distance of the empirical distribution from the nearest unimodal one, however skewed; among
//! these the uniform one dips most, asymptotically, so its quantiles bound p for all.

/// The levels of the columns of [`CRITICAL`].
const LEVELS: [f64; 8] = [0.01, 0.003, 0.001, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5];

/// For each number of values: the dip that uniform draws exceed with the probability of each
/// level, times the square root of the number. Simulated: `critical_values`, in the tests below.
const CRITICAL: [(usize, [f64; LEVELS.len()]); 13] = [
    (8, [0.4893, 0.5171, 0.5489, 0.5683, 0.5892, 0.6028, 0.6156, 0.6291]),
    (9, [0.4926, 0.5348, 0.5653, 0.5809, 0.5986, 0.6099, 0.6194, 0.6305]),
    (10, [0.5045, 0.5432, 0.5711, 0.5865, 0.6054, 0.6196, 0.6361, 0.6544]),
    (12, [0.5143, 0.5526, 0.5858, 0.6048, 0.6272, 0.6429, 0.6573, 0.6740]),
    (14, [0.5221, 0.5640, 0.5965, 0.6157, 0.6398, 0.6566, 0.6738, 0.6909]),
    (16, [0.5294, 0.5714, 0.6060, 0.6260, 0.6508, 0.6679, 0.6839, 0.7037]),
    (20, [0.5395, 0.5838, 0.6200, 0.6411, 0.6672, 0.6861, 0.7035, 0.7251]),
    (25, [0.5493, 0.5949, 0.6323, 0.6546, 0.6815, 0.7001, 0.7187, 0.7417]),
    (30, [0.5565, 0.6035, 0.6420, 0.6654, 0.6933, 0.7128, 0.7342, 0.7612]),
    (40, [0.5661, 0.6146, 0.6559, 0.6786, 0.7077, 0.7298, 0.7509, 0.7702]),
    (60, [0.5787, 0.6298, 0.6719, 0.6971, 0.7291, 0.7522, 0.7791, 0.8129]),
    (100, [0.5899, 0.6416, 0.6866, 0.7107, 0.7398, 0.7678, 0.7907, 0.8202]),
    (200, [0.6024, 0.6553, 0.7000, 0.7267, 0.7620, 0.7846, 0.8142, 0.8452]),
];

/// The dip of sorted values, 0 to 1/4: the largest distance between their distribution function
/// and that of the nearest unimodal one. NaN must not be among them.
///
/// Algorithm AS 217 (Hartigan 1985) with the corrections that the package diptest for R lists.
pub fn dip(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n < 2 || sorted[0] == sorted[n - 1] {
        return 0.0;
    }
    let below = minorant(sorted);
    let above = majorant(sorted);
    let (mut low, mut high) = (0, n - 1);
    // In steps of the distribution function, twice: 1/2n is the least there is.
    let mut dip = 1.0f64;
    loop {
        // The minorant runs down from `high`, the majorant up from `low`.
        let convex = touching(high, |at| at > low, |at| below[at]);
        let concave = touching(low, |at| at < high, |at| above[at]);
        let (apart, ig, ih) = farthest(sorted, &convex, &concave);
        if apart < dip {
            break;
        }
        let left = convex[ig..].windows(2).map(|it| above_chord(sorted, it[1], it[0]));
        let right = concave[ih..].windows(2).map(|it| below_chord(sorted, it[0], it[1]));
        dip = left.chain(right).fold(dip, f64::max);
        if (low, high) == (convex[ig], concave[ih]) {
            break;
        }
        (low, high) = (convex[ig], concave[ih]);
    }
    dip / (2 * n) as f64
}

/// For each value the one before it on the greatest convex minorant of all up to it.
fn minorant(x: &[f64]) -> Vec<usize> {
    let mut before = vec![0; x.len()];
    for j in 1..x.len() {
        before[j] = j - 1;
        loop {
            let (a, b) = (before[j], before[before[j]]);
            if a == 0 || (x[j] - x[a]) * ((a - b) as f64) < (x[a] - x[b]) * (j - a) as f64 {
                break;
            }
            before[j] = b;
        }
    }
    before
}

/// For each value the one after it on the least concave majorant of all from it.
fn majorant(x: &[f64]) -> Vec<usize> {
    let last = x.len() - 1;
    let mut after = vec![last; x.len()];
    for k in (0..last).rev() {
        after[k] = k + 1;
        loop {
            let (a, b) = (after[k], after[after[k]]);
            if a == last || (x[a] - x[k]) * ((b - a) as f64) < (x[b] - x[a]) * (a - k) as f64 {
                break;
            }
            after[k] = b;
        }
    }
    after
}

/// The points of a hull from `at` on.
fn touching(
    at: usize,
    goes_on: impl Fn(usize) -> bool,
    next: impl Fn(usize) -> usize,
) -> Vec<usize> {
    let mut points = vec![at];
    let mut at = at;
    while goes_on(at) {
        at = next(at);
        points.push(at);
    }
    points
}

/// Where minorant and majorant are farthest apart, by how much, and from which of their points on
/// the modal interval ends.
fn farthest(x: &[f64], convex: &[usize], concave: &[usize]) -> (f64, usize, usize) {
    if convex.len() == 2 && concave.len() == 2 {
        return (1.0, 1, 1);
    }
    let (mut apart, mut ig, mut ih) = (0.0, convex.len() - 1, concave.len() - 1);
    let (mut ix, mut iv) = (convex.len() - 2, 1);
    let slope = |a: usize, b: usize| (b - a) as f64 / (x[b] - x[a]);
    loop {
        let (g, l) = (convex[ix], concave[iv]);
        if g > l {
            let before = convex[ix + 1];
            let here = (l - before + 1) as f64 - (x[l] - x[before]) * slope(before, g);
            iv += 1;
            if here >= apart {
                (apart, ig, ih) = (here, ix + 1, iv - 1);
            }
        } else {
            let before = concave[iv - 1];
            let here = (x[g] - x[before]) * slope(before, l) - (g as f64 - before as f64 - 1.0);
            // The first point of the minorant stays.
            if here >= apart {
                (apart, ig, ih) = (here, ix, iv);
            }
            ix = ix.saturating_sub(1);
        }
        iv = iv.min(concave.len() - 1);
        if convex[ix] == concave[iv] {
            return (apart, ig, ih);
        }
    }
}

/// How far the steps from `from` to `to` rise above the chord between them.
fn above_chord(x: &[f64], from: usize, to: usize) -> f64 {
    deviation(x, from, to, |steps, chord| steps + 1.0 - chord)
}

/// How far they fall below it.
fn below_chord(x: &[f64], from: usize, to: usize) -> f64 {
    deviation(x, from, to, |steps, chord| chord - steps + 1.0)
}

fn deviation(x: &[f64], from: usize, to: usize, apart: impl Fn(f64, f64) -> f64) -> f64 {
    if to - from <= 1 || x[to] == x[from] {
        return 1.0;
    }
    let slope = (to - from) as f64 / (x[to] - x[from]);
    let of = |at: usize| apart((at - from) as f64, (x[at] - x[from]) * slope);
    (from..=to).map(of).fold(1.0, f64::max)
}

/// Upper bound for p of "one mode": the smallest level that is reached, 1 where none is, or where
/// there are fewer than 8 values. Of a number between two rows the larger quantile counts; beyond the
/// last one 5 % more, which is what it still grows by.
pub fn dip_p(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n < CRITICAL[0].0 {
        return 1.0;
    }
    let scaled = dip(sorted) * (n as f64).sqrt();
    let last = CRITICAL[CRITICAL.len() - 1];
    let beyond = (usize::MAX, last.1.map(|it| 1.05 * it));
    let rows: Vec<_> = CRITICAL.into_iter().chain([beyond]).collect();
    let after = rows.partition_point(|(count, _)| *count < n);
    let before = rows.partition_point(|(count, _)| *count <= n) - 1;
    let bound = |nth: usize| rows[before].1[nth].max(rows[after].1[nth]);
    let reached = (0..LEVELS.len()).rev().find(|nth| scaled >= bound(*nth));
    reached.map_or(1.0, |nth| LEVELS[nth])
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    /// By linear programming over all unimodal distribution functions (SciPy).
    #[test]
    fn it_is_the_distance_to_the_nearest_unimodal_distribution() {
        let known: [(&[f64], f64); 4] = [
            (&[0.0276, 0.3032, 0.3297, 0.5381, 0.5496, 0.7535, 0.7884], 0.126_740_862),
            (&[-0.0276, 0.0008, 0.1294, 2.7289, 2.8111, 2.9825, 3.1007], 0.202_080_796),
            (&[1.0, 2.0, 3.0, 4.0], 0.125),
            (&[1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0], 0.25),
        ];
        for (sorted, wanted) in known {
            assert!((dip(sorted) - wanted).abs() < 1e-8, "{sorted:?}: {}", dip(sorted));
        }
        assert_eq!((dip(&[]), dip(&[5.0; 9])), (0.0, 0.0));
    }

    #[test]
    fn two_heaps_are_not_of_one_mode_and_a_long_tail_is() {
        let heaps: Vec<f64> = (0..24).map(|at| (at / 12 * 10) as f64 + 0.01 * at as f64).collect();
        assert!(dip_p(&heaps) <= 1e-4, "{}", dip_p(&heaps));
        let tail: Vec<f64> = (0..24).map(|at| f64::from(at).exp()).collect();
        assert_eq!(dip_p(&tail), 1.0);
        assert_eq!(dip_p(&heaps[8..15]), 1.0, "seven are too few");
    }

    /// Also of numbers between rows, and beyond the last one.
    #[test]
    fn uniform_draws_reach_a_level_as_often_as_it_says_at_most() {
        for (n, runs) in [(8, 6_000), (11, 6_000), (23, 4_000), (300, 500)] {
            let mut draw = Draw::seeded(n as u64);
            let found = (0..runs).filter(|_| {
                let mut values = draw.many(n, Draw::uniform);
                values.sort_unstable_by(f64::total_cmp);
                dip_p(&values) <= 0.01
            });
            let share = found.count() as f64 / f64::from(runs);
            let limit = 0.01 + 3.0 * (0.01 * 0.99 / f64::from(runs)).sqrt();
            assert!(share <= limit, "{n} values: {share}");
        }
    }

    /// Prints the rows of [`CRITICAL`]: minutes, compiled optimised.
    #[test]
    #[ignore = "makes the table, which takes minutes"]
    fn critical_values() {
        for (n, _) in CRITICAL {
            let draws = 120_000_000 / n.max(15);
            let mut draw = Draw::seeded(n as u64);
            let mut scaled: Vec<f64> = (0..draws)
                .map(|_| {
                    let mut values = draw.many(n, Draw::uniform);
                    values.sort_unstable_by(f64::total_cmp);
                    dip(&values) * (n as f64).sqrt()
                })
                .collect();
            scaled.sort_unstable_by(f64::total_cmp);
            let quantile = |level| scaled[draws - 1 - (level * draws as f64) as usize];
            println!("({n}, {:.4?}),", LEVELS.map(quantile));
        }
    }
}
