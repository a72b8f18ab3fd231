"""Linear chains in plain Python: features from names, search over lists of paths, learning by dictionaries."""

from __future__ import annotations

import copy
import itertools
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags
from treetune.features.templates import Template, seed_of
from treetune.models.sequence.grammar import TaggerGrammar
from treetune.models.sequence.learner import TaggerLearner

sys.path.append(str(Path(__file__).parents[2] / "weights"))
from margins_twin import TwinMargins, hildreth
from weights_twin import TwinWeights

Weight = Callable[[int, int], float]
Path_ = tuple[int, ...]  # the tags of words, without the root
BITS = 2**64 - 1
LAST, BEFORE = "T-1.tag", "T-2.tag"


def mix(value: int) -> int:
    value &= BITS
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & BITS
    return value ^ (value >> 31)


class ChainTwin:
    """One sentence: which tags its words may have, and what any tags score under given weights."""

    def __init__(self, grammar: TaggerGrammar, sentence: Sentence, *, order: int, fixed: Tags | None = None) -> None:
        self.grammar, self.order = grammar, order
        encoded, sets = grammar.encode([sentence], None if fixed is None else [fixed])
        self.columns = dict(zip((*grammar.encoder.columns, "class"), encoded.columns.tolist(), strict=True))
        self.n = len(sentence)
        self.boundary = len(grammar.tags)
        starts, tags = sets.starts.tolist(), sets.tags.tolist()
        self.allowed = [tags[starts[number] : starts[number + 1]] for number in encoded.sets.tolist()[1:]]
        every = [template for group in grammar.template_set.groups for template in group]
        starts, parts = grammar.parts.starts.tolist(), grammar.parts.outputs.tolist()
        self.outputs = [[tag, *parts[starts[tag] : starts[tag + 1]]] for tag in range(self.boundary)]
        # The kernels add what looks at words alone first, then what looks one tag back, then what looks two back.
        self.by_reach = [[t for t in every if _reach(t) == reach] for reach in (0, 1, 2)]

    def feature(self, template: Template, position: int, last: int, before: int) -> int:
        """Return the number of a template's feature at a position, counted from 1."""
        total = seed_of(" ".join(template))
        for atom in template:
            if atom == LAST:
                value = last
            elif atom == BEFORE:
                value = before
            else:
                place, _, column = atom.partition(".")
                at = position + int(place[1:] or 0)
                value = self.columns[column][at] if 0 <= at <= self.n else 0
            total += mix(value + seed_of(atom))
        return mix(total)

    def pairs(self, path: Path_) -> list[tuple[int, int]]:
        """Return the (feature, tag) pairs of a path, word by word."""
        every = [self.pairs_at(path, position) for position in range(1, self.n + 1)]
        return [pair for found in every for pairs in found for pair in pairs]

    def pairs_at(self, path: Path_, position: int) -> list[list[tuple[int, int]]]:
        """Return the pairs of each template: with the tag, and with each of its parts."""
        last, before = self._context(path, position)
        templates = [template for part in self.by_reach for template in part]
        return [
            [(self.feature(template, position, last, before), output) for output in self.outputs[path[position - 1]]]
            for template in templates
        ]

    def _context(self, path: Path_, position: int) -> tuple[int, int]:
        last = path[position - 2] if position > 1 else self.boundary
        return last, path[position - 3] if position > 2 else self.boundary

    def step(self, weight: Weight, position: int, before: int, last: int, tag: int) -> float:
        """Return what one tag adds to the score, summed in the order of the kernels."""
        sums = []
        for part in self.by_reach:
            total = 0.0
            for output in self.outputs[tag]:
                own = 0.0
                for template in part:
                    own += weight(self.feature(template, position, last, before), output)
                total = own if output == tag else total + own
            sums.append(total)
        of_word, of_last, of_before = sums
        return (of_last + of_before if self.order == 2 else of_last) + of_word

    def score(self, weight: Weight, path: Path_) -> float:
        total = 0.0
        for position in range(1, self.n + 1):
            last, before = self._context(path, position)
            total += self.step(weight, position, before, last, path[position - 1])
        return total

    def paths(self) -> Iterator[Path_]:
        """Yield every path there is."""
        return itertools.product(*self.allowed)

    def k_best(self, weight: Weight, k: int, *, beam: int = 0, gold: Path_ = ()) -> list[tuple[float, Path_]]:
        """Return the k best paths; of equals those whose last states come first, as in the kernels.

        With a beam, states as good as the last of the best so many are continued, and that of gold.
        """
        ways: dict[tuple[int, ...], list[tuple[float, Path_]]] = {(self.boundary,) * self.order: [(0.0, ())]}
        for position in range(1, self.n + 1):
            if 0 < beam < len(ways):
                worst = sorted((found[0][0] for found in ways.values()), reverse=True)[beam - 1]
                kept = gold[position - 2 : position - 1]
                ways = {state: found for state, found in ways.items() if found[0][0] >= worst or state == kept}
            offers: dict[tuple[int, ...], list[tuple[float, Path_]]] = {}
            if self.order == 1:
                for tag in self.allowed[position - 1]:
                    offers[tag,] = []
            else:
                previous = self.allowed[position - 2] if position > 1 else [self.boundary]
                for last in previous:
                    for tag in self.allowed[position - 1]:
                        offers[last, tag] = []
            for state, sources in ways.items():
                for tag in self.allowed[position - 1]:
                    step = self.step(weight, position, state[0], state[-1], tag)
                    target = offers[(*state, tag)[1:]]
                    target.extend((score + step, (*path, tag)) for score, path in sources)
            ways = {state: _best(found, k) for state, found in offers.items()}
        return _best([way for found in ways.values() for way in found], k)

    def log_sum(self, weight: Weight) -> float:
        """Return the logarithm of the summed exponentials of all paths' scores."""
        scores = [self.score(weight, path) for path in self.paths()]
        highest = max(scores)
        return highest + math.log(math.fsum(math.exp(score - highest) for score in scores))


def _best(ways: list[tuple[float, Path_]], k: int) -> list[tuple[float, Path_]]:
    return sorted(ways, key=lambda way: -way[0])[:k]


def _reach(template: Template) -> int:
    return 2 if BEFORE in template else int(LAST in template)


class TwinLearner:
    """Learns sentence by sentence, from the same examples as a learner, by the same options."""

    def __init__(self, learner: TaggerLearner, examples: Sequence[Tagged]) -> None:
        self.learner = learner
        self.rows = TwinWeights()
        ids = learner.grammar.tags.ids()
        self.gold = [tuple(ids[value] for value in example.gold.values[1:]) for example in examples]
        order = learner.model.config.order
        self.chains = [ChainTwin(learner.grammar, example.sentence, order=order) for example in examples]
        self.hidden = [copy.copy(chain) for chain in self.chains]
        for column in {"w", "lower"} & set(self.chains[0].columns):
            counts = Counter(value for chain in self.chains for value in chain.columns[column])
            for chain in self.hidden:
                root, *values = chain.columns[column]
                values = [2 if counts[value] <= learner.model.config.unknown_dropout else value for value in values]
                chain.columns = {**chain.columns, column: [root, *values]}
        self.seen = 0

    def weight(self, feature: int, tag: int) -> float:
        return float(self.rows.weights.get((feature >> 28, tag), 0.0))

    def learn(self, order: Sequence[int]) -> int:
        updated = 0
        for number in order:
            self.rows.steps += 1
            chains = self.hidden if self.seen // len(self.chains) % 2 else self.chains
            changes = self.changes(chains[number], self.gold[number])
            self.seen += 1
            self.rows.add(changes)
            updated += bool(changes)
        return updated

    def changes(self, chain: ChainTwin, gold: Path_) -> list[tuple[int, int, float]]:
        if not gold:
            return []
        found = chain.k_best(self.weight, self.learner.k, beam=self.learner.model.config.tag_beam, gold=gold)
        paths = [path for _, path in found]
        wrong = [sum(a != b for a, b in zip(gold, path, strict=True)) for path in paths]
        if self.learner.learner == "perceptron":
            return self.margins(chain, gold, paths).combine([1.0]) if wrong[0] else []
        gold_score = chain.score(self.weight, gold)
        wanted = [cost - (gold_score - score) for cost, (score, _) in zip(wrong, found, strict=True)]
        if not any(cost and short > 1e-5 for cost, short in zip(wrong, wanted, strict=True)):
            return []
        margins = self.margins(chain, gold, paths)
        return margins.combine(hildreth(margins.gram(len(paths)), wanted, self.learner.clip))

    def margins(self, chain: ChainTwin, gold: Path_, paths: Sequence[Path_]) -> TwinMargins:
        """Only what differs is collected, in the order in which the kernel meets it."""
        margins = TwinMargins(len(paths))
        of_words = len(chain.by_reach[0])
        for position in range(1, chain.n + 1):
            at = position - 1
            window = slice(max(0, position - 3), position)
            ours = chain.pairs_at(gold, position)
            theirs = [chain.pairs_at(path, position) for path in paths]
            for template in range(of_words):
                for rank, path in enumerate(paths):
                    if path[at] != gold[at]:
                        _add(margins, rank, [ours[template]], 1.0)
                        _add(margins, rank, [theirs[rank][template]], -1.0)
            for rank, path in enumerate(paths):
                if path[window] != gold[window]:
                    _add(margins, rank, ours[of_words:], 1.0)
                    _add(margins, rank, theirs[rank][of_words:], -1.0)
        return margins


def _add(margins: TwinMargins, rank: int, groups: Sequence[Sequence[tuple[int, int]]], amount: float) -> None:
    for pairs in groups:
        for pair in pairs:
            margins.add(rank, pair, amount)


def check_equal(learner: TaggerLearner, twin: TwinLearner) -> None:
    """Assert that learner and twin have exactly the same averaged weights."""
    scale, cells = twin.rows.freeze()
    frozen = learner.rows.freeze()
    assert frozen.scale == scale
    tensors = frozen.tensors()
    keys = np.repeat(tensors["keys"], tensors["counts"].astype(np.int64)).tolist()
    found = zip(keys, tensors["outputs"].tolist(), tensors["weights"].tolist(), strict=True)
    assert {(key, output): weight for key, output, weight in found} == cells
