"""Which labels a word may bear, by its head and by its tag."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treetune import Example, GraphParser, Sentence, TransitionParser, Tree, train
from treetune.errors import DataError
from treetune.features.encoding import FIRST_ID, Encoder
from treetune.models import labels as table
from treetune.models.labels import LabelTable
from treetune.models.registry import make_parser

SENTENCES = [
    Sentence.of(["dogs", "bark", "."], upos=["NOUN", "VERB", "PUNCT"]),
    Sentence.of(["cats", "sleep", "!"], upos=["NOUN", "VERB", "PUNCT"]),
    Sentence.of(["they", "sleep"], upos=["PRON", "VERB"]),
]
TREES = [
    Tree.of([2, 0, 2], ["nsubj", "root", "punct"]),
    Tree.of([2, 0, 2], ["dislocated", "root", "punct"]),
    Tree.of([2, 0], ["nsubj", "root"]),
]
EXAMPLES = [Example(sentence, tree) for sentence, tree in zip(SENTENCES, TREES, strict=True)]
PARSERS: dict[str, dict[str, Any]] = {
    "transition": {"beam": 4},
    "graph": {},
    "joint": {"labels": "joint"},
}


def make(kind: str, **options: Any) -> TransitionParser | GraphParser:
    parser = make_parser("transition" if kind == "transition" else "graph", **PARSERS[kind], **options)
    assert isinstance(parser, TransitionParser | GraphParser)
    return parser


@pytest.fixture
def every_tag_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MIN_TAGGED", 1)
    monkeypatch.setattr(table, "MOST_NEW", 1.0)


def names(labels: LabelTable, tag: str) -> set[str]:
    return {labels.names[number] for number in labels.by_tag[tag]}


@pytest.mark.usefixtures("every_tag_counts")
def test_a_tag_bears_what_it_has_borne_under_words() -> None:
    labels = LabelTable.learn(TREES).learn_tags(SENTENCES, TREES)
    assert names(labels, "NOUN") == {"nsubj", "dislocated"}
    assert names(labels, "PRON") == {"nsubj"}
    assert names(labels, "PUNCT") == {"punct"}
    # A tag that was only at the root says nothing of other arcs.
    assert "VERB" not in labels.by_tag


def test_a_rare_tag_decides_nothing() -> None:
    often = table.MIN_TAGGED // 2
    labels = LabelTable.learn(TREES).learn_tags(SENTENCES * often, TREES * often)
    assert set(labels.by_tag) == {"NOUN", "PUNCT"}


def test_a_tag_whose_labels_are_not_all_known_decides_nothing() -> None:
    once = [Tree.of([2, 0, 2], [label, "root", "punct"]) for label in ("orphan", "dep")]
    for odd, decides in ((once[:1], True), (once, False)):
        trees = [*[TREES[0]] * 150, *odd]
        labels = LabelTable.learn(trees).learn_tags([SENTENCES[0]] * len(trees), trees)
        assert ("NOUN" in labels.by_tag) is decides


@pytest.mark.usefixtures("every_tag_counts")
def test_masks_and_rows_belong_together() -> None:
    encoder = Encoder.learn(SENTENCES, inputs=("upos",), min_count=1)
    labels = LabelTable.learn(TREES).learn_tags(SENTENCES, TREES)
    masks = labels.masks(encoder)
    columns, _ = encoder.encode([Sentence.of(["dogs", "?", "ugh"], upos=["NOUN", "PUNCT", "INTJ"])])
    rows = labels.tags(encoder, columns)
    allowed = [{labels.names[label] for label in np.flatnonzero(masks[1, row])} for row in rows[1:]]
    assert allowed == [{"nsubj", "dislocated"}, {"punct"}, {"nsubj", "dislocated", "punct"}]
    assert (masks[0] == masks[0, 0]).all()
    assert [labels.names[label] for label in np.flatnonzero(masks[0, 0])] == ["root"]
    # Without tags, or without a table of them, all is as it was.
    words = Encoder.learn(SENTENCES, inputs=(), min_count=1)
    for one, other in ((labels, words), (LabelTable.learn(TREES), encoder)):
        assert one.masks(other).shape == (2, FIRST_ID, 4)
        assert not one.tags(other, other.encode(SENTENCES)[0]).any()


@pytest.mark.usefixtures("every_tag_counts")
def test_a_table_survives_being_kept() -> None:
    labels = LabelTable.learn(TREES).learn_tags(SENTENCES, TREES)
    assert LabelTable.from_state(labels.state()) == labels
    plain = LabelTable.learn(TREES)
    assert "labels_by_tag" not in plain.state()
    assert LabelTable.from_state(plain.state()) == plain


@pytest.mark.usefixtures("every_tag_counts")
@pytest.mark.parametrize("kind", PARSERS)
def test_a_mark_never_seen_bears_the_label_of_marks(kind: str) -> None:
    question = Sentence.of(["sleep", "they", "?"], upos=["VERB", "PRON", "PUNCT"])
    parser = make(kind, min_count=1)
    list(train(parser, EXAMPLES, epochs=1))
    found = {(tree := candidate.output).heads[3] == 0 or tree.labels[3] for candidate in parser.k_best(question, 40)}
    assert found - {True} == {"punct"}
    # Unless somebody knows better, or does not want it.
    fixed = Tree((-1, -1, -1, 1), ("", "", "", "nsubj"))
    assert parser.predict(question, constraint=fixed).labels[3] == "nsubj"
    assert {candidate.output.labels[3] for candidate in parser.k_best(question, 3, constraint=fixed)} == {"nsubj"}
    loose = make(kind, min_count=1, labels_by_tag=False)
    list(train(loose, EXAMPLES, epochs=1))
    assert not loose.grammar.labels.by_tag
    if kind != "graph":  # of the second stage there is one label a tree
        assert len({candidate.output.labels[3] for candidate in loose.k_best(question, 40)}) > 2


@pytest.mark.usefixtures("every_tag_counts")
@pytest.mark.parametrize("kind", PARSERS)
def test_going_on_adds_what_the_new_treebank_has(kind: str) -> None:
    parser = make(kind, min_count=1)
    list(train(parser, EXAMPLES, epochs=1))
    new = Example(SENTENCES[2], Tree.of([2, 0], ["dislocated", "root"]))
    assert names(parser.grammar.labels, "PRON") == {"nsubj"}
    list(train(parser, [new] * 3, epochs=3, warm_start=True))
    assert names(parser.grammar.labels, "PRON") == {"nsubj", "dislocated"}
    assert parser.predict(SENTENCES[2]) == new.gold


def test_more_labels_than_a_model_can_have_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree.of([0, 1, 1], ["root", "a", "b"])
    monkeypatch.setattr(table, "MOST_LABELS", 2)
    with pytest.raises(DataError) as caught:
        LabelTable.learn([tree])
    assert str(caught.value) == (
        "expected at most 2 different labels to train on, found 3; is DEPREL the column that was meant?"
    )
    monkeypatch.setattr(table, "MOST_LABELS", 3)
    known = LabelTable.learn([tree])
    monkeypatch.setattr(table, "LARGEST_MASK", 5)
    with pytest.raises(DataError) as caught:
        known.learn_tags([Sentence.of(["x", "y", "z"], upos=["A", "B", "C"])], [tree])
    assert str(caught.value) == (
        "expected at most 5 pairs of tag and label to train on, found 2 tags and 3 labels; set labels_by_tag to false"
    )
