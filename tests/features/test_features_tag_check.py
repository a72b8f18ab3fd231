"""Tags of another tag set: what the encoder makes of them, and when it warns."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from treetune.corpus.conllu import format_conllu
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.table import read_tables
from treetune.features.encoding import Encoder

WORDS = ["a", "dog", "cat", "sees"]
KNOWN = Sentence.of(WORDS, upos=["DET", "NOUN", "NOUN", "VERB"], xpos=["DT", "NN", "NN", "VBZ"])
OTHER = Sentence.of(WORDS, upos=["DET", "NOUN", "NOUN", "VERB"], xpos=["DT", "NNS", "NN", "VBZ"])
RENAMED = Sentence.of(WORDS, upos=["DET", "NOUN", "NOUN", "VERB"], xpos=["art", "noun", "noun", "verb"])
HINT = (
    "and results will be worse; have them predicted, by 'treetune tag' or 'treetune parse --retag' (with --tagger "
    "MODEL if the model has no tagger), or train without XPOS (--set model.inputs=upos)"
)


@pytest.fixture
def encoder() -> Encoder:
    return Encoder.learn([KNOWN, KNOWN, OTHER])


def tags(encoder: Encoder, sentences: list[Sentence], column: str) -> list[int]:
    numbers: list[int] = encoder.encode(sentences)[0][encoder.columns.index(column)].tolist()
    return numbers


@pytest.mark.parametrize("column", ["t", "u", "x"])
def test_an_unknown_xpos_is_the_most_frequent_one_of_its_upos(encoder: Encoder, column: str, tmp_path: Path) -> None:
    wanted = tags(encoder, [KNOWN, OTHER], column)
    assert tags(encoder, [RENAMED, OTHER], column) == wanted
    # The same from a table, which has no roots.
    text = "".join(format_conllu(sentence, Tree.unknown(4)) for sentence in (RENAMED, OTHER))
    (tmp_path / "in.conllu").write_text(text)
    (table,) = read_tables(tmp_path / "in.conllu", size=10)
    found = encoder.encode(table)[0][encoder.columns.index(column)].tolist()
    assert found == wanted


def test_without_a_known_upos_it_stays_unknown(encoder: Encoder) -> None:
    strange = Sentence.of(WORDS, upos=["D", "N", "N", "V"], xpos=["art", "noun", "noun", "verb"])
    assert tags(encoder, [strange], "x")[1:] == tags(encoder, [strange], "t")[1:] == [2, 2, 2, 2]


def test_many_unknown_tags_are_warned_of_once(encoder: Encoder) -> None:
    with pytest.warns(UserWarning, match="^100% of the XPOS") as caught:
        encoder.encode([RENAMED] * 300)
    assert str(caught[0].message) == f"100% of the XPOS tags, such as 'noun', are not known to the model, {HINT}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(encoder.encode([RENAMED] * 300)) == 2


def test_missing_tags_are_said_to_be_missing(encoder: Encoder) -> None:
    with pytest.warns(UserWarning, match="^50% of the words") as caught:
        encoder.encode([KNOWN.without("xpos"), KNOWN] * 20)
    assert str(caught[0].message) == (f"50% of the words have no XPOS tag, which the model was trained with, {HINT}")


@pytest.mark.parametrize(
    "sentences", [[KNOWN] * 50, [RENAMED] * 2, [KNOWN] * 250 + [RENAMED] * 250, [RENAMED] + [KNOWN] * 50]
)
def test_a_few_unknown_tags_are_no_reason_to_warn(encoder: Encoder, sentences: list[Sentence]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoder.encode(sentences)[1][-1] == 5 * len(sentences)
