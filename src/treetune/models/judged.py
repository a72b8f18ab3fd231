"""Two parsers as one: the best trees of the main parser, put in order by what both parsers think of them.

Parsers that go through a sentence from different ends make different mistakes, and seldom the same mistake. So a
parser that reads backward is a good judge of one that reads forward (for parsers as Zhang and Clark 2008 combine
them, here by lists instead of in one search).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, Unpack

from treetune.corpus.projectivity import plain_label
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, ModelError
from treetune.evaluate.judges import Judge
from treetune.models.base import Candidate, Learner, Parser
from treetune.models.learners import LearningOptions
from treetune.models.parsing import TreeParser
from treetune.models.parts import part_from_state, state_of_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How many trees of the main parser are judged.
JUDGED = 16


class JudgedParser:
    """A parser whose `k` best trees are judged by another one.

    The scores of both decide, that of the `second` parser, the judge, times `weight`. Both are trained already, each
    by itself, on the same labels. `learning.judging` finds a good weight.
    """

    kind: ClassVar[str] = "judged"

    def __init__(self, main: Parser, judge: Parser, *, weight: float = 1.0, k: int = JUDGED) -> None:
        if not 0 < weight < math.inf:
            raise ConfigError(f"weight must be a number above 0, found {weight:g}")
        if k < 2:
            raise ConfigError(f"k must be at least 2, or there is nothing to judge, found {k}")
        self.main = main
        self.second = judge
        self.weight = weight
        self.k = k
        _check_labels(main, judge)

    @property
    def is_trained(self) -> bool:
        """Whether both parsers can predict."""
        return self.main.is_trained and self.second.is_trained

    @property
    def judge(self) -> Judge:
        """Its outputs are scored as those of the main parser."""
        return self.main.judge

    @property
    def is_guided(self) -> bool:
        """Whether guides are looked at, by either parser."""
        return self.main.is_guided or self.second.is_guided

    def with_options(self, **options: Any) -> JudgedParser:
        """Return a parser with the same weights whose main parser searches otherwise."""
        return JudgedParser(self.main.with_options(**options), self.second, weight=self.weight, k=self.k)

    def predict(self, sentence: Sentence, *, constraint: Tree | None = None) -> Tree:
        """Return the best tree; it has everything that is known in the partial tree `constraint`."""
        return self.predict_batch([sentence], constraints=None if constraint is None else [constraint])[0]

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        """Return the best tree of each sentence; the same for any number of threads."""
        lists = self.k_best_batch(sentences, 1, threads=threads, constraints=constraints)
        return [candidates[0].output for candidates in lists]

    def k_best(self, sentence: Sentence, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        """Return up to `k` distinct trees, best first, with the scores of both parsers together."""
        return self.k_best_batch([sentence], k, constraints=None if constraint is None else [constraint])[0]

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        """Return the k-best list of each sentence; the same for any number of threads.

        Trees beyond the main parser's best are not looked at, so a longer list may have a better first tree.
        """
        if k < 1:
            raise ConfigError(f"k must be at least 1, found {k}")
        lists = self.main.k_best_batch(sentences, max(k, self.k), threads=threads, constraints=constraints)
        opinions = opinions_of(self.second, sentences, lists, threads=threads)
        return [self._judged(*both)[:k] for both in zip(lists, opinions, strict=True)]

    def _judged(self, candidates: Sequence[Candidate[Tree]], opinions: Sequence[float]) -> list[Candidate[Tree]]:
        judged = [
            replace(candidate, score=candidate.score + self.weight * opinion)
            for candidate, opinion in zip(candidates, opinions, strict=True)
        ]
        # Of equals the main parser's favourite comes first: sorting keeps their order.
        return sorted(judged, key=lambda candidate: -candidate.score)

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return the features of the main parser; those of the judge have weights of their own."""
        return self.main.features(sentence, output)

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        """Return the exact score of an output under the weights of both parsers."""
        candidate = output if isinstance(output, Candidate) else Candidate(output, 0.0)
        opinion = opinions_of(self.second, [sentence], [[candidate]])[0][0]
        return self.main.score(sentence, output) + self.weight * opinion

    def check_learning(self, **options: Unpack[LearningOptions]) -> None:
        """Raise ConfigError: the two parsers learn each by itself."""
        self._refuse_to_learn()

    def learner(
        self,
        treebank: Sequence[Example],
        *,
        seed: int = 0,
        go_on: bool = False,
        **options: Unpack[LearningOptions],
    ) -> Learner[Tree]:
        """Raise ConfigError: the two parsers learn each by itself."""
        self._refuse_to_learn()

    def _refuse_to_learn(self) -> NoReturn:
        raise ConfigError("a parser with a judge is not trained as one; train both parsers, then combine them")

    def adopt(self, other: Self) -> None:
        """Take over both parsers of another judged one."""
        self.main, self.second, self.weight, self.k = other.main, other.second, other.weight, other.k

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays) of both parsers, each array's name with its parser's before it."""
        config, tensors = state_of_parts({"main": self.main, "judge": self.second})
        labels = config["main"]["config"].get("labels", [])
        return {**config, "labels": labels, "weight": self.weight, "k": self.k}, tensors

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> JudgedParser:
        """Rebuild both parsers from `state()`."""
        main, judge = (part_from_state(name, config, tensors) for name in ("main", "judge"))
        return cls(main, judge, weight=config["weight"], k=config["k"])


def opinions_of(
    judge: Parser, sentences: Sequence[Sentence], lists: Sequence[Sequence[Candidate[Tree]]], *, threads: int = 1
) -> list[list[float]]:
    """Return the scores that a judge gives to the trees of each sentence."""
    trees = [[candidate.output for candidate in candidates] for candidates in lists]
    if isinstance(judge, TreeParser):
        return judge.scores_batch(sentences, trees, threads=threads)
    return [[judge.score(sentence, tree) for tree in some] for sentence, some in zip(sentences, trees, strict=True)]


def _check_labels(main: Parser, judge: Parser) -> None:
    if not (isinstance(main, TreeParser) and isinstance(judge, TreeParser) and main.is_trained and judge.is_trained):
        return
    known = set(judge.labels)
    strange = sorted({plain_label(label) for label in main.labels} - known)
    if strange:
        raise ModelError(
            f"the judge has never seen the label {strange[0]!r}, which the main parser gives; "
            "train both on the same treebank"
        )
