"""The agreement of two annotators, corrected for chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence


def cohen_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return Cohen's kappa (1960) of decisions that two annotators made on the same things; None without any.

    1 is agreement in all of them, 0 as much as by chance. If both always decide the same one thing, it is 1.
    """
    if not pairs:
        return None
    firsts, seconds = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    observed = sum(first == second for first, second in pairs) / len(pairs)
    expected = sum(count * seconds[value] for value, count in firsts.items()) / len(pairs) ** 2
    return 1.0 if expected == 1 else (observed - expected) / (1 - expected)
