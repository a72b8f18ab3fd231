"""Small graph parsers with random weights, beside what their twins need."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_scoring_twin import ARC_OUTPUT, ArcTwin
from graph_twins import Scores, all_trees, plain_score
from numpy.typing import NDArray

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.features.encoding import BASE_LABEL_COLUMN, Encoder
from treetune.learning.trainer import train
from treetune.models.graph.grammar import GraphConfig, GraphGrammar, GraphWeights, templates_of
from treetune.models.graph.parser import GraphParser
from treetune.models.graph.templates import adapted, columns_of
from treetune.models.labels import LabelTable
from treetune.weights.flat import FlatFrozenWeights
from treetune.weights.store import FrozenWeights

TEMPLATES = str(Path(__file__).with_name("every_arc_place.txt"))
WORDS = ["a", "b", "Bb", "c3"]
TAGS = ["NOUN", "ADP", "VERB", "DET"]

# Powers of two, so that sums of weights are exact in whatever order they are made.
ARC_SCALE, LABEL_SCALE = 4.0, 8.0

FEW_LABELS = LabelTable(("both", "dep", "root"), (True, False, True), (True, True, False))
MANY_LABELS = LabelTable(
    (*"abcdefghijklmnopqr", "root"), (False,) * 17 + (True, True), (True,) * 18 + (False,)
)  # so many that rows can be dense
# Words of the other tags may bear all.
TAGGED_LABELS = replace(MANY_LABELS, by_tag={"NOUN": frozenset({0, 3}), "ADP": frozenset({1})})


def random_heads(draw: random.Random, n: int, *, projective: bool) -> tuple[int, ...]:
    """Draw a tree: of all if there are few, else by growing it."""
    if n <= 4:
        return draw.choice(all_trees(n, projective=projective))
    if projective:
        return projective_heads(draw, n)
    order = draw.sample(range(1, n + 1), n)
    heads = [-1] * (n + 1)
    for place, word in enumerate(order):
        heads[word] = order[draw.randrange(place)] if place else 0
    return tuple(heads)


def projective_heads(draw: random.Random, n: int) -> tuple[int, ...]:
    """Draw a projective tree: every span gets a root, and what is left and right of it is cut into spans."""
    heads = [-1] * (n + 1)
    spans = [(1, n + 1, 0)]
    while spans:
        start, end, head = spans.pop()
        root = draw.randrange(start, end)
        heads[root] = head
        for first, last in ((start, root), (root + 1, end)):
            while first < last:
                cut = draw.randrange(first + 1, last + 1)
                spans.append((first, cut, root))
                first = cut
    return tuple(heads)


def random_sentence(draw: random.Random, length: int, *, stacked: bool = False, unseen: bool = False) -> Sentence:
    words = [draw.choice([*WORDS, "Unseen9"] if unseen else WORDS) for _ in range(length)]
    tags = [draw.choice([*TAGS, "PUNCT"] if unseen else TAGS) for _ in range(length)]
    sentence = Sentence.of(words, upos=tags, xpos=[tag[:1].lower() for tag in tags])
    if not stacked:
        return sentence
    heads = random_heads(draw, length, projective=False) if length else (-1,)
    names = ["root" if head == 0 else draw.choice(["x", "y"]) for head in heads[1:]]
    return replace(sentence, base_tree=Tree.of(heads[1:], names))


def random_treebank(
    seed: int, *, count: int, longest: int = 4, projective: bool = True, labels: str = "dbc", stacked: bool = False
) -> list[Example]:
    draw = random.Random(seed)
    examples = []
    for _ in range(count):
        sentence = random_sentence(draw, draw.randint(1, longest), stacked=stacked)
        heads = random_heads(draw, len(sentence), projective=projective)[1:]
        names = ["root" if head == 0 else draw.choice(labels) for head in heads]
        examples.append(Example(sentence, Tree.of(heads, names)))
    return examples


@dataclass
class Twin:
    """A parser with random weights, and the same weights as dictionaries."""

    parser: GraphParser
    arcs: dict[int, int]
    rows: dict[tuple[int, int], int]
    _sentences: dict[Sentence, SentenceTwin] = field(default_factory=dict)

    @property
    def labels(self) -> LabelTable:
        return self.parser.grammar.labels

    def of(self, sentence: Sentence) -> SentenceTwin:
        if sentence not in self._sentences:
            self._sentences[sentence] = SentenceTwin(self, ArcTwin(self.parser.grammar, sentence))
        return self._sentences[sentence]


@dataclass
class SentenceTwin:
    """The scores of one sentence."""

    twin: Twin
    features: ArcTwin

    @property
    def joint(self) -> bool:
        return self.twin.parser.config.joint

    @property
    def order(self) -> int:
        return self.twin.parser.config.order

    def sum_arcs(self, features: Sequence[int]) -> float:
        return sum(self.twin.arcs.get((feature >> 24) | 1, 0) for feature in features) / ARC_SCALE

    def label_scores(self, head: int, dependent: int, heads: Sequence[int] | None = None) -> dict[int, float]:
        """The scores of the labels that may stand on an arc."""
        features = self.features.label_features(head, dependent, heads)
        table = self.twin.labels
        masks = table.at_word if head else table.at_root
        if head:
            borne = table.by_tag.get(self.features.sentence.upos[dependent], range(len(table)))
            masks = tuple(may and label in borne for label, may in enumerate(masks))
        return {
            label: sum(self.twin.rows.get((feature >> 28, label), 0) for feature in features) / LABEL_SCALE
            for label in range(len(masks))
            if masks[label]
        }

    def arc_score(self, head: int, dependent: int) -> float:
        """The score of an arc without its label."""
        between = [f for group in self.features.between_features(head, dependent) for word in group for f in word]
        return self.sum_arcs(self.features.arc_features(head, dependent) + between)

    @cached_property
    def scores(self) -> Scores:
        """The scores of all arcs, with the best label where that is joint."""
        n = self.features.n
        scores = np.full((n + 1, n + 1), -np.inf)
        for head in range(n + 1):
            for dependent in range(1, n + 1):
                if head != dependent:
                    label = max(self.label_scores(head, dependent).values()) if self.joint else 0.0
                    scores[head, dependent] = self.arc_score(head, dependent) + label
        return scores

    @cached_property
    def siblings(self) -> Scores | None:
        if self.order == 1:
            return None
        n = self.features.n
        scores = np.zeros((n + 1, n + 1, n + 1))
        for head in range(n + 1):
            for dependent in range(1, n + 1):
                if dependent == head:
                    continue
                scores[head, dependent, head] = self._sibling_score(head, dependent, None)
                if head:
                    for sibling in range(min(head, dependent) + 1, max(head, dependent)):
                        scores[head, dependent, sibling] = self._sibling_score(head, dependent, sibling)
        return scores

    @cached_property
    def grands(self) -> Scores | None:
        """The scores of grandparents [head, dependent, head of the head]."""
        if self.order < 3:
            return None
        n = self.features.n
        scores = np.zeros((n + 1, n + 1, n + 1))
        for head in range(1, n + 1):
            for dependent in range(1, n + 1):
                for grand in range(n + 1):
                    if len({head, dependent, grand}) == 3:
                        groups = self.features.grandparent_features(head, dependent, grand)
                        scores[head, dependent, grand] = self.sum_arcs([f for group in groups for f in group])
        return scores

    def plain_score(self, heads: tuple[int, ...]) -> float:
        """The score of a tree by the definition, without labels of a second stage."""
        return plain_score(self.scores, self.siblings, heads, self.grands)

    def _sibling_score(self, head: int, dependent: int, sibling: int | None) -> float:
        groups = self.features.sibling_features(head, dependent, sibling)
        return self.sum_arcs([feature for group in groups for feature in group])

    def tree_score(self, heads: Sequence[int], labels: Sequence[int]) -> float:
        """The score of a labelled tree by its pairs."""
        total = 0.0
        for feature, output in self.features.tree_pairs(heads, labels, joint=self.joint, order=self.order):
            if output == ARC_OUTPUT:
                total += self.twin.arcs.get((feature >> 24) | 1, 0) / ARC_SCALE
            elif self.joint:
                total += self.twin.rows.get((feature >> 28, output), 0) / LABEL_SCALE
        return total

    def numbers(self, tree: Tree) -> tuple[tuple[int, ...], list[int]]:
        ids = self.twin.labels.ids()
        return tree.heads, [ids[label] for label in tree.labels]

    def score(self, tree: Tree) -> float:
        return self.tree_score(*self.numbers(tree))


def make_grammar(config: GraphConfig, sentences: Sequence[Sentence], labels: LabelTable) -> GraphGrammar:
    templates = templates_of(config)
    stacked = any(sentence.base_tree is not None for sentence in sentences)
    columns = columns_of(templates) + ([BASE_LABEL_COLUMN] if stacked else [])
    encoder = Encoder.learn(sentences, min_count=1, columns=columns)
    return GraphGrammar(encoder, labels, adapted(templates, encoder.columns, stacked=stacked), stacked)


def random_twin(
    sentences: Sequence[Sentence],
    *,
    seed: int,
    labels: LabelTable = FEW_LABELS,
    way: str = "second-stage",
    largest: int = 3,
    **options: Any,
) -> Twin:
    """Return a parser with small random weights for most of what trees over the sentences have."""
    draw = random.Random(seed)
    parser = GraphParser(**{"features": TEMPLATES, "labels": way, **options})
    grammar = make_grammar(parser.config, sentences, labels)
    arcs: dict[int, int] = {}
    rows: dict[int, dict[int, int]] = {}
    for sentence in sentences:
        if not len(sentence):
            continue
        arc_features, label_features = _met(ArcTwin(grammar, sentence), parser.config, draw)
        for feature in arc_features:
            arcs.setdefault((feature >> 24) | 1, draw.choice([0, *range(1, largest + 1), *range(-largest, 0)]))
        for feature in label_features:
            rows.setdefault(feature >> 28, _random_row(len(labels), draw))
    kept = {key: weight for key, weight in sorted(arcs.items()) if weight}
    flat = FlatFrozenWeights(ARC_SCALE, np.array(list(kept), np.uint64), np.array(list(kept.values()), np.int16))
    parser.set_trained(grammar, GraphWeights(flat, _frozen_rows(rows, len(labels))))
    return Twin(parser, kept, {(key, label): w for key, row in rows.items() for label, w in row.items()})


def _met(twin: ArcTwin, config: GraphConfig, draw: random.Random) -> tuple[set[int], set[int]]:
    """The features of all arcs and siblings of short sentences, and of the labels of a few trees."""
    arcs: set[int] = set()
    labels: set[int] = set()
    for head in range(twin.n + 1):
        for dependent in range(1, twin.n + 1):
            if head == dependent:
                continue
            arcs.update(feature for feature, _ in twin.arc_pairs(head, dependent, 0, joint=False))
            if config.joint:
                labels.update(twin.label_features(head, dependent))
    for _ in range(12):
        heads = random_heads(draw, twin.n, projective=False)
        if config.order >= 2:
            arcs.update(feature for feature, _ in twin.sibling_pairs(heads))
        if config.order == 3:
            arcs.update(feature for feature, _ in twin.grandparent_pairs(heads))
        if not config.joint:
            for word in range(1, twin.n + 1):
                labels.update(twin.label_features(heads[word], word, heads))
    return arcs, labels


def _random_row(labels: int, draw: random.Random) -> dict[int, int]:
    chosen = draw.sample(range(labels), draw.choice([1, 2, labels]))
    return {label: draw.choice([-3, -2, -1, 1, 2, 3]) for label in sorted(chosen)}


def _frozen_rows(rows: dict[int, dict[int, int]], labels: int) -> FrozenWeights:
    keys = sorted(rows)
    tensors: dict[str, NDArray[Any]] = {
        "keys": np.array(keys, np.uint64),
        "counts": np.array([len(rows[key]) for key in keys], np.uint16),
        "outputs": np.array([label for key in keys for label in rows[key]], np.uint16),
        "weights": np.array([weight for key in keys for weight in rows[key].values()], np.int16),
    }
    return FrozenWeights.from_tensors(labels, LABEL_SCALE, tensors)


def trained(treebank: Sequence[Example], *, epochs: int = 2, **options: Any) -> GraphParser:
    """Return a parser that has learned a treebank."""
    parser = GraphParser(**{"min_count": 1, **options})
    for _ in train(parser, treebank, epochs=epochs):
        pass
    return parser


def refusal(kind: type[Exception], attempt: Callable[[], object]) -> str:
    """Return the words in which an attempt is refused."""
    with pytest.raises(kind) as error:
        attempt()
    return str(error.value)
