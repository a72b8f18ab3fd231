"""Weights of a translation system for the best BLEU on n-best lists (Och 2003, but by random search)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.phrase_based import START, Output

Floats = NDArray[np.float64]
# Weights that may be negative: those of the number of words and of the length of the translation.
SIGNED = (0, 2)
STEPS, STARTS = 400, 3
MAX_NGRAM = 4
# Outputs of a sentence with their features and BLEU counts; an output is in the pool once.
Pool = list[dict[tuple[float, ...], Sequence[int]]]


def bleu_counts(output: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Return the lengths of output and reference, then right and all n-grams from 1 to 4."""
    counts = [len(output), len(reference)]
    for size in range(1, MAX_NGRAM + 1):
        mine, theirs = (
            Counter(tuple(words[start : start + size]) for start in range(len(words) - size + 1))
            for words in (output, reference)
        )
        counts += [(mine & theirs).total(), mine.total()]
    return counts


def bleu(counts: Floats) -> float:
    """Return BLEU, from 0 to 1, of summed counts; 0 if no 4-gram is right."""
    right, all_ = counts[2::2], counts[3::2]
    if counts[0] == 0 or right.min() == 0:
        return 0.0
    brevity = min(0.0, 1 - counts[1] / counts[0])
    return float(np.exp(brevity + np.log(right / all_).mean()))


def tune(
    n_best: Callable[[Sequence[float]], list[list[Output]]],
    counts: Callable[[int, Output], Sequence[int]],
    first: Sequence[Sequence[Output]],
    *,
    seed: int,
    rounds: int = 2,
) -> tuple[float, ...]:
    """Return weights; `first` are the lists of the `START` weights, and each round but the last searches for more.

    Args:
        n_best: Weights to the best outputs of each sentence.
        counts: The number of a sentence and an output to its `bleu_counts`.
        first: Outputs of each sentence.
        seed: Of the random search.
        rounds: How often weights are chosen.
    """
    random = np.random.default_rng(seed)
    pool: Pool = [{} for _ in first]
    weights: tuple[float, ...] = START
    for number in range(rounds):
        for sentence, outputs in enumerate(n_best(weights) if number else first):
            for one in outputs:
                if one.features not in pool[sentence]:
                    pool[sentence][one.features] = counts(sentence, one)
        weights = search(pool, weights, random)
    return weights


def search(pool: Pool, start: Sequence[float], random: np.random.Generator) -> tuple[float, ...]:
    """Return the weights with the best BLEU on a pool that a random search finds."""
    size = max(map(len, pool))
    features = np.full((len(pool), size, len(START)), np.nan)
    found = np.zeros((len(pool), size, 2 + 2 * MAX_NGRAM))
    for sentence, outputs in enumerate(pool):
        features[sentence, : len(outputs)] = list(outputs)
        found[sentence, : len(outputs)] = list(outputs.values())
    rows = np.arange(len(pool))

    def score(weights: Floats) -> float:
        scores = np.nan_to_num(features @ weights, nan=-np.inf)
        return bleu(found[rows, scores.argmax(axis=1)].sum(axis=0))

    best, best_score = np.array(start), -1.0
    for number in range(STARTS):
        here = np.array(start) if number == 0 else _moved(np.array(start), random, 1.0, 1.0)
        score_here = score(here)
        for step in range(STEPS):
            tried = _moved(here, random, 0.5 * (1 - step / STEPS) + 0.05, 0.4)
            if (scored := score(tried)) > score_here:
                here, score_here = tried, scored
        if score_here > best_score:
            best, best_score = here, score_here
    return tuple(map(float, best / np.abs(best).max()))


def _moved(weights: Floats, random: np.random.Generator, scale: float, share: float) -> Floats:
    """Return weights some of which are multiplied, or, if they may be negative, increased by something random."""
    chosen = (random.random(len(weights)) < share) & (np.array(START) != 0)
    steps = random.normal(0, scale, len(weights)) * chosen
    moved = weights * np.exp(steps)
    signed = list(SIGNED)
    moved[signed] = weights[signed] + steps[signed] * np.abs(weights).max()
    return np.asarray(moved)
