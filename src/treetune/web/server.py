"""The parts of a server, and the application that joins them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

import treetune
from treetune.errors import TreetuneError, unknown_name
from treetune.web.adaptations import Adaptations
from treetune.web.database import connect, engine_of, server_secret
from treetune.web.model_store import ADAPTED, ModelStore
from treetune.web.projects import NotFound, Projects
from treetune.web.request_queue import RequestQueue, TooManyRequests
from treetune.web.security import Guard, Security
from treetune.web.settings import Settings

STATIC = Path(__file__).with_name("static")
ABOUT = "Parse, tag and reorder text, ask annotators, adapt parsers. An answer with a status of 4xx has `error`."


@dataclass
class Server:
    """The parts of a server."""

    settings: Settings
    models: ModelStore
    queue: RequestQueue
    projects: Projects
    adaptations: Adaptations
    guard: Guard

    def names(self, owner: str) -> list[str]:
        """Return the names of the models that a token may use: the operator's, and those that were adapted by it."""
        return [*self.settings.models, *(f"{ADAPTED}{number}" for number in self.adaptations.with_models(owner))]

    def model_name(self, name: str | None, owner: str) -> str:
        """Return the name of a model: as given, or the one in use; ConfigError if it is not one of the `names`."""
        chosen = name or self.adaptations.in_use(owner) or self.models.default
        if chosen in self.settings.models:
            return chosen
        names = self.names(owner)
        if chosen in names:
            return chosen
        if name is None:
            return self.models.default
        raise unknown_name("model", name, names)


def create_app(settings: Settings, models: ModelStore | None = None) -> FastAPI:
    """Return the application of a server; without `models` they are loaded when they are asked for."""
    from treetune.web.annotation_api import router as annotation_routes
    from treetune.web.pages import router as pages
    from treetune.web.parsing_api import router as parsing_routes

    settings.folder.mkdir(parents=True, exist_ok=True)
    sessions = connect(settings.database_url)
    limits = settings.limits
    server = Server(
        settings=settings,
        models=models or ModelStore(settings.models, settings.jobs),
        queue=RequestQueue(limits.queue, limits.seconds),
        projects=Projects(sessions),
        adaptations=Adaptations(sessions, settings.jobs),
        guard=Guard(server_secret(sessions), settings.tokens, limits),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        server.adaptations.resume()
        yield
        server.queue.close()
        engine_of(sessions).dispose()

    # The pages of Swagger and ReDoc load scripts from elsewhere; /api is a page of our own.
    app = FastAPI(
        title="treetune", version=treetune.__version__, description=ABOUT, lifespan=lifespan,
        docs_url=None, redoc_url=None, openapi_url="/api/openapi.json",
    )  # fmt: skip
    app.state.server = server
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for router in (parsing_routes, annotation_routes, pages):
        app.include_router(router)
    _answer_errors(app)
    app.add_middleware(Security, guard=server.guard)
    return app


def server_of(request: Request) -> Server:
    """Return the server that a request came to."""
    found: Server = request.app.state.server
    return found


def _answer_errors(app: FastAPI) -> None:
    """Answer what goes wrong with one sentence: JSON for programs, a page for people."""

    def said(status: int) -> Any:
        return lambda request, error: _error(request, status, str(error))

    app.add_exception_handler(TreetuneError, said(422))
    app.add_exception_handler(NotFound, said(404))
    app.add_exception_handler(HTTPException, lambda request, error: _error(request, *_http_error(request, error)))
    app.add_exception_handler(RequestValidationError, lambda request, error: _error(request, 422, _first(error)))
    busy = "the server has too many requests to do; try again in some seconds"
    app.add_exception_handler(TooManyRequests, lambda request, error: _error(request, 429, busy))
    slow = "the request took too long; send less text at a time, or try again later"
    app.add_exception_handler(TimeoutError, lambda request, error: _error(request, 503, slow))


def _error(request: Request, status: int, message: str) -> Response:
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        from treetune.web.pages import page

        return page(request, "error.html", status=status, message=message)
    return JSONResponse({"error": message}, status, headers={"Retry-After": "5"} if status in (429, 503) else None)


def _http_error(request: Request, error: Any) -> tuple[int, str]:
    path = request.url.path
    if error.status_code == 404:
        return 404, f"there is nothing at {path}; the interface is described at /api"
    if error.status_code == 405:
        return 405, f"{path} does not take {request.method}; the interface is described at /api"
    return error.status_code, str(error.detail)


def _first(error: Any) -> str:
    """Return the first fault of a request in one sentence."""
    found = error.errors()[0]
    place = ".".join(str(part) for part in found["loc"] if part != "body") or "the body"
    if found["type"] == "json_invalid":
        return f"expected JSON, found something else at character {found['loc'][-1]}"
    if found["type"] == "extra_forbidden":
        return f"{place}: there is no such field; the interface is described at /api"
    if found["type"] == "missing":
        return f"{place}: expected a value, found none"
    shown = repr(found.get("input"))
    message = found["msg"][0].lower() + found["msg"][1:]
    return f"{place}: {message}, found {shown if len(shown) <= 80 else shown[:77] + '…'}"
