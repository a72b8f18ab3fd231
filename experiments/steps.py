"""Rows that are not one parser trained by settings: named Python steps, each with the metrics of its counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import treetune
from experiments.data import UPOS, paths
from experiments.filters import FILTER_METRICS, run_filter
from experiments.logical_forms import COVERAGE_METRICS, MAPPING_METRICS, run_coverage, run_mapping
from experiments.tagging import (
    ENTITY_METRICS,
    RAW_QUESTIONS,
    TAG_METRICS,
    Counts,
    Setting,
    raw_sentences,
    run_entities,
    run_tagger,
    train_tagger,
)  # fmt: skip
from treetune import Example, Sentence, Tagger, TransitionParser
from treetune.corpus.orders import Ordered, read_orders
from treetune.evaluation import Metric, evaluate
from treetune.evaluation.ordering import OrderCounts, evaluate_orders
from treetune.learning.jackknife import jackknife_tags
from treetune.reorder import Reorderer, RuleSet, load_rules
from treetune.reorder.learn import LearnOptions, learn_rules

__all__ = ["STEPS", "Setting", "Step"]


@dataclass(frozen=True)
class Step:
    """A step: `run` trains whatever a row needs and returns counts of each sentence of each test set, for `metrics`."""

    run: Callable[[Setting], Mapping[str, Sequence[Counts]]]
    metrics: tuple[Metric, ...]


# Of every sentence: words, right heads, right heads with right labels.
ARC_METRICS = (
    Metric("UAS", "right heads", lambda c: c[1], lambda c: c[0]),
    Metric("LAS", "right heads and labels", lambda c: c[2], lambda c: c[0]),
)
TAG_FOLDS, TAG_EPOCHS, TEACHER_BEAM = 5, 4, 8
_PREPARED: dict[tuple[object, ...], Any] = {}


def _once(name: str, setting: Setting, make: Callable[[], Any]) -> Any:
    """Return what `make` gives, made once for all rows of a seed."""
    key = (name, setting.data, setting.seed, setting.is_quick, setting.epochs)
    if key not in _PREPARED:
        _PREPARED[key] = make()
    return _PREPARED[key]


def run_uptraining(setting: Setting) -> dict[str, list[Counts]]:
    """Train a greedy parser on tags, on clusters or on neither, perhaps uptrained, and count for `ARC_METRICS`.

    Uptraining (Petrov et al. 2010): raw questions with the trees of a teacher are added to the treebank.
    """
    inputs, uptrain, train = setting.step["inputs"], setting.step.get("uptrain"), setting.config["data"]["train"]
    tagged = _once("tagged", setting, lambda: tagged_parts(setting)) if uptrain or inputs == "tags" else {}
    parts = {"train": setting.trees(*train), **{test: setting.trees(test) for test in setting.tests}}
    options: dict[str, Any] = {"beam": 1, "inputs": UPOS if inputs == "tags" else ()}
    if inputs == "tags":
        parts |= tagged
    elif inputs == "clusters":
        options |= {"features": "clusters-only", "clusters": setting.clusters()}
    parser = train_parser(options, [*parts["train"], *(tagged["questions"] if uptrain else ())], setting)
    return {test: arc_counts(parser, parts[test]) for test in setting.tests}


def tagged_parts(setting: Setting) -> dict[str, list[Example]]:
    """Return all sentences with predicted tags, by jackknifing for the training files; raw questions with trees."""
    examples, file = setting.trees(*setting.config["data"]["train"]), setting.clusters()
    epochs = min(TAG_EPOCHS, setting.epochs)
    folds = jackknife_tags(
        lambda: Tagger(columns=UPOS, clusters=file), examples, folds=TAG_FOLDS, seed=setting.seed, epochs=epochs
    )
    tagger = train_tagger(examples, setting, epochs=epochs)

    def tagged(sentences: Sequence[Sentence]) -> Sequence[Sentence]:
        return tagger.annotate([sentence.without(*UPOS) for sentence in sentences])

    found = {"train": folds}
    for test in setting.tests:
        gold = setting.trees(test)
        sentences = tagged([example.sentence for example in gold])
        found[test] = [replace(example, sentence=sentence) for example, sentence in zip(gold, sentences, strict=True)]
    teacher = train_parser({"beam": TEACHER_BEAM, "inputs": UPOS}, folds, setting)
    raw = [list(words) for words in raw_sentences(setting.data, RAW_QUESTIONS)]
    questions = tagged([Sentence.of(words) for words in setting.most(raw)])
    found["questions"] = list(map(Example, questions, teacher.predict_batch(questions)))
    return found


def train_parser(
    options: Mapping[str, Any], examples: Sequence[Example], setting: Setting, **learning: Any
) -> TransitionParser:
    """Return a trained transition parser."""
    parser = TransitionParser(**options)
    for _ in treetune.train(parser, examples, epochs=setting.epochs, seed=setting.seed, **learning):
        pass
    return parser


def arc_counts(parser: TransitionParser, examples: Sequence[Example]) -> list[Counts]:
    """Return the counts of each sentence, for `ARC_METRICS`."""
    scores = evaluate(examples, parser.predict_batch([example.sentence for example in examples]))
    return [(one.words, one.right_heads, one.right_arcs) for one in scores.per_sentence]


def _order_metric(name: str, title: str, part: int, whole: int = 0) -> Metric:
    return Metric(name, title, lambda counts: counts[part], lambda counts: counts[whole])


ORDER_METRICS = (
    _order_metric("reorder", "reorder score, sentence mean", 1),
    _order_metric("exact", "sentences in the exact order", 2),
    _order_metric("fuzzy", "kept neighbours, sentence mean", 3),
    _order_metric("tau", "Kendall's tau, sentence mean", 4),
    _order_metric("reorder_corpus", "reorder score over all words", 5, 6),
    _order_metric("crossings", "crossing links in 100 sentences", 7),
)


def run_rules(setting: Setting) -> dict[str, list[Counts]]:
    """Reorder by a rule set (`step.rules`) on gold or predicted trees (`step.trees`), and count for `ORDER_METRICS`.

    Rules are learned from the train part of each language.
    """
    files = paths(setting.config, setting.data)
    found = {}
    for test in setting.tests:
        language, path = test.split("-")[1], files[test]
        train, items = (
            _ordered(setting, path.with_name(path.name.replace("-test", f"-{part}"))) for part in ("train", "test")
        )
        found[test] = order_counts(rule_set(setting.step["rules"], language, train), items)
    return found


def _ordered(setting: Setting, path: Any) -> list[Ordered]:
    """Return sentences with their word orders, and gold or predicted trees."""
    items = setting.most(list(read_orders(path)))
    if setting.step["trees"] == "gold":
        return items
    parser = _once("parser", setting, lambda: _treebank_parser(setting))
    trees = parser.predict_batch([item.sentence for item in items])
    return [replace(item, tree=tree) for item, tree in zip(items, trees, strict=True)]


def _treebank_parser(setting: Setting) -> TransitionParser:
    names, limit, options = setting.step["treebanks"], setting.step["limit"], dict(setting.step["parser"])
    treebank = [one for name in names for one in itertools.islice(setting.trees(name), limit)]
    learner = options.pop("learner")
    return train_parser({**options, "inputs": tuple(options["inputs"])}, treebank, setting, learner=learner)


def rule_set(kind: str, language: str, train: Sequence[Ordered]) -> RuleSet:
    """Return no rules, the hand-written ones of a language, learned ones, or learned ones on top of hand-written."""
    if kind == "none":
        return RuleSet("none", ())
    hand = load_rules(language)
    if kind == "hand-written":
        return hand
    return learn_rules(train) if kind == "learned" else learn_rules(train, options=LearnOptions(prior=hand))


def order_counts(rules: RuleSet, items: Sequence[Ordered]) -> list[Counts]:
    """Return the counts of each sentence, for `ORDER_METRICS`."""
    reorderer = Reorderer(rules)
    orders = (reorderer.order(item.sentence, item.tree) for item in items)
    return list(map(_order_counts, evaluate_orders((item.order for item in items), orders).per_sentence))


def _order_counts(one: OrderCounts) -> Counts:
    if not one.is_scored:
        return (0.0,) * 7 + (float(one.crossings),)
    shares = (one.reorder, float(one.chunks == 1), one.fuzzy, one.tau)
    return (1.0, *shares, float(one.matched - one.chunks), float(one.matched - 1), float(one.crossings))


STEPS = {
    "tagger": Step(run_tagger, TAG_METRICS),
    "entities": Step(run_entities, ENTITY_METRICS),
    "uptraining": Step(run_uptraining, ARC_METRICS),
    "rules": Step(run_rules, ORDER_METRICS),
    "mapping": Step(run_mapping, MAPPING_METRICS),
    "coverage": Step(run_coverage, COVERAGE_METRICS),
    "filter": Step(run_filter, FILTER_METRICS),
    "filter alone": Step(run_filter, FILTER_METRICS[:2]),
}
