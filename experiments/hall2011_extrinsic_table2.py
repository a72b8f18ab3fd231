"""Hall et al. 2011 ("Extrinsic Loss Functions"), Table 2, left: a tagger adapted to the entities it is used for.

    python experiments/hall2011_extrinsic_table2.py --data DIR

A NER model looks at the UPOS tags of a tagger. Rows: no tags at all; the plain tagger; the tagger adapted by the
entities of the NER model's own training data, by Hamming loss (words of entities should be proper nouns, others not),
and by Hamming loss and the F1 of a NER model that is given the tags; and, for UNER, gold tags, which show how much
tags could tell. Each time the NER model is trained and tested on the tags of its tagger. Those of its training data
are given by taggers that were adapted by the other half of it: on sentences it was adapted by, a tagger agrees with the
entities better than on new ones, and a NER model that learns from such tags may trust them too much. A row without that
care shows whether it does. Expected: F1 rises with the first loss and more with the second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from tagging import COLUMNS, ENTITY_METRICS, clusters_of, read, span_counts, train, train_tagger
from tasks import Counts, Expectation, Setting, TaskExperiment, TaskRow, main
from treetune import Example, Objective, Tagger, losses
from treetune.build import make_model
from treetune.corpus.iob import read_iob
from treetune.corpus.tags import Tagged, Tags
from treetune.losses.base import Loss

CORPORA = ("uner", "wnut17")
PLAIN, HAMMING, F1 = "plain tagger", "tagger adapted by Hamming loss", "tagger adapted by Hamming and F1 loss"
NONE, GOLD = "no tags", "gold tags"
# Without halves: the tagger has learned from the very entities that the NER model learns from.
SAME_SENTENCES = f"{HAMMING}, tagging what it was adapted by"
EVERYWHERE = (NONE, PLAIN, HAMMING, F1, SAME_SENTENCES)
KINDS = {"uner": (*EVERYWHERE, GOLD), "wnut17": EVERYWHERE}
# The rate was chosen on WNUT17's dev file, of 0.25, 0.5 and 1.
RATE, K, START = 0.5, 10, 3
# The UNER sentences are those of EWT dev and test: the tagger sees neither of them.
TAGGED = "ud/en_ewt-train.conllu"
TEXT = (TAGGED, "ud/en_gum-train.conllu")
# Those very sentences with gold tags, by the parts of UNER.
SAME = {"train": "ud/en_ewt-dev.conllu", "test": "ud/en_ewt-test.conllu"}


def name(corpus: str, tagger: str) -> str:
    """Return the name of a row."""
    return f"{corpus}, {tagger}"


def recogniser(examples: Sequence[Tagged], clusters: str, setting: Setting) -> Tagger:
    """Return a NER model that is trained on sentences with tags."""
    made = make_model("ner", clusters=clusters)
    assert isinstance(made, Tagger)
    return train(made, examples, setting)


def with_tags(tagger: Tagger, examples: Sequence[Tagged]) -> list[Tagged]:
    """Return the sentences with the tags of a tagger."""
    sentences = tagger.annotate([one.sentence for one in examples])
    return [replace(one, sentence=sentence) for one, sentence in zip(examples, sentences, strict=True)]


def with_gold_tags(examples: Sequence[Tagged], treebank: Sequence[Example]) -> list[Tagged]:
    """Return the sentences with the tags of a treebank; the few that were changed since keep those they have."""
    known = {example.sentence.forms[1:]: example.sentence.upos for example in treebank}
    return [
        replace(one, sentence=replace(one.sentence, upos=known.get(one.sentence.forms[1:], one.sentence.upos)))
        for one in examples
    ]


def halves(examples: Sequence[Tagged]) -> tuple[list[Tagged], list[Tagged]]:
    """Return every second sentence, and the others."""
    return list(examples[0::2]), list(examples[1::2])


class Adaptation:
    """Taggers that learn from the entities of some sentences, beside their treebank, by one of the losses."""

    def __init__(self, kind: str, examples: Sequence[Tagged], setting: Setting) -> None:
        self._kind, self._examples, self._setting = kind, examples, setting
        self._clusters = clusters_of(setting, *TEXT)
        # The F1 of a half is that of a NER model which has learned from the other: it makes hardly a mistake on what
        # it has learned from.
        self._models: list[Tagger | None] = [None, None]
        if kind == F1:
            plain = plain_tagger(setting)
            trained = [recogniser(with_tags(plain, half), self._clusters, setting) for half in halves(examples)]
            self._models = [trained[1], trained[0]]

    def on_everything(self) -> Tagger:
        """Return the tagger that learns from all sentences."""
        return self._tagger((0, 1))

    def tag_unseen(self) -> list[Tagged]:
        """Return all sentences, each with the tags of a tagger that did not learn from its entities."""
        first, second = halves(self._examples)
        tagged = with_tags(self._tagger((1,)), first), with_tags(self._tagger((0,)), second)
        places: list[Tagged] = [*self._examples]
        places[0::2], places[1::2] = tagged
        return places

    def _tagger(self, numbers: Sequence[int]) -> Tagger:
        treebank = self._setting.most(read(self._setting.data / TAGGED))
        objectives = [self._objective(number, RATE / len(numbers)) for number in numbers]
        return train_tagger(treebank, self._clusters, self._setting, objectives)

    def _objective(self, number: int, rate: float) -> Objective:
        loss: Loss[Tags, Tags] = losses.EntityHamming()
        if (model := self._models[number]) is not None:
            loss = losses.Weighted([(1.0, loss), (1.0, losses.EntityF1(model=model, columns=COLUMNS))])
        start = min(START, self._setting.epochs)
        half = halves(self._examples)[number]
        return Objective(half, loss, name=f"entities, half {number + 1}", k=K, rate=rate, start=start)


@cache
def plain_tagger(setting: Setting) -> Tagger:
    """Return the tagger that knows nothing of entities; the same for all rows of a seed."""
    return train_tagger(setting.most(read(setting.data / TAGGED)), clusters_of(setting, *TEXT), setting)


def row(corpus: str, kind: str) -> Callable[[Setting], Mapping[str, Sequence[Counts]]]:
    """Return how a row is made."""

    def make(setting: Setting) -> dict[str, list[Counts]]:
        def part(which: str) -> list[Tagged]:
            return setting.most(list(read_iob(setting.data / "ner" / f"{corpus}-{which}.iob2")))

        parts = {which: part(which) for which in ("train", *TESTS[corpus])}
        if kind in (HAMMING, F1, SAME_SENTENCES):
            adaptation = Adaptation(kind, parts["train"], setting)
            tagger = adaptation.on_everything()
            tagged = {which: with_tags(tagger, examples) for which, examples in parts.items()}
            parts = tagged if kind == SAME_SENTENCES else {**tagged, "train": adaptation.tag_unseen()}
        elif kind != NONE:
            parts = {which: with_tags(plain_tagger(setting), examples) for which, examples in parts.items()}
        if kind == GOLD:
            parts = {which: with_gold_tags(one, read(setting.data / SAME[which])) for which, one in parts.items()}
        model = recogniser(parts["train"], clusters_of(setting, *TEXT), setting)
        return {f"{corpus}-{which}": span_counts(model, parts[which]) for which in TESTS[corpus]}

    return make


TESTS = {"uner": ("test",), "wnut17": ("dev", "test")}

EXPERIMENT = TaskExperiment(
    name="hall2011_extrinsic_table2",
    title="A tagger adapted to the entities it is used for",
    about=(
        "Entity F1 of a NER model that looks at UPOS tags. The tagger is trained on EWT train; the rate was chosen on "
        "the dev file of WNUT17. Clusters: raw words of EWT and GUM train and of questions."
    ),
    rows=tuple(TaskRow(name(corpus, kind), row(corpus, kind)) for corpus in CORPORA for kind in KINDS[corpus]),
    metrics=ENTITY_METRICS,
    pairs=(
        *(
            (name(corpus, better), name(corpus, worse))
            for corpus in CORPORA
            for better, worse in (
                (HAMMING, PLAIN),
                (F1, PLAIN),
                (F1, HAMMING),
                (PLAIN, NONE),
                (SAME_SENTENCES, PLAIN),
                (SAME_SENTENCES, HAMMING),
            )
        ),
        (name("uner", GOLD), name("uner", PLAIN)),
    ),
    expected=tuple(
        Expectation(name(corpus, better), name(corpus, worse), f"{corpus}-test", "F1")
        for corpus in CORPORA
        for better, worse in ((HAMMING, PLAIN), (F1, PLAIN), (F1, HAMMING))
    ),
    epochs=5,
    files=(
        *TEXT,
        *SAME.values(),
        *(f"ner/{corpus}-{which}.iob2" for corpus in CORPORA for which in ("train", *TESTS[corpus])),
        "questions/unlabeled.txt",
        "questions/unlabeled-web.txt",
    ),
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
