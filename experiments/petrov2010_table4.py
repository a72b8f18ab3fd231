"""Petrov et al. 2010, Table 4: a parser of questions with tags, and with word clusters instead of tags.

    python experiments/petrov2010_table4.py --data DIR

A greedy transition parser, as in the paper, trained on a treebank and on questions with their trees (the paper's is
uptrained on parsed questions instead). Rows: with predicted tags (UPOS, by taggers that have not seen the sentence);
with clusters of 6 and 10 bits and more instead of tags; with neither. Expected: clusters make up for most of what is
lost without tags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import treetune
from tagging import COLUMNS, clusters_of, read, train_tagger
from tasks import Counts, Expectation, Setting, TaskExperiment, TaskRow, main
from treetune import Example, Tagger
from treetune.evaluate import Metric, evaluate
from treetune.learning.jackknife import jackknife_tags

TAGS, CLUSTERS, NEITHER = "predicted tags", "clusters instead of tags", "neither"
TRAIN = ("source-train", "target-train")
TESTS = ("target-test", "source-test")
FOLDS, TAGGER_EPOCHS = 5, 4

# Of every sentence: words, right heads, right heads with right labels.
METRICS = (
    Metric("UAS", "right heads", lambda c: c[1], lambda c: c[0]),
    Metric("LAS", "right heads and labels", lambda c: c[2], lambda c: c[0]),
)


def part(setting: Setting, *names: str) -> list[Example]:
    """Return the examples of some files."""
    return [e for name in names for e in setting.most(read(setting.data / "questions" / f"{name}.conllu"))]


def clusters(setting: Setting) -> str:
    """Return the clusters of the raw words that there are."""
    return clusters_of(setting, *(f"questions/{name}.conllu" for name in TRAIN))


@cache
def tagged_parts(setting: Setting) -> dict[str, list[Example]]:
    """Return all sentences with predicted tags: those of the training files by taggers that have not seen them."""
    made = replace(setting, epochs=min(TAGGER_EPOCHS, setting.epochs))
    examples, file = part(setting, *TRAIN), clusters(setting)
    folds = jackknife_tags(
        lambda: Tagger(columns=COLUMNS, clusters=file), examples, folds=FOLDS, seed=setting.seed, epochs=made.epochs
    )
    tagger = train_tagger(examples, file, made)

    def with_tags(test: list[Example]) -> list[Example]:
        sentences = tagger.annotate([example.sentence.without(*COLUMNS) for example in test])
        return [replace(example, sentence=sentence) for example, sentence in zip(test, sentences, strict=True)]

    return {"train": folds, **{test: with_tags(part(setting, test)) for test in TESTS}}


def row(kind: str) -> Callable[[Setting], Mapping[str, Sequence[Counts]]]:
    """Return how a row is made."""

    def make(setting: Setting) -> dict[str, list[Counts]]:
        if kind == TAGS:
            parts = tagged_parts(setting)
        else:
            parts = {"train": part(setting, *TRAIN), **{test: part(setting, test) for test in TESTS}}
        options: dict[str, Any] = {"beam": 1, "inputs": COLUMNS if kind == TAGS else ()}
        if kind == CLUSTERS:
            options |= {"features": "clusters-only", "clusters": clusters(setting)}
        parser = treetune.TransitionParser(**options)
        for _ in treetune.train(parser, parts["train"], epochs=setting.epochs, seed=setting.seed):
            pass
        return {test: counts(parser, parts[test]) for test in TESTS}

    return make


def counts(parser: treetune.TransitionParser, examples: Sequence[Example]) -> list[Counts]:
    """Return the counts of each sentence."""
    scores = evaluate(examples, parser.predict_batch([example.sentence for example in examples]))
    return [(one.words, one.right_heads, one.right_arcs) for one in scores.per_sentence]


EXPERIMENT = TaskExperiment(
    name="petrov2010_table4",
    title="Word clusters instead of tags",
    about=(
        "A greedy transition parser, trained on a treebank without questions and on 477 questions. UPOS tags are "
        "predicted. The 256 clusters are learned from about half a million words: those of the training files and "
        "24,000 raw questions; the paper's clusters come from far more text."
    ),
    rows=tuple(TaskRow(kind, row(kind)) for kind in (TAGS, CLUSTERS, NEITHER)),
    metrics=METRICS,
    pairs=((TAGS, CLUSTERS), (CLUSTERS, NEITHER), (TAGS, NEITHER)),
    expected=tuple(
        Expectation(CLUSTERS, NEITHER, test, metric, significant=True) for test in TESTS for metric in ("UAS", "LAS")
    ),
    epochs=5,
    files=(
        *(f"questions/{name}.conllu" for name in (*TRAIN, *TESTS)),
        "questions/unlabeled.txt",
        "questions/unlabeled-web.txt",
    ),
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
