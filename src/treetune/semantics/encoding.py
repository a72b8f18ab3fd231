"""Natural logical forms to labelled trees and back (Alshawi et al. 2011, section 4).

A label is a sequence of instructions (Table 2) that build what links a word to its head: ``-`` goes up from the head
word to the composite it heads, ``[``, ``{`` and ``|`` open a tuple, collection or sequence, a connective or a position
attaches, ``^`` and ``_`` fill a position, ``*`` is the word itself: ``[:^1-*0``. Punctuation is no part of an
expression; in a tree it depends on the word before it, with the label `PUNCTUATION`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from treetune.corpus.sentence import Tree
from treetune.errors import DataError
from treetune.semantics.draft import Draft
from treetune.semantics.expression import MAX_DEPTH, UNCOVERED, Expression, Kind
from treetune.semantics.tokens import check_words, word_positions

PUNCTUATION = "punct"
_SIGNS = {"tuple": "[", "collection": "{", "sequence": "|", "abstraction": "^", "unspecified": "_"}
_KINDS: dict[str, Kind] = {sign: kind for kind, sign in _SIGNS.items()}  # type: ignore[misc]
_ATTACH = r"[:/.+&@%]|\d{1,3}|"
_LEVEL = rf"([\[{{|])({_ATTACH})((?:[\^_][1-9]\d{{0,2}}-)*)"
_LABEL = re.compile(rf"(-*)((?:[\[{{|](?:{_ATTACH})(?:[\^_][1-9]\d{{0,2}}-)*)*)\*({_ATTACH})")


def encode(expression: Expression, forms: Sequence[str]) -> Tree:
    """Return the labelled tree of an expression over the words of a sentence, root at 0.

    Raises:
        DataError: a word is missing, occurs twice or has no position; see `alignment.align`.
    """
    check_words(expression, forms)
    if None in expression.positions():
        raise DataError("expected a position for every word of the expression, found a word without; align it first")
    heads, labels = [-1] + [0] * (len(forms) - 1), [""] * len(forms)
    _Encoder(heads, labels).place(expression, 0, "", "")
    attach_punctuation(heads, labels, word_positions(forms))
    return Tree(tuple(heads), tuple(labels))


def attach_punctuation(heads: list[int], labels: list[str], words: Sequence[int]) -> None:
    """Make each token that is no word a dependent of the word before it, at the start of the word behind."""
    last, wanted = words[0], set(words)
    for token in range(1, len(heads)):
        if token in wanted:
            last = token
        else:
            heads[token], labels[token] = last, PUNCTUATION


def is_label(label: str) -> bool:
    """Whether a text is a label of an encoded expression, or that of punctuation."""
    return label == PUNCTUATION or _LABEL.fullmatch(label) is not None


def decode(tree: Tree, forms: Sequence[str]) -> Expression:
    """Return the expression of a tree over the words of a sentence, root at 0; any labels make one.

    A position that is taken means the next free one. What cannot be attached as its label says is joined by ``%``.

    Raises:
        DataError: the heads are no tree, or not as many as the words.
    """
    if len(tree.heads) != len(forms) or len(forms) < 2:
        raise DataError(f"expected heads of {max(len(forms) - 1, 1)} words, found {len(tree.heads) - 1}")
    words = word_positions(forms)
    heads = tree.heads if len(words) == len(forms) - 1 else _skip_tokens(tree.heads, words)
    kids: list[list[int]] = [[] for _ in forms]
    for word in words:
        kids[heads[word]].append(word)
    roots = kids[0]
    if len(roots) > 1:
        kids[roots[0]].extend(roots[1:])
    return _Decoder(tree.labels, forms, kids).decode(roots, len(words))


def _skip_tokens(heads: Sequence[int], words: Sequence[int]) -> list[int]:
    """Return heads in which dependents of tokens that are no words are dependents of their heads."""
    wanted, found = {0, *words}, list(heads)
    for word in words:
        head, steps = found[word], 0
        while head not in wanted and steps <= len(heads):
            head, steps = heads[head], steps + 1
        found[word] = head
    return found


class _Encoder(NamedTuple):
    heads: list[int]
    labels: list[str]

    def place(self, node: Expression, head: int, prefix: str, attach: str) -> tuple[int, int]:
        """Encode an expression below a head word; return its own head word and how far it is above that word."""
        if node.kind == "word":
            assert node.position is not None
            word, depth = node.position, 0
            self.heads[word], self.labels[word] = head, f"{prefix}*{attach}"
        else:
            label = prefix + _SIGNS[node.kind] + attach
            inside = [(place, part) for place, part in enumerate(node.parts) if part.parts or part.kind == "word"]
            for place, part in enumerate(node.parts):
                if part.kind in ("abstraction", "unspecified"):
                    label += f"{_SIGNS[part.kind]}{place}-"
            word, depth = self.place(node.parts[0], head, label, "0")
            depth += 1
            for place, part in inside[1:]:
                self.place(part, word, "-" * depth, str(place))
        for connective, modifier in node.modifiers:
            self.place(modifier, word, "-" * depth, connective)
        return word, depth


class _Level(NamedTuple):
    """A composite that a label opens: how it is attached, and what stands at which of its positions."""

    kind: Kind
    attach: str
    fillers: tuple[tuple[int, Kind], ...]


class _Label(NamedTuple):
    ups: int
    levels: tuple[_Level, ...]
    attach: str


_UNKNOWN = _Label(0, (), UNCOVERED)


@lru_cache(maxsize=1 << 14)
def _compile(label: str) -> _Label:
    """Return the instructions of a label; what is no label joins its word by ``%``."""
    found = _LABEL.fullmatch(label)
    if found is None:
        return _UNKNOWN
    levels = tuple(
        _Level(
            _KINDS[opening],
            attach,
            tuple((int(filler[1:]), _KINDS[filler[0]]) for filler in fillers.split("-") if filler),
        )
        for opening, attach, fillers in re.findall(_LEVEL, found[2])
    )
    return _Label(len(found[1]), levels, found[3])


class _Decoder:
    def __init__(self, labels: Sequence[str], forms: Sequence[str], kids: list[list[int]]) -> None:
        self.labels = labels
        self.forms = forms
        self.kids = kids

    def decode(self, roots: list[int], size: int) -> Expression:
        if not roots:
            raise DataError("expected a tree with a root, found none")
        top: Draft | None = None
        waiting: list[tuple[int, Draft | None]] = [(roots[0], None)]
        reached = 0
        while waiting:
            word, head = waiting.pop()
            symbol = self._place(word, head, top)
            if top is None:
                top = symbol
            reached += 1
            waiting += [(kid, symbol) for kid in reversed(self.kids[word])]
        if reached != size:
            raise DataError("expected a tree, found heads that make a cycle")
        assert top is not None
        while top.parent is not None:
            top = top.parent
        return top.finish()

    def _place(self, word: int, head: Draft | None, top: Draft | None) -> Draft:
        """Add a word to the expression of its head as its label says; return its symbol."""
        ups, levels, attach = _compile(self.labels[word])
        symbol = Draft("word", self.forms[word], word)
        node = head
        if node is not None:
            if node.depth + len(levels) >= MAX_DEPTH:
                node, levels, attach = top, (), UNCOVERED
            node = _climb(node, ups)
        opened = False
        for kind, how, fillers in levels:
            new = Draft(kind)
            _link(node, new, "0" if opened else how)
            for place, filler in fillers:
                new.put(place, Draft(filler))
            node, opened = new, True
        _link(node, symbol, "0" if opened else attach)
        return symbol


def _climb(node: Draft | None, ups: int) -> Draft | None:
    """Return the composite so many levels above a word, as far as the word heads it."""
    while ups and node is not None and node.parent is not None and node.parent.parts.get(0) is node:
        node, ups = node.parent, ups - 1
    return node


def _link(node: Draft | None, new: Draft, attach: str) -> None:
    if node is None:
        return
    new.depth = node.depth + 1
    if not attach or (attach[0].isdigit() and not node.is_composite):
        node.add(UNCOVERED, new)
    elif attach[0].isdigit():
        node.put(int(attach), new)
    else:
        node.add(attach, new)
