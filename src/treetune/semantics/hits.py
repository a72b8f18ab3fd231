"""Matches in texts: a match and its sentence go in; the words of each variable with their offsets come out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from treetune.corpus.document import ParsedSentence
from treetune.semantics.expression import Expression
from treetune.semantics.matching import Match, Matcher
from treetune.semantics.notation import format_expression
from treetune.semantics.tokens import is_word


@dataclass(frozen=True, slots=True)
class Hit:
    """A match in a sentence; `source` is the file of the sentence and `number` its number there, from 1."""

    match: Match
    sentence: ParsedSentence
    source: str = ""
    number: int = 1

    def text(self, variable: str) -> str:
        """Return the words that a variable stands for, as they are written; empty if it is not bound."""
        found = self.match.bindings.get(variable)
        return "" if found is None else written(found, self.sentence)

    @property
    def span(self) -> tuple[int, int]:
        """Where the match begins and ends in the text."""
        return span(self.match.expression, self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return the hit, ready for JSON; a variable that is not bound is left out."""
        start, end = self.span
        return {
            "file": self.source,
            "sentence": self.number,
            **({} if self.sentence.sent_id is None else {"sent_id": self.sentence.sent_id}),
            "text": self.sentence.text,
            "start": start,
            "end": end,
            "match": format_expression(self.match.expression),
            "bindings": {name: self._binding(found) for name, found in self.match.bindings.items()},
        }

    def _binding(self, found: Expression) -> dict[str, Any]:
        start, end = span(found, self.sentence)
        return {
            "text": written(found, self.sentence),
            "head": found.head.word,
            "start": start,
            "end": end,
            "expression": format_expression(found),
        }


def find_hits(
    matcher: Matcher, expression: Expression, sentence: ParsedSentence, *, source: str = "", number: int = 1
) -> Iterator[Hit]:
    """Yield the hits in the expression of a sentence; of the same words bound in the same way only the first."""
    seen: list[tuple[int | None, dict[str, list[int]]]] = []
    for match in matcher.find(expression, sentence.sentence):
        place = match.expression.head.position
        words = {name: word_ids(found) for name, found in match.bindings.items()}
        if (place, words) not in seen:
            seen.append((place, words))
            yield Hit(match, sentence, source, number)


def word_ids(expression: Expression) -> list[int]:
    """Return the positions of the words in the order of the sentence."""
    return sorted(position for position in expression.positions() if position is not None)


def written(expression: Expression, sentence: ParsedSentence) -> str:
    """Return the words of an expression as the text has them, with a space where others are left out."""
    forms, spans, first = sentence.sentence.forms, sentence.word_spans, sentence.start_char
    runs: list[list[int]] = []
    for word in word_ids(expression):
        # Punctuation belongs to no expression.
        if runs and not any(map(is_word, forms[runs[-1][-1] + 1 : word])):
            runs[-1].append(word)
        else:
            runs.append([word])
    return " ".join(sentence.text[spans[run[0] - 1][0] - first : spans[run[-1] - 1][1] - first] for run in runs)


def span(expression: Expression, sentence: ParsedSentence) -> tuple[int, int]:
    """Return the offsets of the first and after the last character of an expression in the text."""
    spans = [sentence.word_spans[word - 1] for word in word_ids(expression)]
    return min(start for start, _ in spans), max(end for _, end in spans)
