"""The kernels of the tokenizer decide exactly as their twin in plain Python does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer_samples import LINES, examples_of, trained
from tokenizer_twin import Scorer, sentence_ends, split_chunk, word_hash

from treetune.corpus.rawtext import raw_text, surface_tokens
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.characters import KINDS, encode_text, kind_of, lowered
from treetune.models.tokenizer.chunks import find_chunks
from treetune.models.tokenizer.runs import hash_word
from treetune.models.tokenizer.tokenizer import Tokenizer

PIECES = (
    *(
        "I don't",
        "can't",
        "cannot",
        "CANNOT",
        "it's",
        "its",
        "Dr.",
        "e.g.",
        "U.S.",
        "5%",
        "$10.50",
        "10-year",
        "b4",
        "5pm",
        "m16",
        "x" * 30 + "7mm",
        "x" * 60,
    ),
    *(
        "http://a.b/c?d=e",
        "://",
        "x://y",
        ":/",
        "www.x.org",
        "me@x.org",
        "(",
        ")",
        '"',
        "'",
        "!!!",
        "...",
        "?",
        ". ",
        ": ",
        ",",
        " the",
        " A",
    ),
    *(
        " ",
        "  ",
        "\n",
        "\t",
        "\u00a0",
        "é",
        "e\u0301",
        "字",
        "👍🏽",
        "👩\u200d🚀",
        "\u200b",
        "\x00",
        "٣",
        "-",
        "—",
        "/",
        "//",
    ),
)
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def twin(tokenizer: Tokenizer, paragraph: str) -> list[list[tuple[str, list[int]]]]:
    """Return the sentences of a text without paragraphs, as tokens with the places where their words meet."""
    weights = tokenizer.weights
    assert weights is not None
    token_scorer = Scorer(tokenizer._sets["tokens"], weights.tokens)
    sentence_scorer = Scorer(tokenizer._sets["sentences"], weights.sentences)
    chunks = paragraph.split()
    tokens: list[tuple[str, list[int]]] = []
    spaced: list[bool] = []
    for place, chunk in enumerate(chunks):
        before = chunks[place - 1] if place else ""
        after = chunks[place + 1] if place + 1 < len(chunks) else ""
        found = split_chunk(chunk, before, after, token_scorer, weights)
        tokens += found
        spaced += [True] + [False] * (len(found) - 1)
    ends = sentence_ends([form for form, _ in tokens], spaced, sentence_scorer, weights)
    return [tokens[first:last] for first, last in zip([0, *(e + 1 for e in ends)], [e + 1 for e in ends], strict=False)]


def found(tokenizer: Tokenizer, text: str) -> list[list[tuple[str, list[int]]]]:
    sentences = []
    for sentence in tokenizer.sentences(text, line_sentences=False):
        tokens = []
        for token in surface_tokens(sentence):
            lengths = [len(word) for word in sentence.forms[token.first : token.last]]
            tokens.append((token.form, np.cumsum(lengths)[:-1].tolist()))
        sentences.append(tokens)
    return sentences


@settings(max_examples=150)
@given(texts)
def test_tokens_and_sentences_are_those_of_the_twin(text: str) -> None:
    paragraph = re.sub(r"\s*\n\s*\n\s*", " ", text)
    assert found(trained(), paragraph) == twin(trained(), paragraph)


def test_the_training_text_is_as_the_twin_has_it_and_mostly_right() -> None:
    examples = examples_of(LINES)
    for example in examples:
        text = raw_text([example.sentence])
        assert found(trained(), text) == twin(trained(), text)
    # The decisions are no constant: words are split, tokens end without a space, sentences end within a line.
    result = found(trained(), raw_text(example.sentence for example in examples[3:6]))
    forms = [form for sentence in result for form, _ in sentence]
    assert ("cannot", [3]) in [token for sentence in result for token in sentence]
    assert forms.count("!!!") == 1
    assert len(result) >= 2


@given(st.text("abAB .\n\r\t\x0c\u2028\u2029é-", max_size=40))
def test_chunks_are_runs_without_white_space(text: str) -> None:
    starts, ends, gaps = find_chunks(encode_text(text))
    assert [text[start:end] for start, end in zip(starts, ends, strict=True)] == text.split()
    for place in range(1, len(starts)):
        between = text[ends[place - 1] : starts[place]]
        breaks = re.sub(r"\r\n", "\n", between)
        lines = sum(2 if character in "\x0c\u2029" else character in "\n\r\u2028" for character in breaks)
        assert gaps[place] == (kernels.PARAGRAPH if lines > 1 else kernels.LINE if lines else kernels.BLANK)


@given(st.text(max_size=30))
def test_a_hash_is_the_same_in_kernels_and_in_the_learner(word: str) -> None:
    lower = "".join(map(lowered, word))
    assert hash_word(lower) == word_hash(word[:24])


@pytest.mark.parametrize(
    ("character", "kind"),
    [
        ("a", "lower"), ("Ä", "upper"), ("字", "letter"), ("\u0301", "mark"), ("\u200d", "joiner"), ("٣", "digit"),
        ("\u200c", "joiner"), ("\u00ad", "joiner"), ("।", "end"), ("۔", "end"), ("،", "comma"),
        ("½", "number"), (".", "stop"), ("？", "end"), (";", "comma"), ("’", "apostrophe"), ("»", "quote"),
        ("–", "hyphen"), ("/", "slash"), ("@", "at"), ("[", "open"), (")", "close"), ("%", "punctuation"),
        ("€", "currency"), ("+", "symbol"), ("🙂", "picture"), ("\x00", "control"), ("\u200b", "control"),
        ("\u00a0", "space"), ("\u3000", "space"), ("🏽", "mark"),
    ],
)  # fmt: skip
def test_kinds_of_characters(character: str, kind: str) -> None:
    assert kind_of(character) == kind
    assert KINDS[encode_text(character).kinds[0]] == kind


def test_lower_case_is_one_character_and_digits_look_alike() -> None:
    assert [lowered(character) for character in "Aa7٣İß"] == ["a", "a", "0", "0", "İ", "ß"]
