"""The systems under comparison behind one small interface: read (not timed), parse (timed), give arcs.

What the timed part holds: for treetune, from `Sentence` objects with strings to `Tree` objects; for UDPipe,
`Model.parse` on sentence objects it has read before; for spaCy, the parser's `pipe` with its embedding
network on ready-made `Doc` objects whose words are already in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import conllu_columns
import treetune
from conllu_columns import Arcs


class System(Protocol):
    """One loaded parser; `sees` says what it reads of a sentence."""

    sees: str

    def prepare(self, path: Path) -> Callable[[], Any]:
        """Read a blinded file; return the call to be timed, which parses all of it once."""
        ...

    def arcs(self, outputs: Any) -> list[Arcs]:
        """Return heads and labels of what the timed call returned."""
        ...

    def convert(self, source: Path, target: Path) -> None:
        """Read a file, parse it and write it, with the system's own reader and writer where it has them."""
        ...


class Treetune:
    """A treetune model, with the search it was trained for."""

    sees = "words, UPOS, XPOS"

    def __init__(self, model: Path) -> None:
        self._parser = treetune.load(model)

    def prepare(self, path: Path) -> Callable[[], Any]:
        """Read sentences; the timed call encodes and parses them on one thread."""
        sentences = [example.sentence for example in treetune.read_trees(path, trees=False)]
        return lambda: self._parser.predict_batch(sentences, threads=1)

    def arcs(self, outputs: Any) -> list[Arcs]:
        """Return heads and labels without the artificial root."""
        return [(list(tree.heads[1:]), list(tree.labels[1:])) for tree in outputs]

    def convert(self, source: Path, target: Path) -> None:
        """Read, parse and write with treetune."""
        sentences = [example.sentence for example in treetune.read_trees(source, trees=False)]
        trees = self._parser.predict_batch(sentences, threads=1)
        treetune.write_trees(map(treetune.Example, sentences, trees), target)


class UDPipe:
    """A UDPipe 1 model; `options` are those of its parser, such as ``beam_search=1``."""

    sees = "words, UPOS, XPOS"

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

    sees = "words"

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
