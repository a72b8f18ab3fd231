"""Adaptations that the pages start: processes that outlive the server, and what is known of each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import select

from treetune.corpus.locks import InUse, exclusive
from treetune.errors import DataError
from treetune.web.database import AdaptationJob, Sessions, Setting
from treetune.web.projects import NotFound
from treetune.web.worker import ANSWERS, JOB, LOCK, MODEL, PROGRESS, REPORT, RESULT

RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED = "running", "done", "failed", "cancelled", "interrupted"
# So many answers brought no significant gain in any trial (docs/adaptation.md).
FEW = 50
IN_USE = "model in use:"


class Adaptations:
    """The adaptations of a server; `folder` has a folder for each."""

    def __init__(self, sessions: Sessions, folder: Path) -> None:
        self._sessions, self._folder = sessions, folder
        # By token; asked for at every request.
        self._in_use: dict[str, str | None] = {}

    def start(self, owner: str, project: int, answers: str, job: dict[str, Any], *, most: int) -> int:
        """Start an adaptation by answers, CoNLL-U, and return its number; DataError if too many are running."""
        if sum(one["status"] == RUNNING for one in self.listed(owner)) >= most:
            raise DataError(f"expected at most {most} adaptations at a time; wait until one is done, or cancel one")
        with self._sessions.begin() as session:
            row = AdaptationJob(owner=owner, project_id=project, settings={**job, "model": job["name"]})
            session.add(row)
            session.flush()
            folder = self._folder / str(row.id)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ANSWERS).write_text(answers, encoding="utf-8")
            (folder / JOB).write_text(json.dumps(job), encoding="utf-8")
            number = row.id
        self._launch(folder)
        return number

    def _launch(self, folder: Path) -> None:
        """Start the process of an adaptation, in a session of its own: it does not end with the server."""
        with (folder / "errors.txt").open("ab") as errors:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "treetune.web.worker", str(folder)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True,
            )  # fmt: skip
        _children[folder] = process
        threading.Thread(target=_wait, args=(folder, process), daemon=True).start()

    def resume(self) -> None:
        """Start the processes again that were killed together with the server."""
        with self._sessions() as session:
            jobs = session.scalars(select(AdaptationJob).where(AdaptationJob.is_cancelled.is_(False))).all()
        for job in jobs:
            folder = self._folder / str(job.id)
            if (folder / JOB).exists() and not (folder / RESULT).exists() and not _is_running(folder):
                self._launch(folder)

    def listed(self, owner: str, project: int | None = None) -> list[dict[str, Any]]:
        """Return the adaptations of a token, or of a project, the newest first."""
        query = select(AdaptationJob).where(AdaptationJob.owner == owner).order_by(AdaptationJob.id.desc())
        with self._sessions() as session:
            jobs = session.scalars(query if project is None else query.where(AdaptationJob.project_id == project)).all()
        return [self._described(job) for job in jobs]

    def get(self, owner: str, number: int) -> dict[str, Any]:
        """Return what is known of an adaptation: its status, its trials so far, its result."""
        return self._described(self._job(owner, number))

    def _job(self, owner: str, number: int) -> AdaptationJob:
        with self._sessions() as session:
            found = session.get(AdaptationJob, number)
        if found is None or found.owner != owner:
            raise NotFound(f"there is no adaptation {number}; see the page of its project")
        return found

    def _described(self, job: AdaptationJob) -> dict[str, Any]:
        folder = self._folder / str(job.id)
        told = _lines(folder / PROGRESS)
        result: dict[str, Any] | None = None
        with suppress(OSError):
            result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        if job.is_cancelled:
            status = CANCELLED
        elif result is not None:
            status = FAILED if "error" in result else DONE
        else:
            status = RUNNING if _is_running(folder) else INTERRUPTED
        return {
            "id": job.id, "project": job.project_id, "settings": job.settings, "status": status,
            "trials": [one["trial"] for one in told if "trial" in one],
            "lines": [one["line"] for one in told if "line" in one],
            "result": result, "has_model": (folder / MODEL).exists(),
        }  # fmt: skip

    def cancel(self, owner: str, number: int) -> None:
        """End the process of an adaptation."""
        job = self._job(owner, number)
        with self._sessions.begin() as session:
            session.merge(job).is_cancelled = True
        folder = self._folder / str(number)
        process = next((one["process"] for one in _lines(folder / PROGRESS) if "process" in one), None)
        # The number of a process that has ended may be that of another by now: the lock says whether it is ours.
        if isinstance(process, int) and _is_running(folder):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        elif (child := _children.get(folder)) is not None:
            child.kill()

    def file(self, owner: str, number: int, name: str) -> Path:
        """Return a file of an adaptation: its model or its report."""
        path = self._folder / str(self._job(owner, number).id) / {"model": MODEL, "report": REPORT}[name]
        if not path.exists():
            raise NotFound(f"adaptation {number} has no {name}: the model stayed as it was, or it is not done yet")
        return path

    def with_models(self, owner: str) -> list[int]:
        """Return the numbers of the adaptations of a token that have made a model."""
        query = select(AdaptationJob.id).where(AdaptationJob.owner == owner).order_by(AdaptationJob.id)
        with self._sessions() as session:
            return [number for number in session.scalars(query) if (self._folder / str(number) / MODEL).exists()]

    def use(self, owner: str, name: str) -> None:
        """Let a model be the one that the pages of a token begin with."""
        with self._sessions.begin() as session:
            session.merge(Setting(key=IN_USE + owner, value=name))
        self._in_use[owner] = name

    def in_use(self, owner: str) -> str | None:
        """Return the model that the pages of a token begin with, None if none was chosen."""
        if owner not in self._in_use:
            with self._sessions() as session:
                found = session.get(Setting, IN_USE + owner)
            self._in_use[owner] = None if found is None else found.value
        return self._in_use[owner]


# Processes that this server started and that have not ended.
_children: dict[Path, subprocess.Popen[bytes]] = {}


def _wait(folder: Path, process: subprocess.Popen[bytes]) -> None:
    process.wait()
    del _children[folder]


def _is_running(folder: Path) -> bool:
    if folder in _children:
        return True
    try:
        with exclusive(folder / LOCK):
            return False
    except (InUse, OSError):
        return True


def _lines(path: Path) -> list[dict[str, Any]]:
    found = []
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            # The last line of a process that was killed may be half of one.
            with suppress(ValueError):
                found.append(json.loads(line))
    return found
