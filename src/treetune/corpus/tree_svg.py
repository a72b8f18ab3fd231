"""A sentence and its tree as an SVG picture: arcs with labels above the words, part-of-speech tags below."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from html import escape

from treetune.corpus.sentence import ABSENT, Sentence, Tree
from treetune.corpus.spans import ENTITY_KEY, spans_of
from treetune.corpus.tags import read_column

FONT, SIZE, LABEL_SIZE = "Helvetica, Arial, 'Noto Sans', sans-serif", 20, 12
GAP, MARGIN = 18, 24
LEVEL = 26
"""Height of an arc for each level below it."""
START, START_GAP, START_WIDTH = 7.0, 4.0, 14.0
"""Where the arcs of a head start: the first so far from its middle, the next so far apart, all within so much."""
INK, ARC, WRONG, ENTITY = "#1b1f24", "#57606a", "#c1121f", "#1a7f37"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def tree_svg(
    sentence: Sentence,
    tree: Tree,
    *,
    marked: Collection[int] = (),
    marked_tags: Collection[int] = (),
    mark: str = WRONG,
    lemmas: bool = False,
    entities: bool = False,
    numbers: bool = False,
) -> str:
    """Return a picture of a tree, complete or partial: one ``<svg>`` element without scripts, all text escaped.

    Args:
        sentence: The words, with their tags below them.
        tree: The arcs above them.
        marked: Words whose arcs are thick and in the colour `mark`: what is wrong, or differs.
        marked_tags: Words whose tags are in this colour.
        mark: The colour.
        lemmas: Whether lemmas stand below the tags.
        entities: Whether named entities are underlined, with their types.
        numbers: Whether the words are numbered from 1.
    """
    columns = [sentence.upos, *([sentence.lemmas] if lemmas else [])]
    rows = [["" if value == ABSENT else value for value in column] for column in columns]
    rows += [["", *map(str, range(1, len(sentence) + 1))]] if numbers else []
    below = zip(*(row[1:] for row in rows), strict=True)
    widths = [
        max(
            text_width(form, SIZE), text_width(label, LABEL_SIZE) + GAP, *(text_width(one, LABEL_SIZE) for one in cells)
        )
        for form, label, cells in zip(sentence.forms[1:], tree.labels[1:], below, strict=True)
    ]
    positions, width = word_positions(widths, range(1, len(sentence) + 1))
    heights = arc_heights(tree)
    words_y = MARGIN + LEVEL * (max(heights.values(), default=0) + 1) + SIZE
    spans = spans_of(read_column(sentence, ENTITY_KEY)) if entities else []
    bottom = words_y + 2 + (LABEL_SIZE + 6) * len(rows)
    parts = [
        open_svg(width, bottom + (LABEL_SIZE + 14 if spans else 0) + MARGIN - 6),
        *draw_arcs(tree, positions, heights, words_y - SIZE - 4, marked, mark),
    ]
    for word, x in positions.items():
        texts = [svg_text(sentence.forms[word], x, words_y, SIZE, INK)]
        for number, row in enumerate(rows, start=1):
            colour = mark if number == 1 and word in marked_tags else ARC
            texts += [svg_text(row[word], x, words_y + 2 + (LABEL_SIZE + 6) * number, LABEL_SIZE, colour)] * bool(
                row[word]
            )
        parts.append(f'<g class="word" data-word="{word}">{"".join(texts)}</g>')
    for span in spans:
        left, right = (
            positions[word] + side * widths[word - 1] / 2 for word, side in ((span.start, -1), (span.end - 1, 1))
        )
        parts.append(f'<path d="M {left:.1f} {bottom + 8} H {right:.1f}" stroke="{ENTITY}" stroke-width="3"/>')
        parts.append(svg_text(span.label, (left + right) / 2, bottom + 12 + LABEL_SIZE, LABEL_SIZE, ENTITY))
    return "\n".join([*parts, "</svg>"]) + "\n"


def open_svg(width: float, height: float) -> str:
    """Return the start of a picture with a white background."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}" text-anchor="middle">\n'
        '<rect width="100%" height="100%" fill="white"/>'
    )


def svg_text(text: str, x: float, y: float, size: int, colour: str) -> str:
    """Return a text centred at `x`."""
    return f'<text x="{x:.1f}" y="{y}" font-size="{size}" fill="{colour}">{xml_text(text)}</text>'


def xml_text(text: str) -> str:
    """Return a text as XML can hold it; characters that XML cannot hold become U+FFFD."""
    return escape(_NOT_XML.sub("\ufffd", text))


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is: letters of East Asia are twice as wide as others, marks have no width."""
    total = 0.0
    for character in text:
        if unicodedata.combining(character):
            continue
        wide = unicodedata.east_asian_width(character) in "WF"
        total += 1.0 if wide else 0.3 if character in "ijl.,;:'|!tfr()[]" else 0.85 if character in "mwMW@%" else 0.58
    return total * size


def word_positions(widths: Sequence[float], order: Sequence[int]) -> tuple[dict[int, float], float]:
    """Return the centre of each word when they stand in a row, and the width of the picture."""
    positions, x = {}, float(MARGIN)
    for word in order:
        positions[word] = x + widths[word - 1] / 2
        x += widths[word - 1] + GAP
    return positions, x - GAP + MARGIN


def arc_heights(tree: Tree) -> dict[int, int]:
    """Return for each word how high the arc from its head must be to stand above all arcs within it."""
    spans = {word: (min(word, head), max(word, head)) for head, word, _ in tree.arcs() if head > 0}
    heights: dict[int, int] = {}
    for word, (left, right) in sorted(spans.items(), key=lambda item: (item[1][1] - item[1][0], item[0])):
        inside = [heights[other] for other in heights if left <= spans[other][0] and spans[other][1] <= right]
        heights[word] = max(inside, default=0) + 1
    return heights


def draw_arcs(
    tree: Tree,
    positions: dict[int, float],
    heights: dict[int, int],
    base: float,
    marked: Collection[int] = (),
    mark: str = WRONG,
) -> Iterator[str]:
    """Yield the arcs of a tree with arrowheads and labels, and the label of the root; words begin below `base`."""
    offsets = _start_offsets(tree)
    for head, word, label in tree.arcs():
        colour, ink, stroke = (mark, mark, 2.4) if word in marked else (ARC, INK, 1.3)
        if head == 0:
            y = base - 12 - LEVEL * _above(tree, word, heights)
            yield (
                f'<text data-arc="{word}" x="{positions[word]:.1f}" y="{y:.1f}" '
                f'font-size="{LABEL_SIZE}" font-weight="bold" fill="{ink}">{xml_text(label)}</text>'
            )
            continue
        start, end = positions[head] + offsets[word], positions[word]
        top = base - LEVEL * heights[word]
        bend = min(14.0, abs(end - start) / 2) * (1 if end > start else -1)
        yield f'<g data-arc="{word}">'
        yield (
            f'<path d="M {start:.1f} {base} L {start:.1f} {top + 14:.1f} Q {start:.1f} {top:.1f} {start + bend:.1f} '
            f"{top:.1f} L {end - bend:.1f} {top:.1f} Q {end:.1f} {top:.1f} {end:.1f} {top + 14:.1f} L {end:.1f} "
            f'{base - 5}" fill="none" stroke="{colour}" stroke-width="{stroke}"/>'
        )
        tip = f"M {end - 3.5:.1f} {base - 7} L {end:.1f} {base} L {end + 3.5:.1f} {base - 7} Z"
        yield f'<path d="{tip}" fill="{colour}"/>'
        middle, half = (start + end) / 2, text_width(label, LABEL_SIZE) / 2 + 3
        yield f'<rect x="{middle - half:.1f}" y="{top - 8:.1f}" width="{2 * half:.1f}" height="16" fill="white"/>'
        yield f"{svg_text(label, middle, round(top + 4, 1), LABEL_SIZE, colour)}</g>"


def _start_offsets(tree: Tree) -> dict[int, float]:
    """Return for each word how far from the middle of its head the arc starts: side by side, the longest innermost."""
    sides: dict[tuple[int, bool], list[int]] = {}
    for head, word, _ in tree.arcs():
        sides.setdefault((head, word > head), []).append(word)
    offsets = {}
    for (head, is_right), words in sides.items():
        spread = min(START_GAP, START_WIDTH / len(words))
        for rank, word in enumerate(sorted(words, key=lambda word: -abs(word - head))):
            offsets[word] = (START + spread * rank) * (1 if is_right else -1)
    return offsets


def _above(tree: Tree, root: int, heights: dict[int, int]) -> int:
    """Return how high the arcs over or at a word are."""
    return max(
        (heights[word] for head, word, _ in tree.arcs() if head > 0 and min(word, head) <= root <= max(word, head)),
        default=0,
    )
