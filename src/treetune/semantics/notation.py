"""Natural logical forms as text: ``[acquired/stealthily:[in, ^, 2002], Chirpy+Systems, companies.two:profitable]``.

``+`` binds tighter than the other connectives; these have one precedence and associate to the left, and parentheses
group. A word that has one of the special characters is written in double quotes, with ``\\`` before a quote or a
backslash. ``acquired#5`` is a word with its position in the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from treetune.errors import DataError
from treetune.semantics.expression import (
    ABSTRACTION,
    COMPOSITES,
    COMPOUND,
    MAX_DEPTH,
    RANKS,
    UNSPECIFIED,
    Expression,
    Kind,
    check_node,
)

SPECIAL = r"\[\]{}|(),^:./+@&%\"#\\"
_TOKEN = re.compile(
    rf'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>[^\s{SPECIAL}]+)|#(?P<position>\d+)|(?P<sign>\S)|$)', re.DOTALL
)
_PLAIN = re.compile(rf"[^\s?{SPECIAL}][^\s{SPECIAL}]*")
_BRACKETS = {"tuple": ("[", "]"), "collection": ("{", "}"), "sequence": ("|", "|")}
_OPENING: dict[str, Kind] = {"[": "tuple", "|": "sequence"}


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def parse_expression(text: str) -> Expression:
    """Return the expression of a text, which may have several lines.

    Raises:
        DataError: the text is no expression; the message has line and column, from 1.
    """
    parser = _Parser(text)
    expression = parser.expression(0)
    if expression.head.kind != "word":
        parser.fail("an expression with a word as its head", parser.tokens[0])
    if parser.here.kind != "end":
        parser.fail("a connective or the end")
    return expression


def format_expression(expression: Expression, *, positions: bool = False) -> str:
    """Return an expression on one line; with `positions` words have theirs: ``acquired#5``."""
    core = _format_core(expression, positions)
    if not expression.modifiers:
        return core
    before, after = "", ""
    for connective, modifier in expression.modifiers:
        text = format_expression(modifier, positions=positions)
        if any(connective == COMPOUND or other != COMPOUND for other, _ in modifier.modifiers):
            text = f"({text})"
        if connective == COMPOUND:
            before += text + COMPOUND
        else:
            after += f" & {text}" if connective == "&" else connective + text
    return before + core + after


def format_indented(expression: Expression, *, width: int = 80) -> str:
    """Return an expression on several lines where one would be longer than `width` characters."""
    return "\n".join(_indented(expression, width))


def format_word(form: str) -> str:
    """Return a word as it stands in an expression: in quotes if it has special characters."""
    if form != "_" and _PLAIN.fullmatch(form):
        return form
    return '"' + form.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _format_core(node: Expression, positions: bool) -> str:
    if node.kind == "word":
        form = format_word(node.word)
        return f"{form}#{node.position}" if positions and node.position is not None else form
    if node.kind not in COMPOSITES:
        return {"abstraction": "^", "unspecified": "_"}.get(node.kind, f"?{node.word}")
    opening, closing = _BRACKETS[node.kind]
    parts = [format_expression(part, positions=positions) for part in node.parts]
    return (_operator(node, parts.pop(0)) if node.kind == "collection" else "") + opening + ", ".join(parts) + closing


def _operator(collection: Expression, text: str) -> str:
    return f"({text})" if collection.parts[0].modifiers or collection.parts[0].parts else text


def _indented(node: Expression, width: int) -> Iterator[str]:
    line = format_expression(node)
    compounds = tuple(one for one in node.modifiers if one[0] == COMPOUND)
    if len(line) <= width or not (node.parts or node.modifiers) or (node.parts and compounds):
        yield line
        return
    if node.parts:
        yield from _indented_parts(node, width)
    else:
        yield format_expression(replace(node, modifiers=compounds))
    for connective, modifier in node.modifiers[len(compounds) :]:
        lines = list(_indented(modifier, width - 5))
        if any(other != COMPOUND for other, _ in modifier.modifiers):
            lines = _wrapped(lines, "(", ")")
        yield from _wrapped(lines, f"    {connective}", "")


def _indented_parts(node: Expression, width: int) -> Iterator[str]:
    opening, closing = _BRACKETS[node.kind]
    parts = list(node.parts)
    if node.kind == "collection":
        opening = _operator(node, format_expression(parts.pop(0))) + opening
    for number, part in enumerate(parts):
        lines = list(_indented(part, width - 2))
        yield from _wrapped(lines, opening if number == 0 else " ", "," if number < len(parts) - 1 else closing)


def _wrapped(lines: list[str], before: str, after: str) -> list[str]:
    """Return lines with a text before the first and one after the last; the others are indented as far."""
    indented = [before + lines[0], *(" " * min(len(before), 5) + line for line in lines[1:])]
    indented[-1] += after
    return indented


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokenize())
        self.index = 0

    @property
    def here(self) -> _Token:
        return self.tokens[self.index]

    def fail(self, expected: str, token: _Token | None = None) -> None:
        """Raise the error for what was expected at a token, the current one if none is given."""
        token = self.here if token is None else token
        self._raise(f"expected {expected}, found {'the end' if token.kind == 'end' else repr(token.text)}", token)

    def expression(self, depth: int) -> Expression:
        # Half levels: parentheses around a modifier count as much as the modifier.
        if depth > 2 * MAX_DEPTH:
            self._raise(f"expected expressions nested at most {MAX_DEPTH} deep; found a deeper one", self.here)
        expression = self._compound(depth)
        while self.here.kind == "sign" and self.here.text in RANKS:
            token = self._next()
            modifier = self._compound(depth + 1)
            expression = self._checked(expression.modified(token.text, modifier), token)
        return expression

    def _compound(self, depth: int) -> Expression:
        parts = [self._primary(depth)]
        token = self.here
        while self._take(COMPOUND):
            parts.append(self._primary(depth))
        if len(parts) == 1:
            return parts[0]
        before = tuple((COMPOUND, part) for part in parts[:-1])
        return self._checked(replace(parts[-1], modifiers=(*before, *parts[-1].modifiers)), token)

    def _primary(self, depth: int) -> Expression:
        token = self._next()
        if token.kind in ("word", "quoted"):
            expression = self._word(token)
        elif token.text == "^":
            expression = ABSTRACTION
        elif token.text in _OPENING:
            kind = _OPENING[token.text]
            expression = self._checked(Expression(kind, parts=self._list(_BRACKETS[kind][1], depth)), token)
        elif token.text == "(":
            expression = self.expression(depth + 1)
            if not self._take(")"):
                self.fail("')' or a connective")
        else:
            self.fail("a word, '^', '_', '[', '|' or '('", token)
        opening = self.here
        if self._take("{"):
            parts = (expression, *self._list("}", depth))
            return self._checked(Expression("collection", parts=parts), opening)
        return expression

    def _word(self, token: _Token) -> Expression:
        if token.kind == "word" and token.text == "_":
            return UNSPECIFIED
        position = int(self._next().text) if self.here.kind == "position" else None
        if position == 0:
            self._raise("expected the position of a word, from 1, found 0", token)
        return Expression("word", token.text, position)

    def _list(self, closing: str, depth: int) -> tuple[Expression, ...]:
        parts = [self.expression(depth + 2)]
        while self._take(","):
            parts.append(self.expression(depth + 2))
        if not self._take(closing):
            self.fail(f"',', {closing!r} or a connective")
        return tuple(parts)

    def _checked(self, expression: Expression, token: _Token) -> Expression:
        try:
            check_node(expression)
        except DataError as fault:
            self._raise(fault.problem, token)
        return expression

    def _next(self) -> _Token:
        token = self.here
        self.index += token.kind != "end"
        return token

    def _take(self, sign: str) -> bool:
        found = self.here.kind == "sign" and self.here.text == sign
        self.index += found
        return found

    def _tokenize(self) -> Iterator[_Token]:
        start = 0
        while True:
            match = _TOKEN.match(self.text, start)
            assert match is not None
            kind = match.lastgroup or "end"
            found = _Token(kind, match[kind] if kind != "end" else "", match.start(kind) if kind != "end" else start)
            if kind == "quoted":
                found = _Token(kind, re.sub(r"\\(.)", r"\1", found.text, flags=re.DOTALL), found.start - 1)
            if kind == "sign" and found.text in ('"', "#", "\\"):
                what = {'"': "a closing quote", "#": "a number after #"}.get(found.text, "a word in quotes")
                self._raise(f"expected {what}, found {self.text[found.start : found.start + 20]!r}", found)
            yield found
            if kind == "end":
                return
            start = match.end()

    def _raise(self, problem: str, token: _Token) -> None:
        line = self.text.count("\n", 0, token.start) + 1
        column = token.start - (self.text.rfind("\n", 0, token.start) + 1) + 1
        raise DataError(problem, line=line, column=str(column))
