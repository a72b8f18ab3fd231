"""The options of a graph parser, and what it learns of a treebank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import expected
from treetune.corpus.sentence import Sentence, Tree
from treetune.errors import ConfigError
from treetune.features.clusters import Clusters
from treetune.features.encoding import BASE_LABEL_COLUMN, INPUTS, Encoder, encode_base_heads
from treetune.features.templates import TemplateSet, check_stacked, load_templates
from treetune.filters.arc_filter import NO_FILTER, ArcFilter
from treetune.models.graph import _sentence_kernels as kernels
from treetune.models.graph._arc_kernels import Templates
from treetune.models.graph.search import NO_BASE_TREES, NO_COLUMNS, NOTHING_FIXED, Batch
from treetune.models.graph.templates import (
    ARC,
    COARSE,
    GRANDPARENT,
    LABEL,
    SIBLING,
    adapted,
    columns_of,
    compile_templates,
    kind_of_group,
    needed,
)
from treetune.models.labels import TAGS, LabelTable
from treetune.models.options import check_memory_limit, check_stored_memory, check_values, option
from treetune.weights.flat import FlatFrozenWeights
from treetune.weights.store import FrozenWeights

FAMILY = "graph"
PROJECTIVE, NON_PROJECTIVE = "projective", "non-projective"
DECODERS = (PROJECTIVE, NON_PROJECTIVE)
JOINT, SECOND_STAGE = "joint", "second-stage"
LABELLERS = (JOINT, SECOND_STAGE)


@dataclass(frozen=True)
class GraphConfig:
    """The options of a graph parser."""

    order: int = option(
        1, "Factors: 1 single arcs; 2 also pairs of adjacent siblings; 3 also grandparents.", choices=(1, 2, 3)
    )
    decoder: str = option(
        PROJECTIVE, "Trees that can be parsed: projective, or with crossing arcs.", choices=DECODERS, search=True
    )
    labels: str = option(
        SECOND_STAGE,
        "Labels are scored jointly with arcs, or chosen for the finished tree in a second stage.",
        choices=LABELLERS,
        noun="way to label",
    )
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
    filter: str | None = option(
        None, "Arc filter: joint or independent, trained with the parser, or the file of a trained one."
    )
    max_memory: float = option(2.0, "Most working memory for one sentence, in GB.", search=True)

    def __post_init__(self) -> None:
        check_values(self)
        check_memory_limit(self.max_memory)
        if self.order == 3 and self.decoder != PROJECTIVE:
            raise ConfigError("graph parsers of order 3 are projective: leave decoder out, or take order 2")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of templates that a parser of this order cannot do without."""
        return (ARC, LABEL, SIBLING, GRANDPARENT)[: self.order + 1]

    @property
    def joint(self) -> bool:
        """Whether labels are scored together with arcs."""
        return self.labels == JOINT


@dataclass(frozen=True)
class GraphGrammar:
    """What a parser learns of a treebank besides weights: words, tags, labels and templates that fit them."""

    encoder: Encoder
    labels: LabelTable
    template_set: TemplateSet
    is_stacked: bool
    arc_filter: ArcFilter | None = None

    @classmethod
    def learn(cls, sentences: Sequence[Sentence], trees: Sequence[Tree], config: GraphConfig) -> GraphGrammar:
        """Collect words, tags and labels, and adapt the templates to the columns that are there."""
        templates = templates_of(config)
        stacked = any(sentence.base_tree is not None for sentence in sentences)
        if stacked:
            check_stacked(templates, config.features)
        # The column of base trees is asked for in any case: it is where a treebank with too few base trees is refused.
        columns = columns_of(templates) + ([BASE_LABEL_COLUMN] if stacked else [])
        clusters = None if config.clusters is None else Clusters.read(config.clusters)
        encoder = Encoder.learn(
            sentences, inputs=config.inputs, min_count=config.min_count, columns=columns, clusters=clusters
        )
        fitting = adapted(templates, encoder.columns, stacked=stacked)
        kinds = {kind_of_group(name) for name in fitting.names}
        for kind in config.kinds:
            if kind not in kinds:
                raise ConfigError(
                    f"no template of [{kind}] of the feature set {config.features!r} fits the treebank, "
                    f"which has only the columns {', '.join(encoder.columns)}"
                )
        labels = LabelTable.learn(trees)
        if config.labels_by_tag and TAGS in encoder.columns:
            labels = labels.learn_tags(sentences, trees)
        return cls(encoder, labels, fitting, stacked)

    def check(self, config: GraphConfig) -> None:
        """Raise ModelError, or ConfigError for unknown atoms, unless all parts fit together as kernels rely on it."""
        check_stored_memory(config.max_memory)
        self.labels.check(self.encoder)
        if self.is_stacked != self.encoder.is_stacked:
            raise expected("stacked", "true if there is a column of base trees, else false", self.is_stacked)
        used = needed(self.template_set, order=config.order, joint=config.joint)
        fitting = adapted(used, self.encoder.columns, stacked=self.is_stacked)
        kinds = {kind_of_group(name) for name in fitting.names}
        if fitting != self.template_set or not kinds >= set(config.kinds) or not self.templates:
            raise expected("templates", "templates that fit the columns and the order", len(self.template_set))

    @cached_property
    def masks(self) -> NDArray[np.bool_]:
        """Which labels an arc may bear; see `LabelTable.masks`."""
        return self.labels.masks(self.encoder)

    @cached_property
    def templates(self) -> Templates:
        """The templates as the kernels read them."""
        coarse_tags = self.encoder.values.get(COARSE, [])
        return compile_templates(self.template_set, self.encoder.columns, coarse_tags)

    def setup(self, weights: kernels.Weights, options: kernels.Options) -> kernels.SearchSetup:
        """Return the setup of a search with these weights."""
        filter_ = NO_FILTER if self.arc_filter is None else self.arc_filter.weights.filter
        return kernels.SearchSetup(self.templates, weights, options, self.masks, filter_)

    def encode(self, sentences: Sequence[Sentence]) -> Batch:
        """Return sentences as the kernels read them, without constraints."""
        columns, offsets = self.encoder.encode(sentences)
        base_heads = encode_base_heads(sentences) if self.is_stacked else NO_BASE_TREES
        read = NO_COLUMNS
        if self.arc_filter is not None:
            read = columns if self.shares_encoder else self.arc_filter.weights.encoder.encode(sentences)[0]
        tags = self.labels.tags(self.encoder, columns)
        return Batch(columns, offsets, tags, base_heads, NOTHING_FIXED, read)

    @cached_property
    def shares_encoder(self) -> bool:
        """Whether the arc filter reads the columns of the parser."""
        return self.arc_filter is not None and self.arc_filter.weights.encoder == self.encoder


@dataclass(frozen=True)
class GraphWeights:
    """The averaged weights of arcs and of labels."""

    arcs: FlatFrozenWeights
    labels: FrozenWeights

    def share(self) -> GraphWeights:
        """Return the same weights with nothing built yet."""
        return GraphWeights(self.arcs.share(), self.labels.share())


def templates_of(config: GraphConfig) -> TemplateSet:
    """Return the templates that a parser with these options uses, before a treebank is known."""
    return needed(load_templates(config.features, FAMILY), order=config.order, joint=config.joint)
