"""The kernel that finds lines that are sentences of their own, as headings and the items of lists are."""

from __future__ import annotations

import numpy as np

from treetune.features._kernels import entry, inner
from treetune.models.tokenizer._kernels import CLOSED, LINE, PARAGRAPH
from treetune.models.tokenizer.characters import KIND

# Text is not wrapped at fewer characters than these.
NARROWEST = 40
# A list without punctuation has so many line ends or more, and a stop in at most one of so many lines.
LIST_LINES, STOP_LINES = 4, 10

_LOWER, _COMMA, _HYPHEN, _OPEN = (np.uint8(KIND[name]) for name in ("lower", "comma", "hyphen", "open"))
_DIGIT, _STOP, _END, _CLOSE = (np.uint8(KIND[name]) for name in ("digit", "stop", "end", "close"))
_BULLETS = (ord("*"), ord("+"), ord("•"), ord("·"), ord("‣"), ord("◦"), ord("▪"), ord("■"), ord("●"), ord("○"))


@inner
def is_bullet(text, first, last):  # type: ignore[no-untyped-def]
    """Whether a chunk is what items of lists begin with: a hyphen, a bullet, or a number with a stop or bracket."""
    if last - first == 1:
        code = text.lower[first]
        if text.kinds[first] == _HYPHEN:
            return True
        for bullet in _BULLETS:
            if code == bullet:
                return True
        return False
    end = text.kinds[last - 1]
    if (end != _STOP and end != _CLOSE) or last - first > 4:
        return False
    for i in range(first + (text.kinds[first] == _OPEN), last - 1):
        if text.kinds[i] != _DIGIT:
            return False
    return True


@inner
def goes_on(text, end, start, is_list):  # type: ignore[no-untyped-def]
    """Whether a line that ends before `end` seems to go on at `start`; small letters begin the lines of a list too."""
    before = text.kinds[end - 1]
    is_small = not is_list and text.kinds[start] == _LOWER
    return is_small or before == _COMMA or before == _HYPHEN or before == _OPEN


@entry
def close_lines(text, chunks):  # type: ignore[no-untyped-def]
    """Turn LINE before a chunk into CLOSED where the line before it was ended on purpose.

    That is so where the chunk would have had room on that line, beside the longest line of the paragraph, or at all
    line ends if it is so at most of them; but not where the line goes on. An item of a list closes the line before it.
    Lines most of which were ended on purpose and hardly any of which has a stop are a list, as queries are.
    """
    starts, ends, gaps = chunks.starts, chunks.ends, chunks.gaps
    first = 0
    while first < starts.shape[0]:
        last, line, lines = first + 1, first, 0
        width = np.int64(NARROWEST)
        while last < starts.shape[0] and gaps[last] != PARAGRAPH:
            if gaps[last] == LINE:
                width = max(width, ends[last - 1] - starts[line])
                line = last
                lines += 1
            last += 1
        if lines > 0:
            close_paragraph(text, chunks, first, last, lines, max(width, ends[last - 1] - starts[line]))
        first = last


@inner
def close_paragraph(text, chunks, first, last, lines, width):  # type: ignore[no-untyped-def]
    """Close the lines of the paragraph with the chunks [first, last), `lines` line ends and this width."""
    starts, ends, gaps = chunks.starts, chunks.ends, chunks.gaps
    line, early, stops, stop = first, 0, 0, False
    for chunk in range(first, last):
        if chunk > first and gaps[chunk] == LINE:
            early += ends[chunk - 1] - starts[line] + 1 + ends[chunk] - starts[chunk] <= width
            line, stop = chunk, False
        end = text.kinds[ends[chunk] - 1]
        if not stop and (end == _STOP or end == _END):
            stop = True
            stops += 1
    is_list = lines >= LIST_LINES and 2 * early > lines and STOP_LINES * stops <= lines
    line = first
    for chunk in range(first + 1, last):
        if gaps[chunk] == LINE:
            has_room = ends[chunk - 1] - starts[line] + 1 + ends[chunk] - starts[chunk] <= width
            on_purpose = (has_room or 2 * early > lines) and not goes_on(text, ends[chunk - 1], starts[chunk], is_list)
            if on_purpose or is_bullet(text, starts[chunk], ends[chunk]):
                gaps[chunk] = CLOSED
            line = chunk
