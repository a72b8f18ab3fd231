"""The contract of a loss: a sentence, an output and a reference go in, a cost comes out.

A loss knows nothing of models. Its output is whatever the model gives (a tree, tags), its reference whatever the
data has: a tree, a part of one, a word order, nothing at all.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from treetune.corpus.sentence import Sentence
from treetune.errors import LossError

Output = TypeVar("Output")
Reference = TypeVar("Reference")

# How much of a sentence a message quotes.
LONGEST_QUOTE = 60


class Loss(ABC, Generic[Output, Reference]):
    """The cost of one output; 0 is perfect.

    To write one, give it a `name` and say what one output costs in `__call__`. The other methods have defaults.
    A cost is finite and at least 0, and a function of its arguments: training computes it again and again.
    The losses of this package lie between 0 and 1; a weighted sum lies between 0 and the sum of its weights.
    """

    name: ClassVar[str]
    """The name in configuration files."""
    output: str = "any"
    """The outputs it is for: a ``"tree"``, ``"tags"``, or ``"any"``."""
    reference: str = "any"
    """The references it is for: a ``"tree"``, ``"entities"``, a word ``"order"``, or ``"any"``."""

    @abstractmethod
    def __call__(self, sentence: Sentence, output: Output, reference: Reference) -> float:
        """Return the cost of one output."""

    def costs(self, sentence: Sentence, outputs: Sequence[Output], reference: Reference) -> list[float]:
        """Return the cost of each output of a k-best list; override it where a whole list is cheaper."""
        return [as_cost(self(sentence, output, reference), of=self.name, sentence=sentence) for output in outputs]

    def known(self, sentence: Sentence, reference: Reference) -> Output | None:
        """Return a partial output that every output of cost 0 has, or None if the loss cannot say.

        It is for forced decoding: the best output that contains it is the target of the update.
        """
        return None

    def check(self, sentence: Sentence, reference: Reference) -> None:
        """Raise DataError for a reference that the loss cannot use; the caller names the sentence."""
        return

    def settings(self) -> dict[str, Any]:
        """Return name and options, every default filled in, as JSON can hold them."""
        return {"name": self.name}

    def close(self) -> None:
        """Stop processes that the loss has started; the next cost starts them again."""
        return


def as_cost(answer: object, *, of: str, sentence: Sentence) -> float:
    """Return an answer as a float, or raise LossError unless it is finite and at least 0.

    Args:
        answer: What a loss gave; numbers of NumPy and truth values will do.
        of: Who gave it, for the message.
        sentence: Which sentence it was about, for the message.
    """
    if isinstance(answer, numbers.Real | np.bool_):
        with suppress(OverflowError):  # an integer beyond the floats
            cost = float(answer)
            if math.isfinite(cost) and cost >= 0:
                return cost
    raise not_a_cost(repr(answer), of=of, sentence=sentence)


def not_a_cost(answer: str, *, of: str, sentence: Sentence) -> LossError:
    """Return the error for an answer that is no cost."""
    return LossError(
        f"loss {of}: expected a cost, a finite number of at least 0, found {_shorten(answer)} "
        f"for the sentence {quote(sentence)}"
    )


def quote(sentence: Sentence) -> str:
    """Return the words of a sentence in quotes, shortened, as messages show them."""
    return repr(_shorten(" ".join(sentence.forms[1:])))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1] + "…"
