"""What a pipeline returns: a `Document` of parsed sentences, and their words, tokens and entities.

`doc.sentences[i].words[j]` is a `Word` with the columns of CoNLL-U as attributes. A `ParsedSentence` holds the input of
a model (`sentence`) and a predicted tree (`tree`); words and all else are made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

from treetune.corpus.blocks import Source
from treetune.corpus.conllu import format_conllu, read_conllu
from treetune.corpus.rawtext import lay_out, surface_tokens, token_spans
from treetune.corpus.sentence import Sentence, Tree, comment_value
from treetune.corpus.spans import ENTITY_KEY, spans_of
from treetune.corpus.tags import read_column
from treetune.corpus.word import Entity, Token, Word
from treetune.errors import DataError

# What `repr` shows of a text, and how many sentences of a document a notebook draws.
_SHOWN_CHARACTERS = 60
_DRAWN_SENTENCES = 20


class ParsedSentence:
    """A sentence with the tree that a parser predicted; a sequence of its words.

    `sentence` is the input of the parser with all columns, `tree` its output: use these, `heads` and `deprels` where
    speed counts. Without a parser the tree is `Tree.unknown`.
    """

    __slots__ = ("_children", "_score", "_word_spans", "_words", "sentence", "tree")

    def __init__(self, sentence: Sentence, tree: Tree, *, score: float | Callable[[], float] | None = None) -> None:
        self.sentence = sentence
        self.tree = tree
        self._score = score
        self._words: tuple[Word, ...] | None = None
        self._word_spans: tuple[tuple[int, int], ...] | None = None
        self._children: list[list[int]] | None = None

    @property
    def words(self) -> tuple[Word, ...]:
        """The words, `words[0]` the first."""
        if self._words is None:
            self._words = tuple(Word(self, word) for word in range(1, len(self.tree.heads)))
        return self._words

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens as they are written: a multiword token is one token of several words."""
        pairs = zip(surface_tokens(self.sentence), self._token_spans(), strict=True)
        return tuple(Token(self, surface, span) for surface, span in pairs)

    @property
    def root(self) -> Word:
        """The root of the tree; DataError if there is none."""
        if not self.tree.roots:
            raise DataError("this sentence has no tree, and so no root; parse it with a pipeline that has a parser")
        return self.words[self.tree.roots[0] - 1]

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The named entities, of a pipeline with an entity tagger: ``ner=B-PER`` in MISC; empty without."""
        return self.spans(ENTITY_KEY)

    def spans(self, key: str) -> tuple[Entity, ...]:
        """Return the spans of IOB tags under another key of MISC, such as ``chunk``."""
        found = spans_of(read_column(self.sentence, key))
        return tuple(Entity(self.words[span.start - 1 : span.end - 1], span.label) for span in found)

    @property
    def score(self) -> float | None:
        """The score of the tree under the model, higher is better; None if there is no parser.

        Computed on first access, which takes as long as parsing the sentence; in a k-best list it is there already. A
        sentence that was pickled before does not know it.
        """
        if callable(self._score):
            self._score = self._score()
        return self._score

    @property
    def heads(self) -> tuple[int, ...]:
        """The heads of the words, `heads[0]` that of the first word."""
        return self.tree.heads[1:]

    @property
    def deprels(self) -> tuple[str, ...]:
        """The dependency relations of the words, `deprels[0]` that of the first word."""
        return self.tree.labels[1:]

    @property
    def text(self) -> str:
        """The sentence as it is written."""
        if not len(self):
            return ""
        text, (start,) = lay_out([self.sentence])
        return text[start : start + token_spans(self.sentence)[-1][1]]

    @property
    def sent_id(self) -> str | None:
        """The sentence identifier in the comments, None if there is none."""
        return comment_value(self.sentence, "sent_id")

    @property
    def comments(self) -> tuple[str, ...]:
        """The comment lines of CoNLL-U."""
        return self.sentence.comments

    @property
    def start_char(self) -> int:
        """The offset of the first character in the text of the document."""
        return self.sentence.start_char

    @property
    def end_char(self) -> int:
        """The offset after the last character in the text of the document."""
        return self._token_spans()[-1][1] if len(self) else self.start_char

    @property
    def word_spans(self) -> tuple[tuple[int, int], ...]:
        """The start and end offsets of all words."""
        if self._word_spans is None:
            found: list[tuple[int, int]] = []
            for token, span in zip(surface_tokens(self.sentence), self._token_spans(), strict=True):
                found += spans_in_token(self.sentence.forms[token.first : token.last], token.form, span)
            self._word_spans = tuple(found)
        return self._word_spans

    @property
    def child_ids(self) -> list[list[int]]:
        """The ids of the dependents of each word, in order; `child_ids[0]` are the roots."""
        if self._children is None:
            self._children = [[] for _ in self.tree.heads]
            for head, word, _ in self.tree.arcs():
                self._children[head].append(word)
        return self._children

    def to_conllu(self) -> str:
        """Return the sentence as CoNLL-U, the empty line after it included."""
        return format_conllu(self.sentence, self.tree)

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence, ready for JSON; `tokens` are the multiword tokens."""
        content: dict[str, Any] = {} if self.sent_id is None else {"sent_id": self.sent_id}
        content |= {"text": self.text, "words": [word.to_dict() for word in self.words]}
        lists = {
            "tokens": [token.to_dict() for token in self.tokens if len(token.words) > 1],
            "entities": [entity.to_dict() for entity in self.entities],
        }
        return content | {name: found for name, found in lists.items() if found}

    def _token_spans(self) -> list[tuple[int, int]]:
        first = self.start_char
        return [(first + start, first + end) for start, end in token_spans(self.sentence)]

    def _repr_html_(self) -> str:
        from treetune.corpus.tree_svg import tree_svg

        return f'<div style="overflow-x: auto">{tree_svg(self.sentence, self.tree)}</div>'

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.tree)

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Word, ...]: ...
    def __getitem__(self, index: int | slice) -> Word | tuple[Word, ...]:
        """Return word number `index`, counted from 0, or some words in a row."""
        return self.words[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParsedSentence):
            return NotImplemented
        return self.sentence == other.sentence and self.tree == other.tree

    def __hash__(self) -> int:
        return hash((self.sentence, self.tree))

    def __reduce__(self) -> tuple[Any, ...]:
        # The score that is not computed yet would take the whole model along.
        return _restored, (self.sentence, self.tree, None if callable(self._score) else self._score)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<ParsedSentence: {_shortened(self.text)!r}>"


class Document:
    """The parsed sentences of a text; a sequence of `ParsedSentence`.

    Args:
        sentences: Parsed sentences, in order.
        text: The text they were split from. Without it the text is made from the tokens and what MISC says of the
            spaces between them (``SpaceAfter=No``), and the offsets of words are offsets in this text.
    """

    __slots__ = ("sentences", "text")

    def __init__(self, sentences: Iterable[ParsedSentence], text: str | None = None) -> None:
        self.sentences: Sequence[ParsedSentence] = tuple(sentences)
        if text is None:
            text, starts = lay_out(parsed.sentence for parsed in self.sentences)
            self.sentences = tuple(map(_moved, self.sentences, starts))
            text = text.removesuffix(" ")
        self.text = text

    @classmethod
    def from_conllu(cls, source: Source) -> Document:
        """Read a CoNLL-U file, or lines of one, as a document; trees may be partial, enhanced graphs are left out."""
        return cls(ParsedSentence(example.sentence, example.gold) for example in read_conllu(source, partial=True))

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The named entities of all sentences."""
        return tuple(entity for sentence in self.sentences for entity in sentence.entities)

    def to_conllu(self) -> str:
        """Return the document as CoNLL-U."""
        return "".join(sentence.to_conllu() for sentence in self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the document, ready for JSON."""
        return {"text": self.text, "sentences": [sentence.to_dict() for sentence in self.sentences]}

    def _repr_html_(self) -> str:
        drawn = [sentence._repr_html_() for sentence in self.sentences[:_DRAWN_SENTENCES]]
        if (more := len(self) - len(drawn)) > 0:
            drawn.append(f"<p>… {more} more sentences</p>")
        return "\n".join(drawn)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.sentences)

    def __iter__(self) -> Iterator[ParsedSentence]:
        return iter(self.sentences)

    @overload
    def __getitem__(self, index: int) -> ParsedSentence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ParsedSentence]: ...
    def __getitem__(self, index: int | slice) -> ParsedSentence | Sequence[ParsedSentence]:
        """Return sentence number `index`, counted from 0, or some sentences in a row."""
        return self.sentences[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document):
            return NotImplemented
        return self.text == other.text and self.sentences == other.sentences

    def __hash__(self) -> int:
        return hash((self.text, self.sentences))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        size = f"{len(self)} sentence{'' if len(self) == 1 else 's'}"
        return f"<Document of {size}: {_shortened(self.text)!r}>"


def spans_in_token(forms: Sequence[str], token: str, span: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the offsets of the words of a token: parts of it if they make it up, else all of it for each."""
    if len(forms) == 1 or "".join(forms) != token:
        return [span] * len(forms)
    found, start = [], span[0]
    for form in forms:
        found.append((start, start + len(form)))
        start += len(form)
    return found


def _moved(parsed: ParsedSentence, start: int) -> ParsedSentence:
    if parsed.start_char == start:
        return parsed
    return ParsedSentence(replace(parsed.sentence, start_char=start), parsed.tree, score=parsed._score)


def _restored(sentence: Sentence, tree: Tree, score: float | None) -> ParsedSentence:
    return ParsedSentence(sentence, tree, score=score)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
