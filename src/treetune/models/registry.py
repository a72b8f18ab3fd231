"""The kinds of models, by the names that stand in model files.

An entry is ``"module:Class"``, imported when it is asked for, so that looking into a model file does not
load numba. A new model is one line here.
"""

from __future__ import annotations

import importlib
from typing import Any, cast

from treetune.models.base import Model, Storable

MODELS: dict[str, str] = {
    "transition": "treetune.models.transition.parser:TransitionParser",
    "graph": "treetune.models.graph.parser:GraphParser",
    "reranker": "treetune.models.reranker:Reranker",
    "stacked": "treetune.models.stacked:StackedParser",
    "tagger": "treetune.models.sequence.tagger:Tagger",
    "tokenizer": "treetune.models.tokenizer.tokenizer:Tokenizer",
    "pipeline": "treetune.models.pipeline:Pipeline",
}


def model_class(kind: str) -> type[Model[Any]]:
    """Return the class of the models called `kind`, a parser or a tagger of `MODELS`."""
    return cast(type[Model[Any]], stored_class(kind))


def stored_class(kind: str) -> type[Storable]:
    """Return the class of what model files call `kind`, one of `MODELS`."""
    module, name = MODELS[kind].split(":")
    found: type[Storable] = getattr(importlib.import_module(module), name)
    return found
