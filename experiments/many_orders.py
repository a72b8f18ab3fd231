"""The word orders of one sentence in several languages as one reference: a tree is to suit all of them.

What a translator makes of a sentence is one of several ways, so that a single order says little about one tree. The
same sentence in other languages says the same about its tree in other words: their mean cost is less of an accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from treetune import Example, Sentence, Tree
from treetune.corpus.orders import WordOrder
from treetune.losses import Loss, Reordering

MANY = "reordering of several languages"
Orders = Mapping[str, WordOrder]


class ManyOrders(Loss[Tree, Orders]):
    """The mean of the reordering loss over the languages that a sentence has an order for.

    `rules` has the rule set of each file of word orders; the mean is multiplied by `weight`.
    """

    name: ClassVar[str] = MANY
    reads: ClassVar[str] = "orders"

    def __init__(self, rules: Mapping[str, str], *, weight: float = 1.0) -> None:
        self._losses = {file: Reordering(rules=one) for file, one in rules.items()}
        self._rules = dict(rules)
        self._weight = weight

    def __call__(self, sentence: Sentence, output: Tree, reference: Orders) -> float:
        """Return the mean cost."""
        costs = [self._losses[file](sentence, output, order) for file, order in reference.items()]
        return self._weight * sum(costs) / len(costs)

    def settings(self) -> dict[str, Any]:
        """Return name and rule sets."""
        return {"name": self.name, "rules": self._rules, "weight": self._weight}


def merged(files: Mapping[str, Sequence[tuple[Example, WordOrder]]]) -> list[tuple[Sentence, Orders]]:
    """Return each sentence once, with its orders by file; sentences are the same if their words are."""
    found: dict[tuple[str, ...], tuple[Sentence, dict[str, WordOrder]]] = {}
    for file, pairs in files.items():
        for example, order in pairs:
            found.setdefault(example.sentence.forms[1:], (example.sentence, {}))[1][file] = order
    return list(found.values())
