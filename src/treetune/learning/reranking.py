"""Tune the weight of a reranker on development data."""

from __future__ import annotations

from collections.abc import Sequence

from treetune.corpus.sentence import Example, Tree
from treetune.errors import DataError
from treetune.evaluation.scores import Scores, evaluate_trees
from treetune.models.base import Candidate, Parser
from treetune.models.reranker import RERANK_K, Reranker, rerank_scores

# The weights that are tried: the second parser's scores against those of the base parser.
WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


def tune_weight(
    base: Parser, second: Parser, dev: Sequence[Example], *, k: int = RERANK_K, threads: int = 1
) -> tuple[Reranker, dict[float, Scores]]:
    """Return the reranker with the highest LAS on dev, and the scores of all weights that were tried.

    Of equal weights the one nearest to 1 is taken.
    """
    if not any(len(example.sentence) for example in dev):
        raise DataError("the development data have no words to tune the reranker weight on")
    parser = Reranker(base, second, k=k)
    sentences = [example.sentence for example in dev]
    lists = base.k_best_batch(sentences, k, threads=threads)
    second_scores = rerank_scores(second, sentences, lists, threads=threads)
    found = {}
    for weight in WEIGHTS:
        trees = [_favourite(*both, weight) for both in zip(lists, second_scores, strict=True)]
        found[weight] = evaluate_trees(dev, trees)
    parser.weight = max(WEIGHTS, key=lambda weight: (found[weight].las, -abs(weight - 1.0)))
    return parser, found


def _favourite(candidates: Sequence[Candidate[Tree]], second_scores: Sequence[float], weight: float) -> Tree:
    """Return the tree that a reranker with this weight chooses."""
    totals = [
        candidate.score + weight * second_score
        for candidate, second_score in zip(candidates, second_scores, strict=True)
    ]
    return candidates[totals.index(max(totals))].output
