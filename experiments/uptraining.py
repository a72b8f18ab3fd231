"""Uptraining: sentences with the trees of a base parser are added to the treebank of a row (Petrov et al. 2010)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import treetune
from experiments.data import Data, keep, objective_files
from experiments.training import Config, Training, base_of, build_parser, part
from treetune import Example, Pipeline
from treetune.learning.conversion import Conversion, convert_trees
from treetune.learning.pipeline_training import CONVERSION_EPOCHS
from treetune.learning.progress import Progress
from treetune.learning.reranking import tune_weight
from treetune.learning.uptraining import BaseParser
from treetune.models.base import Parser

Say = Callable[[str], None]
# Parsers of large data take hundreds of megabytes.
KEPT = 8
_BASES: dict[tuple[object, ...], Parser] = {}


def uptrained(config: Config, data: Data, *, seed: int, say: Say) -> Data:
    """Return the data of a row with the parsed sentences of `uptrain` in the treebank; gold ones by their weights."""
    if "uptrain" not in config:
        return data
    settings = config["uptrain"]
    treebank = [one for one, copies in zip(data.train, data.copies, strict=True) for _ in range(copies)]
    ready = [example for example in data.extra if -1 not in example.gold.heads[1:]]
    found = converted(config, data.train, ready, seed=seed) if settings.get("convert") else ready
    if len(ready) < len(data.extra) or "constrained" in settings:
        # What comes parsed is known to the base parser too.
        found = [*found, *parsed(config, replace(data, train=[*data.train, *found]), seed=seed, say=say)]
    say(f"  uptrained on {len(found)} sentences beside {len(treebank)} of the treebank")
    return replace(data, train=[*treebank, *found])


def parsed(config: Config, data: Data, *, seed: int, say: Say) -> list[Example]:
    """Return the text of a row with the trees of its base parser, and sentences of which some arcs are known.

    The latter are parsed under the constraint of these arcs (forced decoding), and are there as often as their weight
    says.
    """
    settings = config["uptrain"]

    def pipeline(name: str) -> Pipeline:
        return Pipeline.of(_base(base_of(config, name), data, seed=seed, say=say))

    base = BaseParser(pipeline("base"), second=pipeline("agree") if "agree" in settings else None)
    found = list(base.trees([example.sentence for example in data.extra if -1 in example.gold.heads[1:]]))
    if "constrained" not in settings:
        return found
    name = settings["constrained"]
    known = keep(data.others[name], settings.get("known", "root"))
    forced = [one for one in base.parse(known, constrained=True) if isinstance(one, Example)]
    return [*found, *(one for one in forced for _ in range(settings.get("weights", {}).get(name, 1)))]


def remember(config: Config, data: Data, parser: Parser, *, seed: int) -> None:
    """Keep a parser in place of one long not used: it may be the base parser of another row."""
    for key in list(_BASES)[: 1 - KEPT]:
        del _BASES[key]
    _BASES[_key(config, data, seed)] = parser


def _base(config: Config, data: Data, *, seed: int, say: Say) -> Parser:
    """Return a trained base parser, made once for all rows of a seed."""
    key = _key(config, data, seed)
    if key not in _BASES:
        if "reranker" in config:
            parser = _reranker(config, data, seed=seed, say=say)
        else:
            say("  training a base parser")
            parser = Training(lambda _: None).train(config, data, seed=seed)
        remember(config, data, parser, seed=seed)
    # Those in use stay.
    _BASES[key] = _BASES.pop(key)
    return _BASES[key]


def _reranker(config: Config, data: Data, *, seed: int, say: Say) -> Parser:
    """Return a reranker, whose parsers may be base parsers of other rows."""
    first = {key: value for key, value in config.items() if key != "reranker"}
    alone, second = (_base(one, data, seed=seed, say=say) for one in (first, {**first, **part(config, "reranker")}))
    return tune_weight(alone, second, data.dev)[0]


def _key(config: Config, data: Data, seed: int) -> tuple[object, ...]:
    """Return all that decides a parser: of `data`, what is learned and what epochs are chosen by."""
    # Where the sentences come from does not matter.
    others = {name: found for name, found in config.items() if name not in ("uptrain", "loss", "data", "learner")}
    settings = json.dumps([others, config.get("learner", {})], sort_keys=True)
    objectives = [data.others[name] for name in objective_files({**config, "uptrain": {}})]
    return settings, seed, tuple(data.train), tuple(data.dev), tuple(map(tuple, objectives))


def converted(config: Config, treebank: Sequence[Example], others: Sequence[Example], *, seed: int) -> list[Example]:
    """Return parsed sentences with trees as in the treebank of the row."""

    def train(model: Any, examples: Sequence[Example], stage: str) -> Iterator[Progress]:
        learner = config.get("learner", {})
        return treetune.train(model, examples, epochs=CONVERSION_EPOCHS[stage], seed=seed, **learner)

    *_, last = convert_trees(build_parser(config), treebank, others, train)
    assert isinstance(last, Conversion)
    return last.examples
