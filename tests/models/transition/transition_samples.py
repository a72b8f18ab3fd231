"""Small parsers with random weights, beside what their twins need."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transition_twin import Rules, Scorer, State, state_features

from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import Sentence, Tree
from treetune.features.encoding import BASE_LABEL_COLUMN, USUAL_COLUMNS, Encoder
from treetune.features.templates import load_templates, reads_base_tree
from treetune.models.labels import LabelTable
from treetune.models.transition.grammar import Grammar
from treetune.models.transition.parser import TransitionParser
from treetune.models.transition.templates import STATE_VALUES, outputs
from treetune.weights.store import FrozenWeights

TEMPLATES = str(Path(__file__).with_name("every_place.txt"))
SCALE = 4.0

FEW_LABELS = LabelTable(("both", "dep", "root"), (True, False, True), (True, True, False))
MANY_LABELS = LabelTable(
    (*"abcdefghi", "root"), (False,) * 8 + (True, True), (True,) * 9 + (False,)
)  # more than 16 transitions, so that rows can be dense
# Words of the third tag may bear all.
TAGGED_LABELS = replace(MANY_LABELS, by_tag={"X": frozenset({0, 3}), "Y": frozenset({1})})


def by_word(labels: LabelTable, sentence: Sentence) -> list[Collection[int]]:
    return [labels.by_tag.get(tag, range(len(labels))) for tag in sentence.upos[1:]]


def random_sentence(draw: random.Random, length: int) -> Sentence:
    words = [draw.choice(["a", "b", "Bb", "c3"]) for _ in range(length)]
    tags = [draw.choice(["X", "Y", "Z"]) for _ in range(length)]
    return Sentence.of(words, upos=tags, xpos=[tag.lower() for tag in tags])


@dataclass
class Twin:
    """A parser, and its grammar and weights as dictionaries."""

    parser: TransitionParser

    @property
    def labels(self) -> LabelTable:
        return self.parser.grammar.labels

    @cached_property
    def weights(self) -> dict[int, dict[int, int]]:
        tensors = self.parser.weights.tensors()
        rows: dict[int, dict[int, int]] = {}
        start = 0
        for key, count in zip(tensors["keys"].tolist(), tensors["counts"].tolist(), strict=True):
            end = start + count
            cells = zip(tensors["outputs"][start:end], tensors["weights"][start:end], strict=True)
            rows[key] = {int(output): int(weight) for output, weight in cells}
            start = end
        return rows

    def features(self, sentence: Sentence, state: State) -> list[int]:
        return state_features(state, templates_of(self.parser.grammar), columns_of(self.parser.grammar, sentence))

    def rules_of(self, sentence: Sentence) -> Rules:
        return replace(self.rules(len(sentence)), by_word=by_word(self.labels, sentence))

    def rules(self, length: int, constraint: Tree | None = None) -> Rules:
        if constraint is None:
            return Rules(length, self.labels.at_root, self.labels.at_word)
        ids = self.labels.ids()
        fixed = [ids[label] for label in constraint.labels[1:]]
        return Rules(length, self.labels.at_root, self.labels.at_word, constraint.heads[1:], fixed)

    def scorer(self, sentence: Sentence) -> Scorer:
        templates, columns = templates_of(self.parser.grammar), columns_of(self.parser.grammar, sentence)
        memo: dict[State, dict[int, float]] = {}

        def scores(state: State) -> dict[int, float]:
            if state not in memo:
                sums: dict[int, float] = {}
                for feature in state_features(state, templates, columns):
                    for output, weight in self.weights.get(feature >> 28, {}).items():
                        sums[output] = sums.get(output, 0) + weight
                memo[state] = sums
            return memo[state]

        return scores

    def tree(self, state: State) -> Tree:
        heads, labels = state.tree()
        return Tree.of(heads, [self.labels.names[label] for label in labels])


def templates_of(grammar: Grammar) -> list[tuple[str, ...]]:
    return [template for group in grammar.template_set.groups for template in group]


def columns_of(grammar: Grammar, sentence: Sentence) -> dict[str, Sequence[int]]:
    encoded = grammar.encode([sentence]).columns
    names = [*grammar.encoder.columns, *(["base heads"] if grammar.is_stacked else [])]
    return dict(zip(names, encoded.tolist(), strict=True))


def random_parser(
    sentences: Sequence[Sentence], *, labels: LabelTable, seed: int, beam: int = 8, features: str = TEMPLATES
) -> TransitionParser:
    """Return a parser with small random weights for what random walks through the sentences meet."""
    draw = random.Random(seed)
    stacked = any(sentence.base_tree is not None for sentence in sentences)
    columns = (*USUAL_COLUMNS, *([BASE_LABEL_COLUMN] if stacked else []))
    encoder = Encoder.learn(sentences, min_count=1, columns=columns)
    templates = load_templates(features, "transition")
    templates = templates if stacked else templates.without(reads_base_tree)
    grammar = Grammar(encoder, labels, templates.adapt(encoder.columns, STATE_VALUES), stacked)
    met: set[int] = set()
    for sentence in sentences:
        met |= _walk(grammar, sentence, draw)
    rows = {key: _random_row(outputs(labels), draw) for key in sorted({feature >> 28 for feature in met})}
    tensors: dict[str, NDArray[Any]] = {
        "keys": np.array(list(rows), np.uint64),
        "counts": np.array([len(row) for row in rows.values()], np.uint16),
        "outputs": np.array([output for row in rows.values() for output in row], np.uint16),
        "weights": np.array([weight for row in rows.values() for weight in row.values()], np.int16),
    }
    parser = TransitionParser(beam=beam, features=features)
    parser.set_trained(grammar, FrozenWeights.from_tensors(outputs(labels), SCALE, tensors))
    return parser


def _walk(grammar: Grammar, sentence: Sentence, draw: random.Random, *, walks: int = 6) -> set[int]:
    rules = Rules(len(sentence), grammar.labels.at_root, grammar.labels.at_word)
    templates, columns = templates_of(grammar), columns_of(grammar, sentence)
    met: set[int] = set()
    for _ in range(walks):
        state = rules.start()
        while not state.is_final:
            met.update(state_features(state, templates, columns))
            state = state.after(draw.choice(rules.legal_actions(state)))
    return met


def _random_row(outputs: int, draw: random.Random) -> dict[int, int]:
    chosen = draw.sample(range(outputs), draw.choice([1, 2, 3, 5, 8, 16, 17, outputs]) % (outputs + 1) or 1)
    return {output: draw.choice([-2, -1, 1, 2]) for output in chosen}


@cache
def all_trees(n: int) -> tuple[tuple[int, ...], ...]:
    """The heads of every projective tree with one root over n words, in order."""

    def extended(heads: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(heads) == n:
            if is_tree(heads) and is_projective((-1, *heads)):
                yield heads
            return
        word = len(heads) + 1
        for head in range(n + 1):
            if head != word and not (head == 0 and 0 in heads) and not _crosses(heads, word, head):
                yield from extended((*heads, head))

    return tuple(extended(()))


def _crosses(heads: Sequence[int], word: int, head: int) -> bool:
    low, high = sorted((word, head))
    spans = (sorted(arc) for arc in enumerate(heads, start=1))
    return any(low < left < high < right or left < low < right < high for left, right in spans)


def is_tree(heads: Sequence[int]) -> bool:
    """Whether every word (heads are of words 1 to n) leads up to the root."""
    for word in range(1, len(heads) + 1):
        seen = set()
        while word and word not in seen:
            seen.add(word)
            word = heads[word - 1]
        if word:
            return False
    return True
