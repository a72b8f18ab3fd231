"""Runs of characters without white space, and room for the tokens in them."""

from __future__ import annotations

import numpy as np

from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer._line_kernels import close_lines
from treetune.models.tokenizer.characters import Text


def find_chunks(text: Text, *, close: bool = False) -> kernels.Chunks:
    """Return the runs without white space of a text; `close` looks for lines that are sentences of their own."""
    most = len(text.kinds) // 2 + 1
    room = kernels.Chunks(np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.uint8))
    count = kernels.find_chunks(text, room)
    chunks = kernels.Chunks(room.starts[:count], room.ends[:count], room.gaps[:count])
    if close:
        close_lines(text, chunks)
    return chunks


def make_tokens(count: int) -> kernels.Tokens:
    """Return room for tokens."""
    return kernels.Tokens(
        starts=np.empty(count, np.int64),
        ends=np.empty(count, np.int64),
        gaps=np.empty(count, np.uint8),
        words=np.empty(count, np.uint64),
        shapes=np.empty(count, np.uint64),
    )
