"""Sums of losses over one reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Sentence, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import ConfigError
from treetune.losses.base import Loss, as_cost
from treetune.losses.function import CostFunction, as_loss


class Weighted(Loss[Any, Any]):
    """The sum of the costs of its parts, each times its weight; it lies between 0 and the sum of the weights.

    Args:
        parts: Losses with their weights, `{loss: weight}` or `[(weight, loss), …]`. All see the same reference.

    Raises:
        ConfigError: there are no parts, or a weight is not a number above 0.
    """

    name: ClassVar[str] = "weighted"

    def __init__(self, parts: Mapping[Any, float] | Iterable[tuple[float, Loss[Any, Any] | CostFunction]]) -> None:
        pairs = [(weight, loss) for loss, weight in parts.items()] if isinstance(parts, Mapping) else list(parts)
        if not pairs:
            raise ConfigError("loss weighted needs at least one part, found none")
        self._parts = [(_as_weight(weight), as_loss(loss)) for weight, loss in pairs]
        wanted = sorted({loss.reference for _, loss in self._parts} - {self.reference})
        if len(wanted) > 1:
            raise ConfigError(
                f"the parts of loss weighted must be for the same references, found {' and '.join(wanted)}"
            )
        self.reference = (*wanted, self.reference)[0]
        outputs = sorted({loss.output for _, loss in self._parts} - {self.output})
        if len(outputs) > 1:
            raise ConfigError(f"the parts of loss weighted must be for the same outputs, found {' and '.join(outputs)}")
        self.output = (*outputs, self.output)[0]

    def __repr__(self) -> str:
        return f"Weighted({self._parts!r})"

    def __call__(self, sentence: Sentence, output: Any, reference: Any) -> float:
        """Return the weighted sum for one output."""
        return self.costs(sentence, (output,), reference)[0]

    def costs(self, sentence: Sentence, outputs: Sequence[Any], reference: Any) -> list[float]:
        """Return the weighted sum for each output; every part gets the whole list."""
        lists = [(weight, loss.costs(sentence, outputs, reference)) for weight, loss in self._parts]
        sums = (sum(weight * costs[index] for weight, costs in lists) for index in range(len(outputs)))
        return [as_cost(cost, of=self.name, sentence=sentence) for cost in sums]

    def known(self, sentence: Sentence, reference: Any) -> Any | None:
        """Return the union of what the parts know; None if no part can say, or if no tree contains it."""
        parts = [known for _, loss in self._parts if (known := loss.known(sentence, reference)) is not None]
        return reduce(_merge, parts) if parts else None

    def check(self, sentence: Sentence, reference: Any) -> None:
        """Let every part check the reference."""
        for _, loss in self._parts:
            loss.check(sentence, reference)

    def settings(self) -> dict[str, Any]:
        """Return the parts, as configuration files have them."""
        return {"name": self.name, "parts": [{"weight": weight, **loss.settings()} for weight, loss in self._parts]}

    def close(self) -> None:
        """Close every part."""
        for _, loss in self._parts:
            loss.close()


def _as_weight(weight: Any) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not (0 < weight < math.inf):
        raise ConfigError(f"a weight must be a number above 0, found {weight!r}")
    return float(weight)


def _merge(one: Any, other: Any) -> Any | None:
    """Return what has everything of two partial outputs; None where they contradict each other.

    Only trees can be merged; of other outputs the parts must know the same.
    """
    if not (isinstance(one, Tree) and isinstance(other, Tree)):
        return one if one == other else None
    heads = _merge_columns(one.heads, other.heads, UNKNOWN_HEAD)
    labels = _merge_columns(one.labels, other.labels, UNKNOWN_LABEL)
    if heads is None or labels is None or not is_tree(heads, partial=True):
        return None
    return Tree(heads, labels)


def _merge_columns(one: tuple[Any, ...], other: tuple[Any, ...], unknown: Any) -> tuple[Any, ...] | None:
    pairs = list(zip(one, other, strict=True))
    if any(a != b and a != unknown and b != unknown for a, b in pairs):
        return None
    return tuple(b if a == unknown else a for a, b in pairs)
