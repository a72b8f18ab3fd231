"""Names to objects: the tables in which a word of the command line or of a model file finds its class.

An entry is ``"module:Class"``, imported when it is asked for, so that looking into a model file does not
load numba. A new model is one line here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import unknown_name
from treetune.models.base import Candidate

if TYPE_CHECKING:
    import numpy as np

MODELS: dict[str, str] = {
    "transition": "treetune.models.transition.parser:TransitionParser",
}


class Parser(Protocol):
    """What a class in `MODELS` offers: prediction, and the two hooks by which it is kept in a file.

    `state` gives everything that `from_state` needs to make the same parser again: a dict that JSON can
    hold, and arrays. `kind` is its name in `MODELS`.
    """

    kind: ClassVar[str]

    @property
    def is_trained(self) -> bool:
        """Whether the parser can predict."""
        ...

    def with_beam(self, beam: int) -> Self:
        """Return a parser with the same weights that searches with another beam."""
        ...

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        """Return the best tree of each sentence; the known parts of `constraints` are kept."""
        ...

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        """Return up to `k` distinct trees of each sentence, best first."""
        ...

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the configuration and the arrays that make up the parser."""
        ...

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, np.ndarray[Any, Any]]) -> Self:
        """Make the parser that gave this state."""
        ...


def model_class(kind: str) -> type[Parser]:
    """Return the class of the models called `kind`; an unknown name is a `ConfigError` with the table."""
    if kind not in MODELS:
        raise unknown_name("parser", kind, MODELS)
    module, name = MODELS[kind].split(":")
    return cast(type[Parser], getattr(importlib.import_module(module), name))


def resolve_update(name: str | None, *, beam: int) -> str:
    """Return a known update, by default the one that suits the beam; another name is a `ConfigError`."""
    from treetune.models.transition.learner import UPDATES, default_update

    if name is None:
        return default_update(beam)
    if name not in UPDATES:
        raise unknown_name("update", name, UPDATES)
    return name


def make_parser(kind: str, **options: Any) -> Parser:
    """Return an untrained parser; a wrong name or option is a `ConfigError`."""
    return cast("Callable[..., Parser]", model_class(kind))(**options)
