"""Finished runs on disk, with what was right of every word or sentence, from which all tests can be made again."""

from __future__ import annotations

import base64
import bz2
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Record = dict[str, Any]
Array = NDArray[Any]


class ResultFile:
    """The result file of one table: one run for each row and seed; safe to be killed and to be shared by processes."""

    def __init__(self, path: Path, table: str) -> None:
        self.path = path
        self.table = table

    def runs(self) -> list[Record]:
        """Return the runs the file holds, none if there is no file."""
        if not self.path.exists():
            return []
        record = _read(self.path)
        if record is None or record["table"] != self.table:
            raise SystemExit(
                f"{self.path} holds no results of the table {self.table}; remove it or name another file with --out"
            )
        return unpacked(record)

    def find(self, row: str, settings: Record) -> Record | None:
        """Return the run of a row with these settings."""
        matching = (run for run in self.runs() if run["row"] == row and run["settings"] == settings)
        return next(matching, None)

    def find_elsewhere(self, settings: Record) -> Record | None:
        """Return a run with these settings from the file of another table in the same folder."""
        for path in sorted(self.path.parent.glob("*.json")):
            record = None if path == self.path else _read(path)
            if record is None or all(run["settings"] != settings for run in record["runs"]):
                continue
            found = next(run for run in unpacked(record) if run["settings"] == settings)
            return {"taken_from": path.stem, **found}
        return None

    def write(self, describe: Callable[[list[Record]], Record], *new: Record) -> None:
        """Write the file again from the runs it holds and new ones, which replace those of the same row and seed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        ids = [_id(run) for run in new]
        # Read again under the lock: another process may have added runs since.
        with _locked(self.path.parent):
            runs = [*(run for run in self.runs() if _id(run) not in ids), *new]
            unfinished = self.path.with_name(self.path.name + ".part")
            unfinished.write_text(_lines({**describe(runs), **packed(runs)}), encoding="utf-8")
            unfinished.replace(self.path)


def packed(runs: Sequence[Record]) -> Record:
    """Return the runs without their outcomes, and the outcomes of all of them, compressed together.

    The same word stands side by side for all runs: most words are right in all of them, or wrong.
    """
    groups: dict[tuple[str, str, str, tuple[int, ...]], list[tuple[Record, Array]]] = {}
    bare = []
    for run in runs:
        for test, found in run["tests"].items():
            for kind, values in found.get("outcomes", {}).items():
                groups.setdefault((test, kind, values.dtype.str, values.shape), []).append((run, values))
        tests = {
            test: {key: value for key, value in found.items() if key != "outcomes"}
            for test, found in run["tests"].items()
        }
        bare.append({**run, "tests": tests})
    outcomes = [
        {
            "test": test,
            "kind": kind,
            "dtype": dtype,
            "shape": list(shape),
            "runs": [_id(run) for run, _ in members],
            "data": _to_text(np.stack([values for _, values in members], axis=-1)),
        }
        for (test, kind, dtype, shape), members in groups.items()
    ]
    return {"runs": bare, "outcomes": outcomes}


def unpacked(record: Record) -> list[Record]:
    """Return the runs of a record with their outcomes."""
    by_id = {tuple(_id(run)): run for run in record["runs"]}
    for group in record["outcomes"]:
        content = bz2.decompress(base64.b64decode(group["data"]))
        values = np.frombuffer(content, dtype=group["dtype"]).reshape(*group["shape"], len(group["runs"]))
        for column, run in enumerate(group["runs"]):
            by_id[tuple(run)]["tests"][group["test"]].setdefault("outcomes", {})[group["kind"]] = values[..., column]
    runs: list[Record] = record["runs"]
    return runs


def _id(run: Record) -> list[Any]:
    return [run["row"], run["settings"]["seed"]]


def _to_text(values: Array) -> str:
    return base64.b64encode(bz2.compress(np.ascontiguousarray(values).tobytes())).decode("ascii")


def _lines(record: Record) -> str:
    """Return JSON with one line for each key, and for each element of a list of tables."""

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    parts = []
    for key, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            parts.append(f"{text(key)}: [\n" + ",\n".join(map(text, value)) + "\n]")
        else:
            parts.append(f"{text(key)}: {text(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _read(path: Path) -> Record | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and {"table", "runs", "outcomes"} <= record.keys() else None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
