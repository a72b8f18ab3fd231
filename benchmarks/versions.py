"""The speed of this version of treetune beside that of an earlier commit: training and parsing.

Each version runs in a process of its own with one thread and trains a model of its own, since files of one may not be
read by the other; then both train and parse in turn, `--repeats` times, from memory to memory. Their trees must be the
same: a faster parser that parses otherwise is another parser, and nothing is recorded.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import measure

# Only `measure` is imported: an old version of treetune must be able to run this module.
TRAIN, TEST = measure.TRAIN, measure.PARTS["test"]
PACKAGES = ("numpy", "numba")
OLD, NEW = "old", "new"
PARSERS: dict[str, tuple[str, dict[str, Any]]] = {
    "transition": ("TransitionParser", {"beam": 8}),
    "graph": ("GraphParser", {"order": 1}),
    "graph2": ("GraphParser", {"order": 2}),
}


class Version:
    """One version of treetune with one kind of parser, in a process that trains or parses when it is told to."""

    def __init__(self, source: Path, parser: str, data: Path, sentences: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.versions", parser, str(data), str(sentences)],
            env={**os.environ, **measure.ONE_THREAD, "PYTHONPATH": measure.python_path(source, measure.REPOSITORY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.about = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def cpu_seconds(self, work: str) -> float:
        """Train ("train") or parse the test file ("parse") once more; return what that took."""
        assert self._process.stdin is not None
        print(work, file=self._process.stdin, flush=True)
        return float(self._answer())

    def __enter__(self) -> Version:
        return self

    def __exit__(self, *_: object) -> None:
        # At the end of its input the process ends.
        self._process.communicate()


def serve(kind: str, data: Path, sentences: int) -> None:
    """Be the process of a version: print words and a checksum of all trees, then CPU seconds for every line."""
    import treetune

    treebank = list(itertools.islice(treetune.read_trees(data / TRAIN), sentences))
    tests = [example.sentence for example in treetune.read_trees(data / TEST, trees=False)]

    def train() -> Any:
        name, options = PARSERS[kind]
        parser = getattr(treetune, name)(**options)
        for _ in treetune.train(parser, treebank, epochs=1, seed=0):
            pass
        return parser

    parser = train()
    trees = [(tuple(tree.heads), tuple(tree.labels)) for tree in parser.predict_batch(tests)]
    words = {"train": sum(len(example.sentence) for example in treebank), "parse": sum(map(len, tests))}
    print(json.dumps({"trees": hashlib.sha256(repr(trees).encode()).hexdigest(), "words": words}), flush=True)
    works = {"train": train, "parse": lambda: parser.predict_batch(tests)}
    for line in sys.stdin:
        print(json.dumps(measure.cpu_seconds(works[line.strip()])), flush=True)


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Give the source folder of a commit, which stays until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", commit, "src"], cwd=measure.REPOSITORY, capture_output=True)
        if packed.returncode:
            raise SystemExit(f"--old: git knows no commit {commit!r}")
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        yield Path(folder, "src")


def compare(parser: str, data: Path, sources: dict[str, Path], *, sentences: int, repeats: int) -> dict[str, Any]:
    """Return the speeds of both versions with one kind of parser, and their ratio round by round."""
    speeds: dict[str, dict[str, list[float]]] = {
        work: {version: [] for version in sources} for work in ("train", "parse")
    }
    with ExitStack() as stack:
        running = {
            version: stack.enter_context(Version(source, parser, data, sentences))
            for version, source in sources.items()
        }
        if running[OLD].about != running[NEW].about:
            raise SystemExit(f"{parser}: the two versions give different trees; nothing is recorded")
        for number, order in enumerate(measure.rounds(list(sources), repeats), start=1):
            for work, found in speeds.items():
                for version in order:
                    words = running[version].about["words"][work]
                    found[version].append(words / running[version].cpu_seconds(work))
                latest = ", ".join(f"{version} {values[-1]:,.0f}" for version, values in found.items())
                measure.say(f"{parser}, {work}, round {number} of {repeats}, words per CPU-second: {latest}")
    return {"name": f"treetune {parser}", **_summary(speeds["parse"]), "training": _summary(speeds["train"])}


def _summary(speeds: dict[str, list[float]]) -> dict[str, Any]:
    ratio = [new / old for new, old in zip(speeds[NEW], speeds[OLD], strict=True)]
    return {**{version: measure.summary(values) for version, values in speeds.items()}, "times": measure.summary(ratio)}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--old", required=True, help="the commit to compare with")
    parser.add_argument("--parsers", nargs="+", choices=list(PARSERS), default=list(PARSERS), help="which of them")
    parser.add_argument("--sentences", type=int, default=2000, help="to train on, one epoch (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=10, help="timed rounds (default: %(default)s)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Compare the versions with every parser and return the record."""
    with checked_out(options.old) as source:
        sources = {OLD: source, NEW: measure.REPOSITORY / "src"}
        size = {"sentences": options.sentences, "repeats": options.repeats}
        parsers = [compare(parser, options.data, sources, **size) for parser in options.parsers]
    return {
        "benchmark": "versions",
        **measure.provenance(PACKAGES),
        "settings": {"test": TEST.as_posix(), "train": TRAIN.as_posix(), **size, "threads": 1, "old": options.old},
        "parsers": parsers,
    }


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
