"""Word orders and files: JSON lines, and CoNLL-U with an order in a comment.

A `WordOrder` says in which order the words of a sentence stand in another language. In Python words count from 1, as
everywhere; in JSON lines and alignments they count from 0, as the tools that write those do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treetune.corpus.conllu import format_conllu, read_conllu
from treetune.corpus.files import STANDARD_STREAM, StrPath, display_name, read_lines, write_texts
from treetune.corpus.formats import FORMATS, Format, bare_name, find_format, format_of, names
from treetune.corpus.sentence import Example, Sentence, Tree, comment_value, name_sentence, with_comment
from treetune.errors import DataError

COMMENT = "order"
LINKS_COMMENT = "links"
_PACKED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class WordOrder:
    """The words of a sentence that have a place in another language, in the order of that language.

    Attributes:
        words: Some or all words of the sentence, from 1, each once.
        links: Pairs (word, place in the other sentence, from 1) that it was made from, if they are known.
        target: The words of the other sentence, if they are known.
        confidence: How far the links can be trusted, from 0 to 1; None if nobody said.
    """

    words: tuple[int, ...]
    links: tuple[tuple[int, int], ...] = ()
    target: tuple[str, ...] = ()
    confidence: float | None = None

    @classmethod
    def of_links(cls, links: Iterable[tuple[int, int]], target: Sequence[str] = ()) -> WordOrder:
        """Return the order that an alignment asks for: by the first place a word is linked to, then by the word."""
        kept = tuple(sorted(set(links)))
        first: dict[int, int] = {}
        for word, place in kept:
            first.setdefault(word, place)
        return cls(tuple(sorted(first, key=lambda word: (first[word], word))), kept, tuple(target))

    def check(self, length: int) -> None:
        """Raise DataError unless it is an order of words of a sentence of that length."""
        for word in (*self.words, *(word for word, _ in self.links)):
            if not 1 <= word <= length:
                raise DataError(f"expected the order of words from 1 to {length}, found word {word}")
        if len(set(self.words)) != len(self.words):
            twice = next(word for word in self.words if self.words.count(word) > 1)
            raise DataError(f"expected every word at most once in an order, found word {twice} twice")


@dataclass(frozen=True, slots=True)
class Ordered:
    """A sentence, the order its words should have, and its tree (all unknown where none is given)."""

    sentence: Sentence
    order: WordOrder
    tree: Tree


def read_orders(path: StrPath, *, beside: bool = True) -> Iterator[Ordered]:
    """Yield the sentences of a file with their word orders.

    Of JSON lines (``.jsonl``), each line has ``tokens`` and an ``order`` or ``links``, counted from 0. If there is a
    CoNLL-U file of the same name beside it (``en-ja.conllu`` beside ``en-ja.jsonl``) with the same words, tags and
    trees are taken from there, unless `beside` is False. Any other file is CoNLL-U, in which ``# order = 3 1 2`` has
    the words' IDs in the order of the other language.

    Raises:
        DataError: the file is not as it should be; the message names the line.
    """
    found = order_format(path)
    examples = _beside(path) if beside and "trees" not in found.holds else None
    items = found.read_orders(path)
    return items if examples is None else _with_trees(items, path, examples)


def write_orders(items: Iterable[Ordered], target: StrPath, *, file_format: str | None = None) -> int:
    """Write sentences with their orders and return their number; without `file_format` the suffix decides.

    JSON lines (``"orders"``) hold words, orders and links alone; CoNLL-U keeps tags and trees as well.
    """
    form = (
        order_format(target) if file_format is None else find_format(file_format, names("order_formatter"))
    ).form_order
    return write_texts((form(item) for item in items), target)


def order_format(path: StrPath) -> Format:
    """Return the format of a file with word orders, by its suffix: JSON lines, else CoNLL-U."""
    return format_of(path, holding="orders") or FORMATS["conllu"]


def format_order_json(item: Ordered) -> str:
    """Return a sentence and its order as one JSON line, counted from 0."""
    content: dict[str, Any] = {}
    name = comment_value(item.sentence, "sent_id")
    if name is not None:
        content["id"] = name
    content["tokens"] = list(item.sentence.forms[1:])
    content["order"] = [word - 1 for word in item.order.words]
    if item.order.links:
        content["links"] = [[word - 1, place - 1] for word, place in item.order.links]
    if item.order.target:
        content["target_tokens"] = list(item.order.target)
    if item.order.confidence is not None:
        content["confidence"] = item.order.confidence
    return json.dumps(content, ensure_ascii=False) + "\n"


def read_order_json(path: StrPath) -> Iterator[Ordered]:
    """Yield sentences with their orders from JSON lines."""
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            yield _from_json(line)
        except DataError as error:
            raise DataError(error.problem, path=display_name(path), line=number) from None


def _from_json(line: str) -> Ordered:
    try:
        content = json.loads(line)
    except ValueError as error:
        raise DataError(f"expected a JSON object a line: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"expected a JSON object a line, found {type(content).__name__}")
    tokens = content.get("tokens")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(word, str) and word for word in tokens):
        raise DataError('expected "tokens", a list of words')
    links, target = content.get("links", []), content.get("target_tokens", [])
    if not isinstance(links, list) or not all(_is_pair(link) for link in links):
        raise DataError('expected "links" as a list of pairs [word, place], counted from 0')
    if not isinstance(target, list) or not all(isinstance(word, str) for word in target):
        raise DataError('expected "target_tokens", a list of words')
    pairs = [(word + 1, place + 1) for word, place in links]
    if "order" in content:
        words = content["order"]
        if not isinstance(words, list) or not all(isinstance(word, int) and word is not True for word in words):
            raise DataError('expected "order", a list of words counted from 0')
        order = WordOrder(tuple(word + 1 for word in words), tuple(pairs), tuple(target))
    elif "links" in content:
        order = WordOrder.of_links(pairs, target)
    else:
        raise DataError('expected "order" or "links", found neither')
    confidence = content.get("confidence")
    if confidence is not None:
        if not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
            raise DataError(f'expected "confidence" from 0 to 1, found {confidence!r}')
        order = replace(order, confidence=float(confidence))
    order.check(len(tokens))
    sentence = Sentence.of(tokens)
    if isinstance(content.get("id"), str):
        sentence = with_comment(sentence, "sent_id", content["id"])
    return Ordered(sentence, order, Tree.unknown(len(tokens)))


def _is_pair(link: Any) -> bool:
    return isinstance(link, list) and len(link) == 2 and all(type(place) is int and place >= 0 for place in link)


def _with_trees(items: Iterator[Ordered], path: StrPath, tagged: Path) -> Iterator[Ordered]:
    examples = read_conllu(tagged, partial=True)
    number = 0
    for number, item in enumerate(items, start=1):
        example = next(examples, None)
        if example is None or example.sentence.forms[1:] != item.sentence.forms[1:]:
            found = "its end" if example is None else repr(" ".join(example.sentence.forms[1:])[:60])
            raise DataError(
                f"expected the sentences of {display_name(path)}, which stands beside it: sentence {number} is "
                f"{' '.join(item.sentence.forms[1:])[:60]!r}, found {found}",
                path=str(tagged),
            )
        yield Ordered(example.sentence, item.order, example.gold)
    if next(examples, None) is not None:
        raise DataError(
            f"expected the {number} sentences of {display_name(path)}, which stands beside it, found more",
            path=str(tagged),
        )


def read_order_comments(path: StrPath) -> Iterator[Ordered]:
    """Yield sentences with their orders from CoNLL-U, where they are comments."""
    for number, example in enumerate(read_conllu(path, partial=True), start=1):
        try:
            order = _from_comments(example)
        except DataError as error:
            place = name_sentence(number, example.sentence)
            raise DataError(f"{place}: {error.problem}", path=display_name(path)) from None
        yield Ordered(example.sentence, order, example.gold)


def _from_comments(example: Example) -> WordOrder:
    text, links = comment_value(example.sentence, COMMENT), comment_value(example.sentence, LINKS_COMMENT)
    if text is None:
        raise DataError(f"expected a comment '# {COMMENT} = 2 1 …' with the words in the other order, found none")
    try:
        words = tuple(map(int, text.split()))
        pairs = tuple((int(word), int(place)) for word, _, place in (p.partition("-") for p in (links or "").split()))
    except ValueError:
        raise DataError(
            f"expected IDs of words in the comments {COMMENT} and {LINKS_COMMENT}, found {text!r}"
        ) from None
    order = WordOrder(words, pairs)
    order.check(len(example.sentence))
    return order


def format_order_comments(item: Ordered) -> str:
    """Return a sentence as CoNLL-U with its order as a comment."""
    sentence = with_comment(item.sentence, COMMENT, " ".join(map(str, item.order.words)))
    if item.order.links:
        text = " ".join(f"{word}-{place}" for word, place in item.order.links)
        sentence = with_comment(sentence, LINKS_COMMENT, text)
    return format_conllu(sentence, item.tree)


def _beside(path: StrPath) -> Path | None:
    if os.fspath(path) == STANDARD_STREAM:
        return None
    stem = Path(bare_name(path)).with_suffix(".conllu")
    found = (stem, *(stem.with_name(stem.name + packed) for packed in _PACKED))
    return next((place for place in found if place.is_file()), None)
