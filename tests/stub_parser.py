"""A parser without learning or kernels, so that files and commands are tested in milliseconds.

Every word hangs on the word before it, labelled with the first of the known labels; candidate `r` of a
k-best list (from 0) hangs the last `r` words on the first word instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from treetune.build import MODELS
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.models.base import Candidate


@dataclass
class StubParser:
    kind: ClassVar[str] = "stub"

    beam: int = 8
    features: str = "default"
    inputs: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    weights: np.ndarray[Any, np.dtype[np.float32]] | None = None

    @property
    def is_trained(self) -> bool:
        return self.weights is not None

    def with_beam(self, beam: int) -> StubParser:
        return replace(self, beam=beam)

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
        found = []
        for rank in range(min(k, max(1, length - 1))):
            heads = [word - 1 if word <= length - rank else 1 for word in range(1, length + 1)]
            merged = [f if f >= 0 else h for f, h in zip(fixed.heads[1:], heads, strict=True)]
            labels = [f or ("root" if h == 0 else self._label) for f, h in zip(fixed.labels[1:], merged, strict=True)]
            found.append(Candidate(Tree.of(merged, labels), score=float(self.beam - rank)))
        return found

    @property
    def _label(self) -> str:
        return self.labels[0] if self.labels else "dep"

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        assert self.weights is not None
        config: dict[str, Any] = {"beam": self.beam, "features": self.features, "labels": list(self.labels)}
        if self.inputs:
            config["inputs"] = list(self.inputs)
        return config, {"weights": self.weights}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, np.ndarray[Any, Any]]) -> StubParser:
        return cls(
            beam=config["beam"],
            features=config["features"],
            inputs=tuple(config.get("inputs", ())),
            labels=tuple(config["labels"]),
            weights=tensors["weights"],
        )


def trained(labels: tuple[str, ...] = ("dep", "root"), size: int = 100) -> StubParser:
    weights = np.random.default_rng(1).normal(size=size).astype(np.float32)
    return StubParser(labels=labels, weights=weights)


@pytest.fixture(name="stub_model")
def stub_model_fixture(monkeypatch: pytest.MonkeyPatch) -> StubParser:
    """A trained stub, known to the table of models for the time of one test."""
    monkeypatch.setitem(MODELS, "stub", "stub_parser:StubParser")
    return trained()
