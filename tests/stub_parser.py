"""A parser without features or kernels, so that files and commands are tested in milliseconds.

Every word hangs on the word before it, labelled with the first of the known labels; candidate `r` of a
k-best list (from 0) hangs the last `r` words on the first word instead. It learns nothing but the seed.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import pytest
from numpy.typing import NDArray

from batch_parser import BatchParser
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError, unknown_name
from treetune.models.base import Candidate
from treetune.models.learning_options import LearnerConfig, LearningOptions
from treetune.models.registry import MODELS, PARSERS, Preset

OPTIONS = ("beam", "features", "inputs", "decoder", "labels", "max_memory")
SEARCH_OPTIONS = ("beam",)


class StubLearner:
    """Every example leads to an update; the weights of a snapshot are the seed, three times."""

    def __init__(self, treebank: Sequence[Example], settings: dict[str, Any], seed: int) -> None:
        self._lengths = np.array([len(example.sentence) for example in treebank])
        self._settings = settings
        self._seed = seed
        self.learned: list[int] = []

    def __len__(self) -> int:
        return len(self._lengths)

    def words(self, order: NDArray[np.int64]) -> int:
        return int(self._lengths[order].sum())

    def learn(self, order: NDArray[np.int64]) -> int:
        self.learned += order.tolist()
        return len(order)

    def online_decoder(self, sentences: Sequence[Sentence]) -> StubOnlineDecoder:
        return StubOnlineDecoder(sentences)

    def step(self) -> None:
        pass

    def restart_average(self) -> None:
        pass

    def tensors(self) -> dict[str, NDArray[Any]]:
        return {"learned": np.array(self.learned)}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        self.learned = tensors["learned"].tolist()

    def settings(self) -> dict[str, Any]:
        return dict(self._settings)

    def snapshot(self) -> NDArray[np.float32]:
        return np.full(3, self._seed, np.float32)

    def install(self, model: StubParser, weights: NDArray[np.float32]) -> None:
        model.labels, model.weights = ("dep",), weights


class StubOnlineDecoder:
    """The candidates of the parser; nothing moves."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._sentences = sentences

    def __len__(self) -> int:
        return len(self._sentences)

    def k_best(self, index: int, k: int, *, constraint: Tree | None = None) -> list[Candidate[Tree]]:
        return trained().k_best(self._sentences[index], k, constraint=constraint)

    def update(self, index: int, better: Candidate[Tree], worse: Candidate[Tree], *, margin: float | None) -> bool:
        return True


class StubParser(BatchParser):
    kind: ClassVar[str] = "stub"

    def __init__(self, **options: Any) -> None:
        for name in options:
            if name not in OPTIONS:
                raise unknown_name("option", name, OPTIONS)
        self.options = {"beam": 8, "features": "default", **options}
        self.labels: tuple[str, ...] = ()
        self.weights: NDArray[np.float32] | None = None

    @property
    def is_trained(self) -> bool:
        return self.weights is not None

    def with_options(self, **options: Any) -> Self:
        for name in options:
            if name not in SEARCH_OPTIONS:
                raise unknown_name("search option of stubs", name, SEARCH_OPTIONS)
        other = copy.copy(self)
        other.options = {**self.options, **options}
        return other

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        return [found[0].output for found in self.k_best_batch(sentences, 1, constraints=constraints)]

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        fixed = constraints or [Tree.unknown(len(sentence)) for sentence in sentences]
        return [self._candidates(len(sentence), k, tree) for sentence, tree in zip(sentences, fixed, strict=True)]

    def _candidates(self, length: int, k: int, fixed: Tree) -> list[Candidate[Tree]]:
        if len(fixed.roots) > 1:
            raise DataError(f"expected at most one fixed root, found {len(fixed.roots)}")
        label = self.labels[0] if self.labels else "dep"
        found = []
        for rank in range(min(k, max(1, length - 1))):
            heads = [word - 1 if word <= length - rank else 1 for word in range(1, length + 1)]
            merged = [f if f >= 0 else h for f, h in zip(fixed.heads[1:], heads, strict=True)]
            labels = [f or ("root" if h == 0 else label) for f, h in zip(fixed.labels[1:], merged, strict=True)]
            found.append(Candidate(Tree.of(merged, labels), score=float(self.options["beam"] - rank)))
        return found

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        return np.empty(0, np.uint64), np.empty(0, np.uint16)

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        return 0.0

    def learner(
        self,
        treebank: Sequence[Example],
        *,
        seed: int = 1,
        warm_start: bool = False,
        **options: Unpack[LearningOptions],
    ) -> StubLearner:
        config = LearnerConfig(**options)
        settings: dict[str, Any] = {"learner": config.learner or "perceptron"}
        if config.update is not None:
            settings["update"] = config.update
        if config.learner == "mira":
            settings.update(k=config.k, clip=config.clip, cost_augmented=config.cost_augmented)
        return StubLearner(treebank, settings, seed)

    def adopt(self, other: Self) -> None:
        self.labels, self.weights = other.labels, other.weights

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        assert self.weights is not None
        return {**self.options, "labels": list(self.labels)}, {"weights": self.weights}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        parser = cls(**{name: value for name, value in config.items() if name != "labels"})
        parser.labels, parser.weights = tuple(config["labels"]), tensors["weights"]
        return parser


def trained(labels: tuple[str, ...] = ("dep", "root"), size: int = 100) -> StubParser:
    parser = StubParser()
    parser.labels = labels
    parser.weights = np.random.default_rng(1).normal(size=size).astype(np.float32)
    return parser


@pytest.fixture(name="stub_model")
def stub_model_fixture(monkeypatch: pytest.MonkeyPatch) -> StubParser:
    """A trained stub, known to the tables of models and parsers for the time of one test."""
    monkeypatch.setitem(MODELS, "stub", "stub_parser:StubParser")
    monkeypatch.setitem(PARSERS, "stub", Preset("stub", "stub"))
    return trained()
