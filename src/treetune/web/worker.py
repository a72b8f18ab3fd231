"""One adaptation in a process of its own: ``python -m treetune.web.worker FOLDER``.

The folder has ``job.json`` and ``answers.conllu``; the process writes ``progress.jsonl``, then ``model.treetune`` (if
the model is better), ``report.html`` and, last of all, ``result.json``. It holds a lock on the folder, so that there is
never a second one, and whoever looks can tell whether it runs. The same folder gives the same model: a process that was
killed is started again.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treetune.corpus.files import open_atomic
from treetune.corpus.formats import format_of
from treetune.corpus.locks import InUse, exclusive
from treetune.corpus.textfiles import read_text
from treetune.corpus.treebank import read_trees
from treetune.errors import TreetuneError
from treetune.evaluation.sections import as_html
from treetune.learning.adaptation import adapt
from treetune.learning.adaptation_report import decision, report_sections
from treetune.learning.answers import read_answers
from treetune.models.pipeline import Pipeline
from treetune.storage import inspect, load, save

JOB, ANSWERS, PROGRESS, RESULT = "job.json", "answers.conllu", "progress.jsonl", "result.json"
MODEL, REPORT, LOCK = "model.treetune", "report.html", "running"


def run(folder: Path) -> None:
    """Adapt the model of a folder, unless that is done or another process is at it."""
    try:
        with exclusive(folder / LOCK), (folder / PROGRESS).open("w", encoding="utf-8") as progress:
            if (folder / RESULT).exists():
                return

            def tell(**content: Any) -> None:
                progress.write(json.dumps(content) + "\n")
                progress.flush()

            tell(process=os.getpid())
            try:
                result = _adapt(folder, json.loads((folder / JOB).read_text(encoding="utf-8")), tell)
            except (TreetuneError, MemoryError, OSError) as error:
                result = {"error": str(error) or type(error).__name__}
            _write(folder / RESULT, json.dumps(result))
    except InUse:
        pass


def _adapt(folder: Path, job: dict[str, Any], tell: Callable[..., None]) -> dict[str, Any]:
    pipeline = Pipeline.of(load(job["model"]))
    answers = read_answers(read_trees(folder / ANSWERS, partial=True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = adapt(
            pipeline, answers, home=_home(job["treebank"], pipeline), convention=job["convention"],
            folds=job["folds"], seed=job["seed"], threads=job["threads"],
            say=lambda line: tell(line=line), watch=lambda trial: tell(trial=asdict(trial)),
        )  # fmt: skip
    if found.is_adapted:
        info = {**inspect(job["model"]).info, "adaptation": found.to_dict()}
        save(found.pipeline.simplest, folder / MODEL, info)
    _write(folder / REPORT, as_html("Adaptation", report_sections(found)))
    said = sorted({str(one.message) for one in caught if issubclass(one.category, UserWarning)})
    return {**found.to_dict(), "decision": decision(found), "warnings": said}


def _home(path: str | None, pipeline: Pipeline) -> list[Any]:
    """Return the trees of a treebank, or the sentences of a text."""
    if path is None:
        return []
    found = format_of(path)
    if found is not None and found.reader:
        return list(read_trees(path))
    return list(pipeline.split(read_text(path)))


def _write(path: Path, text: str) -> None:
    with open_atomic(path) as file:
        file.write(text.encode())


if __name__ == "__main__":
    run(Path(sys.argv[1]))
