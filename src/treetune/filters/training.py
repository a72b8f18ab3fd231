"""Training of an arc filter: a treebank in, the weights of a filter out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Example
from treetune.errors import DataError
from treetune.features.encoding import FIRST_ID, Encoder
from treetune.features.templates import TemplateSet, load_templates
from treetune.filters import _kernels as kernels
from treetune.filters._training_kernels import JointWeights
from treetune.filters.arc_filter import (
    JOINT,
    FilterConfig,
    FilterWeights,
    tag_count,
)
from treetune.filters.latent_svm import train_joint
from treetune.filters.pairs import PAIR_WEIGHTS
from treetune.filters.roles import ROLES, make_work
from treetune.filters.svm import PAIR_COSTS, RATIOS, FilterData, train_pairs, train_role, train_vine
from treetune.filters.templates import FAMILY, compile_templates
from treetune.weights._flat_kernels import KEY_SHIFT
from treetune.weights.store import LARGEST_INT16

# A column of tags with more values than this has too many pairs.
MOST_TAGS = 256
# A tag has a role for certain if so many of its words have it, all of them.
SURE = 50
HELD_OUT = 10
# What the quadratic filter must keep of the gold arcs that it is shown, on held-out trees.
PAIR_COVERAGE = 0.9975


def train_filter(
    config: FilterConfig,
    treebank: Sequence[Example],
    dev: Sequence[Example],
    *,
    seed: int,
    encoder: Encoder | None = None,
) -> FilterWeights:
    """Return the weights of a filter of these options."""
    if not treebank:
        raise DataError("expected trees to train an arc filter on, found none")
    rng = np.random.default_rng(seed)
    templates = load_templates(config.features, FAMILY)
    if encoder is None:
        columns = sorted(templates.values | {"t", "u", "x"})
        encoder = Encoder.learn([one.sentence for one in treebank], min_count=config.min_count, columns=columns)
    trainer = FilterTrainer(config, encoder, templates.adapt(encoder.columns, ()), treebank)
    if dev:
        return trainer.train(trainer.data(treebank), trainer.data(dev), rng)
    others = [example for number, example in enumerate(treebank) if number % HELD_OUT]
    return trainer.train(trainer.data(others or treebank), trainer.data(treebank[::HELD_OUT]), rng)


class FilterTrainer:
    """Trains a filter: what is the same for all its data."""

    def __init__(
        self, config: FilterConfig, encoder: Encoder, templates: TemplateSet, treebank: Sequence[Example]
    ) -> None:
        self.config, self.encoder, self.template_set = config, encoder, templates
        self.templates = compile_templates(templates, encoder.columns)
        fine = [name for name in ("x", "t", "u") if 0 < len(encoder.values.get(name, ())) <= MOST_TAGS]
        self.tags = fine[0] if fine else ""
        self.tag_count = tag_count(encoder, self.tags)
        found, counts = np.unique(self._keys(*encoder.encode([one.sentence for one in treebank])), return_counts=True)
        self.vocabulary = found[counts >= config.min_count]

    def _keys(self, columns: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
        features = np.empty((int(offsets[-1]), len(self.templates.template_seed)), np.uint64)
        kernels.token_features(self.templates, columns, offsets, features)
        return (features >> KEY_SHIFT) | np.uint64(1)

    def data(self, examples: Sequence[Example]) -> FilterData:
        """Return trees as training reads them."""
        columns, offsets = self.encoder.encode([example.sentence for example in examples])
        heads = np.array([head for example in examples for head in example.gold.heads], np.int32)
        keys = self._keys(columns, offsets)
        places = np.searchsorted(self.vocabulary, keys)
        places[places == len(self.vocabulary)] = 0
        known = self.vocabulary[places] == keys if len(self.vocabulary) else np.zeros(keys.shape, np.bool_)
        features = np.zeros((len(heads), keys.shape[1] + 1), np.int32)
        features[:, 1:] = np.where(known, places + 1, -1)
        tags = np.zeros(len(heads), np.int32)
        if self.tags:
            tags = columns[self.encoder.columns.index(self.tags)].copy()
        return FilterData.of(columns, offsets, heads, features, tags)

    def roles(self, data: FilterData, dev: FilterData, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the weights of all roles, each trained alone."""
        size, empty = len(self.vocabulary) + 1, self._weights(np.zeros((1, len(ROLES)), np.float32)).filter
        columns = [train_role(data, dev, role, empty, rng, size) for role in range(len(ROLES))]
        return np.stack(columns, axis=1).astype(np.float32)

    def train(
        self, data: FilterData, dev: FilterData, rng: np.random.Generator, roles: NDArray[np.float32] | None = None
    ) -> FilterWeights:
        """Return the weights of a filter of the configured kind; single `roles` that are known are not trained."""
        config, empty = self.config, self._weights(np.zeros((1, len(ROLES)), np.float32)).filter
        roles = self.roles(data, dev, rng) if roles is None else roles
        pairs = (2, self.tag_count, self.tag_count)
        if config.kind == JOINT:
            start = JointWeights(
                roles, np.zeros(pairs, np.float32), np.zeros(pairs, np.float32), np.zeros(2, np.float32), np.ones(1),
                np.array([config.vine, config.threshold]),
            )  # fmt: skip
            costs = np.array([config.keep_cost, config.remove_cost])
            *_, last = train_joint(data, start, costs, rng)
            biases = last.weights.biases if config.vine else np.array([last.weights.biases[0], kernels.NEVER])
            made = self._weights(last.weights.roles, last.weights.vine, last.weights.none, biases)
        else:
            vine, bias = train_vine(data, dev, empty, rng) if config.vine else (None, float(kernels.NEVER))
            made = self._weights(roles, vine, None, np.array([0, bias]))
        if config.rules:
            made = replaced(made, rules=self._rules(data))
        return self._with_pairs(made, data, dev, rng) if config.quadratic else made

    def _weights(
        self,
        roles: NDArray[np.float32],
        vine: NDArray[np.float32] | None = None,
        none: NDArray[np.float32] | None = None,
        biases: NDArray[np.floating] | None = None,
    ) -> FilterWeights:
        """Return weights as integers, without the features that have none."""
        largest = float(np.abs(roles).max(initial=0.0))
        unit = largest / LARGEST_INT16 if largest > 0 else 1.0
        rounded = np.rint(roles / unit).astype(np.int16)
        used = np.flatnonzero(rounded[1:].any(axis=1))
        nothing = np.zeros((2, self.tag_count, self.tag_count), np.float32)
        return FilterWeights(
            encoder=self.encoder,
            template_set=self.template_set,
            tags=self.tags,
            keys=self.vocabulary[used],
            rows=np.concatenate([rounded[:1], rounded[1:][used]]),
            unit=unit,
            vine=nothing if vine is None else vine,
            none=nothing if none is None else none,
            biases=np.array([0, kernels.NEVER] if biases is None else biases, np.float32),
            rules=np.zeros((self.tag_count, len(ROLES)), np.bool_),
            pair_weights=np.zeros(1, np.float32),
        )

    def _rules(self, data: FilterData) -> NDArray[np.bool_]:
        """Return which roles all words of a tag have, of tags that are frequent."""
        words = data.words
        tags, roles = data.treebank.tags[words], data.roles[words]
        counts = np.bincount(tags, minlength=self.tag_count)
        rules = np.zeros((self.tag_count, len(ROLES)), np.bool_)
        for role in range(len(ROLES)):
            rules[:, role] = np.bincount(tags[roles[:, role]], minlength=self.tag_count) == counts
        rules[:FIRST_ID] = False
        return rules & (counts >= SURE)[:, None]

    def _with_pairs(
        self, made: FilterWeights, data: FilterData, dev: FilterData, rng: np.random.Generator
    ) -> FilterWeights:
        """Return a filter whose last stage looks at single arcs, tuned to keep `PAIR_COVERAGE` of those of trees."""
        before = replaced(made, pair_weights=np.zeros(PAIR_WEIGHTS, np.float32))
        kept = _kept(before, data)
        shown, _ = _counts(_kept(before, dev), dev)
        best = made
        most = 0
        for cost, ratio in product(PAIR_COSTS, RATIOS):
            weights = train_pairs(data, kept, before.filter, (cost * ratio, cost), rng)
            trial = replaced(before, pair_weights=weights)
            left = _kept(trial, dev)
            gold, arcs = _counts(left, dev)
            removed = len(left) - arcs
            if gold >= PAIR_COVERAGE * shown and removed > most:
                best, most = trial, removed
        return best


def replaced(weights: FilterWeights, **changes: object) -> FilterWeights:
    """Return weights with some parts changed, and nothing built yet."""
    names = weights.__dataclass_fields__
    return FilterWeights(**{name: changes.get(name, getattr(weights, name)) for name in names})  # type: ignore[arg-type]


def _kept(weights: FilterWeights, data: FilterData) -> NDArray[np.uint8]:
    """Return which arcs are kept, sentence by sentence."""
    treebank = data.treebank
    kept = np.zeros(int(treebank.starts[-1]), np.uint8)
    work = make_work(data.longest, len(weights.filter.templates.template_seed))
    kernels.filter_range(
        weights.filter, data.columns, treebank.offsets, treebank.starts, 0, len(treebank.offsets) - 1, work, kept
    )  # fmt: skip
    return kept


def _counts(kept: NDArray[np.uint8], data: FilterData) -> tuple[int, int]:
    """Return how many arcs of the trees, and how many in all, are kept."""
    treebank, words = data.treebank, data.words
    sentence = np.searchsorted(treebank.offsets, words, side="right") - 1
    size = np.diff(treebank.offsets)[sentence]
    at = treebank.starts[sentence] + treebank.heads[words] * size + words - treebank.offsets[sentence]
    return int(kept[at].sum()), int(kept.sum())
