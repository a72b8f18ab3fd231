"""The interface parses as the library does, and says in one sentence what is wrong with a request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra 'web'")
pytest.importorskip("sqlalchemy", reason="needs the extra 'web'")

from web_server import client_of

import treetune
from treetune.web.parsing import sentence_content

TEXT = "She gave him a book. Time flies in Boston."


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with client_of(tmp_path_factory.mktemp("web"), {"en": "en", "other": "en"}) as found:
        yield found


def post(client: Any, path: str, **content: Any) -> Any:
    answer = client.post(f"/api/v1/{path}", json=content)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_parse_gives_what_the_pipeline_gives(client: Any) -> None:
    found = post(client, "parse", text=TEXT)
    assert found["model"] == "en"
    assert found["sentences"] == treetune.load("en")(TEXT).to_dict()["sentences"]


@pytest.mark.parametrize(
    "text",
    ["I don't  know.\n\nYes, we can't \t go. “Why?”  she asked…", "a  b", "  x y  ", "_ is _ .", "Ada saw New York."],
)
def test_sentences_are_those_of_the_library(text: str) -> None:
    for one in treetune.load("en")(text):
        assert sentence_content(one) == one.to_dict()


def test_constraints_are_kept_and_drawn(client: Any) -> None:
    fixed = [{"sentence": 1, "word": 1, "head": 0}, {"sentence": 0, "word": 3, "head": 2, "deprel": "obj"}]
    found = post(client, "parse", text=TEXT, constraints=fixed, draw=True, nlf=True)
    assert found["sentences"][1]["words"][0]["head"] == 0
    assert (found["sentences"][0]["words"][2]["head"], found["sentences"][0]["words"][2]["deprel"]) == (2, "obj")
    assert found["sentences"][0]["svg"].startswith("<svg")
    assert "#8250df" in found["sentences"][0]["svg"]
    assert found["sentences"][0]["conllu"].startswith("# ")
    assert found["sentences"][0]["nlf_svg"].startswith("<svg")
    assert ">LOC<" in found["sentences"][1]["svg"]


def test_k_best_lists_have_scores_and_differences(client: Any) -> None:
    (first, _) = post(client, "k-best", text=TEXT, k=3, draw=True)["sentences"]
    scores = [one["score"] for one in first["candidates"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert first["candidates"][0]["differs"] == []
    for one in first["candidates"][1:]:
        best, words = first["candidates"][0], range(1, len(first["words"]) + 1)
        arcs = [list(zip(tree["heads"], tree["deprels"], strict=True)) for tree in (best, one)]
        assert one["differs"] == [word for word in words if arcs[0][word - 1] != arcs[1][word - 1]] != []


def test_tag_gives_no_trees(client: Any) -> None:
    words = post(client, "tag", text=TEXT)["sentences"][0]["words"]
    assert words[0]["upos"] == "PRON"
    assert "head" not in words[0]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-ndjson"])
def test_a_batch_is_answered_line_by_line(client: Any, kind: str) -> None:
    lines = ["Time flies.", "She sleeps."] * 200
    body = "\n".join(lines if kind == "text/plain" else [json.dumps({"text": one, "id": 7}) for one in lines])
    with client.stream("POST", "/api/v1/batch", content=body.encode(), headers={"Content-Type": kind}) as answer:
        found = [json.loads(line) for line in answer.iter_lines()]
        assert answer.headers["content-type"] == "application/x-ndjson"
    assert len(found) == 400
    assert found[1]["sentences"] == treetune.load("en")("She sleeps.").to_dict()["sentences"]
    assert ("id" in found[0]) == (kind != "text/plain")


def test_a_bad_line_of_a_batch_does_not_stop_the_others(client: Any) -> None:
    body = '{"text": "Time flies."}\nnonsense\n{"text": "' + "word " * 600 + '"}\n{"text": "She sleeps."}\n'
    headers = {"Content-Type": "application/x-ndjson"}
    answer = client.post("/api/v1/batch?format=conllu", content=body.encode(), headers=headers)
    found = [json.loads(line) for line in answer.text.splitlines()]
    assert found[0]["conllu"].endswith("\n\n")
    assert found[1] == {"error": "expected a line of JSON with text, a string, found something else"}
    assert found[2] == {"error": "sentence 1: expected at most 500 words, found 600; divide it"}
    assert "conllu" in found[3]


def test_two_models_are_compared(client: Any) -> None:
    found = post(client, "compare", text=TEXT, models=["en", "other"])
    assert found["counts"] == {"words": 11, "heads": 0, "deprels": 0, "tags": 0, "sentences": 0}
    assert [len(one["svg"]) for one in found["sentences"]] == [2, 2]


def test_words_are_reordered_and_drawn(client: Any) -> None:
    (one,) = post(client, "reorder", text="She gave him a book.", to="ja")["sentences"]
    assert sorted(one["order"]) == [1, 2, 3, 4, 5, 6]
    assert one["reordered"] == " ".join(["She", "gave", "him", "a", "book", "."][place - 1] for place in one["order"])
    assert one["order"] != sorted(one["order"])
    assert one["svg"].startswith("<svg")


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("parse", {}, "text: expected a value, found none"),
        ("parse", {"text": 3}, "text: input should be a valid string, found 3"),
        ("parse", {"text": "a", "loss": "rm"}, "loss: there is no such field; the interface is described at /api"),
        ("parse", {"text": "a", "model": "/etc/passwd"}, "unknown model '/etc/passwd'; known: en, other"),
        ("parse", {"text": "w " * 501}, "sentence 1: expected at most 500 words, found 501; divide it"),
        (
            "parse",
            {"text": "One two.", "constraints": [{"sentence": 0, "word": 1}]},
            "constraints: expected a head or a deprel for each word, found neither",
        ),
        ("k-best", {"text": "a", "k": 51}, "k: expected at most 50, found 51"),
        ("k-best", {"text": "a", "k": 0}, "k: input should be greater than or equal to 1, found 0"),
        ("reorder", {"text": "a", "to": "../ja.toml"}, "unknown rule set '../ja.toml'; known: "),
        ("draw", {"words": ["a"], "heads": [1]}, "heads: expected numbers of other words, from -1 (unknown) to 1"),
        ("draw", {"words": ["a", "b"], "heads": [0]}, "expected 1 labels, one a head, found 2"),
    ],
)
def test_a_bad_request_is_answered_by_a_sentence(client: Any, path: str, content: Any, message: str) -> None:
    answer = client.post(f"/api/v1/{path}", json=content)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(message)


def test_what_is_not_there_is_said(client: Any) -> None:
    assert client.get("/api/v1/nothing").json() == {
        "error": "there is nothing at /api/v1/nothing; the interface is described at /api"
    }
    assert client.get("/api/v1/parse").status_code == 405
    page = client.get("/projects/999", headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert "there is no project 999; see the list of projects" in page.text


def test_a_full_queue_and_a_slow_request_are_answered(tmp_path: Path) -> None:
    with client_of(tmp_path, limits={"queue": 0}) as client:
        answer = client.post("/api/v1/parse", json={"text": "a"})
        assert answer.status_code == 429
        assert answer.json() == {"error": "the server has too many requests to do; try again in some seconds"}
    with client_of(tmp_path, limits={"seconds": 0.0001}) as client:
        answer = client.post("/api/v1/tag", json={"text": "a"})
        assert answer.status_code == 503
        assert "took too long" in answer.json()["error"]


def test_pages_and_schema_are_there(client: Any) -> None:
    for path in ("/", "/order", "/projects", "/api"):
        page = client.get(path)
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert "https://" not in page.text
    paths = client.get("/api/openapi.json").json()["paths"]
    assert {"/api/v1/parse", "/api/v1/k-best", "/api/v1/tag", "/api/v1/batch"} <= paths.keys()


@pytest.mark.parametrize("path", sorted((Path(treetune.__file__).parent / "web" / "static").iterdir()), ids=str)
def test_assets_ask_for_nothing_outside(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in text
    assert "https://" not in text
    assert "innerHTML" not in text
