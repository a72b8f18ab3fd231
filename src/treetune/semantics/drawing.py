"""An expression as an SVG picture: a tree of words and constructs, with connectives and positions at its edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from treetune.corpus.tree_svg import (
    ARC,
    GAP,
    INK,
    LABEL_SIZE,
    MARGIN,
    SIZE,
    open_svg,
    svg_text,
    text_width,
    xml_text,
)
from treetune.semantics.expression import COMPOUND, Expression, Modifier
from treetune.semantics.notation import format_word

DEPTH = 84
"""Height from a node to those below it."""
RADIUS = 9
CONSTRUCT, MODIFIER = "#0b62c4", "#8a4b08"
_BRACKETS = {"tuple": "[ ]", "collection": "{ }", "sequence": "| |", "abstraction": "^", "unspecified": "_"}


def expression_svg(expression: Expression, *, title: str = "") -> str:
    """Return a picture of an expression: one ``<svg>`` element without scripts, all text escaped.

    Blue edges lead to the parts of tuples, collections and sequences, with their positions; brown ones to modifiers,
    with their connectives.
    """
    root = _node(expression)
    head = 30 if title else 0
    width = max(root.width, text_width(title, 15)) + 2 * MARGIN
    parts = [open_svg(width, root.depth * DEPTH + SIZE + 2 * MARGIN + head)]
    if title:
        place = f'x="{MARGIN}" y="{MARGIN + 6}" font-size="15" text-anchor="start"'
        parts.append(f'<text {place} fill="{ARC}">{xml_text(title)}</text>')
    parts += _draw(root, MARGIN + (width - 2 * MARGIN - root.width) / 2, MARGIN + head + SIZE)
    return "\n".join([*parts, "</svg>"]) + "\n"


@dataclass(frozen=True)
class _Node:
    """A word or construct and what hangs below it, each with the label and the colour of its edge."""

    text: str
    colour: str
    below: tuple[tuple[str, str, _Node], ...]

    @cached_property
    def below_width(self) -> float:
        return sum(node.width + GAP for _, _, node in self.below) - GAP if self.below else 0.0

    @cached_property
    def width(self) -> float:
        return max(text_width(self.text, SIZE), self.below_width)

    @cached_property
    def depth(self) -> int:
        return max((1 + node.depth for _, _, node in self.below), default=0)

    @cached_property
    def middle(self) -> float:
        """Where the node stands, from the left of all that hangs below it: over the first and the last of that."""
        if not self.below:
            return self.width / 2
        (_, _, first), (_, _, last) = self.below[0], self.below[-1]
        left = (self.width - self.below_width) / 2
        middle = left + (first.middle + self.below_width - last.width + last.middle) / 2
        half = text_width(self.text, SIZE) / 2
        return min(max(middle, half), self.width - half)


def _node(expression: Expression) -> _Node:
    compound = [one for one in expression.modifiers if _is_plain_compound(one)]
    edges = [(str(index), CONSTRUCT, _node(part)) for index, part in enumerate(expression.parts)]
    edges += [(one[0], MODIFIER, _node(one[1])) for one in expression.modifiers if one not in compound]
    text = _BRACKETS.get(expression.kind) or format_word(expression.word)
    before = "".join(format_word(modifier.word) + COMPOUND for _, modifier in compound)
    return _Node(before + text, INK if expression.kind == "word" else CONSTRUCT, tuple(edges))


def _is_plain_compound(modifier: Modifier) -> bool:
    """Whether a modifier is a word that can stand before its head: ``pet+accessories``."""
    connective, expression = modifier
    return connective == COMPOUND and expression.kind == "word" and not expression.modifiers


def _draw(node: _Node, left: float, y: float) -> Iterator[str]:
    """Yield the edges of a node, all that hangs below it, and its text; `y` is the base line of the text."""
    x, start = left + node.middle, left + (node.width - node.below_width) / 2
    for label, colour, below in node.below:
        end, circle = start + below.middle, y + DEPTH - SIZE - RADIUS - 2
        yield f'<path d="M {x:.1f} {y + 8} L {end:.1f} {circle}" stroke="{colour}" stroke-width="1.3"/>'
        yield f'<circle cx="{end:.1f}" cy="{circle}" r="{RADIUS}" fill="white" stroke="{colour}"/>'
        size = SIZE if label in ".:" else LABEL_SIZE + 2
        yield svg_text(label, end, circle + 5, size, colour)
        yield from _draw(below, start, y + DEPTH)
        start += below.width + GAP
    yield svg_text(node.text, x, y, SIZE, node.colour)
