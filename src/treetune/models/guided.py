"""Two parsers as one: what the guide says of a sentence is among what the main parser looks at.

McDonald et al. 2005 (MIRA-Collins, Table 3); Nivre and McDonald 2008; Martins et al. 2008.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

from treetune.corpus.guides import with_guides
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError, ModelError
from treetune.evaluate.judges import Judge
from treetune.models.base import Candidate, Learner, Parser, Practice
from treetune.models.learners import LearningOptions
from treetune.models.parts import part_from_state, state_of_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class GuidedParser:
    """A parser that parses each sentence with `guide` first and lets `main` see the result.

    It needs nothing but the sentence. A sentence that comes with a guide keeps it, so a tree known from elsewhere
    can take the place of the guide parser's. `learning.stacking.train_guided` trains both.
    """

    kind: ClassVar[str] = "guided"

    def __init__(self, guide: Parser, main: Parser) -> None:
        self.guide = guide
        self.main = main

    @property
    def is_trained(self) -> bool:
        """Whether both parsers can predict."""
        return self.guide.is_trained and self.main.is_trained

    @property
    def judge(self) -> Judge:
        """Trees are scored by attachment."""
        return self.main.judge

    @property
    def is_guided(self) -> bool:
        """Whether guides are looked at: a sentence may come with its own."""
        return True

    def with_options(self, **options: Any) -> GuidedParser:
        """Return a parser with the same weights whose main parser searches otherwise."""
        return GuidedParser(self.guide, self.main.with_options(**options))

    def attach(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Sentence]:
        """Return the sentences as the main parser sees them; a guide respects `constraints` where it can."""
        open_places = [place for place, sentence in enumerate(sentences) if sentence.guide is None]
        if not open_places:
            return list(sentences)
        bare = [sentences[place] for place in open_places]
        # Faults of the constraints are for the main parser to find: it knows which trees it can make.
        fixed = None
        if constraints is not None and len(constraints) == len(sentences):
            fixed = [constraints[place] for place in open_places]
        guided = list(sentences)
        for place, sentence in zip(open_places, with_guides(bare, self._guides(bare, fixed, threads)), strict=True):
            guided[place] = sentence
        return guided

    def _guides(self, sentences: Sequence[Sentence], fixed: Sequence[Tree] | None, threads: int) -> list[Tree]:
        try:
            return self.guide.predict_batch(sentences, threads=threads, constraints=fixed)
        except DataError:
            if fixed is None:
                raise
        # Some constraint fits into no tree of the guide's kind, as crossing arcs into no projective one.
        return [self._guide_if_possible(sentence, tree) for sentence, tree in zip(sentences, fixed, strict=True)]

    def _guide_if_possible(self, sentence: Sentence, fixed: Tree) -> Tree:
        try:
            return self.guide.predict(sentence, constraint=fixed)
        except DataError:
            return self.guide.predict(sentence)

    def predict(self, sentence: Sentence, *, constraint: Tree | None = None) -> Tree:
        """Return the best tree; it has everything that is known in the partial tree `constraint`."""
        return self.predict_batch([sentence], constraints=None if constraint is None else [constraint])[0]

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        """Return the best tree of each sentence; the same for any number of threads."""
        guided = self.attach(sentences, threads=threads, constraints=constraints)
        return self.main.predict_batch(guided, threads=threads, constraints=constraints)

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
        guided = self.attach(sentences, threads=threads, constraints=constraints)
        return self.main.k_best_batch(guided, k, threads=threads, constraints=constraints)

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return the features of the main parser.

        A candidate found under a constraint had the constrained guide: `attach` it first to get the same.
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
        go_on: bool = False,
        **options: Unpack[LearningOptions],
    ) -> Learner[Tree]:
        """Return what teaches the main parser; the guide parser is trained already, and stays as it is.

        The sentences must carry guides from parsers that have not seen them (`learning.jackknife`): the guide
        parser itself has seen them, and is better on them than it will ever be again.
        """
        if not self.guide.is_trained:
            raise ModelError("the guide of this parser is not trained yet; train it on the whole treebank first")
        for number, example in enumerate(treebank, start=1):
            if example.sentence.guide is None:
                raise DataError(
                    f"sentence {number} of the treebank has no guide; attach jackknifed trees to all sentences first"
                )
        return _MainLearner(self, self.main.learner(treebank, seed=seed, go_on=go_on, **options))

    def adopt(self, other: Self) -> None:
        """Take over both parsers of another guided one."""
        self.guide, self.main = other.guide, other.main

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays) of both parsers, each array's name with its parser's before it."""
        config, tensors = state_of_parts({"guide": self.guide, "main": self.main})
        # What all models tell of themselves, where it is looked for.
        config["labels"] = config["main"]["config"].get("labels", [])
        return config, tensors

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> GuidedParser:
        """Rebuild both parsers from `state()`."""
        guide, main = (part_from_state(name, config, tensors) for name in ("guide", "main"))
        return cls(guide, main)


class _MainLearner:
    """The learner of a guided parser's main parser, which installs into that part alone."""

    def __init__(self, model: GuidedParser, learner: Learner[Tree]) -> None:
        self._model = model
        self._learner = learner

    def __len__(self) -> int:
        return len(self._learner)

    def words(self, order: NDArray[np.int64]) -> int:
        return self._learner.words(order)

    def learn(self, order: NDArray[np.int64]) -> int:
        return self._learner.learn(order)

    def practice(self, sentences: Sequence[Sentence]) -> Practice[Tree]:
        # The guide parser has not seen the trees of these: nobody has. So its own trees are honest.
        return self._learner.practice(self._model.attach(sentences))

    def step(self) -> None:
        self._learner.step()

    def restart_average(self) -> None:
        self._learner.restart_average()

    def tensors(self) -> dict[str, NDArray[Any]]:
        return self._learner.tensors()

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        self._learner.restore(tensors)

    def settings(self) -> dict[str, Any]:
        return self._learner.settings()

    def snapshot(self) -> Any:
        return self._learner.snapshot()

    def install(self, model: GuidedParser, weights: Any) -> None:
        # A copy: trainers try weights on a copy of the model, which shares its parts.
        main = copy.copy(model.main)
        self._learner.install(main, weights)
        model.main = main
