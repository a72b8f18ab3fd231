"""Plain, slow twins of the searches: enumeration for short sentences, textbook recursion for longer ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Tree = tuple[int, ...]

# Sums of tenths that are equal on paper differ in their last digits.
KINDS = ("real", "ties", "tenths", "holes", "holes and ties")


def draw_scores(n: int, seed: int, kind: str) -> tuple[Scores, Scores]:
    """Draw arc and sibling scores; what no arc reads is NaN, so that reading it is found out."""
    rng = np.random.default_rng([n, seed])
    scores, siblings = rng.normal(size=(n + 1, n + 1)), rng.normal(size=(n + 1, n + 1, n + 1))
    if "ties" in kind:
        scores, siblings = np.round(scores), np.round(siblings)
    if kind == "tenths":
        scores, siblings = np.round(2 * scores) * 0.1, np.round(2 * siblings) * 0.1
    if "holes" in kind:
        scores[rng.random(scores.shape) < 0.35] = -np.inf
        siblings[rng.random(siblings.shape) < 0.1] = -np.inf
    np.fill_diagonal(scores, np.nan)
    scores[:, 0] = np.nan
    for h, d, s in itertools.product(range(n + 1), repeat=3):
        if not (d and h != d and (s == h or (h and min(h, d) < s < max(h, d)))):
            siblings[h, d, s] = np.nan
    return scores, siblings


def draw_grands(n: int, seed: int, kind: str) -> Scores:
    """Draw scores of grandparents [h, d, g]; what no tree has is NaN."""
    rng = np.random.default_rng([n, seed, 3])
    grands = rng.normal(size=(n + 1, n + 1, n + 1))
    if "ties" in kind:
        grands = np.round(grands)
    if kind == "tenths":
        grands = np.round(2 * grands) * 0.1
    if "holes" in kind:
        grands[rng.random(grands.shape) < 0.1] = -np.inf
    for h, d, g in itertools.product(range(n + 1), repeat=3):
        if 0 in (h, d) or len({h, d, g}) < 3 or min(h, d) < g < max(h, d):
            grands[h, d, g] = np.nan
    return grands


def is_tree(heads: Tree) -> bool:
    """Whether the heads make a tree with one dependent of the root."""
    for d in range(1, len(heads)):
        seen = set()
        while d > 0 and d not in seen:
            seen.add(d)
            d = heads[d]
        if d != 0:
            return False
    return heads[0] == -1 and heads[1:].count(0) == 1


def is_projective(heads: Tree) -> bool:
    """Whether no two arcs cross; those of the root count."""
    spans = [(min(h, d), max(h, d)) for d, h in enumerate(heads) if d]
    return not any(a < c < b < d for a, b in spans for c, d in spans)


@cache
def all_trees(n: int, *, projective: bool) -> tuple[Tree, ...]:
    """Enumerate the trees over n words."""
    heads: Iterator[Tree] = ((-1, *rest) for rest in itertools.product(range(n + 1), repeat=n))
    return tuple(tree for tree in heads if is_tree(tree) and (not projective or is_projective(tree)))


def plain_score(
    scores: Scores, siblings: Scores | None = None, heads: Tree = (), grands: Scores | None = None
) -> float:
    """Sum the scores of a tree by the definition."""
    total = 0.0
    for d in range(1, len(heads)):
        h = heads[d]
        total += float(scores[h, d])
        if siblings is not None:
            between = [s for s in range(1, len(heads)) if heads[s] == h and min(h, d) < s < max(h, d)]
            total += float(siblings[h, d, min(between, key=lambda s: abs(s - d), default=h)])
        if grands is not None and h:
            total += float(grands[h, d, heads[h]])
    return total


def ranked_scores(
    scores: Scores, siblings: Scores | None = None, grands: Scores | None = None, *, projective: bool
) -> list[float]:
    """Return the scores of all allowed trees, best first."""
    trees = all_trees(len(scores) - 1, projective=projective)
    found = [plain_score(scores, siblings, tree, grands) for tree in trees]
    return sorted((score for score in found if score > -np.inf), reverse=True)


def plain_projective(scores: Scores, siblings: Scores | None = None) -> float:
    """Return the score of the best projective tree by recursion over spans."""
    n = len(scores) - 1

    def extra(h: int, d: int, s: int) -> float:
        return 0.0 if siblings is None else float(siblings[h, d, s])

    @cache
    def inner(i: int, j: int) -> float:
        """Two half-trees side by side: the right half of i and the left half of j."""
        return max(half(i, m) + half(j, m + 1) for m in range(i, j))

    @cache
    def arc(h: int, d: int) -> float:
        """The arc h -> d, the half-tree of d towards h, and all dependents of h before d."""
        step = 1 if d > h else -1
        best = half(d, h + step) + extra(h, d, h)
        for s in range(h + step, d, step):
            best = max(best, arc(h, s) + inner(min(s, d), max(s, d)) + extra(h, d, s))
        return best + float(scores[h, d])

    @cache
    def half(h: int, end: int) -> float:
        """The dependents of h on one side, with all below them, up to the word `end`."""
        if h == end:
            return 0.0
        step = 1 if end > h else -1
        return max(arc(h, d) + half(d, end) for d in range(h + step, end + step, step))

    return max(half(r, 1) + half(r, n) + float(scores[0, r]) + extra(0, r, 0) for r in range(1, n + 1))


def plain_third(scores: Scores, siblings: Scores, grands: Scores) -> float:
    """Return the score of the best projective tree with grandparents, by recursion over spans and heads of heads."""
    n = len(scores) - 1

    @cache
    def inner(h: int, s: int, d: int) -> float:
        """Two half-trees side by side, of two dependents of h."""
        i, j = min(s, d), max(s, d)
        return max(half(h, i, m) + half(h, j, m + 1) for m in range(i, j))

    @cache
    def arc(g: int, h: int, d: int) -> float:
        """The arc h -> d below g, the half-tree of d towards h, and all dependents of h before d."""
        step = 1 if d > h else -1
        best = half(h, d, h + step) + float(siblings[h, d, h])
        for s in range(h + step, d, step):
            best = max(best, arc(g, h, s) + inner(h, s, d) + float(siblings[h, d, s]))
        return best + float(scores[h, d]) + float(grands[h, d, g])

    @cache
    def half(g: int, h: int, end: int) -> float:
        """The dependents of h, itself one of g, on one side, with all below them, up to the word `end`."""
        if h == end:
            return 0.0
        step = 1 if end > h else -1
        return max(arc(g, h, d) + half(h, d, end) for d in range(h + step, end + step, step))

    return max(half(0, r, 1) + half(0, r, n) + float(scores[0, r] + siblings[0, r, 0]) for r in range(1, n + 1))


def plain_spanning(scores: Scores) -> float:
    """Return the score of the best tree: Chu-Liu-Edmonds, once for every possible dependent of the root."""
    n = len(scores) - 1
    best = -np.inf
    for r in range(1, n + 1):
        weights = {(h, d): float(scores[h, d]) for h in range(1, n + 1) for d in range(1, n + 1) if h != d}
        kept = {arc: weight for arc, weight in weights.items() if arc[1] != r and weight > -np.inf}
        best = max(best, float(scores[0, r]) + _chu_liu_edmonds(frozenset(range(1, n + 1)), kept, r))
    return float(best)


def _chu_liu_edmonds(nodes: frozenset[int], weights: dict[tuple[int, int], float], root: int) -> float:
    chosen: dict[int, int] = {}
    for d in nodes - {root}:
        sources = [h for h in nodes if (h, d) in weights]
        if not sources:
            return -np.inf
        chosen[d] = max(sources, key=lambda h: weights[h, d])
    cycle = _cycle(chosen, root)
    if not cycle:
        return sum(weights[h, d] for d, h in chosen.items())
    inside = sum(weights[chosen[d], d] for d in cycle)
    merged = max(nodes) + 1
    smaller: dict[tuple[int, int], float] = {}
    for (h, d), weight in weights.items():
        arc = (merged if h in cycle else h, merged if d in cycle else d)
        value = weight - weights[chosen[d], d] if d in cycle else weight
        if arc[0] != arc[1]:
            smaller[arc] = max(value, smaller.get(arc, -np.inf))
    return inside + _chu_liu_edmonds((nodes - cycle) | {merged}, smaller, root)


def _cycle(chosen: dict[int, int], root: int) -> frozenset[int]:
    for start in chosen:
        path: list[int] = []
        v = start
        while v != root and v not in path:
            path.append(v)
            v = chosen[v]
        if v != root:
            return frozenset(path[path.index(v) :])
    return frozenset()


def plain_climb(scores: Scores, siblings: Scores, heads: Tree) -> float:
    """Return the score after the best changes of one head, each tree scored from scratch."""
    now = plain_score(scores, siblings, heads)
    while True:
        changes = [
            (*heads[:d], h, *heads[d + 1 :])
            for d in range(1, len(heads))
            for h in range(len(heads))
            if h not in (d, heads[d])
        ]
        ranked = [(plain_score(scores, siblings, tree), tree) for tree in changes if is_tree(tree)]
        best, tree = max(ranked, default=(-np.inf, heads))
        if best <= now + 1e-12:
            return now
        now, heads = best, tree
