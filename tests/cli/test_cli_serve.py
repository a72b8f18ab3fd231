"""`treetune serve` says in one sentence why it cannot start, and starts nothing that is not asked for."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commandline import run

from treetune.cli import serve as command


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "NEEDED", ("fastapi_is_not_here",))
    done = run("serve")
    assert done.code == 2
    assert done.err == (
        "error: treetune serve needs fastapi_is_not_here; install them by: pip install 'treetune[web]'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "nowhere"), "nowhere"),
        (("--model", "a b=en"), "--model: expected a name of letters, digits, - and _ as in NAME=FILE, found 'a b'"),
        (("--model", "en", "--model", "en"), "--model: two models are called 'en'; give one another name"),
        (("--token", "short"), "--token: expected 16 characters or more, which cannot be guessed, found fewer"),
        (("--treebank", "nothing.conllu"), "nothing.conllu"),
    ],
)
def test_wrong_options_are_said_and_nothing_is_written(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastapi", reason="needs the extra 'web'")
    pytest.importorskip("sqlalchemy", reason="needs the extra 'web'")
    monkeypatch.chdir(tmp_path)
    done = run("serve", *arguments)
    assert done.code in (1, 2)
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_port_in_use_and_a_database_that_cannot_be_opened_are_said(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="needs the extra 'web'")
    pytest.importorskip("sqlalchemy", reason="needs the extra 'web'")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("serve", "--port", port, "--folder", tmp_path)
        assert f"cannot listen at 127.0.0.1, port {port}" in done.err
    for url in ("nonsense", "sqlite:////nowhere/at/all.db", "nodb://user:secret@host/x"):
        done = run("serve", "--port", 0, "--folder", tmp_path, "--database", url, "-q")
        assert done.code == 2
        assert "--database: expected an address like sqlite:///file.db" in done.err
        assert "secret" not in done.err


def test_another_host_makes_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi", reason="needs the extra 'web'")
    pytest.importorskip("sqlalchemy", reason="needs the extra 'web'")
    import treetune.web.run

    started: list[Any] = []
    monkeypatch.setattr(
        treetune.web.run, "run", lambda app, listening: started.append((app.state.server.settings, listening))
    )
    done = run("serve", "--host", "0.0.0.0", "--port", 0, "--folder", tmp_path)
    ((settings, listening),) = started
    listening.close()
    assert len(settings.tokens) == 1
    assert f"token: {settings.tokens[0]}\n" in done.err
    run("serve", "--port", 0, "--folder", tmp_path)
    assert started[1][0].tokens == ()
    started[1][1].close()


def test_no_other_command_imports_the_packages_of_the_web() -> None:
    heavy = "{'fastapi', 'sqlalchemy', 'uvicorn', 'jinja2'}"
    code = f"import sys; from treetune.cli import main; main(['info', 'en']); print(*{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
