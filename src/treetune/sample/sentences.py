"""Sentences by the thousand: distinct, seeded, and split into parts that share none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from treetune.corpus.sentence import Example
from treetune.errors import ConfigError, unknown_name
from treetune.sample.draw import Draw
from treetune.sample.lexicon import load_lexicon
from treetune.sample.questions import wh, yes_no
from treetune.sample.realize import example_of, polish, text_of
from treetune.sample.statements import declarative, imperative
from treetune.sample.words import Phrase


class _Recipe(NamedTuple):
    s_type: str
    build: Callable[[Draw], Phrase]
    budget: float


# Questions are shorter than statements in real text, so they get less to spend.
_BUILDERS = {
    "declarative": _Recipe("decl", declarative, 5.5),
    "yes-no": _Recipe("q", yes_no, 2.0),
    "wh": _Recipe("wh", wh, 2.0),
    "imperative": _Recipe("imp", imperative, 2.5),
}
KINDS = tuple(_BUILDERS)
QUESTIONS = ("yes-no", "wh")
LONGEST = 40
_PATIENCE = 1000


class Treebank(NamedTuple):
    """Three parts without a sentence in common."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]


def generate(count: int, *, seed: int = 0, kinds: Sequence[str] = ("declarative",)) -> list[Example]:
    """Return `count` distinct sentences, the kinds taking turns; the same seed gives the same sentences.

    Each has the comments `# sent_id`, `# text` and `# s_type` (decl, q, wh or imp).
    """
    kinds = _checked(count, kinds)
    draw = Draw(load_lexicon(), Random(f"{seed} {' '.join(kinds)}"))
    seen: set[str] = set()
    return [_next(draw, kinds[i % len(kinds)], seen, sent_id=f"sample-{seed}-{i + 1}") for i in range(count)]


def treebank(*, train: int, dev: int, test: int, seed: int = 0, kinds: Sequence[str] = ("declarative",)) -> Treebank:
    """Return a training, development and test part of the given sizes that share no sentence."""
    for size in (train, dev, test):
        _checked(size, kinds)
    examples = generate(train + dev + test, seed=seed, kinds=kinds)
    return Treebank(examples[:train], examples[train : train + dev], examples[train + dev :])


def _checked(count: int, kinds: Sequence[str]) -> tuple[str, ...]:
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if count < 0:
        raise ConfigError(f"expected a number of sentences of 0 or more, found {count}")
    if not names:
        raise ConfigError(f"expected at least one kind of sentence, found none; known: {', '.join(KINDS)}")
    for kind in names:
        if kind not in _BUILDERS:
            raise unknown_name("kind of sentence", kind, KINDS)
    return names


def _next(draw: Draw, kind: str, seen: set[str], *, sent_id: str) -> Example:
    recipe = _BUILDERS[kind]
    for _ in range(_PATIENCE):
        draw.refill(recipe.budget)
        words = recipe.build(draw).words
        polish(words)
        text = text_of(words)
        if text not in seen and len(words) <= LONGEST:
            seen.add(text)
            return example_of(words, sent_id=sent_id, s_type=recipe.s_type)
    raise ConfigError(f"no new {kind} sentence in {_PATIENCE} tries after {len(seen)}; ask for fewer")
