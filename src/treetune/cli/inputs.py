"""What `treetune parse` is given: which model, which file, and how the file is to be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from treetune.corpus.base_trees import attach_base_trees
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import STANDARD_STREAM, display_name, read_lines
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.textfiles import read_text
from treetune.corpus.treebank import read_trees
from treetune.errors import ConfigError, DataError, ModelError
from treetune.models.pipeline import Pipeline
from treetune.storage import SUFFIX, embedded_models, inspect

# The model in the package that is taken when none is named.
DEFAULT_MODEL = "en"

TREES, TEXT, LINES, TOKENIZED = "CoNLL-U", "raw text", "a sentence a line", "tokens with spaces between"

_TREE_SUFFIXES = (".conllu", ".conll", ".conllx")
_LOOKS_LIKE_TREES = re.compile(r"\s*(?:#[^\n]*\n)*1(?:-\d+)?\t(?:[^\t\n]*\t){8}[^\t\n]*(?:\r?\n|$)")


class Names(NamedTuple):
    """The model and the file to parse; `is_text` if the user said that it is raw text."""

    model: str
    source: str
    is_text: bool


def name_files(first: str | None, second: str | None, text: str | None) -> Names:
    """Tell model and input from one another: a name alone is an input, unless --text has one."""
    if text is not None:
        if second is not None:
            raise ConfigError("IN and --text FILE both name what to parse; leave one of them out")
        return Names(first or DEFAULT_MODEL, text, True)
    if second is not None:
        assert first is not None
        return Names(first, second, False)
    if first is None:
        raise ConfigError("Missing argument 'IN': a file to parse, or - for stdin (see 'treetune parse --help')")
    if _is_model(first):
        raise ConfigError(
            f"{first} is a model, and there is nothing to parse; add a file or -: treetune parse {first} IN"
        )
    return Names(DEFAULT_MODEL, first, False)


def _is_model(name: str) -> bool:
    if name == STANDARD_STREAM:
        return False
    try:
        inspect(name)
    except ModelError:
        return name.endswith(SUFFIX)
    return True


def check_default(model: str) -> None:
    """Refuse to go on without a model if the package has none."""
    if model == DEFAULT_MODEL and DEFAULT_MODEL not in embedded_models():
        raise ModelError(f"this installation has no model {DEFAULT_MODEL!r}; name one: treetune parse MODEL IN")


@dataclass(frozen=True)
class Reading:
    """How the input is read: `form` is one of TREES, TEXT, LINES and TOKENIZED."""

    source: str
    form: str
    file_format: str | None = None
    lenient: bool = False
    constrained: bool = False
    base: str | None = None
    ranges: bool = False

    def check(self) -> None:
        """Refuse options that say something about another form of input."""
        only = {"--constrained": self.constrained, "--base": self.base is not None, "--lenient": self.lenient}
        for flag, is_given in only.items():
            if is_given and self.form != TREES:
                raise ConfigError(f"{flag} is for {TREES}, and the input is {self.form}; leave it out")
        if self.ranges and self.form not in (TEXT, LINES):
            raise ConfigError(f"--ranges is for {TEXT}, and the input is {self.form}; leave it out")

    def examples(self, pipeline: Pipeline, report: SkipReport) -> Iterator[Example]:
        """Yield the sentences of the input; only those of trees have any."""
        if self.form == TREES:
            found = read_trees(
                self.source,
                file_format=self.file_format,
                strict=not self.lenient,
                partial=self.constrained,
                trees=self.constrained,
                report=report,
            )
            return found if self.base is None else attach_base_trees(found, self.base)
        if self.form == TOKENIZED:
            sentences = read_tokenized(self.source)
        else:
            pieces = _checked_text(read_text(self.source), self.source)
            sentences = pipeline.split(pieces, ranges=self.ranges, line_sentences=self.form == LINES)
        return (Example(sentence, Tree.unknown(len(sentence))) for sentence in sentences)


def form_of(names: Names, pipeline: Pipeline, *, tokenized: bool, one_per_line: bool, conllu: bool) -> str:
    """Return how the input is to be read: as the flags say, else by what the model starts from and by the suffix."""
    flags = {"--tokenized": tokenized, "--one-per-line": one_per_line, "--conllu": conllu, "--text": names.is_text}
    named = [flag for flag, is_given in flags.items() if is_given]
    if conllu and names.is_text:
        raise ConfigError("--text and --conllu contradict each other; leave one of them out")
    if len([flag for flag in named if flag != "--text"]) > 1:
        raise ConfigError(f"{named[0]} and {named[1]} contradict each other; leave one of them out")
    if tokenized or one_per_line:
        return TOKENIZED if tokenized else LINES
    if names.is_text:
        return TEXT
    name = names.source.removesuffix(".gz").removesuffix(".zst")
    return TREES if conllu or pipeline.tokenizer is None or name.endswith(_TREE_SUFFIXES) else TEXT


def read_tokenized(path: str) -> Iterator[Sentence]:
    """Yield the sentences of a file with one a line, tokens separated by white space; empty lines are skipped."""
    number = 0
    for line in read_lines(path):
        tokens = line.split()
        if tokens:
            number += 1
            comments = (f"# sent_id = {number}", f"# text = {' '.join(tokens)}")
            yield replace(Sentence.of(tokens), comments=comments)


def _checked_text(pieces: Iterator[str], path: str) -> Iterator[str]:
    """Yield the pieces of a text, after a look at the first of them."""
    first = next(pieces, "")
    if _LOOKS_LIKE_TREES.match(first):
        raise DataError(
            "expected raw text, found what looks like CoNLL-U; read it with --conllu", path=display_name(path)
        )
    return chain([first], pieces)
