"""What it costs, or brings, that a word bears only labels its tag has borne in the treebank.

    python experiments/labels_by_tag.py --data DIR

The first 4,000 sentences of UD English EWT, gold tags, scored on its dev part. Expected: nothing is lost.
"""

from __future__ import annotations

from dataclasses import replace

from common import Experiment, main
from corpora import ENGLISH
from findings import Claim, Results, Verdict
from recipes import Recipe
from runs import Row

DEV = "en_ewt-dev"
SMALL = replace(ENGLISH, name="English, 4,000 sentences", most=4000, dev=None, tests=(DEV,))
PARSERS: dict[str, tuple[str, dict[str, object]]] = {
    "transition": ("transition", {"beam": 8}),
    "graph": ("graph", {"decoder": "projective"}),
}
ANY, BY_TAG = "any label", "labels by tag"
EPOCHS = 4
# Points that chance may take.
LOST = 0.1


def rows() -> list[Row]:
    """Return the rows of both parsers."""
    return [
        Row(f"{parser}, {kind}", SMALL, Recipe(name, {**options, "labels_by_tag": kind == BY_TAG}))
        for parser, (name, options) in PARSERS.items()
        for kind in (ANY, BY_TAG)
    ]


def loses_nothing(parser: str) -> Claim:
    """Claim that LAS is no lower."""
    pair = f"{parser}, {BY_TAG}", f"{parser}, {ANY}"

    def check(results: Results) -> Verdict:
        means = {row: results.mean(row, DEV, "LAS") for row in pair}
        return means[pair[0]] >= means[pair[1]] - LOST, means

    return Claim(f"{DEV}: {pair[0]} is at most {LOST} LAS below {pair[1]}", check)


EXPERIMENT = Experiment(
    name="labels_by_tag",
    title="Labels by tag",
    rows=tuple(rows()),
    pairs=tuple((f"{parser}, {BY_TAG}", f"{parser}, {ANY}") for parser in PARSERS),
    claims=tuple(map(loses_nothing, PARSERS)),
    epochs=EPOCHS,
    shown={"LAS": "LAS", "UAS": "UAS"},
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
