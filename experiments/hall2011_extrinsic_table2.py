"""Hall et al. 2011 ("Extrinsic Loss Functions"), Table 2, left: a tagger adapted to the entities it is used for.

    python experiments/hall2011_extrinsic_table2.py --data DIR

A NER model looks at the UPOS tags of a tagger. Rows: the plain tagger; the tagger adapted by the entities of the NER
model's own training data, by Hamming loss (words of entities should be proper nouns, others not), and by Hamming loss
and the F1 of a NER model that is given the tags. Each time the NER model is trained and tested on the tags of its
tagger. Expected: F1 rises with the first loss and more with the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from tagging import COLUMNS, ENTITY_METRICS, clusters_of, read, span_counts, train, train_tagger
from tasks import Counts, Expectation, Setting, TaskExperiment, TaskRow, main
from treetune import Objective, Tagger, losses
from treetune.build import make_model
from treetune.corpus.iob import read_iob
from treetune.corpus.tags import Tagged

CORPORA = ("uner", "wnut17")
PLAIN, HAMMING, F1 = "plain tagger", "tagger adapted by Hamming loss", "tagger adapted by Hamming and F1 loss"
# Set beforehand; none of them was tuned.
RATE, K, START = 0.25, 10, 3
# The UNER sentences are those of EWT dev and test: the tagger sees neither of them.
TAGGED = "ud/en_ewt-train.conllu"
TEXT = (TAGGED, "ud/en_gum-train.conllu")


def name(corpus: str, tagger: str) -> str:
    """Return the name of a row."""
    return f"{corpus}, {tagger}"


def recogniser(tagger: Tagger, examples: Sequence[Tagged], clusters: str, setting: Setting) -> Tagger:
    """Return a NER model that is trained on sentences with the tags of a tagger."""
    made = make_model("ner", clusters=clusters)
    assert isinstance(made, Tagger)
    return train(made, with_tags(tagger, examples), setting)


def with_tags(tagger: Tagger, examples: Sequence[Tagged]) -> list[Tagged]:
    """Return the sentences with the tags of a tagger."""
    sentences = tagger.annotate([one.sentence for one in examples])
    return [replace(one, sentence=sentence) for one, sentence in zip(examples, sentences, strict=True)]


def objectives(
    kind: str, plain: Tagger, examples: Sequence[Tagged], clusters: str, setting: Setting
) -> list[Objective]:
    """Return what else a tagger is to learn from entities.

    A NER model makes hardly a mistake on what it has learned from. So there are two, one for each half of the
    sentences, which it has not seen.
    """
    options: dict[str, Any] = {"k": K, "rate": RATE, "start": min(START, setting.epochs)}
    if kind == HAMMING:
        return [Objective(list(examples), losses.EntityHamming(), name="entities", **options)]
    halves = [list(examples[0::2]), list(examples[1::2])]
    found = []
    for number, (half, other) in enumerate(zip(halves, reversed(halves), strict=True), start=1):
        model = recogniser(plain, other, clusters, setting)
        loss = losses.Weighted([(1.0, losses.EntityHamming()), (1.0, losses.EntityF1(model=model, columns=COLUMNS))])
        half_rate = {**options, "rate": RATE / 2}
        found.append(Objective(half, loss, name=f"entities, half {number}", **half_rate))
    return found


@cache
def plain_tagger(setting: Setting) -> Tagger:
    """Return the tagger that knows nothing of entities; the same for all rows of a seed."""
    return train_tagger(setting.most(read(setting.data / TAGGED)), clusters_of(setting, *TEXT), setting)


def row(corpus: str, kind: str) -> Callable[[Setting], Mapping[str, Sequence[Counts]]]:
    """Return how a row is made."""

    def make(setting: Setting) -> dict[str, list[Counts]]:
        def part(which: str) -> list[Tagged]:
            return setting.most(list(read_iob(setting.data / "ner" / f"{corpus}-{which}.iob2")))

        treebank = setting.most(read(setting.data / TAGGED))
        clusters = clusters_of(setting, *TEXT)
        tagger = plain_tagger(setting)
        if kind != PLAIN:
            more = objectives(kind, tagger, part("train"), clusters, setting)
            tagger = train_tagger(treebank, clusters, setting, more)
        model = recogniser(tagger, part("train"), clusters, setting)
        return {f"{corpus}-{which}": span_counts(model, with_tags(tagger, part(which))) for which in TESTS[corpus]}

    return make


TESTS = {"uner": ("test",), "wnut17": ("dev", "test")}

EXPERIMENT = TaskExperiment(
    name="hall2011_extrinsic_table2",
    title="A tagger adapted to the entities it is used for",
    about=(
        "Entity F1 of a NER model that looks at UPOS tags. The tagger is trained on EWT train; no option was tuned. "
        "Clusters: raw words of EWT and GUM train and of questions."
    ),
    rows=tuple(TaskRow(name(corpus, kind), row(corpus, kind)) for corpus in CORPORA for kind in (PLAIN, HAMMING, F1)),
    metrics=ENTITY_METRICS,
    pairs=tuple(
        pair
        for corpus in CORPORA
        for pair in (
            (name(corpus, HAMMING), name(corpus, PLAIN)),
            (name(corpus, F1), name(corpus, PLAIN)),
            (name(corpus, F1), name(corpus, HAMMING)),
        )
    ),
    expected=tuple(
        Expectation(name(corpus, better), name(corpus, worse), f"{corpus}-test", "F1")
        for corpus in CORPORA
        for better, worse in ((HAMMING, PLAIN), (F1, PLAIN), (F1, HAMMING))
    ),
    epochs=5,
    files=(
        *TEXT,
        *(f"ner/{corpus}-{which}.iob2" for corpus in CORPORA for which in ("train", *TESTS[corpus])),
        "questions/unlabeled.txt",
        "questions/unlabeled-web.txt",
    ),
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
