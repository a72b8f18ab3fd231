"""Words of an analysis that was aligned with gold, and how many are right, metric by metric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from treetune.corpus.sentence import ABSENT
from treetune.evaluation.breakdown import Tally
from treetune.evaluation.counts import CONTENT_LABELS, strip_subtype

# The features and the labels of function words that the official scorer of the shared tasks looks at.
UNIVERSAL_FEATURES = frozenset({
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case", "Definite",
    "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite",
})  # fmt: skip
FUNCTIONAL_LABELS = frozenset({"aux", "cop", "mark", "det", "clf", "case", "cc"})

Span = tuple[int, int]
_FunctionWord = tuple[int, str, str, str]


class AlignedWord(NamedTuple):
    """What scores look at of a word."""

    form: str
    span: Span
    is_multiword: bool
    upos: str
    xpos: str
    feats: str
    """Universal features alone."""
    lemma: str
    parent: int
    """The index of the head among all words of the file, or -1 for a root."""
    label: str
    counts: bool


def universal_features(feats: str) -> str:
    """Return the universal features of FEATS."""
    return "|".join(sorted(feat for feat in feats.split("|") if feat.partition("=")[0] in UNIVERSAL_FEATURES))


def word_tallies(
    gold: Sequence[AlignedWord], predicted: Sequence[AlignedWord], pairs: Sequence[tuple[int, int]]
) -> dict[str, Tally]:
    """Return the counts of each metric over words, given the indices of those that are the same."""
    partner = {second: first for first, second in pairs}
    counted = [(first, second) for first, second in pairs if gold[first].counts]
    first_size, second_size = (sum(word.counts for word in words) for words in (gold, predicted))
    content = [sum(word.counts and _is_content(word) for word in words) for words in (gold, predicted)]

    def right_head(first: int, second: int) -> bool:
        parent = predicted[second].parent
        return gold[first].parent == (parent if parent < 0 else partner.get(parent, -3))

    compared = [(gold[first], predicted[second]) for first, second in counted]
    attached = [(first, second) for first, second in counted if right_head(first, second)]
    labelled = [(first, second) for first, second in attached if gold[first].label == predicted[second].label]
    right = {
        "Words": len(counted),
        "UPOS": sum(one.upos == other.upos for one, other in compared),
        "XPOS": sum(one.xpos == other.xpos for one, other in compared),
        "UFeats": sum(one.feats == other.feats for one, other in compared),
        "AllTags": sum(_all_tags(one) == _all_tags(other) for one, other in compared),
        "Lemmas": sum(_same_lemma(one, other) for one, other in compared),
        "UAS": len(attached),
        "LAS": len(labelled),
    }
    words = [(first, second) for first, second in labelled if _is_content(gold[first])]
    helpers = _function_words(gold, None), _function_words(predicted, partner)
    right_content = {
        "CLAS": len(words),
        "MLAS": sum(
            _same_morphology(gold[first], predicted[second]) and helpers[0].get(first) == helpers[1].get(second)
            for first, second in words
        ),
        "BLEX": sum(_same_lemma(gold[first], predicted[second]) for first, second in words),
    }
    return {
        **{name: Tally(first_size, second_size, count) for name, count in right.items()},
        **{name: Tally(content[0], content[1], count) for name, count in right_content.items()},
    }


def _all_tags(word: AlignedWord) -> tuple[str, str, str]:
    return word.upos, word.xpos, word.feats


def _same_morphology(gold: AlignedWord, predicted: AlignedWord) -> bool:
    return (gold.upos, gold.feats) == (predicted.upos, predicted.feats)


def _same_lemma(gold: AlignedWord, predicted: AlignedWord) -> bool:
    """Return whether a lemma is right; where gold has none, any is."""
    return gold.lemma in (ABSENT, predicted.lemma)


def _function_words(
    words: Sequence[AlignedWord], partner: Mapping[int, int] | None
) -> dict[int, list[tuple[int, str, str, str]]]:
    """Return of each head its function words: the words of gold they are, or -1, and what is said of them."""
    found: dict[int, list[_FunctionWord]] = defaultdict(list)
    for index, word in enumerate(words):
        if word.parent >= 0 and strip_subtype(word.label) in FUNCTIONAL_LABELS:
            own = index if partner is None else partner.get(index, -1)
            found[word.parent].append((own, word.label, word.upos, word.feats))
    return found


def _is_content(word: AlignedWord) -> bool:
    return strip_subtype(word.label) in CONTENT_LABELS
