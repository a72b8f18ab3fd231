"""Reordered sentences that can be restored: MISC has the source ID of each word, comments the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from treetune.corpus.sentence import ABSENT, Sentence, Tree, comment_value, with_comment
from treetune.errors import DataError
from treetune.reorder.reorderer import inverse, permuted

# In MISC: the ID that a word had before.
SOURCE = "SourceId"
# A comment: the multiword tokens of the old order, which the new one may tear apart.
TOKENS = "source_multiword"
_TEXT = "text"
_SOURCE_TEXT = "source_text"


def reorder_sentence(sentence: Sentence, tree: Tree, order: Sequence[int]) -> tuple[Sentence, Tree]:
    """Return sentence and tree in the new order, with what is needed to undo it in MISC and comments."""
    moved, moved_tree = permuted(sentence, tree, order)
    misc = (sentence.misc[0], *(_with(old, word) for old, word in zip(moved.misc[1:], order, strict=True)))
    comments = tuple(_renamed(comment, _TEXT, _SOURCE_TEXT) for comment in sentence.comments)
    moved = replace(moved, misc=misc, comments=comments)
    if sentence.multiword:
        moved = with_comment(moved, TOKENS, json.dumps(sentence.multiword, ensure_ascii=False))
    return moved, moved_tree


def source_ids(sentence: Sentence) -> tuple[int, ...]:
    """Return the IDs that the words of a reordered sentence had in the source.

    Raises:
        DataError: the sentence does not say it.
    """
    order = []
    for word, misc in enumerate(sentence.misc[1:], start=1):
        # The last: a sentence may have been reordered before.
        last, _, value = misc.rpartition("|")[2].partition("=")
        if last != SOURCE or not value.isdecimal():
            raise DataError(
                f"expected {SOURCE}=… in MISC of word {word}, which 'treetune reorder' writes, found {misc}"
            )
        order.append(int(value))
    if sorted(order) != list(range(1, len(order) + 1)):
        raise DataError(f"expected every {SOURCE} from 1 to {len(order)} once, found {order}")
    return tuple(order)


def restore_order(sentence: Sentence, tree: Tree) -> tuple[Sentence, Tree]:
    """Return a reordered sentence and its tree as they were before, everything else included."""
    sentence, tree = permuted(sentence, tree, inverse(source_ids(sentence)))
    tokens = comment_value(sentence, TOKENS)
    multiword = () if tokens is None else tuple((int(first), str(line)) for first, line in json.loads(tokens))
    comments = tuple(
        _renamed(comment, _SOURCE_TEXT, _TEXT) for comment in sentence.comments if not _is(comment, TOKENS)
    )
    misc = (sentence.misc[0], *map(_without, sentence.misc[1:]))
    return replace(sentence, misc=misc, comments=comments, multiword=multiword), tree


def _with(misc: str, word: int) -> str:
    mark = f"{SOURCE}={word}"
    return mark if misc == ABSENT else f"{misc}|{mark}"


def _without(misc: str) -> str:
    return misc.rpartition("|")[0] or ABSENT


def _is(comment: str, key: str) -> bool:
    name, equals, _ = comment.lstrip("# ").partition("=")
    return bool(equals) and name.strip() == key


def _renamed(comment: str, old: str, new: str) -> str:
    return f"# {new} ={comment.partition('=')[2]}" if _is(comment, old) else comment
