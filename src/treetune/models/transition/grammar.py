"""The options of a transition parser, and what it learns of a treebank besides weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import expected
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError
from treetune.features.clusters import CLUSTER_COLUMNS, Clusters
from treetune.features.encoding import BASE_LABEL_COLUMN, INPUTS, USUAL_COLUMNS, Encoder, encode_base_heads
from treetune.features.templates import TemplateSet, check_stacked, load_templates, reads_base_tree
from treetune.models.labels import TAGS, LabelTable
from treetune.models.options import check_values, option
from treetune.models.transition import _kernels as kernels
from treetune.models.transition.search import Mirror, has_memo
from treetune.models.transition.templates import STATE_VALUES, compile_templates, label_masks
from treetune.weights._kernels import Store

# The folder of feature sets, and the name of the model.
FAMILY = "transition"
# Wider beams take gigabytes.
LARGEST_BEAM = 4096


@dataclass(frozen=True)
class TransitionConfig:
    """The options of a transition parser."""

    beam: int = option(
        8, "Number of parser states kept at each step; 1 is greedy search.",
        minimum=1, maximum=LARGEST_BEAM, search=True,
    )  # fmt: skip
    margin: float = option(
        0.0, "Drop states whose score is this far behind the best of the beam; 0 drops none, 1 suits MIRA.",
        minimum=0.0, search=True,
    )  # fmt: skip
    features: str = option("default", "Feature set: a name, or a file of templates (.txt).")
    inputs: tuple[str, ...] = option(
        INPUTS, "Tag columns the parser may use, where the treebank has them.", choices=INPUTS, noun="input column"
    )
    min_count: int = option(2, "Words seen less often in training are treated as unknown.", minimum=1)
    min_lifted: int = option(
        20, "Labels of pseudo-projective (lifted) arcs seen less often are not learned.", minimum=1
    )
    clusters: str | None = option(None, "File of word clusters, for feature sets that use them; stored in the model.")
    labels_by_tag: bool = option(True, "Allow a word only labels that its UPOS tag has had in the treebank.")
    backward: bool = option(False, "Parse sentences from the last word to the first.")

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True)
class Grammar:
    """What a parser learns of a treebank besides weights: words, tags, labels and templates that fit them."""

    encoder: Encoder
    labels: LabelTable
    template_set: TemplateSet
    is_stacked: bool = False
    is_backward: bool = False

    @classmethod
    def learn(cls, sentences: Sequence[Sentence], trees: Sequence[Tree], config: TransitionConfig) -> Grammar:
        """Collect words, tags and labels, and adapt the templates to the columns that are there."""
        stacked = any(sentence.base_tree is not None for sentence in sentences)
        templates = load_templates(config.features, FAMILY)
        columns = (
            *USUAL_COLUMNS,
            *([BASE_LABEL_COLUMN] if stacked else []),
            *(templates.values & set(CLUSTER_COLUMNS)),
        )
        clusters = None if config.clusters is None else Clusters.read(config.clusters)
        encoder = Encoder.learn(
            sentences, inputs=config.inputs, min_count=config.min_count, columns=columns, clusters=clusters
        )
        if stacked:
            check_stacked(templates, config.features)
        else:
            templates = templates.without(reads_base_tree)
        template_set = templates.adapt(encoder.columns, STATE_VALUES)
        if not template_set.groups:
            raise ConfigError(
                f"no template of the feature set {config.features!r} fits the treebank, "
                f"which has only the columns {', '.join(encoder.columns)}"
            )
        labels = LabelTable.learn(trees)
        if config.labels_by_tag and TAGS in encoder.columns:
            labels = labels.learn_tags(sentences, trees)
        return cls(encoder, labels, template_set, stacked, config.backward)

    def check(self) -> None:
        """Raise ModelError, or ConfigError for unknown atoms, unless all parts fit together as kernels rely on it."""
        self.labels.check(self.encoder)
        if self.is_stacked != self.encoder.is_stacked:
            raise expected("stacked", "true if there is a column of base trees, else false", self.is_stacked)
        fitting = self.template_set if self.is_stacked else self.template_set.without(reads_base_tree)
        if fitting.adapt(self.encoder.columns, STATE_VALUES) != self.template_set or not self.templates:
            raise expected("templates", "templates that fit the columns of the model", len(self.template_set))

    @cached_property
    def templates(self) -> kernels.Templates:
        """The templates as the kernels read them."""
        return compile_templates(self.template_set, self.encoder.columns)

    @cached_property
    def _read(self) -> set[str]:
        """The columns that something looks at: templates, or the choice of labels."""
        return self.template_set.values | {TAGS}

    @cached_property
    def _labels(self) -> tuple[kernels.Labels, NDArray[np.bool_]]:
        return label_masks(self.labels, self.encoder), self.labels.root_labels()

    def setup(self, store: Store, beam: int, margin: float = math.inf) -> kernels.SearchSetup:
        """Return the setup of a search with these weights; states further behind the best than `margin` are dropped."""
        return kernels.SearchSetup(self.templates, store, *self._labels, beam, has_memo(beam), margin)

    def encode(self, sentences: Sequence[Sentence]) -> kernels.Sentences:
        """Return sentences as the kernels read them; the last column are the heads of base trees, if there are any."""
        columns, offsets = self.encoder.encode(sentences, self._read)
        base_heads = [encode_base_heads(sentences)] if self.is_stacked else []
        if self.is_backward:
            mirror = Mirror.of(offsets)
            columns, base_heads = mirror.values(columns), [mirror.heads(heads) for heads in base_heads]
        if base_heads:
            columns = np.vstack([columns, *base_heads])
        return kernels.Sentences(columns, offsets, self.labels.tags(self.encoder, columns))
