"""Who may send which requests, and what a hostile text can do: nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra 'web'")
pytest.importorskip("sqlalchemy", reason="needs the extra 'web'")

from web_server import client_of

from treetune.web.security import POLICY
from treetune.web.settings import is_loopback

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"
HOSTILE = "<script>alert(1)</script> \x00\x1b[31m & \"quoted' \u202e <img src=x onerror=alert(1)> ]]>"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    with client_of(tmp_path) as found:
        yield found


def csrf_of(page: str) -> str:
    return page.partition('name="csrf" content="')[2].partition('"')[0]


def test_other_hosts_and_origins_are_refused(client: Any) -> None:
    answer = client.get("/", headers={"Host": "evil.example"})
    assert answer.status_code == 403
    assert answer.json()["error"].startswith("expected a request to localhost, found the host 'evil.example'")
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        answer = client.post("/api/v1/parse", json={"text": "a"}, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"].startswith("expected a request from a page of this server")


def test_a_browser_needs_the_csrf_token_of_its_page(client: Any) -> None:
    token = csrf_of(client.get("/").text)
    assert client.cookies["treetune_session"]
    same = {"Origin": str(client.base_url)}
    answer = client.post("/api/v1/tag", json={"text": "a"}, headers=same)
    assert answer.status_code == 403
    assert answer.json()["error"].startswith("expected the CSRF token of this page")
    good = {**same, "X-CSRF-Token": token}
    assert client.post("/api/v1/tag", json={"text": "a"}, headers=good).status_code == 200
    client.cookies.clear()
    assert client.post("/api/v1/tag", json={"text": "a"}, headers=good).status_code == 403
    # A program sends neither.
    assert client.post("/api/v1/tag", json={"text": "a"}).status_code == 200


def test_the_csrf_token_survives_a_restart(tmp_path: Path) -> None:
    with client_of(tmp_path) as client:
        token, session = csrf_of(client.get("/").text), client.cookies["treetune_session"]
    with client_of(tmp_path) as client:
        client.cookies.set("treetune_session", session)
        headers = {"Origin": str(client.base_url), "X-CSRF-Token": token}
        assert client.post("/api/v1/tag", json={"text": "a"}, headers=headers).status_code == 200


def test_pages_run_no_foreign_scripts(client: Any) -> None:
    answer = client.get("/")
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "<script>" not in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


def test_a_token_opens_the_server_and_its_own_projects(tmp_path: Path) -> None:
    with client_of(tmp_path, tokens=(TOKEN, OTHER)) as client:
        answer = client.get("/api/v1/models", headers={"Host": "some.host"})
        assert answer.status_code == 401
        assert answer.json()["error"].startswith("expected a token of this server")
        assert client.get("/", headers={"Accept": "text/html"}, follow_redirects=False).headers["location"] == "/login"
        wrong = client.post("/login", content="token=wrong")
        assert wrong.status_code == 401
        assert "Expected a token of this server" in wrong.text
        first, second = ({"Authorization": f"Bearer {one}"} for one in (TOKEN, OTHER))
        made = client.post("/api/v1/projects", json={"name": "a", "text": "Time flies."}, headers=first)
        number = made.json()["id"]
        assert client.get(f"/api/v1/projects/{number}", headers=first).status_code == 200
        assert client.get(f"/api/v1/projects/{number}", headers=second).status_code == 404
        assert client.get("/api/v1/projects", headers=second).json() == []
        assert client.post("/login", content=f"token={TOKEN}", follow_redirects=False).status_code == 303
        cookie = client.cookies["treetune_login"]
        assert TOKEN not in cookie
        assert client.get("/api/v1/projects").json()[0]["id"] == number


def test_bodies_and_projects_are_limited(tmp_path: Path) -> None:
    with client_of(
        tmp_path, limits={"body": 1000, "batch_body": 5000, "projects": 1, "project_sentences": 3}
    ) as client:
        answer = client.post("/api/v1/parse", json={"text": "a" * 1000})
        assert answer.status_code == 413
        assert answer.json() == {"error": "expected at most 1,000 bytes, found more; send less at a time"}

        def pieces() -> Iterator[bytes]:
            for _ in range(10):
                yield b"x" * 1000

        assert client.post("/api/v1/batch", content=pieces()).status_code == 413
        answer = client.post("/api/v1/projects", json={"name": "a", "text": "One.\n" * 4})
        assert answer.json() == {"error": "expected at most 3 sentences in a project, found 4"}
        assert client.post("/api/v1/projects", json={"name": "a", "text": "Time flies."}).status_code == 201
        answer = client.post("/api/v1/projects", json={"name": "a", "text": "Time flies."})
        assert answer.json()["error"].startswith("expected at most 1 projects, found as many already")


def test_hostile_text_is_escaped_everywhere(client: Any) -> None:
    found = client.post("/api/v1/parse", json={"text": HOSTILE, "draw": True, "nlf": True}).json()
    for one in found["sentences"]:
        for svg in (one["svg"], one.get("nlf_svg", "")):
            assert "<script" not in svg
            assert "<img" not in svg
            assert "\x00" not in svg
    made = client.post("/api/v1/projects", json={"name": HOSTILE[:90], "text": HOSTILE}).json()
    page = client.get(f"/projects/{made['id']}").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    client.cookies.clear()
    client.post(f"/api/v1/projects/{made['id']}/next", json={"annotator": "<b>Eve</b>"})
    assert client.post(f"/api/v1/projects/{made['id']}/next", json={"annotator": "\x1b"}).status_code == 422


def test_a_text_of_a_hundred_thousand_words_is_answered(client: Any) -> None:
    answer = client.post("/api/v1/parse", json={"text": "word " * 100_000})
    assert answer.status_code == 422
    assert answer.json()["error"] == "sentence 1: expected at most 500 words, found 1000; divide it"


def test_adaptations_take_no_losses(client: Any) -> None:
    made = client.post("/api/v1/projects", json={"name": "a", "text": "Time flies."}).json()
    answer = client.post(f"/api/v1/projects/{made['id']}/adaptations", json={"loss": "program:rm"})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("loss: there is no such field")


def test_loopback_addresses_are_known() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "localhost", "::1", "[::1]", "127.3.2.1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "localhost.evil.example", "")))
