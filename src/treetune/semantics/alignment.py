"""Positions for the words of an expression that has none: a greedy heuristic (Alshawi et al. 2011, section 4.1).

A word that occurs once in the sentence can only be that one. The others are placed one at a time, the best first:
near their heads and dependents, and so that arcs do not cross.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from treetune.errors import DataError
from treetune.semantics.encoding import encode
from treetune.semantics.expression import Expression
from treetune.semantics.tokens import check_words, word_positions

CROSSING, WRONG_SIDE = 3.0, 0.5
"""What an arc that crosses another costs, and a word on the unusual side of its head, in words of distance."""
_LOOKS_AT_CROSSINGS = 40


def align(expression: Expression, forms: Sequence[str]) -> Expression:
    """Return the expression with the position of every word in a sentence, root at 0.

    Positions that are given are kept.

    Raises:
        DataError: the words of the expression are not those of the sentence.
    """
    check_words(expression, forms)
    given = expression.positions()
    if None not in given:
        return expression
    return _with_positions(expression, iter(_Alignment(expression, given, forms).run()))


def alignment_accuracy(found: Sequence[Expression], gold: Sequence[Expression]) -> float:
    """Return the share of words that have their true position."""
    pairs = [pair for a, b in zip(found, gold, strict=True) for pair in zip(a.positions(), b.positions(), strict=True)]
    if not pairs:
        raise DataError("expected at least one expression, found none")
    return sum(one == other for one, other in pairs) / len(pairs)


def _with_positions(node: Expression, positions: Iterator[int]) -> Expression:
    """Return an expression with positions, taken in the order of `Expression.words`."""
    position = next(positions) if node.kind == "word" else None
    parts = tuple(_with_positions(part, positions) for part in node.parts)
    modifiers = tuple((connective, _with_positions(other, positions)) for connective, other in node.modifiers)
    return replace(node, position=position, parts=parts, modifiers=modifiers)


class _Alignment:
    """Words are numbered from 1 in the order of `Expression.words`; `places` are their positions so far, 0 if none."""

    def __init__(self, expression: Expression, given: Sequence[int | None], forms: Sequence[str]) -> None:
        words = [node.word for node in expression.words()]
        numbered = _with_positions(expression, iter(range(1, len(words) + 1)))
        # The forms are made words, so that the tree has no punctuation.
        names = ["", *(f"w{number}" for number in range(1, len(words) + 1))]
        tree = encode(_renamed(numbered, names), names)
        self.heads, self.labels = tree.heads, tree.labels
        self.words = ["", *words]
        self.places = [0, *(position or 0 for position in given)]
        self.neighbours: list[list[int]] = [[] for _ in self.words]
        for word, head in enumerate(self.heads):
            if head > 0:
                self.neighbours[word].append(head)
                self.neighbours[head].append(word)
        self.free: dict[str, list[int]] = {}
        for position in word_positions(forms):
            if position not in self.places:
                self.free.setdefault(forms[position], []).append(position)

    def run(self) -> list[int]:
        waiting = [word for word in range(1, len(self.words)) if not self.places[word]]
        for word in waiting:
            if len(self.free[self.words[word]]) == 1:
                self.places[word] = self.free[self.words[word]].pop()
        waiting = [word for word in waiting if not self.places[word]]
        while waiting:
            _, word, place = min(self._choices(waiting))
            self.places[word] = place
            self.free[self.words[word]].remove(place)
            waiting.remove(word)
        return self.places[1:]

    def _choices(self, waiting: list[int]) -> list[tuple[float, int, int]]:
        """Return costs of words at free positions: of those next to a word that has its position, or of the first."""
        near = [word for word in waiting if any(self.places[other] for other in self.neighbours[word])]
        with_crossings = len(near) <= _LOOKS_AT_CROSSINGS
        return [
            (self._cost(word, place, with_crossings), word, place)
            for word in near or waiting[:1]
            for place in self.free[self.words[word]]
        ]

    def _cost(self, word: int, place: int, with_crossings: bool) -> float:
        known = [other for other in self.neighbours[word] if self.places[other]]
        cost = sum(abs(place - self.places[other]) for other in known) / max(len(known), 1)
        head = self.places[self.heads[word]]
        if head and (place < head) != _stands_before(self.labels[word]):
            cost += WRONG_SIDE
        if with_crossings:
            arcs = [(min(place, self.places[other]), max(place, self.places[other])) for other in known]
            cost += CROSSING * self._crossings(arcs)
        return cost

    def _crossings(self, arcs: list[tuple[int, int]]) -> int:
        places, count = self.places, 0
        for word, head in enumerate(self.heads):
            if head > 0 and places[word] and places[head]:
                left, right = sorted((places[word], places[head]))
                count += sum(start < left < end < right or left < start < right < end for start, end in arcs)
        return count


def _stands_before(label: str) -> bool:
    """Whether words with this label usually precede their heads: subjects, determiners, parts of compounds."""
    return label.endswith((".", "+", "/", "-*1")) or label == "*:"


def _renamed(node: Expression, names: Sequence[str]) -> Expression:
    return replace(
        node,
        word=names[node.position or 0],
        parts=tuple(_renamed(part, names) for part in node.parts),
        modifiers=tuple((connective, _renamed(other, names)) for connective, other in node.modifiers),
    )
