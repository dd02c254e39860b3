#!/usr/bin/env python3
"""Makes tests/vectors/*.json, against which tests/vectors.rs holds crates/stats.

    pip install numpy scipy
    python3 crates/stats/tests/oracle/make_vectors.py

What SciPy and NumPy offer comes from them; the rest is computed here by
definition (enumeration, exact fractions), never by the algorithm under test. Each file
records the versions it was made with. Seeded: the same versions make the same files.
"""
import itertools
import json
import math
import pathlib
from fractions import Fraction

import numpy as np
import scipy
from scipy import stats

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "vectors"
VERSIONS = {
    "numpy": np.__version__,
    "scipy": scipy.__version__,
}


def write(name, **cases):
    body = [f'"made_with": {json.dumps(VERSIONS)}']
    for key, rows in cases.items():
        lines = ",\n".join(json.dumps(row) for row in rows)
        body.append(f'"{key}": [\n{lines}\n]')
    (VECTORS / f"{name}.json").write_text("{\n" + ",\n".join(body) + "\n}\n")


def rounded(values, digits=5):
    return [round(float(x), digits) for x in values]


# Quantiles


def mid_quantile(ticks, p):
    """Ma, Genton and Parzen 2011: invert the piecewise linear mid-distribution function."""
    values, counts = np.unique(ticks, return_counts=True)
    middles = (np.cumsum(counts) - counts / 2) / len(ticks)
    return float(np.interp(p, middles, values))


def quantiles(rng):
    plain, tied = [], []
    probabilities = [0.0, 0.01, 0.1, 0.25, 0.37, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0]
    for n in [1, 2, 3, 4, 7, 12, 50]:
        values = sorted(rounded(rng.lognormal(4, 1, n)))
        plain.append(
            {
                "values": values,
                "p": probabilities,
                "quantiles": [float(np.quantile(values, p)) for p in probabilities],
                "median": float(np.median(values)),
            }
        )
    for n, scale in [(1, 5), (2, 5), (9, 2), (40, 3), (200, 4), (300, 1000)]:
        ticks = sorted(int(x) for x in 40 + rng.exponential(scale, n))
        tied.append(
            {
                "ticks": ticks,
                "p": probabilities,
                "quantiles": [mid_quantile(ticks, p) for p in probabilities],
            }
        )
    needed = []
    for p in ["0.5", "0.8", "0.9", "0.95", "0.99", "0.999", "0.9999", "0.99999"]:
        # The smallest n with P(the largest of n is below the quantile) <= 2.5 %.
        n = 1
        while stats.binom.sf(n - 1, n, float(p)) > 0.025:
            n = n + 1 if n < 1000 else int(n * 1.00001) + 1
        while n > 1 and stats.binom.sf(n - 2, n - 1, float(p)) <= 0.025:
            n -= 1
        needed.append({"p": float(p), "samples": n})
    write("quantile", plain=plain, tied=tied, samples_needed=needed)


# Intervals and looks


def ranks():
    rows = []
    for n in [*range(1, 61), 99, 100, 101, 500, 1000, 1074, 1075, 2500, 5000, 10_000]:
        for alpha in [0.05, 0.01]:
            low = np.arange(1, (n + 1) // 2 + 1)
            error = 2 * stats.binom.cdf(low - 1, n, 0.5)
            fits = low[error <= alpha]
            row = {"n": n, "alpha": alpha, "low": None, "coverage": None}
            if len(fits):
                row["low"] = int(fits[-1])
                row["coverage"] = float(1 - error[fits[-1] - 1])
            rows.append(row)
    return rows


# Signed ranks


def pratt_by_enumeration(differences):
    """Two-sided exact p over all sign patterns, zeros ranked and left out."""
    ranks = stats.rankdata(np.abs(differences))
    kept = [Fraction(r).limit_denominator(2) for r, d in zip(ranks, differences) if d != 0]
    positive = sum((r for r, d in zip(kept, [d for d in differences if d]) if d > 0), Fraction(0))
    total = sum(kept, Fraction(0))
    smaller = min(positive, total - positive)
    hits = sum(
        1
        for signs in itertools.product([0, 1], repeat=len(kept))
        if sum((r for r, s in zip(kept, signs) if s), Fraction(0)) <= smaller
    )
    return float(smaller), float(min(Fraction(1), Fraction(2 * hits, 2 ** len(kept))))


def signed_ranks(rng):
    exact, tied, normal, signs = [], [], [], []
    for n, shift in [(1, 0), (2, 0.5), (5, 1), (6, 2), (9, 0.3), (12, 0.7), (20, 0.4), (50, 0.3)]:
        differences = rounded(rng.normal(shift, 1, n))
        test = stats.wilcoxon(differences, method="exact")
        exact.append({"differences": differences, "statistic": test.statistic, "p": test.pvalue})
    for n, shift, width in [(4, 0, 1), (7, 1, 2), (10, 0.5, 2), (12, 1, 3), (13, 0.4, 1), (14, 1, 4)]:
        differences = [float(x) for x in np.round(rng.normal(shift, width, n))]
        statistic, p = pratt_by_enumeration(differences)
        tied.append({"differences": differences, "statistic": statistic, "p": p})
    for n, digits in [(201, 5), (250, 1), (300, 0)]:
        differences = rounded(rng.normal(0.1, 1, n), digits)
        test = stats.wilcoxon(
            differences, zero_method="pratt", correction=True, method="asymptotic"
        )
        normal.append({"differences": differences, "statistic": test.statistic, "p": test.pvalue})
    for n, shift in [(1, 0), (6, 2), (12, 0.7), (40, 0.3), (1500, 0.03)]:
        above = int((rng.normal(shift, 1, n) > 0).sum())
        p = stats.binomtest(above, n, 0.5).pvalue
        signs.append({"above": above, "below": n - above, "p": p})
    write("signed_rank", exact=exact, tied=tied, normal=normal, signs=signs)


# Two samples


def rank_sums(ranks, m):
    """How many choices of m of the ranks have each sum."""
    ways = [{0: 1}] + [{} for _ in range(m)]
    for rank in ranks:
        for taken in range(m, 0, -1):
            for total, count in ways[taken - 1].items():
                ways[taken][total + rank] = ways[taken].get(total + rank, 0) + count
    return ways[m]


def divisions(ranks, m):
    """Two-sided exact p of the first m of the ranks: twice the share of divisions that are as
    far out on the side of the one seen."""
    ways, seen = rank_sums(ranks, m), sum(ranks[:m])
    all_ways = sum(ways.values())
    below = sum(count for total, count in ways.items() if total <= seen)
    above = sum(count for total, count in ways.items() if total >= seen)
    return float(min(Fraction(1), Fraction(2 * min(below, above), all_ways)))


def two_samples(rng):
    exact, tied, normal, shifts = [], [], [], []
    for m, n, shift in [(1, 1, 0), (2, 5, 1), (4, 4, 3), (7, 5, 1), (12, 12, 0.9), (12, 20, 0.4),
                        (30, 30, 0.6), (8, 60, 0.7), (50, 50, 0.3)]:
        a, b = rounded(rng.normal(shift, 1, m)), rounded(rng.normal(0, 1, n))
        test = stats.mannwhitneyu(a, b, method="exact")
        exact.append({"a": a, "b": b, "statistic": test.statistic, "p": test.pvalue})
    for m, n, shift, width in [(3, 4, 1, 1), (6, 6, 0, 2), (9, 5, 2, 2), (12, 12, 1, 2), (12, 9, 0, 1),
                               (30, 20, 0.8, 2)]:
        a = [float(x) for x in np.round(rng.normal(shift, width, m))]
        b = [float(x) for x in np.round(rng.normal(0, width, n))]
        ranks = [int(2 * rank) for rank in stats.rankdata(a + b)]
        statistic = stats.mannwhitneyu(a, b, method="asymptotic").statistic
        tied.append({"a": a, "b": b, "statistic": statistic, "p": divisions(ranks, m)})
    for m, n, digits in [(51, 50, 5), (100, 100, 1), (100, 30, 0)]:
        a, b = rounded(rng.normal(0.3, 1, m), digits), rounded(rng.normal(0, 1, n), digits)
        test = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True)
        normal.append({"a": a, "b": b, "statistic": test.statistic, "p": test.pvalue})
    for m, n, alpha in [(4, 4, 0.05), (6, 9, 0.1), (12, 12, 0.05), (12, 30, 0.05), (30, 30, 0.1)]:
        a, b = rounded(rng.normal(0.2, 1, m)), rounded(rng.normal(0, 1, n))
        differences = sorted(x - y for x in a for y in b)
        # The largest statistic whose exact two-sided p is still at most alpha.
        ways = rank_sums(range(m + n), m)
        least, total_ways, error, rank = m * (m - 1) // 2, sum(ways.values()), Fraction(0), 0
        while error + Fraction(2 * ways[least + rank], total_ways) <= Fraction(str(alpha)):
            error += Fraction(2 * ways[least + rank], total_ways)
            rank += 1
        shifts.append(
            {
                "a": a,
                "b": b,
                "alpha": alpha,
                "estimate": float(np.median(differences)),
                "low": differences[rank - 1],
                "high": differences[len(differences) - rank],
                "coverage": float(1 - error),
            }
        )
    write("two_sample", exact=exact, tied=tied, normal=normal, shifts=shifts)


def holm(rng):
    rows = []
    for n in [1, 2, 5, 15, 40]:
        p = rounded(rng.beta(0.3, 2, n))
        order = sorted(range(n), key=lambda i: p[i])
        adjusted = [0.0] * n
        for position, i in enumerate(order):
            steps = [(n - before) * p[order[before]] for before in range(position + 1)]
            adjusted[i] = min(1.0, max(steps))
        rows.append({"p": p, "adjusted": adjusted})
    write("holm", families=rows)


# The price of looking


def curve_pairs(rng, rounds, levels, bent):
    first = 100 * 2.0 ** np.arange(levels) * np.exp(0.05 * rng.normal(size=(rounds, levels)))
    second = first * 1.3 * np.exp(0.05 * rng.normal(size=(rounds, levels)))
    second[:, 0] *= bent
    return [[rounded(row) for row in curve] for curve in (first, second)]


def flips(first, second):
    """SciPy's permutations of pairs, applied to marks that stand for whole rounds: the largest
    studentized sum over levels, and the p of each level by that maximum."""
    logs = np.log(np.array(first) / np.array(second))
    deviations = logs - logs.mean(axis=1, keepdims=True)
    scales = np.sqrt((deviations**2).sum(axis=0))

    def studentized(a, b):
        return np.abs(np.sign(a - b) @ deviations) / scales

    seen = studentized(*(marks := (np.ones(len(first)), -np.ones(len(first)))))
    test = stats.permutation_test(
        marks,
        lambda a, b: studentized(a, b).max(),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative="greater",
    )
    reached = test.null_distribution[:, None] >= seen[None, :] * (1 - 1e-12)
    return float(test.pvalue), [float(p) for p in reached.mean(axis=0)]


def as_published(first, second):
    curves = [np.array(curve) for curve in (first, second)]
    curves = [curve / np.median(curve, axis=0).mean() for curve in curves]
    each = zip(*(curve.T for curve in curves))
    return [float(stats.wilcoxon(a, b, method="exact").pvalue) for a, b in each]


def prices(rng):
    shapes = []
    for rounds, levels, bent in [(6, 2, 1.0), (8, 5, 1.1), (10, 9, 1.0), (12, 9, 1.1), (12, 4, 1.05)]:
        first, second = curve_pairs(rng, rounds, levels, bent)
        p, p_of_levels = flips(first, second)
        shapes.append(
            {
                "first": first,
                "second": second,
                "p": p,
                "p_of_levels": p_of_levels,
                "as_published": as_published(first, second),
            }
        )
    write("price", shapes=shapes)


def modes(rng):
    """Share of variance within the best two groups, over every split."""
    rows = []
    for n, share in [(8, 0.5), (12, 0.3), (20, 0.2), (50, 0.15)]:
        while True:
            slow = rng.random(n) < share
            if 2 <= slow.sum() <= n - 2:
                break
        values = rounded(np.where(slow, 450, 100) * np.exp(0.07 * rng.normal(size=n)))
        logs = np.log(sorted(values))
        within = min(
            ((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum()
            for low, high in (np.split(logs, [k]) for k in range(2, n - 1))
        )
        rows.append(
            {
                "values": values,
                "slow": int(slow.sum()),
                "within": float(within / ((logs - logs.mean()) ** 2).sum()),
            }
        )
    write("modes", cases=rows)


def main():
    VECTORS.mkdir(exist_ok=True)
    rng = np.random.default_rng(1945)
    quantiles(rng)
    write("ranks", ranks=ranks())
    signed_ranks(rng)
    rng.normal(size=188)  # so that what follows keeps its numbers
    holm(rng)
    modes(rng)
    # A stream of its own: what stands above keeps its numbers.
    two_samples(np.random.default_rng(1947))
    prices(np.random.default_rng(1948))


if __name__ == "__main__":
    main()
