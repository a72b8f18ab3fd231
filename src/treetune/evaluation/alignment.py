"""F1 of tokens, words, tags and arcs of a system that tokenizes the text itself.

Words are aligned as in the shared tasks of CoNLL 2017 and 2018 (Zeman et al. 2018, section 4): by the characters of
their tokens, and within multiword tokens by the longest common subsequence of forms. An arc is right if both its words
are aligned. An entity is right if it has the same characters and the same type.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from treetune import __version__
from treetune.corpus.document import ParsedSentence, spans_in_token
from treetune.corpus.rawtext import surface_tokens
from treetune.corpus.sentence import Example, Sentence, tree_of
from treetune.corpus.spans import ENTITY_KEY, spans_of
from treetune.corpus.tags import read_column
from treetune.errors import DataError, unknown_name
from treetune.evaluation.aligned_words import AlignedWord, Span, universal_features, word_tallies
from treetune.evaluation.breakdown import Tally
from treetune.evaluation.counts import is_punctuation, strip_subtype
from treetune.evaluation.metrics import percent

TEXT_METRICS = {
    "Tokens": "tokens",
    "Sentences": "sentences",
    "Words": "words",
    "UPOS": "universal tags",
    "XPOS": "tags of the language",
    "UFeats": "universal features",
    "AllTags": "UPOS, XPOS and universal features",
    "Lemmas": "lemmas",
    "UAS": "unlabelled attachment",
    "LAS": "labelled attachment",
    "CLAS": "labelled attachment, content words",
    "MLAS": "CLAS with UPOS, features and function words",
    "BLEX": "CLAS with lemmas",
}
# The official scorer knows no entities; they are scored where gold has some.
ALL_METRICS = {**TEXT_METRICS, "Entities": "named entities"}
_Words = Sequence[AlignedWord]


@dataclass(frozen=True)
class TextScores:
    """The scores of one system that tokenized the text itself; `scores["LAS"]` is the F1, a fraction in [0, 1]."""

    tallies: Mapping[str, Tally]
    punct: bool
    subtypes: bool

    def __getitem__(self, metric: str) -> float:
        """Return one F1 by its name in `ALL_METRICS`; NaN if there was nothing to count."""
        if metric not in self.tallies:
            raise unknown_name("metric", metric, self.tallies)
        return self.tallies[metric].f1

    @property
    def uas(self) -> float:
        """F1 of words with the right head."""
        return self["UAS"]

    @property
    def las(self) -> float:
        """F1 of words with the right head and label."""
        return self["LAS"]

    def signature(self, metric: str = "LAS") -> str:
        """Return the signature of a score: its name, and the conditions that must agree for a comparison."""
        punct, subtypes = ("yes" if option else "no" for option in (self.punct, self.subtypes))
        sentences = self.tallies["Sentences"].gold
        return f"{metric}|tokens:own|punct:{punct}|subtypes:{subtypes}|sents:{sentences}|v:{__version__}"

    def signed(self, metric: str = "LAS") -> str:
        """Return a score as it should be printed: ``signature = percent``."""
        return f"{self.signature(metric)} = {percent(self[metric])}"

    def to_dict(self) -> dict[str, object]:
        """Return everything, ready for JSON; NaN becomes None."""
        return {
            "scores": {name: None if math.isnan(tally.f1) else tally.f1 for name, tally in self.tallies.items()},
            "signatures": {name: self.signature(name) for name in self.tallies},
            "counts": {name: asdict(tally) for name, tally in self.tallies.items()},
        }


class _Analysis(NamedTuple):
    characters: str
    tokens: list[Span]
    sentences: list[Span]
    words: list[AlignedWord]
    entities: list[tuple[Span, str]]
    has_entities: bool


def evaluate_text(
    gold: Iterable[Example | ParsedSentence],
    predicted: Iterable[Example | ParsedSentence],
    *,
    punct: bool = True,
    subtypes: bool = True,
) -> TextScores:
    """Score an analysis of the same text whose tokens and sentences may be others than those of gold.

    Args:
        gold: sentences with their gold trees.
        predicted: sentences with predicted trees; head and label may be unknown.
        punct: whether punctuation counts in words, tags and arcs.
        subtypes: whether ``nmod:poss`` and ``nmod`` differ; the official UD scorer says they do not.

    Raises:
        DataError: the texts differ in more than white space; the message says where.
    """
    first, second = (_analysis(examples, punct=punct, subtypes=subtypes) for examples in (gold, predicted))
    _check_same_text(first, second)
    pairs = list(_aligned(first.words, second.words))
    return TextScores(
        tallies={
            "Tokens": _span_tally(first.tokens, second.tokens),
            "Sentences": _span_tally(first.sentences, second.sentences),
            **word_tallies(first.words, second.words, pairs),
            **({"Entities": _span_tally(first.entities, second.entities)} if first.has_entities else {}),
        },
        punct=punct,
        subtypes=subtypes,
    )


def _analysis(examples: Iterable[Example | ParsedSentence], *, punct: bool, subtypes: bool) -> _Analysis:
    characters: list[str] = []
    end = 0
    tokens: list[Span] = []
    sentences: list[Span] = []
    words: list[AlignedWord] = []
    entities: list[tuple[Span, str]] = []
    has_entities = False
    for example in examples:
        sentence, tree, start, base = example.sentence, tree_of(example), end, len(words)
        if any(ENTITY_KEY in misc for misc in sentence.misc):
            tags = read_column(sentence, ENTITY_KEY)
            has_entities = has_entities or any(tags[1:])
            entities += _entities(sentence, tags, start)
        for token in surface_tokens(sentence):
            form = _without_spaces(token.form)
            span = (end, end + len(form))
            characters.append(form)
            tokens.append(span)
            end += len(form)
            for word in range(token.first, token.last):
                head, label = tree.heads[word], tree.labels[word]
                words.append(
                    AlignedWord(
                        form=_without_spaces(sentence.forms[word]).lower(),
                        span=span,
                        is_multiword=token.last - token.first > 1 or token.first in dict(sentence.multiword),
                        upos=sentence.upos[word],
                        xpos=sentence.xpos[word],
                        feats=universal_features(sentence.feats[word]),
                        lemma=sentence.lemmas[word],
                        parent=-1 if head == 0 else -2 if head < 0 else base + head - 1,
                        label=label if subtypes else strip_subtype(label),
                        counts=punct or not is_punctuation(sentence.forms[word], sentence.upos[word]),
                    )
                )
        sentences.append((start, end))
    return _Analysis("".join(characters), tokens, sentences, words, entities, has_entities)


def _entities(sentence: Sentence, tags: Sequence[str], start: int) -> Iterator[tuple[Span, str]]:
    """Yield characters and type of the entities of a sentence that begins at this character."""
    spans: list[Span] = []
    for token in surface_tokens(sentence):
        form, forms = _without_spaces(token.form), map(_without_spaces, sentence.forms[token.first : token.last])
        spans += spans_in_token(list(forms), form, (start, start + len(form)))
        start += len(form)
    for found in spans_of(tags):
        yield (spans[found.start - 1][0], spans[found.end - 2][1]), found.label


def _without_spaces(form: str) -> str:
    if form.isascii():
        return form.replace(" ", "")
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


def _check_same_text(gold: _Analysis, predicted: _Analysis) -> None:
    if gold.characters == predicted.characters:
        return
    pairs = zip(gold.characters, predicted.characters, strict=False)
    shorter = min(len(gold.characters), len(predicted.characters))
    place = next((i for i, (left, right) in enumerate(pairs) if left != right), shorter)
    sentence = next((i for i, (_, end) in enumerate(gold.sentences) if end > place), len(gold.sentences) - 1)
    raise DataError(
        f"the texts differ in sentence {sentence + 1} of gold: expected {gold.characters[place : place + 20]!r}, "
        f"found {predicted.characters[place : place + 20]!r}; score an analysis of the same text"
    )


def _span_tally(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> Tally:
    return Tally(len(gold), len(predicted), len(set(gold) & set(predicted)))


def _aligned(gold: _Words, predicted: _Words) -> Iterator[tuple[int, int]]:
    """Yield the indices of words that are the same, in order."""
    i = j = 0
    while i < len(gold) and j < len(predicted):
        if gold[i].is_multiword or predicted[j].is_multiword:
            first, second, i, j = _multiword_stretch(gold, predicted, i, j)
            yield from _common(gold, predicted, (first, i), (second, j))
        elif gold[i].span == predicted[j].span:
            yield i, j
            i, j = i + 1, j + 1
        elif gold[i].span[0] <= predicted[j].span[0]:
            i += 1
        else:
            j += 1


def _multiword_stretch(gold: _Words, predicted: _Words, i: int, j: int) -> tuple[int, int, int, int]:
    """Return the smallest stretches of both that hold a multiword token: their starts, then their ends."""
    if gold[i].is_multiword:
        end = gold[i].span[1]
        if not predicted[j].is_multiword and predicted[j].span[0] < gold[i].span[0]:
            j += 1
    else:
        end = predicted[j].span[1]
        if not gold[i].is_multiword and gold[i].span[0] < predicted[j].span[0]:
            i += 1
    first, second = i, j
    while not (_is_beyond(gold, i, end) and _is_beyond(predicted, j, end)):
        if i < len(gold) and (j >= len(predicted) or gold[i].span[0] <= predicted[j].span[0]):
            end = max(end, gold[i].span[1]) if gold[i].is_multiword else end
            i += 1
        else:
            end = max(end, predicted[j].span[1]) if predicted[j].is_multiword else end
            j += 1
    return first, second, i, j


def _is_beyond(words: _Words, place: int, end: int) -> bool:
    if place >= len(words):
        return True
    word = words[place]
    return word.span[0] >= end if word.is_multiword else word.span[1] > end


def _common(gold: _Words, predicted: _Words, first: Span, second: Span) -> Iterator[tuple[int, int]]:
    """Yield a longest common subsequence of two stretches of words, by their forms."""
    (i, last), (j, end) = first, second
    rows, columns = last - i, end - j
    longest = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            same = gold[i + row].form == predicted[j + column].form
            longest[row][column] = max(
                longest[row + 1][column + 1] + 1 if same else 0, longest[row + 1][column], longest[row][column + 1]
            )
    row = column = 0
    while row < rows and column < columns:
        if gold[i + row].form == predicted[j + column].form:
            yield i + row, j + column
            row, column = row + 1, column + 1
        elif longest[row][column] == longest[row + 1][column]:
            row += 1
        else:
            column += 1
