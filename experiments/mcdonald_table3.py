"""McDonald et al. 2005, Table 3: a parser that sees the trees of another parser beats both.

    python experiments/mcdonald_table3.py --data DIR

The paper's other parser is that of Collins; here it is the transition parser, and the other way round: the graph
parser guides the transition parser (Nivre & McDonald 2008). The guide's trees for the training data are made by
parsers that have not seen the sentence (jackknifing). A third way: a parser that reads backward reranks the best trees
of the one that reads forward. Expected: the guided parsers are better than every single one:
also than the guide, which is the best transition parser we have at that beam, and than one with a wider beam.
"""

from __future__ import annotations

from dataclasses import replace

from common import Experiment, main
from corpora import ENGLISH
from findings import SIGNIFICANT, Claim, Results, Verdict, higher
from recipes import Recipe
from runs import Row

TEST = ENGLISH.tests[0]
MIRA = {"learner": "mira", "k": 5}
PERCEPTRON = {"learner": "perceptron"}
GUIDE = Recipe("transition", {"beam": 8}, MIRA)
SINGLE = {
    "transition, beam 8": Recipe("transition", {"beam": 8}, PERCEPTRON),
    "transition, beam 32": Recipe("transition", {"beam": 32}, PERCEPTRON),
    "transition, beam 8, MIRA": GUIDE,
    "backward, beam 8, MIRA": Recipe("backward", {"beam": 8}, MIRA),
    "graph, first order": Recipe("graph", {"decoder": "projective"}, MIRA),
    "graph, second order": Recipe("graph2", {"decoder": "projective"}, MIRA),
}
# Each parser as the guide of the other. Nivre & McDonald (2008) found two folds enough.
FOLDS = 3
GUIDED = {
    "graph, second order, guided": replace(SINGLE["graph, second order"], base=GUIDE, folds=FOLDS),
    "transition, beam 8, MIRA, guided": replace(GUIDE, base=SINGLE["graph, second order"], folds=FOLDS),
    # Combined without stacking: the best trees of one parser, reranked by another.
    "transition, beam 8, MIRA, reranked backward": replace(GUIDE, second=SINGLE["backward, beam 8, MIRA"]),
}


def best(results: Results, rows: dict[str, Recipe], metric: str) -> str:
    """Return the row with the highest mean."""
    return max(rows, key=lambda row: results.mean(row, TEST, metric))


def beats_every_single(results: Results) -> Verdict:
    """Check the best guided parser against the best single one: LAS, by the bootstrap."""
    guided, single = best(results, GUIDED, "LAS"), best(results, SINGLE, "LAS")
    found = results.compare(guided, single, TEST)["bootstrap"]["LAS"]
    return found["score"] > 0 and found["p_value"] < SIGNIFICANT, {"guided": guided, "single": single, **found}


def has_more_right_heads(results: Results) -> Verdict:
    """Check the best guided parser against the best single one: heads, by McNemar's test."""
    guided, single = best(results, GUIDED, "UAS"), best(results, SINGLE, "UAS")
    found = results.compare(guided, single, TEST)
    difference, p_value = found["bootstrap"]["UAS"]["score"], found["mcnemar_heads"]["median_p_value"]
    evidence = {"guided": guided, "single": single, "difference": difference, "median_mcnemar_p_value": p_value}
    return difference > 0 and p_value < SIGNIFICANT, evidence


def beats_its_parts() -> list[Claim]:
    """Claim that a guided parser is better than its guide and than itself without a guide, as in the paper."""
    return [
        higher(guided, alone, TEST, metric)
        for guided in GUIDED
        for alone in ("transition, beam 8, MIRA", "graph, second order")
        for metric in ("UAS", "LAS", "root", "UCM")
    ]


EXPERIMENT = Experiment(
    name="mcdonald_table3",
    title="One parser guides another",
    rows=tuple(Row(name, ENGLISH, recipe) for name, recipe in {**SINGLE, **GUIDED}.items()),
    pairs=tuple((guided, single) for guided in GUIDED for single in SINGLE),
    claims=(
        Claim(
            f"{TEST}: the best guided parser has a significantly higher LAS than the best single one "
            "(bootstrap, p < 0.05)",
            beats_every_single,
        ),
        Claim(
            f"{TEST}: the best guided parser has significantly more right heads than the best single one "
            "(McNemar, p < 0.05)",
            has_more_right_heads,
        ),
        *beats_its_parts(),
    ),
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
