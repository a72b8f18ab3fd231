"""McDonald et al. 2005, Table 2: the averaged perceptron against MIRA, first order, English and Czech.

    python experiments/mcdonald_table2.py --data DIR

The paper parses Czech projectively. Here it is also parsed non-projectively, and the projective parser uses
the pseudo-projective transform. Expected: MIRA finds more heads, more roots and more complete trees.
"""

from __future__ import annotations

from common import Experiment, main
from corpora import CZECH, ENGLISH, Corpus
from findings import Claim, higher, more_right_heads
from recipes import Recipe
from runs import Row

LEARNERS: dict[str, dict[str, object]] = {"perceptron": {"learner": "perceptron"}, "MIRA": {"learner": "mira", "k": 5}}
SETTINGS = ((ENGLISH, "projective"), (CZECH, "projective"), (CZECH, "non-projective"))


def name(corpus: Corpus, decoder: str, learner: str) -> str:
    """Return the name of a row."""
    return f"{corpus.name}, {decoder}, {learner}"


def claims() -> list[Claim]:
    """Return what the paper found, for every test file."""
    found = []
    for corpus, decoder in SETTINGS:
        perceptron, mira = (name(corpus, decoder, learner) for learner in LEARNERS)
        for test in corpus.tests:
            found += [higher(mira, perceptron, test, metric) for metric in ("UAS", "root", "UCM")]
            found.append(more_right_heads(mira, perceptron, test))
    return found


EXPERIMENT = Experiment(
    name="mcdonald_table2",
    title="Perceptron and MIRA",
    rows=tuple(
        Row(name(corpus, decoder, learner), corpus, Recipe("graph", {"decoder": decoder}, learning))
        for corpus, decoder in SETTINGS
        for learner, learning in LEARNERS.items()
    ),
    pairs=tuple((name(corpus, decoder, "MIRA"), name(corpus, decoder, "perceptron")) for corpus, decoder in SETTINGS),
    claims=tuple(claims()),
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
