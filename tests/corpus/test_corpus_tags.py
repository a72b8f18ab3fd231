"""Tags, the columns they come from, and what taggers are trained on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from strategies import examples as some_examples
from treetune.corpus.sentence import ROOT, Example, Sentence, Tree
from treetune.corpus.tags import Tagged, Tags, check_columns, hide_columns, tagged, tags_of, with_tags
from treetune.errors import ConfigError, DataError

SENTENCE = Sentence.of(["Dogs", "bark"], upos=["NOUN", "_"], xpos=["NNS", "_"], feats=["Number=Plur", "_"])
WITH_MISC = replace(SENTENCE, misc=(ROOT, "SpaceAfter=No|ner=B-x", "_"))


def test_tags_count_words_and_stand_beside_them() -> None:
    tags = Tags.of(["NOUN NNS", ""])
    assert len(tags) == 2
    assert tags.values == (ROOT, "NOUN NNS", "")
    assert (tags.column(0), tags.column(1)) == ((ROOT, "NOUN", ""), (ROOT, "NNS", ""))
    assert not tags.is_complete
    assert not Tags.of(["NOUN "]).is_complete
    assert Tags.of(["NOUN NNS", "_ _"]).is_complete
    assert Tags.unknown(2) == Tags.of(["", ""])
    assert len({tags, Tags.of(["NOUN NNS", ""])}) == 1


def test_an_underscore_says_unknown_in_upos_and_is_a_value_elsewhere() -> None:
    assert tags_of(SENTENCE, ("upos",)) == Tags.of(["NOUN", ""])
    assert tags_of(SENTENCE, ("xpos",)) == Tags.of(["NNS", "_"])
    assert tags_of(SENTENCE, ("upos", "feats")) == Tags.of(["NOUN Number=Plur", " _"])
    assert tags_of(WITH_MISC, ("ner",)) == Tags.of(["B-x", ""])


def test_tagged_sentences_do_not_show_their_gold() -> None:
    (found,) = tagged([Example(WITH_MISC, Tree.unknown(2))], ("xpos", "ner"))
    assert found == Tagged(replace(WITH_MISC.without("xpos"), misc=(ROOT, "SpaceAfter=No", "_")), found.gold)
    assert found.gold == Tags.of(["NNS B-x", "_ "])
    assert tagged([WITH_MISC], ("xpos", "ner")) == [found]


@given(example=some_examples())
def test_tags_go_back_where_they_came_from(example: Example) -> None:
    sentence = example.sentence
    for columns in (("upos",), ("xpos", "feats"), ("upos", "xpos", "feats")):
        hidden = hide_columns(sentence, columns)
        assert with_tags(hidden, tags_of(sentence, columns), columns) == sentence


def test_unknown_tags_change_nothing_and_misc_is_kept() -> None:
    assert with_tags(SENTENCE, Tags.of(["", "VERB"]), ("upos",)).upos == (ROOT, "NOUN", "VERB")
    found = with_tags(WITH_MISC, Tags.of(["O", "B-y"]), ("ner",))
    assert found.misc == (ROOT, "SpaceAfter=No|ner=O", "ner=B-y")
    assert with_tags(WITH_MISC, Tags.of(["", ""]), ("ner",)) == WITH_MISC


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(DataError, match=r"^expected tags of 2 words, found 1$"):
        with_tags(SENTENCE, Tags.of(["NOUN"]), ("upos",))
    with pytest.raises(ConfigError, match=r"^columns: expected names such as"):
        check_columns([])
    with pytest.raises(ConfigError, match=r"^columns: expected names such as .* found 'upos'$"):
        tagged([SENTENCE], "upos")
