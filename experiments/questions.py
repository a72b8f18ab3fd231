"""The corpora of the question experiments: a treebank without questions, and two sets of questions to adapt to.

Only UPOS tags are used, gold unless a row says otherwise: ATIS has no others. There is no dev file: the last epoch
counts, since whoever adapts a parser with main verbs alone has no trees of questions to choose by.
"""

from __future__ import annotations

from corpora import Corpus
from recipes import Extra

TARGETS = ("target", "atis")
TESTS = ("target-test", "atis-test", "source-test")
OPTIONS = {"inputs": ["upos"]}
EPOCHS = 4
# The first two epochs are on the treebank alone.
START = 3
# What a main verb is worth to near misses, in wrong words of the treebank; of 1 and 3, chosen on the target's dev part.
WORTH = 3.0


def corpus(name: str, *train: str, tests: tuple[str, ...] = TESTS, most: int | None = None) -> Corpus:
    """Return a corpus that is trained on some files; the questions are at hand for objectives."""
    others = tuple(f"{target}-train" for target in TARGETS)
    return Corpus(name, train, None, tests, OPTIONS, folder="questions", others=others, most=most)


SOURCE = corpus("source", "source-train")


def main_verbs(target: str, **options: object) -> Extra:
    """Return the objective of the paper: of a question only the main verb is known."""
    return Extra(f"{target}-train", "root", {"name": "root"}, {"start": START, **options})


def near_main_verbs(target: str) -> Extra:
    """Return the same objective, but for a wider margin: near misses are learned from too."""
    loss = {"name": "weighted", "parts": [{"weight": WORTH, "name": "root"}]}
    return Extra(f"{target}-train", "root", loss, {"start": START, "margin_updates": True})
