"""The arc-eager beam parser (Nivre 2008; Zhang & Clark 2008; Hall et al. 2011, section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, Fields
from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import ModelError, check_minimum
from treetune.features.encoding import COLUMNS, Encoder
from treetune.features.templates import TemplateSet, check_clusters, load_templates
from treetune.models.base import Candidate
from treetune.models.constraints import encode_fixed
from treetune.models.feature_model import TreeParser
from treetune.models.labels import LabelTable
from treetune.models.options import options_from_state
from treetune.models.training_trees import lift_known
from treetune.models.transition import _kernels as kernels
from treetune.models.transition._kernels import Arcs
from treetune.models.transition.grammar import FAMILY, Grammar, TransitionConfig
from treetune.models.transition.k_best import distinct, first_beam
from treetune.models.transition.search import MEMO_FROM_BEAM, Mirror, make_workspace, run, unknown_arcs
from treetune.models.transition.templates import compile_templates, outputs
from treetune.models.transition.tree_scores import encode_lists, score_lists
from treetune.weights.store import FrozenWeights


class TransitionParser(TreeParser[TransitionConfig, Grammar, FrozenWeights]):
    """A labelled arc-eager parser; every output is a tree with exactly one root.

    Train it with `fit` or `treetune.train`, or get a trained one from `treetune.load`.
    """

    kind: ClassVar[str] = FAMILY
    learns_labels: ClassVar[bool] = True

    def __init__(self, config: TransitionConfig | None = None, **options: Any) -> None:
        super().__init__(config or TransitionConfig(), options)
        # Mistakes in the templates show now, not after a treebank was read.
        templates = load_templates(self.config.features, FAMILY)
        compile_templates(templates, COLUMNS)
        check_clusters(self.config.clusters, templates, self.config.features)

    @property
    def beam(self) -> int:
        """The number of states kept at each step."""
        return self.config.beam

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

        Raises DataError where a partial tree of `constraints` fits into no projective single-root tree.
        """
        encoded, known = self._encode(sentences, constraints)
        margin = self.config.margin * self.weights.scale
        setup = self.grammar.setup(self.weights.store, self.beam, margin or math.inf)
        result = run(setup, encoded, known=known, threads=threads, backward=self.config.backward)
        return self.grammar.labels.trees(result.heads[0], result.labels[0], encoded.offsets, known.heads)

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        """Return the k-best list of each sentence; the same for any number of threads."""
        check_minimum("k", k, 1)
        beam = first_beam(self.beam, k)
        lists: list[list[Candidate[Tree]]] = [[] for _ in sentences]
        left = list(range(len(sentences)))
        while left:
            encoded, known = self._encode(
                [sentences[i] for i in left], None if constraints is None else [constraints[i] for i in left]
            )
            result = run(
                self._setup(beam), encoded, known=known, k=beam, derivations=True, threads=threads,
                backward=self.config.backward,
            )  # fmt: skip
            unfinished = []
            for index, i in enumerate(left):
                lists[i] = distinct(
                    result, index, encoded.offsets, k,
                    labels=self.grammar.labels, fixed=known, scale=self.weights.scale,
                )  # fmt: skip
                # A beam that was not full has seen everything there is.
                if len(lists[i]) < k and result.widths[index] == beam:
                    unfinished.append(i)
            left, beam = unfinished, 2 * beam
        return lists

    def derivation(self, tree: Tree) -> tuple[int, ...]:
        """Return the canonical transitions of a projective tree; empty if it has none."""
        ids = self.grammar.labels.ids()
        n = len(tree)
        heads = np.array(tree.heads, np.int32)
        labels = np.array([ids.get(label, kernels.NO_LABEL) for label in tree.labels], np.int32)
        if self.config.backward:
            heads, labels = Mirror.of(np.array([0, n + 1])).arcs(Arcs(heads, labels))
        actions = np.empty(2 * n, np.int32)
        if (labels[1:] < 0).any() or not is_tree(tree.heads):
            return ()
        n_labels = len(self.grammar.labels)
        done = kernels.oracle_actions(heads, labels, n, n_labels, np.empty(n + 2, np.int64), actions)
        return tuple(int(action) for action in actions) if done == 2 * n else ()

    def features(
        self, sentence: Sentence, output: Tree | Candidate[Tree]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
        """Return the (feature, transition) pairs of an output, in order of its transitions.

        A candidate has its own transitions, a tree its canonical ones. The sum of their weights is the
        output's score.
        """
        actions = np.array(self._actions(sentence, output), np.int32)
        setup, columns = self._setup(1), self.grammar.encode([sentence]).columns
        size = len(actions) * len(setup.templates.seeds)
        features, outputs = np.empty(size, np.uint64), np.empty(size, np.uint16)
        kernels.collect_features(
            make_workspace(setup, len(sentence)), setup.templates, columns, 0, len(sentence),
            len(self.grammar.labels), actions, 0, len(actions), features, outputs, 0,
        )  # fmt: skip
        return features, outputs

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        """Return the exact score of an output under the averaged weights."""
        actions = np.array(self._actions(sentence, output), np.int32)
        setup, columns = self._setup(1), self.grammar.encode([sentence]).columns
        work = make_workspace(setup, len(sentence))
        total = kernels.score_sequence(work, setup, columns, 0, len(sentence), actions)
        return float(total) / self.weights.scale

    def scores_batch(
        self, sentences: Sequence[Sentence], lists: Sequence[Sequence[Tree]], *, threads: int = 1
    ) -> list[list[float]]:
        """Return the scores of several trees of each sentence by their canonical transitions.

        Trees with crossing arcs are scored as they are learned: lifted. Raises DataError for unknown labels.
        """
        encoded = self.grammar.encode(sentences)
        trees = encode_lists(lists, encoded.offsets, self.grammar.labels.ids())
        setup, backward = self._setup(MEMO_FROM_BEAM), self.config.backward
        table = score_lists(setup, encoded, trees, threads=threads, backward=backward) / self.weights.scale
        scores: list[list[float]] = [row[: len(own)] for row, own in zip(table.tolist(), lists, strict=True)]
        for index, rank in np.argwhere(np.isnan(table)).tolist():
            if rank < len(lists[index]):
                example = Example(sentences[index], lists[index][rank])
                lifted = lift_known([example], self.grammar.labels)[0]
                scores[index][rank] = self.score(example.sentence, lifted)
        return scores

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays): all that `from_state` needs."""
        grammar = self.grammar
        config = {
            "options": {**asdict(self.config), "inputs": list(self.config.inputs)},
            **grammar.labels.state(),
            **grammar.template_set.state(),
            "encoder": grammar.encoder.state(),
            "stacked": grammar.is_stacked,
            "trained_by": dict(self.trained_by),
            **self._calibration_state(),
            "scale": self.weights.scale,
        }
        return config, self.weights.tensors()

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> TransitionParser:
        """Rebuild a trained parser from `state()`."""
        fields = Fields(config)
        parser = cls._with_stored(options_from_state(TransitionConfig, fields.table("options")))
        labels = LabelTable.from_state(config)
        templates = TemplateSet.from_state(config)
        stacked, backward = fields.flag("stacked"), parser.config.backward
        grammar = Grammar(Encoder.from_state(fields.value("encoder")), labels, templates, stacked, backward)
        grammar.check()
        weights = FrozenWeights.from_arrays(outputs(labels), fields.positive("scale"), Arrays(tensors))
        parser.set_trained(grammar, weights, trained_by=fields.plain_table("trained_by"))
        parser._restore_calibration(fields)
        return parser

    def _setup(self, beam: int) -> kernels.SearchSetup:
        return self.grammar.setup(self.weights.store, beam)

    def _encode(
        self, sentences: Sequence[Sentence], constraints: Sequence[Tree] | None
    ) -> tuple[kernels.Sentences, Arcs]:
        encoded = self.grammar.encode(sentences)
        if constraints is None:
            return encoded, unknown_arcs(int(encoded.offsets[-1]))
        return encoded, Arcs(*encode_fixed(sentences, constraints, labels=self.grammar.labels))

    def _actions(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> tuple[int, ...]:
        tree = output.output if isinstance(output, Candidate) else output
        if len(tree) != len(sentence):
            raise ModelError(f"expected a tree of {len(sentence)} words, found {len(tree)}")
        actions = output.derivation if isinstance(output, Candidate) else self.derivation(output)
        if len(actions) != 2 * len(tree):
            raise ModelError(
                "this tree has no arc-eager derivation: expected a projective tree with one root and known labels"
            )
        return actions
