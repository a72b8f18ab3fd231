"""Two parsers that learn in the plainest way, so that it shows who has seen what.

A `MemoryParser` gives back the tree of a sentence it was trained on, and hangs every word of any other on the
word before it. An `EchoParser` gives back the base parser, and remembers the base_trees it was trained with.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from batch_parser import BatchParser
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.models.base import Candidate, OnlineDecoder
from treetune.models.learning_options import LearnerConfig, LearningOptions

Memory = dict[tuple[str, ...], Tree]


class MemoryLearner:
    def __init__(self, treebank: Sequence[Example], settings: dict[str, Any]) -> None:
        self.treebank = treebank
        self._settings = settings
        self._memory: Memory = {}

    def __len__(self) -> int:
        return len(self.treebank)

    def words(self, order: NDArray[np.int64]) -> int:
        return sum(len(self.treebank[place].sentence) for place in order)

    def learn(self, order: NDArray[np.int64]) -> int:
        for place in order:
            example = self.treebank[place]
            self._memory[example.sentence.forms] = self._tree(example)
        return len(order)

    def _tree(self, example: Example) -> Tree:
        return example.gold

    def online_decoder(self, sentences: Sequence[Sentence]) -> OnlineDecoder[Tree]:
        raise NotImplementedError

    def step(self) -> None:
        pass

    def restart_average(self) -> None:
        pass

    def tensors(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        pass

    def settings(self) -> dict[str, Any]:
        return dict(self._settings)

    def snapshot(self) -> Memory:
        return dict(self._memory)

    def install(self, model: MemoryParser, weights: Memory) -> None:
        model.memory = weights


class MemoryParser(BatchParser):
    """Refuses constraints that are not projective."""

    kind: ClassVar[str] = "memory"

    def __init__(self, suffix: str = "", on_learner: Callable[[Sequence[Example]], None] = lambda _: None) -> None:
        self.suffix = suffix
        self.on_learner = on_learner
        self.memory: Memory | None = None
        self.calls: list[dict[str, Any]] = []

    @property
    def is_trained(self) -> bool:
        return self.memory is not None

    def with_options(self, **options: Any) -> Self:
        for name in options:
            if name != "suffix":
                raise ConfigError(f"unknown search option {name!r}")
        other = copy.copy(self)
        other.suffix = options["suffix"]
        return other

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        self.calls.append({"sentences": len(sentences), "threads": threads})
        fixed = constraints or [Tree.unknown(len(sentence)) for sentence in sentences]
        return [self._predict(sentence, tree) for sentence, tree in zip(sentences, fixed, strict=True)]

    def _predict(self, sentence: Sentence, fixed: Tree) -> Tree:
        if not is_projective(fixed.heads):
            raise DataError("memories are projective")
        tree = self._free(sentence)
        pairs = zip(fixed.heads[1:], tree.heads[1:], strict=True)
        heads = [known if known >= 0 else head for known, head in pairs]
        return Tree.of(heads, [label + self.suffix for label in tree.labels[1:]])

    def _free(self, sentence: Sentence) -> Tree:
        if self.memory is None:
            raise ModelError("this parser is not trained yet")
        return self.memory.get(sentence.forms) or Tree.of(range(len(sentence)), ["new"] * len(sentence))

    def k_best_batch(
        self, sentences: Sequence[Sentence], k: int, *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[list[Candidate[Tree]]]:
        trees = self.predict_batch(sentences, threads=threads, constraints=constraints)
        return [[Candidate(tree, float(k))] for tree in trees]

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        tree = output.output if isinstance(output, Candidate) else output
        same = [one == other for one, other in zip(self._free(sentence).heads[1:], tree.heads[1:], strict=True)]
        return np.array(same, np.uint64), np.zeros(len(same), np.uint16)

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        return float(self.features(sentence, output)[0].sum())

    def learner(
        self,
        treebank: Sequence[Example],
        *,
        seed: int = 1,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> MemoryLearner:
        settings = asdict(LearnerConfig(**options))
        self.on_learner(treebank)
        return self._learner(treebank, {**settings, "seed": seed})

    def _learner(self, treebank: Sequence[Example], settings: dict[str, Any]) -> MemoryLearner:
        return MemoryLearner(treebank, settings)

    def adopt(self, other: Self) -> None:
        self.memory = other.memory

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        assert self.memory is not None
        known = [[list(forms), list(tree.heads), list(tree.labels)] for forms, tree in self.memory.items()]
        return {"labels": ["new"], "known": known}, {"size": np.array([len(known)])}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        assert tensors["size"].tolist() == [len(config["known"])]
        parser = cls()
        parser.memory = {tuple(forms): Tree(tuple(heads), tuple(labels)) for forms, heads, labels in config["known"]}
        return parser


class EchoLearner(MemoryLearner):
    def _tree(self, example: Example) -> Tree:
        assert example.sentence.base_tree is not None
        return example.sentence.base_tree


class EchoParser(MemoryParser):
    kind: ClassVar[str] = "echo"

    def _free(self, sentence: Sentence) -> Tree:
        if self.memory is None or sentence.base_tree is None:
            raise ModelError("this parser is not trained yet or has no base")
        return sentence.base_tree

    def _predict(self, sentence: Sentence, fixed: Tree) -> Tree:
        return self._free(sentence)

    def _learner(self, treebank: Sequence[Example], settings: dict[str, Any]) -> MemoryLearner:
        return EchoLearner(treebank, settings)
