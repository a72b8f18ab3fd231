"""McDonald et al. 2005, Table 4: how many candidates MIRA needs: k = 1, 2, 5, 10, 20, accuracy and CPU time.

    python experiments/mcdonald_table4.py --data DIR

Expected: a small k is nearly the best, the largest is not better, and training time is linear in k.
"""

from __future__ import annotations

import statistics

from common import Experiment, main
from corpora import ENGLISH
from findings import Claim, Results, Verdict
from recipes import Recipe
from runs import Row

SIZES = (1, 2, 5, 10, 20)
ROWS = {k: f"k = {k}" for k in SIZES}
TEST = ENGLISH.tests[0]
# In points of UAS: less than seeds differ by.
NEARLY = 0.2
LINEAR = 0.95


def small_is_enough(results: Results) -> Verdict:
    """Check that k = 5, which the paper uses throughout, is nearly the best."""
    means = {ROWS[k]: results.mean(ROWS[k], TEST, "UAS") for k in SIZES}
    return means[ROWS[5]] >= max(means.values()) - NEARLY, means


def largest_is_not_better(results: Results) -> Verdict:
    """Check that k = 20 does not beat the best of the smaller ones."""
    means = {ROWS[k]: results.mean(ROWS[k], TEST, "UAS") for k in SIZES}
    return means[ROWS[20]] <= max(means[ROWS[k]] for k in SIZES[:-1]), means


def time_is_linear(results: Results) -> Verdict:
    """Check that CPU time rises with k and lies on a line."""
    seconds = [results.cpu_seconds(ROWS[k]) for k in SIZES]
    explained = statistics.correlation(SIZES, seconds) ** 2
    slope, start = statistics.linear_regression(SIZES, seconds)
    evidence = {"cpu_seconds": seconds, "r_squared": explained, "seconds_per_candidate": slope, "seconds_at_0": start}
    return seconds == sorted(seconds) and explained >= LINEAR, evidence


EXPERIMENT = Experiment(
    name="mcdonald_table4",
    title="How many candidates MIRA needs",
    rows=tuple(
        Row(ROWS[k], ENGLISH, Recipe("graph", {"decoder": "projective"}, {"learner": "mira", "k": k})) for k in SIZES
    ),
    pairs=tuple((ROWS[5], ROWS[k]) for k in SIZES if k != 5),
    claims=(
        Claim(f"{TEST}: k = 5 is within {NEARLY} UAS of the best k", small_is_enough),
        Claim(f"{TEST}: k = 20 has no higher UAS than the best smaller k", largest_is_not_better),
        Claim(f"training time rises with k, on a line (R² of at least {LINEAR})", time_is_linear),
    ),
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
