"""A small pipeline, trained once a session on generated English."""

from __future__ import annotations

from functools import cache

from treetune.learning.pipeline_training import train_pipeline
from treetune.models.pipeline import Pipeline
from treetune.models.sequence.tagger import Tagger
from treetune.models.tokenizer.tokenizer import Tokenizer
from treetune.models.transition.parser import TransitionParser
from treetune.sample import generate

COLUMNS = ("upos", "xpos")
TEXT = "The dog sees a cat. The young actor often spilled it.\n\nA cat was a story."


@cache
def small_pipeline() -> Pipeline:
    pipeline = Pipeline(Tokenizer(), [Tagger(columns=COLUMNS)], TransitionParser(beam=2))
    options = {"epochs": 2}
    for _ in train_pipeline(
        pipeline, generate(150, seed=5), folds=2, tokenizer_epochs=3,
        tagger_options=options, parser_options=options,  # type: ignore[arg-type]
    ):  # fmt: skip
        pass
    return pipeline
