"""The files of an experiment to what its model learns from: examples with trees, or sentences with tags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from treetune.config.experiment import Experiment
from treetune.config.files import Say, described, projective, read_data
from treetune.config.objectives import Plan
from treetune.corpus.faults import SkipReport
from treetune.corpus.orders import read_orders
from treetune.corpus.sentence import Example, Sentence
from treetune.corpus.tags import Tagged, hide_columns
from treetune.corpus.treebank import only_entities, read_tagged
from treetune.errors import ConfigError, DataError
from treetune.models.pipeline import Pipeline
from treetune.storage import load

if TYPE_CHECKING:
    from treetune.learning.objectives import Item, Objective

# The key of MISC in which treebanks have entities.
ENTITIES = "ner"

Gold = TypeVar("Gold", Example, Tagged)


@dataclass(slots=True)
class Reader(ABC):
    """Reads files by the rules of one experiment, and notes what they were.

    With `taggers` the words of all sentences get the tags of this pipeline, in the place of those they had.
    """

    experiment: Experiment
    say: Say
    taggers: Pipeline | None = None
    noted: dict[str, Any] = field(default_factory=dict)
    objective_files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @abstractmethod
    def trees(self, name: str, path: str, base: str | None = None) -> Sequence[Any]:
        """Read what is learned from and note it under `name`."""

    @abstractmethod
    def dev(self, path: str, base: str | None) -> Sequence[Any]:
        """Read what an epoch is chosen by."""

    def objective(self, plan: Plan) -> Objective:
        """Read the data of an objective."""
        items = self._orders if plan.reads_orders else partial(self._items, plan)
        data = items(plan.data)
        files = {"data": described(plan.data, [_sentence_of(item) for item in data])}
        dev: Sequence[Item] = []
        if plan.dev is not None:
            dev = items(plan.dev)
            files["dev"] = described(plan.dev, [_sentence_of(item) for item in dev])
        self.objective_files[plan.name] = files
        return plan.objective(self._learned(data, plan.data) if plan.is_intrinsic else data, dev)

    def _orders(self, path: str) -> list[Item]:
        """Read sentences with the orders of their words."""
        found = list(read_orders(path))
        if not found:
            raise DataError("expected at least one sentence, found none", path=path)
        sentences = self._tagged([item.sentence for item in found])
        return [(sentence, item.order) for sentence, item in zip(sentences, found, strict=True)]

    @abstractmethod
    def _items(self, plan: Plan, path: str) -> Sequence[Any]:
        """Read the sentences and references of an objective."""

    def _learned(self, items: Sequence[Any], path: str) -> Sequence[Any]:
        return items

    def _tag(self, examples: list[Gold]) -> list[Gold]:
        sentences = self._tagged([example.sentence for example in examples])
        return [replace(example, sentence=sentence) for example, sentence in zip(examples, sentences, strict=True)]

    def _tagged(self, sentences: list[Sentence]) -> list[Sentence]:
        return sentences if self.taggers is None else self.taggers.tag(sentences)


def _sentence_of(item: Any) -> Sentence:
    sentence: Sentence = item[0] if isinstance(item, tuple) else item.sentence
    return sentence


@dataclass(slots=True)
class TreeReader(Reader):
    """Reads what a parser learns from."""

    def trees(self, name: str, path: str, base: str | None = None) -> list[Example]:
        """Read the treebank; crossing arcs are left out if they are not to be lifted."""
        examples = self._read(path, base=base)
        self.noted[name] = described(path, [example.sentence for example in examples])
        if base is not None:
            self.noted["base"] = described(base, [example.sentence for example in examples])
        return self._learned(examples, path)

    def dev(self, path: str, base: str | None) -> list[Example]:
        """Read trees to choose an epoch by."""
        examples = self._read(path, base=base)
        self.noted["dev"] = described(path, [example.sentence for example in examples])
        if base is not None:
            self.noted["dev_base"] = described(base, [example.sentence for example in examples])
        return examples

    def _items(self, plan: Plan, path: str) -> list[Example]:
        return self._read(path, partial=not plan.is_intrinsic)

    def _read(self, path: str, *, base: str | None = None, partial: bool = False) -> list[Example]:
        lenient = self.experiment.train.lenient
        return self._tag(read_data(path, base=base, partial=partial, lenient=lenient, say=self.say))

    def _learned(self, items: Sequence[Any], path: str) -> list[Example]:
        examples = list(items)
        if self.experiment.train.projectivize:
            return examples
        flag = "--no-projectivize" if self.experiment.source.flags else "projectivize = false"
        return projective(examples, path=path, flag=flag, say=self.say)


@dataclass(slots=True)
class TagReader(Reader):
    """Reads what a tagger learns from; no sentence shows the columns that the tagger gives."""

    def trees(self, name: str, path: str, base: str | None = None) -> list[Tagged]:
        """Read tagged sentences; those with an unknown tag cannot be learned from."""
        examples = self._read(path, self.experiment.recipe.columns)
        self.noted[name] = described(path, [example.sentence for example in examples])
        for number, example in enumerate(examples, start=1):
            if not example.gold.is_complete:
                columns = ", ".join(self.experiment.recipe.columns)
                raise DataError(
                    f"sentence {number}: expected a value in {columns} for every word, found words without one",
                    path=path,
                )
        return examples

    def dev(self, path: str, base: str | None) -> list[Tagged]:
        """Read tagged sentences to choose an epoch by."""
        examples = self._read(path, self.experiment.recipe.columns)
        self.noted["dev"] = described(path, [example.sentence for example in examples])
        return examples

    def _items(self, plan: Plan, path: str) -> Sequence[Item]:
        """Read sentences with what the loss compares outputs with: entities, the main verb, or tags."""
        columns = self.experiment.recipe.columns
        wanted = None if plan.is_intrinsic else plan.loss.reference
        if wanted == "entities" or (wanted is not None and only_entities(path)):
            own = [*([] if only_entities(path) else columns), ENTITIES] if ENTITIES not in columns else list(columns)
            found = self._read(path, (ENTITIES,))
            return [(hide_columns(one.sentence, own), one.gold) for one in found]
        if wanted == "tree":
            lenient = self.experiment.train.lenient
            examples = self._tag(read_data(path, partial=True, lenient=lenient, say=self.say))
            return [(hide_columns(example.sentence, columns), example.gold) for example in examples]
        return self._read(path, columns)

    def _read(self, path: str, columns: Sequence[str]) -> list[Tagged]:
        report = SkipReport()
        read = list(read_tagged(path, columns, strict=not self.experiment.train.lenient, report=report))
        if report.skipped:
            self.say(f"{path}: {report.summary()}")
        if report.converted:
            self.say(f"{path}: {report.conversions()}")
        if not read:
            raise DataError("expected at least one sentence, found none", path=path)
        return self._tag(read)


def make_reader(experiment: Experiment, pipeline: Pipeline | None, say: Say) -> Reader:
    """Return the reader for the model of an experiment, which may be the parser of a pipeline."""
    kind = TagReader if experiment.recipe.is_tagger else TreeReader
    if pipeline is None or not pipeline.taggers:
        return kind(experiment, say, _load_taggers(experiment))
    start = experiment.recipe.start_from
    if experiment.train.tagger is not None:
        key = experiment.source.key("train", "tagger")
        raise ConfigError(f"{key}: {start} is a pipeline that tags all words itself; leave it out")
    # As the parser will see them when the pipeline is used.
    say(f"going on with the parser of {start}; the words of all data get the tags of its tagger")
    return kind(experiment, say, pipeline)


def _load_taggers(experiment: Experiment) -> Pipeline | None:
    path = experiment.train.tagger
    if path is None:
        return None
    found = load(experiment.source.model(path))
    taggers = Pipeline.of(found)
    key = experiment.source.key("train", "tagger")
    if not taggers.taggers:
        raise ConfigError(f"{key}: expected a tagger, found a {found.kind} model")
    columns = [name for tagger in taggers.taggers for name in tagger.columns]
    recipe = experiment.recipe
    if set(columns) & set(recipe.columns):
        raise ConfigError(f"{key}: the tagger gives {', '.join(columns)}, which is to be learned here")
    if not set(columns) & set(recipe.inputs):
        raise ConfigError(
            f"{key}: the tagger gives {', '.join(columns)}, at which the {'model' if recipe.is_tagger else 'parser'} "
            "does not look; leave it out"
        )
    return taggers
