"""Which tags a word may have: those it was seen with if it is frequent, those of rare words if it is not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, Fields, expected, integers
from treetune.corpus.tags import SEPARATOR, Tags
from treetune.errors import DataError
from treetune.features.encoding import FIRST_ID, NOTHING, ROOT_ID, UNSEEN
from treetune.models.sequence import _kernels as kernels
from treetune.models.sequence.word_pairs import WordPairs


@dataclass(frozen=True)
class TagTable:
    """The tags a model can give, as numbers in the order of their names; the boundary comes after the last."""

    names: tuple[str, ...]

    @classmethod
    def learn(cls, gold: Iterable[Tags]) -> TagTable:
        """Collect the tags of complete gold."""
        return cls(tuple(sorted({value for tags in gold for value in tags.values[1:]})))

    def __len__(self) -> int:
        """Return the number of tags."""
        return len(self.names)

    @property
    def boundary(self) -> int:
        """The number that stands for the positions before the first word."""
        return len(self.names)

    def ids(self) -> dict[str, int]:
        """Return the number of each tag."""
        return {name: number for number, name in enumerate(self.names)}

    def parts(self) -> kernels.Parts:
        """Return the parts of tags, numbered after the tags: their columns, and what ``|`` separates in these.

        A tag of one part has none.
        """
        numbers: dict[tuple[int, str], int] = {}
        starts, outputs = [0], list[int]()
        for name in self.names:
            found = [(column, part) for column, value in enumerate(name.split(SEPARATOR)) for part in value.split("|")]
            if len(found) > 1:
                outputs += [len(self) + numbers.setdefault(part, len(numbers)) for part in dict.fromkeys(found)]
            starts.append(len(outputs))
        return kernels.Parts(np.array(starts, np.int32), np.array(outputs, np.int32))

    def matching(self, value: str) -> list[int]:
        """Return the tags that have all known parts of a value; of ``"NOUN "`` all whose first part is NOUN."""
        wanted = value.split(SEPARATOR)
        found = []
        for number, name in enumerate(self.names):
            parts = name.split(SEPARATOR)
            if len(parts) == len(wanted) and all(w in ("", p) for w, p in zip(wanted, parts, strict=True)):
                found.append(number)
        return found


# A word is frequent, and has a class, from this count on; tags of a smaller share of it are not in its class.
FREQUENT = 5
SMALLEST_SHARE = 0.05
# A word that is seen less than so many times what makes it known may have more tags than it was seen with.
FIRM = 20
# What makes a tag the companion of another: so many words that have both, and so large a part of those with the other;
# counted are words seen so many times what makes a word known.
COMPANIONS, COMPANION_SHARE, COMPANION_FIRM = 3, 0.05, 4

Seen = Mapping[int, Counter[int]]


@dataclass(frozen=True)
class Lexicon:
    """Sets of tags, and the set and the class of each word by its number in the encoder's column of words.

    Sets are sorted tuples; the first three are those of the boundary, of all tags, and of words that are rare. A class
    is a number that frequent words share whose usual tags, in order of their counts, are the same.
    """

    sets: tuple[tuple[int, ...], ...]
    of_word: NDArray[np.int32]
    classes: NDArray[np.int32]

    @classmethod
    def learn(
        cls,
        words: Sequence[Sequence[int]],
        tags: Sequence[Sequence[int]],
        *,
        size: int,
        boundary: int,
        least: int,
        least_rare: int,
        pairs: WordPairs | None = None,
    ) -> Lexicon:
        """Collect the tags of each word that is seen `least` times or more; 0 allows all tags to all words.

        A word that is not seen much more often may also have the companions of its tags; a rare word, the tags of rare
        words besides its own.

        Args:
            words: The numbers of the words of each sentence.
            tags: The numbers of their tags.
            size: One more than the largest number of a word.
            boundary: The number of tags.
            least: How often a word must be seen for its tags to be known.
            least_rare: How many rare words must have a tag that an unseen word may have.
            pairs: What the numbers of words are, if they are those of pairs of a word and its input tag.
        """
        seen: dict[int, Counter[int]] = defaultdict(Counter)
        for numbers, values in zip(words, tags, strict=True):
            for word, tag in zip(numbers, values, strict=True):
                seen[word][tag] += 1
        everything = tuple(range(boundary))
        sets = [(boundary,), everything, _open_tags(seen, least, least_rare) or everything]
        of_word = np.full(size, kernels.OPEN, np.int32)
        of_word[ROOT_ID] = kernels.BOUNDARY
        numbers_of = {tags_of: number for number, tags_of in enumerate(sets)}
        choices: dict[int, set[int]] = {}
        if pairs is not None and least:
            choices = _choices_of_unseen(seen, pairs, least, least_rare)
        companions = {} if pairs is not None else _companions(seen, COMPANION_FIRM * least)
        for word in sorted(seen) if least else ():
            counts, choice = seen[word], set(seen[word])
            if word < FIRST_ID or counts.total() < least:
                choice.update(sets[kernels.OPEN] if pairs is None else choices[pairs.tag_of(word)])
            elif pairs is None and counts.total() < FIRM * least:
                choice.update(*(companions[tag] for tag in counts))
            choices[word] = choice
        for word, choice in sorted(choices.items()):
            key = tuple(sorted(choice))
            if key not in numbers_of:
                numbers_of[key] = len(sets)
                sets.append(key)
            of_word[word] = numbers_of[key]
        return cls(tuple(sets), of_word, _classes(seen, size))

    def extended(self, words: Sequence[Sequence[int]], tags: Sequence[Sequence[int]]) -> Lexicon:
        """Return a lexicon in which words may also have the tags they have here."""
        more: dict[int, set[int]] = defaultdict(set)
        of_rare: set[int] = set()
        for numbers, values in zip(words, tags, strict=True):
            for word, tag in zip(numbers, values, strict=True):
                if tag not in self.sets[self.of_word[word]]:
                    (of_rare if self.of_word[word] == kernels.OPEN else more[word]).add(tag)
        sets, of_word = list(self.sets), self.of_word.copy()
        sets[kernels.OPEN] = tuple(sorted({*sets[kernels.OPEN], *of_rare}))
        for word, extra in sorted(more.items()):
            of_word[word] = len(sets)
            sets.append(tuple(sorted({*self.sets[self.of_word[word]], *extra})))
        return Lexicon(tuple(sets), of_word, self.classes)

    def compiled(self, more: Sequence[tuple[int, ...]] = ()) -> kernels.Sets:
        """Return the sets as the kernels read them; `more` come after those of the lexicon."""
        every = (*self.sets, *more)
        starts = np.zeros(len(every) + 1, np.int32)
        np.cumsum([len(tags) for tags in every], out=starts[1:])
        return kernels.Sets(starts, np.array([tag for tags in every for tag in tags], np.int32))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what rebuilds the lexicon: what JSON can hold, and arrays."""
        return {"sets": [list(tags) for tags in self.sets]}, {"of_word": self.of_word, "classes": self.classes}

    @classmethod
    def from_arrays(cls, config: Fields, arrays: Arrays, *, size: int, boundary: int) -> Lexicon:
        """Rebuild a lexicon of `size` words and `boundary` tags from `state()`; kernels rely on these checks."""
        path = config.path("sets")
        first, *others = config.entries("sets") or [None]
        sets = [(boundary,), *[tuple(integers(tags, path, boundary)) for tags in others]]
        if first != [boundary] or len(sets) < kernels.OPEN + 1:
            raise expected(path, f"the set [{boundary}] and the sets of all words", first)
        for tags in sets:
            if list(tags) != sorted(set(tags)):
                raise expected(path, "sorted sets of tags", tags)
        of_word = arrays.bounded("of_word", np.int32, size, 0, len(sets) - 1)
        if np.flatnonzero(of_word == kernels.BOUNDARY).tolist() != [ROOT_ID]:
            raise expected(arrays.path("of_word"), f"the set {kernels.BOUNDARY} for the root alone", size)
        return cls(tuple(sets), of_word, arrays.bounded("classes", np.int32, size, 0, 2**31 - 1))


def _choices_of_unseen(seen: Seen, pairs: WordPairs, least: int, least_rare: int) -> dict[int, set[int]]:
    """Return for each input tag the tags of its rare words, or of all its words if these are too few."""
    by_tag: dict[int, dict[int, Counter[int]]] = defaultdict(dict)
    for number, counts in seen.items():
        by_tag[pairs.tag_of(number)][number] = counts
    return {
        tag: set(_open_tags(own, least, least_rare)) or {value for counts in own.values() for value in counts}
        for tag, own in by_tag.items()
    }


def _open_tags(seen: Seen, least: int, least_rare: int) -> tuple[int, ...]:
    """Return the tags of at least `least_rare` words that are seen less than `least` times."""
    rare = Counter(tag for counts in seen.values() if counts.total() < least for tag in counts)
    return tuple(sorted(tag for tag, count in rare.items() if count >= least_rare))


def _companions(seen: Seen, least: int) -> Mapping[int, set[int]]:
    """Return the tags that many words with a given tag have too, among words that are seen `least` times or more."""
    words: Counter[int] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    for counts in seen.values():
        if counts.total() >= least:
            words.update(counts.keys())
            pairs.update((tag, other) for tag in counts for other in counts)
    found: dict[int, set[int]] = defaultdict(set)
    for (tag, other), count in pairs.items():
        if count >= max(COMPANIONS, COMPANION_SHARE * words[tag]):
            found[tag].add(other)
    return found


def _classes(seen: Seen, size: int) -> NDArray[np.int32]:
    """Return the class of each word, numbered as the columns of encoders are; rare words are as unseen ones."""
    classes = np.full(size, UNSEEN, np.int32)
    classes[NOTHING], classes[ROOT_ID] = NOTHING, ROOT_ID
    numbers: dict[tuple[int, ...], int] = {}
    for word in sorted(seen):
        counts = seen[word]
        if word >= FIRST_ID and counts.total() >= FREQUENT:
            usual = [tag for tag, count in counts.items() if count >= SMALLEST_SHARE * counts.total()]
            key = tuple(sorted(usual, key=lambda tag: (-counts[tag], tag)))
            classes[word] = FIRST_ID + numbers.setdefault(key, len(numbers))
    return classes


def fixed_sets(
    constraints: Sequence[Tags], token_sets: NDArray[np.int32], lexicon: Lexicon, table: TagTable
) -> tuple[NDArray[np.int32], list[tuple[int, ...]]]:
    """Return the set of each token where some tags are fixed, and the sets that the lexicon does not have.

    Of the tags that have all that is fixed for a word, those that the word may have, if there are any.
    """
    sets, more = token_sets.copy(), list[tuple[int, ...]]()
    numbers: dict[tuple[int, ...], int] = {}
    matching: dict[str, list[int]] = {}
    index = 0
    for number, tags in enumerate(constraints, start=1):
        for word, value in enumerate(tags.values):
            if word and value:
                if value not in matching:
                    matching[value] = table.matching(value)
                if not matching[value]:
                    raise DataError(
                        f"sentence {number}: the fixed tag {value!r} of word {word} is none of the model's; "
                        f"known: {', '.join(table.names)}"
                    )
                allowed = set(lexicon.sets[token_sets[index]])
                choice = tuple(tag for tag in matching[value] if tag in allowed) or tuple(matching[value])
                if choice not in numbers:
                    numbers[choice] = len(lexicon.sets) + len(more)
                    more.append(choice)
                sets[index] = numbers[choice]
            index += 1
    return sets, more
