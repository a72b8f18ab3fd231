"""The systems under comparison behind one interface: read (not timed), parse (timed), return arcs; and their scores.

What the timed part holds: for treetune, from `Sentence` objects with strings to `Tree` objects; for UDPipe,
`Model.parse` on sentence objects it has read before; for spaCy, the parser's `pipe` with its embedding
network on ready-made `Doc` objects whose words are already in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import treetune
from benchmarks import conllu_columns
from benchmarks.conllu_columns import Arcs
from treetune import Tree, read_trees
from treetune.cli.parse import TABLE
from treetune.corpus.conllu import format_table
from treetune.corpus.files import write_texts
from treetune.corpus.table import read_tables
from treetune.evaluation import evaluate_trees

# What the official scorer may be told about enhanced graphs; nothing of it concerns trees.
_ENHANCED_OPTIONS = (
    "no_gapping",
    "no_shared_parents_in_coordination",
    "no_shared_dependents_in_coordination",
    "no_control",
    "no_external_arguments_of_relative_clauses",
    "no_case_info",
    "no_empty_nodes",
)


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
        """Read, parse and write as `treetune parse` does."""
        tables = read_tables(source, size=TABLE)
        write_texts((format_table(table, self._parser.predict_batch(table)) for table in tables), target)


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


def own_scores(gold: Path, predicted: Path) -> dict[str, float]:
    """Return UAS and LAS by `treetune.evaluate`, per cent."""
    # Not by treetune's reader, which refuses the several roots that spaCy may give a sentence.
    answers = map(conllu_columns.arcs, conllu_columns.sentences(predicted))
    trees = [Tree.of(heads, labels) for heads, labels in answers]
    scores = evaluate_trees(read_trees(gold), trees)
    without = evaluate_trees(read_trees(gold), trees, subtypes=False)
    return {"UAS": 100 * scores.uas, "LAS": 100 * scores.las, "LAS_without_subtypes": 100 * without.las}


def official_scores(gold: Path, predicted: Path, metrics: Sequence[str] = ("UAS", "LAS")) -> dict[str, float]:
    """Return F1 by the official scorer, to which ``nmod:poss`` and ``nmod`` are the same; tokens may differ."""
    from udtools import udeval

    options = {**dict.fromkeys(_ENHANCED_OPTIONS, 0), "multiple_roots_okay": 1}
    scores = udeval.evaluate(*(udeval.load_conllu_file(str(path), options) for path in (gold, predicted)))
    return {name: 100 * scores[name].f1 for name in metrics}


def count_single_root_trees(predicted: Path) -> int:
    """Return how many sentences have a tree with exactly one root."""
    answers = map(conllu_columns.arcs, conllu_columns.sentences(predicted))
    return sum(conllu_columns.is_single_root_tree(heads) for heads, _ in answers)
