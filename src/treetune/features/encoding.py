"""Sentences to numbers: the columns of words and tags that feature templates read.

Every column maps strings to small integers: 0 is "no word here", 1 the root, 2 a value not seen in
training. Values are looked up once per distinct string, so that encoding a corpus is one dictionary access
per word and column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import ABSENT, ROOT, Sentence

NOTHING, ROOT_ID, UNSEEN = 0, 1, 2
FIRST_ID = 3

# Columns of the templates. `t` joins whatever tags there are: UPOS and XPOS complete each other.
WORD_COLUMNS = ("w", "suffix", "prefix", "shape")
TAG_COLUMNS = ("t", "u", "x", "f")
COLUMNS = WORD_COLUMNS + TAG_COLUMNS
INPUTS = ("upos", "xpos", "feats")

# The cache of word forms is dropped at this size, so that a stream of new words cannot fill the memory.
LARGEST_CACHE = 500_000


def normalise(form: str) -> str:
    """Return the form as the word list knows it: digits look alike."""
    return "".join("0" if character.isdigit() else character for character in form)


def word_shape(form: str) -> str:
    """Return the kinds of characters of a form, runs shortened: ``Apple-2`` is ``Xxx-d``."""
    shape: list[str] = []
    for character in form:
        kind = "d" if character.isdigit() else "X" if character.isupper() else "x" if character.isalpha() else character
        if shape[-2:] != [kind, kind]:
            shape.append(kind)
    return "".join(shape[:8])


@dataclass
class Encoder:
    """Maps sentences to columns of numbers, the same way for training and prediction.

    `inputs` are the tag columns the model may look at; `values` holds each column's strings in the order
    of their numbers.
    """

    inputs: tuple[str, ...]
    values: dict[str, list[str]]
    _ids: dict[str, dict[str, int]] = field(init=False, repr=False)
    _form_rows: dict[str, int] = field(init=False, repr=False)
    _form_table: list[tuple[int, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._ids = {
            column: {value: number for number, value in enumerate(strings, start=FIRST_ID)}
            for column, strings in self.values.items()
        }
        self._form_rows = {}
        self._form_table = []

    @classmethod
    def learn(cls, sentences: Iterable[Sentence], *, inputs: Sequence[str] = INPUTS, min_count: int = 2) -> Encoder:
        """Collect the values of a treebank; words seen less than `min_count` times are left unseen."""
        forms: Counter[str] = Counter()
        tags: dict[str, Counter[str]] = {name: Counter() for name in inputs}
        pairs: Counter[tuple[str, str]] = Counter()
        for sentence in sentences:
            forms.update(sentence.forms[1:])
            for name in inputs:
                tags[name].update(getattr(sentence, name)[1:])
            pairs.update(zip(sentence.upos[1:], sentence.xpos[1:], strict=True))
        present = tuple(name for name in inputs if set(tags[name]) - {ABSENT})
        words: Counter[str] = Counter()
        derived: dict[str, Counter[str]] = {column: Counter() for column in WORD_COLUMNS[1:]}
        for form, count in forms.items():
            words[normalise(form)] += count
            for column, value in zip(WORD_COLUMNS[1:], _derived(form), strict=True):
                derived[column][value] += count
        values = {"w": _frequent(words, min_count)}
        for column in WORD_COLUMNS[1:]:
            values[column] = _frequent(derived[column], min_count)
        for name in present:
            values[name[0]] = _frequent(tags[name], 1)
        if {"upos", "xpos"} & set(present):
            values["t"] = _frequent(_joint_counts(pairs, present), 1)
        return cls(present, values)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say something, in the order of `encode`."""
        return tuple(column for column in COLUMNS if column in self.values)

    def encode(self, sentences: Sequence[Sentence]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return (columns, offsets): one row a column over all tokens, and where each sentence starts."""
        lengths = np.fromiter((len(sentence.forms) for sentence in sentences), np.int64, len(sentences))
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        encoded = np.empty((len(self.columns), int(offsets[-1])), np.int32)
        rows = np.fromiter(self._rows_of_forms(sentences), np.int64, int(offsets[-1]))
        table = np.array(self._form_table, np.int32).reshape(-1, len(WORD_COLUMNS))
        encoded[: len(WORD_COLUMNS)] = table[rows].T
        for place, column in enumerate(self.columns[len(WORD_COLUMNS) :], start=len(WORD_COLUMNS)):
            ids = self._ids[column]
            encoded[place] = np.fromiter(
                (ids.get(tag, UNSEEN) for sentence in sentences for tag in self._tags(sentence, column)),
                np.int32,
                int(offsets[-1]),
            )
        encoded[:, offsets[:-1]] = ROOT_ID
        return encoded, offsets

    def _tags(self, sentence: Sentence, column: str) -> Sequence[str]:
        if column == "t":
            return _joint_tags(sentence, self.inputs)
        return {"u": sentence.upos, "x": sentence.xpos, "f": sentence.feats}[column]

    def _rows_of_forms(self, sentences: Sequence[Sentence]) -> Iterable[int]:
        if len(self._form_rows) > LARGEST_CACHE:
            self._form_rows, self._form_table = {}, []
        known = self._form_rows
        for sentence in sentences:
            for form in sentence.forms:
                row = known.get(form)
                if row is None:
                    row = known[form] = len(self._form_table)
                    self._form_table.append(self._ids_of_form(form))
                yield row

    def _ids_of_form(self, form: str) -> tuple[int, ...]:
        ids = [self._ids["w"].get(normalise(form), UNSEEN)]
        for column, value in zip(WORD_COLUMNS[1:], _derived(form), strict=True):
            ids.append(self._ids[column].get(value, UNSEEN))
        return tuple(ids)

    def state(self) -> dict[str, Any]:
        """Return what rebuilds the encoder, as plain JSON values."""
        return {"inputs": list(self.inputs), "values": self.values}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Encoder:
        """Rebuild an encoder from `state()`."""
        return cls(tuple(state["inputs"]), {column: list(values) for column, values in state["values"].items()})


def _derived(form: str) -> tuple[str, str, str]:
    return normalise(form[-3:]).lower(), normalise(form[:2]).lower(), word_shape(form)


def _joint_tags(sentence: Sentence, inputs: Sequence[str]) -> Sequence[str]:
    if "upos" not in inputs:
        return sentence.xpos
    if "xpos" not in inputs:
        return sentence.upos
    return [_joint_tag(coarse, fine) for coarse, fine in zip(sentence.upos, sentence.xpos, strict=True)]


def _joint_tag(coarse: str, fine: str) -> str:
    return f"{coarse}+{fine}"


def _joint_counts(pairs: Counter[tuple[str, str]], inputs: Sequence[str]) -> Counter[str]:
    joint: Counter[str] = Counter()
    for (coarse, fine), count in pairs.items():
        tag = fine if "upos" not in inputs else coarse if "xpos" not in inputs else _joint_tag(coarse, fine)
        joint[tag] += count
    return joint


def _frequent(counts: Counter[str], least: int) -> list[str]:
    """Return the values seen often enough, in an order that depends on nothing but the counts."""
    kept = [value for value, count in counts.items() if count >= least and value != ROOT]
    return sorted(kept, key=lambda value: (-counts[value], value))
