"""treetune beside UDPipe 1 from raw text to trees, on UD English EWT, and on GUM and PUD, in one run.

Both get the raw text of the treebank (sentences joined by a space, paragraphs by an empty line) and write CoNLL-U,
which the official scorer of Universal Dependencies compares with gold. UDPipe is trained on the same train file
(`peers.py`), if the cache does not hold it. Speed is CPU time of one thread, both in one process in rotated
order.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import treetune
from benchmarks import measure, peers
from benchmarks.systems import official_scores
from benchmarks.training import PARTS
from treetune.corpus.conllu import format_conllu
from treetune.corpus.rawtext import raw_text
from treetune.evaluation import evaluate_text
from treetune.evaluation.alignment import TEXT_METRICS
from treetune.model_names import find_model
from treetune.storage import inspect

METRICS = tuple(TEXT_METRICS)
PACKAGES = ("numpy", "numba", "ufal.udpipe", "udtools")
PEER = "udpipe-text"
# Nobody is trained on these.
OUT_OF_DOMAIN = {"GUM": Path("ud", "en_gum-test.conllu"), "PUD": Path("ud", "en_pud-test.conllu")}
FILES = {**PARTS, **OUT_OF_DOMAIN}


class Treetune:
    """A pipeline of treetune."""

    def __init__(self, model: str) -> None:
        self._pipeline = treetune.load(model)

    def trees(self, text: str) -> object:
        """Parse a text, from a string to objects."""
        return self._pipeline(text)

    def conllu(self, text: str) -> str:
        """Parse a text, from a string to CoNLL-U."""
        return "".join(format_conllu(one.sentence, one.tree) for one in self._pipeline(text))


class UDPipe:
    """The tokenizer, tagger and parser of UDPipe 1, with its default beam."""

    def __init__(self, model: Path) -> None:
        from ufal.udpipe import Model

        self._model = Model.load(str(model))

    def trees(self, text: str) -> object:
        """Parse a text, from a string to objects."""
        from ufal.udpipe import Model, ProcessingError, Sentence

        tokenizer = self._model.newTokenizer(Model.DEFAULT)
        tokenizer.setText(text)
        error, found = ProcessingError(), []
        sentence = Sentence()
        while tokenizer.nextSentence(sentence, error):
            self._model.tag(sentence, Model.DEFAULT)
            self._model.parse(sentence, Model.DEFAULT)
            found.append(sentence)
            sentence = Sentence()
        return found

    def conllu(self, text: str) -> str:
        """Parse a text, from a string to CoNLL-U."""
        from ufal.udpipe import Pipeline, ProcessingError

        pipeline = Pipeline(self._model, "tokenize", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
        written: str = pipeline.process(text, ProcessingError())
        return written


def systems(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the loaded systems by name."""
    found: dict[str, Any] = {"treetune": Treetune(arguments.model)}
    if arguments.earlier is not None:
        found["treetune, earlier model"] = Treetune(arguments.earlier)
    if not arguments.alone:
        found["UDPipe"] = UDPipe(arguments.cache / peers.PEERS[PEER].model)
    return found


def scores(system: Any, gold: Path) -> dict[str, float]:
    """Return the F1 of every metric by the official scorer; ours must agree to the last digit."""
    examples = list(treetune.read_trees(gold))
    with tempfile.TemporaryDirectory() as folder:
        predicted = Path(folder, "predicted.conllu")
        predicted.write_text(system.conllu(raw_text(example.sentence for example in examples)), encoding="utf-8")
        official = official_scores(gold, predicted, METRICS)
        own = evaluate_text(examples, treetune.read_trees(predicted, strict=False), subtypes=False)
    for name in METRICS:
        if f"{100 * own[name]:.6f}" != f"{official[name]:.6f}":
            raise SystemExit(f"{name}: the official scorer says {official[name]}, treetune {100 * own[name]}")
    return official


def speeds(found: Mapping[str, Any], text: str, words: int, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Return words per CPU-second of every repeat, by kind of run and system."""
    measured = {}
    for kind in ("trees", "conllu"):
        measure.say(f"{kind}: {repeats} rounds")
        tasks: dict[str, Callable[[], Callable[[], object]]] = {
            name: partial(partial, getattr(system, kind), text) for name, system in found.items()
        }
        seconds = measure.interleaved(tasks, repeats)
        measured[kind] = {name: [words / value for value in values] for name, values in seconds.items()}
    return measured


def stage_speeds(model: str, text: str, words: int, repeats: int) -> dict[str, list[float]]:
    """Return words per CPU-second of each part of the pipeline alone, given what the part before it says."""
    pipeline = treetune.load(model)
    sentences = list(pipeline.split(text))
    tagged = pipeline.tag(sentences)
    tasks: dict[str, Callable[[], Callable[[], object]]] = {
        "tokenizer": lambda: lambda: list(pipeline.split(text)),
        "tagger": lambda: lambda: pipeline.tag(sentences),
        "parser": lambda: lambda: pipeline.parser.predict_batch(tagged),
    }
    seconds = measure.interleaved(tasks, repeats)
    return {name: [words / value for value in values] for name, values in seconds.items()}


def start_seconds(model: str, repeats: int) -> list[float]:
    """Return the CPU seconds of ``echo "Time flies." | treetune parse MODEL -`` with compiled kernels at hand."""
    found = []
    for number in range(repeats + 1):
        before = measure.cpu_seconds_of_children()
        command = [sys.executable, "-m", "treetune", "parse", model, "-"]
        environment = {**os.environ, **measure.ONE_THREAD}
        subprocess.run(command, input=b"Time flies.\n", env=environment, stdout=subprocess.DEVNULL, check=True)
        if number:
            found.append(measure.cpu_seconds_of_children() - before)
    return found


def load_seconds(model: str, repeats: int) -> list[float]:
    """Return the CPU seconds that loading a model takes in this process, until it can parse."""

    def load() -> None:
        treetune.load(model)("Time flies.")

    load()
    return [measure.cpu_seconds(load) for _ in range(repeats)]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--model", default="en", help="a pipeline (default: that of the package)")
    parser.add_argument("--earlier", metavar="FILE", help="an earlier model, to compare with")
    parser.add_argument("--alone", action="store_true", help="without UDPipe")
    parser.add_argument("--parts", nargs="+", choices=list(FILES), default=list(FILES), help="what to score on")
    parser.add_argument("--repeats", type=int, default=5, help="timed rounds (default: %(default)s)")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure everything and return the record."""
    measure.require(["udtools"] if arguments.alone else ["udtools", "ufal.udpipe"])
    if not arguments.alone:
        peers.train_cached(PEER, data=arguments.data, cache=arguments.cache)
    found = systems(arguments)
    described: dict[str, Any] = {name: {} for name in found}
    for name, system in found.items():
        for part in arguments.parts:
            measure.say(f"{name}: accuracy on {part}")
            described[name][part] = scores(system, arguments.data / FILES[part])
    examples = list(treetune.read_trees(arguments.data / PARTS["test"]))
    text = raw_text(example.sentence for example in examples)
    words = sum(len(example.sentence) for example in examples)
    speed = speeds(found, text, words, arguments.repeats)
    for kind, by_name in speed.items():
        for name, values in by_name.items():
            described[name][f"{kind}_words_per_cpu_second"] = measure.summary(values)
    record = {
        "benchmark": "raw_text",
        **measure.provenance(PACKAGES),
        "settings": {"test": PARTS["test"].as_posix(), "words": words, "repeats": arguments.repeats, "threads": 1},
        "model": {"mb": measure.size_mb(Path(find_model(arguments.model))), "info": inspect(arguments.model).info},
        "stages": {
            name: measure.summary(values)
            for name, values in stage_speeds(arguments.model, text, words, arguments.repeats).items()
        },
        "load_cpu_seconds": measure.summary(load_seconds(arguments.model, arguments.repeats)),
        "command_cpu_seconds": measure.summary(start_seconds(arguments.model, arguments.repeats)),
        "systems": described,
    }
    if not arguments.alone:
        peer = json.loads((arguments.cache / f"{PEER}.json").read_text(encoding="utf-8"))
        record["peer"] = {key: peer[key] for key in ("settings", "cpu_seconds")}
        pairs = zip(speed["conllu"]["treetune"], speed["conllu"]["UDPipe"], strict=True)
        record["times_as_fast"] = measure.summary([ours / theirs for ours, theirs in pairs])
    return record
