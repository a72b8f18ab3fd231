"""Penn Treebank files (``.mrg``) to constituency trees: ``( (S (NP-SBJ (DT The) (NN cat)) (VP (VBD slept))))``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from treetune.corpus.files import StrPath, display_name, read_lines
from treetune.errors import DataError

_TOKEN = re.compile(r"[()]|[^\s()]+")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]"}
DEEPEST = 200
EMPTY = "-NONE-"


@dataclass(frozen=True, slots=True)
class Constituent:
    """A node of a constituency tree: a phrase with children, or a tag with its word (of a trace, `EMPTY`).

    `label` is the category with its function tags and index, ``NP-SBJ-1``.
    """

    label: str
    children: tuple[Constituent, ...] = ()
    word: str = ""

    @property
    def category(self) -> str:
        """The label without function tags and indices."""
        return self.label if self.label.startswith("-") else re.split(r"[-=|]", self.label, maxsplit=1)[0]

    @property
    def functions(self) -> frozenset[str]:
        """The function tags: SBJ, TMP, PRD, …"""
        return frozenset(self.label.replace("=", "-").split("-")[1:])

    def leaves(self) -> Iterator[Constituent]:
        """Yield the tags with words, traces too, from left to right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if not node.children:
                yield node
            waiting.extend(reversed(node.children))


def read_penn(path: StrPath) -> Iterator[Constituent]:
    """Yield the trees of a file.

    Raises:
        DataError: brackets that do not match, a node without label or content; the message has the line.
    """
    return parse_penn(read_lines(path), name=display_name(path))


def parse_penn(lines: Iterable[str], *, name: str | None = None) -> Iterator[Constituent]:
    """Yield the trees of lines of text; the outermost brackets, which have no label, are left out."""
    # Nodes that are still open: their line, label and children.
    stack: list[tuple[int, list[str], list[Constituent]]] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        for token in _TOKEN.findall(line):
            if token == "(":
                if len(stack) > DEEPEST:
                    raise DataError(f"expected at most {DEEPEST} levels of brackets", path=name, line=number)
                stack.append((number, [], []))
            elif not stack:
                raise DataError(f"expected '(', found {token!r}", path=name, line=number)
            elif token != ")":
                stack[-1][1].append(token)
            else:
                node = _close(*stack.pop()[1:], name, number)
                if stack:
                    stack[-1][2].append(node)
                else:
                    yield node.children[0] if not node.label and len(node.children) == 1 else node
    if stack:
        raise DataError("expected ')', found the end of the file", path=name, line=stack[0][0])


def _close(texts: list[str], children: list[Constituent], name: str | None, line: int) -> Constituent:
    if children and len(texts) <= 1:
        return Constituent(texts[0] if texts else "", tuple(children))
    if len(texts) != 2 or children:
        found = " ".join(texts) or "nothing"
        raise DataError(f"expected a tag and a word, or a label and phrases, found {found}", path=name, line=line)
    return Constituent(texts[0], word=_BRACKETS.get(texts[1], texts[1].replace("\\/", "/").replace("\\*", "*")))
