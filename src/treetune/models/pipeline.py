"""Raw text to documents: a tokenizer, taggers, a lemmatizer and a parser as one model; any part may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, overload

from treetune.checked_state import expected
from treetune.corpus.batches import take_batch
from treetune.corpus.constraints import Constraints, partial_trees
from treetune.corpus.document import Document, ParsedSentence
from treetune.corpus.sentence import Sentence, Tree
from treetune.corpus.sentence_table import SentenceTable
from treetune.corpus.spans import ENTITY_KEY
from treetune.errors import ConfigError, DataError, ModelError, check_minimum, type_of
from treetune.models.base import Parser, Storable
from treetune.models.nested_state import parts_from_state, state_of_parts
from treetune.models.pipeline_parts import LemmatizerPart, TaggerPart, TokenizerPart, fill_in_tags

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Texts that `Pipeline.pipe` splits, tags and parses together.
PIPE_BATCH = 256

Context = TypeVar("Context")
KeepTags = Literal[False, True, "known"]

_TOKENIZER, _TAGGER, _LEMMATIZER, _PARSER = "tokenizer", "tagger", "lemmatizer", "parser"
_FILTER = "filter"


class Pipeline:
    """Text to sentences to tokens to tags and lemmas to trees: ``doc = nlp(text)``.

    Each tagger sees the tags of those before it; that of entities is the last. What no part can predict stays unknown:
    without a parser the trees are `Tree.unknown`. `learning.pipeline_training.train_pipeline` trains all parts. A
    pipeline can be pickled, and called from several threads at once.
    """

    kind: ClassVar[str] = "pipeline"

    def __init__(
        self,
        tokenizer: TokenizerPart | None = None,
        taggers: Sequence[TaggerPart] = (),
        parser: Parser | None = None,
        lemmatizer: LemmatizerPart | None = None,
    ) -> None:
        if not any((tokenizer, taggers, parser, lemmatizer)):
            raise ConfigError("expected a tokenizer, a tagger or a parser to make a pipeline of, found none")
        self.tokenizer = tokenizer
        self.taggers = tuple(taggers)
        self.lemmatizer = lemmatizer
        self.parser = parser
        for name, part in self.parts.items():
            wanted = name.rstrip("0123456789")
            if wanted != _role(part):
                raise ConfigError(f"expected a {wanted} as {wanted} of a pipeline, found a {_role(part)}")

    @classmethod
    def of(cls, model: Any) -> Pipeline:
        """Return a pipeline as it is, and any other model as a pipeline of one part.

        Raises ModelError for an arc filter, which is a part of graph parsers alone.
        """
        if isinstance(model, Pipeline):
            return model
        role = _role(model)
        if role == _FILTER:
            raise ModelError(
                "expected a parser, a tagger or a pipeline, found an arc filter; train a graph parser with it: "
                "treetune train TREEBANK --parser graph --filter FILE"
            )
        if role in (_TOKENIZER, _LEMMATIZER):
            return cls(**{role: model})
        return cls(taggers=[model]) if role == _TAGGER else cls(parser=model)

    @property
    def parts(self) -> dict[str, Storable]:
        """The parts by name, in processing order."""
        named: dict[str, Storable | None] = {_TOKENIZER: self.tokenizer}
        for number, tagger in enumerate(self.taggers, start=1):
            named[_TAGGER if len(self.taggers) == 1 else f"{_TAGGER}{number}"] = tagger
        named |= {_LEMMATIZER: self.lemmatizer, _PARSER: self.parser}
        return {name: part for name, part in named.items() if part is not None}

    def __repr__(self) -> str:
        """Return the names of its parts."""
        return f"<Pipeline of {', '.join(self.parts)}>"

    @property
    def simplest(self) -> Storable:
        """The pipeline, or its part if there is only one, as model files hold it."""
        parts = list(self.parts.values())
        return self if len(parts) > 1 else parts[0]

    @property
    def is_trained(self) -> bool:
        """Whether all parts are trained."""
        return all(part.is_trained for part in self.parts.values())

    def with_options(self, **options: Any) -> Pipeline:
        """Return a pipeline with the same weights and other search options of its parser."""
        if options and self.parser is None:
            raise ConfigError(f"this model has no parser, and no use for {', '.join(sorted(options))}")
        return self if self.parser is None else self.with_parser(self.parser.with_options(**options))

    def with_parser(self, parser: Parser) -> Pipeline:
        """Return a pipeline with the same parts but this parser."""
        return Pipeline(self.tokenizer, self.taggers, parser, self.lemmatizer)

    def with_taggers(self, taggers: Sequence[TaggerPart]) -> Pipeline:
        """Return a pipeline with the same parts but these taggers; its entity tagger stays, unless there is one."""
        own = self.entity_tagger
        kept = [] if own is None or any(map(finds_entities, taggers)) else [own]
        return Pipeline(self.tokenizer, [*taggers, *kept], self.parser, self.lemmatizer)

    @property
    def entity_tagger(self) -> TaggerPart | None:
        """The tagger that finds named entities; None if there is none."""
        return next(filter(finds_entities, self.taggers), None)

    @property
    def word_taggers(self) -> tuple[TaggerPart, ...]:
        """The taggers but that of named entities."""
        return tuple(one for one in self.taggers if not finds_entities(one))

    def with_entity_tagger(self, tagger: TaggerPart | None) -> Pipeline:
        """Return a pipeline with the same parts but this tagger of named entities, or without one."""
        if tagger is not None and not finds_entities(tagger):
            raise ConfigError(f"expected a tagger of {ENTITY_KEY}, found one of {', '.join(tagger.columns)}")
        more = () if tagger is None else (tagger,)
        return Pipeline(self.tokenizer, self.word_taggers + more, self.parser, self.lemmatizer)

    def __call__(self, text: str | Sentence, *, threads: int = 1, constraints: Constraints | None = None) -> Document:
        """Parse one text, or one sentence of given tokens; `pipe` parses many texts.

        Args:
            text: The text. A `Sentence` is tagged and parsed with the tokens that it has.
            threads: For tagging and parsing; the result is the same for any number.
            constraints: What the trees must contain. ``{(0, 2): 0}`` makes word 2 of sentence 0 the root: sentences
                count from 0 as in `doc.sentences`, words from 1 as in CoNLL-U, and the value is a head, a deprel or
                ``(head, deprel)``. Or partial trees (`treetune.Tree`, unknown heads -1), one a sentence.
        """
        sentences = [text] if isinstance(text, Sentence) else list(self.split(_one_text(text)))
        trees = None if constraints is None else partial_trees(sentences, constraints)
        parsed = self.parse(sentences, threads=threads, constraints=trees)
        return Document(parsed, None if isinstance(text, Sentence) else text)

    @overload
    def pipe(
        self, texts: Iterable[str], *, batch_size: int = ..., threads: int = ..., as_tuples: Literal[False] = ...
    ) -> Iterator[Document]: ...
    @overload
    def pipe(
        self,
        texts: Iterable[tuple[str, Context]],
        *,
        batch_size: int = ...,
        threads: int = ...,
        as_tuples: Literal[True],
    ) -> Iterator[tuple[Document, Context]]: ...
    def pipe(
        self, texts: Iterable[Any], *, batch_size: int = PIPE_BATCH, threads: int = 1, as_tuples: bool = False
    ) -> Iterator[Any]:
        """Yield the document of each text, in order; faster than one call a text, because sentences share batches.

        Args:
            texts: Texts, each a document of its own; an iterator is read as far as one batch needs.
            batch_size: How many texts are parsed together.
            threads: For tagging and parsing; the result is the same for any number.
            as_tuples: Whether `texts` are (text, context) pairs; then (document, context) pairs are yielded.
        """
        if isinstance(texts, str):
            raise DataError("expected several texts, found one; parse one text with nlp(text)")
        if not isinstance(texts, Iterable):
            raise DataError(f"expected several texts, found {type_of(texts)}")
        check_minimum("batch_size", batch_size, 1)
        check_minimum("threads", threads, 1)
        self._has_tokenizer()
        return self._piped(iter(texts), batch_size, threads, as_tuples=as_tuples)

    def _piped(self, left: Iterator[Any], batch_size: int, threads: int, *, as_tuples: bool) -> Iterator[Any]:
        while batch := list(islice(left, batch_size)):
            pairs = [_pair(item) for item in batch] if as_tuples else [(text, None) for text in batch]
            split = [list(self.split(_one_text(text))) for text, _ in pairs]
            parsed = self.parse((sentence for sentences in split for sentence in sentences), threads=threads)
            for (text, context), sentences in zip(pairs, split, strict=True):
                document = Document(islice(parsed, len(sentences)), text)
                yield (document, context) if as_tuples else document

    @overload
    def k_best(self, text: str, k: int, *, threads: int = ...) -> list[list[ParsedSentence]]: ...
    @overload
    def k_best(self, text: Sentence, k: int, *, threads: int = ...) -> list[ParsedSentence]: ...
    def k_best(
        self, text: str | Sentence, k: int, *, threads: int = 1
    ) -> list[list[ParsedSentence]] | list[ParsedSentence]:
        """Return the `k` best trees of a sentence, best first, each as a `ParsedSentence` with its `score`.

        Of a text, one such list for each of its sentences. A list is shorter only if there are fewer trees.
        """
        if self.parser is None:
            raise ModelError("this model has no parser, and so no k-best trees; load a pipeline with a parser")
        tagged = self.tag([text] if isinstance(text, Sentence) else list(self.split(_one_text(text))), threads=threads)
        lists = [
            [ParsedSentence(sentence, candidate.output, score=candidate.score) for candidate in candidates]
            for sentence, candidates in zip(tagged, self.parser.k_best_batch(tagged, k, threads=threads), strict=True)
        ]
        return lists[0] if isinstance(text, Sentence) else lists

    def with_confidence(self, document: Document, *, threads: int = 1) -> Document:
        """Return a document of this pipeline with the probability of each arc, `word.confidence`.

        The parser must be calibrated (`treetune calibrate`); takes some times as long as parsing.
        """
        if self.parser is None:
            raise ModelError("this model has no parser, and so no confidence; load a pipeline with a parser")
        from treetune.models.confidence import calibration_of  # loads numpy, which light commands go without

        calibration = calibration_of(self.parser)
        sentences = [parsed.sentence for parsed in document.sentences]
        lists = self.parser.k_best_batch(sentences, calibration.k, threads=threads)
        pairs = zip(sentences, lists, strict=True)
        found = [
            ParsedSentence(calibration.annotate(*pair), pair[1][0].output, score=pair[1][0].score) for pair in pairs
        ]
        return Document(found, document.text)

    def parse_text(
        self,
        text: str | Iterable[str],
        *,
        threads: int = 1,
        ranges: bool = False,
        line_sentences: bool | None = None,
    ) -> Iterator[ParsedSentence]:
        """Yield the sentences of one text as they are parsed; memory does not grow with the text.

        Args:
            text: All of it, or consecutive pieces, cut anywhere.
            threads: For tagging and parsing; the result is the same for any number.
            ranges: Whether to write offsets into MISC, as ``TokenRange=start:end``.
            line_sentences: Whether each line is one sentence (True), or line ends are white space (False). By default
                they are, but for lines that were ended on purpose: headings, and items of lists.
        """
        return self.parse(self.split(text, ranges=ranges, line_sentences=line_sentences), threads=threads)

    def split(
        self, text: str | Iterable[str], *, ranges: bool = False, line_sentences: bool | None = None
    ) -> Iterator[Sentence]:
        """Yield the sentences of a text, without tags and trees."""
        return self._has_tokenizer().sentences(text, ranges=ranges, line_sentences=line_sentences)

    def tables(
        self, pieces: Iterable[str], *, size: int, ranges: bool = False, line_sentences: bool | None = None
    ) -> Iterator[SentenceTable]:
        """Yield the sentences of a text in pieces, without tags and trees, as tables of up to `size`."""
        tokenizer = self._has_tokenizer()
        return tokenizer.tables(pieces, size=size, ranges=ranges, line_sentences=line_sentences)

    def _has_tokenizer(self) -> TokenizerPart:
        if self.tokenizer is None:
            raise ModelError("this model has no tokenizer; give it sentences of tokens, or train a pipeline")
        return self.tokenizer

    def parse(
        self,
        sentences: Iterable[Sentence],
        *,
        threads: int = 1,
        keep_tags: KeepTags = False,
        constraints: Iterable[Tree] | None = None,
    ) -> Iterator[ParsedSentence]:
        """Yield sentences of given tokens with tags and trees.

        Args:
            sentences: As they come; up to a thousand are parsed together.
            threads: For tagging and parsing; the result is the same for any number.
            keep_tags: Whether to keep the tags and lemmas that the sentences come with; ``"known"``: those that the
                taggers know.
            constraints: Partial trees, one a sentence, that the trees must contain (forced decoding).
        """
        if constraints is not None and self.parser is None:
            raise ModelError("this model has no parser, and no use for constraints; load a pipeline with a parser")
        left, fixed = iter(sentences), None if constraints is None else iter(constraints)
        while batch := take_batch(left):
            tagged = self.tag(batch, threads=threads, keep_tags=keep_tags)
            if self.parser is None:
                yield from (ParsedSentence(sentence, Tree.unknown(len(sentence))) for sentence in tagged)
                continue
            known = None if fixed is None else list(islice(fixed, len(batch)))
            trees = self.parser.predict_batch(tagged, threads=threads, constraints=known)
            for index, (sentence, tree) in enumerate(zip(tagged, trees, strict=True)):
                score = partial(_score, self.parser, sentence, tree, None if known is None else known[index])
                yield ParsedSentence(sentence, tree, score=score)

    def tag(
        self, sentences: Sequence[Sentence], *, threads: int = 1, keep_tags: KeepTags = False
    ) -> Sequence[Sentence]:
        """Return the sentences with the tags of all taggers and lemmas; `keep_tags` keeps those that they come with.

        With ``"known"``, tags that a tagger does not know, as XPOS of another treebank, are predicted. A table of
        sentences stays one, unless tags are kept.
        """
        tagged: Sequence[Sentence] = sentences if isinstance(sentences, SentenceTable) else list(sentences)
        for tagger in self.taggers:
            if keep_tags:
                tagged = fill_in_tags(tagger, tagged, threads, known_only=keep_tags == "known")
            else:
                tagged = tagger.annotate(tagged, threads=threads)
        if self.lemmatizer is not None:
            tagged = self.lemmatizer.annotate(tagged, threads=threads, keep=bool(keep_tags))
        return tagged

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays) of all parts, each array's name with its part's before it."""
        config, tensors = state_of_parts(self.parts)
        # `treetune info` looks for the labels of any model here; those of a tagger are tags.
        return config if self.parser is not None else {**config, "labels": []}, tensors

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """Rebuild all parts from `state()`."""
        found = parts_from_state(config, tensors)
        taggers = [part for name, part in found.items() if name.startswith(_TAGGER)]
        made = cls(found.get(_TOKENIZER), taggers, found.get(_PARSER), found.get(_LEMMATIZER))
        if list(made.parts) != list(found):
            raise expected("order", "tokenizer, taggers, lemmatizer and parser", list(found))
        return made


def finds_entities(tagger: TaggerPart) -> bool:
    """Return whether a tagger predicts named entities, which pipelines have in MISC."""
    return ENTITY_KEY in tagger.columns


def _role(part: object) -> str:
    """Return which part of a pipeline a model is; one of no other kind is a parser."""
    kind = getattr(part, "kind", None)
    if kind is None:
        return type(part).__name__
    return kind if kind in (_TOKENIZER, _TAGGER, _LEMMATIZER, _FILTER, Pipeline.kind) else _PARSER


def _one_text(text: object) -> str:
    """Return a text; what is none is a DataError."""
    if isinstance(text, str):
        return text
    if isinstance(text, bytes):
        raise DataError("expected text, found bytes; decode them first, as by .decode('utf-8')")
    hint = "; parse several texts with nlp.pipe(texts)" if isinstance(text, Iterable) else ""
    raise DataError(f"expected one text, found {type_of(text)}{hint}")


def _pair(item: object) -> tuple[Any, Any]:
    """Return a (text, context) pair; what is none is a DataError."""
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise DataError(f"as_tuples: expected (text, context) pairs, found {type_of(item)}")


def _score(parser: Parser, sentence: Sentence, tree: Tree, constraint: Tree | None) -> float:
    """Return the score of a predicted tree: that of the best one, or its own if a pruned search has missed that."""
    best = parser.k_best(sentence, 1, constraint=constraint)[0]
    return best.score if best.output == tree else parser.score(sentence, tree)
