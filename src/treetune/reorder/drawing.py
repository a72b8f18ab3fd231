"""A sentence, its tree and its new order go in, a picture of them as SVG comes out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from html import escape

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError

FONT, SIZE, LABEL_SIZE = "Helvetica, Arial, 'Noto Sans', sans-serif", 20, 12
GAP, MARGIN = 18, 24
LEVEL = 26
"""Height of an arc for each level below it."""
LINES = 110
"""Height of the lines between the two orders."""
_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
INK, ARC, STAYS, MOVES = "#1b1f24", "#57606a", "#8c959f", "#0b62c4"


def draw_order(sentence: Sentence, tree: Tree, order: Sequence[int], *, title: str = "") -> str:
    """Return an SVG picture: arcs above the words, below them the new order, and a line from each word to its place.

    Coloured lines are those of words that moved: all but a longest part of the old order that is kept.

    Raises:
        DataError: `order` is no order of all words.
    """
    size = len(sentence)
    if sorted(order) != list(range(1, size + 1)):
        raise DataError(f"expected every word from 1 to {size} once in the order, found {list(order)}")
    widths = [max(_width(form, SIZE), _width(label, LABEL_SIZE)) for form, label in _cells(sentence, tree)]
    upper, total = _places(widths, range(1, size + 1))
    lower, _ = _places(widths, order)
    levels = _levels(tree)
    head = 30 if title else 0
    words_y = MARGIN + head + LEVEL * (max(levels.values(), default=0) + 1) + SIZE
    new_y = words_y + LINES + SIZE
    kept = _kept(order)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{new_y + MARGIN:.0f}" '
        f'viewBox="0 0 {total:.0f} {new_y + MARGIN:.0f}" font-family="{FONT}" text-anchor="middle">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    if title:
        place = f'x="{MARGIN}" y="{MARGIN + 6}" font-size="15" text-anchor="start"'
        parts.append(f'<text {place} fill="{ARC}">{_shown(title)}</text>')
    parts += _arcs(tree, upper, levels, words_y - SIZE - 4)
    parts += (_line(upper[word], words_y + 8, lower[word], new_y - SIZE + 2, word in kept) for word in upper)
    for y, places in ((words_y, upper), (new_y, lower)):
        for word, x in places.items():
            form = _shown(sentence.forms[word])
            parts.append(f'<text x="{x:.1f}" y="{y}" font-size="{SIZE}" fill="{INK}">{form}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _shown(text: str) -> str:
    """Return a text as XML can hold it; what XML has no word for becomes a question mark in a diamond."""
    return escape(_UNSPEAKABLE.sub("\ufffd", text))


def _line(x: float, y: float, to_x: float, to_y: float, kept: bool) -> str:
    bend = LINES / 6
    path = f"M {x:.1f} {y} C {x:.1f} {y + bend:.1f}, {to_x:.1f} {to_y - bend:.1f}, {to_x:.1f} {to_y}"
    look = f'stroke="{STAYS}" stroke-width="1.4"' if kept else f'stroke="{MOVES}" stroke-width="2.2"'
    return f'<path d="{path}" fill="none" {look}/>'


def _cells(sentence: Sentence, tree: Tree) -> Iterator[tuple[str, str]]:
    return zip(sentence.forms[1:], tree.labels[1:], strict=True)


def _width(text: str, size: float) -> float:
    """Return about how wide a text is: letters of East Asia are twice as wide as others, marks have no width."""
    total = 0.0
    for character in text:
        if unicodedata.combining(character):
            continue
        wide = unicodedata.east_asian_width(character) in "WF"
        total += 1.0 if wide else 0.3 if character in "ijl.,;:'|!tfr()[]" else 0.85 if character in "mwMW@%" else 0.58
    return total * size


def _places(widths: Sequence[float], order: Sequence[int]) -> tuple[dict[int, float], float]:
    places, x = {}, float(MARGIN)
    for word in order:
        places[word] = x + widths[word - 1] / 2
        x += widths[word - 1] + GAP
    return places, x - GAP + MARGIN


def _levels(tree: Tree) -> dict[int, int]:
    """Return for each word how high the arc from its head must be to stand above all arcs within it."""
    spans = {word: (min(word, head), max(word, head)) for head, word, _ in tree.arcs() if head > 0}
    levels: dict[int, int] = {}
    for word, (left, right) in sorted(spans.items(), key=lambda item: (item[1][1] - item[1][0], item[0])):
        inside = [levels[other] for other in levels if left <= spans[other][0] and spans[other][1] <= right]
        levels[word] = max(inside, default=0) + 1
    return levels


def _arcs(tree: Tree, places: dict[int, float], levels: dict[int, int], base: float) -> Iterator[str]:
    for head, word, label in tree.arcs():
        if head == 0:
            yield (
                f'<text x="{places[word]:.1f}" y="{base - 2 - LEVEL * _above(tree, word, levels):.1f}" '
                f'font-size="{LABEL_SIZE}" font-weight="bold" fill="{INK}">{_shown(label)}</text>'
            )
            continue
        # Arcs of one head leave it side by side.
        start, end = places[head] + (5 if word > head else -5), places[word]
        top = base - LEVEL * levels[word]
        bend = min(14.0, abs(end - start) / 2) * (1 if end > start else -1)
        yield (
            f'<path d="M {start:.1f} {base} L {start:.1f} {top + 14:.1f} Q {start:.1f} {top:.1f} {start + bend:.1f} '
            f"{top:.1f} L {end - bend:.1f} {top:.1f} Q {end:.1f} {top:.1f} {end:.1f} {top + 14:.1f} L {end:.1f} "
            f'{base - 5}" fill="none" stroke="{ARC}" stroke-width="1.3"/>'
        )
        yield (
            f'<path d="M {end - 3.5:.1f} {base - 7} L {end:.1f} {base} L {end + 3.5:.1f} {base - 7} Z" fill="{ARC}"/>'
        )
        middle, half = (start + end) / 2, _width(label, LABEL_SIZE) / 2 + 3
        yield f'<rect x="{middle - half:.1f}" y="{top - 8:.1f}" width="{2 * half:.1f}" height="16" fill="white"/>'
        yield (f'<text x="{middle:.1f}" y="{top + 4:.1f}" font-size="{LABEL_SIZE}" fill="{ARC}">{_shown(label)}</text>')


def _above(tree: Tree, root: int, levels: dict[int, int]) -> int:
    """Return how high the arcs over or at a word are."""
    return max(
        (levels[word] for head, word, _ in tree.arcs() if head > 0 and min(word, head) <= root <= max(word, head)),
        default=0,
    )


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
