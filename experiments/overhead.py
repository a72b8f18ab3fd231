"""What the framework costs: the trainer beside a bare loop, and steps on an objective beside those on the treebank.

    python experiments/overhead.py --data DIR

Both learn the same sentences of the source treebank in the same order, interleaved, in CPU time; then the transition
parser takes steps on main verbs at k = 8 and on the treebank in turn, and the times a word are compared.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import measuring
import treetune
from questions import OPTIONS
from supervision import ROOT, keep
from treetune import Example, Objective, TransitionParser
from treetune.learning.ranker import Ranker
from treetune.losses import Root

HERE = Path(__file__).resolve().parent
SENTENCES, ROUNDS = 1500, 5


def make() -> TransitionParser:
    """Return an untrained parser."""
    return TransitionParser(beam=8, inputs=tuple(OPTIONS["inputs"]))


def timed(work: Callable[[], object]) -> float:
    """Return the CPU time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def bare(treebank: Sequence[Example]) -> None:
    """Learn one epoch as a plain loop would."""
    parser = make()
    learner = parser.learner(treebank, learner="mira")
    learner.learn(np.random.default_rng(0).permutation(len(treebank)))
    learner.install(parser, learner.snapshot())


def trained(treebank: Sequence[Example]) -> None:
    """Learn one epoch by the trainer."""
    for _ in treetune.train(make(), treebank, epochs=1, learner="mira"):
        pass


def milliseconds_a_word(treebank: Sequence[Example], questions: Sequence[Example]) -> tuple[list[float], list[float]]:
    """Return the time a word of steps on the treebank and on main verbs (lists of 8), round by round."""
    parser = make()
    learner = parser.learner(treebank, learner="mira")
    order = np.arange(len(treebank))
    learner.learn(order)
    objective = Objective(questions, Root(), search="list", k=8)
    ranker = Ranker(learner.online_decoder([question.sentence for question in questions]), objective)

    def rank() -> None:
        for place, question in enumerate(questions):
            ranker.step(place, question.sentence, question.gold)

    rank()  # compiles
    words = sum(len(question.sentence) for question in questions)
    on_treebank, on_objective = [], []
    for _ in range(ROUNDS):
        on_treebank.append(1000 * timed(lambda: learner.learn(order)) / learner.words(order))
        on_objective.append(1000 * timed(rank) / words)
    return on_treebank, on_objective


def main() -> None:
    """Measure, and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measuring.data_option(parser)
    parser.add_argument("--out", type=Path, default=HERE / "overhead.json", help="(default: %(default)s)")
    options = parser.parse_args()
    folder = options.data / "questions"
    treebank = list(itertools.islice(treetune.read_trees(folder / "source-train.conllu"), SENTENCES))
    questions = keep(list(treetune.read_trees(folder / "target-train.conllu")), ROOT)
    bare(treebank[:30])
    trained(treebank[:30])
    seconds: dict[str, list[float]] = {"bare loop": [], "trainer": []}
    for _ in range(ROUNDS):
        seconds["bare loop"].append(timed(lambda: bare(treebank)))
        seconds["trainer"].append(timed(lambda: trained(treebank)))
    on_treebank, on_objective = milliseconds_a_word(treebank, questions)
    shares = [one / other for one, other in zip(seconds["trainer"], seconds["bare loop"], strict=True)]
    steps = [one / other for one, other in zip(on_objective, on_treebank, strict=True)]
    record = {
        "measured": "overhead",
        **measuring.provenance(["numpy", "numba"]),
        "sentences": SENTENCES,
        "epoch_cpu_seconds": seconds,
        "trainer_to_bare_loop": {"median": statistics.median(shares), "raw": shares},
        "milliseconds_a_word": {"treebank": on_treebank, "main verbs, lists of 8": on_objective},
        "objective_to_treebank": {"median": statistics.median(steps), "raw": steps},
    }
    measuring.write_json(options.out, record)
    measuring.say(f"the trainer takes {statistics.median(shares):.3f} of a bare loop, ")
    measuring.say(f"a word of an objective {statistics.median(steps):.2f} of one of the treebank; wrote {options.out}")


if __name__ == "__main__":
    main()
