"""Hall et al. 2011, Table 3: a second objective on the treebank itself, the arc-length score (ALS).

    python experiments/hall2011_table3.py --data DIR

The first 3,000 sentences of the treebank. The objective is learned beside it from the first epoch on, one step for each
step. It makes twice as many steps as the baseline with as many epochs; so there is a baseline with twice the epochs
too. ALS is measured over the corpus: the summed lengths of right arcs over those of all arcs. Parsers learn by MIRA,
and by the perceptron, as in the paper, with whole steps for the objective too. Expected: ALS and LAS rise, with
labelled ALS more.
"""

from __future__ import annotations

from dataclasses import replace

from common import Experiment, main
from corpora import ENGLISH
from findings import higher, significantly_higher
from recipes import Extra, Recipe
from runs import Row

PARSERS = {
    "transition": Recipe("transition", {"beam": 8}),
    "graph": Recipe("graph", {"decoder": "projective"}),
    "transition, perceptron": Recipe("transition", {"beam": 8}, {"learner": "perceptron"}),
    "graph, perceptron": Recipe("graph", {"decoder": "projective"}, {"learner": "perceptron"}),
}
SMALL = replace(ENGLISH, name="English, 3,000 sentences", most=3000, dev=None)
TEST = SMALL.tests[0]
# The paper's lists have 8 trees.
LISTS = {"search": "list", "k": 8, "start": 1}
EPOCHS = 4


def arc_length(recipe: Recipe, *, labelled: bool) -> Extra:
    """Return the objective on the treebank itself, with steps as the parser's learner makes them."""
    options = {**LISTS, "step": "perceptron"} if recipe.learning else LISTS
    return Extra(SMALL.train[0], "everything", {"name": "arc-length", "labelled": labelled}, options)


BASELINE, TWICE, UNLABELLED, LABELLED = "treebank", "treebank, twice the epochs", "unlabelled ALS", "labelled ALS"


def rows() -> list[Row]:
    """Return the rows of both parsers."""
    found = []
    for parser, recipe in PARSERS.items():
        kinds = {
            BASELINE: recipe,
            TWICE: replace(recipe, passes=2),
            UNLABELLED: replace(recipe, extras=(arc_length(recipe, labelled=False),)),
            LABELLED: replace(recipe, extras=(arc_length(recipe, labelled=True),)),
        }
        found += [Row(f"{parser}, {kind}", SMALL, one) for kind, one in kinds.items()]
    return found


EXPERIMENT = Experiment(
    name="hall2011_table3",
    title="The arc-length score as a second objective",
    rows=tuple(rows()),
    pairs=tuple(
        (f"{parser}, {kind}", f"{parser}, {base}")
        for parser in PARSERS
        for kind in (UNLABELLED, LABELLED)
        for base in (BASELINE, TWICE)
    ),
    claims=(
        *(
            significantly_higher(f"{parser}, {LABELLED}", f"{parser}, {base}", TEST, metric)
            for parser in PARSERS
            for base in (BASELINE, TWICE)
            for metric in ("LAS", "UAS", "LALS")
        ),
        *(higher(f"{parser}, {LABELLED}", f"{parser}, {UNLABELLED}", TEST, "LAS") for parser in PARSERS),
    ),
    epochs=EPOCHS,
    shown={"LAS": "LAS", "UAS": "UAS", "ALS": "UALS", "labelled ALS": "LALS"},
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
