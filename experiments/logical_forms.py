"""Steps with natural logical forms (Alshawi et al. 2011): mappers, pruned label sets, coverage of conversions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import treetune
from benchmarks.measure import cpu_seconds
from experiments.tagging import QUICK_SENTENCES, Counts, Setting
from experiments.unlabelled import LONGEST
from treetune import Example, TransitionParser, Tree
from treetune.corpus.projectivity import is_projective
from treetune.corpus.selection import Selection, fingerprints
from treetune.evaluation import Metric
from treetune.models.mapper import Mapper
from treetune.semantics import decode
from treetune.semantics.meanings import Meaning, read_meanings, realigned, with_frequent_labels
from treetune.semantics.tokens import word_positions

# Of every sentence: words, right ones; the same of sentences without %; sentences, wholly right ones; those without %.
MAPPING_METRICS = (
    Metric("accuracy", "words with the right head and label", lambda c: c[1], lambda c: c[0]),
    Metric("accuracy without %", "the same in sentences without %", lambda c: c[3], lambda c: c[2]),
    Metric("exact", "sentences with the right expression", lambda c: c[5], lambda c: c[4]),
)
# Of every sentence: 1, without %; words, those joined by %; decoded to the same; projective; words that were aligned
# automatically, rightly aligned ones.
COVERAGE_METRICS = (
    Metric("covered", "sentences without %", lambda c: c[1], lambda c: c[0]),
    Metric("uncovered words", "words joined by %", lambda c: c[3], lambda c: c[2]),
    Metric("identity", "expressions that encoding and decoding do not change", lambda c: c[4], lambda c: c[0]),
    Metric("projective", "projective trees", lambda c: c[5], lambda c: c[0]),
    Metric("aligned", "words aligned rightly without their positions", lambda c: c[7], lambda c: c[6]),
)
CLUSTERS = "clusters/en.txt"
# The speed is that of the fastest of so many passes: the machine may be shared.
TIMES = 3
NO_TAGS = ("upos", "xpos", "feats", "lemmas")


class Measured(list[Counts]):
    """Counts of each sentence, and what else was measured, by name."""

    def __init__(self, counts: Iterable[Counts], **measures: float) -> None:
        super().__init__(counts)
        self.measures = measures


@cache
def read_pairs(path: Path) -> tuple[Meaning, ...]:
    """Return the sentences of a treebank with their expressions, by rules for UD or for constituency trees."""
    return tuple(read_meanings(path))


def run_mapping(setting: Setting) -> dict[str, list[Counts]]:
    """Map sentences by a mapper that is trained, or by the English model and rules; count for `MAPPING_METRICS`.

    `step.method` is "map" or "convert". `step.uncovered` says whether a mapper is trained on sentences with %,
    `step.alignment` whether the positions of words are given ("true") or found ("automatic"), `step.labels` to how many
    labels, the most frequent ones, its training sentences are restricted. With `step.uptrain` it also learns from
    `step.limit` sentences of each of these files, which the English model and rules map, beside `step.copies` of the
    treebank.
    """
    paths = setting.paths()
    pairs = {name: setting.most(read_pairs(path)) for name, path in paths.items() if name in setting.tests}
    training: dict[str, float] = {}
    if setting.step["method"] == "convert":
        mapper = Mapper(treetune.load("en").with_options(**setting.config["model"]))
    else:
        train = [pair for name in setting.config["data"]["train"] for pair in setting.most(read_pairs(paths[name]))]
        examples = mapping_examples(setting.step, train)
        if "uptrain" in setting.step:
            files = tuple(setting.data / name for name in setting.step["uptrain"])
            limit = QUICK_SENTENCES if setting.is_quick else setting.step["limit"]
            parsed = _parsed(files, limit, tuple(paths[name] for name in setting.tests))
            examples = [*(examples * setting.step["copies"]), *parsed]
        mapper = Mapper(_trained(setting, examples))
        training = {"training_sentences": float(len(examples))}
    found: dict[str, list[Counts]] = {}
    for test in setting.tests:
        sentences = [pair.sentence.without(*NO_TAGS) for pair in pairs[test]]
        trees = (one.tree() for one in mapper.meanings(sentences))
        counts = list(map(mapping_counts, pairs[test], trees))
        # Tagging, search, and conversion or decoding.
        seconds = min(cpu_seconds(partial(mapper.map, sentences)) for _ in range(TIMES))
        found[test] = Measured(counts, words_per_cpu_second=sum(map(len, sentences)) / seconds, **training)
    return found


def mapping_examples(step: Any, pairs: Sequence[Meaning]) -> list[Example]:
    """Return the examples that a mapper is trained on: projective trees alone, as in the paper."""
    chosen = [pair for pair in pairs if step["uncovered"] or pair.expression.is_covered]
    aligned = [pair if step["alignment"] == "true" else _realigned(pair) for pair in chosen]
    examples = [Example(one.sentence, one.tree()) for one in aligned]
    examples = [example for example in examples if is_projective(example.gold.heads)]
    return with_frequent_labels(examples, step["labels"]) if "labels" in step else examples


# Alignment takes longer than everything else but training.
_realigned = cache(realigned)


@cache
def _parsed(files: Sequence[Path], limit: int, tests: Sequence[Path]) -> list[Example]:
    """Return encoded trees of the first sentences of some files, by the English model and rules; none of a test set."""
    mapper = Mapper(treetune.load("en"))
    selection = Selection(max_length=LONGEST, excluded=fingerprints(tests))
    found: list[Example] = []
    for path in files:
        examples = (one.sentence.without(*NO_TAGS) for one in treetune.read_trees(path, strict=False))
        kept = list(islice(filter(selection.keeps, examples), limit))
        found += [one.example() for one in mapper.meanings(kept)]
    return [example for example in found if is_projective(example.gold.heads)]


def _trained(setting: Setting, examples: Sequence[Example]) -> TransitionParser:
    options = {**setting.config["model"], "inputs": tuple(setting.config["model"]["inputs"])}
    if "clusters" in options:
        options["clusters"] = str(setting.data / CLUSTERS)
    parser = TransitionParser(**options)
    learner = setting.config.get("learner", {})
    for _ in treetune.train(parser, examples, epochs=setting.epochs, seed=setting.seed, **learner):
        pass
    return parser


def mapping_counts(pair: Meaning, tree: Tree) -> Counts:
    """Return the counts of one sentence; punctuation is no part of an expression and not counted."""
    gold = pair.tree()
    words = word_positions(pair.sentence.forms)
    right = sum(tree.heads[word] == gold.heads[word] and tree.labels[word] == gold.labels[word] for word in words)
    covered = pair.expression.is_covered
    counts = (len(words), right, covered * len(words), covered * right, 1, right == len(words))
    return tuple(map(float, counts))


def run_coverage(setting: Setting) -> dict[str, list[Counts]]:
    """Convert treebanks to expressions, encode and decode these, and count for `COVERAGE_METRICS`.

    The words of the files of `step.align` are also aligned automatically.
    """
    found: dict[str, list[Counts]] = {}
    for test, path in setting.paths().items():
        if test in setting.tests:
            aligns = test in setting.step["align"]
            counts = [coverage_counts(pair, aligns=aligns) for pair in setting.most(read_pairs(path))]
            found[test] = Measured(counts, sentences=float(len(counts)))
    return found


def coverage_counts(pair: Meaning, *, aligns: bool) -> Counts:
    """Return the counts of one sentence, for `COVERAGE_METRICS`."""
    forms, expression = pair.sentence.forms, pair.expression
    tree, words = pair.tree(), len(word_positions(forms))
    decoded, canonical = decode(tree, forms), expression.canonical()
    same = decoded == canonical and decoded.positions() == canonical.positions()
    uncovered = sum(connective == "%" for node in expression.nodes() for connective, _ in node.modifiers)
    counts = (1, expression.is_covered, words, uncovered, same, is_projective(tree.heads))
    return tuple(map(float, (*counts, *(_aligned(pair) if aligns else (0, 0)))))


def _aligned(pair: Meaning) -> tuple[int, int]:
    positions = zip(realigned(pair).expression.positions(), pair.expression.positions(), strict=True)
    right = [one == other for one, other in positions]
    return len(right), sum(right)
