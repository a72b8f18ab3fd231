"""The part of the interface for projects, answers and adaptations."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from treetune.corpus.conllu import read_conllu
from treetune.corpus.sentence import Sentence
from treetune.errors import DataError
from treetune.web import parsing
from treetune.web.adaptations import FEW
from treetune.web.questions import make_items
from treetune.web.requests import AdaptRequest, AnnotatorRequest, AnswerRequest, ProjectRequest, UseRequest
from treetune.web.server import Server, server_of

router = APIRouter(prefix="/api/v1", tags=["annotation"])
THREADS = 2


@router.post("/projects", status_code=201)
async def create(request: Request, given: ProjectRequest) -> dict[str, Any]:
    """Make a project of a text, or of CoNLL-U; the answer has its `id`."""
    server, owner = server_of(request), request.state.owner
    limits = server.settings.limits
    if server.projects.count(owner) >= limits.projects:
        raise DataError(f"expected at most {limits.projects} projects, found as many already; delete one")
    name = server.model_name(given.model, owner)

    def work() -> int:
        pipeline = server.models.get(name)
        items = make_items(pipeline, _sentences(server, name, given), given.question, given.order)
        if not items:
            raise DataError("expected sentences to ask about, found none; for arcs and trees they need two words")
        return server.projects.create(
            owner, items, name=parsing.clean(given.name), question=given.question, order=given.order, model=name,
            double_share=given.double_share,
        )  # fmt: skip

    return {"id": await server.queue.run(work)}


def _sentences(server: Server, name: str, given: ProjectRequest) -> list[Sentence]:
    limits = server.settings.limits
    if given.format == "conllu":
        examples = read_conllu(given.text.replace("\r\n", "\n").split("\n"), trees=False)
        found = [example.sentence for example in examples]
        if any(len(one) > limits.words for one in found):
            raise DataError(f"expected sentences of at most {limits.words} words, found a longer one; divide it")
    else:
        found = parsing.split(server.models.get(name), given.text, limits, lines=given.format == "lines")
    if len(found) > limits.project_sentences:
        raise DataError(f"expected at most {limits.project_sentences} sentences in a project, found {len(found)}")
    return [one for one in found if len(one)]


@router.get("/projects")
def listed(request: Request) -> list[dict[str, Any]]:
    """List the projects."""
    return server_of(request).projects.listed(request.state.owner)


@router.get("/projects/{number}")
def summary(request: Request, number: int) -> dict[str, Any]:
    """Return the progress of a project, its annotators and their agreement."""
    return server_of(request).projects.summary(request.state.owner, number)


@router.delete("/projects/{number}", status_code=204)
def delete(request: Request, number: int) -> None:
    """Remove a project and its answers."""
    server_of(request).projects.delete(request.state.owner, number)


@router.post("/projects/{number}/next")
def next_item(request: Request, number: int, given: AnnotatorRequest) -> dict[str, Any]:
    """Return the next question for an annotator."""
    return server_of(request).projects.next_item(request.state.owner, number, given.annotator)


@router.post("/projects/{number}/answers")
def answer(request: Request, number: int, given: AnswerRequest) -> dict[str, Any]:
    """Store an answer, and return the next question."""
    projects, owner = server_of(request).projects, request.state.owner
    projects.answer(
        owner, number, given.annotator, given.item, kind=given.kind, value=given.value, seconds=given.seconds
    )
    return projects.next_item(owner, number, given.annotator)


@router.post("/projects/{number}/undo")
def undo(request: Request, number: int, given: AnnotatorRequest) -> dict[str, Any]:
    """Take the last answer of an annotator back, and return its question."""
    return server_of(request).projects.undo(request.state.owner, number, given.annotator)


@router.get("/projects/{number}/disagreements")
def disagreements(request: Request, number: int) -> list[dict[str, Any]]:
    """List the questions that annotators answered differently."""
    return server_of(request).projects.disagreements(request.state.owner, number)


@router.post("/projects/{number}/adjudications", status_code=204)
def adjudicate(request: Request, number: int, given: AnswerRequest) -> None:
    """Settle a question on which annotators disagree."""
    server_of(request).projects.answer(
        request.state.owner, number, given.annotator, given.item, kind=given.kind, value=given.value,
        seconds=given.seconds, adjudication=True,
    )  # fmt: skip


@router.get("/projects/{number}/annotations.conllu")
def annotation_file(request: Request, number: int) -> Response:
    """Download what was said, as treetune adapt reads it."""
    text = server_of(request).projects.conllu(request.state.owner, number)
    name = {"Content-Disposition": f'attachment; filename="project-{number}.conllu"'}
    return Response(text, media_type="text/plain; charset=utf-8", headers=name)


@router.post("/projects/{number}/adaptations", status_code=201)
def adapt(request: Request, number: int, given: AdaptRequest) -> dict[str, Any]:
    """Start to adapt the model of a project to its answers, in the background; the answer has its `id`."""
    server, owner = server_of(request), request.state.owner
    project = server.projects.get(owner, number)
    answers, left_out = server.projects.answers(owner, number)
    if len(answers) < 2:
        raise DataError(f"expected answers about 2 sentences or more, to learn from and test on, found {len(answers)}")
    job = {
        "name": project.model, "model": server.models.path(project.model), "convention": given.convention,
        "folds": given.folds, "seed": given.seed, "treebank": server.settings.treebank if given.home else None,
        "threads": THREADS, "sentences": len(answers),
    }  # fmt: skip
    text = server.projects.conllu(owner, number)
    found = server.adaptations.start(owner, number, text, job, most=server.settings.limits.adaptations)
    return {"id": found, "sentences": len(answers), "left_out": left_out, "warnings": warnings_about(server, answers)}


def warnings_about(server: Server, answers: Any) -> list[str]:
    """Return what a user should know before adapting."""
    found = []
    if len(answers) < FEW:
        found.append(
            f"Answers about {len(answers)} sentences: a gain by so few is rarely significant, and then the model stays "
            "as it was. Most is gained by arcs and trees, or by more sentences."
        )
    if server.settings.treebank is None:
        found.append(
            "No sentences of the home domain: the model is held near to where it was instead. Start the server with "
            "--treebank to learn them along."
        )
    return found


@router.get("/adaptations/{number}")
def adaptation(request: Request, number: int) -> dict[str, Any]:
    """Return the status of an adaptation, its trials so far and its result."""
    return server_of(request).adaptations.get(request.state.owner, number)


@router.post("/adaptations/{number}/cancel", status_code=204)
def cancel(request: Request, number: int) -> None:
    """End an adaptation."""
    server_of(request).adaptations.cancel(request.state.owner, number)


@router.get("/adaptations/{number}/model")
def model_file(request: Request, number: int) -> Response:
    """Download the adapted model."""
    path = server_of(request).adaptations.file(request.state.owner, number, "model")
    return FileResponse(path, filename=f"adapted-{number}.treetune", media_type="application/octet-stream")


@router.get("/adaptations/{number}/report")
def report(request: Request, number: int) -> Response:
    """Download the report of an adaptation, one HTML page."""
    path = server_of(request).adaptations.file(request.state.owner, number, "report")
    return FileResponse(path, filename=f"adaptation-{number}.html", media_type="text/html")


@router.post("/use-model", status_code=204)
def use_model(request: Request, given: UseRequest) -> None:
    """Let a model be the one that is taken when none is named."""
    server, owner = server_of(request), request.state.owner
    server.adaptations.use(owner, server.model_name(given.model, owner))
