"""What one system or two got wrong at each word, with the properties of the word that errors are counted by."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from treetune.corpus.document import ParsedSentence
from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD, Example, Sentence
from treetune.evaluation.breakdown import LENGTHS, length_bucket
from treetune.evaluation.counts import paired_arcs, punctuation
from treetune.evaluation.metrics import ratio

# A gold tag and the tag that was predicted in its place.
TagPair: TypeAlias = tuple[str, str]

# The properties that errors are counted by, and the names of their buckets.
BUCKETS = {
    "arc length": LENGTHS,
    "depth in the tree": ("1", "2", "3", "4", "5-6", "7-9", ">9"),
    "position": ("1", "2", "3-5", "6-10", "11-20", ">20"),
    "sentence length": ("1-5", "6-10", "11-20", "21-30", "31-40", ">40"),
}


class Arc(NamedTuple):
    """The kind of an arc; `direction` is that of the dependent from its head, empty if the head is the root."""

    head_tag: str
    label: str
    tag: str
    direction: str

    def __str__(self) -> str:
        """Return the arc as it stands in the text: ``VERB -obj-> NOUN``, ``NOUN <-nsubj- VERB``."""
        tag, head, label = self.tag or "_", self.head_tag or "_", self.label or "_"
        if not self.direction:
            return f"root -> {tag}" if label in ("root", "_") else f"root -{label}-> {tag}"
        return f"{tag} <-{label}- {head}" if self.direction == "left" else f"{head} -{label}-> {tag}"

    def beside(self, gold: Arc) -> str:
        """Return a predicted arc as it stands beside the gold one: of the same kind, its head is another word."""
        return f"{self} (another head)" if self == gold else str(self)


@dataclass(frozen=True, slots=True)
class WordErrors:
    """One counted word of gold, and for each system its arc, whether that is wrong, and wrong tags.

    `wrong` means a wrong head or label, `tag_errors` are the wrong tags of the word and of its gold head. Unknown words
    are not in the training data.
    """

    sentence: int
    word: int
    form: str
    is_unknown: bool
    gold: Arc
    arcs: tuple[Arc, ...]
    wrong_head: tuple[bool, ...]
    wrong: tuple[bool, ...]
    own_tag: tuple[TagPair | None, ...]
    tag_errors: tuple[frozenset[TagPair], ...]
    buckets: tuple[str, ...]
    """The names of its buckets, in the order of `BUCKETS`; empty where gold does not tell."""


@dataclass(frozen=True, slots=True)
class Group:
    """Words that have something in common, and how many of them each system got wrong (head; head or label)."""

    name: str
    words: int
    wrong_heads: tuple[int, ...]
    errors: tuple[int, ...]

    @property
    def error_rates(self) -> tuple[float, ...]:
        """The share of wrong words, for each system."""
        return tuple(ratio(errors, self.words) for errors in self.errors)

    @classmethod
    def of(cls, name: str, words: Sequence[WordErrors], systems: int) -> Group:
        """Count a list of words."""
        return cls(
            name,
            len(words),
            tuple(sum(word.wrong_head[system] for word in words) for system in range(systems)),
            tuple(sum(word.wrong[system] for word in words) for system in range(systems)),
        )


def groups_by(name_of: Callable[[WordErrors], str], words: Iterable[WordErrors], systems: int) -> dict[str, Group]:
    """Return a group for each name that words are given."""
    members: dict[str, list[WordErrors]] = {}
    for word in words:
        members.setdefault(name_of(word), []).append(word)
    return {name: Group.of(name, found, systems) for name, found in members.items()}


def bucket_groups(words: Sequence[WordErrors], systems: int) -> dict[str, list[Group]]:
    """Return the groups of each property, in the order of its buckets."""
    found = {}
    for place, (kind, names) in enumerate(BUCKETS.items()):
        groups = groups_by(lambda word, place=place: word.buckets[place], words, systems)  # type: ignore[misc]
        found[kind] = [groups[name] for name in names if name in groups]
    return found


def word_errors(
    gold: Sequence[Example],
    systems: Sequence[Sequence[ParsedSentence]],
    *,
    column: str,
    punct: bool,
    subtypes: bool,
    known: Container[str] | None = None,
) -> Iterator[WordErrors]:
    """Yield the counted words of a corpus; the systems have the words of gold, which is checked before."""
    for number, example in enumerate(gold):
        ignore: frozenset[int] = frozenset() if punct else punctuation(example.sentence)
        tags = tags_of(example.sentence, column)
        answers = [system[number] for system in systems]
        # A word without a predicted tag is taken to have the gold tag.
        guesses = [[a or b for a, b in zip(tags_of(one.sentence, column), tags, strict=True)] for one in answers]
        depths = _depths(example.gold.heads)
        rows = [paired_arcs(example.gold, one.tree, ignore=ignore, subtypes=subtypes) for one in answers]
        for pairs in zip(*rows, strict=True):
            word, head, label = pairs[0][:3]
            own = tuple(_tag_pair(tags[word], guess[word]) for guess in guesses)
            heads = tuple(_tag_pair(tags[head], guess[head]) if head else None for guess in guesses)
            sizes = zip(list(BUCKETS.values())[1:], (depths[word], word, len(tags) - 1), strict=True)
            yield WordErrors(
                sentence=number,
                word=word,
                form=example.sentence.forms[word],
                is_unknown=known is not None and example.sentence.forms[word] not in known,
                gold=_arc(tags, word, head, label),
                arcs=tuple(
                    _arc(guess, word, pair.head, pair.label) for guess, pair in zip(guesses, pairs, strict=True)
                ),
                wrong_head=tuple(pair.head != head for pair in pairs),
                wrong=tuple(pair.is_wrong for pair in pairs),
                own_tag=own,
                tag_errors=tuple(frozenset(filter(None, both)) for both in zip(own, heads, strict=True)),
                buckets=(length_bucket(word, head), *(_bucket(names, size) for names, size in sizes)),
            )


def tags_of(sentence: Sentence, column: str) -> list[str]:
    """Return the tags of a column, index 0 included; empty where one is not given."""
    return ["" if tag == ABSENT else tag for tag in getattr(sentence, column)]


def _tag_pair(tag: str, guess: str) -> TagPair | None:
    return (tag, guess) if tag and tag != guess else None


def _arc(tags: Sequence[str], word: int, head: int, label: str) -> Arc:
    direction = "" if head == 0 else "left" if word < head else "right"
    return Arc("" if head == UNKNOWN_HEAD else tags[head] if head else "root", label, tags[word], direction)


def _depths(heads: Sequence[int]) -> list[int]:
    """Return the number of arcs from the artificial root to each word; 0 where gold does not tell."""
    depths = [0] * len(heads)
    for word in range(1, len(heads)):
        path = [word]
        while heads[path[-1]] > 0 and not depths[path[-1]] and len(path) < len(heads):
            path.append(heads[path[-1]])
        if heads[path[-1]] == 0 or depths[path[-1]]:
            start = depths[path[-1]] or 1
            for step, below in enumerate(reversed(path)):
                depths[below] = start + step
    return depths


def _bucket(names: Sequence[str], size: int) -> str:
    """Return the first bucket that is large enough."""
    return next(name for name in names if name[0] == ">" or size <= int(name.rpartition("-")[2])) if size else ""
