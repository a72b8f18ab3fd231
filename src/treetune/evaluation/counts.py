"""The counts behind attachment scores, of one gold and one predicted tree.

Every score is a ratio of sums of these counts, so corpora are scored by adding, resampled by adding other
sentences, and a loss that uses `attachment_counts` cannot drift away from the metric it stands for.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD, UNKNOWN_LABEL, Sentence, Tree
from treetune.errors import DataError

# The relations CLAS looks at: all of Universal Dependencies v2 but function words and punctuation.
# fmt: off
CONTENT_LABELS = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp",
    "obl", "vocative", "expl", "dislocated", "advcl", "advmod", "discourse",
    "nmod", "appos", "nummod", "acl", "amod",
    "conj", "fixed", "flat", "list", "parataxis", "compound", "orphan", "goeswith", "reparandum",
    "root", "dep",
})
# fmt: on


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted in one sentence or, after adding, in many; all integers.

    Word counts cover the words whose gold head is known and that are not ignored; "labelled" ones also have
    a known gold label. Root counts cover every word of the sentences whose gold tree names a root.
    """

    sentences: int = 0
    words: int = 0
    right_heads: int = 0
    labelled_words: int = 0
    right_labels: int = 0
    right_arcs: int = 0
    """Labelled words with the right head and the right label."""
    content_gold: int = 0
    content_predicted: int = 0
    content_right: int = 0
    rooted_sentences: int = 0
    right_root_sentences: int = 0
    """Sentences whose predicted roots are exactly the gold ones."""
    gold_roots: int = 0
    predicted_roots: int = 0
    right_roots: int = 0
    scored_sentences: int = 0
    """Sentences with at least one counted word."""
    complete_heads: int = 0
    labelled_sentences: int = 0
    """Sentences with at least one labelled word."""
    complete_arcs: int = 0
    length: int = 0
    """Summed gold arc lengths of the counted words; an arc from the root has the length of its position."""
    right_length: int = 0
    labelled_length: int = 0
    right_labelled_length: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) + getattr(other, name) for name in COUNT_NAMES))

    @classmethod
    def total(cls, counts: Iterable[Counts]) -> Counts:
        """Add up the counts of many sentences."""
        return sum(counts, cls())


COUNT_NAMES = tuple(field.name for field in dataclasses.fields(Counts))


class PairedArc(NamedTuple):
    """One counted word with its gold and its predicted arc."""

    word: int
    gold_head: int
    gold_label: str
    head: int
    label: str

    @property
    def is_wrong(self) -> bool:
        """Whether the head is wrong, or the label where gold has one."""
        return self.head != self.gold_head or self.gold_label not in (UNKNOWN_LABEL, self.label)


def strip_subtype(label: str) -> str:
    """Return the universal part of a label: ``nmod`` of ``nmod:poss``."""
    return label.partition(":")[0]


def is_punctuation(form: str, upos: str = ABSENT) -> bool:
    """Tell punctuation by its tag or, where there is no tag, by Unicode: every character in a category P*."""
    if upos != ABSENT:
        return upos == "PUNCT"
    return all(unicodedata.category(character).startswith("P") for character in form)


def punctuation(sentence: Sentence) -> frozenset[int]:
    """Return the positions of the punctuation, for the `ignore` of `attachment_counts`."""
    columns = zip(sentence.forms[1:], sentence.upos[1:], strict=True)
    return frozenset(i for i, (form, upos) in enumerate(columns, start=1) if is_punctuation(form, upos))


def paired_arcs(
    gold: Tree, predicted: Tree, *, ignore: Collection[int] = frozenset(), subtypes: bool = True
) -> list[PairedArc]:
    """List the counted words: gold head known, not in `ignore`; labels stripped unless `subtypes`.

    Raises:
        DataError: the trees differ in length.
    """
    if len(gold) != len(predicted):
        raise DataError(f"expected a predicted tree of {len(gold)} words, as in gold, found {len(predicted)}")
    gold_labels, labels = gold.labels, predicted.labels
    if not subtypes:
        gold_labels = tuple(map(strip_subtype, gold_labels))
        labels = tuple(map(strip_subtype, labels))
    rows = zip(range(len(gold) + 1), gold.heads, gold_labels, predicted.heads, labels, strict=True)
    return [PairedArc(*row) for row in rows if row[0] and row[1] != UNKNOWN_HEAD and row[0] not in ignore]


def attachment_counts(
    gold: Tree, predicted: Tree, *, ignore: Collection[int] = frozenset(), subtypes: bool = True
) -> Counts:
    """Count what is right and wrong in one predicted tree, in time linear in its words.

    The predicted tree need not be well formed: it may have no root, several roots, cycles or unknown heads
    (which are wrong wherever gold is known).

    Args:
        gold: the reference; words with an unknown head are not counted.
        predicted: a tree of the same words.
        ignore: positions not to count, such as `punctuation(sentence)`.
        subtypes: whether ``nmod:poss`` and ``nmod`` differ.

    Raises:
        DataError: the trees differ in length.
    """
    pairs = paired_arcs(gold, predicted, ignore=ignore, subtypes=subtypes)
    labelled = [pair for pair in pairs if pair.gold_label != UNKNOWN_LABEL]
    right_heads = [pair for pair in pairs if pair.head == pair.gold_head]
    right_labels = [pair for pair in labelled if pair.label == pair.gold_label]
    right_arcs = [pair for pair in right_labels if pair.head == pair.gold_head]
    heads_complete = len(right_heads) == len(pairs)
    labels_complete = len(right_labels) == len(labelled)
    gold_roots = set(gold.roots)
    # A gold tree without a known root says nothing about roots, so predicted ones are not held against it.
    predicted_roots = set(predicted.roots) if gold_roots else set()
    return Counts(
        sentences=1,
        words=len(pairs),
        right_heads=len(right_heads),
        labelled_words=len(labelled),
        right_labels=len(right_labels),
        right_arcs=len(right_arcs),
        content_gold=sum(_is_content(pair.gold_label) for pair in labelled),
        content_predicted=sum(_is_content(pair.label) for pair in labelled),
        content_right=sum(_is_content(pair.gold_label) for pair in right_arcs),
        rooted_sentences=int(bool(gold_roots)),
        right_root_sentences=int(bool(gold_roots) and gold_roots == predicted_roots),
        gold_roots=len(gold_roots),
        predicted_roots=len(predicted_roots),
        right_roots=len(gold_roots & predicted_roots),
        scored_sentences=int(bool(pairs)),
        complete_heads=int(bool(pairs) and heads_complete),
        labelled_sentences=int(bool(labelled)),
        complete_arcs=int(bool(labelled) and heads_complete and labels_complete),
        length=_summed_length(pairs),
        right_length=_summed_length(right_heads),
        labelled_length=_summed_length(labelled),
        right_labelled_length=_summed_length(right_arcs),
    )


def _is_content(label: str) -> bool:
    return strip_subtype(label) in CONTENT_LABELS


def _summed_length(pairs: Iterable[PairedArc]) -> int:
    return sum(abs(pair.word - pair.gold_head) for pair in pairs)
