"""What single things cost: starting a command, word order beside parsing, the trainer, uptraining at its full size."""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import treetune
from benchmarks import measure, training
from treetune import Example, Objective, TransitionParser, Tree
from treetune.learning.ranker import Ranker
from treetune.losses import Root
from treetune.reorder import Reorderer, load_rules

SENTENCE = "She gave him a book he did not like.\n"
TEST = training.PARTS["test"]
PACKAGE = Path(treetune.__file__).parent


def startup_figures(repeats: int) -> dict[str, dict[str, list[float]]]:
    """Return the figures of every repeat, by command; each repeat starts with a copy of the package without kernels."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in ("first parse", "later parse", "--help")}
    for number in range(1, repeats + 1):
        with tempfile.TemporaryDirectory() as name:
            shutil.copytree(PACKAGE, Path(name, "treetune"), ignore=shutil.ignore_patterns("kernels-*"))
            for kind, figures in found.items():
                arguments = ["--help"] if kind == "--help" else ["parse", "-", "--quiet"]
                environment = {"PYTHONPATH": measure.python_path(Path(name)), "NUMBA_CACHE_DIR": ""}
                command = [sys.executable, "-m", "treetune", *arguments]
                one = measure.run_command(command, text=SENTENCE, threads=None, cwd=name, env=environment)
                for figure, value in one.items():
                    figures.setdefault(figure, []).append(value)
        latest = ", ".join(f"{kind} {figures['cpu_seconds'][-1]:.2f}" for kind, figures in found.items())
        measure.say(f"  {number} of {repeats}, CPU-s: {latest}")
    return found


def startup_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark of starting."""
    parser.add_argument("--repeats", type=int, default=3, help="fresh installations to start from (default: 3)")


def startup(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the first parse after installation, later ones, and ``--help``, with all processors."""
    before = os.getloadavg()[0]
    figures = startup_figures(options.repeats)
    return {
        "benchmark": "startup",
        **measure.provenance(["numpy", "numba"]),
        "settings": {"command": f'echo "{SENTENCE.strip()}" | treetune parse -', "repeats": options.repeats},
        # Wall time tells of the program only where nothing else runs.
        "load_before": before,
        "commands": {
            kind: {figure: measure.summary(values) for figure, values in found.items()}
            for kind, found in figures.items()
        },
    }


def reordering_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark of word order."""
    parser.add_argument("--model", type=Path, required=True, help="a model of 'treetune train'")
    parser.add_argument("--rules", default="ja", help="the rule set (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="rounds (default: %(default)s)")


def reordering(options: argparse.Namespace) -> dict[str, Any]:
    """Measure a parser alone, with a rule set after it, and the rules alone; a new `Reorderer` for every repeat."""
    model, rules = treetune.load(options.model), load_rules(options.rules)
    sentences = [example.sentence for example in treetune.read_trees(options.data / TEST, trees=False)]
    trees = model.predict_batch(sentences)
    tasks: dict[str, Callable[[], object]] = {
        "parse": lambda: model.predict_batch(sentences),
        "parse and reorder": lambda: Reorderer(rules).orders(sentences, model.predict_batch(sentences)),
        "reorder": lambda: Reorderer(rules).orders(sentences, trees),
    }
    seconds = measure.interleaved({name: partial(_ready, work) for name, work in tasks.items()}, options.repeats)
    words = sum(map(len, sentences))
    shares = [alone / whole for alone, whole in zip(seconds["parse"], seconds["parse and reorder"], strict=True)]
    return {
        "benchmark": "reordering",
        **measure.provenance(["numpy", "numba"]),
        "settings": {"rules": options.rules, "words": words, "repeats": options.repeats, "model": model.kind},
        "words_per_cpu_second": {
            name: measure.summary([words / one for one in found]) for name, found in seconds.items()
        },
        "share_of_parsing_speed": measure.summary(shares),
    }


def _ready(work: Callable[[], object]) -> Callable[[], object]:
    return work


def overhead_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark of the trainer."""
    parser.add_argument("--sentences", type=int, default=1500, help="of the source treebank (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds (default: %(default)s)")


def overhead(options: argparse.Namespace) -> dict[str, Any]:
    """Measure an epoch of the trainer beside a bare loop, and updates on an objective beside those on the treebank."""
    folder = options.data / "questions"
    treebank = list(itertools.islice(treetune.read_trees(folder / "source-train.conllu"), options.sentences))
    questions = list(map(_main_verb, treetune.read_trees(folder / "target-train.conllu")))
    tasks = {"bare loop": partial(partial, _bare_epoch, treebank), "trainer": partial(partial, _epoch, treebank)}
    seconds = measure.interleaved(tasks, options.repeats)
    on_treebank, on_objective = _milliseconds_a_word(treebank, questions, options.repeats)
    trainer = [one / other for one, other in zip(seconds["trainer"], seconds["bare loop"], strict=True)]
    updates = [one / other for one, other in zip(on_objective, on_treebank, strict=True)]
    return {
        "benchmark": "overhead",
        **measure.provenance(["numpy", "numba"]),
        "sentences": options.sentences,
        "epoch_cpu_seconds": seconds,
        "trainer_to_bare_loop": {"median": statistics.median(trainer), "raw": trainer},
        "milliseconds_a_word": {"treebank": on_treebank, "main verbs, k = 8": on_objective},
        "objective_to_treebank": {"median": statistics.median(updates), "raw": updates},
    }


def _main_verb(example: Example) -> Example:
    heads = [0 if word in example.gold.roots else -1 for word in range(1, len(example.gold) + 1)]
    return Example(example.sentence, Tree.of(heads))


def _parser() -> TransitionParser:
    return TransitionParser(beam=8, inputs=("upos",))


def _bare_epoch(treebank: Sequence[Example]) -> None:
    parser = _parser()
    learner = parser.learner(treebank, learner="mira")
    learner.learn(np.random.default_rng(0).permutation(len(treebank)))
    learner.install(parser, learner.snapshot())


def _epoch(treebank: Sequence[Example]) -> None:
    for _ in treetune.train(_parser(), treebank, epochs=1, learner="mira"):
        pass


def _milliseconds_a_word(
    treebank: Sequence[Example], questions: Sequence[Example], repeats: int
) -> tuple[list[float], list[float]]:
    """Return the time a word of updates on the treebank and on main verbs (k-best lists of 8), round by round."""
    learner = _parser().learner(treebank, learner="mira")
    order = np.arange(len(treebank))
    learner.learn(order)
    objective = Objective(questions, Root(), search="list", k=8)
    ranker = Ranker(learner.online_decoder([question.sentence for question in questions]), objective)

    def rank() -> None:
        for index, question in enumerate(questions):
            ranker.step(index, question.sentence, question.gold)

    rank()  # compiles
    words = sum(len(question.sentence) for question in questions)
    on_treebank, on_objective = [], []
    for _ in range(repeats):
        on_treebank.append(1000 * measure.cpu_seconds(lambda: learner.learn(order)) / learner.words(order))
        on_objective.append(1000 * measure.cpu_seconds(rank) / words)
    return on_treebank, on_objective


def uptraining_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark of uptraining."""
    parser.add_argument("--sentences", type=int, default=100_000, help="of AMALGUM (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=5, help="passes over them (default: %(default)s)")
    parser.add_argument("--beam", type=int, default=8, help="of the student (default: %(default)s)")


def uptraining(options: argparse.Namespace) -> dict[str, Any]:
    """Measure `treetune uptrain` on parsed files, from the files to the model file, and score the student."""
    files = sorted(str(path) for path in (options.data / "amalgum").glob("*.conllu.zst") if "whow" not in path.name)
    with tempfile.TemporaryDirectory() as name:
        model = Path(name, "student.treetune")
        arguments = [
            *("uptrain", *files, f"--limit={options.sentences}"),
            *(f"--epochs={options.epochs}", f"--beam={options.beam}"),
            *(f"--dev={options.data / training.PARTS['dev']}", f"--exclude={options.data / TEST}", f"--model={model}"),
        ]
        took = measure.run_command([sys.executable, "-m", "treetune", *arguments])
        return {
            "benchmark": "uptraining",
            **measure.provenance(["numpy", "numba"]),
            "settings": {"sentences": options.sentences, "epochs": options.epochs, "beam": options.beam},
            **took,
            "model_mb": measure.size_mb(model),
            **training.accuracies(model, options.data),
        }
