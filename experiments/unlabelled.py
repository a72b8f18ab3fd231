"""Sentences to uptrain on: files of text or of parsed sentences go in; those worth learning from come out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import treetune
from treetune import Example, Pipeline, Sentence, Tree
from treetune.corpus.selection import Selection, fingerprint
from treetune.corpus.treebank import read_words

# Text, text that has its words apart, words with tags, trees of another parser.
KINDS = ("text", "words", "tagged", "parsed")
LONGEST = 60


def unlabelled_files(uptrain: Mapping[str, Any]) -> list[str]:
    """Return the names of the files that a row is uptrained on."""
    return [name for kind in KINDS for name in uptrain.get(kind, ())]


def read_unlabelled(
    uptrain: Mapping[str, Any], files: Mapping[str, Path], limit: int | None, *, exclude: Iterable[Sentence]
) -> list[Example]:
    """Return the sentences of a row to uptrain on: none twice, none to exclude, none of more than 60 words.

    At most `limit` of each file, or as the row says. With `ending` only sentences whose last word is this are taken;
    with `spoken` they are written as speech is transcribed. The trees of text are unknown.
    """
    excluded = frozenset(fingerprint(sentence.forms[1:]) for sentence in exclude)
    selection, ending = Selection(max_length=LONGEST, excluded=excluded), uptrain.get("ending")
    found: list[Example] = []
    for kind in KINDS:
        for name in uptrain.get(kind, ()):
            examples = (one for one in _sentences(files[name], kind) if ending in (None, one.sentence.forms[-1]))
            kept = (one for one in examples if selection.keeps(one.sentence))
            found += itertools.islice(kept, uptrain.get("limit") if limit is None else limit)
    return [one for one in map(spoken, found) if len(one.sentence)] if uptrain.get("spoken") else found


def _sentences(path: Path, kind: str) -> Iterator[Example]:
    if kind == "parsed":
        return treetune.read_trees(path, strict=False)
    sentences: Iterator[Sentence]
    if kind == "tagged":
        sentences = (example.sentence for example in treetune.read_trees(path, strict=False))
    elif kind == "words":
        sentences = (Sentence.of(list(words)) for words in read_words(path))
    else:
        sentences = _tokenizer().split(path.read_text(encoding="utf-8"), line_sentences=True)
    return (Example(sentence, Tree.unknown(len(sentence))) for sentence in sentences)


@cache
def _tokenizer() -> Pipeline:
    return Pipeline.of(treetune.load("en"))


def spoken(example: Example) -> Example:
    """Return a sentence in lower case and without punctuation, which must be leaves of the tree."""
    sentence, tree = example.sentence, example.gold
    heads = set(tree.heads)
    words = [word for word in range(1, len(tree.heads)) if word in heads or not _is_mark(sentence.forms[word])]
    number = {word: position for position, word in enumerate(words, start=1)}
    tags = [sentence.upos[word] for word in words]
    forms = [sentence.forms[word].lower() for word in words]
    new = [number.get(tree.heads[word], tree.heads[word]) for word in words]
    return Example(Sentence.of(forms, upos=tags), Tree.of(new, [tree.labels[word] for word in words]))


def _is_mark(form: str) -> bool:
    return not any(map(str.isalnum, form))
