"""Sentences and trees for the tests of `evaluate`: hand-made, drawn by hypothesis, and corrupted copies."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st

from treetune.corpus.sentence import Example, Sentence, Tree

# No deadline: a busy machine is not a fault.
steady = settings(deadline=None, max_examples=60)

LABELS = ("nsubj", "obj", "nmod", "nmod:poss", "obl:tmod", "case", "det", "punct", "conj")


def example(
    words: str, heads: Sequence[int], labels: str = "", *, upos: str = "", sent_id: str | None = None
) -> Example:
    """Make an example from blank-separated words, labels and tags."""
    sentence = Sentence.of(words.split(), upos=upos.split() or None)
    if sent_id is not None:
        sentence = replace(sentence, comments=("# text = x", f"# sent_id = {sent_id}"))
    return Example(sentence, Tree.of(heads, labels.split() or None))


def graphs(size: int, *, partial: bool = False) -> st.SearchStrategy[Tree]:
    """Draw heads and labels of `size` words, mostly no trees; `partial` leaves some of them unknown."""
    unknown = [-1] if partial else []
    heads = [st.sampled_from([h for h in (*unknown, *range(size + 1)) if h != i]) for i in range(1, size + 1)]
    labels = st.sampled_from(("", *LABELS) if partial else LABELS)
    return st.builds(Tree.of, st.tuples(*heads), st.lists(labels, min_size=size, max_size=size))


@st.composite
def corpora(draw: st.DrawFn, systems: int = 1) -> tuple[list[Example], list[list[Tree]]]:
    """Draw a partial gold corpus and the answers of some systems."""
    gold: list[Example] = []
    answers: list[list[Tree]] = [[] for _ in range(systems)]
    for size in draw(st.lists(st.integers(1, 6), min_size=1, max_size=6)):
        words = draw(st.lists(st.sampled_from(["a", "b", ".", "?!"]), min_size=size, max_size=size))
        gold.append(Example(Sentence.of(words), draw(graphs(size, partial=True))))
        for trees in answers:
            trees.append(draw(graphs(size, partial=True)))
    return gold, answers


def random_tree(size: int, rng: random.Random) -> Tree:
    """Return a single-rooted tree: each word in a random order hangs on one that came before it."""
    order = rng.sample(range(1, size + 1), size)
    heads = [0] * (size + 1)
    for place, word in enumerate(order[1:], start=1):
        heads[word] = rng.choice(order[:place])
    labels = ["root" if heads[word] == 0 else rng.choice(LABELS) for word in range(1, size + 1)]
    return Tree.of(heads[1:], labels)


def corrupt(tree: Tree, rng: random.Random, *, rate: float = 0.2, labels: Sequence[str] = LABELS) -> Tree:
    """Return a copy with wrong roots, heads and labels here and there, still a tree with one root."""
    new_heads, new_labels = list(tree.heads), list(tree.labels)
    if rng.random() < rate:
        _move_root(rng.randrange(1, len(new_heads)), new_heads)
    for word in range(1, len(new_heads)):
        if rng.random() < rate:
            new_labels[word] = rng.choice(labels)
        if new_heads[word] != 0 and rng.random() < rate:
            free = [head for head in range(1, len(new_heads)) if not _is_above(word, head, new_heads)]
            new_heads[word] = rng.choice(free)
    return Tree(tuple(new_heads), tuple(new_labels))


def _move_root(word: int, heads: list[int]) -> None:
    """Make `word` the root by turning round the arcs above it."""
    below = 0
    while word:
        heads[word], below, word = below, word, heads[word]


def _is_above(word: int, node: int, heads: Sequence[int]) -> bool:
    while node > 0:
        if node == word:
            return True
        node = heads[node]
    return False
