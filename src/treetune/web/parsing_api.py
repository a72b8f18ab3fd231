"""The part of the interface that parses, tags, compares and reorders."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from treetune.corpus.document import ParsedSentence
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.tree_svg import tree_svg
from treetune.errors import DataError
from treetune.reorder import rule_sets
from treetune.web import parsing
from treetune.web.requests import CompareRequest, DrawRequest, KBestRequest, OrderRequest, ParseRequest, TextRequest
from treetune.web.server import Server, server_of

router = APIRouter(prefix="/api/v1", tags=["parsing"])
# Lines of a batch that are parsed together.
LINES = 256


@router.get("/models")
def models(request: Request) -> dict[str, Any]:
    """List the models, and which is in use."""
    server = server_of(request)
    return {"models": server.names(request.state.owner), "in_use": server.model_name(None, request.state.owner)}


@router.get("/rule-sets")
def rules() -> dict[str, Any]:
    """List the rule sets for word orders."""
    return {"rule_sets": rule_sets()}


@router.post("/parse")
async def parse(request: Request, given: ParseRequest) -> Response:
    """Parse a text: tokens, tags, lemmas, entities, trees; with constraints, the best trees that contain them."""
    server = server_of(request)
    name = server.model_name(given.model, request.state.owner)
    limits, fixed = server.settings.limits, given.fixed()
    if fixed:
        work = partial(parsing.parse, server.models.get(name), given.text, limits, fixed)
        found = await server.queue.run(work)
    else:
        together = partial(_parse_together, server, name)
        found = await server.queue.run_with_others(("parse", name), given.text, together)
    _check_count(found, server, draw=given.draw or given.nlf)
    words: dict[int, list[int]] = {}
    for sentence, word in fixed:
        words.setdefault(sentence, []).append(word)
    content = [
        parsing.sentence_json(one, draw=given.draw, nlf=given.nlf, fixed=words.get(number, ()))
        for number, one in enumerate(found)
    ]
    return _json({"model": name, "sentences": content})


def _parse_together(server: Server, name: str, texts: Sequence[str]) -> Sequence[Any]:
    return parsing.parse_texts(server.models.get(name), texts, server.settings.limits)


def _check_count(found: Sequence[object], server: Server, *, draw: bool) -> None:
    if draw and len(found) > server.settings.limits.sentences:
        raise DataError(
            f"expected at most {server.settings.limits.sentences} sentences to draw, found {len(found)}; "
            "send less at a time, or to /api/v1/batch"
        )


@router.post("/k-best")
async def k_best(request: Request, given: KBestRequest) -> Response:
    """List the k best trees of each sentence, with scores and the words that differ from the best tree."""
    server = server_of(request)
    limits = server.settings.limits
    if given.k > limits.k:
        raise DataError(f"k: expected at most {limits.k}, found {given.k}")
    if len(given.text) > limits.sentences * 100:
        raise DataError(f"expected at most {limits.sentences * 100:,} characters, found {len(given.text):,}; send less")
    name = server.model_name(given.model, request.state.owner)
    found = await server.queue.run(
        lambda: parsing.k_best(server.models.get(name), given.text, given.k, limits, draw=given.draw)
    )
    return _json({"model": name, "sentences": found})


@router.post("/tag")
async def tag(request: Request, given: TextRequest) -> Response:
    """Tag a text, without trees."""
    server = server_of(request)
    name = server.model_name(given.model, request.state.owner)

    def work() -> list[Any]:
        pipeline = server.models.get(name)
        tagged = pipeline.tag(parsing.split(pipeline, given.text, server.settings.limits))
        return [ParsedSentence(one, Tree.unknown(len(one))).to_dict() for one in tagged]

    return _json({"model": name, "sentences": await server.queue.run(work)})


@router.post(
    "/batch",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"text/plain": {"schema": {"type": "string"}}, "application/x-ndjson": {"schema": {}}},
        }
    },
)
async def batch(request: Request, model: str | None = None, format: Literal["json", "conllu"] = "json") -> Response:  # noqa: A002
    """Parse many texts, one a line: plain text, or JSON with `text` (and `id`, which is given back).

    The answer has one line of JSON for each, as it is parsed: `sentences`, or `conllu`; or `error`.
    """
    server = server_of(request)
    name = server.model_name(model, request.state.owner)
    is_json = "json" in request.headers.get("content-type", "")
    lines = [line for line in (await request.body()).decode("utf-8", "replace").split("\n") if line.strip()]
    work = partial(_parse_lines, server, name, is_json, format)

    async def answers() -> AsyncIterator[bytes]:
        for start in range(0, len(lines), LINES):
            yield await server.queue.run(partial(work, lines[start : start + LINES]))

    return StreamingResponse(answers(), media_type="application/x-ndjson")


def _parse_lines(server: Server, name: str, is_json: bool, form: str, lines: Sequence[str]) -> bytes:
    given = [_line(line) if is_json else {"text": line} for line in lines]
    texts = [one.get("text", "") for one in given]
    found = _parse_together(server, name, texts)
    answers = []
    for one, sentences in zip(given, found, strict=True):
        content: dict[str, Any] = {"id": one["id"]} if "id" in one else {}
        if "error" in one or isinstance(sentences, Exception):
            content["error"] = one.get("error") or str(sentences)
        elif form == "conllu":
            content["conllu"] = "".join(sentence.to_conllu() for sentence in sentences)
        else:
            content["sentences"] = [parsing.sentence_content(sentence) for sentence in sentences]
        answers.append(json.dumps(content, ensure_ascii=False) + "\n")
    return "".join(answers).encode()


def _line(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        return {"error": "expected a line of JSON with text, a string, found something else"}
    return found


@router.post("/compare")
async def compare(request: Request, given: CompareRequest) -> Response:
    """Parse a text with two models, drawn, with what differs."""
    server = server_of(request)
    first, second = (server.model_name(name, request.state.owner) for name in given.models)
    limits = server.settings.limits
    if len(given.text) > limits.sentences * 100:
        raise DataError(f"expected at most {limits.sentences * 100:,} characters, found {len(given.text):,}; send less")
    found = await server.queue.run(
        lambda: parsing.compare(server.models.get(first), server.models.get(second), given.text, limits)
    )
    return _json({"models": given.models, **found})


@router.post("/reorder")
async def reorder(request: Request, given: OrderRequest) -> Response:
    """Put the words of a text into the order of another language, drawn."""
    server = server_of(request)
    name = server.model_name(given.model, request.state.owner)
    limits = server.settings.limits
    found = await server.queue.run(lambda: parsing.word_order(server.models.get(name), given.text, given.to, limits))
    return _json({"model": name, "sentences": found})


@router.post("/draw")
def draw(request: Request, given: DrawRequest) -> Response:
    """Draw a tree."""
    size, limits = len(given.words), server_of(request).settings.limits
    if size > limits.words:
        raise DataError(f"words: expected at most {limits.words}, found {size}")
    if not all(-1 <= head <= size and head != word for word, head in enumerate(given.heads, start=1)):
        raise DataError(f"heads: expected numbers of other words, from -1 (unknown) to {size}")
    sentence, tree = Sentence.of(given.words, upos=given.tags), Tree.of(given.heads, given.labels or [""] * size)
    if len(tree) != size:
        raise DataError(f"heads: expected {size}, one a word, found {len(tree)}")
    return _json({"svg": tree_svg(sentence, tree, marked=given.marked, mark=parsing.DIFFERS, numbers=True)})


def _json(content: Any) -> Response:
    # Without the checks of response models, which take longer than parsing.
    return Response(json.dumps(content, ensure_ascii=False), media_type="application/json")
