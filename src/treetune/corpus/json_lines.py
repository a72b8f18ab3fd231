"""JSON lines to examples and back: one sentence, or one document with ``sentences``, an object a line.

The shape is that of `ParsedSentence.to_dict` and `Document.to_dict`: a sentence has ``words``, each with ``text`` and
what is known of ``lemma``, ``upos``, ``xpos``, ``feats``, ``head`` (0 for the root), ``deprel``, ``start_char``,
``end_char`` and ``misc``; ``tokens`` are its multiword tokens. So that CoNLL-U survives, ``comments`` has its comment
lines, ``deps`` of a word and ``empty_nodes`` its enhanced graph. What is read is checked by the rules of CoNLL-U.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from treetune.corpus.blocks import Block, Source, source_name
from treetune.corpus.diagnose import faults
from treetune.corpus.document import ParsedSentence
from treetune.corpus.faults import SentenceError, SkipReport
from treetune.corpus.files import read_lines
from treetune.corpus.layout import CONLLU, Mode
from treetune.corpus.sentence import ABSENT, Enhanced, Example, Sentence, Tree
from treetune.corpus.table import example_of
from treetune.corpus.word import Token

_CELLS = ("id", "text", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_LISTS = {"tokens": 'objects with "id" and "text"', "empty_nodes": "lines", "comments": "lines that begin with #"}
_KIND = "JSON of another shape"


def read_json(
    source: Source,
    *,
    strict: bool = True,
    partial: bool = False,
    trees: bool = True,
    report: SkipReport | None = None,
) -> Iterator[Example]:
    """Yield the sentences of JSON lines, a file or lines of text; the options are those of `read_conllu`."""
    report = SkipReport() if report is None else report
    lines = read_lines(source) if isinstance(source, str | os.PathLike) else source
    for number, line in enumerate(lines, start=1):
        try:
            for content in _sentences(line):
                example = _example(content, Mode(partial, trees))
                report.read += 1
                yield example
        except SentenceError as fault:
            fault.path, fault.line = source_name(source), number
            fault.args = (str(fault),)
            if strict:
                raise
            report.add(fault)


def format_json(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> str:
    """Return a sentence as one line of JSON; what is absent or unknown is left out."""
    return json.dumps(sentence_to_dict(sentence, tree, enhanced), ensure_ascii=False) + "\n"


def format_json_k_best(sentence: Sentence, candidates: Sequence[tuple[Tree, float]]) -> str:
    """Return a sentence with its best tree, and the k-best list, trees with their scores, as ``candidates``."""
    content = sentence_to_dict(sentence, candidates[0][0])
    content["candidates"] = [
        {"score": score, "heads": list(tree.heads[1:]), "deprels": list(tree.labels[1:])} for tree, score in candidates
    ]
    return json.dumps(content, ensure_ascii=False) + "\n"


def sentence_to_dict(sentence: Sentence, tree: Tree, enhanced: Enhanced | None = None) -> dict[str, Any]:
    """Return a sentence and its tree as what JSON can hold; see the module."""
    parsed = ParsedSentence(sentence, tree)
    content = parsed.to_dict()
    content["comments"] = list(sentence.comments)
    if sentence.multiword:
        tokens = {token.words[0].id: token for token in parsed.tokens}
        content["tokens"] = [_multiword(line, tokens[first]) for first, line in sentence.multiword]
    if enhanced is not None:
        for word, deps in zip(content["words"], enhanced.deps[1:], strict=True):
            if deps != ABSENT:
                word["deps"] = deps
        if enhanced.empty_nodes:
            content["empty_nodes"] = [line for _, line in enhanced.empty_nodes]
    return content


def _multiword(line: str, token: Token) -> dict[str, Any]:
    """Return a multiword token with all columns that its line has."""
    pairs = zip(_CELLS, line.split("\t"), strict=True)
    # An underscore is a form like any other.
    cells = {name: cell for name, cell in pairs if cell != ABSENT or name == "text"}
    ids = [int(word) for word in cells.pop("id").split("-")]
    return {"id": ids, **cells, "start_char": token.start_char, "end_char": token.end_char}


def _sentences(line: str) -> Iterator[dict[str, Any]]:
    """Yield the sentences of one line: of a document, or the one there is."""
    if not line.strip():
        return
    try:
        content = json.loads(line)
    except ValueError as error:
        raise SentenceError(f"expected a JSON object a line: {error}", kind="lines that are not JSON") from None
    if isinstance(content, dict) and "order" in content and "words" not in content:
        raise SentenceError("expected a sentence, found a word order; read it as orders", kind=_KIND)
    documents = content.get("sentences") if isinstance(content, dict) else None
    for one in [content] if documents is None else documents:
        words = one.get("words") if isinstance(one, dict) else None
        if not isinstance(words, list) or not words or not all(isinstance(word, dict) for word in words):
            raise SentenceError('expected an object with "words", a list of objects with "text"', kind=_KIND)
        yield one


def _example(content: dict[str, Any], mode: Mode) -> Example:
    """Return the example in a JSON object, read by way of the lines that CoNLL-U would have."""
    tokens = {token["id"][0]: token for token in _listed(content, "tokens", _is_token)}
    after: dict[str, list[str]] = {}
    for line in _listed(content, "empty_nodes", _is_line):
        after.setdefault(line.partition(".")[0], []).append(line)
    rows = after.get("0", [])
    for number, word in enumerate(content["words"], start=1):
        if number in tokens:
            first, last = tokens[number]["id"]
            rows.append(_row({**tokens[number], "id": f"{first}-{last}"}))
        rows += [_row({"id": number, **word}), *after.get(str(number), ())]
    text = "\n".join(rows)
    example = example_of(text, CONLLU, mode, lambda cell, _: cell)
    if example is None:
        fault = next(faults(Block(1, text), CONLLU, mode))
        name = rows[(fault.line or 1) - 1].partition("\t")[0]
        raise SentenceError(f"word {name}: {fault.problem}", kind=fault.kind, column=fault.column)
    start = content["words"][0].get("start_char", 0)
    sentence = replace(example.sentence, comments=_comments(content), start_char=start if isinstance(start, int) else 0)
    return replace(example, sentence=sentence)


def _listed(content: dict[str, Any], key: str, fits: Callable[[Any], bool]) -> list[Any]:
    values = content.get(key, [])
    if not isinstance(values, list) or not all(map(fits, values)):
        raise SentenceError(f'expected "{key}" as a list of {_LISTS[key]}', kind=_KIND)
    return values


def _is_token(value: Any) -> bool:
    fits = isinstance(value, dict) and isinstance(value.get("id"), list) and len(value["id"]) == 2
    return fits and all(isinstance(word, int) for word in value["id"])


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and "\n" not in value


def _row(word: dict[str, Any]) -> str:
    if "text" not in word:
        raise SentenceError(f'word {word["id"]}: expected "text", found none', kind=_KIND)
    cells = [ABSENT if word.get(name) in (None, "") else word[name] for name in _CELLS]
    for name, cell in zip(_CELLS, cells, strict=True):
        if not isinstance(cell, str | int) or set(str(cell)) & set("\t\r\n"):
            problem = f'word {word["id"]}: expected "{name}" without tabs and line breaks, found {cell!r}'
            raise SentenceError(problem, kind=_KIND)
    return "\t".join(map(str, cells))


def _comments(content: dict[str, Any]) -> tuple[str, ...]:
    if "comments" in content:
        return tuple(_listed(content, "comments", lambda line: _is_line(line) and line.startswith("#")))
    return tuple(f"# {key} = {content[key]}" for key in ("sent_id", "text") if _is_line(content.get(key)))
