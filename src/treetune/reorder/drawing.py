"""A sentence, its tree and its new word order as an SVG picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.tree_svg import (
    ARC,
    INK,
    LABEL_SIZE,
    LEVEL,
    MARGIN,
    SIZE,
    arc_heights,
    draw_arcs,
    open_svg,
    svg_text,
    text_width,
    word_positions,
    xml_text,
)
from treetune.errors import DataError

LINES = 110
"""Height of the lines between the two orders."""
STAYS, MOVES = "#8c959f", "#0b62c4"


def draw_order(sentence: Sentence, tree: Tree, order: Sequence[int], *, title: str = "") -> str:
    """Return an SVG picture: arcs above the words, below them the new order, and lines to the new positions.

    Coloured lines are those of words that moved: all but a longest part of the old order that is kept.

    Raises:
        DataError: `order` is no order of all words.
    """
    size = len(sentence)
    if sorted(order) != list(range(1, size + 1)):
        raise DataError(f"expected every word from 1 to {size} once in the order, found {list(order)}")
    widths = [max(text_width(form, SIZE), text_width(label, LABEL_SIZE)) for form, label in _cells(sentence, tree)]
    upper, total = word_positions(widths, range(1, size + 1))
    lower, _ = word_positions(widths, order)
    levels = arc_heights(tree)
    head = 30 if title else 0
    words_y = MARGIN + head + LEVEL * (max(levels.values(), default=0) + 1) + SIZE
    new_y = words_y + LINES + SIZE
    kept = _kept(order)
    parts = [open_svg(total, new_y + MARGIN)]
    if title:
        place = f'x="{MARGIN}" y="{MARGIN + 6}" font-size="15" text-anchor="start"'
        parts.append(f'<text {place} fill="{ARC}">{xml_text(title)}</text>')
    parts += draw_arcs(tree, upper, levels, words_y - SIZE - 4)
    parts += (_line(upper[word], words_y + 8, lower[word], new_y - SIZE + 2, word in kept) for word in upper)
    for y, places in ((words_y, upper), (new_y, lower)):
        for word, x in places.items():
            parts.append(svg_text(sentence.forms[word], x, y, SIZE, INK))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(x: float, y: float, to_x: float, to_y: float, kept: bool) -> str:
    bend = LINES / 6
    path = f"M {x:.1f} {y} C {x:.1f} {y + bend:.1f}, {to_x:.1f} {to_y - bend:.1f}, {to_x:.1f} {to_y}"
    look = f'stroke="{STAYS}" stroke-width="1.4"' if kept else f'stroke="{MOVES}" stroke-width="2.2"'
    return f'<path d="{path}" fill="none" {look}/>'


def _cells(sentence: Sentence, tree: Tree) -> Iterator[tuple[str, str]]:
    return zip(sentence.forms[1:], tree.labels[1:], strict=True)


def _kept(order: Sequence[int]) -> set[int]:
    """Return the words of a longest part of the order that is as it was: what need not move."""
    best: list[tuple[int, int]] = []
    for word in order:
        earlier = ((length, before) for before, (length, _) in enumerate(best) if order[before] < word)
        length, before = max(earlier, default=(0, -1))
        best.append((length + 1, before))
    place = max(range(len(best)), key=lambda one: best[one][0])
    kept = set()
    while place >= 0:
        kept.add(order[place])
        place = best[place][1]
    return kept
