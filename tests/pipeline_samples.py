"""A small pipeline, trained once a session on generated English."""

from __future__ import annotations

from functools import cache

import treetune
from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags
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


def pets(sentence: Sentence) -> Tags:
    """Return entities that anyone could find: dogs and cats."""
    return Tags.of("B-PET" if word in ("dog", "cat") else "O" for word in sentence.forms[1:])


PETS = [Tagged(example.sentence, pets(example.sentence)) for example in generate(150, seed=5)]


@cache
def entity_tagger() -> Tagger:
    tagger = Tagger(columns=("ner",), spans=True, features="ner", inputs=("upos",))
    for _ in treetune.train(tagger, PETS, epochs=4):
        pass
    return tagger
