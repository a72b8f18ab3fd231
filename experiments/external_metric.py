"""A metric that does not factor, asked for by an external program: the parser learns it all the same.

    python experiments/external_metric.py --data DIR

The program (`programs/span_f1.py`, which knows nothing of treetune) answers 1 - F1 of the stretches of words that
belong together. The first 2,000 sentences of the treebank; the objective is learned on the same sentences from the
third epoch on. The loss of the tests is asked for from the same program. There is a baseline with as many passes over
the sentences, too. Expected: the trees cost less.
"""

from __future__ import annotations

from dataclasses import replace

from common import Experiment, main
from corpora import ENGLISH
from findings import significantly_cheaper
from recipes import Extra, Recipe
from runs import Row

SMALL = replace(ENGLISH, name="English, 2,000 sentences", most=2000, dev=None)
TEST = SMALL.tests[0]
SPANS = {"name": "program", "command": ["{python}", "{here}/programs/span_f1.py"]}
PARSERS = {
    "transition": Recipe("transition", {"beam": 8}),
    "graph": Recipe("graph", {"decoder": "projective"}),
}
EPOCHS = 4
BASELINE, TWICE, AUGMENTED = "treebank", "treebank, twice the epochs", "treebank and the program"


def rows() -> list[Row]:
    """Return the rows of both parsers."""
    objective = Extra(SMALL.train[0], "everything", SPANS, {"start": 3})
    found = []
    for parser, recipe in PARSERS.items():
        kinds = {
            BASELINE: recipe,
            TWICE: replace(recipe, passes=2),
            AUGMENTED: replace(recipe, extras=(objective,)),
        }
        found += [Row(f"{parser}, {kind}", SMALL, one, loss=SPANS) for kind, one in kinds.items()]
    return found


EXPERIMENT = Experiment(
    name="external_metric",
    title="A metric that does not factor, by an external program",
    rows=tuple(rows()),
    pairs=tuple((f"{parser}, {AUGMENTED}", f"{parser}, {base}") for parser in PARSERS for base in (BASELINE, TWICE)),
    claims=tuple(
        significantly_cheaper(f"{parser}, {AUGMENTED}", f"{parser}, {base}", TEST)
        for parser in PARSERS
        for base in (BASELINE, TWICE)
    ),
    epochs=EPOCHS,
    shown={"1 − F1 of stretches": "cost", "LAS": "LAS", "UAS": "UAS"},
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
