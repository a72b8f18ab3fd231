"""The input of a model (`Sentence`), the output of a parser (`Tree`), and a sentence with its gold tree (`Example`).

Token 0 is the artificial root in every column, words start at 1, and `heads[0] == -1`; so
`sentence.forms[i]`, `tree.heads[i]` and `tree.labels[i]` belong to the same word, and a head is an index
into the same columns. `corpus.document` has the predicted tree of a sentence, word by word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from treetune.errors import DataError

if TYPE_CHECKING:
    from treetune.corpus.document import ParsedSentence

ROOT = "<root>"
ABSENT = "_"
UNKNOWN_HEAD = -1
UNKNOWN_LABEL = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of one sentence with their tags: everything a model may see and nothing it must predict.

    All columns have the same length, one more than the number of words; `ABSENT` stands where a value is
    not given. `multiword` keeps the lines of multiword tokens, each with the index of its first word.
    `base_tree` is the tree of the base parser for stacking: files do not hold it, `corpus.base_trees`
    attaches it. `start_char` is the offset of the sentence in the text that it was split from, 0 if there is
    none; equality ignores it.
    """

    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    misc: tuple[str, ...]
    comments: tuple[str, ...] = ()
    multiword: tuple[tuple[int, str], ...] = ()
    base_tree: Tree | None = None
    start_char: int = field(default=0, compare=False)

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        *,
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
    ) -> Sentence:
        """Make a sentence from plain words, without the root; columns left out are absent."""

        def column(name: str, values: Sequence[str] | None) -> tuple[str, ...]:
            if values is None:
                return (ROOT,) + (ABSENT,) * len(words)
            if len(values) != len(words):
                raise DataError(f"expected {len(words)} values, one a word, found {len(values)}", column=name)
            return (ROOT, *values)

        if isinstance(words, str):
            raise DataError(
                "expected a sequence of words, found a single string; split it into words first",
                column="FORM",
            )
        return cls(
            forms=(ROOT, *words),
            lemmas=column("LEMMA", lemmas),
            upos=column("UPOS", upos),
            xpos=column("XPOS", xpos),
            feats=column("FEATS", feats),
            misc=column("MISC", None),
        )

    def __len__(self) -> int:
        """Return the number of words, the root not counted."""
        return len(self.forms) - 1

    def without(self, *columns: str) -> Sentence:
        """Return a copy in which the named columns (`"upos"`, `"feats"`, …) or the `"base_tree"` are absent."""
        empty = (ROOT,) + (ABSENT,) * len(self)
        changed: dict[str, Any] = {name: None if name == "base_tree" else empty for name in columns}
        return replace(self, **changed)


@dataclass(frozen=True, slots=True)
class Tree:
    """Heads and labels of one sentence; partial where a head is -1 or a label is ``""``."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, heads: Iterable[int], labels: Iterable[str] | None = None) -> Tree:
        """Make a tree from the heads and labels of the words, without the root; DataError unless there are as many."""
        all_heads = (UNKNOWN_HEAD, *heads)
        if labels is None:
            return cls(all_heads, (UNKNOWN_LABEL,) * len(all_heads))
        all_labels = (UNKNOWN_LABEL, *labels)
        if len(all_labels) != len(all_heads):
            raise DataError(f"expected {len(all_heads) - 1} labels, one a head, found {len(all_labels) - 1}")
        return cls(all_heads, all_labels)

    @classmethod
    def unknown(cls, length: int) -> Tree:
        """Return the tree of `length` words about which nothing is known."""
        return cls((UNKNOWN_HEAD,) * (length + 1), (UNKNOWN_LABEL,) * (length + 1))

    def __len__(self) -> int:
        """Return the number of words, the root not counted."""
        return len(self.heads) - 1

    @property
    def roots(self) -> tuple[int, ...]:
        """The words whose head is the artificial root; exactly one in a well-formed tree."""
        return tuple(i for i in range(1, len(self.heads)) if self.heads[i] == 0)

    @property
    def is_complete(self) -> bool:
        """Whether every word has a head (labels may be missing: some treebanks have none)."""
        return UNKNOWN_HEAD not in self.heads[1:]

    def arcs(self) -> Iterator[tuple[int, int, str]]:
        """Yield (head, word, label) for every word with a known head."""
        for word in range(1, len(self.heads)):
            if self.heads[word] != UNKNOWN_HEAD:
                yield self.heads[word], word, self.labels[word]


@dataclass(frozen=True, slots=True)
class Enhanced:
    """The enhanced graph of a CoNLL-U sentence, kept so that a file survives a round trip.

    `deps` is the DEPS column (root included); `empty_nodes` are raw lines with the index of the word they
    follow. It belongs to the gold analysis: a predicted tree is written without it.
    """

    deps: tuple[str, ...]
    empty_nodes: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence beside its gold tree; `gold` may be partial, and is all unknown for plain tagged text."""

    sentence: Sentence
    gold: Tree
    enhanced: Enhanced | None = None


def tree_of(item: Example | ParsedSentence) -> Tree:
    """Return the gold tree of an example, or the predicted tree of a parsed sentence."""
    return item.gold if isinstance(item, Example) else item.tree


def comment_value(sentence: Sentence, key: str) -> str | None:
    """Return the value of a comment ``# key = value``, or None if there is none."""
    for comment in sentence.comments:
        name, equals, value = comment.lstrip("# ").partition("=")
        if equals and name.strip() == key:
            return value.strip()
    return None


def name_sentence(number: int, sentence: Sentence) -> str:
    """Return how messages call a sentence: its number, from 1, and its sent_id if it has one."""
    name = comment_value(sentence, "sent_id")
    return f"sentence {number}" if name is None else f"sentence {number} (sent_id {name})"


def with_comment(sentence: Sentence, key: str, value: str) -> Sentence:
    """Return the sentence with a comment ``# key = value``, instead of one that it had."""
    kept = [comment for comment in sentence.comments if comment.lstrip("# ").partition("=")[0].strip() != key]
    return replace(sentence, comments=(*kept, f"# {key} = {value}"))
