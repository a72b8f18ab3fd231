"""Raw text to sentences of tokens, as the treebank it was trained on would have them; nothing of the text is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, Fields
from treetune.corpus.sentence import Sentence
from treetune.corpus.sentence_table import SentenceTable
from treetune.corpus.textfiles import text_blocks
from treetune.errors import DataError, ModelError
from treetune.features.templates import TemplateSet, load_templates
from treetune.models.tokenizer import _kernels as kernels
from treetune.models.tokenizer.assembly import Block
from treetune.models.tokenizer.characters import Text, encode_text
from treetune.models.tokenizer.chunks import find_chunks, make_tokens
from treetune.models.tokenizer.multiword import MultiwordTable
from treetune.models.tokenizer.templates import compile_templates, make_workspace
from treetune.weights.flat import FlatFrozenWeights

# Sentences at the end of a text that was cut may look otherwise when more text follows.
_HELD_BACK = 2


@dataclass(frozen=True)
class TokenizerWeights:
    """What a tokenizer has learned: weights of both decisions, runs of letters to look into, other multiword tokens."""

    tokens: FlatFrozenWeights
    sentences: FlatFrozenWeights
    runs: kernels.Runs
    multiword: MultiwordTable


class Tokenizer:
    """Splits text into sentences and tokens; `learning.tokenizer_training.train_tokenizer` trains it."""

    kind: ClassVar[str] = "tokenizer"

    def __init__(self) -> None:
        self._use_templates(load_templates("tokens", "tokenizer"), load_templates("sentences", "tokenizer"))
        self.weights: TokenizerWeights | None = None

    def _use_templates(self, tokens: TemplateSet, sentences: TemplateSet) -> None:
        self._sets = (tokens, sentences)
        self.token_templates = compile_templates(tokens, kernels.BOUNDARY_ATOMS)
        self.sentence_templates = compile_templates(sentences, kernels.GAP_ATOMS)

    @property
    def is_trained(self) -> bool:
        """Whether the tokenizer can be used."""
        return self.weights is not None

    def sentences(
        self, text: str | Iterable[str], *, line_sentences: bool = False, ranges: bool = False
    ) -> Iterator[Sentence]:
        """Yield the sentences of a text, or of pieces of one, as they come; memory does not grow with the text.

        With `line_sentences` each line is one sentence, `ranges` writes the offsets of each token into
        MISC, as ``TokenRange=start:end``.
        """
        pieces = text if isinstance(text, Iterable) and not isinstance(text, str | bytes) else [text]
        for table in self.tables(pieces, line_sentences=line_sentences, ranges=ranges):
            yield from table

    def tables(
        self, pieces: Iterable[str], *, size: int | None = None, line_sentences: bool = False, ranges: bool = False
    ) -> Iterator[SentenceTable]:
        """Yield the same sentences as tables, up to `size` at a time."""
        for block in self._blocks(pieces, line_sentences=line_sentences):
            yield from block.tables(size, ranges=ranges)

    def _blocks(self, pieces: Iterable[str], *, line_sentences: bool) -> Iterator[Block]:
        if self.weights is None:
            raise ModelError("this tokenizer is not trained yet; train it first")
        texts = text_blocks(map(_checked, pieces), lines=line_sentences)
        text, is_complete = next(texts, ("", True))
        offset = number = 0
        is_new = True
        while text:
            block = self._block(self.weights, text, line_sentences=line_sentences)
            used = len(text) if is_complete else block.hold_back(_HELD_BACK)
            yield block.placed(offset, number, is_new=is_new)
            offset += used
            number += len(block)
            is_new = is_complete
            try:
                text, is_complete = texts.send(used)
            except StopIteration:
                return

    def _block(self, weights: TokenizerWeights, text: str, *, line_sentences: bool) -> Block:
        # White space at the end has no tokens, and there may be any amount of it.
        encoded = encode_text(text.rstrip())
        tokens, count, marks = self._find_tokens(weights, encoded)
        is_last = self._find_sentences(weights, encoded, tokens, count, line_sentences=line_sentences)
        return Block(text, tokens, is_last, marks, weights.multiword)

    def _find_tokens(self, weights: TokenizerWeights, text: Text) -> tuple[kernels.Tokens, int, NDArray[np.uint8]]:
        """Return room with the tokens in it, how many these are, and what is after each character."""
        marks = np.zeros(len(text.kinds), np.uint8)
        tokens = make_tokens(len(text.kinds))
        count = kernels.split_chunks(
            text, find_chunks(text), weights.runs, self.token_templates, weights.tokens.store,
            make_workspace(self.token_templates, kernels.BOUNDARY_ATOMS), tokens, marks,
        )  # fmt: skip
        return tokens, count, marks

    def _find_sentences(
        self, weights: TokenizerWeights, text: Text, tokens: kernels.Tokens, count: int, *, line_sentences: bool = False
    ) -> NDArray[np.bool_]:
        """Say of each token whether it is the last of a sentence."""
        kernels.describe_tokens(text, tokens, count)
        is_last = np.zeros(count, np.bool_)
        kernels.split_sentences(
            text, tokens, count, kernels.AT_LINES if line_sentences else kernels.LEARNED, self.sentence_templates,
            weights.sentences.store, make_workspace(self.sentence_templates, kernels.GAP_ATOMS), is_last,
        )  # fmt: skip
        return is_last

    def compile_kernels(self, step: str) -> None:
        """Compile the kernels of one step, ``"tokens"`` or ``"sentences"``, by running it on nothing."""
        assert self.weights is not None
        if step == "tokens":
            self._find_tokens(self.weights, encode_text(""))
        else:
            self._find_sentences(self.weights, encode_text(""), make_tokens(0), 0)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays): all that `from_state` needs."""
        assert self.weights is not None
        weights = self.weights
        parts = {"tokens": weights.tokens, "sentences": weights.sentences}
        config = {
            "templates": {name: templates.state() for name, templates in zip(parts, self._sets, strict=True)},
            "scales": {name: part.scale for name, part in parts.items()},
            "dense": weights.runs.dense,
            "multiword": weights.multiword.state(),
        }
        tensors = {f"{name}.{key}": array for name, part in parts.items() for key, array in part.tensors().items()}
        return config, {**tensors, "split_runs": weights.runs.hashes}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """Make the tokenizer that gave this state."""
        made, fields, arrays = cls.__new__(cls), Fields(config), Arrays(tensors)
        templates, scales = fields.table("templates"), fields.table("scales")
        made._use_templates(*(TemplateSet.from_state(templates.value(name)) for name in ("tokens", "sentences")))
        tokens, sentences = (
            FlatFrozenWeights.from_arrays(scales.positive(name), arrays.part(name)) for name in ("tokens", "sentences")
        )
        made.weights = TokenizerWeights(
            tokens=tokens,
            sentences=sentences,
            runs=kernels.Runs(arrays.integers("split_runs", np.uint64), fields.flag("dense")),
            multiword=MultiwordTable.from_state(fields.value("multiword")),
        )
        return made


def _checked(piece: object) -> str:
    """Return a piece of text; what is none is a `DataError`."""
    if not isinstance(piece, str):
        hint = "; decode them first, as by .decode('utf-8')" if isinstance(piece, bytes) else ""
        raise DataError(f"expected text, found {'None' if piece is None else type(piece).__name__}{hint}")
    return piece
