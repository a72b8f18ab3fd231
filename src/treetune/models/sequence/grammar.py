"""The options of a tagger, and its vocabulary, tag set, lexicon and templates."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetune.checked_state import Arrays, Fields, check_printable, expected
from treetune.corpus.sentence import Sentence
from treetune.corpus.tags import SEPARATOR, Tags, check_columns
from treetune.errors import ConfigError, DataError
from treetune.features.clusters import Clusters
from treetune.features.encoding import FIRST_ID, INPUTS, Encoder
from treetune.features.templates import TemplateSet, load_templates
from treetune.models.options import check_memory_limit, check_stored_memory, check_values, option
from treetune.models.sequence import _kernels as kernels
from treetune.models.sequence.lexicon import Lexicon, TagTable, fixed_sets
from treetune.models.sequence.templates import CLASS, TAG, TAG_ATOMS, columns_of, compile_templates, needed
from treetune.models.sequence.word_pairs import WordPairs
from treetune.weights._kernels import Store

FAMILY = "sequence"
# The column whose values the lexicon knows the tags of.
WORD = "w"
# The column of input tags that it knows them of, too, if tags are `given`.
GIVEN = "t"
# Tables over pairs of tags stay in memory.
MOST_TAGS = 1 << 14


@dataclass(frozen=True)
class TaggerConfig:
    """The options of a tagger."""

    columns: tuple[str, ...] = option(("upos",), "Columns to predict; several are predicted jointly.")
    order: int = option(1, "Markov order: the number of previous tags that features see.", choices=(1, 2))
    features: str = option("default", "Feature set: a name, or a file of templates (.txt).")
    inputs: tuple[str, ...] = option((), "Tag columns the tagger may use.", choices=INPUTS, noun="input column")
    min_count: int = option(1, "Words seen less often in training are treated as unknown.", minimum=1)
    unknown_dropout: int = option(
        1, "Words seen at most so often are treated as unknown in every other epoch; 0: none.", minimum=0
    )
    dictionary: int = option(
        5, "Words seen so often can only have tags seen with them, or related ones; 0: any tag.", minimum=0
    )
    rare_words: int = option(3, "Unseen words can have a tag that so many rare words have.", minimum=1)
    given: bool = option(False, "The dictionary has the tags of a word with its input tags, not of the word alone.")
    shared: bool = option(False, "Tags share weights for the parts they have in common, as Case=Nom.")
    prune: float = option(0.006, "Drop weights below this share of the largest: a smaller file.", minimum=0)
    l2: float = option(1.0, "L2 penalty of the learner crf.", minimum=0)
    max_memory: float = option(2.0, "Most working memory for one sentence, in GB.", search=True)
    clusters: str | None = option(None, "File of word clusters, for feature sets that use them; stored in the model.")
    tag_beam: int = option(
        0, "Tags of a word that are continued, the best so far; 0: all, the search is exact. For order 1.", minimum=0
    )
    spans: bool = option(False, "Tags are IOB2 tags of spans (entities), scored by span F1.")

    def __post_init__(self) -> None:
        check_columns(self.columns)
        check_values(self)
        check_memory_limit(self.max_memory)
        if self.spans and len(self.columns) != 1:
            raise ConfigError(f"spans must be the only column, found {', '.join(self.columns)}")
        if not self.l2 < float("inf"):
            raise ConfigError(f"l2 must be a finite number, found {self.l2}")
        if not self.prune < 1:
            raise ConfigError(f"prune must be less than 1, found {self.prune}")
        if self.given and not {"upos", "xpos"} & set(self.inputs):
            raise ConfigError("given needs the tags of UPOS or XPOS as inputs, found none; name them in inputs")
        if self.tag_beam and self.order == 2:
            raise ConfigError("tag_beam is an option of order 1, found order 2; leave one of them out")
        for name in self.inputs:
            if name in self.columns:
                raise ConfigError(f"the column {name} cannot be both predicted and an input of the tagger")


@dataclass(frozen=True)
class TaggerGrammar:
    """What a tagger learns besides weights: words, tags, which go together, and templates that fit them."""

    encoder: Encoder
    tags: TagTable
    lexicon: Lexicon
    template_set: TemplateSet
    pairs: WordPairs | None = None
    shared: bool = False

    @classmethod
    def learn(cls, sentences: Sequence[Sentence], gold: Sequence[Tags], config: TaggerConfig) -> TaggerGrammar:
        """Collect words and tags, and adapt the templates to the columns that are there."""
        templates = templates_of(config)
        columns = sorted({*columns_of(templates), WORD, *((GIVEN,) if config.given else ())})
        clusters = None if config.clusters is None else Clusters.read(config.clusters)
        encoder = Encoder.learn(
            sentences, inputs=config.inputs, min_count=config.min_count, columns=columns, clusters=clusters
        )
        fitting = templates.adapt(encoder.columns, (TAG, CLASS))
        if not any(set(template) - set(TAG_ATOMS) for group in fitting.groups for template in group):
            raise ConfigError(
                f"no template of the feature set {config.features!r} looks at a column of the sentences, "
                f"which have only {', '.join(encoder.columns)}"
            )
        tags = TagTable.learn(gold)
        if len(tags.names) > MOST_TAGS:
            raise DataError(
                f"expected at most {MOST_TAGS:,} different tags to train on, found {len(tags.names):,}; predict fewer "
                "columns at once"
            )
        encoded, offsets = encoder.encode(sentences)
        pairs = None if not config.given else _learn_pairs(encoder, encoded)
        words = _split(_words(encoder, pairs, encoded), offsets)
        size = _count_words(encoder) if pairs is None else len(pairs)
        lexicon = Lexicon.learn(
            words, encode_tags(tags, gold), size=size, boundary=tags.boundary, least=config.dictionary,
            least_rare=config.rare_words, pairs=pairs,
        )  # fmt: skip
        return cls(encoder, tags, lexicon, fitting, pairs, config.shared)

    @cached_property
    def templates(self) -> kernels.Templates:
        """The templates as the kernels read them."""
        return compile_templates(self.template_set, (*self.encoder.columns, CLASS))

    @cached_property
    def parts(self) -> kernels.Parts:
        """The parts that tags share as the kernels read them; none unless weights are shared."""
        none = kernels.Parts(np.zeros(len(self.tags) + 1, np.int32), np.empty(0, np.int32))
        return self.tags.parts() if self.shared else none

    @property
    def outputs(self) -> int:
        """The number of outputs of the weights: tags and their parts."""
        return 1 + int(self.parts.outputs.max(initial=len(self.tags) - 1))

    @cached_property
    def sets(self) -> kernels.Sets:
        """The sets of tags as the kernels read them."""
        return self.lexicon.compiled()

    def encode(
        self, sentences: Sequence[Sentence], constraints: Sequence[Tags] | None = None
    ) -> tuple[kernels.Sentences, kernels.Sets]:
        """Return sentences as the kernels read them, and the sets of tags that their words may have."""
        encoded, offsets = self.encoder.encode(sentences)
        words = _words(self.encoder, self.pairs, encoded)
        columns = np.concatenate([encoded, self.lexicon.classes[words][np.newaxis]])
        token_sets = self.lexicon.of_word[words]
        if constraints is None:
            return kernels.Sentences(columns, offsets, token_sets), self.sets
        token_sets, more = fixed_sets(constraints, token_sets, self.lexicon, self.tags)
        return kernels.Sentences(columns, offsets, token_sets), self.lexicon.compiled(more)

    def setup(self, store: Store, config: TaggerConfig, sets: kernels.Sets | None = None) -> kernels.SearchSetup:
        """Return the setup of a search with these weights; `sets` are by default those of the lexicon."""
        return kernels.SearchSetup(
            self.templates,
            store,
            self.sets if sets is None else sets,
            self.parts,
            len(self.tags),
            config.order == 2,
            config.tag_beam,
        )

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what rebuilds the grammar: what JSON can hold, and arrays."""
        lexicon, tensors = self.lexicon.state()
        config = {
            "labels": list(self.tags.names),
            "encoder": self.encoder.state(),
            "lexicon": lexicon,
            **self.template_set.state(),
        }
        if self.pairs is not None:
            tensors = {**tensors, "pairs": self.pairs.codes}
        return config, {f"lexicon.{name}": array for name, array in tensors.items()}

    @classmethod
    def from_state(
        cls, config: dict[str, Any], tensors: dict[str, NDArray[Any]], options: TaggerConfig
    ) -> TaggerGrammar:
        """Rebuild a grammar from `state()`."""
        fields = Fields(config)
        encoder, tags = Encoder.from_state(fields.value("encoder")), TagTable(tuple(fields.names("labels", MOST_TAGS)))
        if WORD not in encoder.values or encoder.is_stacked:
            raise expected("encoder.values", f"a column {WORD} and none of base trees", list(encoder.values))
        arrays = Arrays(tensors).part("lexicon")
        pairs = _stored_pairs(encoder, arrays) if options.given else None
        size = _count_words(encoder) if pairs is None else len(pairs)
        lexicon = Lexicon.from_arrays(fields.table("lexicon"), arrays, size=size, boundary=tags.boundary)
        return cls(encoder, tags, lexicon, TemplateSet.from_state(config), pairs, options.shared)

    def check(self, config: TaggerConfig) -> None:
        """Raise ModelError, or ConfigError for unknown atoms, unless all parts fit together as kernels rely on it."""
        check_stored_memory(config.max_memory)
        check_printable(config.columns, "options.columns")
        fitting = needed(self.template_set, config.order).adapt(self.encoder.columns, (TAG, CLASS))
        if fitting != self.template_set or not len(self.templates.atom_seed):
            raise expected("templates", "templates that fit the columns and the order", len(self.template_set))
        for name in self.tags.names:
            if len(name.split(SEPARATOR)) < len(config.columns):
                raise expected("labels", f"joint tags of {len(config.columns)} columns", name)


def encode_words(grammar: TaggerGrammar, sentences: Sequence[Sentence]) -> list[list[int]]:
    """Return the numbers that the lexicon has for the words of each sentence, the root left out."""
    columns, offsets = grammar.encoder.encode(sentences)
    return _split(_words(grammar.encoder, grammar.pairs, columns), offsets)


def _words(encoder: Encoder, pairs: WordPairs | None, columns: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the numbers that the lexicon has for words."""
    words: NDArray[np.int32] = columns[encoder.columns.index(WORD)]
    return words if pairs is None else pairs.numbers(words, columns[encoder.columns.index(GIVEN)])


def _split(words: NDArray[np.int32], offsets: NDArray[np.int64]) -> list[list[int]]:
    return [words[first + 1 : last].tolist() for first, last in itertools.pairwise(offsets.tolist())]


def _count_words(encoder: Encoder, column: str = WORD) -> int:
    """Return one more than the largest number of a column."""
    return FIRST_ID + len(encoder.values[column])


def _learn_pairs(encoder: Encoder, columns: NDArray[np.int32]) -> WordPairs:
    if GIVEN not in encoder.values:
        raise DataError(f"expected input tags ({', '.join(INPUTS[:2])}) in the training data, found none")
    words, inputs = (columns[encoder.columns.index(name)] for name in (WORD, GIVEN))
    return WordPairs.learn(words, inputs, _count_words(encoder, GIVEN))


def _stored_pairs(encoder: Encoder, arrays: Arrays) -> WordPairs:
    if GIVEN not in encoder.values:
        raise expected("encoder.values", f"a column {GIVEN} of input tags", list(encoder.values))
    codes, tags = arrays.integers("pairs", np.int64), _count_words(encoder, GIVEN)
    most = tags * _count_words(encoder)
    if len(codes) and not (codes[0] >= 0 and (codes[1:] > codes[:-1]).all() and codes[-1] < most):
        raise expected(arrays.path("pairs"), "sorted numbers of pairs of a word and a tag", len(codes))
    return WordPairs(codes, tags)


def encode_tags(table: TagTable, gold: Sequence[Tags]) -> list[list[int]]:
    """Return the numbers of the tags of each sentence, the root left out."""
    ids = table.ids()
    return [[ids[value] for value in tags.values[1:]] for tags in gold]


def templates_of(config: TaggerConfig) -> TemplateSet:
    """Return the templates that a tagger with these options uses, before any data is known."""
    return needed(load_templates(config.features, FAMILY), config.order)
