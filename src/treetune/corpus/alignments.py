"""Word alignments: sentence pairs, the links between their words, and the word orders that these ask for.

Links are pairs (word, place in the translation), from 1; files have them from 0, as ``0-0 1-2``, a line for each pair.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from treetune.corpus.files import StrPath, display_name, open_output, read_lines
from treetune.corpus.formats import format_of
from treetune.corpus.orders import Ordered, WordOrder
from treetune.corpus.pairs import read_pairs
from treetune.corpus.sentence import Sentence, Tree, name_sentence
from treetune.errors import DataError

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SentencePair:
    """The words of a sentence and of its translation; either may be empty.

    Attributes:
        words: The words in the order of their language.
        target: The words of the translation.
        order: The words, from 1, in the order in which they stand in the text that was aligned; None if it is theirs.
    """

    words: tuple[str, ...]
    target: tuple[str, ...]
    order: tuple[int, ...] | None = None

    @property
    def aligned_words(self) -> tuple[str, ...]:
        """The words in the order in which an aligner sees them."""
        return self.words if self.order is None else tuple(self.words[word - 1] for word in self.order)

    def ordered(self, links: Iterable[tuple[int, int]], confidence: float | None = None) -> Ordered:
        """Return the sentence with the order that links between `aligned_words` and `target` ask for."""
        order = self.order
        mapped = links if order is None else ((order[place - 1], other) for place, other in links)
        found = replace(WordOrder.of_links(mapped, self.target), confidence=confidence)
        return Ordered(Sentence.of(self.words), found, Tree.unknown(len(self.words)))


def read_sentence_pairs(source: StrPath, target: StrPath | None = None) -> Iterator[SentencePair]:
    """Yield the pairs of tokenized texts, words separated by spaces.

    Args:
        source: A sentence a line; with a tab and the translation behind it if there is no `target`. Or the JSON lines
            of ``treetune reorder parallel``, in which words were put into another order.
        target: The translations, line by line.
    """
    if format_of(source, holding="orders") is None:
        for number, pair in enumerate(read_pairs(source, target), start=1):
            if pair.target is None:
                raise DataError(
                    "expected a translation behind a tab, or in a second file, found none",
                    path=display_name(source),
                    line=number,
                )
            yield SentencePair(tuple(pair.source.split()), tuple(pair.target.split()))
        return
    # Read as text beside the translations, so that both files have the same number of lines.
    for number, pair in enumerate(read_pairs(source, target), start=1):
        try:
            yield _reordered(pair.source, pair.target)
        except DataError as error:
            raise DataError(error.problem, path=display_name(source), line=number) from None


def read_links(path: StrPath, pairs: Iterable[SentencePair]) -> Iterator[tuple[SentencePair, Links]]:
    """Yield sentence pairs with their links from a file that has a line ``0-0 1-2`` for each."""
    lines = iter(read_lines(path))
    number = 0
    for number, pair in enumerate(pairs, start=1):
        line = next(lines, None)
        if line is None:
            raise DataError(
                f"expected as many lines as there are sentence pairs, found the end before line {number}",
                path=display_name(path),
            )
        try:
            yield pair, tuple(_parse_links(line, len(pair.words), len(pair.target)))
        except DataError as error:
            raise DataError(error.problem, path=display_name(path), line=number) from None
    if next(lines, None) is not None:
        raise DataError(
            f"expected {number} lines, one for each sentence pair, found more",
            path=display_name(path),
            line=number + 1,
        )


def write_alignments(items: Iterable[Ordered], links: StrPath, source: StrPath, target: StrPath) -> int:
    """Write the alignments behind orders, and both texts, in the form that `read_links` reads.

    Raises:
        DataError: an order does not know the links it was made from.
    """
    count = 0
    with open_output(links) as links_out, open_output(source) as source_out, open_output(target) as target_out:
        for item in items:
            count += 1
            order = item.order
            if (order.words and not order.links) or not order.target:
                raise DataError(
                    f"{name_sentence(count, item.sentence)}: expected an order with links and the words of the other "
                    "language, found the order alone; write JSON lines instead"
                )
            links_out.write(" ".join(f"{word - 1}-{place - 1}" for word, place in order.links) + "\n")
            source_out.write(" ".join(item.sentence.forms[1:]) + "\n")
            target_out.write(" ".join(order.target) + "\n")
    return count


def coverage(pair: SentencePair, links: Links) -> float:
    """Return the share of the words of both sentences that have a link."""
    linked = len({word for word, _ in links}) + len({place for _, place in links})
    return linked / ((len(pair.words) + len(pair.target)) or 1)


def _reordered(line: str, target: str | None) -> SentencePair:
    problem = 'expected the JSON lines of \'treetune reorder parallel\', with "tokens" and "order"'
    try:
        content = json.loads(line)
        words, order = tuple(content["tokens"]), tuple(word + 1 for word in content["order"])
        other = content.get("target") if target is None else target
    except (ValueError, KeyError, TypeError):
        raise DataError(problem) from None
    if not all(isinstance(word, str) for word in words) or sorted(order) != list(range(1, len(words) + 1)):
        raise DataError(f"{problem} of all words")
    if not isinstance(other, str):
        raise DataError('expected a "target", the translation, or a second file with the translations, found neither')
    return SentencePair(words, tuple(other.split()), order)


def _parse_links(text: str, size: int, target_size: int) -> Iterator[tuple[int, int]]:
    for pair in text.split():
        word, dash, place = pair.partition("-")
        if not (dash and word.isdecimal() and place.isdecimal()):
            raise DataError(f"expected links such as 0-0 1-2, found {pair!r}")
        if int(word) >= size or int(place) >= target_size:
            raise DataError(
                f"expected links up to {size - 1}-{target_size - 1}, the last words of the two sentences, found {pair}"
            )
        yield int(word) + 1, int(place) + 1
