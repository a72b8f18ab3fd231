"""The contract of losses as a check."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from treetune.corpus.sentence import Sentence, Tree, name_sentence
from treetune.corpus.tags import Tags
from treetune.errors import DataError
from treetune.learning.objectives import Item, sentence_and_reference
from treetune.losses import Loss, as_loss
from treetune.testing.outputs import check_refusal, contains


def check_loss(
    loss: Loss[Any, Any] | Callable[[Sentence, Any, Any], float],
    items: Sequence[Item],
    outputs: Sequence[Sequence[Any]] | None = None,
    *,
    perfect: Sequence[Any] | None = None,
    refused: Sequence[Item] = (),
    largest: float = 1.0,
) -> None:
    """Assert that a loss keeps the contract of `losses.Loss`.

    Args:
        loss: The loss, or a function that will be one.
        items: Examples, or pairs of sentence and reference, that it can be used with.
        outputs: Outputs of a model for each item; by default the references of all items of the same length.
        perfect: An output of cost 0 for each item; by default the references, if they are complete outputs.
        refused: Items whose reference `check` must refuse.
        largest: The largest cost that the loss may give.
    """
    loss = as_loss(loss)
    pairs = [sentence_and_reference(item) for item in items]
    assert pairs, "expected at least one item to check the loss on"
    lists = outputs if outputs is not None else [_outputs_like(sentence, pairs) for sentence, _ in pairs]
    best = perfect if perfect is not None else [_complete(reference) for _, reference in pairs]
    settings = loss.settings()
    assert json.loads(json.dumps(settings)) == settings, f"settings() must be what JSON can hold, found {settings!r}"
    assert settings.get("name") == loss.name, f"settings() must have the name {loss.name!r}, found {settings!r}"
    for number, ((sentence, reference), some, right) in enumerate(zip(pairs, lists, best, strict=True), start=1):
        where = name_sentence(number, sentence)
        loss.check(sentence, reference)
        assert loss.costs(sentence, [], reference) == [], f"{where}: costs() of no outputs must be an empty list"
        _check_costs(loss, sentence, reference, [*some, *([] if right is None else [right])], largest, where)
        _check_known(loss, sentence, reference, some, right, where)
    for item in refused:
        sentence, reference = sentence_and_reference(item)
        check_refusal(DataError, f"the reference {reference!r}", loss.check, sentence, reference)
    loss.close()
    (sentence, reference), some = pairs[0], lists[0]
    assert len(loss.costs(sentence, some, reference)) == len(some), "costs() must work again after close()"
    loss.close()


def _check_costs(
    loss: Loss[Any, Any], sentence: Sentence, reference: Any, outputs: Sequence[Any], largest: float, where: str
) -> None:
    costs = loss.costs(sentence, outputs, reference)
    assert len(costs) == len(outputs), f"{where}: costs() of {len(outputs)} outputs must be as many, found {len(costs)}"
    for cost in costs:
        is_cost = isinstance(cost, float) and math.isfinite(cost) and -1e-12 <= cost <= largest + 1e-9
        assert is_cost, f"{where}: a cost must be a float from 0 to {largest}, found {cost!r}"
    alone = [float(loss(sentence, output, reference)) for output in outputs]
    assert costs == alone, f"{where}: costs() of a list must be those of its outputs one by one, found {costs}, {alone}"
    assert loss.costs(sentence, outputs, reference) == costs, (
        f"{where}: a cost must be the same whenever it is asked for"
    )


def _check_known(
    loss: Loss[Any, Any], sentence: Sentence, reference: Any, outputs: Sequence[Any], right: Any, where: str
) -> None:
    if right is not None:
        cost = float(loss(sentence, right, reference))
        assert cost == 0, f"{where}: the cost of a perfect output must be 0, found {cost}"
    known = loss.known(sentence, reference)
    if known is None:
        return
    for output in (*outputs, *([] if right is None else [right])):
        if float(loss(sentence, output, reference)) == 0:
            assert contains(output, known), (
                f"{where}: known() must be part of every output of cost 0, found {known!r} beside {output!r}"
            )


def _outputs_like(sentence: Sentence, pairs: Sequence[tuple[Sentence, Any]]) -> list[Any]:
    return [reference for other, reference in pairs if len(other) == len(sentence) and _complete(reference) is not None]


def _complete(reference: Any) -> Any | None:
    return reference if isinstance(reference, Tree | Tags) and reference.is_complete else None
