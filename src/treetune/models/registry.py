"""Models, learners and the trainer by name, and the names by which users ask for a parser or a tagger.

An entry is ``"module:name"``, imported when it is asked for: looking into a model file does not load numba, and
prediction does not load training. A new model is one line in `MODELS`, one in `LEARNERS` if it is trained by a learner
of its own, and one in `PARSERS` or `TAGGERS` for each name it has on the command line.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from treetune.errors import unknown_name
from treetune.models.base import Model, Parser, Storable

MODELS: dict[str, str] = {
    "transition": "treetune.models.transition.parser:TransitionParser",
    "graph": "treetune.models.graph.parser:GraphParser",
    "reranker": "treetune.models.reranker:Reranker",
    "stacked": "treetune.models.stacked:StackedParser",
    "tagger": "treetune.models.sequence.tagger:Tagger",
    "lemmatizer": "treetune.models.sequence.lemmatizer:Lemmatizer",
    "tokenizer": "treetune.models.tokenizer.tokenizer:Tokenizer",
    "pipeline": "treetune.models.pipeline:Pipeline",
    "filter": "treetune.filters.arc_filter:ArcFilter",
}
# The learner of each kind of model that has one of its own.
LEARNERS: dict[str, str] = {
    "transition": "treetune.models.transition.learner:TransitionLearner",
    "graph": "treetune.models.graph.learner:GraphLearner",
    "tagger": "treetune.models.sequence.learner:TaggerLearner",
}
# What `fit` calls.
TRAINER = "treetune.learning.trainer:train"


class Preset(NamedTuple):
    """A name for a kind of model: `fixed` options, which the name stands for, and `defaults` that differ."""

    kind: str
    help: str
    fixed: Mapping[str, Any] = {}
    defaults: Mapping[str, Any] = {}


PARSERS: dict[str, Preset] = {
    "transition": Preset("transition", "arc-eager beam parser"),
    "backward": Preset("transition", "arc-eager beam parser from the last word to the first", {"backward": True}),
    "graph": Preset("graph", "graph parser of first order", {"order": 1}),
    "graph2": Preset("graph", "graph parser of second order (adjacent siblings)", {"order": 2}),
    "graph3": Preset("graph", "graph parser of third order (siblings and grandparents)", {"order": 3}),
}
TAGGERS: dict[str, Preset] = {
    "tag": Preset("tagger", "tags of words", {"spans": False}),
    "ner": Preset(
        "tagger",
        "entities, as IOB2 tags",
        {"spans": True},
        {"columns": ("ner",), "features": "ner", "inputs": ("upos",)},
    ),
}


def find(entry: str) -> Any:
    """Return what ``"module:name"`` names."""
    module, name = entry.split(":")
    return getattr(importlib.import_module(module), name)


def model_class(kind: str) -> type[Model[Any]]:
    """Return the class of the models called `kind`, a parser or a tagger of `MODELS`."""
    return cast(type[Model[Any]], find(MODELS[kind]))


def stored_class(kind: str) -> type[Storable]:
    """Return the class of what model files call `kind`, one of `MODELS`."""
    return cast(type[Storable], find(MODELS[kind]))


def learner_class(kind: str) -> Any:
    """Return the class of the learners of models called `kind`, one of `LEARNERS`."""
    return find(LEARNERS[kind])


def preset(name: str) -> Preset:
    """Return what the name of a parser or a tagger stands for; an unknown name is a `ConfigError` with the table."""
    if name in TAGGERS:
        return TAGGERS[name]
    if name not in PARSERS:
        raise unknown_name("parser", name, PARSERS)
    return PARSERS[name]


def make_model(name: str, **options: Any) -> Model[Any]:
    """Return an untrained parser or tagger by its name; an option that is None has its default."""
    kind, _, fixed, defaults = preset(name)
    given = {option: value for option, value in options.items() if value is not None}
    make: Callable[..., Model[Any]] = model_class(kind)
    return make(**{**defaults, **given, **fixed})


def make_parser(name: str, **options: Any) -> Parser:
    """Return an untrained parser by its name, as `make_model`."""
    if name not in PARSERS:
        raise unknown_name("parser", name, PARSERS)
    return make_model(name, **options)
