"""One row with one seed goes in, the record of its run comes out; and the file that keeps such records."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import measuring
import outcomes
from corpora import Corpus, Data, Limits
from recipes import Recipe, Training, WarmStart, loss_of
from treetune import Example
from treetune.corpus.orders import WordOrder
from treetune.corpus.projectivity import is_projective
from treetune.evaluation import evaluate
from treetune.learning.trainer import USUAL_START
from treetune.models.base import Parser

Record = dict[str, Any]

# Enough sentences to compile every kernel that a recipe needs.
_WARM_UP = 30


@dataclass(frozen=True)
class Row:
    """One line of a table: a parser on a corpus; `loss`, if given, is measured on the tests too."""

    name: str
    corpus: Corpus
    recipe: Recipe
    loss: Mapping[str, Any] | None = None

    def settings(self, *, data: Path, epochs: int, limits: Limits, seed: int) -> Record:
        """Return all that decides the outcome of a run but the code, the contents of files included."""
        found = {
            "recipe": self.recipe.settings(),
            "options": dict(self.corpus.options),
            "epochs": epochs,
            "limits": asdict(limits),
            "seed": seed,
            "train": list(self.corpus.train),
            "dev": self.corpus.dev,
            "tests": list(self.corpus.tests),
            "data": {name: _digest(path, path.stat().st_mtime_ns) for name, path in self.corpus.files(data).items()},
            **self._orders(data),
        }
        if self.loss is not None:
            found["loss"] = dict(self.loss)
        if self.corpus.others:
            found["others"] = list(self.corpus.others)
        if self.corpus.most is not None:
            found["most"] = self.corpus.most
        if self.corpus.predicted:
            found["tags"] = "predicted"
        # As it will come back from a file, so that the two compare equal.
        stored: Record = json.loads(json.dumps(found))
        return stored

    def _orders(self, data: Path) -> Record:
        """Return the contents of word orders, if the row has to do with them."""
        extras = (*self.recipe.extras, *((self.recipe.targeted,) if self.recipe.targeted else ()))
        losses = [loss_of(loss) for loss in (self.loss, *(extra.loss for extra in extras)) if loss is not None]
        if not any(loss.reference == "order" for loss in losses):
            return {}
        paths = {name: path.with_suffix(".jsonl") for name, path in self.corpus.files(data).items()}
        return {
            "orders": {name: _digest(path, path.stat().st_mtime_ns) for name, path in paths.items() if path.is_file()}
        }


@cache
def _digest(path: Path, modified: int) -> str:
    # `modified` is there for the cache.
    return measuring.sha256(path)[:16]


def run(row: Row, data: Data, *, epochs: int, seed: int, warm: Path | None = None) -> Record:
    """Train one row with one seed and score it on every test file, once.

    `warm` is a folder in which rows share the first epochs, before their objectives start; of the same data and code.
    """
    warm_up(row, data)
    training = Training(measuring.say, warm=None if warm is None else _warm_start(warm, row, data, seed))
    start = time.process_time()
    parser = training.train(row.recipe, data, options=row.corpus.options, epochs=epochs, seed=seed)
    seconds = time.process_time() - start + (training.warm.borrowed if training.warm else 0.0)
    return {
        "cpu_seconds": seconds,
        "learner": training.learner,
        "epochs": training.epochs,
        **({"tallies": training.tallies} if training.tallies else {}),
        "tests": {
            name: {**score(parser, gold), **costs(row, parser, gold, data.orders.get(name))}
            for name, gold in data.tests.items()
        },
    }


def _warm_start(folder: Path, row: Row, data: Data, seed: int) -> WarmStart:
    """Return where the first epochs of a row are kept: in a file for all that decides them."""
    recipe = replace(row.recipe, extras=(), passes=1, then=()).settings()
    starts = [extra.options.get("start") for extra in row.recipe.extras]
    corpus = [row.corpus.train, dict(row.corpus.options), row.corpus.predicted, len(data.train)]
    decides = [recipe, corpus, seed, starts or [USUAL_START]]
    name = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:16]
    return WarmStart(folder / f"{name}.warm")


def warm_up(row: Row, data: Data) -> None:
    """Train on next to nothing, so that no run is charged for compiling."""
    others = {name: examples[:_WARM_UP] for name, examples in data.others.items()}
    orders = {name: found[:_WARM_UP] for name, found in data.orders.items()}
    little = replace(data, train=data.train[:_WARM_UP], dev=data.dev[:_WARM_UP], others=others, orders=orders)
    extras = tuple(replace(extra, options={**extra.options, "start": 1}) for extra in row.recipe.extras)
    recipe = replace(row.recipe, folds=2, extras=extras, passes=1, targeted=None, then_epochs=1)
    parser = Training(lambda _: None).train(recipe, little, options=row.corpus.options, epochs=1, seed=0)
    parser.predict_batch([example.sentence for example in little.train])


def score(parser: Parser, gold: Sequence[Example]) -> Record:
    """Return the scores of a parser on one file, per cent, its speed, and what is needed to compare it later."""
    sentences = [example.sentence for example in gold]
    start = time.process_time()
    trees = parser.predict_batch(sentences)
    seconds = time.process_time() - start
    scores = evaluate(gold, trees)
    crossing = [pair for pair in zip(gold, trees, strict=True) if not is_projective(pair[0].gold.heads)]
    on_crossing = evaluate([example for example, _ in crossing], [tree for _, tree in crossing])
    return {
        **{metric: percent(scores[metric]) for metric in outcomes.METRICS},
        "crossing_sentences": len(crossing),
        "crossing_UAS": percent(on_crossing.uas),
        "crossing_LAS": percent(on_crossing.las),
        "words_per_cpu_second": sum(map(len, sentences)) / seconds,
        "outcomes": outcomes.pack(scores),
    }


def costs(row: Row, parser: Parser, gold: Sequence[Example], orders: Sequence[WordOrder] | None = None) -> Record:
    """Return what the trees of a parser cost by the loss of the row, per cent: the mean, and each sentence.

    Of a loss over word orders also the score behind it, and the share of sentences that cost nothing; sentences without
    two words to order are left out.
    """
    if row.loss is None:
        return {}
    loss = loss_of(row.loss)
    trees = parser.predict_batch([example.sentence for example in gold])
    by_order = loss.reference == "order"
    references: Sequence[Any] = (orders or ()) if by_order else [example.gold for example in gold]
    triples = [
        (example.sentence, tree, reference)
        for example, tree, reference in zip(gold, trees, references, strict=True)
        if not by_order or len(reference.words) > 1
    ]
    found = [100 * loss.costs(sentence, [tree], reference)[0] for sentence, tree, reference in triples]
    loss.close()
    cost = sum(found) / len(found)
    scores = {"reorder": 100 - cost, "exact": 100 * found.count(0) / len(found)} if by_order else {}
    return {"cost": cost, **scores, "costs": outcomes.pack_numbers([round(one, 3) for one in found])}


def percent(score: float) -> float | None:
    """Return a score per cent; None, which JSON knows, if there was nothing to count."""
    return None if math.isnan(score) else 100 * score


class ResultFile:
    """Finished runs on disk, one for each row and seed; safe to be killed and to be shared by processes."""

    def __init__(self, path: Path, experiment: str) -> None:
        self.path = path
        self.experiment = experiment

    def runs(self) -> list[Record]:
        """Return the runs the file holds, none if there is no file."""
        if not self.path.exists():
            return []
        record = _read(self.path)
        if record is None or record["experiment"] != self.experiment:
            raise SystemExit(
                f"{self.path} holds no results of the experiment {self.experiment}; "
                "remove it or name another file with --out"
            )
        found: list[Record] = record["runs"]
        return found

    def find(self, row: str, settings: Record) -> Record | None:
        """Return the run of a row with these settings."""
        matching = (run for run in self.runs() if run["row"] == row and run["settings"] == settings)
        return next(matching, None)

    def find_elsewhere(self, settings: Record) -> Record | None:
        """Return a run with these settings that another experiment has put into a file of the same folder."""
        for path in sorted(self.path.parent.glob("*.json")):
            record = None if path == self.path else _read(path)
            for found in [] if record is None else record["runs"]:
                if found["settings"] == settings:
                    return {"taken_from": path.stem, **found}
        return None

    def write(self, describe: Callable[[list[Record]], Record], *new: Record) -> None:
        """Write the file again from the runs it holds and new ones, which replace those of the same row and seed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        places = [_place(run) for run in new]
        # Read again under the lock: another process may have added runs since.
        with _locked(self.path.parent):
            kept = [run for run in self.runs() if _place(run) not in places]
            measuring.write_json(self.path, describe([*kept, *new]))


def _place(run: Record) -> tuple[str, int]:
    return run["row"], run["settings"]["seed"]


def _read(path: Path) -> Record | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and {"experiment", "runs"} <= record.keys() else None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
