"""Stacking of two parsers: features of the main parser see the tree of the base parser.

McDonald et al. 2005 (MIRA-Collins, Table 3); Nivre and McDonald 2008; Martins et al. 2008.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

from treetune.checked_state import Fields
from treetune.corpus.base_trees import with_base_trees
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError, ModelError
from treetune.evaluation.scorers import Scorer
from treetune.models.base import Candidate, Learner, OnlineDecoder, Parser
from treetune.models.confidence import Calibrated
from treetune.models.learning_options import LearningOptions
from treetune.models.nested_state import parsers_from_state, state_of_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from treetune.weights.mixing import Cells


class StackedParser(Calibrated):
    """A stacked parser: `base` parses each sentence first, and `main` has features of that tree.

    It needs nothing but the sentence. A sentence that comes with a base tree keeps it, so a tree known from elsewhere
    can replace that of the base parser. `learning.stacking.train_stacked` trains both.
    """

    kind: ClassVar[str] = "stacked"

    def __init__(self, base: Parser, main: Parser) -> None:
        self.base = base
        self.main = main

    @property
    def is_trained(self) -> bool:
        """Whether both parsers can predict."""
        return self.base.is_trained and self.main.is_trained

    @property
    def scorer(self) -> Scorer:
        """Trees are scored by attachment."""
        return self.main.scorer

    @property
    def is_stacked(self) -> bool:
        """Whether base trees are looked at: a sentence may come with its own."""
        return True

    def with_options(self, **options: Any) -> StackedParser:
        """Return a stacked parser with the same weights and other search options of its main parser."""
        changed = copy.copy(self)
        changed.main = self.main.with_options(**options)
        return changed

    def attach(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Sentence]:
        """Return the sentences with base trees; a base tree respects `constraints` where it can."""
        open_indices = [index for index, sentence in enumerate(sentences) if sentence.base_tree is None]
        if not open_indices:
            return list(sentences)
        bare = [sentences[index] for index in open_indices]
        # Faults of the constraints are for the main parser to find: it knows which trees it can make.
        fixed = None
        if constraints is not None and len(constraints) == len(sentences):
            fixed = [constraints[index] for index in open_indices]
        stacked = list(sentences)
        for index, sentence in zip(
            open_indices, with_base_trees(bare, self._base_trees(bare, fixed, threads)), strict=True
        ):
            stacked[index] = sentence
        return stacked

    def _base_trees(self, sentences: Sequence[Sentence], fixed: Sequence[Tree] | None, threads: int) -> list[Tree]:
        try:
            return self.base.predict_batch(sentences, threads=threads, constraints=fixed)
        except DataError:
            if fixed is None:
                raise
        # Some constraint fits into no tree of the base parser's kind, as crossing arcs into no projective one.
        return [self._base_tree_if_possible(sentence, tree) for sentence, tree in zip(sentences, fixed, strict=True)]

    def _base_tree_if_possible(self, sentence: Sentence, fixed: Tree) -> Tree:
        try:
            return self.base.predict(sentence, constraint=fixed)
        except DataError:
            return self.base.predict(sentence)

    def predict(self, sentence: Sentence, *, constraint: Tree | None = None) -> Tree:
        """Return the best tree; it has everything that is known in the partial tree `constraint`."""
        return self.predict_batch([sentence], constraints=None if constraint is None else [constraint])[0]

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        """Return the best tree of each sentence; the same for any number of threads."""
        stacked = self.attach(sentences, threads=threads, constraints=constraints)
        return self.main.predict_batch(stacked, threads=threads, constraints=constraints)

    def k_best(self, sentence: Sentence, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        """Return up to `k` distinct trees of the main parser, best first."""
        return self.k_best_batch([sentence], k, constraints=None if constraint is None else [constraint])[0]

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        """Return the k-best list of each sentence; the same for any number of threads."""
        stacked = self.attach(sentences, threads=threads, constraints=constraints)
        return self.main.k_best_batch(stacked, k, threads=threads, constraints=constraints)

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return the features of the main parser.

        A candidate found under a constraint had the constrained base tree: `attach` it first to get the same.
        """
        return self.main.features(self.attach([sentence])[0], output)

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        """Return the exact score of an output under the main parser's weights; as for `features`."""
        return self.main.score(self.attach([sentence])[0], output)

    def check_learning(self, **options: Unpack[LearningOptions]) -> None:
        """Raise ConfigError if the main parser's learner would refuse these options."""
        self.main.check_learning(**options)

    def learner(
        self,
        treebank: Sequence[Example],
        *,
        seed: int = 0,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> Learner[Tree]:
        """Return the learner of the main parser; the base parser is trained already, and stays as it is.

        The sentences must have base trees of parsers that were not trained on them (`learning.jackknife`): the base
        parser was trained on them, and is better on them than on other text.
        """
        if not self.base.is_trained:
            raise ModelError("the base parser of this model is not trained yet; train it on the whole treebank first")
        for number, example in enumerate(treebank, start=1):
            if example.sentence.base_tree is None:
                raise DataError(
                    f"sentence {number} of the treebank has no base tree; attach jackknifed trees to all of them first"
                )
        return _MainLearner(self, self.main.learner(treebank, seed=seed, warm_start=warm_start, **options))

    def adopt(self, other: Self) -> None:
        """Take over both parsers of another stacked one."""
        self.base, self.main, self.calibration = other.base, other.main, other.calibration

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays) of both parsers, each array's name with its parser's before it."""
        config, tensors = state_of_parts({"base": self.base, "main": self.main})
        return {**config, **self._calibration_state()}, tensors

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> StackedParser:
        """Rebuild both parsers from `state()`."""
        parser = cls(**parsers_from_state(config, tensors, ("base", "main")))
        parser._restore_calibration(Fields(config))
        return parser


class _MainLearner:
    """The learner of a stacked parser's main parser, which installs into that part alone."""

    def __init__(self, model: StackedParser, learner: Learner[Tree]) -> None:
        self._model = model
        self._learner = learner

    def __len__(self) -> int:
        return len(self._learner)

    def words(self, order: NDArray[np.int64]) -> int:
        return self._learner.words(order)

    def learn(self, order: NDArray[np.int64]) -> int:
        return self._learner.learn(order)

    def online_decoder(self, sentences: Sequence[Sentence]) -> OnlineDecoder[Tree]:
        # The base parser was not trained on these sentences, so its trees are as good as on other text.
        return self._learner.online_decoder(self._model.attach(sentences))

    def step(self) -> None:
        self._learner.step()

    def restart_average(self) -> None:
        self._learner.restart_average()

    def tensors(self) -> dict[str, NDArray[Any]]:
        return self._learner.tensors()

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        self._learner.restore(tensors)

    def cells(self) -> dict[str, Cells]:
        found: dict[str, Cells] = self._mixable.cells()
        return found

    def set_cells(self, cells: dict[str, Cells], progress: NDArray[np.int64]) -> None:
        self._mixable.set_cells(cells, progress)

    @property
    def _mixable(self) -> Any:
        return self._learner

    def settings(self) -> dict[str, Any]:
        return self._learner.settings()

    def snapshot(self) -> Any:
        return self._learner.snapshot()

    def install(self, model: StackedParser, weights: Any) -> None:
        # A copy: trainers try weights on a copy of the model, which shares its parts.
        main = copy.copy(model.main)
        self._learner.install(main, weights)
        model.main, model.calibration = main, None
