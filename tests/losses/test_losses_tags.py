"""Losses of taggers: what they cost by hand, what they need, and that they train taggers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.tags import Tags
from treetune.errors import ConfigError, DataError
from treetune.losses import EntityF1, EntityHamming, Function, MainVerb, Reordering, Root, Weighted, make_loss

QUESTION = Sentence.of(["What", "do", "you", "want", "to", "see", "?"])
WANT = Tree.of([-1, -1, -1, 0, -1, -1, -1])


def tags(text: str) -> Tags:
    return Tags.of(text.split())


@pytest.mark.parametrize(
    ("text", "cost", "anywhere"),
    [
        ("PRON AUX PRON VERB PART VERB PUNCT", 0, 0),
        ("PRON VERB PRON VERB PART VERB PUNCT", 1, 0),
        ("PRON AUX PRON NOUN PART VERB PUNCT", 1, 1),
        ("PRON AUX PRON AUX PART VERB PUNCT", 0, 0),
        ("WP VBP PRP VB TO VB .", 1, 0),
        ("WP MD PRP VB TO VB .", 0, 0),
    ],
)
def test_the_main_verb_is_a_verb_before_which_there_is_none(text: str, cost: float, anywhere: float) -> None:
    assert MainVerb()(QUESTION, tags(text), WANT) == cost
    assert MainVerb(first=False)(QUESTION, tags(text), WANT) == anywhere


def test_of_joint_tags_any_part_will_do() -> None:
    joint = Tags.of(f"{tag} X" for tag in ["PRON", "AUX", "PRON", "VERB", "PART", "VERB", "PUNCT"])
    assert MainVerb().costs(QUESTION, [joint, tags("X X X X X X X")], WANT) == [0, 1]


def test_which_tags_are_verbs_is_an_option() -> None:
    answer = tags("P A P V T V .")
    assert MainVerb()(QUESTION, answer, WANT) == 1
    assert MainVerb(verbs=("V",), auxiliaries=("A",))(QUESTION, answer, WANT) == 0
    made = make_loss("main-verb", verbs=["V"], auxiliaries=["A"], first=False)
    assert made.settings() == {"name": "main-verb", "verbs": ["V"], "auxiliaries": ["A"], "first": False}
    assert make_loss(**made.settings()).settings() == made.settings()


NAMES = Sentence.of(["Ada", "Lovelace", "met", "Monday"])
ADA = Tags.of(["B-PER", "I-PER", "O", "O"])


@pytest.mark.parametrize(
    ("text", "cost", "inside"),
    [
        ("PROPN PROPN VERB NOUN", 0, 0),
        ("NOUN PROPN VERB NOUN", 1 / 4, 1 / 2),
        ("PROPN PROPN VERB PROPN", 1 / 4, 0),
        ("NOUN NOUN VERB PROPN", 3 / 4, 1),
        ("NNP NNPS VBD NN", 0, 0),
    ],
)
def test_words_of_entities_are_proper_nouns_and_others_are_not(text: str, cost: float, inside: float) -> None:
    assert EntityHamming()(NAMES, tags(text), ADA) == cost
    assert EntityHamming(outside=False)(NAMES, tags(text), ADA) == inside


def test_without_entities_only_what_is_outside_can_be_wrong() -> None:
    nothing = Tags.of(["O"] * 4)
    assert EntityHamming()(NAMES, tags("PROPN X X X"), nothing) == 1 / 4
    assert EntityHamming(outside=False)(NAMES, tags("PROPN X X X"), nothing) == 0
    assert EntityHamming(proper=("X",))(NAMES, tags("PROPN X X X"), nothing) == 3 / 4
    assert make_loss(**EntityHamming(outside=False).settings()).settings() == EntityHamming(outside=False).settings()


class ProperNouns:
    """A NER model to which every proper noun is a person."""

    def predict_batch(self, sentences: Sequence[Sentence]) -> list[Tags]:
        return [
            Tags.of("B-PER" if tag == "PROPN" and before != "PROPN" else "I-PER" if tag == "PROPN" else "O"
                    for before, tag in zip(sentence.upos, sentence.upos[1:], strict=False))
            for sentence in sentences
        ]  # fmt: skip


def test_entity_f1_asks_the_model_with_the_tags_in_their_column() -> None:
    loss = EntityF1(model=ProperNouns())
    outputs = [tags("PROPN PROPN VERB NOUN"), tags("PROPN PROPN VERB PROPN"), tags("X X X X")]
    assert loss.costs(NAMES, outputs, ADA) == pytest.approx([0, 1 - 2 / 3, 1])
    assert loss(NAMES, outputs[2], Tags.of(["O"] * 4)) == 0
    assert loss.settings() == {"name": "entity-f1", "columns": ["upos"]}
    other = EntityF1(model=ProperNouns(), columns=["xpos"])
    assert other(NAMES, outputs[0], ADA) == 1


def test_a_sum_of_entity_losses() -> None:
    loss = Weighted([(1, EntityHamming()), (2, EntityF1(model=ProperNouns()))])
    assert loss.reference == "entities"
    assert loss(NAMES, tags("PROPN PROPN VERB PROPN"), ADA) == pytest.approx(1 / 4 + 2 / 3)
    message = "the parts of loss weighted must be for the same references, found entities and tree"
    with pytest.raises(ConfigError, match=f"^{message}$"):
        Weighted([(1, EntityHamming()), (1, MainVerb())])
    assert Weighted([(1, Root())]).reference == "tree"


def test_what_is_priced_is_known_before_anything_is() -> None:
    assert [loss.output for loss in (MainVerb(), EntityHamming(), Root(), Reordering())] == [
        "tags",
        "tags",
        "tree",
        "tree",
    ]
    assert Function(lambda sentence, output, reference: 0).output == "any"
    assert Weighted([(1, MainVerb()), (1, lambda sentence, output, reference: 0)]).output == "tags"
    with pytest.raises(
        ConfigError, match=r"^the parts of loss weighted must be for the same outputs, found tags and tree$"
    ):
        Weighted([(1, MainVerb()), (1, Root())])
    with pytest.raises(DataError, match=r"^loss root expects trees as output, found Tags$"):
        Root()(QUESTION, tags("X X X X X X X"), WANT)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("loss", "reference", "message"),
    [
        (
            MainVerb(),
            Tree.of([-1] * 7),
            "loss main-verb needs a reference with exactly one root (a word with head 0), found 0",
        ),
        (MainVerb(), Tree.of([0]), "expected a reference tree of 7 words, found 1"),
        (MainVerb(), tags("X"), "loss main-verb expects a tree as reference, found Tags"),
        (EntityHamming(), WANT, "loss entity-hamming expects entity tags as reference, found Tree"),
        (EntityF1(model=ProperNouns()), tags("O"), "expected reference tags of 7 words, found 1"),
    ],
)  # fmt: skip
def test_a_reference_that_cannot_serve(loss: Any, reference: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        loss.check(QUESTION, reference)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (tags("X"), "expected predicted tags of 7 words, found 1"),
        (WANT, "loss main-verb expects tags as output, found Tree"),
    ],
)
def test_an_output_that_does_not_fit(output: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}$"):
        MainVerb()(QUESTION, output, WANT)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("main-verb", {"verbs": "VERB"}, "verbs must be a list of tags, found 'VERB'"),
        ("main-verb", {"auxiliaries": []}, "auxiliaries must be a list of tags, found []"),
        ("entity-hamming", {"proper": [1]}, "proper must be a list of tags, found [1]"),
        ("entity-f1", {}, "loss entity-f1 needs the option 'model'"),
        (
            "entity-f1",
            {"model": "x.treetune"},
            "loss entity-f1 needs a trained NER model, found 'x.treetune'; load it first",
        ),
    ],
)  # fmt: skip
def test_wrong_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        make_loss(name, **options)
