"""A server in a process of its own, and clients of the application without one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

import treetune
from treetune.corpus.conllu import format_conllu
from treetune.sample import generate
from treetune.web.run import listen
from treetune.web.server import create_app
from treetune.web.settings import Limits, Settings


@contextmanager
def client_of(folder: Path, models: dict[str, str] | None = None, **options: Any) -> Iterator[httpx.Client]:
    """Give a client of a server that runs in this process."""
    limits = Limits(**options.pop("limits", {}))
    app = create_app(Settings(models or {"en": "en"}, folder, limits=limits, **options))
    listening = listen("127.0.0.1", 0)
    running = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        address = f"http://localhost:{listening.getsockname()[1]}"
        with httpx.Client(base_url=address, timeout=60, transport=httpx.HTTPTransport(retries=3)) as client:
            yield client
    finally:
        running.should_exit = True
        thread.join(20)
        listening.close()


class Running:
    """A server process; `kill` ends it as a crash would."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        # Not the numba settings of the tests, but the compiled kernels.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "treetune", "serve", "--port", "0", "--folder", str(folder), *arguments],
            stderr=subprocess.PIPE, text=True, env={**os.environ},
        )  # fmt: skip
        assert self.process.stderr is not None
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if found := re.search(r"http://\S+?:\d+", line):
                self.address = found[0]
                break
        else:
            self.kill()
            raise AssertionError("".join(lines))
        # What is said later is read too, or the server would wait for that.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self._wait()

    def _wait(self) -> None:
        for _ in range(200):
            try:
                httpx.get(self.address + "/static/style.css")
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def post(self, path: str, content: Any = None) -> Any:
        answer = httpx.post(f"{self.address}/api/v1/{path}", json=content, timeout=60)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def get(self, path: str) -> Any:
        answer = httpx.get(f"{self.address}/api/v1/{path}", timeout=60)
        assert answer.status_code < 300, answer.text
        return answer.json()


@contextmanager
def server(folder: Path, *arguments: str) -> Iterator[Running]:
    running = Running(folder, *arguments)
    try:
        yield running
    finally:
        running.kill()


def small_model(folder: Path) -> tuple[str, str]:
    """Return the file of a parser that has seen declaratives alone, and questions as CoNLL-U."""
    parser = treetune.TransitionParser(beam=2).fit(generate(300, seed=3, kinds=("declarative",)), epochs=3)
    treetune.save(parser, folder / "small.treetune")
    questions = generate(40, seed=5, kinds=("yes-no", "wh"))
    return str(folder / "small.treetune"), "".join(format_conllu(one.sentence, one.gold) for one in questions)


def wait_for(status: Any, wanted: str, seconds: float = 240) -> Any:
    """Ask for a status until it is the wanted one."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = status()
        if found["status"] == wanted:
            return found
        assert found["status"] == "running", found
        time.sleep(0.2)
    raise AssertionError(found)
