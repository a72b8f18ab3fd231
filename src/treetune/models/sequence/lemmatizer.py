"""Lemmas by edit scripts: a tagger of single words chooses the script by their form and tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from treetune.checked_state import Fields, expected
from treetune.corpus.sentence import ABSENT, ROOT, Example, Sentence
from treetune.corpus.sentence_table import SentenceTable
from treetune.corpus.tags import TAG_COLUMNS, Tagged, Tags
from treetune.errors import DataError
from treetune.models.nested_state import parts_from_state, state_of_parts
from treetune.models.sequence.edit_scripts import apply_script, changes_digits, is_script, is_turkic, make_script
from treetune.models.sequence.tagger import Tagger

# What the tagger calls the column of scripts.
SCRIPT = "script"
_TAGGER = "scripts"
# How often the learner sees a word with the same tags and the same lemma at most.
_MOST_SEEN = 5
# There is no room for more scripts; of so many, those of a single word are left out.
_MOST_SCRIPTS = 8000
# Scripts that are compared with the best, and how far behind they may be; MIRA asks for a margin of 1.
_CANDIDATES, _ALMOST = 4, 0.5
# The memory of lemmas is dropped at this size.
_LARGEST_MEMO = 1 << 18

Key = tuple[str, str, str, str]


class Lemmatizer:
    """Predicts the lemma of each word from its form, UPOS, XPOS and FEATS; train its `tagger` on `examples`.

    Scripts are those of the training data. A word that is known with its tags has one of the lemmas it had, any other
    the lemma that its affixes suggest; of scripts that are almost as good as the best, one that makes a lemma of the
    training data with this UPOS comes first.
    """

    kind: ClassVar[str] = "lemmatizer"

    def __init__(
        self, inputs: Sequence[str] = TAG_COLUMNS, *, turkic: bool = False, lemmas: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.tagger = Tagger(
            columns=(SCRIPT,), inputs=tuple(inputs), features="lemmas", given=True, shared=True, unknown_dropout=1
        )
        self.turkic = turkic
        self._lemmas = frozenset(lemmas)
        self._memo: dict[Key, str] = {}

    @property
    def is_trained(self) -> bool:
        """Whether the lemmatizer can be used."""
        return self.tagger.is_trained

    def learn_lemmas(self, treebank: Sequence[Example]) -> None:
        """Collect the lemmas of each UPOS, and find out whether the treebank's language has a dotless i."""
        sentences = [example.sentence for example in treebank]
        self.turkic = is_turkic(pair for one in sentences for pair in zip(one.forms, one.lemmas, strict=True))
        every = (pair for one in sentences for pair in zip(one.upos[1:], one.lemmas[1:], strict=True))
        self._lemmas = frozenset(pair for pair in every if pair[1] != ABSENT)

    def examples(self, sentences: Iterable[Sentence], *, repeated: bool = False) -> list[Tagged]:
        """Return what the tagger is trained on: words with their tags as sentences of one word, and their scripts.

        Args:
            sentences: Sentences with lemmas.
            repeated: Whether each word of the treebank is an example, as for development data.
        """
        counts: Counter[tuple[Key, str]] = Counter()
        for sentence in sentences:
            for key, lemma in zip(_keys([sentence]), sentence.lemmas[1:], strict=True):
                if lemma != ABSENT or key[0] == ABSENT:
                    counts[key, make_script(key[0], lemma, turkic=self.turkic)] += 1
        if not counts:
            raise DataError("expected lemmas to train on in LEMMA, found none in the treebank")
        if repeated:
            return [_example(key, script) for (key, script), count in counts.items() for _ in range(count)]
        # Nothing tells one lemma from another where form and tags are the same.
        usual: dict[Key, tuple[int, str]] = {}
        for (key, script), count in counts.items():
            usual[key] = max(usual.get(key, (0, "")), (count, script))
        # Numbers look alike to the tagger.
        usual = {key: found for key, found in usual.items() if not changes_digits(key[0], found[1])} or usual
        kept = set(_frequent(script for _, script in usual.values()))
        return [
            _example(key, script)
            for key, (count, script) in usual.items()
            for _ in range(min(count, _MOST_SEEN))
            if script in kept
        ]

    def annotate(self, sentences: Sequence[Sentence], *, threads: int = 1, keep: bool = False) -> Sequence[Sentence]:
        """Return the sentences with lemmas; `keep` keeps those that they come with. A table of sentences stays one."""
        memo = self._memo if len(self._memo) < _LARGEST_MEMO else {}
        self._memo = memo
        new = [key for key in dict.fromkeys(_keys(sentences)) if key not in memo]
        if new:
            scripts = self.tagger.predict_batch([_one_word(key) for key in new], threads=threads)
            for key, tags in zip(new, scripts, strict=True):
                memo[key] = apply_script(key[0], tags.values[1], turkic=self.turkic)
            self._prefer_known([key for key in new if (key[1], memo[key]) not in self._lemmas], threads)
        if isinstance(sentences, SentenceTable) and not keep:
            return sentences.with_column("lemmas", [memo[key] for key in _keys(sentences)])
        annotated = []
        for sentence in sentences:
            lemmas: Iterable[str] = [memo[key] for key in _keys([sentence])]
            if keep:
                pairs = zip(sentence.lemmas[1:], lemmas, strict=True)
                lemmas = [found if given == ABSENT else given for given, found in pairs]
            annotated.append(replace(sentence, lemmas=(ROOT, *lemmas)))
        return annotated

    def _prefer_known(self, keys: Sequence[Key], threads: int) -> None:
        """Replace lemmas by those of the training data that are almost as good."""
        if not self._lemmas:
            return
        lists = self.tagger.k_best_batch([_one_word(key) for key in keys], _CANDIDATES, threads=threads)
        for key, (best, *others) in zip(keys, lists, strict=True):
            for candidate in others:
                lemma = apply_script(key[0], candidate.output.values[1], turkic=self.turkic)
                if best.score - candidate.score <= _ALMOST and (key[1], lemma) in self._lemmas:
                    self._memo[key] = lemma
                    break

    def with_tagger(self, tagger: Tagger) -> Lemmatizer:
        """Return a lemmatizer with another tagger of the same scripts, as a quantized one."""
        made = Lemmatizer(tagger.config.inputs, turkic=self.turkic, lemmas=self._lemmas)
        made.tagger = tagger
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs: not the lemmas found so far."""
        return {**self.__dict__, "_memo": {}}

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays): all that `from_state` needs."""
        config, tensors = state_of_parts({_TAGGER: self.tagger})
        lemmas: dict[str, list[str]] = {}
        for tag, lemma in sorted(self._lemmas):
            lemmas.setdefault(tag, []).append(lemma)
        return {**config, "labels": [], "turkic": self.turkic, "lemmas": lemmas}, tensors

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a lemmatizer from `state()`."""
        parts = parts_from_state(config, tensors)
        tagger = parts.get(_TAGGER)
        if list(parts) != [_TAGGER] or not isinstance(tagger, Tagger):
            raise expected("order", f"a tagger called {_TAGGER}", list(parts))
        for name in tagger.tags:
            if not is_script(name):
                raise expected(f"parts.{_TAGGER}.config.labels", "edit scripts", name)
        fields = Fields(config)
        # Files of earlier versions have no lemmas.
        lemmas = fields.table("lemmas") if "lemmas" in fields else Fields({})
        pairs = [(tag, lemma) for tag in lemmas for lemma in lemmas.texts(tag)]
        made = cls(tagger.config.inputs, turkic=fields.flag("turkic"), lemmas=pairs)
        made.tagger = tagger
        return made


def _keys(sentences: Sequence[Sentence]) -> Iterable[Key]:
    """Return what the lemma of each word depends on."""
    if isinstance(sentences, SentenceTable):
        yield from zip(*map(sentences.column, ("forms", *TAG_COLUMNS)), strict=True)
        return
    for one in sentences:
        yield from zip(one.forms[1:], one.upos[1:], one.xpos[1:], one.feats[1:], strict=True)


def _example(key: Key, script: str) -> Tagged:
    return Tagged(_one_word(key), Tags.of([script]))


def _one_word(key: Key) -> Sentence:
    form, upos, xpos, feats = key
    unknown = (ROOT, ABSENT)
    return Sentence((ROOT, form), unknown, (ROOT, upos), (ROOT, xpos), (ROOT, feats), unknown)


def _frequent(scripts: Iterable[str]) -> Iterable[str]:
    """Return the scripts to learn: all, or those of several words if these are too many."""
    counts = Counter(scripts)
    if len(counts) <= _MOST_SCRIPTS:
        return counts
    usual = [script for script, count in counts.most_common(_MOST_SCRIPTS) if count > 1]
    return usual or counts
