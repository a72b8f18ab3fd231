"""The registry of file formats: names, suffixes, what each can hold, and where its reader and its writer are.

Readers and writers are ``"module:function"``, imported when they are asked for. A new format is a module with these
functions and one entry here; everything that reads or writes files asks this registry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from treetune.corpus.files import StrPath
from treetune.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from treetune.corpus.orders import Ordered
    from treetune.corpus.sentence import Enhanced, Example, Sentence, Tree

Formatter: TypeAlias = "Callable[[Sentence, Tree, Enhanced | None], str]"
Content = Literal["trees", "tags", "entities", "comments", "orders", "tokens", "text"]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    Attributes:
        name: What options and `file_format` call it.
        title: What messages call it.
        holds: What can be in such a file: ``trees``, ``tags``, ``entities``, ``comments`` (MISC included), ``orders``;
            ``tokens`` if the words are told apart, ``text`` if a tokenizer has to do that.
        suffixes: How names of such files end, ``.gz`` and ``.zst`` left out.
        in_blocks: Whether sentences are lines with an empty line after them, so that they can be counted quickly.
        reader: Yields `Example`s, with the options of `read_conllu`.
        formatter: A sentence, its tree and its enhanced graph (or None) to the text of one sentence.
        k_best_formatter: A sentence and its k-best list of (tree, score) to text; without one, each tree is written as
            a sentence of its own, with rank and score as comments.
        text_writer: Sentences to pieces of text, for formats in which a sentence is not written by itself.
        order_reader, order_formatter: The same for `Ordered`, a sentence with a word order.
    """

    name: str
    title: str
    holds: frozenset[Content]
    suffixes: tuple[str, ...] = ()
    in_blocks: bool = False
    reader: str = ""
    formatter: str = ""
    k_best_formatter: str = ""
    text_writer: str = ""
    order_reader: str = ""
    order_formatter: str = ""

    @property
    def read(self) -> Callable[..., Iterator[Example]]:
        """The reader of examples."""
        return self._function("reader")

    @property
    def form(self) -> Formatter:
        """The formatter of sentences with trees."""
        return self._function("formatter")

    @property
    def form_k_best(self) -> Callable[[Sentence, Sequence[tuple[Tree, float]]], str]:
        """The formatter of k-best lists."""
        return self._function("k_best_formatter")

    @property
    def write_text(self) -> Callable[[Iterable[Sentence]], Iterator[str]]:
        """The writer of raw text."""
        return self._function("text_writer")

    @property
    def read_orders(self) -> Callable[..., Iterator[Ordered]]:
        """The reader of word orders."""
        return self._function("order_reader")

    @property
    def form_order(self) -> Callable[[Ordered], str]:
        """The formatter of word orders."""
        return self._function("order_formatter")

    def _function(self, role: str) -> Callable[..., Any]:
        module, _, name = getattr(self, role).partition(":")
        if not name:
            raise ConfigError(
                f"{self.title} has no {role.replace('_', ' ')}; formats that do: {', '.join(names(role))}"
            )
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


def _holds(*contents: Content) -> frozenset[Content]:
    return frozenset(contents)


_ENTRIES = (
    Format(
        "conllu",
        "CoNLL-U",
        _holds("trees", "tags", "entities", "comments", "orders", "tokens"),
        (".conllu",),
        in_blocks=True,
        reader="treetune.corpus.conllu:read_conllu",
        formatter="treetune.corpus.conllu:format_conllu",
        order_reader="treetune.corpus.orders:read_order_comments",
        order_formatter="treetune.corpus.orders:format_order_comments",
    ),
    Format(
        "conllx",
        "CoNLL-X",
        _holds("trees", "tags", "tokens"),
        (".conll", ".conllx"),
        in_blocks=True,
        reader="treetune.corpus.conllu:read_conllx",
        formatter="treetune.corpus.conllu:format_conllx",
    ),
    Format(
        "json",
        "JSON lines",
        _holds("trees", "tags", "entities", "comments", "tokens"),
        (".jsonl", ".json"),
        reader="treetune.corpus.json_lines:read_json",
        formatter="treetune.corpus.json_lines:format_json",
        k_best_formatter="treetune.corpus.json_lines:format_json_k_best",
    ),
    Format(
        "iob2",
        "IOB",
        _holds("entities", "tokens"),
        (".iob2", ".iob", ".iob1", ".bio", ".bioes", ".bilou"),
        in_blocks=True,
        reader="treetune.corpus.iob:read_entities",
        formatter="treetune.corpus.iob:format_entities",
    ),
    Format(
        "orders",
        "word orders as JSON lines",
        _holds("orders", "tokens"),
        (".jsonl", ".json"),
        order_reader="treetune.corpus.orders:read_order_json",
        order_formatter="treetune.corpus.orders:format_order_json",
    ),
    Format(
        "tokens",
        "tokens with spaces between",
        _holds("tokens"),
        reader="treetune.corpus.textfiles:read_tokens",
        formatter="treetune.corpus.textfiles:format_tokens",
    ),
    Format("text", "raw text", _holds("text"), (".txt",), text_writer="treetune.corpus.rawtext:text_pieces"),
    Format(
        "lines", "raw text with a sentence a line", _holds("text"), text_writer="treetune.corpus.rawtext:text_lines"
    ),
    Format("wrapped", "raw text with line ends anywhere", _holds("text")),
    Format("tree", "a drawing", _holds(), formatter="treetune.corpus.drawing:format_drawing"),
)
FORMATS: dict[str, Format] = {one.name: one for one in _ENTRIES}


def names(role: str) -> list[str]:
    """Return the names of the formats that have a function of a role, such as ``"reader"``."""
    return [name for name, one in FORMATS.items() if getattr(one, role)]


def find_format(name: str, known: Collection[str] | None = None) -> Format:
    """Return the format of this name; ConfigError, which lists the known ones, if it is none of them."""
    if name not in (FORMATS if known is None else known):
        raise unknown_name("file format", name, FORMATS if known is None else known)
    return FORMATS[name]


def format_of(path: StrPath, *, holding: Content | None = None) -> Format | None:
    """Return the format that the suffix of a path stands for, the first that can hold this; None if there is none."""
    name = bare_name(path)
    for one in FORMATS.values():
        if name.endswith(one.suffixes) and (holding is None or holding in one.holds):
            return one
    return None


def bare_name(path: StrPath) -> str:
    """Return a path without the suffix of its compression."""
    return os.fspath(path).removesuffix(".gz").removesuffix(".zst")
