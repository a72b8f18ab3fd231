"""CoNLL-U files to their faults by the rules of Universal Dependencies: levels 1 and 2, the format and its values.

Level 1 is what `read_conllu` refuses. Level 2 checks comments and the values of columns, as far as that needs no
knowledge of a language. The official validator (`udtools`) checks more; messages here name line and column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from treetune.corpus.blocks import Block, Source, blocks, source_name
from treetune.corpus.diagnose import Row, faults
from treetune.corpus.faults import SentenceError
from treetune.corpus.layout import CONLLU, DEPREL, DEPS, HEAD, MISC, Mode
from treetune.corpus.rawtext import sentence_text
from treetune.corpus.sentence import ABSENT, comment_value
from treetune.corpus.table import example_of

UPOS_TAGS = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()  # noqa: SIM905
)
RELATIONS = frozenset(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl "  # noqa: SIM905
    "fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative "
    "xcomp".split()
)
_FEATURE = re.compile(r"[A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?=[A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*")
_RELATION = re.compile(r"[a-z]+(?::[a-z]+)?")
_ENHANCED = re.compile(r"(0|[1-9][0-9]*(?:\.[1-9][0-9]*)?):([a-z]+(?::[^:\s|]+)*)")
_UPOS, _FEATS = 3, 5


@dataclass(slots=True)
class UDChecker:
    """Checks files one after the other; sentence identifiers must be unique in all of them."""

    level: int = 2
    _ids: dict[str, str] = field(default_factory=dict)

    def check(self, source: Source) -> Iterator[SentenceError]:
        """Yield the faults of a file, in the order of sentences."""
        path = source_name(source)
        for block in blocks(source):
            found = list(faults(block, CONLLU, Mode(), path=path))
            if not found and self.level > 1:
                found = [_placed(fault, path) for fault in self._values(block, path)]
            yield from found

    def _values(self, block: Block, path: str | None) -> Iterator[SentenceError]:
        yield from self._comments(block, path)
        rows = [
            Row(number, line.split("\t"))
            for number, line in enumerate(block.text.split("\n"), start=block.line)
            if not line.startswith("#")
        ]
        ids = {row.cells[0] for row in rows} | {"0"}
        for row in rows:
            for column, problem in _row_problems(row, ids):
                yield SentenceError(problem, kind="values", line=row.line, column=CONLLU.columns[column])

    def _comments(self, block: Block, path: str | None) -> Iterator[SentenceError]:
        example = example_of(block.text, CONLLU, Mode(), lambda cell, _: cell)
        assert example is not None
        sentence = example.sentence
        name, text = comment_value(sentence, "sent_id"), comment_value(sentence, "text")
        place = f"{path or 'line'}:{block.line}"
        if name is None:
            yield SentenceError("expected a comment '# sent_id = …', found none", kind="comments", line=block.line)
        elif name in self._ids:
            problem = f"expected another sent_id than {name!r}, which is that of the sentence at {self._ids[name]}"
            yield SentenceError(problem, kind="comments", line=block.line)
        else:
            self._ids[name] = place
        written = sentence_text(sentence)
        if text is None:
            yield SentenceError("expected a comment '# text = …', found none", kind="comments", line=block.line)
        elif text != written:
            problem = f"expected the comment text to be that of the tokens, {written!r}, found {text!r}"
            yield SentenceError(problem, kind="comments", line=block.line)


def _placed(fault: SentenceError, path: str | None) -> SentenceError:
    fault.path = path
    fault.args = (str(fault),)
    return fault


def _row_problems(row: Row, ids: set[str]) -> Iterator[tuple[int, str]]:
    cells = row.cells
    if "-" in cells[0]:
        for column in (2, _UPOS, 4, _FEATS, DEPS):
            if cells[column] != ABSENT and not (column == _FEATS and cells[column] == "Typo=Yes"):
                yield column, f"expected {ABSENT} on the line of a multiword token, found {cells[column]!r}"
    elif (row.is_word or cells[_UPOS] != ABSENT) and cells[_UPOS] not in UPOS_TAGS:
        yield _UPOS, f"expected one of the 17 universal tags, found {cells[_UPOS]!r}"
    yield from ((_FEATS, problem) for problem in _feature_problems(cells[_FEATS]))
    if row.is_word:
        yield from ((DEPREL, problem) for problem in _relation_problems(cells[HEAD], cells[DEPREL]))
    if "-" not in cells[0]:
        yield from ((DEPS, problem) for problem in _enhanced_problems(cells[DEPS], ids))
    yield from ((MISC, problem) for problem in _misc_problems(cells[MISC]))


def _feature_problems(value: str) -> Iterator[str]:
    if value == ABSENT:
        return
    features = value.split("|")
    for feature in features:
        if not _FEATURE.fullmatch(feature):
            yield f"expected features such as Number=Sing, found {feature!r}"
    names = [feature.partition("=")[0] for feature in features]
    if len(set(names)) < len(names):
        yield f"expected each feature once, found {value!r}"
    elif names != sorted(names, key=str.lower):
        yield f"expected features sorted by name, found {value!r}"


def _relation_problems(head: str, label: str) -> Iterator[str]:
    if not _RELATION.fullmatch(label) or label.partition(":")[0] not in RELATIONS:
        yield f"expected a universal relation, with a subtype or without, found {label!r}"
    elif (head == "0") != (label.partition(":")[0] == "root"):
        yield f"expected root for the word with head 0 and no other, found {label!r} with head {head}"


def _enhanced_problems(value: str, ids: set[str]) -> Iterator[str]:
    if value == ABSENT:
        return
    heads = []
    for part in value.split("|"):
        match = _ENHANCED.fullmatch(part)
        if match is None or match[1] not in ids:
            yield f"expected a node of the sentence and a relation, as 2:nsubj, found {part!r}"
            return
        heads.append((float(match[1]), match[2]))
    if heads != sorted(set(heads)):
        yield f"expected enhanced relations sorted by head, each once, found {value!r}"


def _misc_problems(value: str) -> Iterator[str]:
    if value == ABSENT:
        return
    for part in value.split("|"):
        if not part or part != part.strip():
            yield f"expected values between | without spaces around them, found {value!r}"
            return
        if part.startswith("SpaceAfter=") and part != "SpaceAfter=No":
            yield f"expected SpaceAfter=No or nothing, found {part!r}"
