"""The kinds of models, by the names that stand in model files.

An entry is ``"module:Class"``, imported when it is asked for, so that looking into a model file does not
load numba. A new model is one line here.
"""

from __future__ import annotations

import importlib

from treetune.models.base import Parser

MODELS: dict[str, str] = {
    "transition": "treetune.models.transition.parser:TransitionParser",
    "graph": "treetune.models.graph.parser:GraphParser",
    "judged": "treetune.models.judged:JudgedParser",
    "guided": "treetune.models.guided:GuidedParser",
}


def model_class(kind: str) -> type[Parser]:
    """Return the class of the models called `kind`, one of `MODELS`."""
    module, name = MODELS[kind].split(":")
    found: type[Parser] = getattr(importlib.import_module(module), name)
    return found
