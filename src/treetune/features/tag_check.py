"""A warning about input whose tags are those of another tag set than the one a model was trained with."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import islice

from treetune.corpus.sentence import ABSENT, ROOT

# How many tags are looked at, and how many of them, and which share, must be unknown.
LOOKED_AT, LEAST_UNKNOWN, LARGEST_SHARE = 1000, 10, 0.2
_OTHER = {"upos": "xpos", "xpos": "upos"}


def warn_of_unknown_tags(name: str, tags: Iterable[str], known: Collection[str]) -> bool:
    """Warn if many of the first tags are not known; return whether that was necessary."""
    seen = [tag for tag in islice(tags, LOOKED_AT) if tag != ROOT]
    unknown = Counter(tag for tag in seen if tag not in known)
    if unknown.total() < LEAST_UNKNOWN or unknown.total() <= LARGEST_SHARE * len(seen):
        return False
    column, example = name.upper(), unknown.most_common(1)[0][0]
    found = f"of the {column} tags, such as {example!r}, are not known to the model"
    if example == ABSENT:
        found = f"of the words have no {column} tag, which the model was trained with"
    warnings.warn(
        f"{unknown.total() / len(seen):.0%} {found}, and results will be worse; have them predicted, by "
        "'treetune tag' or 'treetune parse --retag' (with --tagger MODEL if the model has no tagger), or train "
        f"without {column} (--set model.inputs={_OTHER[name]})",
        stacklevel=4,
    )
    return True
