"""Features, scores, best trees and lists of graph parsers against plain Python and enumeration."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from graph_samples import (
    FEW_LABELS,
    MANY_LABELS,
    TAGGED_LABELS,
    SentenceTwin,
    Twin,
    random_heads,
    random_sentence,
    random_twin,
)
from graph_scoring_twin import ArcTwin, labellings
from graph_twins import all_trees, is_projective, is_tree, plain_projective, plain_spanning, plain_third

from treetune.corpus.sentence import Sentence, Tree
from treetune.models.graph import search
from treetune.models.graph.templates import adapted
from treetune.models.labels import LabelTable

EXACT = [(1, "projective"), (1, "non-projective"), (2, "projective"), (3, "projective")]
SEARCHES = [*EXACT, (2, "non-projective")]


def sample_sentences(*, stacked: bool = False, longest: int = 4) -> list[Sentence]:
    draw = random.Random(7)
    lengths = [0, 1, 1, 2, 2, 3, 3, 3, *[4] * 5, *range(4, longest + 1)]
    seen = [random_sentence(draw, n, stacked=stacked) for n in lengths]
    return seen + [random_sentence(draw, n, stacked=stacked, unseen=True) for n in (1, 3, 4, 4)]


@cache
def twin_of(
    order: int,
    decoder: str,
    labels: str,
    seed: int,
    *,
    stacked: bool = False,
    many: bool = False,
    tagged: bool = False,
    longest: int = 4,
) -> Twin:
    # Weights for all, words and tags from the first ones only.
    sentences = sample_sentences(stacked=stacked, longest=longest)
    table = TAGGED_LABELS if tagged else MANY_LABELS if many else FEW_LABELS
    return random_twin(sentences[:-4], seed=seed, labels=table, order=order, decoder=decoder, way=labels)


def draw_tree(draw: random.Random, n: int, table: LabelTable) -> Tree:
    heads = random_heads(draw, n, projective=False) if n else (-1,)
    at_root = [name for name, may in zip(table.names, table.at_root, strict=True) if may]
    at_word = [name for name, may in zip(table.names, table.at_word, strict=True) if may]
    return Tree.of(heads[1:], [draw.choice(at_word if head else at_root) for head in heads[1:]])


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("labels", ["joint", "second-stage"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_features_and_scores_are_those_of_the_twin(order: int, labels: str, stacked: bool) -> None:
    twin = twin_of(order, "projective", labels, 1, stacked=stacked, many=True, longest=9)
    draw = random.Random(order)
    scores = set()
    for sentence in sample_sentences(stacked=stacked, longest=9):
        of = twin.of(sentence)
        for _ in range(4):
            tree = draw_tree(draw, len(sentence), MANY_LABELS)
            features, outputs = twin.parser.features(sentence, tree)
            expected = of.features.tree_pairs(*of.numbers(tree), joint=of.joint, order=order)
            assert Counter(zip(features.tolist(), outputs.tolist(), strict=True)) == Counter(expected)
            assert twin.parser.score(sentence, tree) == of.score(tree)
            scores.add(of.score(tree))
    assert len(scores) > 40


@pytest.mark.parametrize("features", ["default", "mcdonald2005", "hall2011"])
@pytest.mark.parametrize("labels", ["joint", "second-stage"])
def test_the_sets_of_the_package_have_the_features_of_the_twin(features: str, labels: str) -> None:
    draw = random.Random(3)
    sentences = [random_sentence(draw, n, stacked=features == "default") for n in (3, 7, 12)]
    order = 3 if features == "default" else 2
    twin = random_twin(sentences, seed=3, order=order, way=labels, features=features)
    for sentence in sentences:
        tree = draw_tree(draw, len(sentence), FEW_LABELS)
        of = twin.of(sentence)
        found = zip(*(values.tolist() for values in twin.parser.features(sentence, tree)), strict=True)
        expected = of.features.tree_pairs(*of.numbers(tree), joint=labels == "joint", order=order)
        assert Counter(found) == Counter(expected)
        assert twin.parser.score(sentence, tree) == of.score(tree)


def best_score(of: SentenceTwin, decoder: str) -> float:
    trees = all_trees(of.features.n, projective=decoder == "projective")
    return max(of.plain_score(tree) for tree in trees)


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
@pytest.mark.parametrize(("order", "decoder"), SEARCHES)
def test_predictions_are_the_best_of_all_trees(order: int, decoder: str, labels: str) -> None:
    better_than_projective = 0
    for seed in range(6):
        twin = twin_of(order, decoder, labels, seed, stacked=seed % 2 == 1, longest=5)
        sentences = [sentence for sentence in sample_sentences(stacked=seed % 2 == 1, longest=5) if len(sentence)]
        for sentence, tree in zip(sentences, twin.parser.predict_batch(sentences), strict=True):
            of = twin.of(sentence)
            assert is_tree(tree.heads)
            assert decoder == "non-projective" or is_projective(tree.heads)
            score = of.score(tree)
            if (order, decoder) in EXACT:
                assert score == best_score(of, decoder)
            else:
                assert score >= best_score(of, "projective")
                assert score >= max(of.plain_score(other) for other in changes(tree.heads))
            better_than_projective += score > best_score(of, "projective")
            if labels == "second-stage":
                check_second_stage(of, tree)
    assert (better_than_projective > 5) is (decoder == "non-projective")


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
def test_words_bear_what_their_tags_may_bear(labels: str) -> None:
    twin, kept_away = twin_of(1, "projective", labels, 3, tagged=True), 0
    loose = twin_of(1, "projective", labels, 3, many=True)
    for sentence in [sentence for sentence in sample_sentences() if len(sentence)]:
        of, tree = twin.of(sentence), twin.parser.predict(sentence)
        assert of.score(tree) == best_score(of, "projective")
        if labels == "second-stage":
            check_second_stage(of, tree)
        for candidate in twin.parser.k_best(sentence, 5):
            assert candidate.score == of.score(candidate.output)
            heads, numbers = of.numbers(candidate.output)
            for word in range(1, len(heads)):
                assert heads[word] == 0 or numbers[word] in TAGGED_LABELS.by_tag.get(sentence.upos[word], numbers)
        kept_away += tree.labels != loose.parser.predict(sentence).labels
        # Whoever knows better is believed.
        fixed = Tree((-1, *[-1] * len(sentence)), ("", *["c"] * len(sentence)))
        if len(sentence) > 1:
            fixed = Tree(fixed.heads, ("", "", *fixed.labels[2:]))
            for candidate in twin.parser.k_best(sentence, 3, constraint=fixed):
                assert candidate.output.labels[2:] == fixed.labels[2:]
                assert candidate.score == of.score(candidate.output)
    assert kept_away


def changes(heads: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The tree itself, and all trees that differ in the head of one word which is not the root's dependent."""
    changed = [
        (*heads[:word], head, *heads[word + 1 :])
        for word in range(1, len(heads))
        for head in range(1, len(heads))
        if heads[word] != 0 and head != word
    ]
    return [heads, *(tree for tree in changed if is_tree(tree))]


def check_second_stage(of: SentenceTwin, tree: Tree) -> None:
    """Every label is the best one for its place in the finished tree, the first of equals."""
    heads, numbers = of.numbers(tree)
    for word in range(1, len(heads)):
        scores = of.label_scores(heads[word], word, heads)
        assert numbers[word] == min(scores, key=lambda label: (-scores[label], label))


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
@pytest.mark.parametrize(("order", "decoder"), EXACT)
def test_lists_equal_the_enumeration(order: int, decoder: str, labels: str) -> None:
    for seed in range(3):
        twin = twin_of(order, decoder, labels, seed)
        for sentence in sample_sentences():
            n = len(sentence)
            if n == 0 or (labels == "joint" and n > 3):
                continue
            expected = sorted(every_score(twin.of(sentence), decoder), reverse=True)
            for k in (2, 5, 40):
                found = twin.parser.k_best(sentence, k)
                assert [candidate.score for candidate in found] == expected[:k]
                check_list(twin, sentence, found, decoder)
            best = twin.parser.predict(sentence)
            assert twin.of(sentence).score(best) == expected[0]
            if expected[0] > (expected[1:] or [float("-inf")])[0]:
                assert found[0].output == best


def every_score(of: SentenceTwin, decoder: str) -> list[float]:
    """The scores of all trees; of all labelled trees where labels are joint."""
    trees = all_trees(of.features.n, projective=decoder == "projective")
    if not of.joint:
        return [of.plain_score(tree) for tree in trees]
    table = of.twin.labels
    at_root = [label for label in range(len(table)) if table.at_root[label]]
    at_word = [label for label in range(len(table)) if table.at_word[label]]
    return [
        of.tree_score(tree, labels) for tree in trees for labels in labellings(of.features.n, at_root, at_word, tree)
    ]


def check_list(twin: Twin, sentence: Sentence, found: list[Any], decoder: str) -> None:
    of = twin.of(sentence)
    trees = [candidate.output for candidate in found]
    assert len(set(trees)) == len(trees)
    assert all(is_tree(tree.heads) for tree in trees)
    assert decoder == "non-projective" or all(is_projective(tree.heads) for tree in trees)
    for candidate in found:
        assert candidate.score == of.score(candidate.output)
        assert candidate.score == twin.parser.score(sentence, candidate)
        assert candidate.score == twin.parser.score(sentence, candidate.output)
        if not of.joint:
            check_second_stage(of, candidate.output)


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
def test_lists_of_rearranged_trees(labels: str) -> None:
    longer = 0
    for seed in range(3):
        twin = twin_of(2, "non-projective", labels, seed)
        for sentence in sample_sentences():
            if not len(sentence):
                continue
            found = twin.parser.k_best(sentence, 6)
            assert [candidate.score for candidate in found] == sorted((c.score for c in found), reverse=True)
            check_list(twin, sentence, found, "non-projective")
            assert found[0].score >= best_score(twin.of(sentence), "projective")
            assert found[0].score >= twin.of(sentence).score(twin.parser.predict(sentence))
            longer += len(found) > 1
    assert longer > 20


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(("order", "decoder"), SEARCHES)
def test_empty_sentences_and_single_words(order: int, decoder: str, k: int, labels: str) -> None:
    twin = twin_of(order, decoder, labels, 0)
    empty, one = Sentence.of([]), Sentence.of(["a"], upos=["DET"], xpos=["d"])
    assert twin.parser.predict_batch([]) == []
    assert twin.parser.predict_batch([empty, one, empty])[::2] == [Tree.of([]), Tree.of([])]
    assert twin.parser.predict(one).heads == (-1, 0)
    (nothing,) = twin.parser.k_best(empty, k)
    assert (nothing.output, nothing.score) == (Tree.of([]), 0.0)
    assert twin.parser.score(empty, nothing) == 0.0
    found = twin.parser.k_best(one, k)
    # The labels "both" and "root" may stand at the root.
    assert len(found) == (2 if labels == "joint" and k > 1 else 1)
    assert {candidate.output.heads for candidate in found} == {(-1, 0)}


def repeated_words(draw: random.Random, length: int) -> Sentence:
    """Few different words with few tags: most triples of a sentence are alike."""
    words = [draw.choice("ab") for _ in range(length)]
    return Sentence.of(words, upos=["NOUN" if word == "a" else "ADP" for word in words], xpos=words)


@pytest.mark.parametrize(("order", "decoder"), EXACT)
@pytest.mark.parametrize("memo", [None, 30, 0])
def test_what_is_remembered_of_triples_changes_nothing(
    order: int, decoder: str, memo: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if memo is not None:
        monkeypatch.setattr(search, "MEMO", memo)
    draw = random.Random(5)
    sentences = [repeated_words(draw, 12), random_sentence(draw, 9), random_sentence(draw, 11, unseen=True)]
    twin = random_twin(sentences[:2], seed=4, order=order, decoder=decoder)
    for sentence, tree in zip(sentences, twin.parser.predict_batch(sentences), strict=True):
        of = twin.of(sentence)
        if order == 3:
            assert of.siblings is not None
            assert of.grands is not None
            best = plain_third(of.scores, of.siblings, of.grands)
        elif decoder == "projective":
            best = plain_projective(of.scores, of.siblings)
        else:
            best = plain_spanning(of.scores)
        assert of.score(tree) == best
        found = twin.parser.k_best(sentence, 4)
        assert found[0].score == best
        check_list(twin, sentence, found, decoder)


def test_sentences_of_a_batch_do_not_see_each_other() -> None:
    for order, decoder in SEARCHES:
        twin = twin_of(order, decoder, "second-stage", 1, stacked=True, longest=9)
        sentences = sample_sentences(stacked=True, longest=9) * 3
        expected = [twin.parser.predict(sentence) for sentence in sentences]
        assert len(sentences) > 2 * search.CHUNK
        for threads in (1, 2, 3):
            assert twin.parser.predict_batch(sentences, threads=threads) == expected


@pytest.mark.parametrize("labels", ["joint", "second-stage"])
def test_lists_of_a_batch_do_not_depend_on_threads(labels: str) -> None:
    twin = twin_of(1, "projective", labels, 2, stacked=True, longest=9)
    sentences = sample_sentences(stacked=True, longest=9) * 3
    expected = [twin.parser.k_best(sentence, 3) for sentence in sentences]
    for threads in (1, 2):
        assert twin.parser.k_best_batch(sentences, 3, threads=threads) == expected


def test_a_base_tree_changes_trees() -> None:
    twin = twin_of(1, "projective", "second-stage", 3, stacked=True)
    changed = 0
    for sentence in sample_sentences(stacked=True):
        if len(sentence) < 3:
            continue
        trees = set()
        for heads in all_trees(len(sentence), projective=False)[:6]:
            base = Tree.of(heads[1:], ["x"] * len(sentence))
            trees.add(twin.parser.predict(replace(sentence, base_tree=base)))
        changed += len(trees) > 1
    assert changed > 3


def test_marks_are_found_by_a_plain_search() -> None:
    """The word of D<.w is the nearest on the left that is neither a noun nor something that goes with one."""
    words = ["in", "the", "old", "house", ",", "she", "said", "yes"]
    tags = ["ADP", "DET", "ADJ", "NOUN", "PUNCT", "PRON", "VERB", "INTJ"]
    sentence = Sentence.of(words, upos=tags)
    twin = random_twin([sentence], seed=0)
    arcs = ArcTwin(twin.parser.grammar, sentence)
    assert [arcs.mark(word, "<") for word in range(9)] == [None, None, 1, 1, 1, 1, 5, 5, 7]
    assert [arcs.mark(word, ">") for word in range(9)] == [None, 5, 5, 5, 5, 7, 7, None, None]
    # The twin's features equal the parser's, so its marks are those of the kernel.
    tree = Tree.of([4, 4, 4, 7, 7, 7, 0, 7], ["dep"] * 6 + ["root", "dep"])
    of = twin.of(sentence)
    found = twin.parser.features(sentence, tree)[0].tolist()
    assert sorted(found) == sorted(f for f, _ in of.features.tree_pairs(*of.numbers(tree), joint=False, order=1))
    bare = adapted(twin.parser.grammar.template_set, ["w", "t"], stacked=False)
    assert not [atom for group in bare.groups for template in group for atom in template if atom[1] in "<>"]
