"""Fixed heads and labels: just the feasible ones are accepted, all are respected, nothing is out of reach."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transition_samples import FEW_LABELS, SCALE, Twin, all_trees, is_tree, random_parser, random_sentence
from transition_twin import beam_search

from strategies import projective_trees
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.models.base import Candidate
from treetune.models.constraints import check_feasible, encode_fixed
from treetune.models.labels import LabelTable

NAMES = ("", *FEW_LABELS.names)


def partial_heads(n: int) -> Iterator[tuple[int, ...]]:
    choices = [[head for head in range(-1, n + 1) if head != word] for word in range(1, n + 1)]
    return itertools.product(*choices)


def sentence_of(n: int) -> Sentence:
    return random_sentence(random.Random(n), n)


def every_constraint() -> list[Tree]:
    """All heads with all labels up to three words; all heads of four with a few labels; some of five."""
    draw = random.Random(1)
    trees = []
    for n in (1, 2, 3):
        for heads in partial_heads(n):
            trees += [Tree.of(heads, labels) for labels in itertools.product(NAMES, repeat=n)]
    for heads in partial_heads(4):
        trees.append(Tree.of(heads))
        for _ in range(2):
            trees.append(Tree.of(heads, [draw.choice(("", "", *NAMES)) for _ in range(4)]))
    for heads in draw.sample(list(partial_heads(5)), 1500):
        trees.append(Tree.of(heads, [draw.choice(("", "", "", *NAMES)) for _ in range(5)]))
    return trees


def is_accepted(tree: Tree) -> bool:
    try:
        encode_fixed([sentence_of(len(tree))], [tree], labels=FEW_LABELS)
    except DataError:
        return False
    return True


def respects(tree: Tree, constraint: Tree) -> bool:
    pairs = zip(tree.heads[1:], tree.labels[1:], constraint.heads[1:], constraint.labels[1:], strict=True)
    return all(wanted in (-1, head) and name in ("", label) for head, label, wanted, name in pairs)


def is_good(tree: Tree) -> bool:
    return len(tree.roots) == 1 and is_tree(tree.heads[1:]) and is_projective(tree.heads)


@pytest.fixture(scope="module")
def twins() -> list[Twin]:
    sentences = [sentence_of(n) for n in (1, 2, 3, 4, 5)]
    return [Twin(random_parser(sentences, labels=FEW_LABELS, seed=seed, beam=1)) for seed in range(4)]


@pytest.fixture(scope="module")
def feasible(twins: list[Twin]) -> list[Tree]:
    found = []
    for tree in every_constraint():
        fits = twins[0].rules(len(tree), tree).can_end((), 1)
        assert is_accepted(tree) == fits, tree
        if fits:
            found.append(tree)
    return found


def test_exactly_the_feasible_constraints_are_accepted(feasible: list[Tree]) -> None:
    assert 1000 < len(feasible) < len(every_constraint()) / 2


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_heads_alone_are_feasible_if_some_projective_tree_has_them(n: int) -> None:
    trees = list(all_trees(n))
    for heads in partial_heads(n):
        fits = any(all(p in (-1, h) for p, h in zip(heads, tree, strict=True)) for tree in trees)
        if fits:
            check_feasible((-1, *heads))
        elif heads.count(0) == 1:
            with pytest.raises(DataError):
                check_feasible((-1, *heads))


@pytest.mark.parametrize("beam", [1, 2, 4, 8])
def test_every_prediction_is_a_tree_with_what_was_fixed(twins: list[Twin], feasible: list[Tree], beam: int) -> None:
    sentences = [sentence_of(len(tree)) for tree in feasible]
    for twin in twins:
        predicted = twin.parser.with_options(beam=beam).predict_batch(sentences, constraints=feasible)
        bad = [
            (constraint, tree)
            for constraint, tree in zip(feasible, predicted, strict=True)
            if not is_good(tree) or not respects(tree, constraint)
        ]
        assert bad == []


def test_every_tree_that_fits_can_be_reached(twins: list[Twin], feasible: list[Tree]) -> None:
    small = [tree for tree in feasible if len(tree) < 4]
    draw = random.Random(2)
    chosen = draw.sample(small, 250) + draw.sample([tree for tree in feasible if len(tree) == 4], 60)
    lists = (
        twins[0]
        .parser.with_options(beam=64)
        .k_best_batch([sentence_of(len(tree)) for tree in chosen], 10**4, constraints=chosen)
    )
    for constraint, candidates in zip(chosen, lists, strict=True):
        rules = twins[0].rules(len(constraint), constraint)
        reachable = {twins[0].tree(rules.start().after_all(actions)) for actions in rules.derivations()}
        assert {candidate.output for candidate in candidates} == reachable
        trees = {heads for heads in all_trees(len(constraint)) if respects(_heads_only(heads), _unlabelled(constraint))}
        if not any(constraint.labels):
            assert {candidate.output.heads[1:] for candidate in candidates} == trees


def test_the_search_is_that_of_the_twin(twins: list[Twin], feasible: list[Tree]) -> None:
    draw = random.Random(3)
    for constraint in draw.sample(feasible, 150):
        beam = draw.choice([1, 2, 3, 5, 8])
        sentence, twin = sentence_of(len(constraint)), draw.choice(twins)
        items = beam_search(twin.rules(len(constraint), constraint), twin.scorer(sentence), beam)
        found = twin.parser.with_options(beam=beam).k_best(sentence, 1, constraint=constraint)
        assert found == [Candidate(twin.tree(items[0].state), items[0].score / SCALE, items[0].actions)]


def _heads_only(heads: tuple[int, ...]) -> Tree:
    return Tree.of(heads)


def _unlabelled(tree: Tree) -> Tree:
    return Tree.of(tree.heads[1:])


@given(st.data())
@settings(max_examples=40)
def test_any_part_of_a_projective_tree_can_be_fixed(twins: list[Twin], data: st.DataObject) -> None:
    tree = data.draw(projective_trees(max_size=11))
    n = len(tree)
    labels = [data.draw(st.sampled_from(["root", "both"] if head == 0 else ["dep", "both"])) for head in tree.heads[1:]]
    known = data.draw(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=n, max_size=n))
    constraint = Tree.of(
        [head if shown else -1 for head, (shown, _) in zip(tree.heads[1:], known, strict=True)],
        [label if shown else "" for label, (_, shown) in zip(labels, known, strict=True)],
    )
    parser = twins[data.draw(st.integers(0, 3))].parser.with_options(beam=data.draw(st.sampled_from([1, 3, 8])))
    sentence = random_sentence(random.Random(n), n)
    predicted = parser.predict(sentence, constraint=constraint)
    assert is_good(predicted)
    assert respects(predicted, constraint)
    for candidate in parser.k_best(sentence, 3, constraint=constraint):
        assert is_good(candidate.output)
        assert respects(candidate.output, constraint)
        assert parser.score(sentence, candidate) == candidate.score


def test_a_whole_tree_can_be_fixed(twins: list[Twin]) -> None:
    whole = Tree.of((2, 0, 2, 3), ("dep", "root", "both", "dep"))
    candidates = twins[0].parser.k_best(sentence_of(4), 5, constraint=whole)
    assert [candidate.output for candidate in candidates] == [whole]


def test_fixing_nothing_changes_nothing(twins: list[Twin]) -> None:
    sentences = [sentence_of(n) for n in range(6)]
    unknown = [Tree.unknown(n) for n in range(6)]
    parser = twins[1].parser
    assert parser.predict_batch(sentences, constraints=unknown) == parser.predict_batch(sentences)
    assert parser.k_best_batch(sentences, 4, constraints=unknown) == parser.k_best_batch(sentences, 4)


@pytest.mark.parametrize(
    ("constraint", "problem"),
    [
        (Tree.of((0, 0, -1)), "words 1 and 2 are both fixed as the root, expected at most one"),
        (Tree.of((2, 1, -1)), "the fixed heads form a cycle: 1 -> 2 -> 1"),
        (
            Tree.of((3, -1, 2)),
            "the fixed arc from 3 to 1 cannot be in a projective tree with what is fixed for word 2; "
            "leave one of them open",
        ),
        (
            Tree.of((3, 0, -1)),
            "the fixed arc from 3 to 1 cannot be in a projective tree with what is fixed for word 2; "
            "leave one of them open",
        ),
        (Tree.of((-1, -1)), "expected a partial tree of 3 words, found 2"),
        (Tree.of((4, -1, -1)), "word 1 has the fixed head 4, expected another word from 0 to 3"),
        (Tree.of((1, -1, -1)), "word 1 has the fixed head 1, expected another word from 0 to 3"),
        (Tree.of((-2, -1, -1)), "word 1 has the fixed head -2, expected another word from 0 to 3"),
        (
            Tree.of((-1, 0, -1), ("", "dep", "")),
            "word 2 is fixed as the root with a label that the model never gives to a root",
        ),
        (
            Tree.of((-1, -1, -1), ("dep", "dep", "dep")),
            "no word is left that could be the root; leave the head of one open",
        ),
        (
            Tree.of((-1, -1, -1), ("root", "root", "")),
            "words 1 and 2 are both fixed as the root, expected at most one",
        ),
    ],
)
def test_what_cannot_be_respected_is_refused(twins: list[Twin], constraint: Tree, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        twins[0].parser.predict(sentence_of(3), constraint=constraint)
    assert str(caught.value) == f"sentence 1: {problem}"
    with pytest.raises(DataError, match=r"^sentence 1: "):
        twins[0].parser.k_best(sentence_of(3), 2, constraint=constraint)


def test_crossing_arcs_are_refused(twins: list[Twin]) -> None:
    """Each of words 3 and 4 would have to be above the other."""
    with pytest.raises(DataError) as caught:
        twins[0].parser.predict(sentence_of(5), constraint=Tree.of((-1, 4, -1, -1, 3)))
    problem = "the fixed arcs from 4 to 2 and from 3 to 5 cross; leave one of them open"
    assert str(caught.value) == f"sentence 1: {problem}"


def test_the_sentence_is_named_by_its_id() -> None:
    sentence = Sentence.of(["a", "b"])
    named = replace(sentence, comments=("# text = a b", "# sent_id = s-7"))
    fixed = [Tree.unknown(2), Tree.of((0, 0))]
    with pytest.raises(DataError, match=r"^sentence 2 \(sent_id s-7\): words 1 and 2 are both"):
        encode_fixed([sentence, named], fixed, labels=FEW_LABELS)


def test_as_many_partial_trees_as_sentences_are_needed() -> None:
    with pytest.raises(DataError, match=r"^expected 2 partial trees, one a sentence, found 1$"):
        encode_fixed([sentence_of(1)] * 2, [Tree.unknown(1)], labels=FEW_LABELS)


def test_encoded_constraints_are_flat_with_the_root_of_each_sentence() -> None:
    labels = LabelTable(("dep", "root"), (False, True), (True, False))
    heads, numbers = encode_fixed(
        [sentence_of(2), sentence_of(1)],
        [Tree.of((-1, 1), ("root", "")), Tree.of((-1,), ("root",))],
        labels=labels,
    )
    # A label that only the root bears fixes the head too.
    assert heads.tolist() == [-1, 0, 1, -1, 0]
    assert numbers.tolist() == [-1, 1, -1, -1, 1]
    assert heads.dtype == numbers.dtype == np.int32


def test_a_label_that_the_model_does_not_know_is_left_open(twins: list[Twin]) -> None:
    parser = twins[0].parser
    sentence = twins[0].sentences[0] if hasattr(twins[0], "sentences") else Sentence.of(["a", "b", "c"])
    length = len(sentence)
    heads = (0, *[-1] * (length - 1))
    with pytest.warns(UserWarning, match="never seen the fixed label 'odd', which is left open; heads that are fixed"):
        tree = parser.predict(sentence, constraint=Tree.of(heads, ("odd", *[""] * (length - 1))))
    assert tree == parser.predict(sentence, constraint=Tree.of(heads))
