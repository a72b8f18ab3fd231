"""What a pipeline asks of its tokenizer, taggers and lemmatizer, and tags for words that come with some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from treetune.corpus.sentence import ABSENT, Sentence
from treetune.corpus.sentence_table import SentenceTable
from treetune.corpus.tags import SEPARATOR, TAG_COLUMNS, UNKNOWN_TAG, Tags, join_parts, read_column, with_tags
from treetune.models.base import Storable


class TokenizerPart(Storable, Protocol):
    """A tokenizer; `models.tokenizer.tokenizer.Tokenizer`."""

    def sentences(
        self, text: str | Iterable[str], *, line_sentences: bool | None = None, ranges: bool = False
    ) -> Iterator[Sentence]:
        """Yield the sentences of a text."""
        ...

    def tables(
        self,
        pieces: Iterable[str],
        *,
        size: int | None = None,
        line_sentences: bool | None = None,
        ranges: bool = False,
    ) -> Iterator[SentenceTable]:
        """Yield the same sentences as tables, up to `size` at a time."""
        ...


class TaggerPart(Storable, Protocol):
    """A tagger; `models.sequence.tagger.Tagger`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it predicts."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that it predicts, joint ones of several columns."""
        ...

    def annotate(self, sentences: Sequence[Sentence], *, threads: int = 1) -> Sequence[Sentence]:
        """Return the sentences with tags, a table if they are in one."""
        ...

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tags] | None = None
    ) -> list[Tags]:
        """Return the tags of sentences; those known in `constraints` are kept."""
        ...


class LemmatizerPart(Storable, Protocol):
    """A lemmatizer; `models.sequence.lemmatizer.Lemmatizer`."""

    def annotate(self, sentences: Sequence[Sentence], *, threads: int = 1, keep: bool = False) -> Sequence[Sentence]:
        """Return the sentences with lemmas; `keep` keeps those that they have."""
        ...


def fill_in_tags(
    tagger: TaggerPart, sentences: Sequence[Sentence], threads: int, *, known_only: bool
) -> list[Sentence]:
    """Return the sentences with predicted tags where they have none."""
    given = [_given(sentence, tagger.columns) for sentence in sentences]
    if known_only:
        known = _partial_tags(tagger.tags)
        given = [Tags.of(_known_part(tag, known) for tag in tags.values[1:]) for tags in given]
    incomplete = [index for index, tags in enumerate(given) if not tags.is_complete]
    tagged = list(sentences)
    if incomplete:
        predicted = tagger.predict_batch(
            [sentences[index] for index in incomplete],
            threads=threads,
            constraints=[given[index] for index in incomplete],
        )
        for index, tags in zip(incomplete, predicted, strict=True):
            tagged[index] = with_tags(sentences[index], tags, tagger.columns)
    return tagged


def _given(sentence: Sentence, columns: Sequence[str]) -> Tags:
    """Return the tags a sentence comes with; a column without any value is unknown."""
    parts = []
    for name in columns:
        values = read_column(sentence, name)[1:]
        missing = name in TAG_COLUMNS and set(values) <= {ABSENT, UNKNOWN_TAG}
        parts.append((UNKNOWN_TAG,) * len(values) if missing else values)
    return Tags.of(join_parts(values) for values in zip(*parts, strict=True))


def _partial_tags(tags: Iterable[str]) -> set[str]:
    """Return joint tags with the last parts unknown, in all ways: ``NOUN NN``, ``NOUN``."""
    found = {UNKNOWN_TAG}
    for tag in tags:
        parts = tag.split(SEPARATOR)
        for count in range(1, len(parts) + 1):
            found.add(join_parts([*parts[:count], *[UNKNOWN_TAG] * (len(parts) - count)]))
    return found


def _known_part(tag: str, known: set[str]) -> str:
    """Return a joint tag with as many first parts as there are tags that have them; the others are unknown."""
    parts = tag.split(SEPARATOR)
    for count in range(len(parts), -1, -1):
        part = join_parts([*parts[:count], *[UNKNOWN_TAG] * (len(parts) - count)])
        if part in known:
            return part
    return UNKNOWN_TAG
