"""Pruned and quantised models, which give nearly the same outputs: fewer weights, of 8 bits each."""

from __future__ import annotations

import copy
from typing import Any

from treetune.errors import ConfigError
from treetune.models.pipeline import Pipeline

# Weights below this share of the largest are pruned.
PRUNE = 0.006


def quantize(pipeline: Pipeline, *, prune: float = PRUNE, prune_parser: float | None = None) -> Pipeline:
    """Return a pipeline whose taggers, lemmatizer and transition parser have pruned weights of 8 bits.

    A parser has far more weights than the others; `prune_parser` is a share of its own.
    """
    of_parser = prune if prune_parser is None else prune_parser
    for share in (prune, of_parser):
        if not 0 <= share < 1:
            raise ConfigError(f"prune must be at least 0 and less than 1, found {share}")
    taggers: list[Any] = [_quantized(tagger, prune) for tagger in pipeline.taggers]
    lemmatizer: Any = pipeline.lemmatizer
    if lemmatizer is not None:
        lemmatizer = lemmatizer.with_tagger(_quantized(lemmatizer.tagger, prune))
    return Pipeline(pipeline.tokenizer, taggers, _quantized(pipeline.parser, of_parser), lemmatizer)


def _quantized(model: Any, prune: float) -> Any:
    weights: Any = getattr(model, "weights", None)
    # Graph parsers keep their weights in other forms, a stacked parser has none of its own.
    if weights is None or not hasattr(weights, "quantize"):
        return model
    smaller = copy.copy(model)
    smaller.set_trained(model.grammar, weights.quantize(prune=prune), trained_by=model.trained_by)
    return smaller
