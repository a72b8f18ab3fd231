"""What a learner of a transition parser does, in plain Python: the same updates, the same weights."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from transition_samples import all_trees, by_word, columns_of, random_sentence, templates_of
from transition_twin import GoldArcs, Item, Rules, Scorer, State, mix, state_features, violation

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.models.transition.learner import TransitionLearner
from treetune.models.transition.parser import TransitionParser
from treetune.models.transition.search import has_memo
from treetune.models.transition.templates import outputs

sys.path.append(str(Path(__file__).parents[2] / "weights"))
from margins_twin import TwinMargins, hildreth
from weights_twin import TwinWeights, cells_of

# A margin that is missed by less is reached.
ROUNDING = 1e-5

Changes = list[tuple[int, int, float]]  # (feature, output, delta)


def random_treebank(seed: int, *, count: int, longest: int = 5, labels: str = "dbc") -> list[Example]:
    draw = random.Random(seed)
    trees = {n: list(all_trees(n)) for n in range(1, longest + 1)}
    examples = []
    for _ in range(count):
        sentence = random_sentence(draw, draw.randint(1, longest))
        heads = draw.choice(trees[len(sentence)])
        names = ["root" if head == 0 else draw.choice(labels) for head in heads]
        examples.append(Example(sentence, Tree.of(heads, names)))
    return examples


def drawn(seed: int, passes: int, place: int, step: int) -> int:
    """What greedy learning draws at one step of one sentence."""
    start = mix((mix((seed << 20) + passes) + place) % 2**64)
    return mix((start + step) % 2**64)


class TwinLearner:
    """Learns sentence by sentence, from the same examples as a learner, by the same options."""

    def __init__(self, learner: TransitionLearner, treebank: Sequence[Example]) -> None:
        self.learner, self.grammar, self.treebank = learner, learner.grammar, treebank
        self.weights = TwinWeights()
        self.passes = 0
        self.parser = TransitionParser(learner.model.config)
        self.parser.set_trained(learner.grammar, learner.snapshot())

    @property
    def is_mira(self) -> bool:
        return self.learner.learner == "mira"

    def learn(self, order: Sequence[int]) -> int:
        self.passes += 1
        updated = 0
        for place, i in enumerate(order):
            self.weights.steps += 1
            is_greedy = self.learner.config.update == "dynamic"
            example = self.treebank[i]
            changes = self._greedy_changes(place, example) if is_greedy else self._beam_changes(example)
            self.weights.add(changes)
            updated += bool(changes)
        return updated

    def _rules(self, sentence: Sentence) -> Rules:
        labels = self.grammar.labels
        return Rules(len(sentence), labels.at_root, labels.at_word, by_word=by_word(labels, sentence))

    def _gold(self, example: Example) -> GoldArcs:
        ids = self.grammar.labels.ids()
        return GoldArcs(example.gold.heads[1:], [ids[label] for label in example.gold.labels[1:]])

    def _features(self, sentence: Sentence, state: State) -> list[int]:
        return state_features(state, templates_of(self.grammar), columns_of(self.grammar, sentence))

    def _scores(self, sentence: Sentence, state: State) -> dict[int, float]:
        """Sums of float32, added as the kernel adds them: group by group if it remembers those of a group."""
        features = iter(self._features(sentence, state))
        groups = [[next(features) >> 28 for _ in group] for group in self.grammar.template_set.groups]
        if self.learner.config.update == "dynamic" or not has_memo(self.learner.model.beam):
            groups = [[key for group in groups for key in group]]
        scores = {}
        for output in range(outputs(self.grammar.labels)):
            total = np.float32(0)
            for group in groups:
                part = np.float32(0)
                for key in group:
                    part += self.weights.weights.get((key, output), np.float32(0))
                total += part
            scores[output] = float(total)
        return scores

    def _scorer(self, sentence: Sentence) -> Scorer:
        memo: dict[State, dict[int, float]] = {}

        def scorer(state: State) -> dict[int, float]:
            if state not in memo:
                memo[state] = self._scores(sentence, state)
            return memo[state]

        return scorer

    def _pairs(self, sentence: Sentence, actions: Sequence[int], skip: int = 0) -> list[tuple[int, int]]:
        """The (feature, transition) pairs of a sequence, without its first `skip` transitions."""
        pairs = []
        state = self._rules(sentence).start()
        for step, action in enumerate(actions):
            if step >= skip:
                pairs += [(feature, action) for feature in self._features(sentence, state)]
            state = state.after(action)
        return pairs

    def _beam_changes(self, example: Example) -> Changes:
        sentence, learner = example.sentence, self.learner
        actions = self.parser.derivation(example.gold)
        scorer = self._scorer(sentence)
        found = violation(self._rules(sentence), scorer, learner.model.beam, actions, str(learner.config.update))
        if self.is_mira:
            rivals = [item for item in found.beam if item.actions != found.gold.actions][: learner.k]
            return self._margin_changes(example, found.gold, rivals)
        if found.length == 0:
            return []
        better, worse = found.gold.actions, found.beam[0].actions
        same = next(step for step in range(found.length) if better[step] != worse[step])
        changes = [(*pair, 1.0) for pair in self._pairs(sentence, better, same)]
        return changes + [(*pair, -1.0) for pair in self._pairs(sentence, worse, same)]

    def _margin_changes(self, example: Example, gold_item: Item, rivals: Sequence[Item]) -> Changes:
        arcs = self._gold(example)
        wanted = [max(1, arcs.lost(item.state)) - (gold_item.score - item.score) for item in rivals]
        if not any(lead > ROUNDING for lead in wanted):
            return []
        margins = TwinMargins(len(rivals))
        for pair in self._pairs(example.sentence, gold_item.actions):
            margins.add_gold(len(rivals), pair, 1.0)
        for place, item in enumerate(rivals):
            for pair in self._pairs(example.sentence, item.actions):
                margins.add(place, pair, -1.0)
        return margins.combine(hildreth(margins.gram(len(rivals)), wanted, self.learner.clip))

    def _greedy_changes(self, place: int, example: Example) -> Changes:
        sentence, rules, gold = example.sentence, self._rules(example.sentence), self._gold(example)
        changes: Changes = []
        state = rules.start()
        for step in range(2 * len(sentence)):
            scores = self._scores(sentence, state)
            legal = rules.legal_actions(state)
            costs = {action: gold.cost(state, action) for action in legal}
            predicted = max(legal, key=lambda action: (scores[action], -action))
            oracle = min(legal, key=lambda action: (costs[action], -scores[action], action))
            worse = [action for action in legal if costs[action] > costs[oracle]]
            if worse:
                features = self._features(sentence, state)
                rival = max(worse, key=lambda action: (scores[action], -action))
                size = self._greedy_step(scores[oracle] - scores[rival], predicted == rival, len(features))
                if size > 0:
                    changes += [(feature, oracle, size) for feature in features]
                    changes += [(feature, rival, -size) for feature in features]
            action = predicted
            if predicted in worse:
                draw = drawn(self.learner.seed, self.passes, place, step)
                if (draw >> 11) / 2**53 >= self.learner.explore:
                    action = oracle
            state = state.after(action)
        return changes

    def _greedy_step(self, lead: float, is_wrong: bool, features: int) -> float:
        if self.is_mira:
            return min((1 - lead) / (2 * features), self.learner.clip) if 1 - lead > ROUNDING else 0.0
        return float(is_wrong)


def check_equal(learner: TransitionLearner, twin: TwinLearner) -> None:
    for average in (True, False):
        frozen = learner.rows.freeze(average=average)
        scale, cells = twin.weights.freeze(average=average)
        assert frozen.scale == scale
        assert cells_of(frozen.tensors()) == cells
    assert learner.rows.rows == len(twin.weights.rows)


def check_epochs(learner: TransitionLearner, treebank: Sequence[Example], *, seed: int) -> None:
    """Check that a learner that explores does the same as its twin in three epochs."""
    learner.explore = 0.7
    twin = TwinLearner(learner, treebank)
    draw = random.Random(seed)
    for _ in range(3):
        order = draw.sample(range(len(treebank)), len(treebank))
        assert learner.learn(np.array(order)) == twin.learn(order) > 0
        check_equal(learner, twin)
