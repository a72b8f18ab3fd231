"""A metric that does not factor, asked for by an external program: the parser learns it all the same.

    python experiments/external_metric.py --data DIR

The program (`programs/span_f1.py`, which knows nothing of treetune) answers 1 - F1 of the stretches of words that
belong together. The treebank are the first 1,000 sentences of EWT. Of the sentences of GUM, texts of other kinds, only
what the program answers is known: from the third epoch on, two steps for each on the treebank; in some rows near misses
are learned from too. The loss of the tests is asked for from the same program. Baselines: the treebank alone; with
twice the epochs, so with as many steps; and, which the program does not tell, with the first 1,000 trees of GUM.
Expected: the trees cost less, on texts of GUM above all.
"""

from __future__ import annotations

from dataclasses import replace

from common import Experiment, main
from corpora import ENGLISH
from findings import significantly_cheaper
from recipes import Extra, Recipe
from runs import Row

OTHER = "en_gum-train"
TESTS = ("en_gum-test", "en_ewt-test")
SMALL = replace(ENGLISH, name="EWT, 1,000 sentences", most=1000, dev=None, tests=TESTS, others=(OTHER,))
BOTH = replace(SMALL, name="EWT, 1,000 sentences, and GUM, 1,000", train=(*ENGLISH.train, OTHER), others=())
SPANS = {"name": "program", "command": ["{python}", "{here}/programs/span_f1.py"]}
# A stretch of a sentence of 16 words is about a fifteenth of the score; so weighted, it is worth as much as a wrong
# word is to MIRA. Chosen on the dev part of GUM, the weight of 1, 15 and 40, the rate of 1 and 2.
WEIGHTED = {"name": "weighted", "parts": [{"weight": 15.0, **SPANS}]}
PARSERS = {
    "transition": Recipe("transition", {"beam": 8}),
    "graph": Recipe("graph", {"decoder": "projective"}),
}
EPOCHS = 4
BASELINE, TWICE, AUGMENTED = "treebank", "treebank, twice the epochs", "treebank and the program"
NEAR = f"{AUGMENTED}, near misses"
TREES = "treebank and 1,000 trees of GUM"


PAIRS = ((AUGMENTED, BASELINE), (AUGMENTED, TWICE), (NEAR, BASELINE), (NEAR, TWICE), (NEAR, AUGMENTED))


def rows() -> list[Row]:
    """Return the rows of both parsers."""
    options = {"start": 3, "rate": 2.0}
    objective = Extra(OTHER, "everything", WEIGHTED, options)
    near = Extra(OTHER, "everything", WEIGHTED, {**options, "margin_updates": True})
    found = []
    for parser, recipe in PARSERS.items():
        kinds = {
            BASELINE: recipe,
            TWICE: replace(recipe, passes=2),
            AUGMENTED: replace(recipe, extras=(objective,)),
            NEAR: replace(recipe, extras=(near,)),
        }
        found += [Row(f"{parser}, {kind}", SMALL, one, loss=SPANS) for kind, one in kinds.items()]
        found.append(Row(f"{parser}, {TREES}", BOTH, recipe, loss=SPANS))
    return found


EXPERIMENT = Experiment(
    name="external_metric",
    title="A metric that does not factor, by an external program",
    rows=tuple(rows()),
    pairs=tuple((f"{parser}, {row}", f"{parser}, {base}") for parser in PARSERS for row, base in PAIRS),
    claims=tuple(
        significantly_cheaper(f"{parser}, {row}", f"{parser}, {base}", test)
        for parser in PARSERS
        for row, base in PAIRS
        for test in TESTS
    ),
    epochs=EPOCHS,
    shown={"1 − F1 of stretches": "cost", "LAS": "LAS", "UAS": "UAS"},
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
