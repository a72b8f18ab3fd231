"""Linear-chain taggers of first and second order (Collins 2002; Crammer et al. 2006; Lafferty et al. 2001)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, Fields
from treetune.corpus.sentence import ROOT, Example, Sentence
from treetune.corpus.sentence_table import SentenceTable
from treetune.corpus.spans import BEGIN, INSIDE
from treetune.corpus.tags import TAG_COLUMNS, Tagged, Tags, part_of, tagged, write_column, write_table_column
from treetune.errors import ConfigError, DataError, ModelError, check_minimum
from treetune.evaluation.entities import ENTITIES
from treetune.evaluation.scorers import Scorer
from treetune.evaluation.tagging import tag_scorer
from treetune.features.encoding import COLUMNS, normalise
from treetune.features.templates import check_clusters
from treetune.models.base import Candidate
from treetune.models.feature_model import FeatureModel
from treetune.models.options import options_from_state
from treetune.models.sequence._kernels import SearchResult, SearchSetup, Sets
from treetune.models.sequence.grammar import WORD, TaggerConfig, TaggerGrammar, templates_of
from treetune.models.sequence.search import collect, run, run_marginals
from treetune.models.sequence.templates import CLASS, compile_templates
from treetune.weights.store import FrozenWeights

# Probabilities of all tags are kept for so many sentences at a time.
_AT_ONCE = 256


class Tagger(FeatureModel[TaggerConfig, TaggerGrammar, FrozenWeights, Tags]):
    """A sequence tagger: the best sequence of tags of each sentence (Viterbi).

    Train it with `fit` on examples, or with `treetune.train` on `Tagged` sentences, or get a trained one from
    `treetune.load`. The options are those of `TaggerConfig`.
    """

    kind: ClassVar[str] = "tagger"
    noun: ClassVar[str] = "tagger"

    def __init__(self, config: TaggerConfig | None = None, **options: Any) -> None:
        for name in ("columns", "inputs"):
            if isinstance(options.get(name), list):
                options[name] = tuple(options[name])
        super().__init__(config or TaggerConfig(), options)
        # Mistakes in the templates show now, not after data was read.
        templates = templates_of(self.config)
        compile_templates(templates, (*COLUMNS, CLASS))
        if self.config.clusters is not None:
            check_clusters(self.config.clusters, templates, self.config.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the tagger predicts."""
        return self.config.columns

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the model; of several columns the joint ones."""
        return self.grammar.tags.names

    @property
    def scorer(self) -> Scorer:
        """Tags are scored by accuracy, by column, and of words that were met in training and others; spans by F1."""
        if self.config.spans:
            return ENTITIES
        if not self.is_trained:
            return tag_scorer(self.columns)
        known = set(self.grammar.encoder.values[WORD])
        return tag_scorer(self.columns, lambda form: normalise(form) in known)

    @property
    def is_stacked(self) -> bool:
        """A tagger does not look at trees."""
        return False

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tags] | None = None
    ) -> list[Tags]:
        """Return the best tags of each sentence; the same for any number of threads.

        Tags of `constraints` that are not ``""`` stay, whatever the word was seen with; of joint ones a part can be
        given alone (``"NOUN "``). Raises DataError for a tag that the model does not know.
        """
        result, offsets = self._search(sentences, constraints, k=1, exact=False, threads=threads)
        values = self._names[result.tags[0]].tolist()
        return [Tags(tuple(values[start:end])) for start, end in itertools.pairwise(offsets.tolist())]

    def annotate(self, sentences: Sequence[Sentence], *, threads: int = 1) -> Sequence[Sentence]:
        """Return the sentences with the best tags in the tagger's columns; a table of sentences stays one.

        Tags of spans are made IOB2: a span begins with ``B``.
        """
        result, offsets = self._search(sentences, None, k=1, exact=False, threads=threads)
        found = [names[result.tags[0]] for names in self._parts]
        if self.config.spans:
            found = [as_iob2(found[0])]
        if isinstance(sentences, SentenceTable):
            for name, values in zip(self.columns, found, strict=True):
                sentences = write_table_column(sentences, name, np.delete(values, offsets[:-1]).tolist())
            return sentences
        columns = [values.tolist() for values in found]
        plain = [number for number, name in enumerate(self.columns) if name in TAG_COLUMNS]
        others = [number for number, name in enumerate(self.columns) if name not in TAG_COLUMNS]
        annotated = []
        for sentence, start, end in zip(sentences, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            changed: dict[str, Any] = {self.columns[number]: tuple(columns[number][start:end]) for number in plain}
            new = replace(sentence, **changed)
            for number in others:
                new = write_column(new, self.columns[number], columns[number][start:end])
            annotated.append(new)
        return annotated

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tags] | None = None,
    ) -> list[list[Candidate[Tags]]]:
        """Return the k-best list of each sentence, exact and distinct; the same for any number of threads."""
        check_minimum("k", k, 1)
        result, offsets = self._search(sentences, constraints, k=k, exact=True, threads=threads)
        return [
            candidates(result, index, int(offsets[index]), int(offsets[index + 1]), self._names, self.weights.scale)
            for index in range(len(sentences))
        ]

    def marginals(
        self, sentences: Sequence[Sentence], *, temperature: float = 1.0, threads: int = 1
    ) -> list[NDArray[np.float64]]:
        """Return the probability of each tag (column) of each word (row; row 0 is the root's, and empty).

        The probability of an output is proportional to the exponential of its score divided by `temperature`: the
        model of the learner "crf". With other learners it is a confidence that is not calibrated.
        """
        found, _, offsets = self._marginals(sentences, temperature=temperature, threads=threads)
        return [found[start:end] for start, end in itertools.pairwise(offsets.tolist())]

    def confidences(
        self, sentences: Sequence[Sentence], outputs: Sequence[Tags] | None = None, *, temperature: float = 1.0,
        threads: int = 1,
    ) -> list[NDArray[np.float64]]:  # fmt: skip
        """Return the marginal probability of the tag of each word, by default of the best output; the root's is 1."""
        chosen = self.predict_batch(sentences, threads=threads) if outputs is None else outputs
        check_constraints(sentences, chosen)
        confidences = []
        for first in range(0, len(sentences), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            tables = self.marginals(sentences[part], temperature=temperature, threads=threads)
            for sentence, tags, table in zip(sentences[part], chosen[part], tables, strict=True):
                numbers = self._numbers(sentence, tags)[1:]
                confidences.append(np.array([1.0, *table[np.arange(1, len(table)), numbers]]))
        return confidences

    def log_likelihoods(self, examples: Sequence[Tagged], *, threads: int = 1) -> list[float]:
        """Return the log-likelihood of the gold tags of each sentence, which the learner "crf" maximises."""
        sentences = [example.sentence for example in examples]
        _, log_sums, _ = self._marginals(sentences, temperature=1.0, threads=threads)
        scores = [self.score(example.sentence, example.gold) for example in examples]
        return [score - log_sum for score, log_sum in zip(scores, log_sums.tolist(), strict=True)]

    def _marginals(
        self, sentences: Sequence[Sentence], *, temperature: float, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        if not temperature > 0:
            raise ConfigError(f"temperature must be more than 0, found {temperature}")
        encoded, sets = self.grammar.encode(sentences)
        unit = 1.0 / (self.weights.scale * temperature)
        max_memory = self.config.max_memory
        tables, log_sums = run_marginals(self._setup(sets), encoded, unit=unit, threads=threads, max_memory=max_memory)
        return tables, log_sums, encoded.offsets

    def features(
        self, sentence: Sentence, output: Tags | Candidate[Tags]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return the (feature, tag) pairs of an output, word by word; the sum of their weights is its score."""
        tags = output.output if isinstance(output, Candidate) else output
        encoded, sets = self.grammar.encode([sentence])
        return collect(self._setup(sets), encoded, self._numbers(sentence, tags))

    def score(self, sentence: Sentence, output: Tags | Candidate[Tags]) -> float:
        """Return the exact score of an output under the averaged weights."""
        tags = output.output if isinstance(output, Candidate) else output
        self._numbers(sentence, tags)
        result, _ = self._search([sentence], [tags], k=1, exact=True, threads=1)
        return float(result.scores[0, 0]) / self.weights.scale

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays): all that `from_state` needs."""
        config, tensors = self.grammar.state()
        options = asdict(self.config)
        config |= {
            "options": {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()},
            "trained_by": dict(self.trained_by),
            "scale": self.weights.scale,
        }
        return config, {**tensors, **{f"weights.{name}": array for name, array in self.weights.tensors().items()}}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a trained tagger from `state()`."""
        fields = Fields(config)
        tagger = cls._with_stored(options_from_state(TaggerConfig, fields.table("options")))
        grammar = TaggerGrammar.from_state(config, tensors, tagger.config)
        grammar.check(tagger.config)
        arrays = Arrays(tensors).part("weights")
        weights = FrozenWeights.from_arrays(grammar.outputs, fields.positive("scale"), arrays)
        tagger.set_trained(grammar, weights, trained_by=fields.plain_table("trained_by"))
        return tagger

    def set_trained(
        self, grammar: TaggerGrammar, weights: FrozenWeights, *, trained_by: Mapping[str, Any] | None = None
    ) -> None:
        """Take over what was learned; learners call this."""
        super().set_trained(grammar, weights, trained_by=trained_by)
        for name in ("_names", "_parts"):
            self.__dict__.pop(name, None)

    def _gold_examples(self, examples: Sequence[Any]) -> Sequence[Any]:
        if isinstance(examples, str | PathLike) or not any(isinstance(item, Example | Sentence) for item in examples):
            return examples
        return tagged(examples, self.columns)

    @cached_property
    def _names(self) -> NDArray[np.object_]:
        """The tags by number; the last, the boundary's, stands for the root."""
        return np.array([*self.tags, ROOT], np.object_)

    @cached_property
    def _parts(self) -> list[NDArray[np.object_]]:
        """The parts of tags by number, column by column."""
        return [
            np.array([*[part_of(tag, number) for tag in self.tags], ROOT], np.object_)
            for number in range(len(self.columns))
        ]

    def _setup(self, sets: Sets) -> SearchSetup:
        return self.grammar.setup(self.weights.store, self.config, sets)

    def _search(
        self, sentences: Sequence[Sentence], constraints: Sequence[Tags] | None, *, k: int, exact: bool, threads: int
    ) -> tuple[SearchResult, NDArray[np.int64]]:
        check_constraints(sentences, constraints)
        encoded, sets = self.grammar.encode(sentences, constraints)
        max_memory = self.config.max_memory
        result = run(self._setup(sets), encoded, k=k, exact=exact, threads=threads, max_memory=max_memory)
        return result, encoded.offsets

    def _numbers(self, sentence: Sentence, tags: Tags) -> NDArray[np.int32]:
        if len(tags) != len(sentence):
            raise ModelError(f"expected tags of {len(sentence)} words, found {len(tags)}")
        ids = self.grammar.tags.ids()
        for value in tags.values[1:]:
            if value not in ids:
                raise ModelError(f"the tag {value!r} is none of the model's; known: {', '.join(self.tags)}")
        return np.array([self.grammar.tags.boundary, *[ids[value] for value in tags.values[1:]]], np.int32)


def as_iob2(tags: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return tags in which each span begins with ``B``; those of roots, which separate sentences, stay."""
    values = tags.tolist()
    for place, (before, tag) in enumerate(itertools.pairwise(values), start=1):
        if tag[0] == INSIDE and before[2:] != tag[2:]:
            values[place] = BEGIN + tag[1:]
    return np.array(values, np.object_)


def check_constraints(sentences: Sequence[Sentence], constraints: Sequence[Tags] | None) -> None:
    """Raise DataError unless there are tags for each sentence, as many as it has words."""
    if constraints is None:
        return
    if len(constraints) != len(sentences):
        raise DataError(f"expected {len(sentences)} constraints, one a sentence, found {len(constraints)}")
    for number, (sentence, tags) in enumerate(zip(sentences, constraints, strict=True), start=1):
        if len(tags) != len(sentence):
            raise DataError(f"sentence {number}: expected fixed tags of {len(sentence)} words, found {len(tags)}")


def candidates(
    result: SearchResult, index: int, start: int, end: int, names: NDArray[np.object_], scale: float
) -> list[Candidate[Tags]]:
    """Return the k-best list of one sentence; scores are divided by `scale`."""
    return [
        Candidate(Tags(tuple(names[result.tags[rank, start:end]])), float(result.scores[index, rank]) / scale)
        for rank in range(int(result.counts[index]))
    ]
