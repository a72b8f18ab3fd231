"""Hall et al. 2011 ("Extrinsic Loss Functions"), Table 1, left: a tagger adapted to questions by main verbs alone.

    python experiments/hall2011_extrinsic_table1.py --data DIR

Rows: a tagger of a treebank without questions; the same and, of the questions, only which word is the main verb; the
same and the questions with all their tags. Expected: with main verbs alone the accuracy on questions rises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tagging import TAG_METRICS, clusters_of, main_verbs, read, tag_counts, train_tagger
from tasks import Counts, Expectation, Setting, TaskExperiment, TaskRow, main
from treetune import Example, Objective, losses

TARGETS = ("target", "atis")
TESTS = ("target-test", "atis-test", "source-test")
# Rates of 0.1, 0.5 and 1 were tried on the dev files, one seed each.
RATE, K, START = 0.5, 20, 3
SOURCE = "source"
METRICS = tuple(metric.name for metric in TAG_METRICS)


def verbs(target: str) -> str:
    """Return the name of an adapted row."""
    return f"source, main verbs of {target}"


def tags(target: str) -> str:
    """Return the name of a row with all tags."""
    return f"source, all tags of {target}"


def row(target: str | None, *, with_tags: bool) -> Callable[[Setting], Mapping[str, Sequence[Counts]]]:
    """Return how a row is made."""

    def make(setting: Setting) -> dict[str, list[Counts]]:
        def part(name: str) -> list[Example]:
            return setting.most(read(setting.data / "questions" / f"{name}.conllu"))

        source = part("source-train")
        # Clusters are learned from raw words alone, also those of the questions.
        clusters = clusters_of(setting, *(f"questions/{name}-train.conllu" for name in ("source", *TARGETS)))
        objectives = []
        if target is not None and with_tags:
            source = source + part(f"{target}-train")
        elif target is not None:
            data = main_verbs(part(f"{target}-train"))
            start = min(START, setting.epochs)
            objectives.append(Objective(data, losses.MainVerb(), k=K, rate=RATE, start=start, name="main verbs"))
        tagger = train_tagger(source, clusters, setting, objectives)
        return {test: tag_counts(tagger, part(test)) for test in TESTS}

    return make


EXPERIMENT = TaskExperiment(
    name="hall2011_extrinsic_table1",
    title="A tagger adapted to questions by main verbs alone",
    about=(
        "UPOS accuracy. The treebank of the first row has no question and not a single question mark: the tagger has "
        "never seen one, and takes most of them for symbols. That is a trap of the data and not of questions, so the "
        "accuracy without punctuation is what to look at. Clusters: raw words of the treebank and of questions."
    ),
    rows=(
        TaskRow(SOURCE, row(None, with_tags=False)),
        *(TaskRow(verbs(target), row(target, with_tags=False)) for target in TARGETS),
        *(TaskRow(tags(target), row(target, with_tags=True)) for target in TARGETS),
    ),
    metrics=TAG_METRICS,
    pairs=tuple((name(target), SOURCE) for target in TARGETS for name in (verbs, tags)),
    expected=tuple(
        Expectation(verbs(target), SOURCE, f"{target}-test", metric, significant=True)
        for target in TARGETS
        for metric in METRICS
    ),
    epochs=4,
    files=(
        *(f"questions/{name}-{part}.conllu" for name in ("source", *TARGETS) for part in ("train", "test")),
        "questions/unlabeled.txt",
        "questions/unlabeled-web.txt",
    ),
)

if __name__ == "__main__":
    main(EXPERIMENT, __doc__)
