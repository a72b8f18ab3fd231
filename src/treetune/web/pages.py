"""The pages: HTML made on the server; what they do, their scripts do by the programming interface."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader

import treetune
from treetune.learning.conventions import CONVENTIONS
from treetune.learning.guideline import GUIDELINE
from treetune.reorder import rule_sets
from treetune.web.adaptations import FEW
from treetune.web.annotation_api import warnings_about
from treetune.web.questions import MAIN_VERB, ORDERS, TITLES
from treetune.web.security import LOGIN
from treetune.web.server import server_of

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_TEMPLATES = Environment(loader=PackageLoader("treetune.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True)


def page(request: Request, name: str, *, status: int = 200, **content: Any) -> Response:
    """Return a page."""
    shared = {"csrf": getattr(request.state, "csrf", ""), "version": treetune.__version__, "status": status}
    return HTMLResponse(_TEMPLATES.get_template(name).render(**shared, **content), status)


def _models(request: Request) -> dict[str, Any]:
    server, owner = server_of(request), request.state.owner
    return {"models": server.names(owner), "in_use": server.model_name(None, owner), "limits": server.settings.limits}


@router.get("/")
def parse_page(request: Request) -> Response:
    """Show the page that parses."""
    return page(request, "parse.html", here="parse", **_models(request))


@router.get("/order")
def order_page(request: Request) -> Response:
    """Show the page of word orders."""
    return page(request, "order.html", here="order", rule_sets=rule_sets(), **_models(request))


@router.get("/projects")
def projects_page(request: Request) -> Response:
    """Show the projects, and the form for a new one."""
    projects = server_of(request).projects.listed(request.state.owner)
    return page(
        request, "projects.html", here="projects", projects=projects, titles=TITLES, orders=ORDERS, **_models(request)
    )


@router.get("/projects/{number}")
def project_page(request: Request, number: int) -> Response:
    """Show the progress of a project."""
    server, owner = server_of(request), request.state.owner
    summary = server.projects.summary(owner, number)
    jobs = server.adaptations.listed(owner, number)
    return page(request, "project.html", here="projects", project=summary, jobs=jobs, titles=TITLES, orders=ORDERS)


@router.get("/projects/{number}/annotate")
def annotate_page(request: Request, number: int) -> Response:
    """Show the page that asks."""
    project = server_of(request).projects.get(request.state.owner, number)
    guideline = GUIDELINE if project.question == MAIN_VERB else ()
    return page(request, "annotate.html", here="projects", project=project, titles=TITLES, guideline=guideline)


@router.get("/projects/{number}/adjudicate")
def adjudicate_page(request: Request, number: int) -> Response:
    """Show the disagreements of a project."""
    project = server_of(request).projects.get(request.state.owner, number)
    return page(request, "adjudicate.html", here="projects", project=project, titles=TITLES)


@router.get("/projects/{number}/adapt")
def adapt_page(request: Request, number: int) -> Response:
    """Show the settings of an adaptation."""
    server, owner = server_of(request), request.state.owner
    answers, left_out = server.projects.answers(owner, number)
    return page(
        request, "adapt.html", here="projects", project=server.projects.summary(owner, number), count=len(answers),
        left_out=left_out, warnings=warnings_about(server, answers), conventions=CONVENTIONS, few=FEW,
        treebank=server.settings.treebank is not None, jobs=server.adaptations.listed(owner, number),
    )  # fmt: skip


@router.get("/adaptations/{number}")
def adaptation_page(request: Request, number: int) -> Response:
    """Show an adaptation as it goes on."""
    server, owner = server_of(request), request.state.owner
    return page(
        request, "adaptation.html", here="projects", job=server.adaptations.get(owner, number),
        in_use=server.model_name(None, owner),
    )  # fmt: skip


@router.get("/api")
def api_page(request: Request) -> Response:
    """Describe the programming interface."""
    schema = request.app.openapi()
    return page(request, "api.html", here="api", paths=schema["paths"], schemas=schema["components"]["schemas"])


@router.get("/login")
def login_page(request: Request) -> Response:
    """Ask for the token."""
    return page(request, "login.html", here="login", wrong=False)


@router.post("/login")
async def login(request: Request) -> Response:
    """Check the token, and remember it in a cookie that scripts cannot read."""
    given = parse_qs((await request.body()).decode("utf-8", "replace")).get("token", [""])[0]
    cookie = server_of(request).guard.login(given.strip())
    if cookie is None:
        return page(request, "login.html", status=401, here="login", wrong=True)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(LOGIN, cookie, httponly=True, samesite="strict", max_age=30 * 86400)
    return answer
