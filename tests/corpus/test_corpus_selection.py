"""Which sentences are kept: by length, once each, and none of a file to exclude."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetune.corpus.selection import EXCLUDED, LONG, REPEATED, SHORT, Selection, fingerprint, fingerprints
from treetune.corpus.sentence import Sentence
from treetune.corpus.treebank import write_trees
from treetune.errors import ConfigError
from treetune.sample import generate

WORDS = ["Who", "who", "WHO", "ran", "Straße", "STRASSE", "?", "!", "…", "1", "字"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=5)


def plain(words: list[str]) -> str:
    """Return what two sentences must have in common to be the same."""
    text = "".join(words)
    return ("".join(letter for letter in text if letter.isalnum()) or text).lower()


@given(st.lists(TEXTS, max_size=30), st.lists(TEXTS, max_size=3), st.integers(1, 3), st.integers(3, 5), st.booleans())
def test_sentences_are_kept_as_a_list_of_all_that_went_before_says(
    texts: list[list[str]], excluded: list[list[str]], shortest: int, longest: int, duplicates: bool
) -> None:
    selection = Selection(shortest, longest, duplicates, frozenset(map(fingerprint, excluded)))
    kept: list[str] = []
    reasons: list[str] = []
    for words in texts:
        reason = ""
        if not shortest <= len(words) <= longest:
            reason = SHORT if len(words) < shortest else LONG
        elif plain(words) in map(plain, excluded):
            reason = EXCLUDED
        elif plain(words) in kept and not duplicates:
            reason = REPEATED
        else:
            kept.append(plain(words))
        reasons.append(reason)
        assert selection.keeps(Sentence.of(words)) == (not reason)
    assert selection.left_out == {reason: reasons.count(reason) for reason in set(reasons) - {""}}


def test_other_sentences_have_other_fingerprints() -> None:
    assert fingerprint(["It", "'s", "so", "."]) == fingerprint(["it's", "SO!"])
    assert len({fingerprint(words) for words in (["a"], ["b"], ["?"], ["!"], ["…"], [], ["a", "b"])}) == 7
    assert fingerprint(["\ud800"])


def test_files_to_exclude_are_treebanks_or_text_with_a_sentence_a_line(tmp_path: Path) -> None:
    examples = generate(5, seed=1)
    write_trees(examples, tmp_path / "test.conllu.zst")
    with gzip.open(tmp_path / "test.txt.gz", "wt", encoding="utf-8") as text:
        text.write("WHO ran?\n\nwho ran ?\n")
    expected = {fingerprint(example.sentence.forms[1:]) for example in examples} | {fingerprint(["who", "ran"])}
    assert fingerprints([tmp_path / "test.conllu.zst", tmp_path / "test.txt.gz"]) == expected


def test_lengths_that_no_sentence_has() -> None:
    with pytest.raises(ConfigError) as caught:
        Selection(5, 4)
    assert str(caught.value) == "the least length of a sentence, 5, is above the largest, 4; change one of them"
