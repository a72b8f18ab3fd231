"""How to learn from main verbs: lists of which length, how often, and what a few more known arcs are worth.

    python experiments/augmented_study.py --data DIR

The transition parser, the first 1,500 sentences of the source treebank, and questions of which the main verb is known.
Rows differ in how an output with a lower cost is looked for (among the k best; in growing lists; by constrained
search), in how many steps are taken for each step on the treebank, in how many arcs of a question are known, in
whether a word may bear labels that its tag has never borne, and in whether the treebank takes part.
"""

from __future__ import annotations

from common import Experiment, main
from findings import Claim, Results, Verdict, higher, significantly_higher
from questions import EPOCHS, START, TARGETS, corpus, main_verbs
from recipes import Extra, Recipe
from runs import Row

TESTS = tuple(f"{target}-test" for target in TARGETS)
SOURCE = corpus("source, 1,500 sentences", "source-train", tests=TESTS, most=1500)
PARSER = ("transition", {"beam": 8, "labels_by_tag": True}, {"learner": "mira"})
LOOSE = ("transition", {"beam": 8, "labels_by_tag": False}, {"learner": "mira"})
BASELINE = "treebank alone"
LENGTHS = (2, 8, 64)
RATES = (0.25, 1.0, 4.0)
ARCS = (1, 2, 5)
GROWING, CONSTRAINED = "growing lists, 8 to 64", "constrained search"
ANY_LABEL = "any label"
# Passes over the questions; six are as many steps as beside the treebank.
WITHOUT = {1: "then main verbs without the treebank, 1 pass", 6: "then main verbs without the treebank, 6 passes"}


def listed(k: int) -> str:
    """Return the name of the row with lists of one length."""
    return f"lists of {k}"


def rated(rate: float) -> str:
    """Return the name of the row with growing lists and a rate."""
    return GROWING if rate == 1 else f"{GROWING}, rate {rate:g}"


def partial(target: str, arcs: int) -> str:
    """Return the name of the row with so many known arcs."""
    return f"{target}: {arcs} known {'arc' if arcs == 1 else 'arcs'}"


def rows() -> list[Row]:
    """Return all rows."""
    extras = {
        **{listed(k): main_verbs("target", search="list", k=k) for k in LENGTHS},
        **{rated(rate): main_verbs("target", rate=rate) for rate in RATES},
        CONSTRAINED: main_verbs("target", search="forced"),
        **{
            partial(target, arcs): Extra(f"{target}-train", arcs, {"name": "partial-tree"}, {"start": START})
            for target in TARGETS
            for arcs in ARCS
        },
    }
    found = [Row(BASELINE, SOURCE, Recipe(*PARSER))]
    found += [Row(name, SOURCE, Recipe(*PARSER, extras=(extra,))) for name, extra in extras.items()]
    found += [
        Row(f"{GROWING}, {ANY_LABEL}", SOURCE, Recipe(*LOOSE, extras=(main_verbs("target"),))),
        Row(f"{BASELINE}, {ANY_LABEL}", SOURCE, Recipe(*LOOSE)),
    ]
    alone = Extra("target-train", "root", {"name": "root"})
    found += [Row(name, SOURCE, Recipe(*PARSER, then=(alone,), then_epochs=passes)) for passes, name in WITHOUT.items()]
    return found


def growing_is_best(results: Results) -> Verdict:
    """Check that growing lists find the right root more often than lists of any one length."""
    means = {row: results.mean(row, "target-test", "root") for row in (GROWING, *map(listed, LENGTHS))}
    return means[GROWING] >= max(means.values()), means


EXPERIMENT = Experiment(
    name="augmented_study",
    title="Lists, rates and known arcs",
    rows=tuple(rows()),
    pairs=(
        *((name.name, BASELINE) for name in rows() if name.name != BASELINE),
        *((partial(target, more), partial(target, less)) for target in TARGETS for less, more in ((1, 2), (2, 5))),
    ),
    claims=(
        significantly_higher(GROWING, BASELINE, "target-test", "root"),
        Claim("target-test: growing lists have a root accuracy at least that of any fixed length", growing_is_best),
        *(
            higher(partial(target, more), partial(target, less), f"{target}-test", "LAS")
            for target in TARGETS
            for less, more in ((1, 2), (2, 5))
        ),
    ),
    epochs=EPOCHS,
    shown={"LAS": "LAS", "UAS": "UAS", "root": "root"},
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
