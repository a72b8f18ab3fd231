from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import sentences as any_sentences
from treetune.corpus.sentence import Sentence
from treetune.features import encoding
from treetune.features.encoding import FIRST_ID, INPUTS, ROOT_ID, UNSEEN, Encoder, normalise, word_shape

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
    assert len(encoder._form_rows) <= 10 + 3


@given(st.lists(any_sentences(), min_size=1, max_size=4), st.lists(any_sentences(), max_size=3))
@settings(max_examples=40)
def test_state_survives_json(known: list[Sentence], new: list[Sentence]) -> None:
    encoder = Encoder.learn(known, min_count=1)
    again = Encoder.from_state(json.loads(json.dumps(encoder.state())))
    assert again == encoder
    assert again.columns == encoder.columns
    assert columns(again, [*known, *new]) == columns(encoder, [*known, *new])


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
