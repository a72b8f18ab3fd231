"""Fixed heads and labels are respected by every decoder, and what is found is the best that respects them."""

from __future__ import annotations

import random
from functools import cache

import pytest
from graph_samples import FEW_LABELS, Twin, random_heads, random_sentence, random_twin
from graph_scoring_twin import labellings
from graph_twins import all_trees, is_projective, is_tree, plain_score
from hypothesis import given, settings
from hypothesis import strategies as st

from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError

EXACT = [(1, "projective"), (1, "non-projective"), (2, "projective")]
SEARCHES = [*EXACT, (2, "non-projective")]
LONGEST = 8


@cache
def sentences() -> list[Sentence]:
    draw = random.Random(3)
    return [random_sentence(draw, n) for n in (*range(1, LONGEST + 1), 3, 4, 4)]


@cache
def twin_of(order: int, decoder: str, labels: str) -> Twin:
    return random_twin(sentences(), seed=order, order=order, decoder=decoder, way=labels)


def partial_tree(draw: random.Random, n: int, *, projective: bool, known: float) -> Tree:
    """Draw a tree and forget part of it."""
    heads = random_heads(draw, n, projective=projective)
    labels = [draw.choice(["both", "dep"]) if head else draw.choice(["both", "root"]) for head in heads[1:]]
    return Tree.of(
        [head if draw.random() < known else -1 for head in heads[1:]],
        [label if draw.random() < known / 2 else "" for label in labels],
    )


def respects(tree: Tree, constraint: Tree) -> bool:
    columns = (tree.heads[1:], tree.labels[1:], constraint.heads[1:], constraint.labels[1:])
    return all(wanted in (-1, head) and name in ("", label) for head, label, wanted, name in zip(*columns, strict=True))


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
@pytest.mark.parametrize(("order", "decoder"), SEARCHES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), known=st.sampled_from([0.2, 0.5, 0.9, 1.0]))
def test_what_is_fixed_is_in_every_tree(order: int, decoder: str, labels: str, seed: int, known: float) -> None:
    draw, twin = random.Random(seed), twin_of(order, decoder, labels)
    projective = decoder == "projective"
    constraints = [partial_tree(draw, len(s), projective=projective, known=known) for s in sentences()]
    predicted = twin.parser.predict_batch(sentences(), constraints=constraints)
    lists = twin.parser.k_best_batch(sentences(), 3, constraints=constraints)
    for constraint, tree, found in zip(constraints, predicted, lists, strict=True):
        trees = [tree, *(candidate.output for candidate in found)]
        assert all(is_tree(one.heads) and respects(one, constraint) for one in trees)
        assert not projective or all(is_projective(one.heads) for one in trees)
        assert len(set(trees[1:])) == len(trees) - 1


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
@pytest.mark.parametrize(("order", "decoder"), EXACT)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), known=st.sampled_from([0.2, 0.5]))
def test_the_best_that_fits_by_enumeration(order: int, decoder: str, labels: str, seed: int, known: float) -> None:
    draw, twin = random.Random(seed), twin_of(order, decoder, labels)
    projective = decoder == "projective"
    for sentence in sentences():
        if len(sentence) > 4:
            continue
        constraint = partial_tree(draw, len(sentence), projective=projective, known=known)
        expected = sorted(fitting_scores(twin, sentence, constraint, projective=projective), reverse=True)
        tree = twin.parser.predict(sentence, constraint=constraint)
        assert twin.of(sentence).score(tree) == expected[0]
        found = twin.parser.k_best(sentence, 7, constraint=constraint)
        assert [candidate.score for candidate in found] == expected[:7]


def fitting_scores(twin: Twin, sentence: Sentence, constraint: Tree, *, projective: bool) -> list[float]:
    """The scores of all trees that have what is fixed; of all labelled ones where labels are joint."""
    of, n = twin.of(sentence), len(sentence)
    ids = twin.labels.ids()
    at_root = [label for label in range(len(FEW_LABELS)) if FEW_LABELS.at_root[label]]
    at_word = [label for label in range(len(FEW_LABELS)) if FEW_LABELS.at_word[label]]
    found = []
    for heads in all_trees(n, projective=projective):
        if any(wanted not in (-1, head) for wanted, head in zip(constraint.heads, heads, strict=True)):
            continue
        fitting = [
            labels
            for labels in labellings(n, at_root, at_word, heads)
            if all(name == "" or ids[name] == label for name, label in zip(constraint.labels, labels, strict=True))
        ]
        if of.joint:
            found += [of.tree_score(heads, labels) for labels in fitting]
        elif fitting:
            found.append(plain_score(of.scores, of.siblings, heads))
    return found


@pytest.mark.parametrize(("order", "decoder"), SEARCHES)
def test_any_word_can_be_fixed_as_the_root(order: int, decoder: str) -> None:
    twin = twin_of(order, decoder, "second-stage")
    sentence = sentences()[LONGEST - 1]
    for word in range(1, LONGEST + 1):
        fixed = Tree.of([0 if other == word else -1 for other in range(1, LONGEST + 1)])
        assert twin.parser.predict(sentence, constraint=fixed).roots == (word,)
        named = Tree.of([-1] * LONGEST, ["root" if other == word else "" for other in range(1, LONGEST + 1)])
        tree = twin.parser.predict(sentence, constraint=named)
        assert tree.roots == (word,)
        assert tree.labels[word] == "root"


@pytest.mark.parametrize("k", [1, 3])
def test_fixed_arcs_that_cross_are_kept_where_arcs_may_cross(k: int) -> None:
    sentence = sentences()[3]
    crossing = Tree.of([3, 4, 0, -1])
    for order in (1, 2):
        twin = twin_of(order, "non-projective", "second-stage")
        for candidate in twin.parser.k_best(sentence, k, constraint=crossing):
            assert candidate.output.heads[1:4] == (3, 4, 0)
        with pytest.raises(DataError) as error:
            twin_of(order, "projective", "second-stage").parser.k_best(sentence, k, constraint=crossing)
        assert str(error.value) == (
            "sentence 1: the fixed arc from 3 to 1 cannot be in a projective tree with what is fixed for word 2; "
            "leave one of them open"
        )


@pytest.mark.parametrize("decoder", ["projective", "non-projective"])
@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (Tree.of([0, 0, -1]), "words 1 and 2 are both fixed as the root, expected at most one"),
        (Tree.of([2, 1, -1]), "the fixed heads form a cycle: 1 -> 2 -> 1"),
        (Tree.of([-1, -1]), "expected a partial tree of 3 words, found 2"),
        (Tree.of([-1, 4, -1]), "word 2 has the fixed head 4, expected another word from 0 to 3"),
        (Tree.of([-1, -1, 3]), "word 3 has the fixed head 3, expected another word from 0 to 3"),
        (
            Tree.of([-1, 0, -1], ["", "dep", ""]),
            "word 2 is fixed as the root with a label that the model never gives to a root",
        ),
        (
            Tree.of([-1] * 3, ["dep"] * 3),
            "no word is left that could be the root; leave the head of one open",
        ),
    ],
)
def test_what_cannot_be_respected_is_refused(decoder: str, constraint: Tree, message: str) -> None:
    parser = twin_of(1, decoder, "second-stage").parser
    good = Tree.unknown(2)
    with pytest.raises(DataError) as error:
        parser.predict_batch(sentences()[1:3], constraints=[good, constraint])
    assert str(error.value) == f"sentence 2: {message}"


@pytest.mark.parametrize("decoder", ["projective", "non-projective"])
def test_a_label_of_the_root_stays_on_another_arc_where_both_are_fixed(decoder: str) -> None:
    parser = twin_of(1, decoder, "second-stage").parser
    tree = parser.predict(sentences()[2], constraint=Tree.of([-1, 1, -1], ["", "root", ""]))
    assert (tree.heads[2], tree.labels[2]) == (1, "root")


def test_one_partial_tree_a_sentence() -> None:
    parser = twin_of(1, "projective", "second-stage").parser
    with pytest.raises(DataError, match=r"^expected 2 partial trees, one a sentence, found 1$"):
        parser.predict_batch(sentences()[:2], constraints=[Tree.unknown(1)])
