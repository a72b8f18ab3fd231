"""The tokenizer of a treetune model as the tokenizer of a spaCy pipeline: ``treetune.Tokenizer.v1``.

Tokens are syntactic words, and the sentence starts are set. *don't* becomes *do* and *n't*, as in spaCy. Words of a
multiword token that are not written in it (French *du* = *de le*) stand in the text of the `Doc` in its place,
separated by spaces; `doc._.treetune_offsets` then has the offsets of all tokens in the text that was given.
"""
# No postponed annotations: spaCy reads those of the factory.

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from treetune.corpus.document import ParsedSentence
from treetune.corpus.sentence import Tree
from treetune.errors import ModelError
from treetune.integrations.stored_model import StoredModel
from treetune.models.pipeline import Pipeline

OFFSETS = "treetune_offsets"
Offsets = list[tuple[int, int]]

if not Doc.has_extension(OFFSETS):
    Doc.set_extension(OFFSETS, default=None)


def make_tokenizer(model: str = "en") -> Callable[[Language], "SpacyTokenizer"]:
    """Return what makes the tokenizer of a spaCy pipeline; the factory ``treetune.Tokenizer.v1``."""

    def make(nlp: Language) -> SpacyTokenizer:
        return SpacyTokenizer(nlp.vocab, model)

    return make


class SpacyTokenizer(StoredModel):
    """Text to a spaCy `Doc` with tokens and sentence starts."""

    def __init__(self, vocab: Any, model: str) -> None:
        super().__init__(model)
        self.vocab = vocab

    @property
    def pipeline(self) -> Pipeline:
        """The model, which must have a tokenizer."""
        found = super().pipeline
        if found.tokenizer is None:
            raise ModelError(f"{self.model} has no tokenizer; name a model of raw text, or use a tokenizer of spaCy")
        return found

    def __call__(self, text: str) -> Doc:
        """Return the tokens of a text."""
        tokens = _Tokens(text)
        for sentence in self.pipeline.split(text):
            spans = ParsedSentence(sentence, Tree.unknown(len(sentence))).word_spans
            for word, (form, span) in enumerate(zip(sentence.forms[1:], spans, strict=True)):
                tokens.add(form, span, starts=word == 0)
        return tokens.doc(self.vocab)

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        """Yield the tokens of each text."""
        return map(self, texts)


class _Tokens:
    """The tokens of a text one after the other, white space as spaCy keeps it: beyond one space, a token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 0
        self.forms: list[str] = []
        self.spaces: list[bool] = []
        self.starts: list[bool | int | None] = []
        self.offsets: Offsets = []

    def add(self, form: str, span: tuple[int, int], *, starts: bool) -> None:
        if self.offsets and span == self.offsets[-1]:
            # Another word of the same multiword token.
            self.spaces[-1] = True
        else:
            # White space at the start of the text belongs to the first sentence.
            starts = not self._white_space(span[0]) and starts
        self._append(form, span, starts=starts or not self.forms)

    def doc(self, vocab: Any) -> Doc:
        self._white_space(len(self.text))
        doc = Doc(vocab, self.forms, self.spaces, sent_starts=self.starts)
        if doc.text != self.text:
            doc._.set(OFFSETS, self.offsets)
        return doc

    def _append(self, form: str, span: tuple[int, int], *, starts: bool) -> None:
        self.forms.append(form)
        self.spaces.append(False)
        self.starts.append(starts)
        self.offsets.append(span)
        self.end = span[1]

    def _white_space(self, until: int) -> bool:
        """Take over what stands before the next word; return whether it is at the start of the text."""
        if self.forms and self.text[self.end : until].startswith(" "):
            self.spaces[-1] = True
            self.end += 1
        is_first = not self.forms
        if rest := self.text[self.end : until]:
            self._append(rest, (self.end, until), starts=is_first)
        return bool(rest) and is_first
