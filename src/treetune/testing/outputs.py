"""Partial outputs and expected errors, as the checks need them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treetune.corpus.sentence import UNKNOWN_HEAD, UNKNOWN_LABEL, Tree
from treetune.corpus.tags import UNKNOWN_TAG, Tags


def only_word(output: Any, word: int) -> Any:
    """Return the partial output in which only one word is known."""
    size = len(output)
    if isinstance(output, Tags):
        return Tags.of(output.values[i] if i == word else UNKNOWN_TAG for i in range(1, size + 1))
    heads = [output.heads[i] if i == word else UNKNOWN_HEAD for i in range(1, size + 1)]
    return Tree.of(heads, [output.labels[i] if i == word else UNKNOWN_LABEL for i in range(1, size + 1)])


def contains(output: Any, constraint: Any) -> bool:
    """Return whether an output has all that is known in a partial one."""
    if isinstance(constraint, Tree):
        heads = all(known in (UNKNOWN_HEAD, head) for known, head in zip(constraint.heads, output.heads, strict=True))
        labels = zip(constraint.labels, output.labels, strict=True)
        return heads and all(known in (UNKNOWN_LABEL, label) for known, label in labels)
    if isinstance(constraint, Tags):
        return all(known in (UNKNOWN_TAG, tag) for known, tag in zip(constraint.values, output.values, strict=True))
    return bool(output == constraint)


def check_refusal(
    kind: type[Exception], what: str, attempt: Callable[..., Any], *arguments: Any, **options: Any
) -> None:
    """Assert that a call raises an error of this kind; `what` says what is refused."""
    try:
        attempt(*arguments, **options)
    except kind:
        return
    except Exception as error:
        raise AssertionError(f"{what} must be a {kind.__name__}, found {type(error).__name__}: {error}") from error
    raise AssertionError(f"{what} must be a {kind.__name__}, found no error")
