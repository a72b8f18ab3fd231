"""Raw text to sentences of tokens, as the treebank it was trained on would have them; nothing of the text is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
from treetune.models.tokenizer import _word_kernels as word_kernels
from treetune.models.tokenizer.assembly import Block
from treetune.models.tokenizer.characters import Text, encode_text
from treetune.models.tokenizer.chunks import find_chunks, make_tokens
from treetune.models.tokenizer.multiword import Scripts, Words
from treetune.models.tokenizer.runs import read_runs
from treetune.models.tokenizer.templates import compile_templates, make_workspace
from treetune.weights.flat import FlatFrozenWeights

# The atoms of the templates of each decision.
ATOMS = {"tokens": kernels.BOUNDARY_ATOMS, "sentences": kernels.GAP_ATOMS, "words": word_kernels.WORD_ATOMS}
# Sentences at the end of a text that was cut may look otherwise when more text follows.
_HELD_BACK = 2


@dataclass(frozen=True)
class TokenizerWeights:
    """What a tokenizer has learned: weights of its decisions, runs of letters to look into, scripts of words.

    `words` are the weights of the scripts, if there are any.
    """

    tokens: FlatFrozenWeights
    sentences: FlatFrozenWeights
    runs: kernels.Runs
    scripts: Scripts
    words: FlatFrozenWeights | None = None


class Tokenizer:
    """Splits text into sentences and tokens; `learning.tokenizer_training.train_tokenizer` trains it."""

    kind: ClassVar[str] = "tokenizer"

    def __init__(self) -> None:
        self._use_templates({name: load_templates(name, "tokenizer") for name in ATOMS})
        self.weights: TokenizerWeights | None = None

    def _use_templates(self, sets: dict[str, TemplateSet]) -> None:
        self._sets = sets
        self.templates = {name: compile_templates(templates, ATOMS[name]) for name, templates in sets.items()}

    @property
    def is_trained(self) -> bool:
        """Whether the tokenizer can be used."""
        return self.weights is not None

    def sentences(
        self, text: str | Iterable[str], *, line_sentences: bool | None = None, ranges: bool = False
    ) -> Iterator[Sentence]:
        """Yield the sentences of a text, or of pieces of one, as they come; memory does not grow with the text.

        Args:
            text: All of it, or consecutive pieces, cut anywhere.
            line_sentences: Whether each line is one sentence (True), or line ends are white space (False). By default
                they are, but for lines that were ended on purpose: headings, and items of lists.
            ranges: Whether to write the offsets of each token into MISC, as ``TokenRange=start:end``.
        """
        pieces = text if isinstance(text, Iterable) and not isinstance(text, str | bytes) else [text]
        for table in self.tables(pieces, line_sentences=line_sentences, ranges=ranges):
            yield from table

    def tables(
        self,
        pieces: Iterable[str],
        *,
        size: int | None = None,
        line_sentences: bool | None = None,
        ranges: bool = False,
    ) -> Iterator[SentenceTable]:
        """Yield the same sentences as tables, up to `size` at a time."""
        for block in self._blocks(pieces, line_sentences=line_sentences):
            yield from block.tables(size, ranges=ranges)

    def _blocks(self, pieces: Iterable[str], *, line_sentences: bool | None) -> Iterator[Block]:
        if self.weights is None:
            raise ModelError("this tokenizer is not trained yet; train it first")
        texts = text_blocks(map(_checked, pieces), lines=bool(line_sentences))
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

    def _block(self, weights: TokenizerWeights, text: str, *, line_sentences: bool | None) -> Block:
        # White space at the end has no tokens, and there may be any amount of it.
        encoded = encode_text(text.rstrip())
        tokens, count, marks = self._find_tokens(weights, encoded, find_chunks(encoded, close=line_sentences is None))
        is_last = self._find_sentences(weights, encoded, tokens, count, line_sentences=bool(line_sentences))
        return Block(text, tokens, is_last, marks, partial(self._find_words, weights, encoded, tokens))

    def _find_tokens(
        self, weights: TokenizerWeights, text: Text, chunks: kernels.Chunks
    ) -> tuple[kernels.Tokens, int, NDArray[np.uint8]]:
        """Return room with the tokens in it, how many these are, and what is after each character."""
        marks = np.zeros(len(text.kinds), np.uint8)
        tokens = make_tokens(len(text.kinds))
        count = kernels.split_chunks(
            text, chunks, weights.runs, self.templates["tokens"], weights.tokens.store,
            make_workspace(self.templates["tokens"], ATOMS["tokens"]), tokens, marks,
        )  # fmt: skip
        return tokens, count, marks

    def _find_sentences(
        self, weights: TokenizerWeights, text: Text, tokens: kernels.Tokens, count: int, *, line_sentences: bool = False
    ) -> NDArray[np.bool_]:
        """Say of each token whether it is the last of a sentence."""
        kernels.describe_tokens(text, tokens, count)
        is_last = np.zeros(count, np.bool_)
        kernels.split_sentences(
            text, tokens, count, kernels.AT_LINES if line_sentences else kernels.LEARNED, weights.runs,
            self.templates["sentences"], weights.sentences.store,
            make_workspace(self.templates["sentences"], ATOMS["sentences"]), is_last,
        )  # fmt: skip
        return is_last

    def _find_words(
        self, weights: TokenizerWeights, text: Text, tokens: kernels.Tokens, forms: Sequence[str]
    ) -> dict[int, Words]:
        """Return the words of the multiword tokens that scripts describe."""
        if weights.words is None:
            return {}
        candidates = weights.scripts.candidates(forms)
        chosen = np.empty(len(candidates.tokens), np.int64)
        word_kernels.choose_scripts(
            text, tokens, len(forms), candidates, self.templates["words"], weights.words.store,
            make_workspace(self.templates["words"], ATOMS["words"]), chosen,
        )  # fmt: skip
        pairs = zip(candidates.tokens.tolist(), chosen.tolist(), strict=True)
        scripts = weights.scripts.scripts
        return {token: scripts[script].apply(forms[token]) for token, script in pairs if script != word_kernels.KEEP}

    @property
    def steps(self) -> list[str]:
        """The names of its decisions, each of which has kernels of its own."""
        return [name for name in ATOMS if name != "words" or (self.weights is not None and self.weights.scripts)]

    def compile_kernels(self, step: str) -> None:
        """Compile the kernels of one step, one of `steps`, by running it on nothing."""
        assert self.weights is not None
        if step == "tokens":
            text = encode_text("")
            self._find_tokens(self.weights, text, find_chunks(text, close=True))
        elif step == "sentences":
            self._find_sentences(self.weights, encode_text(""), make_tokens(0), 0)
        else:
            self._find_words(self.weights, encode_text(""), make_tokens(0), ())

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return (configuration, arrays): all that `from_state` needs."""
        assert self.weights is not None
        weights = self.weights
        parts = {"tokens": weights.tokens, "sentences": weights.sentences}
        if weights.words is not None:
            parts["words"] = weights.words
        config = {
            "templates": {name: self._sets[name].state() for name in parts},
            "scales": {name: part.scale for name, part in parts.items()},
            "dense": weights.runs.dense,
            "multiword": weights.scripts.state(),
        }
        tensors = {f"{name}.{key}": array for name, part in parts.items() for key, array in part.tensors().items()}
        runs = {f"split_{name}": array for name, array in weights.runs._asdict().items() if name != "dense"}
        return config, {**tensors, **runs}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Self:
        """Make the tokenizer that gave this state."""
        made, fields, arrays = cls.__new__(cls), Fields(config), Arrays(tensors)
        templates, scales = fields.table("templates"), fields.table("scales")
        scripts = Scripts.from_state(fields.value("multiword"))
        names = [name for name in ATOMS if scripts or name != "words"]
        made._use_templates({name: TemplateSet.from_state(templates.value(name)) for name in names})
        made.weights = TokenizerWeights(
            **{name: FlatFrozenWeights.from_arrays(scales.positive(name), arrays.part(name)) for name in names},
            runs=read_runs(arrays, dense=fields.flag("dense")),
            scripts=scripts,
        )
        return made


def _checked(piece: object) -> str:
    """Return a piece of text; what is none is a `DataError`."""
    if not isinstance(piece, str):
        hint = "; decode them first, as by .decode('utf-8')" if isinstance(piece, bytes) else ""
        raise DataError(f"expected text, found {'None' if piece is None else type(piece).__name__}{hint}")
    return piece
