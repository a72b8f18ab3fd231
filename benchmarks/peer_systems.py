"""UDPipe 1 and spaCy behind the interface of `systems.py`, and as commands: read a file, parse it, write it.

Kept apart from treetune, so that a command imports nothing of it:
``python -m benchmarks.peer_systems udpipe MODEL SOURCE TARGET beam_search=5``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import conllu_columns
from benchmarks.conllu_columns import Arcs


class UDPipe:
    """A UDPipe 1 model; `options` are those of its parser, such as ``beam_search=1``."""

    def __init__(self, model: Path, options: str) -> None:
        from ufal import udpipe

        self._udpipe = udpipe
        self._model = udpipe.Model.load(str(model))
        self._options = options

    def prepare(self, path: Path) -> Callable[[], Any]:
        """Read sentence objects; the timed call fills in their heads and labels."""
        sentences = self._read(path)

        def parse() -> Any:
            for sentence in sentences:
                self._model.parse(sentence, self._options)
            return sentences

        return parse

    def arcs(self, outputs: Any) -> list[Arcs]:
        """Return heads and labels without UDPipe's own root node."""
        found = []
        for sentence in outputs:
            nodes = list(sentence.words)[1:]
            found.append(([node.head for node in nodes], [node.deprel for node in nodes]))
        return found

    def convert(self, source: Path, target: Path) -> None:
        """Read, parse and write with UDPipe."""
        writer = self._udpipe.OutputFormat.newConlluOutputFormat()
        pieces = []
        for sentence in self._read(source):
            self._model.parse(sentence, self._options)
            pieces.append(writer.writeSentence(sentence))
        target.write_text("".join(pieces) + writer.finishDocument(), encoding="utf-8")

    def _read(self, path: Path) -> list[Any]:
        reader = self._udpipe.InputFormat.newConlluInputFormat()
        reader.setText(path.read_text(encoding="utf-8"))
        sentences = []
        sentence = self._udpipe.Sentence()
        while reader.nextSentence(sentence):
            sentences.append(sentence)
            sentence = self._udpipe.Sentence()
        return sentences


class Spacy:
    """A spaCy pipeline that holds a parser and nothing else."""

    def __init__(self, model: Path) -> None:
        import spacy

        self._doc = spacy.tokens.Doc
        self._nlp = spacy.load(model)
        self._parser = self._nlp.get_pipe("parser")

    def prepare(self, path: Path) -> Callable[[], Any]:
        """Make fresh Docs, since spaCy keeps the sentence bounds that an earlier parse has set."""
        docs = self._docs(conllu_columns.sentences(path))
        return lambda: list(self._parser.pipe(docs, batch_size=self._nlp.batch_size))

    def arcs(self, outputs: Any) -> list[Arcs]:
        """Return heads and labels; a token that is its own head hangs on the root."""
        found = []
        for doc in outputs:
            heads = [0 if token.head.i == token.i else token.head.i + 1 for token in doc]
            found.append((heads, ["root" if token.dep_ == "ROOT" else token.dep_ for token in doc]))
        return found

    def convert(self, source: Path, target: Path) -> None:
        """Parse with spaCy; read and write here, because spaCy does not write CoNLL-U."""
        blocks = list(conllu_columns.sentences(source))
        answers = self.arcs(self._parser.pipe(self._docs(blocks), batch_size=self._nlp.batch_size))
        filled = map(conllu_columns.with_arcs, blocks, answers)
        conllu_columns.write_sentences(target, list(filled))

    def _docs(self, blocks: Any) -> list[Any]:
        return [self._doc(self._nlp.vocab, words=conllu_columns.words(lines)) for lines in blocks]


SYSTEMS: dict[str, Callable[..., Any]] = {"udpipe": UDPipe, "spacy": Spacy}


def command(system: str, model: Path, *options: str) -> Callable[[Path, Path], list[str]]:
    """Return a function from a file and the one to write to the command that parses the first."""
    start = [sys.executable, "-m", "benchmarks.peer_systems", system, str(model)]
    return lambda source, target: [*start, str(source), str(target), *options]


def main(system: str, model: str, source: str, target: str, *options: str) -> None:
    """Load a model, read a file, parse it and write it."""
    SYSTEMS[system](Path(model), *options).convert(Path(source), Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
