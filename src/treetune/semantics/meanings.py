"""Files to sentences with natural logical forms and back: treebanks, Penn trees, encoded trees, JSON lines.

A line of JSON has the ``words`` of a sentence, and its expression as text, ``nlf``, or as an object, ``expression``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from treetune.corpus.conllu import format_conllu
from treetune.corpus.files import StrPath, display_name, read_lines
from treetune.corpus.formats import bare_name
from treetune.corpus.penn import read_penn
from treetune.corpus.sentence import Example, Sentence, Tree, comment_value, name_sentence, with_comment
from treetune.corpus.treebank import read_trees
from treetune.errors import DataError
from treetune.semantics.alignment import align
from treetune.semantics.encoding import decode, encode, is_label
from treetune.semantics.expression import Expression
from treetune.semantics.from_constituents import from_constituents
from treetune.semantics.from_ud import from_ud
from treetune.semantics.notation import format_expression, format_indented, parse_expression

PENN_SUFFIXES = (".mrg", ".penn")
JSON_SUFFIXES = (".jsonl", ".json")
COMMENT = "nlf"
"""The key of the comment that has the expression of an encoded tree."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A sentence with its natural logical form, in which every word has its position.

    `encoded` is the tree that the expression was decoded from, if there is one; its labels may be inconsistent.
    """

    sentence: Sentence
    expression: Expression
    encoded: Tree | None = None

    def tree(self) -> Tree:
        """Return the encoded tree."""
        return encode(self.expression, self.sentence.forms) if self.encoded is None else self.encoded

    def example(self) -> Example:
        """Return the encoded tree as an example to train on: words alone, without tags and lemmas."""
        return Example(self.sentence.without("lemmas", "upos", "xpos", "feats"), self.tree())


def is_encoded(tree: Tree) -> bool:
    """Whether all labels of a tree are those of an encoded expression."""
    return all(map(is_label, tree.labels[1:]))


def meaning_of(sentence: Sentence, tree: Tree) -> Meaning:
    """Return a sentence with the expression of its tree: decoded if the tree is an encoded one, else by rules."""
    if is_encoded(tree):
        return Meaning(sentence, decode(tree, sentence.forms), tree)
    return Meaning(sentence, from_ud(sentence, tree))


def read_meanings(path: StrPath, *, read: Callable[..., Iterator[Example]] = read_trees) -> Iterator[Meaning]:
    """Yield the sentences of a file with their expressions.

    The suffix decides: ``.mrg`` are Penn trees, ``.jsonl`` sentences with expressions, all else treebanks, whose trees
    are converted by rules unless they are encoded expressions.

    Raises:
        DataError: a sentence has no expression; the message has the file and the line or sentence.
    """
    name = bare_name(path)
    if name.endswith(PENN_SUFFIXES):
        yield from (Meaning(*from_constituents(tree)) for tree in read_penn(path))
    elif name.endswith(JSON_SUFFIXES):
        for number, line in enumerate(read_lines(path), start=1):
            if line.strip():
                yield _from_json(line, display_name(path), number)
    else:
        for number, item in enumerate(read(path), start=1):
            try:
                yield meaning_of(item.sentence, item.gold)
            except DataError as fault:
                where = name_sentence(number, item.sentence)
                raise DataError(f"{where}: {fault.problem}", path=display_name(path)) from None


def _from_json(line: str, path: str, number: int) -> Meaning:
    try:
        content = json.loads(line)
    except json.JSONDecodeError as fault:
        raise DataError(f"expected a JSON object, found {fault.msg}", path=path, line=number) from None
    words = content.get("words") if isinstance(content, dict) else None
    if not isinstance(words, list) or not words or not all(isinstance(one, str) and one for one in words):
        raise DataError('expected an object with "words", a list of texts', path=path, line=number)
    try:
        if "expression" in content:
            found = Expression.from_dict(content["expression"])
        else:
            found = parse_expression(str(content["nlf"]))
        sentence = Sentence.of(words)
        return Meaning(sentence, align(found, sentence.forms))
    except KeyError:
        raise DataError('expected "nlf" or "expression", found neither', path=path, line=number) from None
    except DataError as fault:
        place = "" if fault.line is None else f"line {fault.line}, column {fault.column}: "
        raise DataError(f"nlf: {place}{fault.problem}", path=path, line=number) from None


def as_text(meaning: Meaning) -> str:
    """Return the expression on one line."""
    return format_expression(meaning.expression) + "\n"


def as_indented(meaning: Meaning) -> str:
    """Return the expression on several lines, and an empty line."""
    return format_indented(meaning.expression) + "\n\n"


def as_json(meaning: Meaning) -> str:
    """Return words, expression as text and as an object, and whether all of it is covered, as a line of JSON."""
    content: dict[str, Any] = {}
    for key in ("sent_id", "text"):
        if (value := comment_value(meaning.sentence, key)) is not None:
            content[key] = value
    content |= {
        "words": meaning.sentence.forms[1:],
        "nlf": format_expression(meaning.expression),
        "covered": meaning.expression.is_covered,
        "expression": meaning.expression.to_dict(),
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def as_tree(meaning: Meaning) -> str:
    """Return the encoded tree as CoNLL-U, with the expression as a comment."""
    text = format_expression(meaning.expression, positions=True)
    return format_conllu(with_comment(meaning.sentence, COMMENT, " ".join(text.split())), meaning.tree())


WRITERS: dict[str, Callable[[Meaning], str]] = {
    "text": as_text,
    "indented": as_indented,
    "json": as_json,
    "conllu": as_tree,
}


def realigned(meaning: Meaning) -> Meaning:
    """Return a sentence whose expression was aligned automatically, without its true positions."""
    bare = parse_expression(format_expression(meaning.expression))
    return Meaning(meaning.sentence, align(bare, meaning.sentence.forms))


def with_frequent_labels(examples: Iterable[Example], count: int) -> list[Example]:
    """Return the examples all of whose labels are among the most frequent ones, punctuation not counted (Table 7)."""
    examples = list(examples)
    counts = Counter(label for item in examples for label in item.gold.labels[1:])
    del counts["punct"]
    kept = {label for label, _ in counts.most_common(count)} | {"punct"}
    return [item for item in examples if kept.issuperset(item.gold.labels[1:])]
