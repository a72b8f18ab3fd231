"""Which tokens of a sentence are words, and whether an expression has each of them once.

Punctuation has no place in natural logical forms. What is punctuation is decided by the form alone, so that a model
without tags, a converter and a decoder agree.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from treetune.errors import DataError
from treetune.semantics.expression import Expression

_WORDS = frozenset("&%@#+")
_WORD_CATEGORIES = frozenset("LMN")


@lru_cache(maxsize=1 << 16)
def is_word(form: str) -> bool:
    """Whether a token has a letter, a digit, a currency sign, a pictograph or one of ``& % @ # +``."""
    for character in form:
        category = unicodedata.category(character)
        if character in _WORDS or category[0] in _WORD_CATEGORIES or category in ("Sc", "So"):
            return True
    return False


def word_positions(forms: Sequence[str]) -> list[int]:
    """Return the positions of the words of a sentence, root at 0; of all tokens if all are punctuation."""
    found = [position for position in range(1, len(forms)) if is_word(forms[position])]
    return found or list(range(1, len(forms)))


def check_words(expression: Expression, forms: Sequence[str]) -> None:
    """Raise DataError unless every word of a sentence, root at 0, occurs exactly once in its expression.

    Words with a position must be the words that stand there.
    """
    wanted = Counter(forms[position] for position in word_positions(forms))
    found: Counter[str] = Counter()
    taken: set[int] = set()
    for node in expression.words():
        found[node.word] += 1
        if node.position is None:
            continue
        if node.position >= len(forms) or forms[node.position] != node.word:
            there = repr(forms[node.position]) if node.position < len(forms) else "no word"
            raise DataError(f"expected {node.word!r} at position {node.position} of the sentence, found {there}")
        if node.position in taken:
            raise DataError(f"expected every position once in the expression, found {node.position} twice")
        taken.add(node.position)
    for form in sorted(wanted.keys() | found.keys()):
        if wanted[form] != found[form]:
            raise DataError(
                f"expected every word of the sentence once in the expression, found {form!r} "
                f"{found[form]} times instead of {wanted[form]}"
            )
