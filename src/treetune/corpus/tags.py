"""The output of a tagger (`Tags`), a sentence with its gold tags (`Tagged`), and the columns that tags come from.

A tagger may predict several columns jointly; a tag is then the joint value, its parts separated by a space, which
no column of CoNLL-U can hold: ``"NOUN NN"``. UPOS, XPOS and FEATS are columns of a `Sentence`; any other name, such as
``"ner"``, is a key of its MISC column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from treetune.corpus.rawtext import misc_value
from treetune.corpus.sentence import ABSENT, ROOT, Example, Sentence
from treetune.corpus.sentence_table import SentenceTable
from treetune.errors import ConfigError, DataError

UNKNOWN_TAG = ""
SEPARATOR = " "
TAG_COLUMNS = ("upos", "xpos", "feats")


@dataclass(frozen=True, slots=True)
class Tags:
    """One tag a word; `values[0]` belongs to the artificial root, and ``""`` is an unknown tag."""

    values: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[str]) -> Tags:
        """Make tags from those of the words, without the root."""
        return cls((ROOT, *values))

    @classmethod
    def unknown(cls, length: int) -> Tags:
        """Return the tags of `length` words about which nothing is known."""
        return cls((ROOT,) + (UNKNOWN_TAG,) * length)

    def __len__(self) -> int:
        """Return the number of words, the root not counted."""
        return len(self.values) - 1

    @property
    def is_complete(self) -> bool:
        """Whether every part of every tag is known."""
        return all(all(value.split(SEPARATOR)) for value in self.values[1:])

    def column(self, number: int) -> tuple[str, ...]:
        """Return one part of joint tags, index 0 included."""
        return (ROOT, *[part_of(value, number) for value in self.values[1:]])


@dataclass(frozen=True, slots=True)
class Tagged:
    """A sentence without tags and its gold tags; `gold` may be partial."""

    sentence: Sentence
    gold: Tags


def part_of(value: str, number: int) -> str:
    """Return one part of a joint tag; of an unknown tag every part is unknown."""
    return value.split(SEPARATOR)[number] if value else UNKNOWN_TAG


def join_parts(parts: Sequence[str]) -> str:
    """Return the joint tag of parts; it is unknown if all of them are."""
    return SEPARATOR.join(parts) if any(parts) else UNKNOWN_TAG


def check_columns(columns: Sequence[str]) -> None:
    """Raise ConfigError unless these are names of columns, each once."""
    if isinstance(columns, str) or not columns:
        raise ConfigError(f"columns: expected names such as ('upos', 'xpos'), found {columns!r}")
    for name in columns:
        if not name or set(name) & set("=| \t\n"):
            raise ConfigError(f"columns: expected a name without spaces, '=' and '|', found {name!r}")
        if list(columns).count(name) > 1:
            raise ConfigError(f"columns: {name!r} is named twice")


def read_column(sentence: Sentence, name: str) -> tuple[str, ...]:
    """Return the values of a column, index 0 included; ``""`` where one is not given.

    An underscore says "not given" in UPOS; in XPOS and FEATS it is a value like any other.
    """
    if name == "upos":
        return (ROOT, *[UNKNOWN_TAG if value == ABSENT else value for value in sentence.upos[1:]])
    if name in TAG_COLUMNS:
        values: tuple[str, ...] = getattr(sentence, name)
        return values
    return (ROOT, *[misc_value(misc, name) or UNKNOWN_TAG for misc in sentence.misc[1:]])


def tags_of(sentence: Sentence, columns: Sequence[str]) -> Tags:
    """Return the values of these columns of a sentence as joint tags."""
    parts = [read_column(sentence, name)[1:] for name in columns]
    return Tags.of(join_parts(values) for values in zip(*parts, strict=True))


def hide_columns(sentence: Sentence, columns: Sequence[str]) -> Sentence:
    """Return a copy without the values of these columns."""
    plain = [name for name in columns if name in TAG_COLUMNS]
    keys = [name for name in columns if name not in TAG_COLUMNS]
    hidden = sentence.without(*plain) if plain else sentence
    if not keys:
        return hidden
    misc = hidden.misc[1:]
    for key in keys:
        misc = tuple(_without_key(value, key) for value in misc)
    return replace(hidden, misc=(hidden.misc[0], *misc))


def tagged(examples: Iterable[Example | Sentence], columns: Sequence[str]) -> list[Tagged]:
    """Return the training data of a tagger of these columns: sentences without them, and their values as gold tags."""
    check_columns(columns)
    sentences = (item.sentence if isinstance(item, Example) else item for item in examples)
    return [Tagged(hide_columns(sentence, columns), tags_of(sentence, columns)) for sentence in sentences]


def with_tags(sentence: Sentence, tags: Tags, columns: Sequence[str]) -> Sentence:
    """Return a copy with the tags in these columns; where a tag is unknown, the column stays as it is."""
    if len(tags) != len(sentence):
        raise DataError(f"expected tags of {len(sentence)} words, found {len(tags)}")
    changed = sentence
    for number, name in enumerate(columns):
        values = tags.values if len(columns) == 1 else tags.column(number)
        changed = write_column(changed, name, values)
    return changed


def write_column(sentence: Sentence, name: str, values: Sequence[str]) -> Sentence:
    """Return a copy with these values, index 0 included, in a column; ``""`` changes nothing."""
    if name not in TAG_COLUMNS:
        pairs = zip(sentence.misc[1:], values[1:], strict=True)
        misc = [_with_key(misc, name, value) if value else misc for misc, value in pairs]
        return replace(sentence, misc=(sentence.misc[0], *misc))
    if UNKNOWN_TAG in values:
        values = [value or old for value, old in zip(values, getattr(sentence, name), strict=True)]
    column = (ROOT, *values[1:])
    # One call for each: `replace` with a computed name would be untyped.
    if name == "upos":
        return replace(sentence, upos=column)
    return replace(sentence, xpos=column) if name == "xpos" else replace(sentence, feats=column)


def write_table_column(table: SentenceTable, name: str, values: list[str]) -> SentenceTable:
    """Return a table with the values of all words in a column; ``""`` changes nothing."""
    if name in TAG_COLUMNS:
        if UNKNOWN_TAG in values:
            values = [value or old for value, old in zip(values, table.column(name), strict=True)]
        return table.with_column(name, values)
    pairs = zip(table.column("misc"), values, strict=True)
    return table.with_column("misc", [_with_key(misc, name, value) if value else misc for misc, value in pairs])


def _without_key(misc: str, key: str) -> str:
    kept = [item for item in misc.split("|") if item.partition("=")[0] != key]
    return "|".join(kept) or ABSENT


def _with_key(misc: str, key: str, value: str) -> str:
    rest = _without_key(misc, key) if key in misc else misc
    return f"{key}={value}" if rest == ABSENT else f"{rest}|{key}={value}"
