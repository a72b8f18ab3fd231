"""Sentences to numbers: the columns of words and tags that feature templates read.

Every column maps strings to small integers: 0 is "no word", 1 the root, 2 a value not seen in training. What
depends on the form of a word alone is computed once per distinct form, so that encoding a token takes one dictionary
access for all these columns and one for each column of tags.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Fields, describe, expected
from treetune.corpus.sentence import ABSENT, ROOT, Sentence, Tree
from treetune.corpus.sentence_table import SentenceTable
from treetune.errors import DataError, ModelError, type_of, unknown_name
from treetune.features.clusters import CLUSTER_COLUMNS, PREFIXES, Clusters
from treetune.features.tag_check import warn_of_unknown_tags

NOTHING, ROOT_ID, UNSEEN = 0, 1, 2
FIRST_ID = 3

INPUTS = ("upos", "xpos", "feats")

# The cache of word forms is dropped at this size, so that a stream of new words cannot fill the memory.
LARGEST_CACHE = 500_000
JOINT_TAG = "{}+{}"
# Longer forms are not kept in it: they may be as long as a file.
LONGEST_CACHED = 100


class _Kinds(dict[int, str]):
    """What shapes have in the place of each character met so far."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        letter = "X" if character.isupper() else "x" if character.isalpha() else character
        self[code] = "d" if character.isdigit() else letter
        return self[code]


_KINDS = _Kinds()
_RUN = re.compile(r"(.)\1\1+", re.DOTALL)


def normalise(form: str) -> str:
    """Return the form with every digit replaced by 0."""
    if form.isalpha():
        return form
    return "".join("0" if character.isdigit() else character for character in form)


def word_shape(form: str) -> str:
    """Return the kinds of characters of a form, runs shortened: ``Apple-2`` is ``Xxx-d``."""
    return _RUN.sub(r"\1\1", form.translate(_KINDS))[:8]


def _start(form: str, *, length: int) -> str:
    return normalise(form[:length]).lower()


def _end(form: str, *, length: int) -> str:
    return normalise(form[-length:]).lower()


# Columns that depend on the form alone. `p5` is the 5-gram prefix of McDonald et al. 2005, or a shorter word.
_OF_FORM: dict[str, Callable[[str], str]] = {
    "w": normalise,
    "suffix": lambda form: normalise(form[-3:]).lower(),
    "prefix": lambda form: normalise(form[:2]).lower(),
    "shape": word_shape,
    "p5": lambda form: normalise(form).lower()[:5],
    "lower": lambda form: normalise(form).lower(),
    **{f"s{length}": partial(_end, length=length) for length in (1, 2, 4, 5, 6, 7, 8)},
    **{f"p{length}": partial(_start, length=length) for length in (1, 3, 4)},
}

# Columns of the templates. Those of clusters are prefixes of a word's bit string. `t` joins whatever tags there are:
# UPOS and XPOS complete each other. `g` is the label of the word in the base tree, which another parser gave.
WORD_COLUMNS = (*_OF_FORM, *CLUSTER_COLUMNS)
TAG_COLUMNS = ("t", "u", "x", "f")
BASE_LABEL_COLUMN = "g"
COLUMNS = (*WORD_COLUMNS, *TAG_COLUMNS, BASE_LABEL_COLUMN)
USUAL_COLUMNS = ("w", "suffix", "prefix", "shape", *TAG_COLUMNS)


class _JointIds(dict[tuple[str, str], int]):
    """The number of each pair of UPOS and XPOS met so far, in the column `t`.

    An XPOS tag that was never seen, of another tag set, is taken for the most frequent one of its UPOS tag.
    """

    def __init__(self, ids: dict[str, int]) -> None:
        self.ids = ids
        pairs = [value.partition("+")[::2] for value in ids]
        self._fine = {fine for _, fine in pairs}
        # The most frequent come first.
        self._usual = dict(reversed(pairs))

    def known_fine(self, coarse: str, fine: str) -> str:
        """Return an XPOS tag, or the one that it is taken for."""
        return fine if fine in self._fine else self._usual.get(coarse, fine)

    def __missing__(self, pair: tuple[str, str]) -> int:
        number = self.ids.get(JOINT_TAG.format(pair[0], self.known_fine(*pair)), UNSEEN)
        if len(self) < LARGEST_CACHE:
            self[pair] = number
        return number


class _FormCache(dict[str, bytes]):
    """The numbers of each form met so far, in all columns of words: as bytes, which join to an array at once."""

    def __init__(self, ids: dict[str, dict[str, int]], clusters: Clusters | None) -> None:
        self.columns = [(column, ids[column]) for column in WORD_COLUMNS if column in ids]
        self.clusters = clusters

    def __missing__(self, form: str) -> bytes:
        numbers = [ids.get(_of_form(form, column, self.clusters), UNSEEN) for column, ids in self.columns]
        packed = np.array(numbers, np.int32).tobytes()
        if len(form) <= LONGEST_CACHED:
            self[form] = packed
        return packed


@dataclass
class Encoder:
    """Maps sentences to columns of numbers, the same way for training and prediction.

    `inputs` are the tag columns the model may look at; `values` holds each column's strings in the order
    of their numbers, and has only the columns there are. `clusters` are what the columns of clusters come from.
    """

    inputs: tuple[str, ...]
    values: dict[str, list[str]]
    clusters: Clusters | None = None
    _ids: dict[str, dict[str, int]] = field(init=False, repr=False, compare=False)
    _forms: _FormCache = field(init=False, repr=False, compare=False)
    _pairs: _JointIds = field(init=False, repr=False, compare=False)
    _known_tags: list[tuple[str, Collection[str]]] = field(init=False, repr=False, compare=False)
    _has_warned: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._ids = {
            column: {value: number for number, value in enumerate(strings, start=FIRST_ID)}
            for column, strings in self.values.items()
        }
        self._forms = _FormCache(self._ids, self.clusters)
        self._pairs = _JointIds(self._ids.get("t", {}))
        names = [name for name in ("upos", "xpos") if name in self.inputs]
        self._known_tags = [(name, self._ids[name[0]]) for name in names if name[0] in self._ids]

    @classmethod
    def learn(
        cls,
        sentences: Iterable[Sentence],
        *,
        inputs: Sequence[str] = INPUTS,
        min_count: int = 2,
        columns: Sequence[str] | None = None,
        clusters: Clusters | None = None,
    ) -> Encoder:
        """Collect the values of a treebank; `min_count` is the count cut-off for forms and their affixes.

        `columns` names the wanted ones of `COLUMNS`, by default `USUAL_COLUMNS`. Those of tags are there only
        if the treebank has such tags, that of base trees only if its sentences have them, those of clusters only if
        there are `clusters`.
        """
        wanted = USUAL_COLUMNS if columns is None else tuple(columns)
        for column in wanted:
            if column not in COLUMNS:
                raise unknown_name("column", column, COLUMNS)
        forms: Counter[str] = Counter()
        tags: dict[str, Counter[str]] = {name: Counter() for name in inputs}
        pairs: Counter[tuple[str, str]] = Counter()
        base_labels: Counter[str] = Counter()
        has_base_tree: list[bool] = []
        for sentence in sentences:
            forms.update(sentence.forms[1:])
            for name in inputs:
                tags[name].update(getattr(sentence, name)[1:])
            pairs.update(zip(sentence.upos[1:], sentence.xpos[1:], strict=True))
            has_base_tree.append(sentence.base_tree is not None)
            if sentence.base_tree is not None and BASE_LABEL_COLUMN in wanted:
                base_labels.update(_base_tree(sentence).labels[1:])
        present = tuple(name for name in inputs if set(tags[name]) - {ABSENT})
        values = {column: _frequent(_derived(forms, column), min_count) for column in wanted if column in _OF_FORM}
        if clusters is not None:
            for column in wanted:
                if column in CLUSTER_COLUMNS:
                    values[column] = _frequent(_derived(forms, column, clusters), 1)
        for name in present:
            values[name[0]] = _frequent(tags[name], 1)
        if {"upos", "xpos"} & set(present):
            values["t"] = _frequent(_joint_counts(pairs, present), 1)
        if BASE_LABEL_COLUMN in wanted and any(has_base_tree):
            _check_all_stacked(has_base_tree)
            values[BASE_LABEL_COLUMN] = _frequent(base_labels, 1)
        kept = {column: values[column] for column in COLUMNS if column in values and column in wanted}
        return cls(present, kept, clusters if set(kept) & set(CLUSTER_COLUMNS) else None)

    def widen(self, sentences: Sequence[Sentence], *, min_count: int = 2) -> Encoder:
        """Return an encoder that also knows what more sentences have in the same columns; known numbers stay."""
        found = Encoder.learn(
            sentences, inputs=self.inputs, min_count=min_count, columns=self.columns, clusters=self.clusters
        )
        values = {
            column: [*old, *(value for value in found.values.get(column, ()) if value not in self._ids[column])]
            for column, old in self.values.items()
        }
        return self if values == self.values else Encoder(self.inputs, values, self.clusters)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns there are, in the order of `encode`."""
        return tuple(column for column in COLUMNS if column in self.values)

    @property
    def is_stacked(self) -> bool:
        """Whether sentences must have base trees, as those of the training data have."""
        return BASE_LABEL_COLUMN in self.values

    def encode(
        self, sentences: Sequence[Sentence], read: Collection[str] = COLUMNS
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return (columns, offsets): one row a column over all tokens, and where each sentence starts.

        Columns of tags that are not among those `read` are left at 0. Raises ModelError where the encoder knows base
        trees and a sentence has none.
        """
        offsets = _offsets(sentences)
        if not self._has_warned:
            self._has_warned = any(
                warn_of_unknown_tags(name, _all_cells(sentences, name), known) for name, known in self._known_tags
            )
        # A table has the words alone.
        roots = 0 if not isinstance(sentences, SentenceTable) else len(sentences)
        found = int(offsets[-1]) - roots
        encoded = np.zeros((len(self.columns), found), np.int32)
        words = self._words(sentences, found)
        encoded[: len(words)] = words
        for index, column in enumerate(self.columns):
            if index < len(words) or column not in read:
                continue
            encoded[index] = np.fromiter(self._tags(sentences, column), np.int32, found)
            # The roots have no tags.
            if column == "x" and np.count_nonzero(encoded[index] == UNSEEN) > len(sentences) - roots:
                encoded[index] = np.fromiter(self._known_fine_tags(sentences), np.int32, found)
        if roots:
            encoded = np.insert(encoded, offsets[:-1] - np.arange(roots), ROOT_ID, axis=1)
        encoded[:, offsets[:-1]] = ROOT_ID
        return encoded, offsets

    def _tags(self, sentences: Sequence[Sentence], column: str) -> Iterator[int]:
        """Return the numbers of all tokens in a column of tags."""
        if column == "t" and {"upos", "xpos"} <= set(self.inputs):
            pairs = zip(_all_tags(sentences, "u"), _all_tags(sentences, "x"), strict=True)
            return map(self._pairs.__getitem__, pairs)
        name = ("u" if "upos" in self.inputs else "x") if column == "t" else column
        return map(self._ids[column].get, _all_tags(sentences, name), itertools.repeat(UNSEEN))

    def _known_fine_tags(self, sentences: Sequence[Sentence]) -> Iterator[int]:
        """Return the numbers of all XPOS tags, those of another tag set as what they are taken for."""
        fine = map(self._pairs.known_fine, _all_tags(sentences, "u"), _all_tags(sentences, "x"))
        return map(self._ids["x"].get, fine, itertools.repeat(UNSEEN))

    def _words(self, sentences: Sequence[Sentence], tokens: int) -> NDArray[np.int32]:
        """Return the columns that follow from the forms."""
        if len(self._forms) > LARGEST_CACHE:
            self._forms = _FormCache(self._ids, self.clusters)
        known = self._forms
        packed = b"".join(map(known.__getitem__, _all_cells(sentences, "forms")))
        return np.frombuffer(packed, np.int32).reshape(tokens, len(known.columns)).T

    def state(self) -> dict[str, Any]:
        """Return what rebuilds the encoder, as plain JSON values."""
        state = {"inputs": list(self.inputs), "values": self.values}
        return state if self.clusters is None else {**state, "clusters": self.clusters.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Encoder:
        """Rebuild an encoder from `state()`."""
        fields = Fields(state, "encoder")
        columns = fields.table("values")
        values = {column: columns.texts(column) for column in columns}
        clusters = Clusters.from_state(fields.value("clusters")) if "clusters" in fields else None
        for column in values:
            if column not in COLUMNS or (column in CLUSTER_COLUMNS and clusters is None):
                raise ModelError(f"encoder.values: expected columns of words and tags, found {describe(column)}")
        inputs = fields.texts("inputs", INPUTS)
        if "t" in values and not {"upos", "xpos"} & set(inputs):
            raise expected("encoder.inputs", "upos or xpos, which the column t joins", inputs)
        return cls(tuple(inputs), values, clusters)


def encode_base_heads(sentences: Sequence[Sentence]) -> NDArray[np.int32]:
    """Return the heads of the base trees over all tokens, -1 for the root; for models that know base trees.

    Raises ModelError where a sentence has none.
    """
    return np.array([head for sentence in sentences for head in _base_tree(sentence).heads], np.int32)


def _base_tree(sentence: Sentence) -> Tree:
    if sentence.base_tree is None:
        raise ModelError(
            "this model was trained with the trees of a base parser; "
            "give them with --base FILE, in Python with treetune.corpus.with_base_trees"
        )
    if len(sentence.base_tree) != len(sentence):
        raise DataError(f"expected a base tree of {len(sentence)} words, found one of {len(sentence.base_tree)}")
    return sentence.base_tree


def _check_all_stacked(has_base_tree: list[bool]) -> None:
    if not all(has_base_tree):
        raise DataError(
            f"sentence {has_base_tree.index(False) + 1} of the treebank has no base tree, but others have one; "
            "give base trees to all sentences or to none"
        )


def _derived(forms: Counter[str], column: str, clusters: Clusters | None = None) -> Counter[str]:
    """Return how often each value of a column of words is seen."""
    counts: Counter[str] = Counter()
    for form, count in forms.items():
        value = _of_form(form, column, clusters)
        if value or column not in PREFIXES:
            counts[value] += count
    return counts


def _of_form(form: str, column: str, clusters: Clusters | None) -> str:
    """Return the value of a form in a column of words; empty for a word in no cluster."""
    if column not in PREFIXES:
        return _OF_FORM[column](form)
    if clusters is None:
        return ""
    alike = normalise(form)
    return clusters.find((form, form.lower(), alike, alike.lower()))[: PREFIXES[column]]


def _no_sentence(sentences: object) -> DataError:
    if isinstance(sentences, Sentence):
        return DataError("expected several sentences, found one; put it into a list")
    if not isinstance(sentences, Sequence):
        return DataError(f"expected a list of sentences, found {type_of(sentences)}")
    found = next(sentence for sentence in sentences if not isinstance(sentence, Sentence))
    hint = "make one of tokens by treetune.Sentence.of, or give text to a pipeline, as treetune.load('en')"
    if hasattr(found, "sentence"):
        hint = "give its .sentence"
    return DataError(f"expected a sentence, found {type_of(found)}; {hint}")


def _offsets(sentences: Sequence[Sentence]) -> NDArray[np.int64]:
    """Return where each sentence starts, its root counted, and where the last one ends."""
    if isinstance(sentences, SentenceTable):
        return np.array(sentences.ends, np.int64) + np.arange(len(sentences) + 1)
    try:
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(sentence.forms) for sentence in sentences], out=offsets[1:])
    except (AttributeError, TypeError):
        raise _no_sentence(sentences) from None
    return offsets


def _all_cells(sentences: Sequence[Sentence], name: str) -> Iterable[str]:
    """Return the values of all tokens in a column; those of all words, if the sentences are in a table."""
    if isinstance(sentences, SentenceTable):
        return sentences.column(name)
    return itertools.chain.from_iterable(map(operator.attrgetter(name), sentences))


def _all_tags(sentences: Sequence[Sentence], column: str) -> Iterable[str]:
    if column == BASE_LABEL_COLUMN:
        return itertools.chain.from_iterable(_base_tree(sentence).labels for sentence in sentences)
    return _all_cells(sentences, {"u": "upos", "x": "xpos", "f": "feats"}[column])


def _joint_counts(pairs: Counter[tuple[str, str]], inputs: Sequence[str]) -> Counter[str]:
    joint: Counter[str] = Counter()
    for (coarse, fine), count in pairs.items():
        tag = fine if "upos" not in inputs else coarse if "xpos" not in inputs else JOINT_TAG.format(coarse, fine)
        joint[tag] += count
    return joint


def _frequent(counts: Counter[str], least: int) -> list[str]:
    """Return the values seen often enough, in an order that depends on nothing but the counts."""
    kept = [value for value, count in counts.items() if count >= least and value != ROOT]
    return sorted(kept, key=lambda value: (-counts[value], value))
