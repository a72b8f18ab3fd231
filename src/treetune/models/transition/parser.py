"""The arc-eager beam parser (Nivre 2008; Zhang & Clark 2008; Hall et al. 2011, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.corpus.wellformed import is_tree
from treetune.errors import ConfigError, ModelError
from treetune.features.clusters import CLUSTER_COLUMNS, Clusters
from treetune.features.encoding import BASE_LABEL_COLUMN, COLUMNS, INPUTS, USUAL_COLUMNS, Encoder, encode_base_heads
from treetune.features.templates import TemplateSet, check_clusters, check_stacked, load_templates, reads_base_tree
from treetune.models.base import Candidate
from treetune.models.constraints import encode_fixed
from treetune.models.feature_model import TreeParser
from treetune.models.labels import TAGS, LabelTable
from treetune.models.options import check_values, option
from treetune.models.training_trees import lift_known
from treetune.models.transition import _kernels as kernels
from treetune.models.transition.k_best import distinct, first_beam
from treetune.models.transition.replay import encode_lists, score_lists
from treetune.models.transition.search import MEMO_FROM_BEAM, Found, Mirror, Task, make_space, run, unknown_arcs
from treetune.models.transition.system import STATE_VALUES, compile_templates, label_masks, outputs
from treetune.weights.store import FrozenWeights

# The folder of feature sets, and the name of the model.
FAMILY = "transition"


@dataclass(frozen=True)
class TransitionConfig:
    """The options of a transition parser."""

    beam: int = option(8, "Number of parser states kept at each step; 1 is greedy search.", minimum=1, search=True)
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

    @cached_property
    def masks(self) -> kernels.Labels:
        """Which labels an arc may bear, as the kernels read it."""
        return label_masks(self.labels, self.encoder)

    def templates(self) -> kernels.Templates:
        """Return the templates as the kernels read them."""
        return compile_templates(self.template_set, self.encoder.columns)

    def encode(self, sentences: Sequence[Sentence]) -> kernels.Sentences:
        """Return sentences as the kernels read them: the last of the columns are the heads of the base tree, if there is one."""
        columns, offsets = self.encoder.encode(sentences)
        base_heads = [encode_base_heads(sentences)] if self.is_stacked else []
        if self.is_backward:
            mirror = Mirror.of(offsets)
            columns, base_heads = mirror.values(columns), [mirror.heads(heads) for heads in base_heads]
        if base_heads:
            columns = np.vstack([columns, *base_heads])
        return kernels.Sentences(columns, offsets, self.labels.tags(self.encoder, columns))


class TransitionParser(TreeParser[TransitionConfig, Grammar, FrozenWeights]):
    """A labelled arc-eager parser; every output is a tree with exactly one root.

    Train it with `treetune.train`, or get a trained one from `treetune.load`.
    """

    kind: ClassVar[str] = FAMILY

    def __init__(self, config: TransitionConfig | None = None, **options: Any) -> None:
        super().__init__(config or TransitionConfig(), options)
        # Mistakes in the templates show now, not after a treebank was read.
        templates = load_templates(self.config.features, FAMILY)
        compile_templates(templates, COLUMNS)
        check_clusters(self.config.clusters, templates, self.config.features)
        self._templates: kernels.Templates | None = None

    def fit(self, grammar: Grammar, weights: FrozenWeights, *, learned_by: Mapping[str, Any] | None = None) -> None:
        """Take over what was learned; trainers call this."""
        super().fit(grammar, weights, learned_by=learned_by)
        self._templates = grammar.templates()

    @property
    def beam(self) -> int:
        """The number of states kept at each step."""
        return self.config.beam

    def with_beam(self, beam: int) -> Self:
        """Return a parser with the same weights that searches with another beam."""
        return self.with_options(beam=beam)

    @property
    def is_stacked(self) -> bool:
        """Whether the parser was trained with the trees of another one, and needs them."""
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
        task = self._task(self.beam)
        encoded, known = self._encode(sentences, constraints)
        found = run(task, encoded, known=known, threads=threads, backward=self.config.backward)
        return [
            self._tree(found, 0, int(start), int(end), known[0])
            for start, end in zip(encoded.offsets[:-1], encoded.offsets[1:], strict=True)
        ]

    def k_best_batch(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        threads: int = 1,
        constraints: Sequence[Tree] | None = None,
    ) -> list[list[Candidate[Tree]]]:
        """Return the k-best list of each sentence; the same for any number of threads."""
        if k < 1:
            raise ConfigError(f"k must be at least 1, found {k}")
        beam = first_beam(self.beam, k)
        lists: list[list[Candidate[Tree]]] = [[] for _ in sentences]
        left = list(range(len(sentences)))
        while left:
            encoded, known = self._encode(
                [sentences[i] for i in left], None if constraints is None else [constraints[i] for i in left]
            )
            found = run(
                self._task(beam),
                encoded,
                known=known,
                k=beam,
                derivations=True,
                threads=threads,
                backward=self.config.backward,
            )
            unfinished = []
            for place, i in enumerate(left):
                lists[i] = distinct(
                    found, place, encoded.offsets, k,
                    labels=self.grammar.labels, fixed_heads=known[0], scale=self.weights.scale,
                )  # fmt: skip
                # A beam that was not full has seen everything there is.
                if len(lists[i]) < k and found.widths[place] == beam:
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
            heads, labels = Mirror.of(np.array([0, n + 1])).known((heads, labels))
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
        task = self._task(1)
        encoded, _ = self._encode([sentence], None)
        size = len(actions) * len(task.templates.seeds)
        features, outputs = np.empty(size, np.uint64), np.empty(size, np.uint16)
        kernels.collect_features(
            make_space(task, len(sentence)), task.templates, encoded.columns, 0, len(sentence),
            len(task.labels.at_root), actions, 0, len(actions), features, outputs, 0,
        )  # fmt: skip
        return features, outputs

    def score(self, sentence: Sentence, output: Tree | Candidate[Tree]) -> float:
        """Return the exact score of an output under the averaged weights."""
        actions = np.array(self._actions(sentence, output), np.int32)
        task = self._task(1)
        encoded, _ = self._encode([sentence], None)
        total = kernels.score_sequence(
            make_space(task, len(sentence)), task.templates, task.store, encoded.columns, 0, len(sentence),
            len(task.labels.at_root), actions,
        )  # fmt: skip
        return float(total) / self.weights.scale

    def scores_batch(
        self, sentences: Sequence[Sentence], lists: Sequence[Sequence[Tree]], *, threads: int = 1
    ) -> list[list[float]]:
        """Return the scores of several trees of each sentence by their canonical transitions.

        Trees with crossing arcs are scored as they are learned: lifted. Raises DataError for unknown labels.
        """
        encoded, _ = self._encode(sentences, None)
        trees = encode_lists(lists, encoded.offsets, self.grammar.labels.ids())
        task = self._task(MEMO_FROM_BEAM)
        found = score_lists(task, encoded, trees, threads=threads, backward=self.config.backward) / self.weights.scale
        scores: list[list[float]] = [row[: len(own)] for row, own in zip(found.tolist(), lists, strict=True)]
        for place, rank in np.argwhere(np.isnan(found)).tolist():
            if rank < len(lists[place]):
                example = Example(sentences[place], lists[place][rank])
                lifted = lift_known([example], self.grammar.labels)[0]
                scores[place][rank] = self.score(example.sentence, lifted)
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
            "learned_by": dict(self.learned_by),
            "scale": self.weights.scale,
        }
        return config, self.weights.tensors()

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> TransitionParser:
        """Rebuild a trained parser from `state()`."""
        parser = cls()
        options = config["options"]
        # The templates themselves are in the file, so a set that came from a user's file is not needed again.
        parser.config = TransitionConfig(**{**options, "inputs": tuple(options["inputs"])})
        labels = LabelTable.from_state(config)
        templates = TemplateSet.from_state(config)
        stacked, backward = config["stacked"], parser.config.backward
        grammar = Grammar(Encoder.from_state(config["encoder"]), labels, templates, stacked, backward)
        weights = FrozenWeights.from_tensors(outputs(labels), config["scale"], tensors)
        parser.fit(grammar, weights, learned_by=config.get("learned_by", {}))
        return parser

    def _task(self, beam: int) -> Task:
        grammar = self.grammar
        assert self._templates is not None
        return Task(self._templates, self.weights.store, grammar.masks, grammar.labels.root_kinds(), beam)

    def _encode(
        self, sentences: Sequence[Sentence], constraints: Sequence[Tree] | None
    ) -> tuple[kernels.Sentences, tuple[NDArray[np.int32], NDArray[np.int32]]]:
        encoded = self.grammar.encode(sentences)
        if constraints is None:
            return encoded, unknown_arcs(int(encoded.offsets[-1]))
        return encoded, encode_fixed(sentences, constraints, labels=self.grammar.labels)

    def _tree(self, found: Found, rank: int, start: int, end: int, fixed_heads: NDArray[np.int32]) -> Tree:
        heads, labels = found.heads[rank, start:end], found.labels[rank, start:end]
        return self.grammar.labels.tree(heads, labels, fixed_heads[start:end])

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
