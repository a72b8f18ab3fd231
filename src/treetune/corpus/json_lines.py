"""JSON lines to examples and back: one sentence, or one document with ``sentences``, an object a line.

A sentence has ``words``, each with ``text`` and what is known of ``lemma``, ``upos``, ``xpos``, ``feats``, ``head``,
``deprel``, ``start_char``, ``end_char``, ``deps`` and ``misc``; words count from 1 and the head of the root is 0.
``tokens`` are its multiword tokens, ``comments`` the lines that CoNLL-U has before a sentence. Cells are checked by the
rules of CoNLL-U, to which such a file can be converted without loss.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from treetune.corpus.blocks import Block, Source, source_name
from treetune.corpus.diagnose import faults
from treetune.corpus.faults import SentenceError, SkipReport
from treetune.corpus.files import read_lines
from treetune.corpus.layout import CONLLU, Mode
from treetune.corpus.rawtext import misc_value, sentence_text
from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD, Enhanced, Example, Sentence, Tree, comment_value
from treetune.corpus.table import example_of

_COLUMNS = {"lemma": "lemmas", "upos": "upos", "xpos": "xpos", "feats": "feats"}
_CELLS = ("id", "text", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
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
    content: dict[str, Any] = {}
    name = comment_value(sentence, "sent_id")
    if name is not None:
        content["sent_id"] = name
    content["text"] = comment_value(sentence, "text") or sentence_text(sentence)
    if sentence.comments:
        content["comments"] = list(sentence.comments)
    content["words"] = [_word(sentence, tree, word) for word in range(1, len(sentence) + 1)]
    if sentence.multiword:
        content["tokens"] = [_token(line) for _, line in sentence.multiword]
    if enhanced is not None:
        for word, deps in zip(content["words"], enhanced.deps[1:], strict=True):
            if deps != ABSENT:
                word["deps"] = deps
        if enhanced.empty_nodes:
            content["empty_nodes"] = [line for _, line in enhanced.empty_nodes]
    return content


def _word(sentence: Sentence, tree: Tree, word: int) -> dict[str, Any]:
    found: dict[str, Any] = {"id": word, "text": sentence.forms[word]}
    for name, column in _COLUMNS.items():
        value = getattr(sentence, column)[word]
        if value != ABSENT:
            found[name] = value
    if tree.heads[word] != UNKNOWN_HEAD:
        found["head"] = tree.heads[word]
    if tree.labels[word]:
        found["deprel"] = tree.labels[word]
    return found | _offsets_and_misc(sentence.misc[word])


def _token(line: str) -> dict[str, Any]:
    cells = line.split("\t")
    return {"id": [int(part) for part in cells[0].split("-")], "text": cells[1], **_offsets_and_misc(cells[9])}


def _offsets_and_misc(misc: str) -> dict[str, Any]:
    if misc == ABSENT:
        return {}
    noted = misc_value(misc, "TokenRange")
    if noted is None:
        return {"misc": misc}
    start, _, end = noted.partition(":")
    return {"start_char": int(start), "end_char": int(end), "misc": misc}


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
    tokens = {token["id"][0]: token for token in content.get("tokens", ()) if isinstance(token.get("id"), list)}
    after: dict[str, list[str]] = {}
    for line in content.get("empty_nodes", ()):
        after.setdefault(line.partition(".")[0], []).append(line)
    rows = after.get("0", [])
    for number, word in enumerate(content["words"], start=1):
        if number in tokens:
            rows.append(_row({**tokens[number], "id": "-".join(map(str, tokens[number]["id"]))}))
        rows += [_row({"id": number, **word}), *after.get(str(number), ())]
    text = "\n".join(rows)
    example = example_of(text, CONLLU, mode, lambda cell, _: cell)
    if example is None:
        fault = next(faults(Block(1, text), CONLLU, mode))
        cell = rows[(fault.line or 1) - 1].partition("\t")[0]
        raise SentenceError(f"word {cell}: {fault.problem}", kind=fault.kind, column=fault.column)
    return replace(example, sentence=replace(example.sentence, comments=tuple(_comments(content))))


def _row(word: dict[str, Any]) -> str:
    cells = [word.get(name, ABSENT) for name in _CELLS]
    for name, cell in zip(_CELLS, cells, strict=True):
        if not isinstance(cell, str | int) or isinstance(cell, bool) or set(str(cell)) & set("\t\r\n"):
            raise SentenceError(
                f'word {cells[0]}: expected "{name}" without tabs and line breaks, found {cell!r}', kind=_KIND
            )
    if "text" not in word:
        raise SentenceError(f'word {cells[0]}: expected "text", found none', kind=_KIND)
    return "\t".join(map(str, cells))


def _comments(content: dict[str, Any]) -> Iterable[str]:
    if "comments" in content:
        return content["comments"]  # type: ignore[no-any-return]
    return [f"# {key} = {content[key]}" for key in ("sent_id", "text") if key in content]
