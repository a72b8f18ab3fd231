"""A sentence and its tree to what `treetune parse` writes: CoNLL-U, CoNLL-X, a line of JSON, or a drawing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from treetune.cli.drawing import draw_tree
from treetune.corpus.conllu import format_conllu
from treetune.corpus.conllx import format_conllx
from treetune.corpus.rawtext import misc_value, sentence_text
from treetune.corpus.sentence import ABSENT, UNKNOWN_HEAD, Sentence, Tree

_COLUMNS = {"lemma": "lemmas", "upos": "upos", "xpos": "xpos", "feats": "feats", "misc": "misc"}


def format_json(sentence: Sentence, tree: Tree) -> str:
    """Return a sentence as one line of JSON; what is absent or unknown is left out."""
    content: dict[str, Any] = {"meta": dict(map(_pair, sentence.comments))}
    content["meta"].setdefault("text", sentence_text(sentence))
    content["words"] = [_word(sentence, tree, word) for word in range(1, len(sentence) + 1)]
    if sentence.multiword:
        content["multiword"] = [_multiword(line) for _, line in sentence.multiword]
    return json.dumps(content, ensure_ascii=False) + "\n"


def format_drawing(sentence: Sentence, tree: Tree) -> str:
    """Return the text of a sentence above its tree, or its words and tags if it has no tree."""
    if not tree.roots:
        rows = zip(sentence.forms[1:], sentence.upos[1:], sentence.xpos[1:], strict=True)
        lines = ["  ".join(value for value in row if value != ABSENT) for row in rows]
        return "\n".join([sentence_text(sentence), "", *lines]) + "\n\n"
    return f"{sentence_text(sentence)}\n\n{draw_tree(sentence, tree)}\n\n"


FORMATTERS: dict[str, Callable[[Sentence, Tree], str]] = {
    "conllu": format_conllu,
    "conllx": format_conllx,
    "json": format_json,
    "tree": format_drawing,
}


def _pair(comment: str) -> tuple[str, str]:
    key, _, value = comment.lstrip("# ").partition("=")
    return key.strip(), value.strip()


def _word(sentence: Sentence, tree: Tree, word: int) -> dict[str, Any]:
    found: dict[str, Any] = {"id": word, "form": sentence.forms[word]}
    for name, column in _COLUMNS.items():
        value = getattr(sentence, column)[word]
        if value != ABSENT:
            found[name] = value
    if tree.heads[word] != UNKNOWN_HEAD:
        found |= {"head": tree.heads[word], "label": tree.labels[word]}
    return found | _place(sentence.misc[word])


def _multiword(line: str) -> dict[str, Any]:
    columns = line.split("\t")
    first, _, last = columns[0].partition("-")
    found: dict[str, Any] = {"first": int(first), "last": int(last), "form": columns[1]}
    if columns[9] != ABSENT:
        found["misc"] = columns[9]
    return found | _place(columns[9])


def _place(misc: str) -> dict[str, int]:
    noted = misc_value(misc, "TokenRange")
    if noted is None:
        return {}
    start, _, end = noted.partition(":")
    return {"start": int(start), "end": int(end)}
