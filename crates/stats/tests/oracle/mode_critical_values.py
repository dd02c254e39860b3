#!/usr/bin/env python3
"""Simulates the critical values in crates/stats/src/modes.rs (seeded; about ten minutes).

Statistic: the smallest share of the variance that is left within two groups, over all
splits of the sorted values with at least two values on either side. For each number of
values and each level the table has the lowest quantile over the one-mode shapes below,
so that none of them is called two modes more often than the level says.
"""
import sys

import numpy as np

SHAPES = {
    "uniform": lambda rng, size: rng.uniform(size=size),
    "gamma, shape 1/2": lambda rng, size: rng.gamma(0.5, size=size),
    "log-normal, sigma 1": lambda rng, size: np.exp(rng.normal(size=size)),
    "t, 3 degrees of freedom": lambda rng, size: rng.standard_t(3, size=size),
}
COUNTS = [8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100]
LEVELS = [0.01, 0.001, 0.0001]
REPEATS = 1_000_000
CHUNK = 50_000


def within(values):
    """Share of variance within the best two groups, for each row."""
    values = np.sort(values, axis=1)
    n = values.shape[1]
    values = values - values.mean(axis=1, keepdims=True)
    total = (values * values).sum(axis=1)
    low = np.arange(2, n - 1)
    sums = np.cumsum(values, axis=1)[:, low - 1]
    between = sums**2 * (1 / low + 1 / (n - low))
    return 1 - between.max(axis=1) / total


def main():
    print("numpy", np.__version__, "seed 20", file=sys.stderr)
    rng = np.random.default_rng(20)
    for n in COUNTS:
        lowest = np.full(len(LEVELS), np.inf)
        for draw in SHAPES.values():
            shares = np.concatenate(
                [within(draw(rng, (CHUNK, n))) for _ in range(REPEATS // CHUNK)]
            )
            lowest = np.minimum(lowest, np.quantile(shares, LEVELS))
        # Rounded down: a stricter table is the safe side.
        row = np.floor(lowest * 1e4) / 1e4
        print(f"    ({n}, [{', '.join(f'{x:.4f}' for x in row)}]),", flush=True)


if __name__ == "__main__":
    main()
