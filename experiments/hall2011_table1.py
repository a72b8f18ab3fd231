"""Hall et al. 2011, Table 1: parsers trained for the word order of another language.

    python experiments/hall2011_table1.py --data DIR

Rows: a parser of the treebank alone; with the augmented loss at 0.5, 1 and 2 steps for each on the treebank, learning
from sentences of which only the Japanese (Korean) word order is known; targeted self-training on the same sentences;
and, which no such method can see, their gold trees. All tags are gold. The score is that of the order which the
hand-written rules make of the predicted trees. Expected: the augmented loss raises the reorder-score, significantly for
the transition parser on Japanese, and more so than targeted self-training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from common import Experiment, main
from corpora import Corpus
from findings import Claim, Results, Verdict, higher, significantly_cheaper
from recipes import Extra, Recipe
from runs import Row

PARSERS = {
    "transition": Recipe("transition", {"beam": 8}, {"learner": "mira"}),
    "graph": Recipe("graph", {"decoder": "projective"}),
}
LANGUAGES = {"ja": "Japanese", "ko": "Korean"}
RATES = (0.5, 1.0, 2.0)
TREEBANK, TARGETED, TREES = "treebank alone", "targeted self-training", "gold trees of the same sentences"
EPOCHS = 4
K = 8
# Sentences of each treebank.
MOST = 2000
LOSS: Mapping[str, Any] = {"name": "reordering", "rules": "sov"}


def corpus(name: str, *languages: str, trees: bool = False) -> Corpus:
    """Return the treebanks, with the word orders of some languages to learn from and to test on."""
    files = {part: tuple(f"reorder/en-{language}-{part}" for language in languages) for part in ("train", "test")}
    train = ("en_ewt-train", "en_gum-train", *(files["train"] if trees else ()))
    options = {"inputs": ["upos", "xpos"]}
    return Corpus(name, train, None, files["test"], options, others=() if trees else files["train"], most=MOST)


def orders(language: str, **options: object) -> Extra:
    """Return the objective of the paper: of a sentence only the order of its words in another language is known."""
    return Extra(f"reorder/en-{language}-train", "nothing", LOSS, {"search": "list", "k": K, **options})


def augmented(rate: float) -> str:
    """Return what a row with the augmented loss is called."""
    return f"{rate:g} × word orders"


def name(parser: str, row: str, language: str = "") -> str:
    """Return the name of a row."""
    return ", ".join(part for part in (parser, row, LANGUAGES.get(language, "")) if part)


def rows() -> list[Row]:
    """Return the rows of both parsers and languages."""
    found = []
    for parser, recipe in PARSERS.items():
        found.append(Row(name(parser, TREEBANK), corpus("both", *LANGUAGES), recipe, LOSS))
        for language in LANGUAGES:
            one = corpus(language, language)
            for rate in RATES:
                taught = replace(recipe, extras=(orders(language, rate=rate),))
                found.append(Row(name(parser, augmented(rate), language), one, taught, LOSS))
            targeted = replace(recipe, targeted=orders(language))
            found.append(Row(name(parser, TARGETED, language), one, targeted, LOSS))
            whole = corpus(f"{language}, trees", language, trees=True)
            found.append(Row(name(parser, TREES, language), whole, recipe, LOSS))
    return found


def rises_with_rate(parser: str, language: str) -> Claim:
    """Claim, as in the paper, that more steps on word orders raise the reorder-score."""
    chain = [name(parser, TREEBANK), *(name(parser, augmented(rate), language) for rate in RATES)]
    test = f"reorder/en-{language}-test"

    def check(results: Results) -> Verdict:
        means = {row: results.mean(row, test, "reorder") for row in chain}
        values = list(means.values())
        return values == sorted(values), means

    return Claim(f"{test}: {parser}: the reorder-score rises with the rate", check)


def claims() -> list[Claim]:
    """Return what is expected."""
    found = []
    for parser in PARSERS:
        for language in LANGUAGES:
            test, base = f"reorder/en-{language}-test", name(parser, TREEBANK)
            found += [significantly_cheaper(name(parser, augmented(rate), language), base, test) for rate in RATES]
            best, targeted = name(parser, augmented(RATES[-1]), language), name(parser, TARGETED, language)
            found += [higher(best, targeted, test, "reorder"), rises_with_rate(parser, language)]
    return found


EXPERIMENT = Experiment(
    name="hall2011_table1",
    title="Parsers trained for the word order of Japanese and Korean",
    rows=tuple(rows()),
    pairs=tuple(
        (name(parser, augmented(rate), language), name(parser, TREEBANK))
        for parser in PARSERS
        for language in LANGUAGES
        for rate in RATES
    ),
    claims=tuple(claims()),
    epochs=EPOCHS,
    shown={"exact": "exact", "reorder": "reorder", "LAS": "LAS", "UAS": "UAS"},
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
