"""What a command is given: which model, which file, and in which format the file is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from treetune.corpus.files import STANDARD_STREAM
from treetune.corpus.formats import FORMATS, Format, find_format, format_of
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, ModelError
from treetune.model_names import SUFFIX
from treetune.models.pipeline import Pipeline
from treetune.storage import inspect, load

# The model in the package that is taken when none is named.
DEFAULT_MODEL = "en"
# What `--read` may say: all that has sentences or text in it.
READABLE = tuple(name for name, one in FORMATS.items() if one.reader or "text" in one.holds)
ReadHelp = f"The format of IN: {', '.join(READABLE)}; without it the suffix and MODEL decide."
FormatHelp = "without it the suffix of OUT decides."
Entities = Annotated[
    str | None, typer.Option("--entities", metavar="MODEL", help="A NER model that finds entities beside MODEL.")
]


def load_pipeline(model: str) -> Pipeline:
    """Load a model as a pipeline of whatever parts it has."""
    return as_pipeline(load(model), model)


def as_pipeline(found: Any, model: str) -> Pipeline:
    """Return what was loaded from `model` as a pipeline; ModelError if it is no part of one."""
    try:
        return Pipeline.of(found)
    except ModelError as error:
        raise ModelError(f"{model}: {error}") from None


def with_entities(pipeline: Pipeline, model: str | None) -> Pipeline:
    """Return the pipeline with the entity tagger of another model, if one is named."""
    if model is None:
        return pipeline
    found = load_pipeline(model).entity_tagger
    if found is None:
        raise ConfigError(f"--entities: {model} finds no entities; name a model of 'treetune train --task ner'")
    return pipeline.with_entity_tagger(found)


def load_parser(model: str) -> Pipeline:
    """Load a model that has a parser, which word orders need."""
    pipeline = load_pipeline(model)
    if pipeline.parser is None:
        raise ModelError(f"{model} has no parser, and word order needs trees; name a model with one")
    return pipeline


def parse_sentences(pipeline: Pipeline, sentences: Sequence[Sentence], threads: int) -> Iterator[tuple[Sentence, Tree]]:
    """Yield sentences with the tags that they lack, each with its predicted tree."""
    assert pipeline.parser is not None
    tagged = pipeline.tag(sentences, threads=threads, keep_tags=True)
    return zip(tagged, pipeline.parser.predict_batch(tagged, threads=threads), strict=True)


def is_model(name: str) -> bool:
    """Whether this is the name or the file of a model."""
    if name == STANDARD_STREAM:
        return False
    try:
        inspect(name)
    except ModelError:
        return name.endswith(SUFFIX)
    return True


def input_format(source: str, name: str | None, pipeline: Pipeline | None) -> Format:
    """Return the format of an input: as named, else by its suffix, else what the model starts from.

    A pipeline with a tokenizer starts from raw text; all others are given CoNLL-U.
    """
    if name is not None:
        return find_format(name, READABLE)
    found = format_of(source)
    if found is not None and found.reader:
        return found
    return FORMATS["text" if pipeline is not None and pipeline.tokenizer is not None else "conllu"]


def check_only(flags: dict[str, bool], wanted: bool, title: str, found: Format) -> None:
    """Refuse flags that are for another format of input than the one found."""
    for flag, is_given in flags.items():
        if is_given and not wanted:
            raise ConfigError(f"{flag} is for {title}, and the input is {found.title}; leave it out")
