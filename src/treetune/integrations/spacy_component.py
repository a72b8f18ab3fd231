"""A treetune model as a component of a spaCy pipeline: ``nlp.add_pipe("treetune", config={"model": "en"})``.

The tokens of the `Doc` are the words. It gets heads, dependency labels (``root`` as ``ROOT``, spaCy's name), parts of
speech, tags, morphology, lemmas and entities, as far as the model predicts them, and sentences, unless it has some.
White space that spaCy keeps as tokens is hidden from the model and attached to the word before it.
"""
# No postponed annotations: spaCy reads those of the factory.

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.parts_of_speech import IDS as POS_IDS
from spacy.tokens import Doc, Span

from treetune.corpus.document import ParsedSentence
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.word import Word
from treetune.errors import ModelError
from treetune.integrations.stored_model import StoredModel

EXTENSION = "treetune"
ROOT_LABEL, SPACE_LABEL, SPACE_TAG, SPACE_POS = "ROOT", "dep", "_SP", "SPACE"

# -1 as spaCy's arrays have it.
_NO_START = np.uint64(2**64 - 1)

if not Doc.has_extension(EXTENSION):
    Doc.set_extension(EXTENSION, default=None)


def make_component(nlp: Language, name: str, model: str, threads: int, k_best: int) -> "SpacyComponent":
    """Return the component; the factory ``treetune``."""
    return SpacyComponent(nlp.vocab, model, threads=threads, k_best=k_best)


Language.factory(
    "treetune",
    default_config={"model": "en", "threads": 1, "k_best": 0},
    assigns=["token.head", "token.dep", "token.pos", "token.tag", "token.morph", "token.lemma", "doc.sents", "doc.ents",
             f"doc._.{EXTENSION}"],
    func=make_component,
)  # fmt: skip


class SpacyComponent(StoredModel):
    """Annotates spaCy `Doc`s.

    Args:
        vocab: The vocabulary of the spaCy pipeline.
        model: The name or the path of a treetune model.
        threads: For tagging and parsing; the result is the same for any number.
        k_best: How many trees of each sentence to keep, with their scores, in `doc._.treetune`; 0: none.
    """

    def __init__(self, vocab: Any, model: str, *, threads: int = 1, k_best: int = 0) -> None:
        super().__init__(model)
        self.vocab = vocab
        self.threads = threads
        self.k_best = k_best

    def __call__(self, doc: Doc) -> Doc:
        """Annotate one document."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents, the sentences of `batch_size` of them together."""
        left = iter(stream)
        while docs := list(islice(left, batch_size)):
            divided = [self._sentences(doc) for doc in docs]
            words = [
                Sentence.of([doc[i].text for i in one])
                for doc, found in zip(docs, divided, strict=True)
                for one in found
            ]
            parsed = list(self.pipeline.parse(words, threads=self.threads))
            candidates = self._candidates(parsed)
            first = 0
            for doc, found in zip(docs, divided, strict=True):
                own = slice(first, first + len(found))
                self._annotate(doc, found, parsed[own])
                if self.k_best:
                    doc._.set(EXTENSION, [_listed(*pair) for pair in zip(found, candidates[own], strict=True)])
                first = own.stop
                yield doc

    def _sentences(self, doc: Doc) -> list[list[int]]:
        """Return the tokens of each sentence, those of white space left out."""
        if doc.has_annotation("SENT_START"):
            starts = [bool(token.is_sent_start) for token in doc]
        else:
            starts = self._starts(doc)
        found: list[list[int]] = []
        pending = True
        for token, is_start in zip(doc, starts, strict=True):
            pending = pending or is_start
            if not token.is_space:
                if pending:
                    found.append([])
                found[-1].append(token.i)
                pending = False
        return found

    def _starts(self, doc: Doc) -> list[bool]:
        """Return which tokens start a sentence by the tokenizer of the model."""
        if self.pipeline.tokenizer is None:
            raise ModelError(f"{self.model} has no tokenizer to find sentences by; add spaCy's 'sentencizer' before it")
        offsets = iter([sentence.start_char for sentence in self.pipeline.split(doc.text)])
        following = next(offsets, len(doc.text))
        starts = []
        for token in doc:
            starts.append(token.idx >= following)
            while token.idx >= following:
                following = next(offsets, len(doc.text))
        return starts

    def _candidates(self, parsed: Sequence[ParsedSentence]) -> list[list[tuple[Tree, float]]]:
        if not self.k_best or not parsed:
            return []
        if self.pipeline.parser is None:
            raise ModelError(f"{self.model} has no parser, and so no k-best trees; leave k_best out")
        sentences = [one.sentence for one in parsed]
        lists = self.pipeline.parser.k_best_batch(sentences, self.k_best, threads=self.threads)
        return [[(candidate.output, candidate.score) for candidate in candidates] for candidates in lists]

    def _annotate(self, doc: Doc, sentences: Sequence[list[int]], parsed: Sequence[ParsedSentence]) -> None:
        words = [word for one in parsed for word in one.words]
        if not words:
            return
        tokens = [i for one in sentences for i in one]
        columns = self._columns(words)
        array: Any = np.empty((len(doc), len(columns) + 1), np.uint64)
        for number, (values, of_space) in enumerate(columns.values()):
            array[:, number] = of_space
            array[tokens, number] = np.array(values, np.uint64)
        # Sentences follow from trees, where there are trees.
        if self.pipeline.parser is not None:
            array[:, -1] = _head_offsets(len(doc), sentences, parsed)
        else:
            array[:, -1] = _NO_START
            array[[one[0] for one in sentences], -1] = 1
        doc.from_array([*columns, "SENT_START" if self.pipeline.parser is None else "HEAD"], array)
        if self.pipeline.entity_tagger is not None:
            doc.set_ents(list(_entities(doc, sentences, parsed)))

    def _columns(self, words: Sequence[Word]) -> dict[str, tuple[list[int], int]]:
        """Return what is predicted of the words by the name of spaCy, and what tokens of white space get there."""
        add, columns = self.vocab.strings.add, {}
        if self.pipeline.parser is not None:
            labels = [ROOT_LABEL if word.head == 0 else word.deprel for word in words]
            columns["DEP"] = [add(label) for label in labels], add(SPACE_LABEL)
        if any(word.upos for word in words):
            columns["POS"] = [POS_IDS.get(word.upos, 0) for word in words], POS_IDS[SPACE_POS]
        if any(word.xpos for word in words):
            columns["TAG"] = [add(word.xpos) for word in words], add(SPACE_TAG)
        if any(word.feats for word in words):
            columns["MORPH"] = [self.vocab.morphology.add(word.feats) for word in words], 0
        if any(word.lemma for word in words):
            columns["LEMMA"] = [add(word.lemma) for word in words], 0
        return columns


def _head_offsets(size: int, sentences: Sequence[list[int]], parsed: Sequence[ParsedSentence]) -> NDArray[np.uint64]:
    """Return the distance of each token to its head, 0 for roots; white space goes with the word before it."""
    heads = np.arange(size)
    known = {i for one in sentences for i in one}
    first = sentences[0][0]
    for i in range(size):
        if i not in known:
            heads[i] = first if i < first else heads[i - 1] if i - 1 not in known else i - 1
    for tokens, one in zip(sentences, parsed, strict=True):
        for i, head in zip(tokens, one.heads, strict=True):
            heads[i] = tokens[head - 1] if head > 0 else i
    return (heads - np.arange(size)).astype(np.uint64)


def _entities(doc: Doc, sentences: Sequence[list[int]], parsed: Sequence[ParsedSentence]) -> Iterator[Span]:
    for tokens, one in zip(sentences, parsed, strict=True):
        for entity in one.entities:
            yield Span(doc, tokens[entity.words[0].id - 1], tokens[entity.words[-1].id - 1] + 1, label=entity.label)


def _listed(tokens: list[int], candidates: Sequence[tuple[Tree, float]]) -> dict[str, Any]:
    """Return the k-best list of a sentence as plain data, which spaCy can save with the document."""
    trees = [
        {
            "score": score,
            "heads": [tokens[head - 1] if head > 0 else i for i, head in zip(tokens, tree.heads[1:], strict=True)],
            "deps": [
                ROOT_LABEL if head == 0 else label for head, label in zip(tree.heads[1:], tree.labels[1:], strict=True)
            ],
        }
        for tree, score in candidates
    ]
    return {"tokens": tokens, "trees": trees}
