"""Petrov et al. 2010, Table 4: a parser of questions with tags, and with word clusters instead of tags.

    python experiments/petrov2010_table4.py --data DIR

A greedy transition parser, as in the paper, trained on a treebank and on questions with their trees; and the same
uptrained: also on 24,000 raw questions with the trees that a parser of beam 8 gives them. Rows: with predicted tags
(UPOS, by taggers that have not seen the sentence); with clusters of 6 and 10 bits and more instead of tags; with
neither. Expected: clusters make up for a part of what is lost without tags, and for most of it in uptrained parsers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import treetune
from tagging import COLUMNS, clusters_of, raw_questions, read, train_tagger
from tasks import Counts, Expectation, Setting, TaskExperiment, TaskRow, main
from treetune import Example, Sentence, Tagger, TransitionParser
from treetune.evaluation import Metric, evaluate
from treetune.learning.jackknife import jackknife_tags

TAGS, CLUSTERS, NEITHER = "predicted tags", "clusters instead of tags", "neither"
UPTRAINED = ", uptrained"
TRAIN = ("source-train", "target-train")
TESTS = ("target-test", "source-test")
FOLDS, TAGGER_EPOCHS = 5, 4
# What gives the raw questions their trees: the best parser of the same kind that is quick to train.
TEACHER: dict[str, Any] = {"beam": 8, "inputs": COLUMNS}

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
    """Return all sentences with predicted tags: those of the training files by taggers that have not seen them.

    The raw questions have no tree yet.
    """
    made = replace(setting, epochs=min(TAGGER_EPOCHS, setting.epochs))
    examples, file = part(setting, *TRAIN), clusters(setting)
    folds = jackknife_tags(
        lambda: Tagger(columns=COLUMNS, clusters=file), examples, folds=FOLDS, seed=setting.seed, epochs=made.epochs
    )
    tagger = train_tagger(examples, file, made)

    def tagged(sentences: Sequence[Sentence]) -> list[Sentence]:
        return tagger.annotate([sentence.without(*COLUMNS) for sentence in sentences])

    found = {"train": folds}
    for test in TESTS:
        gold = part(setting, test)
        sentences = tagged([example.sentence for example in gold])
        found[test] = [replace(example, sentence=sentence) for example, sentence in zip(gold, sentences, strict=True)]
    teacher = train_parser(TEACHER, folds, setting)
    questions = tagged([Sentence.of(words) for words in setting.most(raw_questions(setting))])
    found["questions"] = list(map(Example, questions, teacher.predict_batch(questions)))
    return found


def train_parser(options: Mapping[str, Any], examples: Sequence[Example], setting: Setting) -> TransitionParser:
    """Return a trained parser."""
    parser = TransitionParser(**options)
    for _ in treetune.train(parser, examples, epochs=setting.epochs, seed=setting.seed):
        pass
    return parser


def row(kind: str, *, uptrained: bool) -> Callable[[Setting], Mapping[str, Sequence[Counts]]]:
    """Return how a row is made."""

    def make(setting: Setting) -> dict[str, list[Counts]]:
        tagged = tagged_parts(setting) if uptrained or kind == TAGS else {}
        parts = {"train": part(setting, *TRAIN), **{test: part(setting, test) for test in TESTS}}
        if kind == TAGS:
            parts |= tagged
        options: dict[str, Any] = {"beam": 1, "inputs": COLUMNS if kind == TAGS else ()}
        if kind == CLUSTERS:
            options |= {"features": "clusters-only", "clusters": clusters(setting)}
        parser = train_parser(options, [*parts["train"], *(tagged["questions"] if uptrained else ())], setting)
        return {test: counts(parser, parts[test]) for test in TESTS}

    return make


def counts(parser: TransitionParser, examples: Sequence[Example]) -> list[Counts]:
    """Return the counts of each sentence."""
    scores = evaluate(examples, parser.predict_batch([example.sentence for example in examples]))
    return [(one.words, one.right_heads, one.right_arcs) for one in scores.per_sentence]


EXPERIMENT = TaskExperiment(
    name="petrov2010_table4",
    title="Word clusters instead of tags",
    about=(
        "A greedy transition parser, trained on a treebank without questions and on 477 questions; uptrained ones also "
        "on 24,000 raw questions with the trees that a parser of beam 8 gives them. UPOS tags are predicted. The 256 "
        "clusters are learned from about half a million words: those of the training files and the raw questions; the "
        "paper's clusters come from far more text."
    ),
    rows=tuple(
        TaskRow(kind + name, row(kind, uptrained=bool(name)))
        for name in ("", UPTRAINED)
        for kind in (TAGS, CLUSTERS, NEITHER)
    ),
    metrics=METRICS,
    pairs=(
        *(
            (better + name, worse + name)
            for name in ("", UPTRAINED)
            for better, worse in ((TAGS, CLUSTERS), (CLUSTERS, NEITHER), (TAGS, NEITHER))
        ),
        *((kind + UPTRAINED, kind) for kind in (TAGS, CLUSTERS, NEITHER)),
        (CLUSTERS + UPTRAINED, TAGS),
    ),
    expected=(
        *(
            Expectation(CLUSTERS + name, NEITHER + name, test, metric, significant=True)
            for name in ("", UPTRAINED)
            for test in TESTS
            for metric in ("UAS", "LAS")
        ),
        *(Expectation(kind + UPTRAINED, kind, "target-test", "LAS", significant=True) for kind in (TAGS, CLUSTERS)),
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
