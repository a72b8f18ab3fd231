"""First against second order, projective against non-projective search, three learners, two ways to label.

    python experiments/orders.py --data DIR

Expected: the second order is better; English, which has few crossing arcs, loses nothing by projective search;
in Czech sentences with crossing arcs non-projective search is better. There it also pays to put lifted arcs back
after projective search (pseudo-projective parsing). MIRA with a constraint for every arc costs more time than with
the k best trees and is not better (McDonald et al. 2005).
"""

from __future__ import annotations

from common import Experiment, main
from corpora import CZECH, ENGLISH, Corpus
from findings import Claim, Results, Verdict, higher, significantly_higher
from recipes import Recipe
from runs import Row

PARSERS = {"first order": "graph", "second order": "graph2"}
DECODERS = ("projective", "non-projective")
MIRA = {"learner": "mira", "k": 5}
# In points of UAS: less than seeds differ by.
NEARLY = 0.2
TEST = ENGLISH.tests[0]


def name(corpus: Corpus, order: str, decoder: str) -> str:
    """Return the name of a row that learns by MIRA."""
    return f"{corpus.name}, {order}, {decoder}"


FIRST = name(ENGLISH, "first order", "projective")
PERCEPTRON = f"{FIRST}, perceptron"
FACTORED = f"{FIRST}, factored MIRA"
JOINT = f"{FIRST}, joint labels"
LOWERED = name(CZECH, "first order", "projective")
LIFTED = f"{LOWERED}, arcs stay lifted"
# More than any label has, so that no mark is learned by which a lifted arc could be put back.
NEVER = 10**9


def projective_is_enough(order: str) -> Claim:
    """Claim that projective search is about as good as the other for English."""
    rows = [name(ENGLISH, order, decoder) for decoder in DECODERS]

    def check(results: Results) -> Verdict:
        means = {row: results.mean(row, TEST, "UAS") for row in rows}
        return means[rows[0]] >= means[rows[1]] - NEARLY, means

    return Claim(f"{TEST}: {rows[0]} is at most {NEARLY} UAS below {rows[1]}", check)


def factored_does_not_pay(results: Results) -> Verdict:
    """Check that a constraint for every arc takes longer and is not better."""
    means = {row: results.mean(row, TEST, "UAS") for row in (FIRST, FACTORED)}
    seconds = {row: results.cpu_seconds(row) for row in (FIRST, FACTORED)}
    holds = seconds[FACTORED] > seconds[FIRST] and means[FACTORED] <= means[FIRST] + NEARLY
    return holds, {"UAS": means, "cpu_seconds": seconds}


def second_stage_is_enough(results: Results) -> Verdict:
    """Check that labels given after the search are about as good as labels scored with all arcs."""
    means = {row: results.mean(row, TEST, "LAS") for row in (FIRST, JOINT)}
    return means[FIRST] >= means[JOINT] - NEARLY, means


def claims() -> list[Claim]:
    """Return what is expected."""
    found = [
        significantly_higher(name(corpus, "second order", decoder), name(corpus, "first order", decoder), test, "UAS")
        for corpus in (ENGLISH, CZECH)
        for decoder in DECODERS
        for test in corpus.tests
    ]
    found += map(projective_is_enough, PARSERS)
    found += [
        higher(name(CZECH, order, "non-projective"), name(CZECH, order, "projective"), test, "crossing_UAS")
        for order in PARSERS
        for test in CZECH.tests
    ]
    found += [higher(LOWERED, LIFTED, test, "crossing_UAS") for test in CZECH.tests]
    found.append(Claim(f"{TEST}: factored MIRA takes longer than k-best MIRA and is not better", factored_does_not_pay))
    found.append(
        Claim(f"{TEST}: labels of a second stage are at most {NEARLY} LAS below joint ones", second_stage_is_enough)
    )
    found.append(higher(FIRST, PERCEPTRON, TEST, "UAS"))
    return found


EXPERIMENT = Experiment(
    name="orders",
    title="Orders, search and learners",
    rows=(
        *(
            Row(name(corpus, order, decoder), corpus, Recipe(parser, {"decoder": decoder}, MIRA))
            for corpus in (ENGLISH, CZECH)
            for order, parser in PARSERS.items()
            for decoder in DECODERS
        ),
        Row(LIFTED, CZECH, Recipe("graph", {"decoder": "projective", "min_lifted": NEVER}, MIRA)),
        Row(PERCEPTRON, ENGLISH, Recipe("graph", {"decoder": "projective"}, {"learner": "perceptron"})),
        Row(FACTORED, ENGLISH, Recipe("graph", {"decoder": "projective"}, {"learner": "factored-mira"})),
        Row(JOINT, ENGLISH, Recipe("graph", {"decoder": "projective", "labels": "joint"}, MIRA)),
    ),
    pairs=(
        *(
            (name(corpus, "second order", decoder), name(corpus, "first order", decoder))
            for corpus in (ENGLISH, CZECH)
            for decoder in DECODERS
        ),
        *(
            (name(corpus, order, "non-projective"), name(corpus, order, "projective"))
            for corpus in (ENGLISH, CZECH)
            for order in PARSERS
        ),
        (LOWERED, LIFTED),
        (FIRST, PERCEPTRON),
        (FIRST, FACTORED),
        (FIRST, JOINT),
    ),
    claims=tuple(claims()),
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
