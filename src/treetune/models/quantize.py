"""Trained models to smaller ones that give nearly the same outputs: fewer weights, of 8 bits each."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from treetune.errors import ConfigError
from treetune.models.pipeline import Pipeline

if TYPE_CHECKING:
    from treetune.models.base import Parser

# Weights below this part of the largest are dropped.
PRUNE = 0.006


def compact(pipeline: Pipeline, *, prune: float = PRUNE) -> Pipeline:
    """Return a pipeline whose tagger and transition parser have fewer and coarser weights; other parts are shared."""
    if not 0 <= prune < 1:
        raise ConfigError(f"prune must be at least 0 and less than 1, found {prune}")
    taggers: list[Any] = [_with_compact_weights(tagger, prune) for tagger in pipeline.taggers]
    parser: Parser | None = pipeline.parser
    if parser is not None:
        parser = _with_compact_weights(parser, prune)
    return Pipeline(pipeline.tokenizer, taggers, parser)


def _with_compact_weights(model: Any, prune: float) -> Any:
    weights: Any = getattr(model, "weights", None)
    # Graph parsers keep their weights in other forms, a stacked parser has none of its own.
    if weights is None or not hasattr(weights, "compact"):
        return model
    smaller = copy.copy(model)
    smaller.set_trained(model.grammar, weights.compact(prune=prune), trained_by=model.trained_by)
    return smaller
