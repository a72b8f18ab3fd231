"""Documents, each a text of its own, to their CoNLL-U; a bad one is told apart from the others by its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from treetune.corpus.sentence import Example, Sentence, Tree
from treetune.errors import DataError, type_of
from treetune.models.file_parsing import FileParsing

_NEW_DOCUMENT = "# newdoc"


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A document in CoNLL-U, and how much is in it."""

    conllu: str
    sentences: int
    words: int


class DocumentParser:
    """Parses documents together, because sentences share batches; the result is the same as one by one."""

    def __init__(self, parsing: FileParsing, *, ranges: bool = False, line_sentences: bool | None = None) -> None:
        self._parsing = parsing
        self._ranges = ranges
        self._line_sentences = line_sentences

    def parse(self, texts: Sequence[object], ids: Sequence[object] | None = None) -> list[ParsedText | DataError]:
        """Return each document, or what is wrong with it; its id, if there is one, goes to ``# newdoc id``."""
        split = [self._split(text, name) for text, name in zip(texts, ids or [None] * len(texts), strict=True)]
        sound = [one for one in split if not isinstance(one, DataError)]
        try:
            parsed = self._together(sound)
        except Exception:
            parsed = iter([self._alone(sentences) for sentences in sound])
        return [one if isinstance(one, DataError) else next(parsed) for one in split]

    def _split(self, text: object, name: object) -> list[Sentence] | DataError:
        if not isinstance(text, str):
            return DataError(f"expected text, found {type_of(text)}")
        try:
            text.encode()
            head = _NEW_DOCUMENT if name is None else f"{_NEW_DOCUMENT} id = {_one_line(name)}"
            pipeline = self._parsing.pipeline
            sentences = list(pipeline.split(text, ranges=self._ranges, line_sentences=self._line_sentences))
        except UnicodeEncodeError as error:
            return DataError(f"expected text, found the lone surrogate {error.object[error.start]!r}")
        except DataError as error:
            return error
        if sentences:
            comments = tuple(head if line == _NEW_DOCUMENT else line for line in sentences[0].comments)
            sentences[0] = replace(sentences[0], comments=comments)
        return sentences

    def _together(self, split: Sequence[list[Sentence]]) -> Iterator[ParsedText | DataError]:
        examples = [Example(one, Tree.unknown(len(one))) for sentences in split for one in sentences]
        texts = iter(list(self._parsing.parse(examples)) if examples else [])
        return iter([_joined(sentences, list(islice(texts, len(sentences)))) for sentences in split])

    def _alone(self, sentences: list[Sentence]) -> ParsedText | DataError:
        try:
            return next(self._together([sentences]))
        except DataError as error:
            return error
        except Exception as error:
            # Among billions of documents one may meet what nobody has; it must not stop the others.
            return DataError(f"{type(error).__name__}: {error}")


def _joined(sentences: list[Sentence], texts: list[str]) -> ParsedText:
    return ParsedText("".join(texts), len(sentences), sum(map(len, sentences)))


def _one_line(name: object) -> str:
    text = str(name)
    text.encode()
    if len(text.splitlines()) > 1:
        raise DataError(f"expected an id without line breaks, found {text!r}")
    return text
