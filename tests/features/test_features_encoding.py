from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import sentences as any_sentences
from strategies import trees
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError, DataError, ModelError
from treetune.features import encoding
from treetune.features.clusters import CLUSTER_COLUMNS
from treetune.features.encoding import (
    COLUMNS,
    FIRST_ID,
    INPUTS,
    ROOT_ID,
    UNSEEN,
    USUAL_COLUMNS,
    Encoder,
    encode_base_heads,
    normalise,
    word_shape,
)

DOG = Sentence.of(
    ["The", "dog", "saw", "the", "dog"],
    upos=["DET", "NOUN", "VERB", "DET", "NOUN"],
    xpos=["DT", "NN", "VBD", "DT", "NN"],
    feats=["_", "Number=Sing", "Tense=Past", "_", "Number=Sing"],
)


def columns(encoder: Encoder, sentences: Sequence[Sentence]) -> dict[str, list[int]]:
    encoded, _ = encoder.encode(sentences)
    return dict(zip(encoder.columns, encoded.tolist(), strict=True))


def strings(encoder: Encoder, sentence: Sentence) -> dict[str, list[str]]:
    """Return what each column says of the words, as strings."""

    def name(column: str, number: int) -> str:
        return "?" if number == UNSEEN else encoder.values[column][number - FIRST_ID]

    found = columns(encoder, [sentence])
    return {column: [name(column, number) for number in numbers[1:]] for column, numbers in found.items()}


def test_columns_say_what_the_words_are() -> None:
    found = strings(Encoder.learn([DOG], min_count=1), DOG)
    assert found == {
        "w": ["The", "dog", "saw", "the", "dog"],
        "suffix": ["the", "dog", "saw", "the", "dog"],
        "prefix": ["th", "do", "sa", "th", "do"],
        "shape": ["Xxx", "xx", "xx", "xx", "xx"],
        "t": ["DET+DT", "NOUN+NN", "VERB+VBD", "DET+DT", "NOUN+NN"],
        "u": ["DET", "NOUN", "VERB", "DET", "NOUN"],
        "x": ["DT", "NN", "VBD", "DT", "NN"],
        "f": ["_", "Number=Sing", "Tense=Past", "_", "Number=Sing"],
    }


def test_columns_of_tags_that_nobody_reads_are_left_out() -> None:
    encoder = Encoder.learn([DOG], min_count=1)
    whole, offsets = encoder.encode([DOG, DOG])
    part, same_offsets = encoder.encode([DOG, DOG], {"w", "u"})
    assert same_offsets.tolist() == offsets.tolist()
    words = np.ones(len(whole[0]), np.bool_)
    words[offsets[:-1]] = False
    for column, expected, found in zip(encoder.columns, whole, part, strict=True):
        if column in ("t", "x", "f"):
            assert not found[words].any(), column
        else:
            assert found.tolist() == expected.tolist(), column


def test_token_zero_is_the_root_in_every_column_and_offsets_cut_the_corpus() -> None:
    encoder = Encoder.learn([DOG])
    encoded, offsets = encoder.encode([DOG, Sentence.of([]), DOG])
    assert offsets.tolist() == [0, 6, 7, 13]
    assert (encoded[:, [0, 6, 7]] == ROOT_ID).all()
    assert (encoded[:, 1:6] > ROOT_ID).all()
    assert (encoded[:, :6] == encoded[:, 7:]).all()
    assert encoder.encode([])[0].shape == (len(encoder.columns), 0)


@pytest.mark.parametrize(
    ("absent", "expected"),
    [
        ((), "t u x f"),
        (("upos",), "t x f"),
        (("xpos",), "t u f"),
        (("feats",), "t u x"),
        (("upos", "xpos"), "f"),
        (("upos", "feats"), "t x"),
        (("upos", "xpos", "feats"), ""),
    ],
)
def test_absent_columns_are_left_out_and_the_joint_tag_is_what_remains(absent: tuple[str, ...], expected: str) -> None:
    sentence = DOG.without(*absent)
    encoder = Encoder.learn([sentence], min_count=1)
    assert encoder.columns == ("w", "suffix", "prefix", "shape", *expected.split())
    assert encoder.inputs == tuple(name for name in INPUTS if name not in absent)
    found = strings(encoder, sentence)
    assert all("?" not in values for values in found.values())
    if "t" in encoder.columns:
        assert len(set(found["t"])) == 3


@pytest.mark.parametrize("inputs", [("upos",), ("xpos",), ("feats",), ("upos", "feats"), ()])
def test_inputs_left_out_are_like_absent_ones(inputs: tuple[str, ...]) -> None:
    absent = [name for name in INPUTS if name not in inputs]
    chosen = Encoder.learn([DOG], inputs=inputs, min_count=1)
    assert chosen == Encoder.learn([DOG.without(*absent)], min_count=1)
    assert columns(chosen, [DOG]) == columns(chosen, [DOG.without(*absent)])


def test_what_was_not_seen_is_unseen_and_rare_words_too() -> None:
    encoder = Encoder.learn([DOG], min_count=2)
    assert strings(encoder, DOG)["w"] == ["?", "dog", "?", "?", "dog"]
    assert strings(encoder, DOG)["suffix"] == ["the", "dog", "?", "the", "dog"]
    new = Sentence.of(["zzz"], upos=["X"], xpos=["Y"], feats=["Z"])
    assert {column: numbers[1] for column, numbers in columns(encoder, [new]).items()} == {
        **dict.fromkeys(encoder.columns, UNSEEN),
        "shape": FIRST_ID,
    }


def test_a_word_that_looks_like_the_root_is_none() -> None:
    sentence = Sentence.of(["<root>", "a"])
    encoder = Encoder.learn([sentence], min_count=1)
    assert columns(encoder, [sentence])["w"] == [ROOT_ID, UNSEEN, FIRST_ID]


def test_numbers_depend_on_counts_not_on_order() -> None:
    words = ["b", "a", "a", "c", "b", "a"]
    one = Encoder.learn([Sentence.of(words)], min_count=1)
    other = Encoder.learn([Sentence.of([word]) for word in reversed(words)], min_count=1)
    assert one == other
    assert one.values["w"] == ["a", "b", "c"]


def test_the_cache_of_forms_is_bounded_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder.learn([DOG], min_count=1)
    many = [Sentence.of([f"word{i}", "dog"]) for i in range(50)]
    expected = columns(encoder, many)
    monkeypatch.setattr(encoding, "LARGEST_CACHE", 10)
    found = [columns(encoder, [sentence]) for sentence in many]
    assert {c: [n for one in found for n in one[c]] for c in encoder.columns} == expected
    assert len(encoder._forms) <= 10 + 3


@given(st.lists(any_sentences(), min_size=1, max_size=4), st.lists(any_sentences(), max_size=3))
@settings(max_examples=40)
def test_state_survives_json(known: list[Sentence], new: list[Sentence]) -> None:
    encoder = Encoder.learn(known, min_count=1)
    again = Encoder.from_state(json.loads(json.dumps(encoder.state())))
    assert again == encoder
    assert again.columns == encoder.columns
    assert columns(again, [*known, *new]) == columns(encoder, [*known, *new])


def of_one_word(form: str, column: str) -> str:
    sentence = Sentence.of([form])
    return strings(Encoder.learn([sentence], min_count=1, columns=[column]), sentence)[column][0]


@pytest.mark.parametrize(
    ("form", "p5"),
    [("Parsers", "parse"), ("Parse", "parse"), ("He", "he"), ("2005-X", "0000-"), ("İstanbul", "i̇sta"), ("", "")],
)
def test_p5_is_the_first_five_characters_or_the_whole_word(form: str, p5: str) -> None:
    assert of_one_word(form, "p5") == p5


@pytest.mark.parametrize(("form", "lower"), [("iPhone12", "iphone00"), ("usa", "usa"), ("Größe", "größe")])
def test_lower_is_the_whole_form_without_case_and_digits(form: str, lower: str) -> None:
    assert of_one_word(form, "lower") == lower


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, ("w", "suffix", "prefix", "shape", "t", "u", "x", "f")),
        (("lower", "w", "p5", "t"), ("w", "p5", "lower", "t")),
        (("x", "g"), ("x", "g")),
        (("t",), ("t",)),
        (("shape", "shape"), ("shape",)),
        ((), ()),
        (COLUMNS, tuple(column for column in COLUMNS if column not in CLUSTER_COLUMNS)),
    ],
)
def test_only_the_columns_asked_for_are_kept(chosen: Sequence[str] | None, expected: tuple[str, ...]) -> None:
    sentences = [replace(DOG, base_tree=Tree.of([2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"]))]
    every = Encoder.learn(sentences, min_count=1, columns=COLUMNS)
    encoder = Encoder.learn(sentences, min_count=1, columns=chosen)
    assert encoder.columns == expected
    assert encoder.inputs == INPUTS
    assert columns(encoder, sentences) == {column: columns(every, sentences)[column] for column in expected}
    assert encoder.encode([])[0].shape == (len(expected), 0)


def test_a_column_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        Encoder.learn([DOG], columns=["w", "sufix"])
    known = ", ".join(sorted(COLUMNS))
    assert str(caught.value) == f"unknown column 'sufix'; known: {known} (did you mean 'suffix'?)"


def test_a_column_asked_for_is_left_out_where_the_treebank_has_nothing_for_it() -> None:
    encoder = Encoder.learn([DOG.without("xpos")], columns=["w", "x", "t", "g"])
    assert encoder.columns == ("w", "t")
    assert not encoder.is_stacked


STACKED = replace(DOG, base_tree=Tree.of([2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"]))


def test_the_base_tree_gives_a_column_of_labels() -> None:
    encoder = Encoder.learn([STACKED], columns=(*USUAL_COLUMNS, "g"))
    assert encoder.is_stacked
    assert strings(encoder, STACKED)["g"] == ["det", "nsubj", "root", "det", "obj"]
    other = replace(DOG, base_tree=Tree.of([0, 1, 1, 1, 1], ["root", "obj", "", "punct", "det"]))
    assert strings(encoder, other)["g"] == ["root", "obj", "?", "?", "det"]
    assert columns(encoder, [other])["g"][0] == ROOT_ID


def test_a_base_tree_without_labels_is_a_base_tree() -> None:
    bare = replace(DOG, base_tree=Tree.of([2, 3, 0, 5, 3]))
    encoder = Encoder.learn([bare], columns=["g"])
    assert encoder.is_stacked
    assert columns(encoder, [bare])["g"] == [ROOT_ID] + [FIRST_ID] * 5


def test_base_trees_nobody_asked_for_change_nothing() -> None:
    assert Encoder.learn([STACKED]) == Encoder.learn([DOG]) == Encoder.learn([STACKED, DOG, DOG][:1])
    assert columns(Encoder.learn([DOG]), [STACKED]) == columns(Encoder.learn([DOG]), [DOG])
    Encoder.learn([STACKED, DOG])  # without the column a base may be missing


def test_an_encoder_of_base_trees_refuses_sentences_without() -> None:
    encoder = Encoder.learn([STACKED], columns=["w", "g"])
    for refuse in (encoder.encode, encode_base_heads):
        with pytest.raises(ModelError) as caught:
            refuse([STACKED, DOG])
        assert str(caught.value) == (
            "this model was trained with the trees of a base parser; "
            "give them with --base FILE, in Python with treetune.corpus.with_base_trees"
        )


def test_some_sentences_with_and_some_without_base_trees_are_refused() -> None:
    with pytest.raises(DataError) as caught:
        Encoder.learn([STACKED, STACKED, DOG, DOG], columns=["g"])
    assert str(caught.value) == (
        "sentence 3 of the treebank has no base tree, but others have one; give base trees to all sentences or to none"
    )


def test_a_base_tree_of_another_length_is_refused() -> None:
    wrong = replace(DOG, base_tree=Tree.of([0, 1]))
    encoder = Encoder.learn([STACKED], columns=["g"])
    for refuse in (encoder.encode, encode_base_heads, lambda them: Encoder.learn(them, columns=["g"])):
        with pytest.raises(DataError, match=r"^expected a base tree of 5 words, found one of 2$"):
            refuse([wrong])


@given(st.lists(any_sentences(), max_size=4), st.data())
@settings(max_examples=30)
def test_heads_of_base_trees_stand_where_encode_puts_the_tokens(drawn: list[Sentence], data: st.DataObject) -> None:
    sentences = [replace(sentence, base_tree=data.draw(trees(size=len(sentence)))) for sentence in drawn]
    _, offsets = Encoder(INPUTS, {"w": []}).encode(sentences)
    heads = encode_base_heads(sentences)
    assert heads.dtype == np.int32
    assert len(heads) == offsets[-1]
    for sentence, start, end in zip(sentences, offsets[:-1], offsets[1:], strict=True):
        assert sentence.base_tree is not None
        assert tuple(heads[start:end]) == sentence.base_tree.heads


def test_an_encoder_of_an_old_file_has_the_columns_it_was_saved_with() -> None:
    state = {
        "inputs": ["upos"],
        "values": {"t": ["X"], "u": ["X"], "w": ["a"], "prefix": [], "suffix": [], "shape": []},
    }
    encoder = Encoder.from_state(state)
    assert encoder.columns == ("w", "suffix", "prefix", "shape", "t", "u")
    assert columns(encoder, [Sentence.of(["a"], upos=["X"])]) == {
        "w": [ROOT_ID, FIRST_ID],
        **{column: [ROOT_ID, UNSEEN] for column in ("suffix", "prefix", "shape")},
        "t": [ROOT_ID, FIRST_ID],
        "u": [ROOT_ID, FIRST_ID],
    }


def test_an_encoder_can_be_copied_to_another_process() -> None:
    encoder = Encoder.learn([DOG], min_count=1)
    expected = columns(encoder, [DOG])
    again = pickle.loads(pickle.dumps(encoder))
    assert again == encoder
    assert columns(again, [DOG, Sentence.of(["new"])])["w"][:6] == expected["w"]


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        ("Apple-2", "Xxx-d"),
        ("USA", "XX"),
        ("2,000", "d,dd"),
        ("...", ".."),
        ("", ""),
        ("aBcDeFgHiJ", "xXxXxXxX"),
    ],
)
def test_shapes(form: str, shape: str) -> None:
    assert word_shape(form) == shape


def test_digits_look_alike() -> None:
    assert normalise("A1-23") == "A0-00"


def test_long_forms_are_not_kept() -> None:
    sentences = [Sentence.of(["a", "x" * encoding.LONGEST_CACHED, "x" * (encoding.LONGEST_CACHED + 1)])]
    encoder = Encoder.learn(sentences, min_count=1)
    columns, _ = encoder.encode(sentences)
    assert [len(form) for form in encoder._forms] == [len("<root>"), 1, encoding.LONGEST_CACHED]
    assert (encoder.encode(sentences)[0] == columns).all()
    assert len(set(columns[0].tolist())) == 4
