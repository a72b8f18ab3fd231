"""Sentences to reorder, from whatever a user has: trees, tokens or raw text."""

from __future__ import annotations

from collections.abc import Iterator

from treetune.cli.inputs import DEFAULT_MODEL, LINES, TEXT, TOKENIZED, TREES, Reading, check_default
from treetune.corpus.faults import SkipReport
from treetune.corpus.sentence import Example
from treetune.corpus.treebank import format_of, read_trees
from treetune.errors import ModelError, unknown_name
from treetune.models.pipeline import Pipeline
from treetune.storage import load

# What `--read` may say, and how it is read.
KINDS = {"conllu": TREES, "conllx": TREES, "tokens": TOKENIZED, "text": TEXT, "lines": LINES}
_TREE_SUFFIXES = (".conllu", ".conll", ".conllx")


def load_pipeline(model: str | None, source: str, kind: str | None) -> Pipeline | None:
    """Return the model that parses the input; None if the input has the trees itself.

    Input without trees is parsed by the model of the package unless another one is named.
    """
    if kind is not None and kind not in KINDS:
        raise unknown_name("kind of input", kind, KINDS)
    if model is None:
        if not (_plain(source).endswith(".txt") if kind is None else KINDS[kind] != TREES):
            return None
        model = DEFAULT_MODEL
    check_default(model)
    pipeline = Pipeline.of(load(model))
    if pipeline.parser is None:
        raise ModelError(f"{model} has no parser, and word order needs trees; name a model with one")
    return pipeline


def read_sentences(
    source: str, *, kind: str | None, pipeline: Pipeline | None, lenient: bool, report: SkipReport
) -> Iterator[Example]:
    """Yield sentences, with their complete trees where no `pipeline` is to parse them."""
    name = kind or _kind_of(source, pipeline)
    if pipeline is None:
        return read_trees(source, file_format=name, strict=not lenient, report=report)
    form = KINDS[name]
    reading = Reading(source, form, file_format=name if form == TREES else None, lenient=lenient)
    reading.check()
    return reading.examples(pipeline, report)


def _kind_of(source: str, pipeline: Pipeline | None) -> str:
    """Return what a suffix stands for; a model that begins with raw text is given raw text, as by `treetune parse`."""
    if pipeline is not None and pipeline.tokenizer is not None and not _plain(source).endswith(_TREE_SUFFIXES):
        return "text"
    return "tokens" if _plain(source).endswith(".txt") else format_of(source)


def _plain(source: str) -> str:
    return source.removesuffix(".gz").removesuffix(".zst")
