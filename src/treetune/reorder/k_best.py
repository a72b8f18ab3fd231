"""K-best trees to k-best orders: several trees can give one order, and a line can hold several sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest

# An order, from 1, and the score of the best tree that gives it.
ScoredOrder = tuple[tuple[int, ...], float]


def distinct_orders(orders: Iterable[ScoredOrder]) -> list[ScoredOrder]:
    """Return each order once, with its highest score, best first."""
    best: dict[tuple[int, ...], float] = {}
    for order, score in orders:
        best[order] = max(score, best.get(order, score))
    return sorted(best.items(), key=lambda item: -item[1])


def joined_orders(lists: Sequence[Sequence[ScoredOrder]], k: int) -> list[ScoredOrder]:
    """Return the `k` best orders of sentences one after another: scores are added, words counted through."""
    joined: list[ScoredOrder] = [((), 0.0)]
    for orders in lists:
        before = len(joined[0][0])
        moved = [(tuple(word + before for word in order), score) for order, score in orders]
        pairs = ((head + tail, score + more) for head, score in joined for tail, more in moved)
        joined = nlargest(k, pairs, key=lambda item: item[1])
    return joined
