"""A parser, a judge and development data to a parser with a judge whose weight is the best on these data."""

from __future__ import annotations

from collections.abc import Sequence

from treetune.corpus.sentence import Example, Tree
from treetune.errors import DataError
from treetune.evaluate.scores import Scores, evaluate
from treetune.models.base import Candidate, Parser
from treetune.models.judged import JUDGED, JudgedParser, opinions_of

# The weights that are tried: the judge's scores against those of the main parser.
WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


def choose_weight(
    main: Parser, judge: Parser, dev: Sequence[Example], *, k: int = JUDGED, threads: int = 1
) -> tuple[JudgedParser, dict[float, Scores]]:
    """Return the judged parser with the highest LAS on dev, and the scores of all weights that were tried.

    Of equal weights the one nearest to 1 is taken.
    """
    if not any(len(example.sentence) for example in dev):
        raise DataError("the development data have no words to choose the weight of a judge by")
    parser = JudgedParser(main, judge, k=k)
    sentences = [example.sentence for example in dev]
    lists = main.k_best_batch(sentences, k, threads=threads)
    opinions = opinions_of(judge, sentences, lists, threads=threads)
    found = {}
    for weight in WEIGHTS:
        trees = [_favourite(*both, weight) for both in zip(lists, opinions, strict=True)]
        found[weight] = evaluate(dev, trees)
    parser.weight = max(WEIGHTS, key=lambda weight: (found[weight].las, -abs(weight - 1.0)))
    return parser, found


def _favourite(candidates: Sequence[Candidate[Tree]], opinions: Sequence[float], weight: float) -> Tree:
    """Return the tree that a judged parser would choose."""
    totals = [candidate.score + weight * opinion for candidate, opinion in zip(candidates, opinions, strict=True)]
    return candidates[totals.index(max(totals))].output
