"""Runs the entry point in this process, as a shell would, and gives back what it wrote."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from treetune.cli import main, training_progress
from treetune.config.run import Report
from treetune.corpus.conllu import read_conllu
from treetune.corpus.sentence import Tree


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def run(*arguments: object, stdin: str | bytes = "", terminal: bool = False, shown: bool = False) -> Result:
    """Call `main` with these arguments; with `terminal`, stderr says that someone is watching, with `shown`, stdout."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = _stream(b""), _stream(b"")
    if terminal:
        err.isatty = lambda: True  # type: ignore[method-assign]
    if shown:
        out.isatty = lambda: True  # type: ignore[method-assign]
    with mock.patch.object(sys, "stdin", _stream(data)), redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Result(code, _text(out), _text(err))


def sets(*changes: str) -> list[str]:
    """Return the options that make some changes of settings."""
    return [part for change in changes for part in ("--set", change)]


def check_k_best_lists(model: Path, path: Path) -> None:
    """Check that the trees of 4-best lists are distinct and sorted, and that the first is the one that is parsed."""
    result = run("parse", model, path, "--k-best", 4)
    best = run("parse", model, path)
    assert (result.code, result.err) == (0, "")
    lists: list[list[tuple[float, Tree]]] = []
    for example in read_conllu(result.out.split("\n")):
        rank, score = (line.partition(" = ")[2] for line in example.sentence.comments[-2:])
        if rank == "1":
            lists.append([])
        lists[-1].append((float(score), example.gold))
        assert int(rank) == len(lists[-1])
    assert [entry[0][1] for entry in lists] == [example.gold for example in read_conllu(best.out.split("\n"))]
    for entry in lists:
        scores = [score for score, _ in entry]
        assert scores == sorted(scores, reverse=True)
        assert len({tree for _, tree in entry}) == len(entry) == 4


def stop_after(monkeypatch: pytest.MonkeyPatch, epochs: int, error: BaseException, *, stage: str = "model") -> None:
    """Let the next training end with `error` after some epochs, or folds, of a stage."""
    original = training_progress.follow

    def reports_until(reports: Iterable[Report]) -> Iterator[Report]:
        for report in reports:
            at = report.training or report.tokenizer
            done = report.fold.fold if report.fold is not None else at.epoch if at is not None else 0
            # The last report is before the end of the epoch, when its checkpoint is not written yet.
            if report.stage.name == stage and done > epochs and not report.is_resumed:
                raise error
            yield report

    def follow(reports: Iterable[Report], **options: Any) -> None:
        original(reports_until(reports), **options)

    monkeypatch.setattr("treetune.cli.train.follow", follow)


def _stream(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
