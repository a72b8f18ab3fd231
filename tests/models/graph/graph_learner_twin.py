"""What a learner of a graph parser does, in plain Python: the same searches, the same updates, the same weights."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from graph_scoring_twin import ARC_OUTPUT, ArcTwin, Pair, nearest_sibling
from graph_searches import k_best_projective, k_best_spanning, remembered
from graph_twins import Scores
from numpy.typing import NDArray

from treetune.corpus.sentence import Example
from treetune.models.graph import _kernels as search
from treetune.models.graph.charts import make_spanning
from treetune.models.graph.grammar import GraphConfig
from treetune.models.graph.learner import GraphLearner

sys.path.append(str(Path(__file__).parents[2] / "weights"))
from flat_weights_twin import TwinFlatWeights
from margins_twin import TwinMargins, hildreth
from weights_twin import TwinWeights, cells_of

Changes = list[tuple[int, int, float]]  # (feature, output, delta)
Heads = tuple[int, ...]
SWEEPS, TOLERANCE = 10, 0.01


class TwinLearner:
    """Learns sentence by sentence, from the same examples as a learner, by the same options."""

    def __init__(self, learner: GraphLearner, config: GraphConfig, treebank: Sequence[Example]) -> None:
        self.learner, self.config, self.grammar = learner, config, learner.grammar
        self.treebank = treebank
        self.arcs, self.rows = TwinFlatWeights(), TwinWeights()

    def learn(self, order: Sequence[int]) -> int:
        updated = 0
        for number in order:
            lesson = Lesson(self, self.treebank[number])
            changes = lesson.arc_changes() if self.learner.learner == "factored-mira" else lesson.tree_changes()
            if not self.config.joint:
                changes += lesson.label_changes()
            self.arcs.steps += 1
            self.rows.steps += 1
            self.arcs.add((feature, delta) for feature, output, delta in changes if output == ARC_OUTPUT)
            self.rows.add([change for change in changes if change[1] != ARC_OUTPUT])
            updated += bool(changes)
        return updated


class Lesson:
    """One sentence under the weights of the moment; sums are made in the order in which the kernel makes them."""

    def __init__(self, twin: TwinLearner, example: Example) -> None:
        self.twin, self.config = twin, twin.config
        self.features = ArcTwin(twin.grammar, example.sentence)
        self.n = len(example.sentence)
        self.table = twin.grammar.labels
        ids = self.table.ids()
        self.gold: Heads = example.gold.heads
        self.gold_labels = [-1, *(ids[label] for label in example.gold.labels[1:])]
        self.cost = float(twin.learner.config.cost_augmented)
        self.best_labels: dict[tuple[int, int], int] = {}
        self.gaps = [0.0] * (self.n + 1)
        self.scores = self._arc_scores()
        self.siblings = self._sibling_scores() if self.config.order >= 2 else None
        self.grands = self._grand_scores() if self.config.order == 3 else None

    def _sum(self, features: Sequence[int]) -> float:
        total = 0.0
        for feature in features:
            total += float(self.twin.arcs.weight(feature))
        return total

    def _sum_labels(self, features: Sequence[int]) -> list[np.float32]:
        sums = [np.float32(0)] * len(self.table)
        for feature in features:
            for label in range(len(sums)):
                sums[label] += self.twin.rows.weights.get((feature >> 28, label), np.float32(0))
        return sums

    def _best_label(self, sums: Sequence[np.float32], head: int, word: int) -> tuple[int, np.float32]:
        allowed = {label for label, may in enumerate(self.table.at_word if head else self.table.at_root) if may}
        if head:
            allowed &= self.table.by_tag.get(self.features.sentence.upos[word], allowed)
        best = max(allowed, key=lambda label: (sums[label], -label))
        return best, sums[best]

    def _arc_scores(self) -> Scores:
        scores = np.full((self.n + 1, self.n + 1), -np.inf)
        for head in range(self.n + 1):
            for dependent in range(1, self.n + 1):
                if head == dependent:
                    continue
                score = self._sum(self.features.arc_features(head, dependent))
                for group in self.features.between_features(head, dependent):
                    total = 0.0
                    for word in group:
                        total += float(np.float32(self._sum(word)))
                    score += total
                scores[head, dependent] = score + self._of_label(head, dependent)
        return scores

    def _of_label(self, head: int, dependent: int) -> float:
        """What the label and the cost of an arc add to its score."""
        is_gold = self.gold[dependent] == head
        if not self.config.joint:
            return 0.0 if is_gold else self.cost
        sums = self._sum_labels(self.features.label_features(head, dependent))
        if is_gold:
            right = sums[self.gold_labels[dependent]]
            sums[self.gold_labels[dependent]] -= np.float32(self.cost)
        label, score = self._best_label(sums, head, dependent)
        self.best_labels[head, dependent] = label
        if is_gold:
            score += np.float32(self.cost)
            self.gaps[dependent] = float(score) - float(right)
            return float(score)
        return float(score) + self.cost

    def _sibling_scores(self) -> Scores:
        scores = np.full((self.n + 1,) * 3, -np.inf)
        for head in range(self.n + 1):
            for dependent in range(1, self.n + 1):
                if head == dependent:
                    continue
                between = range(min(head, dependent) + 1, max(head, dependent)) if head else ()
                for place, sibling in [(head, None), *((word, word) for word in between)]:
                    total = 0.0
                    for group in self.features.sibling_features(head, dependent, sibling):
                        total += float(np.float32(self._sum(group)))
                    scores[head, dependent, place] = total
        return scores

    def _grand_scores(self) -> Scores:
        scores = np.full((self.n + 1,) * 3, -np.inf)
        for head in range(1, self.n + 1):
            for dependent in range(1, self.n + 1):
                for grand in range(self.n + 1):
                    if len({head, dependent, grand}) == 3:
                        groups = self.features.grandparent_features(head, dependent, grand)
                        scores[head, dependent, grand] = sum(float(np.float32(self._sum(group))) for group in groups)
        return scores

    def _found(self) -> list[tuple[Heads, float]]:
        """The best trees by the searches of the room, which have twins of their own."""
        k = self.twin.learner.k
        if self.config.decoder == "projective":
            found = k_best_projective(self.scores, k, siblings=self.siblings, grands=self.grands)
        elif self.siblings is None:
            found = k_best_spanning(self.scores, k)
        else:
            return self._rearranged([tree.output for tree in k_best_projective(self.scores, k, siblings=self.siblings)])
        return [(tuple(int(head) for head in tree.output), tree.score) for tree in found]

    def _rearranged(self, trees: Sequence[NDArray[np.int32]]) -> list[tuple[Heads, float]]:
        """Projective trees, each improved by letting arcs cross; of equal ones the first is kept."""
        space, siblings = make_spanning(self.n).contraction, remembered(self.siblings, self.n + 1)
        found: dict[Heads, float] = {}
        for tree in trees:
            heads, out = tree.reshape(1, -1).copy(), np.empty(1)
            search.rearrange(self.scores, siblings, space, np.empty((2, self.n + 1), np.int32), heads, out)
            found.setdefault(tuple(heads[0].tolist()), float(out[0]))
        return sorted(found.items(), key=lambda one: -one[1])

    def _gold_score(self) -> float:
        total = 0.0
        for word in range(1, self.n + 1):
            total += float(self.scores[self.gold[word], word])
        if self.grands is not None:
            for word in range(1, self.n + 1):
                if self.gold[word]:
                    total += float(self.grands[self.gold[word], word, self.gold[self.gold[word]]])
        if self.siblings is not None:
            rightward = [word for word in range(1, self.n + 1) if self.gold[word] < word]
            leftward = [word for word in range(self.n, 0, -1) if self.gold[word] > word]
            for word in rightward + leftward:
                sibling = nearest_sibling(self.gold, word)
                total += float(self.siblings[self.gold[word], word, self.gold[word] if sibling is None else sibling])
        for gap in self.gaps[1:]:
            total -= gap
        return total

    def _pairs(self, heads: Heads, labels: Sequence[int]) -> list[Pair]:
        pairs = [
            pair
            for word in range(1, self.n + 1)
            for pair in self.features.arc_pairs(heads[word], word, labels[word], joint=self.config.joint)
        ]
        pairs += self.features.sibling_pairs(heads) if self.config.order >= 2 else []
        return pairs + (self.features.grandparent_pairs(heads) if self.config.order == 3 else [])

    def tree_changes(self) -> Changes:
        """Gold before each of the best trees by its loss; for the perceptron, before the best one."""
        learner, gold_score = self.twin.learner, self._gold_score()
        wanted: list[float] = []
        margins = TwinMargins(learner.k)
        for heads, found_score in self._found():
            labels = list(self.gold_labels)
            if self.config.joint:
                labels = [-1, *(self.best_labels[heads[word], word] for word in range(1, self.n + 1))]
            arcs = zip(heads, labels, strict=True)
            right = zip(self.gold, self.gold_labels, strict=True)
            loss = float(sum(arc != gold for arc, gold in zip(arcs, right, strict=True)))
            score = found_score - (loss if self.cost else 0.0)
            if loss == 0.0 or (learner.learner == "perceptron" and not self.cost and score < gold_score):
                continue
            for pair in self._pairs(self.gold, self.gold_labels):
                margins.add(len(wanted), pair, 1.0)
            for pair in self._pairs(heads, labels):
                margins.add(len(wanted), pair, -1.0)
            wanted.append(loss - (gold_score - score))
        if not wanted:
            return []
        if learner.learner == "perceptron":
            return margins.combine([1.0])
        return margins.combine(hildreth(margins.gram(len(wanted)), wanted, learner.clip))

    def arc_changes(self) -> Changes:
        """Every gold arc before each other arc to the same word by 1."""
        change: dict[Pair, np.float32] = {}
        steps: dict[tuple[int, int], float] = {}
        for _ in range(SWEEPS):
            largest = 0.0
            for word in range(1, self.n + 1):
                gold_pairs = self._arc_pairs(self.gold[word], word, self.gold_labels[word])
                gold_score = float(self.scores[self.gold[word], word]) - self.gaps[word]
                for head in range(self.n + 1):
                    label = self.best_labels.get((head, word), self.gold_labels[word])
                    if head == word or (head, label) == (self.gold[word], self.gold_labels[word]):
                        continue
                    pairs = self._arc_pairs(head, word, label)
                    missing = 1.0 - (gold_score - float(self.scores[head, word]))
                    missing -= sum(float(change.get(pair, 0.0)) for pair in gold_pairs)
                    missing += sum(float(change.get(pair, 0.0)) for pair in pairs)
                    old = steps.get((head, word), 0.0)
                    distance = len(set(gold_pairs) ^ set(pairs))
                    new = min(max(old + missing / distance, 0.0), self.twin.learner.clip)
                    steps[head, word] = new
                    largest = max(largest, abs(new - old) * distance)
                    for sign, arc in ((1, gold_pairs), (-1, pairs)):
                        for pair in arc:
                            change[pair] = change.get(pair, np.float32(0)) + np.float32(sign * (new - old))
            if largest < TOLERANCE:
                break
        return [(*pair, float(delta)) for pair, delta in change.items() if delta != 0]

    def _arc_pairs(self, head: int, word: int, label: int) -> list[Pair]:
        return self.features.arc_pairs(head, word, label, joint=self.config.joint)

    def label_changes(self) -> Changes:
        """Second stage: the label of every gold arc before the best other one by 1."""
        changes: Changes = []
        for word in range(1, self.n + 1):
            features = self.features.label_features(self.gold[word], word, self.gold)
            sums = self._sum_labels(features)
            right = self.gold_labels[word]
            right_score, sums[right] = sums[right], np.float32(-np.inf)
            wrong, score = self._best_label(sums, self.gold[word], word)
            if score == -np.inf:
                continue
            missing = float(score) - float(right_score)
            if self.twin.learner.learner == "perceptron":
                step = float(missing >= 0)
            else:
                step = min(self.twin.learner.clip, max(0.0, (missing + 1) / (2 * len(features))))
            if step:
                for feature in features:
                    changes += [(feature, right, step), (feature, wrong, -step)]
        return changes


def check_equal(learner: GraphLearner, twin: TwinLearner) -> None:
    """The same features have weights, and the same ones but for the last digits; so have their averages."""
    store, used = learner.arcs.store, learner.arcs.store.keys != 0
    keys = store.keys[used].tolist()
    assert set(keys) == set(twin.arcs.weights)
    for found, expected in (
        (store.values[used], twin.arcs.weights),
        (learner.arcs.averages.values[used], twin.arcs.sums),
    ):
        largest = max(abs(float(value)) for value in expected.values())
        np.testing.assert_allclose(found, [expected[key] for key in keys], rtol=1e-4, atol=1e-5 * largest)
    assert learner.rows.rows == len(twin.rows.rows)
    for average in (True, False):
        frozen = learner.rows.freeze(average=average)
        scale, cells = twin.rows.freeze(average=average)
        assert abs(frozen.scale / scale - 1) < 1e-4
        weights = cells_of(frozen.tensors())
        for cell in weights.keys() | cells.keys():
            # One in the last of 15 bits.
            assert abs(weights.get(cell, 0) - cells.get(cell, 0)) <= 3, cell
