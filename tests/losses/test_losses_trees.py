"""Each loss over trees equals what `evaluate` counts, whatever is known and whatever is predicted."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from losses_samples import GOLD, SENTENCE, WRONG, plain, references_with_answers, with_all_heads

from strategies import trees
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import DataError
from treetune.evaluation import METRICS, attachment_counts
from treetune.losses import LOSSES, ArcLength, Attachment, Loss, PartialTree, Root, ZeroOne, make_loss
from treetune.testing import check_loss

TREE_LOSSES: list[Loss[Tree, Tree]] = [
    Root(),
    *(kind(labelled=labelled) for kind in (Attachment, PartialTree, ArcLength, ZeroOne) for labelled in (True, False)),
]
Drawn = tuple[Tree, list[Tree]]

PERFECT = (GOLD, [GOLD])
NOTHING_KNOWN = (Tree.unknown(2), [Tree.of([0, 1])])


def costs(loss: Loss[Tree, Tree], drawn: Drawn) -> list[float]:
    reference, answers = drawn
    return loss.costs(plain(len(reference)), answers, reference)


def share(wrong: int, whole: int) -> float:
    return wrong / whole if whole else 0.0


@given(references_with_answers())
@example(NOTHING_KNOWN)
def test_unlabelled_attachment_is_counted_as_uas(drawn: Drawn) -> None:
    counts = [attachment_counts(drawn[0], answer) for answer in drawn[1]]
    assert costs(Attachment(labelled=False), drawn) == [share(c.words - c.right_heads, c.words) for c in counts]


@given(references_with_answers())
@example(NOTHING_KNOWN)
def test_labelled_attachment_is_counted_as_las_and_as_uas_where_there_is_no_label(drawn: Drawn) -> None:
    reference, answers = drawn
    with_label = [word for word in range(1, len(reference) + 1) if reference.labels[word]]
    expected = []
    for answer in answers:
        counts = attachment_counts(reference, answer)
        bare = attachment_counts(reference, answer, ignore=with_label)
        expected.append(share(counts.words - counts.right_arcs - bare.right_heads, counts.words))
    assert costs(Attachment(), drawn) == expected


@given(trees(size=6), trees(size=6))
def test_on_complete_trees_attachment_is_one_minus_las(gold: Tree, answer: Tree) -> None:
    counts = attachment_counts(gold, answer)
    for labelled, metric in ((True, "LAS"), (False, "UAS")):
        score = METRICS[metric].score([counts])
        assert Attachment(labelled=labelled)(plain(6), answer, gold) == pytest.approx(1 - score)


@given(references_with_answers())
@example(NOTHING_KNOWN)
def test_arc_length_is_counted_as_als_of_the_sentence(drawn: Drawn) -> None:
    counts = [attachment_counts(drawn[0], answer) for answer in drawn[1]]
    assert costs(ArcLength(labelled=False), drawn) == [share(c.length - c.right_length, c.length) for c in counts]
    assert costs(ArcLength(), drawn) == [
        share(c.labelled_length - c.right_labelled_length, c.labelled_length) for c in counts
    ]


@given(references_with_answers())
@example(NOTHING_KNOWN)
def test_partial_tree_is_the_share_of_wrong_heads_and_labels(drawn: Drawn) -> None:
    reference, answers = drawn
    unlabelled, labelled = [], []
    for answer in answers:
        heads = attachment_counts(reference, answer)
        labels = attachment_counts(with_all_heads(reference), answer)
        wrong_heads = heads.words - heads.right_heads
        wrong_labels = labels.labelled_words - labels.right_labels
        unlabelled.append(share(wrong_heads, heads.words))
        labelled.append(share(wrong_heads + wrong_labels, heads.words + labels.labelled_words))
    assert costs(PartialTree(labelled=False), drawn) == unlabelled
    assert costs(PartialTree(), drawn) == labelled


@given(references_with_answers())
@example(NOTHING_KNOWN)
@example(PERFECT)
def test_zero_one_is_counted_as_complete_match(drawn: Drawn) -> None:
    reference, answers = drawn
    unlabelled, labelled = [], []
    for answer in answers:
        heads = attachment_counts(reference, answer)
        labels = attachment_counts(with_all_heads(reference), answer)
        heads_right = heads.right_heads == heads.words
        assert heads_right == bool(heads.complete_heads or not heads.words)
        unlabelled.append(float(not heads_right))
        labelled.append(float(not (heads_right and labels.right_labels == labels.labelled_words)))
    assert costs(ZeroOne(labelled=False), drawn) == unlabelled
    assert costs(ZeroOne(), drawn) == labelled


@given(trees(size=5), trees(size=5))
def test_on_complete_trees_zero_one_is_complete_match(gold: Tree, answer: Tree) -> None:
    counts = attachment_counts(gold, answer)
    assert ZeroOne()(plain(5), answer, gold) == 1 - counts.complete_arcs
    assert ZeroOne(labelled=False)(plain(5), answer, gold) == 1 - counts.complete_heads


@given(references_with_answers())
@example((GOLD, [GOLD, WRONG, Tree.of([4, 0, 4, 0, 4])]))
def test_root_is_counted_as_root_accuracy(drawn: Drawn) -> None:
    reference, answers = drawn
    if not reference.roots:
        with pytest.raises(DataError, match=r"exactly one root \(a word with head 0\), found 0$"):
            costs(Root(), drawn)
        return
    counts = [attachment_counts(reference, answer) for answer in answers]
    assert costs(Root(), drawn) == [1.0 - c.right_root_sentences for c in counts]


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Root(), 1.0),
        (Attachment(), 3 / 5),
        (Attachment(labelled=False), 3 / 5),
        (PartialTree(), 5 / 10),
        (PartialTree(labelled=False), 3 / 5),
        (ArcLength(), (3 + 2 + 4) / (3 + 2 + 1 + 4 + 1)),
        (ArcLength(labelled=False), 9 / 11),
        (ZeroOne(), 1.0),
        (ZeroOne(labelled=False), 1.0),
    ],
    ids=repr,
)
def test_hand_counted(loss: Loss[Tree, Tree], expected: float) -> None:
    assert loss(SENTENCE, WRONG, GOLD) == expected
    assert loss.costs(SENTENCE, [GOLD, WRONG], GOLD) == [0.0, expected]


@pytest.mark.parametrize("kind", [Attachment, PartialTree, ArcLength, ZeroOne])
def test_labels_matter_only_when_labelled(kind: Any) -> None:
    other = Tree.of(GOLD.heads[1:], ["nsubj", *GOLD.labels[2:]])
    assert kind(labelled=False)(SENTENCE, other, GOLD) == 0
    assert kind()(SENTENCE, other, GOLD) > 0


def test_a_label_without_its_head_counts_for_partial_trees_and_not_for_attachment() -> None:
    reference = Tree.of([-1, -1, 4, -1, -1], ["obj", "", "", "", ""])
    other = Tree.of(GOLD.heads[1:], ["nsubj", *GOLD.labels[2:]])
    assert [loss(SENTENCE, other, reference) for loss in (PartialTree(), Attachment(), ZeroOne())] == [0.5, 0.0, 1.0]


def test_several_roots_are_wrong_though_the_right_one_is_among_them() -> None:
    assert Root()(SENTENCE, Tree.of([4, 0, 4, 0, 4]), GOLD) == 1.0


def test_the_label_of_the_root_does_not_matter() -> None:
    assert Root()(SENTENCE, Tree.of([4, 4, 4, 0, 4], ["dep"] * 5), GOLD) == 0.0


def losses_that_take(reference: Tree) -> list[Loss[Tree, Tree]]:
    found = []
    for loss in TREE_LOSSES:
        with suppress(DataError):
            loss.check(plain(len(reference)), reference)
            found.append(loss)
    return found


@given(references_with_answers())
def test_the_contract_holds_for_partial_references_and_odd_trees(drawn: Drawn) -> None:
    reference, answers = drawn
    for loss in losses_that_take(reference):
        check_loss(loss, [(plain(len(reference)), reference)], [answers], perfect=[None])


@given(references_with_answers())
@example((Tree.of([-1, 1, 4, 4], ["a", "", "b", ""]), [Tree.of([0, 1, 4, 4], ["c", "d", "b", "e"])]))
def test_a_tree_costs_nothing_exactly_if_it_has_what_is_known(drawn: Drawn) -> None:
    reference, answers = drawn
    sentence = plain(len(reference))
    for loss in losses_that_take(reference):
        known = loss.known(sentence, reference)
        assert known is not None
        loss.check(sentence, known)
        for answer in answers:
            completed = Tree(
                tuple(a if k < 0 else k for a, k in zip(answer.heads, known.heads, strict=True)),
                tuple(k or a for a, k in zip(answer.labels, known.labels, strict=True)),
            )
            if isinstance(loss, Root) and len(completed.roots) > 1:  # no tree of a parser
                continue
            assert (loss(sentence, answer, reference) == 0) is (completed == answer)
            assert loss(sentence, completed, reference) == 0


def test_what_is_known_of_a_reference() -> None:
    reference = Tree.of([4, -1, 4, 0, 4], ["obj", "aux", "", "root", "punct"])
    unlabelled = Tree.of([4, -1, 4, 0, 4])
    arcs = Tree.of([4, -1, 4, 0, 4], ["obj", "", "", "root", "punct"])
    assert Root().known(SENTENCE, reference) == Tree.of([-1, -1, -1, 0, -1])
    assert Attachment().known(SENTENCE, reference) == arcs
    assert PartialTree().known(SENTENCE, reference) == reference
    assert ZeroOne().known(SENTENCE, reference) == reference
    assert ArcLength().known(SENTENCE, reference) == Tree.of([4, -1, -1, 0, 4], ["obj", "", "", "root", "punct"])
    for kind in (Attachment, PartialTree, ZeroOne, ArcLength):
        assert kind(labelled=False).known(SENTENCE, reference) == unlabelled


@pytest.mark.parametrize(
    ("loss", "reference", "message"),
    [
        (Root(), Tree.of([4, 4, 4, -1, 4]), "loss root needs a reference with exactly one root (a word with head 0), "
         "found 0"),
        (Root(), Tree.of([0, -1, -1, 0, -1]), "words 1 and 4 are both the root of the reference, expected one root"),
        (Root(), Tree.of([0]), "expected a reference tree of 5 words, found 1"),
        (Root(), "read", "loss root expects a tree as reference, found str"),
        (Root(), None, "loss root expects a tree as reference, found NoneType"),
        (PartialTree(), Tree.of([2, 3, 1, 0, 4]), "the heads of the reference form a cycle: 1 -> 2 -> 3 -> 1"),
        (PartialTree(), Tree.of([6, -1, -1, -1, -1]), "word 1 has the head 6, expected another word from 0 to 5"),
        (PartialTree(), Tree.of([-2, -1, -1, -1, -1]), "word 1 has the head -2, expected another word from 0 to 5"),
        (PartialTree(), Tree.of([-1, 2, -1, -1, -1]), "word 2 has the head 2, expected another word from 0 to 5"),
        (PartialTree(), Tree.unknown(5), "loss partial-tree needs a reference with at least one known head or label, "
         "found none"),
        (PartialTree(labelled=False), Tree.of([-1] * 5, ["obj"] * 5), "loss partial-tree needs a reference with at "
         "least one known head, found none"),
        (ZeroOne(), Tree.unknown(5), "loss zero-one needs a reference with at least one known head or label, "
         "found none"),
        (ZeroOne(labelled=False), Tree.of([-1] * 5, ["obj"] * 5), "loss zero-one needs a reference with at least one "
         "known head, found none"),
        (Attachment(), Tree.of([-1] * 5, ["obj"] * 5), "loss attachment needs a reference with at least one known "
         "head, found none"),
        (ArcLength(), Tree.of([4, 4, 4, 0, 4]), "loss arc-length needs a reference with at least one word with a known "
         "head and label, found none"),
        (ArcLength(labelled=False), Tree.of([-1] * 5, ["obj"] * 5), "loss arc-length needs a reference with at least "
         "one word with a known head, found none"),
    ],
)  # fmt: skip
def test_references_that_cannot_serve(loss: Loss[Any, Any], reference: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        loss.check(SENTENCE, reference)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("loss", "reference"),
    [
        (PartialTree(), Tree.of([-1] * 5, ["obj", "", "", "", ""])),
        (ZeroOne(), Tree.of([-1] * 5, ["obj", "", "", "", ""])),
        (ArcLength(labelled=False), Tree.of([4, 4, 4, 0, 4])),
        (Attachment(), Tree.of([4, -1, -1, -1, -1])),
        (Root(), Tree.of([-1, -1, -1, 0, -1])),
    ],
)
def test_references_that_can_just_serve(loss: Loss[Tree, Tree], reference: Tree) -> None:
    check_loss(loss, [(SENTENCE, reference)], [[GOLD]])
    assert loss(SENTENCE, Tree.of([2, 0, 2, 3, 4], ["dep"] * 5), reference) > 0


@pytest.mark.parametrize("loss", TREE_LOSSES, ids=repr)
def test_trees_of_another_length_are_refused(loss: Loss[Tree, Tree]) -> None:
    with pytest.raises(DataError, match=r"^expected a predicted tree of 5 words, as in gold, found 1$"):
        loss.costs(SENTENCE, [GOLD, Tree.of([0])], GOLD)


@pytest.mark.parametrize("loss", TREE_LOSSES, ids=repr)
def test_settings_make_the_loss_again(loss: Loss[Tree, Tree]) -> None:
    assert make_loss(**loss.settings()) == loss
    assert LOSSES[loss.name] is type(loss)


def test_settings_have_every_default() -> None:
    assert Root().settings() == {"name": "root"}
    assert Attachment().settings() == {"name": "attachment", "labelled": True}
    assert ArcLength(labelled=False).settings() == {"name": "arc-length", "labelled": False}


def test_an_empty_sentence_costs_nothing() -> None:
    empty = Tree.of([])
    for loss in (Attachment(), PartialTree(), ArcLength(), ZeroOne()):
        assert loss(Sentence.of([]), empty, empty) == 0.0
