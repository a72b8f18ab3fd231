"""The contract of losses: what a loss need not write, and what no loss may answer."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from losses_samples import GOLD, SENTENCE

from treetune.corpus.sentence import Sentence
from treetune.errors import LossError, TreetuneError
from treetune.losses import Loss
from treetune.losses.base import as_cost


class WrongTags(Loss[Sequence[str], Sequence[str]]):
    """An output need not be a tree."""

    name: ClassVar[str] = "wrong-tags"

    def __call__(self, sentence: Sentence, output: Sequence[str], reference: Sequence[str]) -> float:
        return sum(a != b for a, b in zip(output, reference, strict=True)) / len(sentence)


class Constant(Loss[Any, Any]):
    name: ClassVar[str] = "constant"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, sentence: Sentence, output: Any, reference: Any) -> float:
        return self.answer  # type: ignore[no-any-return]


def test_a_loss_need_only_say_what_one_output_costs() -> None:
    loss = WrongTags()
    gold = ["PRON", "AUX", "PRON", "VERB", "PUNCT"]
    assert loss.costs(SENTENCE, [gold, ["NOUN", *gold[1:]]], gold) == [0.0, 0.2]
    assert loss.known(SENTENCE, gold) is None
    assert loss.settings() == {"name": "wrong-tags"}
    loss.check(SENTENCE, gold)
    loss.close()


def test_a_loss_must_say_what_one_output_costs() -> None:
    with pytest.raises(TypeError, match=r"abstract method '?__call__'?"):
        Loss()  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("answer", "cost"),
    [(0, 0.0), (2, 2.0), (True, 1.0), (0.25, 0.25), (np.float32(0.5), 0.5), (np.int64(3), 3.0), (np.bool_(True), 1.0),
     (Fraction(1, 4), 0.25)],
)  # fmt: skip
def test_numbers_are_costs(answer: Any, cost: float) -> None:
    found = as_cost(answer, of="mine", sentence=SENTENCE)
    assert found == cost
    assert type(found) is float
    assert Constant(answer).costs(SENTENCE, [GOLD], None) == [cost]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-0.5, "-0.5"),
        (None, "None"),
        ("0.5", "'0.5'"),
        (1j, "1j"),
        ([0.5], r"\[0\.5\]"),
        (10**400, "1" + "0" * 58 + "…"),
        (np.float64("-inf"), r"(np\.float64\()?-inf\)?"),
    ],
)
def test_nothing_else_is(answer: Any, shown: str) -> None:
    message = (
        rf"^loss constant: expected a cost, a finite number of at least 0, found {shown} "
        r"for the sentence 'What does she read \?'$"
    )
    with pytest.raises(LossError, match=message):
        Constant(answer).costs(SENTENCE, [GOLD], None)


def test_long_sentences_are_quoted_in_part() -> None:
    sentence = Sentence.of(["buffalo"] * 20)
    with pytest.raises(LossError, match=r"for the sentence '(buffalo ){7}buf…'$"):
        Constant(-1).costs(sentence, [None], None)


def test_a_loss_error_is_one_of_ours() -> None:
    assert issubclass(LossError, TreetuneError)
