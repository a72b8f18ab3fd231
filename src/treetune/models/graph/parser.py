"""Graph-based parsers of first to third order (McDonald et al. 2005; McDonald & Pereira 2006; Koo & Collins 2010)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, Fields
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import DataError, ModelError, check_minimum, unknown_name
from treetune.features.encoding import COLUMNS, Encoder
from treetune.features.templates import TemplateSet, check_clusters
from treetune.filters.arc_filter import KINDS as FILTERS
from treetune.filters.arc_filter import ArcFilter
from treetune.models.base import Candidate
from treetune.models.constraints import encode_fixed
from treetune.models.feature_model import TreeParser
from treetune.models.graph import _sentence_kernels as kernels
from treetune.models.graph._sentence_kernels import SearchResult, SearchSetup
from treetune.models.graph.grammar import (
    FAMILY,
    NON_PROJECTIVE,
    GraphConfig,
    GraphGrammar,
    GraphWeights,
    templates_of,
)
from treetune.models.graph.k_best import candidates
from treetune.models.graph.search import Batch, check_memory, collect, run
from treetune.models.graph.templates import compile_templates
from treetune.models.labels import LabelTable
from treetune.models.options import options_from_state
from treetune.weights.flat import FlatFrozenWeights
from treetune.weights.store import FrozenWeights


class GraphParser(TreeParser[GraphConfig, GraphGrammar, GraphWeights]):
    """A labelled graph parser; every output is a tree with exactly one root.

    Train it with `fit` or `treetune.train`, or get a trained one from `treetune.load`.
    """

    kind: ClassVar[str] = FAMILY

    def __init__(
        self,
        config: GraphConfig | None = None,
        *,
        filter: str | ArcFilter | None = None,  # noqa: A002
        **options: Any,
    ) -> None:
        self.given_filter = filter if isinstance(filter, ArcFilter) else None
        if filter is not None:
            options["filter"] = filter.config.kind if isinstance(filter, ArcFilter) else filter
        super().__init__(config or GraphConfig(), options)
        if self.config.filter is not None and self.config.filter not in FILTERS:
            raise unknown_name("arc filter", self.config.filter, FILTERS)
        if self.given_filter is not None and not self.given_filter.is_trained:
            raise ModelError("expected a trained arc filter, found one without weights; fit it first, or name its kind")
        # Mistakes in the templates show now, not after a treebank was read.
        templates = templates_of(self.config)
        compile_templates(templates, COLUMNS)
        check_clusters(self.config.clusters, templates, self.config.features)

    @property
    def options(self) -> kernels.Options:
        """The options as the kernels read them."""
        config = self.config
        return kernels.Options(config.order >= 2, config.order == 3, config.decoder == NON_PROJECTIVE, config.joint)

    @property
    def filter(self) -> ArcFilter | None:
        """The arc filter of a trained parser; None if there is none."""
        return self.grammar.arc_filter

    def with_filter(self, filter: ArcFilter | None) -> Self:  # noqa: A002
        """Return the same parser with another trained arc filter, or without one."""
        if filter is not None and not filter.is_trained:
            raise ModelError("expected a trained arc filter, found one without weights; fit it first")
        other = copy.copy(self)
        other.config = replace(self.config, filter=None if filter is None else filter.config.kind)
        other.given_filter = filter
        other._grammar = replace(self.grammar, arc_filter=filter)
        return other

    @property
    def is_stacked(self) -> bool:
        """Whether the parser was trained with base trees (stacking), and needs them."""
        return self.grammar.is_stacked

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels the parser can give, those for lifted arcs included."""
        return self.grammar.labels.names

    def predict_batch(
        self, sentences: Sequence[Sentence], *, threads: int = 1, constraints: Sequence[Tree] | None = None
    ) -> list[Tree]:
        """Return the best tree of each sentence; the same for any number of threads.

        Raises DataError where a partial tree of `constraints` fits into no tree that the decoder can make, and
        where a sentence needs more working memory than `max_memory`.
        """
        batch = self._encode(sentences, constraints)
        result = self._search(batch, k=1, threads=threads)
        fixed = batch.fixed[0] if batch.fixed.shape[1] else None
        return self.grammar.labels.trees(result.heads[0], result.labels[0], batch.offsets, fixed)

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        """Return the k-best list of each sentence; the same for any number of threads.

        With joint labels two trees of a list may differ in labels alone. Labels of a second stage do not count:
        trees differ in heads, and their scores are those of the arcs. Of second order with crossing arcs, the list
        is that of the k best projective trees, each improved, so that a longer one may begin with a better tree.
        """
        check_minimum("k", k, 1)
        lists: list[list[Candidate[Tree]]] = [[] for _ in sentences]
        left, asked, setup = list(range(len(sentences))), k, self._setup()
        while left:
            fixed = None if constraints is None else [constraints[index] for index in left]
            batch = self._encode([sentences[index] for index in left], fixed)
            result = self._search(batch, k=asked, threads=threads)
            short = []
            for index, sentence in enumerate(left):
                lists[sentence], is_all = candidates(setup, self.grammar.labels, result, batch, index, k, asked)
                # Trees with lifted arcs may be one and the same when the arcs are put back: then there are too few.
                if len(lists[sentence]) < k and not is_all:
                    short.append(sentence)
            left, asked = short, 2 * asked
        return lists

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return the (feature, output) pairs of a tree: `ARC_OUTPUT` for arcs, else the number of a label.

        The summed weights of all pairs (of those of arcs, if labels are given in a second stage) are the score.
        """
        features, outputs, _ = self._pairs(sentence, output)
        return features, outputs

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        """Return the exact score of a tree under the averaged weights."""
        features, outputs, setup = self._pairs(sentence, output)
        arcs, labels = kernels.sum_pairs(setup.weights, features, outputs, len(features))
        arcs *= setup.weights.units[0]
        return float(arcs + labels * setup.weights.units[1] if self.config.joint else arcs)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays): all that `from_state` needs."""
        grammar, weights = self.grammar, self.weights
        config = {
            "options": {**asdict(self.config), "inputs": list(self.config.inputs)},
            **grammar.labels.state(),
            **grammar.template_set.state(),
            "encoder": grammar.encoder.state(),
            "stacked": grammar.is_stacked,
            "trained_by": dict(self.trained_by),
            **self._calibration_state(),
            "arc_scale": weights.arcs.scale,
            "label_scale": weights.labels.scale,
        }
        arcs = {f"arcs.{name}": array for name, array in weights.arcs.tensors().items()}
        if grammar.arc_filter is not None:
            own, tensors = grammar.arc_filter.state()
            # Words and tags that both read are stored once.
            config["filter"] = {k: v for k, v in own.items() if k != "encoder" or not grammar.shares_encoder}
            arcs |= {f"filter.{name}": array for name, array in tensors.items()}
        return config, {**arcs, **{f"labels.{name}": array for name, array in weights.labels.tensors().items()}}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a trained parser from `state()`."""
        fields, arrays = Fields(config), Arrays(tensors)
        parser = cls._with_stored(options_from_state(GraphConfig, fields.table("options")))
        parser.given_filter = None
        labels = LabelTable.from_state(config)
        encoder = Encoder.from_state(fields.value("encoder"))
        arc_filter = None
        if "filter" in fields:
            own = fields.table("filter")
            parts = {name.removeprefix("filter."): array for name, array in tensors.items() if "filter." in name[:7]}
            shared = None if "encoder" in own else encoder
            arc_filter = ArcFilter.from_state(fields.plain("filter"), parts, encoder=shared)
        grammar = GraphGrammar(encoder, labels, TemplateSet.from_state(config), fields.flag("stacked"), arc_filter)
        grammar.check(parser.config)
        weights = GraphWeights(
            FlatFrozenWeights.from_arrays(fields.positive("arc_scale"), arrays.part("arcs")),
            FrozenWeights.from_arrays(len(labels), fields.positive("label_scale"), arrays.part("labels")),
        )
        parser.set_trained(grammar, weights, trained_by=fields.plain_table("trained_by"))
        parser._restore_calibration(fields)
        return parser

    def _setup(self) -> SearchSetup:
        weights = self.weights
        units = np.array([1 / weights.arcs.scale, 1 / weights.labels.scale])
        stores = kernels.Weights(weights.arcs.store, weights.labels.store, units)
        return self.grammar.setup(stores, self.options)

    def _encode(self, sentences: Sequence[Sentence], constraints: Sequence[Tree] | None) -> Batch:
        batch = self.grammar.encode(sentences)
        if constraints is None:
            return batch
        crossing = self.options.crossing
        fixed = encode_fixed(sentences, constraints, labels=self.grammar.labels, crossing=crossing)
        return batch._replace(fixed=np.stack(fixed))

    def _search(self, batch: Batch, *, k: int, threads: int) -> SearchResult:
        setup = self._setup()
        check_memory(batch.lengths, setup, k=k, allowed=self.config.max_memory)
        result = run(setup, batch, k=k, threads=threads)
        if (result.counts < 0).any():
            raise ModelError("a score of this parser is not a number; its weights are damaged")
        if (result.counts == 0).any():
            number = int(np.flatnonzero(result.counts == 0)[0]) + 1
            raise DataError(f"sentence {number}: no tree with one root has all that is fixed; leave something open")
        return result

    def _pairs(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16], SearchSetup]:
        tree = output.output if isinstance(output, Candidate) else output
        if len(tree) != len(sentence):
            raise ModelError(f"expected a tree of {len(sentence)} words, found {len(tree)}")
        if isinstance(output, Candidate) and output.derivation:
            heads = np.array(output.derivation[: len(tree) + 1], np.int32)
            labels = np.array(output.derivation[len(tree) + 1 :], np.int32)
        else:
            heads, labels = self._numbers(tree)
        setup = self._setup()
        features, outputs = collect(setup, self.grammar.encode([sentence]), heads, labels)
        return features, outputs, setup

    def _numbers(self, tree: Tree) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        ids = self.grammar.labels.ids()
        if not is_tree(tree.heads) and len(tree):
            raise ModelError("expected a complete tree with one root, found another graph")
        for label in tree.labels[1:]:
            if label not in self.labels:
                raise ModelError(f"the label {label!r} is none of the model's; known: {', '.join(self.labels)}")
        return np.array(tree.heads, np.int32), np.array([ids[label] for label in tree.labels], np.int32)
