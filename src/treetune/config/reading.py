"""The files of a configuration to training data: examples with trees, or sentences with tags."""

from __future__ import annotations

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from treetune.config.config import Config
from treetune.config.objectives import ObjectiveConfig
from treetune.config.schema import TOKENIZER
from treetune.corpus.base_trees import attach_base_trees
from treetune.corpus.faults import SkipReport
from treetune.corpus.files import read_chunks
from treetune.corpus.orders import read_orders
from treetune.corpus.projectivity import is_projective
from treetune.corpus.sentence import ABSENT, ROOT, Example, Sentence
from treetune.corpus.tags import Tagged, hide_columns
from treetune.corpus.treebank import only_entities, read_tagged, read_trees
from treetune.errors import ConfigError, DataError
from treetune.models.pipeline import Pipeline
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.learning.objectives import Item, Objective

# The key of MISC in which treebanks have entities.
ENTITIES = "ner"

Gold = TypeVar("Gold", Example, Tagged)
Say: TypeAlias = Callable[[str], None]
"""Takes a line that a user may want to see; the library itself never prints."""


def silent(line: str) -> None:
    """Take a line and do nothing."""


def check_readable(path: str) -> None:
    """Raise DataError unless a file can be opened, so that no other is read for nothing."""
    next(read_chunks(path), None)


def read_data(
    path: str, *, base: str | None = None, partial: bool = False, lenient: bool = False, say: Say = silent
) -> list[Example]:
    """Read trees, complete unless `partial`; `base` is a file with base trees of the same sentences."""
    report = SkipReport()
    examples = read_trees(path, strict=not lenient, partial=partial, report=report)
    return _reported(examples if base is None else attach_base_trees(examples, base), report, path, say)


def _reported(examples: Any, report: SkipReport, path: str, say: Say) -> list[Any]:
    """Return all examples, and say what was skipped or converted; DataError if there are none."""
    read = list(examples)
    if report.skipped:
        say(f"{path}: {report.summary()}")
    if report.converted:
        say(f"{path}: {report.conversions()}")
    if not read:
        raise DataError("expected at least one sentence, found none", path=path)
    return read


def described(path: str, items: Sequence[Any]) -> dict[str, Any]:
    """Return what a model stores about a file; without its folder, so that moving it changes nothing."""
    lengths = [len(item[0] if isinstance(item, tuple) else item.sentence) for item in items]
    return {**fingerprint(path), "sentences": len(lengths), "words": sum(lengths)}


def fingerprint(path: str) -> dict[str, Any]:
    """Return the name of a file and the hash of its bytes."""
    with Path(path).open("rb") as file:
        return {"name": Path(path).name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


@dataclass(slots=True)
class Reader(ABC):
    """Reads the files of one configuration, and keeps what the model stores about them.

    The tags of the pipeline `taggers`, if there is one, replace those of all sentences.
    """

    config: Config
    say: Say
    taggers: Pipeline | None = None
    files: dict[str, Any] = field(default_factory=dict)
    objective_files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def treebank(self) -> list[Any]:
        """Read the treebank."""
        written, base = self.config.train.treebank, self.config.stacking.train
        if written is None:
            return []
        path = self.config.source.path(written)
        examples = self._described("train", path, base)
        return self._trainable(examples, path)

    def dev(self) -> list[Any]:
        """Read the development data."""
        written, base = self.config.train.dev, self.config.stacking.dev
        return [] if written is None else self._described("dev", self.config.source.path(written), base)

    def _described(self, name: str, path: str, base: str | None) -> list[Any]:
        examples = self._read(path, base)
        self.files[name] = described(path, examples)
        if base is not None:
            self.files["base" if name == "train" else f"{name}_base"] = described(base, examples)
        return examples

    def objective(self, one: ObjectiveConfig) -> Objective:
        """Read the data of an objective."""
        read = self._orders if not one.is_gold and one.loss.reference == "order" else self._items
        data = read(one, one.data)
        files = {"data": described(one.data, data)}
        dev: Sequence[Item] = []
        if one.dev is not None:
            dev = read(one, one.dev)
            files["dev"] = described(one.dev, dev)
        self.objective_files[one.name] = files
        return one.objective(self._trainable(data, one.data) if one.is_gold else data, dev)

    def _orders(self, one: ObjectiveConfig, path: str) -> list[Item]:
        """Read sentences with the orders of their words."""
        found = _reported(read_orders(path), SkipReport(), path, self.say)
        sentences = self._tagged([item.sentence for item in found])
        return [(sentence, item.order) for sentence, item in zip(sentences, found, strict=True)]

    def entities(self, key: str) -> list[Tagged]:
        """Read the data of the entity tagger of a pipeline, `entities` or `entities_dev`."""
        written = getattr(self.config.pipeline, key)
        if not isinstance(written, str):
            return []
        path = self.config.source.path(written)
        found = _complete(self._gold_tags(path, (ENTITIES,)), (ENTITIES,), path)
        self.files[key] = described(path, found)
        return found

    def _gold_tags(self, path: str, columns: Sequence[str]) -> list[Tagged]:
        report = SkipReport()
        read = read_tagged(path, columns, strict=not self.config.train.lenient, report=report)
        return _reported(read, report, path, self.say)

    @abstractmethod
    def _read(self, path: str, base: str | None) -> list[Any]:
        """Read gold examples."""

    @abstractmethod
    def _items(self, one: ObjectiveConfig, path: str) -> list[Any]:
        """Read the sentences and references of an objective."""

    @abstractmethod
    def _trainable(self, examples: list[Any], path: str) -> list[Any]:
        """Return the gold examples that can be trained on."""

    def _tag(self, examples: list[Gold]) -> list[Gold]:
        sentences = self._tagged([example.sentence for example in examples])
        return [replace(example, sentence=sentence) for example, sentence in zip(examples, sentences, strict=True)]

    def _tagged(self, sentences: list[Sentence]) -> Sequence[Sentence]:
        return sentences if self.taggers is None else self.taggers.tag(sentences)

    def _trees(self, path: str, *, base: str | None = None, partial: bool = False) -> list[Example]:
        lenient = self.config.train.lenient
        return self._tag(read_data(path, base=base, partial=partial, lenient=lenient, say=self.say))


@dataclass(slots=True)
class TreeReader(Reader):
    """Reads what a parser is trained on; without `projectivize`, sentences with crossing arcs are left out."""

    def _read(self, path: str, base: str | None) -> list[Example]:
        # A tokenizer needs no trees.
        return self._trees(path, base=base, partial=self.config.model.task == TOKENIZER)

    def _items(self, one: ObjectiveConfig, path: str) -> list[Example]:
        return self._trees(path, partial=not one.is_gold)

    def _trainable(self, examples: list[Any], path: str) -> list[Example]:
        if self.config.train.projectivize:
            return examples
        kept = [example for example in examples if is_projective(example.gold.heads)]
        if not kept:
            key = self.config.source.short_key("train", "projectivize")
            raise DataError(f"every sentence has crossing arcs; train with {key} = true", path=path)
        if len(kept) < len(examples):
            self.say(f"{path}: left out {len(examples) - len(kept):,} of {len(examples):,} sentences for crossing arcs")
        return kept


@dataclass(slots=True)
class TagReader(Reader):
    """Reads what a tagger is trained on; no sentence shows the columns that the tagger predicts."""

    def _read(self, path: str, base: str | None) -> list[Tagged]:
        return self._tags(path, self.config.model.columns)

    def _trainable(self, examples: list[Any], path: str) -> list[Tagged]:
        return _complete(examples, self.config.model.columns, path)

    def _items(self, one: ObjectiveConfig, path: str) -> list[Any]:
        """Read sentences with what the loss compares outputs with: entities, the main verb, or tags."""
        columns = self.config.model.columns
        wanted = None if one.is_gold else one.loss.reference
        if wanted == "entities" or (wanted is not None and only_entities(path)):
            hidden = [*([] if only_entities(path) else columns), ENTITIES] if ENTITIES not in columns else list(columns)
            found = self._tags(path, (ENTITIES,))
            return [(hide_columns(example.sentence, hidden), example.gold) for example in found]
        if wanted == "tree":
            examples = self._trees(path, partial=True)
            return [(hide_columns(example.sentence, columns), example.gold) for example in examples]
        return self._tags(path, columns)

    def _tags(self, path: str, columns: Sequence[str]) -> list[Tagged]:
        return self._tag(self._gold_tags(path, columns))


def _complete(examples: list[Tagged], columns: Sequence[str], path: str) -> list[Tagged]:
    """Return the examples; DataError if a word has no tag."""
    for number, example in enumerate(examples, start=1):
        if not example.gold.is_complete:
            names = ", ".join(columns)
            problem = f"sentence {number}: expected a value in {names} for every word, found words without one"
            raise DataError(problem, path=path)
    return examples


def warn_of_missing_tags(config: Config, treebank: Sequence[Any], objectives: Sequence[Objective]) -> None:
    """Warn if of the gold files one has no tag in a column that the model reads, and another has tags."""
    written = config.train.treebank
    files = {} if written is None else {config.source.path(written): treebank}
    files |= {one.data: found.data for one, found in zip(config.objectives, objectives, strict=True) if one.is_gold}
    for column in ("upos", "xpos") if len(files) > 1 else ():
        bare = [path for path, items in files.items() if not any(_has_tags(item.sentence, column) for item in items)]
        others = [path for path in files if path not in bare]
        if column in config.model.inputs and bare and others:
            warnings.warn(
                f"{bare[0]} has no {column.upper()} tags, {others[0]} has them, and results will be worse; "
                f"tag it first: treetune tag MODEL {bare[0]} -o OUT",
                stacklevel=3,
            )
            return


def _has_tags(sentence: Sentence, column: str) -> bool:
    return any(tag not in (ABSENT, ROOT) for tag in getattr(sentence, column))


def make_reader(config: Config, say: Say) -> Reader:
    """Return the reader for a model."""
    kind, pipeline = TagReader if config.model.is_tagger else TreeReader, config.model.pipeline
    if pipeline is None or not pipeline.taggers:
        return kind(config, say, _load_taggers(config))
    start = config.model.start_from
    if config.train.tagger is not None:
        raise config.source.error("train", "tagger", f"{start} is a pipeline that tags all words itself; leave it out")
    # As the parser will see them when the pipeline is used.
    say(f"fine-tuning the parser of {start}; its tagger tags the words of all data")
    return kind(config, say, pipeline)


def _load_taggers(config: Config) -> Pipeline | None:
    path, key, model = config.train.tagger, config.source.key("train", "tagger"), config.model
    if path is None:
        return None
    found = load(config.source.model_path(path))
    taggers = Pipeline.of(found)
    if not taggers.taggers:
        raise ConfigError(f"{key}: expected a tagger, found a {found.kind} model")
    if taggers.word_taggers:
        taggers = taggers.with_entity_tagger(None)
    columns = [name for tagger in taggers.taggers for name in tagger.columns]
    if set(columns) & set(model.columns):
        raise ConfigError(f"{key}: the tagger predicts {', '.join(columns)}, which is to be learned")
    if not set(columns) & set(model.inputs):
        raise ConfigError(
            f"{key}: the tagger predicts {', '.join(columns)}, which the model does not use; leave it out"
        )
    return taggers
