"""A trained arc filter: sentences in; out, the arcs that a parser may consider. Its scores, and its state in files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, Fields, expected
from treetune.corpus.sentence import Example, Sentence
from treetune.errors import ConfigError, ModelError, unknown_name
from treetune.features.encoding import FIRST_ID, Encoder
from treetune.features.templates import TemplateSet
from treetune.filters import _kernels as kernels
from treetune.filters.pairs import compile_pairs
from treetune.filters.roles import make_work
from treetune.filters.templates import compile_templates
from treetune.weights._flat_kernels import FULLEST, KEY_SHIFT, place_entries
from treetune.weights.flat import ALL_BITS
from treetune.weights.store import check_keys, table_size

JOINT, INDEPENDENT = "joint", "independent"
KINDS = (JOINT, INDEPENDENT)
# Arcs are filtered for so many sentences at a time.
CHUNK = 256


@dataclass(frozen=True)
class FilterConfig:
    """The options of an arc filter.

    Attributes:
        kind: ``joint``: the latent SVM, whose events compete; ``independent``: one SVM a role.
        vine: Whether the length of an arc may remove it.
        threshold: Whether the threshold depends on the tags and the length of the arc (joint only).
        rules: Whether tags that have always had a role in the treebank have it for certain.
        quadratic: Whether arcs that are left go through a classifier of arcs.
        keep_cost: The cost C0 of an arc of the tree that is removed.
        remove_cost: The cost C1 of another arc that is kept.
        features: Feature set of the roles: a name, or a file of templates (.txt).
        min_count: Words and features seen less often in training are not used.
    """

    kind: str = JOINT
    vine: bool = True
    threshold: bool = True
    rules: bool = False
    quadratic: bool = False
    keep_cost: float = 0.1
    remove_cost: float = 7e-5
    features: str = "default"
    min_count: int = 2

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of filter", self.kind, KINDS)
        for name in ("keep_cost", "remove_cost"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} must be a number above 0, found {getattr(self, name)}")
        if self.min_count < 1:
            raise ConfigError(f"min_count must be at least 1, found {self.min_count}")


@dataclass(frozen=True, slots=True)
class FilterScores:
    """Counts of a filter on trees: coverage is the part of their arcs it keeps, reduction that of all it removes."""

    sentences: int
    gold: int
    kept_gold: int
    arcs: int
    kept: int
    seconds: float

    @property
    def coverage(self) -> float:
        """The part of the trees' arcs that is kept."""
        return self.kept_gold / max(1, self.gold)

    @property
    def reduction(self) -> float:
        """The part of all arcs that is removed."""
        return 1 - self.kept / max(1, self.arcs)


@dataclass(frozen=True)
class FilterWeights:
    """What a filter has learned; see `_kernels.Filter`."""

    encoder: Encoder
    template_set: TemplateSet
    tags: str
    keys: NDArray[np.uint64]
    rows: NDArray[np.int16]
    unit: float
    vine: NDArray[np.float32]
    none: NDArray[np.float32]
    biases: NDArray[np.float32]
    rules: NDArray[np.bool_]
    pair_weights: NDArray[np.float32]

    @cached_property
    def filter(self) -> kernels.Filter:
        """The filter as kernels read it."""
        size = table_size(len(self.keys), FULLEST)
        keys, places = np.zeros(size, np.uint64), np.zeros(size, np.int32)
        place_entries(self.keys, np.arange(1, len(self.keys) + 1, dtype=np.int32), keys, places, ALL_BITS[0])
        columns = self.encoder.columns
        return kernels.Filter(
            templates=compile_templates(self.template_set, columns),
            keys=keys,
            places=places,
            rows=self.rows,
            unit=np.array([self.unit], np.float32),
            tag_column=np.array([columns.index(self.tags) if self.tags else -1], np.int64),
            vine=self.vine,
            none=self.none,
            biases=self.biases,
            rules=self.rules,
            pairs=compile_pairs(columns) if len(self.pair_weights) > 1 else np.zeros((0, 4, 2), np.int32),
            pair_weights=self.pair_weights,
        )


NO_FILTER = kernels.Filter(
    templates=kernels.TokenTemplates(
        np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint64),
        np.zeros(0, np.uint64),
    ),
    keys=np.zeros(1, np.uint64),
    places=np.zeros(1, np.int32),
    rows=np.zeros((0, kernels.ROLES), np.int16),
    unit=np.ones(1, np.float32),
    tag_column=np.array([-1], np.int64),
    vine=np.zeros((2, 1, 1), np.float32),
    none=np.zeros((2, 1, 1), np.float32),
    biases=np.zeros(2, np.float32),
    rules=np.zeros((1, kernels.ROLES), np.bool_),
    pairs=np.zeros((0, 4, 2), np.int32),
    pair_weights=np.zeros(1, np.float32),
)  # fmt: skip


class ArcFilter:
    """Says which arcs of a sentence may be considered at all (Cherry & Bergsma 2012)."""

    kind: ClassVar[str] = "filter"

    def __init__(self, config: FilterConfig | None = None, **options: Any) -> None:
        known = [field.name for field in fields(FilterConfig)]
        for name in options:
            if name not in known:
                raise unknown_name("option of arc filters", name, known)
        self.config = replace(config or FilterConfig(), **options)
        self._weights: FilterWeights | None = None

    @property
    def is_trained(self) -> bool:
        """Whether it can filter."""
        return self._weights is not None

    @property
    def weights(self) -> FilterWeights:
        """What was learned."""
        if self._weights is None:
            raise ModelError("this filter is not trained yet; fit it to a treebank or load a trained one")
        return self._weights

    def fit(
        self, treebank: Sequence[Example], dev: Sequence[Example] = (), *, seed: int = 1, encoder: Encoder | None = None
    ) -> Self:
        """Train on gold trees and return the filter.

        Args:
            treebank: Gold trees.
            dev: Trees to tune the costs of single classifiers on; without them, every tenth tree of the treebank.
            seed: Orders the examples; the same seed gives the same filter.
            encoder: Words and tags of a parser that the filter is for, so that sentences are encoded once.
        """
        from treetune.filters.training import train_filter

        self._weights = train_filter(self.config, treebank, dev, seed=seed, encoder=encoder)
        return self

    def keep(self, sentences: Sequence[Sentence]) -> list[NDArray[np.bool_]]:
        """Return for each sentence which arcs are kept: ``[head, dependent]``, token 0 the artificial root."""
        columns, offsets = self.weights.encoder.encode(sentences)
        starts = arc_starts(offsets)
        kept = np.zeros(int(starts[-1]), np.uint8)
        work = make_work(int(np.diff(offsets).max(initial=1)), len(self.weights.filter.templates.template_seed))
        kernels.filter_range(self.weights.filter, columns, offsets, starts, 0, len(sentences), work, kept)
        sizes = np.diff(offsets)
        return [
            kept[start : start + size * size].reshape(size, size).astype(np.bool_)
            for start, size in zip(starts, sizes, strict=False)
        ]

    def evaluate(self, examples: Sequence[Example]) -> FilterScores:
        """Return coverage, reduction and CPU time of the filter on trees."""
        gold = kept_gold = arcs = kept = 0
        seconds = 0.0
        self.keep([example.sentence for example in examples[:1]])
        for first in range(0, len(examples), CHUNK):
            chunk = examples[first : first + CHUNK]
            began = time.process_time()
            matrices = self.keep([example.sentence for example in chunk])
            seconds += time.process_time() - began
            for example, matrix in zip(chunk, matrices, strict=True):
                words = len(example.gold)
                heads = np.array(example.gold.heads[1:], np.int64)
                gold += words
                kept_gold += int(matrix[heads, np.arange(1, words + 1)].sum())
                arcs += words * words
                kept += int(matrix.sum())
        return FilterScores(len(examples), gold, kept_gold, arcs, kept, seconds)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays): all that `from_state` needs."""
        weights = self.weights
        config = {
            "options": asdict(self.config),
            **weights.template_set.state(),
            "encoder": weights.encoder.state(),
            "tags": weights.tags,
            "unit": weights.unit,
        }
        gaps = np.diff(weights.keys, prepend=np.uint64(0))
        return config, {
            "gaps": gaps,
            "rows": weights.rows,
            "vine": weights.vine,
            "none": weights.none,
            "biases": weights.biases,
            "rules": weights.rules.astype(np.uint8),
            "pair_weights": weights.pair_weights,
        }

    @classmethod
    def from_state(
        cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]], *, encoder: Encoder | None = None
    ) -> Self:
        """Rebuild a filter from `state()`; its encoder may be that of the parser it belongs to."""
        stored, arrays = Fields(config), Arrays(tensors)
        made = cls(_options(stored.table("options")))
        if encoder is None:
            encoder = Encoder.from_state(stored.value("encoder"))
        templates = TemplateSet.from_state(config)
        compile_templates(templates, encoder.columns)
        tags = stored.text("tags")
        if tags and tags not in encoder.values:
            raise expected("tags", "a column of the encoder, or none", tags)
        count = tag_count(encoder, tags)
        keys = np.cumsum(arrays.integers("gaps", np.uint64), dtype=np.uint64)
        check_keys(keys, int(KEY_SHIFT), table_size(len(keys), FULLEST), arrays)
        pairs = arrays.exact("pair_weights", np.float32, (None,))
        if len(pairs) & (len(pairs) - 1) or not len(pairs):
            raise expected("pair_weights", "a power of two of weights", len(pairs))
        made._weights = FilterWeights(
            encoder=encoder,
            template_set=templates,
            tags=tags,
            keys=keys,
            rows=arrays.exact("rows", np.int16, (len(keys) + 1, kernels.ROLES)),
            unit=stored.positive("unit"),
            vine=arrays.exact("vine", np.float32, (2, count, count)),
            none=arrays.exact("none", np.float32, (2, count, count)),
            biases=arrays.exact("biases", np.float32, (2,)),
            rules=arrays.exact("rules", np.uint8, (count, kernels.ROLES)).astype(np.bool_),
            pair_weights=pairs,
        )
        return made


def _options(stored: Fields) -> FilterConfig:
    """Return options of a file."""
    values = {name: stored.value(name) for name in stored}
    known = {field.name: type(field.default) for field in fields(FilterConfig)}
    for name, value in values.items():
        if name not in known or (type(value) is not known[name] and not (known[name] is float and type(value) is int)):
            raise expected(stored.path(name), f"an option of arc filters ({', '.join(known)})", value)
    try:
        return FilterConfig(**values)
    except ConfigError as error:
        raise ModelError(f"options: {error}") from None


def tag_count(encoder: Encoder, tags: str) -> int:
    """Return how many numbers a column of tags has; 1 if there is none."""
    return FIRST_ID + len(encoder.values[tags]) if tags else 1


def arc_starts(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the arcs of each sentence start, (n + 1)² of n words."""
    return np.concatenate([[0], np.cumsum(np.diff(offsets) ** 2)]).astype(np.int64)
