"""Hypothesis strategies shared by all tests: words, sentences, trees of every kind, examples."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from treetune.corpus.sentence import Enhanced, Example, Sentence, Tree

# No test depends on how fast the machine is at the moment.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

LABELS = ("nsubj", "obj", "obl", "nmod:poss", "acl:relcl", "punct", "conj")
UPOS = ("NOUN", "VERB", "ADP", "PUNCT", "_")

# What might be taken for a column, a line end, an ID, a comment or nothing, beside ordinary letters. A string
# and not `st.characters`, which is slow to start.
_CHARACTERS = "ab01_-.#|=:'\"é字ßא\u0301\u00a0\u2028\x0b\x0c\x1c\x85\x00\ufeff🙂"

values = st.text(_CHARACTERS, min_size=1, max_size=4)
"""Cells without spaces."""

words = values | st.tuples(values, values).map(" ".join)
"""Forms and lemmas, which may have spaces inside."""


@st.composite
def tree_heads(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """Draw the heads of any tree with one root over `size` words, projective or not, root entry included."""
    order = draw(st.permutations(range(1, size + 1)))
    heads = [-1] * (size + 1)
    for place, word in enumerate(order):
        heads[word] = 0 if place == 0 else order[draw(st.integers(0, place - 1))]
    return tuple(heads)


@st.composite
def projective_heads(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """Draw the heads of a projective tree with one root over `size` words, root entry included."""
    heads = [-1] * (size + 1)
    # Each span of words gets one root under a given head; what is left and right of it is cut into spans.
    spans = [(1, size + 1, 0)]
    while spans:
        start, end, head = spans.pop()
        root = draw(st.integers(start, end - 1))
        heads[root] = head
        for first, last in ((start, root), (root + 1, end)):
            while first < last:
                cut = draw(st.integers(first + 1, last))
                spans.append((first, cut, root))
                first = cut
    return tuple(heads)


def _labels(size: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(LABELS), min_size=size, max_size=size).map(lambda drawn: ("", *drawn))


@st.composite
def trees(draw: st.DrawFn, *, size: int | None = None, max_size: int = 12) -> Tree:
    """Draw a labelled tree with one root, projective or not."""
    size = draw(st.integers(1, max_size)) if size is None else size
    heads = draw(tree_heads(size))
    labels = draw(_labels(size))
    return Tree(heads, tuple("root" if head == 0 else label for head, label in zip(heads, labels, strict=True)))


@st.composite
def projective_trees(draw: st.DrawFn, *, size: int | None = None, max_size: int = 12) -> Tree:
    """Draw a labelled projective tree with one root."""
    size = draw(st.integers(1, max_size)) if size is None else size
    heads = draw(projective_heads(size))
    labels = draw(_labels(size))
    return Tree(heads, tuple("root" if head == 0 else label for head, label in zip(heads, labels, strict=True)))


@st.composite
def partial_trees(draw: st.DrawFn, *, size: int | None = None, max_size: int = 12) -> Tree:
    """Draw part of a tree: any heads and any labels may be unknown, all of them or none too."""
    whole = draw(trees(size=size, max_size=max_size))
    length = len(whole)
    heads_known = draw(st.lists(st.booleans(), min_size=length, max_size=length))
    labels_known = draw(st.lists(st.booleans(), min_size=length, max_size=length))
    return Tree.of(
        (head if known else -1 for head, known in zip(whole.heads[1:], heads_known, strict=True)),
        [label if known else "" for label, known in zip(whole.labels[1:], labels_known, strict=True)],
    )


def _column(cells: st.SearchStrategy[str], size: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(cells, min_size=size, max_size=size).map(lambda drawn: ("<root>", *drawn))


@st.composite
def multiword_lines(draw: st.DrawFn, size: int) -> tuple[tuple[int, str], ...]:
    """Draw lines of multiword tokens over `size` words, in order and without overlap."""
    lines = []
    first = 1
    while first <= size and draw(st.booleans()):
        first = draw(st.integers(first, size))
        last = draw(st.integers(first, min(size, first + 3)))
        lines.append((first, f"{first}-{last}\t{draw(words)}\t" + "_\t" * 7 + draw(words)))
        first = last + 1
    return tuple(lines)


@st.composite
def sentences(draw: st.DrawFn, *, size: int | None = None, max_size: int = 6) -> Sentence:
    """Draw a sentence with anything a CoNLL-U file may say of one, except its tree."""
    size = draw(st.integers(1, max_size)) if size is None else size
    comments = st.lists(st.text(_CHARACTERS + " \t", max_size=8).map(lambda text: "# " + text), max_size=2)
    return Sentence(
        forms=draw(_column(words, size)),
        lemmas=draw(_column(words, size)),
        upos=draw(_column(st.sampled_from(UPOS), size)),
        xpos=draw(_column(values, size)),
        feats=draw(_column(values, size)),
        misc=draw(_column(words, size)),
        comments=tuple(draw(comments)),
        multiword=draw(multiword_lines(size)),
    )


@st.composite
def enhanced_graphs(draw: st.DrawFn, size: int) -> Enhanced | None:
    """Draw the DEPS column and empty nodes of a sentence, or None where there is neither."""
    deps = draw(_column(st.sampled_from(("_", "0:root", "2:nsubj|4.1:obj")), size))
    counts = draw(st.dictionaries(st.integers(0, size), st.integers(1, 2), max_size=2))
    nodes = tuple(
        (place, f"{place}.{index}\t{draw(words)}" + "\t_" * 6 + "\t1:dep\t_")
        for place in sorted(counts)
        for index in range(1, counts[place] + 1)
    )
    if not nodes and set(deps[1:]) == {"_"}:
        return None
    return Enhanced(deps, nodes)


@st.composite
def examples(draw: st.DrawFn, *, max_size: int = 5, partial: bool = False) -> Example:
    """Draw a sentence with a gold tree, which may be partial, and perhaps an enhanced graph."""
    sentence = draw(sentences(max_size=max_size))
    size = len(sentence)
    gold = draw(partial_trees(size=size) if partial else trees(size=size))
    return Example(sentence, gold, draw(enhanced_graphs(size)))
