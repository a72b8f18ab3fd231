"""The words, tags and labels of a corpus against those of the training data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from treetune.corpus.document import ParsedSentence
from treetune.corpus.sentence import Example, tree_of
from treetune.evaluation.counts import strip_subtype
from treetune.evaluation.word_errors import Group, WordErrors, groups_by, tags_of

_FORMS_KEPT = 3


@dataclass(slots=True)
class TrainingCounts:
    """How often the training data have each word, tag and label, and each word with a tag."""

    forms: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    tagged_forms: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, examples: Iterable[Example | ParsedSentence], column: str, *, subtypes: bool = True) -> TrainingCounts:
        """Count a corpus."""
        found = cls()
        for example in examples:
            forms, labels = example.sentence.forms[1:], tree_of(example).labels[1:]
            tags = tags_of(example.sentence, column)[1:]
            found.forms.update(forms)
            found.tags.update(filter(None, tags))
            found.labels.update(filter(None, labels if subtypes else map(strip_subtype, labels)))
            for form, tag in zip(forms, tags, strict=True):
                found.tagged_forms.setdefault(tag, Counter())[form.lower()] += 1
        return found


@dataclass(frozen=True, slots=True)
class Share:
    """A tag or label: its share of the training data and of gold, the errors there, and the most frequent words."""

    name: str
    train: float
    here: float
    group: Group
    train_forms: dict[str, float]
    forms: dict[str, float]


@dataclass(frozen=True, slots=True)
class Shift:
    """How gold differs from the training data.

    `unknown` are the words that the training data do not have. `tags` and `labels` are ordered by the change of their
    share; a distance is half the sum of all changes (total variation), 0 for the same distribution and 1 at most.
    """

    train_words: int
    unknown: Group
    tag_distance: float
    label_distance: float
    tags: tuple[Share, ...]
    labels: tuple[Share, ...]


def measure_shift(train: TrainingCounts, words: Sequence[WordErrors], systems: int) -> Shift:
    """Compare the counted words of gold with the training data."""
    forms: dict[str, Counter[str]] = {}
    for word in words:
        forms.setdefault(word.gold.tag, Counter())[word.form.lower()] += 1
    tags = _shares(train.tags, groups_by(lambda word: word.gold.tag, words, systems), train.tagged_forms, forms)
    labels = _shares(train.labels, groups_by(lambda word: word.gold.label, words, systems), {}, {})
    return Shift(
        train_words=train.forms.total(),
        unknown=Group.of("unknown", [word for word in words if word.is_unknown], systems),
        tag_distance=_distance(tags),
        label_distance=_distance(labels),
        tags=tags,
        labels=labels,
    )


def _shares(
    train: Counter[str],
    groups: dict[str, Group],
    train_forms: dict[str, Counter[str]],
    forms: dict[str, Counter[str]],
) -> tuple[Share, ...]:
    here = sum(group.words for name, group in groups.items() if name)
    if not here or not train:
        return ()
    nothing = (0,) * len(next(iter(groups.values())).errors)
    found = []
    for name in filter(None, train.keys() | groups.keys()):
        group = groups.get(name, Group(name, 0, nothing, nothing))
        shares = train[name] / train.total(), group.words / here
        found.append(Share(name, *shares, group, *(_most_frequent(one.get(name)) for one in (train_forms, forms))))
    return tuple(sorted(found, key=lambda share: (-abs(share.here - share.train), share.name)))


def _most_frequent(forms: Counter[str] | None) -> dict[str, float]:
    if forms is None:
        return {}
    return {form: count / forms.total() for form, count in forms.most_common(_FORMS_KEPT)}


def _distance(shares: Sequence[Share]) -> float:
    return sum(abs(share.here - share.train) for share in shares) / 2
