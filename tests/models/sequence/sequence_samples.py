"""Small tagged sentences of made-up words, and taggers for them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import Tagged, Tags
from treetune.models.sequence.grammar import TaggerGrammar
from treetune.models.sequence.learner import TaggerLearner
from treetune.models.sequence.tagger import Tagger
from treetune.weights.store import FrozenWeights, LiveWeights

TEMPLATES = str(Path(__file__).with_name("every_reach.txt"))
WORDS = ("a", "b", "ab", "Ba", "c1", "aba", "x", "A", "bab", "abc", "xx")
TAGS = ("N", "V", "D")
# Tags that have parts in common.
JOINT = ("Case=Nom|Number=Sing", "Case=Nom|Number=Plur", "_", "Case=Acc|Number=Plur")
MORPHOLOGY: dict[str, Any] = {
    "columns": ("feats",), "inputs": ("upos",), "given": True, "shared": True, "dictionary": 4,
}  # fmt: skip


def random_tagged(seed: int, *, count: int = 12, longest: int = 5, tags: Sequence[str] = TAGS) -> list[Tagged]:
    """Draw sentences; a word has some of the tags more often than others, and the first one may be empty."""
    draw = random.Random(seed)
    examples = []
    for _ in range(count):
        words = [draw.choice(WORDS) for _ in range(draw.randint(0, longest))]
        values = [tags[(len(word) + draw.choice((0, 0, 0, 1))) % len(tags)] for word in words]
        examples.append(Tagged(Sentence.of(words, upos=[word[0].upper() for word in words]), Tags.of(values)))
    return [*examples, Tagged(Sentence.of(["a", "Ba", "x"]), Tags.of([tags[0], tags[-1], tags[1]]))]


def make_tagger(**options: Any) -> Tagger:
    return Tagger(**{"features": TEMPLATES, "prune": 0.0, **options})


def make_learner(tagger: Tagger, examples: Sequence[Tagged], **options: Any) -> TaggerLearner:
    learner = tagger.learner(examples, **options)
    assert isinstance(learner, TaggerLearner)
    return learner


def random_weights(grammar: TaggerGrammar, examples: Sequence[Tagged], seed: int, *, largest: int = 3) -> FrozenWeights:
    """Draw small whole weights for all features of all tags that the sentences have: ties are frequent."""
    from sequence_twin import ChainTwin

    draw = random.Random(seed)
    features: dict[int, None] = {}
    for example in examples:
        chain = ChainTwin(grammar, example.sentence, order=2)
        for position in range(1, chain.n + 1):
            for part in chain.by_reach:
                for template in part:
                    for last in range(chain.boundary + 1):
                        for before in range(chain.boundary + 1):
                            features[chain.feature(template, position, last, before)] = None
    live = LiveWeights(grammar.outputs)
    live.averages.seen_once.fill(2**64 - 1)
    rows = [(feature, tag) for feature in features for tag in range(grammar.outputs) if draw.random() < 0.7]
    deltas = [draw.randint(-largest, largest) for _ in rows]
    # One weight is the largest, so that the scale is a whole number and all weights stay whole.
    deltas[0] = 2**15 - 1
    keys, tags = zip(*rows, strict=True)
    live.add(np.array(keys, np.uint64), np.array(tags, np.uint16), np.array(deltas, np.float32))
    return live.freeze(average=False)


def fitted(examples: Sequence[Tagged], seed: int, **options: Any) -> Tagger:
    """Return a tagger with what it learned of the examples, and weights drawn at random."""
    tagger = make_tagger(**options)
    sentences, gold = [item.sentence for item in examples], [item.gold for item in examples]
    grammar = TaggerGrammar.learn(sentences, gold, tagger.config)
    tagger.set_trained(grammar, random_weights(grammar, examples, seed))
    return tagger
