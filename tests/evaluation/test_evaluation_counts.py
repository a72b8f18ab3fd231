from __future__ import annotations

import random

import pytest
from evaluation_samples import corpora, corrupt, graphs, random_tree, steady
from hypothesis import given
from hypothesis import strategies as st

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError
from treetune.evaluation import Counts, attachment_counts, is_punctuation, punctuation, strip_subtype
from treetune.evaluation.counts import CONTENT_LABELS, COUNT_NAMES

# She(1) reads(2) her(3) book(4) today(5) .(6)
GOLD = Tree.of([2, 0, 4, 2, 2, 2], ["nsubj", "root", "nmod:poss", "obj", "obl:tmod", "punct"])
# wrong: the root (1), her (label), book (head), . (head)
WRONG = Tree.of([0, 1, 4, 1, 2, 5], ["root", "conj", "nmod", "obj", "obl:tmod", "punct"])


def test_hand_counted_sentence() -> None:
    counts = attachment_counts(GOLD, WRONG)
    assert counts == Counts(
        sentences=1,
        words=6,
        right_heads=2,  # her, today
        labelled_words=6,
        right_labels=3,  # book, today, .
        right_arcs=1,  # today
        content_gold=5,  # all but punct
        content_predicted=5,
        content_right=1,
        rooted_sentences=1,
        right_root_sentences=0,
        gold_roots=1,
        predicted_roots=1,
        right_roots=0,
        scored_sentences=1,
        complete_heads=0,
        labelled_sentences=1,
        complete_arcs=0,
        length=1 + 2 + 1 + 2 + 3 + 4,  # the root arc of word 2 weighs 2
        right_length=1 + 3,
        labelled_length=13,
        right_labelled_length=3,
    )


def test_subtypes_stripped() -> None:
    counts = attachment_counts(GOLD, WRONG, subtypes=False)
    assert (counts.right_labels, counts.right_arcs, counts.right_labelled_length) == (4, 2, 4)
    assert counts.right_heads == attachment_counts(GOLD, WRONG).right_heads


def test_ignored_words_keep_positions_and_roots() -> None:
    counts = attachment_counts(GOLD, WRONG, ignore={2, 6})
    assert (counts.words, counts.right_heads, counts.length) == (4, 2, 7)
    assert (counts.gold_roots, counts.predicted_roots) == (1, 1)


@pytest.mark.parametrize(
    ("heads", "predicted", "right", "exact"),
    [([0, 0, 1], 2, 1, 0), ([2, 1, 1], 0, 0, 0), ([0, 1, 2], 1, 1, 1), ([2, 0, 2], 1, 0, 0)],
)
def test_any_number_of_predicted_roots(heads: list[int], predicted: int, right: int, exact: int) -> None:
    counts = attachment_counts(Tree.of([0, 1, 2]), Tree.of(heads))
    assert (counts.gold_roots, counts.predicted_roots, counts.right_roots) == (1, predicted, right)
    assert (counts.rooted_sentences, counts.right_root_sentences) == (1, exact)


def test_partial_gold_counts_only_known_words() -> None:
    gold = Tree.of([-1, 1, 2, 2], ["nsubj", "", "obj", "obj"])
    counts = attachment_counts(gold, Tree.of([0, 1, 2, 1], ["root", "conj", "obj", "obj"]))
    assert (counts.words, counts.right_heads) == (3, 2)
    assert (counts.labelled_words, counts.right_labels, counts.right_arcs) == (2, 2, 1)
    assert (counts.rooted_sentences, counts.predicted_roots) == (0, 0)


def test_gold_that_names_only_the_root_scores_all_predicted_roots() -> None:
    counts = attachment_counts(Tree.of([-1, 0, -1], ["", "root", ""]), Tree.of([0, 0, 2]))
    assert (counts.words, counts.predicted_roots, counts.right_roots) == (1, 2, 1)
    assert counts.right_root_sentences == 0


def test_unlabelled_gold_counts_heads_only() -> None:
    counts = attachment_counts(Tree.of([0, 1]), Tree.of([0, 1], ["root", "obj"]))
    assert (counts.right_heads, counts.complete_heads) == (2, 1)
    assert (counts.labelled_words, counts.labelled_sentences, counts.complete_arcs) == (0, 0, 0)


def test_unknown_predicted_head_is_wrong() -> None:
    counts = attachment_counts(Tree.of([0, 1], ["root", "obj"]), Tree.unknown(2))
    assert (counts.words, counts.right_heads, counts.right_labels) == (2, 0, 0)


def test_empty_sentence_counts_nothing() -> None:
    assert attachment_counts(Tree.of([]), Tree.of([])) == Counts(sentences=1)


def test_complete_match_needs_labels_only_when_labelled() -> None:
    gold = Tree.of([2, 0], ["det", "root"])
    counts = attachment_counts(gold, Tree.of([2, 0], ["case", "root"]))
    assert (counts.complete_heads, counts.complete_arcs) == (1, 0)


def test_trees_of_different_length_are_refused() -> None:
    with pytest.raises(DataError, match=r"^expected a predicted tree of 6 words, as in gold, found 1$"):
        attachment_counts(GOLD, Tree.of([0]))


@pytest.mark.parametrize(
    ("form", "upos", "expected"),
    [
        (".", "PUNCT", True),
        (".", "SYM", False),
        ("(2)", "PUNCT", True),
        ("...", "_", True),
        ("—", "_", True),
        ("«", "_", True),
        ("。", "_", True),
        ("$", "_", False),
        ("+", "_", False),
        ("a.", "_", False),
        ("word", "_", False),
    ],
)
def test_punctuation_by_tag_else_by_unicode(form: str, upos: str, expected: bool) -> None:
    assert is_punctuation(form, upos) is expected
    assert punctuation(Sentence.of(["x", form], upos=["X", upos])) == (frozenset({2}) if expected else frozenset())


def test_strip_subtype() -> None:
    assert [strip_subtype(label) for label in ("nmod:poss", "nmod", "a:b:c", "")] == ["nmod", "nmod", "a", ""]


def test_content_labels_leave_out_function_words_and_punctuation() -> None:
    assert not CONTENT_LABELS & {"aux", "cop", "mark", "det", "clf", "case", "cc", "punct"}
    assert attachment_counts(Tree.of([0], ["nmod:poss"]), Tree.of([0], ["case"])).content_gold == 1


@steady
@given(st.integers(0, 7).flatmap(lambda n: st.tuples(graphs(n, partial=True), graphs(n, partial=True))))
def test_right_never_exceeds_counted(pair: tuple[Tree, Tree]) -> None:
    counts = attachment_counts(*pair)
    assert all(getattr(counts, name) >= 0 for name in COUNT_NAMES)
    assert counts.right_arcs <= min(counts.right_heads, counts.right_labels)
    assert counts.right_arcs <= counts.labelled_words <= counts.words
    assert counts.right_labelled_length <= min(counts.labelled_length, counts.right_length)
    assert counts.right_length <= counts.length
    assert counts.content_right <= min(counts.content_gold, counts.content_predicted)
    assert counts.right_roots <= min(counts.gold_roots, counts.predicted_roots)
    assert counts.complete_arcs <= counts.complete_heads <= counts.scored_sentences


@steady
@given(corpora())
def test_adding_is_field_by_field(drawn: tuple[list[Example], list[list[Tree]]]) -> None:
    gold, (answers,) = drawn
    each = [attachment_counts(e.gold, answer) for e, answer in zip(gold, answers, strict=True)]
    total = Counts.total(each)
    for name in COUNT_NAMES:
        assert getattr(total, name) == sum(getattr(counts, name) for counts in each)
    assert total.sentences == len(gold)


def test_corrupted_trees_of_these_tests_stay_trees() -> None:
    rng = random.Random(1)
    for size in range(1, 30):
        tree = random_tree(size, rng)
        damaged = corrupt(tree, rng, rate=0.5)
        assert len(tree.roots) == len(damaged.roots) == 1
        for word in range(1, size + 1):
            steps = 0
            while word and steps <= size:
                word, steps = damaged.heads[word], steps + 1
            assert word == 0
