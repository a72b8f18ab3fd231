"""The speed of this version of treetune beside that of an earlier commit, on the same models.

Each version runs in a process of its own with one thread; both parse the same file in turn, `--repeats` times. Their
trees must be the same: a faster parser that parses otherwise is another parser, and nothing is recorded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import conllu_columns, measure

TEST = Path("ud", "en_ewt-test.conllu")
PACKAGES = ("numpy", "numba")
OLD, NEW = "old", "new"


class Version:
    """One version of treetune with one model loaded, in a process that parses the file when it is told to."""

    def __init__(self, source: Path, model: Path, test: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.versions", str(model), str(test)],
            env={**os.environ, **measure.ONE_THREAD, "PYTHONPATH": measure.python_path(source, measure.REPOSITORY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.trees = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def cpu_seconds(self) -> float:
        """Parse the file once more; return what that took."""
        assert self._process.stdin is not None
        print("again", file=self._process.stdin, flush=True)
        return float(self._answer())

    def __enter__(self) -> Version:
        return self

    def __exit__(self, *_: object) -> None:
        # At the end of its input the process ends.
        self._process.communicate()


def serve(model: Path, test: Path) -> None:
    """Be the process of a version: print a checksum of all trees, then CPU seconds for every line that comes in."""
    import treetune

    parser = treetune.load(model)
    sentences = [example.sentence for example in treetune.read_trees(test, trees=False)]
    trees = [(tree.heads, tree.labels) for tree in parser.predict_batch(sentences)]
    print(json.dumps(hashlib.sha256(repr(trees).encode()).hexdigest()), flush=True)
    for _ in sys.stdin:
        print(json.dumps(measure.cpu_seconds(lambda: parser.predict_batch(sentences))), flush=True)


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Give the source folder of a commit, which stays until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", commit, "src"], cwd=measure.REPOSITORY, capture_output=True)
        if packed.returncode:
            raise SystemExit(f"--old: git knows no commit {commit!r}")
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        yield Path(folder, "src")


def compare(name: str, model: Path, test: Path, sources: dict[str, Path], repeats: int) -> dict[str, Any]:
    """Return the speeds of both versions with one model, and their ratio round by round."""
    words = conllu_columns.count_words(test)
    speeds: dict[str, list[float]] = {version: [] for version in sources}
    with ExitStack() as stack:
        running = {version: stack.enter_context(Version(source, model, test)) for version, source in sources.items()}
        if running[OLD].trees != running[NEW].trees:
            raise SystemExit(f"{name}: the two versions give different trees; nothing is recorded")
        for number, order in enumerate(measure.rounds(list(sources), repeats), start=1):
            for version in order:
                speeds[version].append(words / running[version].cpu_seconds())
            latest = ", ".join(f"{version} {values[-1]:,.0f}" for version, values in speeds.items())
            measure.say(f"{name}, round {number} of {repeats}, words per CPU-second: {latest}")
    ratio = [new / old for new, old in zip(speeds[NEW], speeds[OLD], strict=True)]
    return {
        "name": name,
        "model_sha256": measure.sha256(model),
        **{version: measure.summary(values) for version, values in speeds.items()},
        "times": measure.summary(ratio),
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--old", required=True, help="the commit to compare with")
    parser.add_argument(
        "--model", action="append", required=True, metavar="NAME=FILE", help="a model that both can read"
    )
    parser.add_argument("--repeats", type=int, default=10, help="timed rounds (default: %(default)s)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Compare the versions on every model and return the record."""
    test = options.data / TEST
    with checked_out(options.old) as source:
        sources = {OLD: source, NEW: measure.REPOSITORY / "src"}
        named = [model.partition("=") for model in options.model]
        parsers = [compare(name, Path(file), test, sources, options.repeats) for name, _, file in named]
    settings = {"test": TEST.as_posix(), "words": conllu_columns.count_words(test), "repeats": options.repeats}
    return {
        "benchmark": "versions",
        **measure.provenance(PACKAGES),
        "settings": {**settings, "threads": 1, "old": options.old},
        "parsers": parsers,
    }


if __name__ == "__main__":
    serve(*map(Path, sys.argv[1:]))
