"""The order that rules give a sentence by its tree, against the order of another language (Hall et al. 2011, 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from treetune.corpus.orders import WordOrder
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, unknown_name
from treetune.evaluation.ordering import order_counts
from treetune.losses.base import Loss
from treetune.reorder import Reorderer, RuleSet, load_rules

Score = Literal["reorder", "fuzzy", "tau"]
SCORES: tuple[Score, ...] = get_args(Score)


class Reordering(Loss[Tree, WordOrder]):
    """1 - the score of the order that rules make of a tree; the reference is a word order, not a tree.

    A sentence with fewer than two aligned words costs nothing: no order of it is wrong.

    Args:
        rules: The rule set: its name, a ``.toml`` file, or the rules themselves.
        score: ``"reorder"``, the paper's, which counts chunks; ``"fuzzy"``, the share of kept neighbours; ``"tau"``,
            the share of pairs in the right order.

    Raises:
        ConfigError: there is no such rule set or score.
    """

    name: ClassVar[str] = "reordering"
    output = "tree"
    reference = "order"

    def __init__(self, *, rules: str | Path | RuleSet = "sov", score: Score = "reorder") -> None:
        if not isinstance(rules, str | Path | RuleSet):
            raise ConfigError(f"rules must be the name of a rule set or a .toml file, found {rules!r}")
        if score not in SCORES:
            raise unknown_name("score", str(score), SCORES)
        self._title = rules.name if isinstance(rules, RuleSet) else str(rules)
        self._reorderer = Reorderer(rules if isinstance(rules, RuleSet) else load_rules(rules))
        self._score = score

    def __repr__(self) -> str:
        return f"Reordering(rules={self._title!r}, score={self._score!r})"

    def __call__(self, sentence: Sentence, output: Tree, reference: WordOrder) -> float:
        """Return the cost of one tree."""
        if len(reference.words) < 2:
            return 0.0
        counts = order_counts(reference, self._reorderer.order(sentence, output))
        # Of the three only tau can be negative; from 0 to 1 it is the share of pairs.
        return (1 - counts.tau) / 2 if self._score == "tau" else 1 - float(getattr(counts, self._score))

    def costs(self, sentence: Sentence, outputs: Sequence[Tree], reference: WordOrder) -> list[float]:
        """Return the cost of each tree."""
        return [self(sentence, output, reference) for output in outputs]

    def check(self, sentence: Sentence, reference: WordOrder) -> None:
        """Raise DataError unless the reference is an order of words of this sentence."""
        if not isinstance(reference, WordOrder):
            raise DataError(f"loss {self.name} expects a word order as reference, found {type(reference).__name__}")
        reference.check(len(sentence))

    def settings(self) -> dict[str, Any]:
        """Return name and options."""
        return {"name": self.name, "rules": self._title, "score": self._score}
