"""Objectives of augmented-loss training: data, a loss, and how often to update on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from treetune.corpus.sentence import Example, Sentence, name_sentence
from treetune.corpus.tags import Tagged
from treetune.errors import ConfigError, DataError, type_of, unknown_name
from treetune.losses import Loss, as_loss

Cost: TypeAlias = Callable[[Sentence, Any, Any], float]
Item: TypeAlias = "Example | Tagged | tuple[Sentence, Any]"
GOLD = (Example, Tagged)

Step = Literal["mira", "perceptron"]
STEPS: tuple[Step, ...] = ("mira", "perceptron")
Search = Literal["growing", "list", "forced"]
SEARCHES: tuple[Search, ...] = ("growing", "list", "forced")


@dataclass(frozen=True)
class Objective:
    """Data, a loss and a rate; one of the M objectives of Hall et al. (2011), Algorithm 2.

    Attributes:
        data: Examples, whose gold tree or tags (perhaps partial) are the reference, or pairs (sentence, reference).
        loss: The cost of an output: a loss of `treetune.losses`, or any `cost(sentence, output, reference)`.
            None for gold trees that are learned as the treebank is.
        name: The name in reports; by default after the loss, "root loss".
        rate: Updates per update on the treebank: 0.5 is every other round.
        weight: In place of a rate, passes over the data per pass over the treebank: with 0.1 the treebank is seen ten
            times as often.
        search: How to find an output of lower cost than the 1-best. "list" looks in the k-best list. "growing" doubles
            the length of the k-best list, from `k` up to `max_k`, until it holds one. "forced" is forced decoding: the
            best output that contains everything the loss knows of the reference, for losses that can tell.
        k: The length of the k-best list.
        max_k: The longest k-best list of search "growing".
        step: The update: "mira" takes the smallest step after which the cheaper output leads by the difference in
            cost, "perceptron" a step of 1. Both are clipped at the `clip` of the model's learner.
        start: The first epoch in which it is used. Weight averaging restarts there. None: the third, or the last of
            fewer, or the first with a warm start.
        dev: Data of the same kind, on which the mean cost is measured after every epoch.
        word_dropout: The probability of a word to be replaced by an unknown one (its tags stay) in seven of eight
            passes over the data; see `learning.word_dropout`. Against overfitting to few sentences.
        margin_updates: Whether to update also where no candidate costs less than the 1-best: the most violating
            candidate of higher cost is kept below it by a margin of the difference in cost. A growing list grows until
            it holds one, which takes time.
    """

    data: Sequence[Item] = field(metadata={"help": "data to train on: trees, tags or word orders"})
    loss: Loss[Any, Any] | Cost | None = field(
        default=None, metadata={"help": "cost of an output; none for gold trees"}
    )
    name: str = field(default="", metadata={"help": "name in reports; by default after the loss"})
    rate: float = field(default=1.0, metadata={"help": "updates per update on the treebank"})
    weight: float | None = field(
        default=None, metadata={"help": "in place of a rate, passes over the data per pass over the treebank"}
    )
    search: Search = field(
        default="growing",
        metadata={
            "help": "search for an output of lower cost: k-best list, growing list, forced decoding",
            "choices": SEARCHES,
        },
    )
    k: int = field(default=8, metadata={"help": "length of the k-best list", "minimum": 1})
    max_k: int = field(default=64, metadata={"help": "longest k-best list of search growing", "minimum": 1})
    step: Step = field(default="mira", metadata={"help": "update towards the better output", "choices": STEPS})
    start: int | None = field(
        default=None, metadata={"help": "first epoch in which it is used; by default the third", "minimum": 1}
    )
    dev: Sequence[Item] = field(
        default=(), metadata={"help": "development data, on which the mean cost is measured after every epoch"}
    )
    word_dropout: float = field(
        default=0.0, metadata={"help": "probability of a word to be replaced by an unknown one", "minimum": 0}
    )
    margin_updates: bool = field(
        default=False, metadata={"help": "whether to update also against candidates of higher cost"}
    )
    cost: Loss[Any, Any] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", None if self.loss is None else as_loss(self.loss))
        if not self.name:
            object.__setattr__(self, "name", "trees" if self.cost is None else f"{self.cost.name} loss")
        if not 0 < self.rate < math.inf:
            raise ConfigError(f"{self.name}: rate must be a number above 0, found {self.rate}")
        if self.weight is not None and not 0 < self.weight < math.inf:
            raise ConfigError(f"{self.name}: weight must be a number above 0, found {self.weight}")
        if self.weight is not None and self.rate != 1:
            raise ConfigError(f"{self.name}: weight takes the place of rate; leave one of them out")
        if self.search not in SEARCHES:
            raise unknown_name("search", self.search, SEARCHES)
        if self.step not in STEPS:
            raise unknown_name("step", self.step, STEPS)
        if self.k < 1:
            raise ConfigError(f"{self.name}: k must be at least 1, found {self.k}")
        if self.search == "list" and self.k < 2:
            raise ConfigError(f"{self.name}: k must be at least 2 to have a choice, found {self.k}")
        if self.search == "growing" and self.max_k < self.k:
            raise ConfigError(f"{self.name}: max_k must be at least k ({self.k}), found {self.max_k}")
        if self.start is not None and self.start < 1:
            raise ConfigError(f"{self.name}: start must be at least 1, the first epoch, found {self.start}")
        if not 0 <= self.word_dropout < 1:
            raise ConfigError(
                f"{self.name}: word_dropout must be a chance from 0 to less than 1, found {self.word_dropout}"
            )
        if self.cost is None and self.word_dropout:
            raise ConfigError(f"{self.name}: word_dropout is for objectives with a loss")
        if self.cost is None and self.margin_updates:
            raise ConfigError(f"{self.name}: margin_updates is for objectives with a loss")
        if self.margin_updates and (self.search == "forced" or self.step == "perceptron"):
            raise ConfigError(
                f'{self.name}: margin_updates needs a k-best list and step="mira", '
                f'found search="{self.search}" and step="{self.step}"'
            )
        if self.cost is None and self.dev:
            raise ConfigError(f"{self.name}: gold trees have no cost to measure; give them as the dev of train")

    @property
    def is_intrinsic(self) -> bool:
        """Whether its data are gold trees, to be learned as the treebank is."""
        return self.cost is None

    def rate_beside(self, examples: int) -> float:
        """Return the rate of updates beside a treebank of so many examples."""
        if self.weight is None:
            return self.rate
        # A little more: rounding must not lose the last example of a pass.
        return self.weight * len(self.data) / examples * (1 + 1e-12)

    def check(self) -> None:
        """Raise DataError, naming the sentence, for data that cannot serve; ConfigError for a search that cannot."""
        if not self.data:
            raise DataError(f"{self.name}: expected at least one sentence to train on, found none")
        self._check_references()
        if self.cost is not None and self.search == "forced" and not any(map(self._is_known, self.data)):
            raise ConfigError(
                f"{self.name}: forced decoding needs a loss that can say what is known, found {self.cost.name}, "
                'which cannot; use search="growing"'
            )

    def _is_known(self, item: Item) -> bool:
        assert self.cost is not None
        return self.cost.known(*sentence_and_reference(item)) is not None

    def _check_references(self) -> None:
        for where, items in (("", self.data), (" of its dev data", self.dev)):
            for item in items:
                if not isinstance(item, (*GOLD, tuple)):
                    raise DataError(
                        f"{self.name}: expected examples or (sentence, reference) pairs{where}, found {type_of(item)}"
                    )
            for number, (sentence, reference) in enumerate(map(sentence_and_reference, items), start=1):
                try:
                    if self.cost is not None:
                        self.cost.check(sentence, reference)
                except DataError as error:
                    raise DataError(f"{self.name}: {name_sentence(number, sentence)}{where}: {error.problem}") from None

    def settings(self) -> dict[str, Any]:
        """Return how it learns, every default filled in, as JSON can hold it."""
        found: dict[str, Any] = {"name": self.name, "sentences": len(self.data)}
        found |= {"rate": self.rate} if self.weight is None else {"weight": self.weight}
        if self.cost is not None:
            found |= {"loss": self.cost.settings(), "search": self.search, "step": self.step}
            if self.search != "forced":
                found |= {"k": self.k}
            if self.search == "growing":
                found |= {"max_k": self.max_k}
            if self.word_dropout:
                found |= {"word_dropout": self.word_dropout}
            if self.margin_updates:
                found |= {"margin_updates": True}
        return found


def sentence_and_reference(item: Item) -> tuple[Sentence, Any]:
    """Return what to parse, and what the loss compares the output with."""
    return (item.sentence, item.gold) if isinstance(item, GOLD) else item
