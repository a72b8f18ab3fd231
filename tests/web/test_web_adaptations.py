"""Adaptations in the background: progress, result, cancel; a server or a worker that is killed loses nothing."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra 'web'")
pytest.importorskip("sqlalchemy", reason="needs the extra 'web'")
if sys.platform == "win32":
    pytest.skip("processes are killed as POSIX does", allow_module_level=True)

from web_samples import QUERIES
from web_server import client_of, server, small_model, wait_for

import treetune
from treetune.corpus.conllu import read_conllu
from treetune.web.worker import run


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return small_model(tmp_path_factory.mktemp("model"))


def answer_all(post: Any, number: int, gold: dict[tuple[str, ...], int], *, most: int = 1000) -> int:
    """Answer by gold main verbs; return how many."""
    found = post(f"projects/{number}/next", {"annotator": "Ada"})
    for count in range(most):
        if (item := found["item"]) is None:
            return count
        value = gold[tuple(item["words"])]
        found = post(f"projects/{number}/answers", {"annotator": "Ada", "item": item["id"], "value": value})
    return most


def first_words(conllu: str) -> dict[tuple[str, ...], int]:
    """Return marks of first words, a strange convention, which a parser is sure to learn and not to know before."""
    return {one.sentence.forms[1:]: 1 for one in read_conllu(conllu.split("\n"))}


def test_a_model_is_adapted_in_the_background_and_used(tmp_path: Path, small: tuple[str, str]) -> None:
    path, conllu = small
    with client_of(tmp_path, {"small": path}) as client:

        def post(where: str, content: Any) -> Any:
            found = client.post(f"/api/v1/{where}", json=content)
            assert found.status_code < 300, found.text
            return found.json() if found.content else None

        made = post("projects", {"name": "questions", "text": conllu, "format": "conllu"})["id"]
        assert answer_all(post, made, first_words(conllu)) == 40
        job = post(f"projects/{made}/adaptations", {"folds": 2, "home": False, "convention": "ud"})
        assert job["sentences"] == 40
        assert job["warnings"][0].startswith("Answers about 40 sentences: a gain by so few is rarely significant")
        found = wait_for(lambda: client.get(f"/api/v1/adaptations/{job['id']}").json(), "done")
        assert [one["done"] for one in found["trials"]] == list(range(1, 13))
        assert found["trials"][0]["total"] == 13
        for one in found["trials"]:
            assert 0 <= one["cost"] <= 1
            assert one["root_accuracy"] == pytest.approx(1 - one["cost"])
        assert found["result"]["held_out"]["after"]["share"] > found["result"]["held_out"]["before"]["share"]
        assert found["result"]["p_value"] < 0.05
        assert found["has_model"]
        name = f"adapted-{job['id']}"
        assert client.get("/api/v1/models").json() == {"models": ["small", name], "in_use": "small"}
        post("use-model", {"model": name})
        assert client.get("/api/v1/models").json()["in_use"] == name
        model = client.get(f"/api/v1/adaptations/{job['id']}/model").content
        (tmp_path / "downloaded.treetune").write_bytes(model)
        assert treetune.load(tmp_path / "downloaded.treetune").is_trained
        assert "Held-out answers" in client.get(f"/api/v1/adaptations/{job['id']}/report").text
        for page in (f"/adaptations/{job['id']}", f"/projects/{made}", f"/projects/{made}/adapt", "/"):
            assert client.get(page).status_code == 200


def test_an_adaptation_is_cancelled(tmp_path: Path) -> None:
    with server(tmp_path) as running:
        job = start_on_queries(running)
        wait_for(lambda: with_process(running, job), "started", 60)
        running.post(f"adaptations/{job}/cancel")
        assert running.get(f"adaptations/{job}")["status"] == "cancelled"
        time.sleep(0.5)
        assert not is_alive(process_of(tmp_path, job))
        assert not (tmp_path / "treetune-adaptations" / str(job) / "result.json").exists()


def start_on_queries(running: Any) -> int:
    made = running.post("projects", {"name": "queries", "text": "\n".join(QUERIES)})["id"]
    answer_all(running.post, made, {tuple(text.split()): verb for text, verb in QUERIES.items()})
    job: int = running.post(f"projects/{made}/adaptations", {"folds": 2})["id"]
    return job


def with_process(running: Any, job: int) -> Any:
    found = running.get(f"adaptations/{job}")
    assert found["status"] == "running"
    return {"status": "started" if found["lines"] else "running"}


def process_of(folder: Path, job: int) -> int:
    first = (folder / "treetune-adaptations" / str(job) / "progress.jsonl").read_text().splitlines()[0]
    process: int = json.loads(first)["process"]
    return process


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][:1]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
def test_nothing_is_lost_when_the_server_is_killed(tmp_path: Path, small: tuple[str, str]) -> None:
    path, conllu = small
    gold = first_words(conllu)
    arguments = ("--model", f"small={path}", "--model", "en")
    with server(tmp_path, *arguments) as running:
        made = running.post("projects", {"name": "q", "text": conllu, "format": "conllu", "model": "small"})["id"]
        assert answer_all(running.post, made, gold, most=25) == 25
        running.kill()
    with server(tmp_path, *arguments) as running:
        assert running.get(f"projects/{made}")["answered"] == 25
        assert answer_all(running.post, made, gold) == 15
        job = running.post(f"projects/{made}/adaptations", {"folds": 2, "convention": "ud"})["id"]
        wait_for(lambda: with_process(running, job), "started", 60)
        worker = process_of(tmp_path, job)
        running.kill()
    # The training goes on without the server; here it is killed as well.
    if is_alive(worker):
        os.kill(worker, signal.SIGKILL)
    with server(tmp_path, *arguments) as running:
        found = wait_for(lambda: running.get(f"adaptations/{job}"), "done")
    folder = tmp_path / "treetune-adaptations" / str(job)
    again = tmp_path / "again"
    again.mkdir()
    for name in ("job.json", "answers.conllu"):
        (again / name).write_bytes((folder / name).read_bytes())
    run(again)
    assert (again / "model.treetune").read_bytes() == (folder / "model.treetune").read_bytes()
    assert found["result"]["is_adapted"]


@pytest.mark.slow
def test_a_training_outlives_its_server(tmp_path: Path) -> None:
    with server(tmp_path) as running:
        job = start_on_queries(running)
        wait_for(lambda: with_process(running, job), "started", 60)
        worker = process_of(tmp_path, job)
        running.kill()
    assert is_alive(worker)
    with server(tmp_path) as running:
        assert running.get(f"adaptations/{job}")["status"] == "running"
        assert process_of(tmp_path, job) == worker
        running.post(f"adaptations/{job}/cancel")
        time.sleep(0.5)
        assert not is_alive(worker)
