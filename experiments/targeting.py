"""Targeted self-training (Katz-Brown et al. 2011): a parser and sentences go in, the best of its k trees come out.

The trees are chosen once, by a loss, and then learned as if they were gold: that is what the augmented loss, which
chooses anew in every step, is compared with.
"""

from __future__ import annotations

from treetune import Example, Objective
from treetune.learning.objectives import sentence_and_reference
from treetune.models.base import Parser


def best_of_lists(parser: Parser, objective: Objective) -> list[Example]:
    """Return each sentence of an objective with that of the parser's `k` best trees that costs least."""
    assert objective.cost is not None
    found = []
    for sentence, reference in map(sentence_and_reference, objective.data):
        trees = [candidate.output for candidate in parser.k_best(sentence, objective.k)]
        costs = objective.cost.costs(sentence, trees, reference)
        # Of equal costs the one that the parser likes best.
        found.append(Example(sentence, trees[costs.index(min(costs))]))
    return found
