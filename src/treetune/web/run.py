"""The server process: a socket, and the application behind it."""

from __future__ import annotations

import gc
import socket

import uvicorn
from fastapi import FastAPI

from treetune.corpus.sentence import Sentence
from treetune.errors import ConfigError
from treetune.web.model_store import ModelStore
from treetune.web.server import create_app
from treetune.web.settings import Settings

# Connections that wait to be accepted.
BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; ConfigError if it cannot."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # On Linux and macOS a port can be taken again at once after a server has ended.
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(
            f"cannot listen at {host}, port {port} ({error.strerror or error}); name another with --host and --port"
        ) from None


def load_app(settings: Settings) -> FastAPI:
    """Return the application with all models of the operator, which have parsed something: none waits for kernels.

    Nothing is written before all of them are loaded.
    """
    models = ModelStore(settings.models, settings.jobs)
    for name in settings.models:
        pipeline = models.get(name)
        pipeline("One." if pipeline.tokenizer is not None else Sentence.of(["One", "."]))
    app = create_app(settings, models)
    # What is there by now stays: it need not be looked through for garbage again and again.
    gc.collect()
    gc.freeze()
    return app


def run(app: FastAPI, listening: socket.socket) -> None:
    """Serve until a signal ends the process."""
    with listening:
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, backlog=BACKLOG, server_header=False,
            timeout_keep_alive=30, timeout_graceful_shutdown=5,
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[listening])
