"""Steps with natural logical forms (Alshawi et al. 2011): mappers, pruned label sets, coverage of conversions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import treetune
from benchmarks.measure import cpu_seconds
from experiments.data import treebank_tags, with_upos
from experiments.tagging import Counts, Setting
from treetune import Example, Sentence, TransitionParser, Tree
from treetune.corpus.projectivity import is_projective
from treetune.evaluation import Metric
from treetune.semantics import Expression, decode, encode, from_ud
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
# Sentences of each silver treebank, and their fewest and most words.
SILVER, SILVER_LENGTHS = 8000, (3, 40)
# The speed is that of the fastest of so many passes: the machine may be shared.
TIMES = 3
NO_TAGS = ("upos", "xpos", "feats", "lemmas")


class Measured(list[Counts]):
    """Counts of each sentence, and what else was measured, by name."""

    def __init__(self, counts: Iterable[Counts], **measures: float) -> None:
        super().__init__(counts)
        self.measures = measures


@dataclass(frozen=True)
class Pair(Meaning):
    """A sentence with its expression, and the UD tree that the expression was converted from, if it was one."""

    source: Example | None = None


@cache
def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Return the sentences of a treebank with their expressions, by rules for UD or for constituency trees."""
    if path.suffix == ".mrg":
        return tuple(Pair(one.sentence, one.expression) for one in read_meanings(path))
    examples = treetune.read_trees(path)
    return tuple(Pair(one.sentence, from_ud(one.sentence, one.gold), one) for one in examples)


@cache
def silver_pairs(path: Path) -> tuple[Pair, ...]:
    """Return the first sentences of a treebank that was made by a parser; long and very short ones are left out."""
    examples = treetune.read_trees(path, strict=False)
    fitting = (one for one in examples if SILVER_LENGTHS[0] <= len(one.sentence) <= SILVER_LENGTHS[1])
    return tuple(Pair(one.sentence, from_ud(one.sentence, one.gold)) for one in islice(fitting, SILVER))


def run_mapping(setting: Setting) -> dict[str, list[Counts]]:
    """Train a mapper, or a UD parser whose trees rules convert, and count for `MAPPING_METRICS`.

    `step.method` is "map" or "convert". A mapper sees predicted tags if its `inputs` are tags; a converter always does,
    since rules look at them. `step.uncovered` says whether a mapper is trained on sentences with %, `step.alignment`
    whether the positions of words are given ("true") or found ("automatic"), `step.labels` to how many labels, the most
    frequent ones, its training sentences are restricted, and `step.silver` which parsed files are added to them.
    """
    paths = setting.paths()
    names = [*setting.config["data"]["train"], *setting.tests]
    pairs = {name: setting.most(read_pairs(paths[name])) for name in names}
    train = [pair for name in setting.config["data"]["train"] for pair in pairs[name]]
    converts = setting.step["method"] == "convert"
    tagger = None
    if converts or setting.config["model"]["inputs"]:
        sources = tuple(_source(pair) for pair in train)
        columns, tagger = treebank_tags(sources)
        train = [
            replace(pair, sentence=with_upos(one, tags).sentence, source=with_upos(one, tags))
            for pair, one, tags in zip(train, sources, columns, strict=True)
        ]
    train += [pair for name in setting.step.get("silver", ()) for pair in silver_pairs(paths[name])]
    examples = [_source(pair) for pair in train] if converts else mapping_examples(setting.step, train)
    parser = _trained(setting, examples)
    convert = from_ud if converts else _decoded

    def mapped(sentences: Sequence[Sentence]) -> tuple[list[Tree], list[Expression]]:
        given = sentences if tagger is None else tagger.annotate(sentences)
        trees = parser.predict_batch(given)
        return trees, [convert(sentence, tree) for sentence, tree in zip(given, trees, strict=True)]

    found: dict[str, list[Counts]] = {}
    for test in setting.tests:
        sentences = [pair.sentence.without(*NO_TAGS) for pair in pairs[test]]
        trees, expressions = mapped(sentences)
        if converts:
            trees = [encode(one, sentence.forms) for one, sentence in zip(expressions, sentences, strict=True)]
        seconds = min(cpu_seconds(partial(mapped, sentences)) for _ in range(TIMES))
        counts = (mapping_counts(pair, tree) for pair, tree in zip(pairs[test], trees, strict=True))
        speed = sum(map(len, sentences)) / seconds
        found[test] = Measured(counts, words_per_cpu_second=speed, training_sentences=float(len(examples)))
    return found


def _decoded(sentence: Sentence, tree: Tree) -> Expression:
    return decode(tree, sentence.forms)


def mapping_examples(step: Any, pairs: Sequence[Pair]) -> list[Example]:
    """Return the examples that a mapper is trained on: projective trees alone, as in the paper."""
    chosen = [pair for pair in pairs if step["uncovered"] or pair.expression.is_covered]
    aligned = [pair if step["alignment"] == "true" else _realigned(pair) for pair in chosen]
    examples = [Example(one.sentence, one.tree()) for one in aligned]
    examples = [example for example in examples if is_projective(example.gold.heads)]
    return with_frequent_labels(examples, step["labels"]) if "labels" in step else examples


# Alignment takes longer than everything else but training.
_realigned = cache(realigned)


def _trained(setting: Setting, examples: Sequence[Example]) -> TransitionParser:
    options = {**setting.config["model"], "inputs": tuple(setting.config["model"]["inputs"])}
    if "clusters" in options:
        options["clusters"] = str(setting.data / CLUSTERS)
    parser = TransitionParser(**options)
    for _ in treetune.train(parser, examples, epochs=setting.epochs, seed=setting.seed):
        pass
    return parser


def _source(pair: Pair) -> Example:
    assert pair.source is not None
    return pair.source


def mapping_counts(pair: Pair, tree: Tree) -> Counts:
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


def coverage_counts(pair: Pair, *, aligns: bool) -> Counts:
    """Return the counts of one sentence, for `COVERAGE_METRICS`."""
    forms, expression = pair.sentence.forms, pair.expression
    tree, words = pair.tree(), len(word_positions(forms))
    decoded, canonical = decode(tree, forms), expression.canonical()
    same = decoded == canonical and decoded.positions() == canonical.positions()
    uncovered = sum(connective == "%" for node in expression.nodes() for connective, _ in node.modifiers)
    counts = (1, expression.is_covered, words, uncovered, same, is_projective(tree.heads))
    return tuple(map(float, (*counts, *(_aligned(pair) if aligns else (0, 0)))))


def _aligned(pair: Pair) -> tuple[int, int]:
    positions = zip(realigned(pair).expression.positions(), pair.expression.positions(), strict=True)
    right = [one == other for one, other in positions]
    return len(right), sum(right)
