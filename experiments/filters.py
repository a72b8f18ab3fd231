"""Steps with arc filters (Cherry & Bergsma 2012): what they keep and remove, and parsers with and without them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.data import UPOS
from experiments.logical_forms import Measured
from experiments.tagging import Counts, Setting
from treetune import Example, GraphParser, Tagger, Tree
from treetune.evaluation import Metric
from treetune.features.encoding import Encoder
from treetune.features.templates import load_templates
from treetune.filters.arc_filter import ArcFilter, FilterConfig
from treetune.filters.training import FilterTrainer
from treetune.learning.jackknife import jackknife_tags

# Of every sentence: words (arcs of its tree), those kept, all arcs, those kept; with a parser also right heads,
# right heads and labels.
FILTER_METRICS = (
    Metric("coverage", "arcs of the tree that are kept", lambda c: c[1], lambda c: c[0]),
    Metric("reduction", "arcs that are removed", lambda c: c[2] - c[3], lambda c: c[2]),
    Metric("UAS", "right heads", lambda c: c[4], lambda c: c[0]),
    Metric("LAS", "right heads and labels", lambda c: c[5], lambda c: c[0]),
)
TAG_FOLDS, TAG_EPOCHS, ROUNDS = 5, 2, 5
_MADE: dict[tuple[object, ...], Any] = {}


def _once(what: str, setting: Setting, make: Callable[[], Any], *more: object) -> Any:
    """Return what `make` gives, made once for all rows of the same files, tags and seed."""
    files = tuple(setting.config["data"]["train"])
    key = (what, files, setting.step.get("tags"), setting.seed, setting.is_quick, *more)
    if key not in _MADE:
        _MADE[key] = make()
    return _MADE[key]


def run_filter(setting: Setting) -> dict[str, Sequence[Counts]]:
    """Train the filter of a row, and perhaps a parser without it; count for `FILTER_METRICS`.

    The speed of the parser with the filter is measured in turns with that of the same parser without it.
    """
    parts = _once("parts", setting, lambda: _parts(setting))
    step = setting.step
    options = {name: value for name, value in step.items() if name not in ("name", "tags", "parser")}
    with_filter = options.pop("filter", True)
    parser = None
    if "parser" in step:
        parser = _once("parser", setting, lambda: _parser(setting, parts), step["parser"])
    arc_filter = None
    if with_filter:
        # A filter for a parser reads the columns of the parser.
        encoder = None if parser is None else parser.grammar.encoder
        arc_filter = _once(
            "filter", setting, lambda: _filter(setting, parts, options, encoder), encoder is None,
            repr(sorted(options.items())),
        )  # fmt: skip
    if parser is None:
        assert arc_filter is not None
        return {test: _measured(arc_filter, parts[test]) for test in setting.tests}
    return {test: _parsed(parser, arc_filter, parts[test]) for test in setting.tests}


def _parts(setting: Setting) -> dict[str, list[Example]]:
    """Return train, dev and test trees; with predicted tags, those of train are jackknifed."""
    data = setting.config["data"]
    parts = {"train": setting.trees(*data["train"]), "dev": setting.trees(data["dev"])}
    parts |= {test: setting.trees(test) for test in setting.tests}
    if setting.step.get("tags") != "predicted":
        return parts
    columns, epochs = ("xpos",), min(TAG_EPOCHS, setting.epochs)
    hidden = (*columns, *UPOS, "feats")
    train = [Example(one.sentence.without("upos", "feats"), one.gold) for one in parts["train"]]
    folds = 2 if setting.is_quick else TAG_FOLDS
    tagged = jackknife_tags(lambda: Tagger(columns=columns), train, folds=folds, seed=setting.seed, epochs=epochs)
    tagger = Tagger(columns=columns).fit(train, epochs=epochs, seed=setting.seed)
    others = {}
    for name in ("dev", *setting.tests):
        sentences = tagger.annotate([one.sentence.without(*hidden) for one in parts[name]])
        others[name] = [Example(new, old.gold) for new, old in zip(sentences, parts[name], strict=True)]
    return {"train": list(tagged), **others}


def _filter(
    setting: Setting, parts: dict[str, list[Example]], options: dict[str, Any], given: Encoder | None
) -> ArcFilter:
    config = FilterConfig(**options)

    def prepared() -> tuple[Any, ...]:
        templates, sentences = load_templates(config.features, "filter"), [one.sentence for one in parts["train"]]
        encoder = given or Encoder.learn(sentences, columns=sorted(templates.values | {"t", "u", "x"}))
        trainer = FilterTrainer(config, encoder, templates.adapt(encoder.columns, ()), parts["train"])
        data, dev = trainer.data(parts["train"]), trainer.data(parts["dev"])
        return trainer, data, dev, trainer.roles(data, dev, np.random.default_rng(setting.seed))

    trainer, data, dev, roles = _once("roles", setting, prepared, given is None)
    trainer.config = config
    made = ArcFilter(config)
    made._weights = trainer.train(data, dev, np.random.default_rng(setting.seed), roles)
    return made


def _parser(setting: Setting, parts: dict[str, list[Example]]) -> GraphParser:
    order = {"graph": 1, "graph2": 2, "graph3": 3}[setting.step["parser"]]
    parser = GraphParser(order=order, inputs=("upos", "xpos"))
    return parser.fit(parts["train"], parts["dev"], epochs=setting.epochs, seed=setting.seed, learner="mira", k=5)


def _counts(arc_filter: ArcFilter, examples: Sequence[Example]) -> tuple[list[Counts], dict[str, float]]:
    counts: list[Counts] = []
    for example, kept in zip(examples, arc_filter.keep([one.sentence for one in examples]), strict=True):
        words = len(example.gold)
        kept_gold = int(kept[np.array(example.gold.heads[1:], int), np.arange(1, words + 1)].sum())
        counts.append((words, kept_gold, words * words, int(kept.sum())))
    return counts, {"filter_seconds": arc_filter.evaluate(examples).seconds}


def _measured(arc_filter: ArcFilter, examples: Sequence[Example]) -> Measured:
    counts, measures = _counts(arc_filter, examples)
    return Measured(counts, **measures)


def _parsed(parser: GraphParser, arc_filter: ArcFilter | None, examples: Sequence[Example]) -> Measured:
    """Return the counts of a parser with a filter, and speeds measured in turns with the same parser without it."""
    systems = {"unfiltered": parser, "filtered": parser.with_filter(arc_filter)}
    sentences = [one.sentence for one in examples]
    long = [sentence for sentence in sentences if len(sentence) >= 20]
    trees: Sequence[Tree] = systems["filtered"].predict_batch(sentences)
    measures: dict[str, float] = {}
    for title, some in (("", sentences), (" from 20 words", long)):
        times: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(ROUNDS):
            for name, system in systems.items():
                began = time.process_time()
                system.predict_batch(some)
                times[name].append(time.process_time() - began)
        best = {name: float(np.median(values)) for name, values in times.items()}
        words = sum(map(len, some))
        measures[f"words per second{title}"] = words / best["filtered"]
        measures[f"sentences per second{title}"] = len(some) / best["filtered"]
        measures[f"speed-up{title}"] = best["unfiltered"] / best["filtered"]
    found: list[Counts]
    if arc_filter is None:
        found = [(len(one), len(one), len(one) ** 2, len(one) ** 2) for one in sentences]
    else:
        found, more = _counts(arc_filter, examples)
        measures |= more
    counts = []
    for count, example, tree in zip(found, examples, trees, strict=True):
        heads = [a == b for a, b in zip(example.gold.heads[1:], tree.heads[1:], strict=True)]
        labels = [a == b for a, b in zip(example.gold.labels[1:], tree.labels[1:], strict=True)]
        counts.append((*count, float(sum(heads)), float(sum(a and b for a, b in zip(heads, labels, strict=True)))))
    return Measured(counts, **measures)
