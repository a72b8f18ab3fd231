"""Multiword tokens whose words are not written one after the other."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from tokenizer_samples import examples_of, sentence_of

from treetune.corpus.rawtext import raw_text
from treetune.corpus.sentence import Example, Tree
from treetune.learning.tokenizer_training import train_tokenizer
from treetune.models.tokenizer.multiword import MultiwordTable
from treetune.models.tokenizer.tokenizer import Tokenizer

SEEN = [
    ("du", ("de", "le")),
    ("Du", ("De", "le")),
    ("le", ("le",)),
    ("don't", ("do", "n't")),
    *((f"{stem}arlo", (f"{stem}ar", "lo")) for stem in ("habl", "cant", "salt")),
    *((f"{stem}árselo", (f"{stem}ar", "se", "lo")) for stem in ("compr", "llev", "mand")),
]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("du", ("de", "le")),
        ("Du", ("De", "le")),
        ("DU", ("DE", "LE")),
        ("le", ("le",)),
        ("don't", ("don't",)),
        ("comprárselo", ("comprar", "se", "lo")),
        ("Pintárselo", ("Pintar", "se", "lo")),
        ("árselo", ("árselo",)),
        ("dué", ("dué",)),
    ],
)
def test_tokens_and_endings_that_were_seen_are_split(form: str, words: tuple[str, ...]) -> None:
    table = MultiwordTable.learn(SEEN)
    assert table.split(form) == words
    assert MultiwordTable.from_state(table.state()) == table


def test_an_ending_that_others_have_whole_is_not_split() -> None:
    whole = [(f"{stem}árselo", (f"{stem}árselo",)) for stem in ("xxx", "yyy", "zzz")]
    assert MultiwordTable.learn([*SEEN, *whole]).split("pintárselo") == ("pintárselo",)


def test_the_usual_way_wins() -> None:
    table = MultiwordTable.learn([("au", ("au",)), ("au", ("à", "le")), ("au", ("à", "le"))])
    assert table.split("au") == ("à", "le")
    assert not MultiwordTable.learn([("au", ("au",)), ("au", ("au",)), ("au", ("à", "le"))])


def test_a_tokenizer_writes_them_as_ranges() -> None:
    line = replace(sentence_of("Il parle de le chat ~."), multiword=((3, "3-4\tdu\t" + "_\t" * 7 + "_"),))
    treebank = [*examples_of("Il parle ~.\nIl mange ~."), Example(line, Tree.unknown(len(line)))] * 10
    tokenizer = Tokenizer()
    for _ in train_tokenizer(tokenizer, treebank, epochs=3):
        pass
    (sentence,) = tokenizer.sentences("Il parle du chat.")
    assert sentence.forms[1:] == ("Il", "parle", "de", "le", "chat", ".")
    assert sentence.multiword == ((3, "3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_"),)
    assert raw_text([sentence]) == "Il parle du chat."


def test_a_long_token_takes_linear_time() -> None:
    table = MultiwordTable.learn(SEEN)
    assert table.endings
    long = "x" * 2_000_000
    started = time.process_time()
    assert table.split(long) == (long,)
    assert table.split(f"{long}árselo") == (f"{long}ar", "se", "lo")
    # Every ending of it, copied, would be minutes.
    assert time.process_time() - started < 2
